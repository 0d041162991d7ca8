//! Rows of an execution loop, of its evidence and of its faults.

use super::{Form, short, shown, shown_escaped};
use crate::words::{
    code_in_words, evidence_in_words, exit_in_words, followed_by, halt_in_words, quoted,
    stop_in_words, stream_in_words,
};
use holdpoint_domain::evidence_capture::{
    ChainSealed, EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, ObserverAttached,
    OutputCut, OutputExtent, OutputPieces, OutputRecorded, ResourceSnapshot, ResourceUsage,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, LoopDispatched, LoopHalted, LoopInitialized, ResponseEvaluated,
};
use holdpoint_domain::sandbox_fault::{SandboxDecided, SandboxFaultEvent};

/// Tells an event of a loop.
pub(super) fn of_loop(event: &ExecutionLoopEvent, form: Form) -> String {
    match event {
        ExecutionLoopEvent::LoopInitialized(body) => form.of(
            || loop_initialized(body),
            || format!("the run begins: {}", shown_escaped(&body.command_line)),
        ),
        ExecutionLoopEvent::LoopDispatched(body) => {
            form.of(|| loop_dispatched(body), || format!("attempt {} is started", body.attempt))
        }
        ExecutionLoopEvent::ResponseAwaited(body) => form.of(
            || format!("attempt {}: its response is awaited", body.attempt),
            || format!("attempt {} runs", body.attempt),
        ),
        ExecutionLoopEvent::ResponseEvaluated(body) => form.of(
            || response_evaluated(body),
            || crate::words::attempt_ended(body, ", as its recorder states"),
        ),
        ExecutionLoopEvent::LoopHalted(body) => form.of(
            || loop_halted(body),
            || format!("the run has ended: {}", halt_in_words(body.reason, body.stop_condition)),
        ),
    }
}

/// Tells an event of the evidence.
pub(super) fn of_evidence(event: &EvidenceCaptureEvent, form: Form) -> String {
    match event {
        EvidenceCaptureEvent::ObserverAttached(body) => form.of(
            || observer_attached(body),
            || {
                match body.is_halted {
                    true => "evidence of the run cannot be taken: what was expected of it differs",
                    false => "evidence of the run is taken",
                }
                .to_string()
            },
        ),
        EvidenceCaptureEvent::EvidenceCaptured(body) => form.of(
            || evidence_captured(body),
            || {
                let what = evidence_in_words(&body.content);
                format!("kept as evidence: {what}, {} bytes", body.raw_data.length())
            },
        ),
        EvidenceCaptureEvent::StopConditionDetected(body) => form.of(
            || format!("stop condition {}: {}", body.condition, shown(&body.details)),
            || format!("why the run is stopped: {}", stop_in_words(body.condition)),
        ),
        EvidenceCaptureEvent::ChainSealed(body) => form.of(
            || chain_sealed(body),
            || format!("the evidence of the run is complete: {} pieces", body.length),
        ),
        EvidenceCaptureEvent::OutputRecorded(body) => form.of(
            || output_recorded(body),
            || {
                let (stream, length) = (stream_in_words(body.stream), body.raw_data.length());
                format!("the command printed: {stream}, {length} bytes")
            },
        ),
    }
}

/// Tells an event of a fault.
pub(super) fn of_fault(event: &SandboxFaultEvent, form: Form) -> String {
    match event {
        SandboxFaultEvent::FaultReported(body) => form.of(
            || {
                let message = shown(&body.fault_message);
                format!("attempt {}: fault {}: {message}", body.attempt, body.fault_type)
            },
            || {
                let fault = code_in_words(body.fault_type.name());
                format!("attempt {} failed: {fault}, {}", body.attempt, quoted(&body.fault_message))
            },
        ),
        SandboxFaultEvent::SandboxDecided(body) => form.of(
            || sandbox_decided(body),
            || {
                format!(
                    "what follows by the rules from how attempt {} failed: {}",
                    body.attempt,
                    followed_by(body.sandbox_decision)
                )
            },
        ),
    }
}

fn loop_initialized(body: &LoopInitialized) -> String {
    format!(
        "INIT: {} by {}, at most {} attempts, handshake {}",
        shown_escaped(&body.command_line),
        shown(&body.executor_id),
        body.max_attempts,
        body.handshake_decision
    )
}

fn loop_dispatched(body: &LoopDispatched) -> String {
    let permitted = body.permitted_by_fault.as_ref();
    let after = permitted.map(|fault| format!(", permitted after {}", shown(fault)));
    let decided = body.permitted_by_decision.as_ref();
    let by = decided.map(|decision| format!(", decided by {}", shown(decision)));
    let instruction = body.instruction.as_ref();
    let next = instruction.map(|next| format!(": next {}", shown(&next.command_line)));
    format!(
        "DISPATCHED: attempt {}{}{}{}",
        body.attempt,
        after.unwrap_or_default(),
        by.unwrap_or_default(),
        next.unwrap_or_default()
    )
}

