//! Everything that is registered, as the state knows it and as people and programs read it.
//!
//! Nothing is bound to whoever writes first: what is not registered is outside of every scope.
//! What ended never begins again under the same name: the newest sessions and work orders that
//! ended stay known, and so does everything else. That an older one ended is found in the log.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::core::actor::{Actor, ActorId};
use crate::core::codec::{LazyPart, Part, added};
use crate::core::doubt::{Doubt, Doubts};
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::text::shown;
use crate::core::time::Timestamp;
use crate::registration::event::RegistrationEvent as Event;
use crate::registration::event::{
    CapabilityChanged, LeaseRegistered, SessionRegistered, WorkOrderRegistered,
};
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

/// Everything that is registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Registry {
    held: LazyPart<HeldRegistrations>,
    /// Carried by a room of its own.
    ended: LazyPart<Ended>,
}

impl Deref for Registry {
    type Target = HeldRegistrations;

    fn deref(&self) -> &HeldRegistrations {
        &self.held
    }
}

/// The registrations themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldRegistrations {
    /// By the kind and the id of an actor, and what it may do: the record that granted it. 0: that
    /// is not known.
    pub(crate) capabilities: BTreeMap<Granted, u64>,
    pub(crate) tenants: BTreeMap<Text, Plain>,
    /// By tenant and user.
    pub(crate) users: BTreeMap<(Text, Text), Plain>,
    /// By tenant, device and user.
    pub(crate) devices: BTreeMap<(Text, Text, Text), Plain>,
    /// By tenant and session.
    pub(crate) sessions: BTreeMap<(Text, Text), Session>,
    /// By tenant and work order.
    pub(crate) work_orders: BTreeMap<(Text, Text), WorkOrder>,
    /// By tenant and work order, then by the hash of the token. They end with their work order.
    pub(crate) leases: BTreeMap<(Text, Text), BTreeMap<Digest, Lease>>,
}

/// The kind and the id of an actor, and what it may do.
pub(crate) type Granted = (Actor, Text, Capability);

/// Capabilities that were carried when nobody asked which record granted them.
pub(crate) fn granted_by_unknown(granted: BTreeSet<Granted>) -> BTreeMap<Granted, u64> {
    granted.into_iter().map(|it| (it, 0)).collect()
}

/// A tenant, a user or a device that is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plain {
    pub(crate) status: RegistrationStatus,
    /// The record that said so last. 0: that is not known.
    #[serde(deserialize_with = "added")]
    pub(crate) by: u64,
}

/// A session that is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) user_id: Text,
    pub(crate) device_id: Text,
    pub(crate) status: SessionStatus,
    /// Same as [`Plain::by`].
    #[serde(deserialize_with = "added")]
    pub(crate) by: u64,
}

/// A work order that is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkOrder {
    pub(crate) correlation_id: Text,
    pub(crate) status: WorkOrderStatus,
    /// Same as [`Plain::by`].
    #[serde(deserialize_with = "added")]
    pub(crate) by: u64,
}

/// A lease that is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) expires_at: Timestamp,
    pub(crate) status: LeaseStatus,
    /// Same as [`Plain::by`].
    #[serde(deserialize_with = "added")]
    pub(crate) by: u64,
}

impl Registry {
    /// Returns whether the actor was granted the capability.
    pub(crate) fn holds(&self, actor: &ActorId, capability: Capability) -> bool {
        self.granted_by(actor, capability).is_some()
    }

    /// The record that granted the actor the capability. 0: that is not known.
    pub(crate) fn granted_by(&self, actor: &ActorId, capability: Capability) -> Option<u64> {
        self.capabilities.get(&(actor.kind, Text::from(&actor.id), capability)).copied()
    }
}

pub(crate) fn pair(tenant_id: &str, id: &str) -> (Text, Text) {
    (Text::from(tenant_id), Text::from(id))
}

/// Steps that register anew what can be suspended.
pub(crate) const REGISTERED_ANEW: &str = "suspend it, make it ACTIVE";

/// Steps that register anew a work order, which cannot be suspended.
pub(crate) const WORK_ORDER_ANEW: &str =
    "register another status of it that is not final, then this one";

/// Step that registers anew a lease, of which a token has one alone.
pub(crate) const LEASE_ANEW: &str = "register a lease with another token";

/// Field that is not as it has to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) field: &'static str,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Mismatch {
    pub(crate) fn of(field: &'static str, expected: impl Display, found: impl Display) -> Self {
        Self { field, expected: expected.to_string(), found: found.to_string() }
    }

    /// Two names that have to be the same.
    pub(crate) fn unless_same(
        field: &'static str,
        expected: &str,
        found: &str,
    ) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        Err(Self::of(field, shown(expected), shown(found)))
    }
}

