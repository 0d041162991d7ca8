//! Which rules a record is judged by: those whose numbers the log stated last. And what the rules
//! of today are, word by word, so that none of them changes under the same number.

use std::fmt::Write as _;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::forbidden::{Rule, Rules};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{LoopStep, capture_place};
use holdpoint_domain::execution_loop::{
    ExecutionLoopState, ExecutorResponseType, Exit, HaltReason, LoopHalted,
    decide_response_outcome, evaluate_response_trust, is_transition_allowed,
};
use holdpoint_domain::human_decision::{
    AnswerHumanDecision, HoldPolicy, HumanDecision, HumanDecisionCommand,
};
use holdpoint_domain::log::{LogCommand, LogEvent, RecordFingerprint, RulesAdopted, SystemRules};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, FaultReport, RetryPolicy, SandboxContext, SandboxDecisionResult,
    decide_sandbox_outcome,
};
use holdpoint_domain::world::CarriedError;
use holdpoint_domain::world::envelope::{Encoded, decode, encode};
use holdpoint_domain::{ActorId, Command, Envelope, Event, ForbiddenEvent, World, decide};
use holdpoint_testing::story::commands::Generator;
use holdpoint_testing::story::held::{terms, without_observed};
use holdpoint_testing::story::{Story, adoption, envelope};

use crate::sources;

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
}

/// What a program states whose systems have these numbers.
fn stating(numbers: &[(&str, u32)]) -> Envelope {
    let of =
        |(system, number): &(&str, u32)| SystemRules { system: (*system).into(), number: *number };
    let event = RulesAdopted { systems: numbers.iter().map(of).collect() };
    let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
    Envelope { actor, proof: None, ..envelope(event.into()) }
}

/// Every system with the number that it has today, but for this one.
fn all_but(system: &str, number: u32) -> Envelope {
    let adopted = adoption(&World::default());
    let Event::Log(LogEvent::RulesAdopted(body)) = &adopted.event else { panic!("{adopted:?}") };
    let own = body.systems.iter().map(|it| (&*it.system, it.number));
    let changed = own.map(|(name, own)| (name, if name == system { number } else { own }));
    stating(&changed.collect::<Vec<_>>())
}

#[test]
fn numbers_only_rise_and_holdpoint_alone_states_them() {
    let mut story = Story::adopted();
    assert_eq!(story.world.rules().of("log"), Rules::NEWEST.number);
    assert_eq!(story.world.rules_to_adopt(), None);
    let by_somebody = Envelope {
        actor: ActorId { kind: Actor::Automation, id: "ci".into() },
        ..all_but("log", 9)
    };
    let forbidden = [
        all_but("log", 9),
        all_but("log", 1),
        all_but("execution_loop", 0),
        stating(&[]),
        stating(&[("log", 10)]),
        by_somebody,
    ];
    let before = story.world.rules().clone();
    for stated in forbidden {
        assert_found(&story.record_envelope(stated), Rule::RulesNumbers);
        assert_eq!(*story.world.rules(), before, "it counts for nothing");
    }
    assert_eq!(story.record_envelope(all_but("log", 10)), []);
    assert_found(&story.record_envelope(adoption(&World::default())), Rule::RulesNumbers);
    assert_eq!((story.world.rules().of("log"), story.world.rules().of("any other")), (10, 1));
}

#[test]
fn numbers_out_of_order_or_stated_twice_are_no_statement() {
    for systems in [&[("log", 2), ("execution_loop", 2)][..], &[("log", 2), ("log", 3)]] {
        let mut story = Story::new();
        assert_found(&story.record_envelope(stating(systems)), Rule::RulesNumbers);
        assert_eq!(story.world.rules().of("log"), 1);
    }
}

/// Somebody who is not asked aborts: by rules 1 nobody may, by those after them anybody.
#[test]
fn a_record_is_judged_by_the_rules_of_its_time() {
    let aborted = |adopts: bool| {
        let mut story =
            Story::evaluated_under(terms(HoldPolicy::After), ExecutorResponseType::Failure);
        story.given(story.ask());
        if adopts {
            assert_eq!(story.record_envelope(adoption(&story.world)), []);
        }
        let answer = AnswerHumanDecision {
            human_id: "mallory".into(),
            ..story.answer(HumanDecision::Abort)
        };
        let command = Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer));
        let events = decide(&story.world, &command, story.now).unwrap();
        events.into_iter().flat_map(|event| story.record(event)).collect::<Vec<_>>()
    };
    assert_found(&aborted(false), Rule::HumanDecisionAnswer);
    assert_eq!(aborted(true), []);
}

