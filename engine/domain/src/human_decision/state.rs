//! Memory of the questions that a loop puts to a person.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::hash::Digest;
use crate::core::time::Timestamp;
use crate::evidence_capture::types::{OutputExtent, ResourceUsage};
use crate::execution_loop::types::Exit;
use crate::human_decision::audit::{AuditHead, shown_hash};
use crate::human_decision::terms::Warning;
use crate::human_decision::types::{
    AnswerMeans, HumanDecisionOutcome, HumanDecisionRecord, HumanDecisionRequest, OverrideField,
    RequestContext,
};

/// Questions of a loop and their decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanDecisions {
    /// The head of the audit trail; `None` until somebody is asked.
    pub audit: Option<AuditHead>,
    /// The requests, first to last.
    pub requests: Vec<HeldRequest>,
}

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRequest {
    /// The request.
    pub request: HumanDecisionRequest,
    /// Context that the person sees besides.
    pub context: RequestContext,
    /// The injective hash of both.
    pub request_hash: Digest,
    /// The sequence of the record that asked.
    pub requested_sequence: u64,
    /// The warning at 80 %, once given.
    pub warning: Option<Warning>,
    /// The fields that were allowed to be shown.
    pub overrides: Vec<Override>,
    /// Outcome of it; `None` while it is open.
    pub outcome: Option<RequestOutcome>,
    /// Answers that came too late.
    pub late_answers: u64,
}

/// A field that was allowed to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The field.
    pub field: OverrideField,
    /// Person who allowed it.
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

/// End of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestOutcome {
    /// A person decided, or nobody did in time.
    Decided(Box<Decided>),
    /// The loop halted for another reason.
    Withdrawn {
        /// Time.
        at: Timestamp,
        /// The sequence of the record.
        sequence: u64,
    },
}

/// A decision on the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The decision.
    pub record: HumanDecisionRecord,
    /// By what means; `None` for a timeout.
    pub means: Option<AnswerMeans>,
    /// APPLIED, PENDING or TIMEOUT.
    pub outcome: HumanDecisionOutcome,
    /// Time when it was recorded.
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
    /// End of the process.
    Exit(Exit),
    /// Resources that the attempt used.
    Resources(ResourceUsage),
    /// Amounts of output.
    Outputs(Vec<OutputExtent>),
    /// Message about the fault.
    Message(String),
}

impl HeldRequest {
    /// The request's id.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request.request_id
    }

    /// Returns whether it waits for an answer.
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

    /// Returns what falls due next, if anything does: the warning, or the deadline.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let due = if self.warning.is_none() { self.warning_at() } else { self.request.timeout_at };
        self.is_open().then_some(due)
    }

    /// Returns the time when the warning is due.
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
