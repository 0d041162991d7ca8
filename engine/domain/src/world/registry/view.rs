//! What is registered, as a person or another program reads it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use serde::Serialize;

use super::Registry;
use crate::event::Event;
use crate::time::Timestamp;
use crate::world::World;

/// Where a capability stands that an actor has. One that was taken away is not registered.
const GRANTED: &str = "GRANTED";

/// Something registered. What does not belong to it is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistrationView<'a> {
    /// What it is and its name.
    #[serde(skip)]
    pub name: RegistrationName,
    /// Where it stands, by the seed's names; a capability is GRANTED.
    pub status: String,
    /// Of a session: whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    /// Of a session: on which device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<&'a str>,
    /// Of a work order: the only correlation under which it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<&'a str>,
    /// Of a lease: from when on it allows nothing any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What tells one registration from all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistrationName {
    /// `capability`, `tenant`, `user`, `device`, `session`, `work_order` or `lease`.
    pub kind: &'static str,
    /// The names of what it belongs to, the tenant first, and its own. Of a device its user, of a
    /// lease the hash of its token, of a capability the actor's kind and name stand there too.
    pub parts: Vec<String>,
}

impl RegistrationName {
    fn new(kind: &'static str, parts: &[&dyn Display]) -> Self {
        Self { kind, parts: parts.iter().map(ToString::to_string).collect() }
    }

    /// What an event registers, or takes away; `None` for events that register nothing.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::CapabilityChanged(body) => {
                Self::new("capability", &[&body.actor_kind, &body.actor_id, &body.capability])
            }
            Event::TenantRegistered(body) => Self::new("tenant", &[&body.tenant_id]),
            Event::UserRegistered(body) => Self::new("user", &[&body.tenant_id, &body.user_id]),
            Event::DeviceRegistered(body) => {
                Self::new("device", &[&body.tenant_id, &body.device_id, &body.user_id])
            }
            Event::SessionRegistered(body) => {
                Self::new("session", &[&body.tenant_id, &body.session_id])
            }
            Event::WorkOrderRegistered(body) => {
                Self::new("work_order", &[&body.tenant_id, &body.work_order_id])
            }
            Event::LeaseRegistered(body) => {
                Self::new("lease", &[&body.tenant_id, &body.work_order_id, &body.lease_token_hash])
            }
            _ => return None,
        })
    }
}

impl RegistrationView<'_> {
    fn new(kind: &'static str, parts: &[&dyn Display], status: &dyn Display) -> Self {
        Self {
            name: RegistrationName::new(kind, parts),
            status: status.to_string(),
            user_id: None,
            device_id: None,
            correlation_id: None,
            expires_at: None,
        }
    }
}

impl World {
    /// Everything that is registered, by kind and name. Of the sessions and work orders that ended
    /// the newest are among it.
    pub fn registrations(&self) -> impl Iterator<Item = RegistrationView<'_>> {
        let registry = &self.hot.registry;
        registry.plain().chain(registry.sessions()).chain(registry.work())
    }
}

impl Registry {
    /// What has a status and nothing else.
    fn plain(&self) -> impl Iterator<Item = RegistrationView<'_>> {
        let capabilities = self.capabilities.iter().map(|(kind, id, capability)| {
            RegistrationView::new("capability", &[kind, id, capability], &GRANTED)
        });
        let tenants = self.tenants.iter();
        let tenants =
            tenants.map(|(tenant, status)| RegistrationView::new("tenant", &[tenant], status));
        let users = self
            .users
            .iter()
            .map(|((tenant, user), status)| RegistrationView::new("user", &[tenant, user], status));
        let devices = self.devices.iter().map(|((tenant, device, user), status)| {
            RegistrationView::new("device", &[tenant, device, user], status)
        });
        capabilities.chain(tenants).chain(users).chain(devices)
    }

    fn sessions(&self) -> impl Iterator<Item = RegistrationView<'_>> {
        self.sessions.iter().map(|((tenant, name), session)| RegistrationView {
            user_id: Some(&session.user_id),
            device_id: Some(&session.device_id),
            ..RegistrationView::new("session", &[tenant, name], &session.status)
        })
    }

    fn work(&self) -> impl Iterator<Item = RegistrationView<'_>> {
        let orders = self.work_orders.iter().map(|((tenant, name), order)| RegistrationView {
            correlation_id: Some(&order.correlation_id),
            ..RegistrationView::new("work_order", &[tenant, name], &order.status)
        });
        let leases = self.leases.iter().flat_map(|((tenant, order), leases)| {
            leases.iter().map(move |(token, lease)| RegistrationView {
                expires_at: Some(lease.expires_at),
                ..RegistrationView::new("lease", &[tenant, order, token], &lease.status)
            })
        });
        orders.chain(leases)
    }
}
