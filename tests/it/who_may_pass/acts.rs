//! What anybody may try: mostly what leads somewhere, sometimes anything.

use crate::who_may_pass::cast::NAMES;
use crate::who_may_pass::random::Random;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint,
    DecisionOption, DecisionPointCommand, OnTimeout, RefineDecisionPoint, RespondToDecisionPoint,
    Response,
};
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, OutputStream, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutionLoopState, ExecutorIdentityStatus, ExecutorResponseType, Exit, Handshake,
    InitializeLoop, ObserverExpectation, ReportResponse, SpentApproval, StopLoop,
};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, EscalationTarget, HoldPolicy, HoldTerms,
    HumanDecision, HumanDecisionCommand, HumanDecisionTimeout, OverrideField, OverrideVisibility,
    RequestHumanDecision,
};
use holdpoint_domain::log::{
    ChangePolicy, GatePolicy, GateTerms, LogCommand, RELAX_TOOL, RUN_TOOL, relax_binding,
    run_binding,
};
use holdpoint_domain::registration::{Capability, ChangeCapability, RegistrationCommand};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use holdpoint_domain::{ActorId, Command, World};

const ENVELOPE: &[u8] = b"touch f";
const EXECUTOR: &str = "/bin/touch";

/// What a sequence has brought into the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether most of it is about runs, and not about questions.
    pub(crate) is_about_runs: bool,
    pub(crate) questions: Vec<String>,
    pub(crate) runs: Vec<String>,
    pub(crate) requests: Vec<String>,
}

/// Who tries something, with what is known.
pub(crate) struct Try<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) known: &'a Known,
    pub(crate) actor: &'a ActorId,
    pub(crate) entropy: Entropy,
    /// The policy of the log, as it is.
    pub(crate) of_log: GatePolicy,
}

fn names(random: &mut Random, one_in: usize) -> List<Text> {
    random.some(&NAMES, one_in).into_iter().map(Text::from).collect()
}

/// A policy that can be kept, mostly of few demands.
pub(crate) fn any_policy(random: &mut Random) -> GatePolicy {
    let approvers = if random.one_in(2) { names(random, 2) } else { List::default() };
    let two = random.one_in(4) && approvers.len() != 1;
    let after = if two { HoldPolicy::Never } else { *random.choose(HoldPolicy::ALL) };
    let stated = [None, None, Some(Authentication::OsUser), Some(Authentication::None)];
    GatePolicy {
        before: random.one_in(3),
        after: if random.one_in(2) { after } else { HoldPolicy::Never },
        approvers,
        quorum: if two { 2 } else { 1 },
        authentication: *random.choose(&stated),
        separation: random.one_in(6),
        retry_needs_person: random.one_in(3),
        ..GatePolicy::default()
    }
}

