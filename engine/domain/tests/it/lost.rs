//! What may have ended in a record that a salvage lost permits nothing, and is begun anew.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_domain::log::{
    HeadMissingAccepted, LogCommand, PolicyUnknown, RecordFingerprint, RecordsLost,
    RecordsUnproven, UnprovenReason,
};
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, Refusal, Time, World, WriterCommand, decide_for_writer,
};
use holdpoint_testing::story::Story;
use holdpoint_testing::threads::registering::register;
use holdpoint_testing::threads::{Stage as ThreadStage, caller, permission};

use crate::points::{Stage, action, agent, bound, choice, person, question, told};

fn code(result: Result<Vec<Event>, Refusal>) -> &'static str {
    result.map_or_else(|refusal| refusal.code(), |events| panic!("accepted: {events:?}"))
}

/// Here this record of the salvaged log was lost; 0: bytes alone.
pub(crate) fn lost(source_first_sequence: u64) -> Event {
    RecordsLost {
        source_first_sequence,
        source_last_sequence: source_first_sequence,
        file: "segments".into(),
        offset: 0,
        length: 0,
        copied_to: None,
        problem: "no segment holds them".into(),
    }
    .into()
}

fn system() -> ActorId {
    ActorId { kind: Actor::System, id: "holdpoint".into() }
}

#[test]
fn a_loop_that_began_before_records_were_lost_goes_on_no_more_and_can_be_ended() {
    let mut story = Story::asked();
    story.given(story.decides(HumanDecision::Retry));
    assert_eq!(story.record(lost(0)), [], "bytes alone end nothing");
    assert_eq!(story.world.lost_before(), None);
    story.clone().given(story.retry());
    assert_eq!(story.record(lost(9)), []);
    let record = story.world.totals().last_sequence;
    assert_eq!(story.world.doubt_of_loop(story.entity()), Some(Doubt::LostBefore(record)));
    assert_eq!(code(story.when(story.retry())), "BEGAN_BEFORE_LOSS");
    assert_eq!(code(story.when(story.complete())), "BEGAN_BEFORE_LOSS");
    assert_eq!(story.when(story.retry()).unwrap_err().class(), Some(RefusalClass::Gating));
    let carried = World::from_carried(&story.world.carry()).unwrap();
    assert_eq!(carried.lost_before(), Some(record));
    story.given(story.interrupt(15, None));
}

#[test]
fn a_loop_that_begins_behind_what_was_lost_goes_on() {
    let mut story = Story::new();
    story.given(Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})));
    assert_eq!(story.record(lost(1)), []);
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)));
    story.given(story.dispatch());
}

/// Where LOCK tells that the last record found was the newest one, nothing is in doubt.
#[test]
fn a_loop_that_began_before_head_was_accepted_as_missing_is_in_doubt_where_the_end_is_not_known() {
    for is_end_known in [true, false] {
        let mut story = Story::initialized();
        let newest = story.world.totals().last_sequence;
        let body = HeadMissingAccepted { first_sequence: 1, last_sequence: newest, is_end_known };
        let command = WriterCommand::HeadMissingAccepted(body);
        let events = decide_for_writer(&story.world, &command, story.now).unwrap();
        assert_eq!(events.len(), if is_end_known { 1 } else { 2 });
        for event in events {
            assert_eq!(story.record(event), []);
        }
        let stated = (!is_end_known).then_some(newest + 1);
        assert_eq!(story.world.doubt_of_loop(story.entity()), stated.map(Doubt::LostBefore));
        assert_eq!(story.world.is_policy_lost(), !is_end_known);
    }
}

/// What was recorded behind the loss is judged as it was: only what is to follow is refused.
#[test]
fn a_spending_that_is_on_record_behind_the_loss_counts_and_is_not_forbidden() {
    let robot = agent("robot");
    let mut stage = Stage::new();
    let id = stage.ask(bound());
    stage.respond(&id, &person("bob"), choice("yes")).unwrap();
    let spent = stage.clone().consume(&id, &robot, &action("rm")).unwrap().remove(0);
    stage.record(&system(), lost(7));
    assert_eq!(told(&stage.consume(&id, &robot, &action("rm"))), Err("APPROVAL_BEFORE_LOSS"));
    let (proof, causation, idempotency) = (None, None, None);
    let (actor, correlation) = (robot.actor(), "a story".into());
    let recorded =
        Envelope { clock: None, proof, actor, correlation, causation, idempotency, event: spent };
    let newest = stage.world.totals().last_sequence;
    assert_eq!(stage.world.judge(newest + 1, stage.now(), &recorded), []);
    stage.record(&robot.actor(), recorded.event);
    assert!(stage.point(&id).consumed.is_some());
}

