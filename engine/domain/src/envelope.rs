//! What one record's payload holds: an event, and who caused it, within what story, and because
//! of which record (property E7: a story can be told from any record in both directions).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::execution_loop::Actor;
use crate::hash::Digest;
use crate::principal::Proof;
use crate::text::{IdentifierFault, check_identifier};

/// One record's payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// Who did it.
    pub actor: ActorId,
    /// What the process that recorded it could prove of that. `None` in records that were made
    /// before it was recorded, and in Holdpoint's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The story that the record belongs to: 128 random bits in hex, or the caller's own name of
    /// at most [`MAX_ID_BYTES`](crate::limits::MAX_ID_BYTES).
    pub correlation: String,
    /// The sequence of the record that caused this one. `None` where a story begins.
    pub causation: Option<u64>,
    /// The key under which the caller may repeat the command without effect.
    pub idempotency: Option<Idempotency>,
    /// What happened.
    pub event: Event,
}

impl Envelope {
    /// Whether every name in the envelope may be recorded. `decide` sees events only, so whoever
    /// makes envelopes asks this before encoding one.
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
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActorId {
    /// Human, agent, automation or Holdpoint itself.
    pub kind: Actor,
    /// The name under which the actor is known, at most
    /// [`MAX_ID_BYTES`](crate::limits::MAX_ID_BYTES).
    pub id: String,
}

/// A caller's key for one command, and the digest of what it asked for, so that the same key with
/// the same content is answered again and with other content conflicts. Within a log, keys are
/// scoped by tenant, engine and the envelope's correlation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Idempotency {
    /// Whose keys these are.
    pub tenant: String,
    /// Which engine issued the command.
    pub engine: String,
    /// The key itself.
    pub key: String,
    /// SHA-256 of the command's content, its time excluded.
    pub content: Digest,
}
