//! A reducer's states beside an engine: kept up to date by reading on, bounded in memory.

use crate::base::{Bounds, States};
use crate::error::{ReducerError, ReducerFault};
use crate::fold::{decoded, ended};
use crate::reducer::{Reducer, Scope};
use crate::snapshot::{SnapshotName, Written, remove_older, write};
use holdpoint_domain::application::ReducerFingerprintRecorded;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::{ActorId, World, decide_for_reducer};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{LogPosition, Origin, ReducerAccess};
use holdpoint_log_files::{DirectoryStorage, FollowError};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::thread::{ThreadId, current};

/// With less, snapshots would follow upon one another.
const CACHE_BYTES_MIN: usize = 1 << 20;

/// Options for keeping a reducer's states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReducerOptions {
    cache_bytes: usize,
    snapshot_every: u64,
    takes_unproven: bool,
}

impl Default for ReducerOptions {
    fn default() -> Self {
        Self { cache_bytes: 64 << 20, snapshot_every: 16_384, takes_unproven: false }
    }
}

impl ReducerOptions {
    /// About so many bytes are held of states, by the length of their encodings: half of them for
    /// those that were changed since the newest snapshot, half for those that were looked at. By
    /// default 64 MiB, and never less than 1 MiB; at least one state is held whatever its size.
    /// Where more states change than fit, a snapshot is made each time that it is full, with a
    /// record.
    #[must_use]
    pub const fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// After so many events a snapshot is made when a state is next asked for; by default 16,384,
    /// and more where there are many streams, so that a snapshot's size is worth it; 0: only when
    /// it is [asked for](Reduced::snapshot), or when memory asks for it.
    #[must_use]
    pub const fn snapshot_every(mut self, events: u64) -> Self {
        self.snapshot_every = events;
        self
    }

    /// Events count that were taken over from a damaged log without proof. By default they are
    /// refused: [`ReducerError::Unproven`].
    #[must_use]
    pub const fn take_unproven(mut self) -> Self {
        self.takes_unproven = true;
        self
    }

    const fn bounds(&self) -> Bounds {
        let half =
            if self.cache_bytes < CACHE_BYTES_MIN { CACHE_BYTES_MIN } else { self.cache_bytes } / 2;
        Bounds { fold_bytes: half, cache_bytes: half, takes_unproven: self.takes_unproven }
    }
}

/// A reducer's states as of the newest durable record. Any number of threads may ask; the engine
/// may be closed before: then each answer is that it is.
///
/// Opening reads what follows the newest snapshot that is believed, and without one the whole log.
/// A snapshot is written beside the log, and its fingerprint recorded in it, in the name of the
/// reducer.
pub struct Reduced<R: Reducer, S: Storage = DirectoryStorage> {
    access: ReducerAccess<S>,
    options: ReducerOptions,
    inner: Mutex<Inner<R, S>>,
    /// The thread that has the lock of the states: the reducer's code runs in it.
    asking: Mutex<Option<ThreadId>>,
    /// Why the last snapshot that was due could not be made.
    snapshot_failure: Mutex<Option<String>>,
}

/// Known states, if there are any: after a failure of the disk they are found anew.
struct Inner<R: Reducer, S: Storage> {
    states: Option<States<R, S>>,
    /// Why the reducer gives no state of any stream any more.
    fault: Option<ReducerFault>,
    /// Events at which a snapshot that was due failed: the next one is tried so many later.
    failed_at: u64,
    /// The snapshots that are not what they were, by the record that they cover.
    broken: BTreeSet<u64>,
}

/// A state, with the version of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The state.
    pub state: T,
    /// The sequence of the stream's last event, as
    /// [`Conditions::expected_version`](holdpoint_engine::shell::Conditions::expected_version)
    /// takes it; 0: it has none.
    pub version: u64,
}

impl<R: Reducer, S: Storage> Reduced<R, S> {
    /// The states of a reducer, up to the newest record of an engine's log.
    ///
    /// # Errors
    /// See [`ReducerError`].
    pub fn open(engine: &Engine<S>, options: ReducerOptions) -> Result<Self, ReducerError> {
        check_name::<R>()?;
        let access = engine.reducer_access();
        let inner = Mutex::new(Inner::default());
        let (asking, snapshot_failure) = (Mutex::new(None), Mutex::new(None));
        let reduced = Self { access, options, inner, asking, snapshot_failure };
        reduced.with_states(|_| Ok(())).map(|()| reduced)
    }

