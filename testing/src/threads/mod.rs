//! Interruption threads in a live world, and in one that is rebuilt from encoded records only.

pub mod drawn;
pub mod planned;
pub mod registering;
pub mod requests;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::interruption_thread::{
    ENGINE_ID, InterruptionThreadEvent, PendingState, RowCommitted, TakeTurn, ThreadCommand,
    ThreadState, TurnRequest, TurnTaken,
};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseStatus, RegisterDevice, RegisterLease, RegisterSession,
    RegisterTenant, RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationStatus,
    SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, ForbiddenEvent, Idempotency, Refusal, Time, World, decide,
};
use std::collections::BTreeSet;

use crate::story::adoption;

/// Who may register and take turns.
pub const CALLER: &str = "selene-os";

/// When registrations happen.
pub const BEGIN: u64 = 1;

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// These events.
    Done(Vec<Event>),
    /// Nothing more: the key's first record holds it.
    Repeated(u64),
    /// A refusal.
    Refused(Refusal),
}

impl Outcome {
    /// The events of a command that must be accepted.
    pub fn events(self) -> Vec<Event> {
        match self {
            Self::Done(events) => events,
            other => panic!("expected events, found {other:?}"),
        }
    }

    /// The refusal's code; `None` where it was accepted.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// A world, and the same out of nothing but its encoded records.
#[derive(Debug, Clone, Default)]
pub struct Stage {
    pub world: World,
    pub rebuilt: World,
    pub sequence: u64,
    /// The kinds of all records.
    pub kinds: BTreeSet<u16>,
    /// The newest record's time.
    pub newest: u64,
}

impl Stage {
    /// The caller is allowed, and this tenant exists.
    pub fn with_tenant(tenant_id: &str) -> Self {
        let mut stage = Self::default();
        stage.allow_caller();
        stage.tenant(tenant_id);
        stage
    }

    /// A person allows the caller, under the newest rules.
    pub fn allow_caller(&mut self) {
        self.record(&adoption(&self.world), Time::from_nanoseconds(BEGIN));
        let person = ActorId { kind: Actor::Human, id: "person".into() };
        self.give_as(&person, &permission(true), Time::from_nanoseconds(BEGIN)).events();
    }

