//! `apply --schema` describes what is really read and written: every pinned event and every line
//! that these tests use fits it, and what is refused does not.

use crate::apply_support::{HASH, answers, apply, story};
use crate::machine::take_claims;
use crate::program::{Place, json};
use crate::thread_support::{LEASE, chat, interruption, line, setting, turn};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{Command, world};
use serde_json::{Map, Value, json};

const GOLDEN: &str = include_str!("../../engine/domain/tests/golden/events_v10.txt");

pub(crate) fn schemas() -> Value {
    json(&Place::new().holdpoint(&["apply", "--schema"]))
}

/// Why a value does not fit a schema. Every keyword that the schemas use is understood; any other
/// fails the test.
fn misfit(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        return if schema == true { Ok(()) } else { Err(format!("nothing fits: {value}")) };
    };
    for (keyword, argument) in keywords {
        let fits = match keyword.as_str() {
            "$ref" => {
                let pointer = argument.as_str().unwrap().strip_prefix('#').unwrap();
                misfit(root, root.pointer(pointer).unwrap(), value).is_ok()
            }
            "oneOf" => fitting(root, argument, value) == 1,
            "anyOf" => fitting(root, argument, value) >= 1,
            "allOf" => fitting(root, argument, value) == argument.as_array().unwrap().len(),
            "type" => has_type(argument, value),
            "const" => value == argument,
            "enum" => argument.as_array().unwrap().contains(value),
            "required" => has_all(argument, value),
            "properties" | "additionalProperties" => properties_fit(root, keywords, value),
            "items" => all(value.as_array(), |item| misfit(root, argument, item).is_ok()),
            "maxItems" => {
                value.as_array().is_none_or(|v| v.len() as u64 <= argument.as_u64().unwrap())
            }
            "minimum" if value.is_f64() => value.as_f64() >= argument.as_f64(),
            "minimum" => whole(value).is_none_or(|v| v >= whole(argument).unwrap()),
            "exclusiveMaximum" => value.as_f64().is_none_or(|v| v < argument.as_f64().unwrap()),
            "maximum" if value.is_f64() => value.as_f64() <= argument.as_f64(),
            "maximum" => whole(value).is_none_or(|v| v <= whole(argument).unwrap()),
            "pattern" => value.as_str().is_none_or(|v| hexadecimal(argument, v)),
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            unknown => return Err(format!("keyword {unknown} is not understood")),
        };
        if !fits {
            return Err(format!("{value} does not fit {keyword}: {argument}"));
        }
    }
    Ok(())
}