/// A question of before stays one, with the hash that it had; a new one may not be silent about
/// what was observed, and whatever one says is compared.
#[test]
fn a_question_tells_what_was_observed_from_the_number_on_that_says_so() {
    let asked = |adopted: Option<Envelope>, tells: bool| {
        let mut story =
            Story::evaluated_under(terms(HoldPolicy::After), ExecutorResponseType::Failure);
        if let Some(adopted) = adopted {
            assert_eq!(story.record_envelope(adopted), []);
        }
        let events = decide(&story.world, &story.ask(), story.now).unwrap();
        let silent = |event: Event| if tells { event } else { without_observed(event) };
        let found: Vec<ForbiddenEvent> =
            events.into_iter().flat_map(|event| story.record(silent(event))).collect();
        (story, found)
    };
    let second = || {
        let adopted = adoption(&World::default());
        let Event::Log(LogEvent::RulesAdopted(body)) = &adopted.event else { panic!() };
        stating(&body.systems.iter().map(|it| (&*it.system, 2)).collect::<Vec<_>>())
    };
    let newest = || adoption(&World::default());
    for adopted in [None, Some(second())] {
        let (mut story, found) = asked(adopted, false);
        assert_eq!(found, []);
        assert_eq!(story.held().request.evidence_summary.observed, None);
        story.given(story.decides(HumanDecision::Abort));
    }
    let (story, found) = asked(Some(newest()), true);
    assert_eq!(found, []);
    let observed = story.held().request.evidence_summary.observed.unwrap();
    assert_eq!((observed.attempts_max, observed.exit), (3, Exit::Status(0)));
    assert_found(&asked(Some(newest()), false).1, Rule::HumanDecisionRequest);
}

#[test]
fn rules_that_this_program_does_not_have_are_not_checked() {
    let mut story = Story::in_state(ExecutionLoopState::Evaluated);
    let halt: Event = LoopHalted {
        loop_id: "LOOP-none".into(),
        from: ExecutionLoopState::Init,
        requested: ExecutionLoopState::Halted,
        reason: HaltReason::Completed,
        stop_condition: None,
        fault_type: None,
    }
    .into();
    assert_found(&story.record(halt.clone()), Rule::LoopIsLive);
    assert_eq!(story.record_envelope(all_but("execution_loop", 10)), []);
    assert_eq!(story.world.rules_not_checked(&halt), Some(10));
    assert_eq!(story.record(halt), []);
    assert_eq!(story.given(fingerprint()).len(), 1, "other systems are");
}

/// Whoever reads the statement of a newer number knows nothing of what follows.
#[test]
fn a_statement_of_newer_rules_is_unknown_and_so_is_a_state_under_them() {
    let adopted = all_but("execution_loop", 10);
    let Encoded { kind, version, payload } = encode(&adopted).unwrap();
    let unknown = decode(kind, version, &payload).unwrap_err();
    assert!(unknown.is_of_unknown_kind(), "{unknown}");
    let system = "\"execution_loop\"".to_string();
    let expected = DecodeError::UnknownRules { system, found: 10, newest: 9 };
    assert_eq!(unknown, expected);
    let mut story = Story::initialized();
    assert_eq!(story.record_envelope(adopted), []);
    let carried = World::from_carried(&story.world.carry()).unwrap_err();
    assert_eq!(carried, CarriedError::UnknownRules(expected));
}

/// It counts for nothing, and the rules forbid it.
#[test]
fn newer_rules_that_holdpoint_did_not_state_are_no_unknown_ones() {
    let actor = ActorId { kind: Actor::Automation, id: "ci".into() };
    let forged = Envelope { actor, ..all_but("execution_loop", 10) };
    let Encoded { kind, version, payload } = encode(&forged).unwrap();
    assert_eq!(decode(kind, version, &payload), Ok(forged));
}

