//! Commands carried out once and only on the state that was seen, deadlines recorded by whoever
//! looks, refusals that are facts, and answers that leave only when what they depend on is durable.

use crate::conversation::{self, TENANT, THREAD};
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, HumanDecisionEvent, HumanDecisionTimeout, RequestHumanDecision,
};
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::registration::RegistrationStatus;
use holdpoint_domain::{ActorId, Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Storage};
use holdpoint_engine::shell::{
    Clock, Conditions, EngineOptions, IdempotencyKey, Origin, Reading, Receipt, Submitted,
};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::{complete, dispatch, fresh, initialize, whole_story};
use holdpoint_testing::shell::{Line, Place, SECOND_NS, SetClock, names, origin};

fn key(key: &str) -> Conditions {
    Conditions::once(IdempotencyKey::new("acme", "ci", key))
}

fn accepted<S: Storage>(engine: &Engine<S>, command: &Command) -> Receipt {
    match engine.submit(&origin(), (), command).expect("the log works") {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}

fn refused(submitted: Submitted) -> &'static str {
    match submitted {
        Submitted::Refused(refusal) => refusal.code(),
        other => unreachable!("{other:?}"),
    }
}

/// A loop whose attempt is evaluated, and the request about it.
fn asked(engine: &Engine) -> (String, String) {
    let timeout = HumanDecisionTimeout::from_milliseconds(10_000).expect("ten seconds");
    let terms = HoldTerms { decision_timeout_ms: timeout, ..HoldTerms::of(HoldPolicy::After) };
    let command = holdpoint_domain::execution_loop::InitializeLoop { hold: terms, ..initialize(2) };
    let loop_id = command.loop_id();
    accepted(engine, &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    let story = whole_story(&loop_id);
    story.iter().take(4).for_each(|command| drop(accepted(engine, command)));
    let request = RequestHumanDecision { loop_id: loop_id.clone(), entropy: fresh() };
    let request_id = format!("REQ-{}", request.entropy);
    accepted(engine, &Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(request)));
    (loop_id, request_id)
}

fn answer(request_id: &str, decision: HumanDecision) -> Command {
    Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
        request_id: request_id.to_string(),
        loop_id: None,
        entropy: fresh(),
        actor: Actor::Human,
        human_id: "ada".to_string(),
        decision,
        reason: None,
        escalation_target: None,
        means: AnswerMeans { channel: AnswerChannel::Api, detail: "a test".into() },
    }))
}

/// A person's own words.
fn ada() -> Origin {
    Origin { actor: ActorId { kind: Actor::Human, id: "ada".to_string() }, ..origin() }
}

#[test]
fn the_same_key_is_answered_with_the_first_receipt_also_after_a_restart() {
    let place = Place::new();
    let engine = place.engine();
    let command = initialize(1);
    let loop_id = command.loop_id();
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    let submit = |engine: &Engine, command: &Command| {
        engine.submit(&origin(), key("first"), command).expect("the log works")
    };
    let Submitted::Accepted(first) = submit(&engine, &command) else { unreachable!() };
    let again = command.clone().with_entropy(fresh());
    assert_eq!(submit(&engine, &again), Submitted::Repeated(first.clone()));
    assert_eq!(place.lines().len() as u64, first.last_sequence, "nothing was written");
    engine.close().expect("it closes");

    let engine = place.engine();
    assert_eq!(submit(&engine, &again), Submitted::Repeated(first.clone()));
    assert_eq!(refused(submit(&engine, &dispatch(&loop_id))), "IDEMPOTENCY_CONFLICT");
    let Some(Event::Log(LogEvent::CommandRefused(refusal))) = place.events().pop() else {
        unreachable!("the conflict is a fact")
    };
    assert_eq!(refusal.class, RefusalClass::Idempotency);
    // Within another story the key is another one.
    let elsewhere = Origin { correlation: "b".to_string(), ..origin() };
    let other = engine.submit(&elsewhere, key("first"), &dispatch(&loop_id));
    assert!(matches!(other.expect("the log works"), Submitted::Accepted(_)));
    place.rebuilt();
}

