//! Given, when, then: what `decide` makes of commands on execution loops (Phase-29, Phase-30).

use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, LoopStep, OutputStream, StopCondition, capture_place,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopState, ExecutorIdentityStatus, ExecutorResponseType, Exit,
    HaltReason, InitializeLoop, is_transition_allowed,
};
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_domain::{Command, Event, Refusal, World, decide};
use holdpoint_testing::story::{SECRET, Story, halt, halt_reason, names, output_item};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

#[test]
fn a_loop_that_finishes_well_is_halted_completed_without_a_stop_condition() {
    let mut story = Story::in_state(Evaluated);
    let events = story.given(story.complete());
    assert_eq!(names(&events), ["evidence_captured", "halted", "chain_sealed"]);
    let json = story.json();
    assert_eq!(json["current_state"], "HALTED");
    assert_eq!(json["halt_reason"], "COMPLETED");
    assert_eq!(json["stop_condition"], serde_json::Value::Null);
    assert_eq!(json["evidence_chain"]["sealed"], true);
    assert_eq!(json["settled"], true);
}

#[test]
fn every_transition_is_in_one_batch_with_its_evidence() {
    let mut story = Story::new();
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    let batches = [
        story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize))),
        story.given(story.dispatch()),
        story.given(story.await_response()),
        story.given(story.output(SECRET)),
        story.given(story.report(ExecutorResponseType::Success)),
        story.given(story.complete()),
    ];
    let expected: [&[&str]; 6] = [
        &["initialized", "observer_attached", "evidence_captured"],
        &["dispatched", "evidence_captured"],
        &["response_awaited"],
        &["evidence_captured"],
        &["evidence_captured", "response_evaluated", "evidence_captured"],
        &["evidence_captured", "halted", "chain_sealed"],
    ];
    assert_eq!(batches.map(|events| names(&events)), expected.map(<[&str]>::to_vec));
    let records = story.entity().chain.as_ref().unwrap().records.iter();
    let places: Vec<_> = records
        .map(|r| (r.observation_point.name(), r.evidence_type.name(), r.raw_length))
        .collect();
    let expected = [
        ("PRE_DISPATCH", "STATE_TRANSITION", 22),
        ("POST_DISPATCH", "STATE_TRANSITION", 29),
        ("PRE_EVALUATE", "EXECUTOR_OUTPUT", 21),
        ("PRE_EVALUATE", "STATE_TRANSITION", 41),
        ("POST_EVALUATE", "STATE_TRANSITION", 6),
        ("HALT_ENTRY", "STATE_TRANSITION", 30),
    ];
    assert_eq!(places, expected);
}

/// The commands that ask for a transition, in every state: where the table has it, it happens;
/// where it has not, the loop halts and says which transition was asked for.
#[test]
fn table_every_command_in_every_state_moves_as_the_table_says_or_halts() {
    type Make = fn(&Story) -> Command;
    let asks: [(Make, ExecutionLoopState); 3] = [
        (|s| s.dispatch(), Dispatched),
        (|s| s.await_response(), AwaitingResponse),
        (|s| s.report(ExecutorResponseType::Success), Evaluated),
    ];
    for from in [Init, Dispatched, AwaitingResponse, Evaluated] {
        for (make, to) in asks {
            let mut story = Story::in_state(from);
            let outcome = story.when(make(&story));
            if (from, to) == (Evaluated, Dispatched) {
                assert_eq!(outcome.unwrap_err().code(), "WRONG_STATE");
            } else if is_transition_allowed(from, to) {
                assert!(halt(&outcome.unwrap()).is_none());
                assert_eq!(story.entity().state(), to);
            } else if to == Dispatched {
                let events = outcome.unwrap();
                let stopped = halt(&events).unwrap().stop_condition;
                assert_eq!(stopped, Some(StopCondition::PriorExecutionPending));
                assert_eq!(story.entity().state(), Halted);
            } else {
                let events = outcome.unwrap();
                let body = halt(&events).unwrap();
                assert_eq!(body.reason, HaltReason::IllegalTransition);
                assert_eq!((body.from, body.requested), (from, to));
                assert_eq!(names(&events), ["evidence_captured", "halted", "chain_sealed"]);
                assert_eq!(story.entity().state(), Halted);
            }
        }
    }
}

