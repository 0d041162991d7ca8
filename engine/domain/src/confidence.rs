//! How far a result may be trusted, without floating point.

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn confidence_stays_below_one() {
        assert_eq!(Confidence::from_basis_points(9_999), Ok(Confidence::MAX));
        for basis_points in [10_000, u16::MAX] {
            let fault = ConfidenceOutOfRange { found: basis_points };
            assert_eq!(Confidence::from_basis_points(basis_points), Err(fault));
        }
        assert!(serde_json::from_str::<Confidence>("10000").is_err());
    }

    #[test]
    fn confidence_is_shown_as_a_fraction() {
        assert_eq!(Confidence::ZERO.to_string(), "0.0000");
        assert_eq!(Confidence::literal(8_500).to_string(), "0.8500");
    }
}