/// The registry, with the sessions and work orders that have left it and were found again.
#[derive(Clone, Copy)]
pub(crate) struct Registered<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) found: Option<&'a Registry>,
    /// Doubts that permit nothing to what is to follow. `None`: what is recorded already is judged.
    pub(crate) doubts: Option<&'a dyn Doubts>,
}

impl<'a> Registered<'a> {
    /// Returns what the state knows, and nothing else: as every replay knows it.
    pub(crate) const fn in_state(registry: &'a Registry) -> Self {
        Self { registry, found: None, doubts: None }
    }

    pub(crate) fn active_tenant(&self, tenant_id: &str) -> Result<(), Mismatch> {
        self.expect_active("tenant_id", tenant_id, self.tenant(tenant_id))
    }

    /// A user who may act: of a tenant that may.
    pub(crate) fn active_user(&self, tenant_id: &str, user_id: &str) -> Result<(), Mismatch> {
        self.active_tenant(tenant_id)?;
        self.expect_active("user_id", user_id, self.user(tenant_id, user_id))
    }

    /// A device that may be used: by this user, who may act.
    pub(crate) fn active_device(
        &self,
        tenant_id: &str,
        device_id: &str,
        user_id: &str,
    ) -> Result<(), Mismatch> {
        self.active_user(tenant_id, user_id)?;
        self.expect_active("device_id", device_id, self.device(tenant_id, device_id, user_id))
    }

    fn expect_active(
        &self,
        field: &'static str,
        name: &str,
        known: Option<&Plain>,
    ) -> Result<(), Mismatch> {
        let found = match known {
            Some(known) if known.status == RegistrationStatus::Active => {
                return self.expect_no_doubt(field, name, known.by, REGISTERED_ANEW);
            }
            Some(known) => format!("{}, which is {}", shown(name), known.status),
            None => format!("{}, which is not registered", shown(name)),
        };
        Err(Mismatch::of(field, "one that is registered and ACTIVE", found))
    }

    /// Checks whether what is to follow may rest on a work order that has not ended.
    pub(crate) fn expect_sure_work_order(
        &self,
        name: &str,
        known: &WorkOrder,
    ) -> Result<(), Mismatch> {
        self.expect_no_doubt("work_order_id", name, known.by, WORK_ORDER_ANEW)
    }

    /// Checks whether what is to follow may rest on what this record registered; else how that is
    /// mended.
    pub(crate) fn expect_no_doubt(
        &self,
        field: &'static str,
        name: &str,
        by: u64,
        mended: &str,
    ) -> Result<(), Mismatch> {
        let Some(doubt) = self.doubts.and_then(|doubts| doubts.of_made(by)) else { return Ok(()) };
        let expected = format!("one that is not in doubt ({mended}, then ask again)");
        Err(Mismatch::of(field, expected, format!("{}, which {doubt}", shown(name))))
    }

    pub(crate) fn tenant(&self, tenant_id: &str) -> Option<&'a Plain> {
        self.registry.tenants.get(&Text::from(tenant_id))
    }

    pub(crate) fn user(&self, tenant_id: &str, user_id: &str) -> Option<&'a Plain> {
        self.registry.users.get(&pair(tenant_id, user_id))
    }

    pub(crate) fn device(
        &self,
        tenant_id: &str,
        device_id: &str,
        user_id: &str,
    ) -> Option<&'a Plain> {
        let key = (Text::from(tenant_id), Text::from(device_id), Text::from(user_id));
        self.registry.devices.get(&key)
    }

    pub(crate) fn lease(
        &self,
        tenant_id: &str,
        work_order_id: &str,
        token_hash: &Digest,
    ) -> Option<&'a Lease> {
        self.registry.leases.get(&pair(tenant_id, work_order_id))?.get(token_hash)
    }

    pub(crate) fn session(&self, tenant_id: &str, session_id: &str) -> Option<&'a Session> {
        let key = pair(tenant_id, session_id);
        let known = self.registry.sessions.get(&key);
        known.or_else(|| self.found?.sessions.get(&key))
    }

    pub(crate) fn work_order(&self, tenant_id: &str, work_order_id: &str) -> Option<&'a WorkOrder> {
        let key = pair(tenant_id, work_order_id);
        let known = self.registry.work_orders.get(&key);
        known.or_else(|| self.found?.work_orders.get(&key))
    }
}

