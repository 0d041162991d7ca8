//! Questions of both kinds. The number that may be open at once: whoever asks without an end buries
//! what a person has to see. The questions that Holdpoint asks: where Phase-21 says ESCALATE,
//! a person is asked in the batch of the fault, whatever the hold; nobody waits for it, and the run
//! ends as it does. And a request to a person in the form of a decision point, by the keys of
//! `decision/1`.
//!
//! The bounds are asked where a question is put, not of what is recorded: a log in which more are
//! open, since the bounds were others, is as good as any.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
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
use crate::decision_point::{
    DECISION_SCHEMA, DecisionPointState, DecisionPointView, HeadView, ResolutionKind, RevokedView,
    WarningView,
};
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{AttemptFault, ExecutionLoop};
use crate::human_decision::command::HumanDecisionCommand;
use crate::human_decision::{
    AnswerChannel, AnswerMeans, HeldRequest, HumanDecision, HumanDecisionOutcome, RequestOutcome,
};
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

/// Name that stands for an answer which nobody gave in time. No actor can have such a name.
const BY_TIMEOUT: &str = "system:timeout";
const SYSTEM: &str = "system";

impl HeldRequest {
    /// Requester of every hold. No actor can have such a name.
    pub const REQUESTED_BY: &str = "system:hold";

    /// Urgency of every hold.
    pub const URGENCY: Urgency = Urgency::Medium;

    /// State of the request among those of decision points. One that was passed on to somebody
    /// else is superseded by the next request.
    #[must_use]
    pub fn decision_state(&self) -> DecisionPointState {
        match &self.outcome {
            None => DecisionPointState::Pending,
            Some(RequestOutcome::Withdrawn { .. }) => DecisionPointState::Cancelled,
            Some(RequestOutcome::Decided(decided)) => match decided.record.decision {
                _ if decided.outcome == HumanDecisionOutcome::Timeout => {
                    DecisionPointState::Aborted
                }
                HumanDecision::Escalate => DecisionPointState::Superseded,
                HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Abort => {
                    DecisionPointState::Resolved
                }
            },
        }
    }

    /// The sequence of the newest record that changed it.
    #[must_use]
    pub fn version(&self) -> u64 {
        let warned = self.warning.as_ref().map(|warning| warning.sequence);
        let shown = self.overrides.iter().map(|allowed| allowed.sequence);
        let newest = shown.chain(warned).chain(self.ended_sequence()).max();
        newest.unwrap_or(self.requested_sequence)
    }

    /// The sequence of the record that ended it; `None` while it is open.
    #[must_use]
    pub fn ended_sequence(&self) -> Option<u64> {
        match self.outcome.as_ref()? {
            RequestOutcome::Decided(decided) => Some(decided.sequence),
            RequestOutcome::Withdrawn { sequence, .. } => Some(*sequence),
        }
    }

