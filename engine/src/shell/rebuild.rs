//! The state that follows the log: records in, batches whole, evolved in order.

use super::engine::Core;
use super::error::SubmitError;
use super::fingerprint::Since;
use super::lookup::Lookup;
use super::recall::each_from;
use crate::log::{Log, Storage, WriteTransaction};
use holdpoint_domain::evidence_capture::{EvidenceCaptured, EvidenceMessages};
use holdpoint_domain::log::{HISTORY_ARCHIVED, HistoryArchived, LogEvent};
use holdpoint_domain::world::{FIRST_OPAQUE_KIND, STATE_SCHEMA_VERSION, envelope};
use holdpoint_domain::{Envelope, Event, Time, World, kind_name};
use holdpoint_log_files::survey::Visit;
use holdpoint_log_files::{FollowError, Follower, ReadStorage};
use holdpoint_log_format::limits::OPAQUE_KIND_MIN;
use holdpoint_log_format::{ChainPosition, Record, RecordHeader};
use holdpoint_sha256_lanes::digest_each;
use std::ops::ControlFlow;
use std::time::Duration;

/// The state and the place in the log that it stands for.
pub(super) struct LiveState {
    pub(super) world: World,
    pub(super) place: Follower,
    /// The record that says where the log begins, when it does not begin with record 1; not looked
    /// for where the state comes from a snapshot.
    pub(super) stated_by: Option<u64>,
    /// Amount that was recorded since the newest fingerprint.
    pub(super) since: Since,
    /// State that finding records needs.
    pub(super) lookup: Lookup,
}

/// An event with its record's place and time.
pub(super) struct Recorded {
    pub(super) sequence: u64,
    pub(super) at: Time,
    /// True if it is the last one of its batch.
    pub(super) ends_batch: bool,
    pub(super) envelope: Envelope,
    /// Length of the payload, in bytes.
    pub(super) length: usize,
}

/// The kind of event with which a salvage begins a log.
const REPORT: &str = "log.salvaged";

impl LiveState {
    /// The state before the log's first record: nothing, or what the event carries that says that
    /// the records before were moved to an archive.
    pub(super) fn open<S: Storage>(log: &Log<S>) -> Result<Self, SubmitError> {
        let place = log.beginning()?;
        if place.run.chain.sequence == 0 {
            return Ok(Self::from(World::default(), place));
        }
        let turn = log.begin()?;
        Self::at_beginning(turn.beginning()?, &of_turn(&turn))
    }

    /// A state and the place that it stands for, with nothing counted.
    pub(super) fn from(world: World, place: Follower) -> Self {
        Self { world, place, stated_by: None, since: Since::default(), lookup: Lookup::default() }
    }

    /// Returns whether the state stands behind the newest record that this handle knows of.
    pub(super) fn is_behind<S: Storage>(&self, log: &Log<S>) -> bool {
        self.place.run.chain == log.position()
    }

    /// Evolves the state by every record between its place and the newest appended one. Where
    /// those records were moved to an archive, the state is built anew from the log's beginning.
    pub(super) fn catch_up<S: Storage>(
        &mut self,
        turn: &WriteTransaction<'_, S>,
    ) -> Result<(), SubmitError> {
        match self.follow(&of_turn(turn)) {
            Err(SubmitError::Follow(FollowError::Gone { .. })) => {
                *self = Self::at_beginning(turn.beginning()?, &of_turn(turn))?;
                self.follow(&of_turn(turn))
            }
            other => other,
        }
    }

    /// Returns whether a turn would find this very state, all of it durable. `false` where only a
    /// turn can say.
    pub(super) fn is_newest<S: Storage>(&self, log: &Log<S>) -> bool {
        let (mut place, mut is_newest) = (self.place.clone(), true);
        let read = log.follow_ahead(&mut place, &mut |_, _| is_newest = false);
        read.is_ok() && is_newest && log.is_left_durable(place.run.chain.sequence)
    }

