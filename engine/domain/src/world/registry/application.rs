//! Registrations as they change the registry, whatever the rules say of them.

use super::{Lease, Registry, Session, WorkOrder};
use crate::event::{
    CapabilityChanged, Event, LeaseRegistered, SessionRegistered, WorkOrderRegistered,
};

impl Registry {
    /// Applies what the event of a record registers. Other events leave the registry as it is.
    pub(crate) fn apply(&mut self, event: &Event, sequence: u64) {
        self.follow_ending(event, sequence);
        match event {
            Event::CapabilityChanged(body) => self.change_capability(body),
            Event::TenantRegistered(body) => {
                self.tenants.insert(body.tenant_id.clone(), body.status);
            }
            Event::UserRegistered(body) => {
                let key = (body.tenant_id.clone(), body.user_id.clone());
                self.users.insert(key, body.status);
            }
            Event::DeviceRegistered(body) => {
                let (tenant_id, device_id) = (body.tenant_id.clone(), body.device_id.clone());
                self.devices.insert((tenant_id, device_id, body.user_id.clone()), body.status);
            }
            Event::SessionRegistered(body) => self.register_session(body),
            Event::WorkOrderRegistered(body) => self.register_work_order(body),
            Event::LeaseRegistered(body) => self.register_lease(body),
            _ => {}
        }
    }

    fn change_capability(&mut self, body: &CapabilityChanged) {
        let key = (body.actor_kind, body.actor_id.clone(), body.capability);
        if body.is_granted {
            self.capabilities.insert(key);
        } else {
            self.capabilities.remove(&key);
        }
    }

    fn register_session(&mut self, body: &SessionRegistered) {
        let key = (body.tenant_id.clone(), body.session_id.clone());
        let session = Session {
            user_id: body.user_id.clone(),
            device_id: body.device_id.clone(),
            status: body.status,
        };
        self.sessions.insert(key, session);
    }

    /// Leases end with their work order: none can be used or registered any more.
    fn register_work_order(&mut self, body: &WorkOrderRegistered) {
        let key = (body.tenant_id.clone(), body.work_order_id.clone());
        if body.status.is_final() {
            self.leases.remove(&key);
        }
        let correlation_id = body.correlation_id.clone();
        self.work_orders.insert(key, WorkOrder { correlation_id, status: body.status });
    }

    fn register_lease(&mut self, body: &LeaseRegistered) {
        let key = (body.tenant_id.clone(), body.work_order_id.clone());
        let lease = Lease { expires_at: body.expires_at, status: body.status };
        self.leases.entry(key).or_default().insert(body.lease_token_hash, lease);
    }
}