    pub fn tenant(&mut self, tenant_id: &str) {
        let status = RegistrationStatus::Active;
        self.register(Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant {
            tenant_id: tenant_id.into(),
            status,
        })));
    }

    /// A user with a device.
    pub fn user(&mut self, tenant_id: &str, user_id: &str, device_id: &str) {
        let (tenant_id, status) = (String::from(tenant_id), RegistrationStatus::Active);
        let user = RegisterUser { tenant_id: tenant_id.clone(), user_id: user_id.into(), status };
        self.register(Command::Registration(RegistrationCommand::RegisterUser(user)));
        self.device(&tenant_id, user_id, device_id);
    }

    /// One more device of a user.
    pub fn device(&mut self, tenant_id: &str, user_id: &str, device_id: &str) {
        let (tenant_id, user_id, device_id) = (tenant_id.into(), user_id.into(), device_id.into());
        let status = RegistrationStatus::Active;
        let device = RegisterDevice { tenant_id, device_id, user_id, status };
        self.register(Command::Registration(RegistrationCommand::RegisterDevice(device)));
    }

    /// Where a session is from now on; at the newest record's time.
    pub fn session(&mut self, scope: [&str; 4], status: SessionStatus, at: u64) -> Outcome {
        let [tenant_id, session_id, user_id, device_id] = scope.map(String::from);
        let command = RegisterSession { tenant_id, session_id, user_id, device_id, status };
        self.give(&Command::Registration(RegistrationCommand::RegisterSession(command)), at)
    }

    /// A work order being carried out for a thread, and a lease on it.
    pub fn work_order(&mut self, tenant_id: &str, correlation_id: &str) {
        let (tenant_id, correlation_id) = (String::from(tenant_id), String::from(correlation_id));
        let work_order_id = work_order_of(&correlation_id);
        let lease = RegisterLease {
            tenant_id: tenant_id.clone(),
            work_order_id: work_order_id.clone(),
            lease_token_hash: lease_of(&correlation_id),
            expires_at: Time::from_nanoseconds(u64::MAX),
            status: LeaseStatus::Active,
        };
        self.register(Command::Registration(RegistrationCommand::RegisterWorkOrder(
            RegisterWorkOrder {
                tenant_id,
                work_order_id,
                correlation_id,
                status: WorkOrderStatus::Executing,
            },
        )));
        self.register(Command::Registration(RegistrationCommand::RegisterLease(lease)));
    }

    fn register(&mut self, command: Command) {
        let newest = self.newest;
        self.give(&command, newest).events();
    }

    /// The thread's state; a fresh one where it has none.
    pub fn state(&self, tenant_id: &str, correlation_id: &str) -> ThreadState {
        let thread = self.world.thread(tenant_id, correlation_id);
        thread.map(|thread| thread.state.clone()).unwrap_or_default()
    }

    /// What the thread waits for.
    pub fn pending(&self, tenant_id: &str, correlation_id: &str) -> PendingState {
        let thread = self.world.thread(tenant_id, correlation_id);
        thread.map_or(PendingState::None, |thread| thread.state.pending_state())
    }

    /// The allowed caller gives a command.
    pub fn give(&mut self, command: &Command, at: u64) -> Outcome {
        self.give_as(&caller(), command, Time::from_nanoseconds(at))
    }

    /// As a shell does it: the key first, then the caller, then the rules; a refusal that is a
    /// fact is recorded.
    pub fn give_as(&mut self, actor: &ActorId, command: &Command, at: Time) -> Outcome {
        let idempotency = idempotency_of(command);
        let correlation = command.thread().map_or("registration", |(_, correlation)| correlation);
        let outcome = self.consider(actor, command, at, correlation, idempotency.as_ref());
        let (events, idempotency) = match &outcome {
            Outcome::Done(events) => (events.clone(), idempotency),
            Outcome::Refused(refusal) => {
                (refusal.audit(&self.world, command).into_iter().collect(), None)
            }
            Outcome::Repeated(_) => (Vec::new(), None),
        };
        for event in events {
            let (actor, idempotency) = (actor.clone(), idempotency.clone());
            let correlation = if correlation.is_empty() { "blank" } else { correlation }.into();
            self.record(
                &Envelope {
                    clock: None,
                    proof: None,
                    actor,
                    correlation,
                    causation: None,
                    idempotency,
                    event,
                },
                at,
            );
        }
        outcome
    }

    fn consider(
        &self,
        actor: &ActorId,
        command: &Command,
        at: Time,
        correlation: &str,
        idempotency: Option<&Idempotency>,
    ) -> Outcome {
        let receipt = idempotency.map(|key| self.world.receipt_of(correlation, key)).transpose();
        match receipt.map(Option::flatten) {
            Ok(Some(receipt)) => return Outcome::Repeated(receipt.first_sequence),
            Ok(None) => {}
            Err(refusal) => return Outcome::Refused(refusal),
        }
        let decided = self.world.check_caller(actor, command);
        match decided.and_then(|()| decide(&self.world, command, at)) {
            Ok(events) => Outcome::Done(events),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Applies a record to the live world, and its bytes to the rebuilt one.
    pub fn record(&mut self, envelope: &Envelope, at: Time) {
        let found = self.record_by_hand(envelope, at);
        assert_eq!(found, [], "decide made what evolve forbids: {envelope:?}");
    }

    /// The same for a record that the rules need not have made; what they find in it.
    pub fn record_by_hand(&mut self, envelope: &Envelope, at: Time) -> Vec<ForbiddenEvent> {
        self.sequence += 1;
        self.newest = at.nanoseconds();
        self.kinds.insert(envelope.event.kind().kind);
        let encoded = envelope::encode(envelope).expect("the event fits");
        let found = self.world.judge_and_evolve(self.sequence, at, envelope);
        let decoded = envelope::decode(encoded.kind, encoded.version, &encoded.payload).unwrap();
        self.rebuilt.evolve(self.sequence, at, &decoded);
        found
    }

    /// Live equals rebuilt, whole and by fingerprint.
    pub fn assert_rebuilt(&self) {
        assert_eq!(self.world, self.rebuilt);
        assert_eq!(self.world.fingerprint(), self.rebuilt.fingerprint());
    }
}

/// The content of a turn or row is the whole command: its time is no part of it.
fn idempotency_of(command: &Command) -> Option<Idempotency> {
    let scope = command.turn_scope()?;
    if scope.idempotency_key.is_empty() {
        return None;
    }
    let content = serde_json::to_vec(command).unwrap();
    Some(Idempotency {
        tenant: scope.tenant_id.into(),
        engine: ENGINE_ID.into(),
        key: scope.idempotency_key.into(),
        content: sha256(&content),
    })
}

/// Who calls.
pub fn caller() -> ActorId {
    ActorId { kind: Actor::Automation, id: CALLER.into() }
}

/// The caller may call from now on, or may no longer.
pub fn permission(is_granted: bool) -> Command {
    Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind: Actor::Automation,
        actor_id: CALLER.into(),
        capability: Capability::SeleneOsOnly,
        is_granted,
    }))
}

/// The work order that belongs to a thread.
pub fn work_order_of(correlation_id: &str) -> String {
    format!("WO-{correlation_id}")
}

/// The hash of the token of the lease on it.
pub fn lease_of(correlation_id: &str) -> Digest {
    sha256(format!("lease of {correlation_id}").as_bytes())
}

/// A turn of a thread in the state that the stage knows.
pub fn turn(
    stage: &Stage,
    [tenant_id, correlation_id, user_id, device_id]: [&str; 4],
    turn_id: u64,
    request: TurnRequest,
) -> TakeTurn {
    TakeTurn {
        tenant_id: tenant_id.into(),
        correlation_id: correlation_id.into(),
        turn_id,
        session_id: None,
        user_id: user_id.into(),
        device_id: device_id.into(),
        work_order_id: work_order_of(correlation_id),
        work_order_status_snapshot: WorkOrderStatus::Executing,
        pending_state: stage.pending(tenant_id, correlation_id),
        idempotency_key: format!("key-{turn_id}"),
        lease_token_hash: Some(lease_of(correlation_id)),
        request: request.into(),
    }
}

/// A command on a thread.
pub fn thread_command(tenant_id: &str, correlation_id: &str) -> ThreadCommand {
    ThreadCommand { tenant_id: tenant_id.into(), correlation_id: correlation_id.into() }
}

/// The turns among events.
pub fn turns(events: &[Event]) -> Vec<&TurnTaken> {
    let mut turns = Vec::new();
    for event in events {
        if let Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) = event {
            turns.push(body);
        }
    }
    turns
}

/// The rows among events.
pub fn rows(events: &[Event]) -> Vec<&RowCommitted> {
    let mut rows = Vec::new();
    for event in events {
        if let Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body)) = event {
            rows.push(&**body);
        }
    }
    rows
}
