//! Statements of a governed run to the rules before and after the command: the instruction, and the
//! evidence.

use super::engine::Engine;
use super::error::SubmitError;
use super::recording::GivenUp;
use super::run::GovernedRun;
use crate::executor::{
    CapturedOutput, Containment, ExecutionReport, InstructionEnvelope, TerminalSize, command_line,
};
use crate::log::Storage;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::limits::MAX_ID_BYTES;
use holdpoint_domain::core::text::{bounded, check_identifier};
use holdpoint_domain::evidence_capture::{EvidenceItem, OutputStream, ResourceUsage};
use holdpoint_domain::execution_loop::{
    ExecutorIdentityStatus, Handshake, InitializeLoop, ObserverExpectation,
};
use holdpoint_domain::human_decision::HoldTerms;
use std::time::Duration;

/// The program as it was named, quoted where a shell would need it: the executor of the loop.
pub(super) fn executor_id(run: &GovernedRun) -> String {
    let named = command_line(&run.command.program, &[]);
    let name = bounded(&named, MAX_ID_BYTES);
    match check_identifier("program", name) {
        Ok(()) => name.to_string(),
        Err(_) => bounded(&name.escape_default().to_string(), MAX_ID_BYTES).to_string(),
    }
}

pub(super) fn initialize<S: Storage>(
    engine: &Engine<S>,
    run: &GovernedRun,
    terms: &HoldTerms,
    envelope: &InstructionEnvelope,
) -> Result<InitializeLoop, SubmitError> {
    let (executor_id, hash) = (executor_id(run), envelope.hex());
    let timeout = run.command.timeout;
    Ok(InitializeLoop {
        entropy: engine.entropy()?,
        executor_id: executor_id.clone(),
        envelope: envelope.encode(),
        instruction_envelope_hash: hash.clone(),
        command_line: command_line(&run.command.program, &run.command.arguments),
        max_attempts: run.max_attempts,
        retry_ceiling: run.retry_ceiling,
        hold: terms.clone(),
        gate: run.gate.clone(),
        approval: run.approval.clone(),
        people: None,
        timeout_ms: timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        handshake: Handshake {
            executor_id: executor_id.clone(),
            trust_status: ExecutorIdentityStatus::Registered,
            instruction_envelope_hash: hash.clone(),
        },
        observer: ObserverExpectation { executor_id, envelope_hash: hash },
    })
}

/// Both streams, what the attempt used, which processes were not under control, what became of so
/// many bytes for which the disk had no room, and the size of its terminal.
pub(super) fn evidence(
    run: &GovernedRun,
    report: &ExecutionReport,
    given_up: &GivenUp,
) -> Vec<EvidenceItem> {
    let usage = ResourceUsage {
        wall_ns: nanoseconds(report.wall),
        user_cpu_ns: nanoseconds(report.user_cpu),
        system_cpu_ns: nanoseconds(report.system_cpu),
        peak_memory_bytes: report.peak_memory_bytes.unwrap_or(0),
    };
    let mut items = vec![
        output(OutputStream::Stdout, &report.stdout),
        output(OutputStream::Stderr, &report.stderr),
        EvidenceItem::ResourceSnapshot(usage),
    ];
    items.extend(processes(run, report).map(EvidenceItem::TimestampEvent));
    items.extend(not_recorded(run, given_up).map(EvidenceItem::TimestampEvent));
    items.extend(terminal(report).map(EvidenceItem::TimestampEvent));
    items.extend(at_most(report).map(EvidenceItem::TimestampEvent));
    items
}

/// Returns the evidence of a command that may have ended earlier than it was seen to: that its time
/// is the most that it ran.
fn at_most(report: &ExecutionReport) -> Option<Vec<u8>> {
    let told = serde_json::json!({ "ran_at_most_ns": nanoseconds(report.wall) });
    report.is_wall_at_most.then(|| told.to_string().into_bytes())
}

/// The size of the command's own terminal. Nothing where it had none.
fn terminal(report: &ExecutionReport) -> Option<Vec<u8>> {
    let TerminalSize { columns, rows } = report.terminal?;
    let told = serde_json::json!({ "terminal_columns": columns, "terminal_rows": rows });
    Some(told.to_string().into_bytes())
}

/// The output for which the disk had no room. Nothing where it had.
fn not_recorded(run: &GovernedRun, given_up: &GivenUp) -> Option<Vec<u8>> {
    if given_up.bytes == 0 {
        return None;
    }
    let told = serde_json::json!({
        "on_full": run.recording.on_full.name(),
        "not_recorded_bytes": given_up.bytes,
        "not_recorded": given_up.ranges,
    });
    Some(told.to_string().into_bytes())
}

/// Returns what became of processes that outlived the command, or could leave it unseen although a
/// guard was asked for. Nothing where there were none.
fn processes(run: &GovernedRun, report: &ExecutionReport) -> Option<Vec<u8>> {
    let lacks_guard = run.command.guard.is_some() && report.containment == Containment::Group;
    let is_over = !report.left_behind && report.survivors.is_empty() && report.beyond_reach == 0;
    if !lacks_guard && is_over {
        return None;
    }
    let told = serde_json::json!({
        "containment": report.containment.name(),
        "killed_after_the_command": report.left_behind,
        "left_running": report.survivors,
        "could_not_be_stopped": report.beyond_reach,
    });
    Some(told.to_string().into_bytes())
}

/// The bytes are recorded before.
fn output(stream: OutputStream, captured: &CapturedOutput) -> EvidenceItem {
    EvidenceItem::ExecutorOutputPieces {
        stream,
        true_length: captured.true_length,
        whole_sha256: Digest::from_bytes(captured.sha256),
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
