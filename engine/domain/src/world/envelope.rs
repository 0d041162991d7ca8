//! Payload of one record: an event, and who caused it, within what story, and because of which
//! record (property E7: a story can be told from any record in both directions).
//!
//! A payload is two values in a row: the heading (the event's kind again, so that a payload under
//! a foreign kind is refused; actor, correlation, causation, idempotency) and the event's body.
//! Property L8: what decodes re-encodes to the same bytes. Over-long numbers and trailing bytes
//! are therefore refused, as they are read. Nothing is allocated for a length that the payload
//! merely claims: text and raw bytes are borrowed from it first.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::application::event::ApplicationEvent;
use crate::core::actor::{Actor, ActorId, Authentication, Proof};
use crate::core::canonical::Reader;
use crate::core::codec::{BodyReader, BodyWriter, DecodeError, EncodeError, read};
use crate::core::forbidden::{Rule, RuleChecks};
use crate::core::hash::Digest;
use crate::core::ids::Idempotency;
use crate::core::limits::MAX_PAYLOAD_BYTES;
use crate::core::payload::List;
use crate::core::refusal::quoted;
use crate::core::text::{IdentifierFault, MAX_IDENTIFIER_BYTES, check_identifier};
use crate::core::time::Timestamp;
use crate::log::event::{LogEvent, SalvagedRun};
use crate::log::state::RulesNumbers;
use crate::world::event::{Event, FIRST_OPAQUE_KIND, SYSTEMS, is_registered, kind_name};

/// One record's payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// Actor who did it.
    pub actor: ActorId,
    /// Proof of it by the process that recorded it. `None` in records that were made before it was
    /// recorded, and in Holdpoint's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The own clock of the machine that recorded it, where that was behind the record's time: a
    /// record is never dated before the one before it. `None`: it was the record's time, or the
    /// record is older than this statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Timestamp>,
    /// The story that the record belongs to: 128 random bits in hex, or the caller's own name of
    /// at most [`MAX_ID_BYTES`](crate::core::limits::MAX_ID_BYTES).
    pub correlation: String,
    /// The sequence of the record that caused this one. `None` where a story begins.
    pub causation: Option<u64>,
    /// The key under which the caller may repeat the command without effect.
    pub idempotency: Option<Idempotency>,
    /// Event that happened.
    pub event: Event,
}

impl Envelope {
    /// Checks whether every name in the envelope may be recorded. `decide` sees events only, so
    /// whoever makes envelopes asks this before encoding one.
    ///
    /// # Errors
    /// [`IdentifierFault`] names the field, what was expected and what was found.
    pub fn check(&self) -> Result<(), IdentifierFault> {
        check_identifier("actor id", &self.actor.id)?;
        check_identifier("correlation", &self.correlation)?;
        let Some(idempotency) = &self.idempotency else { return Ok(()) };
        check_identifier("tenant", &idempotency.tenant)?;
        check_identifier("engine", &idempotency.engine)?;
        check_identifier("idempotency key", &idempotency.key)
    }

    /// Judges the heading of a record, as every writer keeps it: names within their bounds, a cause
    /// that lies before, and SYSTEM where it speaks alone. No number of the rules allows another
    /// one.
    pub(crate) fn judge_heading(&self, sequence: u64, checks: &mut RuleChecks<'_>) {
        let Self { actor, correlation, causation, idempotency, event, .. } = self;
        let key = idempotency.iter().flat_map(|it| [&it.tenant, &it.engine, &it.key]);
        [&actor.id, correlation].into_iter().chain(key).for_each(|name| judge_name(name, checks));
        if let Some(cause) = causation {
            let last = sequence.saturating_sub(1);
            let expected = format_args!("a record from 1 to {last}");
            checks.demand((1..=last).contains(cause), Rule::Cause, expected, cause);
        }
        if event.is_of_system() {
            checks.expect(Rule::Speaker, Actor::System, actor.kind);
        }
    }
}

/// Judges a name. What else one is checked for when it is chosen was not asked for by every writer.
fn judge_name(name: &str, checks: &mut RuleChecks<'_>) {
    let is_one = (1..=MAX_IDENTIFIER_BYTES).contains(&name.len());
    let is_one = is_one && !name.chars().any(char::is_control);
    let expected =
        format_args!("a name of 1 to {MAX_IDENTIFIER_BYTES} bytes without control characters");
    checks.demand(is_one, Rule::Names, expected, quoted(name));
}

/// A payload and what the record's header says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The event's kind.
    pub kind: u16,
    /// The version of the payload's schema.
    pub version: u8,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Encodes one record's payload.
///
/// # Errors
/// [`EncodeError`] when the payload would exceed [`MAX_PAYLOAD_BYTES`].
pub fn encode(envelope: &Envelope) -> Result<Encoded, EncodeError> {
    let kind = envelope.event.kind();
    let writer = BodyWriter(Vec::with_capacity(USUAL_PAYLOAD_BYTES))
        .write(&Heading::of(envelope, kind.kind))?;
    let payload = envelope.event.write_body(writer)?.0;
    Ok(Encoded { kind: kind.kind, version: kind.version, payload })
}

