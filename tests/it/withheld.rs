//! Of what only the digest is there, or what the rules forbid, nothing is said to be missing, and
//! nothing that rests on it is left out as if all were well.

use crate::archive_support::Sample;
use crate::attack_support::attacked_log;
use crate::hook::{ask, call, respond};
use crate::program::{Place, status, text};
use crate::records_support::{holdpoint, remove_indexes, told, values};
use crate::run_before::{answer, command};
use holdpoint_forger::layout::record;
use holdpoint_forger::{Log, Reach, Record, RecordAt};
use serde_json::Value;
use std::fs;
use std::path::Path;

const BEGINS: &str = "execution_loop.initialized";
const ASKED: &str = "decision_point.created";

/// The records of a kind, the oldest first.
pub(crate) fn of_kind(log: &Path, kind: &str) -> Vec<Value> {
    values(&holdpoint(log, &["log", "--json", &format!("kind={kind}")]))
}

pub(crate) fn sequence(line: &Value) -> u64 {
    line["sequence"].as_u64().unwrap()
}

pub(crate) fn place_of(log: &Log, sequence: u64) -> RecordAt {
    let is_it = |at: &RecordAt| log.record(*at).sequence() == sequence;
    log.records().into_iter().find(is_it).unwrap()
}

/// Puts digests in the place of payloads.
pub(crate) fn withhold(directory: &Path, sequences: &[u64]) {
    let mut log = Log::read(directory).unwrap();
    for sequence in sequences {
        log.withhold(place_of(&log, *sequence));
    }
    assert!(log.offsets_follow());
    log.write(directory).unwrap();
}

/// Changes a record, and chains all behind it anew, HEAD too where it is not given.
fn forge(directory: &Path, sequence: u64, head: Option<&[u8]>, change: fn(&mut Record)) {
    let mut log = Log::read(directory).unwrap();
    let at = place_of(&log, sequence);
    change(log.record_mut(at));
    assert!(log.remake(at, Reach::Log));
    log.head_follows();
    log.write(directory).unwrap();
    if let Some(head) = head {
        fs::write(directory.join("HEAD"), head).unwrap();
    }
}

pub(crate) fn remove_caches(log: &Path) {
    remove_indexes(log);
    fs::remove_dir_all(log.join("snapshots")).unwrap();
}

/// The verb ends with exit 6 and says that of a record only the digest is there.
fn assert_found(log: &Path, words: &[&str]) -> String {
    let (code, stdout, stderr) = told(&holdpoint(log, words));
    assert_eq!(code, 6, "{words:?}: {stdout}{stderr}");
    assert!(stderr.contains("its payload is withheld"), "{words:?}: {stderr}");
    stdout
}

#[test]
fn no_list_leaves_out_a_run_whose_beginning_is_withheld_as_if_it_were_not_there() {
    let directory = attacked_log();
    let log = directory.path();
    let begun: Vec<u64> = of_kind(log, BEGINS).iter().map(sequence).collect();
    withhold(log, &begun[1..2]);
    let [before, at, next] = [0, 1, 2].map(|it| begun[it].to_string());
    for has_caches in [true, false] {
        if !has_caches {
            remove_caches(log);
        }
        for options in [
            &["--since", &at, "--until", &at][..],
            &["--since", &before, "--until", &at],
            &["--until", &at],
            &["--until", &at, "-n", "1"],
            &["--after", &next],
            &["--after", &next, "-n", "1"],
            &["--since", &at, "--until", &at, "failed=true"],
            &["--since", &at, "--until", &at, "by=nobody"],
            &["-n", "1000"],
        ] {
            assert_found(log, &[&["runs", "-q"], options].concat());
            assert_found(log, &[&["runs", "--json"], options].concat());
        }
        for options in [&["-n", "1"][..], &["--since", &next, "-n", "1"]] {
            let words = [&["runs", "-q"], options].concat();
            let (code, listed, said) = told(&holdpoint(log, &words));
            assert_eq!((code, listed.lines().count()), (0, 1), "{words:?}: {said}");
        }
    }
}

#[test]
fn no_list_leaves_out_a_run_whose_beginning_nobody_can_read() {
    let place = Place::with_log();
    place.shell("true");
    let log = place.log.as_path();
    let begun = sequence(&of_kind(log, BEGINS)[0]);
    forge(log, begun, None, |record| record.payload.fill(0xff));
    let (code, listed, said) = told(&holdpoint(log, &["runs", "-q"]));
    assert_eq!((code, &*listed), (6, ""), "{said}");
    assert!(said.contains("not shown: at least 1 run"), "{said}");
    assert!(said.contains(&format!("sequence {begun}: ")), "{said}");
}

/// A run that was begun with an approval, by its id, the records of that approval, and HEAD from
/// before it was given.
fn approved(place: &Place) -> (String, Vec<Value>, Vec<u8>) {
    let run = |words: &[&str]| command(place, words).output().unwrap();
    let asked = run(&["run", "--hold", "before", "--no-wait", "--", "true"]);
    assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
    let id = text(&asked.stdout).trim().to_string();
    let head = fs::read(place.log.join("HEAD")).unwrap();
    assert_eq!(answer(place, &id, "approve"), 0);
    let ran = run(&["run", "--hold", "before", "--approval", &id, "--", "true"]);
    assert_eq!(status(&ran), 0, "{}", text(&ran.stderr));
    let begun = of_kind(&place.log, BEGINS).pop().unwrap();
    let words = ["log", "--json", &format!("decision={id}")];
    let records = values(&holdpoint(&place.log, &words));
    (begun["loop_id"].as_str().unwrap().to_string(), records, head)
}