    /// Begins a turn within `wait`; what others append is read while their lock is waited for.
    pub(super) fn begin_turn<'a, S: Storage>(
        &mut self,
        log: &'a Log<S>,
        wait: Option<Duration>,
    ) -> Result<WriteTransaction<'a, S>, SubmitError> {
        let mut read = Ok(());
        let begun = log.begin_ahead(wait, &mut || {
            if read.is_ok() {
                read = self.read_ahead(log);
            }
            self.place.clone()
        });
        read.and_then(|()| begun.map_err(SubmitError::from))
    }

    /// Evolves the state by what others have appended by now, before a turn: what the turn has to
    /// read is little then. What stands in the way is met again in the turn.
    fn read_ahead<S: Storage>(&mut self, log: &Log<S>) -> Result<(), SubmitError> {
        match self.follow(&|place, visit| log.follow_ahead(place, visit)) {
            Err(SubmitError::Follow(FollowError::Gone { .. })) => Ok(()),
            other => other,
        }
    }

    /// The state at a log's beginning. At an anchor above 0 it is carried by the newest event that
    /// names the anchor.
    pub(super) fn at_beginning(
        place: Follower,
        catch_up: &CatchUp<'_>,
    ) -> Result<Self, SubmitError> {
        let anchor = place.run.chain;
        if anchor.sequence == 0 {
            return Ok(Self::from(World::default(), place));
        }
        let mut newest = None;
        catch_up(&mut place.clone(), &mut |_, record| {
            if let Some(event) = statement_of(record, &anchor) {
                newest = Some((record.header.sequence, event));
            }
        })?;
        let unstated = SubmitError::BeginningUnstated { anchor: anchor.sequence };
        let (sequence, event) = newest.ok_or(unstated)?;
        let world = take_up(&event);
        let world = world.map_err(|message| SubmitError::CarriedState { sequence, message })?;
        let world = world.stated_at(anchor.sequence, sequence);
        Ok(Self { stated_by: Some(sequence), ..Self::from(world, place) })
    }

    /// Evolves the state by every record that is shown. Records of a batch are held back until one
    /// ends it.
    pub(super) fn follow(&mut self, catch_up: &CatchUp<'_>) -> Result<(), SubmitError> {
        let mut pending = PendingEvents::default();
        let mut failure = None;
        let (world, since, lookup) = (&mut self.world, &mut self.since, &mut self.lookup);
        let mut follow = |event: &Recorded| {
            since.count(&event.envelope, event.length);
            lookup.follow(event.sequence, &event.envelope);
        };
        let caught_up = catch_up(&mut self.place, &mut |_, record| match recorded(record) {
            _ if failure.is_some() => {}
            Err(error) => failure = Some(error),
            Ok(event) => {
                pending.take(event, &record.header);
                if pending.whole.len() >= HASHED_TOGETHER || pending.bytes >= HELD_BACK_BYTES {
                    pending.evolve(world, &mut follow);
                }
            }
        });
        pending.evolve(world, &mut follow);
        caught_up?;
        failure.map_or(Ok(()), Err)
    }
}

/// So many records are evolved by together: their evidence is hashed at once.
const HASHED_TOGETHER: usize = 64;

/// Payloads of so many bytes are not held back for others.
const HELD_BACK_BYTES: usize = 256 * 1_024;

/// Records by which the state is not evolved yet.
#[derive(Default)]
pub(super) struct PendingEvents {
    /// Those of whole batches.
    whole: Vec<Followed>,
    /// Bytes of the payloads that came since the state was evolved last.
    bytes: usize,
    /// Those of a batch that has not ended.
    begun: Vec<Followed>,
}

/// Consequence of a record.
#[expect(clippy::large_enum_variant, reason = "nearly every record is an event")]
enum Followed {
    Event(Recorded),
    /// No event, at its place.
    Opaque(u64, Time),
}

impl PendingEvents {
    pub(super) fn take(&mut self, event: Option<Recorded>, header: &RecordHeader) {
        self.bytes = self.bytes.saturating_add(event.as_ref().map_or(0, |event| event.length));
        let opaque = || Followed::Opaque(header.sequence, Time::from_nanoseconds(header.time));
        self.begun.push(event.map_or_else(opaque, Followed::Event));
        if !header.flags.more_follows() {
            self.whole.append(&mut self.begun);
        }
    }

    /// Returns whether every record was evolved by.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.begun.is_empty()
    }

    /// Evolves the state by all whole batches, and shows their events. What the rules forbid about
    /// them is for whoever verifies the log.
    pub(super) fn evolve(&mut self, world: &mut World, follow: &mut dyn FnMut(&Recorded)) {
        let mut messages = EvidenceMessages::default();
        self.whole.iter().filter_map(Followed::captured).for_each(|body| messages.add(body));
        let mut hashes = messages.hashes(digest_each);
        for followed in &self.whole {
            let evidence = followed.captured().and_then(|_| hashes.next());
            match followed {
                Followed::Event(event) => {
                    world.evolve_hashed(event.sequence, event.at, &event.envelope, evidence);
                    follow(event);
                }
                Followed::Opaque(sequence, at) => world.pass_over(*sequence, *at),
            }
        }
        drop(hashes);
        self.whole.clear();
        self.bytes = 0;
    }
}

impl Followed {
    fn captured(&self) -> Option<&EvidenceCaptured> {
        let Self::Event(event) = self else { return None };
        event.envelope.event.captured()
    }
}

