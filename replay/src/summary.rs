//! One line for each event, for people. Text from outside is shown with control and invisible
//! characters visible; raw evidence only as its length and the beginning of its SHA-256.

mod decision_points;
mod decisions;
mod log;
mod threads;

use decision_points::of_decision_point;
use decisions::decision;
use holdpoint_domain::Event;
use holdpoint_domain::application::{
    ApplicationEvent, ApplicationRecorded, ReducerFingerprintRecorded,
};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::evidence_capture::{
    ChainSealed, EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, ObserverAttached,
    OutputCut, OutputExtent, OutputPieces, OutputRecorded, ResourceSnapshot, ResourceUsage,
    StopConditionDetected,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, Exit, LoopDispatched, LoopHalted, LoopInitialized, ResponseEvaluated,
};
use holdpoint_domain::sandbox_fault::{FaultReported, SandboxDecided, SandboxFaultEvent};
pub(crate) use log::labels;
use log::of_the_log;
use threads::of_thread;

/// Longest piece of foreign text in a line, in bytes.
const TEXT_BYTES_MAX: usize = 240;

/// Returns what happened, in one line.
pub(crate) fn summary(event: &Event) -> String {
    match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => loop_initialized(body),
        Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => loop_dispatched(body),
        Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) => {
            format!("attempt {}: its response is awaited", body.attempt)
        }
        Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(body)) => {
            response_evaluated(body)
        }
        Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) => loop_halted(body),
        Event::EvidenceCapture(EvidenceCaptureEvent::ObserverAttached(body)) => {
            observer_attached(body)
        }
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
            evidence_captured(body)
        }
        Event::EvidenceCapture(EvidenceCaptureEvent::StopConditionDetected(body)) => {
            stop_condition_detected(body)
        }
        Event::EvidenceCapture(EvidenceCaptureEvent::ChainSealed(body)) => chain_sealed(body),
        Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)) => output_recorded(body),
        Event::SandboxFault(SandboxFaultEvent::FaultReported(body)) => fault_reported(body),
        Event::SandboxFault(SandboxFaultEvent::SandboxDecided(body)) => sandbox_decided(body),
        Event::Application(ApplicationEvent::ApplicationRecorded(body)) => recorded(body),
        Event::Application(ApplicationEvent::ReducerFingerprintRecorded(body)) => reduced(body),
        other => of_the_log(other)
            .or_else(|| decision(other))
            .or_else(|| of_thread(other))
            .or_else(|| of_decision_point(other))
            .unwrap_or_else(|| other.kind().name.to_string()),
    }
}

fn recorded(body: &ApplicationRecorded) -> String {
    let bytes = body.data.as_bytes().len();
    let bytes = if bytes == 1 { "1 byte".to_string() } else { format!("{bytes} bytes") };
    format!(
        "{}: {} version {}, {bytes} of {}",
        named_by_application(&body.stream),
        named_by_application(&body.event_type),
        body.type_version,
        named_by_application(&body.content_type)
    )
}

fn reduced(body: &ReducerFingerprintRecorded) -> String {
    format!(
        "reducer {} version {}: its states up to record {} as {} have the fingerprint {}",
        named_by_application(&body.reducer),
        body.version,
        body.covers,
        named_by_application(&body.encoding),
        body.fingerprint
    )
}

/// A name of the application's: within quotation marks where it could go on as the line does.
pub(crate) fn named_by_application(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/:+@".contains(c);
    if name.chars().all(is_plain) {
        return shown_escaped(name);
    }
    format!("\"{}\"", shown_escaped(&name.replace('"', "'")))
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
        exit(body.exit)
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

fn stop_condition_detected(body: &StopConditionDetected) -> String {
    format!("stop condition {}: {}", body.condition, shown(&body.details))
}

fn chain_sealed(body: &ChainSealed) -> String {
    format!("evidence chain sealed with {} records, {}", body.length, short(&body.seal_hash))
}

fn fault_reported(body: &FaultReported) -> String {
    let message = shown(&body.fault_message);
    format!("attempt {}: fault {}: {message}", body.attempt, body.fault_type)
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

fn exit(exit: Exit) -> String {
    match exit {
        Exit::Unknown => "exit not known".into(),
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(signal) => format!("killed by signal {signal}"),
    }
}

/// The first 16 hexadecimal digits.
fn short(digest: &Digest) -> String {
    let text = digest.to_string();
    format!("{}..", bounded(&text, 16))
}

pub(crate) fn shown(text: &str) -> String {
    let cut = bounded(text, TEXT_BYTES_MAX);
    let more = if cut.len() < text.len() { ".." } else { "" };
    format!("{}{more}", visible(cut))
}

/// Text whose recorder has made it visible already: its backslashes stay as they are, and what is
/// hidden nevertheless is shown.
pub(crate) fn shown_escaped(text: &str) -> String {
    shown(text).replace("\\\\", "\\")
}
