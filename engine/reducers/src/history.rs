//! A state at any record of a log that is only read.

use crate::base::body_of;
use crate::error::{ReducerError, ReducerFault, named};
use crate::event::ApplicationEvent;
use crate::fold::{Twin, decoded};
use crate::reducer::{Reducer, Scope};
use holdpoint_log_files::{DirectoryStorage, ReadStorage, Standing};
use holdpoint_replay::machine::{is_locked, this_boot};
use holdpoint_replay::{Filter, Line, Order, ReadOptions, Searched, Unproven, newest, search};
use json_patch::{Patch, diff};
use serde_json::Value;
use std::io;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::Path;

/// The kind of what the application recorded.
pub(crate) const RECORDED: &str = "application.recorded";

/// A reducer's states at any record of a log: rebuilt from the events each time, without a
/// snapshot and beside whoever writes. A stream's events are found by way of the indexes; one state
/// over all streams reads all of the log up to the record.
pub struct StateHistory<R: Reducer, S: ReadStorage = DirectoryStorage> {
    storage: S,
    is_locked: fn(&S) -> io::Result<bool>,
    reducer: PhantomData<fn() -> R>,
}

/// Outcome of a bisection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bisected {
    /// It began to hold with the batch that ends with this record.
    Found {
        /// The last record of the batch.
        record: u64,
    },
    /// It holds at the first record already.
    HoldsFromTheStart,
    /// It does not hold at the last record; it may have held before.
    DoesNotHoldAtTheEnd,
}

impl<R: Reducer> StateHistory<R> {
    /// Opens the history of the log in a directory.
    #[must_use]
    pub fn of(directory: impl AsRef<Path>) -> Self {
        Self::of_storage(DirectoryStorage::new(directory.as_ref()), is_locked)
    }
}

impl<R: Reducer, S: ReadStorage> StateHistory<R, S> {
    /// Opens the history of a log that lies elsewhere, as with its archives. `is_locked` says
    /// whether a living writer holds LOCK now.
    #[must_use]
    pub fn of_storage(storage: S, is_locked: fn(&S) -> io::Result<bool>) -> Self {
        Self { storage, is_locked, reducer: PhantomData }
    }

