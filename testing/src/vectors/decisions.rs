//! Decision points: what may be asked, and what each answer comes to in each state.

use super::{Answered, Book};
use holdpoint_domain::Time;
use serde_json::{Value, json};

const OPTIONS: &str = "Decisions, Options";
const DEFAULTS: &str = "Decisions, Decision Point: default_option; Data Model: DefaultOption";
const BOUNDS: &str = "Decisions, Data Model: DecisionPoint Type, DecisionOption Type";
const ITERATION: &str = "Decisions, Iteration; Respond to Decision";
const API: &str = "Decisions, Storage API: UpdateDecisionPoint";

/// The fields of the document, and how a round ended.
const ROW: [&str; 14] = [
    "state",
    "waits_for",
    "default_option",
    "selected_option",
    "response_text",
    "resolution_kind",
    "responded_by",
    "iteration",
    "max_iterations",
    "prior_id",
    "next_id",
    "guidance",
    "guidance_given",
    "requested_by",
];

const FIRST: &str = "DP-$ID";
const SECOND: &str = "DP-$NEXT";

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define(&mut book);
    defaults(&mut book);
    blocking_default(&mut book);
    bounds(&mut book);
    for (state, given, round) in rounds() {
        book.define_lines(&format!("state {state}"), &given);
        answers(&mut book, state, &given, round);
    }
    refined_defaults(&mut book);
    book.lines
}

fn define(book: &mut Book) {
    let line = |who: &str, mut submit: Value| {
        submit["by"] =
            json!({ "kind": "AGENT", "id": who, "authenticated_by": "none", "means": "" });
        json!({ "actor": { "kind": "AGENT", "id": who }, "submit": submit })
    };
    let option = |id: &str| json!({ "id": id, "label": format!("Use {id}") });
    let create = json!({ "command": "decision_point.create", "entropy": "$ID",
        "prompt": "Which approach?", "options": [option("a"), option("b")] });
    book.define("ask", line("planner", create));
    let respond = json!({ "command": "decision_point.respond", "entropy": "$NEXT",
        "decision_id": FIRST });
    book.define("answer", line("reviewer", respond));
    let refine = json!({ "command": "decision_point.refine", "decision_id": SECOND,
        "options": [option("c"), option("d")] });
    book.define("refine", line("planner", refine));
    for (name, command) in [("cancel", "cancel"), ("remind", "remind")] {
        let body = json!({ "command": format!("decision_point.{command}"), "decision_id": FIRST });
        book.define(name, line("planner", body));
    }
    let escalate =
        json!({ "command": "decision_point.escalate", "decision_id": FIRST, "to": "lead" });
    book.define("escalate", line("planner", escalate));
    let expire = json!({ "command": "decision_point.expire", "decision_id": FIRST });
    book.define("expire", json!({ "submit": expire }));
    book.define("second-round", json!({ "submit": { "decision_id": SECOND } }));
    for (name, response) in responses() {
        book.define(name, json!({ "submit": { "response": response } }));
    }
}

