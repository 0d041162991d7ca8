//! Events of registrations. Kinds 160 to 166, among those of interruption threads.

use crate::core::actor::Actor;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

events! {
    /// Event of a registration.
    RegistrationEvent of "interruption_thread" kinds 160..=166, {
        /// An actor may call the capabilities of PH1.X, or may no longer.
        160 v 1 "interruption_thread.capability_changed" => CapabilityChanged;
        /// A tenant was registered, or its status changed.
        161 v 1 "interruption_thread.tenant_registered" => TenantRegistered;
        /// A user was registered, or the status changed.
        162 v 1 "interruption_thread.user_registered" => UserRegistered;
        /// A device was registered for a user, or the status changed.
        163 v 1 "interruption_thread.device_registered" => DeviceRegistered;
        /// A session was registered, or its status changed.
        164 v 1 "interruption_thread.session_registered" => SessionRegistered;
        /// A work order was registered, or its status changed.
        165 v 1 "interruption_thread.work_order_registered" => WorkOrderRegistered;
        /// A lease was registered, or its status changed.
        166 v 1 "interruption_thread.lease_registered" => LeaseRegistered;
    }
}

impl RegistrationEvent {
    /// The tenant in which something is registered; a capability is granted in all of them.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        Some(match self {
            Self::CapabilityChanged(_) => return None,
            Self::TenantRegistered(body) => &body.tenant_id,
            Self::UserRegistered(body) => &body.tenant_id,
            Self::DeviceRegistered(body) => &body.tenant_id,
            Self::SessionRegistered(body) => &body.tenant_id,
            Self::WorkOrderRegistered(body) => &body.tenant_id,
            Self::LeaseRegistered(body) => &body.tenant_id,
        })
    }
}

recorded! {
    /// Right of an actor to call the capabilities of PH1.X.
    CapabilityChanged {
        /// Kind of actor.
        actor_kind: Actor,
        /// Its name.
        actor_id: Text,
        /// The capability.
        capability: Capability,
        /// True if the actor has it from now on.
        is_granted: bool,
    }

    /// A tenant exists, or its status changed.
    TenantRegistered {
        /// Its name, 1 to 64 bytes.
        tenant_id: Text,
        /// Its status.
        status: RegistrationStatus,
    }

    /// A user exists in a tenant, or the user's status changed.
    UserRegistered {
        /// The tenant.
        tenant_id: Text,
        /// The user's name, 1 to 128 bytes.
        user_id: Text,
        /// The status.
        status: RegistrationStatus,
    }

    /// A user uses a device, or the status of that changed. A device that several users share is
    /// registered for each; it is never bound to whoever writes first.
    DeviceRegistered {
        /// The tenant.
        tenant_id: Text,
        /// The device's name, 1 to 128 bytes.
        device_id: Text,
        /// The user.
        user_id: Text,
        /// The status.
        status: RegistrationStatus,
    }

    /// A session began, or its status changed.
    SessionRegistered {
        /// The tenant.
        tenant_id: Text,
        /// The session's name, 1 to 128 bytes.
        session_id: Text,
        /// User whose session it is.
        user_id: Text,
        /// On which device.
        device_id: Text,
        /// The status.
        status: SessionStatus,
    }

    /// A work order exists, or its status changed.
    WorkOrderRegistered {
        /// The tenant.
        tenant_id: Text,
        /// The work order's name, 1 to 128 bytes.
        work_order_id: Text,
        /// The only correlation under which it is used.
        correlation_id: Text,
        /// The status.
        status: WorkOrderStatus,
    }

    /// A lease on a work order was taken, or ended.
    LeaseRegistered {
        /// The tenant.
        tenant_id: Text,
        /// The work order.
        work_order_id: Text,
        /// SHA-256 of the lease's token. The token itself never enters.
        lease_token_hash: Digest,
        /// From when on the lease allows nothing any more.
        expires_at: Timestamp,
        /// The status.
        status: LeaseStatus,
    }
}
