//! Given, when, then: evidence, observers and the ten stop conditions (Phase-31).

use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::limits::{MAX_CHAIN_RECORDS, MAX_RAW_BYTES, RESERVED_CHAIN_RECORDS};
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceItem, OutputStream, ResourceUsage,
    STOP_TRIGGERS, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    DispatchFacts, ExecutionLoopCommand, ExecutionLoopState, ExecutorResponseType, HaltReason,
    InitializeLoop,
};
use holdpoint_domain::log::ClockStepped;
use holdpoint_domain::{Command, Event, Time, WriterCommand, decide};
use holdpoint_testing::story::{
    CLEAR, SECRET, Story, cut_item, halt, halt_reason, names, output_item,
};
use serde_json::json;

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

const LIVE: [ExecutionLoopState; 4] = [Init, Dispatched, AwaitingResponse, Evaluated];

/// The evidence among some events.
fn evidence(events: &[Event]) -> Vec<&EvidenceCaptured> {
    let mut found = Vec::new();
    for event in events {
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event {
            found.push(body);
        }
    }
    found
}

/// Whether its fact is one of the world outside, which a caller states or leaves out.
const fn is_stated_by_callers(condition: StopCondition) -> bool {
    use StopCondition as C;
    matches!(
        condition,
        C::MissingAuthorization
            | C::ExecutorNotRegistered
            | C::ResourceLimitExceeded
            | C::AmbiguousIntent
            | C::HumanAbort
    )
}

#[test]
fn table_every_stop_condition_in_every_state_captures_halts_and_seals() {
    for state in LIVE {
        for condition in StopCondition::ALL {
            let mut story = Story::in_state(state);
            let outcome = story.when(story.stop(*condition, StopFacts::default()));
            if !is_stated_by_callers(*condition) {
                assert_eq!(outcome.unwrap_err().code(), "STOP_NOT_TRIGGERED", "{state}");
                continue;
            }
            let events = outcome.unwrap();
            let expected =
                ["stop_condition_detected", "evidence_captured", "halted", "chain_sealed"];
            assert_eq!(names(&events), expected);
            let body = evidence(&events).remove(0);
            assert_eq!(body.observation_point.name(), "HALT_ENTRY");
            assert_eq!(body.evidence_type.name(), "STOP_CONDITION");
            let fact = STOP_TRIGGERS.iter().find(|row| row.condition == *condition).unwrap().fact;
            let details = format!("because; {fact} is not stated");
            let raw = format!("{condition}: {details}");
            assert_eq!(body.raw_data.as_bytes(), raw.as_bytes());
            let json = story.json();
            assert_eq!(json["stop_condition"], condition.name());
            assert_eq!(json["stop_details"], details);
            assert_eq!(json["halt_reason"], "STOP_CONDITION");
            assert_eq!(json["halted_from"], state.name());
            assert_eq!(json["settled"], true);
        }
    }
}

#[test]
fn a_condition_that_is_known_not_to_hold_does_not_stop() {
    for condition in StopCondition::ALL {
        let mut story = Story::in_state(AwaitingResponse);
        let clear = StopFacts {
            envelope_hash_matches: None,
            chain_valid: None,
            timestamp_valid: None,
            prior_execution_complete: None,
            ..StopFacts::ALL_CLEAR
        };
        let refusal = story.when(story.stop(*condition, clear)).unwrap_err();
        assert_eq!(refusal.code(), "STOP_NOT_TRIGGERED");
        assert!(refusal.to_string().contains(condition.name()), "{refusal}");
    }
}

