//! Confidences are taken as fractions below 1, kept as basis points, and shown as both.

use crate::hook::{call, pre};
use crate::mcp_support::{Client, Era};
use crate::program::{Place, by_person, json, status, text, with_hold};
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
    let shown =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
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
    let records = json_lines(&["log", "--json"]);
    assert_eq!(records.iter().map(told_beside).sum::<usize>(), 14);
    let file = place.directory.path().join("exported");
    let to = file.to_str().unwrap();
    let exported = place.holdpoint(&["export", "--format", "jsonl", "--output", to]);
    assert_eq!(status(&exported), 0, "{}", text(&exported.stderr));
    let exported = std::fs::read_to_string(&file).unwrap();
    let exported = exported.lines().map(|line| told_beside(&serde_json::from_str(line).unwrap()));
    assert_eq!(exported.sum::<usize>(), 14);
    for words in [
        &["thread", "show", "talk", "--json"][..],
        &["thread", "show", "--rows", "talk", "--json"],
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

/// A plan of the second turn, with what was heard, by the names of the basis points.
fn planned(of: &Value) -> Value {
    let mut line = of.clone();
    let body = line["submit"].as_object_mut().unwrap();
    body.insert("command".into(), "interruption_thread.draft_plan".into());
    body.insert("idempotency_key".into(), "plan-2".into());
    let happened = body["request"]["interruption"]["t_event"].clone();
    let heard = json!({ "transcript": { "text": "and tomorrow", "is_final": true },
        "candidate": { "phrase_id": 7, "t_event": happened, "confidence_bp": 9500 },
        "hypothesis": { "subject_ref": "weather", "confidence_bp": 9000,
            "subject_relation": "SWITCH", "subject_relation_confidence_bp": 9200 } });
    body.insert("heard".into(), heard);
    line
}

/// Every path in a value that ends in basis points.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    for (name, within) in value.as_object().into_iter().flatten() {
        match name.strip_suffix("_bp") {
            Some(_) => found.push(format!("{path}/{name}")),
            None => paths(within, &format!("{path}/{name}"), found),
        }
    }
}

/// The line with a fraction in the place of basis points.
fn with(line: &Value, path: &str, fraction: &str) -> String {
    let mut line = line.clone();
    let (body, name) = path.rsplit_once('/').unwrap();
    let body = line.pointer_mut(body).unwrap().as_object_mut().unwrap();
    body.remove(name);
    body.insert(name.trim_end_matches("_bp").into(), "SCORE".into());
    line.to_string().replace("\"SCORE\"", fraction)
}

/// Numbers that are no confidence, as they are written.
const BAD: [&str; 5] = ["1.0", "NaN", "\"0.9\"", "1e-400", "-0.1"];

#[test]
fn every_door_takes_a_fraction_below_1_or_refuses_it_by_name_and_writes_nothing() {
    let place = Place::with_log();
    // The capability is granted once.
    for (tenant, granted) in [("acme", 0), ("other", 1)] {
        let mut lines = setting(tenant, "talk").split_off(granted);
        lines.push(turn(tenant, "talk", 1, chat("It is sunny.")));
        accepted(&place, &lines);
    }
    let before = place.records().len();
    let taken = turn("acme", "talk", 2, interruption("It is sunny.", 1));
    let drafted = planned(&taken);
    let mut count = 0;
    for line in [&drafted, &taken] {
        let mut found = Vec::new();
        paths(line, "", &mut found);
        count += found.len();
        for (path, bad) in found.iter().flat_map(|path| BAD.map(|bad| (path, bad))) {
            let output = applied(&place, &with(line, path, bad));
            let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
            let name = path.trim_start_matches("/submit/").trim_end_matches("_bp");
            assert_eq!(status(&output), 2, "{path} {bad}: {said}");
            assert!(said.contains(&name.replace('/', ".")), "{path} {bad}: {said}");
        }
    }
    assert_eq!(count, 11 + 14, "each confidence of a turn, and those of what was heard");
    // No other door takes one; each names the field as it was given.
    let elsewhere = json!({ "submit": { "command": "application.record", "stream": "a",
        "type": "b", "data": "c", "confidence": 0.5 } });
    let option = r#"[{"id":"a","label":"b","confidence":0.5}]"#;
    let render = place.directory.path().join("render");
    std::fs::write(&render, r#"{"confidence":0.5}"#).unwrap();
    let of_decision = ["decision", "create", "--prompt", "Deploy?", "--option", option];
    for output in [
        applied(&place, &elsewhere.to_string()),
        place.holdpoint(&of_decision),
        place.holdpoint(&["thread", "render", render.to_str().unwrap()]),
    ] {
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(status(&output), 2, "{said}");
        assert!(said.contains("unknown field `confidence`"), "{said}");
    }
    let mut client = Client::start(&place, Era::Stateless, &[]);
    for tool in client.tools() {
        assert!(!tool["inputSchema"].to_string().contains("confidence"), "{tool:#}");
        let name = tool["name"].as_str().unwrap();
        client.refused("bad_arguments", name, &json!({ "confidence": 0.5 }));
    }
    client.end();
    assert_eq!(place.records().len(), before, "nothing was written");

    let now = |tenant| turn(tenant, "talk", 2, interruption("It is sunny.", 1));
    let relation = "/submit/request/interrupt_subject_relation_confidence_bp";
    for line in
        [with(&now("acme"), relation, "0.999"), with(&planned(&now("other")), HEARD, "0.999")]
    {
        let output = applied(&place, &line);
        assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    }
    let kept = place.records().iter().map(|record| record["event"].to_string()).collect::<String>();
    assert!(kept.contains("\"confidence_bp\":9990"), "{kept}");
    assert!(kept.contains("\"interrupt_subject_relation_confidence_bp\":9990"), "{kept}");
}

/// The confidence of what was heard.
const HEARD: &str = "/submit/heard/hypothesis/confidence_bp";

/// What an agent's tool is given is bound as it is: no number of it is a confidence of ours.
#[test]
fn a_hook_takes_no_confidence() {
    let place = Place::with_log();
    let asked = |score: Option<f64>| {
        let mut input = call("s", "true");
        if let Some(score) = score {
            input["confidence"] = score.into();
        }
        pre(&place, &["--timeout", "1ms"], &input).0
    };
    assert_eq!([asked(Some(1.0)), asked(Some(0.9))], [asked(None), asked(None)]);
}
