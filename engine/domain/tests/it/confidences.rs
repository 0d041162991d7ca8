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
