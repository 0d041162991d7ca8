//! Events as records: who made them, in which story, because of what, and under which key; and how
//! a batch of them is appended.

use super::conditions::Conditions;
use super::error::SubmitError;
use super::submit::{By, Origin, Turn};
use super::writers_own::adoption;
use crate::log::{Appended, NewRecord, Storage};
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::log::{LogEvent, RecordsLabelled};
use holdpoint_domain::sandbox_fault::SandboxFaultEvent;
use holdpoint_domain::world::envelope;
use holdpoint_domain::{Envelope, Event, Idempotency, World};

/// Encodes, appends and evolves one batch, and gives its events back. Before the first one by newer
/// rules than those in force, the same batch says so; what is given back is without that.
pub(super) fn append<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    by: By<'_>,
    idempotency: Option<&Idempotency>,
    events: impl Into<Vec<Event>>,
    now: Moment,
) -> Result<(Appended, Vec<Event>), SubmitError> {
    append_labelled(turn, by, (idempotency, &Conditions::default()), events, now)
}

/// Does the same as [`append`], with the labels of the command's conditions behind its events. What
/// is given back is without them.
pub(super) fn append_labelled<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    by: By<'_>,
    (idempotency, conditions): (Option<&Idempotency>, &Conditions),
    events: impl Into<Vec<Event>>,
    now: Moment,
) -> Result<(Appended, Vec<Event>), SubmitError> {
    let events = events.into();
    // A turn that was planned comes of its plan, with all that its batch holds.
    let drafted = events.iter().find_map(|event| turn.hot.world.drafted_with(event));
    let adopted = rules_first(&turn.hot.world);
    let adopts = usize::from(adopted.is_some());
    let mut envelopes = Vec::with_capacity(adopts + events.len());
    envelopes.extend(adopted);
    for event in events {
        let mut made = envelope(&turn.hot.world, by, idempotency, event);
        made.causation = made.causation.or(drafted);
        envelopes.push(made);
    }
    if envelopes.len() > adopts {
        let labels = labels_last(&turn.hot.world, turn, by, conditions, (&envelopes, adopts));
        envelopes.extend(labels);
    }
    envelopes.iter_mut().for_each(|made| made.clock = now.stated_clock());
    if let [adopted, events @ ..] = &mut *envelopes
        && adopts > 0
    {
        state_fingerprints_behind(&turn.hot.world, turn, now, adopted, events);
    }
    append_evolving(turn, (envelopes, adopts), now)
}

/// Appends events of several stories in one batch, behind the statement of the rules where nobody
/// has made it before, and evolves the state by them. The statement is not given back.
pub(super) fn append_stories<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    envelopes: impl IntoIterator<Item = Envelope>,
    now: Moment,
) -> Result<(Appended, Vec<Event>), SubmitError> {
    let mut batch: Vec<Envelope> = rules_first(&turn.hot.world).into_iter().collect();
    let adopts = batch.len();
    batch.extend(envelopes);
    batch.iter_mut().for_each(|made| made.clock = now.stated_clock());
    append_evolving(turn, (batch, adopts), now)
}

/// Appends a batch, evolves the state by it, and gives what was asked for of it.
fn append_evolving<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    (mut batch, adopts): (Vec<Envelope>, usize),
    now: Moment,
) -> Result<(Appended, Vec<Event>), SubmitError> {
    cause_escalations(turn.log.position().sequence.saturating_add(1), &mut batch);
    let appended = append_made(turn, &batch, now)?;
    for (sequence, made) in (appended.first_sequence..).zip(&batch) {
        turn.hot.world.evolve_decided(sequence, now.at, made);
    }
    Ok(asked_for(appended, batch, adopts))
}

/// A question about an escalation is caused by the fault before it in its batch.
pub(super) fn cause_escalations(first: u64, batch: &mut [Envelope]) {
    let mut fault = None;
    for (sequence, made) in (first..).zip(batch) {
        match &made.event {
            Event::SandboxFault(SandboxFaultEvent::FaultReported(_)) => fault = Some(sequence),
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body))
                if body.by.is_holdpoint() =>
            {
                made.causation = fault.or(made.causation);
            }
            _ => {}
        }
    }
}

/// The statement of the rules that a batch begins with, where nobody has made it before.
pub(super) fn rules_first(world: &World) -> Option<Envelope> {
    world.rules_to_adopt().map(|body| adoption(world, body))
}

