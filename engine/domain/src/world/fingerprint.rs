//! One number for the whole hot state (properties E1 and E9).

use alloc::vec::Vec;

use super::World;
use crate::hash::Digest;

/// The version of the state's encoding. It rises whenever the same events give other bytes, and
/// a fingerprint recorded under another version is then "not checked" instead of wrong.
pub const STATE_SCHEMA_VERSION: u32 = 6;

impl World {
    /// BLAKE3 over a tag, the schema version and the hot state as [`World::carry`] gives it: from
    /// it everything else in the hot state follows. Equal for worlds that keep what settles and
    /// worlds that do not.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        *fingerprint_of(&self.carry()).as_bytes()
    }

    /// The hot state as [`World::carry`] gives it, and its fingerprint: for whoever records it
    /// next, which then computes neither again.
    #[must_use]
    pub fn carry_with_fingerprint(&mut self) -> (Vec<u8>, Digest) {
        let carried = self.carry();
        let fingerprint = fingerprint_of(&carried);
        self.fingerprint = KnownFingerprint(Some(fingerprint));
        (carried, fingerprint)
    }

    /// The fingerprint, computed unless it just was.
    pub(crate) fn known_fingerprint(&self) -> Digest {
        self.fingerprint.0.unwrap_or_else(|| self.fingerprint_digest())
    }

    /// The hot state has changed.
    pub(crate) const fn forget_fingerprint(&mut self) {
        self.fingerprint = KnownFingerprint(None);
    }

    /// The same, as a digest with a text.
    #[must_use]
    pub fn fingerprint_digest(&self) -> Digest {
        fingerprint_of(&self.carry())
    }
}

/// The fingerprint of the hot state as it is. It follows from that, and so is no part of the world:
/// however it is, worlds are equal that are so without it.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownFingerprint(pub(super) Option<Digest>);

impl PartialEq for KnownFingerprint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownFingerprint {}

/// The fingerprint of a state that was carried.
#[must_use]
pub fn fingerprint_of(carried: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("holdpoint world fingerprint");
    hasher.update(&STATE_SCHEMA_VERSION.to_le_bytes());
    hasher.update(carried);
    Digest::from_bytes(*hasher.finalize().as_bytes())
}
