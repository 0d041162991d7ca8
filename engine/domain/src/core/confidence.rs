//! Confidence in something, and how far it may be trusted, without floating point.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer, U16Deserializer};
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, forward_to_deserialize_any};
use thiserror::Error;

/// Confidence in basis points: 0 to 9 999, so always below 1. Only a human may be certain
/// (Phase-30: a score is `< 1.0`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u16", into = "u16")]
pub struct Confidence(u16);

impl Confidence {
    /// No confidence at all.
    pub const ZERO: Self = Self(0);
    /// The highest confidence without a human: one basis point below 1.
    pub const MAX: Self = Self(9_999);

    /// A confidence of so many basis points.
    ///
    /// # Errors
    /// [`ConfidenceOutOfRange`] above 9 999.
    pub const fn from_basis_points(basis_points: u16) -> Result<Self, ConfidenceOutOfRange> {
        if basis_points > Self::MAX.0 {
            return Err(ConfidenceOutOfRange { found: basis_points });
        }
        Ok(Self(basis_points))
    }

    /// Basis points, 0 to 9 999.
    #[must_use]
    pub const fn basis_points(self) -> u16 {
        self.0
    }

    /// The score of Phase-30: a fraction below 1.
    #[must_use]
    pub fn score(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }

    /// For the tables of this crate, whose values are literals.
    pub(crate) const fn literal(basis_points: u16) -> Self {
        assert!(basis_points <= Self::MAX.0, "a literal is in range");
        Self(basis_points)
    }
}

/// A score that is no confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a confidence is 0 to 9999 basis points, found {found}")]
pub struct ConfidenceOutOfRange {
    /// The basis points that were offered.
    pub found: u16,
}

impl TryFrom<u16> for Confidence {
    type Error = ConfidenceOutOfRange;

    fn try_from(basis_points: u16) -> Result<Self, Self::Error> {
        Self::from_basis_points(basis_points)
    }
}

impl From<Confidence> for u16 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

/// Decimal fraction with four digits: `0.8500`.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.{:04}", self.0)
    }
}

/// A confidence from 0 to 1, both inclusive, in steps of 0.0001: 0 to 10 000 basis points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct BasisPoints(u16);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for BasisPoints {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        alloc::borrow::Cow::Borrowed("BasisPoints")
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX.0 })
    }
}

/// Confidence in a relation is sufficient from 0.70 on, 0.70 included.
pub const RELATION_THRESHOLD: BasisPoints = BasisPoints(7_000);

/// A phrase candidate of band HIGH has at least 0.90.
pub const HIGH_BAND_MIN: BasisPoints = BasisPoints(9_000);

impl BasisPoints {
    /// 1.
    pub const MAX: Self = Self(10_000);

    /// So many basis points.
    ///
    /// # Errors
    /// [`BasisPointsOutOfRange`] above 10 000.
    pub const fn new(basis_points: u16) -> Result<Self, BasisPointsOutOfRange> {
        if basis_points > Self::MAX.0 {
            return Err(BasisPointsOutOfRange { found: basis_points });
        }
        Ok(Self(basis_points))
    }

    /// The basis points of a fraction from 0 up to 1, which is none: only a human may be certain.
    /// What is less than a basis point is dropped, so that no threshold is reached by rounding.
    ///
    /// # Errors
    /// [`ScoreOutOfRange`] of every other number.
    pub fn from_score(score: f64) -> Result<Self, ScoreOutOfRange> {
        if !(0.0..1.0).contains(&score) {
            return Err(ScoreOutOfRange { found: score });
        }
        // The decimal digits, for the product of a fraction with 10 000 is not exact.
        let text = format!("{score}");
        let (_, fraction) = text.split_once('.').unwrap_or_default();
        let digits = fraction.bytes().chain([b'0'; 4]).take(4);
        let basis_points = digits.fold(0_u16, |points, digit| {
            points.saturating_mul(10).saturating_add(u16::from(digit.saturating_sub(b'0')))
        });
        Ok(Self(basis_points))
    }

