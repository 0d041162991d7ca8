//! Rows of what was recorded.

use super::row::{Row, cell, insert, integer};
use crate::record::Record;
use crate::stream::ExportError;
use holdpoint_domain::Event;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceCaptured, OutputRecorded};
use holdpoint_domain::interruption_thread::{
    InterruptionThreadEvent, OutcomeRow, RowCommitted, RowPayload, RowRefused,
};
use rusqlite::Connection;
use rusqlite::types::Value;

/// The row of any record.
pub(super) fn of_record(record: Record) -> Result<Row, ExportError> {
    let event = match record.event(false)? {
        serde_json::Value::Null => Value::Null,
        event => Value::Text(record.text(&event)?),
    };
    let line = record.line;
    let (actor, given) = (line.actor, record.idempotency);
    Ok(vec![
        ("sequence", integer(line.sequence)),
        ("time", cell(&line.time)),
        ("kind", Value::Text(line.kind)),
        ("version", cell(&record.version)),
        ("more_follows", cell(&record.more_follows)),
        ("payload", cell(&record.payload)),
        ("actor_kind", cell(&actor.as_ref().map(|actor| actor.kind))),
        ("actor_id", cell(&actor.map(|actor| actor.id))),
        ("proof_by", cell(&line.proof.map(|proof| proof.by))),
        ("proof_user", cell(&line.proof.map(|proof| proof.user))),
        ("correlation", cell(&line.correlation)),
        ("causation", cell(&line.causation)),
        ("idempotency_tenant", cell(&given.as_ref().map(|given| &given.tenant))),
        ("idempotency_engine", cell(&given.as_ref().map(|given| &given.engine))),
        ("idempotency_key", cell(&given.as_ref().map(|given| &given.key))),
        ("idempotency_content", cell(&given.as_ref().map(|given| &given.content))),
        ("loop_id", cell(&line.loop_id)),
        ("decision_id", cell(&line.decision_id)),
        ("summary", Value::Text(line.summary)),
        ("link", Value::Text(line.link)),
        ("event", event),
        ("standing", cell(&line.standing)),
    ])
}

/// The row apart that some events have besides.
pub(super) fn of_event(
    connection: &Connection,
    record: &Record,
    include_evidence: bool,
) -> Result<(), ExportError> {
    match &record.line.event {
        Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body))) => {
            insert(connection, "evidence", evidence(record.line.sequence, body, include_evidence))
        }
        Some(Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body))) => {
            insert(connection, "output", output(record.line.sequence, body, include_evidence))
        }
        Some(Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body))) => {
            insert(connection, "interruption_rows", committed(record, body))
        }
        Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(body))) => {
            insert(connection, "interruption_rows", refused(record, body))
        }
        Some(Event::InterruptionThread(event)) => {
            let mut rows = event.outcome_rows().into_iter();
            rows.try_for_each(|row| insert(connection, "interruption_rows", ended(record, &row)))
        }
        _ => Ok(()),
    }
}

fn evidence(sequence: u64, body: &EvidenceCaptured, include_evidence: bool) -> Row {
    let raw = match include_evidence {
        true => Value::Blob(body.raw_data.as_bytes().to_vec()),
        false => Value::Null,
    };
    vec![
        ("sequence", integer(sequence)),
        ("loop_id", cell(&body.loop_id)),
        ("chain_id", cell(&body.chain_id)),
        ("chain_index", integer(body.index)),
        ("record_id", cell(&body.record_id)),
        ("observation_point", cell(&body.observation_point)),
        ("evidence_type", cell(&body.evidence_type)),
        ("timestamp", cell(&body.timestamp)),
        ("length", integer(body.raw_data.length())),
        ("sha256", cell(&body.raw_data.sha256())),
        ("prior_hash", cell(&body.prior_hash)),
        ("self_hash", cell(&body.self_hash)),
        ("injective_hash", cell(&body.injective_hash)),
        ("content", cell(&body.content)),
        ("raw_data", raw),
    ]
}