/// Goes on from a place to the newest record, and shows those on the way.
pub(super) type CatchUp<'a> = dyn Fn(&mut Follower, &mut Visit<'_>) -> Result<(), FollowError> + 'a;

/// Returns a function that follows the log as a turn does it.
fn of_turn<S: Storage>(
    turn: &WriteTransaction<'_, S>,
) -> impl Fn(&mut Follower, &mut Visit<'_>) -> Result<(), FollowError> {
    |place, visit| turn.catch_up(place, visit)
}

/// A log that a salvage made ends no earlier than its first record says. Where it was set back,
/// what is written behind it would hide that.
///
/// # Errors
/// [`FollowError::Damaged`] where it ends earlier; that record cannot be looked for.
pub(super) fn expect_all_salvaged<S: Storage>(
    turn: &WriteTransaction<'_, S>,
    storage: &impl ReadStorage,
) -> Result<(), SubmitError> {
    let mut stated = 0;
    turn.beginning()?.walk(storage, &mut |_, _, record| {
        if kind_name(record.header.kind) == Some(REPORT)
            && let Ok(Some(event)) = recorded(record)
            && let Event::Log(LogEvent::Salvaged(report)) = event.envelope.event
        {
            stated = report.last_sequence;
        }
        ControlFlow::Break(())
    })?;
    Ok(turn.place().expect(stated)?)
}

/// The event of a record that states that the log begins behind `anchor`.
pub(super) fn statement_of(record: &Record<'_>, anchor: &ChainPosition) -> Option<HistoryArchived> {
    if record.header.kind != HISTORY_ARCHIVED {
        return None;
    }
    let Event::Log(LogEvent::HistoryArchived(event)) = recorded(record).ok()??.envelope.event
    else {
        return None;
    };
    let names_anchor =
        event.anchor_sequence == anchor.sequence && *event.anchor_link.as_bytes() == anchor.link.0;
    names_anchor.then_some(event)
}

/// The state that an event carries, when it is the one that it says. The fingerprint of another
/// state schema cannot be compared; such a state is taken up when it can be read.
pub(super) fn take_up(event: &HistoryArchived) -> Result<World, String> {
    let world = World::from_carried(event.state.as_bytes()).map_err(|error| error.to_string())?;
    let is_comparable = event.state_schema == STATE_SCHEMA_VERSION;
    if is_comparable && world.fingerprint_digest() != event.state_fingerprint {
        return Err("its fingerprint is not the one that the event states".to_string());
    }
    Ok(world)
}

// Who appends and who judges know the same kinds for opaque.
const _: () = assert!(FIRST_OPAQUE_KIND == OPAQUE_KIND_MIN);

/// The event of a record; `None` where it is opaque.
pub(super) fn recorded(record: &Record<'_>) -> Result<Option<Recorded>, SubmitError> {
    let header = &record.header;
    if header.kind >= FIRST_OPAQUE_KIND {
        return Ok(None);
    }
    if header.flags.withheld() {
        return Err(SubmitError::Withheld { sequence: header.sequence });
    }
    let envelope = envelope::decode(header.kind, header.version, record.payload)
        .map_err(|source| SubmitError::Undecodable { sequence: header.sequence, source })?;
    Ok(Some(Recorded {
        sequence: header.sequence,
        at: Time::from_nanoseconds(header.time),
        ends_batch: !header.flags.more_follows(),
        envelope,
        length: record.payload.len(),
    }))
}

/// Sequence of the first record that the log holds now: those before are in an archive.
pub(super) fn first_kept<S: Storage>(engine: &Core<S>) -> Result<u64, SubmitError> {
    engine.id.expect_outside()?;
    Ok(engine.log.beginning()?.header.first_sequence())
}

/// Shows the recorded events from a sequence on. Called outside of a turn.
pub(super) fn read_events<S: Storage>(
    engine: &Core<S>,
    from: u64,
    visit: &mut dyn FnMut(Recorded) -> ControlFlow<()>,
) -> Result<(), SubmitError> {
    let mut failure = None;
    engine.log.read_from(from, &mut |_, record| match recorded(record) {
        Ok(event) => event.map_or(ControlFlow::Continue(()), &mut *visit),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// The first thing from a record on that `of` makes something of: near that record, an index may
/// know where it lies. Called outside of a turn.
pub(super) fn find_event<S: Storage, T>(
    engine: &Core<S>,
    from: u64,
    mut of: impl FnMut(Recorded) -> Option<T>,
) -> Result<Option<T>, SubmitError> {
    let mut found = None;
    let mut visit = |event| {
        found = of(event);
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let is_known = match engine.hot()?.as_mut() {
        Some(hot) => each_from(engine, hot, from, &mut visit)?,
        None => false,
    };
    if !is_known {
        read_events(engine, from, &mut visit)?;
    }
    Ok(found)
}
