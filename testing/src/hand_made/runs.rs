//! Runs of a command, as the rules record them.

use super::{HandMadeLog, SECRET};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, OutputStream,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutorIdentityStatus, ExecutorResponseType, Exit, Handshake, InitializeLoop, InstructLoop,
    InterruptLoop, ObserverExpectation, ReportResponse,
};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, RequestHumanDecision,
};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use holdpoint_domain::{ActorId, Command, Envelope};
use holdpoint_engine::executor::InstructionEnvelope;
use holdpoint_log_format::instruction;
use std::collections::BTreeMap;

/// An envelope of Holdpoint's own form, of words that a line quotes as Holdpoint does; of a form of
/// its own where there are none.
fn envelope_of(command_line: &str) -> Vec<u8> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in command_line.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    if instruction::command_line(words.iter().map(String::as_bytes)) != command_line {
        return format!("envelope of {command_line}").into_bytes();
    }
    let (program, arguments) = words.split_first().unwrap();
    let envelope = InstructionEnvelope {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        directory: "/srv/shop".into(),
        environment: BTreeMap::new(),
    };
    envelope.encode()
}

impl HandMadeLog {
    /// A whole run of a command that ends well: six batches. Gives the loop's id.
    pub fn run(&mut self) -> String {
        self.run_of("sh -c true")
    }

    pub fn run_of(&mut self, command_line: &str) -> String {
        let loop_id = self.awaited(command_line);
        self.end(&loop_id);
        loop_id
    }

    /// Ends a loop whose response is awaited, well.
    pub fn end(&mut self, loop_id: &str) {
        self.report(loop_id, ExecutorResponseType::Success, 0);
        self.complete(loop_id);
    }

