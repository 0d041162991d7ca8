//! What `apply` promises: one answer for each line, in order, and nothing of a bad line on record.

use crate::apply_support::{HASH, Session, answers, apply, initialize, story};
use crate::machine::configure;
use crate::program::{Place, by_person, json, json_lines, skip, status, text};
use holdpoint_engine::shell::user_name;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

/// What is on record: one line for each record.
/// What is recorded behind the statement of the rules.
fn recorded(place: &Place) -> Vec<Value> {
    let output = place.holdpoint(&["log", "--json", "--since", "2"]);
    json_lines(&output)
}

#[test]
fn a_whole_story_goes_through_apply_and_every_line_is_answered_in_order() {
    let place = Place::new();
    let lines = story(&"1".repeat(32));
    let output = apply(&place, &lines);
    let found = answers(&output);
    let numbers: Vec<u64> = found.iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    assert_eq!(status(&output), 0, "{found:#?}");
    let receipts: Vec<&Value> = found.iter().map(|answer| &answer["receipt"]).collect();
    assert_eq!(receipts[0]["loop_id"], format!("LOOP-{}", "1".repeat(32)));
    assert_eq!(receipts[0]["events"][0], "execution_loop.initialized");
    for (before, after) in receipts.iter().zip(receipts.iter().skip(1)) {
        let next = before["last_sequence"].as_u64().unwrap() + 1;
        assert_eq!(after["first_sequence"], next);
    }
    place.verified();
}

/// Whoever answers or stops a loop as a person is one whom this process proves, whatever the line
/// says.
#[test]
fn nobody_answers_or_aborts_through_apply_under_a_name_that_is_not_theirs() {
    let place = Place::new();
    let (id, mut lines) = (format!("LOOP-{}", "2".repeat(32)), story(&"2".repeat(32)));
    lines.pop();
    lines[0]["submit"]["hold"] = json!({ "policy": "AFTER" });
    lines.push(json!({ "submit": { "command": "human_decision.request", "loop_id": id } }));
    let found = answers(&apply(&place, &lines));
    let request = found.last().unwrap()["receipt"]["request_id"].as_str().unwrap().to_string();
    let answer = |who: &str, channel: &str| {
        json!({ "actor": { "kind": "HUMAN", "id": who }, "submit": {
            "command": "human_decision.answer", "request_id": request, "actor": "HUMAN",
            "human_id": who, "decision": "CONTINUE",
            "means": { "channel": channel, "detail": "a program" } } })
    };
    let abort = json!({ "actor": { "kind": "HUMAN", "id": "ada" }, "submit": {
        "command": "execution_loop.stop", "loop_id": id, "condition": "HUMAN_ABORT",
        "facts": { "human_abort_signaled": true }, "details": "enough" } });
    let held = json!({ "submit": { "command": "execution_loop.complete", "loop_id": id } });
    let own = user_name();
    let lines = [held, answer("ada", "TERMINAL"), answer("ada", "API"), abort];
    let found = answers(&apply(&place, &lines));
    assert_eq!(found[0]["refusal"]["code"], "HOLD_APPLIES", "{found:#?}");
    assert_eq!(found[1]["error"]["field"], "submit.means.channel", "{found:#?}");
    for refused in &found[2..] {
        assert_eq!(refused["refusal"]["code"], "CLAIM_NOT_TAKEN", "{found:#?}");
    }
    // No proof would make an agent a person.
    let mut by_agent = answer("planner", "API");
    by_agent["actor"]["kind"] = "AGENT".into();
    by_agent["submit"]["actor"] = "AGENT".into();
    let found = answers(&apply(&place, &[by_agent]));
    assert_eq!(found[0]["refusal"]["code"], "NOT_A_HUMAN", "{found:#?}");
    // The same user without a terminal is a program.
    let mut session = Session::begin(&place);
    let refused = session.ask(answer(&own, "API").to_string().as_bytes());
    assert_eq!(refused["refusal"]["code"], "PROVEN_LESS", "{refused:#}");
    assert_eq!(session.end(), 5);
    // So it is where it has one: nobody typed there.
    let found = answers(&apply(&place, &[answer(&own, "API")]));
    assert_eq!(found[0]["refusal"]["code"], "PROVEN_LESS", "{found:#?}");
    place.verified();
}