/// Each kind of answer.
fn responses() -> [(&'static str, Value); 7] {
    [
        ("option-a", json!({ "option": "a" })),
        ("option-c", json!({ "option": "c" })),
        ("option-accept", json!({ "option": "_accept" })),
        ("option-guidance", json!({ "option": "_guidance" })),
        ("text", json!({ "text": "Use a hybrid approach" })),
        ("guidance", json!({ "guidance": "Consider memory constraints" })),
        ("accept", json!("accept")),
    ]
}

/// Where a round may stand, the lines that lead there, and which of the two it is.
fn rounds() -> Vec<(&'static str, Vec<Value>, &'static str)> {
    let due = |end: &str| {
        let terms = json!({ "timeout_ms": 1, "on_timeout": end, "default_option": "b" });
        json!(["ask", { "submit": terms }])
    };
    let expire = json!(["expire", { "when_due": true }]);
    let [ask, guidance] = [json!(["ask"]), json!(["answer", "guidance"])];
    let last = json!(["ask", { "submit": { "max_iterations": 1 } }]);
    let no_text = json!(["ask", { "submit": { "allow_text": false } }]);
    vec![
        ("pending", vec![ask.clone()], FIRST),
        ("pending-in-the-last-round", vec![last], FIRST),
        ("pending-without-text", vec![no_text], FIRST),
        ("refining", vec![ask.clone(), guidance.clone()], SECOND),
        ("refined", vec![ask.clone(), guidance.clone(), json!(["refine"])], SECOND),
        ("iterated", vec![ask.clone(), guidance], FIRST),
        ("resolved", vec![ask.clone(), json!(["answer", "option-a"])], FIRST),
        ("cancelled", vec![ask, json!(["cancel"])], FIRST),
        ("expired", vec![due("default"), expire.clone()], FIRST),
        ("aborted", vec![due("abort"), expire], FIRST),
        ("overdue", vec![due("hold")], FIRST),
    ]
}

/// Every answer to a round, and everything else that may be asked of it.
fn answers(book: &mut Book, state: &str, given: &[Value], round: &str) {
    let of_round = |mut parts: Value| {
        if round == SECOND {
            parts.as_array_mut().unwrap().push("second-round".into());
        }
        parts
    };
    for (name, _) in responses() {
        let id = format!("{state}/{name}");
        book.add((&id, ITERATION), given, &of_round(json!(["answer", name])), |it| row(it, round));
    }
    for name in ["refine", "cancel", "remind", "escalate", "expire"] {
        let over = json!({ "submit": { "decision_id": round } });
        let id = format!("{state}/{name}");
        book.add((&id, API), given, &json!([name, over]), |it| row(it, round));
    }
}

/// What a round is after the line, and the options that it offers.
fn row(answered: &Answered, round: &str) -> Value {
    let mut expected = answered.recorded(&[]);
    let id = answered.named(round);
    let Some(point) = answered.stage.world.decision_point(&id) else { return expected };
    let now = Time::from_nanoseconds(super::NOW);
    let view = serde_json::to_value(point.view(now, None)).unwrap();
    let mut fields = json!({ "id": round });
    for name in ROW {
        fields[name] = answered.placed(&view[name]);
    }
    let options = view["options"].as_array().unwrap().iter();
    fields["options"] = options.map(|option| json!({ "id": option["id"] })).collect();
    expected["row"] = fields;
    expected
}

/// Which defaults may be, and what a deadline comes to where nobody says.
fn defaults(book: &mut Book) {
    let timeouts = [("no-deadline", json!(null)), ("deadline", json!(60_000))];
    for (many, options) in [("options", None), ("no-options", Some(json!([])))] {
        for default in [None, Some("a"), Some("z"), Some("_accept")] {
            for end in [None, Some("default"), Some("abort"), Some("hold")] {
                for (timed, timeout) in &timeouts {
                    let mut body = json!({ "default_option": default, "on_timeout": end,
                        "timeout_ms": timeout });
                    if let Some(options) = &options {
                        body["options"] = options.clone();
                    }
                    let name = default.unwrap_or("none");
                    let id =
                        format!("create/{many}/default-{name}/{timed}-{}", end.unwrap_or("any"));
                    let when = json!(["ask", { "submit": body }]);
                    book.add((&id, DEFAULTS), &[], &when, created);
                }
            }
        }
    }
}

/// A default of a question whose answer is a person's.
fn blocking_default(book: &mut Book) {
    let body = json!({ "default_option": "a", "timeout_ms": 60_000, "blocks": ["deploy"] });
    let when = json!(["ask", { "submit": body }]);
    book.add(("create/blocks/default-a/deadline-any", DEFAULTS), &[], &when, created);
}

/// The terms of a new question.
fn created(answered: &Answered) -> Value {
    let mut expected = answered.recorded(&[("decision_point.created", &["terms"])]);
    if let Some(terms) = expected.pointer_mut("/records/decision_point.created/terms") {
        let kept = ["on_timeout", "allow_text", "max_iterations", "urgency"];
        let mut of_rule = json!({});
        kept.iter().for_each(|name| of_rule[*name] = terms[*name].clone());
        of_rule["proposal"] = json!({ "default_option": terms["proposal"]["default_option"] });
        *terms = of_rule;
    }
    expected
}

fn bounds(book: &mut Book) {
    let option = |id: &str| json!({ "id": id, "label": "Use it" });
    let many = |count: usize| (0..count).map(|n| option(&format!("o{n}"))).collect::<Vec<_>>();
    let cases = [
        ("options/32", OPTIONS, json!({ "options": many(32) })),
        ("options/33", OPTIONS, json!({ "options": many(33) })),
        ("options/none-and-no-text", OPTIONS, json!({ "options": [], "allow_text": false })),
        ("options/same-id", OPTIONS, json!({ "options": [option("a"), option("a")] })),
        ("options/reserved-id", OPTIONS, json!({ "options": [option("_accept")] })),
        ("options/blank-id", OPTIONS, json!({ "options": [option(" ")] })),
        ("options/id-of-32", OPTIONS, json!({ "options": [option(&"i".repeat(32))] })),
        ("options/id-of-33", OPTIONS, json!({ "options": [option(&"i".repeat(33))] })),
        ("options/no-label", OPTIONS, json!({ "options": [{ "id": "a", "label": "" }] })),
        ("rounds/0", ITERATION, json!({ "max_iterations": 0 })),
        ("rounds/1", ITERATION, json!({ "max_iterations": 1 })),
        ("rounds/20", ITERATION, json!({ "max_iterations": 20 })),
        ("rounds/21", ITERATION, json!({ "max_iterations": 21 })),
        ("deadline/0", BOUNDS, json!({ "timeout_ms": 0 })),
        ("deadline/366-days", BOUNDS, json!({ "timeout_ms": 31_622_400_000_u64 })),
        ("deadline/over-366-days", BOUNDS, json!({ "timeout_ms": 31_622_400_001_u64 })),
        ("prompt/empty", BOUNDS, json!({ "prompt": "" })),
        ("prompt/blank", BOUNDS, json!({ "prompt": " " })),
        ("prompt/4096", BOUNDS, json!({ "prompt": "p".repeat(4096) })),
        ("prompt/4097", BOUNDS, json!({ "prompt": "p".repeat(4097) })),
        ("issue/reserved", BOUNDS, json!({ "issue_id": "DP-1" })),
    ];
    for (name, rule, body) in cases {
        book.add(
            (&format!("create/{name}"), rule),
            &[],
            &json!(["ask", { "submit": body }]),
            created,
        );
    }
}

/// The default of a round that is proposed anew.
fn refined_defaults(book: &mut Book) {
    let ask = json!(["ask", { "submit": { "default_option": "a" } }]);
    let given = [ask, json!(["answer", "guidance"])];
    let same = json!([{ "id": "a", "label": "Use a" }]);
    for (name, body) in [
        ("kept", json!({ "options": same })),
        ("gone", json!({})),
        ("another", json!({ "default_option": "c" })),
        ("no-option", json!({ "default_option": "z" })),
        ("changed-alone", json!({ "options": null, "default_option": "b" })),
        ("dropped", json!({ "options": null, "drop_default": true })),
        ("dropped-and-named", json!({ "default_option": "c", "drop_default": true })),
    ] {
        let id = format!("refine/default-{name}");
        let when = json!(["refine", { "submit": body }]);
        book.add((&id, DEFAULTS), &given, &when, |it| row(it, SECOND));
    }
}
