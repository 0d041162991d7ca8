//! What this program cannot read of a log is not nothing: no list is whole without it, and nothing
//! is said to be missing that may rest on it.

use crate::attack_support::attacked_log;
use crate::hook::{ask, call};
use crate::program::Place;
use crate::records_support::{holdpoint, told, values};
use crate::withheld::{of_kind, place_of, remove_caches, sequence, withhold};
use holdpoint_forger::layout::record;
use holdpoint_forger::{Log, Reach, Record};
use std::path::Path;

const ASKED: &str = "decision_point.created";

/// Changes a record, and chains it and all behind it anew under a HEAD that follows.
fn remake(directory: &Path, sequence: u64, change: &dyn Fn(&mut Record)) {
    let mut log = Log::read(directory).unwrap();
    let at = place_of(&log, sequence);
    change(log.record_mut(at));
    assert!(log.remake(at, Reach::Log) && log.offsets_follow());
    log.head_follows();
    log.write(directory).unwrap();
}

/// Of a kind, and of a version of one, that this program does not know.
const UNKNOWN: [&dyn Fn(&mut Record); 2] =
    [&|it| it.header.set_number(record::KIND, 300), &|it| it.header.set_number(record::VERSION, 9)];

#[test]
fn what_lies_behind_a_record_of_an_unknown_kind_or_version_is_not_known_and_that_is_exit_6() {
    for change in UNKNOWN {
        let place = Place::with_log();
        place.shell("true");
        let first = ask(&place, &[], &call("s", "ls"));
        let log = place.log.as_path();
        let at = sequence(&of_kind(log, ASKED)[0]);
        let id = ask(&place, &[], &call("t", "pwd"));
        let newest = sequence(values(&holdpoint(log, &["log", "--json"])).last().unwrap());
        remake(log, at, change);
        let (code, verified, said) = told(&holdpoint(log, &["verify"]));
        assert!(code == 0 && verified.contains("only a newer holdpoint knows"), "{verified}{said}");
        let (before, end) = ((at - 1).to_string(), newest.to_string());
        for words in [
            &["decision", "list"][..],
            &["decision", "list", "--json"],
            &["decision", "list", "--whole", "--json"],
            &["decision", "show", &id],
            &["decision", "show", &first],
            &["decision", "list", "--kind", "hold"],
            &["decision", "list", "--kind", "hold", "--json"],
            &["decision", "list", "--kind", "hold", "--at", &end, "--json"],
            &["thread", "list"],
            &["thread", "list", "--json"],
            &["policy", "show"],
            &["inbox"],
            &["inbox", "--json"],
            &["show", &id],
            &["replay"],
            &["replay", "--json"],
            &["replay", "--at", &end],
            &["replay", "--at", &end, "--json"],
            &["replay", "--live"],
            &["replay", "--live", "--json"],
            &["replay", &id],
            &["diff", "--when", "totals.events > 100000"],
            &["diff", &before, &end],
            &["export", "--format", "jsonl", "--output", "-"],
        ] {
            let (code, stdout, stderr) = told(&holdpoint(log, words));
            assert_eq!(code, 6, "{words:?}: {stdout}{stderr}");
            let known = format!("not judged from record {at}");
            for part in ["is unknown; use a newer holdpoint", &known] {
                assert!(stderr.contains(part), "{words:?}: {stderr}");
            }
            assert!(stdout.trim() != "[]" && !stderr.contains("no pending questions"), "{words:?}");
            assert!(!stderr.contains("inside a batch"), "{words:?}: {stderr}");
        }
        for words in [&["replay", "--at", &before, "--json"][..], &["diff", "1", &before]] {
            let (code, _, stderr) = told(&holdpoint(log, words));
            assert!(code == 0 && !stderr.contains("unknown"), "{words:?}: {stderr}");
        }
    }
}

/// Bytes of which no program makes an event.
const GARBLED: &dyn Fn(&mut Record) = &|it| it.set_payload(vec![0xff; 20]);