fn fingerprint() -> Command {
    Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {}))
}

#[test]
fn what_the_rules_before_had_no_words_for_is_not_checked_under_them() {
    let mut story = Story::in_state(ExecutionLoopState::Dispatched);
    let halted = |events: Vec<Event>| events.into_iter().find(|event| event.kind().kind == 36);
    let halt = halted(story.clone().given(story.interrupt(2, None))).unwrap();
    assert_eq!(story.world.rules_not_checked(&halt), Some(1));
    assert_eq!(story.record_envelope(adoption(&story.world)), []);
    assert_eq!(story.world.rules_not_checked(&halt), None);
}

/// A log that begins behind an anchor, and one that was salvaged, go on under the same numbers.
#[test]
fn the_numbers_are_carried_and_part_of_the_fingerprint() {
    let (mut story, before) = (Story::initialized(), Story::initialized());
    assert_eq!(story.record_envelope(all_but("log", 8)), []);
    let carried = World::from_carried(&story.world.carry()).unwrap();
    assert_eq!(carried.rules(), story.world.rules());
    assert_eq!(carried.rules().of("log"), 8);
    let unstated = World::from_carried(&before.world.carry()).unwrap();
    assert_eq!(unstated.rules().of("log"), 1);
    let stated = World::from_carried(&Story::adopted().world.carry()).unwrap();
    assert_eq!(stated.rules().of("log"), Rules::NEWEST.number);
}

/// A program of another day has a system that this one does not know.
#[test]
fn a_system_that_this_program_does_not_know_is_a_newer_one() {
    let adopted = adoption(&World::default());
    let Event::Log(LogEvent::RulesAdopted(body)) = adopted.event else { panic!() };
    let mut numbers: Vec<(&str, u32)> =
        body.systems.iter().map(|it| (&*it.system, it.number)).collect();
    numbers.insert(0, ("abacus", 1));
    let Encoded { kind, version, payload } = encode(&stating(&numbers)).unwrap();
    let newer = decode(kind, version, &payload).unwrap_err();
    assert!(newer.to_string().contains("abacus"), "{newer}");
    assert!(newer.to_string().contains("use a newer holdpoint"), "{newer}");
}

// ---- What the rules of today are ---------------------------------------------------------------

/// The tables, the bounds and what a fixed history of all commands came to, under this number.
const PINNED: &str = include_str!("../golden/rules_9.txt");

/// Whoever changes a table, a bound or a phrase that is recorded gives the rules a new number, with
/// a switch for what they were, and pins its text beside this one.
#[test]
fn golden_rules_are_those_of_their_number() {
    assert_eq!(Rules::NEWEST.number, 9, "pin the text of the new number");
    let text = text_of_the_rules();
    if std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() && PINNED.is_empty() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/rules_9.txt");
        std::fs::write(file, &text).unwrap();
    }
    for (found, pinned) in text.lines().zip(PINNED.lines()) {
        assert_eq!(found, pinned);
    }
    assert_eq!(text.lines().count(), PINNED.lines().count());
}

#[test]
fn golden_numbers_before_are_as_they_were() {
    let first = Rules {
        number: 1,
        attempts_max: 3,
        anyone_aborts: false,
        has_newest_words: false,
        tells_observed: false,
        has_fourth_words: false,
        has_fifth_words: false,
        tells_clock: false,
        has_sixth_words: false,
        plans_own_words: false,
        questions_stay: false,
        knows_stops: false,
        drops_defaults: false,
        names_ends: false,
        opens_escalations: false,
        has_seventh_words: false,
        names_waits: false,
        marks_stay: false,
        ends_unsure_words: false,
    };
    let second = Rules { number: 2, anyone_aborts: true, has_newest_words: true, ..first };
    assert_eq!(Rules::numbered(1), Some(&first));
    let third = Rules { number: 3, tells_observed: true, ..second };
    assert_eq!(Rules::numbered(2), Some(&second));
    assert_eq!(Rules::numbered(3), Some(&third));
    let fourth = Rules { number: 4, has_fourth_words: true, ..third };
    assert_eq!(Rules::numbered(4), Some(&fourth));
    let fifth = Rules { number: 5, has_fifth_words: true, tells_clock: true, ..fourth };
    assert_eq!(Rules::numbered(5), Some(&fifth));
    let sixth = Rules {
        number: 6,
        has_sixth_words: true,
        plans_own_words: true,
        questions_stay: true,
        knows_stops: true,
        drops_defaults: true,
        names_ends: true,
        opens_escalations: true,
        ..fifth
    };
    assert_eq!(Rules::numbered(6), Some(&sixth));
    let seventh = Rules { number: 7, has_seventh_words: true, names_waits: true, ..sixth };
    assert_eq!(Rules::numbered(7), Some(&seventh));
    let eighth = Rules { number: 8, marks_stay: true, ..seventh };
    assert_eq!(Rules::numbered(8), Some(&eighth));
    assert_eq!((Rules::numbered(0), Rules::numbered(10)), (None, None));
}

