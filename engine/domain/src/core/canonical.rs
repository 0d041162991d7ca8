//! Decoding one payload or state, and noticing on the way whether it is in canonical form.
//!
//! The encoding leaves one freedom: a number may be written in more bytes than it needs. The reader
//! notes where that happens first and reads on, so that whatever else is wrong is found as well.
//! Text and bytes are borrowed, a list reserves nothing for items that it merely claims, and
//! nothing is copied before it is known to be there.

use alloc::string::{String, ToString};
use core::fmt::Display;

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use thiserror::Error as ThisError;

use crate::core::hash::DIGEST;

/// Name of a newtype whose content was written before some field was added.
pub(crate) const BEFORE: &str = "holdpoint.Before";

/// A field that was added: of what was written before, nothing of it is there.
pub(crate) const ADDED: &str = "holdpoint.Added";

/// The byte before a number of two, four and eight bytes; whatever is below is the number itself.
const TWO_BYTES: u8 = 251;

const FOUR_BYTES: u8 = 252;

const EIGHT_BYTES: u8 = 253;

/// A payload that is being read.
pub(crate) struct Reader<'de> {
    rest: &'de [u8],
    length: usize,
    over_long: Option<usize>,
    /// True if what is read was written before some field was added.
    is_before: bool,
}

/// Why bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub(crate) enum Fault {
    /// The payload is too short.
    #[error("{missing} more bytes were expected at byte {at}")]
    EndsEarly {
        /// Place in the payload.
        at: usize,
        /// Number of bytes that are missing at least.
        missing: u64,
    },
    /// A byte that no such value begins with.
    #[error("byte {at} is {found}, and no {expected} begins so")]
    Unexpected {
        /// Place in the payload.
        at: usize,
        /// Kind of value that was read.
        expected: &'static str,
        /// The byte.
        found: u8,
    },
    /// Text that is not UTF-8.
    #[error("the text that ends before byte {at} is not UTF-8")]
    NotText {
        /// Place in the payload.
        at: usize,
    },
    /// The type refuses the value.
    #[error("{0}")]
    Refused(String),
}

impl Error for Fault {
    fn custom<T: Display>(reason: T) -> Self {
        Self::Refused(reason.to_string())
    }
}

impl<'de> Reader<'de> {
    pub(crate) const fn new(payload: &'de [u8]) -> Self {
        Self { rest: payload, length: payload.len(), over_long: None, is_before: false }
    }

    /// Counts the bytes that have not been read.
    pub(crate) const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns where the first number lies that takes more bytes than it needs.
    pub(crate) const fn over_long(&self) -> Option<usize> {
        self.over_long
    }

    const fn place(&self) -> usize {
        self.length - self.rest.len()
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Fault> {
        match self.rest.split_first() {
            Some((byte, rest)) => {
                self.rest = rest;
                Ok(*byte)
            }
            None => Err(self.ends_early(1)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<&'de [u8; N], Fault> {
        match self.rest.split_first_chunk() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(chunk)
            }
            None => Err(self.ends_early(N as u64)),
        }
    }

    /// A number that says how many bytes follow, and those.
    #[inline]
    fn run(&mut self) -> Result<&'de [u8], Fault> {
        let claimed = self.number(EIGHT_BYTES)?;
        let run =
            usize::try_from(claimed).ok().and_then(|length| self.rest.split_at_checked(length));
        match run {
            Some((run, rest)) => {
                self.rest = rest;
                Ok(run)
            }
            None => Err(self.ends_early(claimed)),
        }
    }

    /// A number whose widest form begins with `widest`.
    #[inline]
    fn number(&mut self, widest: u8) -> Result<u64, Fault> {
        match self.byte()? {
            small @ 0..TWO_BYTES => Ok(u64::from(small)),
            wide => self.wide_number(wide, widest),
        }
    }

    fn wide_number(&mut self, first: u8, widest: u8) -> Result<u64, Fault> {
        let at = self.place() - 1;
        if first > widest {
            return Err(Fault::Unexpected { at, expected: "number of this width", found: first });
        }
        let (number, least) = match first {
            TWO_BYTES => (u64::from(u16::from_le_bytes(*self.array()?)), u64::from(TWO_BYTES)),
            FOUR_BYTES => (u64::from(u32::from_le_bytes(*self.array()?)), 1 << 16),
            _ => (u64::from_le_bytes(*self.array()?), 1 << 32),
        };
        if number < least {
            self.over_long.get_or_insert(at);
        }
        Ok(number)
    }

    /// Zero and positive numbers are even, negative ones odd.
    fn signed(&mut self, widest: u8) -> Result<i64, Fault> {
        let folded = self.number(widest)?;
        let magnitude = (folded >> 1).cast_signed();
        Ok(if folded & 1 == 0 { magnitude } else { !magnitude })
    }

    /// 0 or 1.
    #[inline]
    fn flag(&mut self, expected: &'static str) -> Result<bool, Fault> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(Fault::Unexpected { at: self.place() - 1, expected, found }),
        }
    }

    #[cold]
    fn ends_early(&self, wanted: u64) -> Fault {
        let missing = wanted.saturating_sub(self.rest.len() as u64);
        Fault::EndsEarly { at: self.length, missing }
    }
}

/// A number that [`Reader::number`] has read in a form that its type can hold.
fn narrowed<T: TryFrom<V>, V>(number: V) -> Result<T, Fault> {
    T::try_from(number).map_err(|_| Fault::Refused(String::from("a number is out of range")))
}

macro_rules! numbers {
    ($($method:ident $visit:ident $read:ident $widest:ident,)+) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let number = self.$read($widest)?;
            visitor.$visit(narrowed(number)?)
        })+
    };
}

macro_rules! formless {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.deserialize_any(visitor)
        })+
    };
}

