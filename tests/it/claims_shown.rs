//! A name that nobody proved is shown as such, wherever a record is shown; a proven one is not.

use crate::apply_support::{apply, initialize};
use crate::program::{Place, status, text};
use holdpoint_engine::shell::user_name;
use serde_json::{Value, json};

/// Every verb that says who did something, of the loop that is asked for.
const VIEWS: [&[&str]; 7] = [
    &["log", "show"],
    &["log", "tail", "-n", "5"],
    &["trace", "1"],
    &["trace", "1", "--format", "mermaid"],
    &["trace", "1", "--format", "dot"],
    &["replay", "--loop", "LOOP"],
    &["bisect", "--where", "totals.loops_initialized > 0"],
];

fn begun_by(kind: &str, name: &str) -> Place {
    let place = Place::new();
    let actor = json!({ "kind": kind, "id": name });
    let line = json!({ "actor": actor, "submit": initialize(&"1".repeat(32)) });
    assert_eq!(status(&apply(&place, &[line])), 0);
    place
}

fn shown(place: &Place, words: &[&str]) -> String {
    let loop_id = format!("LOOP-{}", "1".repeat(32));
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "LOOP" { loop_id.as_str() } else { word }).collect();
    let output = place.holdpoint(&words);
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_claimed_name_is_shown_as_not_proven_in_every_view() {
    for (kind, name, is_claim) in
        [("HUMAN", "ada", true), ("AGENT", "planner", true), ("AUTOMATION", &user_name(), false)]
    {
        let place = begun_by(kind, name);
        for view in VIEWS {
            let said = shown(&place, view);
            assert!(said.contains(name), "{view:?}: {said}");
            assert_eq!(said.contains("(not proven)"), is_claim, "{view:?}: {said}");
        }
        let proof = if is_claim { "none" } else { "os-user" };
        for view in [&["log", "show", "--json"][..], &["export", "--format", "jsonl"]] {
            let record: Value =
                serde_json::from_str(shown(&place, view).lines().nth(1).unwrap()).unwrap();
            assert_eq!(record["proof"]["by"], proof, "{view:?}: {record}");
        }
        let rows = shown(&place, &["export", "--format", "csv"]);
        assert!(rows.lines().nth(2).unwrap().contains(&format!("{name},{proof},")), "{rows}");
    }
}
