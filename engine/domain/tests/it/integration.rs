//! What is captured where, over the whole table.

use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};
use holdpoint_domain::evidence_capture::{INTEGRATION, LoopStep, may_capture};
use holdpoint_domain::execution_loop::ExecutionLoopState;

#[test]
fn table_integration_has_every_step_once_in_order() {
    let steps = INTEGRATION.map(|row| row.step);
    assert_eq!(steps.as_slice(), LoopStep::ALL);
    let points = ObservationPoint::ALL.iter();
    for point in points {
        let row = INTEGRATION.iter().find(|r| r.place.is_some_and(|(p, _)| p == *point));
        assert!(row.is_some(), "{point} is captured nowhere");
    }
    for evidence_type in EvidenceType::ALL {
        let row = INTEGRATION.iter().find(|r| r.place.is_some_and(|(_, t)| t == *evidence_type));
        assert!(row.is_some(), "{evidence_type} is captured nowhere");
    }
}

#[test]
fn table_capture_is_allowed_exactly_where_a_row_says_so() {
    let mut allowed = 0;
    for state in ExecutionLoopState::ALL {
        for point in ObservationPoint::ALL {
            for evidence_type in EvidenceType::ALL {
                allowed += usize::from(may_capture(*state, *point, *evidence_type));
            }
        }
    }
    // RESULT_DECIDED and CONTINUED share a place, AWAITING has none.
    assert_eq!(allowed, INTEGRATION.len() - 2);
}