#[test]
fn a_stale_version_conflicts_and_the_version_that_was_seen_does_not() {
    let place = Place::new();
    let engine = place.engine();
    let command = initialize(1);
    let loop_id = command.loop_id();
    let first =
        accepted(&engine, &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    let seen = |version| Conditions::default().expecting(version);
    let submit = |version, command: &Command| {
        engine.submit(&origin(), seen(version), command).expect("the log works")
    };
    let stale = submit(first.first_sequence, &dispatch(&loop_id));
    assert_eq!(refused(stale), "STALE_VERSION");
    let Some(Event::Log(LogEvent::CommandRefused(refusal))) = place.events().pop() else {
        unreachable!()
    };
    assert_eq!(refusal.class, RefusalClass::Continuity);
    let current = submit(first.last_sequence, &dispatch(&loop_id));
    assert!(matches!(current, Submitted::Accepted(_)));
    assert_eq!(refused(submit(1, &dispatch("LOOP-none"))), "LOOP_NOT_LIVE");
    place.rebuilt();
}

#[test]
fn an_answer_counts_once_and_the_same_again_is_the_first_receipt() {
    let place = Place::new();
    let engine = place.engine();
    let (_, request_id) = asked(&engine);
    let first = engine.submit(&ada(), (), &answer(&request_id, HumanDecision::Abort));
    let Ok(Submitted::Accepted(first)) = first else { unreachable!("{first:?}") };
    let again = engine.submit(&ada(), (), &answer(&request_id, HumanDecision::Abort));
    assert_eq!(again.expect("the log works"), Submitted::Repeated(first));
    let other = engine.submit(&ada(), (), &answer(&request_id, HumanDecision::Continue));
    assert_eq!(refused(other.expect("the log works")), "ALREADY_ANSWERED");
    place.rebuilt();
}

#[test]
fn nobody_answers_in_anothers_name() {
    let place = Place::new();
    let engine = place.engine();
    let (_, request_id) = asked(&engine);
    let bob = Origin { actor: ActorId { kind: Actor::Human, id: "bob".to_string() }, ..ada() };
    for (speaker, code) in [(origin(), "NOT_A_HUMAN"), (bob, "NOT_AN_APPROVER")] {
        let spoken = engine.submit(&speaker, (), &answer(&request_id, HumanDecision::Continue));
        assert_eq!(refused(spoken.expect("the log works")), code);
        let Some(Event::Log(LogEvent::CommandRefused(refusal))) = place.events().pop() else {
            unreachable!()
        };
        assert_eq!(refusal.class, RefusalClass::Scope);
    }
    place.rebuilt();
}

#[test]
fn every_writer_first_records_what_is_due() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    let (_, request_id) = asked(&engine);
    assert_eq!(engine.expire().expect("the log works"), []);
    clock.pass(8 * SECOND_NS - 1);
    assert_eq!(engine.expire().expect("the log works"), []);
    clock.pass(1);
    let warned = engine.expire().expect("the log works");
    assert_eq!(
        warned.iter().flat_map(|receipt| names(&receipt.events)).collect::<Vec<_>>(),
        ["warned"]
    );
    clock.pass(2 * SECOND_NS);
    // At the deadline it is too late; the answer itself makes the timeout a fact before it.
    let late = engine.submit(&ada(), (), &answer(&request_id, HumanDecision::Continue));
    let Ok(Submitted::Accepted(late)) = late else { unreachable!("{late:?}") };
    assert_eq!(names(&late.events), ["late_answer_recorded"]);
    let events = place.events();
    let timed_out = events.iter().find_map(|event| match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => Some(body.due_at),
        _ => None,
    });
    assert_eq!(timed_out.map(|at| at.nanoseconds()), late.at.map(|at| at.nanoseconds()));
    assert_eq!(engine.expire().expect("the log works"), []);
    place.rebuilt();
}

#[test]
fn nothing_derived_from_what_is_not_durable_leaves() {
    for question in 0..5 {
        let place = Place::new();
        let command = initialize(1);
        let loop_id = command.loop_id();
        let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
        // Written by another engine and not synced by anybody.
        let options = EngineOptions::simulated().level(Level::Os);
        let writer = Engine::open_with(place.storage(), options).expect("the log opens");
        let disk = Brittle::new(place.storage());
        let engine = Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("it opens");
        let written = writer.submit(&origin(), key("first"), &command);
        assert!(matches!(written, Ok(Submitted::Accepted(_))));
        disk.break_down();
        let failed = match question {
            0 => engine.submit(&origin(), key("first"), &command).map(drop),
            1 => engine.submit(&origin(), (), &complete(&loop_id)).map(drop),
            2 => engine.query(|world| world.live_loop(&loop_id).is_some()).map(drop),
            3 => engine.submit(&origin(), (), &dispatch("LOOP-none")).map(drop),
            _ => engine.expire().map(drop),
        };
        assert!(failed.is_err(), "question {question} was answered from what is not durable");
        // And nothing is told afterwards either.
        assert!(engine.query(|_| ()).is_err());
        drop((engine, writer));
        place.rebuilt();
    }
}

