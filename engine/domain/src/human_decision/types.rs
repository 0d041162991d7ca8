//! The types of Phase-32: by what means a person answers, what somebody who decides may see, and
//! what is recorded of a question and its answer.

use alloc::format;
use alloc::string::String;

use crate::core::codec::added;
use crate::core::confidence::Confidence;
use crate::core::hash::Digest;
use crate::core::payload::{List, Text};
use crate::core::text::{has_visible_character, is_blank};
use crate::core::time::Timestamp;
use crate::core::{bodies, closed_enum, recorded, recorded_of, scored};
use crate::evidence_capture::types::{EvidenceType, ObservationPoint};
use crate::execution_loop::types::{ExecutionLoopState, ExecutorResponseType, Exit};
use crate::human_decision::rules::{AnswerRefusal, SYSTEM_TIMEOUT, TIMEOUT_REASON, check_required};
use crate::human_decision::terms::warning_time;
use crate::sandbox_fault::types::ExecutionFaultType;

use EvidenceVisibility::{Hidden, OverrideRequired, Visible};

closed_enum! {
    /// Decision of a person.
    pub enum HumanDecision {
        /// Proceed to the next step. An evaluated loop has none left: it ends.
        Continue = "CONTINUE",
        /// Attempt the same step again.
        Retry = "RETRY",
        /// Terminate the execution.
        Abort = "ABORT",
        /// Defer to a higher authority.
        Escalate = "ESCALATE",
    }
}

closed_enum! {
    /// Outcome of an attempt to apply a decision.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionOutcome"))]
    pub enum HumanDecisionOutcome {
        /// The decision was applied.
        Applied = "APPLIED",
        /// The decision could not be applied.
        Rejected = "REJECTED",
        /// The decision awaits another one: it was passed on.
        Pending = "PENDING",
        /// Nobody decided in time: ABORT.
        Timeout = "TIMEOUT",
    }
}

closed_enum! {
    /// Visibility of a field of evidence.
    pub enum EvidenceVisibility {
        /// The person who decides.
        Visible = "VISIBLE",
        /// Nobody, in a decision view. The default.
        Hidden = "HIDDEN",
        /// The person who decides, once a higher authority allowed it on the record.
        OverrideRequired = "OVERRIDE_REQUIRED",
    }
}

closed_enum! {
    /// The fields that need an override: what Holdpoint derived from raw evidence, or what an
    /// executor said in its own words. Raw evidence itself can never be overridden.
    pub enum OverrideField {
        /// End of the attempt's process.
        AttemptExit = "attempt_exit",
        /// Resources that the attempt used.
        AttemptResources = "attempt_resources",
        /// Length and SHA-256 of the attempt's output streams.
        AttemptOutputs = "attempt_outputs",
        /// Message about the attempt's fault, control characters visible.
        FaultMessage = "attempt_fault",
    }
}

closed_enum! {
    /// Way by which an answer reached Holdpoint.
    pub enum AnswerChannel {
        /// Typed at a terminal.
        Terminal = "TERMINAL",
        /// Given with a flag that says there was no terminal.
        YesFlag = "YES_FLAG",
        /// Given by a program through the library or as a command.
        Api = "API",
        /// By a process of the user of that name, without a terminal.
        OsUser = "OS_USER",
        /// By a process that claimed the name; nothing proves it.
        Claim = "CLAIM",
    }
}

bodies! {
    /// By what means a person answered, as far as Holdpoint can tell. It is no proof that a person
    /// did: a program that runs as the same user can type as well.
    AnswerMeans {
        /// Channel by which the answer came.
        channel: AnswerChannel,
        /// Detail that is known besides (the terminal's device, the user's number), at most 256
        /// bytes.
        detail: Text,
    }
}

