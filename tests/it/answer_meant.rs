//! An answer counts for the question that was read, and for none that took its name since.

use crate::decision_named::many;
use crate::decision_support::{asked, done, id_of, refused, shown};
use crate::program::{Place, by_person, command_in, json, status, text};
use crate::terminal::at_terminal;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const BIND: [&str; 4] = ["--bind", "tool=rm", "--bind", "input={}"];

/// The program on a log that is not named on its command line.
fn on(place: &Place, log: &Path, words: &[&str]) -> Command {
    let mut command = command_in(place.directory.path(), words);
    command.env("HOLDPOINT_LOG", log);
    command
}

/// Hands commands of a program in that chooses the ids of its questions, to the log `at`.
fn apply(place: &Place, at: &Path, commands: &[Value]) {
    let actor = json!({ "kind": "AGENT", "id": "bot" });
    let line = |command: &Value| {
        let mut command = command.clone();
        command["by"] = json!({ "kind": "AGENT", "id": "bot", "authenticated_by": "none",
            "means": "a test" });
        format!("{}\n", json!({ "actor": actor, "correlation": "bot", "submit": command }))
    };
    let lines: String = commands.iter().map(line).collect();
    let mut command = on(place, at, &["apply"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
}

/// Asks under an id that is chosen, with what else is said. Gives the id.
fn ask_as(place: &Place, at: &Path, digits: &str, more: &Value) -> String {
    let mut create = json!({ "command": "decision_point.create", "entropy": digits,
        "prompt": "Delete it?", "issue_id": null,
        "options": [{ "id": "a", "label": "Yes" }, { "id": "b", "label": "No" }] });
    create.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    apply(place, at, &[create]);
    format!("DP-{digits}")
}

fn cancel(place: &Place, at: &Path, id: &str) {
    apply(place, at, &[json!({ "command": "decision_point.cancel", "decision_id": id })]);
}

fn digits(end: char) -> String {
    format!("438fd5b2d0aa{}", end.to_string().repeat(20))
}

/// The program where no log is, of the same user.
fn elsewhere(words: &[&str]) -> Output {
    let directory = tempfile::TempDir::new().unwrap();
    let command = command_in(directory.path(), words);
    by_person(&command)
}

#[test]
fn a_question_is_changed_by_the_beginning_of_its_id_only_where_no_other_of_the_log_begins_so() {
    let place = Place::with_log();
    let read = ask_as(&place, &place.log, &digits('a'), &json!({}));
    cancel(&place, &place.log, &read);
    many(&place);
    let other = ask_as(&place, &place.log, &digits('b'), &json!({}));
    for words in [
        &["respond", "DP-438fd5b2", "--option", "a"][..],
        &["cancel", "DP-438fd5b2d0aa"],
        &["notify", "DP-438fd5b2"],
    ] {
        let (exit, error) = refused(&place, words);
        assert_eq!((exit, &error["code"]), (4, &json!("ambiguous_decision")), "{words:?}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(&read) && said.contains(&other), "{said}");
    }
    for beginning in ["DP-438fd5b2", "438fd5b2d0", "DP-438fd5b2d0aa"] {
        let output = at_terminal(&place, &["decision", "respond", beginning, "a"]);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 4, "{beginning}: {said}");
        assert!(said.contains(&read) && said.contains(&other), "{said}");
    }
    let started = place.holdpoint(&["run", "--approval", "DP-438fd5b2", "--", "true"]);
    let said = text(&started.stderr);
    assert!(status(&started) == 125 && said.contains(&read) && said.contains(&other), "{said}");
    done(&place, &["respond", &other[..16], "--option", "a"]);
    assert_eq!(shown(&place, &other)["selected_option"], "a");
}

#[test]
fn six_digits_that_a_run_has_as_well_answer_and_cancel_nothing() {
    let place = Place::with_log();
    place.shell("true");
    let run = text(&place.holdpoint(&["runs", "-q"]).stdout).trim().to_string();
    let six = &run["LOOP-".len()..][..6];
    let asked = ask_as(&place, &place.log, &format!("{six:0<32}"), &json!({}));
    for words in [&["respond", six, "--option", "a"][..], &["cancel", six], &["notify", six]] {
        let (exit, error) = refused(&place, words);
        let said = error["message"].as_str().unwrap();
        assert_eq!(exit, 4, "{words:?}: {said}");
        assert!(said.contains(&run) && said.contains(&asked), "{said}");
    }
    let output = at_terminal(&place, &["approve", six]);
    assert_eq!(status(&output), 4, "{}", text(&output.stderr));
    assert_eq!(shown(&place, &asked)["state"], "pending");
}

#[test]
fn an_issue_that_was_asked_before_answers_nothing_that_takes_a_person() {
    let place = Place::with_log();
    let read = asked(&place, &[&["gt-43"], &BIND[..]].concat());
    let new = asked(&place, &[&["gt-43", "--supersedes", &read], &BIND[..]].concat());
    for words in [&["respond", "gt-43", "--option", "a"][..], &["cancel", "gt-43"]] {
        let (exit, error) = refused(&place, words);
        assert_eq!((exit, &error["code"]), (4, &json!("ambiguous_issue")), "{words:?}: {error}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(&read) && said.contains(&format!("decision show {new}")), "{said}");
        assert_eq!(error["decision_ids"], json!([new]), "{error}");
    }
    let output = at_terminal(&place, &["decision", "respond", "gt-43", "a"]);
    assert_eq!(status(&output), 4, "{}", text(&output.stderr));
    let version = shown(&place, &new)["version"].to_string();
    done(&place, &["respond", "gt-43", "--option", "a", "--expected-version", &version]);
    // A later round is another question than the one before.
    asked(&place, &[&["gt-44"], &BIND[..]].concat());
    let told = done(&place, &["respond", "gt-44", "--guidance", "Less"]);
    let round = id_of(&told["next_decision"]);
    let options = ["--option", "a:A", "--option", "b:B", "--reject", "b"];
    done(
        &place,
        &[&["create", "--revises", "gt-44", "--as", "bot", "--agent"], &options[..]].concat(),
    );
    assert_eq!(refused(&place, &["respond", "gt-44", "--option", "a"]).0, 4);
    done(&place, &["respond", &round, "--option", "a"]);
}

#[test]
fn an_issue_that_was_asked_once_or_that_takes_nobody_answers_what_is_open() {
    let place = Place::with_log();
    asked(&place, &[&["gt-43"], &BIND[..]].concat());
    done(&place, &["respond", "gt-43", "--option", "a"]);
    done(&place, &["cancel", &asked(&place, &["gt-44"])]);
    asked(&place, &["gt-44"]);
    done(&place, &["respond", "gt-44", "--option", "a"]);
    // What was asked before is not known any more.
    many(&place);
    asked(&place, &[&["gt-45"], &BIND[..]].concat());
    let (exit, error) = refused(&place, &["respond", "gt-45", "--option", "a"]);
    assert_eq!((exit, &error["code"]), (4, &json!("ambiguous_issue")), "{error}");
}

#[test]
fn an_action_is_approved_by_no_option_where_none_says_no() {
    let place = Place::with_log();
    let ask = ["create", "--prompt", "Delete it?", "--option", "approve:Yes", "--option"];
    let create = [&ask[..], &["deny:No"], &BIND].concat();
    let (exit, error) = refused(&place, &create);
    assert_eq!((exit, &error["code"]), (2, &json!("no_option_says_no")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("--reject"), "{error}");
    let id = id_of(&done(&place, &[&create[..], &["--reject", "deny"]].concat()));
    let told = done(&place, &["respond", &id, "--guidance", "Less"]);
    let round = id_of(&told["next_decision"]);
    let refine = ["create", "--revises", &round, "--as", "bot", "--agent", "--option", "deny:No"];
    let (exit, error) = refused(&place, &refine);
    assert_eq!((exit, &error["code"]), (2, &json!("no_option_says_no")), "{error}");
    // As a program asks that does not go through these verbs.
    let binding = json!({ "tool": "rm", "input_sha256": "ab".repeat(32) });
    let id = ask_as(&place, &place.log, &digits('a'), &json!({ "binding": binding }));
    let (exit, error) = refused(&place, &["respond", &id, "--option", "b"]);
    assert_eq!((exit, &error["code"]), (5, &json!("no_option_says_no")), "{error}");
    let output = at_terminal(&place, &["decision", "respond", &id, "b"]);
    let said = text(&output.stderr);
    let way = format!("decision cancel {id}");
    assert!(status(&output) == 5 && said.contains(&way), "{said}");
    done(&place, &["cancel", &id]);
}

#[test]
fn an_id_that_another_log_of_the_inbox_has_as_well_is_answered_in_neither() {
    let place = Place::with_log();
    let directory = place.directory.path().join("second");
    std::fs::create_dir(&directory).unwrap();
    let second = directory.join(".holdpoint");
    let made = place.holdpoint(&["init", second.to_str().unwrap()]);
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    let id = ask_as(&place, &place.log, &digits('a'), &json!({}));
    cancel(&place, &place.log, &id);
    ask_as(&place, &second, &digits('a'), &json!({}));
    let beside_it = |wanted: &str| {
        let mut command = on(&place, &second, &["decision", "respond", wanted, "a"]);
        let command = command.env_remove("HOLDPOINT_LOG").current_dir(&directory);
        by_person(command)
    };
    // Of these digits none is a letter: they are no record of the log.
    for at in [&place.log, &second] {
        ask_as(&place, at, &format!("999123{}", "c".repeat(26)), &json!({}));
    }
    for wanted in [&id[..], &id[..13], &id[3..15], "999123"] {
        for output in [elsewhere(&["decision", "respond", wanted, "a"]), beside_it(wanted)] {
            let said = text(&output.stderr);
            assert_eq!(status(&output), 4, "{wanted}: {said}");
            let logs = [&place.log, &second].map(|log| log.to_str().unwrap());
            assert!(logs.iter().all(|log| said.contains(log)) && said.contains("--log"), "{said}");
            let needs_more = wanted != id;
            assert_eq!(said.contains("more digits"), needs_more, "{said}");
        }
    }
    std::fs::rename(&place.log, place.directory.path().join("kept")).unwrap();
    let beginning = elsewhere(&["decision", "respond", &id[..13], "a"]);
    let said = text(&beginning.stderr);
    assert!(status(&beginning) == 3 && said.contains("inbox --remove"), "{said}");
    assert!(said.contains(&format!("--log {}", second.display())), "{said}");
    assert_eq!(status(&elsewhere(&["inbox", "--remove"])), 0);
    let output = elsewhere(&["decision", "respond", &id, "a"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let told = on(&place, &second, &["decision", "show", &id, "--json"]).output().unwrap();
    assert_eq!(json(&told)["selected_option"], "a");
}

/// One log that is sick, gone or another's is warned of, and stops no answer in another one: not of
/// a whole id, and not in the log of the working directory.
#[test]
fn a_log_of_the_inbox_that_cannot_be_read_stops_no_answer_elsewhere() {
    for sickness in ["sick", "gone"] {
        let place = Place::with_log();
        let directory = place.directory.path().join("second");
        std::fs::create_dir(&directory).unwrap();
        let second = directory.join(".holdpoint");
        let made = place.holdpoint(&["init", second.to_str().unwrap()]);
        assert_eq!(status(&made), 0, "{}", text(&made.stderr));
        ask_as(&place, &place.log, &digits('b'), &json!({}));
        let ids = ['c', 'd', 'e'].map(|digit| ask_as(&place, &second, &digits(digit), &json!({})));
        match sickness {
            "sick" => std::fs::write(place.log.join("HEAD"), "x").unwrap(),
            _ => std::fs::rename(&place.log, place.directory.path().join("kept")).unwrap(),
        }
        let beside_it = |wanted: &str| {
            let mut command = on(&place, &second, &["decision", "respond", wanted, "a"]);
            let command = command.env_remove("HOLDPOINT_LOG").current_dir(&directory);
            by_person(command)
        };
        for output in [elsewhere(&["decision", "respond", &ids[0], "a"]), beside_it(&ids[1])] {
            assert_eq!(status(&output), 0, "{sickness}: {}", text(&output.stderr));
        }
        let output = elsewhere(&["decision", "respond", &ids[2][..18], "a"]);
        assert_ne!(status(&output), 0, "{sickness}: of a beginning it may be another one");
        let output = beside_it(&ids[2][..18]);
        assert_eq!(status(&output), 0, "{sickness}: {}", text(&output.stderr));
        assert_eq!(status(&elsewhere(&["inbox", "--remove", second.to_str().unwrap()])), 0);
        elsewhere(&["inbox", "--remove", place.log.to_str().unwrap()]);
    }
}
