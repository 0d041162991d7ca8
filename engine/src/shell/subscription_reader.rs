//! Reading a log from any sequence on, in bounded pieces, and knowing what of it is durable.

use super::rebuild::{Recorded, recorded};
use super::subscription::SubscriptionError;
use holdpoint_domain::hash::Digest;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    Finding, FollowError, Follower, Mapped, Onward, Place, Problem, ReadFile, ReadStorage, Run,
    Stop, SurveyError,
};
use holdpoint_log_format::limits::LOCK_LENGTH;
use holdpoint_log_format::{Fault, Head, Lock, Record, Seal, SegmentHeader, names};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Reading pauses at the end of the batch that has one of these reached: at most so much, and one
/// batch more, is held for a slow consumer.
const HELD_RECORDS_MAX: usize = 256;
const HELD_BYTES_MAX: usize = 1 << 20;

/// More than HEAD has; a longer file is no HEAD.
const HEAD_LENGTH_MAX: usize = 4_096;

/// A place in the log, what was read behind it, and what is proven durable.
pub(super) struct Reader<S> {
    storage: Arc<S>,
    place: Follower,
    /// Sequence that is due next: records before it are passed over.
    next: u64,
    held: VecDeque<Linked>,
    held_bytes: usize,
    /// Newest sequence that the log, or the engine, proves to be durable.
    proven: u64,
}

/// A record that was read, with its link in the chain.
pub(super) struct Linked {
    pub(super) record: Recorded,
    pub(super) link: Digest,
}

impl<S: ReadStorage> Reader<S> {
    /// Before the record `from`, or before the first one when `from` is 0.
    pub(super) fn at(storage: Arc<S>, from: u64) -> Result<Self, SubscriptionError> {
        let mut segments = segments(&*storage)?;
        segments.sort_unstable();
        let first = segments.first().copied().ok_or_else(no_segment)?;
        let next = if from == 0 { first } else { from };
        let before = segments.iter().rev().find(|segment| **segment <= next).copied();
        let segment = before.ok_or(SubscriptionError::Before { from, first })?;
        let place = Follower::at_segment(&*storage, segment)?;
        let proven = place.header.previous.sequence;
        Ok(Self { storage, place, next, held: VecDeque::new(), held_bytes: 0, proven })
    }

    /// Sequence of the record that [`Reader::next`] gives next.
    pub(super) fn next_sequence(&self) -> u64 {
        self.held.front().map_or(self.next, |first| first.record.sequence)
    }

