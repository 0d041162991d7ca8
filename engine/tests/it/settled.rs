//! An id names one thing for ever: what settled and left the state is known again where somebody
//! uses its id, with indexes and without (property E8).

use crate::conversation as threads_support;
use crate::conversation::{TENANT, set_up};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint, DecisionOption,
    DecisionPointCommand, DecisionPointRefusal as No, MAX_CLOSED_DECISION_POINTS,
    RemindDecisionPoint, RespondToDecisionPoint, Response,
};
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::governed::LoopRefusal;
use holdpoint_domain::registration::{
    MAX_ENDED_REGISTRATIONS, RegisterWorkOrder, RegistrationCommand, WorkOrderStatus,
};
use holdpoint_domain::world::{Term, envelope};
use holdpoint_domain::{ActorId, Command, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Log, NewRecord, Options, Ownership};
use holdpoint_engine::shell::{EngineOptions, FingerprintDistance, Origin, Submitted};
use holdpoint_log_format::names;
use holdpoint_testing::shell::Place;
use holdpoint_testing::shell::commands::{initialize, whole_story};
use std::fs;

/// More than the state remembers.
const DECISIONS: usize = MAX_CLOSED_DECISION_POINTS + 40;

fn engine(place: &Place) -> Engine {
    let log = Options::default().ownership(Ownership::Exclusive);
    let fingerprints =
        FingerprintDistance { records_at_close: 1, ..FingerprintDistance::default() };
    let options = EngineOptions::simulated().log(log).level(Level::Os).fingerprints(fingerprints);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

fn somebody() -> Principal {
    Principal {
        kind: Actor::Human,
        id: "ann".into(),
        authenticated_by: Authentication::None,
        means: Text::default(),
    }
}

fn give(engine: &Engine, command: &Command) -> Submitted {
    let actor = ActorId { kind: Actor::Human, id: "ann".into() };
    let origin = Origin { actor, correlation: "a story".into(), causation: None };
    engine.submit(&origin, (), command).expect("the log works")
}

fn bits(number: usize) -> Entropy {
    Entropy::from_bytes((number as u128 + (7 << 100)).to_be_bytes())
}

fn decision_id(number: usize) -> String {
    format!("DP-{}", bits(number))
}

fn ask(number: usize) -> Command {
    let option = |id: &str, reject| DecisionOption {
        id: id.into(),
        short: id.into(),
        label: id.into(),
        description: None,
        reject,
    };
    let options = vec![option("yes", false), option("no", true)];
    let question = CreateDecisionPoint::asking(bits(number), somebody(), "Which one?", options);
    Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into()))
}

fn respond(number: usize, response: Response) -> Command {
    Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(RespondToDecisionPoint {
        decision_id: decision_id(number),
        entropy: bits(number + (1 << 20)),
        by: somebody(),
        response,
        comment: None,
    }))
}

fn cancel(number: usize) -> Command {
    let (decision_id, reason) = (decision_id(number), None);
    Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(CancelDecisionPoint {
        decision_id,
        by: somebody(),
        reason,
    }))
}

fn accepted(submitted: Submitted) {
    assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
}

/// The first one is refined by guidance and answered in its second round; the second one is
/// cancelled; then as many more as make the state forget them.
fn fill(place: &Place) {
    let engine = engine(place);
    accepted(give(&engine, &ask(0)));
    accepted(give(&engine, &respond(0, Response::Guidance("cheaper".into()))));
    let second_round = 1 << 20;
    let accept = respond(second_round, Response::Accept);
    accepted(give(&engine, &accept));
    accepted(give(&engine, &ask(1)));
    accepted(give(&engine, &cancel(1)));
    for number in 2..DECISIONS {
        accepted(give(&engine, &ask(number)));
        accepted(give(&engine, &respond(number, Response::option("yes"))));
    }
    engine.close().expect("it closes");
}

