//! Interruption threads through `apply`: the setting that they presume, and turns.

use crate::apply_support::{answers, apply};
use crate::program::Place;
use holdpoint_engine::shell::user_name;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// SHA-256 of a lease's token.
pub(crate) const LEASE: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A line of the caller who has the capability.
pub(crate) fn line(command: &str, mut body: Value) -> Value {
    body["command"] = format!("interruption_thread.{command}").into();
    json!({ "submit": body, "actor": { "kind": "AUTOMATION", "id": "selene-os" } })
}

/// Everything that a thread of this tenant presumes; its user is `ada`.
pub(crate) fn setting(tenant: &str, correlation: &str) -> Vec<Value> {
    let grant = json!({ "actor_kind": "AUTOMATION", "actor_id": "selene-os",
        "capability": "SELENE_OS_ONLY", "is_granted": true });
    let mut granted = line("change_capability", grant);
    granted["actor"] = json!({ "kind": "HUMAN", "id": user_name() });
    let registered = [
        ("tenant", json!({ "status": "ACTIVE" })),
        ("user", json!({ "user_id": "ada", "status": "ACTIVE" })),
        ("device", json!({ "device_id": "kitchen", "user_id": "ada", "status": "ACTIVE" })),
        (
            "work_order",
            json!({ "work_order_id": "wo-1", "correlation_id": correlation,
            "status": "EXECUTING" }),
        ),
    ];
    let of_tenant = registered.into_iter().map(|(what, mut body)| {
        body["tenant_id"] = tenant.into();
        line(&format!("register_{what}"), body)
    });
    std::iter::once(granted).chain(of_tenant).collect()
}

/// The fields that turns and rows begin with, nothing pending.
pub(crate) fn scope(tenant: &str, correlation: &str, turn: u64) -> Value {
    json!({ "tenant_id": tenant, "correlation_id": correlation, "turn_id": turn,
        "user_id": "ada", "device_id": "kitchen", "work_order_id": "wo-1",
        "work_order_status_snapshot": "EXECUTING", "pending_state": "NONE",
        "idempotency_key": format!("turn-{turn}") })
}

/// A turn of `ada`.
pub(crate) fn turn(tenant: &str, correlation: &str, turn: u64, mut request: Value) -> Value {
    request["active_speaker_user_id"] = "ada".into();
    let mut body = scope(tenant, correlation, turn);
    body["request"] = request;
    line("take_turn", body)
}

pub(crate) fn chat(text: &str) -> Value {
    json!({ "subject_ref": "weather", "input": { "CHAT": { "response_text": text } } })
}

/// An interruption just now, after so many bytes of a text.
pub(crate) fn interruption(text: &str, spoken: usize) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    interruption_at(u64::try_from(now).unwrap(), text, spoken)
}

/// The same at another moment.
pub(crate) fn interruption_at(now: u64, text: &str, spoken: usize) -> Value {
    json!({ "subject_ref": "weather",
        "interruption": {
            "phrase_id": 7, "trigger_phrase_id": 7, "trigger_locale": "en-GB",
            "phrase_text": "wait", "phrase_set_version": 1, "phrase_confidence_bp": 9500,
            "candidate_confidence_band": "HIGH", "risk_context_class": "LOW",
            "degradation_context": { "capture_degraded": false, "aec_unstable": false,
                "device_changed": false, "stream_gap_detected": false },
            "timing_markers": { "window_start": now, "window_end": now }, "t_event": now,
            "speech_window_metrics": { "voiced_window_ms": 400 },
            "gate_confidences": { "vad_bp": 9900, "speech_likeness_bp": 9800,
                "echo_safe_bp": 9700, "phrase_bp": 9500 },
            "subject_relation_confidence_bundle": { "lexical_bp": 9500, "vad_bp": 9900,
                "speech_likeness_bp": 9800, "echo_safe_bp": 9700, "combined_bp": 9600 } },
        "tts_resume_snapshot": { "answer_id": 41, "topic_hint": "weather",
            "response_text": text, "spoken_cursor_byte": spoken },
        "interrupt_subject_relation": "SWITCH", "interrupt_subject_relation_confidence_bp": 9200 })
}

/// Carries all of it out; every line is accepted.
pub(crate) fn accepted(place: &Place, lines: &[Value]) -> Vec<Value> {
    let found = answers(&apply(place, lines));
    assert!(found.iter().all(|answer| answer["receipt"].is_object()), "{found:#?}");
    assert_eq!(found.len(), lines.len());
    found
}

/// A thread whose first turn answered, and whose second was interrupted after a byte.
pub(crate) fn interrupted(place: &Place, tenant: &str, correlation: &str, text: &str) {
    let mut lines = setting(tenant, correlation);
    lines.extend(talk(tenant, correlation, text));
    accepted(place, &lines);
}

/// The two turns of that thread.
pub(crate) fn talk(tenant: &str, correlation: &str, text: &str) -> [Value; 2] {
    let answered = turn(tenant, correlation, 1, chat(text));
    [answered, turn(tenant, correlation, 2, interruption(text, 1))]
}
