//! The branch table of interruption threads.

use super::{Answered, Book, Tried, digits};
use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::{InterruptionThreadEvent, Pending};
use serde_json::{Value, json};

/// SHA-256 of the lease's token.
const LEASE: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// What is being said when somebody interrupts it, and how much of it was.
const SAYING: &str = "It is sunny today. Take a coat.";
const SPOKEN: u64 = 18;

/// Every state that turns lead to: its name, whether words are left unsaid to `ada`, and the turns.
const STATES: [(&str, bool, &[&[&str]]); 13] = [
    ("new", false, &[]),
    ("answered", false, &[&["chat"]]),
    ("CLARIFY", false, &[&["nlp-clarify"]]),
    ("CONFIRM", false, &[&["impactful"]]),
    ("MEMORY_PERMISSION", false, &[&["chat", "sensitive"]]),
    ("TOOL", false, &[&["read-only-tool"]]),
    ("live", true, &[&["chat"], BARGE_IN]),
    ("live+CLARIFY", true, &[&["chat"], BARGE_IN, &["nlp-clarify", "SWITCH-0.70"]]),
    ("live+CONFIRM", true, &[&["chat"], BARGE_IN, &["impactful", "SWITCH-0.70"]]),
    ("live+MEMORY_PERMISSION", true, &[&["chat"], BARGE_IN, &["chat", "SWITCH-0.70", "sensitive"]]),
    ("live+TOOL", true, &[&["chat"], BARGE_IN, &["read-only-tool", "SWITCH-0.70"]]),
    ("return-check", true, &[&["chat"], BARGE_IN, &["chat", "SWITCH-0.70"]]),
    (
        "others-words",
        false,
        &[&["chat", "bob"], &["barge-in", "SWITCH-0.70", "bob"], &["chat"], &["chat"]],
    ),
];

const BARGE_IN: &[&str] = &["barge-in", "SWITCH-0.70"];

/// What a turn may say, besides interrupting.
const INPUTS: [&str; 13] = [
    "chat",
    "continue",
    "more-detail",
    "read-only-tool",
    "memory-query",
    "impactful",
    "nlp-clarify",
    "tool-ok",
    "tool-fail",
    "tool-ambiguous",
    "failure",
    "yes",
    "no",
];

/// What is said of the relation: nothing, what is sure, and what is not.
const RELATIONS: [&str; 6] =
    ["none", "SAME-0.70", "SWITCH-0.70", "UNCERTAIN-0.99", "SAME-0.69", "SWITCH-0.69"];

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define(&mut book);
    set_up(&mut book);
    for (state, is_live, turns) in STATES {
        let found = StartState { state, is_live, turns };
        found.inputs(&mut book);
        found.interruptions(&mut book);
        found.others(&mut book);
        found.sensitive(&mut book);
        found.sessions(&mut book);
    }
    book.lines
}

/// A line of the caller who has the capability.
fn line(command: &str, mut body: Value) -> Value {
    body["command"] = format!("interruption_thread.{command}").into();
    body["tenant_id"] = "acme".into();
    json!({ "submit": body, "actor": { "kind": "AUTOMATION", "id": "selene-os" } })
}

fn define(book: &mut Book) {
    let order = json!({ "work_order_id": "wo-$ID", "correlation_id": "t-$ID",
        "status": "EXECUTING" });
    book.define("order", line("register_work_order", order));
    let lease = json!({ "work_order_id": "wo-$ID", "lease_token_hash": LEASE,
        "expires_at": "2100-01-01T00:00:00Z", "status": "ACTIVE" });
    book.define("lease", line("register_lease", lease));
    let session = json!({ "session_id": "s-$ID", "user_id": "ada", "device_id": "kitchen",
        "status": "ACTIVE" });
    book.define("session", line("register_session", session));
    let turn = json!({ "correlation_id": "t-$ID", "user_id": "ada", "device_id": "kitchen",
        "work_order_id": "wo-$ID", "work_order_status_snapshot": "EXECUTING",
        "pending_state": "NONE", "turn_id": 1, "idempotency_key": "1",
        "lease_token_hash": LEASE,
        "request": { "subject_ref": "weather", "active_speaker_user_id": "ada" } });
    book.define("turn", line("take_turn", turn));
    for turn in 2_u64..=5 {
        let over = json!({ "turn_id": turn, "idempotency_key": turn.to_string() });
        book.define(&format!("turn-{turn}"), json!({ "submit": over }));
    }
    for pending in ["CLARIFY", "CONFIRM", "MEMORY_PERMISSION", "TOOL"] {
        book.define(pending, json!({ "submit": { "pending_state": pending } }));
    }
    define_requests(book);
}

