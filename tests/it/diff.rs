//! What lies between two points of a log, or between two logs: what `diff` says is so, and its
//! patch makes the one state of the other.

use crate::program::{Place, json, status, text, with_hold};
use crate::travel_support::{ArbitraryIn, History, opened};
use holdpoint_domain::log::ClockStepped;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{Head, Link, LogId};
use holdpoint_replay::state::ROOMS;
use holdpoint_replay::{
    Change, CommonPrefix, Difference, Moment, Until, common_prefix, diff, state_of,
};
use holdpoint_testing::hand_made::{HandMadeLog, change_head};
use holdpoint_testing::story::seed;
use json_patch::Patch;
use quickcheck::Gen;
use serde_json::{Value, json as value_of};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

#[test]
fn the_patch_makes_the_second_state_of_the_first() {
    let seed = seed();
    let history = History::written(seed, 300, 80);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let mut random = Gen::from_size_and_seed(40, seed);
    for _ in 0..40 {
        let from = u64::arbitrary_in(&mut random, history.newest());
        let to = from + u64::arbitrary_in(&mut random, history.newest() - from + 1);
        let first = line.at(Until::Sequence(from)).unwrap();
        let (difference, last) = diff(&line, &first, Until::Sequence(to)).unwrap();
        let mut state = state_of(&first);
        json_patch::patch(&mut state, &difference.patch).unwrap();
        assert_eq!(state, state_of(&last), "from {from} to {to}");
        assert_eq!(differing(&difference), really_differing(&first, &last));
    }
}

/// What is said to be in one of the two states alone, or to differ.
fn differing(difference: &Difference) -> BTreeSet<(String, String)> {
    let in_a_state = [Change::Appeared, Change::Changed, Change::Settled];
    let changes = difference.entities.iter().filter(|one| in_a_state.contains(&one.change));
    changes.map(|one| (one.room.to_string(), one.id.clone())).collect()
}

fn really_differing(first: &Moment, last: &Moment) -> BTreeSet<(String, String)> {
    let (before, after) = (state_of(first), state_of(last));
    let mut found = BTreeSet::new();
    for room in ROOMS {
        let of = |state: &Value| state[room].as_object().unwrap().clone();
        let (before, after) = (of(&before), of(&after));
        let ids = before.keys().chain(after.keys());
        let differs = |id: &&String| before.get(*id) != after.get(*id);
        found.extend(ids.filter(differs).map(|id| (room.to_string(), id.clone())));
    }
    found
}

/// The program on a log with a run, then a question that is answered, then a run.
fn place() -> (Place, [u64; 4]) {
    let place = Place::new();
    let newest = |place: &Place| place.verified()["head"]["sequence"].as_u64().unwrap();
    place.shell("echo one");
    let first = newest(&place);
    let asked = ["decision", "create", "gt-7", "--prompt", "Go?", "--option", "go:Go"];
    assert_eq!(status(&place.holdpoint(&[&asked[..], &["--option", "stop:Stop"]].concat())), 0);
    let second = newest(&place);
    assert_eq!(status(&place.holdpoint(&["decision", "respond", "gt-7", "--option", "go"])), 0);
    let third = newest(&place);
    place.shell("exit 3");
    let last = newest(&place);
    (place, [first, second, third, last])
}

fn changes(shown: &Value) -> Vec<(String, String)> {
    let entities = shown["entities"].as_array().unwrap().iter();
    let named = |key: &str, entity: &Value| entity[key].as_str().unwrap().to_string();
    entities.map(|entity| (named("room", entity), named("change", entity))).collect()
}