    /// The state of a stream; before its first event that is the default.
    ///
    /// # Errors
    /// See [`ReducerError`].
    pub fn state(&self, stream: &str) -> Result<R::State, ReducerError> {
        self.versioned(stream).map(|it| it.state)
    }

    /// The state of a stream, with the stream's version.
    ///
    /// # Errors
    /// See [`ReducerError`].
    pub fn versioned(&self, stream: &str) -> Result<Versioned<R::State>, ReducerError> {
        Scope::Stream.check::<R>()?;
        self.get(stream)
    }

    /// The state over all streams, with the sequence of the last event that is in it.
    ///
    /// # Errors
    /// See [`ReducerError`].
    pub fn total(&self) -> Result<Versioned<R::State>, ReducerError> {
        Scope::All.check::<R>()?;
        self.get(Scope::All.key(""))
    }

    /// Writes a snapshot of the states as they are, and records its fingerprint: the record up to
    /// which it covers; `None` where nothing happened since the one before.
    ///
    /// # Errors
    /// See [`ReducerError`].
    pub fn snapshot(&self) -> Result<Option<u64>, ReducerError> {
        self.with_states(|states| match states.fold.events() {
            0 => Ok(None),
            _ => self.write_snapshot(states).map(Some),
        })
    }

    /// Why the last snapshot that was due could not be made; `None`: it was. Only opening takes
    /// longer for it.
    pub fn snapshot_failure(&self) -> Option<String> {
        self.snapshot_failure.lock().clone()
    }

    fn get(&self, key: &str) -> Result<Versioned<R::State>, ReducerError> {
        let found = self.with_states(|states| {
            if let Some(fault) = states.fold.ended(key) {
                return Ok(Err(fault));
            }
            let found = match states.fold.get(key)? {
                None => states.base.get(key)?,
                found => found,
            };
            Ok(Ok(found))
        });
        let (version, kept) = found??.unzip();
        let (version, kept) = (version.unwrap_or(0), kept.as_deref());
        kept.and_then(|kept| ended::<R>(key, version, kept)).map_or(Ok(()), Err)?;
        Ok(Versioned { state: decoded::<R>(key, kept)?, version })
    }

    /// Does something with the states behind the newest record. A snapshot that turns out to be
    /// broken is as if it were not there: the states are made anew without it.
    fn with_states<T>(
        &self,
        mut work: impl FnMut(&mut States<R, S>) -> Result<T, ReducerError>,
    ) -> Result<T, ReducerError> {
        if *self.asking.lock() == Some(current().id()) {
            return Err(ReducerError::Reentered { reducer: R::NAME });
        }
        let mut inner = self.inner.lock();
        let _asking = Asking::begin(&self.asking);
        // Each time one fewer is believed, and without any there is none to be broken.
        loop {
            let done = self.up_to_date(&mut inner).and_then(&mut work);
            match done.map_err(|error| inner.failed(error)) {
                Err(ReducerError::BrokenSnapshot { covers }) if inner.broken.insert(covers) => {}
                done => return done,
            }
        }
    }

