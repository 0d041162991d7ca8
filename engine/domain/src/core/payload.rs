//! The building blocks of event bodies that need care: text, short lists, and raw evidence.
//!
//! Text and raw evidence decode by borrowing from the payload first, so that a hostile length is
//! compared with the bytes that are there before anything is allocated; lists grow as items arrive.

use alloc::borrow::{Borrow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use arrayvec::ArrayString;
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::hash::{Digest, sha256};
use crate::core::limits::MAX_LIST_ITEMS;

/// The longest text that lies in its place: a hash in hexadecimal digits.
const IN_PLACE_BYTES: usize = 64;

/// Text inside an event. What is as short as names, times and hashes are needs no memory of its
/// own, so that most events decode without asking for any.
#[derive(Clone)]
pub struct Text(Held);

/// A text that fits in its place is held there, so that one text is held in one way.
#[derive(Clone)]
enum Held {
    InPlace(ArrayString<IN_PLACE_BYTES>),
    Apart(Box<str>),
}

impl Text {
    /// The text.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Held::InPlace(text) => text,
            Held::Apart(text) => text,
        }
    }

    /// The text as an owned string.
    #[must_use]
    pub fn into_string(self) -> String {
        match self.0 {
            Held::InPlace(text) => String::from(text.as_str()),
            Held::Apart(text) => text.into_string(),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Held::InPlace(ArrayString::new()))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        let mut in_place = ArrayString::new();
        match in_place.try_push_str(text) {
            Ok(()) => Self(Held::InPlace(in_place)),
            Err(_) => Self(Held::Apart(text.into())),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        match ArrayString::from(&text) {
            Ok(text) => Self(Held::InPlace(text)),
            Err(_) => Self(Held::Apart(text.into_boxed_str())),
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

/// Texts are compared and ordered as what they hold.
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text::from(text))
    }
}

/// A short list inside an event: at most `MAX` items.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct List<T, const MAX: usize = MAX_LIST_ITEMS>(Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for List<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

/// The first `MAX` items: a list never holds more.
impl<T, const MAX: usize> FromIterator<T> for List<T, MAX> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().take(MAX).collect())
    }
}

impl<T: Serialize, const MAX: usize> Serialize for List<T, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = List<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T, MAX>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            list.push(item);
        }
        Ok(List(list))
    }
}

/// Raw evidence: opaque bytes, never parsed (seed Phase-31, `raw_data`). They are stored in the
/// record and nowhere else: neither `Debug` nor any readable serialization shows them, only their
/// length and SHA-256.
#[derive(Clone, Default)]
pub struct Raw {
    data: RawData,
    /// Digest of these very bytes, which never change: where it was computed already.
    sha256: Option<Digest>,
}

impl Raw {
    /// The bytes with their SHA-256, so that nobody computes it again.
    pub(crate) fn hashed(data: impl Into<RawData>) -> Self {
        let data = data.into();
        let sha256 = sha256(data.as_bytes());
        Self::known(data, sha256)
    }

    /// The same, where their SHA-256 is known.
    pub(crate) const fn known(data: RawData, sha256: Digest) -> Self {
        Self { data, sha256: Some(sha256) }
    }

    /// Their SHA-256, where it was computed already.
    pub(crate) const fn known_sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// The bytes alone, as Phase-31's own type.
    pub(crate) fn into_raw_data(self) -> RawData {
        self.data
    }

    /// The bytes. Whoever shows them to a person needs that person's explicit wish.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.data.as_bytes()
    }

    /// Length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        u64::try_from(self.as_bytes().len()).unwrap_or(u64::MAX)
    }

    /// SHA-256 of the bytes.
    #[must_use]
    pub fn sha256(&self) -> Digest {
        self.sha256.unwrap_or_else(|| sha256(self.as_bytes()))
    }
}

impl From<RawData> for Raw {
    fn from(data: RawData) -> Self {
        Self { data, sha256: None }
    }
}

impl From<Vec<u8>> for Raw {
    fn from(bytes: Vec<u8>) -> Self {
        RawData::from(bytes).into()
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Eq for Raw {}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.length())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(self.as_bytes());
        }
        let mut shown = serializer.serialize_struct("Raw", 2)?;
        shown.serialize_field("length", &self.length())?;
        shown.serialize_field("sha256", &self.sha256())?;
        shown.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(RawVisitor)
    }
}

struct RawVisitor;

impl Visitor<'_> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("raw evidence bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Raw, E> {
        Ok(bytes.to_owned().into())
    }
}

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

/// The text of an event for a name in a command.
impl From<&String> for Text {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, IN_PLACE_BYTES, Text};

    /// A text is the same wherever it is held, and however it came.
    #[test]
    fn texts_of_every_length_are_what_they_were_made_of() {
        for length in 0..=2 * IN_PLACE_BYTES {
            let plain = "x".repeat(length);
            let (lent, given) = (Text::from(plain.as_str()), Text::from(plain.clone()));
            assert_eq!((lent.as_str(), &lent), (plain.as_str(), &given));
            assert_eq!(matches!(lent.0, Held::InPlace(_)), length <= IN_PLACE_BYTES);
            assert!(Text::from(plain.clone() + "a") > lent);
            assert_eq!(given.into_string(), plain);
        }
    }
}