/// The labels that a batch ends with, where its caller gave any: of all that is asked for in it,
/// once for each loop that begins there.
pub(super) fn labels_last<S: Storage>(
    world: &World,
    turn: &Turn<'_, '_, S>,
    by: By<'_>,
    conditions: &Conditions,
    (batch, adopts): (&[Envelope], usize),
) -> Vec<Envelope> {
    let first = turn.log.position().sequence.saturating_add(1).saturating_add(adopts as u64);
    let Some(labels) = conditions.labels_from(first) else { return Vec::new() };
    let begun = batch.iter().filter_map(|made| match &made.event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => Some(&body.loop_id),
        _ => None,
    });
    let mut each: Vec<RecordsLabelled> = begun
        .map(|loop_id| RecordsLabelled { loop_id: Some(loop_id.clone()), ..labels.clone() })
        .collect();
    if each.is_empty() {
        each.push(labels);
    }
    each.into_iter().map(|labels| envelope(world, by, None, labels.into())).collect()
}

/// Returns what was asked for of a batch: what it begins with of its own is no part of that, and
/// neither are the labels that it ends with.
pub(super) fn asked_for(
    appended: Appended,
    mut batch: Vec<Envelope>,
    adopts: usize,
) -> (Appended, Vec<Event>) {
    let first_sequence = appended.first_sequence.saturating_add(adopts as u64);
    let labels = batch.iter().rev().take_while(|made| is_label(&made.event)).count();
    batch.truncate(batch.len() - labels);
    let last_sequence = appended.last_sequence.saturating_sub(labels as u64);
    let events = batch.into_iter().skip(adopts).map(|made| made.event);
    (Appended { first_sequence, last_sequence, ..appended }, events.collect())
}

/// Returns whether an event is what a caller calls the others of its batch.
pub(super) const fn is_label(event: &Event) -> bool {
    matches!(event, Event::Log(LogEvent::RecordsLabelled(_)))
}

/// Encodes and appends one batch, and follows it with everything but the state itself.
pub(super) fn append_made<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    envelopes: &[Envelope],
    now: Moment,
) -> Result<Appended, SubmitError> {
    check_readable(&turn.hot.world)?;
    let records = envelopes.iter().map(encoded).collect::<Result<Vec<_>, _>>()?;
    let appended = turn.log.append_batch(&records, now.at.nanoseconds())?;
    let followed = (appended.first_sequence..).zip(envelopes.iter().zip(&records));
    for (sequence, (envelope, record)) in followed {
        turn.hot.since.count(envelope, record.payload.len());
        turn.hot.lookup.follow(sequence, envelope);
    }
    turn.hot.place = turn.log.place();
    Ok(appended)
}

/// Checks that a state could be read as a whole: what one says of which some part could not be read
/// is no fact, and no answer.
pub(super) fn check_readable(world: &World) -> Result<(), SubmitError> {
    if world.is_readable() { Ok(()) } else { Err(SubmitError::UnreadableSnapshot) }
}

/// A fingerprint is that of the state before its record: behind what its batch says first.
fn state_fingerprints_behind<S: Storage>(
    world: &World,
    turn: &Turn<'_, '_, S>,
    now: Moment,
    first: &Envelope,
    others: &mut [Envelope],
) {
    for envelope in others {
        if let Event::Log(LogEvent::FingerprintRecorded(body)) = &mut envelope.event {
            let mut behind = world.clone();
            behind.evolve(turn.log.position().sequence.saturating_add(1), now.at, first);
            body.fingerprint = behind.fingerprint_digest();
        }
    }
}

pub(super) fn envelope(
    world: &World,
    by: By<'_>,
    idempotency: Option<&Idempotency>,
    event: Event,
) -> Envelope {
    let By { origin, proof } = by;
    let story = story_of(origin, &event);
    // A key is unique within the command's story. In another one it may stand for something else.
    let idempotency = idempotency.filter(|_| story == origin.correlation);
    Envelope {
        clock: None,
        proof,
        actor: origin.actor.clone(),
        correlation: story.to_string(),
        causation: origin.causation.or_else(|| asked_with(world, &event)),
        idempotency: idempotency.cloned(),
        event,
    }
}

/// The record with which the question was asked that an event is about. It is the cause of whatever
/// names no other one.
fn asked_with(world: &World, event: &Event) -> Option<u64> {
    if let Event::HumanDecision(event) = event {
        return Some(world.find_request(event.request_id())?.held().requested_sequence);
    }
    Some(world.decision_point(event.decision_point()?)?.created_sequence)
}

/// Returns the story of an event: what happens to a thread is told in the thread's own story, also
/// where the command was about something else, as the closing of a session is.
fn story_of<'a>(origin: &'a Origin, event: &'a Event) -> &'a str {
    match event {
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
            &body.correlation_id
        }
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => {
            &body.correlation_id
        }
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) => {
            &body.correlation_id
        }
        Event::InterruptionThread(InterruptionThreadEvent::ReturnCheckExpired(body)) => {
            &body.correlation_id
        }
        _ => &origin.correlation,
    }
}

fn encoded(envelope: &Envelope) -> Result<NewRecord, SubmitError> {
    let encoded = envelope::encode(envelope)?;
    Ok(NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload })
}
