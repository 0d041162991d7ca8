//! Values as bytes: bincode 2, standard configuration, always canonical.
//!
//! A decoder that is asked for an owned text reserves what the bytes merely claim, and a list may
//! reserve room for as many items as they claim. Here every text and every run of bytes is
//! borrowed from the input first, which is as long as it is, and lists grow as items arrive.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::enc::write::Writer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::canonical::Reader;
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
        /// What the encoder says.
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
    /// A version of a known kind that this program does not know.
    #[error("payload version {version} of event kind {kind} is unknown; use a newer holdpoint")]
    UnknownVersion {
        /// The kind in the header.
        kind: u16,
        /// The version in the header.
        version: u8,
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
        /// What the decoder says.
        reason: String,
    },
    /// Bytes follow the body.
    #[error("a payload of event kind {kind} has {found} bytes after its body; expected none")]
    Trailing {
        /// The kind in the header.
        kind: u16,
        /// How many bytes follow.
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

/// What has been encoded so far.
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
        let body = read(self.reader, self.kind, "body")?;
        match self.reader.left() {
            0 => Ok(body),
            found => Err(DecodeError::Trailing { kind: self.kind, found }),
        }
    }
}

/// A value without maps, and how many bytes it took: in one pass, nothing allocated for a length
/// that the bytes merely claim. Numbers may take more bytes than they need.
pub(crate) fn read_first<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, usize), String> {
    let mut reader = Reader::new(bytes);
    let value = T::deserialize(&mut reader).map_err(|fault| alloc::format!("{fault}"))?;
    Ok((value, bytes.len().saturating_sub(reader.left())))
}

/// The configuration that every payload and every fingerprint is encoded with: little-endian,
/// variable-length integers, at most [`MAX_PAYLOAD_BYTES`].
pub(crate) const fn configuration() -> Configuration<LittleEndian, Varint, Limit<MAX_PAYLOAD_BYTES>>
{
    bincode::config::standard().with_limit::<MAX_PAYLOAD_BYTES>()
}

#[inline(always)]
pub(crate) fn read<'de, T: Deserialize<'de>>(
    reader: &mut Reader<'de>,
    kind: u16,
    place: &'static str,
) -> Result<T, DecodeError> {
    T::deserialize(reader).map_err(|fault| DecodeError::Malformed {
        kind,
        place,
        reason: alloc::format!("{fault}"),
    })
}

/// A value, and how many bytes it took.
pub(crate) fn borrow_first<'de, T: Deserialize<'de>>(
    bytes: &'de [u8],
) -> Result<(T, usize), bincode::error::DecodeError> {
    bincode::serde::seed_decode_from_slice(Within(PhantomData::<T>), bytes, configuration())
}

/// A deserializer, or access to the parts of a value, that borrows before anything is owned.
struct BorrowFirst<D>(D);

/// A seed or a visitor whose deserializers and accesses are wrapped in turn.
struct Within<T>(T);

macro_rules! forward {
    ($($method:ident => $inner:ident,)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$inner(Within(visitor))
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for BorrowFirst<D> {
    type Error = D::Error;

    forward! {
        deserialize_any => deserialize_any,
        deserialize_bool => deserialize_bool,
        deserialize_i8 => deserialize_i8,
        deserialize_i16 => deserialize_i16,
        deserialize_i32 => deserialize_i32,
        deserialize_i64 => deserialize_i64,
        deserialize_u8 => deserialize_u8,
        deserialize_u16 => deserialize_u16,
        deserialize_u32 => deserialize_u32,
        deserialize_u64 => deserialize_u64,
        deserialize_f32 => deserialize_f32,
        deserialize_f64 => deserialize_f64,
        deserialize_char => deserialize_char,
        deserialize_str => deserialize_str,
        deserialize_string => deserialize_str,
        deserialize_bytes => deserialize_bytes,
        deserialize_byte_buf => deserialize_bytes,
        deserialize_option => deserialize_option,
        deserialize_unit => deserialize_unit,
        deserialize_seq => deserialize_seq,
        deserialize_map => deserialize_map,
        deserialize_identifier => deserialize_identifier,
        deserialize_ignored_any => deserialize_ignored_any,
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, Within(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Within(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(length, Within(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, length, Within(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Within(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Within(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Without floating point: no state holds any.
macro_rules! visit {
    ($($method:ident($Value:ty),)+) => {
        $(fn $method<E: serde::de::Error>(self, value: $Value) -> Result<V::Value, E> {
            self.0.$method(value)
        })+
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Within<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool(bool),
        visit_i8(i8),
        visit_i16(i16),
        visit_i32(i32),
        visit_i64(i64),
        visit_u8(u8),
        visit_u16(u16),
        visit_u32(u32),
        visit_u64(u64),
        visit_char(char),
        visit_borrowed_str(&'de str),
        visit_borrowed_bytes(&'de [u8]),
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(BorrowFirst(inner))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(BorrowFirst(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(BorrowFirst(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(BorrowFirst(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(BorrowFirst(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Within<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(BorrowFirst(inner))
    }
}

/// Without a hint of their number: nothing is reserved for items that may not be there.
impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for BorrowFirst<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Within(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BorrowFirst<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Within(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Within(seed))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for BorrowFirst<A> {
    type Error = A::Error;
    type Variant = BorrowFirst<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Within(seed))?;
        Ok((value, BorrowFirst(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for BorrowFirst<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Within(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Within(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Within(visitor))
    }
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

    use super::borrow_first;

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
            assert_eq!(borrow_first::<Nested>(&bytes).unwrap(), (nested, bytes.len()));
        }
    }

    #[test]
    fn a_claim_beyond_the_bytes_is_refused() {
        let claims: [&[u8]; 3] =
            [&[1], &[252, 0, 0, 0, 1], &[253, 255, 255, 255, 255, 255, 255, 255, 255]];
        for claim in claims {
            assert!(borrow_first::<String>(claim).is_err());
            assert!(borrow_first::<Vec<u64>>(claim).is_err());
        }
    }
}
