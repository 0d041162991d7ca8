//! The statuses of what is registered, and what an actor may be granted.

use crate::core::closed_enum;

closed_enum! {
    /// Permission to use something that is registered. A tenant, a user or a device that is not
    /// ACTIVE is outside of every scope. CLOSED is final.
    pub enum RegistrationStatus {
        /// May be used.
        Active = "ACTIVE",
        /// May not be used for now.
        Suspended = "SUSPENDED",
        /// May not be used any more.
        Closed = "CLOSED",
    }
}

closed_enum! {
    /// State of a session. CLOSED is final, and closing a session settles what was left unsaid in
    /// it.
    pub enum SessionStatus {
        /// Speech may be answered.
        Active = "ACTIVE",
        /// Nothing is said for now.
        Suspended = "SUSPENDED",
        /// Nothing is said any more.
        Closed = "CLOSED",
    }
}

closed_enum! {
    /// State of a work order. The last three are final: nothing is dispatched under them.
    pub enum WorkOrderStatus {
        /// Being put together.
        Draft = "DRAFT",
        /// Something is missing.
        Clarify = "CLARIFY",
        /// Waits for a person's yes.
        Confirm = "CONFIRM",
        /// Being carried out.
        Executing = "EXECUTING",
        /// Carried out.
        Completed = "COMPLETED",
        /// Could not be carried out.
        Failed = "FAILED",
        /// Given up.
        Canceled = "CANCELED",
    }
}

impl WorkOrderStatus {
    /// Returns whether nothing more is done under the work order.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

closed_enum! {
    /// State of a lease. It also ends by itself at its `expires_at`.
    pub enum LeaseStatus {
        /// Held.
        Active = "ACTIVE",
        /// Given back by its holder.
        Released = "RELEASED",
        /// Taken away.
        Revoked = "REVOKED",
    }
}

closed_enum! {
    /// Permission of a caller (`allowed_callers` of every capability of the seed).
    pub enum Capability {
        /// The seven capabilities of PH1.X, and the registrations that they presume.
        SeleneOsOnly = "SELENE_OS_ONLY",
    }
}