#[test]
fn no_run_whose_approval_does_not_count_is_said_to_be_missing() {
    let place = Place::with_log();
    let (id, records, early) = approved(&place);
    let log = place.log.as_path();
    let whole = Log::read(log).unwrap();
    assert_eq!(records.len(), 4, "asked, answered, resolved, spent: {records:#?}");
    for record in records {
        for head in [None, Some(&early[..])] {
            whole.write(log).unwrap();
            let of_no_kind = |record: &mut Record| record.header.set_number(record::KIND, 60_000);
            forge(log, sequence(&record), head, of_no_kind);
            let (code, listed, said) = told(&holdpoint(log, &["runs", "-q"]));
            assert_eq!((code, &*listed), (6, ""), "{record}: {said}");
            assert!(said.contains("not shown: "), "{record}: {said}");
            for words in [&["show", &id][..], &["show", &id[..12]], &["output", &id]] {
                let (code, shown, said) = told(&holdpoint(log, words));
                assert_eq!((code, &*shown), (6, ""), "{words:?} {record}: {said}");
                assert!(!said.contains("there is no run"), "{words:?}: {said}");
            }
        }
    }
}

#[test]
fn nothing_is_said_to_be_missing_that_may_begin_with_a_withheld_record() {
    let place = Place::with_log();
    place.shell("true");
    let id = ask(&place, &[], &call("s", "ls"));
    respond(&place, &id, "deny");
    let log = place.log.as_path();
    let at = sequence(&of_kind(log, ASKED)[0]);
    withhold(log, &[at]);
    let session = format!("session:{at}");
    let digits = format!("a{}", &id[4..12]);
    for words in [
        &["show", &*session][..],
        &["show", "--trace", &session],
        &["show", "session:claude-code:s"],
        &["show", &id[..11]],
        &["show", "DP-000000"],
        &["show", "REQ-000000"],
        &["show", "LOOP-000000"],
        &["show", &digits],
        &["show", "--trace", &id[..11]],
        &["output", "LOOP-000000"],
        &["runs", "-q"],
    ] {
        let stdout = assert_found(log, words);
        assert!(words[0] == "runs" || stdout.is_empty(), "{words:?}: {stdout}");
    }
}

#[test]
fn no_decision_in_an_archive_is_said_to_be_missing_whose_beginning_is_withheld() {
    let (sample, _) = Sample::archived();
    let log = sample.place.log.as_path();
    let asked = of_kind(log, ASKED).remove(0);
    assert!(asked["archive"].is_string(), "{asked}");
    withhold(&sample.archive, &[sequence(&asked)]);
    let id = asked["decision_id"].as_str().unwrap();
    for has_caches in [true, false] {
        if !has_caches {
            remove_indexes(&sample.archive);
        }
        for words in
            [&["show", &id[..11]][..], &["show", "--trace", &id[..11]], &["show", "--trace", id]]
        {
            assert_eq!(assert_found(log, words), "", "{words:?}");
        }
    }
}

#[test]
fn a_withheld_record_is_found_by_every_verb_that_shows_it_in_every_form() {
    let directory = attacked_log();
    let log = directory.path();
    let begun = of_kind(log, BEGINS).remove(1);
    let (id, first) = (begun["loop_id"].as_str().unwrap(), sequence(&begun));
    let records = values(&holdpoint(log, &["log", "--json", &format!("loop={id}")]));
    let own: Vec<u64> = records.iter().map(sequence).collect();
    // One in the middle of a batch, and with it whatever comes behind.
    withhold(log, &own[2..]);
    let (first, second) = (first.to_string(), own[2].to_string());
    let kind = records[2]["kind"].as_str().unwrap();
    for has_caches in [true, false] {
        if !has_caches {
            remove_caches(log);
        }
        for words in [
            &["show", id][..],
            &["show", &second],
            &["show", "--trace", id],
            &["show", "--trace", id, "--json"],
            &["show", "--trace", id, "--format", "dot"],
            &["show", "--trace", id, "--format", "mermaid"],
            &["show", "--trace", &first, "--json"],
            &["show", "--trace", &second],
            &["show", "--trace", &second, "--json"],
            &["log"],
            &["log", "--json"],
            &["log", "--reverse"],
            &["log", "--reverse", "--json"],
            &["log", "-n", "1000"],
            &["log", &format!("kind={kind}")],
            &["log", &format!("kind={kind}"), "--json"],
            &["log", &format!("kind={kind}"), "--reverse"],
            &["log", "--since", &second, "--until", &second],
            &["log", "--since", &second, "--until", &second, "--json"],
            &["log", "text=no such text"],
            &["output", id],
        ] {
            assert_found(log, words);
        }
        let newer = (own.last().unwrap() + 1).to_string();
        let words = ["log", "--since", &newer, "--json"];
        let (code, shown, said) = told(&holdpoint(log, &words));
        assert!(code == 0 && !shown.is_empty(), "what nobody withheld is shown: {said}");
    }
}

/// A snapshot leads a writer no further than the records behind it can be read.
#[test]
fn nothing_is_written_behind_a_newest_record_that_cannot_be_read() {
    for has_snapshots in [true, false] {
        let directory = attacked_log();
        let log = directory.path();
        let data = log.join("HEAD");
        let words = ["record", "--stream", "s", "--type", "t", data.to_str().unwrap()];
        let (code, _, said) = told(&holdpoint(log, &words));
        assert_eq!(code, 0, "{said}");
        let newest = sequence(values(&holdpoint(log, &["log", "--json"])).last().unwrap());
        withhold(log, &[newest]);
        if !has_snapshots {
            fs::remove_dir_all(log.join("snapshots")).unwrap();
        }
        let (code, _, said) = told(&holdpoint(log, &words));
        assert_eq!(code, 5, "{said}");
        assert!(said.contains(&format!("record {newest}")), "{said}");
    }
}