/// Neither in its own kind nor in a person's name.
#[test]
fn an_agent_grants_overrides_aborts_and_answers_nothing_through_apply() {
    let place = Place::new();
    configure("[hold]\noverride_approvers = [\"ada\"]\n");
    let (id, mut lines) = (format!("LOOP-{}", "8".repeat(32)), story(&"8".repeat(32)));
    lines.pop();
    lines[0]["submit"]["hold"] = json!({ "policy": "AFTER", "override_approvers": ["ada"] });
    lines[0]["submit"]["max_attempts"] = 2.into();
    lines.push(json!({ "submit": { "command": "human_decision.request", "loop_id": id } }));
    let found = answers(&apply(&place, &lines));
    let request = found.last().unwrap()["receipt"]["request_id"].as_str().unwrap().to_string();
    let means = json!({ "channel": "API", "detail": "" });
    let facts = json!({ "authorization_present": true, "executor_registered": true,
        "resources_available": true, "intent_clear": true, "human_abort_signaled": true });
    let needs_person = [
        json!({ "command": "interruption_thread.change_capability", "actor_kind": "AGENT",
            "actor_id": "planner", "capability": "SELENE_OS_ONLY", "is_granted": true }),
        json!({ "command": "human_decision.override_visibility", "request_id": request,
            "actor": "HUMAN", "human_id": "ada", "field": "attempt_exit", "reason": "to see",
            "means": means }),
        json!({ "command": "human_decision.answer", "request_id": request, "actor": "HUMAN",
            "human_id": "ada", "decision": "CONTINUE", "means": means }),
        json!({ "command": "execution_loop.stop", "loop_id": id, "condition": "HUMAN_ABORT",
            "facts": { "human_abort_signaled": true }, "details": "" }),
        json!({ "command": "execution_loop.retry", "loop_id": id, "envelope_hash": HASH,
            "facts": facts }),
        json!({ "command": "policy.set", "by": { "kind": "HUMAN", "id": "ada",
            "authenticated_by": "terminal", "means": "" }, "policy": {} }),
    ];
    for (kind, name) in [("AGENT", "planner"), ("AGENT", "ada"), ("HUMAN", "ada")] {
        let actor = json!({ "kind": kind, "id": name });
        let lines = needs_person.clone().map(|submit| json!({ "actor": actor, "submit": submit }));
        for (answer, line) in answers(&apply(&place, &lines)).iter().zip(&lines) {
            assert!(answer["refusal"]["code"].is_string(), "{line}: {answer}");
        }
    }
    // What a hold bars is barred for whoever asks.
    for command in ["execution_loop.complete", "execution_loop.retry"] {
        let mut submit = json!({ "command": command, "loop_id": id });
        if command.ends_with("retry") {
            submit["envelope_hash"] = HASH.into();
            submit["facts"] = facts.clone();
            submit["facts"]["human_abort_signaled"] = false.into();
        }
        let found = answers(&apply(&place, &[json!({ "submit": submit })]));
        assert_eq!(found[0]["refusal"]["code"], "HOLD_APPLIES", "{found:#?}");
    }
    let records = recorded(&place);
    for kind in ["capability_changed", "visibility_overridden", "answered", "halted"] {
        let is_it = |record: &Value| record["kind"].as_str().unwrap().ends_with(kind);
        assert!(!records.iter().any(is_it), "{kind}");
    }
    place.verified();
}

/// Whom the policy of the log names, they alone are asked, also where nobody had to be.
#[test]
fn a_loop_that_is_never_held_is_asked_about_only_as_the_policy_lets_it() {
    let place = Place::with_log();
    let set = ["policy", "set", "approvers=ada", "decision_timeout=2m"];
    let set = by_person(&place.command(&set));
    assert_eq!(status(&set), 0, "{}", text(&set.stderr));
    let ada = json!({ "policy": "NEVER", "approvers": ["ada"], "decision_timeout_ms": 120_000 });
    let late = json!({ "policy": "NEVER", "approvers": ["ada"], "decision_timeout_ms": 120_001 });
    for (digit, hold, field) in [
        ("3", json!({ "policy": "NEVER" }), Some("approvers")),
        ("4", late, Some("decision_timeout")),
        ("5", ada, None),
    ] {
        let (id, mut lines) = (format!("LOOP-{}", digit.repeat(32)), story(&digit.repeat(32)));
        lines.pop();
        lines[0]["submit"]["hold"] = hold;
        lines.push(json!({ "submit": { "command": "human_decision.request", "loop_id": id } }));
        let found = answers(&apply(&place, &lines));
        let last = found.last().unwrap();
        match field {
            Some(field) => {
                assert_eq!(last["refusal"]["code"], "POLICY_LOOSENED", "{found:#?}");
                assert!(last["refusal"]["message"].as_str().unwrap().contains(field), "{last:#}");
            }
            None => assert!(last["receipt"]["request_id"].is_string(), "{found:#?}"),
        }
    }
    place.verified();
}

