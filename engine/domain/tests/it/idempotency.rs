//! Property E5 as far as the state keeps it: a key, its content, its receipt, across restarts.

use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::limits::{MAX_CLOSED_REQUESTS, MAX_RETIRED_KEYS};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutionLoopState};
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionCommand};
use holdpoint_domain::log::ClockStepped;
use holdpoint_domain::{Command, Envelope, Idempotency, World, decide};
use holdpoint_testing::story;
use holdpoint_testing::story::{Story, envelope, rebuilt};

const CORRELATION: &str = "00112233445566778899aabbccddeeff";

fn key(name: &str, command: &Command) -> Idempotency {
    Idempotency {
        tenant: "tenant".into(),
        engine: "engine".into(),
        key: name.into(),
        content: command.content(),
    }
}

/// Records a command's whole batch under a key, as a shell does.
fn under_key(story: &mut Story, key: &Idempotency, command: &Command) {
    let events = decide(&story.world, command, story.now).unwrap();
    for event in events {
        let idempotency = Some(key.clone());
        let record = Envelope { idempotency, ..envelope(event) };
        assert_eq!(story.record_envelope(record), []);
    }
}

#[test]
fn the_first_receipt_is_given_again() {
    let mut story = Story::new();
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize));
    let key = key("k", &command);
    assert_eq!(story.world.receipt_of(CORRELATION, &key), Ok(None));
    under_key(&mut story, &key, &command);
    let receipt = story.world.receipt_of(CORRELATION, &key).unwrap().unwrap().clone();
    assert_eq!((receipt.first_sequence, receipt.last_sequence), (1, 3));
    story.given(story.dispatch());
    let again = story.world.receipt_of(CORRELATION, &key).unwrap().unwrap();
    assert_eq!(*again, receipt);
}

#[test]
fn other_content_under_the_same_key_conflicts() {
    let mut story = Story::initialized();
    let dispatch = story.dispatch();
    under_key(&mut story, &key("k", &dispatch), &dispatch);
    let other = story.complete();
    let refusal = story.world.receipt_of(CORRELATION, &key("k", &other)).unwrap_err();
    assert_eq!(refusal.code(), "IDEMPOTENCY_CONFLICT");
    assert_eq!(refusal.class(), Some(RefusalClass::Idempotency));
    assert!(refusal.audit(&story.world, &other).is_some());
}

#[test]
fn keys_are_scoped_by_tenant_engine_and_correlation() {
    let mut story = Story::initialized();
    let dispatch = story.dispatch();
    let used = key("k", &dispatch);
    under_key(&mut story, &used, &dispatch);
    let others = [
        Idempotency { tenant: "other".into(), ..used.clone() },
        Idempotency { engine: "other".into(), ..used.clone() },
        Idempotency { key: "other".into(), ..used.clone() },
    ];
    for other in others {
        assert_eq!(story.world.receipt_of(CORRELATION, &other), Ok(None), "{other:?}");
    }
    assert_eq!(story.world.receipt_of("another story", &used), Ok(None));
}

#[test]
fn content_leaves_out_the_random_bits_and_nothing_else() {
    let story = Story::asked();
    for command in [story.dispatch(), story.complete(), story.decides(HumanDecision::Retry)] {
        let other = command.clone().with_entropy(Entropy::from_bytes([9; 16]));
        assert_ne!(other, command);
        assert_eq!(other.content(), command.content());
    }
    let mut answer = story.answer(HumanDecision::Retry);
    let before =
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer.clone())).content();
    answer.reason = Some("another".into());
    assert_ne!(
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)).content(),
        before
    );
    assert_ne!(story.dispatch().content(), story.retry().content());
}

#[test]
fn keys_survive_a_restart_and_the_end_of_their_loop() {
    let mut story = Story::in_state(ExecutionLoopState::Evaluated);
    let complete = story.complete();
    let used = key("k", &complete);
    under_key(&mut story, &used, &complete);
    assert_eq!(story.world.live_loops().count(), 0);
    let restarted = rebuilt(&story.records, World::default());
    let expected = story.world.receipt_of(CORRELATION, &used).unwrap();
    assert!(expected.is_some());
    assert_eq!(restarted.receipt_of(CORRELATION, &used).unwrap(), expected);
}

/// Memory follows live entities: of the keys without a live loop, the newest are kept.
#[test]
fn the_newest_keys_without_a_loop_are_kept() {
    let mut story = Story::initialized();
    let dispatch = story.dispatch();
    let of_loop = key("of the loop", &dispatch);
    under_key(&mut story, &of_loop, &dispatch);
    let numbered = |i: usize| Idempotency { key: format!("{i}"), ..of_loop.clone() };
    for i in 0..=MAX_RETIRED_KEYS {
        let idempotency = Some(numbered(i));
        let event = ClockStepped { step_ns: 1 }.into();
        story.record_envelope(Envelope { idempotency, ..envelope(event) });
    }
    let known = |key: &Idempotency| story.world.receipt_of(CORRELATION, key).unwrap().is_some();
    assert!(!known(&numbered(0)));
    assert!(known(&numbered(1)) && known(&numbered(MAX_RETIRED_KEYS)));
    assert!(known(&of_loop), "the loop lives");
}

/// The same for requests: after so many others, a settled loop's request is no longer known.
#[test]
fn the_newest_requests_of_settled_loops_are_kept() {
    let mut story = Story::new();
    let mut ids = Vec::new();
    for _ in 0..=MAX_CLOSED_REQUESTS {
        let mut command = story.initialize();
        command.hold = story::held::terms(holdpoint_domain::human_decision::HoldPolicy::After);
        story.loop_id = command.loop_id();
        story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
        story.advance_to(ExecutionLoopState::Evaluated);
        story.given(story.ask());
        ids.push(story.held().request_id().to_owned());
        story.given(story.decides(HumanDecision::Abort));
    }
    assert_eq!(story.world.closed_requests().count(), MAX_CLOSED_REQUESTS);
    let carried = World::from_carried(&story.world.carry()).unwrap();
    for world in [&story.world, &carried] {
        let is_found = |id: &String| {
            let found = world.find_request(id);
            matches!(found, Some(RequestPlace::Closed(held)) if held.request_id() == id)
        };
        assert!(!is_found(&ids[0]) && ids[1..].iter().all(is_found));
    }
}
