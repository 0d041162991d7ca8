//! Decoding owned values from bytes that are not trusted.
//!
//! A decoder that is asked for an owned text reserves what the bytes merely claim, and a list may
//! reserve room for as many items as they claim. Here every text and every run of bytes is
//! borrowed from the input first, which is as long as it is, and lists grow as items arrive.

use core::fmt;
use core::marker::PhantomData;

use bincode::error::DecodeError;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::configuration;

/// A value, and how many bytes it took.
pub(crate) fn borrow_first<'de, T: Deserialize<'de>>(
    bytes: &'de [u8],
) -> Result<(T, usize), DecodeError> {
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
        $(fn $method<E: Error>(self, value: $Value) -> Result<V::Value, E> {
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

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
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
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

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