/// The parts of a request.
fn define_requests(book: &mut Book) {
    let mut part = |name: &str, request: Value| {
        book.define(name, json!({ "submit": { "request": request } }));
    };
    let input = |kind: &str, input: Value| json!({ "input": { kind: input } });
    let intent = |class: &str| json!({ "intent_type": class, "class": class });
    part("chat", input("CHAT", json!({ "response_text": "It is noon." })));
    for (name, class) in [
        ("continue", "CONTINUE"),
        ("more-detail", "MORE_DETAIL"),
        ("read-only-tool", "READ_ONLY_TOOL"),
        ("memory-query", "MEMORY_QUERY"),
        ("impactful", "IMPACTFUL"),
    ] {
        part(name, input("INTENT", intent(class)));
    }
    let clarify = json!({ "question": "When?", "accepted_answer_formats": ["A day", "A time"],
        "missing_fields": ["WHEN"] });
    part("nlp-clarify", input("NLP_CLARIFY", clarify));
    for (name, status) in
        [("tool-ok", "OK"), ("tool-fail", "FAIL"), ("tool-ambiguous", "AMBIGUOUS")]
    {
        let answer =
            json!({ "request_id": "TOOL-1", "status": status, "response_text": "It is noon." });
        part(name, input("TOOL_RESPONSE", answer));
    }
    part("asked-in-3", json!({ "input": { "TOOL_RESPONSE": { "request_id": "TOOL-3" } } }));
    part("failure", input("LAST_FAILURE", json!({ "response_text": "That did not work." })));
    part("yes", json!({ "confirm_answer": "Yes" }));
    part("no", json!({ "confirm_answer": "No" }));
    part("sensitive", json!({ "sensitive_memory_present": true }));
    part("other-subject", json!({ "subject_ref": "dinner" }));
    for (name, confidence) in [("0.69", 6_999), ("0.70", 7_000), ("0.99", 9_900)] {
        for relation in ["SAME", "SWITCH", "UNCERTAIN"] {
            let name = format!("{relation}-{name}");
            let relation = json!({ "interrupt_subject_relation": relation,
                "interrupt_subject_relation_confidence_bp": confidence });
            if RELATIONS.contains(&&*name) {
                part(&name, relation);
            }
        }
    }
    part("barge-in", barge_in());
    let bob = json!({ "user_id": "bob", "request": { "active_speaker_user_id": "bob" } });
    book.define("bob", json!({ "submit": bob }));
    book.define("in-session", json!({ "submit": { "session_id": "s-$ID" } }));
    for status in ["SUSPENDED", "CLOSED"] {
        book.define(status, json!({ "submit": { "status": status } }));
    }
}

/// An interruption just now.
fn barge_in() -> Value {
    json!({
        "interruption": {
            "phrase_id": 7, "trigger_phrase_id": 7, "trigger_locale": "en-GB",
            "phrase_text": "wait", "phrase_set_version": 1, "phrase_confidence_bp": 9500,
            "candidate_confidence_band": "HIGH", "risk_context_class": "LOW",
            "degradation_context": { "capture_degraded": false, "aec_unstable": false,
                "device_changed": false, "stream_gap_detected": false },
            "timing_markers": { "window_start": "$NOW", "window_end": "$NOW" },
            "t_event": "$NOW", "speech_window_metrics": { "voiced_window_ms": 400 },
            "gate_confidences": { "vad_bp": 9900, "speech_likeness_bp": 9800,
                "echo_safe_bp": 9700, "phrase_bp": 9500 },
            "subject_relation_confidence_bundle": { "lexical_bp": 9500, "vad_bp": 9900,
                "speech_likeness_bp": 9800, "echo_safe_bp": 9700, "combined_bp": 9600 } },
        "tts_resume_snapshot": { "answer_id": 41, "topic_hint": "weather",
            "response_text": SAYING, "spoken_cursor_byte": SPOKEN } })
}

