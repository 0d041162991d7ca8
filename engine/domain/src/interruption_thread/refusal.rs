//! Why a command on an interruption thread is refused.

use alloc::string::String;

use crate::core::refusal::{Malformed, refusals};
use crate::interruption_thread::types::ReasonCode;
use crate::registration::state::Mismatch;

refusals! {
    /// Why a command on an interruption thread is refused. Closed.
    ThreadRefusal holding {
        /// The command itself is malformed: nothing is written.
        Malformed(Malformed),
    }
    /// A rule on scope, gating or continuity says no: a reason-coded row is written.
    #[error("{reason_code}: {field}: expected {expected}, found {found}")]
    Barred {
        /// Why.
        reason_code: ReasonCode,
        /// The field.
        field: &'static str,
        /// Value that the field has to have.
        expected: String,
        /// Value that the field has.
        found: String,
    } by reason_code: ReasonCode,
    /// The gate of a commit is closed, or an open plan bars the turn, whoever speaks. The plan
    /// stays open, and a reason-coded row is written.
    #[error("{reason_code}: {field}: expected {expected}, found {found}")]
    GateClosed {
        /// Why.
        reason_code: ReasonCode,
        /// The field.
        field: &'static str,
        /// Value that the field has to have.
        expected: String,
        /// Value that the field has.
        found: String,
    } by reason_code: ReasonCode,
    /// No thread has this tenant and correlation.
    #[error("tenant {tenant_id} has no thread {correlation_id}; its first turn or row begins one")]
    UnknownThread {
        /// The tenant.
        tenant_id: String,
        /// The correlation.
        correlation_id: String,
    } = "UNKNOWN_THREAD",
    /// Nothing of the thread has expired.
    #[error("nothing of thread {correlation_id} has expired; ask again when it has")]
    NothingExpired {
        /// The thread.
        correlation_id: String,
    } = "NOTHING_EXPIRED",
}

impl ThreadRefusal {
    /// Returns the refusal of a request that something registered bars.
    pub(crate) fn barred(reason_code: ReasonCode, mismatch: Mismatch) -> Self {
        let Mismatch { field, expected, found } = mismatch;
        Self::Barred { reason_code, field, expected, found }
    }

    /// The same of a plan, which is no outcome of an interruption.
    pub(crate) fn of_plan(mut self) -> Self {
        if let Self::Barred { reason_code, .. } = &mut self
            && reason_code.is_branch_outcome()
        {
            *reason_code = ReasonCode::FailPlanInvalid;
        }
        self
    }

    /// The same of the gate of an open plan.
    pub(crate) fn of_gate(self) -> Self {
        if let Self::Barred { reason_code, field, expected, found } = self {
            return Self::GateClosed { reason_code, field, expected, found };
        }
        self
    }

    /// The reason code of the row that is written.
    #[must_use]
    pub const fn row_reason(&self) -> Option<ReasonCode> {
        if let Self::Barred { reason_code, .. } | Self::GateClosed { reason_code, .. } = self {
            Some(*reason_code)
        } else {
            None
        }
    }
}
