//! One execution loop with everything that belongs to it: what holds it, what permits another
//! attempt, and what may be asked about it.
//!
//! There is one way in which a request is made of a loop's own evidence. `decide` records what it
//! gives, and every replay compares.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::actor::ActorId;
use crate::core::confidence::Confidence;
use crate::core::forbidden::Record;
use crate::core::ids::id;
use crate::core::payload::Text;
use crate::core::scored;
use crate::core::time::Timestamp;
use crate::evidence_capture::state::Chain;
use crate::evidence_capture::types::{
    EvidenceContent, ObservationContext, OutputExtent, ResourceSnapshot, ResourceUsage,
    StopCondition,
};
use crate::execution_loop::types::{
    ExecutionDecision, ExecutionLoopContext, ExecutionLoopState, ExecutorResponseType, Exit,
    HaltReason, HandshakeDecision, ResponseDecision,
};
use crate::human_decision::audit::injective_request_hash;
use crate::human_decision::event::HumanDecisionRequested;
use crate::human_decision::rules::{RequestRefusal, create_request};
use crate::human_decision::state::{Disclosed, HeldRequest, HumanDecisions};
use crate::human_decision::terms::{EscalationTarget, HoldPolicy, HoldTerms};
use crate::human_decision::types::{
    EvidenceSummary, EvidenceVisibility, HumanDecision, HumanDecisionOutcome, HumanDecisionRequest,
    ObservedAttempt, OverrideField, RequestContext, get_visibility,
};
use crate::sandbox_fault::rules::enforce_retry_limit;
use crate::sandbox_fault::types::{
    ExecutionFaultType, FaultReport, RetryPolicy, SandboxContext, SandboxDecision,
    SandboxDecisionResult,
};

/// An execution loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionLoop {
    /// Phase-29's own context: id, envelope hash, state, executor.
    pub context: ExecutionLoopContext,
    /// The instruction as a person may read it.
    pub command_line: String,
    /// Number of attempts there may be, 1 to 3.
    pub max_attempts: u8,
    /// Ceiling of the caller after a fault.
    pub retry_ceiling: RetryPolicy,
    /// Time that one attempt may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Terms on which a person is asked.
    pub hold: HoldTerms,
    /// Questions and their decisions.
    pub decisions: HumanDecisions,
    /// Decision on the executor's eligibility.
    pub handshake_decision: HandshakeDecision,
    /// Why.
    pub handshake_reason: String,
    /// Actor who initialized it.
    pub actor: ActorId,
    /// The story that it belongs to.
    pub correlation: String,
    /// Time when it began.
    pub started_at: Timestamp,
    /// The sequence of the record that began it.
    pub started_sequence: u64,
    /// The sequence of the last record that changed it: its version.
    pub version: u64,
    /// Its observer (Phase-31's observation context).
    pub observer: Option<ObservationContext>,
    /// Its evidence.
    pub chain: Option<Chain>,
    /// Its attempts, first to last.
    pub attempts: Vec<Attempt>,
    /// The stop condition that was found, if any.
    pub stop: Option<StopDetected>,
    /// End of the loop.
    pub halt: Option<Halt>,
}

/// One attempt at executing the instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1.
    pub number: u8,
    /// Time when it was dispatched.
    pub dispatched_at: Timestamp,
    /// The sequence of the record that dispatched it.
    pub dispatched_sequence: u64,
    /// The fault of the attempt before, whose decision permitted this one.
    pub permitted_by_fault: Option<String>,
    /// The person's RETRY that decided this one.
    pub permitted_by_decision: Option<String>,
    /// The output streams that were captured.
    pub outputs: Vec<OutputExtent>,
    /// Resources that it used.
    pub resources: Option<ResourceUsage>,
    /// Fault of the attempt.
    pub fault: Option<AttemptFault>,
    /// Answer of the attempt.
    pub response: Option<AttemptResponse>,
}

impl Attempt {
    /// Returns whether how it ended was told to its recorder, and observed by nobody: who watches a
    /// process measures what it uses.
    #[must_use]
    pub const fn is_reported(&self) -> bool {
        self.response.is_some() && self.resources.is_none()
    }
}

