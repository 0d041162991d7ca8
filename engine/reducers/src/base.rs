//! The newest snapshot that is believed, and the log behind it.

use crate::error::ReducerError;
use crate::event::ApplicationEvent;
use crate::fold::Fold;
use crate::reducer::Reducer;
use crate::snapshot::{Cache, Snapshot, SnapshotName, TRIED_MAX, list};
use crate::table::entries;
use holdpoint_domain::application::{ApplicationEvent as Recorded, ApplicationRecorded};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{Envelope, Event};
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::LogPosition;
use holdpoint_log_files::snapshot::place_of;
use holdpoint_log_files::{FollowError, Follower, LogReader, ReadFile};
use holdpoint_log_format::Record;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The kinds that are read: what the application recorded, and what is stated of reducers.
const KINDS: [u16; 2] = [224, 225];

/// Snapshot and changes: the states behind a place in the log.
pub(crate) struct States<R: Reducer, S: Storage> {
    pub(crate) place: Follower,
    pub(crate) fold: Fold<R>,
    pub(crate) base: Base<S::File>,
}

/// The newest snapshot, with what was read of it.
pub(crate) struct Base<F> {
    pub(crate) snapshot: Option<Snapshot<F>>,
    cache: Cache,
}

impl<F: ReadFile> Base<F> {
    fn new(snapshot: Option<Snapshot<F>>, cache_bytes: usize) -> Self {
        Self { snapshot, cache: Cache::new(cache_bytes) }
    }

    /// Another snapshot takes the place of this one.
    pub(crate) fn replace(&mut self, snapshot: Snapshot<F>) {
        self.snapshot = Some(snapshot);
        self.cache.clear();
    }

    /// A stream's state in the snapshot: the sequence of its last event, and its encoding.
    pub(crate) fn get(&mut self, key: &str) -> Result<Option<(u64, Vec<u8>)>, ReducerError> {
        let Some(snapshot) = &self.snapshot else { return Ok(None) };
        let Some(at) = snapshot.block_of(key) else { return Ok(None) };
        let block = self.cache.get(snapshot, at)?;
        let found = entries(&block).find(|kept| kept.stream == key);
        Ok(found.map(|kept| (kept.version, kept.state.to_vec())))
    }
}

/// Bounds of a reading.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of changed states, about, after which a snapshot is made.
    pub(crate) fold_bytes: usize,
    /// Bytes of blocks that are kept.
    pub(crate) cache_bytes: usize,
    /// True if events count that were taken over without proof.
    pub(crate) takes_unproven: bool,
}

impl<R: Reducer, S: Storage> States<R, S> {
    /// The states behind the newest record, or behind one that leads there: from the newest
    /// snapshot that is believed and not known to be broken, else from the log's first record.
    pub(crate) fn open(
        storage: &S,
        position: &LogPosition,
        bounds: Bounds,
        broken: &BTreeSet<u64>,
    ) -> Result<Self, ReducerError> {
        let known = list(storage, R::NAME).into_iter().rev();
        let known = known.filter(|it| it.version == R::VERSION && !broken.contains(&it.covers));
        let before = known.filter(|it| it.covers < position.newest.sequence);
        for named in before.take(TRIED_MAX) {
            if let Some(found) = Self::believed(storage, named, position, bounds)? {
                return Ok(found);
            }
        }
        let reader = LogReader::of(storage)?;
        let first = reader.firsts().first().copied().unwrap_or(1);
        if reader.anchor() > 0 {
            return Err(ReducerError::BeforeAnchor { reducer: R::NAME, first });
        }
        let place = Follower::at_segment(storage, first)?;
        Ok(Self { place, fold: Fold::default(), base: Base::new(None, bounds.cache_bytes) })
    }

    /// A snapshot with what follows it, where a record states its fingerprint and every link from
    /// its place leads to the newest record.
    fn believed(
        storage: &S,
        named: SnapshotName,
        position: &LogPosition,
        bounds: Bounds,
    ) -> Result<Option<Self>, ReducerError> {
        let whose = (R::NAME, R::SCOPE.encoding());
        let Some(snapshot) = Snapshot::open(storage, whose, named) else { return Ok(None) };
        let Some(place) = place_of(storage, &snapshot.place())? else { return Ok(None) };
        let fingerprint = snapshot.fingerprint;
        let mut base = Base::new(Some(snapshot), bounds.cache_bytes);
        let (mut fold, mut batch) = (Fold::default(), Batch::new(position, bounds));
        let (mut is_stated, mut failure, mut is_whole) = (false, None, true);
        let from = place.clone();
        let reached = place.lead_to(storage, &position.newest, &mut |_, _, record| {
            let is_last = record.header.sequence >= position.newest.sequence;
            let onward = if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            if states_fingerprint::<R>(record, named.covers, fingerprint) {
                is_stated = true;
            }
            if failure.is_none() && is_whole {
                failure = batch.take(record, &mut fold, &mut base).err();
                is_whole = fold.bytes() < bounds.fold_bytes;
            }
            onward
        });
        let reached = match reached {
            // What was archived or replaced meanwhile is no place any more.
            Err(FollowError::Gone { .. }) => None,
            reached => reached?,
        };
        match (reached.filter(|_| is_stated), failure) {
            (None, _) => Ok(None),
            (Some(_), Some(ReducerError::BrokenSnapshot { .. })) => Ok(None),
            (Some(_), Some(failure)) => Err(failure),
            (Some(place), None) if is_whole => Ok(Some(Self { place, fold, base })),
            (Some(_), None) => Ok(Some(Self { place: from, fold: Fold::default(), base })),
        }
    }

