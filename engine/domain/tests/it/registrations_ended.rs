//! What ended stays so, whatever is recorded (property E2), and sessions and work orders that did
//! leave the state (property E8).

use crate::registrations::{KINDS, ready_for, registry_of, statuses};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::registration::{
    MAX_ENDED_REGISTRATIONS, RegistrationCommand, RegistrationEvent, SessionRegistered,
};
use holdpoint_domain::world::Recalled;
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time, World, decide};
use holdpoint_testing::threads::registering::{register, with};
use holdpoint_testing::threads::{Stage, caller};

/// How many sessions and work orders a state knows.
fn known(world: &World) -> usize {
    let is_it = |kind: &str| ["session", "work_order"].contains(&kind);
    world.registrations().filter(|registered| is_it(registered.name.kind)).count()
}

/// What ended is known for a while: the state follows what lives, and says from where on something
/// has to be looked up.
#[test]
fn sessions_and_work_orders_that_ended_leave_the_state_but_for_the_newest() {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "alice", "phone");
    stage.give(&register("session", "ACTIVE"), 1).events();
    let before = known(&stage.world);
    let orders = MAX_ENDED_REGISTRATIONS / 2 + 3;
    for number in 0..orders {
        let session = with(&register("session", "ACTIVE"), "session_id", number.to_string().into());
        stage.give(&session, 2).events();
        stage.give(&with(&session, "status", "CLOSED".into()), 2).events();
        let order = register("work_order", "EXECUTING");
        let order = with(&order, "work_order_id", number.to_string().into());
        stage.give(&order, 2).events();
        stage.give(&with(&order, "status", "COMPLETED".into()), 2).events();
    }
    let (world, most) = (&stage.world, before + MAX_ENDED_REGISTRATIONS);
    assert_eq!(known(world), most);
    assert!(world.registrations_forgotten() > 0);
    assert_eq!(World::from_carried(&world.carry()).as_ref(), Ok(world));
    stage.assert_rebuilt();
    let oldest = with(&register("session", "CLOSED"), "session_id", "0".into());
    let name = oldest.registered_names().next().unwrap();
    assert!(!stage.world.knows_registration(&name));
    let mut recalled = Recalled::default();
    recalled.was_registered(&closed_session(&oldest));
    stage.world.recall(recalled);
    let again = with(&oldest, "status", "ACTIVE".into());
    let refusal = decide(&stage.world, &again, Time::from_nanoseconds(3)).unwrap_err();
    assert!(refusal.to_string().contains("CLOSED, which is final"), "{refusal}");
}

/// What the record says that closed the session.
fn closed_session(command: &Command) -> RegistrationEvent {
    let Command::Registration(RegistrationCommand::RegisterSession(c)) = command else {
        unreachable!("{command:?}")
    };
    RegistrationEvent::from(SessionRegistered {
        tenant_id: (&c.tenant_id).into(),
        session_id: (&c.session_id).into(),
        user_id: (&c.user_id).into(),
        device_id: (&c.device_id).into(),
        status: c.status,
    })
}

/// The event by which this is registered where nothing is yet.
fn event_of(what: &str, status: &str) -> Event {
    let events = ready_for(what).give(&register(what, status), 1).events();
    events.into_iter().next().unwrap()
}

/// Puts an event on record that the rules do not make, and gives whether the registry took it.
#[track_caller]
fn counts(stage: &mut Stage, actor: ActorId, event: Event) -> bool {
    let before = registry_of(&stage.world);
    let correlation = "registration".into();
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor,
        correlation,
        causation: None,
        idempotency: None,
        event,
    };
    let found = stage.record_by_hand(&envelope, Time::from_nanoseconds(1));
    assert_ne!(found, [], "{envelope:?}");
    stage.assert_rebuilt();
    registry_of(&stage.world) != before
}

#[test]
fn table_what_is_final_stays_so_whatever_is_recorded_behind_it() {
    for what in KINDS {
        for (known, _, _) in statuses(what).into_iter().filter(|(_, is_final, _)| *is_final) {
            for (stated, _, _) in statuses(what) {
                let mut stage = ready_for(what);
                stage.give(&register(what, known), 1).events();
                let taken = counts(&mut stage, caller(), event_of(what, stated));
                assert!(!taken, "{what}: {stated} behind {known}");
            }
        }
    }
}

#[test]
fn table_who_may_not_register_opens_nothing_and_can_only_end() {
    let other = ActorId { kind: Actor::Automation, id: "other".into() };
    for what in KINDS {
        for (stated, is_final, is_done_under) in statuses(what) {
            let mut stage = ready_for(what);
            let taken = counts(&mut stage, other.clone(), event_of(what, stated));
            let opens = is_done_under || what == "lease" && !is_final;
            assert_eq!(taken, !opens, "{what} {stated}");
        }
    }
}