/// A tenant with two users who share a device, and a caller who may call.
fn set_up(book: &mut Book) {
    let grant = json!({ "command": "interruption_thread.change_capability",
        "actor_kind": "AUTOMATION", "actor_id": "selene-os", "capability": "SELENE_OS_ONLY",
        "is_granted": true });
    let actor = json!({ "kind": "HUMAN", "id": "$USER" });
    book.set_up(&json!([{ "submit": grant, "actor": actor }]));
    let active = || json!({ "status": "ACTIVE" });
    book.set_up(&json!([line("register_tenant", active())]));
    for user in ["ada", "bob"] {
        let over = json!({ "submit": { "user_id": user } });
        book.set_up(&json!([line("register_user", active()), over.clone()]));
        let device = json!({ "status": "ACTIVE", "device_id": "kitchen" });
        book.set_up(&json!([line("register_device", device), over]));
    }
}

/// A state from which turns are tried.
struct StartState {
    state: &'static str,
    is_live: bool,
    turns: &'static [&'static [&'static str]],
}

impl StartState {
    /// Every input with every relation; a relation to nothing is refused.
    fn inputs(&self, book: &mut Book) {
        for input in INPUTS {
            let relations = if self.is_live { &RELATIONS[..5] } else { &RELATIONS[..1] };
            for relation in relations {
                self.add(book, &[input, relation], "");
            }
        }
        if !self.is_live {
            self.add(book, &["chat", "SAME-0.70"], "");
        }
    }

    fn interruptions(&self, book: &mut Book) {
        for relation in RELATIONS {
            self.add(book, &["barge-in", relation], "");
        }
        for input in ["chat", "continue", "read-only-tool"] {
            self.add(book, &["barge-in", input, "SWITCH-0.70"], "");
        }
    }

    /// Somebody else, and another subject.
    fn others(&self, book: &mut Book) {
        for input in ["chat", "continue", "impactful", "nlp-clarify", "tool-ok", "yes", "no"] {
            self.add(book, &[input, "bob"], "");
            let sure = if self.is_live { "SWITCH-0.70" } else { "none" };
            self.add(book, &[input, "other-subject", sure], "");
        }
    }

    fn sensitive(&self, book: &mut Book) {
        let relations: &[&str] = if self.is_live { &["SAME-0.70"] } else { &["none"] };
        for relation in relations {
            for input in [
                "chat",
                "continue",
                "more-detail",
                "tool-ok",
                "tool-fail",
                "tool-ambiguous",
                "failure",
            ] {
                self.add(book, &[input, "sensitive", relation], "");
            }
        }
    }

    /// In a session that is not active any more; not for who is in none.
    fn sessions(&self, book: &mut Book) {
        if self.turns.is_empty() || self.turns[0].contains(&"bob") {
            return;
        }
        for status in ["SUSPENDED", "CLOSED"] {
            for input in ["chat", "continue", "yes", "no", "barge-in"] {
                self.add(book, &[input], status);
            }
        }
    }