    /// The newest record; 0: there is none.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn newest(&self) -> Result<u64, ReducerError> {
        Ok(newest(&self.storage)?.unwrap_or(0))
    }

    /// The state of a stream behind a record. A batch counts whole or not at all: behind a record
    /// within one, the state is the one before it, and behind the end it is the newest.
    ///
    /// # Errors
    /// See [`ReducerError`]: what cannot be read, is damaged, withheld or unproven gives no state.
    pub fn state(&self, stream: &str, at: u64) -> Result<R::State, ReducerError> {
        Scope::Stream.check::<R>()?;
        self.state_of(stream, at)
    }

    /// The state over all streams behind a record.
    ///
    /// # Errors
    /// As [`StateHistory::state`].
    pub fn total(&self, at: u64) -> Result<R::State, ReducerError> {
        Scope::All.check::<R>()?;
        self.state_of("", at)
    }

    /// Returns what leads from a stream's state behind one record to the one behind another: a JSON
    /// Patch (RFC 6902). Of one state over all, the stream is not looked at.
    ///
    /// # Errors
    /// As [`StateHistory::state`].
    pub fn diff(&self, stream: &str, from: u64, to: u64) -> Result<Patch, ReducerError> {
        let before = self.json(stream, &self.kept_at(stream, from)?)?;
        let after = self.json(stream, &self.kept_at(stream, to)?)?;
        Ok(diff(&before, &after))
    }

    /// The first record behind which something holds of a stream's state, as JSON, between two
    /// records. The middle is asked about, again and again: where it begins to hold more than once,
    /// one of those is found. Of one state over all, the stream is not looked at. A panic of
    /// `holds` goes on to the caller.
    ///
    /// # Errors
    /// As [`StateHistory::state`].
    pub fn bisect(
        &self,
        stream: &str,
        (from, to): (u64, u64),
        holds: &mut dyn FnMut(&Value) -> bool,
    ) -> Result<Bisected, ReducerError> {
        if from > to {
            return Err(ReducerError::Backwards { from, to });
        }
        let (mut low, mut high) = (self.batch_end(from)?, self.batch_end(to)?);
        let mut before = self.kept_at(stream, low)?;
        if holds(&self.json(stream, &before)?) {
            return Ok(Bisected::HoldsFromTheStart);
        }
        if !holds(&self.json(stream, &self.kept_at(stream, high)?)?) {
            return Ok(Bisected::DoesNotHoldAtTheEnd);
        }
        // Behind `low` it does not hold, and behind `high` it does.
        let mut middle = self.batch_end(low.midpoint(high))?;
        while let Some(at) = self.between(low, middle, high)? {
            let state = self.fold(stream, low, at, Some(&before))?;
            if holds(&self.json(stream, &state)?) {
                high = at;
            } else {
                (low, before) = (at, state);
            }
            middle = self.batch_end(low.midpoint(high))?;
        }
        Ok(Bisected::Found { record: high })
    }

    /// A batch's end between two others, near the middle; `None`: there is none.
    fn between(&self, low: u64, middle: u64, high: u64) -> Result<Option<u64>, ReducerError> {
        if middle > low {
            return Ok(Some(middle));
        }
        let filter = Filter { first: Some(low.saturating_add(1)), ..Filter::default() };
        let found = self.first_batch_end(&filter, Order::OldestFirst)?;
        Ok(found.filter(|at| *at < high))
    }

    fn state_of(&self, stream: &str, at: u64) -> Result<R::State, ReducerError> {
        Ok(decoded::<R>(R::SCOPE.key(stream), Some(&self.kept_at(stream, at)?))?)
    }

    /// A state as it is kept.
    fn kept_at(&self, stream: &str, at: u64) -> Result<Vec<u8>, ReducerError> {
        self.fold(stream, 0, self.batch_end(at)?, None)
    }

    fn json(&self, stream: &str, kept: &[u8]) -> Result<Value, ReducerError> {
        serde_json::from_slice(kept).map_err(|error| {
            let (what, reason) = (named(R::SCOPE.key(stream)), error.to_string());
            ReducerFault::Encoding { reducer: R::NAME, what, reason }.into()
        })
    }

    /// The last record up to `at` that ends a batch; 0: none does.
    fn batch_end(&self, at: u64) -> Result<u64, ReducerError> {
        let filter = Filter { last: Some(at), ..Filter::default() };
        if at == 0 {
            return Ok(0);
        }
        Ok(self.first_batch_end(&filter, Order::NewestFirst)?.unwrap_or(0))
    }

    fn first_batch_end(&self, filter: &Filter, order: Order) -> Result<Option<u64>, ReducerError> {
        let mut end = None;
        self.checked(filter, order, &mut |line, _| {
            if line.ends_batch {
                end = Some(line.sequence);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(end)
    }

    /// The state that was kept behind `after`, with the events behind that up to `to`, which ends a
    /// batch: as it is kept.
    fn fold(
        &self,
        stream: &str,
        after: u64,
        to: u64,
        kept: Option<&[u8]>,
    ) -> Result<Vec<u8>, ReducerError> {
        let key = R::SCOPE.key(stream);
        let mut twin = Twin::<R>::of(key, after, kept)?;
        let filter = Filter {
            first: Some(after.saturating_add(1)),
            last: Some(to),
            kind: Some(RECORDED.to_string()),
            entity: (R::SCOPE == Scope::Stream).then(|| stream.to_string()),
            ..Filter::default()
        };
        if to > after {
            self.events(&filter, &mut |event| {
                if R::SCOPE == Scope::All || event.stream() == stream {
                    twin.take(key, event)?;
                }
                Ok(())
            })?;
        }
        Ok(twin.kept(key)?.1)
    }

    /// Shows the application's events among the records that are wanted.
    pub(crate) fn events(
        &self,
        filter: &Filter,
        take: &mut dyn FnMut(&ApplicationEvent<'_>) -> Result<(), ReducerError>,
    ) -> Result<(), ReducerError> {
        self.search(filter, Order::OldestFirst, &mut |line| {
            let sequence = line.sequence;
            let event = line.event.as_ref().ok_or(ReducerError::Withheld { sequence })?;
            if let (Some(body), Some(actor)) = (body_of(event), &line.actor) {
                let correlation = line.correlation.as_deref().unwrap_or_default();
                let (time, causation) = (line.time, line.causation);
                take(&ApplicationEvent { sequence, time, actor, correlation, causation, body })?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Looks for records. What is found wrong on the way leaves nothing to be told.
    pub(crate) fn search(
        &self,
        filter: &Filter,
        order: Order,
        take: &mut dyn FnMut(&Line) -> Result<ControlFlow<()>, ReducerError>,
    ) -> Result<(), ReducerError> {
        let mut failure = None;
        let mut visit = |line: Line, standing: Standing| {
            let taken = match standing {
                Standing::Proven | Standing::Unwitnessed => take(&line),
                Standing::Withheld => Err(ReducerError::Withheld { sequence: line.sequence }),
                Standing::Unproven | Standing::Damaged | Standing::Archived => {
                    Err(ReducerError::Unproven { sequence: line.sequence })
                }
            };
            taken.unwrap_or_else(|error| {
                failure = Some(error);
                ControlFlow::Break(())
            })
        };
        let searched = self.checked(filter, order, &mut visit)?;
        failure.map_or(Ok(()), Err)?;
        self.refuse_unproven(filter, &searched.reach().unproven_records)
    }

    /// A search whose reach holds no finding.
    fn checked(
        &self,
        filter: &Filter,
        order: Order,
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<Searched, ReducerError> {
        let is_locked = || (self.is_locked)(&self.storage);
        let options = ReadOptions::new(this_boot(), &is_locked);
        let searched = search(&self.storage, filter, order, options, &mut |_| {}, visit)?;
        match &searched {
            Searched::Whole(report) if report.verdict.is_of_damage() => {
                Err(ReducerError::NotIntact)
            }
            Searched::Part(part) if let Some(finding) = part.findings.first() => {
                Err(ReducerError::Finding(finding.to_string()))
            }
            Searched::Whole(_) | Searched::Part(_) => Ok(searched),
        }
    }

    /// Records of a salvaged log are unproven because others say so: that is known when all was
    /// read.
    fn refuse_unproven(&self, filter: &Filter, ranges: &[Unproven]) -> Result<(), ReducerError> {
        if ranges.is_empty() {
            return Ok(());
        }
        let mut found = None;
        self.checked(filter, Order::OldestFirst, &mut |line, _| {
            let is_in = |range: &Unproven| (range.first..=range.last).contains(&line.sequence);
            if ranges.iter().any(is_in) {
                found = Some(line.sequence);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        found.map_or(Ok(()), |sequence| Err(ReducerError::Unproven { sequence }))
    }
}
