//! One turn, in order: command, decide, encode, append, evolve, sync, receipt.

use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::rebuild::{Hot, Recorded, evolve_all};
use crate::log::{Appended, NewRecord, Storage, Turn};
use holdpoint_domain::command::SystemEvent;
use holdpoint_domain::event::{ClockStepped, Event};
use holdpoint_domain::text::{IdentifierFault, check_identifier};
use holdpoint_domain::{ActorId, Command, Envelope, Refusal, Time, World, codec, decide};

/// A step of the wall clock by this much or more is an event.
const CLOCK_STEP_NS: i64 = 1_000_000_000;

/// Who asks, within what story, and because of which record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who asks.
    pub actor: ActorId,
    /// The story that the command belongs to: 128 random bits in hex, or the caller's own name.
    pub correlation: String,
    /// Sequence of the record that caused the command; `None` where a story begins.
    pub causation: Option<u64>,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Recorded.
    Accepted(Receipt),
    /// A rule said no; nothing was written.
    Refused(Refusal),
}

impl Submitted {
    /// The receipt of an accepted command.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Accepted(receipt) => Some(receipt),
            Self::Refused(_) => None,
        }
    }
}

/// Proof that a command was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Sequence of its first event.
    pub first_sequence: u64,
    /// Sequence of its last event.
    pub last_sequence: u64,
    /// Time of its events.
    pub at: Time,
    /// The events.
    pub events: Vec<Event>,
}

pub(super) fn submit<S: Storage>(
    engine: &Core<S>,
    origin: &Origin,
    command: &Command,
) -> Result<Submitted, SubmitError> {
    if let Err(fault) = check(origin) {
        return Ok(Submitted::Refused(Refusal::InvalidIdentifier(fault)));
    }
    with_turn(engine, |engine, hot, mut turn| {
        note_clock_step(engine, hot, &mut turn)?;
        let at = time_of_next(engine, &turn);
        let events = match decide(&hot.world, command, at) {
            Ok(events) => events,
            // A refusal tells of the state, so what the state depends on is synced first.
            Err(refusal) => {
                turn.finish(engine.level)?;
                return Ok(Submitted::Refused(refusal));
            }
        };
        let appended = append(hot, &mut turn, origin, &events, at)?;
        // The commit point. A crash before the sync inside returns loses or tears this batch, and
        // nobody was told of it; a crash after finds it whole.
        turn.finish(engine.level)?;
        Ok(Submitted::Accepted(Receipt {
            first_sequence: appended.first_sequence,
            last_sequence: appended.last_sequence,
            at,
            events,
        }))
    })
}

pub(super) fn query<S: Storage, T>(
    engine: &Core<S>,
    answer: impl FnOnce(&World) -> T,
) -> Result<T, SubmitError> {
    with_turn(engine, |engine, hot, turn| {
        let answer = answer(&hot.world);
        turn.finish(engine.level)?;
        Ok(answer)
    })
}

/// Takes the turn and brings the state up to the newest record. After a failure the state is
/// discarded: it may be ahead of what the disk holds.
fn with_turn<S: Storage, T>(
    engine: &Core<S>,
    work: impl FnOnce(&Core<S>, &mut Hot, Turn<'_, S>) -> Result<T, SubmitError>,
) -> Result<T, SubmitError> {
    let mut watch = engine.meter.turn();
    let mut held = engine.hot.lock();
    watch.has_thread();
    // Taken out meanwhile: a panic leaves no state behind that may be half evolved.
    let mut hot = held.take().ok_or_else(|| discarded(engine))?;
    let result = engine.log.begin().map_err(SubmitError::from).and_then(|turn| {
        watch.began();
        hot.catch_up(&turn)?;
        work(engine, &mut hot, turn)
    });
    let is_known = match &result {
        Ok(_) => true,
        Err(error) => {
            watch.failed(engine.log.poison());
            !leaves_state_unknown(engine, error)
        }
    };
    if result.is_ok() {
        engine.finished(&hot);
    }
    if is_known {
        *held = Some(hot);
    }
    result
}

/// Errors that change nothing leave the state as it was; any other discards it.
fn leaves_state_unknown<S: Storage>(engine: &Core<S>, error: &SubmitError) -> bool {
    use crate::log::AppendError::{BatchTooLarge, Empty, Locked, NoSpace, PayloadTooLarge};
    let harmless = matches!(
        error,
        SubmitError::Append(
            BatchTooLarge { .. } | Empty | Locked { .. } | NoSpace { .. } | PayloadTooLarge { .. }
        ) | SubmitError::Encode(_)
    );
    !harmless || engine.log.poison().is_some()
}

/// The first cause, when the log knows it.
fn discarded<S: Storage>(engine: &Core<S>) -> SubmitError {
    match engine.log.poison() {
        Some(cause) => SubmitError::Append(crate::log::AppendError::Poisoned(cause)),
        None => SubmitError::Discarded,
    }
}

/// A step of the wall clock since the last writer of this boot is recorded before anything else.
fn note_clock_step<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
) -> Result<(), SubmitError> {
    let now = engine.now().wall_minus_boot();
    let before = turn.previous_wall_minus_boot();
    let step_ns = before.map_or(0, |before| now.saturating_sub(before));
    if step_ns.saturating_abs() >= CLOCK_STEP_NS {
        let at = time_of_next(engine, turn);
        let command =
            Command::RecordSystemEvent(SystemEvent::ClockStepped(ClockStepped { step_ns }));
        if let Ok(events) = decide(&hot.world, &command, at) {
            let correlation = engine.entropy()?.to_string();
            let origin = Origin { actor: system_actor(), correlation, causation: None };
            append(hot, turn, &origin, &events, at)?;
        }
    }
    turn.set_wall_minus_boot(now);
    Ok(())
}

/// The time that the next record will carry: never before the newest one's.
fn time_of_next<S: Storage>(engine: &Core<S>, turn: &Turn<'_, S>) -> Time {
    Time::from_nanoseconds(engine.now().wall_ns.max(turn.position().time))
}

/// The rules see events only, so the names in their envelopes are checked here.
fn check(origin: &Origin) -> Result<(), IdentifierFault> {
    check_identifier("actor id", &origin.actor.id)?;
    check_identifier("correlation", &origin.correlation)
}

/// Encodes, appends and evolves one batch.
fn append<S: Storage>(
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    origin: &Origin,
    events: &[Event],
    at: Time,
) -> Result<Appended, SubmitError> {
    let envelopes: Vec<Envelope> = events.iter().map(|event| envelope(origin, event)).collect();
    let records = envelopes.iter().map(encoded).collect::<Result<Vec<_>, _>>()?;
    let appended = turn.append(&records, at.nanoseconds())?;
    let batch: Vec<Recorded> = (appended.first_sequence..)
        .zip(envelopes)
        .map(|(sequence, envelope)| Recorded { sequence, at, envelope })
        .collect();
    evolve_all(&mut hot.world, &batch);
    hot.place = turn.place();
    Ok(appended)
}

fn envelope(origin: &Origin, event: &Event) -> Envelope {
    Envelope {
        actor: origin.actor.clone(),
        correlation: origin.correlation.clone(),
        causation: origin.causation,
        idempotency: None,
        event: event.clone(),
    }
}

fn encoded(envelope: &Envelope) -> Result<NewRecord, SubmitError> {
    let encoded = codec::encode(envelope)?;
    Ok(NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload })
}