/// Neither is a stop condition: no person is known to have said stop.
#[test]
fn a_signal_and_a_lost_recorder_halt_a_loop_in_every_state_without_a_stop_condition() {
    type End = fn(&mut Story) -> Vec<Event>;
    let ends: [(End, _, _); 3] = [
        (
            |s| s.given(s.interrupt(15, Some((4_711, 1_000)))),
            HaltReason::Interrupted,
            "INTERRUPTED: signal 15 from process 4711 of user number 1000",
        ),
        (
            |s| s.given(s.interrupt(2, None)),
            HaltReason::Interrupted,
            "INTERRUPTED: signal 2 from a sender that is not known",
        ),
        (
            |s| s.told(&s.declare_lost()),
            HaltReason::RecorderLost,
            "RECORDER_LOST: the process that recorded the loop is gone",
        ),
    ];
    for from in [Init, Dispatched, AwaitingResponse, Evaluated] {
        for (end, reason, details) in ends {
            let mut story = Story::in_state(from);
            let events = end(&mut story);
            assert_eq!(names(&events), ["evidence_captured", "halted", "chain_sealed"]);
            let body = halt(&events).unwrap();
            assert_eq!((body.from, body.reason), (from, reason));
            assert_eq!((body.stop_condition, body.fault_type), (None, None));
            let Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(evidence))) =
                events.first()
            else {
                panic!()
            };
            let told = String::from_utf8_lossy(evidence.raw_data.as_bytes()).into_owned();
            assert!(told.starts_with(details), "{told}");
            let place = (evidence.observation_point, evidence.evidence_type);
            assert_eq!(Some(place), capture_place(LoopStep::Stopped));
        }
    }
}

#[test]
fn a_signal_while_a_person_is_asked_withdraws_the_question() {
    let ends: [fn(&mut Story) -> Vec<Event>; 2] =
        [|s| s.given(s.interrupt(15, None)), |s| s.told(&s.declare_lost())];
    for end in ends {
        let mut story = Story::asked();
        assert_eq!(names(&end(&mut story)).first(), Some(&"request_withdrawn"));
        assert_eq!(
            story.when(story.decides(HumanDecision::Continue)).unwrap_err().code(),
            "REQUEST_WITHDRAWN"
        );
    }
}

#[test]
fn halted_is_final() {
    let mut story = Story::in_state(Halted);
    let commands = [
        story.dispatch(),
        story.retry(),
        story.await_response(),
        story.output(SECRET),
        story.report(ExecutorResponseType::Success),
        story.fault(holdpoint_domain::sandbox_fault::ExecutionFaultType::Crash),
        story.complete(),
    ];
    for command in commands {
        let refusal = story.when(command).unwrap_err();
        assert_eq!(refusal.code(), "LOOP_NOT_LIVE");
        assert!(refusal.to_string().contains("start a new one"), "{refusal}");
    }
}

#[test]
fn a_failed_handshake_halts() {
    let unknown = |c: &mut InitializeLoop| {
        c.handshake.trust_status = ExecutorIdentityStatus::Unknown;
    };
    let other = |c: &mut InitializeLoop| c.handshake.executor_id = "/bin/evil".into();
    for story in [Story::initialized_with(unknown), Story::initialized_with(other)] {
        let json = story.json();
        assert_eq!(json["current_state"], "HALTED");
        assert_eq!(json["halt_reason"], "HANDSHAKE_FAILED");
        assert_eq!(json["handshake_decision"], "REJECT");
        assert_eq!(json["evidence_chain"]["sealed"], true);
        assert_eq!(json["evidence_chain"]["length"], 2);
    }
}

#[test]
fn malformed_commands_write_nothing() {
    type Change = fn(&mut InitializeLoop);
    let changes: [(Change, &str); 7] = [
        (|c| c.executor_id = " ".into(), "INVALID_IDENTIFIER"),
        (|c| c.executor_id = "a\u{200b}".into(), "INVALID_IDENTIFIER"),
        (|c| c.instruction_envelope_hash = "".into(), "INVALID_IDENTIFIER"),
        (|c| c.observer.executor_id = "x".repeat(257), "INVALID_IDENTIFIER"),
        (|c| c.max_attempts = 0, "ATTEMPTS_OUT_OF_RANGE"),
        (|c| c.max_attempts = 4, "ATTEMPTS_OUT_OF_RANGE"),
        (|c| c.envelope = vec![0; 16 * 1024 * 1024 + 1], "EVIDENCE_TOO_LARGE"),
    ];
    for (change, code) in changes {
        let story = Story::new();
        let mut command = story.initialize();
        change(&mut command);
        let refused = decide(
            &story.world,
            &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)),
            story.now,
        );
        assert_eq!(refused.unwrap_err().code(), code);
    }
}

#[test]
fn a_live_loops_id_is_not_used_again() {
    let mut story = Story::new();
    let command = story.initialize();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command.clone())));
    let refusal = story
        .when(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)))
        .unwrap_err();
    assert_eq!(refusal.code(), "LOOP_EXISTS");
}

#[test]
fn raw_output_is_captured_before_it_is_normalized() {
    let mut story = Story::in_state(Dispatched);
    story.given(story.await_response());
    let refusal = story.when(story.report(ExecutorResponseType::Success)).unwrap_err();
    assert_eq!(refusal.code(), "RAW_OUTPUT_MISSING");
    story.given(story.output(b""));
    story.given(story.report(ExecutorResponseType::Success));
}

