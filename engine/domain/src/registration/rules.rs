//! Rules for registrations. The same rule judges a command before and an event after it is
//! recorded.
//!
//! What comes into being, or becomes usable again, needs everything that it presumes to be usable.
//! What only ends or suspends something needs nothing. Names and what they stand for never change,
//! and what is final stays so.

use alloc::format;
use core::fmt::Display;

use crate::core::actor::{Actor, Authentication, PersonTerms};
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::limits::MAX_ID_BYTES;
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name};
use crate::core::text::shown;
use crate::core::time::Timestamp;
use crate::registration::command::RegistrationCommand as Command;
use crate::registration::command::RegistrationRefusal;
use crate::registration::command::{ChangeCapability, RegisterSession};
use crate::registration::event::RegistrationEvent as Event;
use crate::registration::event::{
    CapabilityChanged, DeviceRegistered, LeaseRegistered, SessionRegistered, TenantRegistered,
    UserRegistered, WorkOrderRegistered,
};
use crate::registration::state::{
    LEASE_ANEW, Mismatch, Plain, REGISTERED_ANEW, Registered, Registry, WORK_ORDER_ANEW,
};
use crate::registration::types::{
    Capability, LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};

const NAME_64: &str = "1 to 64 bytes, visible, without control characters";
const NAME_128: &str = "1 to 128 bytes, visible, without control characters";
const NAME_256: &str = "1 to 256 bytes, visible, without control characters";

/// Checks whether the names in a command are well-formed.
pub(crate) fn check_names(command: &Command) -> Result<(), Malformed> {
    check_names_of(&registration(command))
}

/// Checks whether the names in what is registered are well-formed.
fn check_names_of(event: &Event) -> Result<(), Malformed> {
    if let Some(tenant_id) = event.tenant() {
        check_name("tenant_id", tenant_id, 64, NAME_64)?;
    }
    let name = |field, id: &str| check_name(field, id, 128, NAME_128);
    match event {
        Event::CapabilityChanged(body) => check_long_name("actor_id", &body.actor_id),
        Event::TenantRegistered(_) => Ok(()),
        Event::UserRegistered(body) => name("user_id", &body.user_id),
        Event::DeviceRegistered(body) => {
            name("device_id", &body.device_id).and_then(|()| name("user_id", &body.user_id))
        }
        Event::SessionRegistered(body) => {
            name("session_id", &body.session_id)?;
            name("user_id", &body.user_id)?;
            name("device_id", &body.device_id)
        }
        Event::WorkOrderRegistered(body) => name("work_order_id", &body.work_order_id)
            .and_then(|()| check_long_name("correlation_id", &body.correlation_id)),
        Event::LeaseRegistered(body) => name("work_order_id", &body.work_order_id),
    }
}

/// The name of a thread or an actor: as long as an envelope's may be.
fn check_long_name(field: &'static str, id: &str) -> Result<(), Malformed> {
    check_name(field, id, MAX_ID_BYTES, NAME_256)
}

/// The registration that a command asks for.
pub(crate) fn register(
    registered: Registered<'_>,
    command: &Command,
    at: Timestamp,
) -> Result<Event, RegistrationRefusal> {
    let registration = registration(command);
    registered.check_registration(&registration, at)?;
    Ok(registration)
}

