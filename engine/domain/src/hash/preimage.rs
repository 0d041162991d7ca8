//! What is hashed, gathered first: many short fields reach the hash function as one long run.

use core::fmt;

use arrayvec::ArrayVec;
use sha2::{Digest as _, Sha256};

use super::Digest;

/// How many bytes are gathered at most before they are hashed: eight blocks.
const GATHERED_BYTES: usize = 512;

/// The byte before each field. An absent option is a field of its own: null is not "".
const TEXT: u8 = 1;
pub(super) const BYTES: u8 = 2;
const NUMBER: u8 = 3;
const DIGEST: u8 = 4;
const ABSENT: u8 = 5;

/// Bytes to be hashed, the newest of which are gathered. Typed fields are as
/// [`HashBuilder`](super::HashBuilder) says.
#[derive(Clone)]
pub(crate) struct Preimage {
    hasher: Sha256,
    gathered: ArrayVec<u8, GATHERED_BYTES>,
}

impl Default for Preimage {
    fn default() -> Self {
        Self::after(Sha256::new())
    }
}

impl Preimage {
    /// One kind of thing begins so.
    #[inline]
    pub(crate) fn begin(&mut self, domain_tag: &str, version: u16) {
        self.text(domain_tag);
        self.number(u64::from(version));
    }

    /// What comes after these bytes.
    pub(crate) fn after(hasher: Sha256) -> Self {
        Self { hasher, gathered: ArrayVec::new_const() }
    }

    /// The hash function with everything so far.
    pub(crate) fn into_hasher(mut self) -> Sha256 {
        self.flush();
        self.hasher
    }

    /// The hash of everything so far.
    pub(crate) fn finish(&mut self) -> Digest {
        self.flush();
        Digest(core::mem::take(&mut self.hasher).finalize().into())
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        self.variable(TEXT, text.as_bytes());
    }

    #[inline]
    pub(super) fn variable(&mut self, kind: u8, bytes: &[u8]) {
        self.fixed(kind, &(bytes.len() as u64).to_le_bytes());
        self.take(bytes);
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        self.fixed(NUMBER, &number.to_le_bytes());
    }

    #[inline]
    pub(crate) fn digest(&mut self, digest: &Digest) {
        self.fixed(DIGEST, digest.as_bytes());
    }

    #[inline]
    pub(crate) fn absent(&mut self) {
        self.take(&[ABSENT]);
    }

    #[inline]
    fn fixed(&mut self, kind: u8, bytes: &[u8]) {
        self.take(&[kind]);
        self.take(bytes);
    }

    /// The next bytes, as they are.
    #[inline]
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.gathered.try_extend_from_slice(bytes).is_err() {
            self.overflow(bytes);
        }
    }

    /// There is no room left.
    fn overflow(&mut self, bytes: &[u8]) {
        self.flush();
        if self.gathered.try_extend_from_slice(bytes).is_err() {
            self.hasher.update(bytes);
        }
    }

    fn flush(&mut self) {
        self.hasher.update(&self.gathered);
        self.gathered.clear();
    }
}

/// What is hashed may be a secret.
impl fmt::Debug for Preimage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preimage")
    }
}