#[test]
fn an_origin_begins_a_story_of_its_own_or_goes_on_in_one_that_has_a_name() {
    let place = Place::new();
    let engine = place.engine();
    let [first, second] = [Origin::automation("ci"), Origin::agent("claude")];
    assert_ne!(first.correlation, second.correlation);
    let receipt = accepted_by(&engine, &first);
    accepted_by(&engine, &second.within("order-1").caused_by(receipt.last_sequence));
    let lines = place.asked_lines();
    let mut of_first = lines.iter().filter(|line| line.envelope.correlation == first.correlation);
    let begun = of_first.next().expect("the first story");
    assert_eq!((begun.envelope.correlation.len(), begun.envelope.causation), (32, None));
    let in_order = |line: &&Line| line.envelope.correlation == "order-1";
    let caused: Vec<_> =
        lines.iter().filter(in_order).map(|line| line.envelope.causation).collect();
    assert_eq!(caused.first(), Some(&Some(receipt.last_sequence)));
}

fn accepted_by(engine: &Engine, origin: &Origin) -> Receipt {
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1)));
    match engine.submit(origin, (), &command).expect("the log works") {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}

/// A clock that goes on whenever somebody looks at it.
struct Restless {
    clock: SetClock,
    tick_ns: u64,
}

impl Clock for Restless {
    fn now(&self) -> Reading {
        self.clock.pass(self.tick_ns);
        self.clock.now()
    }
}

#[test]
fn nothing_is_recorded_behind_a_deadline_before_what_the_deadline_brings_about() {
    for tenths in 3..20 {
        let place = Place::new();
        let clock = Restless { clock: SetClock::new(), tick_ns: tenths * SECOND_NS / 10 };
        let options = EngineOptions::simulated().clock(Box::new(clock));
        let engine = Engine::open_with(place.storage(), options).expect("the log opens");
        asked(&engine);
        for _ in 0..60 {
            accepted(&engine, &RecordEvent::new("order-1", "order.placed", "1").into());
        }
        let (mut deadlines, mut recorded) = (Vec::new(), 0);
        for Line { time, envelope, .. } in place.lines() {
            match &envelope.event {
                Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => {
                    deadlines = vec![body.warning_at, body.request.timeout_at];
                }
                Event::HumanDecision(
                    HumanDecisionEvent::HumanDecisionWarned(_)
                    | HumanDecisionEvent::HumanDecisionTimedOut(_),
                ) => recorded = deadlines.iter().filter(|at| at.nanoseconds() <= time).count(),
                _ => {}
            }
            let due = deadlines.iter().filter(|at| at.nanoseconds() <= time).count();
            assert!(due <= recorded, "{due} due at {time}, {recorded} recorded: {envelope:?}");
        }
        assert_eq!(recorded, 2);
    }
}

#[test]
fn the_key_with_which_a_session_is_closed_is_not_used_up_in_the_stories_of_its_threads() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    conversation::set_up(&engine);
    for turn in conversation::conversation(&clock).iter().take(2) {
        conversation::accepted(&engine, turn);
    }
    let in_thread = conversation::origin_of(conversation::caller());
    let elsewhere = Origin { correlation: "registrations".to_string(), ..in_thread.clone() };
    let user = conversation::register_user(TENANT, RegistrationStatus::Suspended);
    for (origin, command) in [(elsewhere, conversation::close_session()), (in_thread, user)] {
        let submitted = engine.submit(&origin, key("1"), &command).expect("the log works");
        assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
    }
    let lines = place.lines().into_iter();
    let keyed = lines.filter(|line| {
        line.envelope.idempotency.as_ref().is_some_and(|idempotency| idempotency.key == "1")
    });
    let keyed: Vec<_> = keyed.map(|line| line.envelope.correlation).collect();
    assert_eq!(keyed, ["registrations", THREAD]);
    place.rebuilt();
}
