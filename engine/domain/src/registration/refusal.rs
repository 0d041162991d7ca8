//! Why something is not registered.

use alloc::string::String;

use crate::core::refusal::{Malformed, refusals};
use crate::registration::state::Mismatch;

refusals! {
    /// Why something is not registered. Closed.
    RegistrationRefusal holding {
        /// The command itself is malformed: nothing is written.
        Malformed(Malformed),
    }
    /// Something cannot be registered as the command states it.
    #[error("{field}: expected {expected}, found {found}")]
    Mismatch {
        /// The field.
        field: &'static str,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: String,
    } = "REGISTRATION_REFUSED" in Scope,
}

impl From<Mismatch> for RegistrationRefusal {
    fn from(Mismatch { field, expected, found }: Mismatch) -> Self {
        Self::Mismatch { field, expected, found }
    }
}
