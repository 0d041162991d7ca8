//! SHA-256 in the two shapes the rules use: the seeds' hex texts, and an injective hash.
//!
//! What is hashed is gathered first: many short fields reach the hash function as one long run.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use arrayvec::ArrayVec;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Number of digits a digest has as text.
const HEX_LENGTH: usize = 64;

/// 32 bytes of SHA-256. As text it is 64 lower-case hexadecimal digits; upper case is refused, so
/// that one digest has one text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest's text.
    pub(crate) fn to_text(self) -> String {
        base16ct::lower::encode_string(&self.0)
    }

    /// Returns whether this is the digest's text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        base16ct::lower::encode_str(&self.0, &mut [0; HEX_LENGTH]) == Ok(text)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match base16ct::lower::encode_str(&self.0, &mut [0; HEX_LENGTH]) {
            Ok(text) => f.write_str(text),
            Err(_) => Err(fmt::Error),
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a digest is 64 lower-case hexadecimal digits; found {found_bytes} bytes of other text")]
pub struct NotADigest {
    /// The length of the text, in bytes.
    pub found_bytes: usize,
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let mut bytes = [0; 32];
        let fault = NotADigest { found_bytes: text.len() };
        match base16ct::lower::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == 32 => Ok(Self(bytes)),
            _ => Err(fault),
        }
    }
}

/// Readable formats carry the text, binary ones the 32 bytes.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        } else {
            deserializer.deserialize_newtype_struct(DIGEST, DigestVisitor)
        }
    }
}

/// The name by which a deserializer may know that 32 bytes in a row are wanted.
pub(crate) const DIGEST: &str = "holdpoint.Digest";

struct DigestVisitor;

impl<'de> Visitor<'de> for DigestVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the 32 bytes of a digest")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, bytes: D) -> Result<Digest, D::Error> {
        <[u8; 32]>::deserialize(bytes).map(Digest)
    }

    fn visit_borrowed_bytes<E: serde::de::Error>(self, bytes: &'de [u8]) -> Result<Digest, E> {
        let found = bytes.len();
        bytes.try_into().map(Digest).map_err(|_| E::invalid_length(found, &self))
    }
}

/// The SHA-256 of some bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// The SHA-256 of bytes that come piece by piece: what [`sha256`] gives for all of them at once.
#[derive(Clone, Debug, Default)]
pub struct Sha256Stream(Sha256);

impl Sha256Stream {
    /// No bytes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all of them.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Lower-case hex SHA-256 of parts joined by single NUL bytes, with none before or after: the
/// seeds' recipe (Phase-31, "Evidence hash computation"). Parts may contain NUL themselves, so it
/// is not injective: kept for compatibility, never relied on.
#[must_use]
pub(crate) fn nul_joined_sha256(parts: &[&[u8]]) -> Digest {
    let mut preimage = Preimage::default();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            preimage.take(&[0]);
        }
        preimage.take(part);
    }
    preimage.finish()
}

/// The same as text.
#[must_use]
pub(crate) fn nul_joined_sha256_hex(parts: &[&[u8]]) -> String {
    nul_joined_sha256(parts).to_text()
}

/// Builds a hash over typed fields such that different inputs never give the same preimage: a
/// domain tag with a version comes first; every field starts with a byte that says its type;
/// what varies in length is preceded by its length; everything else has a fixed width.
///
/// ```
/// use holdpoint_domain::core::hash::HashBuilder;
/// let ab_c = HashBuilder::new("example", 1).text("ab").text("c").finish();
/// let a_bc = HashBuilder::new("example", 1).text("a").text("bc").finish();
/// assert_ne!(ab_c, a_bc);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct HashBuilder(Preimage);

impl HashBuilder {
    /// Starts a hash of one kind of thing. No two kinds share a tag; a change to what is hashed
    /// raises the version.
    #[inline]
    pub fn new(domain_tag: &str, version: u16) -> Self {
        let mut preimage = Preimage::default();
        preimage.begin(domain_tag, version);
        Self(preimage)
    }

    /// A text, as UTF-8, not normalized.
    #[inline]
    pub fn text(mut self, text: &str) -> Self {
        self.0.text(text);
        self
    }

    /// A text that may be absent.
    #[inline]
    pub fn optional_text(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.absent(),
        }
    }

    /// Opaque bytes.
    #[inline]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.variable(BYTES_TAG, bytes);
        self
    }

    /// A number, eight bytes, little-endian.
    #[inline]
    pub fn number(mut self, number: u64) -> Self {
        self.0.number(number);
        self
    }

    /// A digest, 32 bytes.
    #[inline]
    pub fn digest(mut self, digest: &Digest) -> Self {
        self.0.digest(digest);
        self
    }

    /// The place of a field that is not there.
    #[inline]
    pub fn absent(mut self) -> Self {
        self.0.absent();
        self
    }

    /// The hash of everything so far.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.0.finish()
    }
}

/// Number of bytes that are gathered at most before they are hashed: eight blocks.
const GATHERED_BYTES: usize = 512;

/// The byte before each field. An absent option is a field of its own: null is not "".
const TEXT_TAG: u8 = 1;

const BYTES_TAG: u8 = 2;

const NUMBER_TAG: u8 = 3;

const DIGEST_TAG: u8 = 4;

const ABSENT_TAG: u8 = 5;

/// Bytes to be hashed, the newest of which are gathered. Typed fields are as
/// [`HashBuilder`] says.
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

    /// Returns a preimage that continues these bytes.
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
        self.variable(TEXT_TAG, text.as_bytes());
    }

    #[inline]
    pub(crate) fn variable(&mut self, kind: u8, bytes: &[u8]) {
        self.fixed(kind, &(bytes.len() as u64).to_le_bytes());
        self.take(bytes);
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        self.fixed(NUMBER_TAG, &number.to_le_bytes());
    }

    #[inline]
    pub(crate) fn digest(&mut self, digest: &Digest) {
        self.fixed(DIGEST_TAG, digest.as_bytes());
    }

    #[inline]
    pub(crate) fn absent(&mut self) {
        self.take(&[ABSENT_TAG]);
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

/// The bytes that are hashed may be a secret.
impl fmt::Debug for Preimage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preimage")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::{nul_joined_sha256_hex, sha256};

    #[test]
    fn a_digest_has_one_text() {
        for first in 0..=u8::MAX {
            let digest = sha256(&[first]);
            let text = digest.to_string();
            assert!(digest.is_text(&text));
            for other in [&text[1..], &text[..63], "", &alloc::format!("{text}0")] {
                assert!(!digest.is_text(other));
            }
            for at in 0..text.len() {
                let mut changed = text.clone().into_bytes();
                changed[at] ^= 1;
                assert!(!digest.is_text(core::str::from_utf8(&changed).unwrap()));
            }
            let upper = text.to_uppercase();
            assert_eq!(digest.is_text(&upper), upper == text);
        }
    }

    #[test]
    fn the_seeds_recipe_has_nul_only_between_parts() {
        assert_eq!(nul_joined_sha256_hex(&[b"a", b"b", b""]), sha256(b"a\0b\0").to_string());
    }
}
