//! Decisions by the names that people give: of approvers, of what waits, of a decision in the log,
//! and of one that ended so long ago that a writer remembers it no longer.

use crate::decision_support::{asked, done, id_of, refused};
use crate::program::{Place, status, text};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// More than a writer remembers of what ended.
const ENDED: u64 = 1_100;

#[test]
fn names_in_a_list_lose_their_blanks_and_what_waits_is_named_once() {
    let place = Place::new();
    let words = ["--approvers", "alice, bob", "--blocks", "x", "--blocks", "x"];
    let id = asked(&place, &words);
    let shown = done(&place, &["show", &id]);
    assert_eq!(shown["approvers"], json!(["alice", "bob"]));
    assert_eq!(shown["blocks"], json!(["x"]));
}

#[test]
fn what_reads_the_output_of_create_gets_the_id_alone() {
    let place = Place::new();
    let words = ["decision", "create", "--prompt", "Go?", "--option", "a:A", "--option", "b:B"];
    let created = place.holdpoint(&words);
    let id = text(&created.stdout);
    assert!(id.starts_with("DP-") && id.trim_end().len() == 35, "{id}");
    assert!(text(&created.stderr).contains(" respond "), "how it is answered is told");
}

#[test]
fn of_decisions_that_begin_alike_the_candidates_are_named() {
    let place = Place::new();
    let ids: Vec<String> = (0..18).map(|_| asked(&place, &[])).collect();
    let (first, second) = ids
        .iter()
        .enumerate()
        .find_map(|(at, id)| {
            let same = |other: &&String| other[..4] == id[..4];
            Some((id, ids[..at].iter().find(same)?))
        })
        .expect("of eighteen ids two have the same first digit");
    let refused = place.holdpoint(&["decision", "wait", &first[..4]]);
    let said = text(&refused.stderr);
    assert_eq!(status(&refused), 4, "{said}");
    assert!(said.contains(first) && said.contains(second) || said.contains(", .."), "{said}");
}

#[test]
fn an_outcome_says_that_nothing_proves_the_name() {
    let place = Place::new();
    let id = asked(&place, &[]);
    let words = ["decision", "respond", &id, "--option", "a", "--agent", "--as", "robot"];
    let said = text(&place.holdpoint(&words).stdout);
    assert!(said.contains("by robot (agent, name not proven) at "), "{said}");
    let said = text(&place.holdpoint(&["decision", "wait", &id]).stdout);
    assert!(said.contains("by robot (agent, name not proven) at "), "{said}");
}

#[test]
fn a_state_whose_name_tells_little_is_told_in_words() {
    let place = Place::new();
    let id = asked(&place, &[]);
    let words = ["decision", "respond", &id, "--guidance", "smaller"];
    assert_eq!(status(&place.holdpoint(&words)), 0);
    let rounds = text(&place.holdpoint(&["decision", "show", &id, "--chain"]).stdout);
    for told in ["iterated: guidance led to another round", "refining: whoever asked is to"] {
        assert!(rounds.contains(&format!("state           {told}")), "{rounds}");
    }
}

#[test]
fn records_of_a_decision_are_shown_by_every_name_that_it_has() {
    let place = Place::new();
    let id = asked(&place, &["gt-12345"]);
    asked(&place, &["gt-other"]);
    let show = |name: &str| place.holdpoint(&["log", "--json", &format!("decision={name}")]);
    let by_id = show(&id);
    assert_eq!((status(&by_id), text(&by_id.stdout).lines().count()), (0, 1));
    for name in [&id[..16], "gt-12345"] {
        assert_eq!(text(&show(name).stdout), text(&by_id.stdout), "{name}");
    }
    let unknown = show("gt-1234");
    assert_eq!((status(&unknown), text(&unknown.stdout)), (3, String::new()));
    assert!(text(&unknown.stderr).contains("gt-12345"), "{}", text(&unknown.stderr));
}

#[test]
fn a_beginning_that_several_ids_have_is_a_conflict_of_every_verb() {
    let place = Place::new();
    many(&place);
    for words in [&["show", "DP-000000"][..], &["respond", "DP-000000", "--option", "a"]] {
        let (exit, error) = refused(&place, words);
        assert_eq!((exit, &error["code"]), (4, &json!("ambiguous_decision")), "{words:?}");
    }
}

#[test]
fn what_ended_long_ago_is_over_and_not_unknown() {
    let place = Place::new();
    let first = id_of(&done(&place, &["create", "--prompt", "Old?", "--option", "a:A"]));
    let told = done(&place, &["respond", &first, "--option", "a"]);
    many(&place);
    let again = done(&place, &["respond", &first, "--option", "a"]);
    assert_eq!((&again["replayed"], &again["decision"]), (&json!(true), &told["decision"]));
    let (exit, error) = refused(&place, &["respond", &first, "--option", "a", "--as", "eve"]);
    assert_eq!((exit, &error["code"]), (4, &json!("already_ended")));
    assert_eq!(error["current"], told["decision"]);
    assert_eq!(refused(&place, &["cancel", &first]).0, 4);
    let bind = ["--bind", "tool=Bash", "--bind", "input={}"];
    let (exit, error) = refused(&place, &[&["consume", &first], &bind[..]].concat());
    assert_eq!((exit, &error["code"]), (5, &json!("not_approved")));
    assert_eq!(refused(&place, &["respond", "DP-ffffff", "--option", "a"]).0, 3);
}

/// Asks and takes back so many questions.
pub(crate) fn many(place: &Place) {
    let by = json!({
        "kind": "HUMAN", "id": "ada", "authenticated_by": "none", "means": "a test"
    });
    let line = |command: Value| {
        let actor = json!({ "kind": "HUMAN", "id": "ada" });
        format!("{}\n", json!({ "actor": actor, "correlation": "old", "submit": command }))
    };
    let lines = (1..=ENDED).map(|n| {
        let entropy = format!("{n:032x}");
        let create = json!({ "command": "decision_point.create", "entropy": entropy, "by": by,
            "prompt": "Which?", "issue_id": null });
        let cancel = json!({ "command": "decision_point.cancel",
            "decision_id": format!("DP-{entropy}"), "by": by });
        format!("{}{}", line(create), line(cancel))
    });
    let lines: String = lines.collect();
    let mut apply = place.command(&["apply"]);
    let apply = apply.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = apply.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stdout).lines().next().unwrap_or_default());
}
