//! Conversations: one tenant, some people, and threads that live for twenty turns.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::interruption_thread::{
    InterruptionThreadCommand, PendingState, TakeTurn, ThreadCommand,
};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseStatus, RegisterDevice, RegisterLease, RegisterTenant,
    RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationStatus, WorkOrderStatus,
};
use holdpoint_domain::{ActorId, Command, Time, World};

use crate::threads::requests::{chat, request};

const TENANT: &str = "tenant-1";
const USER: &str = "ann";
const DEVICE: &str = "device-1";

/// How many threads there are at a time, and how many turns each lives for.
const THREADS: u64 = 20;
const TURNS: u64 = 20;

/// Where the conversations are.
#[derive(Debug, Default)]
pub(super) struct Talk {
    steps: u64,
}

/// What comes next in a thread: whose story it is, and what is asked for, in order.
pub(super) struct Next {
    pub(super) correlation: String,
    pub(super) commands: Vec<Command>,
}

impl Talk {
    /// What has to be known before anybody talks, and who makes it known.
    pub(super) fn registrations() -> [(ActorId, Command); 4] {
        let (tenant_id, status) = (String::from(TENANT), RegistrationStatus::Active);
        let (user_id, device_id) = (String::from(USER), String::from(DEVICE));
        let allowed = ChangeCapability {
            actor_kind: Actor::Automation,
            actor_id: caller().id,
            capability: Capability::SeleneOsOnly,
            is_granted: true,
        };
        let tenant = RegisterTenant { tenant_id: tenant_id.clone(), status };
        let user = RegisterUser { tenant_id: tenant_id.clone(), user_id: user_id.clone(), status };
        let device = RegisterDevice { tenant_id, device_id, user_id, status };
        let person = ActorId { kind: Actor::Human, id: "person".into() };
        [
            (person, Command::Registration(RegistrationCommand::ChangeCapability(allowed))),
            (caller(), Command::Registration(RegistrationCommand::RegisterTenant(tenant))),
            (caller(), Command::Registration(RegistrationCommand::RegisterUser(user))),
            (caller(), Command::Registration(RegistrationCommand::RegisterDevice(device))),
        ]
    }

    /// One thread after the other has its next turn. After its last it ends, and another begins.
    pub(super) fn next(&mut self, world: &World) -> Next {
        let (place, round) = (self.steps % THREADS, self.steps / THREADS);
        self.steps += 1;
        let (life, turn_id) = (round / TURNS, round % TURNS + 1);
        let correlation = format!("thread-{place}-{life}");
        let mut commands = Vec::new();
        if turn_id == 1 {
            commands.extend(registered(&correlation));
        }
        commands.push(Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(taken(
            world,
            &correlation,
            turn_id,
        ))));
        if turn_id == TURNS {
            let (tenant_id, correlation_id) = (TENANT.into(), correlation.clone());
            commands.push(Command::InterruptionThread(InterruptionThreadCommand::CloseThread(
                ThreadCommand { tenant_id, correlation_id },
            )));
        }
        Next { correlation, commands }
    }
}

/// Who takes the turns.
pub(super) fn caller() -> ActorId {
    ActorId { kind: Actor::Automation, id: "selene-os".into() }
}

fn registered(correlation_id: &str) -> [Command; 2] {
    let work_order = RegisterWorkOrder {
        tenant_id: TENANT.into(),
        work_order_id: work_order_of(correlation_id),
        correlation_id: correlation_id.into(),
        status: WorkOrderStatus::Executing,
    };
    let lease = RegisterLease {
        tenant_id: TENANT.into(),
        work_order_id: work_order_of(correlation_id),
        lease_token_hash: lease_of(correlation_id),
        expires_at: Time::from_nanoseconds(u64::MAX),
        status: LeaseStatus::Active,
    };
    [
        Command::Registration(RegistrationCommand::RegisterWorkOrder(work_order)),
        Command::Registration(RegistrationCommand::RegisterLease(lease)),
    ]
}

fn taken(world: &World, correlation_id: &str, turn_id: u64) -> TakeTurn {
    let thread = world.thread(TENANT, correlation_id);
    TakeTurn {
        tenant_id: TENANT.into(),
        correlation_id: correlation_id.into(),
        turn_id,
        session_id: None,
        user_id: USER.into(),
        device_id: DEVICE.into(),
        work_order_id: work_order_of(correlation_id),
        work_order_status_snapshot: WorkOrderStatus::Executing,
        pending_state: thread.map_or(PendingState::None, |thread| thread.state.pending_state()),
        idempotency_key: format!("key-{turn_id}"),
        lease_token_hash: Some(lease_of(correlation_id)),
        request: request(USER, "weather", chat("It is noon, and it rains.")).into(),
    }
}

fn work_order_of(correlation_id: &str) -> String {
    format!("WO-{correlation_id}")
}

fn lease_of(correlation_id: &str) -> Digest {
    sha256(format!("lease of {correlation_id}").as_bytes())
}