/// W10: at dispatch all ten are checked; what is false or not stated halts, under its own name.
#[test]
fn table_what_dispatch_is_not_told_halts() {
    type Set = fn(&mut DispatchFacts, Option<bool>);
    let facts: [(Set, StopCondition, bool); 5] = [
        (|f, v| f.authorization_present = v, StopCondition::MissingAuthorization, false),
        (|f, v| f.executor_registered = v, StopCondition::ExecutorNotRegistered, false),
        (|f, v| f.resources_available = v, StopCondition::ResourceLimitExceeded, false),
        (|f, v| f.intent_clear = v, StopCondition::AmbiguousIntent, false),
        (|f, v| f.human_abort_signaled = v, StopCondition::HumanAbort, true),
    ];
    for (set, condition, triggering) in facts {
        for (value, stops) in [(None, true), (Some(triggering), true), (Some(!triggering), false)] {
            let mut story = Story::initialized();
            let mut known = CLEAR;
            set(&mut known, value);
            let events = story.given(story.dispatch_knowing(known));
            let stopped = halt(&events).and_then(|body| body.stop_condition);
            // Where nobody says whether a person said stop, no person's act is recorded.
            let named = match (condition, value) {
                (StopCondition::HumanAbort, None) => StopCondition::ContextUninitialized,
                _ => condition,
            };
            assert_eq!(stopped, stops.then_some(named), "{condition} {value:?}");
        }
    }
}

#[test]
fn a_clock_that_was_set_back_over_a_loop_stops_its_next_attempt() {
    for (step_ns, stops) in [(-1_000_000_000, true), (1_000_000_000, false)] {
        let mut story = Story::initialized();
        story.told(&WriterCommand::ClockStepped(ClockStepped { step_ns }));
        let events = story.given(story.dispatch());
        let stopped = halt(&events).and_then(|body| body.stop_condition);
        assert_eq!(stopped, stops.then_some(StopCondition::TimestampInvalid), "{step_ns}");
    }
    let mut story = Story::new();
    story.told(&WriterCommand::ClockStepped(ClockStepped { step_ns: -1_000_000_000 }));
    let begun = story.initialize();
    story.loop_id = begun.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun)));
    assert!(halt(&story.given(story.dispatch())).is_none(), "it began behind the step");
}

#[test]
fn dispatch_names_every_condition_that_holds() {
    let mut story = Story::initialized();
    story.given(story.dispatch_knowing(DispatchFacts::default()));
    let json = story.json();
    assert_eq!(json["stop_condition"], "MISSING_AUTHORIZATION");
    let expected = "MISSING_AUTHORIZATION: authorization_present is not stated; \
                    EXECUTOR_NOT_REGISTERED: executor_registered is not stated; \
                    RESOURCE_LIMIT_EXCEEDED: resources_available is not stated; \
                    AMBIGUOUS_INTENT: intent_clear is not stated; \
                    HUMAN_ABORT: human_abort_signaled is not stated";
    assert_eq!(json["stop_details"], expected);
}

#[test]
fn another_instruction_at_dispatch_is_an_envelope_hash_mismatch() {
    let mut story = Story::initialized();
    let Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(mut dispatch)) = story.dispatch()
    else {
        panic!("a dispatch")
    };
    dispatch.envelope_hash = sha256(b"something else").to_string();
    let events = story.given(Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(dispatch)));
    let body = halt(&events).unwrap();
    assert_eq!(body.stop_condition, Some(StopCondition::EnvelopeHashMismatch));
}

/// W11: an observer that expects something else observes nothing but the end.
#[test]
fn an_observer_that_expects_something_else_halts_the_loop() {
    type Change = fn(&mut InitializeLoop);
    let changes: [(Change, &str); 3] = [
        (|c| c.observer.executor_id = "evil".into(), "EXECUTOR_NOT_REGISTERED"),
        (|c| c.observer.envelope_hash = "not-a-hash".into(), "ENVELOPE_HASH_MISMATCH"),
        (|c| c.envelope = b"other bytes".to_vec(), "ENVELOPE_HASH_MISMATCH"),
    ];
    for (change, condition) in changes {
        let json = Story::initialized_with(change).json();
        assert_eq!(json["current_state"], "HALTED");
        assert_eq!(json["stop_condition"], condition);
        assert_eq!(json["evidence_chain"]["sealed"], true);
    }
}

