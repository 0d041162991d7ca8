//! What is wrong with a command on interruption threads whoever gives it and whatever the state is:
//! nothing is written of it, not even that it was refused.

use super::interruption_thread::{check_fields, check_row, check_thread_names};
use crate::command::Command;
use crate::interruption_thread::{check_form, check_name};
use crate::refusal::ThreadRefusal;

const NAME_64: &str = "1 to 64 bytes, visible, without control characters";
const NAME_128: &str = "1 to 128 bytes, visible, without control characters";
const NAME_256: &str = "1 to 256 bytes, visible, without control characters";

impl Command {
    /// Whether the command is well-formed, as far as that can be said without any state. Looked at
    /// before everything else, so that it tells nobody what there is.
    ///
    /// # Errors
    /// [`ThreadRefusal::Malformed`] names the field.
    pub fn check_form(&self) -> Result<(), ThreadRefusal> {
        match self {
            Self::TakeTurn(turn) => {
                check_fields(&turn.scope())?;
                check_form(&turn.request)
            }
            Self::ExpireThread(c) | Self::CloseThread(c) | Self::ReadAuditRows(c) => {
                check_thread_names(&c.tenant_id, &c.correlation_id)
            }
            other => match other.caller_row() {
                Some(row) => check_fields(&row.scope).and_then(|()| check_row(&row)),
                None => other.check_registered_names(),
            },
        }
    }

    fn check_registered_names(&self) -> Result<(), ThreadRefusal> {
        let tenant = |id: &str| check_name("tenant_id", id, 64, NAME_64);
        let name = |field, id: &str| check_name(field, id, 128, NAME_128);
        match self {
            Self::ChangeCapability(c) => check_name("actor_id", &c.actor_id, 256, NAME_256),
            Self::RegisterTenant(c) => tenant(&c.tenant_id),
            Self::RegisterUser(c) => {
                tenant(&c.tenant_id).and_then(|()| name("user_id", &c.user_id))
            }
            Self::RegisterDevice(c) => tenant(&c.tenant_id)
                .and_then(|()| name("device_id", &c.device_id))
                .and_then(|()| name("user_id", &c.user_id)),
            Self::RegisterSession(c) => tenant(&c.tenant_id)
                .and_then(|()| name("session_id", &c.session_id))
                .and_then(|()| name("user_id", &c.user_id))
                .and_then(|()| name("device_id", &c.device_id)),
            Self::RegisterWorkOrder(c) => tenant(&c.tenant_id)
                .and_then(|()| name("work_order_id", &c.work_order_id))
                .and_then(|()| check_name("correlation_id", &c.correlation_id, 256, NAME_256)),
            Self::RegisterLease(c) => {
                tenant(&c.tenant_id).and_then(|()| name("work_order_id", &c.work_order_id))
            }
            _ => Ok(()),
        }
    }
}
