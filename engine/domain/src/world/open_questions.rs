//! Number of questions that may be open at once. Whoever asks without an end buries what a person
//! has to see. And the questions that Holdpoint itself asks: where Phase-21 says ESCALATE, a person
//! is asked in the batch of the fault, whatever the hold. Nobody waits for it, and the run ends as
//! it does.
//!
//! The bounds are asked where a question is put, not of what is recorded: a log in which more are
//! open, since the bounds were others, is as good as any.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::actor::{Actor, Authentication, Principal, Proof};
use crate::core::forbidden::{Rule, RuleChecks};
use crate::core::hash::HashBuilder;
use crate::core::ids::id;
use crate::core::payload::{List, Text};
use crate::core::text::{bounded, shown};
use crate::core::time::Timestamp;
use crate::decision_point::command::{CreateDecisionPoint, DecisionPointCommand};
use crate::decision_point::event::DecisionPointCreated;
use crate::decision_point::refusal::DecisionPointRefusal;
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::{
    ApprovalPolicy, DEFAULT_VALID_FOR_MS, DecisionOption, OnTimeout, Proposal, Terms, Urgency,
};
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{AttemptFault, ExecutionLoop};
use crate::human_decision::command::HumanDecisionCommand;
use crate::sandbox_fault::event::SandboxFaultEvent;
use crate::sandbox_fault::types::{ExecutionFaultType, SandboxDecision};
use crate::world::command::Command;
use crate::world::continued::holdpoint;
use crate::world::event::Event;
use crate::world::refusal::Refusal;
use crate::world::{LiveState, World};

/// The bounds on open questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBounds {
    /// Bound for one session of an agent: of a hook's or MCP host.
    pub per_session: usize,
    /// Bound for the processes of one user.
    pub per_user: usize,
    /// Bound for a log.
    pub per_log: usize,
}

impl OpenBounds {
    /// The bounds where no file says otherwise.
    pub const DEFAULT: Self = Self { per_session: 20, per_user: 500, per_log: 1000 };

    /// The smaller one of each.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            per_session: self.per_session.min(other.per_session),
            per_user: self.per_user.min(other.per_user),
            per_log: self.per_log.min(other.per_log),
        }
    }

    /// Checks whether a command that puts a question keeps the bounds. `proof` is that of the
    /// process which gives it.
    ///
    /// # Errors
    /// [`DecisionPointRefusal::TooManyOpen`] names the bound that is reached.
    pub fn check(
        self,
        world: &World,
        command: &Command,
        proof: Option<Proof>,
        at: Timestamp,
    ) -> Result<(), Refusal> {
        match command {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command)) => {
                self.check_new(world, command, proof, at).map_err(Refusal::from)
            }
            Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(_)) => {
                let open = world.open_questions(at).count();
                self.check_log(world, open).map_err(Refusal::from)
            }
            Command::Log(_)
            | Command::ExecutionLoop(_)
            | Command::EvidenceCapture(_)
            | Command::SandboxFault(_)
            | Command::HumanDecision(_)
            | Command::Registration(_)
            | Command::InterruptionThread(_)
            | Command::DecisionPoint(_)
            | Command::Application(_) => Ok(()),
        }
    }

    fn check_new(
        self,
        world: &World,
        command: &CreateDecisionPoint,
        proof: Option<Proof>,
        at: Timestamp,
    ) -> Result<(), DecisionPointRefusal> {
        // One question in the place of another adds none.
        let replaced = command.supersedes.as_deref();
        let open = || {
            world.open_questions(at).filter(|point| Some(point.decision_id.as_str()) != replaced)
        };
        self.check_log(world, open().count())?;
        if let Some(Proof { user, .. }) = proof {
            let is_of_user = |point: &&DecisionPoint| {
                let gate = world.hot.gates.points.get(point.decision_id.as_str());
                gate.is_some_and(|gate| gate.asked_by == user)
            };
            let found = open().filter(is_of_user).count();
            within("this user", self.per_user, found)?;
        }
        if is_session(&command.by) {
            let found = open().filter(|point| is_same(&point.requested_by, &command.by)).count();
            within("this session", self.per_session, found)?;
        }
        Ok(())
    }

    fn check_log(self, world: &World, points: usize) -> Result<(), DecisionPointRefusal> {
        let requests = world.open_requests().count();
        within("this log", self.per_log, points.saturating_add(requests))
    }
}