/// The fact that the command asks for.
fn registration(command: &Command) -> Event {
    match command {
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
    }
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

impl Registered<'_> {
    /// Checks whether what the event registers may be registered at this time.
    fn check_registration(&self, event: &Event, at: Timestamp) -> Result<(), RegistrationRefusal> {
        check_names_of(event)?;
        match event {
            Event::CapabilityChanged(body) => self.check_capability(body),
            Event::TenantRegistered(body) => self.check_tenant(body),
            Event::UserRegistered(body) => self.check_user(body),
            Event::DeviceRegistered(body) => self.check_device(body),
            Event::SessionRegistered(body) => self.check_session(body),
            Event::WorkOrderRegistered(body) => self.check_new_work_order(body),
            Event::LeaseRegistered(body) => self.check_new_lease(body, at),
        }
    }

    fn check_capability(&self, body: &CapabilityChanged) -> Result<(), RegistrationRefusal> {
        let key = (body.actor_kind, body.actor_id.clone(), body.capability);
        let found = match self.registry.capabilities.get(&key) {
            Some(by) if body.is_granted => {
                let mended = "take it away, grant it";
                self.expect_no_doubt("capability", body.capability.name(), *by, mended)?;
                "granted already"
            }
            None if !body.is_granted => "not granted",
            Some(_) | None => return Ok(()),
        };
        Err(Mismatch::of("is_granted", "a change", found).into())
    }

    fn check_tenant(&self, body: &TenantRegistered) -> Result<(), RegistrationRefusal> {
        let known = self.tenant(&body.tenant_id);
        let anew = Anew("tenant_id", &body.tenant_id, REGISTERED_ANEW);
        self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)?;
        Ok(())
    }

    fn check_user(&self, body: &UserRegistered) -> Result<(), RegistrationRefusal> {
        let known = self.user(&body.tenant_id, &body.user_id);
        let anew = Anew("user_id", &body.user_id, REGISTERED_ANEW);
        if self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)? {
            self.active_tenant(&body.tenant_id)?;
        }
        Ok(())
    }

    fn check_device(&self, body: &DeviceRegistered) -> Result<(), RegistrationRefusal> {
        let known = self.device(&body.tenant_id, &body.device_id, &body.user_id);
        let anew = Anew("device_id", &body.device_id, REGISTERED_ANEW);
        if self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)? {
            self.active_user(&body.tenant_id, &body.user_id)?;
        }
        Ok(())
    }

    fn check_session(&self, body: &SessionRegistered) -> Result<(), RegistrationRefusal> {
        let known = self.session(&body.tenant_id, &body.session_id);
        if let Some(known) = known {
            Mismatch::unless_same("user_id", &known.user_id, &body.user_id)?;
            Mismatch::unless_same("device_id", &known.device_id, &body.device_id)?;
        }
        let anew = Anew("session_id", &body.session_id, REGISTERED_ANEW);
        if self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)? {
            self.active_device(&body.tenant_id, &body.device_id, &body.user_id)?;
        }
        Ok(())
    }

    fn check_new_work_order(&self, body: &WorkOrderRegistered) -> Result<(), RegistrationRefusal> {
        let known = self.work_order(&body.tenant_id, &body.work_order_id);
        if let Some(known) = known {
            Mismatch::unless_same("correlation_id", &known.correlation_id, &body.correlation_id)?;
        }
        let anew = Anew("work_order_id", &body.work_order_id, WORK_ORDER_ANEW);
        if self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)? {
            self.active_tenant(&body.tenant_id)?;
        }
        Ok(())
    }

    fn check_new_lease(
        &self,
        body: &LeaseRegistered,
        at: Timestamp,
    ) -> Result<(), RegistrationRefusal> {
        let known = self.lease(&body.tenant_id, &body.work_order_id, &body.lease_token_hash);
        if let Some(known) = known.filter(|known| known.expires_at != body.expires_at) {
            let (expected, found) = (known.expires_at, body.expires_at);
            return Err(Mismatch::of("expires_at", expected, found).into());
        }
        let hash = alloc::format!("{}", body.lease_token_hash);
        let anew = Anew("lease_token_hash", &hash, LEASE_ANEW);
        if self.check_change(known.map(|known| (known.status, known.by)), body.status, anew)? {
            self.active_tenant(&body.tenant_id)?;
            self.leasable_work_order(body)?;
            check_end(body.expires_at, at)?;
        }
        Ok(())
    }

    /// Returns whether what an event registers is known, and has ended.
    fn has_ended(&self, event: &Event) -> bool {
        let closed = |known: Option<&Plain>| known.is_some_and(|known| known.status.is_final());
        match event {
            Event::CapabilityChanged(_) => false,
            Event::TenantRegistered(it) => closed(self.tenant(&it.tenant_id)),
            Event::UserRegistered(it) => closed(self.user(&it.tenant_id, &it.user_id)),
            Event::DeviceRegistered(it) => {
                closed(self.device(&it.tenant_id, &it.device_id, &it.user_id))
            }
            Event::SessionRegistered(it) => self
                .session(&it.tenant_id, &it.session_id)
                .is_some_and(|known| known.status.is_final()),
            Event::WorkOrderRegistered(it) => self
                .work_order(&it.tenant_id, &it.work_order_id)
                .is_some_and(|known| known.status.is_final()),
            Event::LeaseRegistered(it) => self
                .lease(&it.tenant_id, &it.work_order_id, &it.lease_token_hash)
                .is_some_and(|known| known.status.is_final()),
        }
    }

    /// Returns whether a status may follow the known one, which a record registered; if so, whether
    /// what is presumed has to be usable.
    fn check_change<S: Status>(
        &self,
        known: Option<(S, u64)>,
        stated: S,
        Anew(field, name, mended): Anew<'_>,
    ) -> Result<bool, Mismatch> {
        let Some((known, by)) = known else { return Ok(true) };
        if known == stated {
            if stated.is_open() {
                self.expect_no_doubt(field, name, by, mended)?;
            }
            return Err(Mismatch::of("status", "a change", alloc::format!("{known} already")));
        }
        if known.is_final() {
            return Err(Mismatch::of("status", alloc::format!("{known}, which is final"), stated));
        }
        Ok(stated.is_open())
    }

    fn leasable_work_order(&self, body: &LeaseRegistered) -> Result<(), Mismatch> {
        let name = shown(&body.work_order_id);
        let found = match self.work_order(&body.tenant_id, &body.work_order_id) {
            Some(known) if !known.status.is_final() => {
                return self.expect_sure_work_order(&body.work_order_id, known);
            }
            Some(known) => alloc::format!("{name}, which is {}", known.status),
            None => alloc::format!("{name}, which is not registered"),
        };
        Err(Mismatch::of("work_order_id", "a work order that has not ended", found))
    }
}