/// W14: another executor is rejected whatever it reports, and the loop says so.
#[test]
fn only_the_loops_own_executor_and_instruction_are_accepted() {
    let mut story = Story::in_state(AwaitingResponse);
    let mut evil = story.response(ExecutorResponseType::Success);
    evil.executor_id = "evil".into();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(evil)));
    assert_rejected_without_trust(&mut story);

    let mut story = Story::in_state(AwaitingResponse);
    let mut other = story.response(ExecutorResponseType::Success);
    other.instruction_hash = "H\nACCEPT ok".into();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(other)));
    let reason = story.json()["attempts"][0]["response"]["reason"].clone();
    assert!(!reason.as_str().unwrap().contains('\n'), "{reason}");
    assert_rejected_without_trust(&mut story);
}

fn assert_rejected_without_trust(story: &mut Story) {
    let response = story.json()["attempts"][0]["response"].clone();
    assert_eq!(response["response_decision"], "REJECT");
    assert_eq!(response["confidence_basis_points"], 0);
    assert_eq!(halt_reason(&story.given(story.complete())), Some(HaltReason::ResponseRejected));
}

#[test]
fn table_a_completed_loop_ends_as_its_response_was_decided() {
    use ExecutorResponseType::{Failure, Malformed, Partial, Success, Timeout};
    let table = [
        (Success, None, HaltReason::Completed, "ACCEPT", 8_500),
        (Success, Some("odd"), HaltReason::ResponseEscalated, "ACCEPT", 8_500),
        (Failure, None, HaltReason::ResponseRejected, "REJECT", 3_000),
        (Failure, Some("CRITICAL"), HaltReason::ResponseEscalated, "REJECT", 3_000),
        (Timeout, None, HaltReason::ResponseRejected, "REJECT", 2_000),
        (Partial, None, HaltReason::ResponseEscalated, "ESCALATE", 5_000),
        (Malformed, None, HaltReason::ResponseRejected, "REJECT", 1_000),
    ];
    for (status, error, reason, decision, confidence) in table {
        let mut story = Story::in_state(AwaitingResponse);
        let mut response = story.response(status);
        response.error = error.map(String::from);
        response.exit = Exit::Status(1);
        story.given(Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response)));
        assert_eq!(halt_reason(&story.given(story.complete())), Some(reason), "{status}");
        let attempt = story.json()["attempts"][0].clone();
        assert_eq!(attempt["response"]["response_type"], status.name());
        assert_eq!(attempt["response"]["response_decision"], decision);
        assert_eq!(attempt["response"]["confidence_basis_points"], confidence);
        assert_eq!(attempt["response"]["exit"]["status"], 1);
    }
}

#[test]
fn a_loop_is_completed_only_when_it_was_evaluated() {
    for state in [Init, Dispatched, AwaitingResponse] {
        let mut story = Story::in_state(state);
        let refusal = story.when(story.complete()).unwrap_err();
        assert_eq!(refusal.code(), "WRONG_STATE", "{state}");
    }
}

#[test]
fn what_a_person_reads_is_on_one_line_and_hides_nothing() {
    let mut story = Story::initialized_with(|c| c.command_line = "sh -c 'a\nb\u{202e}'".into());
    assert_eq!(story.json()["command_line"], "sh -c 'a\\u{a}b\\u{202e}'");
    story.advance_to(AwaitingResponse);
    let mut response = story.response(ExecutorResponseType::Failure);
    response.error = Some("line\nHALTED".into());
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response)));
    let reason = story.json()["attempts"][0]["response"]["execution_reason"].clone();
    assert_eq!(reason, "Executor error: line\\u{a}HALTED");
}

#[test]
fn a_loop_shows_who_began_it_and_when() {
    let story = Story::in_state(Halted);
    let json = story.json();
    assert_eq!(json["actor"]["kind"], "AUTOMATION");
    assert_eq!(json["actor"]["id"], "ci");
    assert_eq!(json["correlation"], "00112233445566778899aabbccddeeff");
    assert_eq!(json["started_sequence"], 1);
    assert_eq!(json["started_at"], "2026-01-25T16:00:00.000000000Z");
    assert_eq!(json["ended_sequence"], 12);
    assert_eq!(json["attempts"][0]["outputs"][0]["stream"], OutputStream::Stdout.name());
    assert_eq!(json["observer"]["loop_id"], json["loop_id"]);
}

#[test]
fn what_is_refused_leaves_no_trace_and_says_what_to_do() {
    let mut story = Story::in_state(Evaluated);
    let before: World = story.world.clone();
    let refusal: Refusal = story.when(story.retry()).unwrap_err();
    assert_eq!(refusal.code(), "RETRY_NOT_PERMITTED");
    assert!(refusal.to_string().contains("complete it"), "{refusal}");
    assert_eq!(story.world, before);
}

#[test]
fn evidence_items_must_be_plausible() {
    let mut story = Story::in_state(AwaitingResponse);
    let refusal = story.when(story.capture(vec![])).unwrap_err();
    assert_eq!(refusal.code(), "ITEM_COUNT");
    let nine = std::iter::repeat_n(output_item(b"x"), 9).collect();
    assert_eq!(story.when(story.capture(nine)).unwrap_err().code(), "ITEM_COUNT");
    let events: Vec<Event> = story.given(story.capture(vec![output_item(b"x"); 8]));
    assert_eq!(events.len(), 8);
}
