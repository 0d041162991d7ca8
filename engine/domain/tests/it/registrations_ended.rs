//! Sessions and work orders that ended leave the state (property E8).

use holdpoint_domain::registration::{
    MAX_ENDED_REGISTRATIONS, RegistrationCommand, RegistrationEvent, SessionRegistered,
};
use holdpoint_domain::world::Recalled;
use holdpoint_domain::{Command, Time, World, decide};
use holdpoint_testing::threads::Stage;
use holdpoint_testing::threads::registering::{register, with};

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
