//! Group commit: many threads append, whoever waits first goes to the disk for all.
//!
//! The protocol, apart from the disk, so that every interleaving of it can be tried.
//!
//! # Invariants
//!
//! - One thread at a time syncs records or replaces HEAD: it holds the [`Token`].
//! - The token is taken only by a thread that has the log's state; who holds the token never waits
//!   for the state. So the owner of a turn may wait for the token.
//! - `durable` and `witnessed` only grow, and only after the call on the disk has returned.
//! - The first failure counts, and it is published before the token is given back.

use super::active::Point;
use super::error::PoisonCause;
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};

/// What a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// A sync that covers the sequence has returned.
    Durable(u64),
    /// HEAD names the sequence or a later one, durably.
    Witnessed(u64),
}

/// How far the log is on the disk, and who is there now.
#[derive(Debug)]
pub(super) struct GroupCommit {
    progress: Mutex<Progress>,
    changed: Condvar,
    /// The progress's `durable`, or behind it for a moment: to be had without its lock.
    durable: AtomicU64,
    /// Whether the progress holds a failure, or is about to: to be had without its lock.
    has_failed: AtomicBool,
}

#[derive(Debug)]
struct Progress {
    reached: Reached,
    failure: Option<PoisonCause>,
    is_token_taken: bool,
}

/// How far the log is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// Newest sequence known to be durable.
    pub(super) durable: u64,
    /// Place of the newest record known to be durable whose place is known.
    pub(super) point: Option<Point>,
    /// Newest sequence that HEAD was seen to name.
    pub(super) witnessed: u64,
}

/// What waiting came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// The goal is reached.
    Covered,
    /// It is not, and nobody is at the disk.
    Lead,
}

impl GroupCommit {
    pub(super) fn new(reached: Reached) -> Self {
        let progress = Progress { reached, failure: None, is_token_taken: false };
        Self {
            progress: Mutex::new(progress),
            changed: Condvar::new(),
            durable: AtomicU64::new(reached.durable),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn reached(&self) -> Reached {
        self.progress.lock().reached
    }

    /// Newest sequence known to be durable.
    pub(super) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    pub(super) fn failure(&self) -> Option<PoisonCause> {
        // Whoever is told `None` here was so before the failure, or asks at the same time.
        if self.has_failed() { self.progress.lock().failure.clone() } else { None }
    }

    /// Publishes a failure and gives the first one.
    pub(super) fn fail(&self, cause: PoisonCause) -> PoisonCause {
        let first = self.progress.lock().failure.get_or_insert(cause).clone();
        self.has_failed.store(true, Ordering::Release);
        self.changed.notify_all();
        first
    }

    /// Waits while somebody is at the disk and the goal is not reached.
    ///
    /// # Errors
    /// The first failure: what was not covered before it never will be.
    pub(super) fn join(&self, goal: Goal) -> Result<Joined, PoisonCause> {
        let mut progress = self.progress.lock();
        loop {
            if progress.reached.covers(goal) {
                return Ok(Joined::Covered);
            }
            if let Some(cause) = &progress.failure {
                return Err(cause.clone());
            }
            if !progress.is_token_taken {
                return Ok(Joined::Lead);
            }
            self.changed.wait(&mut progress);
        }
    }

    /// The right to go to the disk, unless somebody is there. Only for who has the log's state.
    pub(super) fn try_take(&self) -> Option<Token<'_>> {
        self.token_of(&mut self.progress.lock())
    }

    /// The right to go to the disk, once nobody is there. Only for who has the log's state.
    pub(super) fn take(&self) -> Token<'_> {
        let mut progress = self.progress.lock();
        loop {
            if let Some(token) = self.token_of(&mut progress) {
                return token;
            }
            self.changed.wait(&mut progress);
        }
    }

    fn token_of(&self, progress: &mut MutexGuard<'_, Progress>) -> Option<Token<'_>> {
        if progress.is_token_taken {
            return None;
        }
        progress.is_token_taken = true;
        Some(Token { commit: self })
    }

    /// Everything up to `sequence` is durable, and `point` is the newest record whose place is
    /// known: found by recovery or left so by another process, or synced by the token's holder.
    pub(super) fn is_durable(&self, sequence: u64, point: Option<Point>) {
        let reached = &mut self.progress.lock().reached;
        reached.durable = reached.durable.max(sequence);
        self.durable.store(reached.durable, Ordering::Release);
        let is_newer = |point: &Point| {
            reached.point.is_none_or(|known| known.chain.sequence <= point.chain.sequence)
        };
        if let Some(point) = point.filter(is_newer) {
            reached.point = Some(point);
        }
    }

    /// HEAD names `sequence`, durably.
    pub(super) fn is_witnessed(&self, sequence: u64) {
        let reached = &mut self.progress.lock().reached;
        reached.witnessed = reached.witnessed.max(sequence);
    }
}

impl Reached {
    pub(super) fn covers(&self, goal: Goal) -> bool {
        match goal {
            Goal::Durable(sequence) => sequence <= self.durable,
            Goal::Witnessed(sequence) => sequence <= self.witnessed,
        }
    }

    /// Newest sequence known to be durable whose place is known, which HEAD can name; 0 for none.
    pub(super) fn newest_placed(&self) -> u64 {
        self.point.map_or(0, |point| point.chain.sequence)
    }

    /// Whether the goal is reached without another sync. HEAD can name a record only where its
    /// place is known: what another process synced is synced again for that.
    pub(super) fn is_enough_for(&self, goal: Goal) -> bool {
        match goal {
            Goal::Durable(_) => self.covers(goal),
            Goal::Witnessed(sequence) => {
                self.point.is_some_and(|point| sequence <= point.chain.sequence)
            }
        }
    }
}

impl Goal {
    pub(super) fn sequence(self) -> u64 {
        match self {
            Self::Durable(sequence) | Self::Witnessed(sequence) => sequence,
        }
    }
}

/// The right to sync the active segment and to replace HEAD. Dropping it lets the next one go, and
/// wakes everybody who waits.
#[derive(Debug)]
#[must_use = "it is given back at once when it is not kept"]
pub(super) struct Token<'a> {
    commit: &'a GroupCommit,
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.commit.progress.lock().is_token_taken = false;
        self.commit.changed.notify_all();
    }
}
