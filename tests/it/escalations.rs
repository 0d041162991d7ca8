//! Through the program: an escalation asks a person, whatever the hold; and a loop that a person
//! let go on is given its next instruction.

use crate::apply_support::{answers, apply, awaited, dispatch, initialize, story};
use crate::program::{Place, json, json_lines, status, text, with_hold};
use crate::terminal::at_terminal;
use holdpoint_domain::core::hash::sha256;
use serde_json::{Value, json};
use std::process::Output;

const ID: &str = "1111111122222222333333334444abcd";

/// The JSON that was printed: one value, or one in each line.
fn values(output: &Output) -> Vec<Value> {
    serde_json::from_slice(&output.stdout).map_or_else(|_| json_lines(output), |one| vec![one])
}

/// A command that takes too much memory, and what `run --json` tells of it.
fn exhausted(place: &Place, more: &[&str]) -> Value {
    let command = ["--", "tail", "-n", "1", "/dev/zero"];
    let run = [&["run", "--json", "--max-memory", "64MiB"], more, &command].concat();
    let output = place.holdpoint(&run);
    assert_eq!(status(&output), 137, "{}", text(&output.stderr));
    json(&output)
}

#[test]
fn an_escalation_is_asked_of_a_person_without_waiting_and_runs_show_and_inbox_say_so() {
    let place = Place::with_log();
    let told = exhausted(&place, &[]);
    assert_eq!(told["reason"], "FAULT_ESCALATED", "the end is as it was");
    let asked = told["escalation"].as_str().expect("a decision").to_string();
    let run = told["loop_id"].as_str().unwrap().to_string();
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let point = &listed[0];
    assert_eq!((&point["id"], &point["default_option"]), (&json!(asked), &Value::Null));
    assert_eq!(point["requested_kind"], "system");
    let ids: Vec<&Value> =
        point["options"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["seen", "retry"]);
    let records = place.records();
    let of = |kind: &str| records.iter().find(|record| record["kind"] == kind).unwrap();
    let fault = of("sandbox_fault.fault_reported");
    assert_eq!(of("decision_point.created")["causation"], fault["sequence"], "{fault:#}");
    for verb in [&["runs", "--json"][..], &["show", &run, "--json"]] {
        let shown = values(&place.holdpoint(verb));
        assert_eq!(shown[0]["needs_person"], json!(asked), "{verb:?}");
    }
    for verb in [&["runs"][..], &["show", &run]] {
        let output = place.holdpoint(verb);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(said.contains("a person is needed") && said.contains(&asked), "{said}");
    }
    let inbox = text(&place.holdpoint(&["inbox"]).stdout);
    assert!(inbox.contains("A person is needed"), "{inbox}");
    let agent = ["decision", "respond", &asked, "--option", "seen", "--agent", "--as", "bot"];
    assert_eq!(status(&place.holdpoint(&agent)), 5, "a person alone answers it");
    assert_eq!(status(&place.holdpoint(&["verify"])), 0);
}

/// Whether somebody waits or not, and also where no more of them may be open.
#[test]
fn a_run_that_leaves_its_question_open_names_the_escalation_too() {
    let place = Place::with_log();
    let held = |words: &[&str]| {
        let command = ["--", "tail", "-n", "1", "/dev/zero"];
        let hold = ["run", "--hold", "after", "--no-wait", "--max-memory", "64MiB"];
        let output = place.holdpoint(&[&hold[..], words, &command].concat());
        assert_eq!(status(&output), 122, "{}", text(&output.stderr));
        output
    };
    let told = json(&held(&["--json"]));
    let asked = told["escalation"].as_str().unwrap_or_else(|| panic!("{told:#}"));
    assert_eq!(told["sandbox_decision"], "ESCALATE");
    assert_eq!(json(&place.holdpoint(&["decision", "show", asked, "--json"]))["state"], "pending");
    let said = text(&held(&[]).stderr);
    assert!(said.contains("a person is needed, DP-"), "{said}");
}

/// The loop of a program that reports through `apply`, held after its attempt, with its question.
fn held(place: &Place, max_attempts: u8) -> (String, String) {
    let (id, mut lines) = (format!("LOOP-{ID}"), story(ID));
    lines.pop();
    lines[0]["submit"] = initialize(ID);
    lines[0]["submit"]["hold"] = json!({ "policy": "AFTER" });
    lines[0]["submit"]["max_attempts"] = max_attempts.into();
    lines.push(json!({ "submit": { "command": "human_decision.request", "loop_id": id } }));
    let found = answers(&apply(place, &lines));
    let request = found.last().unwrap()["receipt"]["request_id"].as_str().expect("asked");
    (id, request.to_string())
}