    /// The next record, whether it is durable or not, if it is written. The engine knows that
    /// everything up to `durable` is.
    pub(super) fn next_written(
        &mut self,
        durable: u64,
    ) -> Result<Option<Linked>, SubscriptionError> {
        self.proven = self.proven.max(durable);
        if self.held.is_empty() {
            self.read_on()?;
        }
        Ok(self.take_first())
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
            if !self.has_durable() && !self.held.is_empty() {
                self.read_witnesses()?;
            }
        }
        Ok(if self.has_durable() { self.take_first() } else { None })
    }

    /// Whether a record is proven durable by what was read so far.
    pub(super) fn is_proven(&self, sequence: u64) -> bool {
        sequence <= self.proven
    }

    /// Whether something was read that was not given yet.
    pub(super) fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    fn has_durable(&self) -> bool {
        self.held.front().is_some_and(|first| first.record.sequence <= self.proven)
    }

    fn take_first(&mut self) -> Option<Linked> {
        let first = self.held.pop_front()?;
        if self.held.is_empty() {
            self.held_bytes = 0;
        }
        Some(first)
    }

    fn is_full(&self) -> bool {
        self.held.len() >= HELD_RECORDS_MAX || self.held_bytes >= HELD_BYTES_MAX
    }

    /// Reads what is written, into the next segments too, until enough is held. What was proven
    /// durable before is there: where it cannot be read, it is damaged and not "not yet".
    fn read_on(&mut self) -> Result<(), SubscriptionError> {
        let expected = self.proven;
        while !self.is_full() {
            self.walk_on()?;
            let Stop::Seal(seal) = self.place.run.stop.clone() else { break };
            if !self.go_over(&seal)? {
                break;
            }
        }
        let run = &self.place.run;
        let has_all = run.stop == Stop::Asked || run.chain.sequence >= expected;
        if has_all { Ok(()) } else { Err(damaged(&self.place, expected).into()) }
    }

    /// Reads on in the segment.
    fn walk_on(&mut self) -> Result<(), SubscriptionError> {
        let file = segment_path(self.place.header.first_sequence());
        let mut window = self.open(&file)?;
        if self.place.run.record_offset == 0 {
            self.refresh_header(&mut window, &file)?;
        }
        let run = &self.place.run;
        let from = Run::from(run.chain, run.record_offset, run.end_offset);
        let header = self.place.header;
        let mut batch = Batch::default();
        let run = walk(&mut window, &header, from, &mut |_, record| self.visit(record, &mut batch))
            .map_err(|source| io_error(&file, source))?;
        batch.failure.map_or(Ok(()), Err)?;
        self.proven = self.proven.max(run.mark);
        self.place.run = run;
        Ok(())
    }

    /// Records of a batch are held back until one ends it.
    fn visit(&mut self, record: &Record<'_>, batch: &mut Batch) -> Onward {
        if record.header.sequence >= self.next {
            match recorded(record) {
                Ok(event) => batch.push(event, record),
                Err(error) => {
                    batch.failure = Some(error.into());
                    return Onward::Stop;
                }
            }
        }
        if record.header.flags.more_follows() {
            return Onward::Go;
        }
        self.hold(batch);
        if self.is_full() { Onward::Stop } else { Onward::Go }
    }

    fn hold(&mut self, batch: &mut Batch) {
        if let Some(last) = batch.records.last() {
            self.next = last.record.sequence.saturating_add(1);
        }
        self.held.extend(batch.records.drain(..));
        self.held_bytes = self.held_bytes.saturating_add(std::mem::take(&mut batch.bytes));
    }

    /// Goes over to the segment behind `seal`, if it is there.
    fn go_over(&mut self, seal: &Seal) -> Result<bool, SubscriptionError> {
        let first = seal.last.sequence.saturating_add(1);
        let file = segment_path(first);
        let opened = self.storage.open(&file).map_err(|source| io_error(&file, source))?;
        if opened.is_none() {
            return Ok(false);
        }
        let before = &self.place.header;
        let next = Follower::at_segment(&*self.storage, first)?;
        if next.header.log != before.log || next.header.previous != seal.last {
            let (expected, found) = (seal.last.link, next.header.previous.link);
            return Err(FollowError::Header { file, fault: Fault::Link { expected, found } }.into());
        }
        // What a seal ends was synced before it was written.
        self.proven = self.proven.max(seal.last.sequence);
        self.place = next;
        Ok(true)
    }

    /// A segment without a record may have been replaced by a larger one of the same name.
    fn refresh_header(
        &mut self,
        window: &mut Window<Mapped<S::File>>,
        file: &str,
    ) -> Result<(), SubscriptionError> {
        let read = window.header().map_err(|source| io_error(file, source))?;
        self.place.header = refreshed(self.place.header, read);
        Ok(())
    }

    /// LOCK and HEAD say how far syncs reached; where they cannot be read they say nothing.
    fn read_witnesses(&mut self) -> Result<(), SubscriptionError> {
        let lock = self.read_small(names::LOCK, LOCK_LENGTH)?;
        let head = self.read_small(names::HEAD, HEAD_LENGTH_MAX)?;
        let lock = lock.and_then(|bytes| Lock::decode(&bytes).ok());
        let head = head.and_then(|bytes| Head::decode(&bytes).ok());
        let head = head.filter(|head| head.log == self.place.header.log);
        let by_lock = lock.map_or(0, |lock| lock.durable_sequence);
        let by_head = head.map_or(0, |head| head.newest_sequence);
        self.proven = self.proven.max(by_lock).max(by_head);
        Ok(())
    }

    fn read_small(&self, file: &str, length: usize) -> Result<Option<Vec<u8>>, SubscriptionError> {
        let opened = self.storage.open(file).map_err(|source| io_error(file, source))?;
        let Some(opened) = opened else { return Ok(None) };
        let mut bytes = vec![0; length];
        let read = opened.read_at(0, &mut bytes).map_err(|source| io_error(file, source))?;
        bytes.truncate(read);
        Ok(Some(bytes))
    }

    fn open(&self, file: &str) -> Result<Window<Mapped<S::File>>, SurveyError> {
        let opened = self.storage.open_mapped(file).map_err(|source| io_error(file, source))?;
        let gone = || io_error(file, io::Error::new(io::ErrorKind::NotFound, "it is gone"));
        Window::new(opened.ok_or_else(gone)?).map_err(|source| io_error(file, source))
    }
}

