//! Execution loops: most run once and print little, a few are tried again and again, some are held
//! for a person, who now and then does not come.

use super::life::{Move, Submission};
use super::random::Random;
use super::words::{automation, correlation, entropy, person};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, OutputStream, ResourceUsage,
    StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutorIdentityStatus, ExecutorResponseType, Exit, Handshake, InitializeLoop,
    ObserverExpectation, ReportResponse, StopLoop,
};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, HumanDecisionTimeout, RequestHumanDecision,
};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use holdpoint_domain::{ActorId, Command, World};
use std::collections::VecDeque;

const EXECUTOR: &str = "/bin/sh";
/// How long a person has, in milliseconds.
const HOLD_MS: u64 = 30 * 60 * 1_000;

/// A loop, and what is still to happen to it.
pub(super) struct LoopLife {
    steps: VecDeque<Step>,
    loop_id: String,
    correlation: String,
    key: Option<String>,
    envelope: Vec<u8>,
    envelope_hash: String,
    request_id: String,
    attempts: u8,
    is_held: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Dispatch,
    Retry,
    Await,
    Capture,
    Report,
    Fault(u8),
    Ask,
    Answer,
    Wait,
    Stop,
    Complete,
}

impl LoopLife {
    pub(super) fn new(random: &mut Random) -> Self {
        let is_held = random.one_in(10);
        // Where a loop is held, every further attempt would need a person too.
        let attempts = if is_held || !random.one_in(7) { 1 } else { 2 + random.below(2) as u8 };
        let envelope = [b"sh -c '".as_slice(), &random.text(120), b"'"].concat();
        let key = random.one_in(4).then(|| format!("job-{:016x}", random.next()));
        Self {
            steps: steps(random, attempts, is_held),
            loop_id: String::new(),
            correlation: correlation(random),
            key,
            envelope_hash: sha256(&envelope).to_string(),
            envelope,
            request_id: String::new(),
            attempts,
            is_held,
        }
    }

    pub(super) fn go_on(&mut self, random: &mut Random) -> Move {
        let Some(step) = self.steps.pop_front() else { return Move::Over };
        let (actor, key) = match step {
            Step::Wait => {
                self.steps.push_front(Step::Wait);
                return Move::Wait;
            }
            Step::Answer | Step::Stop => (person(), None),
            Step::Begin => (automation(), self.key.take()),
            _ => (automation(), None),
        };
        let command = self.command(step, random);
        let (correlation, may_be_late) = (self.correlation.clone(), false);
        Move::Give(Box::new(Submission { actor, correlation, key, may_be_late, command }))
    }

    pub(super) fn is_live(&self, world: &World) -> bool {
        world.live_loop(&self.loop_id).is_some()
    }

    fn command(&mut self, step: Step, random: &mut Random) -> Command {
        let (loop_id, entropy) = (self.loop_id.clone(), entropy(random));
        match step {
            Step::Begin => Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(
                self.initialize(entropy),
            )),
            Step::Dispatch => {
                Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(self.dispatch(entropy)))
            }
            Step::Retry => {
                Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(self.dispatch(entropy)))
            }
            Step::Await => {
                Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
                    loop_id,
                    entropy,
                    recorder_key: None,
                    on_full: None,
                }))
            }
            Step::Capture => {
                let items = items(random);
                Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(CaptureEvidence {
                    loop_id,
                    entropy,
                    items,
                }))
            }
            Step::Report => {
                Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(self.report(entropy)))
            }
            Step::Fault(attempt) => {
                Command::SandboxFault(SandboxFaultCommand::ReportFault(ReportFault {
                    loop_id,
                    entropy,
                    attempt,
                    fault_type: ExecutionFaultType::Crash,
                    fault_message: "the process was killed by signal 11".to_string(),
                    exit: Exit::Signal(11),
                }))
            }
            Step::Ask => {
                self.request_id = format!("REQ-{entropy}");
                Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(
                    RequestHumanDecision { loop_id, entropy },
                ))
            }
            Step::Answer => Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(
                self.answer(random, entropy),
            )),
            Step::Stop => Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
                loop_id,
                entropy,
                condition: StopCondition::HumanAbort,
                facts: StopFacts::default(),
                details: "the build was superseded".to_string(),
            })),
            Step::Wait | Step::Complete => {
                Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
                    loop_id,
                    entropy,
                }))
            }
        }
    }

    fn initialize(&mut self, entropy: Entropy) -> InitializeLoop {
        let (hash, executor_id) = (self.envelope_hash.clone(), EXECUTOR.to_string());
        let command = InitializeLoop {
            people: None,
            gate: holdpoint_domain::log::GateTerms::default(),
            approval: None,
            entropy,
            executor_id: executor_id.clone(),
            envelope: self.envelope.clone(),
            instruction_envelope_hash: hash.clone(),
            command_line: String::from_utf8_lossy(&self.envelope).into_owned(),
            max_attempts: self.attempts,
            retry_ceiling: RetryPolicy::RetryLimited,
            timeout_ms: Some(60_000),
            hold: terms(self.is_held),
            handshake: Handshake {
                executor_id: executor_id.clone(),
                trust_status: ExecutorIdentityStatus::Registered,
                instruction_envelope_hash: hash.clone(),
            },
            observer: ObserverExpectation { executor_id, envelope_hash: hash },
        };
        self.loop_id = command.loop_id();
        command
    }

    fn dispatch(&self, entropy: Entropy) -> DispatchLoop {
        let facts = DispatchFacts {
            authorization_present: Some(true),
            executor_registered: Some(true),
            resources_available: Some(true),
            intent_clear: Some(true),
            human_abort_signaled: Some(false),
        };
        let (loop_id, envelope_hash) = (self.loop_id.clone(), self.envelope_hash.clone());
        DispatchLoop { loop_id, entropy, envelope_hash, facts }
    }

    fn report(&self, entropy: Entropy) -> ReportResponse {
        ReportResponse {
            loop_id: self.loop_id.clone(),
            entropy,
            executor_id: EXECUTOR.to_string(),
            instruction_hash: self.envelope_hash.clone(),
            reported_status: ExecutorResponseType::Success,
            error: None,
            exit: Exit::Status(0),
        }
    }

    /// Most answers let it go on.
    fn answer(&self, random: &mut Random, entropy: Entropy) -> AnswerHumanDecision {
        let ActorId { kind, id } = person();
        let is_no = random.one_in(8);
        AnswerHumanDecision {
            request_id: self.request_id.clone(),
            loop_id: None,
            entropy,
            actor: kind,
            human_id: id,
            decision: if is_no { HumanDecision::Abort } else { HumanDecision::Continue },
            reason: Some("the output was looked at".to_string()),
            escalation_target: None,
            means: AnswerMeans { channel: AnswerChannel::Api, detail: "a console".into() },
        }
    }
}

