//! Confidences are taken as fractions below 1, kept as basis points, and shown as both.

use crate::program::{Place, by_person, json, status, text};
use crate::thread_support::{accepted, chat, interruption, setting, turn};
use serde_json::{Value, json};
use std::process::Output;

/// The second turn, by the document's names: `SCORE` stands for the confidence of the relation.
fn interrupted() -> String {
    let mut line = turn("acme", "talk", 2, interruption("It is sunny.", 1));
    let request = line["submit"]["request"].as_object_mut().unwrap();
    request.remove("interrupt_subject_relation_confidence_bp");
    request.insert("interrupt_subject_relation_confidence".into(), "SCORE".into());
    let of = request["interruption"].as_object_mut().unwrap();
    of.remove("phrase_confidence_bp");
    of.insert("phrase_confidence".into(), json!(0.95));
    of["gate_confidences"] = json!({ "vad": 0.99, "speech_likeness": 0.98, "echo_safe": 0.97,
        "phrase": 0.95 });
    of["subject_relation_confidence_bundle"] = json!({ "lexical": 0.95, "vad": 0.99,
        "speech_likeness": 0.98, "echo_safe": 0.97, "combined": 0.96 });
    line.to_string()
}

fn applied(place: &Place, line: &str) -> Output {
    let file = place.directory.path().join("line");
    std::fs::write(&file, format!("{line}\n")).unwrap();
    by_person(&place.command(&["apply", file.to_str().unwrap()]))
}

#[test]
fn confidences_are_taken_as_fractions_below_1_and_bad_ones_are_refused_by_name() {
    let place = Place::with_log();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat("It is sunny.")));
    accepted(&place, &lines);
    let before = place.records().len();
    let line = interrupted();
    for bad in ["NaN", "1.0", "1", "-0.1", "\"0.9\"", "1e5", "1e-400", "0.9.1", "[]"] {
        let output = applied(&place, &line.replace("\"SCORE\"", bad));
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(status(&output), 2, "{bad}: {said}");
        assert!(said.contains("interrupt_subject_relation_confidence"), "{bad}: {said}");
        assert_eq!(place.records().len(), before, "{bad}");
    }
    let output = applied(&place, &line.replace("\"SCORE\"", "0.92004"));
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    let records = place.records();
    let taken = records.iter().rfind(|it| it["kind"] == "interruption_thread.turn_taken").unwrap();
    let request = taken["event"]["request"].to_string();
    assert!(request.contains("\"interrupt_subject_relation_confidence_bp\":9200"), "{request}");
    assert!(request.contains("\"phrase_confidence_bp\":9500"), "{request}");
    place.verified();
}

#[test]
fn every_json_has_the_score_of_the_document_beside_the_basis_points() {
    let place = Place::with_log();
    let run = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    assert_eq!(status(&run), 122);
    let shown = json(&place.holdpoint(&["hold", "list", "--json"]));
    let listed = place.holdpoint(&["show", "--json", &loop_of(&place)]);
    let attempt = &json(&listed)["execution_loop"]["attempts"][0]["response"];
    assert_eq!(attempt["confidence_basis_points"], 8_500);
    assert_eq!(attempt["confidence_score"], 0.85);
    let said = shown.to_string();
    let beside =
        said.contains("\"confidence_score\":0.85") && said.contains("_basis_points\":8500");
    assert!(beside || !said.contains("confidence"), "{said}");
    for record in place.records() {
        let event = record["event"].to_string();
        let has_basis_points = event.contains("\"confidence\":") || event.contains("_basis_points");
        assert_eq!(has_basis_points, event.contains("\"confidence_score\":0.85"), "{event}");
    }
}

fn loop_of(place: &Place) -> String {
    let of = |record: &Value| record["loop_id"].as_str().map(String::from);
    place.records().iter().find_map(of).expect("a run")
}

/// The document of threads bounds its confidences by 1, inclusive: as basis points they are taken.
#[test]
fn basis_points_of_one_are_those_of_the_document_of_threads() {
    let place = Place::with_log();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat("It is sunny.")));
    accepted(&place, &lines);
    let name = "interrupt_subject_relation_confidence";
    let line =
        interrupted().replace(&format!("\"{name}\":\"SCORE\""), &format!("\"{name}_bp\":10000"));
    let output = applied(&place, &line);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let records = place.records();
    let is_told = |record: &Value| record["event"]["request"][name] == 1.0;
    assert!(records.iter().any(is_told), "{records:#?}");
}

/// Every `_bp` in a value has the fraction beside it; says how many there are.
fn told_beside(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(told_beside).sum(),
        Value::Object(fields) => {
            let points = fields.iter().filter_map(|(name, points)| {
                let score = name.strip_suffix("_bp")?;
                let expected = points.as_f64().map(|points| points / 10_000.0);
                assert_eq!(fields[score].as_f64(), expected, "{name} in {fields:?}");
                Some(1)
            });
            points.sum::<usize>() + fields.values().map(told_beside).sum::<usize>()
        }
        _ => 0,
    }
}

/// Threads, in every JSON that tells a confidence of theirs.
#[test]
fn threads_have_the_fraction_of_the_document_beside_the_basis_points() {
    let place = Place::with_log();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat("It is sunny.")));
    accepted(&place, &lines);
    let output = applied(&place, &interrupted().replace("\"SCORE\"", "0.92"));
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    let json_lines = |words: &[&str]| {
        let output = place.holdpoint(words);
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        text(&output.stdout).lines().map(of).collect::<Vec<_>>()
    };
    let records = json_lines(&["log", "show", "--json"]);
    assert_eq!(records.iter().map(told_beside).sum::<usize>(), 14);
    let file = place.directory.path().join("exported");
    let to = file.to_str().unwrap();
    let exported = place.holdpoint(&["export", "--format", "jsonl", "--out", to]);
    assert_eq!(status(&exported), 0, "{}", text(&exported.stderr));
    let exported = std::fs::read_to_string(&file).unwrap();
    let exported = exported.lines().map(|line| told_beside(&serde_json::from_str(line).unwrap()));
    assert_eq!(exported.sum::<usize>(), 14);
    for words in [
        &["thread", "show", "talk", "--json"][..],
        &["thread", "rows", "talk", "--json"],
        &["thread", "list", "--json"],
        &["replay", "--json"],
    ] {
        told_beside(&json(&place.holdpoint(words)));
    }
}

/// The doors that take a confidence name it as the document does; no other door takes one.
#[test]
fn the_schema_of_apply_names_the_fractions() {
    let schemas = json(&Place::new().holdpoint(&["apply", "--schema"]));
    for part in ["input", "record"] {
        let schema = &schemas[part]["$defs"];
        for (body, names) in [
            ("TurnRequest", &["interrupt_subject_relation_confidence"][..]),
            ("Interruption", &["phrase_confidence"]),
            ("GateConfidences", &["vad", "speech_likeness", "echo_safe", "phrase", "nearfield"]),
            ("ConfidenceBundle", &["lexical", "vad", "speech_likeness", "echo_safe", "combined"]),
            ("InterruptCandidate", &["confidence"]),
            ("IntentHypothesis", &["confidence", "subject_relation_confidence"]),
        ] {
            for name in names {
                let of = &schema[body]["properties"][name];
                assert_eq!(of["minimum"], json!(0), "{name}");
                // A record of before may have 1.
                let most = if part == "input" { "exclusiveMaximum" } else { "maximum" };
                assert_eq!(of[most], json!(1), "{part} {name}");
            }
        }
    }
    assert_eq!(schemas["input"]["$defs"]["BasisPoints"]["maximum"], 10_000);
}