/// The next instruction, and what `apply` answers to it.
fn instruct(place: &Place, loop_id: &str) -> Value {
    let facts = dispatch(loop_id)["facts"].clone();
    let line = json!({ "submit": { "command": "execution_loop.instruct", "loop_id": loop_id,
        "envelope": "6e657874", "instruction_envelope_hash": sha256(b"next").to_string(),
        "command_line": "make next", "facts": facts } });
    answers(&apply(place, &[line]))[0].clone()
}

#[test]
fn after_continue_apply_gives_a_loop_its_next_instruction_and_a_halted_loop_none() {
    let place = Place::with_log();
    let (loop_id, request) = held(&place, 2);
    let shown = text(&place.holdpoint(&["decision", "show", &request]).stdout);
    assert!(shown.contains("its next instruction may be given"), "{shown}");
    assert_eq!(instruct(&place, &loop_id)["refusal"]["code"], "HOLD_APPLIES");
    assert_eq!(status(&at_terminal(&place, &["decision", "respond", &request, "CONTINUE"])), 0);
    let state = |place: &Place| {
        let shown = json(&place.holdpoint(&["show", &loop_id, "--json"]));
        shown["execution_loop"]["current_state"].as_str().unwrap().to_string()
    };
    assert_eq!(state(&place), "EVALUATED");
    let given = instruct(&place, &loop_id);
    assert!(given["receipt"].is_object(), "{given:#}");
    assert_eq!(state(&place), "DISPATCHED");
    let line = json!({ "submit": awaited(&loop_id) });
    assert!(answers(&apply(&place, &[line]))[0]["receipt"].is_object());
    let stop = json!({ "submit": { "command": "execution_loop.interrupt", "loop_id": loop_id,
        "signal": 15, "sender_pid": null, "sender_uid": null } });
    assert!(answers(&apply(&place, &[stop]))[0]["receipt"].is_object());
    assert_eq!(state(&place), "HALTED");
    let before = place.records().len();
    // That a rule said no is on record, and nothing else.
    let refused = instruct(&place, &loop_id);
    assert_eq!(refused["refusal"]["code"], "LOOP_NOT_LIVE", "{refused:#}");
    let after = place.records();
    let kinds: Vec<&Value> = after[before..].iter().map(|record| &record["kind"]).collect();
    assert!(kinds.iter().all(|kind| **kind == "log.command_refused"), "{kinds:?}");
    place.verified();
}

#[test]
fn where_every_attempt_is_used_continue_promises_no_instruction_and_the_refusal_says_why() {
    let place = Place::with_log();
    let (loop_id, request) = held(&place, 1);
    let shown = text(&place.holdpoint(&["decision", "show", &request]).stdout);
    assert!(shown.contains("no attempt is left") && !shown.contains("next instruction"), "{shown}");
    assert_eq!(status(&at_terminal(&place, &["decision", "respond", &request, "CONTINUE"])), 0);
    let refusal = &instruct(&place, &loop_id)["refusal"];
    assert_eq!(refusal["code"], "INSTRUCTION_NOT_PERMITTED");
    let message = refusal["message"].as_str().unwrap();
    assert!(message.contains("attempts are used") && !message.contains("CONTINUE"), "{message}");
    place.verified();
}

#[test]
fn a_run_with_a_next_instruction_is_found_by_each_command_and_shows_them_by_attempt() {
    let place = Place::with_log();
    let (loop_id, request) = held(&place, 2);
    let answer = ["decision", "respond", &request, "CONTINUE"];
    assert_eq!(status(&at_terminal(&place, &answer)), 0);
    assert!(instruct(&place, &loop_id)["receipt"].is_object());
    for command in ["work", "make next"] {
        let found = values(&place.holdpoint(&["runs", "--json", &format!("command={command}")]));
        assert_eq!(found.len(), 1, "{command}");
        assert_eq!(found[0]["command_line"], "make next", "the newest is the run's");
    }
    assert!(values(&place.holdpoint(&["runs", "--json", "command=make work"])).is_empty());
    let shown = text(&place.holdpoint(&["show", &loop_id]).stdout);
    let place_of = |words: &str| shown.rfind(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    let places = ["\nattempt 1", "\n| work\n", "\nattempt 2", "\n| make next\n"].map(place_of);
    assert!(places.is_sorted(), "{shown}");
    let shown = json(&place.holdpoint(&["show", &loop_id, "--json"]));
    assert_eq!(shown["commands"], json!({ "1": "work", "2": "make next" }));
}

#[test]
fn at_the_prompt_of_a_run_continue_says_that_it_ends_the_run() {
    let place = Place::with_log();
    let run = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    assert_eq!(status(&run), 122);
    let held = with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = held[0]["request_id"].as_str().or(held[0]["id"].as_str()).unwrap();
    let shown = text(&place.holdpoint(&["decision", "show", request]).stdout);
    assert!(shown.contains("end the run here"), "{shown}");
}
