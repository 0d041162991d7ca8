//! Plans of turns and their commits, as they are given, told and shown.

use crate::apply_support::{answers, apply};
use crate::archive_support::values;
use crate::program::{Place, json, status, text};
use crate::thread::{interrupted_then, submit};
use crate::thread_support::{accepted, chat, line, scope, setting, turn};
use serde_json::{Value, json};

/// A place with a thread's setting.
fn place() -> Place {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    place
}

/// What was heard of `chat`, and how sure it is.
fn heard(is_final: bool, confidence_bp: u64) -> Value {
    json!({ "transcript": { "text": "how late is it", "is_final": is_final },
        "hypothesis": { "subject_ref": "weather", "confidence_bp": confidence_bp } })
}

/// A plan of the turn, or its commit: with these fields besides those of a turn.
fn with(command: &str, turn_id: u64, key: &str, fields: Value) -> Value {
    let mut body = scope("acme", "talk", turn_id);
    body["idempotency_key"] = key.into();
    body["request"] = chat("It is noon.");
    body["request"]["active_speaker_user_id"] = "ada".into();
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line(command, body)
}

fn plan(turn_id: u64, key: &str) -> Value {
    with("draft_plan", turn_id, key, json!({ "heard": heard(false, 4_000) }))
}

fn commit(turn_id: u64, key: &str, plan_key: &str, heard: Value) -> Value {
    with("commit_turn", turn_id, key, json!({ "plan_key": plan_key, "heard": heard }))
}

fn show(place: &Place) -> Value {
    json(&place.holdpoint(&["thread", "show", "talk", "--json"]))
}

fn story(place: &Place) -> String {
    text(&place.holdpoint(&["thread", "show", "--story", "talk"]).stdout)
}

#[test]
fn a_plan_and_its_commit_are_given_told_and_shown() {
    let place = place();
    let drafted = accepted(&place, &[plan(1, "plan-1")]).remove(0);
    let expected = json!({ "plan_key": "plan-1", "branch": "NONE", "would_say": "It is noon.",
        "reason_code": "X_NLP_CHAT", "execute_allowed": false });
    assert_eq!(drafted["receipt"]["plan"], expected);
    assert_eq!(drafted["receipt"].get("turn"), None);
    let open = show(&place);
    assert_eq!(open["open_plan"]["plan"]["would_say"], "It is noon.");
    assert_eq!((&open["turns"], &open["said"]), (&json!(0), &json!([])));
    let shown = text(&place.holdpoint(&["thread", "show", "talk"]).stdout);
    assert!(shown.contains("plan-1 of turn 1, of ada"), "{shown}");
    assert!(shown.contains("no turn yet") && shown.contains("open until"), "{shown}");
    let list = text(&place.holdpoint(&["thread", "list"]).stdout);
    assert!(list.contains("no turn yet, plan of turn 1 open"), "{list}");
    let replayed = text(&place.holdpoint(&["replay"]).stdout);
    assert!(replayed.contains("no turn yet, plan of turn 1 until "), "{replayed}");
    let of_no_turn = (&open["last_directive"], &open["last_reason_code"]);
    assert_eq!(of_no_turn, (&Value::Null, &Value::Null), "a plan has no row");
    assert_eq!(open["open_plan_lapsed"], false);

    let commit = commit(1, "turn-1", "plan-1", heard(true, 9_000));
    let receipt = accepted(&place, &[commit]).remove(0)["receipt"].take();
    assert_eq!(receipt["branch"], "NONE");
    assert_eq!(receipt["turn"]["response_text"], "It is noon.");
    assert_eq!(receipt["audit_event_id"], receipt["last_sequence"]);
    let events = ["turn_committed", "turn_taken", "row_committed"];
    assert_eq!(receipt["events"], json!(events.map(|name| format!("interruption_thread.{name}"))));
    let done = show(&place);
    assert_eq!((&done["open_plan"], &done["turns"]), (&Value::Null, &json!(1)));

    let story = story(&place);
    let told = [
        "plan plan-1 of turn 1: ada about weather",
        "heard       \"how late is it\" so far, meaning 0.4000",
        "would say   \"It is noon.\"",
        "commit of turn 1, plan plan-1",
        "heard       \"how late is it\" final, meaning 0.9000",
        "branch      NONE, X_NLP_CHAT",
        "turn 1: ada about weather",
        "row of turn 1, key turn-1",
    ];
    let mut rest = story.as_str();
    for line in told {
        let (_, behind) = rest.split_once(line).unwrap_or_else(|| panic!("{line}\nin {story}"));
        rest = behind;
    }
    let report = place.verified();
    assert_eq!(report["axes"]["meaning"]["state"], "proven", "{report:#}");
}