#[test]
fn an_approval_that_may_be_spent_in_a_lost_record_is_not_spent_again() {
    let (bob, robot) = (person("bob"), agent("robot"));
    let unknown = |records_lost| Event::from(PolicyUnknown { records_lost });
    let mut stage = Stage::new();
    stage.ask(question());
    let id = stage.ask(bound());
    stage.respond(&id, &bob, choice("yes")).unwrap();
    for (said, record) in
        [(lost(0), None), (unknown(0), None), (unknown(1), Some(())), (lost(7), Some(()))]
    {
        let mut stage = stage.clone();
        stage.record(&system(), said.clone());
        let newest = stage.world.totals().last_sequence;
        let doubt = record.map(|()| Doubt::LostBefore(newest));
        assert_eq!(stage.world.doubt_of_point(stage.point(&id)), doubt, "{said:?}");
        if matches!(said, Event::Log(holdpoint_domain::log::LogEvent::RecordsLost(_))) {
            let spent = stage.consume(&id, &robot, &action("rm"));
            let outcome = record.map_or(Ok(vec!["consumed"]), |()| Err("APPROVAL_BEFORE_LOSS"));
            assert_eq!(told(&spent), outcome, "{said:?}");
        }
    }
    stage.record(&system(), lost(7));
    let anew = stage.ask(bound());
    stage.respond(&anew, &bob, choice("yes")).unwrap();
    assert_eq!(told(&stage.consume(&anew, &robot, &action("rm"))), Ok(vec!["consumed"]));
    stage.assert_rebuilt();
}

/// A question that was asked before and is answered behind: its answer permits nothing either, and
/// what had ended before stays as it was.
#[test]
fn an_answer_behind_the_loss_is_in_doubt_and_one_before_it_that_permits_no_more_is_not() {
    let bob = person("bob");
    let mut stage = Stage::new();
    let (ended, open) = (stage.ask(question()), stage.ask(question()));
    stage.cancel(&ended, &bob).unwrap();
    stage.record(&system(), lost(7));
    let record = stage.world.totals().last_sequence;
    stage.respond(&open, &bob, choice("yes")).unwrap();
    assert_eq!(stage.world.doubt_of_point(stage.point(&ended)), None);
    assert_eq!(stage.world.doubt_of_point(stage.point(&open)), Some(Doubt::LostBefore(record)));
}

#[test]
fn a_capability_that_a_lost_record_may_have_taken_away_permits_nothing_until_granted_anew() {
    let at = Time::from_nanoseconds(1);
    let ada = ActorId { kind: Actor::Human, id: "ada".into() };
    let (caller, call) = (caller(), register("tenant", "ACTIVE"));
    let mut stage = ThreadStage::default();
    stage.give_as(&ada, &permission(true), at).events();
    assert_eq!(stage.world.check_caller(&caller, &call), Ok(()));
    let (proof, causation, idempotency) = (None, None, None);
    let (actor, correlation, event) = (system(), "salvage".into(), lost(7));
    let said = Envelope { clock: None, proof, actor, correlation, causation, idempotency, event };
    stage.record(&said, at);
    let carried = World::from_carried(&stage.world.carry()).unwrap();
    for world in [&stage.world, &stage.rebuilt, &carried] {
        let refused = world.check_caller(&caller, &call).unwrap_err();
        assert_eq!(refused.code(), "X_FAIL_CALLER_NOT_ALLOWED");
        let said = format!("lost, before record {}", stage.sequence);
        assert!(refused.to_string().contains(&said), "{refused}");
        assert_eq!(world.registrations().next().unwrap().status, "DOUBTED");
    }
    stage.give_as(&ada, &permission(false), at).events();
    stage.give_as(&ada, &permission(true), at).events();
    assert_eq!(stage.world.check_caller(&caller, &call), Ok(()));
}

#[test]
fn what_is_unproven_as_well_is_told_by_that() {
    let mut story = Story::initialized();
    let (began, reason) = (story.entity().started_sequence, UnprovenReason::NoWitness);
    let said = RecordsUnproven { first_sequence: began, last_sequence: began, reason };
    assert_eq!(story.record(said.into()), []);
    assert_eq!(story.record(lost(3)), []);
    assert_eq!(code(story.when(story.dispatch())), "RESTS_ON_UNPROVEN");
}
