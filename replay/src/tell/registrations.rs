//! Rows of what interruption threads presume: tenants, users, devices, sessions, work orders,
//! leases and capabilities.

use super::{Form, named, short, shown};
use holdpoint_domain::registration::{
    CapabilityChanged, DeviceRegistered, LeaseRegistered, RegistrationEvent, SessionRegistered,
    WorkOrderRegistered,
};

/// Tells a registration.
pub(super) fn tell(event: &RegistrationEvent, form: Form) -> String {
    match event {
        RegistrationEvent::CapabilityChanged(body) => capability_changed(body),
        RegistrationEvent::TenantRegistered(body) => {
            format!("tenant {}: {}", shown(&body.tenant_id), body.status)
        }
        RegistrationEvent::UserRegistered(body) => {
            format!("user {}: {}", named(&body.tenant_id, &body.user_id), body.status)
        }
        RegistrationEvent::DeviceRegistered(body) => device_registered(body),
        RegistrationEvent::SessionRegistered(body) => {
            let tenant = form.of(|| format!("{}/", shown(&body.tenant_id)), String::new);
            format!("session {tenant}{}", session(body))
        }
        RegistrationEvent::WorkOrderRegistered(body) => work_order_registered(body),
        RegistrationEvent::LeaseRegistered(body) => lease_registered(body),
    }
}

fn session(body: &SessionRegistered) -> String {
    let (user, device) = (shown(&body.user_id), shown(&body.device_id));
    format!("{} of {user} on {device}: {}", shown(&body.session_id), body.status)
}

fn capability_changed(body: &CapabilityChanged) -> String {
    let verb = if body.is_granted { "given to" } else { "taken from" };
    format!("{} {verb} {} {}", body.capability, body.actor_kind, shown(&body.actor_id))
}

fn device_registered(body: &DeviceRegistered) -> String {
    let device = named(&body.tenant_id, &body.device_id);
    format!("device {device} of {}: {}", shown(&body.user_id), body.status)
}

fn work_order_registered(body: &WorkOrderRegistered) -> String {
    let order = named(&body.tenant_id, &body.work_order_id);
    format!("work order {order} of thread {}: {}", shown(&body.correlation_id), body.status)
}

fn lease_registered(body: &LeaseRegistered) -> String {
    let order = named(&body.tenant_id, &body.work_order_id);
    let hash = short(&body.lease_token_hash);
    format!("lease {hash} on work order {order} until {}: {}", body.expires_at, body.status)
}
