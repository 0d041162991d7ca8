//! A replayed state says of everything in it that lives why it permits nothing after a salvage, as
//! the verbs that show it alone do.

use crate::decision_support::asked;
use crate::program::{Place, json, status, text};
use crate::thread_support::{accepted, chat, setting, turn};
use crate::unproven::unprove;
use serde_json::Value;

/// A decision, a thread, and a run that waits for a person.
fn place() -> (Place, String) {
    let place = Place::new();
    let id = asked(&place, &[]);
    let mut lines = setting("home", "story");
    lines.push(turn("home", "story", 1, chat("It rains.")));
    accepted(&place, &lines);
    let output = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    (place, id)
}

fn replayed(place: &Place, words: &[&str]) -> Value {
    let output = place.holdpoint(&[&["replay", "--json"], words].concat());
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    json(&output)
}

fn only(room: &Value) -> &Value {
    let members = room.as_object().unwrap();
    assert_eq!(members.len(), 1, "{room}");
    members.values().next().unwrap()
}

/// What is live in a state, with whatever says why it is in doubt.
fn of_live(state: &Value) -> [&Value; 4] {
    [
        only(&state["execution_loops"]),
        only(&state["human_decisions"]),
        only(only(&state["interruption_threads"])),
        only(&state["decision_points"]),
    ]
}

fn assert_doubted(place: &Place, id: &str, field: &str, fear: &str) {
    let live = replayed(place, &["--live"]);
    let whole = replayed(place, &[]);
    let rooms = ["execution_loops", "human_decisions", "interruption_threads", "decision_points"];
    for (one, room) in of_live(&live).into_iter().zip(rooms) {
        assert!(!one[field].is_null(), "{room}: {one}");
        assert_eq!(whole[room][0][field], one[field], "{room}");
    }
    assert_eq!(replayed(place, &[id])["state"][field], of_live(&live)[3][field]);
    for words in [&["replay", "--live"][..], &["replay"]] {
        let told = text(&place.holdpoint(words).stdout);
        let lines: Vec<_> = told.lines().filter(|line| line.contains(fear)).collect();
        assert!(lines.len() >= rooms.len(), "{words:?}: {told}");
        assert!(lines.iter().all(|line| line.contains("permits nothing")), "{told}");
    }
}

#[test]
fn a_replayed_state_says_of_what_it_may_rest_on_unproven_records() {
    let (mut place, id) = place();
    for one in of_live(&replayed(&place, &["--live"])) {
        let doubts = ["unproven_part", "lost_before"].map(|field| one.get(field));
        assert_eq!(doubts, [None, None], "{one}");
    }
    unprove(&mut place);
    assert_doubted(&place, &id, "unproven_part", "may rest on record");
}

#[test]
fn a_replayed_state_says_what_may_have_ended_in_a_lost_record() {
    let (mut place, id) = place();
    let head = std::fs::read(place.log.join("HEAD")).unwrap();
    assert_eq!(status(&place.holdpoint(&["run", "--", "true"])), 0);
    std::fs::write(place.log.join("HEAD"), head).unwrap();
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    let output = place.holdpoint(&["copy", "--salvage", "log", "new", "--json"]);
    assert!(json(&output)["lost_before"].is_u64(), "{}", text(&output.stdout));
    place.log = place.directory.path().join("new");
    assert_doubted(&place, &id, "lost_before", "may have ended in a record that is lost");
}
