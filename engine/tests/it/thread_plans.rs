//! Plans of turns through the library: what is planned outlives the process, and is committed once.

use crate::conversation::{
    TENANT, THREAD, accepted, chat, conversation, give, refused, set_up, switching, thread, turn,
};
use holdpoint_domain::interruption_thread::{InterruptionThreadCommand, TakeTurn};
use holdpoint_domain::{Command, World};
use holdpoint_engine::shell::Submitted;
use holdpoint_testing::shell::{Place, SetClock, names};
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};

/// What a command that takes a turn takes.
fn taken(command: Command) -> TakeTurn {
    match command {
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) => turn,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_plan_outlives_a_restart_and_is_committed_once() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    set_up(&engine);
    for command in conversation(&clock).iter().take(2) {
        accepted(&engine, command);
    }
    let third = taken(turn(3, switching(chat("weather", "It will rain."))));
    let plan = drafted(&third, heard(&third.request));
    let before = thread(&engine).map(|thread| thread.state);
    let draft = accepted(&engine, &plan);
    assert_eq!(names(&draft.events), ["plan_drafted"]);
    assert_eq!(thread(&engine).map(|thread| thread.state), before);
    engine.close().expect("it closes");

    let engine = place.engine_with(&clock);
    assert!(thread(&engine).is_some_and(|thread| thread.open_plan().is_some()));
    assert!(matches!(give(&engine, &plan), Submitted::Repeated(_)));
    let mut so_far = heard(&third.request);
    so_far.transcript.is_final = false;
    let early = TakeTurn { idempotency_key: "early".to_string(), ..third.clone() };
    let early = give(&engine, &committed(&early, &plan_key(&third), so_far));
    assert_eq!(refused(early), "X_FAIL_TRANSCRIPT_NOT_FINAL");
    let commit = committed(&third, &plan_key(&third), heard(&third.request));
    let events = names(&accepted(&engine, &commit).events);
    assert_eq!(events, ["turn_committed", "turn_taken", "row_committed"]);
    // Its caller names no cause: it comes of the plan.
    let lines = place.lines();
    let causes = lines.iter().rev().take(3).map(|line| line.envelope.causation);
    assert!(causes.eq([Some(draft.last_sequence); 3]), "{:?}", lines.last());
    assert!(matches!(give(&engine, &commit), Submitted::Repeated(_)));
    let again = TakeTurn { idempotency_key: "again".to_string(), ..third.clone() };
    let again = committed(&again, &plan_key(&third), heard(&third.request));
    assert_eq!(refused(give(&engine, &again)), "X_FAIL_TURN_ORDER");

    let rebuilt = place.rebuilt();
    assert_eq!(rebuilt.thread(TENANT, THREAD).cloned(), thread(&engine));
    let live = engine.query(World::clone).expect("the log works");
    assert_eq!(rebuilt.fingerprint(), live.fingerprint());
}
