//! Events of decision points (seed "Decisions"). Kinds 192 to 223.

use alloc::boxed::Box;

use crate::core::actor::{Actor, NamedUsers, Principal};
use crate::core::clocks::EndedBy;
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::decision_point::types::{ActionBinding, OutcomeClaim, Proposal, Response, Terms};

events! {
    /// Event of a decision point.
    DecisionPointEvent of "decision_point" kinds 192..=223, {
        /// A question was asked.
        192 v 3 "decision_point.created"
            => DecisionPointCreated, before 1 + [0, 0],
            before 2 + [0];
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
        199 v 2 "decision_point.aborted"
            => DecisionPointAborted, before 1 + [0, 0];
        /// A question was taken back.
        200 v 1 "decision_point.cancelled" => DecisionPointCancelled;
        /// Another question took its place.
        201 v 1 "decision_point.superseded" => DecisionPointSuperseded;
        /// Those who are asked were reminded.
        202 v 1 "decision_point.reminded" => DecisionPointReminded;
        /// Somebody else was told.
        203 v 1 "decision_point.escalated" => DecisionPointEscalated;
        /// An answer came when the round was over.
        204 v 1 "decision_point.late_response" => LateResponseRecorded;
        /// An approval was spent.
        205 v 1 "decision_point.consumed" => ApprovalConsumed;
        /// An approval was not spent in time.
        206 v 2 "decision_point.approval_lapsed" => ApprovalLapsed, before 1 + [0, 0];
        /// The work that waited may go on.
        207 v 1 "decision_point.released" => DependentsReleased;
        /// The host of an approved action said what became of it.
        208 v 1 "decision_point.outcome_reported" => OutcomeReported;
        /// An approval was revoked before it was spent.
        209 v 1 "decision_point.approval_revoked" => ApprovalRevoked;
        /// 80 % of the time to answer were over.
        210 v 1 "decision_point.warned" => DecisionPointWarned;
    }
    /// The decision point that the event is about.
    pub fn decision_id(body) -> &str { &body.decision_id }
}

impl DecisionPointEvent {
    /// Returns whether Holdpoint itself ended a question or an approval: a log was continued
    /// without the records that may have ended it.
    pub(crate) fn is_end_by_system(&self) -> bool {
        if let Self::DecisionPointCancelled(body) = self {
            return body.by.kind == Actor::System;
        }
        let Self::ApprovalRevoked(body) = self else { return false };
        body.by.kind == Actor::System
    }

    /// Returns whether somebody accepted a proposal: under rules before number 6, `_accept`
    /// accepted the guidance.
    pub(crate) const fn accepts_proposal(&self) -> bool {
        if let Self::LateResponseRecorded(body) = self {
            return matches!(body.response, Response::Proposal(_));
        }
        matches!(self.counted_response(), Some(Response::Proposal(_)))
    }

    /// An answer that came in time.
    pub(crate) const fn counted_response(&self) -> Option<&Response> {
        if let Self::VoteCast(body) = self {
            return Some(&body.response);
        }
        let Self::DecisionPointResolved(body) = self else { return None };
        Some(&body.response)
    }

    /// The reading of the monotonic clock that the event states.
    pub(crate) const fn steady(&self) -> Option<Timestamp> {
        if let Self::DecisionPointWarned(body) = self {
            return body.steady;
        }
        let Some((_, steady)) = self.clocks() else { return None };
        steady
    }

    /// The clock that ended a limit, and what the monotonic one gave; `None`: no limit ended.
    pub(crate) const fn clocks(&self) -> Option<(Option<EndedBy>, Option<Timestamp>)> {
        if let Self::DecisionPointAborted(body) = self {
            return Some((body.ended_by, body.steady));
        }
        let Self::ApprovalLapsed(body) = self else { return None };
        Some((body.ended_by, body.steady))
    }
}

recorded! {
    /// A question was asked: the first round of a chain.
    DecisionPointCreated {
        /// `DP-` and 32 digits.
        decision_id: Text,
        /// Principal who asks.
        by: Principal,
        /// The question and its terms.
        terms: Box<Terms>,
        /// True if only another user than the one who asks may answer.
        separation: bool,
        /// The approvers with the numbers that they had. `None` in records that were made before
        /// numbers were.
        people: Option<NamedUsers>,
    }
}

