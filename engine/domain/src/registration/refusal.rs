//! Why something is not registered.

use alloc::string::String;

use thiserror::Error;

use crate::core::forbidden::RefusalClass;
use crate::core::refusal::Malformed;
use crate::registration::state::Mismatch;

/// Why something is not registered. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistrationRefusal {
    /// The command itself is malformed: nothing is written.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Something cannot be registered as the command states it.
    #[error("{field}: expected {expected}, found {found}; register it as it is")]
    Mismatch {
        /// The field.
        field: &'static str,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: String,
    },
}

impl From<Mismatch> for RegistrationRefusal {
    fn from(Mismatch { field, expected, found }: Mismatch) -> Self {
        Self::Mismatch { field, expected, found }
    }
}

impl RegistrationRefusal {
    /// The stable reason code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => Malformed::CODE,
            Self::Mismatch { .. } => "REGISTRATION_REFUSED",
        }
    }

    /// The kind of rule, where the refusal is a fact of its own.
    #[must_use]
    pub const fn class(&self) -> Option<RefusalClass> {
        match self {
            Self::Malformed(_) => None,
            Self::Mismatch { .. } => Some(RefusalClass::Scope),
        }
    }
}
