//! Group commit through the engine: threads and tickets share syncs, no receipt leaves before its
//! sync has returned, and a person's decision has a witness.

use crate::embedder::{accept, accepted, hand_over};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InitializeLoop};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, HumanDecisionTimeout, RequestHumanDecision,
};
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Options};
use holdpoint_engine::shell::{Clock, EngineOptions, Metrics, Origin, Reading};
use holdpoint_log_format::Head;
use holdpoint_testing::log::gated::GatedStorage;
use holdpoint_testing::log::{exclusive, quiet};
use holdpoint_testing::shell::commands::{fresh, initialize, whole_story};
use holdpoint_testing::shell::{Place, START_NS, origin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: i64 = 8;

/// A clock that stands still and counts who looks at it, which is done in a turn.
#[derive(Clone, Default)]
struct Looks(Arc<AtomicU32>);

impl Clock for Looks {
    fn now(&self) -> Reading {
        self.0.fetch_add(1, Ordering::SeqCst);
        Reading { wall_ns: START_NS, since_boot_ns: 1_000_000_000 }
    }
}

#[derive(Default)]
struct Syncs(AtomicU32);

impl Metrics for Syncs {
    fn synced(&self, _took: Duration) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn opened(place: &Place, options: EngineOptions) -> (Engine<GatedStorage>, GatedStorage) {
    let storage = GatedStorage::new(&place.log());
    (Engine::open_with(storage.clone(), options).expect("the log opens"), storage)
}

fn options(log: Options) -> EngineOptions {
    EngineOptions::simulated().log(log)
}

#[test]
fn threads_share_syncs_and_no_receipt_leaves_before_its_sync_has_returned() {
    for log in [exclusive(), quiet()] {
        let place = Place::new();
        let (looks, metrics) = (Looks::default(), Arc::new(Syncs::default()));
        let (clock, hooks) = (Box::new(looks.clone()), Arc::clone(&metrics));
        let (engine, storage) = opened(&place, options(log).clock(clock).metrics(hooks));
        let (gate_before, told_before) = (storage.syncs(), metrics.0.load(Ordering::SeqCst));
        storage.shut();
        let returned = AtomicU32::new(0);
        thread::scope(|scope| {
            let (engine, returned) = (&engine, &returned);
            let submit = |number| {
                move || {
                    accept(engine, number);
                    returned.fetch_add(1, Ordering::SeqCst);
                }
            };
            scope.spawn(submit(0));
            storage.await_sync();
            let each = looks.0.load(Ordering::SeqCst);
            (1..=THREADS).for_each(|number| drop(scope.spawn(submit(number))));
            // Everybody has the turn or had it.
            while looks.0.load(Ordering::SeqCst) < each * 9 {
                thread::yield_now();
            }
            assert_eq!(returned.load(Ordering::SeqCst), 0, "the sync has not returned");
            storage.open_gate();
        });
        assert!(storage.syncs() - gate_before <= 3, "nine receipts, and the syncs are shared");
        assert!(metrics.0.load(Ordering::SeqCst) - told_before <= 3);
        engine.close().expect("it closes");
        assert_eq!(place.asked_lines().len(), 9);
    }
}

#[test]
fn tickets_share_syncs() {
    let place = Place::new();
    let (engine, storage) = opened(&place, options(exclusive()));
    let before = storage.syncs();
    storage.shut();
    let first = hand_over(&engine, 0);
    storage.await_sync();
    let behind: Vec<_> = (1..=40).map(|number| hand_over(&engine, number)).collect();
    assert!(behind.iter().all(|ticket| !ticket.is_resolved()));
    storage.open_gate();
    assert_eq!(accepted(first.wait()).last_sequence, 2);
    let sequences: Vec<u64> =
        behind.into_iter().map(|ticket| accepted(ticket.wait()).last_sequence).collect();
    assert_eq!(sequences, (3..=42).collect::<Vec<_>>());
    assert!(storage.syncs() - before < 41, "{}", storage.syncs() - before);
}

/// The sequence that HEAD names.
fn head_of(place: &Place) -> u64 {
    let bytes = std::fs::read(place.log().join("HEAD")).expect("it is there");
    Head::decode(&bytes).expect("it is whole").newest_sequence
}

/// A request that waits for a person, of a loop whose attempt is evaluated.
fn asked(engine: &Engine<GatedStorage>) -> String {
    let timeout = HumanDecisionTimeout::from_milliseconds(10_000).expect("ten seconds");
    let hold = HoldTerms { decision_timeout_ms: timeout, ..HoldTerms::of(HoldPolicy::After) };
    let command = InitializeLoop { hold, ..initialize(2) };
    let loop_id = command.loop_id();
    let submit = |command: &Command| drop(accepted(engine.submit(&origin(), (), command)));
    submit(&Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    whole_story(&loop_id).iter().take(4).for_each(submit);
    let request = RequestHumanDecision { loop_id, entropy: fresh() };
    let request_id = format!("REQ-{}", request.entropy);
    submit(&Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(request)));
    request_id
}

fn answer(request_id: String) -> Command {
    Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
        request_id,
        loop_id: None,
        entropy: fresh(),
        actor: Actor::Human,
        human_id: "ada".to_string(),
        decision: HumanDecision::Continue,
        reason: None,
        escalation_target: None,
        means: AnswerMeans { channel: AnswerChannel::Api, detail: "a test".into() },
    }))
}

/// A person's own words.
fn ada() -> Origin {
    Origin { actor: ActorId { kind: Actor::Human, id: "ada".to_string() }, ..origin() }
}

/// What a person's answer is acknowledged by: its last sequence, and what HEAD named before and
/// after.
fn answered(options: EngineOptions) -> (u64, u64, u64) {
    let place = Place::new();
    let (engine, _) = opened(&place, options);
    let request_id = asked(&engine);
    let before = head_of(&place);
    let receipt = accepted(engine.submit(&ada(), (), &answer(request_id)));
    (receipt.last_sequence, before, head_of(&place))
}

#[test]
fn a_persons_decision_has_a_witness_when_its_receipt_is_returned() {
    for log in [exclusive(), quiet()] {
        let (last_sequence, before, after) = answered(options(log));
        assert_eq!(before, 0, "other commands are only durable");
        assert_eq!(after, last_sequence);
    }
}

#[test]
fn the_level_of_a_persons_decision_is_the_embedders_to_choose() {
    let decision_level = Level::Always;
    let (_, _, after) = answered(options(quiet()).decision_level(decision_level));
    assert_eq!(after, 0);
    // Who asks less of everything asks less of this.
    let (_, _, after) = answered(options(quiet()).level(Level::Os));
    assert_eq!(after, 0);
}

#[test]
fn an_answer_waits_for_head_to_name_it() {
    let place = Place::new();
    let (engine, storage) = opened(&place, options(exclusive()));
    let request_id = asked(&engine);
    let has_returned = AtomicBool::new(false);
    storage.shut();
    thread::scope(|scope| {
        let (engine, has_returned) = (&engine, &has_returned);
        scope.spawn(move || {
            accepted(engine.submit(&ada(), (), &answer(request_id)));
            has_returned.store(true, Ordering::SeqCst);
        });
        storage.await_sync();
        assert!(!has_returned.load(Ordering::SeqCst));
        assert_eq!(head_of(&place), 0);
        storage.open_gate();
    });
    assert!(head_of(&place) > 0);
}