#[test]
fn a_closed_gate_is_a_row_and_leaves_the_plan_open() {
    let place = place();
    accepted(&place, &[plan(1, "plan-1")]);
    let early = commit(1, "early", "plan-1", heard(false, 9_000));
    let unsure = commit(1, "unsure", "plan-1", heard(true, 6_999));
    let other = commit(1, "other", "plan-2", heard(true, 9_000));
    let past = turn("acme", "talk", 1, chat("Hello."));
    let malformed = commit(1, "malformed", "plan-1", json!({ "transcript": 1 }));
    let again = plan(0, "plan-0");
    let given = [early, unsure, other, past, malformed, again];
    let found = answers(&apply(&place, &given));
    let codes: Vec<&str> =
        found[..4].iter().map(|answer| answer["refusal"]["code"].as_str().unwrap()).collect();
    let expected = [
        "X_FAIL_TRANSCRIPT_NOT_FINAL",
        "X_FAIL_HYPOTHESIS_NOT_SURE",
        "X_FAIL_PLAN_INVALID",
        "X_FAIL_PLAN_INVALID",
    ];
    assert_eq!(codes, expected);
    assert!(found[4]["error"]["field"].as_str().unwrap().starts_with("submit.heard"), "{found:#?}");
    assert_eq!(found[5]["refusal"]["code"], "MALFORMED_REQUEST", "{found:#?}");
    let rows = values(&place.holdpoint(&["thread", "show", "--rows", "talk", "--json"]));
    let rows = rows[0].as_array().unwrap().clone();
    let of_rows: Vec<&str> = rows.iter().map(|row| row["reason_code"].as_str().unwrap()).collect();
    assert_eq!(of_rows, expected, "what is malformed writes nothing");
    assert_eq!(show(&place)["open_plan"]["plan_key"], "plan-1");
    accepted(&place, &[commit(1, "turn-1", "plan-1", heard(true, 7_000))]);
}

#[test]
fn a_refused_plan_is_told_as_one() {
    let place = place();
    accepted(&place, &[turn("acme", "talk", 1, chat("Hello."))]);
    let found = answers(&apply(&place, &[plan(1, "plan-1")]));
    assert_eq!(found[0]["refusal"]["code"], "X_FAIL_TURN_ORDER");
    assert!(
        story(&place).contains("plan of turn 1 of ada on kitchen refused"),
        "{}",
        story(&place)
    );
    let rows = text(&place.holdpoint(&["thread", "show", "--rows", "talk"]).stdout);
    assert!(rows.contains("refused: plan of turn"), "{rows}");
}

#[test]
fn a_plan_whose_time_is_over_is_shown_as_lapsed() {
    let place = Place::new();
    let (engine, _) = interrupted_then(&place);
    submit(&engine, &plan(3, "plan-3"));
    engine.close().unwrap();
    let shown = |verb: &[&str]| text(&place.holdpoint(verb).stdout);
    let now = shown(&["thread", "show", "talk"]);
    assert!(now.contains("lapsed") && now.contains("ago: nobody committed it"), "{now}");
    assert!(!now.contains("open until"), "{now}");
    assert!(shown(&["thread", "list"]).contains("plan of turn 3 lapsed"));
    let listed = json(&place.holdpoint(&["thread", "list", "--json"]));
    for thread in [&show(&place), &listed[0]] {
        assert_eq!(thread["open_plan_lapsed"], true, "{thread:#}");
    }
    // As it was when it was drafted.
    let drafted = show(&place)["version"].to_string();
    let then = shown(&["thread", "show", "talk", "--at", &drafted]);
    assert!(then.contains("open until") && !then.contains("lapsed"), "{then}");
    let turn = "turn 2: Speech stops; the next turn says what for (WAIT X_INTERRUPT_CANCEL)\n";
    assert!(then.contains(turn), "the record of the plan is not that of a turn: {then}");
    // As it was at the newest record of a state.
    let later = place.holdpoint(&["record", "--stream", "s", "--type", "later"]);
    assert_eq!(status(&later), 0, "{}", text(&later.stderr));
    for (until, is_lapsed) in [(&*drafted, false), ("18446744073709551615", true)] {
        let replayed = json(&place.holdpoint(&["replay", "--until", until, "--live", "--json"]));
        let thread = &replayed["interruption_threads"]["acme"]["talk"];
        assert_eq!(thread["open_plan_lapsed"], is_lapsed, "{replayed:#}");
    }
    let replayed = json(&place.holdpoint(&["replay", "--json"]));
    assert_eq!(replayed["interruption_threads"][0]["open_plan_lapsed"], true, "{replayed:#}");
}

/// What a snapshot, a rebuilt state and the verb for one thread say is the same.
#[test]
fn replay_shows_an_open_plan_as_thread_show_does() {
    let place = place();
    accepted(&place, &[plan(1, "plan-1")]);
    let replayed = json(&place.holdpoint(&["replay", "--json"]));
    let threads = replayed["interruption_threads"]
        .as_array()
        .or_else(|| replayed["state"]["interruption_threads"].as_array());
    let thread = &threads.unwrap()[0];
    assert_eq!(thread["open_plan"], show(&place)["open_plan"]);
}
