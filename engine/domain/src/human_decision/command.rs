//! Commands on questions to a person (Phase-32).

use alloc::string::String;

use crate::core::actor::Actor;
use crate::core::bodies;
use crate::core::ids::Entropy;
use crate::human_decision::types::{AnswerMeans, HumanDecision, OverrideField};

bodies! {
    /// See [`Command::RequestDecision`](crate::Command::RequestDecision). The request's id is
    /// `REQ-` and the entropy; the summary is made of the loop's own evidence, the deadline of the
    /// terms of its hold.
    RequestDecision {
        /// Which loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
    }

    /// See [`Command::AnswerDecision`](crate::Command::AnswerDecision). The decision's id is `DEC-`
    /// and the entropy. The record's envelope has to carry the same actor and human id.
    AnswerDecision {
        /// Which request.
        request_id: String,
        /// Its loop, where the caller wants it checked.
        #[serde(default)]
        loop_id: Option<String>,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// What kind of actor answers: only HUMAN may.
        actor: Actor,
        /// Who answers.
        human_id: String,
        /// What.
        decision: HumanDecision,
        /// Why, at most 4096 bytes. Required for RETRY and ESCALATE.
        #[serde(default)]
        reason: Option<String>,
        /// To whom. Required for ESCALATE, and a target of the hold.
        #[serde(default)]
        escalation_target: Option<String>,
        /// By what means.
        means: AnswerMeans,
    }

    /// See [`Command::ExpireDue`](crate::Command::ExpireDue). A timeout's decision has the id
    /// `DEC-` and the entropy.
    ExpireDue {
        /// Which request.
        request_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
    }

    /// See [`Command::OverrideVisibility`](crate::Command::OverrideVisibility).
    OverrideVisibility {
        /// In the view of which request.
        request_id: String,
        /// What kind of actor allows it: only HUMAN may.
        actor: Actor,
        /// Who allows it.
        human_id: String,
        /// Which field.
        field: OverrideField,
        /// Why, at most 4096 bytes.
        reason: String,
        /// By what means.
        means: AnswerMeans,
    }
}
