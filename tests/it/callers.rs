//! What a caller is that does not say: a person at a terminal alone.

use crate::program::{Place, json, status, text};
use crate::terminal::at_terminal;
use serde_json::Value;
use std::process::Stdio;

const ASK: [&str; 6] = ["decision", "create", "--prompt", "Go?", "--option", "y:Yes"];

/// Who did what the newest record of a kind says.
fn kind_of(place: &Place, kind: &str) -> String {
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let mut lines = records.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let newest = lines.find(|line| line["kind"] == kind).unwrap();
    newest["event"]["by"]["kind"].as_str().unwrap().to_string()
}

#[test]
fn a_caller_without_a_terminal_is_an_automation_and_a_person_at_one() {
    let place = Place::new();
    let ask = |arguments: &[&str]| {
        let asked =
            place.command(&[&ASK, arguments].concat()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(status(&asked), 0, "{}", text(&asked.stderr));
    };
    ask(&[]);
    assert_eq!(kind_of(&place, "decision_point.created"), "AUTOMATION");
    ask(&["--requested-by", "planner"]);
    assert_eq!(kind_of(&place, "decision_point.created"), "AGENT");
    let asked = at_terminal(&place, &ASK);
    assert_eq!(status(&asked), 0, "{}", text(&asked.stderr));
    assert_eq!(kind_of(&place, "decision_point.created"), "HUMAN");
}

#[test]
fn an_answer_without_a_terminal_is_an_automations_where_no_person_is_asked_for() {
    let place = Place::new();
    for (said, kind) in [(&[][..], "AUTOMATION"), (&["--agent"], "AGENT")] {
        let id = json(&place.holdpoint(&[&ASK[..], &["--json"]].concat()))["id"].clone();
        let respond = ["decision", "respond", id.as_str().unwrap(), "--option", "y"];
        let mut answered = place.command(&[&respond, said].concat());
        let answered = answered.stdin(Stdio::null()).output().unwrap();
        assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
        assert_eq!(kind_of(&place, "decision_point.resolved"), kind);
    }
}
