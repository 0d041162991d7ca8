//! Rows of what the records come to: they are made from the state, which the rules have judged, and
//! not from the events.

use super::row::{Row, cell, insert, integer};
use crate::stream::ExportError;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::governed::{ExecutionLoop, RequestView};
use holdpoint_domain::{Event, World};
use holdpoint_replay::Committed;
use rusqlite::Connection;
use std::collections::BTreeSet;

/// Everything that lives where the log begins.
pub(super) fn of_beginning(connection: &Connection, world: &World) -> Result<(), ExportError> {
    for entity in world.live_loops() {
        put_loop(connection, entity)?;
    }
    for point in world.live_decision_points().chain(world.closed_decision_points()) {
        put_point(connection, point, Timestamp::from_nanoseconds(0))?;
    }
    Ok(())
}

/// Everything that a batch is about, as it stands behind the batch.
pub(super) fn changed(
    connection: &Connection,
    records: &[Committed],
    world: &World,
    now: Timestamp,
) -> Result<(), ExportError> {
    let events = || records.iter().filter_map(|record| Some(&record.envelope()?.event));
    let loops: BTreeSet<&str> = events().filter_map(Event::loop_id).collect();
    for entity in loops.into_iter().filter_map(|loop_id| world.find_loop(loop_id)) {
        put_loop(connection, entity)?;
    }
    let points: BTreeSet<&str> = events().filter_map(Event::decision_point).collect();
    for point in points.into_iter().filter_map(|id| world.decision_point(id)) {
        put_point(connection, point, now)?;
    }
    Ok(())
}

/// Inserts a loop: of those that begin under one id the first alone counts, as the rules have it.
fn put_loop(connection: &Connection, entity: &ExecutionLoop) -> Result<(), ExportError> {
    let earlier = "SELECT 1 FROM execution_loops WHERE loop_id = ? AND started_sequence < ?";
    let key = (entity.loop_id(), integer(entity.started_sequence));
    if connection.prepare_cached(earlier)?.exists(key)? {
        return Ok(());
    }
    insert(connection, "execution_loops", loop_row(entity))?;
    for held in &entity.decisions.requests {
        insert(connection, "decisions", request_row(&held.view(), entity))?;
    }
    Ok(())
}

fn loop_row(entity: &ExecutionLoop) -> Row {
    let (halt, chain) = (entity.halt.as_ref(), entity.chain.as_ref());
    vec![
        ("loop_id", cell(&entity.loop_id())),
        ("executor_id", cell(&entity.context.executor_id())),
        ("instruction_envelope_hash", cell(&entity.context.instruction_envelope_hash())),
        ("command_line", cell(&entity.command_line)),
        ("current_state", cell(&entity.state())),
        ("halt_reason", cell(&halt.map(|halt| halt.reason))),
        ("stop_condition", cell(&entity.stop.as_ref().map(|stop| stop.condition))),
        ("stop_details", cell(&entity.stop.as_ref().map(|stop| &stop.details))),
        ("halt_fault", cell(&halt.and_then(|halt| halt.fault_type))),
        ("max_attempts", cell(&entity.max_attempts)),
        ("attempts", cell(&entity.attempts.len())),
        ("retry_ceiling", cell(&entity.retry_ceiling)),
        ("timeout_ms", cell(&entity.timeout_ms)),
        ("evidence_records", cell(&chain.map(|chain| chain.head.length))),
        ("chain_id", cell(&chain.map(|chain| &chain.head.chain_id))),
        ("head_hash", cell(&chain.map(|chain| &chain.head.head_hash))),
        ("sealed", cell(&chain.map(|chain| chain.head.is_sealed))),
        ("actor_kind", cell(&entity.actor.kind)),
        ("actor_id", cell(&entity.actor.id)),
        ("correlation", cell(&entity.correlation)),
        ("started_at", cell(&entity.started_at)),
        ("started_sequence", integer(entity.started_sequence)),
        ("ended_at", cell(&halt.map(|halt| halt.at))),
        ("ended_sequence", cell(&halt.map(|halt| halt.sequence))),
        ("version", integer(entity.version)),
    ]
}

fn request_row(view: &RequestView<'_>, entity: &ExecutionLoop) -> Row {
    let answer = view.decision.as_ref();
    vec![
        ("request_id", cell(&view.request_id)),
        ("loop_id", cell(&view.loop_id)),
        ("session_id", cell(&view.session_id)),
        ("attempt", cell(&view.attempt)),
        ("state", cell(&view.state)),
        ("allowed_decisions", cell(&view.allowed_decisions)),
        ("created_at", cell(&view.created_at)),
        ("warning_at", cell(&view.warning_at)),
        ("timeout_at", cell(&view.timeout_at)),
        ("timeout_decision", cell(&view.timeout_decision)),
        ("escalation_depth", cell(&view.escalation_depth)),
        ("asked_of", cell(&view.asked_of)),
        ("escalated_from", cell(&view.escalated_from)),
        ("decision_id", cell(&answer.map(|answer| answer.decision_id))),
        ("human_id", cell(&answer.map(|answer| answer.human_id))),
        ("decision", cell(&answer.map(|answer| answer.decision))),
        ("reason", cell(&answer.and_then(|answer| answer.reason))),
        ("escalation_target", cell(&answer.and_then(|answer| answer.escalation_target))),
        ("outcome", cell(&answer.map(|answer| answer.outcome))),
        ("means", cell(&answer.and_then(|answer| answer.means))),
        ("decided_at", cell(&answer.map(|answer| answer.at))),
        ("decided_sequence", cell(&answer.map(|answer| answer.sequence))),
        ("late_answers", integer(view.late_answers)),
        ("requested_sequence", integer(view.requested_sequence)),
        ("started_sequence", integer(entity.started_sequence)),
    ]
}

fn put_point(
    connection: &Connection,
    point: &DecisionPoint,
    now: Timestamp,
) -> Result<(), ExportError> {
    insert(connection, "decision_points", point_row(point, now))
}

fn point_row(point: &DecisionPoint, now: Timestamp) -> Row {
    let view = point.view(now, None);
    vec![
        ("issue_id", cell(&view.issue_id)),
        ("prompt", cell(&view.prompt)),
        ("options", cell(&view.options)),
        ("default_option", cell(&view.default_option)),
        ("selected_option", cell(&view.selected_option)),
        ("response_text", cell(&view.response_text)),
        ("responded_at", cell(&view.responded_at)),
        ("responded_by", cell(&view.responded_by)),
        ("iteration", cell(&view.iteration)),
        ("max_iterations", cell(&view.max_iterations)),
        ("prior_id", cell(&view.prior_id)),
        ("guidance", cell(&view.guidance)),
        ("requested_by", cell(&view.requested_by)),
        ("created_at", cell(&view.created_at)),
        ("decision_id", cell(&view.id)),
        ("chain_id", cell(&view.chain_id)),
        ("next_id", cell(&view.next_id)),
        ("state", cell(&view.state)),
        ("resolution_kind", cell(&view.resolution_kind)),
        ("comment", cell(&view.comment)),
        ("guidance_given", cell(&view.guidance_given)),
        ("urgency", cell(&view.urgency)),
        ("expires_at", cell(&view.expires_at)),
        ("on_timeout", cell(&view.on_timeout)),
        ("approved", cell(&view.approved)),
        ("consumed_at", cell(&view.consumed_at)),
        ("consumed_by", cell(&view.consumed_by)),
        ("superseded_by", cell(&view.superseded_by)),
        ("correlation", cell(&point.correlation)),
        ("version", integer(view.version)),
    ]
}
