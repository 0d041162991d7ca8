//! One record's payload as bytes: bincode 2, standard configuration, always canonical.
//!
//! A payload is two values in a row: the heading (the event's kind again, so that a payload under
//! a foreign kind is refused; actor, correlation, causation, idempotency) and the event's body.
//! Property L8: what decodes re-encodes to the same bytes. Over-long numbers and trailing bytes
//! are therefore refused, as they are read. Nothing is allocated for a length that the payload
//! merely claims: text and raw bytes are borrowed from it first.

mod borrow_first;
mod canonical;

use alloc::string::String;
use alloc::vec::Vec;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::enc::write::Writer;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::decision_point::Authentication;
use crate::envelope::{ActorId, Envelope, Idempotency};
use crate::event::{Event, is_registered, kind_name};
use crate::execution_loop::Actor;
use crate::hash::Digest;
use crate::limits::MAX_PAYLOAD_BYTES;
use crate::principal::Proof;
pub(crate) use borrow_first::borrow_first;
use canonical::Reader;

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
    if !is_registered(kind, version) {
        return Err(DecodeError::unknown(kind, version));
    }
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(DecodeError::TooLong { found: payload.len() });
    }
    let mut reader = Reader::new(payload);
    let heading: Heading<'_> = read(&mut reader, kind, "heading")?;
    if heading.kind != kind {
        return Err(DecodeError::KindDisagrees { expected: kind, found: heading.kind });
    }
    let event = Event::read_body(BodyReader { kind, version, reader: &mut reader })?;
    match reader.over_long() {
        Some(offset) => Err(DecodeError::NotCanonical { kind, offset }),
        None => Ok(heading.into_envelope(event)),
    }
}

/// Why an envelope cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The payload would be too long.
    #[error("the payload exceeds {MAX_PAYLOAD_BYTES} bytes; capture less evidence in one record")]
    TooLong,
    /// The encoder refused a value, which no event of this crate has.
    #[error("the payload cannot be encoded: {reason}")]
    Unencodable {
        /// What the encoder says.
        reason: String,
    },
}

/// Why a payload cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A kind that this program does not know.
    #[error("event kind {kind} (payload version {version}) is unknown; use a newer holdpoint")]
    UnknownKind {
        /// The kind in the header.
        kind: u16,
        /// The version in the header.
        version: u8,
    },
    /// A version of a known kind that this program does not know.
    #[error("payload version {version} of event kind {kind} is unknown; use a newer holdpoint")]
    UnknownVersion {
        /// The kind in the header.
        kind: u16,
        /// The version in the header.
        version: u8,
    },
    /// The payload is longer than any payload may be.
    #[error("the payload has {found} bytes; the limit is {MAX_PAYLOAD_BYTES}")]
    TooLong {
        /// Its length, in bytes.
        found: usize,
    },
    /// The header states one kind and the payload another.
    #[error("the header states event kind {expected}, the payload {found}")]
    KindDisagrees {
        /// The kind in the header.
        expected: u16,
        /// The kind in the payload.
        found: u16,
    },
    /// The bytes are not a value of the expected type.
    #[error("the {place} of a payload of event kind {kind} is malformed: {reason}")]
    Malformed {
        /// The kind in the header.
        kind: u16,
        /// `heading` or `body`.
        place: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// Bytes follow the body.
    #[error("a payload of event kind {kind} has {found} bytes after its body; expected none")]
    Trailing {
        /// The kind in the header.
        kind: u16,
        /// How many bytes follow.
        found: usize,
    },
    /// The bytes decode, but the same value is encoded otherwise.
    #[error("a payload of event kind {kind} is not in canonical form from byte {offset} on")]
    NotCanonical {
        /// The kind in the header.
        kind: u16,
        /// The first byte that differs.
        offset: usize,
    },
}

impl DecodeError {
    pub(crate) fn unknown(kind: u16, version: u8) -> Self {
        match kind_name(kind) {
            Some(_) => Self::UnknownVersion { kind, version },
            None => Self::UnknownKind { kind, version },
        }
    }

    /// Whether a newer program may read the payload.
    #[must_use]
    pub fn is_of_unknown_kind(&self) -> bool {
        matches!(self, Self::UnknownKind { .. } | Self::UnknownVersion { .. })
    }
}