/// Decodes one record's payload, whose header states `kind` and `version`.
///
/// # Errors
/// [`DecodeError`] names what was expected and what was found. No input panics.
pub fn decode(kind: u16, version: u8, payload: &[u8]) -> Result<Envelope, DecodeError> {
    let (heading, event) = whole(kind, version, payload)?;
    Ok(heading.into_envelope(event))
}

/// Checks whether one record's payload can be decoded. Nothing is kept of it, which is faster.
///
/// # Errors
/// As [`decode`].
pub fn check(kind: u16, version: u8, payload: &[u8]) -> Result<(), DecodeError> {
    whole(kind, version, payload).map(drop)
}

#[inline(always)]
fn whole(kind: u16, version: u8, payload: &[u8]) -> Result<(Heading<'_>, Event), DecodeError> {
    let mut reader = Reader::new(payload);
    let heading = heading(kind, version, &mut reader)?;
    let event = Event::read_body(BodyReader { kind, version, reader: &mut reader })?;
    match reader.over_long() {
        Some(offset) => Err(DecodeError::NotCanonical { kind, offset }),
        None => check_rules(&heading.speaker, &event).map(|()| (heading, event)),
    }
}

/// A statement of newer rules is as unknown as a newer kind: nothing from it on can be judged. One
/// that SYSTEM did not make is forbidden, and counts for nothing.
#[inline(always)]
fn check_rules(speaker: &Speaker<'_>, event: &Event) -> Result<(), DecodeError> {
    let Event::Log(LogEvent::RulesAdopted(body)) = event else { return Ok(()) };
    if speaker.kind() != Actor::System {
        return Ok(());
    }
    RulesNumbers::check(body.systems.iter().map(|it| (&it.system, it.number)), SYSTEMS)
}

/// The heading of a payload, which its reader is at the beginning of.
#[inline(always)]
fn heading<'a>(
    kind: u16,
    version: u8,
    reader: &mut Reader<'a>,
) -> Result<Heading<'a>, DecodeError> {
    if !is_registered(kind, version) {
        return Err(DecodeError::unknown(kind, version));
    }
    if reader.left() > MAX_PAYLOAD_BYTES {
        return Err(DecodeError::TooLong { found: reader.left() });
    }
    let heading: Heading<'_> = read(&mut *reader, kind, "heading")?;
    match heading.kind == kind {
        true => Ok(heading),
        false => Err(DecodeError::KindDisagrees { expected: kind, found: heading.kind }),
    }
}

/// Decodes what a record's payload names as its cause, by its heading alone: the body is not looked
/// at.
///
/// # Errors
/// As [`decode`], as far as the heading goes.
pub fn decode_causation(
    kind: u16,
    version: u8,
    payload: &[u8],
) -> Result<Option<u64>, DecodeError> {
    Ok(heading(kind, version, &mut Reader::new(payload))?.causation)
}

impl DecodeError {
    pub(crate) fn unknown(kind: u16, version: u8) -> Self {
        match kind_name(kind) {
            _ if kind >= FIRST_OPAQUE_KIND => Self::Opaque { kind },
            Some(_) => Self::UnknownVersion { kind, version },
            None => Self::UnknownKind { kind, version },
        }
    }

    /// Returns whether the record is no event at all, but the log's user's own.
    #[must_use]
    pub const fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque { .. })
    }

    /// Returns whether a newer program may know what the record says: nothing from it on is judged.
    #[must_use]
    pub fn is_of_unknown_kind(&self) -> bool {
        matches!(
            self,
            Self::UnknownKind { .. } | Self::UnknownVersion { .. } | Self::UnknownRules { .. }
        )
    }
}

/// Room for most payloads, so that they are written without growing.
const USUAL_PAYLOAD_BYTES: usize = 1_000;

/// Heading before the body.
#[derive(Serialize, Deserialize)]
struct Heading<'a> {
    kind: u16,
    #[serde(borrow)]
    speaker: Speaker<'a>,
    correlation: &'a str,
    causation: Option<u64>,
    #[serde(borrow)]
    idempotency: Option<(&'a str, &'a str, &'a str, Digest)>,
}