    /// The states behind the newest record.
    fn up_to_date<'i>(
        &self,
        inner: &'i mut Inner<R, S>,
    ) -> Result<&'i mut States<R, S>, ReducerError> {
        if let Some(fault) = &inner.fault {
            return Err(fault.clone().into());
        }
        let position = self.access.position()?;
        let read = inner
            .states
            .take()
            .map(|mut states| self.read_to(&mut states, &position).map(|()| states));
        let states = match read {
            // What it stood behind was archived: what covers that is found anew.
            None | Some(Err(ReducerError::Follow(FollowError::Gone { .. }))) => {
                self.opened(&position, &inner.broken)
            }
            Some(read) => read,
        };
        let mut states = states?;
        self.snapshot_if_due(inner, &mut states);
        if let Some(fault) = &inner.fault {
            return Err(fault.clone().into());
        }
        Ok(inner.states.insert(states))
    }

    fn opened(
        &self,
        position: &LogPosition,
        broken: &BTreeSet<u64>,
    ) -> Result<States<R, S>, ReducerError> {
        let storage = &**self.access.storage();
        let mut states = States::open(storage, position, self.options.bounds(), broken)?;
        self.read_to(&mut states, position).map(|()| states)
    }

    fn read_to(
        &self,
        states: &mut States<R, S>,
        position: &LogPosition,
    ) -> Result<(), ReducerError> {
        let bounds = self.options.bounds();
        while !states.read_on(&**self.access.storage(), position, bounds)? {
            self.write_snapshot(states)?;
        }
        Ok(())
    }

    /// A snapshot that is due and cannot be made fails nothing: it is tried again later.
    fn snapshot_if_due(&self, inner: &mut Inner<R, S>, states: &mut States<R, S>) {
        let every = self.options.snapshot_every;
        let blocks = states.base.snapshot.as_ref().map_or(0, |it| it.blocks() as u64);
        // A block holds some hundred states: so a snapshot is written for an eighth of them.
        let due = every.max(blocks.saturating_mul(16)).saturating_add(inner.failed_at);
        if every == 0 || states.fold.events() < due {
            return;
        }
        match self.write_snapshot(states) {
            Ok(_) => {
                inner.failed_at = 0;
                *self.snapshot_failure.lock() = None;
            }
            Err(ReducerError::Reducer(fault)) => inner.fault = Some(fault),
            Err(error) => {
                inner.failed_at = states.fold.events();
                *self.snapshot_failure.lock() = Some(error.to_string());
            }
        }
    }

    fn write_snapshot(&self, states: &mut States<R, S>) -> Result<u64, ReducerError> {
        let (disk, States { place, fold, base }) = (&**self.access.storage(), states);
        let newer = fold.encoded()?;
        let entropy = self.access.entropy()?.to_string();
        let (version, encoding) = (R::VERSION, R::SCOPE.encoding());
        let written = Written { reducer: R::NAME, version, encoding, place, unique: &entropy };
        let snapshot = write(disk, &written, base.snapshot.as_ref(), &newer)?;
        let covers = snapshot.covers();
        let stated = stated::<R>(covers, snapshot.fingerprint);
        let actor = ActorId { kind: Actor::Automation, id: R::NAME.to_string() };
        let origin = Origin::new(actor);
        self.access.record_fingerprint(&origin, &stated)?;
        base.replace(snapshot);
        *fold = Default::default();
        // What is left of older ones is space, and nothing else.
        let _ = remove_older(disk, R::NAME, SnapshotName { version: R::VERSION, covers });
        Ok(covers)
    }
}

impl<R: Reducer, S: Storage> Default for Inner<R, S> {
    fn default() -> Self {
        let broken = BTreeSet::new();
        Self { states: None, fault: None, failed_at: 0, broken }
    }
}

impl<R: Reducer, S: Storage> Inner<R, S> {
    /// Drops the known states, which may be half of something. A fault of the reducer's own stays.
    fn failed(&mut self, error: ReducerError) -> ReducerError {
        self.states = None;
        if let ReducerError::Reducer(fault) = &error {
            self.fault = Some(fault.clone());
        }
        error
    }
}

/// Returns what the log is told of the reducer's states.
fn stated<R: Reducer>(covers: u64, fingerprint: [u8; 32]) -> ReducerFingerprintRecorded {
    ReducerFingerprintRecorded {
        reducer: Text::from(R::NAME),
        version: R::VERSION,
        encoding: Text::from(R::SCOPE.encoding()),
        covers,
        fingerprint: Digest::from_bytes(fingerprint),
    }
}

/// Refuses the name and version of a reducer that the log would refuse, before anything is made.
fn check_name<R: Reducer>() -> Result<(), ReducerError> {
    let checked = decide_for_reducer(&World::default(), &stated::<R>(0, [0; 32]));
    checked.map(drop).map_err(|refusal| ReducerError::Misnamed {
        reducer: bounded(R::NAME, 96),
        version: R::VERSION,
        reason: refusal.to_string(),
    })
}

/// A thread has the lock of the states: whoever asks from within it would wait for itself.
struct Asking<'a>(&'a Mutex<Option<ThreadId>>);

impl<'a> Asking<'a> {
    fn begin(of: &'a Mutex<Option<ThreadId>>) -> Self {
        *of.lock() = Some(current().id());
        Self(of)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}
