//! Commands that register what threads presume.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseStatus, RegisterDevice, RegisterLease, RegisterSession,
    RegisterTenant, RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationEvent,
    RegistrationStatus, SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::{Command, Event, Time};
use quickcheck::Gen;

use super::{CALLER, Generator, any, below, one_in};
use crate::story::Story;

/// The tenant whose threads are spoken in. It is suspended now and then, and never closed.
pub(super) const TENANT: &str = "acme";
/// Its users, who stay as it does, each with one device.
pub(super) const USERS: [&str; 3] = ["ann", "bob", "cleo"];

/// What the events have registered, without what ended.
#[derive(Debug, Default)]
pub(super) struct Registered {
    callers: BTreeSet<Text>,
    tenants: BTreeMap<Text, RegistrationStatus>,
    /// By tenant and user.
    users: BTreeMap<(Text, Text), RegistrationStatus>,
    /// By tenant, device and user.
    devices: BTreeMap<(Text, Text, Text), RegistrationStatus>,
    /// By name, those of [`TENANT`].
    sessions: BTreeMap<Text, Session>,
    work_orders: BTreeMap<Text, WorkOrder>,
    /// By the hash of their token.
    leases: BTreeMap<Digest, Lease>,
    /// How often each thread was closed: another life has another name.
    pub(super) lives: BTreeMap<u64, u64>,
    named: u64,
}

#[derive(Debug, Clone)]
struct Session {
    user_id: Text,
    status: SessionStatus,
}

#[derive(Debug, Clone)]
pub(super) struct WorkOrder {
    pub(super) work_order_id: Text,
    correlation_id: Text,
    pub(super) status: WorkOrderStatus,
}

#[derive(Debug, Clone)]
struct Lease {
    work_order_id: Text,
    expires_at: Time,
}

impl Registered {
    /// Keeps up with what was recorded.
    pub(super) fn follow(&mut self, event: &Event) {
        match event {
            Event::Registration(RegistrationEvent::CapabilityChanged(body)) if body.is_granted => {
                self.callers.insert(body.actor_id.clone());
            }
            Event::Registration(RegistrationEvent::CapabilityChanged(body)) => {
                self.callers.remove(&body.actor_id);
            }
            Event::Registration(RegistrationEvent::TenantRegistered(body)) => {
                self.tenants.insert(body.tenant_id.clone(), body.status);
            }
            Event::Registration(RegistrationEvent::UserRegistered(body)) => {
                let key = (body.tenant_id.clone(), body.user_id.clone());
                self.users.insert(key, body.status);
            }
            Event::Registration(RegistrationEvent::DeviceRegistered(body)) => {
                let key = (body.tenant_id.clone(), body.device_id.clone(), body.user_id.clone());
                self.devices.insert(key, body.status);
            }
            Event::InterruptionThread(InterruptionThreadEvent::ThreadClosed(body)) => {
                self.closed(&body.correlation_id)
            }
            other => self.follow_what_ends(other),
        }
    }

    fn follow_what_ends(&mut self, event: &Event) {
        match event {
            Event::Registration(RegistrationEvent::SessionRegistered(body))
                if body.status == SessionStatus::Closed =>
            {
                self.sessions.remove(&body.session_id);
            }
            Event::Registration(RegistrationEvent::SessionRegistered(body)) => {
                let session = Session { user_id: body.user_id.clone(), status: body.status };
                self.sessions.insert(body.session_id.clone(), session);
            }
            Event::Registration(RegistrationEvent::WorkOrderRegistered(body))
                if body.status.is_final() =>
            {
                self.work_orders.remove(&body.work_order_id);
                self.leases.retain(|_, lease| lease.work_order_id != body.work_order_id);
            }
            Event::Registration(RegistrationEvent::WorkOrderRegistered(body)) => {
                let (work_order_id, status) = (body.work_order_id.clone(), body.status);
                let correlation_id = body.correlation_id.clone();
                let order =
                    WorkOrder { work_order_id: work_order_id.clone(), correlation_id, status };
                self.work_orders.insert(work_order_id, order);
            }
            Event::Registration(RegistrationEvent::LeaseRegistered(body))
                if body.status == LeaseStatus::Active =>
            {
                let (work_order_id, expires_at) = (body.work_order_id.clone(), body.expires_at);
                self.leases.insert(body.lease_token_hash, Lease { work_order_id, expires_at });
            }
            Event::Registration(RegistrationEvent::LeaseRegistered(body)) => {
                drop(self.leases.remove(&body.lease_token_hash))
            }
            _ => {}
        }
    }

    fn closed(&mut self, thread: &str) {
        let place = thread.split('-').nth(1).and_then(|place| place.parse().ok());
        *self.lives.entry(place.expect("the name of a thread")).or_default() += 1;
    }

    /// The work order under which a thread is carried on.
    pub(super) fn work_order_of(&self, thread: &str) -> Option<WorkOrder> {
        let mut orders = self.work_orders.values();
        orders.find(|order| *order.correlation_id == *thread).cloned()
    }