    /// The form of a decision point at a time. `hash` is the link of the record
    /// [`HeldRequest::version`], `next` the request to which it was passed on.
    #[must_use]
    pub fn as_decision<'a>(
        &'a self,
        now: Timestamp,
        hash: Option<&'a str>,
        next: Option<&'a str>,
    ) -> DecisionPointView<'a> {
        let mut view = self.as_open_decision(now, hash);
        view.superseded_by = next;
        view.resolution_kind = self.resolution();
        (view.responded_at, view.recorded_at) = (self.ended_at(), self.ended_at());
        let Some(decided) = self.decided() else { return view };
        if decided.record.is_timeout() {
            (view.responded_by, view.responded_kind) = (Some(BY_TIMEOUT), Some(SYSTEM));
            return view;
        }
        view.selected_option = Some(decided.record.decision.name());
        view.approved = decided.record.decision == HumanDecision::Continue;
        view.released_at = self.ended_at().filter(|_| view.approved);
        view.comment = decided.record.reason.as_deref();
        view.responded_by = Some(&*decided.record.human_id);
        view.responded_kind = Some("human");
        view.authenticated_by = decided.means.as_ref().map(proof);
        view.responded_means = decided.means.as_ref().map(|means| means.detail.as_str());
        view
    }

    /// The same, with no word of how it ended.
    fn as_open_decision<'a>(
        &'a self,
        now: Timestamp,
        hash: Option<&'a str>,
    ) -> DecisionPointView<'a> {
        let (request, context) = (&self.request, &self.context);
        let offered = request.allowed_decisions.iter();
        DecisionPointView {
            schema: DECISION_SCHEMA,
            id: &request.request_id,
            issue_id: None,
            chain_id: &request.request_id,
            prior_id: None,
            next_id: None,
            state: self.decision_state(),
            waits_for: self.is_open().then_some("answer"),
            prompt: &context.command_line,
            context: None,
            options: offered.map(|it| Cow::Owned(option(*it))).collect(),
            default_option: None,
            selected_option: None,
            response_text: None,
            comment: None,
            guidance: None,
            guidance_given: None,
            iteration: 1,
            max_iterations: 1,
            allow_text: false,
            urgency: Self::URGENCY,
            requested_by: Self::REQUESTED_BY,
            requested_kind: SYSTEM,
            created_at: request.created_at,
            expires_at: Some(request.timeout_at),
            on_timeout: OnTimeout::Abort,
            overdue: self.is_open() && request.is_expired(now),
            warning: self.warning_view(),
            resolution_kind: None,
            responded_by: None,
            responded_kind: None,
            authenticated_by: None,
            responded_means: None,
            responded_at: None,
            recorded_at: None,
            quorum: None,
            approvers: Vec::new(),
            allow_requester: None,
            allow_agents: None,
            authentication: None,
            approvals: Vec::new(),
            evidence: &[],
            blocks: vec![context.loop_id.as_str()],
            released_at: None,
            binding: None,
            approved: false,
            valid_until: None,
            lapsed_at: None,
            revoked: RevokedView { revoked_at: None, revoked_by: None, revoked_reason: None },
            consumed_at: None,
            consumed_by: None,
            claimed_outcome: None,
            supersedes: context.escalated_from.as_deref(),
            superseded_by: None,
            reminders: 0,
            escalated_to: context.asked_of.as_deref(),
            late_responses: Vec::new(),
            late_total: self.late_answers,
            version: self.version(),
            head: HeadView { seq: self.version(), hash },
        }
    }

    fn warning_view(&self) -> WarningView<'_> {
        let warning_at = Some(self.request.warning_at());
        WarningView { warning_at, warning: self.warning.as_ref() }
    }

    fn ended_at(&self) -> Option<Timestamp> {
        match self.outcome.as_ref()? {
            RequestOutcome::Decided(decided) => Some(decided.at),
            RequestOutcome::Withdrawn { at, .. } => Some(*at),
        }
    }

    fn resolution(&self) -> Option<ResolutionKind> {
        let RequestOutcome::Decided(decided) = self.outcome.as_ref()? else {
            return Some(ResolutionKind::Cancel);
        };
        Some(match decided.record.decision {
            _ if decided.record.is_timeout() => ResolutionKind::Abort,
            HumanDecision::Escalate => ResolutionKind::Supersede,
            HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Abort => {
                ResolutionKind::Option
            }
        })
    }
}

/// A decision as an option.
fn option(decision: HumanDecision) -> DecisionOption {
    let label = match decision {
        HumanDecision::Continue => "Go on as the attempt left it",
        HumanDecision::Retry => "Run the command again",
        HumanDecision::Abort => "Stop the run",
        HumanDecision::Escalate => "Ask somebody else",
    };
    let id = Text::from(decision.name());
    let reject = decision == HumanDecision::Abort;
    DecisionOption { short: id.clone(), id, label: label.into(), description: None, reject }
}

/// Returns the proof of a name that these means of an answer give.
fn proof(means: &AnswerMeans) -> Authentication {
    match means.channel {
        AnswerChannel::Terminal | AnswerChannel::YesFlag | AnswerChannel::OsUser => {
            Authentication::OsUser
        }
        AnswerChannel::Api | AnswerChannel::Claim => Authentication::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abort_rejects_among_the_options_of_a_hold() {
        for decision in HumanDecision::ALL {
            let option = option(*decision);
            assert_eq!(option.reject, *decision == HumanDecision::Abort, "{decision}");
            assert_eq!(&*option.id, decision.name());
        }
    }
}
