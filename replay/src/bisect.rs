//! The first record after which something holds of the state.
//!
//! Between a moment at which it does not hold and a later one at which it does, the middle is
//! asked about, again and again, as long as a batch lies between them. Each state is made from the
//! nearest one that is known: a snapshot, or the newest moment at which it did not hold. What was
//! found is *a* change. Where what is asked for begins to hold more than once, it need not be the
//! first.

use crate::finding::Finding;
use crate::read::ReadError;
use crate::rebuild::Until;
use crate::records::Line;
use crate::report::Head;
use crate::timeline::{Moment, Timeline};
use holdpoint_log_files::ReadStorage;
use serde::Serialize;
use std::collections::BTreeSet;
use thiserror::Error;

/// Maximum number of states in a row that are passed over before the search is given up.
const SKIPPED_MAX: u32 = 256;

/// Maximum number of records of the chain of causes that are told.
const CAUSES_MAX: usize = 16;

/// Maximum number of records of a batch that are told.
const LINES_MAX: u64 = 256;

/// Knowledge of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Holds,
    /// It does not.
    DoesNot,
    /// Nothing can be said of this one: ask about another.
    Skip,
}

/// Outcome of a bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It began to hold with a batch.
    Found(Box<FirstBatch>),
    /// It holds at the first moment already.
    HoldsFromTheStart {
        /// The record that the state is the one behind; `None`: the beginning.
        head: Option<Head>,
    },
    /// It does not hold at the last moment; it may have held before.
    DoesNotHoldAtTheEnd {
        /// The record that the state is the one behind.
        head: Option<Head>,
    },
    /// Nothing could be said of the states between these two.
    OnlySkippedLeft {
        /// The last record behind which it does not hold.
        after: u64,
        /// The first record behind which it is known to hold.
        up_to: u64,
    },
    /// Nothing could be said of the first or the last moment.
    EndSkipped {
        /// The record that its state is the one behind.
        head: Option<Head>,
    },
}

/// The batch with which it began to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstBatch {
    /// The last record of the batch: from here on it holds.
    pub record: u64,
    /// The last record behind which it does not hold; 0: none was there.
    pub after: u64,
    /// The records of the batch, the first ones if they are many. A batch is all or nothing: no
    /// state lies between them.
    pub records: Vec<Line>,
    /// Causes of it, the nearest caused it, the nearest cause first, as far as it is here.
    pub causes: Vec<Line>,
}

/// A bisection, with what it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bisected {
    /// Outcome of the bisection.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Number of states that were asked about.
    pub states: u64,
    /// Number of them that were made from a snapshot.
    pub states_from_snapshots: u64,
    /// Number of records that were applied for all of them.
    pub records_applied: u64,
    /// The newest record behind which the state was asked about; 0: none.
    #[serde(skip)]
    pub newest: u64,
    /// Why states that were asked about are not those of their places.
    #[serde(skip)]
    pub unread: Vec<Finding>,
    /// The records that state the snapshots which states that were asked about were made from.
    #[serde(skip)]
    pub stated_by: BTreeSet<u64>,
}

/// Why a bisection has no outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BisectError<E> {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The one who is asked cannot answer.
    #[error("about the state after record {after}: {source}")]
    Asking {
        /// The record that the state is the one behind.
        after: u64,
        /// Why not.
        source: E,
    },
}

/// Finds the batch with which something began to hold, between two places, of which the first lies
/// before the second. `entity` is watched if it is given; no snapshot is then used.
///
/// # Errors
/// [`BisectError`]: the log cannot be read, or `ask` cannot answer.
pub fn bisect<S: ReadStorage, E>(
    line: &Timeline<'_, S>,
    (from, to): (Until, Until),
    entity: Option<&str>,
    ask: &mut dyn FnMut(&Moment) -> Result<Answer, E>,
) -> Result<Bisected, BisectError<E>> {
    let first = match entity {
        Some(entity) => line.at_watching(from, entity)?,
        None => line.at(from)?,
    };
    let (states, states_from_snapshots, records_applied, newest) = (0, 0, 0, 0);
    let (unread, stated_by) = (Vec::new(), BTreeSet::new());
    let mut search = Search {
        line,
        ask,
        states,
        states_from_snapshots,
        records_applied,
        newest,
        unread,
        stated_by,
    };
    let outcome = search.run(first, to)?;
    Ok(Bisected {
        outcome,
        states: search.states,
        states_from_snapshots: search.states_from_snapshots,
        records_applied: search.records_applied,
        newest: search.newest,
        unread: search.unread,
        stated_by: search.stated_by,
    })
}

type Ask<'a, E> = dyn FnMut(&Moment) -> Result<Answer, E> + 'a;

struct Search<'a, 's, S, E> {
    line: &'a Timeline<'s, S>,
    ask: &'a mut Ask<'a, E>,
    states: u64,
    states_from_snapshots: u64,
    records_applied: u64,
    newest: u64,
    unread: Vec<Finding>,
    stated_by: BTreeSet<u64>,
}