/// The records of a batch whose end was not seen yet.
#[derive(Default)]
struct Batch {
    records: Vec<Linked>,
    bytes: usize,
    failure: Option<SubscriptionError>,
}

impl Batch {
    fn push(&mut self, event: Recorded, record: &Record<'_>) {
        let link = Digest::from_bytes(record.header.link.0);
        self.records.push(Linked { record: event, link });
        self.bytes = self.bytes.saturating_add(record.payload.len());
    }
}

fn segments<S: ReadStorage>(storage: &S) -> Result<Vec<u64>, SubscriptionError> {
    let listed = storage.list(names::SEGMENTS);
    let listed = listed.map_err(|source| io_error(names::SEGMENTS, source))?;
    Ok(listed.iter().filter_map(|entry| names::parse_segment(&entry.name)).collect())
}

fn no_segment() -> SubscriptionError {
    io_error(names::SEGMENTS, io::Error::new(io::ErrorKind::NotFound, "it has no segment")).into()
}

fn refreshed(before: SegmentHeader, read: Result<SegmentHeader, Fault>) -> SegmentHeader {
    read.ok().filter(|header| header.previous == before.previous).unwrap_or(before)
}

fn damaged(place: &Follower, newest: u64) -> FollowError {
    let run = &place.run;
    let at = Place {
        file: segment_path(place.header.first_sequence()),
        offset: run.stop_offset,
        sequence: run.stop_sequence,
    };
    let first = run.chain.sequence.saturating_add(1);
    let problem = match &run.stop {
        Stop::Fault(fault) => Problem::Fault(fault.clone()),
        _ => Problem::BelowMark { first, last: newest },
    };
    FollowError::Damaged(Finding { place: at, problem })
}

fn io_error(file: &str, source: io::Error) -> SurveyError {
    SurveyError::Io { file: file.to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::log::Level;
    use crate::shell::{EngineOptions, Origin};
    use holdpoint_domain::Command;
    use holdpoint_domain::event::ConfigurationChanged;
    use holdpoint_domain::{ActorId, execution_loop::Actor};
    use holdpoint_log_files::DirectoryStorage;

    #[test]
    fn no_more_than_a_bounded_part_is_held_however_much_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path().join("log"));
        let options = EngineOptions { level: Level::Os, ..EngineOptions::default() };
        let engine = Engine::open_with(storage.clone(), options).unwrap();
        let actor = ActorId { kind: Actor::Automation, id: "ci".to_string() };
        let origin = Origin { actor, correlation: "a story".to_string(), causation: None };
        let small = Command::RecordConfiguration(ConfigurationChanged { digest: None });
        let count = 3 * HELD_RECORDS_MAX as u64;
        for _ in 0..count {
            engine.submit(&origin, &small).unwrap();
        }
        let mut reader = Reader::at(Arc::new(storage), 0).unwrap();
        // What is sealed is durable, and what is behind is not.
        while let Some(read) = reader.next_durable(0).unwrap() {
            assert_eq!(reader.next_sequence(), read.record.sequence + 1);
            assert!(reader.held.len() <= HELD_RECORDS_MAX);
        }
        for sequence in reader.next_sequence()..=count {
            assert_eq!(reader.next_written(0).unwrap().unwrap().record.sequence, sequence);
            assert!(reader.held.len() <= HELD_RECORDS_MAX);
        }
        // As many more as the engine told of its indexes meanwhile.
        while reader.next_written(0).unwrap().is_some() {
            assert!(reader.held.len() <= HELD_RECORDS_MAX);
        }
    }
}