    /// The fraction, 0 to 1.
    #[must_use]
    pub fn score(self) -> f64 {
        f64::from(self.0) / f64::from(Self::MAX.0)
    }

    /// 0 to 10 000.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// A fraction that is no confidence.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("a confidence is from 0 up to 1, which is none, found {found}")]
pub struct ScoreOutOfRange {
    /// The number that was offered.
    pub found: f64,
}

/// A number that is no confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a confidence is 0 to 10000 basis points (0.7 is 7000), found {found}")]
pub struct BasisPointsOutOfRange {
    /// The number that was offered.
    pub found: u16,
}

impl TryFrom<u16> for BasisPoints {
    type Error = BasisPointsOutOfRange;

    fn try_from(basis_points: u16) -> Result<Self, Self::Error> {
        Self::new(basis_points)
    }
}

impl From<BasisPoints> for u16 {
    fn from(basis_points: BasisPoints) -> Self {
        basis_points.0
    }
}

/// Decimal fraction with four digits: `0.7000`, `1.0000`.
impl fmt::Display for BasisPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04}", self.0 / Self::MAX.0, self.0 % Self::MAX.0)
    }
}

// The readable form of bodies with confidences: beside the basis points that are kept stands the
// fraction, under the document's name. Either is read; both only where they say the same.

/// A body with confidences.
pub(crate) trait Scored: Sized {
    /// The document's names, each with that of the field.
    const NAMES: &'static [(&'static str, &'static str)];

    /// Reads it by the names of its fields alone.
    fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Reads a body by the names of its fields and of the document.
pub(crate) struct Names<T>(pub(crate) PhantomData<T>);

impl<'de, T: Scored> Visitor<'de> for Names<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let renamed =
            Renamed { map, names: T::NAMES, read: Vec::new(), certain: Vec::new(), next: None };
        T::plain(MapAccessDeserializer::new(renamed))
    }
}

/// A map in which the document's names stand for those of the fields.
struct Renamed<A> {
    map: A,
    names: &'static [(&'static str, &'static str)],
    read: Vec<(&'static str, Option<BasisPoints>)>,
    /// Fields with the fraction 1, which is written beside 10 000 basis points and counts for
    /// nothing alone.
    certain: Vec<(&'static str, &'static str)>,
    next: Option<Option<BasisPoints>>,
}

impl<'de, A: MapAccess<'de>> Renamed<A> {
    /// The value of one of a confidence's two names; nothing of a fraction that only repeats.
    fn confidence(
        &mut self,
        (score, field): (&'static str, &'static str),
        is_score: bool,
    ) -> Result<Option<Option<BasisPoints>>, A::Error> {
        if !is_score {
            let value = self.map.next_value()?;
            if self.certain.contains(&(score, field)) && value != Some(BasisPoints::MAX) {
                return Err(differ(score, field));
            }
            self.certain.retain(|certain| *certain != (score, field));
            return Ok(Some(value));
        }
        let named = |fault: &dyn fmt::Display| A::Error::custom(format_args!("`{score}`: {fault}"));
        let number: Option<f64> = self.map.next_value().map_err(|fault| named(&fault))?;
        if number.is_some_and(|number| number.total_cmp(&1.0).is_eq()) {
            let is_known = self.read.contains(&(field, Some(BasisPoints::MAX)));
            self.certain.extend((!is_known).then_some((score, field)));
            return Ok(None);
        }
        number.map(BasisPoints::from_score).transpose().map(Some).map_err(|fault| named(&fault))
    }
}

/// A confidence that is stated twice, and not the same.
fn differ<E: serde::de::Error>(score: &str, field: &str) -> E {
    E::custom(format_args!("`{score}` and `{field}` are not the same"))
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Renamed<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            let names = self.names.iter().find(|(score, field)| key == *score || key == *field);
            let Some((score, field)) = names else {
                return seed.deserialize(StrDeserializer::new(&key)).map(Some);
            };
            let Some(value) = self.confidence((score, field), key == *score)? else {
                continue;
            };
            match self.read.iter().find(|(before, _)| before == field) {
                Some((_, before)) if *before == value => {}
                Some(_) => return Err(differ(score, field)),
                None => {
                    self.read.push((field, value));
                    self.next = Some(value);
                    return seed.deserialize(StrDeserializer::new(field)).map(Some);
                }
            }
        }
        match self.certain.first() {
            Some((score, _)) => {
                let fault = ScoreOutOfRange { found: 1.0 };
                Err(A::Error::custom(format_args!("`{score}`: {fault}")))
            }
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.next.take() {
            Some(points) => seed.deserialize(Points(points, PhantomData)),
            None => self.map.next_value_seed(seed),
        }
    }
}

