//! What happened to decision points (seed "Decisions"). Kinds 192 to 223.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::core::actor::Principal;
use crate::core::events;
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::decision_point::types::{ActionBinding, Proposal, Response, Terms};

events! {
    /// What happened to a decision point.
    DecisionPointEvent of "decision_point" kinds 192..=223, {
        /// A question was asked.
        192 v 2 "decision_point.created"
            => DecisionPointCreated, before 1 => DecisionPointCreatedV1;
        /// The requester proposed anew.
        193 v 1 "decision_point.refined" => DecisionPointRefined;
        /// Guidance ended a round.
        194 v 1 "decision_point.guidance_given" => GuidanceGiven;
        /// Another round of a question.
        195 v 1 "decision_point.round_opened" => RoundOpened;
        /// Somebody voted.
        196 v 1 "decision_point.vote" => VoteCast;
        /// A round was answered.
        197 v 1 "decision_point.resolved" => DecisionPointResolved;
        /// Nobody answered in time: the default.
        198 v 1 "decision_point.default_taken" => DefaultTaken;
        /// Nobody answered in time: nothing.
        199 v 1 "decision_point.aborted" => DecisionPointAborted;
        /// A question was taken back.
        200 v 1 "decision_point.cancelled" => DecisionPointCancelled;
        /// Another question took its place.
        201 v 1 "decision_point.superseded" => DecisionPointSuperseded;
        /// Whoever is asked was reminded.
        202 v 1 "decision_point.reminded" => DecisionPointReminded;
        /// Somebody else was told.
        203 v 1 "decision_point.escalated" => DecisionPointEscalated;
        /// An answer came when the round was over.
        204 v 1 "decision_point.late_response" => LateResponseRecorded;
        /// An approval was spent.
        205 v 1 "decision_point.consumed" => ApprovalConsumed;
        /// An approval was not spent in time.
        206 v 1 "decision_point.approval_lapsed" => ApprovalLapsed;
        /// What waited may go on.
        207 v 1 "decision_point.released" => DependentsReleased;
    }
    /// The decision point that the event is about.
    pub fn decision_id(body) -> &str { &body.decision_id }
}

/// A question was asked: the first round of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointCreated {
    /// `DP-` and 32 digits.
    pub decision_id: Text,
    /// Who asks.
    pub by: Principal,
    /// What, and under which terms.
    pub terms: Box<Terms>,
    /// Whether only another user than the one who asks may answer.
    pub separation: bool,
}

/// [`DecisionPointCreated`] as it was recorded before there was separation.
#[derive(Debug, Deserialize)]
pub struct DecisionPointCreatedV1 {
    decision_id: Text,
    by: Principal,
    terms: Box<Terms>,
}

impl From<DecisionPointCreatedV1> for DecisionPointCreated {
    fn from(before: DecisionPointCreatedV1) -> Self {
        let DecisionPointCreatedV1 { decision_id, by, terms } = before;
        Self { decision_id, by, terms, separation: false }
    }
}

/// After guidance, the requester proposed anew: the round may be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointRefined {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// What is asked now.
    pub proposal: Box<Proposal>,
}

/// Guidance ended a round. The next one is opened in the same batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuidanceGiven {
    /// The round that ended.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// The guidance, 1 to 32,768 bytes.
    pub guidance: Text,
    /// What was said beside it.
    pub comment: Option<Text>,
    /// The round that follows.
    pub next_id: Text,
}

/// Another round of a question: it has the terms and the proposal of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundOpened {
    /// `DP-` and 32 digits.
    pub decision_id: Text,
    /// The round before.
    pub prior_id: Text,
    /// Which round, from 2 on.
    pub iteration: u8,
    /// When its time is over.
    pub expires_at: Option<Timestamp>,
}

/// Somebody voted, where a policy asks for votes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoteCast {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// For what.
    pub response: Response,
    /// What was said beside it.
    pub comment: Option<Text>,
}

/// A round was answered: by the one answer, or by the vote that made the quorum or rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointResolved {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// How.
    pub response: Response,
    /// What was said beside it.
    pub comment: Option<Text>,
}

/// Nobody answered in time: the default was taken, as the creator asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DefaultTaken {
    /// The round.
    pub decision_id: Text,
    /// The default.
    pub option_id: Text,
    /// When the time was over.
    pub expires_at: Timestamp,
}

/// Nobody answered in time: nothing was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointAborted {
    /// The round.
    pub decision_id: Text,
    /// When the time was over.
    pub expires_at: Timestamp,
}

/// A question was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointCancelled {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// Why, at most 4,096 bytes.
    pub reason: Option<Text>,
}

/// Another question took the place of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointSuperseded {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// The question that took its place.
    pub superseded_by: Text,
}

/// Whoever is asked was reminded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointReminded {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
}

/// Somebody else was told of the question. Who may answer it stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionPointEscalated {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// To whom, 1 to 256 bytes.
    pub to: Text,
    /// Why, at most 4,096 bytes.
    pub reason: Option<Text>,
}

/// An answer came when the round was over. It is kept, and never counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateResponseRecorded {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// What.
    pub response: Response,
    /// What was said beside it.
    pub comment: Option<Text>,
}

/// An approval was spent for the action that it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalConsumed {
    /// The round.
    pub decision_id: Text,
    /// Who.
    pub by: Principal,
    /// For what.
    pub binding: ActionBinding,
}

/// An approval was not spent in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalLapsed {
    /// The round.
    pub decision_id: Text,
    /// When its time was over.
    pub valid_until: Timestamp,
}

/// What waited for the answer may go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependentsReleased {
    /// The round.
    pub decision_id: Text,
    /// What waited.
    pub blocks: List<Text>,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    DecisionPointCreated { decision_id, by, terms, separation }
    DecisionPointRefined { decision_id, by, proposal }
    GuidanceGiven { decision_id, by, guidance, comment, next_id }
    RoundOpened { decision_id, prior_id, iteration, expires_at }
    VoteCast { decision_id, by, response, comment }
    DecisionPointResolved { decision_id, by, response, comment }
    DefaultTaken { decision_id, option_id, expires_at }
    DecisionPointAborted { decision_id, expires_at }
    DecisionPointCancelled { decision_id, by, reason }
    DecisionPointSuperseded { decision_id, by, superseded_by }
    DecisionPointReminded { decision_id, by }
    DecisionPointEscalated { decision_id, by, to, reason }
    LateResponseRecorded { decision_id, by, response, comment }
    ApprovalConsumed { decision_id, by, binding }
    ApprovalLapsed { decision_id, valid_until }
    DependentsReleased { decision_id, blocks }
}