fn output(sequence: u64, body: &OutputRecorded, include_evidence: bool) -> Row {
    let raw = match include_evidence {
        true => Value::Blob(body.raw_data.as_bytes().to_vec()),
        false => Value::Null,
    };
    let gap = body.gap.as_ref();
    vec![
        ("sequence", integer(sequence)),
        ("loop_id", cell(&body.loop_id)),
        ("attempt", integer(u64::from(body.attempt))),
        ("stream", cell(&body.stream)),
        ("byte_offset", integer(body.offset)),
        ("first_byte_at", cell(&body.first_byte_at)),
        ("length", integer(body.raw_data.length())),
        ("sha256", cell(&body.raw_data.sha256())),
        ("missing_before", gap.map_or(Value::Null, |gap| integer(gap.length))),
        ("running_sha256", cell(&gap.map(|gap| gap.running_sha256))),
        ("raw_data", raw),
    ]
}

fn committed(record: &Record, body: &RowCommitted) -> Row {
    let mut row = vec![
        ("audit_event_id", integer(record.line.sequence)),
        ("time", cell(&record.line.time)),
        ("outcome", cell(&"committed")),
        ("tenant_id", cell(&body.tenant_id)),
        ("correlation_id", cell(&body.correlation_id)),
        ("turn_id", integer(body.turn_id)),
        ("session_id", cell(&body.session_id)),
        ("user_id", cell(&body.user_id)),
        ("device_id", cell(&body.device_id)),
        ("event_type", cell(&body.event_type)),
        ("severity", cell(&body.severity)),
        ("reason_code", cell(&body.reason_code)),
        ("idempotency_key", cell(&body.idempotency_key)),
        ("issue_fingerprint", cell(&body.issue_fingerprint)),
        ("decided_by", cell(&body.decided_by)),
    ];
    let payload = serde_json::to_value(&body.payload).unwrap_or_default();
    row.extend(RowPayload::KEYS.map(|key| (key, cell(&payload.get(key)))));
    row.push(("remainders", cell(&body.remainders)));
    row
}

fn refused(record: &Record, body: &RowRefused) -> Row {
    vec![
        ("audit_event_id", integer(record.line.sequence)),
        ("time", cell(&record.line.time)),
        ("outcome", cell(&"refused")),
        ("tenant_id", cell(&body.tenant_id)),
        ("correlation_id", cell(&body.correlation_id)),
        ("turn_id", integer(body.turn_id)),
        ("user_id", cell(&body.user_id)),
        ("device_id", cell(&body.device_id)),
        ("reason_code", cell(&body.reason_code)),
        ("idempotency_key", cell(&body.idempotency_key)),
        ("directive", cell(&body.directive)),
        ("command", cell(&body.command)),
        ("message", cell(&body.message)),
        ("issue_fingerprint", cell(&body.issue_fingerprint)),
        ("tts_control", cell(&body.tts_control)),
        ("remainders", cell(&body.remainders)),
    ]
}

/// Returns what ended by no turn and no caller.
fn ended(record: &Record, body: &OutcomeRow) -> Row {
    vec![
        ("audit_event_id", integer(record.line.sequence)),
        ("time", cell(&record.line.time)),
        ("outcome", cell(&"ended")),
        ("tenant_id", cell(&body.tenant_id)),
        ("correlation_id", cell(&body.correlation_id)),
        ("turn_id", body.turn_id.map_or(Value::Null, integer)),
        ("session_id", cell(&body.session_id)),
        ("user_id", cell(&body.user_id)),
        ("reason_code", cell(&body.reason_code)),
        ("issue_fingerprint", cell(&body.issue_fingerprint)),
        ("interrupt_resume_policy", cell(&body.interrupt_resume_policy)),
        ("answer_id", body.answer_id.map_or(Value::Null, integer)),
        ("passed_to_turn", body.passed_to_turn.map_or(Value::Null, integer)),
        ("pending_state", cell(&body.pending_state)),
    ]
}