    /// Goes on until a record, or until so much was changed that a snapshot is due: whether it is
    /// there.
    pub(crate) fn read_on(
        &mut self,
        storage: &S,
        position: &LogPosition,
        bounds: Bounds,
    ) -> Result<bool, ReducerError> {
        let to = position.newest.sequence;
        if self.place.run.chain.sequence >= to {
            return Ok(true);
        }
        let Self { place, fold, base } = self;
        let (mut batch, mut failure, mut is_due) = (Batch::new(position, bounds), None, false);
        place.catch_up_while(storage, &mut |_, _, record| {
            failure = batch.take(record, fold, base).err();
            let ends_batch = !record.header.flags.more_follows();
            is_due = ends_batch && fold.bytes() >= bounds.fold_bytes;
            let is_there = record.header.sequence >= to;
            if failure.is_some() || is_due || is_there {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        failure.map_or(Ok(()), Err)?;
        if !is_due {
            place.expect(to)?;
        }
        Ok(place.run.chain.sequence >= to)
    }
}

/// Returns whether a record states this fingerprint of the reducer's states up to `covers`.
fn states_fingerprint<R: Reducer>(record: &Record<'_>, covers: u64, expected: [u8; 32]) -> bool {
    let header = &record.header;
    if header.kind != KINDS[1] || header.flags.withheld() {
        return false;
    }
    let Ok(envelope) = decode(header.kind, header.version, record.payload) else { return false };
    let Event::Application(Recorded::ReducerFingerprintRecorded(body)) = &envelope.event else {
        return false;
    };
    (&*body.reducer, body.version, &*body.encoding) == (R::NAME, R::VERSION, R::SCOPE.encoding())
        && body.covers == covers
        && *body.fingerprint.as_bytes() == expected
}

/// Events of a batch whose end was not seen yet: they count all, or not at all.
struct Batch<'p> {
    unproven: &'p UnprovenRecords,
    bounds: Bounds,
    events: Vec<(u64, u64, Envelope)>,
}

impl<'p> Batch<'p> {
    fn new(position: &'p LogPosition, bounds: Bounds) -> Self {
        Self { unproven: &position.unproven, bounds, events: Vec::new() }
    }

    fn take<R: Reducer, F: ReadFile>(
        &mut self,
        record: &Record<'_>,
        fold: &mut Fold<R>,
        base: &mut Base<F>,
    ) -> Result<(), ReducerError> {
        let header = &record.header;
        let sequence = header.sequence;
        if header.kind == KINDS[0] {
            if header.flags.withheld() {
                return Err(ReducerError::Withheld { sequence });
            }
            if self.unproven.contains(sequence) && !self.bounds.takes_unproven {
                return Err(ReducerError::Unproven { sequence });
            }
            let envelope = decode(header.kind, header.version, record.payload)
                .map_err(|source| ReducerError::Undecodable { sequence, source })?;
            self.events.push((sequence, header.time, envelope));
        }
        if header.flags.more_follows() {
            return Ok(());
        }
        for (sequence, time, envelope) in self.events.drain(..) {
            if let Some(event) = event_of(sequence, time, &envelope) {
                fold.take(&event, &mut |key| base.get(key))?;
            }
        }
        Ok(())
    }
}

fn event_of(sequence: u64, time: u64, envelope: &Envelope) -> Option<ApplicationEvent<'_>> {
    let body = body_of(&envelope.event)?;
    Some(ApplicationEvent {
        sequence,
        time: Timestamp::from_nanoseconds(time),
        actor: &envelope.actor,
        correlation: &envelope.correlation,
        causation: envelope.causation,
        body,
    })
}

/// Returns what the application recorded; `None` for any other event.
pub(crate) fn body_of(event: &Event) -> Option<&ApplicationRecorded> {
    match event {
        Event::Application(Recorded::ApplicationRecorded(body)) => Some(body),
        _ => None,
    }
}
