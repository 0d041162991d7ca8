//! One number for the whole hot state (properties E1 and E9).

use bincode::enc::write::Writer;

use super::World;
use crate::hash::Digest;

/// The version of the state's encoding. It rises whenever the same events give other bytes, and
/// a fingerprint recorded under another version is then "not checked" instead of wrong.
pub const STATE_SCHEMA_VERSION: u32 = 4;

impl World {
    /// BLAKE3 over a tag, the schema version and the canonical encoding of the hot state, which is
    /// ordered by id. Equal for worlds that keep what settles and worlds that do not.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = Hasher(blake3::Hasher::new_derive_key("holdpoint world fingerprint"));
        hasher.0.update(&STATE_SCHEMA_VERSION.to_le_bytes());
        bincode::serde::encode_into_writer(&self.hot, &mut hasher, bincode::config::standard())
            .expect("the state holds only types that encode, and a hasher takes every byte");
        *hasher.0.finalize().as_bytes()
    }

    /// The same, as a digest with a text.
    #[must_use]
    pub fn fingerprint_digest(&self) -> Digest {
        Digest::from_bytes(self.fingerprint())
    }
}

struct Hasher(blake3::Hasher);

impl Writer for Hasher {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        self.0.update(bytes);
        Ok(())
    }
}