/// Values that neither a payload nor a state holds have no form here: floating point, single
/// characters.
impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        Err(Fault::invalid_type(serde::de::Unexpected::Other("a payload"), &visitor))
    }

    formless! {
        deserialize_f32 deserialize_f64 deserialize_char deserialize_identifier
        deserialize_ignored_any
    }

    numbers! {
        deserialize_u16 visit_u16 number TWO_BYTES,
        deserialize_u32 visit_u32 number FOUR_BYTES,
        deserialize_u64 visit_u64 number EIGHT_BYTES,
        deserialize_i16 visit_i16 signed TWO_BYTES,
        deserialize_i32 visit_i32 signed FOUR_BYTES,
        deserialize_i64 visit_i64 signed EIGHT_BYTES,
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(self.flag("truth value")?)
    }

    #[inline]
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_u8(self.byte()?)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_i8(self.byte()?.cast_signed())
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match core::str::from_utf8(self.run()?) {
            Ok(text) => visitor.visit_borrowed_str(text),
            Err(_) => Err(Fault::NotText { at: self.place() }),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_bytes(self.run()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.flag("optional value")? { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    /// A digest is as many bytes in a row as it is long: taken at once, not one by one.
    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == DIGEST {
            return visitor.visit_borrowed_bytes(self.array::<32>()?);
        }
        if name == BEFORE {
            self.is_before = true;
            let read = visitor.visit_newtype_struct(&mut *self);
            self.is_before = false;
            return read;
        }
        if name == ADDED && self.is_before {
            return visitor.visit_none();
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let left = self.number(EIGHT_BYTES)?;
        visitor.visit_seq(Items { reader: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let left = self.number(EIGHT_BYTES)?;
        visitor.visit_map(Items { reader: self, left })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(Items { reader: self, left: length as u64 })
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(length, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(self)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Fields, items or entries, so many of which have not been read.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: u64,
}

/// Without a hint of their number: nothing is reserved for items that may not be there.
impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Fault;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// A struct that was written before its last fields were added. They are read from bytes that are
/// given for them, one for each.
pub(crate) struct Older<'a, 'de> {
    reader: &'a mut Reader<'de>,
    added: &'static [u8],
}

impl<'a, 'de> Older<'a, 'de> {
    pub(crate) const fn new(reader: &'a mut Reader<'de>, added: &'static [u8]) -> Self {
        Self { reader, added }
    }
}

impl<'de> Deserializer<'de> for Older<'_, 'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.reader.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let left = fields.len().saturating_sub(self.added.len()) as u64;
        let written = Items { reader: self.reader, left };
        visitor.visit_seq(OlderItems { written, added: Reader::new(self.added) })
    }

    formless! { deserialize_f32 deserialize_f64 }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

struct OlderItems<'a, 'de> {
    written: Items<'a, 'de>,
    added: Reader<'de>,
}

impl<'de> SeqAccess<'de> for OlderItems<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        match self.written.left {
            0 => seed.deserialize(&mut self.added).map(Some),
            _ => self.written.next_element_seed(seed),
        }
    }
}

/// Each entry is its key and its value.
impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Fault;
    type Variant = Self;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let variant: u32 = narrowed(self.number(FOUR_BYTES)?)?;
        let variant: U32Deserializer<Fault> = variant.into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Fault;

    #[inline]
    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::fmt::Debug;

    use serde::{Deserialize, Serialize};

    use super::{Fault, Reader};

    fn encoded<T: Serialize>(value: T) -> Vec<u8> {
        bincode::serde::encode_to_vec(value, bincode::config::standard()).unwrap()
    }

    fn assert_read<T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug + Copy>(value: T) {
        let bytes = encoded(value);
        let mut reader = Reader::new(&bytes);
        assert_eq!(T::deserialize(&mut reader), Ok(value));
        assert_eq!((reader.left(), reader.over_long()), (0, None), "{value:?}");
    }

    /// Around every place where a number takes another form.
    #[test]
    fn numbers_are_read_as_they_are_written() {
        for edge in [0, 250, 251, 1 << 8, 1 << 16, 1 << 32, 1 << 63] {
            for number in [edge - u64::from(edge > 0), edge, edge + 1, !edge] {
                assert_read(number);
                assert_read(number.cast_signed());
                assert_read(number as u32);
                assert_read((number as u32).cast_signed());
                assert_read(number as u16);
                assert_read((number as u16).cast_signed());
                assert_read(number as u8);
                assert_read((number as u8).cast_signed());
            }
        }
    }

    #[test]
    fn the_first_number_in_a_wider_form_than_it_needs_is_noticed() {
        let wide = [7, 252, 255, 255, 0, 0, 251, 250, 0];
        let mut reader = Reader::new(&wide);
        assert_eq!(<(u8, u32, u16)>::deserialize(&mut reader), Ok((7, 65_535, 250)));
        assert_eq!((reader.left(), reader.over_long()), (0, Some(1)));
    }

    #[test]
    fn a_number_too_wide_for_its_type_is_refused() {
        let found = u16::deserialize(&mut Reader::new(&[252, 1, 0, 0, 0]));
        assert!(matches!(found, Err(Fault::Unexpected { at: 0, found: 252, .. })), "{found:?}");
        let found = u64::deserialize(&mut Reader::new(&[254; 17]));
        assert!(matches!(found, Err(Fault::Unexpected { at: 0, found: 254, .. })), "{found:?}");
    }

    #[test]
    fn what_is_neither_0_nor_1_is_neither_true_nor_there() {
        for byte in 2..=u8::MAX {
            assert!(bool::deserialize(&mut Reader::new(&[byte])).is_err());
            assert!(<Option<u8>>::deserialize(&mut Reader::new(&[byte, 0])).is_err());
        }
    }
}