    fn report(&mut self, loop_id: &str, reported_status: ExecutorResponseType, status: i32) {
        let response = ReportResponse {
            loop_id: loop_id.into(),
            entropy: self.entropy(),
            executor_id: "sh".into(),
            instruction_hash: self.envelope_hash(loop_id),
            reported_status,
            error: None,
            exit: Exit::Status(status),
        };
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response)));
    }

    fn complete(&mut self, loop_id: &str) {
        let (loop_id, entropy) = (loop_id.into(), self.entropy());
        let complete = CompleteLoop { loop_id, entropy };
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(complete)));
    }

    /// A run that failed, about which alice said RETRY, and which a signal ended before that was
    /// acted on. Gives the loop's id and the record of the RETRY.
    pub fn retry_of_halted(&mut self, command_line: &str) -> (String, u64) {
        let (loop_id, retry) = self.decided(command_line, HumanDecision::Retry);
        let interrupt = InterruptLoop {
            loop_id: loop_id.clone(),
            entropy: self.entropy(),
            signal: 15,
            sender_pid: None,
            sender_uid: None,
        };
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::InterruptLoop(interrupt)));
        (loop_id, retry)
    }

    /// A run that failed, about which alice said CONTINUE, and that was given another command.
    pub fn instructed(&mut self, command_line: &str, next: &str) -> String {
        let (loop_id, _) = self.decided(command_line, HumanDecision::Continue);
        let envelope = envelope_of(next);
        let instruct = InstructLoop {
            loop_id: loop_id.clone(),
            entropy: self.entropy(),
            instruction_envelope_hash: sha256(&envelope).to_string(),
            envelope,
            command_line: next.into(),
            facts: clear(),
        };
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::InstructLoop(instruct)));
        loop_id
    }

    /// A run that failed, and what alice decided about it. Gives the loop's id and the record of
    /// the answer.
    fn decided(&mut self, command_line: &str, decision: HumanDecision) -> (String, u64) {
        let mut initialize = self.initialize(command_line);
        (initialize.hold, initialize.max_attempts) = (HoldTerms::of(HoldPolicy::After), 2);
        let loop_id = self.awaited_with(initialize, None);
        self.report(&loop_id, ExecutorResponseType::Failure, 1);
        let asked = RequestHumanDecision { loop_id: loop_id.clone(), entropy: self.entropy() };
        let request_id = format!("REQ-{}", asked.entropy);
        self.command(&Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(asked)));
        let answer = AnswerHumanDecision {
            request_id,
            loop_id: None,
            entropy: self.entropy(),
            actor: Actor::Human,
            human_id: "alice".into(),
            decision,
            reason: Some("it is flaky".into()),
            escalation_target: None,
            means: AnswerMeans { channel: AnswerChannel::Terminal, detail: "/dev/pts/3".into() },
        };
        let answered = self.chain.sequence + 1;
        let answer = Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer));
        self.command_in(&answer, |envelope| Envelope {
            actor: ActorId { kind: Actor::Human, id: "alice".into() },
            ..envelope
        });
        (loop_id, answered)
    }

    /// A whole run that ends well and that names a record as its cause.
    pub fn run_caused_by(&mut self, command_line: &str, cause: u64) -> String {
        let initialize = self.initialize(command_line);
        let loop_id = self.awaited_with(initialize, Some(cause));
        self.end(&loop_id);
        loop_id
    }

    /// A run that a signal ended: CRASH, terminated.
    pub fn crash(&mut self) -> String {
        let loop_id = self.awaited("sh -c 'kill -SEGV $$'");
        let entropy = self.entropy();
        self.command(&Command::SandboxFault(SandboxFaultCommand::ReportFault(ReportFault {
            loop_id: loop_id.clone(),
            entropy,
            attempt: 1,
            fault_type: ExecutionFaultType::Crash,
            fault_message: "killed by signal 11".into(),
            exit: Exit::Signal(11),
        })));
        if self.world.live_loop(&loop_id).is_some() {
            self.complete(&loop_id);
        }
        loop_id
    }

    /// A loop whose output is captured and whose response is awaited: four batches.
    pub fn awaited(&mut self, command_line: &str) -> String {
        let initialize = self.initialize(command_line);
        self.awaited_with(initialize, None)
    }

    fn awaited_with(&mut self, initialize: InitializeLoop, cause: Option<u64>) -> String {
        let loop_id = initialize.loop_id();
        let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize));
        self.command_in(&begin, |envelope| Envelope { causation: cause, ..envelope });
        let dispatch = DispatchLoop {
            loop_id: loop_id.clone(),
            entropy: self.entropy(),
            envelope_hash: self.envelope_hash(&loop_id),
            facts: clear(),
        };
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(dispatch)));
        let entropy = self.entropy();
        self.command(&Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
            loop_id: loop_id.clone(),
            entropy,
            recorder_key: None,
            on_full: None,
        })));
        let entropy = self.entropy();
        let items = vec![stdout()];
        self.command(&Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(
            CaptureEvidence { loop_id: loop_id.clone(), entropy, items },
        )));
        loop_id
    }

    pub fn initialize(&mut self, command_line: &str) -> InitializeLoop {
        let envelope = match self.has_foreign_envelopes {
            true => format!("envelope of {command_line}").into_bytes(),
            false => envelope_of(command_line),
        };
        let hash = sha256(&envelope).to_string();
        InitializeLoop {
            gate: holdpoint_domain::log::GateTerms::default(),
            approval: None,
            people: None,
            entropy: self.entropy(),
            executor_id: "sh".into(),
            envelope,
            instruction_envelope_hash: hash.clone(),
            command_line: command_line.into(),
            max_attempts: 1,
            retry_ceiling: RetryPolicy::RetryLimited,
            timeout_ms: None,
            hold: HoldTerms::never(),
            handshake: Handshake {
                executor_id: "sh".into(),
                trust_status: ExecutorIdentityStatus::Registered,
                instruction_envelope_hash: hash.clone(),
            },
            observer: ObserverExpectation { executor_id: "sh".into(), envelope_hash: hash },
        }
    }

    /// The hash of the instruction of a live loop.
    fn envelope_hash(&self, loop_id: &str) -> String {
        let entity = self.world.live_loop(loop_id).unwrap();
        entity.context.instruction_envelope_hash().to_string()
    }

    pub fn entropy(&mut self) -> Entropy {
        self.commands += 1;
        Entropy::from_bytes(self.commands.to_be_bytes())
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

fn stdout() -> EvidenceItem {
    EvidenceItem::ExecutorOutput {
        stream: OutputStream::Stdout,
        raw_data: SECRET.as_bytes().to_vec(),
        true_length: SECRET.len() as u64,
        whole_sha256: sha256(SECRET.as_bytes()),
    }
}
