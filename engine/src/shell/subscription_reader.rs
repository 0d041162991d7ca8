//! Reading a log from any sequence on, in bounded pieces, and knowing what of it is durable.

use super::error::SubmitError;
use super::rebuild::{Recorded, recorded};
use super::subscription::SubscriptionError;
use holdpoint_domain::core::hash::Digest;
use holdpoint_log_files::head::{read_head, read_witness};
use holdpoint_log_files::survey::io_error;
use holdpoint_log_files::{FollowError, Follower, LogReader, ReadStorage, Stop};
use holdpoint_log_format::{Lock, Record, names};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Reading pauses at the end of the batch that has one of these reached: at most so much, and one
/// batch more, is held for a slow consumer.
const HELD_RECORDS_MAX: usize = 256;
const HELD_BYTES_MAX: usize = 1 << 20;

/// A place in the log, what was read behind it, and what is proven durable.
pub(super) struct Reader<S> {
    storage: Arc<S>,
    place: Follower,
    held: UndeliveredBatches,
    /// Newest sequence that the log, or the engine, proves to be durable.
    proven: u64,
}

/// Whole batches that were read and not given yet.
struct UndeliveredBatches {
    records: VecDeque<Linked>,
    bytes: usize,
    /// Sequence that is due next: records before it are passed over.
    next: u64,
}

/// A record that was read, with its link in the chain.
pub(super) struct Linked {
    pub(super) record: Recorded,
    pub(super) link: Digest,
}

impl<S: ReadStorage> Reader<S> {
    /// Before the record `from`, or before the first one when `from` is 0.
    pub(super) fn at(storage: Arc<S>, from: u64) -> Result<Self, SubscriptionError> {
        let reader = LogReader::of(&*storage)?;
        let no_segment = || io::Error::new(io::ErrorKind::NotFound, "it has no segment");
        let first = reader.firsts().first().copied();
        let first = first.ok_or_else(|| io_error(names::SEGMENTS)(no_segment()))?;
        let next = if from == 0 { first } else { from };
        let holding = reader.holding(next).and_then(|at| reader.firsts().get(at));
        let segment = *holding.ok_or(SubscriptionError::Before { from, first })?;
        let place = Follower::at_segment(&*storage, segment)?;
        let proven = place.header.previous.sequence;
        let held = UndeliveredBatches { records: VecDeque::new(), bytes: 0, next };
        Ok(Self { storage, place, held, proven })
    }

    /// Sequence of the record that [`Reader::next`] gives next.
    pub(super) fn next_sequence(&self) -> u64 {
        self.held.records.front().map_or(self.held.next, |first| first.record.sequence)
    }

    /// The next record, whether it is durable or not, if it is written. The engine knows that
    /// everything up to `durable` is.
    pub(super) fn next_written(
        &mut self,
        durable: u64,
    ) -> Result<Option<Linked>, SubscriptionError> {
        self.proven = self.proven.max(durable);
        if !self.holds_some() {
            self.read_on()?;
        }
        Ok(self.held.take_first())
    }

    /// The next record, if it is durable. The engine knows that everything up to `durable` is; of
    /// what is behind, the log itself must tell.
    pub(super) fn next_durable(
        &mut self,
        durable: u64,
    ) -> Result<Option<Linked>, SubscriptionError> {
        self.proven = self.proven.max(durable);
        if !self.has_durable() {
            self.read_on()?;
            if !self.has_durable() && self.holds_some() {
                self.read_witnesses()?;
            }
        }
        Ok(if self.has_durable() { self.held.take_first() } else { None })
    }

    /// Returns whether a record is proven durable by what was read so far.
    pub(super) fn is_proven(&self, sequence: u64) -> bool {
        sequence <= self.proven
    }

    /// Returns whether something was read that was not given yet.
    pub(super) fn holds_some(&self) -> bool {
        !self.held.records.is_empty()
    }

    fn has_durable(&self) -> bool {
        self.held.records.front().is_some_and(|first| first.record.sequence <= self.proven)
    }