/// The table: the seed's fields, then ours. What is not here is HIDDEN.
///
/// | field | visibility | why |
/// |---|---|---|
/// | `observation_point` to `prior_hash` | VISIBLE | the seed's table; `chain_hash` is the head |
/// | `raw_data`, `executor_output` | HIDDEN | the seed: never displayed |
/// | `command_line` | VISIBLE | the instruction is what is decided on; redacted when recorded |
/// | `executor_claim` | VISIBLE | the seed: claims are shown, as CLAIMED only |
/// | `attempts_max`, `exit` | VISIBLE | numbers and members of closed sets alone |
/// | `duration_ns`, `fault_type` | VISIBLE | numbers and members of closed sets alone |
/// | `attempt_exit` | OVERRIDE_REQUIRED | as before the summary told how the process ended |
/// | `attempt_resources`, `attempt_outputs` | OVERRIDE_REQUIRED | derived from raw evidence |
/// | `attempt_fault` | OVERRIDE_REQUIRED | an executor's own words |
pub const VISIBILITY: [(&str, EvidenceVisibility); 21] = [
    ("observation_point", Visible),
    ("evidence_type", Visible),
    ("timestamp", Visible),
    ("chain_length", Visible),
    ("execution_state", Visible),
    ("confidence_score", Visible),
    ("chain_hash", Visible),
    ("self_hash", Visible),
    ("prior_hash", Visible),
    ("raw_data", Hidden),
    ("executor_output", Hidden),
    ("command_line", Visible),
    ("executor_claim", Visible),
    ("attempts_max", Visible),
    ("exit", Visible),
    ("duration_ns", Visible),
    ("fault_type", Visible),
    (OverrideField::AttemptExit.name(), OverrideRequired),
    (OverrideField::AttemptResources.name(), OverrideRequired),
    (OverrideField::AttemptOutputs.name(), OverrideRequired),
    (OverrideField::FaultMessage.name(), OverrideRequired),
];

/// Returns who may see the field with exactly this name. Unknown fields are HIDDEN.
#[must_use]
pub fn get_visibility(field_name: &str) -> EvidenceVisibility {
    VISIBILITY.iter().find(|(name, _)| *name == field_name).map_or(Hidden, |(_, visible)| *visible)
}

/// An executor's claim, marked as one: the only way in which a claim is shown.
#[must_use]
pub fn claimed(claim: ExecutorResponseType) -> String {
    format!("CLAIMED {claim}")
}

recorded! {
    /// The circumstances of a request. The person sees them, so a decision binds them as well.
    RequestContext {
        /// The loop that is decided on.
        loop_id: Text,
        /// The attempt that was evaluated, from 1.
        attempt: u8,
        /// The instruction as a person may read it: redacted, control characters visible.
        command_line: Text,
        /// Claim of the executor about the attempt. Data, not truth.
        executor_claim: ExecutorResponseType,
        /// The seed's hash of the newest evidence record, lower-case hex.
        self_hash: Text,
        /// The seed's hash of the record before it; empty for the first.
        prior_hash: Text,
        /// Number of times the question was passed on before: 0 for the first request of an
        /// attempt.
        escalation_depth: u8,
        /// Name of who is asked; `None`: the approvers of the hold, or anyone where it names none.
        asked_of: Option<Text>,
        /// The request whose ESCALATE led to this one.
        escalated_from: Option<Text>,
    }

    /// Observations of the attempt that is decided on, as the loop's own records have them. None of
    /// it is a text: nothing that a command put out can stand here.
    #[derive(Copy)]
    ObservedAttempt {
        /// Number of attempts there may be.
        attempts_max: u8,
        /// Exit of the process.
        exit: Exit,
        /// Time that it ran, in nanoseconds, by the clock of whoever ran it; `None`: not measured.
        duration_ns: Option<u64>,
        /// Type of the fault, where it failed.
        fault_type: Option<ExecutionFaultType>,
    }

    /// A request for a person's decision. Immutable once created.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionRequest"))]
    HumanDecisionRequest {
        /// `REQ-` and the entropy it was made with.
        request_id: Text,
        /// The observer's session.
        session_id: Text,
        /// Summary that the person sees.
        evidence_summary: EvidenceSummary,
        /// Decisions that the person may make, in the order of [`HumanDecision::ALL`]. ABORT is
        /// always one of them.
        allowed_decisions: List<HumanDecision>,
        /// Time when it was created.
        created_at: Timestamp,
        /// From when on no answer counts any more. A time, not a text: now is already too late.
        timeout_at: Timestamp,
        /// Decision that is made then: always ABORT.
        timeout_decision: HumanDecision,
    }
}

impl HumanDecisionRequest {
    /// The same request without some decision. ABORT cannot be taken away.
    #[must_use]
    pub fn without(mut self, decision: HumanDecision) -> Self {
        let kept = |d: &HumanDecision| *d != decision || *d == HumanDecision::Abort;
        self.allowed_decisions = self.allowed_decisions.iter().copied().filter(kept).collect();
        self
    }