impl Default for OpenBounds {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl World {
    /// The decision points that take an answer now, but for those about escalations: they have a
    /// bound of their own.
    fn open_questions(&self, at: Timestamp) -> impl Iterator<Item = &DecisionPoint> {
        self.hot.decision_points.open(at).filter(|point| !is_own(point))
    }
}

/// With what the means of a session begin for which a hook asks.
pub const MEANS_OF_HOOK: &str = "hook run by uid ";
/// With what the means of a client begin that asks over the Model Context Protocol.
pub const MEANS_OF_MCP: &str = "mcp, uid ";

/// Returns whether an agent asks by way of its host: a session of a hook's, or a client.
fn is_session(by: &Principal) -> bool {
    let is_of_host = by.means.starts_with(MEANS_OF_HOOK) || by.means.starts_with(MEANS_OF_MCP);
    by.kind == Actor::Agent && by.authenticated_by == Authentication::None && is_of_host
}

fn is_same(one: &Principal, other: &Principal) -> bool {
    one.kind == other.kind && one.id == other.id
}

fn within(whose: &'static str, expected: usize, found: usize) -> Result<(), DecisionPointRefusal> {
    match found < expected {
        true => Ok(()),
        false => Err(DecisionPointRefusal::TooManyOpen { whose, expected, found }),
    }
}

/// Most questions about escalations that are open at once in a log. Beyond them the run alone says
/// that a person is needed.
pub const MAX_OPEN_ESCALATIONS: usize = 100;

/// So much of the command is in the question, in bytes.
const COMMAND_BYTES: usize = 1024;

/// The decision point about a fault that was escalated.
#[must_use]
pub fn escalation_id(fault_id: &str) -> String {
    let bits = HashBuilder::new("holdpoint.escalation", 1).bytes(fault_id.as_bytes()).finish();
    id("DP-", bounded(&bits.to_string(), 32))
}

impl World {
    /// The question to a person about a fault, where it was escalated and one was put.
    #[must_use]
    pub fn escalation(&self, fault: &AttemptFault) -> Option<&DecisionPoint> {
        self.decision_point(&escalation_id(&fault.fault_id)).filter(|point| is_own(point))
    }
}

/// An escalation: a fault of the newest attempt of a loop.
struct Escalated<'a> {
    entity: &'a ExecutionLoop,
    fault_id: &'a str,
    fault_type: ExecutionFaultType,
}

/// The events of a command, each escalation with its question behind it.
pub(crate) fn with_questions(world: &World, events: Vec<Event>) -> Vec<Event> {
    let mut all = Vec::with_capacity(events.len());
    let mut fault_type = None;
    for event in events {
        if let Event::SandboxFault(SandboxFaultEvent::FaultReported(body)) = &event {
            fault_type = Some(body.fault_type);
        }
        let question = match (&event, fault_type) {
            (Event::SandboxFault(SandboxFaultEvent::SandboxDecided(body)), Some(fault_type))
                if body.sandbox_decision == SandboxDecision::Escalate =>
            {
                let entity = world.live_loop(&body.loop_id);
                entity.and_then(|entity| {
                    let fault_id = body.fault_id.as_str();
                    question(&world.hot, &Escalated { entity, fault_id, fault_type })
                })
            }
            _ => None,
        };
        all.push(event);
        all.extend(question.map(|body| Event::DecisionPoint(body.into())));
    }
    all
}

