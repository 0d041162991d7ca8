//! What a message advises about records that lie in archives: each command that it names is carried
//! out here, and does what the message says.

use crate::archive_support::{Sample, beside};
use crate::program::{json, status, text, with_hold};
use crate::runs::begun_without_approval;
use holdpoint_engine::log::{Level, Log, Options};
use holdpoint_log_files::DirectoryStorage;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A log behind two archives, the last records in the older and the newer one, and the newer one.
fn behind_two() -> (Sample, [u64; 2], PathBuf) {
    let (sample, older) = Sample::archived();
    sample.grow();
    let second = beside(&sample.place, "second");
    let newer = sample.archive_to(&second);
    (sample, [older, newer], second)
}

#[test]
fn a_range_before_the_log_is_told_with_its_first_record_and_where_the_range_is() {
    let (sample, [older, newer], second) = behind_two();
    let (begins, first) = (newer + 1, sample.archive.display());
    let begins = format!("it begins with record {begins}; ");
    let in_first = format!("records 1 to {older} are in the archive {first} (`--log` shows it)");
    let in_second = format!(
        "records {} to {newer} are in the archive {} (`--log` shows it)",
        older + 1,
        second.display()
    );
    let both = format!("{in_first}; {in_second}");
    for (range, asked, there) in [
        ("1..5".to_string(), "records 1 to 5".to_string(), &in_first),
        ("..5".to_string(), "record 5".to_string(), &in_first),
        (format!("{newer}"), format!("record {newer}"), &in_second),
        (
            format!("{newer}..{}", newer + 1),
            format!("records {newer} to {}", newer + 1),
            &in_second,
        ),
        (format!("5..{newer}"), format!("records 5 to {newer}"), &both),
    ] {
        let told = format!("does not hold {asked}: {begins}{there}\n");
        sample.expect("before", &format!("verify {range}"), 3, &told);
    }
    sample.expect("as told", "verify 1..5 --log archive", 0, "");
    sample.expect("as told", &format!("verify {newer} --log second"), 0, "");
    let output = sample.expect("behind", "verify 999999", 3, "and reaches record");
    assert!(!text(&output.stderr).contains("archive"), "{}", text(&output.stderr));
    fs::remove_dir_all(&second).unwrap();
    let told = format!("{begins}records 1 to {newer} are in the archive {}, ", second.display());
    sample.expect("gone", "verify 1..5", 3, &told);
}

/// Records more, until a state is read from a snapshot that a writer left.
fn until_a_snapshot(sample: &Sample) {
    while !text(&sample.ask("decision list", 1).stderr).contains("what is before it was not read") {
        sample.grow();
    }
}