/// Answer of an attempt and what that is worth.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AttemptResponse {
    /// Kind of the report.
    pub response_type: ExecutorResponseType,
    /// Phase-30's decision.
    pub response_decision: ResponseDecision,
    /// Degree to which it is trusted.
    #[serde(rename = "confidence_basis_points")]
    pub confidence: Confidence,
    /// Phase-30's reason.
    pub reason: String,
    /// Phase-29's decision.
    pub execution_decision: ExecutionDecision,
    /// Phase-29's reason.
    pub execution_reason: String,
    /// End of the process.
    pub exit: Exit,
    /// Time when it was evaluated.
    pub evaluated_at: Timestamp,
}

scored! {
    AttemptResponse {
        response_type as "response_type",
        response_decision as "response_decision",
        confidence as "confidence_basis_points",
        reason as "reason",
        execution_decision as "execution_decision",
        execution_reason as "execution_reason",
        exit as "exit",
        evaluated_at as "evaluated_at"
    } by confidence
}

/// Fault of an attempt and what Phase-21 decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFault {
    /// `FAULT-` and 128 random bits.
    pub fault_id: String,
    /// Kind of the fault.
    pub fault_type: ExecutionFaultType,
    /// Message about it.
    pub fault_message: String,
    /// Time.
    pub occurred_at: Timestamp,
    /// Consequence of it.
    pub outcome: Option<SandboxDecisionResult>,
}

/// A stop condition that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopDetected {
    /// Condition, one of the ten.
    pub condition: StopCondition,
    /// In words.
    pub details: String,
}

/// End of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// Why.
    pub reason: HaltReason,
    /// The state before.
    pub from: ExecutionLoopState,
    /// The state that was asked for.
    pub requested: ExecutionLoopState,
    /// The stop condition, where that is the reason.
    pub stop_condition: Option<StopCondition>,
    /// The fault, where that is the reason.
    pub fault_type: Option<ExecutionFaultType>,
    /// Time.
    pub at: Timestamp,
    /// The sequence of the record that halted it.
    pub sequence: u64,
}

impl ExecutionLoop {
    /// The loop's id.
    #[must_use]
    pub fn loop_id(&self) -> &str {
        self.context.loop_id()
    }

    /// Returns the state of the loop.
    #[must_use]
    pub const fn state(&self) -> ExecutionLoopState {
        self.context.current_state()
    }

    /// The snapshots of an attempt's processes, first to last.
    pub fn snapshots(&self, attempt: u8) -> impl DoubleEndedIterator<Item = &ResourceSnapshot> {
        let records = self.chain.iter().flat_map(|chain| &chain.records);
        let snapshots = records.filter_map(|record| {
            let EvidenceContent::Snapshot(snapshot) = &record.content else { return None };
            Some(snapshot)
        });
        snapshots.filter(move |snapshot| snapshot.attempt == attempt)
    }

    /// The attempt that runs, or ran last.
    #[must_use]
    pub fn current_attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Counts the attempts that were dispatched.
    #[must_use]
    pub fn attempt_count(&self) -> u8 {
        self.current_attempt().map_or(0, |attempt| attempt.number)
    }

    /// Returns whether nothing can happen to the loop any more: HALTED, and its chain sealed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.halt.is_some() && self.chain.as_ref().is_none_or(|chain| chain.head.is_sealed)
    }

    /// The fault of the last attempt, if Phase-21 permits another attempt after it.
    #[must_use]
    pub fn retry_permission(&self) -> Option<&str> {
        let fault = self.current_attempt()?.fault.as_ref()?;
        let outcome = fault.outcome.as_ref()?;
        (outcome.decision == SandboxDecision::Retry).then_some(fault.fault_id.as_str())
    }

    /// The last attempt as Phase-21 judges it: what may still happen to this execution.
    #[must_use]
    pub fn sandbox_context(&self) -> Option<SandboxContext> {
        let attempt = self.current_attempt()?;
        Some(SandboxContext {
            execution_id: String::from(self.loop_id()),
            instruction_id: String::from(self.context.instruction_envelope_hash()),
            attempt_number: i64::from(attempt.number),
            max_retries: i64::from(self.max_attempts),
            timeout_ms: self
                .timeout_ms
                .map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX)),
            timestamp: attempt.dispatched_at.to_string(),
        })
    }

    /// The fault of the last attempt, and the context in which Phase-21 judges it.
    #[must_use]
    pub fn judged_fault(&self) -> Option<(FaultReport, SandboxContext)> {
        let attempt = self.current_attempt()?;
        let fault = attempt.fault.as_ref()?;
        let report = FaultReport {
            fault_id: fault.fault_id.clone(),
            execution_id: String::from(self.loop_id()),
            fault_type: fault.fault_type,
            fault_message: fault.fault_message.clone(),
            occurred_at: fault.occurred_at.to_string(),
            attempt_number: i64::from(attempt.number),
        };
        Some((report, self.sandbox_context()?))
    }

    /// Returns how an EVALUATED loop ends when nothing more is done: the reason, and the fault
    /// where that is the reason. `None` in every other state.
    #[must_use]
    pub fn ending(&self) -> Option<(HaltReason, Option<ExecutionFaultType>)> {
        if self.state() != ExecutionLoopState::Evaluated {
            return None;
        }
        let attempt = self.current_attempt()?;
        match &attempt.fault {
            Some(fault) => Some((fault.ending(), Some(fault.fault_type))),
            None => Some((attempt.response.as_ref()?.ending(), None)),
        }
    }
}

