//! Registrations: what PH1.X presumes.

use alloc::vec;
use alloc::vec::Vec;

use super::interruption_thread::{expiries, given_up};
use super::thread_session::disarmed;
use crate::command::{ChangeCapability, Command, RegisterSession};
use crate::event::{
    CapabilityChanged, DeviceRegistered, Event, LeaseRegistered, RemaindersDiscarded,
    SessionRegistered, TenantRegistered, Text, UserRegistered, WorkOrderRegistered,
};
use crate::interruption_thread::{FateReason, ReasonCode, SessionStatus};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::{Thread, World};

/// What follows from a registration: the registration itself, and what becomes of everything that a
/// session which is closed leaves behind.
pub(super) fn register(
    world: &World,
    command: &Command,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let Some(registration) = registration(command) else { return Ok(Vec::new()) };
    world.registered().check_registration(&registration, at)?;
    let mut events = vec![registration];
    if let Command::RegisterSession(c) = command {
        events.extend(left_behind(world, c, at));
    }
    Ok(events)
}

/// The fact that the command asks for; `None` for commands that register nothing.
fn registration(command: &Command) -> Option<Event> {
    Some(match command {
        Command::ChangeCapability(c) => capability(c).into(),
        Command::RegisterTenant(c) => {
            TenantRegistered { tenant_id: Text::from(&c.tenant_id), status: c.status }.into()
        }
        Command::RegisterUser(c) => UserRegistered {
            tenant_id: Text::from(&c.tenant_id),
            user_id: Text::from(&c.user_id),
            status: c.status,
        }
        .into(),
        Command::RegisterDevice(c) => DeviceRegistered {
            tenant_id: Text::from(&c.tenant_id),
            device_id: Text::from(&c.device_id),
            user_id: Text::from(&c.user_id),
            status: c.status,
        }
        .into(),
        Command::RegisterSession(c) => session(c).into(),
        Command::RegisterWorkOrder(c) => WorkOrderRegistered {
            tenant_id: Text::from(&c.tenant_id),
            work_order_id: Text::from(&c.work_order_id),
            correlation_id: Text::from(&c.correlation_id),
            status: c.status,
        }
        .into(),
        Command::RegisterLease(c) => LeaseRegistered {
            tenant_id: Text::from(&c.tenant_id),
            work_order_id: Text::from(&c.work_order_id),
            lease_token_hash: c.lease_token_hash,
            expires_at: c.expires_at,
            status: c.status,
        }
        .into(),
        _ => return None,
    })
}

fn capability(command: &ChangeCapability) -> CapabilityChanged {
    CapabilityChanged {
        actor_kind: command.actor_kind,
        actor_id: Text::from(&command.actor_id),
        capability: command.capability,
        is_granted: command.is_granted,
    }
}

fn session(command: &RegisterSession) -> SessionRegistered {
    SessionRegistered {
        tenant_id: Text::from(&command.tenant_id),
        session_id: Text::from(&command.session_id),
        user_id: Text::from(&command.user_id),
        device_id: Text::from(&command.device_id),
        status: command.status,
    }
}

/// Closing a session disarms what was pending in it and gives up what was left unsaid in it, and
/// says so thread by thread. What has expired by now is no longer there to be given up.
fn left_behind(world: &World, command: &RegisterSession, at: Timestamp) -> Vec<Event> {
    if command.status != SessionStatus::Closed {
        return Vec::new();
    }
    let threads = world.hot.threads.of_session(&command.tenant_id, &command.session_id);
    threads.flat_map(|thread| ended_with_session(thread, &command.session_id, at)).collect()
}

fn ended_with_session(thread: &Thread, session_id: &str, at: Timestamp) -> Vec<Event> {
    let mut state = thread.state.clone();
    let mut events = expiries(&thread.tenant_id, &thread.correlation_id, &state.expire(at));
    events.extend(disarmed(thread, &state, session_id));
    let mut left = state.resume_buffers.iter().filter(|b| b.is_of_session(session_id)).peekable();
    if left.peek().is_some() {
        let discarded = RemaindersDiscarded {
            tenant_id: thread.tenant_id.clone(),
            correlation_id: thread.correlation_id.clone(),
            session_id: Some(session_id.into()),
            remainders: left.map(|b| given_up(b, FateReason::SessionClosed)).collect(),
            reason_code: ReasonCode::SessionClosed,
        };
        events.push(discarded.into());
    }
    events
}
