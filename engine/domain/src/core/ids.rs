//! Ids, the random bits that they are made of, and the keys under which callers repeat commands.

use alloc::string::String;
use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::hash::Digest;
use crate::core::limits::ENTROPY_BYTES;

/// Prefixes of the ids that Holdpoint mints.
pub(crate) const OWN_PREFIXES: [&str; 9] =
    ["LOOP-", "REQ-", "DEC-", "DP-", "AUDIT-", "CHAIN-", "REC-", "FAULT-", "OBS-"];

/// 128 random bits, supplied by whoever issues a command. Every id that the command brings into
/// the world is made of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entropy([u8; ENTROPY_BYTES]);

impl Entropy {
    /// Entropy of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; ENTROPY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; ENTROPY_BYTES] {
        &self.0
    }
}

/// Text of 32 lower-case hexadecimal digits.
impl fmt::Display for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base16ct::lower::encode_string(&self.0))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entropy({self})")
    }
}

/// Text of 32 lower-case hexadecimal digits.
impl Serialize for Entropy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Entropy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; ENTROPY_BYTES];
        match base16ct::lower::decode(&text, &mut bytes) {
            Ok(decoded) if decoded.len() == ENTROPY_BYTES => Ok(Self::from_bytes(bytes)),
            _ => Err(D::Error::custom("entropy is 32 lower-case hexadecimal digits")),
        }
    }
}

/// Bytes that are lower-case hexadecimal digits in readable formats.
pub(crate) mod hex {
    use alloc::vec::Vec;

    use super::{Deserializer, HexVisitor, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&base16ct::lower::encode_string(bytes))
        } else {
            serializer.serialize_bytes(bytes)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_str(HexVisitor)
    }
}

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = alloc::vec::Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes as lower-case hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        base16ct::lower::decode_vec(text)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str("..."), &self))
    }
}

/// A caller's key for one command, and the digest of what it asked for, so that the same key with
/// the same content is answered again and with other content conflicts. Within a log, keys are
/// scoped by tenant, engine and the envelope's correlation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Idempotency {
    /// Tenant whose keys these are.
    pub tenant: String,
    /// Engine that issued the command.
    pub engine: String,
    /// The key itself.
    pub key: String,
    /// SHA-256 of the command's content, its time excluded.
    pub content: Digest,
}

/// An id of the seeds: its prefix, then the entropy that the caller supplied. The rules mint
/// nothing: the entropy is an argument and is recorded.
#[must_use]
pub fn id(prefix: &str, entropy: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + entropy.len());
    id.push_str(prefix);
    id.push_str(entropy);
    id
}

/// Returns whether an entropy text is strong enough for ids that we mint: 128 bits in lower-case
/// hex. Ids of 32 bits repeat after some 77 000 captures.
#[must_use]
pub fn is_strong_entropy(entropy: &str) -> bool {
    entropy.len() == 32 && entropy.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The digits of an id: what stands after its prefix.
pub(crate) fn digits(id: &str) -> String {
    String::from(id.split_once('-').map_or(id, |(_, digits)| digits))
}