impl AttemptFault {
    /// Without a decision a fault terminates.
    fn ending(&self) -> HaltReason {
        match self.outcome.as_ref().map(|outcome| outcome.decision) {
            Some(SandboxDecision::Retry) => HaltReason::FaultNotRetried,
            Some(SandboxDecision::Escalate) => HaltReason::FaultEscalated,
            Some(SandboxDecision::Terminate) | None => HaltReason::FaultTerminated,
        }
    }
}

impl AttemptResponse {
    /// Only what both phases find good has finished well.
    const fn ending(&self) -> HaltReason {
        match (self.response_decision, self.execution_decision) {
            (ResponseDecision::Accept, ExecutionDecision::Continue) => HaltReason::Completed,
            (ResponseDecision::Escalate, _) | (_, ExecutionDecision::Escalate) => {
                HaltReason::ResponseEscalated
            }
            _ => HaltReason::ResponseRejected,
        }
    }
}

/// A live loop that an event is about, as it was before, and the event's record.
#[derive(Clone, Copy)]
pub(crate) struct LoopSubject<'a> {
    pub(crate) entity: &'a ExecutionLoop,
    pub(crate) record: Record<'a>,
}

/// Permission for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryPermission<'a> {
    /// The fault after which Phase-21 permits one.
    pub(crate) fault: Option<&'a str>,
    /// The person's RETRY.
    pub(crate) decision: Option<&'a str>,
}

/// Barrier between a loop and its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier<'a> {
    /// A person is asked and has not answered.
    Open(&'a str),
    /// A person has to be asked first.
    NobodyAsked,
    /// A person decided otherwise.
    Decided(HumanDecision),
    /// Neither Phase-21 nor a person permits another attempt.
    NotPermitted,
}

impl ExecutionLoop {
    /// The request that waits for an answer.
    #[must_use]
    pub fn open_request(&self) -> Option<&HeldRequest> {
        self.decisions.requests.last().filter(|held| held.is_open())
    }

    /// The request with this id.
    #[must_use]
    pub fn request(&self, request_id: &str) -> Option<&HeldRequest> {
        self.decisions.requests.iter().find(|held| held.request_id() == request_id)
    }

    /// The same, to be changed.
    pub(crate) fn request_mut(&mut self, request_id: &str) -> Option<&mut HeldRequest> {
        self.decisions.requests.iter_mut().find(|held| held.request_id() == request_id)
    }

    /// The last request about the current attempt.
    #[must_use]
    pub fn attempt_request(&self) -> Option<&HeldRequest> {
        let last = self.decisions.requests.last()?;
        (last.context.attempt == self.attempt_count()).then_some(last)
    }

    /// Returns whether the loop is held: it is EVALUATED, and its terms say that a person decides.
    #[must_use]
    pub fn hold_applies(&self) -> bool {
        match (self.hold.policy, self.ending()) {
            (_, None) | (HoldPolicy::Never, _) => false,
            (HoldPolicy::After, Some(_)) => true,
            (HoldPolicy::OnFailure, Some((reason, _))) => reason != HaltReason::Completed,
        }
    }