fn remove_indexes(place: &Place) {
    for entry in fs::read_dir(place.log().join(names::SEGMENTS)).expect("segments") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            fs::remove_file(path).expect("it can be removed");
        }
    }
}

fn refused(submitted: Submitted) -> No {
    match submitted {
        Submitted::Refused(Refusal::DecisionPoint(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn assert_all_is_known(place: &Place, what: &str, new: usize) {
    let engine = engine(place);
    let forgets = engine.query(|world| world.decision_point(&decision_id(0)).is_none());
    assert!(forgets.expect("the log works"), "{what}");
    for number in [0, 1, 2, 1 << 20] {
        let again = refused(give(&engine, &ask(number)));
        assert!(matches!(again, No::DecisionExists { .. }), "{what}: {again:?}");
    }
    accepted(give(&engine, &ask(new)));
    let takes_old_id = Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
        RespondToDecisionPoint {
            decision_id: decision_id(new),
            entropy: bits(2),
            by: somebody(),
            response: Response::Guidance("cheaper".into()),
            comment: None,
        },
    ));
    assert!(matches!(refused(give(&engine, &takes_old_id)), No::DecisionExists { .. }), "{what}");
    accepted(give(&engine, &cancel(new)));
    assert_ended_tells_how(&engine, what);
    let gone = engine.query(|world| world.decision_point(&decision_id(0)).is_none());
    assert!(gone.expect("the log works"), "{what}: what was recalled is no part of the state");
    engine.close().expect("it closes");
    place.assert_intact();
}

fn assert_ended_tells_how(engine: &Engine, what: &str) {
    let late = refused(give(engine, &respond(2, Response::option("no"))));
    let is_told =
        |no: &No| matches!(no, No::AlreadyEnded { outcome, .. } if outcome.contains("yes"));
    assert!(is_told(&late), "{what}: {late:?}");
    let same = give(engine, &respond(2, Response::option("yes")));
    assert!(matches!(same, Submitted::Repeated(_)), "{what}: {same:?}");
    let same = give(engine, &cancel(1));
    assert!(matches!(same, Submitted::Repeated(_)), "{what}: {same:?}");
    let same = give(engine, &respond(1 << 20, Response::Accept));
    assert!(matches!(same, Submitted::Repeated(_)), "{what}: {same:?}");
    let decision_id = decision_id(1);
    let remind = RemindDecisionPoint { decision_id: decision_id.clone(), by: somebody() };
    let late = refused(give(
        engine,
        &Command::DecisionPoint(DecisionPointCommand::RemindDecisionPoint(remind)),
    ));
    assert!(matches!(late, No::AlreadyEnded { .. }), "{what}: {late:?}");
    let binding = ActionBinding { tool: "rm".into(), input_sha256: sha256(b"{}") };
    let consume = ConsumeApproval { decision_id, by: somebody(), binding };
    let spent = refused(give(
        engine,
        &Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(consume)),
    ));
    assert!(matches!(spent, No::BindingMismatch { .. }), "{what}: {spent:?}");
    let unknown = refused(give(engine, &cancel(DECISIONS + 9)));
    assert!(matches!(unknown, No::UnknownDecision { .. }), "{what}: {unknown:?}");
}

#[test]
fn a_decision_that_ended_long_ago_keeps_its_id_and_tells_how_it_ended() {
    let place = Place::new();
    fill(&place);
    assert_all_is_known(&place, "as it was left", DECISIONS + 1);
    remove_indexes(&place);
    assert_all_is_known(&place, "without an index", DECISIONS + 2);
    place.rebuilt();
}

/// Puts the record that began a decision on the log once more, as nobody who asks the rules does.
fn begin_again(place: &Place, number: usize) {
    let engine = engine(place);
    let found = engine.records_with(&Term::DecisionPoint(&decision_id(number))).unwrap();
    engine.close().expect("it closes");
    let encoded = envelope::encode(&found[0].envelope).unwrap();
    let (kind, version, payload) = (encoded.kind, encoded.version, encoded.payload);
    let at = found[0].at.nanoseconds();
    let (log, _) = Log::open(place.storage(), Options::default()).unwrap();
    log.append_any_kind(&[NewRecord { kind, version, payload }], at, Level::Os).unwrap();
    log.close().unwrap();
}

#[test]
fn a_decision_that_began_again_once_the_state_forgot_it_is_what_it_was() {
    let place = Place::new();
    fill(&place);
    begin_again(&place, 2);
    let engine = engine(&place);
    let is_open = engine.query(|world| world.decision_point(&decision_id(2)).is_some());
    assert!(is_open.unwrap(), "no state can know better");
    for command in [cancel(2), respond(2, Response::option("no"))] {
        let late = refused(give(&engine, &command));
        assert!(matches!(late, No::AlreadyEnded { .. }), "{late:?}");
    }
    engine.close().expect("it closes");
}

#[test]
fn a_loop_that_settled_keeps_its_id_whoever_asks() {
    let place = Place::new();
    let first = engine(&place);
    let begin = initialize(1);
    let loop_id = begin.loop_id();
    let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begin));
    accepted(give(&first, &begin));
    for command in whole_story(&loop_id) {
        accepted(give(&first, &command));
    }
    let is_refused = |engine: &Engine| match give(engine, &begin) {
        Submitted::Refused(Refusal::Loop(LoopRefusal::LoopExists { loop_id: found })) => {
            found == loop_id
        }
        _ => false,
    };
    assert!(is_refused(&first));
    first.close().expect("it closes");
    let second = engine(&place);
    assert!(is_refused(&second), "after opening anew");
    accepted(give(
        &second,
        &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1))),
    ));
    second.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn bits_that_an_engine_drew_are_new_once() {
    let place = Place::new();
    let engine = engine(&place);
    let begin = |entropy| {
        let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1)))
            .with_entropy(entropy);
        (format!("LOOP-{entropy}"), command)
    };
    let entropy = engine.entropy().expect("there is some");
    let (loop_id, command) = begin(entropy);
    accepted(give(&engine, &command));
    for step in whole_story(&loop_id) {
        accepted(give(&engine, &step));
    }
    let again = give(&engine, &command);
    assert!(
        matches!(again, Submitted::Refused(Refusal::Loop(LoopRefusal::LoopExists { .. }))),
        "{again:?}"
    );
    engine.close().expect("it closes");
}