/// What is bound to a run: what it is made of, or something else.
pub(crate) fn details(random: &mut Random) -> Digest {
    sha256(if random.one_in(8) { b"another" } else { b"this one" })
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

impl Try<'_> {
    /// What somebody says of itself; what is not so is for the engine to say.
    fn by(&self) -> Principal {
        Principal {
            kind: self.actor.kind,
            id: self.actor.id.as_str().into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/0, uid 1001".into(),
        }
    }

    fn means(&self) -> AnswerMeans {
        AnswerMeans { channel: AnswerChannel::Terminal, detail: "/dev/pts/0".into() }
    }

    fn a_question(&mut self) -> String {
        self.random.choose(&self.known.questions).clone()
    }

    /// Mostly one whose approval of a run can be spent, where there is one.
    fn an_approval(&mut self, world: &World) -> String {
        let of_runs = |id: &&String| {
            let point = world.decision_point(id);
            point.is_some_and(|point| {
                point.spendable_until().is_some()
                    && point.binding().is_some_and(|binding| *binding.tool == *RUN_TOOL)
            })
        };
        let found = self.known.questions.iter().find(of_runs).cloned();
        found.filter(|_| !self.random.one_in(4)).unwrap_or_else(|| self.a_question())
    }

    /// Any command, mostly one that the sequence is about.
    pub(crate) fn command(&mut self, world: &World) -> Command {
        let has_run = !self.known.runs.is_empty();
        match self.random.below(20) {
            0..=9 if self.known.is_about_runs && has_run => self.advance(world),
            0..=12 if self.known.is_about_runs && !has_run => self.begin(world),
            10..=15 if !self.known.requests.is_empty() => self.answer(),
            _ => self.any(world),
        }
    }

    fn any(&mut self, world: &World) -> Command {
        let has_question = !self.known.questions.is_empty();
        match self.random.below(16) {
            0 | 1 => self.ask(),
            2..=6 if has_question => self.respond(),
            7 if has_question => self.spend(),
            8 if has_question => self.change(),
            9 if self.random.one_in(8) => self.set_policy(),
            10 if has_question && self.random.one_in(2) => self.relax(),
            11 if self.random.one_in(3) => self.grant(),
            12 | 13 => self.begin(world),
            _ if !self.known.runs.is_empty() => self.advance(world),
            _ => self.ask(),
        }
    }

    fn binding(&mut self) -> ActionBinding {
        let (tool, input_sha256) = match self.random.below(6) {
            0 => ("Bash", sha256(b"{}")),
            1 => {
                let after = GatePolicy::default();
                let before = if self.random.one_in(2) {
                    any_policy(self.random)
                } else {
                    self.of_log.clone()
                };
                (RELAX_TOOL, relax_binding(&before, &after))
            }
            _ => {
                let details = details(self.random);
                (RUN_TOOL, run_binding(&sha256(ENVELOPE).to_string(), &details))
            }
        };
        ActionBinding { tool: tool.into(), input_sha256 }
    }

    fn ask(&mut self) -> Command {
        let option = |id: &str, reject| DecisionOption {
            id: id.into(),
            short: id.into(),
            label: id.into(),
            description: None,
            reject,
        };
        let options = vec![option("yes", false), option("no", true), option("later", false)];
        let binding = (!self.random.one_in(4)).then(|| self.binding());
        let policy = (!self.random.one_in(3)).then(|| self.approval_policy());
        let is_silent = self.random.one_in(5);
        let supersedes =
            (self.random.one_in(12) && !self.known.questions.is_empty()).then(|| self.a_question());
        let of_log = self.of_log.separation;
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(
            CreateDecisionPoint {
                policy,
                blocks: if self.random.one_in(3) { vec!["deploy".to_string()] } else { Vec::new() },
                separation: of_log || self.random.one_in(6),
                default_option: is_silent.then(|| "yes".to_string()),
                on_timeout: is_silent.then_some(OnTimeout::Default),
                timeout_ms: is_silent.then_some(20_000),
                allow_text: Some(self.random.one_in(2)),
                supersedes,
                binding,
                ..CreateDecisionPoint::asking(self.entropy, self.by(), "May it?", options)
            },
        )))
    }

    /// Often what the log demands, else anything.
    fn approval_policy(&mut self) -> ApprovalPolicy {
        let random = &mut *self.random;
        if random.one_in(2) {
            let GatePolicy { approvers, quorum, .. } = self.of_log.clone();
            let authentication = self.of_log.least_proof();
            return ApprovalPolicy {
                approvers,
                quorum,
                authentication,
                ..ApprovalPolicy::people()
            };
        }
        ApprovalPolicy {
            approvers: if random.one_in(2) { names(random, 2) } else { List::default() },
            quorum: if random.one_in(2) { 2 } else { 1 },
            allow_requester: !random.one_in(3),
            allow_agents: random.one_in(2),
            authentication: *random.choose(Authentication::ALL),
            default_approves: random.one_in(20),
        }
    }

    fn respond(&mut self) -> Command {
        let response = match self.random.below(12) {
            0 => Response::Accept,
            1 => Response::Text("go".into()),
            2 => Response::Guidance("better".into()),
            3 => Response::option("no"),
            4 => Response::option("later"),
            _ => Response::option("yes"),
        };
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id: self.a_question(),
                entropy: self.entropy,
                by: self.by(),
                response,
                comment: None,
            },
        ))
    }

    fn spend(&mut self) -> Command {
        let (decision_id, by) = (self.a_question(), self.by());
        let binding = self.binding();
        Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
            decision_id,
            by,
            binding,
        }))
    }

    /// Takes a question back or words it anew.
    fn change(&mut self) -> Command {
        let (decision_id, by) = (self.a_question(), self.by());
        if self.random.one_in(3) {
            return Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(
                CancelDecisionPoint { decision_id, by, reason: None },
            ));
        }
        let option = |id: &str| DecisionOption {
            id: id.into(),
            short: id.into(),
            label: id.into(),
            description: None,
            reject: false,
        };
        Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
            decision_id,
            by,
            prompt: Some("May it so?".to_string()),
            context: None,
            options: Some(vec![option("yes"), option("no")]),
            default_option: None,
            drop_default: false,
        }))
    }

    fn set_policy(&mut self) -> Command {
        let any = any_policy(self.random);
        // Mostly one that demands more.
        let policy = match self.random.one_in(3) {
            true => any,
            false => self.of_log.and(&any).unwrap_or(any),
        };
        let change = ChangePolicy { people: None, by: self.by(), policy, approval: None };
        Command::Log(LogCommand::SetPolicy(Box::new(change)))
    }

    fn relax(&mut self) -> Command {
        let approval = self.known.questions.last().cloned();
        let policy = GatePolicy::default();
        Command::Log(LogCommand::RelaxPolicy(Box::new(ChangePolicy {
            people: None,
            by: self.by(),
            policy,
            approval,
        })))
    }

    fn grant(&mut self) -> Command {
        Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
            actor_kind: Actor::Agent,
            actor_id: format!("{}-{}", self.actor.id, self.entropy),
            capability: Capability::SeleneOsOnly,
            is_granted: true,
        }))
    }

    fn hold(&mut self) -> HoldTerms {
        let random = &mut *self.random;
        let target = EscalationTarget {
            target: "bob".into(),
            approvers: List::default(),
            timeout_ms: HumanDecisionTimeout::DEFAULT,
        };
        let policy = *random.choose(HoldPolicy::ALL);
        HoldTerms {
            policy: policy.max(self.of_log.after),
            retry_needs_person: !random.one_in(4),
            decision_timeout_ms: HumanDecisionTimeout::DEFAULT,
            approvers: match random.below(3) {
                0 => names(random, 2),
                1 => List::default(),
                _ => self.of_log.approvers.clone(),
            },
            escalation_targets: match random.one_in(2) {
                true => [target].into_iter().collect(),
                false => List::default(),
            },
            override_approvers: names(random, 1),
        }
    }

    fn begin(&mut self, world: &World) -> Command {
        let hash = sha256(ENVELOPE).to_string();
        let hold = self.hold();
        let rarely = if self.known.is_about_runs { 6 } else { 2 };
        let wants_approval = self.of_log.before || self.random.one_in(rarely);
        let approval = match wants_approval && !self.known.questions.is_empty() {
            true => {
                let (decision_id, by) = (self.an_approval(world), self.by());
                Some(SpentApproval { decision_id, by, details: details(self.random) })
            }
            false => None,
        };
        let stated = [Authentication::OsUser, Authentication::OsUser, Authentication::None];
        let authentication = *self.random.choose(&stated);
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(InitializeLoop {
            people: None,
            entropy: self.entropy,
            executor_id: EXECUTOR.to_string(),
            envelope: ENVELOPE.to_vec(),
            instruction_envelope_hash: hash.clone(),
            command_line: "touch f".to_string(),
            max_attempts: 3,
            retry_ceiling: RetryPolicy::RetryLimited,
            timeout_ms: None,
            hold,
            gate: GateTerms {
                before: approval.is_some() || self.random.one_in(10),
                authentication: authentication.max(self.of_log.least_proof()),
                separation: self.of_log.separation || self.random.one_in(5),
                sources: List::default(),
            },
            approval,
            handshake: Handshake {
                executor_id: EXECUTOR.to_string(),
                trust_status: ExecutorIdentityStatus::Registered,
                instruction_envelope_hash: hash.clone(),
            },
            observer: ObserverExpectation {
                executor_id: EXECUTOR.to_string(),
                envelope_hash: hash,
            },
        }))
    }

    fn answer(&mut self) -> Command {
        let request_id = self.random.choose(&self.known.requests).clone();
        let actor = if self.random.one_in(10) { Actor::Human } else { self.actor.kind };
        let human_id = match self.random.one_in(10) {
            true => (*self.random.choose(&NAMES)).to_string(),
            false => self.actor.id.clone(),
        };
        if self.random.one_in(4) {
            return Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(
                OverrideVisibility {
                    request_id,
                    actor,
                    human_id,
                    field: *self.random.choose(OverrideField::ALL),
                    reason: "to see".to_string(),
                    means: self.means(),
                },
            ));
        }
        let decision = *self.random.choose(HumanDecision::ALL);
        let is_passed_on = decision == HumanDecision::Escalate;
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
            request_id,
            loop_id: None,
            entropy: self.entropy,
            actor,
            human_id,
            decision,
            reason: Some("because".to_string()),
            escalation_target: is_passed_on.then(|| "bob".to_string()),
            means: self.means(),
        }))
    }

    fn dispatch(&mut self, loop_id: &str) -> DispatchLoop {
        let facts = match self.random.one_in(30) {
            true => DispatchFacts { human_abort_signaled: Some(true), ..clear() },
            false => clear(),
        };
        let envelope_hash = sha256(ENVELOPE).to_string();
        DispatchLoop { loop_id: loop_id.to_string(), entropy: self.entropy, envelope_hash, facts }
    }

    /// Mostly what the state of a run asks for.
    fn advance(&mut self, world: &World) -> Command {
        let loop_id = self.random.choose(&self.known.runs).clone();
        let entropy = self.entropy;
        if self.random.one_in(15) {
            let facts = StopFacts { human_abort_signaled: Some(true), ..StopFacts::default() };
            let (condition, details) = (StopCondition::HumanAbort, "enough".to_string());
            return Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
                loop_id,
                entropy,
                condition,
                facts,
                details,
            }));
        }
        let seen = world.live_loop(&loop_id);
        let seen = seen.map(|entity| (entity.state(), entity.attempt_count()));
        match seen {
            None | Some((ExecutionLoopState::Init, _)) => {
                Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(self.dispatch(&loop_id)))
            }
            Some((ExecutionLoopState::Dispatched, _)) => {
                Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
                    loop_id,
                    entropy,
                    recorder_key: None,
                    on_full: None,
                }))
            }
            Some((ExecutionLoopState::AwaitingResponse, attempt)) => self.result(loop_id, attempt),
            Some(_) => match self.random.below(5) {
                0 | 1 => Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(
                    RequestHumanDecision { loop_id, entropy },
                )),
                2 => Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
                    loop_id,
                    entropy,
                })),
                _ => {
                    Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(self.dispatch(&loop_id)))
                }
            },
        }
    }

    fn result(&mut self, loop_id: String, attempt: u8) -> Command {
        let entropy = self.entropy;
        match self.random.below(4) {
            0 => Command::SandboxFault(SandboxFaultCommand::ReportFault(ReportFault {
                loop_id,
                entropy,
                attempt,
                fault_type: *self
                    .random
                    .choose(&[ExecutionFaultType::Crash, ExecutionFaultType::Partial]),
                fault_message: "it fell".to_string(),
                exit: Exit::Signal(11),
            })),
            1 => {
                Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(CaptureEvidence {
                    loop_id,
                    entropy,
                    items: vec![EvidenceItem::ExecutorOutput {
                        stream: OutputStream::Stdout,
                        raw_data: Vec::new(),
                        true_length: 0,
                        whole_sha256: sha256(b""),
                    }],
                }))
            }
            _ => Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(ReportResponse {
                loop_id,
                entropy,
                executor_id: EXECUTOR.to_string(),
                instruction_hash: sha256(ENVELOPE).to_string(),
                reported_status: match self.random.one_in(2) {
                    true => ExecutorResponseType::Success,
                    false => ExecutorResponseType::Failure,
                },
                error: None,
                exit: Exit::Status(0),
            })),
        }
    }
}