/// Room for most payloads, so that they are written without growing.
const USUAL_PAYLOAD_BYTES: usize = 1_000;

/// What has been encoded so far.
pub(crate) struct BodyWriter(Vec<u8>);

impl BodyWriter {
    pub(crate) fn write<T: Serialize>(mut self, value: &T) -> Result<Self, EncodeError> {
        match bincode::serde::encode_into_writer(value, &mut self, configuration()) {
            Ok(()) => Ok(self),
            Err(bincode::error::EncodeError::UnexpectedEnd) => Err(EncodeError::TooLong),
            Err(other) => Err(EncodeError::Unencodable { reason: alloc::format!("{other}") }),
        }
    }
}

impl Writer for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        if bytes.len() > MAX_PAYLOAD_BYTES - self.0.len().min(MAX_PAYLOAD_BYTES) {
            return Err(bincode::error::EncodeError::UnexpectedEnd);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// A payload of which the heading has been read.
pub(crate) struct BodyReader<'a, 'de> {
    pub(crate) kind: u16,
    pub(crate) version: u8,
    reader: &'a mut Reader<'de>,
}

impl<'de> BodyReader<'_, 'de> {
    /// Inlined, as every step up to the envelope: a body is large, and each call would move it.
    #[inline(always)]
    pub(crate) fn read<T: Deserialize<'de>>(self) -> Result<T, DecodeError> {
        let body = read(self.reader, self.kind, "body")?;
        match self.reader.left() {
            0 => Ok(body),
            found => Err(DecodeError::Trailing { kind: self.kind, found }),
        }
    }
}

/// What precedes the body.
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

/// Who did it. The first four are the kinds of actors in their order, as they were recorded before
/// the proof was: they take the same bytes as a kind and a name.
#[derive(Serialize, Deserialize)]
enum Speaker<'a> {
    Human(&'a str),
    Agent(&'a str),
    Automation(&'a str),
    System(&'a str),
    Proven { kind: Actor, id: &'a str, user: u32, by: Authentication },
}

impl<'a> Speaker<'a> {
    fn of(envelope: &'a Envelope) -> Self {
        let ActorId { kind, id } = &envelope.actor;
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

    #[inline(always)]
    fn into_actor(self) -> (ActorId, Option<Proof>) {
        let (kind, id, proof) = match self {
            Self::Human(id) => (Actor::Human, id, None),
            Self::Agent(id) => (Actor::Agent, id, None),
            Self::Automation(id) => (Actor::Automation, id, None),
            Self::System(id) => (Actor::System, id, None),
            Self::Proven { kind, id, user, by } => (kind, id, Some(Proof { user, by })),
        };
        (ActorId { kind, id: String::from(id) }, proof)
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
        let (actor, proof) = self.speaker.into_actor();
        Envelope {
            actor,
            proof,
            correlation: String::from(self.correlation),
            causation: self.causation,
            idempotency: self.idempotency.map(key),
            event,
        }
    }
}

/// A value without maps, and how many bytes it took: in one pass, nothing allocated for a length
/// that the bytes merely claim. Numbers may take more bytes than they need.
pub(crate) fn read_first<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, usize), String> {
    let mut reader = Reader::new(bytes);
    let value = T::deserialize(&mut reader).map_err(|fault| alloc::format!("{fault}"))?;
    Ok((value, bytes.len().saturating_sub(reader.left())))
}

/// The configuration that every payload and every fingerprint is encoded with: little-endian,
/// variable-length integers, at most [`MAX_PAYLOAD_BYTES`].
pub(crate) const fn configuration() -> Configuration<LittleEndian, Varint, Limit<MAX_PAYLOAD_BYTES>>
{
    bincode::config::standard().with_limit::<MAX_PAYLOAD_BYTES>()
}

#[inline(always)]
fn read<'de, T: Deserialize<'de>>(
    reader: &mut Reader<'de>,
    kind: u16,
    place: &'static str,
) -> Result<T, DecodeError> {
    T::deserialize(reader).map_err(|fault| DecodeError::Malformed {
        kind,
        place,
        reason: alloc::format!("{fault}"),
    })
}
