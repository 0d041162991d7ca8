//! Facts that the state has forgotten and the rules must still know: idempotency keys of long ago
//! (property E5), threads and decision points that ended long ago, and which ids were used. All of
//! it is found again in the log, and which ids were used in its archives as well.

use super::archived::{Archived, Hint};
use super::engine::Core;
use super::error::SubmitError;
use super::lookup::{Lookup, Scope};
use super::rebuild::{LiveState, Recorded, recorded};
use super::submit::{Origin, Turn};
use crate::log::Storage;
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointCommand, DecisionPointEvent};
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::log::HISTORY_ARCHIVED;
use holdpoint_domain::world::{KeyReceipt, Recalled, Term, term_of_new};
use holdpoint_domain::{Command, Envelope, Event, Idempotency, Refusal, Time, World, decide};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A record that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its sequence.
    pub sequence: u64,
    /// Its time.
    pub at: Time,
    /// Content of it, and who caused it.
    pub envelope: Envelope,
}

/// Facts that a command's conditions make it necessary to know.
#[derive(Clone, Copy)]
pub(super) struct RecallNeeds<'a> {
    /// Its key.
    pub(super) idempotency: Option<&'a Idempotency>,
    /// True if it is made for a version.
    pub(super) has_version: bool,
}

/// Tells the state what it has forgotten of what a command is about, and gives what was recorded
/// under its key, where the state has forgotten that.
///
/// # Errors
/// A segment that must be read cannot be, or is damaged.
pub(super) fn recall<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    origin: &Origin,
    seen: RecallNeeds<'_>,
    command: &Command,
) -> Result<Option<KeyReceipt>, SubmitError> {
    let mut recalled = Recalled::default();
    if let Some((tenant, correlation)) = command.thread()
        && let Some(sequence) = turn.closing(tenant, correlation)?
    {
        recalled.thread_was_closed(tenant, correlation, sequence);
    }
    if let Some(stream) = command.stream().filter(|_| seen.has_version)
        && let Some(sequence) = turn.last_of_stream(stream)?
    {
        recalled.stream_came_to(stream, sequence);
    }
    if let Some(point) = turn.decision_point(command)? {
        recalled.decision_point_ended(*point);
    }
    let own = turn.hot.world.own_session(command).map(String::from);
    let own = command.thread().zip(own.as_deref());
    let own = own.map(|((tenant, _), session)| Term::Session { tenant, session });
    for name in command.registered_names().chain(own) {
        if let Some(Event::Registration(event)) = turn.registration(&name)? {
            recalled.was_registered(&event);
        }
    }
    turn.hot.world.recall(recalled);
    match seen.idempotency {
        Some(idempotency) => turn.receipt(&origin.correlation, idempotency),
        None => Ok(None),
    }
}

/// Decides; again where something would begin under an id that was used before, now that the state
/// is told so. The log is asked behind the rules: most commands begin nothing.
///
/// # Errors
/// As [`recall`].
pub(super) fn decide_knowing<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    command: &Command,
    now: Moment,
) -> Result<Result<Vec<Event>, Refusal>, SubmitError> {
    let decided = decide(&turn.hot.world, command, now);
    let events = decided.as_deref().unwrap_or_default();
    let Some(id) = turn.used_id(command, events)? else {
        return Ok(decided);
    };
    turn.hot.world.recall_used_id(id);
    Ok(decide(&turn.hot.world, command, now))
}

/// Shows the records from one on until `visit` has had enough, where an index knows their places.
/// `false` where it does not: then nothing that was shown is proven.
///
/// # Errors
/// The segment cannot be read.
pub(super) fn each_from<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    first: u64,
    visit: &mut dyn FnMut(Recorded) -> ControlFlow<()>,
) -> Result<bool, SubmitError> {
    let (lookup, scope) = scope(engine, hot);
    let mut is_read = true;
    let is_known = lookup.each_from(&scope, first, &mut |record| match recorded(record) {
        Ok(event) => event.map_or(ControlFlow::Continue(()), &mut *visit),
        // Whoever reads the segment then tells what the record is.
        Err(_) => {
            is_read = false;
            ControlFlow::Break(())
        }
    })?;
    Ok(is_known && is_read)
}