    /// Returns what keeps the loop from ending as its last evaluation gives.
    pub(crate) fn completion_barrier(&self) -> Option<Barrier<'_>> {
        match self.attempt_request() {
            None if self.hold_applies() => Some(Barrier::NobodyAsked),
            None => None,
            Some(held) if held.is_open() => Some(Barrier::Open(held.request_id())),
            Some(held) => {
                let decision = held.decided()?.record.decision;
                (decision != HumanDecision::Continue).then_some(Barrier::Decided(decision))
            }
        }
    }

    /// Returns what allows another attempt, or what stands in its way.
    pub(crate) fn retry_permitted(&self) -> Result<RetryPermission<'_>, Barrier<'_>> {
        let fault = self.retry_permission();
        let within = self.sandbox_context().as_ref().is_some_and(enforce_retry_limit);
        match self.attempt_request() {
            Some(held) if held.is_open() => Err(Barrier::Open(held.request_id())),
            Some(held) => {
                match held.decided().map(|d| (d.record.decision, &d.record.decision_id)) {
                    Some((HumanDecision::Retry, id)) if within => {
                        Ok(RetryPermission { fault, decision: Some(id) })
                    }
                    Some((decision, _)) => Err(Barrier::Decided(decision)),
                    None => Err(Barrier::NotPermitted),
                }
            }
            None if fault.is_none() || !within => Err(Barrier::NotPermitted),
            None if self.hold_applies() && self.hold.retry_needs_person => {
                Err(Barrier::NobodyAsked)
            }
            None => Ok(RetryPermission { fault, decision: None }),
        }
    }

    /// The person's CONTINUE, by which the loop may be given its next instruction.
    pub(crate) fn continued(&self) -> Option<&str> {
        let decided = self.attempt_request()?.decided()?;
        let is_continued = decided.record.decision == HumanDecision::Continue;
        let is_evaluated = self.state() == ExecutionLoopState::Evaluated;
        (is_continued && is_evaluated).then_some(&*decided.record.decision_id)
    }

    /// Returns whether CONTINUE ends the loop: this program executes its commands, and has no other
    /// one. Whoever reports what became of an attempt may have more to do in the same loop.
    #[must_use]
    pub fn ends_with_continue(&self) -> bool {
        !self.current_attempt().is_some_and(Attempt::is_reported)
    }

    /// Returns what a dispatch refers to: nothing for the first attempt.
    pub(crate) fn dispatch_permission(&self) -> RetryPermission<'_> {
        let nothing = RetryPermission { fault: None, decision: None };
        if self.state() != ExecutionLoopState::Evaluated {
            return nothing;
        }
        self.retry_permitted().unwrap_or(nothing)
    }

    /// Returns whether the loop halted, or is about to, because nobody answered.
    pub(crate) fn is_timed_out(&self) -> bool {
        let decided = self.attempt_request().and_then(HeldRequest::decided);
        self.state() == ExecutionLoopState::Evaluated
            && decided.is_some_and(|d| d.outcome == HumanDecisionOutcome::Timeout)
    }

    /// The value of a field of the attempt that a request is about, where the table says that an
    /// override discloses it.
    #[must_use]
    pub fn disclosure(&self, attempt: u8, field: OverrideField) -> Option<Disclosed> {
        if get_visibility(field.name()) != EvidenceVisibility::OverrideRequired {
            return None;
        }
        let attempt = self.attempts.iter().find(|entry| entry.number == attempt)?;
        Some(match field {
            OverrideField::AttemptExit => Disclosed::Exit(attempt.response.as_ref()?.exit),
            OverrideField::AttemptResources => Disclosed::Resources(attempt.resources?),
            OverrideField::AttemptOutputs => Disclosed::Outputs(attempt.outputs.clone()),
            OverrideField::FaultMessage => {
                Disclosed::Message(attempt.fault.as_ref()?.fault_message.clone())
            }
        })
    }
}

