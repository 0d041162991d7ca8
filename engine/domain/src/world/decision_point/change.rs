//! What each event does to a round. The rules were asked before.

use alloc::string::String;

use super::{Consumed, DecisionPoint, Ending, Escalation, GivenResponse};
use crate::decision_point::{DecisionPointState, Principal, ResolutionKind, Response};
use crate::event::{
    DecisionPointCancelled, DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined,
    DecisionPointResolved, DecisionPointSuperseded, DefaultTaken, GuidanceGiven,
    LateResponseRecorded, RoundOpened, Text, VoteCast,
};
use crate::time::Timestamp;

impl DecisionPoint {
    /// The first round of a question.
    pub(crate) fn created(
        body: &DecisionPointCreated,
        correlation: String,
        at: Timestamp,
        sequence: u64,
    ) -> Self {
        Self {
            decision_id: body.decision_id.clone(),
            chain_id: body.decision_id.clone(),
            prior_id: None,
            next_id: None,
            terms: (*body.terms).clone(),
            iteration: 1,
            guidance: None,
            requested_by: body.by.clone(),
            state: DecisionPointState::Pending,
            votes: alloc::vec::Vec::new(),
            ending: None,
            late_responses: alloc::vec::Vec::new(),
            late_total: 0,
            reminders: 0,
            escalation: None,
            consumed: None,
            lapsed_at: None,
            released_at: None,
            created_at: at,
            created_sequence: sequence,
            correlation,
            version: sequence,
        }
    }

    /// The round that guidance leads to: everything but what was answered is copied.
    pub(crate) fn next_round(&self, body: &RoundOpened, at: Timestamp, sequence: u64) -> Self {
        let given = self.ending.as_ref().and_then(|ending| ending.response.as_ref());
        let mut terms = self.terms.clone();
        terms.expires_at = body.expires_at;
        terms.supersedes = None;
        let created = DecisionPointCreated {
            decision_id: body.decision_id.clone(),
            by: self.requested_by.clone(),
            terms: terms.into(),
            separation: false,
        };
        Self {
            chain_id: self.chain_id.clone(),
            prior_id: Some(self.decision_id.clone()),
            iteration: self.iteration.saturating_add(1),
            guidance: given.and_then(Response::words).cloned(),
            state: DecisionPointState::Refining,
            ..Self::created(&created, self.correlation.clone(), at, sequence)
        }
    }

    /// When the next round's time is over, where it begins at a time.
    pub(crate) fn next_round_expires_at(&self, at: Timestamp) -> Option<Timestamp> {
        match self.terms.round_timeout_ms {
            Some(ms) => Some(at.plus_ms(ms)),
            None => self.terms.expires_at,
        }
    }

    pub(crate) fn refine(&mut self, body: &DecisionPointRefined) {
        self.terms.proposal = (*body.proposal).clone();
        // Whoever voted has not seen this proposal.
        self.votes.clear();
        self.state = DecisionPointState::Pending;
    }

    pub(crate) fn count_vote(&mut self, body: &VoteCast, at: Timestamp, sequence: u64) {
        let (by, response) = (body.by.clone(), body.response.clone());
        self.votes.push(GivenResponse {
            by,
            response,
            comment: body.comment.clone(),
            at,
            sequence,
        });
    }

    pub(crate) fn resolve(&mut self, body: &DecisionPointResolved, at: Timestamp, sequence: u64) {
        let kind = match &body.response {
            Response::Option(_) => ResolutionKind::Option,
            Response::Text(_) | Response::Guidance(_) => ResolutionKind::Text,
            Response::Accept => ResolutionKind::Accept,
        };
        self.state = DecisionPointState::Resolved;
        self.ending = Some(Ending {
            kind: Some(kind),
            response: Some(body.response.clone()),
            by: Some(body.by.clone()),
            comment: body.comment.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn guide(&mut self, body: &GuidanceGiven, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Iterated;
        self.next_id = Some(body.next_id.clone());
        self.ending = Some(Ending {
            response: Some(Response::Guidance(body.guidance.clone())),
            by: Some(body.by.clone()),
            comment: body.comment.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn take_default(&mut self, body: &DefaultTaken, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Expired;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Default),
            default_taken: Some(body.option_id.clone()),
            ended_at: body.expires_at,
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn abort(&mut self, expires_at: Timestamp, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Aborted;
        let kind = Some(ResolutionKind::Abort);
        self.ending = Some(Ending { kind, ended_at: expires_at, ..Ending::at(at, sequence) });
    }

    pub(crate) fn cancel(&mut self, body: &DecisionPointCancelled, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Cancelled;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Cancel),
            by: Some(body.by.clone()),
            comment: body.reason.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn supersede(
        &mut self,
        body: &DecisionPointSuperseded,
        at: Timestamp,
        sequence: u64,
    ) {
        self.state = DecisionPointState::Superseded;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Supersede),
            by: Some(body.by.clone()),
            superseded_by: Some(body.superseded_by.clone()),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn escalate(&mut self, body: &DecisionPointEscalated, at: Timestamp) {
        let count = self.escalation.as_ref().map_or(0, |before| before.count).saturating_add(1);
        let (to, by) = (body.to.clone(), body.by.clone());
        self.escalation = Some(Escalation { to, reason: body.reason.clone(), by, at, count });
    }

    pub(crate) fn keep_late(&mut self, body: &LateResponseRecorded, at: Timestamp, sequence: u64) {
        self.late_total = self.late_total.saturating_add(1);
        if self.late_responses.len() < crate::decision_point::MAX_LATE_RESPONSES {
            let (by, response) = (body.by.clone(), body.response.clone());
            let comment: Option<Text> = body.comment.clone();
            self.late_responses.push(GivenResponse { by, response, comment, at, sequence });
        }
    }

    pub(crate) fn consume(&mut self, by: &Principal, at: Timestamp, sequence: u64) {
        self.consumed = Some(Consumed { by: by.clone(), at, sequence });
    }
}

impl Ending {
    /// An end at the time of its record.
    fn at(at: Timestamp, sequence: u64) -> Self {
        Self {
            kind: None,
            response: None,
            default_taken: None,
            by: None,
            comment: None,
            superseded_by: None,
            ended_at: at,
            recorded_at: at,
            sequence,
        }
    }
}