recorded! {
    /// After guidance, the requester proposed anew: the round may be answered.
    DecisionPointRefined {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Proposal that is asked now.
        proposal: Box<Proposal>,
    }

    /// Guidance ended a round. The next one is opened in the same batch.
    GuidanceGiven {
        /// The round that ended.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// The guidance, 1 to 32,768 bytes.
        guidance: Text,
        /// Comment beside the guidance.
        comment: Option<Text>,
        /// The round that follows.
        next_id: Text,
    }

    /// Another round of a question: it has the terms and the proposal of the one before.
    RoundOpened {
        /// `DP-` and 32 digits.
        decision_id: Text,
        /// The round before.
        prior_id: Text,
        /// The round, from 2 on.
        iteration: u8,
        /// Time when its time is over.
        expires_at: Option<Timestamp>,
    }

    /// Somebody voted, where a policy asks for votes.
    VoteCast {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// For what.
        response: Response,
        /// Comment beside the vote.
        comment: Option<Text>,
    }

    /// A round was answered: by the one answer, or by the vote that made the quorum or rejected.
    DecisionPointResolved {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Response that was given.
        response: Response,
        /// Comment beside the response.
        comment: Option<Text>,
    }

    /// Nobody answered in time: the default was taken, as the terms say. The log's time and the
    /// own clock of whoever recorded it both said that the time was over.
    DefaultTaken {
        /// The round.
        decision_id: Text,
        /// The default.
        option_id: Text,
        /// Time when the time was over.
        expires_at: Timestamp,
    }

    /// Nobody answered in time: nothing was decided. A default was not taken where only one clock
    /// said that the time was over.
    DecisionPointAborted {
        /// The round.
        decision_id: Text,
        /// Time when the time was over, as the terms state it.
        expires_at: Timestamp,
        /// The clock that ended it. `None` in records that were made before clocks were told apart.
        ended_by: Option<EndedBy>,
        /// The own clock as the monotonic one continued it, where that ended it.
        steady: Option<Timestamp>,
    }

    /// 80 % of the time to answer were over, and nobody had answered.
    DecisionPointWarned {
        /// The round.
        decision_id: Text,
        /// Time when the warning was due; the record's own time is when somebody looked.
        due_at: Timestamp,
        /// The own clock as the monotonic one continued it, where that alone said so.
        steady: Option<Timestamp>,
    }

    /// A question was taken back.
    DecisionPointCancelled {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Why, at most 4,096 bytes.
        reason: Option<Text>,
    }

    /// Another question took the place of this one.
    DecisionPointSuperseded {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// The question that took its place.
        superseded_by: Text,
    }

    /// Those who are asked were reminded.
    DecisionPointReminded {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
    }

    /// Somebody else was told of the question. Who may answer it stays as it was.
    DecisionPointEscalated {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// To whom, 1 to 256 bytes.
        to: Text,
        /// Why, at most 4,096 bytes.
        reason: Option<Text>,
    }

    /// An answer came when the round was over. It is kept, and never counts.
    LateResponseRecorded {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Response that came late.
        response: Response,
        /// Comment beside the response.
        comment: Option<Text>,
    }

    /// An approval was spent for the action that it was given for.
    ApprovalConsumed {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// For what.
        binding: ActionBinding,
    }

    /// An approval was not spent in time.
    ApprovalLapsed {
        /// The round.
        decision_id: Text,
        /// Time when its time was over, as the terms state it.
        valid_until: Timestamp,
        /// The clock that ended it. `None` in records that were made before clocks were told apart.
        ended_by: Option<EndedBy>,
        /// The own clock as the monotonic one continued it, where that ended it.
        steady: Option<Timestamp>,
    }

    /// An approval was revoked before it was spent. The answer stays the answer.
    ApprovalRevoked {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Why, at most 4,096 bytes.
        reason: Option<Text>,
    }

    /// The work that waited for the answer may go on.
    DependentsReleased {
        /// The round.
        decision_id: Text,
        /// Work that waited.
        blocks: List<Text>,
    }

    /// The principal who spent an approval says what became of the action. It is a claim: it
    /// changes nothing of what was decided, and proves nothing.
    OutcomeReported {
        /// The round.
        decision_id: Text,
        /// Principal.
        by: Principal,
        /// Outcome that is claimed.
        claim: Box<OutcomeClaim>,
    }
}