    /// A lease on it that allows something at a time.
    pub(super) fn lease_on(&self, order: &WorkOrder, at: Time) -> Option<Digest> {
        let mut leases = self.leases.iter();
        let held = leases
            .find(|(_, lease)| lease.work_order_id == order.work_order_id && lease.expires_at > at);
        held.map(|(token, _)| *token)
    }

    /// Some session of a user.
    pub(super) fn session_of(&self, user: &str, random: &mut Gen) -> Option<String> {
        let own = self.sessions.iter().filter(|(_, session)| *session.user_id == *user);
        let own: Vec<&Text> = own.map(|(name, _)| name).collect();
        random.choose(&own).map(ToString::to_string)
    }

    fn is_registered(&self, tenant: &str) -> bool {
        self.tenants.get(&Text::from(tenant)) == Some(&RegistrationStatus::Active)
    }

    fn name(&mut self, kind: &str) -> String {
        self.named += 1;
        format!("{kind}-{}", self.named)
    }
}

impl Generator {
    /// What threads need, or a change to anything that is registered.
    pub(super) fn registration(&mut self, story: &Story) -> Command {
        let missing = self.missing();
        match missing.filter(|_| !one_in(&mut self.random, 4)) {
            Some(command) => command,
            None => self.change(story),
        }
    }

    /// The first thing without which nobody can speak in a thread.
    pub(super) fn missing(&mut self) -> Option<Command> {
        let registered = &self.registered;
        let active = RegistrationStatus::Active;
        if !registered.callers.contains(&Text::from(CALLER)) {
            return Some(capability(CALLER, true));
        }
        if !registered.is_registered(TENANT) {
            return Some(tenant(TENANT, active));
        }
        let key = |user: &str| (Text::from(TENANT), Text::from(user));
        let is_there = |user: &&str| registered.users.get(&key(user)) == Some(&active);
        if let Some(name) = USERS.iter().find(|name| !is_there(name)) {
            return Some(user(TENANT, name, active));
        }
        let key = |user: &str| (Text::from(TENANT), device_of(user).into(), Text::from(user));
        let is_there = |user: &&str| registered.devices.get(&key(user)) == Some(&active);
        if let Some(name) = USERS.iter().find(|name| !is_there(name)) {
            return Some(device(TENANT, name, active));
        }
        let is_active =
            |s: &&Session, user: &str| *s.user_id == *user && s.status == SessionStatus::Active;
        let is_heard = |user: &str| registered.sessions.values().any(|s| is_active(&s, user));
        let name = USERS.iter().find(|name| !is_heard(name))?;
        Some(self.begin_session(name))
    }

    fn begin_session(&mut self, user: &str) -> Command {
        let name = self.registered.name("session");
        session(&name, user, SessionStatus::Active)
    }

    fn change(&mut self, story: &Story) -> Command {
        let status = any(&mut self.random, RegistrationStatus::ALL);
        match below(&mut self.random, 9) {
            0 => self.change_capability(),
            1 | 2 => self.change_tenant(status),
            3 => self.change_user(status),
            4 => self.change_device(status),
            5 | 6 => self.change_session(),
            7 => self.change_work_order(),
            _ => self.change_lease(story),
        }
    }

    fn change_capability(&mut self) -> Command {
        let name = any(&mut self.random, &[CALLER, "bot", "bot", "mate", "mate"]);
        let is_granted = !self.registered.callers.contains(&Text::from(name));
        capability(name, is_granted != one_in(&mut self.random, 8))
    }

    fn change_tenant(&mut self, status: RegistrationStatus) -> Command {
        match self.open_one(&self.registered.tenants.clone(), 3) {
            Some(name) => tenant(&name, unless_stays(&name, status)),
            None => tenant(&self.registered.name("tenant"), RegistrationStatus::Active),
        }
    }

    fn change_user(&mut self, status: RegistrationStatus) -> Command {
        match self.open_one(&self.registered.users.clone(), USERS.len() + 2) {
            Some((of, name)) => user(&of, &name, unless_stays(&of, status)),
            None => user(&self.some_tenant(), &self.registered.name("user"), status),
        }
    }

    fn change_device(&mut self, status: RegistrationStatus) -> Command {
        match self.open_one(&self.registered.devices.clone(), USERS.len()) {
            Some((of, _, name)) => device(&of, &name, unless_stays(&of, status)),
            None => {
                let users: Vec<_> = self.registered.users.keys().cloned().collect();
                let somebody = self.random.choose(&users).cloned();
                let (of, name) = somebody.unwrap_or((TENANT.into(), USERS[0].into()));
                device(&of, &name, RegistrationStatus::Active)
            }
        }
    }

