//! Commands on questions to a person (Phase-32).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::actor::Actor;
use crate::core::ids::Entropy;
use crate::human_decision::types::{AnswerMeans, HumanDecision, OverrideField};

/// See [`Command::RequestDecision`](crate::Command::RequestDecision). The request's id is `REQ-`
/// and the entropy; the summary is made of the loop's own evidence, the deadline of the terms of
/// its hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestDecision {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
}

/// See [`Command::AnswerDecision`](crate::Command::AnswerDecision). The decision's id is `DEC-` and
/// the entropy. The record's envelope has to carry the same actor and human id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerDecision {
    /// Which request.
    pub request_id: String,
    /// Its loop, where the caller wants it checked.
    #[serde(default)]
    pub loop_id: Option<String>,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// What kind of actor answers: only HUMAN may.
    pub actor: Actor,
    /// Who answers.
    pub human_id: String,
    /// What.
    pub decision: HumanDecision,
    /// Why, at most 4096 bytes. Required for RETRY and ESCALATE.
    #[serde(default)]
    pub reason: Option<String>,
    /// To whom. Required for ESCALATE, and a target of the hold.
    #[serde(default)]
    pub escalation_target: Option<String>,
    /// By what means.
    pub means: AnswerMeans,
}

/// See [`Command::ExpireDue`](crate::Command::ExpireDue). A timeout's decision has the id `DEC-`
/// and the entropy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpireDue {
    /// Which request.
    pub request_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
}

/// See [`Command::OverrideVisibility`](crate::Command::OverrideVisibility).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OverrideVisibility {
    /// In the view of which request.
    pub request_id: String,
    /// What kind of actor allows it: only HUMAN may.
    pub actor: Actor,
    /// Who allows it.
    pub human_id: String,
    /// Which field.
    pub field: OverrideField,
    /// Why, at most 4096 bytes.
    pub reason: String,
    /// By what means.
    pub means: AnswerMeans,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    RequestDecision { loop_id, entropy }
    AnswerDecision {
        request_id, loop_id, entropy, actor, human_id, decision, reason, escalation_target, means,
    }
    ExpireDue { request_id, entropy }
    OverrideVisibility { request_id, actor, human_id, field, reason, means }
}