impl Registry {
    /// Applies what the event of a record registers.
    pub(crate) fn apply(&mut self, event: &Event, sequence: u64) {
        self.follow_ending(event, sequence);
        match event {
            Event::CapabilityChanged(body) => self.change_capability(body, sequence),
            Event::TenantRegistered(body) => {
                let plain = Plain { status: body.status, by: sequence };
                self.held.tenants.insert(body.tenant_id.clone(), plain);
            }
            Event::UserRegistered(body) => {
                let key = (body.tenant_id.clone(), body.user_id.clone());
                self.held.users.insert(key, Plain { status: body.status, by: sequence });
            }
            Event::DeviceRegistered(body) => {
                let (tenant_id, device_id) = (body.tenant_id.clone(), body.device_id.clone());
                let key = (tenant_id, device_id, body.user_id.clone());
                self.held.devices.insert(key, Plain { status: body.status, by: sequence });
            }
            Event::SessionRegistered(body) => self.register_session(body, sequence),
            Event::WorkOrderRegistered(body) => self.register_work_order(body, sequence),
            Event::LeaseRegistered(body) => self.register_lease(body, sequence),
        }
    }

    fn change_capability(&mut self, body: &CapabilityChanged, sequence: u64) {
        let key = (body.actor_kind, body.actor_id.clone(), body.capability);
        if body.is_granted {
            self.held.capabilities.insert(key, sequence);
        } else {
            self.held.capabilities.remove(&key);
        }
    }

    fn register_session(&mut self, body: &SessionRegistered, by: u64) {
        let key = (body.tenant_id.clone(), body.session_id.clone());
        let session = Session {
            user_id: body.user_id.clone(),
            device_id: body.device_id.clone(),
            status: body.status,
            by,
        };
        self.held.sessions.insert(key, session);
    }

    /// Leases end with their work order: none can be used or registered any more.
    fn register_work_order(&mut self, body: &WorkOrderRegistered, by: u64) {
        let key = (body.tenant_id.clone(), body.work_order_id.clone());
        if body.status.is_final() {
            self.held.leases.remove(&key);
        }
        let correlation_id = body.correlation_id.clone();
        self.held.work_orders.insert(key, WorkOrder { correlation_id, status: body.status, by });
    }

    fn register_lease(&mut self, body: &LeaseRegistered, by: u64) {
        let key = (body.tenant_id.clone(), body.work_order_id.clone());
        let lease = Lease { expires_at: body.expires_at, status: body.status, by };
        self.held.leases.entry(key).or_default().insert(body.lease_token_hash, lease);
    }
}

/// Most sessions and work orders that are known after they ended: the newest.
pub const MAX_ENDED_REGISTRATIONS: usize = 1_024;

/// Something registered that ended, by tenant and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum EndedName {
    Session(Text, Text),
    WorkOrder(Text, Text),
}

/// Registrations that ended, in the order in which they did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// By the record that ended it; the newest 1024.
    names: BTreeMap<u64, EndedName>,
    /// The newest record that ended something which is known no longer.
    pub(crate) forgotten: u64,
}

impl Registry {
    /// Remembers what ended, for a while.
    fn follow_ending(&mut self, event: &Event, sequence: u64) {
        let Some(name) = name_of_ended(event) else { return };
        self.ended.names.insert(sequence, name);
        while self.ended.names.len() > MAX_ENDED_REGISTRATIONS {
            let Some((oldest, name)) = self.ended.names.pop_first() else { break };
            self.forget(name);
            self.ended.forgotten = self.ended.forgotten.max(oldest);
        }
    }

    /// Forgets what ended, unless it was registered anew, against the rules.
    fn forget(&mut self, name: EndedName) {
        match name {
            EndedName::Session(tenant_id, session_id) => {
                let key = (tenant_id, session_id);
                let known = self.sessions.get(&key);
                if known.is_some_and(|known| known.status == SessionStatus::Closed) {
                    self.held.sessions.remove(&key);
                }
            }
            EndedName::WorkOrder(tenant_id, work_order_id) => {
                let key = (tenant_id, work_order_id);
                if self.work_orders.get(&key).is_some_and(|known| known.status.is_final()) {
                    self.held.work_orders.remove(&key);
                }
            }
        }
    }

    pub(crate) const fn held(&self) -> &LazyPart<HeldRegistrations> {
        &self.held
    }

    pub(crate) const fn held_mut(&mut self) -> &mut LazyPart<HeldRegistrations> {
        &mut self.held
    }

    pub(crate) const fn ended(&self) -> &LazyPart<Ended> {
        &self.ended
    }

    pub(crate) const fn ended_mut(&mut self) -> &mut LazyPart<Ended> {
        &mut self.ended
    }

    /// Returns what is carried on as it was carried.
    pub(crate) const fn parts(&mut self) -> [Option<&mut Part>; 2] {
        [self.held.part_mut(), self.ended.part_mut()]
    }

    /// Returns whether a session that is not known may have been closed long ago.
    pub(crate) fn may_have_forgotten(&self, tenant_id: &str, session_id: &str) -> bool {
        self.ended.forgotten > 0 && !self.sessions.contains_key(&pair(tenant_id, session_id))
    }
}

