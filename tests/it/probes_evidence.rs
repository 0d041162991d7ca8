//! What the conformance documents say of evidence and faults, tried through `apply`.

use crate::apply_support::{HASH, answers, apply, awaited, dispatch, initialize, story};
use crate::program::{Place, skip, status, text};
use crate::unfinished::on_small_disk;
use serde_json::{Value, json};

/// Capturing changes nothing of a loop: the state is what it was.
#[test]
fn evidence_has_the_time_of_its_record_and_moves_no_loop() {
    let place = Place::new();
    let (digits, entropy) = ("6".repeat(32), "6".repeat(32));
    let loop_id = format!("LOOP-{digits}");
    let lines: Vec<Value> = story(&entropy).into_iter().take(3).collect();
    apply(&place, &lines);
    let before = place.newest_loop()["state"].clone();
    let capture = json!({ "command": "evidence_capture.capture", "loop_id": loop_id, "items": [
        { "executor_output": { "stream": "STDOUT", "raw_data": "", "true_length": 0,
            "whole_sha256": HASH } }] });
    let found = answers(&apply(&place, &[json!({ "submit": capture })]));
    assert!(found[0]["receipt"].is_object(), "{found:#?}");
    assert_eq!(place.newest_loop()["state"], before);
    let captured = place.records().into_iter().filter(|it| it["event"]["self_hash"].is_string());
    let captured: Vec<Value> = captured.collect();
    assert!(captured.len() >= 3);
    for record in captured {
        assert_eq!(record["event"]["timestamp"], record["time"], "{record:#}");
    }
}

/// A decision on a fault cannot say what runs next, who runs it, how long or under which limit.
#[test]
fn a_decision_on_a_fault_has_its_four_fields_and_none_that_grants_anything() {
    let place = Place::new();
    let digits = "7".repeat(32);
    let loop_id = &format!("LOOP-{digits}");
    let fault = json!({ "command": "sandbox_fault.report", "loop_id": loop_id, "attempt": 1,
        "fault_type": "CRASH", "fault_message": "it failed", "exit": "unknown" });
    let output = story(&digits).remove(3)["submit"].clone();
    let lines = [initialize(&digits), dispatch(loop_id), awaited(loop_id), output, fault];
    apply(&place, &lines.map(|submit| json!({ "submit": submit })));
    let decided = place.records();
    let decided = decided.iter().find(|it| it["kind"] == "sandbox_fault.sandbox_decided").unwrap();
    let mut names: Vec<&str> =
        decided["event"].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let own = ["attempt", "fault_id", "kind", "loop_id"];
    let seeds = ["reason_code", "reason_description", "retry_policy", "sandbox_decision"];
    assert_eq!(names, [own, seeds].concat());
}

/// No loop and no stop condition: what cannot be ended on record does not begin there.
#[test]
fn without_room_to_record_its_end_no_run_begins_and_none_is_on_record() {
    let Some((place, disk)) = on_small_disk("2m") else {
        return skip("a full disk under a run: no small file system can be mounted here");
    };
    assert_eq!(status(&place.run(&["true"])), 0);
    let before = place.records().len();
    let free = rustix::fs::statvfs(&disk.path).unwrap();
    let filler = disk.path.join("filler");
    let length = (free.f_bavail * free.f_frsize).saturating_sub(40 * 1_024);
    std::fs::write(&filler, vec![1; usize::try_from(length).unwrap()]).unwrap();
    let output = place.shell("echo began");
    assert_eq!((status(&output), text(&output.stdout)), (125, String::new()));
    std::fs::remove_file(&filler).unwrap();
    assert_eq!((place.records().len(), place.loops().len()), (before, 1));
}
