//! Fingerprints of the state, recorded at a distance, for every replay to check and for snapshots
//! to be believed by (properties E1 and E9).

use super::append::append;
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::rebuild::LiveState;
use super::snapshot::Snapshot;
use super::submit::{By, Origin, Turn, changes_nothing, moment_of_next};
use crate::log::Storage;
use holdpoint_domain::log::{FingerprintRecorded, LogEvent};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Envelope, Event};

/// Distance at which fingerprints of the state are recorded. Behind each there is a snapshot, from
/// which the next opening goes on: it reads at most so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintDistance {
    /// After so many records, at least 1.
    pub records: u64,
    /// After so many bytes of payload, at least 1.
    pub bytes: u64,
    /// On closing, after so many records, at least 1: whoever opens next goes on from there.
    pub records_at_close: u64,
}

impl Default for FingerprintDistance {
    /// 4096 records, 8 MiB, and 256 records on closing: a state is encoded in a fraction of the
    /// time that so many events take.
    fn default() -> Self {
        Self { records: 4_096, bytes: 8 << 20, records_at_close: 256 }
    }
}

impl FingerprintDistance {
    /// None is recorded but on request, and no snapshot is written.
    pub const NEVER: Self = Self { records: u64::MAX, bytes: u64::MAX, records_at_close: u64::MAX };

    fn is_reached(&self, since: &Since) -> bool {
        since.records >= self.records.max(1) || since.bytes >= self.bytes.max(1)
    }

    fn is_reached_at_close(&self, since: &Since) -> bool {
        since.records >= self.records_at_close.max(1) || self.is_reached(since)
    }
}

/// Amount that was recorded since the newest fingerprint that there is a snapshot for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Since {
    records: u64,
    bytes: u64,
    /// A snapshot is there; until one is, nothing counts as the beginning of a distance.
    has_snapshot: bool,
}

impl Since {
    /// Right behind a snapshot.
    pub(super) fn snapshot() -> Self {
        Self { has_snapshot: true, ..Self::default() }
    }

    /// Counts a record. A fingerprint that an engine recorded of its own accord has a snapshot;
    /// one that a command asked for has none.
    pub(super) fn count(&mut self, envelope: &Envelope, length: usize) {
        let is_fingerprint = matches!(envelope.event, Event::Log(LogEvent::FingerprintRecorded(_)));
        if self.has_snapshot && is_fingerprint && envelope.actor == system_actor() {
            *self = Self::snapshot();
            return;
        }
        self.records = self.records.saturating_add(1);
        self.bytes = self.bytes.saturating_add(length as u64);
    }
}

/// Records the state's fingerprint where one is due, behind what the turn appended, and gives the
/// snapshot to be written once that is durable.
pub(super) fn record_if_due<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Option<Snapshot>, SubmitError> {
    let is_due = turn.engine.fingerprints.is_reached(&turn.hot.since);
    if is_due { record(turn) } else { Ok(None) }
}

/// Returns whether [`record_at_close`] records one.
pub(super) fn is_due_at_close<S: Storage>(engine: &Core<S>, hot: &LiveState) -> bool {
    engine.fingerprints.is_reached_at_close(&hot.since)
}

/// Does the same as [`record_if_due`], before the log is closed.
pub(super) fn record_at_close<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Option<Snapshot>, SubmitError> {
    if is_due_at_close(turn.engine, turn.hot) { record(turn) } else { Ok(None) }
}

/// Records the fingerprint of the state; what the turn appended before stands whether or not there
/// is room for it. Newer rules than those in force are adopted first, by a batch that has more to
/// say.
fn record<S: Storage>(turn: &mut Turn<'_, '_, S>) -> Result<Option<Snapshot>, SubmitError> {
    if turn.hot.world.rules_to_adopt().is_some() {
        return Ok(None);
    }
    let now = moment_of_next(turn.engine.now(), turn);
    let (state, fingerprint) = turn.hot.world.carry_with_fingerprint();
    let snapshot = Snapshot::new(turn.hot.place.header.log, &turn.hot.place, &state);
    let event = FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint }.into();
    let correlation = turn.engine.entropy()?.to_string();
    let origin = Origin { actor: system_actor(), correlation, causation: None };
    match append(turn, By::holdpoint(&origin), None, &[event], now) {
        Ok(_) => {
            turn.hot.since = Since::snapshot();
            Ok(Some(snapshot))
        }
        Err(error) if changes_nothing(turn.engine, &error) => Ok(None),
        Err(error) => Err(error),
    }
}
