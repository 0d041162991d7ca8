//! What a person who decides may see (Phase-32, "Evidence visibility rules").

use alloc::format;
use alloc::string::String;

use super::{EvidenceVisibility, OverrideField};
use crate::execution_loop::ExecutorResponseType;

use EvidenceVisibility::{Hidden, OverrideRequired, Visible};

/// The table: the seed's fields, then ours. What is not here is HIDDEN.
///
/// | field | visibility | why |
/// |---|---|---|
/// | `observation_point` to `prior_hash` | VISIBLE | the seed's table; `chain_hash` is the head |
/// | `raw_data`, `executor_output` | HIDDEN | the seed: never displayed |
/// | `command_line` | VISIBLE | the instruction is what is decided on; redacted when recorded |
/// | `executor_claim` | VISIBLE | the seed: claims are shown, as CLAIMED only |
/// | `attempt_exit`, `attempt_resources` | OVERRIDE_REQUIRED | derived from raw evidence |
/// | `attempt_outputs` | OVERRIDE_REQUIRED | derived from raw evidence |
/// | `attempt_fault` | OVERRIDE_REQUIRED | an executor's own words |
pub const VISIBILITY: [(&str, EvidenceVisibility); 17] = [
    ("observation_point", Visible),
    ("evidence_type", Visible),
    ("timestamp", Visible),
    ("chain_length", Visible),
    ("execution_state", Visible),
    ("confidence_score", Visible),
    ("chain_hash", Visible),
    ("self_hash", Visible),
    ("prior_hash", Visible),
    ("raw_data", Hidden),
    ("executor_output", Hidden),
    ("command_line", Visible),
    ("executor_claim", Visible),
    (OverrideField::AttemptExit.name(), OverrideRequired),
    (OverrideField::AttemptResources.name(), OverrideRequired),
    (OverrideField::AttemptOutputs.name(), OverrideRequired),
    (OverrideField::FaultMessage.name(), OverrideRequired),
];

/// Who may see the field with exactly this name. Unknown fields are HIDDEN.
#[must_use]
pub fn get_visibility(field_name: &str) -> EvidenceVisibility {
    VISIBILITY.iter().find(|(name, _)| *name == field_name).map_or(Hidden, |(_, visible)| *visible)
}

/// An executor's claim, marked as one: the only way in which a claim is shown.
#[must_use]
pub fn claimed(claim: ExecutorResponseType) -> String {
    format!("CLAIMED {claim}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_visibility_names_each_field_once_and_every_override() {
        for (index, (name, visibility)) in VISIBILITY.iter().enumerate() {
            assert_eq!(VISIBILITY.iter().position(|(other, _)| other == name), Some(index));
            let overridable = OverrideField::from_name(name).is_some();
            assert_eq!(*visibility == OverrideRequired, overridable, "{name}");
        }
        for field in OverrideField::ALL {
            assert_eq!(get_visibility(field.name()), OverrideRequired);
        }
    }

    #[test]
    fn what_is_not_in_the_table_is_hidden() {
        for name in ["", "Timestamp", "timestamp ", "tim\u{435}stamp", "record_id", "self_hash\0"] {
            assert_eq!(get_visibility(name), Hidden, "{name:?}");
        }
    }
}