/// W9: what a halted observer is offered is kept beside its own record.
#[test]
fn a_halted_observer_keeps_what_it_is_offered() {
    let mut story = Story::new();
    let mut command = story.initialize();
    command.observer.executor_id = "evil".into();
    let events = story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    let body = evidence(&events).remove(0);
    assert_eq!(body.raw_data.as_bytes(), b"CONTEXT_HALTED");
    let offered = body.offered.as_ref().unwrap();
    assert!(offered.raw_data.as_bytes().starts_with(b"EXECUTOR_NOT_REGISTERED"));
}

/// W9: time is the record's own, and it never goes back.
#[test]
fn time_that_goes_backwards_stops_the_loop() {
    let mut story = Story::in_state(AwaitingResponse);
    let earlier = Time::from_nanoseconds(story.now.nanoseconds() - 3_600_000_000_000);
    let events = decide(&story.world, &story.output(SECRET), earlier).unwrap();
    let body = halt(&events).unwrap();
    assert_eq!(body.stop_condition, Some(StopCondition::TimestampInvalid));
    let same = Time::from_nanoseconds(story.now.nanoseconds() - 1_000_000);
    assert!(halt(&decide(&story.world, &story.output(SECRET), same).unwrap()).is_none());
    story.given(story.output(SECRET));
}

#[test]
fn evidence_carries_its_records_time() {
    let mut story = Story::in_state(AwaitingResponse);
    let now = story.now;
    let events = story.given(story.output(SECRET));
    let body = evidence(&events).remove(0);
    assert_eq!(body.timestamp.as_str(), now.to_string());
    assert_eq!(body.timestamp.parse::<Time>(), Ok(now));
}

/// W9: the same random bits give the same record ids, and those are refused.
#[test]
fn random_bits_are_not_used_twice_in_a_chain() {
    let mut story = Story::in_state(AwaitingResponse);
    let capture = story.output(SECRET);
    story.given(capture.clone());
    assert_eq!(story.when(capture).unwrap_err().code(), "DUPLICATE_RECORD_ID");
}

#[test]
fn evidence_is_captured_only_while_a_response_is_awaited() {
    for state in [Init, Dispatched, Evaluated] {
        let mut story = Story::in_state(state);
        let refusal = story.when(story.output(SECRET)).unwrap_err();
        assert_eq!(refusal.code(), "WRONG_STATE", "{state}");
    }
}

#[test]
fn what_is_said_of_an_output_must_fit_its_bytes() {
    let mut story = Story::in_state(AwaitingResponse);
    let output = |true_length, whole: &[u8]| EvidenceItem::ExecutorOutput {
        stream: OutputStream::Stderr,
        raw_data: b"abc".to_vec(),
        true_length,
        whole_sha256: sha256(whole),
    };
    for contradiction in [output(2, b"ab"), output(3, b"abd")] {
        let refusal = story.when(story.capture(vec![contradiction])).unwrap_err();
        assert_eq!(refusal.code(), "OUTPUT_CONTRADICTED");
    }
    story.given(story.capture(vec![output(4, b"abcd")]));
    let json = story.json();
    let extent = &json["attempts"][0]["outputs"][1];
    assert_eq!(extent["stream"], "STDERR");
    assert_eq!(extent["true_length"], 4);
    assert_eq!(extent["truncated"], true);
    assert_eq!(extent["whole_sha256"], sha256(b"abcd").to_string());
}

