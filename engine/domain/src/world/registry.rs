//! Who may call PH1.X, and the tenants, users, devices, sessions, work orders and leases that its
//! scope and gating rules presume (seed PH1.X: every capability names them, none says how they
//! come to be).
//!
//! Nothing is bound to whoever writes first: what is not registered is outside of every scope.
//! What ended never begins again under the same name: the newest sessions and work orders that
//! ended stay known, and so does everything else.

mod admission;
mod application;
mod ended;
mod registered;
mod scope;
mod view;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt::Display;

use serde::{Deserialize, Serialize};

pub(crate) use ended::Ended;
pub use ended::MAX_ENDED_REGISTRATIONS;
pub(crate) use registered::Registered;
pub use view::{RegistrationName, RegistrationView};

use super::World;
use crate::command::Command;
use crate::decide::shown;
use crate::envelope::ActorId;
use crate::event::Text;
use crate::execution_loop::Actor;
use crate::hash::Digest;
use crate::interruption_thread::{
    Capability, LeaseStatus, ReasonCode, RegistrationStatus, SessionStatus, WorkOrderStatus,
};
use crate::refusal::{Refusal, ThreadRefusal};
use crate::time::Timestamp;

/// Everything that is registered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registry {
    /// The kind and the id of an actor, and what it may do.
    capabilities: BTreeSet<(Actor, Text, Capability)>,
    tenants: BTreeMap<Text, RegistrationStatus>,
    /// By tenant and user.
    users: BTreeMap<(Text, Text), RegistrationStatus>,
    /// By tenant, device and user.
    devices: BTreeMap<(Text, Text, Text), RegistrationStatus>,
    /// By tenant and session.
    sessions: BTreeMap<(Text, Text), Session>,
    /// By tenant and work order.
    work_orders: BTreeMap<(Text, Text), WorkOrder>,
    /// By tenant and work order, then by the hash of the token. They end with their work order.
    leases: BTreeMap<(Text, Text), BTreeMap<Digest, Lease>>,
    /// Carried by a room of its own.
    #[serde(skip)]
    ended: Ended,
}

/// A session that is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    user_id: Text,
    device_id: Text,
    status: SessionStatus,
}

/// A work order that is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WorkOrder {
    correlation_id: Text,
    status: WorkOrderStatus,
}

/// A lease that is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    expires_at: Timestamp,
    status: LeaseStatus,
}

impl World {
    /// Whether this actor may give this command: it holds the capability that the command needs,
    /// and only a HUMAN changes capabilities.
    ///
    /// # Errors
    /// [`ThreadRefusal::Barred`] with `X_FAIL_CALLER_NOT_ALLOWED`.
    pub fn check_caller(&self, actor: &ActorId, command: &Command) -> Result<(), Refusal> {
        let expected = match command.needed_capability() {
            Some(needed) if !self.hot.registry.holds(actor, needed) => format!("one with {needed}"),
            None if is_capability_change(command) && actor.kind != Actor::Human => {
                String::from("a HUMAN")
            }
            _ => return Ok(()),
        };
        let found = format!("{} {}", actor.kind, shown(&actor.id));
        let mismatch = Mismatch { field: "actor", expected, found };
        Err(mismatch.barred(ReasonCode::FailCallerNotAllowed).into())
    }
}

const fn is_capability_change(command: &Command) -> bool {
    matches!(command, Command::ChangeCapability(_))
}

impl Registry {
    /// Whether the actor was granted the capability.
    pub(crate) fn holds(&self, actor: &ActorId, capability: Capability) -> bool {
        self.capabilities.contains(&(actor.kind, Text::from(&actor.id), capability))
    }

    fn active_tenant(&self, tenant_id: &str) -> Result<(), Mismatch> {
        let status = self.tenants.get(&Text::from(tenant_id));
        Mismatch::unless_active("tenant_id", tenant_id, status)
    }

    /// A user who may act: of a tenant that may.
    fn active_user(&self, tenant_id: &str, user_id: &str) -> Result<(), Mismatch> {
        self.active_tenant(tenant_id)?;
        let status = self.users.get(&pair(tenant_id, user_id));
        Mismatch::unless_active("user_id", user_id, status)
    }

    /// A device that may be used: by this user, who may act.
    fn active_device(
        &self,
        tenant_id: &str,
        device_id: &str,
        user_id: &str,
    ) -> Result<(), Mismatch> {
        self.active_user(tenant_id, user_id)?;
        let key = (Text::from(tenant_id), Text::from(device_id), Text::from(user_id));
        Mismatch::unless_active("device_id", device_id, self.devices.get(&key))
    }
}

fn pair(tenant_id: &str, id: &str) -> (Text, Text) {
    (Text::from(tenant_id), Text::from(id))
}

/// What is not as it has to be.
#[derive(Debug, PartialEq, Eq)]
struct Mismatch {
    field: &'static str,
    expected: String,
    found: String,
}

impl Mismatch {
    fn of(field: &'static str, expected: impl Display, found: impl Display) -> Self {
        Self { field, expected: expected.to_string(), found: found.to_string() }
    }

    /// Two names that have to be the same.
    fn unless_same(field: &'static str, expected: &str, found: &str) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        Err(Self::of(field, shown(expected), shown(found)))
    }

    fn unless_active(
        field: &'static str,
        name: &str,
        status: Option<&RegistrationStatus>,
    ) -> Result<(), Self> {
        let found = match status {
            Some(RegistrationStatus::Active) => return Ok(()),
            Some(other) => format!("{}, which is {other}", shown(name)),
            None => format!("{}, which is not registered", shown(name)),
        };
        Err(Self::of(field, "one that is registered and ACTIVE", found))
    }

    fn barred(self, reason_code: ReasonCode) -> ThreadRefusal {
        let Self { field, expected, found } = self;
        ThreadRefusal::Barred { reason_code, field, expected, found }
    }
}

/// A registration that presumes something else than there is.
impl From<Mismatch> for ThreadRefusal {
    fn from(mismatch: Mismatch) -> Self {
        let Mismatch { field, expected, found } = mismatch;
        Self::Registration { field, expected, found }
    }
}