    /// Returns whether this decision may be given. ABORT always may, whatever the list says.
    #[must_use]
    pub fn allows(&self, decision: HumanDecision) -> bool {
        decision == HumanDecision::Abort || self.allowed_decisions.contains(&decision)
    }

    /// Returns when the person is warned: at exactly 80 % of the time.
    #[must_use]
    pub fn warning_at(&self) -> Timestamp {
        warning_time(self.created_at, self.timeout_at)
    }

    /// Returns whether the deadline has passed: at the deadline it has.
    #[must_use]
    pub fn is_expired(&self, at: Timestamp) -> bool {
        at >= self.timeout_at
    }
}

recorded! {
    /// A decision, as the audit trail holds it. Immutable.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionRecord"))]
    HumanDecisionRecord {
        /// `DEC-` and the entropy it was made with.
        decision_id: Text,
        /// The request that it answers.
        request_id: Text,
        /// Name of who decided.
        human_id: Text,
        /// Decision that was made.
        decision: HumanDecision,
        /// Why. Required for RETRY and ESCALATE.
        reason: Option<Text>,
        /// To whom. Required for ESCALATE.
        escalation_target: Option<Text>,
        /// Time of the decision as ISO-8601 text, as the seed's hash covers it.
        timestamp: Text,
        /// The head of the evidence chain that was decided on.
        evidence_chain_hash: Text,
    }
}

impl HumanDecisionRecord {
    /// Returns whether nobody made this decision: it is the one of a timeout.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.human_id.as_str() == SYSTEM_TIMEOUT
            && self.decision == HumanDecision::Abort
            && self.reason.as_deref() == Some(TIMEOUT_REASON)
    }

    /// Checks whether the record has what its decision requires: a person (or the timeout), a
    /// reason, a target. A name that nobody can see is nobody's. A reason and a target that are not
    /// blank are there; that somebody can see them is asked when an answer is accepted.
    ///
    /// # Errors
    /// [`AnswerRefusal`] names what is missing.
    pub fn check(&self) -> Result<(), AnswerRefusal> {
        if !has_visible_character(&self.human_id) {
            return Err(AnswerRefusal::HumanMissing);
        }
        let (reason, target) = (self.reason.as_deref(), self.escalation_target.as_deref());
        check_required(self.decision, reason, target, |text| text.is_none_or(is_blank))
    }
}

recorded! {
    /// Place of a decision in its audit trail, and how it is chained.
    AuditEntry {
        /// The trail.
        audit_id: Text,
        /// The place in the trail, from 0.
        index: u64,
        /// The hash of all that the person saw: the request, and what overrides disclosed.
        shown_hash: Digest,
        /// The seed's hash of the decision before, lower-case hex; empty for the first.
        prior_hash: Text,
        /// The seed's hash of this decision, lower-case hex.
        self_hash: Text,
        /// Our own hash of this decision, which no other decision can share.
        injective_hash: Digest,
    }
}

recorded_of! {
    /// Summary of the evidence that a person is shown. There is no field for raw data.
    #[cfg_attr(feature = "schema", schemars(transform = crate::core::schema::name_score))]
    EvidenceSummary {
        /// The observation point of the newest record. A member of the closed set, so that no text
        /// of an executor can stand here.
        observation_point: ObservationPoint,
        /// The type of the newest record.
        evidence_type: EvidenceType,
        /// Time when the newest record was captured: ISO-8601, checked, as the evidence hash covers
        /// it.
        timestamp: Text,
        /// The number of records of the chain.
        chain_length: u64,
        /// The loop's state.
        execution_state: ExecutionLoopState,
        /// Phase-30's confidence, in basis points below 1.
        #[serde(rename = "confidence_basis_points")]
        confidence_score: Confidence,
        /// The chain's head: the seed's hash of the newest record.
        chain_hash: Text,
        /// Observations of the attempt. `None` in questions that were asked before the summary told
        /// it.
        #[serde(default, deserialize_with = "added")]
        observed: Option<ObservedAttempt>,
    }
}

scored! {
    EvidenceSummary {
        observation_point as "observation_point",
        evidence_type as "evidence_type",
        timestamp as "timestamp",
        chain_length as "chain_length",
        execution_state as "execution_state",
        confidence_score as "confidence_basis_points",
        chain_hash as "chain_hash",
        observed as "observed"
    } by confidence_score
}
