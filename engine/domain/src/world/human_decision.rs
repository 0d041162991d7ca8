//! The questions that a loop puts to a person, and what its hold point lets pass.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::ExecutionLoop;
use crate::event::{Exit, HaltReason, OutputExtent, ResourceUsage};
use crate::execution_loop::ExecutionLoopState;
use crate::hash::Digest;
use crate::human_decision::{
    AnswerMeans, AuditHead, DecisionOutcome, DecisionRecord, DecisionRequest, HoldPolicy,
    HumanDecision, OverrideField, RequestContext, shown_hash,
};
use crate::sandbox_fault::enforce_retry_limit;
use crate::time::Timestamp;

/// What a loop asked and what was decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// The head of the audit trail; `None` until somebody is asked.
    pub audit: Option<AuditHead>,
    /// The requests, first to last.
    pub requests: Vec<HeldRequest>,
}

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRequest {
    /// The request.
    pub request: DecisionRequest,
    /// What the person sees besides.
    pub context: RequestContext,
    /// The injective hash of both.
    pub request_hash: Digest,
    /// The sequence of the record that asked.
    pub requested_sequence: u64,
    /// The warning at 80 %, once given.
    pub warning: Option<Warning>,
    /// The fields that were allowed to be shown.
    pub overrides: Vec<Override>,
    /// What became of it; `None` while it is open.
    pub outcome: Option<RequestOutcome>,
    /// Answers that came too late.
    pub late_answers: u64,
}

/// A warning that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// When it was due.
    pub due_at: Timestamp,
    /// When somebody looked.
    pub recorded_at: Timestamp,
    /// The sequence of the record.
    pub sequence: u64,
}

/// A field that was allowed to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The field.
    pub field: OverrideField,
    /// Who allowed it.
    pub human_id: String,
    /// Why.
    pub reason: String,
    /// By what means.
    pub means: AnswerMeans,
    /// The hash of what was disclosed.
    pub disclosed: Digest,
    /// The sequence of the record.
    pub sequence: u64,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestOutcome {
    /// A person decided, or nobody did in time.
    Decided(Box<Decided>),
    /// The loop halted for another reason.
    Withdrawn {
        /// When.
        at: Timestamp,
        /// The sequence of the record.
        sequence: u64,
    },
}

/// A decision on the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The decision.
    pub record: DecisionRecord,
    /// By what means; `None` for a timeout.
    pub means: Option<AnswerMeans>,
    /// APPLIED, PENDING or TIMEOUT.
    pub outcome: DecisionOutcome,
    /// When it was recorded.
    pub at: Timestamp,
    /// The sequence of the record.
    pub sequence: u64,
    /// Our own hash of the decision.
    pub injective_hash: Digest,
}

/// A field's value, as an override discloses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Disclosed {
    /// How the process ended.
    Exit(Exit),
    /// What the attempt used.
    Resources(ResourceUsage),
    /// How much was put out.
    Outputs(Vec<OutputExtent>),
    /// What was said about the fault.
    Message(String),
}

/// What allows another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryPermission<'a> {
    /// The fault after which Phase-21 permits one.
    pub(crate) fault: Option<&'a str>,
    /// The person's RETRY.
    pub(crate) decision: Option<&'a str>,
}

/// What stands between a loop and its next step.
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

impl HeldRequest {
    /// The request's id.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request.request_id
    }

    /// Whether it waits for an answer.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    /// The decision, if one was made.
    #[must_use]
    pub fn decided(&self) -> Option<&Decided> {
        match &self.outcome {
            Some(RequestOutcome::Decided(decided)) => Some(decided),
            _ => None,
        }
    }

    /// What falls due next, if anything does: the warning, or the deadline.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let due = if self.warning.is_none() { self.warning_at() } else { self.request.timeout_at };
        self.is_open().then_some(due)
    }

    /// When the warning is due.
    #[must_use]
    pub fn warning_at(&self) -> Timestamp {
        self.request.warning_at()
    }

    /// The hash of all that the person sees by now.
    #[must_use]
    pub fn shown_hash(&self) -> Digest {
        let disclosures: Vec<Digest> = self.overrides.iter().map(|o| o.disclosed).collect();
        shown_hash(&self.request_hash, &disclosures)
    }
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

    /// The last request about the current attempt.
    #[must_use]
    pub fn attempt_request(&self) -> Option<&HeldRequest> {
        let last = self.decisions.requests.last()?;
        (last.context.attempt == self.attempt_count()).then_some(last)
    }

    /// Whether the loop is held: it is EVALUATED, and its terms say that a person decides.
    #[must_use]
    pub fn hold_applies(&self) -> bool {
        match (self.hold.policy, self.ending()) {
            (_, None) | (HoldPolicy::Never, _) => false,
            (HoldPolicy::After, Some(_)) => true,
            (HoldPolicy::OnFailure, Some((reason, _))) => reason != HaltReason::Completed,
        }
    }

    /// What keeps the loop from ending as its last evaluation gives.
    pub(crate) fn completion_barrier(&self) -> Option<Barrier<'_>> {
        match self.attempt_request() {
            None if self.hold_applies() => Some(Barrier::NobodyAsked),
            None => None,
            Some(held) if held.is_open() => Some(Barrier::Open(held.request_id())),
            Some(held) => match held.decided()?.record.decision {
                HumanDecision::Continue => None,
                other => Some(Barrier::Decided(other)),
            },
        }
    }

    /// What allows another attempt, or what stands in its way.
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

    /// What a dispatch refers to: nothing for the first attempt.
    pub(crate) fn dispatch_permission(&self) -> RetryPermission<'_> {
        let nothing = RetryPermission { fault: None, decision: None };
        match self.state() {
            ExecutionLoopState::Evaluated => self.retry_permitted().unwrap_or(nothing),
            _ => nothing,
        }
    }

    /// Whether the loop halted, or is about to, because nobody answered.
    pub(crate) fn is_timed_out(&self) -> bool {
        let decided = self.attempt_request().and_then(HeldRequest::decided);
        self.state() == ExecutionLoopState::Evaluated
            && decided.is_some_and(|d| d.outcome == DecisionOutcome::Timeout)
    }

    /// The value of a field of the attempt that a request is about.
    #[must_use]
    pub fn disclosure(&self, attempt: u8, field: OverrideField) -> Option<Disclosed> {
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
