//! How sure something is has bounds and one form.

use holdpoint_domain::Command;
use holdpoint_domain::core::confidence::{
    BasisPoints, BasisPointsOutOfRange, Confidence, ConfidenceOutOfRange, RELATION_THRESHOLD,
};
use holdpoint_domain::interruption_thread::{
    InterruptionThreadCommand, SubjectRelation, TakeTurn, TurnInput,
};
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{interrupting, relating, request};
use holdpoint_testing::threads::{Stage, turn};
use serde_json::{Value, json};

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

const AT: u64 = 1_000_000_000_000;

/// Ann interrupts what she is being told.
fn interrupted() -> TakeTurn {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "ann", "phone");
    stage.work_order("acme", "t");
    let asked = interrupting(request("ann", "weather", TurnInput::None), AT, "Said. Unsaid.", 5);
    let asked = relating(asked, SubjectRelation::Same, 9_500);
    turn(&stage, ["acme", "t", "ann", "phone"], 1, asked)
}

/// Every confidence in a value, by the path of its basis points.
fn confidences(value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(fields) = value.as_object() else { return };
    for (name, within) in fields {
        let path = format!("{path}/{name}");
        if name.ends_with("_bp") && within.is_number() {
            found.push(path.clone());
        }
        confidences(within, &path, found);
    }
}

fn commands(of: &TakeTurn) -> [Command; 3] {
    let said = heard(&of.request);
    let taken = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(of.clone()));
    [taken, drafted(of, said.clone()), committed(of, &plan_key(of), said)]
}

#[test]
fn a_readable_confidence_is_a_fraction_beside_its_basis_points_and_either_is_read() {
    let of = interrupted();
    for command in commands(&of) {
        let whole = serde_json::to_value(&command).unwrap();
        let mut paths = Vec::new();
        confidences(&whole, "", &mut paths);
        assert!(paths.len() >= 11, "{paths:?}");
        let read = |value: Value| serde_json::from_value::<Command>(value);
        assert_eq!(read(whole.clone()).unwrap(), command, "both");
        for path in &paths {
            let (body, points) = path.rsplit_once('/').unwrap();
            let score = points.strip_suffix("_bp").unwrap();
            let kept = whole.pointer(path).unwrap().as_f64().unwrap();
            assert_eq!(whole.pointer(body).unwrap()[score], json!(kept / 10_000.0), "{path}");
            let with = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
                let mut value = whole.clone();
                change(value.pointer_mut(body).unwrap().as_object_mut().unwrap());
                read(value)
            };
            let alone = [points, score].map(|name| with(&|body| drop(body.remove(name))).unwrap());
            assert_eq!(alone, [command.clone(), command.clone()], "{path}");
            let differs = with(&|body| body[score] = 0.123.into()).unwrap_err().to_string();
            assert!(differs.contains(score) && differs.contains("not the same"), "{differs}");
            for bad in [json!(1.0), json!(1), json!("0.9"), json!(-0.1), json!([])] {
                let said = with(&|body| body[score] = bad.clone()).unwrap_err().to_string();
                assert!(said.contains(&format!("`{score}`")), "{path}: {bad}: {said}");
            }
            // What is written of 10 000 basis points is read; 1 alone is nobody's confidence.
            let certain = with(&|body| {
                body[points] = 10_000.into();
                body[score] = json!(1.0);
            });
            let certain = serde_json::to_value(certain.unwrap()).unwrap();
            assert_eq!(certain.pointer(path), Some(&json!(10_000)), "{path}");
            let alone = with(&|body| {
                body.remove(points);
                body[score] = json!(1.0);
            });
            assert!(alone.unwrap_err().to_string().contains(&format!("`{score}`")), "{path}");
            let is_needed = with(&|body| {
                body.remove(points);
                body.remove(score);
            });
            let may_be_absent = ["subject_relation_confidence_bp", "nearfield_bp"];
            let is_optional = may_be_absent.iter().any(|name| points.ends_with(name));
            assert_eq!(is_needed.is_ok(), is_optional, "{path}");
        }
    }
}