/// The link of a record whose place an index knows.
///
/// # Errors
/// The segment cannot be read.
pub(super) fn link_of<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    sequence: u64,
) -> Result<Option<Digest>, SubmitError> {
    let (lookup, scope) = scope(engine, hot);
    let mut link = None;
    let is_known = lookup.each_from(&scope, sequence, &mut |record| {
        link = Some(Digest::from_bytes(record.header.link.0));
        ControlFlow::Break(())
    })?;
    Ok(link.filter(|_| is_known))
}

/// Every record up to the newest one that holds a term.
///
/// # Errors
/// A segment that must be read cannot be, or is damaged.
pub(super) fn records_with<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    term: &Term<'_>,
) -> Result<Vec<FoundRecord>, SubmitError> {
    let newest = turn.hot.place.run.chain.sequence;
    let found = turn.look(term, newest)?;
    let shown = |event: Recorded| FoundRecord {
        sequence: event.sequence,
        at: event.at,
        envelope: event.envelope,
    };
    Ok(found.into_iter().map(shown).collect())
}

/// Returns what lookups keep, and where they look.
fn scope<'a, S: Storage>(
    engine: &'a Core<S>,
    hot: &'a mut LiveState,
) -> (&'a mut Lookup, Scope<'a, S>) {
    let LiveState { world, place, lookup, .. } = hot;
    let known = world.segment_indexes();
    (lookup, Scope { disk: &engine.caches, known, newest: place })
}

impl<S: Storage> Turn<'_, '_, S> {
    /// The record that closed a thread which the state does not remember.
    fn closing(&mut self, tenant: &str, correlation: &str) -> Result<Option<u64>, SubmitError> {
        let forgotten = self.hot.world.threads_forgotten();
        let is_known = self.hot.world.thread(tenant, correlation).is_some();
        if forgotten == 0 || is_known {
            return Ok(None);
        }
        let records = self.look(&Term::Thread { tenant, correlation }, forgotten)?;
        let closed = |event: &&Recorded| {
            matches!(
                event.envelope.event,
                Event::InterruptionThread(InterruptionThreadEvent::ThreadClosed(_))
            )
        };
        Ok(records.iter().rev().find(closed).map(|event| event.sequence))
    }

    /// The last event of a stream that the state does not know.
    fn last_of_stream(&mut self, stream: &str) -> Result<Option<u64>, SubmitError> {
        let forgotten = self.hot.world.streams_forgotten();
        if forgotten == 0 || self.hot.world.knows_stream(stream) {
            return Ok(None);
        }
        let records = self.look(&Term::Stream(stream), forgotten)?;
        Ok(records.last().map(|event| event.sequence))
    }

    /// The id of something that begins with these events, where something that the state has
    /// forgotten had it before. Of bits that this engine drew, and with which nothing began since,
    /// it is known that nothing ever did: so the ordinary command looks for nothing.
    fn used_id(
        &mut self,
        command: &Command,
        events: &[Event],
    ) -> Result<Option<String>, SubmitError> {
        let mut new = events.iter().filter_map(term_of_new).peekable();
        let Some(entropy) = command.entropy().filter(|_| new.peek().is_some()) else {
            return Ok(None);
        };
        let unused = self.engine.drawn.lock().take(entropy);
        if unused == u64::MAX {
            return Ok(None);
        }
        for term in new {
            let (id, forgets) = match term {
                Term::Loop(id) => (id, self.hot.world.forgets_loops()),
                Term::Request(id) => (id, self.hot.world.forgets_requests()),
                Term::DecisionPoint(id) => (id, self.hot.world.forgets_decision_points()),
                _ => continue,
            };
            if forgets && (self.first_use(&term)?.is_some() || self.is_archived(&term, unused)?) {
                return Ok(Some(id.to_string()));
            }
        }
        Ok(None)
    }

    /// Returns whether something began under a term in an archive, and so behind a record before
    /// which nothing did.
    fn is_archived(&mut self, term: &Term<'_>, unused: u64) -> Result<bool, SubmitError> {
        let beginning = self.log.beginning()?;
        let anchor = beginning.run.chain;
        if anchor.sequence <= unused {
            return Ok(false);
        }
        let disk = &*self.engine.caches;
        let known = self.hot.lookup.archived.take().filter(|known| known.end == anchor);
        let archived = match known {
            Some(known) => known,
            None => Archived::read(disk, &beginning, self.hints()?)?,
        };
        self.hot.lookup.archived.insert(archived).began(disk, term)
    }