/// Actor who did it. The first four are the kinds of actors in their order, as they were recorded
/// before the proof was: they take the same bytes as a kind and a name.
#[derive(Serialize, Deserialize)]
enum Speaker<'a> {
    Human(&'a str),
    Agent(&'a str),
    Automation(&'a str),
    System(&'a str),
    Proven {
        kind: Actor,
        id: &'a str,
        user: u32,
        by: Authentication,
    },
    /// By whom, and what the own clock said where that was not the record's time.
    Clocked {
        kind: Actor,
        id: &'a str,
        proof: Option<(u32, Authentication)>,
        clock: Timestamp,
    },
}

impl<'a> Speaker<'a> {
    fn of(envelope: &'a Envelope) -> Self {
        let ActorId { kind, id } = &envelope.actor;
        if let Some(clock) = envelope.clock {
            let proof = envelope.proof.map(|Proof { user, by }| (user, by));
            return Self::Clocked { kind: *kind, id, proof, clock };
        }
        match (&envelope.proof, kind) {
            (Some(Proof { user, by }), kind) => {
                Self::Proven { kind: *kind, id, user: *user, by: *by }
            }
            (None, Actor::Human) => Self::Human(id),
            (None, Actor::Agent) => Self::Agent(id),
            (None, Actor::Automation) => Self::Automation(id),
            (None, Actor::System) => Self::System(id),
        }
    }

    const fn kind(&self) -> Actor {
        match self {
            Self::Human(_) => Actor::Human,
            Self::Agent(_) => Actor::Agent,
            Self::Automation(_) => Actor::Automation,
            Self::System(_) => Actor::System,
            Self::Proven { kind, .. } | Self::Clocked { kind, .. } => *kind,
        }
    }

    #[inline(always)]
    fn into_actor(self) -> (ActorId, Option<Proof>, Option<Timestamp>) {
        let kind = self.kind();
        let (id, proof, clock) = match self {
            Self::Human(id) | Self::Agent(id) | Self::Automation(id) | Self::System(id) => {
                (id, None, None)
            }
            Self::Proven { id, user, by, .. } => (id, Some(Proof { user, by }), None),
            Self::Clocked { id, proof, clock, .. } => {
                (id, proof.map(|(user, by)| Proof { user, by }), Some(clock))
            }
        };
        (ActorId { kind, id: String::from(id) }, proof, clock)
    }
}

impl<'a> Heading<'a> {
    fn of(envelope: &'a Envelope, kind: u16) -> Self {
        let key =
            |i: &'a Idempotency| (i.tenant.as_str(), i.engine.as_str(), i.key.as_str(), i.content);
        Self {
            kind,
            speaker: Speaker::of(envelope),
            correlation: &envelope.correlation,
            causation: envelope.causation,
            idempotency: envelope.idempotency.as_ref().map(key),
        }
    }

    #[inline(always)]
    fn into_envelope(self, event: Event) -> Envelope {
        let key = |(tenant, engine, key, content)| Idempotency {
            tenant: String::from(tenant),
            engine: String::from(engine),
            key: String::from(key),
            content,
        };
        let (actor, proof, clock) = self.speaker.into_actor();
        Envelope {
            actor,
            proof,
            clock,
            correlation: String::from(self.correlation),
            causation: self.causation,
            idempotency: self.idempotency.map(key),
            event,
        }
    }
}

impl Envelope {
    /// Replaces every sequence that names a record of this same log: the causation, and what the
    /// events of the log itself say. A 0, which names no record, stays.
    ///
    /// Sequences of other logs stay as well: what `log.salvaged` and `log.records_lost` say of
    /// their source, and all of `log.history_archived`, whose sequences are those of the archive
    /// and of the state that it carries. No other event holds one.
    pub fn map_sequences(&mut self, mut map: impl FnMut(u64) -> u64) {
        let mut replace = |sequence: &mut u64| {
            if *sequence > 0 {
                *sequence = map(*sequence);
            }
        };
        self.causation.iter_mut().for_each(&mut replace);
        match &mut self.event {
            Event::Log(LogEvent::RecoveryPerformed(body)) => {
                replace(&mut body.last_proven_sequence);
                replace(&mut body.last_kept_sequence);
            }
            Event::Log(LogEvent::HeadMissingAccepted(body)) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::Log(LogEvent::SegmentIndexed(body)) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::Log(LogEvent::RecordsUnproven(body)) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::Log(LogEvent::RecordsLabelled(body)) => replace(&mut body.first_sequence),
            Event::Application(ApplicationEvent::ReducerFingerprintRecorded(body)) => {
                replace(&mut body.covers);
            }
            Event::Log(LogEvent::Salvaged(body)) => body.runs = replaced(&body.runs, replace),
            Event::Log(_)
            | Event::ExecutionLoop(_)
            | Event::EvidenceCapture(_)
            | Event::SandboxFault(_)
            | Event::HumanDecision(_)
            | Event::Registration(_)
            | Event::InterruptionThread(_)
            | Event::DecisionPoint(_)
            | Event::Application(_) => {}
        }
    }
}

fn replaced(runs: &[SalvagedRun], mut replace: impl FnMut(&mut u64)) -> List<SalvagedRun> {
    let moved = |run: &SalvagedRun| {
        let mut run = *run;
        replace(&mut run.first_sequence);
        run
    };
    runs.iter().map(moved).collect()
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for Envelope {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self {
            actor: input.arbitrary()?,
            proof: input.arbitrary()?,
            clock: input.arbitrary()?,
            correlation: crate::core::arbitrary::identifier(input)?,
            causation: input.arbitrary()?,
            idempotency: input.arbitrary()?,
            event: input.arbitrary()?,
        })
    }
}