impl ExecutionLoop {
    /// The next request about the current attempt: the first one, or the one that an ESCALATE to
    /// this target leads to. `entropy` are the digits of the request's id, and of the audit
    /// trail's where there is none yet. Whether its summary tells what was observed of the attempt
    /// is said by whoever asks: new questions do.
    pub(crate) fn next_request(
        &self,
        target: Option<&EscalationTarget>,
        at: Timestamp,
        entropy: &str,
        tells_observed: bool,
    ) -> Result<HumanDecisionRequested, RequestRefusal> {
        let summary = self.evidence_summary().ok_or(RequestRefusal::NoEvidence)?;
        let observed = summary.observed.filter(|_| tells_observed);
        let summary = EvidenceSummary { observed, ..summary };
        let context = self.request_context(target).ok_or(RequestRefusal::NoEvidence)?;
        let timeout = target.map_or(self.hold.decision_timeout_ms, |target| target.timeout_ms);
        let session_id = self.observer.as_ref().map_or("", |observer| &observer.session_id);
        let request = create_request(session_id, summary, timeout, at, entropy)?;
        let request = self.narrowed(request, target);
        let audit = self.decisions.audit.as_ref().map(|audit| audit.audit_id.as_str());
        Ok(HumanDecisionRequested {
            audit_id: audit.map_or_else(|| id("AUDIT-", entropy).into(), Text::from),
            warning_at: request.warning_at(),
            request_hash: injective_request_hash(&context, &request),
            request,
            context,
        })
    }

    /// The targets that were not asked about the current attempt yet.
    pub(crate) fn escalation_path(&self) -> Vec<&EscalationTarget> {
        let asked: Vec<&str> =
            self.attempt_requests().filter_map(|c| c.asked_of.as_deref()).collect();
        let open = |entry: &&EscalationTarget| !asked.contains(&entry.target.as_str());
        self.hold.escalation_targets.iter().filter(open).collect()
    }

    fn evidence_summary(&self) -> Option<EvidenceSummary> {
        let chain = self.chain.as_ref()?;
        let newest = chain.records.last()?;
        let attempt = self.current_attempt()?;
        let response = attempt.response.as_ref()?;
        let observed = ObservedAttempt {
            attempts_max: self.max_attempts,
            exit: response.exit,
            duration_ns: attempt.resources.map(|resources| resources.wall_ns),
            fault_type: attempt.fault.as_ref().map(|fault| fault.fault_type),
        };
        Some(EvidenceSummary {
            observation_point: newest.observation_point,
            evidence_type: newest.evidence_type,
            timestamp: newest.timestamp.as_str().into(),
            chain_length: chain.head.length,
            execution_state: self.state(),
            confidence_score: response.confidence,
            chain_hash: chain.head.head_hash.as_str().into(),
            observed: Some(observed),
        })
    }

    fn request_context(&self, target: Option<&EscalationTarget>) -> Option<RequestContext> {
        let newest = self.chain.as_ref()?.records.last()?;
        let before = self.attempt_requests().count();
        let from = self.decisions.requests.last().map(|held| held.request.request_id.clone());
        Some(RequestContext {
            loop_id: self.loop_id().into(),
            attempt: self.attempt_count(),
            command_line: self.command_line.as_str().into(),
            executor_claim: self.current_attempt()?.response.as_ref()?.response_type,
            self_hash: newest.self_hash.as_str().into(),
            prior_hash: newest.prior_hash.as_str().into(),
            escalation_depth: u8::try_from(before).unwrap_or(u8::MAX),
            asked_of: target.map(|target| target.target.clone()),
            escalated_from: from.filter(|_| before > 0),
        })
    }

    /// RETRY while attempts are left, ESCALATE while there is somebody who was not asked.
    fn narrowed(
        &self,
        request: HumanDecisionRequest,
        target: Option<&EscalationTarget>,
    ) -> HumanDecisionRequest {
        let is_path =
            |entry: &&EscalationTarget| target.is_none_or(|target| target.target != entry.target);
        let escalates = self.escalation_path().into_iter().any(|entry| is_path(&entry));
        let retries = self.attempt_count() < self.max_attempts;
        let request = if retries { request } else { request.without(HumanDecision::Retry) };
        if escalates { request } else { request.without(HumanDecision::Escalate) }
    }

    fn attempt_requests(&self) -> impl Iterator<Item = &RequestContext> {
        let attempt = self.attempt_count();
        let contexts = self.decisions.requests.iter().map(|held| &held.context);
        contexts.filter(move |context| context.attempt == attempt)
    }
}

/// Place of a request.
#[derive(Debug, Clone, Copy)]
pub enum RequestPlace<'a> {
    /// In a live loop.
    Live(&'a ExecutionLoop, &'a HeldRequest),
    /// Its loop settled.
    Closed(&'a HeldRequest),
}

impl<'a> RequestPlace<'a> {
    /// The request.
    #[must_use]
    pub const fn held(self) -> &'a HeldRequest {
        match self {
            Self::Live(_, held) | Self::Closed(held) => held,
        }
    }
}
