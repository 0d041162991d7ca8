//! Values as bytes: bincode 2, standard configuration, always canonical.
//!
//! A decoder that is asked for an owned text reserves what the bytes merely claim, and a list may
//! reserve room for as many items as they claim. Here every text and every run of bytes is
//! borrowed from the input first, which is as long as it is, and lists grow as items arrive.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Range};
use core::sync::atomic::{self, AtomicBool};

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::enc::write::Writer;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::core::canonical::{ADDED, BEFORE, Fault, Older, Reader};
use crate::core::limits::MAX_PAYLOAD_BYTES;

/// Why an envelope cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The payload would be too long.
    #[error("the payload exceeds {MAX_PAYLOAD_BYTES} bytes; capture less evidence in one record")]
    TooLong,
    /// The encoder refused a value, which no event of this crate has.
    #[error("the payload cannot be encoded: {reason}")]
    Unencodable {
        /// Message of the encoder.
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
    /// A kind whose records are no events: what they mean is known to whoever appends them.
    #[error("records of kind {kind} are opaque: no event, and of no meaning to holdpoint")]
    Opaque {
        /// The kind in the header.
        kind: u16,
    },
    /// A version of a known kind that this program does not know.
    #[error("payload version {version} of event kind {kind} is unknown; use a newer holdpoint")]
    UnknownVersion {
        /// The kind in the header.
        kind: u16,
        /// The version in the header.
        version: u8,
    },
    /// The log goes on by rules that this program does not have.
    #[error(
        "it states newer rules: those of {system} have number {found}, and this program has them \
         up to number {newest}; use a newer holdpoint"
    )]
    UnknownRules {
        /// The first such system, quoted.
        system: String,
        /// The number of its rules.
        found: u32,
        /// The newest number that this program has.
        newest: u32,
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
        /// Message of the decoder.
        reason: String,
    },
    /// Bytes follow the body.
    #[error("a payload of event kind {kind} has {found} bytes after its body; expected none")]
    Trailing {
        /// The kind in the header.
        kind: u16,
        /// Number of bytes that follow.
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

/// Bytes that have been encoded so far.
pub(crate) struct BodyWriter(pub(crate) Vec<u8>);

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

/// Bytes that are carried so far: all of them are written once, where they stay.
pub(crate) struct CheckpointBytes(pub(crate) Vec<u8>);

impl CheckpointBytes {
    pub(crate) fn add<T: Serialize + ?Sized>(&mut self, value: &T) {
        let added = bincode::serde::encode_into_writer(value, self, configuration());
        added.expect("the state holds only types that encode, and memory takes every byte");
    }
}

impl Writer for CheckpointBytes {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// A payload of which the heading has been read.
pub(crate) struct BodyReader<'a, 'de> {
    pub(crate) kind: u16,
    pub(crate) version: u8,
    pub(crate) reader: &'a mut Reader<'de>,
}

impl<'de> BodyReader<'_, 'de> {
    /// Inlined, as every step up to the envelope: a body is large, and each call would move it.
    #[inline(always)]
    pub(crate) fn read<T: Deserialize<'de>>(self) -> Result<T, DecodeError> {
        let body = read(&mut *self.reader, self.kind, "body")?;
        self.end().map(|()| body)
    }

    /// Reads a body that was written before its last fields were added, which are then taken for
    /// these bytes, one for each.
    pub(crate) fn read_older<T: Deserialize<'de>>(
        self,
        added: &'static [u8],
    ) -> Result<T, DecodeError> {
        let body = read(Older::new(&mut *self.reader, added), self.kind, "body")?;
        self.end().map(|()| body)
    }

    #[inline(always)]
    fn end(&self) -> Result<(), DecodeError> {
        match self.reader.left() {
            0 => Ok(()),
            found => Err(DecodeError::Trailing { kind: self.kind, found }),
        }
    }
}