impl<S: ReadStorage, E> Search<'_, '_, S, E> {
    fn run(&mut self, first: Moment, to: Until) -> Result<Outcome, BisectError<E>> {
        match self.answer(&first)? {
            Answer::DoesNot => {}
            Answer::Holds => return Ok(Outcome::HoldsFromTheStart { head: first.head() }),
            Answer::Skip => return Ok(Outcome::EndSkipped { head: first.head() }),
        }
        let last = self.line.onward(&first, to)?;
        match self.answer(&last)? {
            Answer::Holds => {}
            Answer::DoesNot => return Ok(Outcome::DoesNotHoldAtTheEnd { head: last.head() }),
            Answer::Skip => return Ok(Outcome::EndSkipped { head: last.head() }),
        }
        self.narrow(first, last.sequence())
    }

    fn answer(&mut self, moment: &Moment) -> Result<Answer, BisectError<E>> {
        self.states = self.states.saturating_add(1);
        self.newest = self.newest.max(moment.sequence());
        self.records_applied = self.records_applied.saturating_add(moment.records_applied);
        if moment.from_snapshot.is_some() {
            self.states_from_snapshots = self.states_from_snapshots.saturating_add(1);
        }
        self.unread.extend(moment.stopped_before.clone());
        self.stated_by.extend(moment.stated_by);
        let asked = (self.ask)(moment);
        asked.map_err(|source| BisectError::Asking { after: moment.sequence(), source })
    }

    /// It does not hold at `low`, and it holds behind the record `high`.
    ///
    /// As long as nothing is passed over, two questions at least halve what lies between them: one
    /// alone need not, where the middle lies inside a batch and the question is about that batch's
    /// begin or end. So `2 * log2(width)` questions are enough, whatever the batches are.
    fn narrow(&mut self, mut low: Moment, mut high: u64) -> Result<Outcome, BisectError<E>> {
        let mut skipped = 0;
        loop {
            let (moment, is_last) = self.between(&low, high, skipped)?;
            let Some(moment) = moment else {
                return match is_last {
                    true => Ok(Outcome::Found(Box::new(self.found(low.sequence(), high)?))),
                    false => Ok(Outcome::OnlySkippedLeft { after: low.sequence(), up_to: high }),
                };
            };
            match self.answer(&moment)? {
                Answer::Holds => (high, skipped) = (moment.sequence(), 0),
                Answer::DoesNot => (low, skipped) = (moment, 0),
                Answer::Skip => skipped += 1,
            }
        }
    }

    /// A state between two others, the one in the middle first. Where there is none, whether that
    /// is the end of the search; else too many were passed over.
    fn between(
        &self,
        low: &Moment,
        high: u64,
        skipped: u32,
    ) -> Result<(Option<Moment>, bool), ReadError> {
        let width = high.saturating_sub(low.sequence());
        if width <= 1 {
            return Ok((None, true));
        }
        let is_more_than_all = u64::from(skipped) >= width.saturating_mul(2);
        if skipped > SKIPPED_MAX || (skipped > 0 && is_more_than_all) {
            return Ok((None, false));
        }
        let at = low.sequence().saturating_add(scattered(width, skipped));
        let moment = self.line.onward(low, Until::Sequence(at))?;
        if moment.sequence() > low.sequence() {
            return Ok((Some(moment), false));
        }
        // The batch behind the lower one reaches beyond the middle.
        match moment.inside_batch_until.filter(|last| *last < high) {
            Some(last) => Ok((Some(self.line.onward(low, Until::Sequence(last))?), false)),
            None => Ok((None, true)),
        }
    }

    fn found(&self, after: u64, record: u64) -> Result<FirstBatch, ReadError> {
        let first = after.saturating_add(1);
        let records = self.line.lines(first, record.min(first.saturating_add(LINES_MAX - 1)))?;
        let causes = self.causes(records.iter().find_map(|line| line.causation))?;
        Ok(FirstBatch { record, after, records, causes })
    }

    fn causes(&self, nearest: Option<u64>) -> Result<Vec<Line>, ReadError> {
        let (mut causes, mut next) = (Vec::new(), nearest);
        while let Some(sequence) = next.filter(|_| causes.len() < CAUSES_MAX) {
            let Some(line) = self.line.lines(sequence, sequence)?.pop() else { break };
            // A cause comes before what it causes; anything else is no chain.
            next = line.causation.filter(|cause| *cause < sequence);
            causes.push(line);
        }
        Ok(causes)
    }
}

/// The middle of a width first; then, as more is passed over, places that lie between all before:
/// 1/4, 3/4, 1/8, 5/8, 3/8, 7/8 and so on.
fn scattered(width: u64, skipped: u32) -> u64 {
    let fraction = skipped.saturating_add(1).reverse_bits();
    let place = (u128::from(width) * u128::from(fraction)) >> u32::BITS;
    u64::try_from(place).unwrap_or(width).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_over_is_scattered_and_leaves_nothing_out() {
        let first: Vec<u64> = (0..7).map(|skipped| scattered(16, skipped)).collect();
        assert_eq!(first, [8, 4, 12, 2, 10, 6, 14]);
        for width in 1..200 {
            let tried = (0..2 * u32::try_from(width).unwrap()).map(|n| scattered(width, n));
            let tried: BTreeSet<u64> = tried.collect();
            assert!((1..width).all(|place| tried.contains(&place)), "{width}: {tried:?}");
        }
    }
}