/// Returns what the event ends for ever.
fn name_of_ended(event: &Event) -> Option<EndedName> {
    match event {
        Event::SessionRegistered(body) if body.status == SessionStatus::Closed => {
            Some(EndedName::Session(body.tenant_id.clone(), body.session_id.clone()))
        }
        Event::WorkOrderRegistered(body) if WorkOrderStatus::is_final(body.status) => {
            Some(EndedName::WorkOrder(body.tenant_id.clone(), body.work_order_id.clone()))
        }
        Event::CapabilityChanged(_)
        | Event::TenantRegistered(_)
        | Event::UserRegistered(_)
        | Event::DeviceRegistered(_)
        | Event::SessionRegistered(_)
        | Event::WorkOrderRegistered(_)
        | Event::LeaseRegistered(_) => None,
    }
}

/// Status of a capability that an actor has. One that was taken away is not registered.
const GRANTED: &str = "GRANTED";

/// Status of something that would permit something, but is in doubt: it permits nothing until it is
/// registered anew.
const DOUBTED: &str = "DOUBTED";

/// Something registered. What does not belong to it is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistrationView<'a> {
    /// Kind and name of it.
    #[serde(skip)]
    pub name: RegistrationName,
    /// Status, by the seed's names, and a capability is GRANTED; DOUBTED: it permits nothing until
    /// it is registered anew.
    pub status: String,
    /// User of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    /// Device of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<&'a str>,
    /// The only correlation under which a work order is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<&'a str>,
    /// Time from which a lease allows nothing any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Reason why something is DOUBTED.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

/// Key that tells one registration from all others.
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

    /// Returns the name of what an event registers, or takes away.
    #[must_use]
    pub fn of(event: &Event) -> Self {
        match event {
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
        }
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
            doubt: None,
        }
    }

    /// Marks what would permit something, `is_open`, as in doubt where it is.
    fn doubted(mut self, doubts: &impl Doubts, by: u64, is_open: bool) -> Self {
        self.doubt = doubts.of_made(by).filter(|_| is_open);
        if self.doubt.is_some() {
            self.status = DOUBTED.into();
        }
        self
    }
}

impl Registry {
    /// Returns what has a status and nothing else.
    pub(crate) fn plain<'a>(
        &'a self,
        doubts: &'a impl Doubts,
    ) -> impl Iterator<Item = RegistrationView<'a>> {
        let view = |kind, parts: &[&dyn Display], known: &Plain| {
            let is_open = known.status == RegistrationStatus::Active;
            RegistrationView::new(kind, parts, &known.status).doubted(doubts, known.by, is_open)
        };
        let capabilities = self.capabilities.iter().map(|((kind, id, capability), by)| {
            let view = RegistrationView::new("capability", &[kind, id, capability], &GRANTED);
            view.doubted(doubts, *by, true)
        });
        let tenants = self.tenants.iter();
        let tenants = tenants.map(move |(tenant, known)| view("tenant", &[tenant], known));
        let users = self.users.iter();
        let users = users.map(move |((tenant, user), known)| view("user", &[tenant, user], known));
        let devices = self.devices.iter().map(move |((tenant, device, user), known)| {
            view("device", &[tenant, device, user], known)
        });
        capabilities.chain(tenants).chain(users).chain(devices)
    }

    pub(crate) fn sessions<'a>(
        &'a self,
        doubts: &'a impl Doubts,
    ) -> impl Iterator<Item = RegistrationView<'a>> {
        self.sessions.iter().map(|((tenant, name), session)| {
            let view = RegistrationView {
                user_id: Some(&session.user_id),
                device_id: Some(&session.device_id),
                ..RegistrationView::new("session", &[tenant, name], &session.status)
            };
            view.doubted(doubts, session.by, session.status == SessionStatus::Active)
        })
    }

    pub(crate) fn work<'a>(
        &'a self,
        doubts: &'a impl Doubts,
    ) -> impl Iterator<Item = RegistrationView<'a>> {
        let orders = self.work_orders.iter().map(|((tenant, name), order)| {
            let view = RegistrationView {
                correlation_id: Some(&order.correlation_id),
                ..RegistrationView::new("work_order", &[tenant, name], &order.status)
            };
            view.doubted(doubts, order.by, !order.status.is_final())
        });
        let leases = self.leases.iter().flat_map(move |((tenant, order), leases)| {
            leases.iter().map(move |(token, lease)| {
                let view = RegistrationView {
                    expires_at: Some(lease.expires_at),
                    ..RegistrationView::new("lease", &[tenant, order, token], &lease.status)
                };
                view.doubted(doubts, lease.by, lease.status == LeaseStatus::Active)
            })
        });
        orders.chain(leases)
    }
}