/// A value, and how many bytes it took: in one pass, nothing allocated for a length that the bytes
/// merely claim. Numbers may take more bytes than they need.
pub(crate) fn read_first<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, usize), String> {
    let mut reader = Reader::new(bytes);
    let value = T::deserialize(&mut reader).map_err(|fault| alloc::format!("{fault}"))?;
    Ok((value, bytes.len().saturating_sub(reader.left())))
}

/// A value that was written before some field in it was added.
#[derive(Debug)]
pub struct Before<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Before<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = deserializer.deserialize_newtype_struct(BEFORE, Whole(PhantomData))?;
        read.map(Self).ok_or_else(|| D::Error::custom("a value is missing"))
    }
}

/// Reads a field that was added: in what was written [`Before`], it is its default.
pub(crate) fn added<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let read = deserializer.deserialize_newtype_struct(ADDED, Whole(PhantomData))?;
    Ok(read.unwrap_or_default())
}

/// The value that is there; `None`: nothing is.
struct Whole<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Whole<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a field that was added")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        T::deserialize(value).map(Some)
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Bytes that somebody else may hold as well, and that never change.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Notes that some part of what was carried was asked for and could not be decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unreadable(Arc<AtomicBool>);

impl Unreadable {
    pub(crate) fn is_noted(&self) -> bool {
        self.0.load(atomic::Ordering::Relaxed)
    }

    fn note(&self) {
        self.0.store(true, atomic::Ordering::Relaxed);
    }
}

/// The bytes that a state was taken from. Of what they carry, each part is decoded when somebody
/// first asks for it. One that is no such value is noted: nothing that was said meanwhile is to be
/// relied on.
pub(crate) struct Carrier {
    bytes: SharedBytes,
    unreadable: Unreadable,
}

impl Carrier {
    pub(crate) fn new(bytes: SharedBytes, unreadable: Unreadable) -> Arc<Self> {
        Arc::new(Self { bytes, unreadable })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Bytes of these, as a part that outlives the loan. Others are no part: to ask for one of them
    /// is noted.
    pub(crate) fn part(self: &Arc<Self>, bytes: &[u8]) -> Part {
        let start = bytes.as_ptr().addr().wrapping_sub(self.bytes().as_ptr().addr());
        Part { carrier: Arc::clone(self), range: start..start.saturating_add(bytes.len()) }
    }
}

/// A part of what is carried.
#[derive(Clone)]
pub(crate) struct Part {
    carrier: Arc<Carrier>,
    range: Range<usize>,
}

impl Part {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.carrier.bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// The same bytes, which begin there in another carrier.
    pub(crate) fn move_to(&mut self, carrier: &Arc<Carrier>, start: usize) {
        let end = start.saturating_add(self.bytes().len());
        *self = Self { carrier: Arc::clone(carrier), range: start..end };
    }

    /// The value that the bytes are, all of them; else that is noted.
    pub(crate) fn decoded<T: DeserializeOwned>(&self) -> Option<Box<T>> {
        let bytes = self.bytes();
        let read = read_first(bytes).ok().filter(|(_, read)| *read == bytes.len());
        if read.is_none() {
            self.carrier.unreadable.note();
        }
        read.map(|(value, _)| Box::new(value))
    }
}

/// The bytes in which a value is carried.
#[derive(Clone)]
enum Run {
    /// Bytes as somebody carried them before.
    Part(Part),
    /// Bytes as they were encoded here.
    Own(Box<[u8]>),
}

impl Run {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Part(part) => part.bytes(),
            Self::Own(bytes) => bytes,
        }
    }
}

/// A value, or the bytes in which it is carried, or both. What is not asked for stays bytes, and is
/// carried on as they are; what does not change is encoded once.
#[derive(Clone)]
pub(crate) struct Lazy<T> {
    /// Empty where the value was made here or may have changed, and was not carried since.
    carried: OnceCell<Run>,
    /// Empty until somebody asks; `None` inside: the bytes are no such value, which is noted.
    value: OnceCell<Option<Box<T>>>,
}

impl<T> From<Box<T>> for Lazy<T> {
    fn from(value: Box<T>) -> Self {
        Self { carried: OnceCell::new(), value: OnceCell::from(Some(value)) }
    }
}