    /// Returns where the log says that records were moved.
    fn hints(&mut self) -> Result<Vec<Hint>, SubmitError> {
        let kind = Term::Kind(HISTORY_ARCHIVED);
        let records = self.look(&kind, self.hot.place.run.chain.sequence)?;
        Ok(records.into_iter().filter_map(|event| Hint::of(event.envelope.event)).collect())
    }

    /// Returns what registered a session or a work order that a command names, last, where it ended
    /// so long ago that only the log knows.
    fn registration(&mut self, name: &Term<'_>) -> Result<Option<Event>, SubmitError> {
        let forgotten = self.hot.world.registrations_forgotten();
        if forgotten == 0 || self.hot.world.knows_registration(name) {
            return Ok(None);
        }
        let mut records = self.look(name, forgotten)?;
        Ok(records.pop().map(|event| event.envelope.event))
    }

    /// The decision point that a command is about or whose approval it spends, where it ended so
    /// long ago that only the log knows: as its records, and those of the rounds before it, say.
    /// That the state knows one of this id means nothing where the log had one before.
    fn decision_point(
        &mut self,
        command: &Command,
    ) -> Result<Option<Box<DecisionPoint>>, SubmitError> {
        let wanted = match command {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(c)) => {
                c.supersedes.as_deref()
            }
            other => other.decision_point().or_else(|| other.spent_approval()),
        };
        let Some(wanted) = wanted.filter(|_| self.hot.world.forgets_decision_points()) else {
            return Ok(None);
        };
        let began = self.hot.world.decision_point(wanted).map(|point| point.created_sequence);
        let first = self.first_use(&Term::DecisionPoint(wanted))?;
        if first.is_none_or(|first| began.is_some_and(|began| first >= began)) {
            return Ok(None);
        }
        let (mut world, mut rounds) = (World::default(), vec![wanted.to_string()]);
        let mut records = BTreeMap::new();
        let until = self.hot.place.run.chain.sequence;
        while let Some(round) = rounds.pop() {
            for event in self.look(&Term::DecisionPoint(&round), until)? {
                if let Event::DecisionPoint(DecisionPointEvent::RoundOpened(body)) =
                    &event.envelope.event
                    && !records.contains_key(&event.sequence)
                {
                    rounds.push(body.prior_id.to_string());
                }
                records.insert(event.sequence, event);
            }
        }
        for (sequence, event) in records {
            world.evolve(sequence, event.at, &event.envelope);
        }
        Ok(world.decision_point(wanted).cloned().map(Box::new))
    }

    fn first_use(&mut self, term: &Term<'_>) -> Result<Option<u64>, SubmitError> {
        if !self.hot.lookup.knows(self.hot.place.header.first_sequence()) {
            // What is staged is in no file yet.
            self.log.sync()?;
        }
        let (lookup, scope) = scope(self.engine, self.hot);
        lookup.first_use(&scope, term)
    }

    /// Returns what was recorded under a key that the state does not remember.
    fn receipt(
        &mut self,
        correlation: &str,
        idempotency: &Idempotency,
    ) -> Result<Option<KeyReceipt>, SubmitError> {
        let forgotten = self.hot.world.keys_forgotten();
        let is_remembered =
            !matches!(self.hot.world.receipt_of(correlation, idempotency), Ok(None));
        if forgotten == 0 || is_remembered {
            return Ok(None);
        }
        let Idempotency { tenant, engine: issuer, key, .. } = idempotency;
        let term = Term::Key { tenant, engine: issuer, correlation, key };
        let records = self.look(&term, self.hot.place.run.chain.sequence)?;
        let content = |event: &Recorded| event.envelope.idempotency.as_ref().map(|i| i.content);
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(None) };
        Ok(content(first).map(|content| KeyReceipt {
            content,
            first_sequence: first.sequence,
            last_sequence: last.sequence,
        }))
    }

    fn look(&mut self, term: &Term<'_>, until: u64) -> Result<Vec<Recorded>, SubmitError> {
        if self.hot.lookup.reads(self.hot.place.header.first_sequence(), term) {
            // What is staged is in no file yet.
            self.log.sync()?;
        }
        let (lookup, scope) = scope(self.engine, self.hot);
        lookup.records_with(&scope, term, until)
    }
}
