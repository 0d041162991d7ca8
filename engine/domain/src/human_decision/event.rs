//! Events of questions put to a person (seed Phase-32). Kinds 128 to 159.

use crate::core::clocks::EndedBy;
use crate::core::codec::Before;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::human_decision::types::{
    AnswerMeans, AuditEntry, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord,
    HumanDecisionRequest, OverrideField, RequestContext,
};

events! {
    /// Event of a question to a person.
    HumanDecisionEvent of "human_decision" kinds 128..=159, {
        /// A person is asked.
        128 v 2 "human_decision.requested"
            => HumanDecisionRequested in Box, before 1 => HumanDecisionRequestedV1;
        /// A field was allowed to be shown.
        129 v 1 "human_decision.visibility_overridden" => VisibilityOverridden;
        /// 80 % of the time are over.
        130 v 2 "human_decision.warned" => HumanDecisionWarned, before 1 + [0];
        /// A person answered.
        131 v 1 "human_decision.answered" => HumanDecisionAnswered in Box;
        /// Nobody answered: ABORT.
        132 v 2 "human_decision.timed_out"
            => HumanDecisionTimedOut in Box, before 1 + [0, 0];
        /// An answer came too late.
        133 v 1 "human_decision.late_answer_recorded" => LateAnswerRecorded;
        /// Nobody needs to answer any more.
        134 v 1 "human_decision.request_withdrawn" => RequestWithdrawn;
        /// The output of the command is shown at the prompt of an open question.
        135 v 1 "human_decision.output_shown" => OutputShown;
    }
}

impl HumanDecisionEvent {
    /// The loop that the event is about.
    #[must_use]
    pub fn loop_id(&self) -> &str {
        match self {
            Self::HumanDecisionRequested(body) => &body.context.loop_id,
            Self::VisibilityOverridden(body) => &body.loop_id,
            Self::HumanDecisionWarned(body) => &body.loop_id,
            Self::HumanDecisionAnswered(body) => &body.loop_id,
            Self::HumanDecisionTimedOut(body) => &body.loop_id,
            Self::LateAnswerRecorded(body) => &body.loop_id,
            Self::RequestWithdrawn(body) => &body.loop_id,
            Self::OutputShown(body) => &body.loop_id,
        }
    }

    /// The request that the event is about.
    #[must_use]
    pub fn request_id(&self) -> &str {
        match self {
            Self::HumanDecisionRequested(body) => &body.request.request_id,
            Self::VisibilityOverridden(body) => &body.request_id,
            Self::HumanDecisionWarned(body) => &body.request_id,
            Self::HumanDecisionAnswered(body) => &body.record.request_id,
            Self::HumanDecisionTimedOut(body) => &body.record.request_id,
            Self::LateAnswerRecorded(body) => &body.request_id,
            Self::RequestWithdrawn(body) => &body.request_id,
            Self::OutputShown(body) => &body.request_id,
        }
    }
}

recorded! {
    /// A person is asked. From here on the question times out by itself.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionRequested"))]
    HumanDecisionRequested {
        /// The audit trail that the decision will be appended to: `AUDIT-` and 128 random bits.
        audit_id: Text,
        /// The request, with the whole summary that the person sees.
        request: HumanDecisionRequest,
        /// Context that the person sees besides.
        context: RequestContext,
        /// Time when the person is warned: at exactly 80 % of the time.
        warning_at: Timestamp,
        /// The injective hash of everything above that the person sees.
        request_hash: Digest,
    }

}

/// [`HumanDecisionRequested`] as it was recorded before the summary told what was observed.
type HumanDecisionRequestedV1 = Before<HumanDecisionRequested>;

impl From<HumanDecisionRequestedV1> for HumanDecisionRequested {
    fn from(before: HumanDecisionRequestedV1) -> Self {
        before.0
    }
}

recorded! {
    /// A higher authority allowed a field to be shown to the person who decides.
    VisibilityOverridden {
        /// The loop.
        loop_id: Text,
        /// The request in whose view the field is shown.
        request_id: Text,
        /// The field.
        field: OverrideField,
        /// Name of who allowed it.
        human_id: Text,
        /// Why.
        reason: Text,
        /// By what means.
        means: AnswerMeans,
        /// The hash of the field's name and value: what was disclosed.
        disclosed: Digest,
    }

    /// 80 % of the time are over. Whoever waits shows it to the person.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionWarned"))]
    HumanDecisionWarned {
        /// The loop.
        loop_id: Text,
        /// The request.
        request_id: Text,
        /// Time when the warning was due; the record's own time is when somebody looked.
        due_at: Timestamp,
        /// The own clock as the monotonic one continued it, where only that says that it is due.
        steady: Option<Timestamp>,
    }

    /// A person answered in time. What follows from it is in the same batch.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionAnswered"))]
    HumanDecisionAnswered {
        /// The loop.
        loop_id: Text,
        /// The decision, as the seed records it.
        record: HumanDecisionRecord,
        /// By what means it was given.
        means: AnswerMeans,
        /// Outcome of it: APPLIED, or PENDING for one that was passed on.
        outcome: HumanDecisionOutcome,
        /// Its place in the audit trail.
        audit: AuditEntry,
    }

    /// Nobody answered in time: ABORT, reason TIMEOUT. The halt is in the same batch.
    #[cfg_attr(feature = "schema", schemars(rename = "DecisionTimedOut"))]
    HumanDecisionTimedOut {
        /// The loop.
        loop_id: Text,
        /// Time when the deadline was; the record's own time is when somebody looked.
        due_at: Timestamp,
        /// The decision, as the seed records it.
        record: HumanDecisionRecord,
        /// Its place in the audit trail.
        audit: AuditEntry,
        /// The clock that ended it. `None` in records that were made before clocks were told apart.
        ended_by: Option<EndedBy>,
        /// The own clock as the monotonic one continued it, where that ended it.
        steady: Option<Timestamp>,
    }

    /// An answer that came at the deadline or later. It is kept and never counts.
    LateAnswerRecorded {
        /// The loop.
        loop_id: Text,
        /// The request.
        request_id: Text,
        /// Name of who answered.
        human_id: Text,
        /// Decision that came late.
        decision: HumanDecision,
        /// Why.
        reason: Option<Text>,
        /// To whom.
        escalation_target: Option<Text>,
        /// By what means.
        means: AnswerMeans,
        /// The deadline that was missed.
        timeout_at: Timestamp,
    }

    /// The output of the command is shown at the prompt of an open question, outside of what is
    /// decided. The record names who asked for it.
    OutputShown {
        /// The loop.
        loop_id: Text,
        /// The request.
        request_id: Text,
    }

    /// The loop halted for another reason, so nobody needs to answer any more.
    RequestWithdrawn {
        /// The loop.
        loop_id: Text,
        /// The request.
        request_id: Text,
    }
}