#[test]
fn the_program_tells_what_appeared_changed_and_settled() {
    let (place, [first, second, third, last]) = place();
    let between = |from: u64, to: u64| {
        let output = place.holdpoint(&["diff", &from.to_string(), &to.to_string(), "--json"]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        json(&output)
    };
    let points = |change: &str| vec![("decision_points".to_string(), change.to_string())];
    assert_eq!(changes(&between(first, second)), points("appeared"));
    let answered = between(second, third);
    assert_eq!(changes(&answered), points("changed"));
    let values = answered["entities"][0]["values"].as_array().unwrap();
    assert!(values.iter().any(|value| value["path"] == "/state"), "{values:#?}");
    let run = changes(&between(third, last));
    assert_eq!(run, [("execution_loops".to_string(), "came_and_settled".to_string())]);
    let shown = text(&place.holdpoint(&["diff", &second.to_string()]).stdout);
    assert!(shown.contains("~ decision  DP-"), "{shown}");
    assert!(shown.contains("* run  LOOP-"), "{shown}");
    assert!(shown.contains("  began and ended, records "), "{shown}");
    assert!(shown.contains(": failed\n    sh -c 'exit 3'\n"), "{shown}");
    let run = &between(third, last)["entities"][0]["run"];
    assert_eq!(
        *run,
        value_of!({"command_line": "sh -c 'exit 3'", "outcome": "failed", "is_reported": false})
    );
}

#[test]
fn a_question_that_was_asked_and_answered_in_between_has_its_records_and_the_answer() {
    let place = Place::new();
    place.shell("echo one");
    let first = place.verified()["head"]["sequence"].as_u64().unwrap();
    assert_eq!(
        status(&place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"])),
        122
    );
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = listed[0]["request_id"].as_str().unwrap();
    let answer = ["decision", "respond", request, "--yes", "ABORT", "--reason", "enough"];
    assert_eq!(status(&place.holdpoint(&answer)), 0);
    let shown = json(&place.holdpoint(&["diff", &first.to_string(), "--json"]));
    let mut entities = shown["entities"].as_array().unwrap().iter();
    let found = entities.find(|entity| entity["room"] == "human_decisions").unwrap();
    assert_eq!((&found["id"], &found["change"]), (&request.into(), &"appeared".into()));
    let (asked, answered) = (&found["first_record"], &found["last_record"]);
    assert!(asked.as_u64() > Some(first) && answered.as_u64() > asked.as_u64(), "{found:#}");
    assert!(found["last_summary"].as_str().unwrap().contains("ABORT"), "{found:#}");
    let lines = text(&place.holdpoint(&["diff", &first.to_string()]).stdout);
    assert!(lines.contains("* run  LOOP-") && lines.contains("ABORT"), "{lines}");
}

#[test]
fn the_programs_patch_applies_to_what_the_program_shows() {
    let (place, [first, _, third, _]) = place();
    let live = |until: u64| {
        json(&place.holdpoint(&["replay", "--live", "--until", &until.to_string(), "--json"]))
    };
    let shown = json(&place.holdpoint(&["diff", &first.to_string(), &third.to_string(), "--json"]));
    let patch: Patch = serde_json::from_value(shown["patch"].clone()).unwrap();
    let mut state = live(first);
    json_patch::patch(&mut state, &patch).unwrap();
    assert_eq!(state, live(third));
}

#[test]
fn points_in_the_wrong_order_and_missing_ones_are_told() {
    let (place, [first, _, _, last]) = place();
    let output = place.holdpoint(&["diff", &last.to_string(), &first.to_string()]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("name the earlier one first"));
    assert_eq!(status(&place.holdpoint(&["diff"])), 2);
    let far = place.holdpoint(&["diff", "0", "999999"]);
    assert_eq!(status(&far), 0);
    assert!(text(&far.stderr).contains("the log ends with record"));
    let nothing = Place::new().holdpoint(&["diff", "1", "--json"]);
    assert_eq!((status(&nothing), &json(&nothing)["error"]["code"]), (3, &"nothing_here".into()));
}

/// Two logs of one identity that are the same up to a record and of these lengths.
fn parted(common: u64, ours: u64, theirs: u64) -> (TempDir, TempDir) {
    let write = |length: u64, step: i64| {
        let mut log = HandMadeLog::new();
        for number in 1..=length {
            let step_ns = if number <= common { 1 } else { step };
            log.events(vec![ClockStepped { step_ns }.into()]);
            if number.is_multiple_of(1_000) && number > common {
                log.roll();
            }
        }
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        directory
    };
    (write(ours, 2), write(theirs, 3))
}

fn compared(ours: &Path, theirs: &Path) -> CommonPrefix {
    let (ours, theirs) = (DirectoryStorage::new(ours), DirectoryStorage::new(theirs));
    common_prefix(&opened(&ours), &opened(&theirs)).unwrap()
}

#[test]
fn the_last_common_record_of_two_logs_is_found() {
    for (common, ours, theirs) in [
        (0, 3, 3),
        (1, 3, 2),
        (7, 7, 7),
        (7, 7, 9),
        (9, 12, 9),
        (4_095, 4_100, 4_200),
        (4_096, 9_000, 4_097),
        (8_191, 8_300, 8_300),
        (9_000, 12_400, 9_200),
    ] {
        let (left, right) = parted(common, ours, theirs);
        let found = compared(left.path(), right.path());
        assert!(found.is_one_log);
        assert_eq!(found.common, common, "{ours} and {theirs}");
        let next = |line: &Option<holdpoint_replay::Line>| line.as_ref().map(|line| line.sequence);
        assert_eq!(next(&found.next), (ours > common).then_some(common + 1));
        assert_eq!(next(&found.next_of_other), (theirs > common).then_some(common + 1));
        assert_eq!(found.newest.unwrap().sequence, ours);
        assert_eq!(found.newest_of_other.unwrap().sequence, theirs);
    }
}

#[test]
fn a_copy_beside_which_the_head_of_another_log_stands_still_holds_its_records() {
    let (left, right) = parted(7, 9, 9);
    let log = LogId([9; 16]);
    change_head(right.path(), |head| Head { log, anchor_link: Link::genesis(log), ..head });
    let found = compared(left.path(), right.path());
    assert_eq!((found.is_one_log, found.common), (true, 7));
}

#[test]
fn logs_of_two_identities_have_nothing_in_common() {
    let [left, right] = [1, 2].map(|id| {
        let mut log = HandMadeLog::of(LogId([id; 16]));
        log.run();
        let place = Place::new();
        log.write(&place.log);
        place
    });
    let found = compared(&left.log, &right.log);
    assert_eq!((found.is_one_log, found.common), (false, 0));
    let other = right.log.to_str().unwrap();
    let output = left.holdpoint(&["diff", other]);
    assert_eq!(status(&output), 0);
    let lines = text(&output.stdout);
    assert!(lines.contains("none: the logs are of two identities"), "{lines}");
    let shown = json(&left.holdpoint(&["diff", other, "--json"]));
    assert_eq!(shown["logs"]["common"], 0);
    assert_eq!(shown["logs"]["next"]["sequence"], 1);
}

#[test]
fn the_program_compares_a_log_with_a_copy_that_went_another_way() {
    let (left, right) = parted(20, 25, 30);
    let place = Place { log: left.path().to_path_buf(), ..Place::new() };
    let output = place.holdpoint(&["diff", right.path().to_str().unwrap()]);
    let lines = text(&output.stdout);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(lines.starts_with("in common     records 1 to 20\n"), "{lines}");
    assert!(lines.contains("goes on with record 21, "), "{lines}");
    let missing = place.holdpoint(&["diff", "/nowhere/at/all"]);
    assert_eq!(status(&missing), 3);
    assert!(
        text(&missing.stderr).contains("name another directory with DIR"),
        "{}",
        text(&missing.stderr)
    );
}

#[test]
fn what_is_no_point_and_no_run_is_told_with_what_is_compared() {
    let place = Place::with_log();
    for word in ["DP-0123456789abcdef", "REQ-01234567", "last week"] {
        let output = place.holdpoint(&["diff", word, "1"]);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 2, "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("or two runs by their ids, as `holdpoint runs` lists"), "{said}");
    }
}