fn text_of_the_rules() -> String {
    let mut text = format!("{:?}\n", Rules::NEWEST);
    bounds(&mut text);
    tables(&mut text);
    for seed in 1..=3 {
        let (mut generator, mut story) = (Generator::seeded(seed), Story::adopted());
        (0..COMMANDS).for_each(|_| drop(generator.step(&mut story)));
        let bytes: Vec<u8> =
            story.records.iter().flat_map(|it| it.encoded.payload.iter().copied()).collect();
        let records = story.records.len();
        writeln!(text, "history {seed}: {records} records, {}", sha256(&bytes)).unwrap();
    }
    text
}

/// How many commands of each fixed history. Where the drawing of commands changes, and nothing of
/// the domain, its lines are pinned anew.
const COMMANDS: u64 = 2_000;

/// Every constant that is a number, wherever it stands.
fn bounds(text: &mut String) {
    let mut found: Vec<String> = Vec::new();
    for source in sources::all() {
        let code: Vec<&str> = source.code().collect();
        let statements = code.join("\n");
        let constants = statements.split("const ").skip(1);
        found.extend(constants.filter_map(|it| {
            let (name, rest) = it.split_once(':')?;
            let (kind, value) = rest.split_once(';')?.0.split_once('=')?;
            let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '2');
            let is_number = ["u8", "u16", "u32", "u64", "usize", "i64"].contains(&kind.trim());
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            (is_name && is_number).then(|| format!("bound {name} = {value}"))
        }));
    }
    found.sort();
    assert!(found.len() > 60, "{}", found.len());
    found.iter().for_each(|line| writeln!(text, "{line}").unwrap());
}

fn tables(text: &mut String) {
    for from in ExecutionLoopState::ALL {
        for to in ExecutionLoopState::ALL {
            writeln!(text, "transition {from} {to} {}", is_transition_allowed(*from, *to)).unwrap();
        }
    }
    for response in ExecutorResponseType::ALL {
        let (worth, trust) =
            (decide_response_outcome(*response), evaluate_response_trust(*response));
        writeln!(text, "response {response} {worth} {trust}").unwrap();
    }
    for step in LoopStep::ALL {
        writeln!(text, "capture {step} {:?}", capture_place(*step)).unwrap();
    }
    for ceiling in RetryPolicy::ALL {
        for fault in ExecutionFaultType::ALL {
            for attempt in 0..5 {
                let outcome = outcome_of(*ceiling, *fault, attempt);
                writeln!(text, "fault {ceiling} {fault} {attempt} {outcome:?}").unwrap();
            }
        }
    }
}

fn outcome_of(
    ceiling: RetryPolicy,
    fault_type: ExecutionFaultType,
    attempt_number: i64,
) -> SandboxDecisionResult {
    let (execution_id, at) = ("LOOP-1".to_string(), "2026-01-25T16:00:00Z".to_string());
    let context = SandboxContext {
        execution_id: execution_id.clone(),
        instruction_id: "I".into(),
        attempt_number,
        max_retries: 3,
        timeout_ms: 1000,
        timestamp: at.clone(),
    };
    let fault = FaultReport {
        fault_id: "FAULT-1".into(),
        execution_id,
        fault_type,
        fault_message: "message".into(),
        occurred_at: at,
        attempt_number,
    };
    decide_sandbox_outcome(ceiling, &fault, &context)
}