fn whole(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn fitting(root: &Value, schemas: &Value, value: &Value) -> usize {
    let schemas = schemas.as_array().unwrap().iter();
    schemas.filter(|schema| misfit(root, schema, value).is_ok()).count()
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    types.as_array().map_or_else(|| is(types), |types| types.iter().any(is))
}

fn has_all(names: &Value, value: &Value) -> bool {
    let names = names.as_array().unwrap();
    value
        .as_object()
        .is_none_or(|fields| names.iter().all(|n| fields.contains_key(n.as_str().unwrap())))
}

fn properties_fit(root: &Value, keywords: &Map<String, Value>, value: &Value) -> bool {
    let others = keywords.get("additionalProperties").unwrap_or(&Value::Bool(true));
    let known = |name: &str| keywords.get("properties").and_then(|known| known.get(name));
    all(value.as_object(), |(name, field)| {
        misfit(root, known(name).unwrap_or(others), field).is_ok()
    })
}

fn all<I: IntoIterator>(items: Option<I>, is_well: impl Fn(I::Item) -> bool) -> bool {
    items.is_none_or(|items| items.into_iter().all(is_well))
}

/// The only patterns: so many digits, or any even number of them.
fn hexadecimal(pattern: &Value, text: &str) -> bool {
    let is_digits = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_digits
        && match pattern.as_str().unwrap() {
            "^([0-9a-f]{2})*$" => text.len().is_multiple_of(2),
            "^[0-9a-f]{32}$" => text.len() == 32,
            pattern => pattern == "^[0-9a-f]{64}$" && text.len() == 64,
        }
}

pub(crate) fn assert_fits(schema: &Value, value: &Value) {
    assert_eq!(misfit(schema, schema, value), Ok(()), "{value:#}");
}

#[test]
fn every_pinned_event_fits_the_schema_of_records() {
    let schema = &schemas()["record"];
    let mut kinds = Vec::new();
    for line in GOLDEN.lines() {
        let [kind, version, payload] = line.split(' ').collect::<Vec<_>>()[..] else {
            unreachable!()
        };
        let kind: u16 = kind.parse().unwrap();
        let payload = bytes(payload);
        let envelope = envelope::decode(kind, version.parse().unwrap(), &payload).unwrap();
        let mut readable = serde_json::to_value(&envelope).unwrap();
        assert_fits(schema, &readable);
        readable["event"]["kind"] = "log.unheard_of".into();
        assert!(misfit(schema, schema, &readable).is_err());
        kinds.push(kind);
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), world::REGISTRY.len());
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn lines_that_are_accepted_fit_the_schema_of_input_and_their_answers_that_of_output() {
    let schemas = schemas();
    let place = Place::new();
    let mut lines = story(&"1".repeat(32));
    lines[0]["submit"].as_object_mut().unwrap().remove("hold");
    lines[1]["correlation"] = "a story".into();
    lines[1]["actor"] = json!({ "kind": "AGENT", "id": "planner" });
    lines[1]["idempotency"] = json!({ "tenant": "t", "engine": "e", "key": "k" });
    lines.push(json!({ "causation": 1, "submit": { "command": "log.record_fingerprint" } }));
    for line in &lines {
        assert_fits(&schemas["input"], line);
    }
    lines.push(json!({ "submit": { "command": "execution_loop.complete", "loop_id": "x" } }));
    lines.push(json!({ "submit": { "command": "none" } }));
    for answer in answers(&apply(&place, &lines)) {
        assert_fits(&schemas["output"], &answer);
    }
}

#[test]
fn lines_about_threads_fit_and_so_do_the_turns_in_their_answers() {
    let schemas = schemas();
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    let lease = json!({ "tenant_id": "acme", "work_order_id": "wo-1", "status": "ACTIVE",
        "expires_at": "2100-01-01T00:00:00Z", "lease_token_hash": LEASE });
    let intent = json!({ "INTENT": { "intent_type": "SET_REMINDER", "class": "IMPACTFUL" } });
    let unsure = json!({ "subject_ref": "reminders", "input": intent });
    lines.extend([
        line("register_lease", lease),
        turn("acme", "talk", 1, chat("It is sunny today.")),
        turn("acme", "talk", 2, interruption("It is sunny today.", 5)),
        turn("acme", "talk", 3, unsure),
        line("read_audit_rows", json!({ "tenant_id": "acme", "correlation_id": "talk" })),
        line("close", json!({ "tenant_id": "acme", "correlation_id": "talk" })),
    ]);
    for line in &lines {
        assert_fits(&schemas["input"], line);
    }
    for answer in answers(&apply(&place, &lines)) {
        assert!(answer["receipt"].is_object(), "{answer}");
        assert_fits(&schemas["output"], &answer);
    }
    let mut token = line("register_lease", json!({ "tenant_id": "acme" }));
    token["submit"]["lease_token"] = "hunter2".into();
    assert!(misfit(&schemas["input"], &schemas["input"], &token).is_err());
}

/// A line of somebody about a decision point.
fn about_a_decision(command: &str, kind: &str, who: &str, mut body: Value) -> Value {
    body["command"] = format!("decision_point.{command}").into();
    body["by"] = json!({ "kind": kind, "id": who, "authenticated_by": "os-user", "means": "1000" });
    json!({ "submit": body, "actor": { "kind": kind, "id": who } })
}

/// A round, its guidance, the next round, its answer, what is spent by it and what comes late.
fn lines_about_decisions() -> Vec<Value> {
    let [first, second] = ["1", "2"].map(|digit| format!("DP-{}", digit.repeat(32)));
    let agent = |command: &str, body| about_a_decision(command, "AGENT", "planner", body);
    let person = |name: &str, body| about_a_decision("respond", "HUMAN", name, body);
    let binding = json!({ "tool": "Bash", "input_sha256": HASH });
    let options = json!([{ "id": "go", "label": "Go" },
        { "id": "stop", "short": "no", "label": "Stop", "description": "*Now*", "reject": true }]);
    let evidence = json!([{ "sha256": HASH, "bytes": 0, "media_type": "text/plain",
        "label": "nothing" }]);
    let policy = json!({ "approvers": ["ada"], "quorum": 1, "authentication": "none" });
    vec![
        agent(
            "create",
            json!({ "entropy": "1".repeat(32), "issue_id": "gt-1", "prompt": "Deploy?",
                "context": "All is green.", "options": options, "default_option": "stop",
                "allow_text": false, "timeout_ms": 60_000, "timeout_per_round": true,
                "on_timeout": "default", "max_iterations": 2, "urgency": "high",
                "policy": policy, "blocks": ["job"], "evidence": evidence, "binding": binding,
                "valid_for_ms": 60_000 }),
        ),
        agent("remind", json!({ "decision_id": first })),
        agent("escalate", json!({ "decision_id": first, "to": "boss", "reason": "it hurries" })),
        person(
            "ada",
            json!({ "decision_id": first, "entropy": "2".repeat(32),
                "response": { "guidance": "not on a Friday" } }),
        ),
        agent("refine", json!({ "decision_id": second, "prompt": "Deploy on Monday?" })),
        person(
            "ada",
            json!({ "decision_id": second, "response": { "option": "go" }, "comment": "fine" }),
        ),
        agent("consume", json!({ "decision_id": second, "binding": binding })),
        person("bob", json!({ "decision_id": second, "response": "accept" })),
        agent("create", json!({ "entropy": "3".repeat(32), "prompt": "Why?" })),
        agent("cancel", json!({ "decision_id": format!("DP-{}", "3".repeat(32)) })),
    ]
}

#[test]
fn lines_about_decisions_fit_and_each_is_shown_by_its_records() {
    let schemas = schemas();
    let place = Place::new();
    take_claims();
    let lines = lines_about_decisions();
    for line in &lines {
        assert_fits(&schemas["input"], line);
    }
    for answer in answers(&apply(&place, &lines)) {
        assert!(answer["receipt"].is_object(), "{answer}");
        assert_fits(&schemas["output"], &answer);
    }
    let nothing_due = json!({ "submit":
        { "command": "decision_point.expire", "decision_id": format!("DP-{}", "1".repeat(32)) } });
    assert_fits(&schemas["input"], &nothing_due);
    for refused in answers(&apply(&place, &[nothing_due])) {
        assert_fits(&schemas["output"], &refused);
    }
    let kinds = |digit: &str| -> Vec<String> {
        let id = format!("DP-{}", digit.repeat(32));
        let shown = place.holdpoint(&["log", "--json", &format!("decision={id}")]);
        let about = |line: &Value| line["decision_id"] == id.as_str();
        let lines = answers(&shown);
        assert!(lines.iter().all(about), "{lines:#?}");
        lines.iter().map(|line| line["kind"].as_str().unwrap()[15..].to_owned()).collect()
    };
    assert_eq!(kinds("1"), ["created", "reminded", "escalated", "guidance_given"]);
    let second = ["round_opened", "refined", "vote", "resolved", "released", "consumed"];
    assert_eq!(kinds("2"), [&second[..], &["late_response"]].concat());
    assert_eq!(kinds("3"), ["created", "cancelled"]);
}

/// Whoever answers says it in one way only, and nobody invents a field.
#[test]
fn lines_about_decisions_that_are_not_understood_do_not_fit() {
    let schema = &schemas()["input"];
    let lines = lines_about_decisions();
    let changed = |line: usize, place: &str, value: Value| {
        let mut line = lines[line].clone();
        *line.pointer_mut(place).unwrap() = value;
        line
    };
    let mut unknown = lines[0].clone();
    unknown["submit"]["state"] = "resolved".into();
    for bad in [
        unknown,
        changed(0, "/submit/on_timeout", "approve".into()),
        changed(0, "/submit/urgency", "HIGH".into()),
        changed(0, "/submit/timeout_ms", (-1).into()),
        changed(0, "/submit/max_iterations", 256.into()),
        changed(0, "/submit/policy", json!({ "quorum": 1 })),
        changed(0, "/submit/options", json!([{ "id": "go" }])),
        changed(0, "/submit/binding", json!({ "tool": "Bash" })),
        changed(0, "/submit/by", "planner".into()),
        changed(5, "/submit/response", "go".into()),
        changed(5, "/submit/response", json!({ "option": "go", "text": "go" })),
        changed(5, "/submit/by/kind", "human".into()),
    ] {
        assert!(misfit(schema, schema, &bad).is_err(), "{bad}");
        let place = Place::new();
        for answer in answers(&apply(&place, &[bad])) {
            assert!(answer["receipt"].is_null(), "{answer}");
        }
    }
}

#[test]
fn lines_that_are_not_understood_do_not_fit() {
    let schema = &schemas()["input"];
    let complete = |name: &str, value: Value| {
        let mut line =
            json!({ "submit": { "command": "execution_loop.complete", "loop_id": "a" } });
        line["submit"][name] = value;
        line
    };
    assert_fits(schema, &complete("entropy", "0".repeat(32).into()));
    let bad = [
        complete("x", 1.into()),
        complete("entropy", "A".into()),
        json!({}),
        json!({ "submit": { "command": "none" } }),
        json!({ "submit": { "command": "log.record_fingerprint" }, "at": 1 }),
        json!({ "submit": { "command": "log.record_system_event" } }),
        json!({ "submit": { "command": "execution_loop.complete" } }),
        json!({ "submit": { "command": "execution_loop.declare_lost", "loop_id": "LOOP-1" } }),
        json!({ "causation": -1, "submit": { "command": "log.record_fingerprint" } }),
    ];
    for line in bad {
        assert!(misfit(schema, schema, &line).is_err(), "{line}");
    }
}

#[test]
fn every_command_that_a_line_may_use_is_in_the_schema() {
    let schema = schemas()["input"].to_string();
    for name in Command::NAMES {
        assert!(schema.contains(&format!("\"{name}\"")), "{name}");
    }
}
