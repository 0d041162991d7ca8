//! Commands that register what PH1.X presumes, and why one is refused.

use alloc::string::String;

use crate::core::actor::Actor;
use crate::core::hash::Digest;
use crate::core::refusal::{Malformed, refusals};
use crate::core::time::Timestamp;
use crate::core::{bodies, commands};
use crate::registration::state::Mismatch;
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

commands! {
    /// Command on a registration.
    RegistrationCommand {
        /// Allow an actor the capabilities of PH1.X, or take them away. Only a HUMAN may.
        "interruption_thread.change_capability" ChangeCapability(ChangeCapability);
        /// Register a tenant, or change its status.
        "interruption_thread.register_tenant" RegisterTenant(RegisterTenant);
        /// Register a user of a tenant, or change the status.
        "interruption_thread.register_user" RegisterUser(RegisterUser);
        /// Register a device for a user, or change the status.
        "interruption_thread.register_device" RegisterDevice(RegisterDevice);
        /// Register a session, or change its status. CLOSED gives up what was left unsaid in it.
        "interruption_thread.register_session" RegisterSession(RegisterSession);
        /// Register a work order, or change its status.
        "interruption_thread.register_work_order" RegisterWorkOrder(RegisterWorkOrder);
        /// Register a lease on a work order, or end it.
        "interruption_thread.register_lease" RegisterLease(RegisterLease);
    }
}

bodies! {
    /// See [`RegistrationCommand::ChangeCapability`].
    ChangeCapability {
        /// Kind of actor.
        actor_kind: Actor,
        /// Its name.
        actor_id: String,
        /// The capability.
        capability: Capability,
        /// True if the actor has it from now on.
        is_granted: bool,
    }
    /// See [`RegistrationCommand::RegisterTenant`].
    RegisterTenant {
        /// Its name, 1 to 64 bytes.
        tenant_id: String,
        /// Its status.
        status: RegistrationStatus,
    }
    /// See [`RegistrationCommand::RegisterUser`].
    RegisterUser {
        /// The tenant.
        tenant_id: String,
        /// The user's name, 1 to 128 bytes.
        user_id: String,
        /// The status.
        status: RegistrationStatus,
    }
    /// See [`RegistrationCommand::RegisterDevice`].
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
    /// See [`RegistrationCommand::RegisterSession`].
    RegisterSession {
        /// The tenant.
        tenant_id: String,
        /// The session's name, 1 to 128 bytes.
        session_id: String,
        /// User whose session it is.
        user_id: String,
        /// On which device.
        device_id: String,
        /// The status.
        status: SessionStatus,
    }
    /// See [`RegistrationCommand::RegisterWorkOrder`].
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
    /// See [`RegistrationCommand::RegisterLease`].
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

impl RegistrationCommand {
    /// Returns what is registered: its own name, without that of its tenant. Of a lease its work
    /// order.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::ChangeCapability(c) => &c.actor_id,
            Self::RegisterTenant(c) => &c.tenant_id,
            Self::RegisterUser(c) => &c.user_id,
            Self::RegisterDevice(c) => &c.device_id,
            Self::RegisterSession(c) => &c.session_id,
            Self::RegisterWorkOrder(c) => &c.work_order_id,
            Self::RegisterLease(c) => &c.work_order_id,
        }
    }
}

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
        /// Value that the field has to have.
        expected: String,
        /// Value that the field has.
        found: String,
    } = "REGISTRATION_REFUSED" in Scope,
}

impl From<Mismatch> for RegistrationRefusal {
    fn from(Mismatch { field, expected, found }: Mismatch) -> Self {
        Self::Mismatch { field, expected, found }
    }
}