    fn add(&self, book: &mut Book, request: &[&str], session: &str) {
        let request: Vec<&str> = request.iter().copied().filter(|it| *it != "none").collect();
        let mut given = vec![json!(["order"]), json!(["lease"])];
        let mut pending = None;
        if !session.is_empty() {
            given.push(json!(["session"]));
        }
        for (place, parts) in self.turns.iter().enumerate() {
            let turn = turn(place, pending, parts, !session.is_empty());
            given.push(turn);
            pending = book.pending_after(&given);
        }
        if !session.is_empty() {
            given.push(json!(["session", session]));
            pending = if session == "CLOSED" { None } else { pending };
        }
        let when = turn(self.turns.len(), pending, &request, !session.is_empty());
        let suffix = if session.is_empty() { String::new() } else { format!("/{session}") };
        book.define_lines(&format!("state {}{suffix}", self.state), &given);
        let id = format!("{}/{}{suffix}", self.state, request.join("/"));
        book.add_by(&id, rule, &given, &when, outcome);
    }
}

/// A turn of a thread that waits for this.
fn turn(place: usize, pending: Option<&'static str>, request: &[&str], has_session: bool) -> Value {
    let mut parts = vec![json!("turn")];
    parts.extend((place > 0).then(|| json!(format!("turn-{}", place + 1))));
    parts.extend(pending.map(Value::from));
    parts.extend(request.iter().map(|part| json!(part)));
    let is_tool = request.iter().any(|part| part.starts_with("tool-"));
    if is_tool && place == 3 {
        parts.push("asked-in-3".into());
    }
    if has_session {
        parts.push("in-session".into());
    }
    parts.into()
}

impl Book {
    /// What the thread waits for after these lines.
    fn pending_after(&self, given: &[Value]) -> Option<&'static str> {
        let Tried { stage, is_reached, .. } = self.tried(given);
        assert!(is_reached, "{given:?}");
        let [own, _] = digits(self.count);
        let thread = stage.world.thread("acme", &format!("t-{own}"))?;
        thread.state.marks.pending.as_ref().map(Pending::state).map(|state| state.name())
    }
}

/// What the turn came to, and what is said.
fn outcome(answered: &Answered) -> Value {
    answered.or_refusal(|events| {
        let turn = events.iter().find_map(|event| match event {
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => Some(body),
            _ => None,
        });
        let decision = &turn.unwrap().decision;
        let pending = decision.after.pending.as_ref().map_or("NONE", |it| it.state().name());
        let mut turn = json!({ "directive": decision.directive,
            "reason_code": decision.reason_code,
            "interrupt_continuity_outcome": decision.interrupt_continuity_outcome,
            "interrupt_resume_policy": decision.interrupt_resume_policy,
            "pending_state": pending });
        if decision.response_text.is_some() {
            turn["response_text"] = json!(decision.response_text);
        }
        json!({ "receipt": { "turn": turn } })
    })
}

/// The sentence of the specification that a reason comes from.
fn rule(expected: &Value) -> &'static str {
    let code = expected.pointer("/receipt/turn/reason_code");
    match code.or(expected.pointer("/refusal/code")).and_then(Value::as_str).unwrap() {
        "X_CONTINUITY_SPEAKER_MISMATCH" => "PH1.X, continuity failures: active speaker mismatch",
        "X_CONTINUITY_SUBJECT_MISMATCH" => {
            "PH1.X, continuity failures: subject drift while pending"
        }
        "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY" => "PH1.X, Fail-closed rule: relation UNCERTAIN",
        "X_INTERRUPT_SAME_SUBJECT_APPEND" => "PH1.X, Fail-closed rule: relation SAME",
        "X_INTERRUPT_RETURN_CHECK_ASKED" => "PH1.X, Fail-closed rule: relation SWITCH",
        "X_INTERRUPT_RESUME_NOW" => "PH1.X, Fail-closed rule: return check, Yes",
        "X_INTERRUPT_DISCARD" => "PH1.X, Fail-closed rule: return check, No",
        "X_INTERRUPT_CANCEL" => "PH1.X, Fail-closed rule: an interruption alone",
        code if code.starts_with("X_FAIL") || code.ends_with("INVALID") => {
            "PH1.X, Failure Modes: gating failures"
        }
        "X_SESSION_NOT_ACTIVE" => "PH1.X, Failure Modes: blocks dispatch",
        "X_RESUME_EXPIRED" => "PH1.X, Fail-closed rule: resume_buffer expires",
        _ => "PH1.X, Engine Header: confirm, clarify, respond, dispatch, wait",
    }
}
