//! The engine: commands in, decided by the rules, events out.

use super::log::level_of;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, OutputStream,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutorIdentityStatus, ExecutorResponseType, Exit, Handshake, InitializeLoop,
    ObserverExpectation, ReportResponse,
};
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::sandbox_fault::RetryPolicy;
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership};
use holdpoint_engine::shell::{EngineOptions, Origin, Submitted};
use holdpoint_log_files::DirectoryStorage;
use std::path::Path;
use std::sync::Mutex;

/// The engine, owner of its log for as long as it is open. One append is one command: the output of
/// a program, captured as evidence of its execution loop. Loops begin and end meanwhile, and what
/// that takes is in the time.
pub const ENGINE: Candidate = Candidate {
    is_chained: true,
    remark: "evidence captured in execution loops that come and go; rules, chain and state",
    ..Candidate::new("Holdpoint engine", open)
};

/// The same, and every command takes the lock and gives it back: other processes write in between.
pub const SHARED_ENGINE: Candidate = Candidate {
    is_chained: true,
    remark: "the lock is taken for each turn and given back",
    ..Candidate::new("Holdpoint engine, a lock for each turn", open_shared)
};

/// Captures in one loop.
const CAPTURES: u64 = 64;
const ENVELOPE: &[u8] = b"the envelope of sh -c true";
const EXECUTOR: &str = "/bin/sh";

struct OpenEngine {
    engine: Engine,
    origin: Origin,
    output: EvidenceItem,
    envelope_hash: String,
    current: Mutex<Current>,
}

/// The loop that is captured in.
#[derive(Default)]
struct Current {
    loop_id: String,
    captured: u64,
    commands: u64,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    Ok(Box::new(OpenEngine::new(Ownership::Exclusive, at, mode, payload)?))
}

fn open_shared(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    Ok(Box::new(OpenEngine::new(Ownership::PerTransaction, at, mode, payload)?))
}

impl OpenEngine {
    fn new(
        ownership: Ownership,
        at: &Path,
        mode: Mode,
        payload: &str,
    ) -> Result<Self, MeasureError> {
        let log = Options::default().ownership(ownership);
        let options = EngineOptions::default().log(log).level(level_of(mode));
        let engine = Engine::open_with(DirectoryStorage::new(at), options).doing("open")?;
        // Ids of loops are made of a command's random bits: no other opening gave the same ones.
        let commands = engine.report().position.sequence << 32;
        Ok(Self {
            engine,
            origin: origin(),
            output: output(payload.as_bytes()),
            envelope_hash: sha256(ENVELOPE).to_string(),
            current: Mutex::new(Current { captured: CAPTURES, commands, ..Current::default() }),
        })
    }

    fn submit(&self, command: &Command) -> Result<(), MeasureError> {
        match self.engine.submit(&self.origin, (), command).doing("submit")? {
            Submitted::Accepted(_) | Submitted::Repeated(_) => Ok(()),
            Submitted::Refused(refusal) => Err(refusal).doing("submit"),
        }
    }

    fn capture(&self, current: &mut Current) -> Result<(), MeasureError> {
        current.captured += 1;
        self.submit(&Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(
            CaptureEvidence {
                loop_id: current.loop_id.clone(),
                entropy: current.entropy(),
                items: vec![self.output.clone()],
            },
        )))
    }

    /// A loop whose program runs: three commands.
    fn begin(&self, current: &mut Current) -> Result<(), MeasureError> {
        let initialize = initialize(&self.envelope_hash, current.entropy());
        current.captured = 0;
        current.loop_id = initialize.loop_id();
        self.submit(&Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)))?;
        let loop_id = current.loop_id.clone();
        self.submit(&Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(DispatchLoop {
            loop_id: loop_id.clone(),
            entropy: current.entropy(),
            envelope_hash: self.envelope_hash.clone(),
            facts: clear(),
        })))?;
        self.submit(&Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
            loop_id,
            entropy: current.entropy(),
            recorder_key: None,
            on_full: None,
        })))
    }

    /// The program ended well: two commands.
    fn end(&self, current: &mut Current) -> Result<(), MeasureError> {
        let loop_id = std::mem::take(&mut current.loop_id);
        if loop_id.is_empty() {
            return Ok(());
        }
        self.submit(&Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(
            ReportResponse {
                loop_id: loop_id.clone(),
                entropy: current.entropy(),
                executor_id: EXECUTOR.into(),
                instruction_hash: self.envelope_hash.clone(),
                reported_status: ExecutorResponseType::Success,
                error: None,
                exit: Exit::Status(0),
            },
        )))?;
        self.submit(&Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
            loop_id,
            entropy: current.entropy(),
        })))
    }
}

impl Current {
    fn entropy(&mut self) -> Entropy {
        self.commands += 1;
        Entropy::from_bytes(u128::from(self.commands).to_be_bytes())
    }
}

impl Store for OpenEngine {
    fn append(&self) -> Result<(), MeasureError> {
        let mut current = self.current.lock().map_err(|_| "poisoned").doing("submit")?;
        if current.captured >= CAPTURES {
            self.end(&mut current)?;
            self.begin(&mut current)?;
        }
        self.capture(&mut current)
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let mut current = self.current.lock().map_err(|_| "poisoned").doing("close")?;
        self.end(&mut current)?;
        drop(current);
        self.engine.close().doing("close")
    }
}

/// A log of short runs: a loop, one capture, an end. Each is eleven records or so, as a program
/// that runs small commands leaves them.
pub(crate) fn fill_with_runs(at: &Path, commands: u64) -> Result<(), MeasureError> {
    let payload = crate::store::payload(256);
    let engine = OpenEngine::new(Ownership::Exclusive, at, Mode::Os, &payload)?;
    let mut current = Current::default();
    while current.commands < commands {
        engine.begin(&mut current)?;
        engine.capture(&mut current)?;
        engine.end(&mut current)?;
    }
    engine.engine.close().doing("close")
}

fn origin() -> Origin {
    let actor = ActorId { kind: Actor::Automation, id: "bench".into() };
    Origin { actor, correlation: "bench".into(), causation: None }
}

fn output(raw: &[u8]) -> EvidenceItem {
    let whole_sha256: Digest = sha256(raw);
    EvidenceItem::ExecutorOutput {
        stream: OutputStream::Stdout,
        raw_data: raw.to_vec(),
        true_length: raw.len() as u64,
        whole_sha256,
    }
}

fn initialize(envelope_hash: &str, entropy: Entropy) -> InitializeLoop {
    let hash = envelope_hash.to_string();
    InitializeLoop {
        gate: holdpoint_domain::log::GateTerms::default(),
        approval: None,
        people: None,
        entropy,
        executor_id: EXECUTOR.into(),
        envelope: ENVELOPE.to_vec(),
        instruction_envelope_hash: hash.clone(),
        command_line: "sh -c true".into(),
        max_attempts: 1,
        retry_ceiling: RetryPolicy::RetryLimited,
        timeout_ms: None,
        hold: HoldTerms::never(),
        handshake: Handshake {
            executor_id: EXECUTOR.into(),
            trust_status: ExecutorIdentityStatus::Registered,
            instruction_envelope_hash: hash.clone(),
        },
        observer: ObserverExpectation { executor_id: EXECUTOR.into(), envelope_hash: hash },
    }
}

fn clear() -> DispatchFacts {
    DispatchFacts {
        authorization_present: Some(true),
        executor_registered: Some(true),
        resources_available: Some(true),
        intent_clear: Some(true),
        human_abort_signaled: Some(false),
    }
}
