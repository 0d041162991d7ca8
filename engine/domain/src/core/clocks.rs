//! The two clocks by which a limit is over: the log's time, which never goes back, and the own
//! clock of the machine that records. One machine whose clock runs ahead moves the log's time with
//! it; the time of every other machine's records then stands still until their clocks are there.
//! So a limit ends by whichever clock says so first, and a default needs both.
//!
//! | log's time | own clock | limit | default |
//! |---|---|---|---|
//! | over | over | ended, BOTH | taken |
//! | over | not over, or behind its maker's | ended, LOG_TIME | not taken |
//! | not over | over | ended, OWN_CLOCK | not taken |
//! | not over | not over, or behind its maker's | ended where a wait measured it, MONOTONIC | no |

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::core::closed_enum;
use crate::core::payload::Text;
use crate::core::time::Timestamp;

/// The moment of a record, as both clocks have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of the record: never before that of the record before it.
    pub at: Timestamp,
    /// The own clock of the machine that records, never ahead of `at`.
    pub clock: Timestamp,
    /// The own clock at the beginning of a wait, plus what the monotonic clock measured since.
    pub steady: Option<Timestamp>,
}

impl Moment {
    /// The moment of a record with this time, made where the own clock says this.
    #[must_use]
    pub fn new(at: Timestamp, clock: Timestamp) -> Self {
        Self { at, clock: clock.min(at), steady: None }
    }

    /// The moment at which a reader looks at a log whose newest record has this time.
    #[must_use]
    pub fn seen(newest: Timestamp, clock: Timestamp) -> Self {
        Self::new(newest.max(clock), clock)
    }

    /// The moment so many nanoseconds later, where nobody writes meanwhile.
    #[must_use]
    pub fn later(self, ns: u64) -> Self {
        let add =
            |time: Timestamp| Timestamp::from_nanoseconds(time.nanoseconds().saturating_add(ns));
        Self { steady: self.steady.map(add), ..Self::seen(self.at, add(self.clock)) }
    }

    /// The own clock, where it differs from the record's time: what the record states.
    #[must_use]
    pub fn stated_clock(self) -> Option<Timestamp> {
        (self.clock < self.at).then_some(self.clock)
    }
}

/// Both clocks agree.
impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self::new(at, at)
    }
}

closed_enum! {
    /// The clock that ended a limit.
    pub enum EndedBy {
        /// The log's time alone: the own clock was not there yet.
        LogTime = "LOG_TIME",
        /// The own clock alone: the newest record is ahead of it.
        OwnClock = "OWN_CLOCK",
        /// The log's time and the own clock.
        Both = "BOTH",
        /// The monotonic clock of a process that waited: the wall clock was set back meanwhile.
        Monotonic = "MONOTONIC",
    }
}

/// A moment on the scale of the times that one limit is stated in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    log: Timestamp,
    own: Timestamp,
    steady: Option<Steady>,
}

/// The monotonic clock's reading as it was stated, and on the scale of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steady {
    stated: Timestamp,
    scaled: Timestamp,
}

impl Times {
    /// The monotonic clock's, on the scale of the limit.
    fn steady(self) -> Option<Timestamp> {
        self.steady.map(|steady| steady.scaled)
    }

    /// The latest time that any clock gives: a limit is over that lies no later.
    #[must_use]
    pub fn latest(self) -> Timestamp {
        self.log.max(self.own).max(self.steady().unwrap_or_default())
    }

    /// The clock by which a limit is over; `None`: it is not.
    #[must_use]
    pub fn over(self, end: Timestamp) -> Option<EndedBy> {
        match (end <= self.log, end <= self.own) {
            (true, true) => Some(EndedBy::Both),
            (true, false) => Some(EndedBy::LogTime),
            (false, true) => Some(EndedBy::OwnClock),
            (false, false) => {
                self.steady().filter(|steady| end <= *steady).map(|_| EndedBy::Monotonic)
            }
        }
    }

    /// Returns how long a limit still has, in nanoseconds, where nobody writes meanwhile.
    #[must_use]
    pub fn left_ns(self, end: Timestamp) -> u64 {
        if self.over(end).is_some() {
            return 0;
        }
        end.nanoseconds_since(self.own.max(self.steady().unwrap_or_default()))
    }

    /// Returns what the monotonic clock gave, where it alone ended a limit.
    #[must_use]
    pub fn stated_steady(self, end: Timestamp) -> Option<Timestamp> {
        let steady = self.steady.filter(|_| self.over(end) == Some(EndedBy::Monotonic));
        steady.map(|steady| steady.stated)
    }
}