fn check_end(expires_at: Timestamp, at: Timestamp) -> Result<(), Mismatch> {
    if expires_at > at {
        return Ok(());
    }
    Err(Mismatch::of("expires_at", alloc::format!("a time after {at}"), expires_at))
}

/// Something registered: the field that names it, its name, and how it is registered anew.
struct Anew<'n>(&'static str, &'n str, &'static str);

/// A status that something registered can have.
trait Status: Copy + PartialEq + Display {
    /// Returns whether no other status follows.
    fn is_final(self) -> bool;

    /// Returns whether something may be done with what has it.
    fn is_open(self) -> bool;
}

impl Status for RegistrationStatus {
    fn is_final(self) -> bool {
        self == Self::Closed
    }

    fn is_open(self) -> bool {
        self == Self::Active
    }
}

impl Status for SessionStatus {
    fn is_final(self) -> bool {
        self == Self::Closed
    }

    fn is_open(self) -> bool {
        self == Self::Active
    }
}

impl Status for WorkOrderStatus {
    fn is_final(self) -> bool {
        Self::is_final(self)
    }

    fn is_open(self) -> bool {
        !Self::is_final(self)
    }
}

impl Status for LeaseStatus {
    fn is_final(self) -> bool {
        self != Self::Active
    }

    fn is_open(self) -> bool {
        self == Self::Active
    }
}

/// Applies a registration, where it counts. `stated` is how the policy in force wants people to
/// prove who they are.
pub(crate) fn registered(
    registry: &mut Registry,
    stated: Option<Authentication>,
    record: Record<'_>,
    event: &Event,
) {
    if counts(registry, stated, record, event) {
        registry.apply(event, record.sequence);
    }
}

/// Returns whether a registration counts. What the rules forbid ends or suspends what has not
/// ended; it opens nothing, and no capability is granted by it.
fn counts(
    registry: &Registry,
    stated: Option<Authentication>,
    record: Record<'_>,
    event: &Event,
) -> bool {
    let registered = Registered::in_state(registry);
    if matches!(event, Event::CapabilityChanged(_)) {
        return may_grant(stated, record, event, &mut RuleChecks::unheard());
    }
    if registered.has_ended(event) {
        return false;
    }
    let may_register = registry.holds(record.actor, Capability::SeleneOsOnly);
    !opens(event) || may_register && registered.check_registration(event, record.at).is_ok()
}

/// Returns whether something may be done with what is registered so.
fn opens(event: &Event) -> bool {
    match event {
        Event::CapabilityChanged(body) => body.is_granted,
        Event::TenantRegistered(TenantRegistered { status, .. })
        | Event::UserRegistered(UserRegistered { status, .. })
        | Event::DeviceRegistered(DeviceRegistered { status, .. }) => status.is_open(),
        Event::SessionRegistered(body) => body.status.is_open(),
        Event::WorkOrderRegistered(body) => body.status.is_open(),
        Event::LeaseRegistered(body) => body.status.is_open(),
    }
}

/// Adds to `checks` what the rules forbid about a registration.
pub(crate) fn judge(
    registry: &Registry,
    stated: Option<Authentication>,
    record: Record<'_>,
    event: &Event,
    checks: &mut RuleChecks,
) {
    may_grant(stated, record, event, checks);
    judge_caller(registry, record, event, checks);
    let registered = Registered::in_state(registry);
    if let Err(refusal) = registered.check_registration(event, record.at) {
        forbid(refusal, checks);
    }
}

/// A capability that no person grants is not granted.
fn may_grant(
    stated: Option<Authentication>,
    record: Record<'_>,
    event: &Event,
    checks: &mut RuleChecks,
) -> bool {
    let Event::CapabilityChanged(body) = event else { return true };
    let admitted = PersonTerms::for_grants(stated).admit(record.proof);
    if let Err(reason) = &admitted {
        checks.forbid(Rule::CallerCapability, "a person who counts", reason);
    }
    // What was recorded before there were proofs counts as it did then.
    let is_human = record.actor.kind == Actor::Human;
    let is_older = record.proof.is_none();
    !body.is_granted || is_older || (is_human && admitted.is_ok())
}

/// Only a person grants capabilities; everything else is registered by who was granted one.
fn judge_caller(registry: &Registry, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    let actor = record.actor;
    if matches!(event, Event::CapabilityChanged(_)) {
        checks.expect(Rule::CallerCapability, Actor::Human, actor.kind);
    } else if !registry.holds(actor, Capability::SeleneOsOnly) {
        let expected = format!("an actor with {}", Capability::SeleneOsOnly);
        let found = format!("{} {}", actor.kind, shown(&actor.id));
        checks.forbid(Rule::CallerCapability, expected, found);
    }
}

fn forbid(refusal: RegistrationRefusal, checks: &mut RuleChecks) {
    let (field, expected, found) = match refusal {
        RegistrationRefusal::Mismatch { field, expected, found } => (field, expected, found),
        RegistrationRefusal::Malformed(Malformed { field, expected, found }) => {
            (field, expected.into(), found)
        }
    };
    checks.forbid(Rule::Registration, format!("{field}: {expected}"), found);
}
