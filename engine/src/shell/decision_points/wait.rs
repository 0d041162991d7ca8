//! Waiting for the end of a round.

use super::super::engine::Engine;
use super::super::error::SubmitError;
use super::super::subscription::{Delivered, Subscription, SubscriptionError};
use super::super::waits::Left;
use crate::log::Storage;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointEvent, DecisionPointState};
use holdpoint_domain::{Event, Refusal};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The longest wait at a stretch: a wall clock that somebody sets is noticed within this time.
const STRETCH_MAX: Duration = Duration::from_secs(1);

/// A round, and how it ended.
#[must_use = "nothing is approved before the round says so"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The round as it is now.
    pub point: DecisionPoint,
    /// End of it, if it ended.
    pub outcome: WaitOutcome,
}

holdpoint_domain::worded_enum! {
    /// Outcome of a wait. Closed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WaitOutcome {
        /// Somebody answered.
        Answered = "answered",
        /// Nobody answered in time: the default was taken.
        Default = "default",
        /// Nobody answered in time: nothing was decided.
        Aborted = "aborted",
        /// It was taken back.
        Cancelled = "cancelled",
        /// Another decision point took its place.
        Superseded = "superseded",
        /// Guidance was given: another round took its place.
        Iterated = "iterated",
        /// The wait was over first, which changes nothing.
        StillPending = "still_pending",
    }
}

/// A wait came to nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The log cannot be followed.
    #[error(transparent)]
    Follow(Box<SubscriptionError>),
    /// The log answers nobody here: see [`Engine::adoption`].
    #[error(transparent)]
    Refused(Refusal),
    /// No round has this id, or none that is still remembered.
    #[error("there is no decision {decision_id}; `holdpoint decision list` shows what waits")]
    Unknown {
        /// Name that was given.
        decision_id: String,
    },
}

impl From<SubscriptionError> for WaitError {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::Closed => Self::Submit(SubmitError::Closed),
            error => Self::Follow(error.into()),
        }
    }
}

impl From<DecisionPointState> for WaitOutcome {
    fn from(state: DecisionPointState) -> Self {
        match state {
            DecisionPointState::Pending | DecisionPointState::Refining => Self::StillPending,
            DecisionPointState::Resolved => Self::Answered,
            DecisionPointState::Iterated => Self::Iterated,
            DecisionPointState::Expired => Self::Default,
            DecisionPointState::Aborted => Self::Aborted,
            DecisionPointState::Cancelled => Self::Cancelled,
            DecisionPointState::Superseded => Self::Superseded,
        }
    }
}

impl WaitOutcome {
    /// Returns what a round came to: one whose approval was revoked was taken back.
    #[must_use]
    pub fn of(point: &DecisionPoint) -> Self {
        if point.revoked.is_some() { Self::Cancelled } else { Self::from(point.state) }
    }
}

impl<S: Storage> Engine<S> {
    /// Waits until the round with this id ends, at most this long. Only its end wakes the wait: a
    /// vote or a reminder does not. What is due when its deadline comes is
    /// [recorded](Engine::expire); a wait that is over first changes nothing. Where the engine is
    /// closed meanwhile, it ends at once with [`SubmitError::Closed`], and the round stays open.
    ///
    /// # Errors
    /// See [`WaitError`].
    pub fn wait_for_decision(
        &self,
        decision_id: &str,
        timeout: Duration,
    ) -> Result<Waited, WaitError> {
        self.core().id.expect_outside()?;
        self.expect_adopted()?.map_err(WaitError::Refused)?;
        let until = Instant::now().checked_add(timeout);
        let _wait = self.wait_for(decision_id);
        // Followed before it is looked at: an answer in between is delivered.
        let mut following = self.follow_from_here()?;
        loop {
            let (point, left) = self.round_by_now(decision_id)?;
            let outcome = WaitOutcome::of(&point);
            let is_over = until.is_some_and(|until| until <= Instant::now());
            if outcome != WaitOutcome::StillPending || is_over {
                return Ok(Waited { point, outcome });
            }
            self.await_ending(&mut following, &point, left, until)?;
        }
    }

    /// Every record that is appended from now on.
    fn follow_from_here(&self) -> Result<Subscription<S>, SubscriptionError> {
        let newest = self.core().log.position().sequence;
        match self.subscribe(newest.saturating_add(1)) {
            // Others appended more since, and moved it to an archive.
            Err(SubscriptionError::Before { .. }) => self.subscribe(0),
            subscribed => subscribed,
        }
    }

    /// The round as it is, once what its deadline brings about is recorded; and how long it still
    /// has, where it ends by itself.
    fn round_by_now(&self, decision_id: &str) -> Result<(DecisionPoint, Option<Left>), WaitError> {
        let unknown = || WaitError::Unknown { decision_id: visible(decision_id).to_string() };
        let point = self.decision_point(decision_id)?.ok_or_else(unknown)?;
        let end = point.deadline();
        let left = end.map(|end| self.left_of(&point.decision_id, end)).transpose()?;
        if left.is_none_or(|left| self.left_now(left).is_some()) {
            return Ok((point, left));
        }
        self.expire()?;
        Ok((self.decision_point(decision_id)?.ok_or_else(unknown)?, left))
    }

    /// Blocks until the round ended, its deadline came, or the time of a stretch is over.
    fn await_ending(
        &self,
        following: &mut Subscription<S>,
        point: &DecisionPoint,
        left: Option<Left>,
        until: Option<Instant>,
    ) -> Result<(), SubscriptionError> {
        let left = left.map(|left| self.left_now(left).unwrap_or_default());
        let left = left.unwrap_or(STRETCH_MAX);
        let stretch = Instant::now() + left.min(STRETCH_MAX);
        let end = until.map_or(stretch, |until| until.min(stretch));
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            match following.next_timeout(rest)? {
                Some(other) if !ends(&other, &point.decision_id) && !rest.is_zero() => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Returns whether a record ends this round.
fn ends(delivered: &Delivered, decision_id: &str) -> bool {
    let event = &delivered.envelope.event;
    let is_ending = matches!(
        event,
        Event::DecisionPoint(DecisionPointEvent::GuidanceGiven(_))
            | Event::DecisionPoint(DecisionPointEvent::DecisionPointResolved(_))
            | Event::DecisionPoint(DecisionPointEvent::DefaultTaken(_))
            | Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(_))
            | Event::DecisionPoint(DecisionPointEvent::DecisionPointCancelled(_))
            | Event::DecisionPoint(DecisionPointEvent::DecisionPointSuperseded(_))
    );
    is_ending && event.decision_point() == Some(decision_id)
}
