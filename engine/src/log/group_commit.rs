//! Group commit: many threads append, whoever waits first gathers and goes to the disk for all. The
//! end of a trip wakes whom it covers and one thread to gather for the next.
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
//! - One thread at a time gathers: it has the [`Gatherer`]. Everybody else waits for a trip.
//! - While somebody waits for a trip that has not begun, the token is taken, or somebody gathers,
//!   or was woken to gather and is on its way. So whoever stops gathering without a trip wakes one.

use super::active::Point;
use super::error::PoisonCause;
use crate::sync::crowd::{Condvar, Mutex, MutexGuard};
use crate::sync::{AtomicBool, AtomicU64, Ordering, thread};

/// Goal that a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// A sync that covers the sequence has returned.
    Durable(u64),
    /// HEAD names the sequence or a later one, durably.
    Witnessed(u64),
}

/// Looks that a gatherer takes, and yields between, for those who were acknowledged just before it.
const PATIENCE_MAX: u32 = if cfg!(feature = "model") { 2 } else { 64 };

/// Durable progress of the log, and the threads that are there now.
#[derive(Debug)]
pub(super) struct GroupCommit {
    progress: Mutex<Progress>,
    /// Threads that wait for a trip to the disk, by the parity of the trip's number: for the one
    /// that goes on and for the one after it. Whoever waits for a later one waits for the one
    /// after.
    trips: [Condvar; 2],
    /// Threads that wait for the token and have the log's state.
    is_free: Condvar,
    /// The progress's `durable`, or behind it for a moment: to be had without its lock.
    durable: AtomicU64,
    /// True if the progress holds a failure, or is about to: to be had without its lock.
    has_failed: AtomicBool,
}

#[derive(Debug)]
struct Progress {
    reached: Reached,
    failure: Option<PoisonCause>,
    is_gathering: bool,
    is_token_taken: bool,
    /// HEAD may have been renamed without its directory being synced.
    is_head_in_doubt: bool,
    /// Number of the trip that goes on, or went last.
    trip: u64,
    /// The newest sequence that it covers, if it comes to a sync.
    covers: u64,
    company: Company,
}

/// Threads that were acknowledged by the last trip and are about to append again: a thread that
/// gathers waits a moment for as many, and less and less where they do not come.
#[derive(Debug)]
struct Company {
    /// Threads that wait for a trip, by its parity.
    waiting: [u32; 2],
    /// Threads that the last trip let go.
    expected: u32,
    /// Threads that joined since.
    arrived: u32,
    patience: u32,
}

/// Progress of the log on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// Newest sequence known to be durable.
    pub(super) durable: u64,
    /// Place of the newest record known to be durable whose place is known.
    pub(super) point: Option<Point>,
    /// Newest sequence that HEAD was seen to name.
    pub(super) witnessed: u64,
}

/// Outcome of waiting.
#[derive(Debug)]
pub(super) enum Joined<'a> {
    /// The goal is reached.
    Covered,
    /// It is not, and nobody is at the disk or about to go there.
    Lead(Gatherer<'a>),
}

impl GroupCommit {
    pub(super) fn new(reached: Reached) -> Self {
        let company = Company { waiting: [0; 2], expected: 0, arrived: 0, patience: PATIENCE_MAX };
        let progress = Progress {
            reached,
            failure: None,
            is_gathering: false,
            is_token_taken: false,
            is_head_in_doubt: false,
            trip: 0,
            covers: 0,
            company,
        };
        Self {
            progress: Mutex::new(progress),
            trips: [Condvar::new(), Condvar::new()],
            is_free: Condvar::new(),
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

    /// Publishes a failure and gives the first one. Who is told of it finds the handle failed.
    pub(super) fn fail(&self, cause: PoisonCause) -> PoisonCause {
        let mut progress = self.progress.lock();
        let first = progress.failure.get_or_insert(cause).clone();
        self.has_failed.store(true, Ordering::Release);
        drop(progress);
        for trip in &self.trips {
            trip.notify_all();
        }
        first
    }

    /// Waits while somebody is at the disk, or gathers, and the goal is not reached.
    ///
    /// # Errors
    /// The first failure: what was not covered before it never will be.
    pub(super) fn join(&self, goal: Goal) -> Result<Joined<'_>, PoisonCause> {
        let mut progress = self.progress.lock();
        progress.company.arrived += 1;
        let mut awaited = 0;
        loop {
            if progress.reached.covers(goal) {
                // Woken to gather, and has no need to: another one who waits for that trip does.
                if awaited > progress.trip {
                    self.trip(awaited).notify_one();
                }
                return Ok(Joined::Covered);
            }
            if let Some(cause) = &progress.failure {
                return Err(cause.clone());
            }
            if !progress.is_token_taken && !progress.is_gathering {
                progress.is_gathering = true;
                return Ok(Joined::Lead(Gatherer { commit: self }));
            }
            let is_on_its_way = progress.is_token_taken && goal.sequence() <= progress.covers;
            awaited = progress.trip + u64::from(!is_on_its_way);
            self.wait_for(awaited, &mut progress);
        }
    }

    fn wait_for(&self, trip: u64, progress: &mut MutexGuard<'_, Progress>) {
        *progress.company.waiting_for(trip) += 1;
        self.trip(trip).wait(progress);
        *progress.company.waiting_for(trip) -= 1;
    }

    fn trip(&self, number: u64) -> &Condvar {
        let [even, odd] = &self.trips;
        if number.is_multiple_of(2) { even } else { odd }
    }

    /// The right to go to the disk, for what is appended up to `newest`, once nobody is there. Only
    /// for who has the log's state.
    pub(super) fn take(&self, newest: u64) -> Token<'_> {
        let mut progress = self.progress.lock();
        loop {
            if let Some(token) = self.token_of(&mut progress, newest) {
                return token;
            }
            self.is_free.wait(&mut progress);
        }
    }

