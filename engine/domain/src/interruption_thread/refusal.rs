//! Why a command on an interruption thread is refused.

use alloc::string::String;

use thiserror::Error;

use crate::core::forbidden::RefusalClass;
use crate::core::refusal::Malformed;
use crate::interruption_thread::types::ReasonCode;
use crate::registration::state::Mismatch;

/// Why a command on an interruption thread is refused. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ThreadRefusal {
    /// The command itself is malformed: nothing is written.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A rule on scope, gating or continuity says no: a reason-coded row is written.
    #[error("{reason_code}: {field}: expected {expected}, found {found}")]
    Barred {
        /// Why.
        reason_code: ReasonCode,
        /// The field.
        field: &'static str,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// No thread has this tenant and correlation.
    #[error("tenant {tenant_id} has no thread {correlation_id}; its first turn or row begins one")]
    UnknownThread {
        /// The tenant.
        tenant_id: String,
        /// The correlation.
        correlation_id: String,
    },
    /// Nothing of the thread has expired.
    #[error("nothing of thread {correlation_id} has expired; ask again when it has")]
    NothingExpired {
        /// The thread.
        correlation_id: String,
    },
}

impl ThreadRefusal {
    /// What is registered bars it.
    pub(crate) fn barred(reason_code: ReasonCode, mismatch: Mismatch) -> Self {
        let Mismatch { field, expected, found } = mismatch;
        Self::Barred { reason_code, field, expected, found }
    }

    /// The stable reason code: a row's own, where one is written.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => Malformed::CODE,
            Self::Barred { reason_code, .. } => reason_code.name(),
            Self::UnknownThread { .. } => "UNKNOWN_THREAD",
            Self::NothingExpired { .. } => "NOTHING_EXPIRED",
        }
    }

    /// The kind of rule, where the refusal is a fact of its own.
    #[must_use]
    pub const fn class(&self) -> Option<RefusalClass> {
        match self {
            Self::Barred { reason_code, .. } => Some(class_of(*reason_code)),
            Self::Malformed(_) | Self::UnknownThread { .. } | Self::NothingExpired { .. } => None,
        }
    }

    /// The reason code of the row that is written.
    #[must_use]
    pub const fn row_reason(&self) -> Option<ReasonCode> {
        match self {
            Self::Barred { reason_code, .. } => Some(*reason_code),
            _ => None,
        }
    }
}

const fn class_of(reason_code: ReasonCode) -> RefusalClass {
    match reason_code {
        ReasonCode::FailCallerNotAllowed | ReasonCode::FailTenantScopeInvalid => {
            RefusalClass::Scope
        }
        ReasonCode::FailIdempotencyConflict => RefusalClass::Idempotency,
        ReasonCode::FailTurnOrder
        | ReasonCode::FailThreadClosed
        | ReasonCode::FailStaleVersion
        | ReasonCode::ContinuitySpeakerMismatch => RefusalClass::Continuity,
        _ => RefusalClass::Gating,
    }
}
