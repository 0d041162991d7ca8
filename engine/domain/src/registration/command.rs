//! Commands that register what PH1.X presumes.

use alloc::string::String;

use crate::core::actor::Actor;
use crate::core::bodies;
use crate::core::hash::Digest;
use crate::core::time::Timestamp;
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

bodies! {
    /// See [`Command::ChangeCapability`](crate::Command::ChangeCapability).
    ChangeCapability {
        /// What kind of actor.
        actor_kind: Actor,
        /// Its name.
        actor_id: String,
        /// Which capability.
        capability: Capability,
        /// Whether the actor has it from now on.
        is_granted: bool,
    }
    /// See [`Command::RegisterTenant`](crate::Command::RegisterTenant).
    RegisterTenant {
        /// Its name, 1 to 64 bytes.
        tenant_id: String,
        /// Its status.
        status: RegistrationStatus,
    }
    /// See [`Command::RegisterUser`](crate::Command::RegisterUser).
    RegisterUser {
        /// The tenant.
        tenant_id: String,
        /// The user's name, 1 to 128 bytes.
        user_id: String,
        /// The status.
        status: RegistrationStatus,
    }
    /// See [`Command::RegisterDevice`](crate::Command::RegisterDevice).
    RegisterDevice {
        /// The tenant.
        tenant_id: String,
        /// The device's name, 1 to 128 bytes.
        device_id: String,
        /// The user who uses it.
        user_id: String,
        /// The status.
        status: RegistrationStatus,
    }
    /// See [`Command::RegisterSession`](crate::Command::RegisterSession).
    RegisterSession {
        /// The tenant.
        tenant_id: String,
        /// The session's name, 1 to 128 bytes.
        session_id: String,
        /// Whose it is.
        user_id: String,
        /// On which device.
        device_id: String,
        /// The status.
        status: SessionStatus,
    }
    /// See [`Command::RegisterWorkOrder`](crate::Command::RegisterWorkOrder).
    RegisterWorkOrder {
        /// The tenant.
        tenant_id: String,
        /// The work order's name, 1 to 128 bytes.
        work_order_id: String,
        /// The only correlation under which it is used.
        correlation_id: String,
        /// The status.
        status: WorkOrderStatus,
    }
    /// See [`Command::RegisterLease`](crate::Command::RegisterLease).
    RegisterLease {
        /// The tenant.
        tenant_id: String,
        /// The work order.
        work_order_id: String,
        /// SHA-256 of the lease's token, lower-case hex. The token itself is never given.
        lease_token_hash: Digest,
        /// From when on the lease allows nothing any more.
        expires_at: Timestamp,
        /// The status.
        status: LeaseStatus,
    }
}
