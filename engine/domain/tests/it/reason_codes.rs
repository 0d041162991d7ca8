//! Reason codes, each with a name and a number of its own.

use holdpoint_domain::interruption_thread::ReasonCode;
use std::collections::BTreeSet;

#[test]
fn table_every_reason_code_has_a_name_and_a_number_of_its_own() {
    let names: BTreeSet<_> = ReasonCode::ALL.iter().map(|code| code.name()).collect();
    let numbers: BTreeSet<_> = ReasonCode::ALL.iter().map(|code| code.number()).collect();
    assert_eq!(names.len(), ReasonCode::ALL.len());
    assert_eq!(numbers.len(), ReasonCode::ALL.len());
    assert!(names.iter().all(|name| name.starts_with("X_")));
    assert!(numbers.iter().all(|number| number >> 16 == 0x4858));
}
