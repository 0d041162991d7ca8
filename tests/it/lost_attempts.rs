//! What waits in the file of a run is about one attempt of it, and says nothing of a later one.

use crate::apply_support::{HASH, answers, apply, awaited, dispatch, initialize};
use crate::program::{Place, json, status, text};
use holdpoint_log_format::{EntryHeader, EntryKind, GuardFacts, Head, Link, RunKey, RunStart};
use serde_json::{Value, json};
use std::fs;

/// A loop whose first attempt failed, and whose second one waits for its end; the record of the
/// start of the first, which has this key.
fn two_attempts(place: &Place, key: &RunKey) -> (String, RunStart) {
    let digits = "7".repeat(32);
    let loop_id = format!("LOOP-{digits}");
    let mut begun = initialize(&digits);
    begun["max_attempts"] = 2.into();
    let mut first = awaited(&loop_id);
    let public: String = key.public().iter().map(|byte| format!("{byte:02x}")).collect();
    first["recorder_key"] = public.into();
    let printed = json!({ "stream": "STDOUT", "raw_data": "", "true_length": 0,
        "whole_sha256": HASH });
    let printed = json!({ "command": "evidence_capture.capture", "loop_id": loop_id,
        "items": [{ "executor_output": printed }] });
    let failed = json!({ "command": "sandbox_fault.report", "loop_id": loop_id, "attempt": 1,
        "fault_type": "TIMEOUT", "fault_message": "late", "exit": { "signal": 15 } });
    let mut again = dispatch(&loop_id);
    again["command"] = "execution_loop.retry".into();
    let second = awaited(&loop_id);
    let lines = [begun, dispatch(&loop_id), first, printed, failed, again, second];
    let lines = lines.map(|submit| json!({ "submit": submit }));
    let answers = answers(&apply(place, &lines));
    assert!(answers.iter().all(|answer| answer["receipt"].is_object()), "{answers:#?}");
    let kind = "execution_loop.response_awaited";
    let told = place.holdpoint(&["log", &format!("kind={kind}"), "--json"]);
    let told = text(&told.stdout);
    let start: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    let link = start["link"].as_str().unwrap();
    let link: Vec<u8> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(&link[at..at + 2], 16).unwrap()).collect();
    let head = Head::decode(&fs::read(place.log.join("HEAD")).unwrap()).unwrap();
    let start = RunStart {
        log: head.log,
        loop_digits: RunStart::digits_of(&loop_id).unwrap(),
        attempt: 1,
        sequence: start["sequence"].as_u64().unwrap(),
        link: Link(link.try_into().unwrap()),
    };
    (loop_id, start)
}

#[test]
fn how_a_guard_saw_one_attempt_end_says_nothing_of_the_next_one() {
    let place = Place::with_log();
    let key = RunKey::from_seed(&[7; 32]);
    let (loop_id, start) = two_attempts(&place, &key);
    let facts = GuardFacts::default().encode();
    let header = EntryHeader::of(EntryKind::GuardFacts, 1, start, &facts).unwrap();
    let entry = [b"{}\n".as_slice(), &header.encode(&key), &facts].concat();
    fs::create_dir_all(place.log.join("runs")).unwrap();
    fs::write(place.log.join("runs").join(&loop_id), entry).unwrap();
    let expired = place.holdpoint(&["decision", "expire"]);
    assert_eq!(status(&expired), 0, "{}", text(&expired.stderr));
    assert!(text(&expired.stdout).contains(&loop_id), "{}", text(&expired.stdout));
    let shown = json(&place.holdpoint(&["show", &loop_id, "--json"]));
    assert_eq!(shown["outcome"], "lost", "{shown:#}");
    let attempts = shown["execution_loop"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    // Nobody saw it: not with exit status 0, as the first one is said to have ended.
    assert_eq!(attempts[1]["response"], Value::Null, "{shown:#}");
    place.verified();
}

/// Nothing starts before its start is on record.
#[test]
fn a_run_whose_recorder_is_gone_before_a_start_is_refused_and_not_lost() {
    for (digit, steps) in [("1", 1), ("2", 2)] {
        let place = Place::with_log();
        let digits = digit.repeat(32);
        let loop_id = format!("LOOP-{digits}");
        let lines = [initialize(&digits), dispatch(&loop_id)].map(|line| json!({ "submit": line }));
        let answers = answers(&apply(&place, &lines[..steps]));
        assert!(answers.iter().all(|answer| answer["receipt"].is_object()), "{answers:#?}");
        fs::create_dir_all(place.log.join("runs")).unwrap();
        fs::write(place.log.join("runs").join(&loop_id), "{}\n").unwrap();
        assert_eq!(status(&place.holdpoint(&["decision", "expire"])), 0);
        let shown = json(&place.holdpoint(&["show", &loop_id, "--json"]));
        assert_eq!(shown["outcome"], "refused", "{shown:#}");
        for (word, count) in [("refused", 1), ("lost", 0)] {
            let found = place.holdpoint(&["runs", &format!("status={word}"), "--json"]);
            assert_eq!(text(&found.stdout).lines().count(), count, "{word}");
        }
        place.verified();
    }
}