/// Basis points that were read already.
struct Points<E>(Option<BasisPoints>, PhantomData<E>);

impl<E: serde::de::Error> Points<E> {
    fn number(points: BasisPoints) -> U16Deserializer<E> {
        points.get().into_deserializer()
    }
}

impl<'de, E: serde::de::Error> Deserializer<'de> for Points<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Some(points) => Self::number(points).deserialize_any(visitor),
            None => visitor.visit_unit(),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Some(points) => visitor.visit_some(Self::number(points)),
            None => visitor.visit_none(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A confidence of PH1.X, or one that is not always there.
pub(crate) trait HasScore {
    /// The fraction.
    fn score(&self) -> Option<f64>;
}

impl HasScore for BasisPoints {
    fn score(&self) -> Option<f64> {
        Some(BasisPoints::score(*self))
    }
}

impl HasScore for Option<BasisPoints> {
    fn score(&self) -> Option<f64> {
        self.as_ref().and_then(HasScore::score)
    }
}

/// Bodies with confidences: a field that is one stands with the document's name for it.
macro_rules! scored_bodies {
    ($($(#[$doc:meta])* $Body:ident {
        $($(#[$field_doc:meta])* $field:ident $(($score:literal))?: $Type:ty,)+
    })+) => {
        $(
            crate::core::recorded_of! {
                $(#[$doc])*
                #[serde(remote = "Self", deny_unknown_fields)]
                #[cfg_attr(
                    feature = "schema",
                    schemars(transform = crate::core::schema::name_scores)
                )]
                $Body { $($(#[$field_doc])* $field: $Type,)+ }
            }

            impl crate::core::confidence::Scored for $Body {
                const NAMES: &'static [(&'static str, &'static str)] =
                    &[$($(($score, stringify!($field)),)?)+];

                fn plain<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    $Body::deserialize(from)
                }
            }

            impl<'de> serde::Deserialize<'de> for $Body {
                fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    if !from.is_human_readable() {
                        return $Body::deserialize(from);
                    }
                    let named = crate::core::confidence::Names(core::marker::PhantomData::<Self>);
                    from.deserialize_struct(stringify!($Body), &[], named)
                }
            }

            impl serde::Serialize for $Body {
                fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    use serde::ser::SerializeStruct as _;
                    let is_read = to.is_human_readable();
                    let scores = <Self as crate::core::confidence::Scored>::NAMES;
                    let more = if is_read { scores.len() } else { 0 };
                    let count = [$(stringify!($field)),+].len().saturating_add(more);
                    let Self { $($field),+ } = self;
                    let mut out = to.serialize_struct(stringify!($Body), count)?;
                    $(
                        out.serialize_field(stringify!($field), $field)?;
                        $(if is_read {
                            let score = crate::core::confidence::HasScore::score($field);
                            out.serialize_field($score, &score)?;
                        })?
                    )+
                    out.end()
                }
            }
        )+
    };
}

pub(crate) use scored_bodies;

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for BasisPoints {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        input.int_in_range(0..=Self::MAX.0).map(Self)
    }
}