/// The times of the [`Moment`]: no limit was made before clocks were told apart.
impl From<Moment> for Times {
    fn from(Moment { at, clock, steady }: Moment) -> Self {
        let same = |stated| Steady { stated, scaled: stated };
        Self { log: at, own: clock, steady: steady.map(same) }
    }
}

/// Lead of the stated times of a limit over the clocks of whoever made it, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Offset {
    /// Ahead of the maker's own clock.
    own_ns: u64,
    /// Ahead of the log's time: only behind an accepted step of the clock.
    log_ns: u64,
}

/// A person accepted that the newest record is ahead of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct AcceptedStep {
    /// The time at which the records stand still.
    until: Timestamp,
    /// The newest own clock since: the log's time until then.
    newest: Timestamp,
}

/// The limits whose makers had another clock than their record's time, and the step of the clock
/// that a person accepted. Empty where no clock was ever wrong.
///
/// Behind an accepted step the time of records still stands still, for it never goes back. The
/// log's time by which limits are judged is then the newest own clock since, until the records'
/// time moves again: so limits that are made behind the step end, and take their defaults, when
/// they should. A limit from before the step keeps the times that it stated, and lies later than
/// the time at which the records stand still: else it has ended with the step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clocks {
    step: Option<AcceptedStep>,
    offsets: BTreeMap<Text, Offset>,
}

impl Clocks {
    /// The log's time at a moment.
    pub(crate) fn log_time(&self, now: Moment) -> Timestamp {
        match self.step {
            Some(step) if now.at <= step.until => step.newest.max(now.clock),
            _ => now.at,
        }
    }

    /// A moment on the scale of the times of a limit: of a question, or of an approval.
    pub(crate) fn times(&self, id: &str, now: Moment) -> Times {
        let Offset { own_ns, log_ns } = self.offsets.get(id).copied().unwrap_or_default();
        let later = |time: Timestamp, by| {
            Timestamp::from_nanoseconds(time.nanoseconds().saturating_add(by))
        };
        Times {
            log: later(self.log_time(now), log_ns),
            own: later(now.clock, own_ns),
            steady: now.steady.map(|stated| Steady { stated, scaled: later(stated, own_ns) }),
        }
    }

    /// A limit begins: its times count from the time of this record on.
    pub(crate) fn begin(&mut self, id: &str, now: Moment) {
        let own_ns = now.at.nanoseconds_since(now.clock);
        let log_ns = now.at.nanoseconds_since(self.log_time(now));
        let offset = Offset { own_ns, log_ns };
        match offset == Offset::default() {
            true => drop(self.offsets.remove(id)),
            false => drop(self.offsets.insert(id.into(), offset)),
        }
    }

    /// A limit of several times begins, or another time of one that lives: its times count from the
    /// farthest of the clocks of whoever made one, for a wrong clock ends a limit too early rather
    /// than too late.
    pub(crate) fn begin_another(&mut self, id: &str, now: Moment) {
        let before = self.offsets.get(id).copied().unwrap_or_default();
        self.begin(id, now);
        if let Some(before) = Some(before).filter(|before| *before != Offset::default()) {
            let offset = self.offsets.entry(id.into()).or_default();
            offset.own_ns = offset.own_ns.max(before.own_ns);
            offset.log_ns = offset.log_ns.max(before.log_ns);
        }
    }

    /// Returns whether no limit has a maker with another clock.
    pub(crate) fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The next round of a question has the end of the one before.
    pub(crate) fn go_on(&mut self, id: &str, next_id: &str) {
        if let Some(offset) = self.offsets.remove(id) {
            self.offsets.insert(next_id.into(), offset);
        }
    }

    /// A limit is no more.
    pub(crate) fn end(&mut self, id: &str) {
        if !self.offsets.is_empty() {
            self.offsets.remove(id);
        }
    }

    /// The limits whose makers had another clock.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.offsets.keys().map(Text::as_str)
    }

    /// A record was made.
    pub(crate) fn follow(&mut self, now: Moment) {
        let Some(step) = &mut self.step else { return };
        match now.at <= step.until {
            true => step.newest = step.newest.max(now.clock),
            false => self.step = None,
        }
    }

    /// A person accepted a step of the clock.
    pub(crate) fn step(&mut self, now: Moment) {
        self.step = now.stated_clock().map(|newest| AcceptedStep { until: now.at, newest });
    }
}