    /// One of what is open, unless there are few, and then sometimes none.
    fn open_one<K: Clone>(
        &mut self,
        known: &BTreeMap<K, RegistrationStatus>,
        few: usize,
    ) -> Option<K> {
        let open = known.iter().filter(|(_, status)| **status != RegistrationStatus::Closed);
        let open: Vec<K> = open.map(|(key, _)| key.clone()).collect();
        let is_new = open.len() <= few || one_in(&mut self.random, 8);
        if is_new { None } else { self.random.choose(&open).cloned() }
    }

    fn some_tenant(&mut self) -> String {
        let tenants: Vec<&Text> = self.registered.tenants.keys().collect();
        self.random.choose(&tenants).map_or_else(|| TENANT.to_owned(), ToString::to_string)
    }

    fn change_session(&mut self) -> Command {
        let known: Vec<(Text, Session)> =
            self.registered.sessions.iter().map(|(name, s)| (name.clone(), s.clone())).collect();
        let random = &mut self.random;
        match random.choose(&known).filter(|_| known.len() > USERS.len()) {
            Some((name, of)) => session(name, &of.user_id, any(random, SessionStatus::ALL)),
            None => {
                let user = any(random, &USERS);
                self.begin_session(user)
            }
        }
    }

    fn change_work_order(&mut self) -> Command {
        let known: Vec<WorkOrder> = self.registered.work_orders.values().cloned().collect();
        let random = &mut self.random;
        let status = any(random, WorkOrderStatus::ALL);
        match random.choose(&known) {
            Some(order) => work_order(&order.work_order_id, &order.correlation_id, status),
            None => work_order("order-none", "thread-none", status),
        }
    }

    fn change_lease(&mut self, story: &Story) -> Command {
        let known: Vec<(Digest, Lease)> =
            self.registered.leases.iter().map(|(token, l)| (*token, l.clone())).collect();
        let random = &mut self.random;
        match random.choose(&known) {
            Some((token, of)) => {
                let status = any(random, LeaseStatus::ALL);
                lease(&of.work_order_id, *token, of.expires_at, status)
            }
            None => self.hold_lease("order-none", story.now),
        }
    }

    /// A work order for a thread that has none.
    pub(super) fn order_work(&mut self, thread: &str) -> Command {
        let name = self.registered.name("order");
        let random = &mut self.random;
        let drawn = any(random, WorkOrderStatus::ALL);
        let status = if one_in(random, 6) { drawn } else { WorkOrderStatus::Executing };
        work_order(&name, thread, status)
    }

    /// A lease on a work order, for a while.
    pub(super) fn hold_lease(&mut self, work_order_id: &str, at: Time) -> Command {
        let token = sha256(self.registered.name("token").as_bytes());
        let expires_at = at.plus_ms(1 + below(&mut self.random, 600_000));
        lease(work_order_id, token, expires_at, LeaseStatus::Active)
    }
}

/// What is of [`TENANT`] is suspended where something else would be closed.
fn unless_stays(tenant_id: &str, status: RegistrationStatus) -> RegistrationStatus {
    match status {
        RegistrationStatus::Closed if tenant_id == TENANT => RegistrationStatus::Suspended,
        other => other,
    }
}

/// The device of a user.
pub(super) fn device_of(user: &str) -> String {
    format!("phone of {user}")
}

fn capability(name: &str, is_granted: bool) -> Command {
    let (actor_kind, actor_id) = (Actor::Automation, name.to_owned());
    let capability = Capability::SeleneOsOnly;
    Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind,
        actor_id,
        capability,
        is_granted,
    }))
}

fn tenant(name: &str, status: RegistrationStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant {
        tenant_id: name.to_owned(),
        status,
    }))
}

fn user(tenant: &str, name: &str, status: RegistrationStatus) -> Command {
    let (tenant_id, user_id) = (tenant.to_owned(), name.to_owned());
    Command::Registration(RegistrationCommand::RegisterUser(RegisterUser {
        tenant_id,
        user_id,
        status,
    }))
}

fn device(tenant: &str, user: &str, status: RegistrationStatus) -> Command {
    let (tenant_id, user_id) = (tenant.to_owned(), user.to_owned());
    let device_id = device_of(user);
    Command::Registration(RegistrationCommand::RegisterDevice(RegisterDevice {
        tenant_id,
        device_id,
        user_id,
        status,
    }))
}

fn session(name: &str, user: &str, status: SessionStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
        tenant_id: TENANT.to_owned(),
        session_id: name.to_owned(),
        user_id: user.to_owned(),
        device_id: device_of(user),
        status,
    }))
}

fn work_order(name: &str, thread: &str, status: WorkOrderStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
        tenant_id: TENANT.to_owned(),
        work_order_id: name.to_owned(),
        correlation_id: thread.to_owned(),
        status,
    }))
}

fn lease(work_order: &str, token: Digest, expires_at: Time, status: LeaseStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterLease(RegisterLease {
        tenant_id: TENANT.to_owned(),
        work_order_id: work_order.to_owned(),
        lease_token_hash: token,
        expires_at,
        status,
    }))
}