impl<T> From<Part> for Lazy<T> {
    fn from(part: Part) -> Self {
        Self { carried: OnceCell::from(Run::Part(part)), value: OnceCell::new() }
    }
}

impl<T: DeserializeOwned> Lazy<T> {
    /// The value.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get_or_init(|| self.decoded()).as_deref()
    }

    /// The value, which may change.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.get()?;
        self.carried.take();
        self.value.get_mut()?.as_deref_mut()
    }

    /// The value alone.
    pub(crate) fn into_value(self) -> Option<Box<T>> {
        self.get()?;
        self.value.into_inner().flatten()
    }

    /// Notes it where the bytes are no such value, and keeps none of them decoded.
    pub(crate) fn check(&self) {
        if self.value.get().is_none() {
            drop(self.decoded());
        }
    }

    fn decoded(&self) -> Option<Box<T>> {
        match self.carried.get()? {
            Run::Part(part) => part.decoded(),
            // The value of which they were made is still there.
            Run::Own(_) => None,
        }
    }
}

impl<T> Lazy<T> {
    /// Returns where it lies in what was carried, if it is carried on from there.
    pub(crate) fn part_mut(&mut self) -> Option<&mut Part> {
        match self.carried.get_mut()? {
            Run::Part(part) => Some(part),
            Run::Own(_) => None,
        }
    }
}

impl<T: DeserializeOwned + PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: DeserializeOwned + Eq> Eq for Lazy<T> {}

impl<T: DeserializeOwned + fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Serialized as a run of bytes, of whatever length, in which the value is.
impl<T: Serialize> Serialize for Lazy<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(run) = self.carried.get() {
            return serializer.serialize_bytes(run.bytes());
        }
        let value = self.value.get().and_then(Option::as_deref);
        let value = value.ok_or_else(|| S::Error::custom("there is neither value nor bytes"))?;
        // Room for most values, so that they are written without growing.
        let mut bytes = CheckpointBytes(Vec::with_capacity(4_000));
        bytes.add(value);
        let bytes = Run::Own(bytes.0.into_boxed_slice());
        serializer.serialize_bytes(self.carried.get_or_init(|| bytes).bytes())
    }
}

/// A room of the state, or the bytes in which it is carried. Bytes that are no such room are an
/// empty one, which is noted.
#[derive(Clone, Default)]
pub(crate) struct LazyPart<T> {
    /// Empty where the room may have changed.
    carried: Option<Part>,
    value: OnceCell<Box<T>>,
}

impl<T> From<Box<T>> for LazyPart<T> {
    fn from(value: Box<T>) -> Self {
        Self { carried: None, value: OnceCell::from(value) }
    }
}

impl<T> From<Part> for LazyPart<T> {
    fn from(part: Part) -> Self {
        Self { carried: Some(part), value: OnceCell::new() }
    }
}

impl<T: DeserializeOwned + Default> LazyPart<T> {
    /// Does the same as [`Lazy::check`].
    pub(crate) fn check(&self) {
        if let (None, Some(part)) = (self.value.get(), &self.carried) {
            drop(part.decoded::<T>());
        }
    }

    /// Decodes it now and forgets the bytes, so that it is carried as the value is.
    pub(crate) fn decode(&mut self) {
        let _: &mut T = self;
    }
}

impl<T> LazyPart<T> {
    /// The bytes that it was carried in, where it is as it was then.
    pub(crate) fn carried(&self) -> Option<&[u8]> {
        self.carried.as_ref().map(Part::bytes)
    }

    /// Does the same as [`Lazy::part_mut`].
    pub(crate) const fn part_mut(&mut self) -> Option<&mut Part> {
        self.carried.as_mut()
    }
}

impl<T: DeserializeOwned + Default> Deref for LazyPart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let carried = || self.carried.as_ref().and_then(Part::decoded);
        self.value.get_or_init(|| carried().unwrap_or_default())
    }
}