/// The record alone does not say whether anybody observed how the attempt ended.
fn response_evaluated(body: &ResponseEvaluated) -> String {
    format!(
        "EVALUATED: attempt {}: claimed {} -> {} (confidence {}), {}; stated: {}",
        body.attempt,
        body.response_type,
        body.response_decision,
        body.confidence,
        body.execution_decision,
        exit_in_words(body.exit, "exit not known", "killed by signal")
    )
}

fn loop_halted(body: &LoopHalted) -> String {
    let stop = body.stop_condition.map(|condition| format!(" {condition}"));
    let fault = body.fault_type.map(|fault| format!(" {fault}"));
    format!(
        "HALTED from {}: {}{}{}",
        body.from,
        body.reason,
        stop.unwrap_or_default(),
        fault.unwrap_or_default()
    )
}

fn observer_attached(body: &ObserverAttached) -> String {
    let halted = if body.is_halted { ", halted: its expectations differ" } else { "" };
    format!("observer {} attached{halted}", shown(&body.session_id))
}

fn evidence_captured(body: &EvidenceCaptured) -> String {
    format!(
        "evidence {} {} at {}{}: {} bytes, SHA-256 {}",
        body.index,
        body.evidence_type,
        body.observation_point,
        content(body),
        body.raw_data.length(),
        short(&body.raw_data.sha256())
    )
}

fn content(body: &EvidenceCaptured) -> String {
    match &body.content {
        EvidenceContent::Opaque => String::new(),
        EvidenceContent::Instruction => ", instruction envelope".into(),
        EvidenceContent::Output(extent) => output(extent),
        EvidenceContent::Resources(usage) => resources(usage),
        EvidenceContent::Transition { from, to } => format!(", {from} to {to}"),
        EvidenceContent::Decision(decision) => format!(", {decision}"),
        EvidenceContent::Stop(condition) => format!(", {condition}"),
        EvidenceContent::OutputCut(cut) => output_cut(cut, body.raw_data.length()),
        EvidenceContent::OutputPieces(stated) => output_pieces(stated),
        EvidenceContent::Snapshot(snapshot) => resource_snapshot(snapshot),
    }
}

fn output(extent: &OutputExtent) -> String {
    let cut = if extent.truncated { ", cut" } else { "" };
    format!(", {} of {} bytes{cut}", extent.stream, extent.true_length)
}

/// Returns how much of a stream is recorded in pieces, and how long it was.
fn output_pieces(stated: &OutputPieces) -> String {
    let of = match stated.end {
        Some(end) => format!("{} bytes", end.true_length),
        None => String::from("a length that is not known"),
    };
    let (stream, kept, pieces) = (stated.stream, stated.kept_length, stated.pieces);
    format!(", {stream} of {of}: {kept} recorded in {pieces} pieces")
}

fn output_recorded(body: &OutputRecorded) -> String {
    let length = body.raw_data.length();
    let missing = match body.gap {
        Some(gap) if gap.length > 0 => format!(", {} bytes before it are missing", gap.length),
        _ => String::new(),
    };
    format!(
        "output of attempt {}: {} from byte {}, {length} bytes{missing}, first read {}",
        body.attempt, body.stream, body.offset, body.first_byte_at
    )
}

/// Returns what is there and what is missing, in the order of the stream.
fn output_cut(cut: &OutputCut, captured: u64) -> String {
    format!(
        ", {} of {} bytes: its first {}, {} missing, its last {}",
        cut.stream,
        cut.true_length,
        cut.head_length,
        cut.gap_length,
        captured.saturating_sub(cut.head_length)
    )
}

fn resources(usage: &ResourceUsage) -> String {
    let milliseconds = |ns: u64| ns / 1_000_000;
    format!(
        ", {} ms wall, {} ms user, {} ms system, peak {} bytes",
        milliseconds(usage.wall_ns),
        milliseconds(usage.user_cpu_ns),
        milliseconds(usage.system_cpu_ns),
        usage.peak_memory_bytes
    )
}

fn resource_snapshot(snapshot: &ResourceSnapshot) -> String {
    let milliseconds = |ns: u64| ns / 1_000_000;
    format!(
        ", attempt {} after {} ms: {} processes, {} bytes resident, {} ms user, {} ms system",
        snapshot.attempt,
        milliseconds(snapshot.ran_ns),
        snapshot.processes,
        snapshot.resident_bytes,
        milliseconds(snapshot.user_cpu_ns),
        milliseconds(snapshot.system_cpu_ns)
    )
}

fn chain_sealed(body: &ChainSealed) -> String {
    format!("evidence chain sealed with {} records, {}", body.length, short(&body.seal_hash))
}

fn sandbox_decided(body: &SandboxDecided) -> String {
    format!(
        "attempt {}: {} {} under {}: {}",
        body.attempt,
        shown(&body.reason_code),
        body.sandbox_decision,
        body.retry_policy,
        shown(&body.reason_description)
    )
}