/// An output with a gap says where it lies: beginning, gap and end are the whole.
#[test]
fn what_is_said_of_an_output_with_a_gap_must_fit_its_bytes() {
    let mut story = Story::in_state(AwaitingResponse);
    for (head_length, true_length) in [(0, 2), (2, 3), (3, 3), (4, 4), (4, 10), (u64::MAX, 10)] {
        let item = cut_item(b"abj", head_length, true_length);
        let refusal = story.when(story.capture(vec![item])).unwrap_err();
        assert_eq!(refusal.code(), "OUTPUT_CONTRADICTED", "{head_length} of {true_length}");
    }
    for (head_length, true_length) in [(0, 4), (2, 10), (3, 10), (3, u64::MAX)] {
        story.given(story.capture(vec![cut_item(b"abj", head_length, true_length)]));
        let json = story.json();
        let extent = json["attempts"][0]["outputs"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(extent["true_length"], true_length);
        assert_eq!(extent["truncated"], true);
        let record = json["evidence_chain"]["records"].as_array().unwrap().last().unwrap().clone();
        let cut = &record["content"]["output_cut"];
        assert_eq!((&cut["stream"], &record["raw_length"]), (&json!("STDERR"), &json!(3)));
        assert_eq!(cut["head_length"], head_length);
        assert_eq!(cut["gap_length"], true_length - 3);
    }
    let too_large = cut_item(&vec![b'x'; MAX_RAW_BYTES + 1], 1, u64::MAX);
    let refusal = story.when(story.capture(vec![too_large])).unwrap_err();
    assert_eq!(refusal.code(), "EVIDENCE_TOO_LARGE");
}

/// The beginning and the end of an output are output: the attempt may be answered.
#[test]
fn an_output_with_a_gap_is_raw_output_before_an_answer() {
    let mut story = Story::in_state(Dispatched);
    story.given(story.await_response());
    let too_early = story.when(story.report(ExecutorResponseType::Success)).unwrap_err();
    assert_eq!(too_early.code(), "RAW_OUTPUT_MISSING");
    story.given(story.capture(vec![cut_item(b"abj", 2, 10)]));
    story.given(story.report(ExecutorResponseType::Success));
    assert_eq!(story.entity().state(), Evaluated);
}

#[test]
fn evidence_has_bounds() {
    let mut story = Story::in_state(AwaitingResponse);
    story.given(story.output(&vec![b'x'; MAX_RAW_BYTES]));
    let refusal = story.when(story.output(&vec![b'x'; MAX_RAW_BYTES + 1])).unwrap_err();
    assert_eq!(refusal.code(), "EVIDENCE_TOO_LARGE");
    let event = EvidenceItem::TimestampEvent(vec![b'x'; MAX_RAW_BYTES + 1]);
    assert_eq!(story.when(story.capture(vec![event])).unwrap_err().code(), "EVIDENCE_TOO_LARGE");
}

#[test]
fn a_full_chain_still_has_room_for_its_end() {
    let mut story = Story::in_state(AwaitingResponse);
    loop {
        match story.when(story.capture(vec![output_item(b""); 8])) {
            Ok(_) => {}
            Err(refusal) => {
                assert_eq!(refusal.code(), "CHAIN_FULL");
                break;
            }
        }
    }
    let length = story.entity().chain.as_ref().unwrap().head.length;
    assert!(length > MAX_CHAIN_RECORDS - RESERVED_CHAIN_RECORDS - 8);
    story.given(story.report(ExecutorResponseType::Success));
    assert_eq!(halt_reason(&story.given(story.complete())), Some(HaltReason::Completed));
}

#[test]
fn resources_are_shown_with_their_attempt() {
    let mut story = Story::in_state(AwaitingResponse);
    let usage =
        ResourceUsage { wall_ns: 10, user_cpu_ns: 20, system_cpu_ns: 30, peak_memory_bytes: 40 };
    story.given(story.capture(vec![EvidenceItem::ResourceSnapshot(usage)]));
    let shown = &story.json()["attempts"][0]["resources"];
    assert_eq!(shown["wall_ns"], 10);
    assert_eq!(shown["peak_memory_bytes"], 40);
}

#[test]
fn nothing_is_captured_after_the_seal() {
    let story = Story::in_state(Halted);
    let refusal = decide(&story.world, &story.output(SECRET), story.now).unwrap_err();
    assert_eq!(refusal.code(), "LOOP_NOT_LIVE");
}