/// A stream of which a program kept less than the whole: its two ends, or its beginning alone.
#[test]
fn an_output_that_is_not_whole_says_which_parts_of_it_are_there() {
    let place = Place::new();
    let entropy = "5".repeat(32);
    let loop_id = format!("LOOP-{entropy}");
    let capture = |kind: &str, fields: &[(&str, u64)]| {
        let mut item = json!({ "stream": "STDOUT", "raw_data": "616263", "whole_sha256": HASH });
        fields.iter().for_each(|(name, value)| item[*name] = json!(value));
        json!({ "submit": { "command": "evidence_capture.capture", "loop_id": loop_id,
            "items": [{ kind: item }] } })
    };
    let cut = "executor_output_cut";
    let mut lines: Vec<Value> = story(&entropy).into_iter().take(3).collect();
    lines.extend([
        capture("executor_output", &[("true_length", 9)]),
        capture(cut, &[("true_length", 9), ("head_length", 2)]),
        capture(cut, &[("true_length", 9), ("head_length", 4)]),
        capture(cut, &[("true_length", 3), ("head_length", 2)]),
        capture(cut, &[("true_length", 9)]),
    ]);
    let found = answers(&apply(&place, &lines));
    assert!(found[3]["receipt"].is_object() && found[4]["receipt"].is_object(), "{found:#?}");
    for refused in &found[5..7] {
        assert_eq!(refused["refusal"]["code"], "OUTPUT_CONTRADICTED", "{found:#?}");
    }
    assert!(found[7]["error"]["message"].as_str().unwrap().contains("head_length"), "{found:#?}");
    let captured: Vec<Value> = recorded(&place)
        .into_iter()
        .filter(|record| record["event"]["evidence_type"] == "EXECUTOR_OUTPUT")
        .map(|record| record["event"]["content"].clone())
        .collect();
    let beginning = json!({ "output": { "stream": "STDOUT", "true_length": 9, "truncated": true,
        "whole_sha256": HASH } });
    let ends = json!({ "output_cut": { "stream": "STDOUT", "true_length": 9, "head_length": 2,
        "gap_length": 6, "whole_sha256": HASH } });
    assert_eq!(captured, [beginning, ends]);
    place.verified();
}