/// The heading can be read, and the bytes of the body name no run.
const GARBLED_BODY: &dyn Fn(&mut Record) = &|it| {
    let mut payload = it.payload.clone();
    let named: Vec<usize> =
        (0..payload.len()).filter(|at| payload[*at..].starts_with(b"LOOP-")).collect();
    assert_eq!(named.len(), 1, "the body alone names the run");
    payload[named[0]..named[0] + 5].fill(0xff);
    it.set_payload(payload);
};

#[test]
fn a_record_that_cannot_be_read_is_found_wherever_it_could_be_meant() {
    for change in [GARBLED, GARBLED_BODY, UNKNOWN[0], UNKNOWN[1]] {
        let directory = attacked_log();
        let log = directory.path();
        let ended = of_kind(log, "execution_loop.halted").pop().unwrap();
        let id = ended["loop_id"].as_str().unwrap();
        let records = values(&holdpoint(log, &["log", "--json", &format!("loop={id}")]));
        let (at, begun) = (sequence(&ended), sequence(&records[0]).to_string());
        remake(log, at, change);
        let (own, newest) = (at.to_string(), (at + 1).to_string());
        for has_caches in [true, false] {
            if !has_caches {
                remove_caches(log);
            }
            for words in [
                &["runs", "status=running", "--since", &begun][..],
                &["runs", "failed=true", "--since", &begun],
                &["runs", "--json", "--since", &begun],
                &["show", id],
                &["show", &own],
                &["output", id],
                &["show", "--trace", &own, "--json"],
                &["diff", id],
                &["log"],
                &["log", "--reverse", "--json"],
                &["log", &format!("loop={id}")],
                &["log", "--since", &own, "--until", &own],
                &["log", "text=no such text"],
            ] {
                let (code, stdout, stderr) = told(&holdpoint(log, words));
                assert_eq!(code, 6, "{words:?}: {stdout}{stderr}");
                assert!(stderr.contains(&format!("sequence {at}: ")), "{words:?}: {stderr}");
                assert!(!stderr.contains("the log is corrupt"), "{words:?}: {stderr}");
            }
            let words = ["log", "--since", &newest, "--json"];
            let (code, shown, said) = told(&holdpoint(log, &words));
            assert!(code == 0 && !shown.is_empty(), "what can be read is shown: {said}");
        }
    }
}

#[test]
fn a_trace_tells_of_a_record_whose_body_cannot_be_read_where_its_heading_names_the_story() {
    let place = Place::with_log();
    place.shell("true");
    let log = place.log.as_path();
    let ended = sequence(&of_kind(log, "execution_loop.halted")[0]);
    let begun = sequence(&of_kind(log, "execution_loop.initialized")[0]).to_string();
    remake(log, ended, GARBLED_BODY);
    for words in [&["show", "--trace", &begun][..], &["show", "--trace", &begun, "--json"]] {
        let (code, stdout, stderr) = told(&holdpoint(log, words));
        assert_eq!(code, 6, "{words:?}: {stdout}{stderr}");
        assert!(stderr.contains(&format!("sequence {ended}: ")), "{words:?}: {stderr}");
    }
}

#[test]
fn one_sentence_tells_of_a_record_that_cannot_be_read() {
    for change in [Some(GARBLED), Some(GARBLED_BODY), Some(UNKNOWN[0]), None] {
        let place = Place::with_log();
        place.shell("true");
        let log = place.log.as_path();
        let at = sequence(&of_kind(log, "execution_loop.halted")[0]);
        let begun = sequence(&of_kind(log, "execution_loop.initialized")[0]).to_string();
        match change {
            Some(change) => remake(log, at, change),
            None => withhold(log, &[at]),
        }
        let (own, end) = (at.to_string(), (at + 1).to_string());
        for words in [
            &["show", "--trace", &own][..],
            &["show", "--trace", &begun],
            &["diff", "1", &end],
            &["diff", &end, &end],
            &["replay", "--live"],
            &["replay", "--live", "--at", &end],
            &["replay"],
            &["diff", "--when", "totals.events > 100000"],
        ] {
            let (code, _, stderr) = told(&holdpoint(log, words));
            let (found, shown) = (format!("sequence {at}: "), format!("record {at} "));
            let names = |line: &&str| line.contains(&found) || line.contains(&shown);
            assert_eq!((code, stderr.lines().filter(names).count()), (6, 1), "{words:?}: {stderr}");
        }
    }
}