    /// Reads what is written, into the next segments too, until enough is held. What was proven
    /// durable before is there: where it cannot be read, it is damaged and not "not yet".
    fn read_on(&mut self) -> Result<(), SubscriptionError> {
        if self.held.is_full() {
            return Ok(());
        }
        let (held, mut batch) = (&mut self.held, OpenBatch::default());
        self.place.catch_up_while(&*self.storage, &mut |_, _, record| {
            let onward = batch.take(record, held.next);
            if !record.header.flags.more_follows() && batch.failure.is_none() {
                held.take(&mut batch, record.header.sequence);
            }
            if held.is_full() { ControlFlow::Break(()) } else { onward }
        })?;
        batch.failure.map_or(Ok(()), Err)?;
        if self.place.run.stop != Stop::Asked {
            self.place.expect(self.proven)?;
        }
        // What a seal ends was synced before it was written.
        let sealed = self.place.header.previous.sequence;
        self.proven = self.proven.max(sealed).max(self.place.run.mark);
        Ok(())
    }

    /// LOCK and HEAD say how far syncs reached; where they do not hold they say nothing.
    fn read_witnesses(&mut self) -> Result<(), FollowError> {
        let lock = read_witness(&*self.storage, names::LOCK).map_err(io_error(names::LOCK))?;
        let lock = lock.and_then(Result::ok).and_then(|bytes| Lock::decode(&bytes).ok());
        let head = read_head(&*self.storage)?.ok();
        let head = head.filter(|head| head.log == self.place.header.log);
        let by_lock = lock.map_or(0, |lock| lock.durable_sequence);
        let by_head = head.map_or(0, |head| head.newest_sequence);
        self.proven = self.proven.max(by_lock).max(by_head);
        Ok(())
    }
}

impl UndeliveredBatches {
    fn is_full(&self) -> bool {
        self.records.len() >= HELD_RECORDS_MAX || self.bytes >= HELD_BYTES_MAX
    }

    fn take_first(&mut self) -> Option<Linked> {
        let first = self.records.pop_front()?;
        if self.records.is_empty() {
            self.bytes = 0;
        }
        Some(first)
    }

    /// A batch whose last record is this one.
    fn take(&mut self, batch: &mut OpenBatch, last: u64) {
        self.next = self.next.max(last.saturating_add(1));
        self.records.extend(batch.records.drain(..));
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut batch.bytes));
    }
}

/// The records of a batch whose end was not seen yet.
#[derive(Default)]
struct OpenBatch {
    records: Vec<Linked>,
    bytes: usize,
    failure: Option<SubmitError>,
}

impl OpenBatch {
    fn take(&mut self, record: &Record<'_>, next: u64) -> ControlFlow<()> {
        if record.header.sequence < next {
            return ControlFlow::Continue(());
        }
        match recorded(record) {
            // What is opaque is passed over.
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(event)) => {
                let link = Digest::from_bytes(record.header.link.0);
                self.records.push(Linked { record: event, link });
                self.bytes = self.bytes.saturating_add(record.payload.len());
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::log::Level;
    use crate::shell::{EngineOptions, Origin};
    use holdpoint_domain::core::actor::Actor;
    use holdpoint_domain::log::{ConfigurationChanged, LogCommand};
    use holdpoint_domain::{ActorId, Command};
    use holdpoint_log_files::DirectoryStorage;

    #[test]
    fn no_more_than_a_bounded_part_is_held_however_much_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path().join("log"));
        let options = EngineOptions { level: Level::Os, ..EngineOptions::default() };
        let engine = Engine::open_with(storage.clone(), options).unwrap();
        let actor = ActorId { kind: Actor::Automation, id: "ci".to_string() };
        let origin = Origin { actor, correlation: "a story".to_string(), causation: None };
        let small =
            Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged { digest: None }));
        let count = 3 * HELD_RECORDS_MAX as u64;
        for _ in 0..count {
            engine.submit(&origin, (), &small).unwrap().accepted().unwrap();
        }
        let mut reader = Reader::at(Arc::new(storage), 0).unwrap();
        // What is sealed is durable, and what is behind is not.
        while let Some(read) = reader.next_durable(0).unwrap() {
            assert_eq!(reader.next_sequence(), read.record.sequence + 1);
            assert!(reader.held.records.len() <= HELD_RECORDS_MAX);
        }
        for sequence in reader.next_sequence()..=count {
            assert_eq!(reader.next_written(0).unwrap().unwrap().record.sequence, sequence);
            assert!(reader.held.records.len() <= HELD_RECORDS_MAX);
        }
        // As many more as the engine told of its indexes meanwhile.
        while reader.next_written(0).unwrap().is_some() {
            assert!(reader.held.records.len() <= HELD_RECORDS_MAX);
        }
    }
}
