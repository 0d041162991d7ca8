//! What a person may see of a loop.

use holdpoint_domain::human_decision::{
    EvidenceVisibility, OverrideField, VISIBILITY, get_visibility,
};

#[test]
fn table_visibility_names_each_field_once_and_every_override() {
    for (index, (name, visibility)) in VISIBILITY.iter().enumerate() {
        assert_eq!(VISIBILITY.iter().position(|(other, _)| other == name), Some(index));
        let overridable = OverrideField::from_name(name).is_some();
        assert_eq!(*visibility == EvidenceVisibility::OverrideRequired, overridable, "{name}");
    }
    for field in OverrideField::ALL {
        assert_eq!(get_visibility(field.name()), EvidenceVisibility::OverrideRequired);
    }
}

#[test]
fn what_is_not_in_the_table_is_hidden() {
    for name in ["", "Timestamp", "timestamp ", "tim\u{435}stamp", "record_id", "self_hash\0"] {
        assert_eq!(get_visibility(name), EvidenceVisibility::Hidden, "{name:?}");
    }
}
