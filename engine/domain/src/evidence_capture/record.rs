//! One piece of evidence and the session it is captured in (Phase-31).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{EvidenceType, ObservationPoint};

/// Raw bytes as they were captured: owned, never parsed, never shown. `Debug` gives the length.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RawData(Vec<u8>);

impl RawData {
    /// The bytes. They may hold secrets and may lie: they leave only by explicit export.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for RawData {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for RawData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawData({} bytes)", self.0.len())
    }
}

impl Serialize for RawData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for RawData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(RawDataVisitor).map(Self)
    }
}

struct RawDataVisitor;

impl<'de> Visitor<'de> for RawDataVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(Vec::from(bytes))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }

    /// Grows as elements arrive: the size that the input announces is not believed.
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = elements.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

/// What was offered to a halted context. The seed puts a fixed `CONTEXT_HALTED` record in its
/// place; the offer itself is kept here, under the injective hash, so that nothing is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedEvidence {
    /// The point it was offered for.
    pub observation_point: ObservationPoint,
    /// The type it was offered as.
    pub evidence_type: EvidenceType,
    /// What was offered.
    pub raw_data: RawData,
}

/// One immutable piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// `REC-` and the entropy it was made with.
    pub record_id: String,
    /// Where in the loop it was observed.
    pub observation_point: ObservationPoint,
    /// What kind of evidence.
    pub evidence_type: EvidenceType,
    /// When, as ISO-8601 text.
    pub timestamp: String,
    /// The evidence, never parsed.
    pub raw_data: RawData,
    /// The seed's hash of the record before it, 64 lower-case hex digits; empty for the first.
    pub prior_hash: String,
    /// The seed's hash of this record; see [`super::evidence_hash`].
    pub self_hash: String,
    /// What a halted context was offered; absent otherwise. Not in the seed's hash, but in the
    /// injective one.
    pub offered: Option<OfferedEvidence>,
}

/// One observation session. Frozen: a changed session is a new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationContext {
    /// `OBS-` and the entropy it was made with.
    pub session_id: String,
    /// The loop that is observed.
    pub loop_id: String,
    /// The executor of that loop.
    pub executor_id: String,
    /// The instruction hash that is expected.
    pub envelope_hash: String,
    /// When the session started, as ISO-8601 text.
    pub created_at: String,
    /// Whether the session may capture nothing but its halt.
    pub is_halted: bool,
}
