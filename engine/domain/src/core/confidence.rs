//! How sure something is, and how far it may be trusted, without floating point.

use alloc::format;
use core::fmt;

use serde::{Deserialize, Serialize};
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
#[error("a confidence is 0 to 9999 basis points, found {found}; only a human may be certain")]
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

/// As a decimal fraction with four digits: `0.8500`.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.{:04}", self.0)
    }
}

/// A confidence from 0 to 1, both inclusive, in steps of 0.0001: 0 to 10 000 basis points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u16", into = "u16")]
pub struct BasisPoints(#[cfg_attr(feature = "schema", schemars(range(max = 10_000)))] u16);

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

    /// 0 to 10 000.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// A fraction that is no confidence.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "a confidence is from 0 up to 1, which is none, found {found}; only a human may be certain"
)]
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

/// As a decimal fraction with four digits: `0.7000`, `1.0000`.
impl fmt::Display for BasisPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04}", self.0 / Self::MAX.0, self.0 % Self::MAX.0)
    }
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for BasisPoints {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        input.int_in_range(0..=Self::MAX.0).map(Self)
    }
}