/// It may change: the bytes that it was carried in are forgotten.
impl<T: DeserializeOwned + Default> DerefMut for LazyPart<T> {
    fn deref_mut(&mut self) -> &mut T {
        let _: &T = self;
        self.carried = None;
        self.value.get_mut().expect("it was asked for right above, and so is there")
    }
}

impl<T: DeserializeOwned + Default + PartialEq> PartialEq for LazyPart<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: DeserializeOwned + Default + Eq> Eq for LazyPart<T> {}

impl<T: DeserializeOwned + Default + fmt::Debug> fmt::Debug for LazyPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Something that follows from the other parts of what holds it, and so is no part of that: however
/// it is, what is equal without it is equal. It is made when somebody first asks for it.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<T>(OnceCell<T>);

impl<T> Remembered<T> {
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }

    /// It, where it was asked for already.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The same, to be kept up.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

impl<T> PartialEq for Remembered<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Remembered<T> {}

/// The configuration that every payload and every fingerprint is encoded with: little-endian,
/// variable-length integers, at most [`MAX_PAYLOAD_BYTES`].
pub(crate) const fn configuration() -> Configuration<LittleEndian, Varint, Limit<MAX_PAYLOAD_BYTES>>
{
    bincode::config::standard().with_limit::<MAX_PAYLOAD_BYTES>()
}

#[inline(always)]
pub(crate) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de, Error = Fault>>(
    from: D,
    kind: u16,
    place: &'static str,
) -> Result<T, DecodeError> {
    T::deserialize(from).map_err(|fault| DecodeError::Malformed {
        kind,
        place,
        reason: alloc::format!("{fault}"),
    })
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::fmt;

    use serde::Deserialize;
    use serde::de::{Deserializer, Error, SeqAccess, Visitor};

    use super::read_first;

    /// A list that fails where it is told how many items to expect.
    #[derive(Debug, PartialEq)]
    struct Unhinted(usize);

    impl<'de> Deserialize<'de> for Unhinted {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_seq(Self(0))
        }
    }

    impl<'de> Visitor<'de> for Unhinted {
        type Value = Self;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of unknown length")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self, A::Error> {
            assert_eq!(items.size_hint(), None);
            while items.next_element::<Borrowed>()?.is_some() {
                self.0 += 1;
            }
            Ok(self)
        }
    }

    /// A text that asks to be owned and fails where it is not lent.
    struct Borrowed;

    impl<'de> Deserialize<'de> for Borrowed {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_string(Self)
        }
    }

    impl<'de> Visitor<'de> for Borrowed {
        type Value = Self;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a borrowed text")
        }

        fn visit_borrowed_str<E: Error>(self, _: &'de str) -> Result<Self, E> {
            Ok(self)
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Choice {
        Nothing,
        One(Unhinted),
        Two(Unhinted, u8),
        Fields { field: Unhinted },
    }

    #[test]
    fn nothing_is_owned_or_reserved_at_any_depth() {
        type Nested = (Option<Unhinted>, BTreeMap<u8, Unhinted>, Choice);
        let list = [2, 1, b'a', 0];
        let choices = [
            (vec![0], Choice::Nothing),
            ([&[1], &list[..]].concat(), Choice::One(Unhinted(2))),
            ([&[2], &list[..], &[9]].concat(), Choice::Two(Unhinted(2), 9)),
            ([&[3], &list[..]].concat(), Choice::Fields { field: Unhinted(2) }),
        ];
        for (choice, value) in choices {
            let bytes = [&[1], &list[..], &[1, 9], &list[..], &choice].concat();
            let nested = (Some(Unhinted(2)), BTreeMap::from([(9, Unhinted(2))]), value);
            assert_eq!(read_first::<Nested>(&bytes).unwrap(), (nested, bytes.len()));
        }
    }

    #[test]
    fn a_claim_beyond_the_bytes_is_refused() {
        let claims: [&[u8]; 3] =
            [&[1], &[252, 0, 0, 0, 1], &[253, 255, 255, 255, 255, 255, 255, 255, 255]];
        for claim in claims {
            assert!(read_first::<String>(claim).is_err());
            assert!(read_first::<Vec<u64>>(claim).is_err());
        }
    }
}