fn work_order(number: usize, status: WorkOrderStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
        tenant_id: TENANT.to_string(),
        work_order_id: format!("order {number}"),
        correlation_id: "t".to_string(),
        status,
    }))
}

#[test]
fn a_work_order_that_ended_long_ago_does_not_begin_again() {
    let place = Place::new();
    let first = engine(&place);
    set_up(&first);
    for number in 0..MAX_ENDED_REGISTRATIONS + 20 {
        for status in [WorkOrderStatus::Executing, WorkOrderStatus::Completed] {
            threads_support::accepted(&first, &work_order(number, status));
        }
    }
    first.close().expect("it closes");
    for without_indexes in [false, true] {
        if without_indexes {
            remove_indexes(&place);
        }
        assert_final(&engine(&place));
    }
    let engine = engine(&place);
    let new = work_order(MAX_ENDED_REGISTRATIONS + 30, WorkOrderStatus::Executing);
    threads_support::accepted(&engine, &new);
    engine.close().expect("it closes");
    place.rebuilt();
}

fn assert_final(engine: &Engine) {
    let forgotten = engine.query(|world| world.registrations_forgotten());
    assert!(forgotten.expect("the log works") > 0);
    for number in [0, 7, 19, MAX_ENDED_REGISTRATIONS] {
        let again = work_order(number, WorkOrderStatus::Executing);
        match threads_support::give(engine, &again) {
            Submitted::Refused(refusal) => {
                assert!(refusal.to_string().contains("COMPLETED, which is final"), "{refusal}");
            }
            other => panic!("order {number}: {other:?}"),
        }
    }
}
