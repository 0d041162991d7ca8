//! `verify` as it is asked: some records alone, up to the first finding, beside heads that were
//! kept outside; and its map of places that hold no log of ours.

use holdpoint_log_format::Head;
use holdpoint_testing::hand_made::{FIRST_RECORD, HandMadeLog, flip};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn holdpoint(log: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env_remove("HOLDPOINT_LOG").arg("--log").arg(log).arg("verify").args(arguments);
    command.output().unwrap()
}

fn json(log: &Path, arguments: &[&str], code: i32) -> Value {
    let output = holdpoint(log, &[&["--json"], arguments].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Three segments, the last one active; the first sequences of the others.
fn sample() -> (TempDir, HandMadeLog, [u64; 2]) {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    let second = log.chain.sequence + 1;
    log.run_of("second");
    log.roll();
    let third = log.chain.sequence + 1;
    log.crash();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    (directory, log, [second, third])
}

fn segment(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("segments/{first:020}.seg"))
}

#[test]
fn a_range_is_verified_alone_and_what_that_leaves_open_is_said() {
    let (directory, log, [second, third]) = sample();
    let newest = log.chain.sequence;
    let range = format!("{second}..{}", third - 1);
    let report = json(directory.path(), &[&range], 0);
    assert_eq!(report["verdict"], "intact");
    assert_eq!(report["records"], third - second);
    assert_eq!(report["from"]["sequence"], second - 1);
    assert_eq!(report["to"]["sequence"], third - 1);
    let open = report["not_checked"].as_array().unwrap();
    assert_eq!(open.len(), 3, "{open:?}");
    let all = json(directory.path(), &["1.."], 0);
    assert_eq!((&all["records"], &all["last"]), (&newest.into(), &newest.into()));
    assert_eq!(all["to"]["link"], log.chain.link.to_string());
    // Damage counts where it is read, and nowhere else.
    flip(&segment(directory.path(), 1), FIRST_RECORD + 70);
    assert_eq!(json(directory.path(), &[&range], 0)["verdict"], "intact");
    let report = json(directory.path(), &["..5"], 6);
    assert_eq!(report["verdict"], "corrupt");
    assert_eq!(report["findings"][0]["sequence"], 1);
    std::fs::remove_file(segment(directory.path(), second)).unwrap();
    let report = json(directory.path(), &[&format!("{second}..")], 6);
    assert_eq!(report["integrity"]["state"], "failed");
}

#[test]
fn a_range_that_the_log_does_not_hold_is_not_found_and_one_that_is_none_is_refused() {
    let (directory, log, _) = sample();
    let newest = log.chain.sequence;
    for range in [format!("{}..", newest + 1), format!("3..{}", newest + 1)] {
        let report = json(directory.path(), &[&range], 3);
        assert_eq!(report["error"]["code"], "range_not_here", "{range}");
        let message = report["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("reaches record {newest}")), "{message}");
    }
    for range in ["", "..", "0..", "9..3", "a..b"] {
        let output = holdpoint(directory.path(), &[range]);
        assert_eq!(output.status.code(), Some(2), "{range:?}");
    }
    let empty = TempDir::new().unwrap();
    assert_eq!(json(empty.path(), &["1.."], 3)["error"]["code"], "range_not_here");
}

#[test]
fn a_link_or_a_pipe_in_a_segments_place_is_damage_of_the_range() {
    let (directory, _, [second, _]) = sample();
    let file = segment(directory.path(), second);
    let aside = directory.path().join("aside");
    std::fs::rename(&file, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &file).unwrap();
    let report = json(directory.path(), &[&format!("{second}..")], 6);
    assert_eq!(report["findings"][0]["problem"], "not_regular", "{report}");
    assert_eq!(report["findings"][0]["sequence"], second);
}

#[test]
fn a_head_that_does_not_hold_is_a_finding_of_every_range() {
    let damages: [fn(&Path); 4] = [
        |head| std::fs::write(head, [7; 152]).unwrap(),
        |head| std::fs::write(head, "").unwrap(),
        |head| std::fs::remove_file(head).unwrap(),
        |head| {
            std::fs::remove_file(head).unwrap();
            std::fs::create_dir(head).unwrap();
        },
    ];
    for damage in damages {
        let (directory, _, [second, third]) = sample();
        damage(&directory.path().join("HEAD"));
        let whole = json(directory.path(), &[], 6);
        for range in ["1..".to_string(), format!("{second}..{}", third - 1)] {
            let report = json(directory.path(), &[&range], 6);
            assert_eq!(report["verdict"], "corrupt");
            for field in ["segment", "problem", "message"] {
                let [found, due] = [&report, &whole].map(|one| &one["findings"][0][field]);
                assert_eq!(found, due, "{range}: {field}");
            }
            let states = ["integrity", "completeness"].map(|axis| &report[axis]["state"]);
            assert!(states.contains(&&"failed".into()), "{report:#}");
            assert!(report["records"].as_u64() >= Some(third - second), "the range was read");
        }
    }
}

#[test]
fn a_range_of_a_head_alone_is_damage_and_not_an_empty_log() {
    let (directory, _, _) = sample();
    std::fs::remove_dir_all(directory.path().join("segments")).unwrap();
    let problem = |report: &Value| report["findings"][0]["problem"].as_str().unwrap().to_string();
    let report = json(directory.path(), &["1.."], 6);
    assert_eq!(problem(&report), "segments_gone");
    std::fs::write(directory.path().join("HEAD"), [7; 152]).unwrap();
    let report = json(directory.path(), &["1.."], 6);
    assert_eq!(problem(&report), problem(&json(directory.path(), &[], 6)));
    let shown = holdpoint(directory.path(), &["3.."]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("HEAD, byte 0") && shown.contains("no record of it"), "{shown}");
}

#[test]
fn failing_fast_gives_the_first_finding_and_says_that_it_stopped() {
    let (directory, _, [second, third]) = sample();
    let intact = json(directory.path(), &["--fail-fast"], 0);
    assert_eq!((&intact["verdict"], &intact["stopped_early"]), (&"intact".into(), &Value::Null));
    flip(&segment(directory.path(), second), FIRST_RECORD + 70);
    flip(&segment(directory.path(), third), FIRST_RECORD + 70);
    let all = json(directory.path(), &[], 6);
    let first = json(directory.path(), &["--fail-fast"], 6);
    assert!(all["findings"].as_array().unwrap().len() > 1);
    assert_eq!(first["findings"].as_array().unwrap().len(), 1);
    assert_eq!(first["findings"][0], all["findings"][0]);
    assert_eq!(first["stopped_early"], true);
    assert_eq!(first["head"]["sequence"], second - 1);
}

#[test]
fn a_missing_segment_is_at_the_same_place_of_a_range_and_of_the_whole_log() {
    let (directory, _, [second, _]) = sample();
    std::fs::remove_file(segment(directory.path(), second)).unwrap();
    let whole = json(directory.path(), &[], 6);
    let range = json(directory.path(), &["1.."], 6);
    assert_eq!(whole["findings"][0]["sequence"], second);
    assert_eq!(range["findings"][0], whole["findings"][0]);
}

/// What the headers tell alone is found before a record is read.
#[test]
fn failing_fast_reads_everything_before_the_first_finding_whatever_is_found_first() {
    let what_is_wrong: [fn(&Path, u64, u64); 4] = [
        |log, _, third| std::fs::remove_file(segment(log, third)).unwrap(),
        |log, _, third| flip(&segment(log, third), 20),
        |log, _, _| std::fs::remove_file(log.join("HEAD")).unwrap(),
        |log, second, _| flip(&segment(log, second), 20),
    ];
    for (index, change) in what_is_wrong.into_iter().enumerate() {
        for is_flipped in [false, true] {
            let (directory, _, [second, third]) = sample();
            change(directory.path(), second, third);
            if is_flipped {
                flip(&segment(directory.path(), 1), FIRST_RECORD + 70);
            }
            let all = json(directory.path(), &[], 6);
            let first = json(directory.path(), &["--fail-fast"], 6);
            assert_eq!(first["findings"][0], all["findings"][0], "{index} {is_flipped}");
        }
    }
}

#[test]
fn a_head_behind_the_end_of_the_log_is_missing_for_a_range_as_for_the_whole_log() {
    let (directory, log, _) = sample();
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("head");
    let later = Head { newest_sequence: log.chain.sequence + 1, ..log.head() };
    std::fs::write(&file, later.encode()).unwrap();
    let head = ["--head", file.to_str().unwrap()];
    for range in [&[][..], &["1..2"], &["2.."]] {
        let report = json(directory.path(), &[&head[..], range].concat(), 6);
        assert_eq!(report["heads"][0]["state"], "missing", "{range:?}: {report}");
        assert_eq!(report["verdict"], "corrupt", "{range:?}: {report}");
        let axes = if range.is_empty() { &report["axes"] } else { &report };
        let [completeness, authenticity] = ["completeness", "authenticity"]
            .map(|name| (&axes[name]["state"], &axes[name]["reason"]));
        assert_eq!(completeness.0, "failed", "{range:?}: {report}");
        assert_eq!(completeness, authenticity, "{range:?}");
    }
}

#[test]
fn a_file_that_is_no_head_is_refused_with_its_line() {
    let (directory, log, _) = sample();
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("heads");
    let named = file.to_str().unwrap();
    let (sequence, link) = (log.chain.sequence, log.chain.link);
    std::fs::write(&file, format!("{sequence} {link}\nnonsense\n")).unwrap();
    let report = json(directory.path(), &["--head", named], 2);
    assert!(report["error"]["message"].as_str().unwrap().contains("line 2"), "{report}");
    File::create(&file).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(json(directory.path(), &["--head", named], 2)["error"]["code"], "no_head");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(json(directory.path(), &["--head", named], 1)["error"]["code"], "io");
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    for strange in [named, "/dev/zero", outside.path().to_str().unwrap()] {
        let refused = json(directory.path(), &["--head", strange], 2);
        assert_eq!(refused["error"]["code"], "no_head", "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("not a regular file"));
    }
    std::fs::remove_file(&file).unwrap();
    let other = HandMadeLog::of(holdpoint_log_format::LogId([9; 16]));
    std::fs::write(&file, other.head().encode()).unwrap();
    let report = json(directory.path(), &["--head", named], 6);
    assert_eq!(report["heads"][0]["state"], "other_log");
    std::fs::write(&file, format!("{sequence} {link}\n")).unwrap();
    let told = holdpoint(directory.path(), &["--head", named]);
    let told = String::from_utf8(told.stdout).unwrap();
    for part in ["authenticity  proven", "outside head", "beyond proof"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn places_that_hold_no_log_of_ours_are_mapped_without_harm() {
    let empty = TempDir::new().unwrap();
    assert_eq!(json(empty.path(), &["--map"], 3)["verdict"], "nothing here");
    let foreign = TempDir::new().unwrap();
    std::fs::write(foreign.path().join("access.log"), "GET / 200\n").unwrap();
    assert_eq!(json(foreign.path(), &["--map"], 3)["verdict"], "nothing here");
    let (directory, _, [_, third]) = sample();
    let last = segment(directory.path(), third);
    let bytes = std::fs::read(&last).unwrap();
    let causes = |code: i32| {
        let report = json(directory.path(), &["--map"], code);
        let regions = report["damage"]["regions"].as_array().unwrap().clone();
        regions
            .iter()
            .map(|region| region["cause"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    std::fs::write(&last, "").unwrap();
    assert_eq!(causes(6).first().unwrap(), "truncated");
    std::fs::write(&last, &bytes).unwrap();
    File::options().write(true).open(&last).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(causes(6), ["stray_bytes"]);
    std::fs::write(&last, &bytes).unwrap();
    assert_eq!(causes(0), [""; 0]);
    let next = segment(directory.path(), third + 1_000);
    File::create(&next).unwrap().set_len(1 << 40).unwrap();
    let code = holdpoint(directory.path(), &["--map"]).status.code();
    assert!([Some(0), Some(6)].contains(&code), "{code:?}");
}

#[test]
fn ten_thousand_tiny_segments_are_mapped_with_a_bounded_answer() {
    let (directory, log, _) = sample();
    let first = log.chain.sequence + 10;
    for number in 0..10_000 {
        std::fs::write(segment(directory.path(), first + number), [b'x'; 40]).unwrap();
    }
    let report = json(directory.path(), &["--map"], 6);
    let damage = &report["damage"];
    assert_eq!(damage["regions"].as_array().unwrap().len(), 1_000);
    assert!(damage["regions_left_out"].as_u64().unwrap() >= 9_000);
    assert_eq!(damage["stretches"][0]["last"], log.chain.sequence);
    assert_eq!(damage["salvage"]["records_kept"], log.chain.sequence);
}

#[test]
fn the_program_begins_with_what_the_library_says_of_a_directory() {
    for damage in [false, true] {
        let (directory, ..) = sample();
        if damage {
            flip(&segment(directory.path(), 1), FIRST_RECORD + 70);
        }
        let report = holdpoint_replay::verify_directory(directory.path()).unwrap();
        assert_eq!(report.failed(), damage);
        let told = report.to_string();
        let axes: String = told.lines().take(5).map(|line| format!("{line}\n")).collect();
        let printed = String::from_utf8(holdpoint(directory.path(), &[]).stdout).unwrap();
        assert!(printed.starts_with(&axes), "{printed}\n{told}");
        assert_eq!(told.lines().count() > 5, damage, "{told}");
        let as_json: Value = serde_json::to_value(&report).unwrap();
        assert_eq!(json(directory.path(), &[], if damage { 6 } else { 0 }), as_json);
    }
}