/// The question about an escalation, where it is not there yet and there is room for it.
fn question(hot: &LiveState, escalated: &Escalated<'_>) -> Option<DecisionPointCreated> {
    let Escalated { entity, fault_id, fault_type } = *escalated;
    let decision_id = Text::from(escalation_id(fault_id));
    let points = &hot.decision_points;
    let open = points.live.values().filter(|point| point.is_open() && is_own(point)).count();
    if open >= MAX_OPEN_ESCALATIONS || points.find(&decision_id).is_some() {
        return None;
    }
    let gate = hot.gates.of_loop(entity.loop_id());
    let authentication = gate.map_or(Authentication::Terminal, |terms| terms.authentication);
    let command = shown(bounded(&entity.command_line, COMMAND_BYTES));
    let attempt = entity.attempt_count();
    let loop_id = entity.loop_id();
    let prompt =
        format!("A person is needed: {fault_type} ended attempt {attempt} of {loop_id}: {command}");
    let context = "Phase-21 escalates the fault. Nothing waits for the answer.";
    let proposal = Proposal {
        prompt: prompt.into(),
        context: Some(context.into()),
        options: [
            choice("seen", "Seen", "A person has seen it; nothing follows"),
            choice("retry", "Retry", "A person may run it again; holdpoint starts nothing"),
        ]
        .into_iter()
        .collect(),
        default_option: None,
    };
    let terms = Terms {
        issue_id: Some(entity.loop_id().into()),
        proposal,
        allow_text: false,
        on_timeout: OnTimeout::Hold,
        expires_at: None,
        round_timeout_ms: None,
        max_iterations: 1,
        urgency: Urgency::High,
        policy: Some(ApprovalPolicy { authentication, ..ApprovalPolicy::people() }),
        blocks: List::default(),
        evidence: List::default(),
        binding: None,
        valid_for_ms: DEFAULT_VALID_FOR_MS,
        supersedes: None,
    };
    let (by, terms, people) = (holdpoint(), terms.into(), None);
    Some(DecisionPointCreated { decision_id, by, terms, separation: false, people })
}

fn choice(id: &str, short: &str, label: &str) -> DecisionOption {
    DecisionOption {
        id: id.into(),
        short: short.into(),
        label: label.into(),
        description: None,
        reject: false,
    }
}

/// Tells whether Holdpoint itself asks.
fn is_own(point: &DecisionPoint) -> bool {
    point.requested_by.is_holdpoint()
}

/// The newest fault of a loop, where it was escalated and its attempt is not evaluated yet.
fn newest(entity: &ExecutionLoop) -> Option<Escalated<'_>> {
    let attempt = entity.current_attempt().filter(|attempt| attempt.response.is_none())?;
    let fault = attempt.fault.as_ref()?;
    let is_escalated = fault.outcome.as_ref()?.decision == SandboxDecision::Escalate;
    let is_running = entity.state() == ExecutionLoopState::AwaitingResponse;
    let (fault_id, fault_type) = (fault.fault_id.as_str(), fault.fault_type);
    (is_escalated && is_running).then_some(Escalated { entity, fault_id, fault_type })
}

/// Tells whether a question of Holdpoint's own is about a fault that was just escalated.
pub(crate) fn is_due(hot: &LiveState, body: &DecisionPointCreated) -> bool {
    let entity = body.terms.issue_id.as_ref().and_then(|loop_id| hot.loops.get(loop_id));
    let escalated = entity.and_then(newest);
    escalated.and_then(|escalated| question(hot, &escalated)).as_ref() == Some(body)
}

/// Judges that an escalation has its question when its attempt is evaluated.
pub(crate) fn judge(hot: &LiveState, entity: &ExecutionLoop, checks: &mut RuleChecks) {
    let escalated = newest(entity).filter(|_| checks.rules.opens_escalations);
    let missing = escalated.and_then(|escalated| question(hot, &escalated));
    if let Some(missing) = missing {
        let expected = format!("{} to a person", missing.decision_id);
        checks.forbid(Rule::Escalation, expected, "no question about the escalation");
    }
}
