//! The building blocks of event bodies that need care: text, short lists, and raw evidence.
//!
//! Text and raw evidence decode by borrowing from the payload first, so that a hostile length is
//! compared with the bytes that are there before anything is allocated; lists grow as items arrive.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::evidence_capture::RawData;
use crate::hash::{Digest, sha256};
use crate::limits::MAX_LIST_ITEMS;

/// Text inside an event.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Text(String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as an owned string.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
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
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Raw(RawData);

impl Raw {
    /// The bytes. Whoever shows them to a person needs that person's explicit wish.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The same, as Phase-31's own type.
    #[must_use]
    pub const fn as_raw_data(&self) -> &RawData {
        &self.0
    }

    /// Length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        u64::try_from(self.as_bytes().len()).unwrap_or(u64::MAX)
    }

    /// SHA-256 of the bytes.
    #[must_use]
    pub fn sha256(&self) -> Digest {
        sha256(self.as_bytes())
    }
}

impl From<RawData> for Raw {
    fn from(raw_data: RawData) -> Self {
        Self(raw_data)
    }
}

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
        Ok(Raw(RawData::from(bytes.to_owned())))
    }
}
