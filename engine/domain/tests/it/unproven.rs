//! What a salvage took over without proof permits nothing to a loop.

use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_domain::log::{LogCommand, RecordFingerprint, RecordsUnproven, UnprovenReason};
use holdpoint_domain::{Command, Event, Refusal};
use holdpoint_testing::story::Story;

fn code(result: Result<Vec<Event>, Refusal>) -> &'static str {
    result.map_or_else(|refusal| refusal.code(), |events| panic!("accepted: {events:?}"))
}

/// A record says that one before it is unproven.
fn say_unproven(story: &mut Story, sequence: u64) {
    let reason = UnprovenReason::NoWitness;
    let said = RecordsUnproven { first_sequence: sequence, last_sequence: sequence, reason };
    assert_eq!(story.record(said.into()), []);
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
