//! What a command printed is no part of what a person decides about it: the doors to it beside a
//! question are on record, and a floor shuts them.

use crate::apply_support::{answers, apply};
use crate::machine::configure;
use crate::program::{Place, json, status, text, with_hold};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::fs;

const HIDES: &str = "[hold]\nshow_output = false\n";

/// A command that prints a word and fails, and the question about it.
const RUN: [&str; 7] =
    ["run", "--hold", "after", "--", "sh", "-c", "printf '%s%s\\n' plain text; exit 1"];
const PRINTED: &str = "plaintext";

fn asked(place: &Place) -> Terminal {
    let mut terminal = Terminal::start(place, &RUN);
    terminal.wait_for("CONTINUE, RETRY, ABORT? ");
    terminal
}

fn shown_records(place: &Place) -> Vec<Value> {
    let words = ["log", "kind=human_decision.output_shown", "--json"];
    let records = text(&place.holdpoint(&words).stdout);
    records.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The run, and the question about it.
fn run_and_question(place: &Place) -> (String, String) {
    let questions =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let name = |field: &str| questions[0][field].as_str().unwrap().to_string();
    (name("loop_id"), name("request_id"))
}

#[test]
fn the_word_output_at_a_prompt_is_on_record_and_no_other_reading_is() {
    let place = Place::with_log();
    let mut terminal = asked(&place);
    assert_eq!(shown_records(&place), Vec::<Value>::new());
    terminal.type_line("output");
    terminal.wait_for("back to the question");
    let records = shown_records(&place);
    let [record] = &records[..] else { panic!("{records:#?}") };
    let (run, question) = run_and_question(&place);
    assert_eq!(record["event"]["request_id"], question.as_str(), "{record:#}");
    assert_eq!(record["actor"]["kind"], "HUMAN", "{record:#}");
    assert_eq!(record["proof"]["by"], "terminal", "{record:#}");
    let records = || text(&place.holdpoint(&["log", "--json"]).stdout).lines().count();
    let before = records();
    for words in [&["output", &run][..], &["show", &run], &["decision", "show", &question]] {
        let told = place.holdpoint(words);
        assert_eq!(status(&told), 0, "{}", text(&told.stderr));
    }
    assert!(text(&place.holdpoint(&["show", &run]).stdout).contains(PRINTED));
    assert_eq!(records(), before);
    terminal.type_line("");
    terminal.wait_for("CONTINUE, RETRY, ABORT? ");
    terminal.type_line("ABORT");
    assert_eq!(terminal.end().0, 120);
    place.verified();
}

#[test]
fn with_the_floor_off_nothing_beside_a_question_shows_what_was_printed() {
    let place = Place::with_log();
    fs::write(place.directory.path().join("holdpoint.toml"), HIDES).unwrap();
    let mut terminal = Terminal::start(&place, &RUN);
    let asked = terminal.wait_for("CONTINUE, RETRY, ABORT? ");
    assert!(asked.contains("hold.show_output = false"), "{asked}");
    assert!(!asked.contains("`output`"), "{asked}");
    terminal.type_line("output");
    let told = terminal.wait_for("CONTINUE, RETRY, ABORT? ");
    assert!(told.contains("not shown while this is open"), "{told}");
    let (run, question) = run_and_question(&place);
    let doors: [&[&str]; 5] = [
        &["output", &run],
        &["output", "-f", &run],
        &["output", "--json", &run],
        &["output", "--stream", "stdout", "--raw", &run],
        &["export", &run, "--format", "asciicast"],
    ];
    for words in doors {
        let told = place.holdpoint(words);
        let said = format!("{}{}", text(&told.stdout), text(&told.stderr));
        assert_eq!(status(&told), 5, "{words:?}: {said}");
        assert!(said.contains("hold.show_output = false"), "{words:?}: {said}");
        assert!(!said.contains(PRINTED), "{words:?}: {said}");
    }
    for words in [&["show", &run][..], &["show", "--json", &run], &["decision", "show", &question]]
    {
        let told = place.holdpoint(words);
        let said = text(&told.stdout).to_string();
        assert_eq!(status(&told), 0, "{words:?}: {}", text(&told.stderr));
        assert!(!said.contains(PRINTED) && !said.contains(" output "), "{words:?}: {said}");
    }
    assert_eq!(shown_records(&place), Vec::<Value>::new());
    terminal.type_line("CONTINUE");
    assert_eq!(terminal.end().0, 1);
    let told = place.holdpoint(&["output", &run]);
    assert_eq!((status(&told), &*text(&told.stdout)), (0, "plaintext\n"));
    place.verified();
}

/// The user's own file hides it; a project may not show it then.
#[test]
fn a_project_shows_nothing_that_a_floor_hides() {
    let place = Place::with_log();
    let check = |has_floor: bool| {
        configure(if has_floor { HIDES } else { "[hold]\n" });
        place.holdpoint(&["doctor", "config", "--json"])
    };
    assert_eq!(json(&check(false))["show_output"], true);
    let hidden = check(true);
    assert_eq!(json(&hidden)["show_output"], false, "{}", text(&hidden.stderr));
    let project = place.directory.path().join("holdpoint.toml");
    fs::write(&project, HIDES.replace("false", "true")).unwrap();
    assert_eq!(json(&check(false))["show_output"], true);
    let refused = check(true);
    assert_eq!(status(&refused), 5, "{}", text(&refused.stderr));
    let error = &json(&refused)["error"];
    assert_eq!(error["code"], "policy_loosened", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("holdpoint.toml:2"), "{error:#}");
    fs::write(&project, HIDES).unwrap();
    assert_eq!(json(&check(false))["show_output"], false);
}

/// An agent that says so has not seen a prompt.
#[test]
fn that_an_output_was_shown_is_recorded_by_the_prompt_alone() {
    let place = Place::with_log();
    assert_eq!(status(&place.holdpoint(&[&RUN[..3], &["--no-wait"], &RUN[3..]].concat())), 122);
    let (_, request) = run_and_question(&place);
    for kind in ["AGENT", "AUTOMATION", "HUMAN"] {
        let line = json!({ "actor": { "kind": kind, "id": "carol" },
            "submit": { "command": "human_decision.show_output", "request_id": request } });
        let answer = &answers(&apply(&place, &[line]))[0];
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        assert!(message.contains("the prompt that shows an output records it"), "{message}");
    }
    assert_eq!(shown_records(&place), Vec::<Value>::new());
}
