//! The terms by which a record is looked up: what it is about, whose it is, who did it, what kind
//! it is of, what caused it, and under which idempotency key.
//!
//! An index knows a term by its canonical bytes alone, and believes that different terms have
//! different ones. So the first byte says which term it is, what varies in length is preceded by
//! its length, and everything else has a fixed width.

use alloc::vec::Vec;

use crate::core::actor::Actor;
use crate::decision_point::event::DecisionPointEvent;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::human_decision::event::HumanDecisionEvent;
use crate::log::event::LogEvent;
use crate::registration::event::RegistrationEvent;
use crate::world::envelope::{Envelope, decode};
use crate::world::event::Event;

/// Version of the rules by which records are given terms. A change to [`terms_of`] or to a term's
/// canonical bytes raises it: indexes made by other rules are then built again. The format of
/// indexes is raised with it, for where the log states two indexes of one segment in one format,
/// neither is believed.
pub const TERMS_VERSION: u32 = 3;

/// What a record can be looked up by. Closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term<'a> {
    /// A loop, by its id.
    Loop(&'a str),
    /// A request to a person, by its id.
    Request(&'a str),
    /// A decision point, by its id.
    DecisionPoint(&'a str),
    /// An interruption thread.
    Thread {
        /// Its tenant.
        tenant: &'a str,
        /// Its correlation.
        correlation: &'a str,
    },
    /// A tenant whose users, devices, sessions, work orders or leases the record registers.
    Tenant(&'a str),
    /// A session, as it is registered.
    Session {
        /// Its tenant.
        tenant: &'a str,
        /// Its name.
        session: &'a str,
    },
    /// A work order, as it is registered.
    WorkOrder {
        /// Its tenant.
        tenant: &'a str,
        /// Its name.
        work_order: &'a str,
    },
    /// A stream of the application.
    Stream(&'a str),
    /// What a command that was refused was about: the id of whatever it named.
    Refused(&'a str),
    /// The story that the record belongs to.
    Correlation(&'a str),
    /// Who did it.
    Actor {
        /// What the actor is.
        kind: Actor,
        /// The name.
        id: &'a str,
    },
    /// The kind of event, by its number in the registry.
    Kind(u16),
    /// The record that caused it.
    CausedBy(u64),
    /// An idempotency key, within its scope.
    Key {
        /// Whose keys these are.
        tenant: &'a str,
        /// Which engine issued the command.
        engine: &'a str,
        /// The envelope's correlation.
        correlation: &'a str,
        /// The key itself.
        key: &'a str,
    },
}

impl Term<'_> {
    /// Appends the term's canonical bytes to `out`. No two terms have the same.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Loop(id) => put(out, 1, &[id]),
            Self::Request(id) => put(out, 2, &[id]),
            Self::DecisionPoint(id) => put(out, 3, &[id]),
            Self::Thread { tenant, correlation } => put(out, 4, &[tenant, correlation]),
            Self::Tenant(id) => put(out, 5, &[id]),
            Self::Refused(id) => put(out, 6, &[id]),
            Self::Correlation(correlation) => put(out, 7, &[correlation]),
            Self::Actor { kind, id } => put(out, 8, &[kind.name(), id]),
            Self::Kind(kind) => {
                out.push(9);
                out.extend_from_slice(&kind.to_le_bytes());
            }
            Self::Key { tenant, engine, correlation, key } => {
                put(out, 10, &[tenant, engine, correlation, key]);
            }
            Self::Session { tenant, session } => put(out, 11, &[tenant, session]),
            Self::WorkOrder { tenant, work_order } => put(out, 12, &[tenant, work_order]),
            Self::Stream(stream) => put(out, 13, &[stream]),
            Self::CausedBy(sequence) => {
                out.push(14);
                out.extend_from_slice(&sequence.to_le_bytes());
            }
        }
    }

    /// The term's canonical bytes.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Whether it is an idempotency key, which has an index of its own.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        matches!(self, Self::Key { .. })
    }
}

/// A byte that says which term it is, then each text behind its length.
fn put(out: &mut Vec<u8>, tag: u8, texts: &[&str]) {
    out.push(tag);
    for text in texts {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
}

/// Every term of a record, in no particular order; one may come twice.
pub fn terms_of(envelope: &Envelope, each: &mut dyn FnMut(Term<'_>)) {
    let Envelope { actor, correlation, causation, event, .. } = envelope;
    entities_of(event, each);
    each(Term::Correlation(correlation));
    each(Term::Actor { kind: actor.kind, id: &actor.id });
    each(Term::Kind(event.kind().kind));
    if let Some(cause) = causation {
        each(Term::CausedBy(*cause));
    }
    if let Some(idempotency) = &envelope.idempotency {
        let (tenant, engine) = (&idempotency.tenant, &idempotency.engine);
        each(Term::Key { tenant, engine, correlation, key: &idempotency.key });
    }
}

/// [`terms_of`] a record as it lies in the log, each by its canonical bytes and whether it is an
/// idempotency key. What is opaque has its kind. A payload that this program cannot read has no
/// terms: there is nothing in it that could be looked up. One that was withheld must not be given.
pub fn terms_of_record(kind: u16, version: u8, payload: &[u8], each: &mut dyn FnMut(&[u8], bool)) {
    let mut canonical = Vec::new();
    let mut write = |term: Term<'_>| {
        canonical.clear();
        term.write(&mut canonical);
        each(&canonical, term.is_key());
    };
    match decode(kind, version, payload) {
        Ok(envelope) => terms_of(&envelope, &mut write),
        Err(unread) if unread.is_opaque() => write(Term::Kind(kind)),
        Err(_) => {}
    }
}

/// What an event is about.
fn entities_of(event: &Event, each: &mut dyn FnMut(Term<'_>)) {
    if let Some(loop_id) = event.loop_id() {
        each(Term::Loop(loop_id));
    }
    if let Some(request_id) = request_of(event) {
        each(Term::Request(request_id));
    }
    if let Some(decision_id) = event.decision_point() {
        each(Term::DecisionPoint(decision_id));
    }
    if let Some(stream) = event.stream() {
        each(Term::Stream(stream));
    }
    if let Some((tenant, correlation)) = event.thread() {
        each(Term::Thread { tenant, correlation });
    }
    if let Event::Registration(event) = event {
        let tenant = event.tenant().map(Term::Tenant);
        tenant.into_iter().chain(term_of_registration(event)).for_each(&mut *each);
    }
    if let Event::Log(LogEvent::CommandRefused(body)) = event
        && let Some(subject) = &body.subject
    {
        each(Term::Refused(subject));
    }
}

/// The request to a person that an event is about.
#[must_use]
pub fn request_of(event: &Event) -> Option<&str> {
    let Event::HumanDecision(event) = event else { return None };
    Some(event.request_id())
}

/// The term of the loop, request or decision point that begins with an event, under an id that
/// nothing else ever has.
#[must_use]
pub fn term_of_new(event: &Event) -> Option<Term<'_>> {
    if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
        return Some(Term::Loop(&body.loop_id));
    }
    if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
        return Some(Term::Request(&body.request.request_id));
    }
    let Event::DecisionPoint(
        event @ (DecisionPointEvent::DecisionPointCreated(_) | DecisionPointEvent::RoundOpened(_)),
    ) = event
    else {
        return None;
    };
    Some(Term::DecisionPoint(event.decision_id()))
}

/// The term of the session or the work order that an event registers.
fn term_of_registration(event: &RegistrationEvent) -> Option<Term<'_>> {
    if let RegistrationEvent::SessionRegistered(body) = event {
        return Some(Term::Session { tenant: &body.tenant_id, session: &body.session_id });
    }
    let RegistrationEvent::WorkOrderRegistered(body) = event else { return None };
    Some(Term::WorkOrder { tenant: &body.tenant_id, work_order: &body.work_order_id })
}