/// Lines, with `^` before the place that is told, which is not sent; `FP` stands for a command
/// that would be accepted, `~` for a byte that is not UTF-8. Then the field and the message.
const BAD: [(&str, &str, &str); 24] = [
    ("^", "", "empty"),
    ("  ^", "", "empty"),
    ("^{}", "", "submit"),
    ("^[]", "", "expected an object"),
    (r#"{"submit":^"#, "submit", "a value"),
    (r#"{"submit":{FP}} ^x"#, "", "end of the line"),
    (r#"{"submit":{FP},^"x":1}"#, "x", "unknown field"),
    (r#"{"submit":{FP,^"x":1}}"#, "submit.x", "unknown field"),
    (r#"{"submit":{"command":^"log.record_system_event"}}"#, "submit.command", "no command"),
    (r#"{"submit":{"command":"a",^"command":"b"}}"#, "submit.command", "twice"),
    (r#"{"actor":^["HUMAN","x"],"submit":{FP}}"#, "actor", "expected an object"),
    (r#"{"submit":{FP},^"at":1}"#, "at", "leave the time"),
    (r#"{"submit":{FP,^"time":1}}"#, "submit.time", "leave the time"),
    (r#"{"submit":{"command":"^\ud800"}}"#, "submit.command", "surrogate"),
    (r#"{"submit":{"command":"a^~"}}"#, "", "UTF-8"),
    (r#"{"submit":^{"command":"execution_loop.complete"}}"#, "submit", "missing field `loop_id`"),
    (
        r#"{"submit":{"command":"execution_loop.complete","loop_id":^7}}"#,
        "submit.loop_id",
        "expected a string",
    ),
    (r#"{"causation":^18446744073709551616,"submit":{FP}}"#, "causation", "whole number"),
    (r#"{"causation":^-1,"submit":{FP}}"#, "causation", "expected u64"),
    (r#"{"expected_version":^1.5,"submit":{FP}}"#, "expected_version", "whole number"),
    (r#"{"actor":{"kind":^"SYSTEM","id":"x"},"submit":{FP}}"#, "actor.kind", "unknown variant"),
    (
        r#"^{"idempotency":{"tenant":"t","engine":"e","key":"k"},"submit":{FP}}"#,
        "idempotency",
        "correlation",
    ),
    (
        r#"{"submit":{"command":"evidence_capture.capture","loop_id":"a","items":[{^"b":1}]}}"#,
        "submit.items[0]",
        "unknown variant",
    ),
    (
        r#"{"submit":{"command":"execution_loop.complete","loop_id":"a","entropy":^"AA"}}"#,
        "submit.entropy",
        "32 lower-case",
    ),
];

#[test]
fn every_bad_line_is_refused_with_its_place_and_leaves_no_trace() {
    let place = Place::new();
    assert_eq!(status(&apply(&place, &[fingerprint()])), 0);
    let before = recorded(&place);
    let mut session = Session::begin(&place);
    for (marked, field, message) in BAD {
        let marked = marked.replace("FP", r#""command":"log.record_fingerprint""#);
        let column = marked.find('^').unwrap() + 1;
        let line: Vec<u8> = marked.replace('^', "").bytes().collect();
        let line: Vec<u8> = line.into_iter().map(|b| if b == b'~' { 0xff } else { b }).collect();
        let found = &session.ask(&line)["error"];
        assert_eq!(found["column"], column, "{marked}: {found}");
        assert_eq!(found["field"].as_str().unwrap_or(""), field, "{marked}: {found}");
        assert!(found["message"].as_str().unwrap().contains(message), "{marked}: {found}");
    }
    assert_eq!(session.end(), 2);
    assert_eq!(recorded(&place), before);
    place.verified();
}

fn fingerprint() -> Value {
    json!({ "submit": { "command": "log.record_fingerprint" } })
}

#[test]
fn the_lines_in_the_document_are_accepted() {
    let (_, rest) = include_str!("../../docs/apply.md").split_once("```json\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let lines: Vec<Value> = block.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), status(&apply(&Place::new(), &lines))), (2, 0));
}

#[test]
fn names_that_hide_something_are_refused_by_the_rules_and_stop_nothing() {
    let place = Place::new();
    let named = |correlation: &str| {
        let mut line = fingerprint();
        line["correlation"] = correlation.into();
        line
    };
    let lines = [named("a\0b"), named(" "), named("a\u{202e}b"), named(&"a".repeat(257))];
    let output = apply(&place, &[&lines[..], &[named("good")]].concat());
    let found = answers(&output);
    for answer in &found[..4] {
        assert_eq!(answer["refusal"]["code"], "INVALID_IDENTIFIER", "{answer}");
    }
    assert!(found[4]["receipt"].is_object());
    assert_eq!((status(&output), recorded(&place).len()), (5, 1));
}

#[test]
fn a_line_of_100_mb_is_refused_without_holding_it() {
    let place = Place::new();
    let mut session = Session::begin(&place);
    for _ in 0..100 {
        session.write(&vec![b'x'; 1_000_000]);
    }
    let found = session.ask(b"");
    let message = found["error"]["message"].as_str().unwrap();
    assert!(message.contains("100000000 bytes") && message.contains("16MiB"), "{found}");
    match session.peak_memory() {
        Some(peak) => assert!(peak < 64 << 20, "{peak} bytes at the most"),
        None => skip("the peak of memory is not told here"),
    }
    let next = session.ask(br#"{"submit":{"command":"log.record_fingerprint"}}"#);
    assert_eq!((next["line"].as_u64(), next["receipt"].is_object()), (Some(2), true));
    assert_eq!(session.end(), 2);
}

#[test]
fn an_answer_is_there_before_the_next_line_is_written() {
    let place = Place::new();
    let mut session = Session::begin(&place);
    for line in 1..=20 {
        let found = session.ask(br#"{"submit":{"command":"log.record_fingerprint"}}"#);
        assert_eq!(found["line"], line);
        assert_eq!(recorded(&place).len(), line, "the receipt is durable, so others read it");
    }
    assert_eq!(session.end(), 0);
}

#[test]
fn a_key_is_good_for_one_command_also_after_a_restart() {
    let place = Place::new();
    let keyed = |command: Value| {
        let key = json!({ "tenant": "t", "engine": "e", "key": "k" });
        json!({ "submit": command, "correlation": "story", "idempotency": key })
    };
    let mut line = keyed(initialize(&"3".repeat(32)));
    line["submit"].as_object_mut().unwrap().remove("entropy");
    let first = answers(&apply(&place, &[line.clone()]))[0]["receipt"].clone();
    let before = recorded(&place).len();
    let again = answers(&apply(&place, &[line.clone(), line.clone()]));
    for answer in &again {
        let mut receipt = answer["receipt"].clone();
        assert_eq!(receipt["repeated"], true, "{answer}");
        receipt["repeated"] = false.into();
        assert_eq!(receipt, first);
    }
    assert_eq!(recorded(&place).len(), before);
    line["submit"]["max_attempts"] = 2.into();
    let other = apply(&place, &[line]);
    assert_eq!(answers(&other)[0]["refusal"]["code"], "IDEMPOTENCY_CONFLICT");
    assert_eq!(status(&other), 5);
    let last = recorded(&place).pop().unwrap();
    assert_eq!(last["kind"], "log.command_refused", "the conflict is on record");
    place.verified();
}

#[test]
fn a_key_is_no_way_to_be_told_what_somebody_else_did() {
    let place = Place::new();
    let by = |kind: &str, id: &str| {
        json!({ "submit": { "command": "log.record_fingerprint" }, "correlation": "story",
            "actor": { "kind": kind, "id": id },
            "idempotency": { "tenant": "t", "engine": "e", "key": "k" } })
    };
    let lines = [by("AGENT", "one"), by("AGENT", "two"), by("HUMAN", "one"), by("AGENT", "one")];
    let found = answers(&apply(&place, &lines));
    assert!(found[0]["receipt"].is_object(), "{found:#?}");
    for other in &found[1..3] {
        assert_eq!(other["refusal"]["code"], "IDEMPOTENCY_CONFLICT", "{found:#?}");
    }
    assert_eq!(found[3]["receipt"]["repeated"], true, "{found:#?}");
}

#[test]
fn when_nobody_reads_the_answers_nothing_more_is_carried_out() {
    let place = Place::new();
    let mut child =
        place.command(&["apply"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let line = b"{\"submit\":{\"command\":\"log.record_fingerprint\"}}\n";
    // The pipe breaks where the program ends before it read everything.
    let _ = child.stdin.take().unwrap().write_all(&line.repeat(1_000));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(recorded(&place).len(), 1);
}

#[test]
fn a_file_that_is_not_there_and_a_log_that_stays_locked_are_told_apart() {
    let place = Place::new();
    let missing = place.holdpoint(&["apply", "no-such-file"]);
    assert_eq!((status(&missing), text(&missing.stdout)), (1, String::new()));
    assert!(text(&missing.stderr).contains("no-such-file"));
    assert!(!place.log.exists(), "nothing was made");
    let file = place.directory.path().join("commands");
    std::fs::write(&file, "{\"submit\":{\"command\":\"log.record_fingerprint\"}}").unwrap();
    let from_file = place.holdpoint(&["apply", file.to_str().unwrap()]);
    assert_eq!(json(&from_file)["receipt"]["last_sequence"], 2);
    let lock = std::fs::File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let locked = place.holdpoint(&["apply", "--lock-wait", "20ms", file.to_str().unwrap()]);
    assert_eq!((status(&locked), text(&locked.stdout)), (4, String::new()));
}

#[test]
fn a_version_that_was_overtaken_is_refused() {
    let place = Place::new();
    let loop_id = format!("LOOP-{}", "4".repeat(32));
    let begun = answers(&apply(&place, &[json!({ "submit": initialize(&"4".repeat(32)) })]));
    let version = begun[0]["receipt"]["last_sequence"].clone();
    let dispatch = json!({ "expected_version": version, "submit": {
        "command": "execution_loop.stop", "loop_id": loop_id, "condition": "AMBIGUOUS_INTENT",
        "facts": {}, "details": HASH } });
    let mut stale = dispatch.clone();
    stale["expected_version"] = json!(version.as_u64().unwrap() - 1);
    let found = answers(&apply(&place, &[stale, dispatch]));
    assert_eq!(found[0]["refusal"]["code"], "STALE_VERSION", "{found:#?}");
    assert!(found[1]["receipt"].is_object(), "{found:#?}");
}

#[test]
fn a_vote_through_apply_proves_no_more_than_the_process_does() {
    let place = Place::new();
    let id = format!("DP-{}", "7".repeat(32));
    let by = |kind: &str, id: &str| {
        json!({ "kind": kind, "id": id, "authenticated_by": "terminal",
            "means": "terminal /dev/pts/1, uid 0" })
    };
    let line = |kind: &str, id: &str, mut submit: Value| {
        submit["by"] = by(kind, id);
        json!({ "actor": { "kind": kind, "id": id }, "submit": submit })
    };
    let option =
        |id: &str, reject: bool| json!({ "id": id, "short": id, "label": id, "reject": reject });
    let create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "prompt": "Deploy?", "options": [option("yes", false), option("no", true)],
        "policy": { "quorum": 2, "authentication": "terminal" } });
    let vote = json!({ "command": "decision_point.respond", "decision_id": id,
        "response": { "option": "yes" } });
    let lines = [
        line("AGENT", "planner", create),
        line("HUMAN", "made-up-1", vote.clone()),
        line("HUMAN", "made-up-2", vote),
    ];
    let found = answers(&apply(&place, &lines));
    assert!(found[0]["receipt"].is_object(), "{found:#?}");
    for refused in &found[1..] {
        assert_eq!(refused["refusal"]["code"], "CLAIM_NOT_TAKEN", "{found:#?}");
    }
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!((&shown["state"], &shown["requested_by"]), (&"pending".into(), &"planner".into()));
    assert!(!shown.to_string().contains("/dev/pts/1"), "{shown:#}");
}

#[test]
fn an_answer_that_names_no_cause_is_caused_by_its_question() {
    let place = Place::new();
    let actor = json!({ "kind": "AGENT", "id": "planner" });
    let by = json!({ "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "-" });
    let create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32), "by": by,
        "prompt": "Which?", "options": [{ "id": "a", "label": "A" }] });
    let answer = json!({ "command": "decision_point.respond", "by": by,
        "decision_id": format!("DP-{}", "7".repeat(32)), "response": { "option": "a" } });
    let lines = [create, answer].map(|command| json!({ "actor": actor, "submit": command }));
    let found = answers(&apply(&place, &lines));
    let asked = &found[0]["receipt"]["last_sequence"];
    let last = recorded(&place).pop().unwrap();
    assert_eq!((&last["kind"], &last["causation"]), (&json!("decision_point.resolved"), asked));
}

/// Whoever asks, and in whatever state: the log judges its own facts, and a caller those of the
/// world outside.
#[test]
fn a_stop_condition_on_record_is_what_the_log_knows_itself() {
    let place = Place::new();
    let own = [
        ("EVIDENCE_CHAIN_BROKEN", "chain_valid"),
        ("TIMESTAMP_INVALID", "timestamp_valid"),
        ("ENVELOPE_HASH_MISMATCH", "envelope_hash_matches"),
        ("PRIOR_EXECUTION_PENDING", "prior_execution_complete"),
    ];
    let stop = |loop_id: &str, condition: &str, facts: Value| {
        json!({ "submit": { "command": "execution_loop.stop", "loop_id": loop_id,
            "condition": condition, "facts": facts, "details": "" } })
    };
    for steps in 1..=5 {
        let entropy = steps.to_string().repeat(32);
        let loop_id = format!("LOOP-{entropy}");
        let mut lines: Vec<Value> = story(&entropy).into_iter().take(steps).collect();
        for (condition, fact) in own {
            lines.push(stop(&loop_id, condition, json!({})));
            lines.push(stop(&loop_id, condition, json!({ fact: false })));
        }
        lines.push(stop(&loop_id, "AMBIGUOUS_INTENT", json!({})));
        let found = answers(&apply(&place, &lines));
        let (refused, stopped) = (&found[steps..steps + 8], &found[steps + 8]);
        for (number, answer) in refused.iter().enumerate() {
            let code = ["STOP_NOT_TRIGGERED", "FACT_NOT_TAKEN"][number % 2];
            assert_eq!(answer["refusal"]["code"], code, "{answer:#}");
        }
        assert!(stopped["receipt"].is_object(), "{stopped:#}");
        let ended = place.newest_loop();
        assert_eq!(ended["stop_condition"], "AMBIGUOUS_INTENT");
        assert_eq!(ended["stop_details"], "intent_clear is not stated");
    }
    place.verified();
}
