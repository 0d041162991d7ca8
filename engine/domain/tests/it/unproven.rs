//! What a salvage took over without proof permits nothing to a loop, and grants nothing.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_domain::log::{LogCommand, RecordFingerprint, RecordsUnproven, UnprovenReason};
use holdpoint_domain::{ActorId, Command, Envelope, Event, Refusal, Time, World};
use holdpoint_testing::story::Story;
use holdpoint_testing::threads::registering::register;
use holdpoint_testing::threads::{Stage, caller, permission};

fn code(result: Result<Vec<Event>, Refusal>) -> &'static str {
    result.map_or_else(|refusal| refusal.code(), |events| panic!("accepted: {events:?}"))
}

fn unproven(sequence: u64) -> Event {
    let reason = UnprovenReason::NoWitness;
    RecordsUnproven { first_sequence: sequence, last_sequence: sequence, reason }.into()
}

/// A record says that one before it is unproven.
fn say_unproven(story: &mut Story, sequence: u64) {
    assert_eq!(story.record(unproven(sequence)), []);
}

#[test]
fn a_loop_that_may_rest_on_unproven_records_begins_no_attempt_and_is_not_completed() {
    let mut story = Story::asked();
    story.given(story.decides(HumanDecision::Retry));
    let answered = story.held().decided().unwrap().sequence;
    let newest = story.entity().version;
    for unproven in [story.entity().started_sequence, answered, newest] {
        let mut story = story.clone();
        say_unproven(&mut story, unproven);
        assert_eq!(code(story.when(story.retry())), "RESTS_ON_UNPROVEN", "record {unproven}");
        assert_eq!(code(story.when(story.complete())), "RESTS_ON_UNPROVEN");
        assert_eq!(story.when(story.retry()).unwrap_err().class(), Some(RefusalClass::Gating));
        // It can be ended.
        story.given(story.interrupt(15, None));
    }
    // What follows the loop's records says nothing of it.
    story.given(Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})));
    let behind = story.world.totals().last_sequence;
    say_unproven(&mut story, behind);
    story.given(story.retry());
}

#[test]
fn a_loop_that_nobody_holds_begins_no_first_attempt_on_unproven_records() {
    let mut story = Story::initialized();
    let started = story.entity().started_sequence;
    say_unproven(&mut story, started);
    assert_eq!(code(story.when(story.dispatch())), "RESTS_ON_UNPROVEN");
}

/// A grant that nothing proves may be made up: who has no other one may call nothing.
#[test]
fn a_capability_that_an_unproven_record_grants_permits_nothing_until_it_is_granted_anew() {
    let at = Time::from_nanoseconds(1);
    let person = ActorId { kind: Actor::Human, id: "person".into() };
    let (caller, call) = (caller(), register("tenant", "ACTIVE"));
    let mut stage = Stage::default();
    let say = |stage: &mut Stage, sequence| {
        let (kind, event) = (Actor::System, unproven(sequence));
        let actor = ActorId { kind, id: "holdpoint".into() };
        let (proof, causation, idempotency) = (None, None, None);
        let correlation = "salvage".into();
        let envelope =
            Envelope { clock: None, proof, actor, correlation, causation, idempotency, event };
        stage.record(&envelope, at);
    };
    stage.give_as(&person, &permission(true), at).events();
    let granted = stage.sequence;
    stage.give_as(&caller, &call, at).events();
    let called = stage.sequence;
    say(&mut stage, called);
    assert_eq!(stage.world.check_caller(&caller, &call), Ok(()), "the grant is proven");
    say(&mut stage, granted);
    let carried = World::from_carried(&stage.world.carry()).unwrap();
    for world in [&stage.world, &stage.rebuilt, &carried] {
        let refused = world.check_caller(&caller, &call).unwrap_err();
        assert_eq!(refused.code(), "X_FAIL_CALLER_NOT_ALLOWED");
        assert!(refused.to_string().contains("the unproven records 1 to 2"), "{refused}");
        assert_eq!(world.registrations().next().unwrap().status, "DOUBTED");
    }
    stage.give_as(&person, &permission(false), at).events();
    stage.give_as(&person, &permission(true), at).events();
    assert_eq!(stage.world.check_caller(&caller, &call), Ok(()));
    assert_eq!(stage.world.registrations().next().unwrap().status, "GRANTED");
}