/// A loop whose program runs and prints.
pub(super) struct Running(LoopLife);

impl Running {
    /// Three commands begin it.
    pub(super) fn begin(random: &mut Random) -> (Self, Vec<Command>) {
        let mut life = LoopLife::new(random);
        (life.is_held, life.attempts) = (false, 1);
        let begin = [Step::Begin, Step::Dispatch, Step::Await];
        let commands = begin.map(|step| life.command(step, random)).to_vec();
        (Self(life), commands)
    }

    pub(super) fn loop_id(&self) -> &str {
        &self.0.loop_id
    }

    /// 256 bytes of output.
    pub(super) fn capture(&self, random: &mut Random) -> Command {
        let (loop_id, items) = (self.0.loop_id.clone(), vec![output(random, 256)]);
        Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(CaptureEvidence {
            loop_id,
            entropy: entropy(random),
            items,
        }))
    }

    /// Two commands end it well.
    pub(super) fn end(mut self, random: &mut Random) -> Vec<Command> {
        [Step::Report, Step::Complete].map(|step| self.0.command(step, random)).to_vec()
    }
}

/// What will happen to a loop.
fn steps(random: &mut Random, attempts: u8, is_held: bool) -> VecDeque<Step> {
    let mut steps = VecDeque::from([Step::Begin]);
    for attempt in 1..=attempts {
        steps.push_back(if attempt == 1 { Step::Dispatch } else { Step::Retry });
        steps.push_back(Step::Await);
        let captures = if random.one_in(50) { 40 } else { random.skewed(6) };
        steps.extend((0..captures).map(|_| Step::Capture));
        if random.one_in(60) {
            steps.push_back(Step::Stop);
            return steps;
        }
        // The last attempt fails now and then as well, which ends the loop.
        let is_last = attempt == attempts;
        let fails = !is_last || (!is_held && random.one_in(12));
        steps.push_back(if fails { Step::Fault(attempt) } else { Step::Report });
        if fails && is_last {
            return steps;
        }
    }
    match is_held {
        true if random.one_in(20) => steps.extend([Step::Ask, Step::Wait]),
        true => steps.extend([Step::Ask, Step::Answer]),
        false => steps.push_back(Step::Complete),
    }
    steps
}

fn terms(is_held: bool) -> HoldTerms {
    let policy = if is_held { HoldPolicy::After } else { HoldPolicy::Never };
    let timeout = HumanDecisionTimeout::from_milliseconds(HOLD_MS);
    let decision_timeout_ms = timeout.unwrap_or(HumanDecisionTimeout::DEFAULT);
    HoldTerms { decision_timeout_ms, ..HoldTerms::of(policy) }
}

/// Some output: mostly a few lines, now and then a page; sometimes what it used as well.
fn items(random: &mut Random) -> Vec<EvidenceItem> {
    let length = match random.below(100) {
        ..3 => 4_000,
        3..30 => 200 + random.below(400),
        _ => 20 + random.below(180),
    };
    let output = output(random, length);
    let usage = || {
        EvidenceItem::ResourceSnapshot(ResourceUsage {
            wall_ns: 2_000_000,
            user_cpu_ns: 1_000_000,
            system_cpu_ns: 500_000,
            peak_memory_bytes: 4 << 20,
        })
    };
    if random.one_in(4) { vec![output, usage()] } else { vec![output] }
}

fn output(random: &mut Random, length: u64) -> EvidenceItem {
    let raw_data = random.text(length);
    EvidenceItem::ExecutorOutput {
        stream: if random.one_in(5) { OutputStream::Stderr } else { OutputStream::Stdout },
        true_length: length,
        whole_sha256: sha256(&raw_data),
        raw_data,
    }
}