    fn token_of(&self, progress: &mut MutexGuard<'_, Progress>, newest: u64) -> Option<Token<'_>> {
        if progress.is_token_taken {
            return None;
        }
        progress.is_token_taken = true;
        progress.trip += 1;
        progress.covers = newest;
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
        let progress = &mut self.progress.lock();
        progress.is_head_in_doubt = false;
        progress.reached.witnessed = progress.reached.witnessed.max(sequence);
    }

    /// Replacing HEAD failed behind its rename: what is shown under its name may not be durable.
    pub(super) fn doubt_head(&self) {
        self.progress.lock().is_head_in_doubt = true;
    }

    pub(super) fn is_head_in_doubt(&self) -> bool {
        self.progress.lock().is_head_in_doubt
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

    /// Returns whether the goal is reached without another sync. HEAD can name a record only where
    /// its place is known: what another process synced is synced again for that.
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

impl Company {
    fn waiting_for(&mut self, trip: u64) -> &mut u32 {
        let [even, odd] = &mut self.waiting;
        if trip.is_multiple_of(2) { even } else { odd }
    }

    /// A trip has ended: who waited for it goes, and who made it.
    fn is_let_go(&mut self, trip: u64) {
        self.expected = *self.waiting_for(trip) + 1;
        self.arrived = 0;
    }

    /// Returns whether as many are there as were let go.
    fn is_there(&mut self, patience: u32) -> bool {
        let is_there = self.arrived >= self.expected;
        if is_there {
            self.patience = (patience * 2).min(PATIENCE_MAX);
        }
        is_there
    }
}

/// The right to gather: to wait for others, and to take the token then. Dropping it lets somebody
/// else gather, and wakes one of those who wait for the next trip, unless that has begun: its end
/// wakes one then.
#[derive(Debug)]
#[must_use = "it is given back at once when it is not kept"]
pub(super) struct Gatherer<'a> {
    commit: &'a GroupCommit,
}

impl<'a> Gatherer<'a> {
    /// Waits a moment for those who are about to append again, so that they get their records into
    /// the same sync.
    pub(super) fn wait_for_company(&self) {
        let progress = &self.commit.progress;
        let patience = progress.lock().company.patience;
        for _ in 0..patience {
            if progress.lock().company.is_there(patience) {
                return;
            }
            thread::yield_now();
        }
        progress.lock().company.patience = (patience / 2).max(1);
    }

    /// The right to go to the disk, for what is appended up to `newest`, unless somebody is there.
    /// Only for who has the log's state.
    pub(super) fn try_take(self, newest: u64) -> Option<Token<'a>> {
        let mut progress = self.commit.progress.lock();
        self.commit.token_of(&mut progress, newest)
    }
}

impl Drop for Gatherer<'_> {
    fn drop(&mut self) {
        let mut progress = self.commit.progress.lock();
        progress.is_gathering = false;
        let next = (!progress.is_token_taken).then_some(progress.trip + 1);
        drop(progress);
        if let Some(next) = next {
            self.commit.trip(next).notify_one();
        }
    }
}

/// The right to sync the active segment and to replace HEAD. Dropping it lets the next one go, and
/// wakes who waited for this trip, and one of those who wait for the next: to gather for it.
#[derive(Debug)]
#[must_use = "it is given back at once when it is not kept"]
pub(super) struct Token<'a> {
    commit: &'a GroupCommit,
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        let mut progress = self.commit.progress.lock();
        let trip = progress.trip;
        progress.is_token_taken = false;
        progress.company.is_let_go(trip);
        drop(progress);
        self.commit.is_free.notify_all();
        self.commit.trip(trip).notify_all();
        self.commit.trip(trip + 1).notify_one();
    }
}
