//! Commands for a loop of its own, with ids that no other command had.

use holdpoint_domain::Command;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, OutputStream, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutorIdentityStatus, ExecutorResponseType, Exit, Handshake, InitializeLoop,
    ObserverExpectation, ReportResponse, StopLoop,
};
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::log::{ConfigurationChanged, LogCommand};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

const ENVELOPE: &[u8] = b"the envelope of sh -c true";
const EXECUTOR: &str = "/bin/sh";

/// Bits that no other call of this process gives.
pub fn fresh() -> Entropy {
    Entropy::from_bytes(u128::from(NEXT.fetch_add(1, Ordering::SeqCst)).to_be_bytes())
}

/// A new loop that may have this many attempts.
pub fn initialize(max_attempts: u8) -> InitializeLoop {
    let hash = sha256(ENVELOPE).to_string();
    InitializeLoop {
        gate: holdpoint_domain::log::GateTerms::default(),
        approval: None,
        people: None,
        entropy: fresh(),
        executor_id: EXECUTOR.to_string(),
        envelope: ENVELOPE.to_vec(),
        instruction_envelope_hash: hash.clone(),
        command_line: "sh -c true".to_string(),
        max_attempts,
        retry_ceiling: RetryPolicy::RetryLimited,
        timeout_ms: None,
        hold: HoldTerms::never(),
        handshake: Handshake {
            executor_id: EXECUTOR.to_string(),
            trust_status: ExecutorIdentityStatus::Registered,
            instruction_envelope_hash: hash.clone(),
        },
        observer: ObserverExpectation { executor_id: EXECUTOR.to_string(), envelope_hash: hash },
    }
}

/// A small command that every state accepts, and that asks for something else with each number.
pub fn small(number: i64) -> Command {
    let digest = Some(sha256(&number.to_be_bytes()));
    Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged { digest }))
}

/// Nothing stands in the way.
pub fn clear() -> DispatchFacts {
    DispatchFacts {
        authorization_present: Some(true),
        executor_registered: Some(true),
        resources_available: Some(true),
        intent_clear: Some(true),
        human_abort_signaled: Some(false),
    }
}

pub fn dispatch_with(loop_id: &str, facts: DispatchFacts) -> DispatchLoop {
    let envelope_hash = sha256(ENVELOPE).to_string();
    DispatchLoop { loop_id: loop_id.to_string(), entropy: fresh(), envelope_hash, facts }
}

pub fn dispatch(loop_id: &str) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(dispatch_with(loop_id, clear())))
}

pub fn retry(loop_id: &str) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(dispatch_with(loop_id, clear())))
}

pub fn await_response(loop_id: &str) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
        loop_id: loop_id.to_string(),
        entropy: fresh(),
        recorder_key: None,
        on_full: None,
    }))
}

/// All of a standard output.
pub fn output(loop_id: &str, raw: &[u8]) -> Command {
    let item = EvidenceItem::ExecutorOutput {
        stream: OutputStream::Stdout,
        raw_data: raw.to_vec(),
        true_length: raw.len() as u64,
        whole_sha256: sha256(raw),
    };
    let (loop_id, entropy) = (loop_id.to_string(), fresh());
    Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(CaptureEvidence {
        loop_id,
        entropy,
        items: vec![item],
    }))
}

pub fn report(loop_id: &str, reported_status: ExecutorResponseType) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(ReportResponse {
        loop_id: loop_id.to_string(),
        entropy: fresh(),
        executor_id: EXECUTOR.to_string(),
        instruction_hash: sha256(ENVELOPE).to_string(),
        reported_status,
        error: None,
        exit: Exit::Status(0),
    }))
}

pub fn fault(loop_id: &str, attempt: u8, fault_type: ExecutionFaultType) -> Command {
    Command::SandboxFault(SandboxFaultCommand::ReportFault(ReportFault {
        loop_id: loop_id.to_string(),
        entropy: fresh(),
        attempt,
        fault_type,
        fault_message: "it went wrong".to_string(),
        exit: Exit::Signal(11),
    }))
}

pub fn complete(loop_id: &str) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
        loop_id: loop_id.to_string(),
        entropy: fresh(),
    }))
}

pub fn stop(loop_id: &str, condition: StopCondition) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
        loop_id: loop_id.to_string(),
        entropy: fresh(),
        condition,
        facts: StopFacts::default(),
        details: "nobody knows".to_string(),
    }))
}

/// A loop from its beginning to a good end.
pub fn whole_story(loop_id: &str) -> [Command; 5] {
    [
        dispatch(loop_id),
        await_response(loop_id),
        output(loop_id, b"out\n"),
        report(loop_id, ExecutorResponseType::Success),
        complete(loop_id),
    ]
}