/// What `verify` says was not checked, in all of its lines.
fn unchecked(report: &Value) -> String {
    let limits = report["not_checked"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let reason = report["axes"]["completeness"]["reason"].as_str().unwrap();
    limits.chain([reason]).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_older_of_two_archives_is_verified_as_verifying_the_newer_one_advises() {
    let (sample, [older, newer], second) = behind_two();
    let both = json(&sample.ask("verify --archive second --json", 1));
    let archive = unchecked(&both["archive"]);
    let advice = "give this archive with `--log`, and the earlier one with `--archive`";
    assert!(archive.contains(advice) && !archive.contains("--archive DIR"), "{archive}");
    let log = unchecked(&both["log"]);
    assert!(log.contains("nothing compares") && !log.contains("--archive DIR"), "{log}");
    let advised = json(&sample.ask("verify --log second --archive archive --json", 1));
    assert_eq!((&advised["verdict"], &advised["first_sequence"]), (&"intact".into(), &1.into()));
    assert!(!unchecked(&advised["log"]).contains("were not checked"), "{advised:#}");
    // The state behind the older one was taken as the newer one states it.
    fs::rename(&sample.archive, beside(&sample.place, "moved")).unwrap();
    let told = format!(
        "what is before record {} was not read; `holdpoint --log {} verify --archive DIR` checks",
        older + 1,
        second.display()
    );
    sample.expect("the older one is gone", "replay", 0, &told);
    sample.expect("as told", "verify --log second --archive moved", 0, "");
    until_a_snapshot(&sample);
    let read = format!(
        "verify` reads it from record {} on, and with `--archive DIR` what is before that",
        newer + 1
    );
    sample.expect("from a snapshot", "decision list", 0, &read);
    let verified = json(&sample.ask("verify --archive second --json", 1));
    assert_eq!(verified["first_sequence"], older + 1, "{verified:#}");
}

#[test]
fn no_archive_is_advised_to_verify_a_salvaged_log_with() {
    let (sample, anchor) = Sample::archived();
    assert_eq!(status(&sample.ask("copy --salvage log new", 1)), 0);
    fs::rename(&sample.place.log, beside(&sample.place, "old")).unwrap();
    fs::rename(beside(&sample.place, "new"), &sample.place.log).unwrap();
    let fits_none = "this log was made by salvage, so no archive fits it";
    let carried = format!("what is before record {} was not read; {fits_none}", anchor + 1);
    for line in ["decision list --whole", "thread list", "replay", "replay --live", "diff 9999"] {
        let line = line.replace("9999", &(anchor + 2).to_string());
        let output = sample.expect("carried", &line, 0, &carried);
        assert!(!text(&output.stderr).contains("--archive DIR"), "{}", text(&output.stderr));
    }
    let alone = json(&sample.ask("verify --json", 1));
    let with = sample.ask("verify --archive archive --json", 1);
    assert_eq!(status(&with), 6, "it does not fit");
    for report in [&alone, &json(&with)["log"]] {
        let said = unchecked(report);
        assert_eq!(said.matches(fits_none).count(), 2, "{said}");
        assert!(said.contains("`--log DIR` verifies the archive by itself"), "{said}");
        assert!(!said.contains("`--archive DIR`"), "{said}");
    }
    sample.expect("as told", "verify --log archive", 0, "");
    until_a_snapshot(&sample);
    let read = format!("verify` reads it from record {} on; {fits_none}", anchor + 1);
    sample.expect("from a snapshot", "decision list", 0, &read);
}

#[test]
fn no_verifying_is_advised_to_tell_what_an_absent_archive_holds() {
    let sample = Sample::new();
    let left = sample.ask("run --hold on-failure --no-wait -- false", 1);
    assert_eq!(status(&left), 122, "{}", text(&left.stderr));
    let waiting = with_hold(json(&sample.ask("decision list --kind hold --json", 1))[0].clone());
    let [request, run] = ["request_id", "loop_id"].map(|key| waiting[key].as_str().unwrap());
    sample.grow();
    sample.archive_to(&sample.archive);
    let answer = format!("decision respond {request} ABORT --yes");
    sample.expect("the run is carried", &answer, 0, "");
    assert_eq!(status(&sample.place.shell("echo behind")), 0);
    let added = begun_without_approval(&sample.place);
    let storage = DirectoryStorage::new(&sample.place.log);
    let (log, _) = Log::open(storage, Options::default()).unwrap();
    log.append_any_kind(&[added], 0, Level::Always).unwrap();
    log.close().unwrap();
    let listed = " verify` says which";
    sample.expect("the archive is read", "runs", 6, listed);
    let moved = beside(&sample.place, "moved");
    fs::rename(&sample.archive, &moved).unwrap();
    let listed = "cannot be read; they may be in the archive that was not read";
    let output = sample.expect("the archive is gone", "runs", 0, listed);
    assert!(text(&output.stderr).contains("name its directory with --archive DIR"));
    for verb in ["show", "output"] {
        let line = format!("{verb} {run}");
        let output = sample.expect("the archive is gone", &line, 3, "name its directory with");
        let said = text(&output.stderr);
        assert!(said.contains("cannot be told") && !said.contains("verify`"), "{said}");
    }
    sample.expect("as told", &format!("show {run} --archive moved"), 0, "");
}
