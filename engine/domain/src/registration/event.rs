//! What happened to registrations. Kinds 160 to 166, among those of interruption threads.

use serde::{Deserialize, Serialize};

use crate::core::actor::Actor;
use crate::core::events;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

events! {
    /// What happened to a registration.
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

/// Who may call the capabilities of PH1.X.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapabilityChanged {
    /// What kind of actor.
    pub actor_kind: Actor,
    /// Its name.
    pub actor_id: Text,
    /// Which capability.
    pub capability: Capability,
    /// Whether the actor has it from now on.
    pub is_granted: bool,
}

/// A tenant exists, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantRegistered {
    /// Its name, 1 to 64 bytes.
    pub tenant_id: Text,
    /// Its status.
    pub status: RegistrationStatus,
}

/// A user exists in a tenant, or the user's status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The user's name, 1 to 128 bytes.
    pub user_id: Text,
    /// The status.
    pub status: RegistrationStatus,
}

/// A user uses a device, or the status of that changed. A device that several users share is
/// registered for each; it is never bound to whoever writes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The device's name, 1 to 128 bytes.
    pub device_id: Text,
    /// The user.
    pub user_id: Text,
    /// The status.
    pub status: RegistrationStatus,
}

/// A session began, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The session's name, 1 to 128 bytes.
    pub session_id: Text,
    /// Whose it is.
    pub user_id: Text,
    /// On which device.
    pub device_id: Text,
    /// The status.
    pub status: SessionStatus,
}

/// A work order exists, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkOrderRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The work order's name, 1 to 128 bytes.
    pub work_order_id: Text,
    /// The only correlation under which it is used.
    pub correlation_id: Text,
    /// The status.
    pub status: WorkOrderStatus,
}

/// A lease on a work order was taken, or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The work order.
    pub work_order_id: Text,
    /// SHA-256 of the lease's token. The token itself never enters.
    pub lease_token_hash: Digest,
    /// From when on the lease allows nothing any more.
    pub expires_at: Timestamp,
    /// The status.
    pub status: LeaseStatus,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    CapabilityChanged { actor_kind, actor_id, capability, is_granted }
    TenantRegistered { tenant_id, status }
    UserRegistered { tenant_id, user_id, status }
    DeviceRegistered { tenant_id, device_id, user_id, status }
    SessionRegistered { tenant_id, session_id, user_id, device_id, status }
    WorkOrderRegistered { tenant_id, work_order_id, correlation_id, status }
    LeaseRegistered { tenant_id, work_order_id, lease_token_hash, expires_at, status }
}
