//! What waits in a run's file is shown as it is once it is on record: in order, with its times.

use crate::program::{Place, json, status, text};
use crate::run_ending::Waiting;
use serde_json::Value;

/// What a run prints to both streams in turn, slower than its output is flushed.
const IN_TURN: &str = "echo o1; sleep 0.1; echo e1 >&2; sleep 0.1; echo o2; sleep 0.1; \
                       echo e2 >&2; exit 3";

#[test]
fn both_streams_that_wait_are_shown_as_they_came_with_their_times() {
    let waiting = Waiting::begin_with(&["--json", "--flush", "10ms"], IN_TURN);
    let place = &waiting.place;
    let stdout_of = |words: &[&str]| {
        let output = place.holdpoint(&[&["output", &waiting.run], words].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout).to_string()
    };
    let told = json(&place.holdpoint(&["output", &waiting.run, "--json"]));
    let pieces = told["unproven_pieces"].as_array().unwrap().clone();
    let of = |piece: &Value| (piece["stream"].clone(), piece["offset"].as_u64().unwrap());
    let expected = [("STDOUT", 0), ("STDERR", 0), ("STDOUT", 3), ("STDERR", 3)];
    let expected = expected.map(|(stream, offset)| (Value::from(stream), offset));
    assert_eq!(pieces.iter().map(of).collect::<Vec<_>>(), expected, "{told:#}");
    let told_waiting = [&[][..], &["-n", "2"], &["--timestamps"], &["--follow"]].map(stdout_of);
    let [all, last, timed, followed] = &told_waiting;
    assert_eq!((&**all, &**last, &**followed), ("o1\ne1\no2\ne2\n", "o2\ne2\n", &**all));
    let streams: Vec<_> = timed.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(streams, ["stdout", "stderr", "stdout", "stderr"], "{timed}");
    waiting.settled();
    let on_record = [&[][..], &["-n", "2"], &["--timestamps"], &["--follow"]].map(stdout_of);
    assert_eq!(told_waiting, on_record, "it is the same once it is on record");
}

#[test]
fn beyond_a_limit_both_streams_are_shown_as_they_came() {
    let place = Place::with_log();
    let script = "echo too long; sleep 0.1; echo err too >&2";
    let words = ["run", "--max-output", "4B", "--json", "--", "sh", "-c", script];
    let run = json(&place.holdpoint(&words))["loop_id"].as_str().unwrap().to_string();
    let output = place.holdpoint(&["output", &run]);
    assert_eq!(text(&output.stdout), "too long\nerr too\n");
}

#[test]
fn a_run_that_printed_nothing_and_whose_end_waits_has_an_output() {
    let waiting = Waiting::begin_with(&["--json"], "exit 3");
    for words in [&["output", &waiting.run][..], &["output", "--stream", "stdout", &waiting.run]] {
        let output = waiting.place.holdpoint(words);
        let told = text(&output.stderr);
        assert_eq!((status(&output), &*text(&output.stdout)), (0, ""), "{told}");
        assert!(told.contains("no output; unproven"), "{told}");
    }
    let output = waiting.place.holdpoint(&["output", &waiting.run, "--json"]);
    let told = json(&output);
    assert_eq!((status(&output), &told["missing"]), (0, &Value::Null), "{told:#}");
    assert_eq!(told["standing"], "unproven", "{told:#}");
    waiting.settled();
    let output = waiting.place.holdpoint(&["output", &waiting.run]);
    assert_eq!((status(&output), &*text(&output.stdout)), (0, ""));
}
