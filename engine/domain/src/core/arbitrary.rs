//! Valid values out of any bytes, for fuzzing and random tests: every generated envelope passes
//! [`Envelope::check`](crate::Envelope::check), encodes, and decodes to itself. Nothing is said of
//! the rules: a generated event may be one that they forbid, a generated command one that they
//! refuse.
//!
//! Written by hand, as what derives it needs the standard library, which no rule may link. A field
//! that is forgotten here does not compile.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::core::actor::ActorId;
use crate::core::confidence::Confidence;
use crate::core::hash::Digest;
use crate::core::ids::{Entropy, Idempotency};
use crate::core::limits::MAX_ID_BYTES;
use crate::core::payload::{List, Raw, RawData, Text};
use crate::core::text::{bounded, check_identifier};
use crate::core::time::Timestamp;

/// Structs whose fields may each be anything of their types.
macro_rules! made_of {
    ($($Type:ident { $($field:ident),+ $(,)? })+) => {
        $(impl<'a> arbitrary::Arbitrary<'a> for $Type {
            fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                Ok(Self { $($field: input.arbitrary()?),+ })
            }
        })+
    };
}

pub(crate) use made_of;

/// Enums whose members hold something: one way to make each, or, behind `of`, each with what it
/// holds, which may be anything of its type.
macro_rules! one_of {
    ($Type:ident of $($Member:ident $(($Held:ty))? $({ $($field:ident),+ })?),+ $(,)?) => {
        crate::core::arbitrary::one_of! {
            $Type: $(|_input| {
                Ok(Self::$Member $((_input.arbitrary::<$Held>()?))? $({
                    $($field: _input.arbitrary()?),+
                })?)
            }),+
        }
    };
    ($Type:ident: $($make:expr),+ $(,)?) => {
        impl<'a> arbitrary::Arbitrary<'a> for $Type {
            fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                let ways: &[fn(&mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self>] =
                    &[$($make),+];
                let make = *input.choose(ways)?;
                make(input)
            }
        }
    };
}

pub(crate) use one_of;

/// A name that may be recorded: what the bytes give, where that is one.
pub(crate) fn identifier(input: &mut Unstructured<'_>) -> Result<String> {
    let text = bounded(input.arbitrary()?, MAX_ID_BYTES);
    let is_one = check_identifier("identifier", text).is_ok();
    Ok(String::from(if is_one { text } else { "someone" }))
}

impl<'a> Arbitrary<'a> for ActorId {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self { kind: input.arbitrary()?, id: identifier(input)? })
    }
}

impl<'a> Arbitrary<'a> for Idempotency {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (tenant, engine) = (identifier(input)?, identifier(input)?);
        Ok(Self { tenant, engine, key: identifier(input)?, content: input.arbitrary()? })
    }
}

impl<'a> Arbitrary<'a> for Digest {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self::from_bytes)
    }
}

impl<'a> Arbitrary<'a> for Entropy {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self::from_bytes)
    }
}

impl<'a> Arbitrary<'a> for Timestamp {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary().map(Self::from_nanoseconds)
    }
}

impl<'a> Arbitrary<'a> for Confidence {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let basis_points = input.int_in_range(0..=Self::MAX.basis_points())?;
        Self::from_basis_points(basis_points).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for Text {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary::<&str>().map(Self::from)
    }
}

impl<'a> Arbitrary<'a> for Raw {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary::<Vec<u8>>().map(|bytes| RawData::from(bytes).into())
    }
}

impl<'a, T: Arbitrary<'a>, const MAX: usize> Arbitrary<'a> for List<T, MAX> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.arbitrary_iter()?.take(MAX).collect()
    }
}
