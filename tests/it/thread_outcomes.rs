//! Every outcome of words that were left unsaid is a row in every view, and what cannot be one of
//! them is refused with its field.

use crate::apply_support::{answers, apply};
use crate::export::{has_python, tables};
use crate::program::{Place, json, status, text};
use crate::thread_support::{
    accepted, chat, interruption, interruption_at, line, scope, setting, turn,
};
use serde_json::{Value, json};

const TEXT: &str = "It is sunny today. Tomorrow it rains.";

fn read(place: &Place, arguments: &[&str]) -> Value {
    json(&place.holdpoint(&[arguments, &["--json"]].concat()))
}

fn rows(place: &Place) -> Vec<Value> {
    read(place, &["thread", "show", "--rows", "talk"]).as_array().unwrap().clone()
}

/// Nine interruptions inside each other, and the thread's end.
fn nested() -> Place {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.extend((1..=9).map(|number| turn("acme", "talk", number, interruption(TEXT, 1))));
    lines.push(line("close", json!({ "tenant_id": "acme", "correlation_id": "talk" })));
    accepted(&place, &lines);
    place
}

#[test]
fn nine_interruptions_inside_each_other_and_an_end_are_nine_rows_in_every_view() {
    let place = nested();
    let rows = rows(&place);
    let ended: Vec<&Value> = rows.iter().filter(|row| row["ended"].is_object()).collect();
    let told = ended
        .iter()
        .map(|row| (row["turn_id"].as_u64().unwrap(), row["reason_code"].as_str().unwrap()));
    let mut due = vec![(1, "X_NESTING_LIMIT")];
    due.extend((2..=9).map(|turn| (turn, "X_THREAD_CLOSED")));
    assert!(told.eq(due), "{ended:#?}");
    for row in &ended {
        assert_eq!(row["ended"]["interrupt_resume_policy"], "DISCARD", "{row:#}");
        assert_eq!(row["ended"]["issue_fingerprint"], "topic:weather", "{row:#}");
        assert_eq!((&row["user_id"], &row["ended"]["answer_id"]), (&json!("ada"), &json!(41)));
    }
    let health = read(&place, &["thread", "list", "--health"]);
    assert_eq!(health["rows"][0]["latest_reason_code"], "X_THREAD_CLOSED", "{health:#}");
    assert_eq!(health["rows"][0]["latest_turn"], 9);
    let story = text(&place.holdpoint(&["thread", "show", "--story", "talk"]).stdout);
    let gives_way = "remainder gives way to that of turn 9\n          \
                     because     X_NESTING_LIMIT, DISCARD\n          \
                     remainder   of turn 1, to ada: DISCARDED, NESTING_LIMIT";
    assert!(story.contains(gives_way), "{story}");
    let table = text(&place.holdpoint(&["thread", "show", "--rows", "talk"]).stdout);
    assert_eq!(table.lines().filter(|line| line.contains(" ended ")).count(), 9, "{table}");
    if has_python() {
        assert_exported(&place, &ended);
    }
    place.verified();
}

/// The table of rows has what `thread show --rows` shows of what ended.
fn assert_exported(place: &Place, ended: &[&Value]) {
    let tables = tables(place, &[]);
    let rows = tables["interruption_rows"].as_array().unwrap();
    let rows: Vec<&Value> = rows.iter().filter(|row| row["outcome"] == "ended").collect();
    assert_eq!(rows.len(), ended.len());
    for (row, shown) in rows.iter().zip(ended) {
        for key in ["audit_event_id", "time", "turn_id", "user_id", "reason_code"] {
            assert_eq!(row[key], shown[key], "{key}");
        }
        for key in ["answer_id", "interrupt_resume_policy", "issue_fingerprint"] {
            assert_eq!(row[key], shown["ended"][key], "{key}");
        }
    }
}

#[test]
fn an_interruption_that_is_told_too_late_silences_speech_and_leaves_a_row() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat(TEXT)));
    accepted(&place, &lines);
    let before = read(&place, &["thread", "show", "talk"]);
    let late = turn("acme", "talk", 2, interruption_at(1_000_000_000, TEXT, 1));
    let output = apply(&place, &[late]);
    assert_eq!(status(&output), 5, "{}", text(&output.stderr));
    let refusal = &answers(&output)[0]["refusal"];
    assert_eq!(refusal["code"], "X_FAIL_SNAPSHOT_STALE", "{refusal:#}");
    assert_eq!(refusal["tts_control"], "CANCEL", "{refusal:#}");
    let rows = rows(&place);
    let refused = &rows.last().unwrap()["refused"];
    assert_eq!(refused["tts_control"], "CANCEL", "{refused:#}");
    assert_eq!(refused["remainders"][0]["reason"], "TURN_REFUSED", "{refused:#}");
    let health = read(&place, &["thread", "list", "--health"]);
    assert_eq!(health["rows"][0]["latest_reason_code"], "X_FAIL_SNAPSHOT_STALE", "{health:#}");
    assert_eq!(health["rows"][0]["issue_fingerprint"], "topic:weather");
    let after = read(&place, &["thread", "show", "talk"]);
    assert_eq!(after["version"], before["version"], "the thread is as it was");
}

#[test]
fn what_does_not_fit_the_thread_is_refused_by_a_row() {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    let mut related = chat(TEXT);
    related["interrupt_subject_relation"] = "SAME".into();
    related["interrupt_subject_relation_confidence_bp"] = 9000.into();
    let answer = json!({ "subject_ref": "weather", "confirm_answer": "Yes" });
    let lines = [turn("acme", "talk", 1, related), turn("acme", "talk", 2, answer)];
    let found = answers(&apply(&place, &lines));
    let codes = ["X_FAIL_RELATION_INVALID", "X_CONFIRM_ANSWER_INVALID"];
    for ((answer, row), code) in found.iter().zip(rows(&place)).zip(codes) {
        assert_eq!(answer["refusal"]["code"], code, "{found:#?}");
        assert_eq!(
            (&row["reason_code"], &row["refused"]["class"]),
            (&json!(code), &json!("CONTINUITY"))
        );
    }
}

#[test]
fn a_row_with_a_key_too_many_or_a_time_of_no_record_is_refused_with_its_field() {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    let records = || text(&place.holdpoint(&["log"]).stdout);
    let before = records();
    let mut wait = scope("acme", "talk", 1);
    wait["wait_kind"] = "TOOL".into();
    wait["reason_code"] = "X_INTERRUPT_CANCEL".into();
    wait["interrupt_resume_policy"] = "DISCARD".into();
    let lease = |expires_at: &str| {
        let body = json!({ "tenant_id": "acme", "work_order_id": "wo-1", "status": "ACTIVE",
            "expires_at": expires_at, "lease_token_hash": crate::thread_support::LEASE });
        line("register_lease", body)
    };
    let mut negative = turn("acme", "talk", 1, interruption(TEXT, 1));
    negative["submit"]["request"]["interruption"]["t_event"] = (-1).into();
    for (given, field) in [
        (line("wait_commit_row", wait), "submit.interrupt_resume_policy"),
        (lease("1969-12-31T23:59:59Z"), "submit.expires_at"),
        (lease("2600-01-01T00:00:00Z"), "submit.expires_at"),
        (negative, "submit.request.interruption.t_event"),
    ] {
        let found = answers(&apply(&place, &[given]));
        assert_eq!(found[0]["error"]["field"], field, "{found:#?}");
        assert_eq!(records(), before);
    }
}
