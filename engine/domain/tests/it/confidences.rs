//! How sure something is has bounds and one form.

use holdpoint_domain::core::confidence::{
    BasisPoints, BasisPointsOutOfRange, Confidence, ConfidenceOutOfRange, RELATION_THRESHOLD,
};

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
    assert_eq!(Confidence::from_basis_points(8_500).unwrap().to_string(), "0.8500");
}

#[test]
fn a_confidence_is_at_most_one() {
    assert_eq!(BasisPoints::new(10_000), Ok(BasisPoints::MAX));
    for found in [10_001, u16::MAX] {
        assert_eq!(BasisPoints::new(found), Err(BasisPointsOutOfRange { found }));
    }
    for text in ["10001", "-1", "0.7", "\"7000\"", "null"] {
        assert!(serde_json::from_str::<BasisPoints>(text).is_err(), "{text}");
    }
}

#[test]
fn a_confidence_is_shown_as_a_fraction() {
    assert_eq!(RELATION_THRESHOLD.to_string(), "0.7000");
    assert_eq!(BasisPoints::MAX.to_string(), "1.0000");
}

/// A fraction is kept as basis points, and no threshold is reached by rounding.
#[test]
fn a_fraction_below_one_is_taken_as_basis_points_and_nothing_else_is() {
    for (score, expected) in [
        (0.0, 0),
        (-0.0, 0),
        (1e-400, 0),
        (0.000_09, 0),
        (0.29, 2_900),
        (0.57, 5_700),
        (0.7, 7_000),
        (0.699_999_999, 6_999),
        (0.999_999, 9_999),
    ] {
        assert_eq!(BasisPoints::from_score(score).map(BasisPoints::get), Ok(expected), "{score}");
    }
    for score in [1.0, -0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(BasisPoints::from_score(score).is_err(), "{score}");
    }
    assert!((Confidence::from_basis_points(8_500).unwrap().score() - 0.85).abs() < f64::EPSILON);
}
