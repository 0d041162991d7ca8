//! Given, when, then: faults and retries (Phase-21).

use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopState, HaltReason, InitializeLoop,
};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, RetryPolicy, SandboxDecided, SandboxFaultCommand, SandboxFaultEvent,
};
use holdpoint_domain::{Command, Event};
use holdpoint_testing::story::{SECRET, Story, halt, halt_reason, names};

use ExecutionFaultType::{
    Crash, InvalidResponse, Partial, ResourceExhausted, SecurityViolation, Timeout,
};
use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// A loop awaiting the response to this attempt, the attempts before it having crashed.
fn on_attempt(attempt: u8, max_attempts: u8, ceiling: RetryPolicy) -> Story {
    let mut story = Story::initialized_with(|command: &mut InitializeLoop| {
        command.max_attempts = max_attempts;
        command.retry_ceiling = ceiling;
    });
    story.advance_to(AwaitingResponse);
    for _ in 1..attempt {
        story.given(story.fault(Crash));
        retry(&mut story);
    }
    story
}

fn retry(story: &mut Story) {
    story.given(story.retry());
    story.given(story.await_response());
    story.given(story.output(SECRET));
}

fn decided(events: &[Event]) -> &SandboxDecided {
    let found = events.iter().find_map(|event| match event {
        Event::SandboxFault(SandboxFaultEvent::SandboxDecided(body)) => Some(body),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn table_every_fault_on_every_attempt_under_every_maximum() {
    for max in 1..=3 {
        for attempt in 1..=max {
            for fault in ExecutionFaultType::ALL {
                let mut story = on_attempt(attempt, max, RetryPolicy::RetryLimited);
                let events = story.given(story.fault(*fault));
                let (code, decision) = match fault {
                    SecurityViolation => ("SBX-001", "TERMINATE"),
                    ResourceExhausted => ("SBX-002", "ESCALATE"),
                    Partial | InvalidResponse => ("SBX-003", "TERMINATE"),
                    Crash | Timeout if attempt < max => ("SBX-OK", "RETRY"),
                    Crash | Timeout => ("SBX-004", "TERMINATE"),
                };
                let found = decided(&events);
                assert_eq!(found.reason_code.as_str(), code, "{fault} {attempt}/{max}");
                assert_eq!(found.sandbox_decision.name(), decision);
                let halted = halt(&events).map(|body| (body.reason, body.fault_type));
                let expected = (HaltReason::FaultTerminated, Some(*fault));
                assert_eq!(halted, (decision == "TERMINATE").then_some(expected));
            }
        }
    }
}

#[test]
fn a_terminated_fault_is_one_batch_from_report_to_seal() {
    let mut story = on_attempt(1, 1, RetryPolicy::RetryLimited);
    let events = story.given(story.fault(Crash));
    let expected = [
        "fault_reported",
        "sandbox_decided",
        "evidence_captured",
        "response_evaluated",
        "evidence_captured",
        "evidence_captured",
        "halted",
        "chain_sealed",
    ];
    assert_eq!(names(&events), expected);
    let json = story.json();
    assert_eq!(json["halt_reason"], "FAULT_TERMINATED");
    assert_eq!(json["halt_fault"], "CRASH");
    let attempt = &json["attempts"][0];
    assert_eq!(attempt["fault"]["fault_type"], "CRASH");
    assert_eq!(attempt["fault"]["outcome"]["reason_code"], "SBX-004");
    assert_eq!(attempt["fault"]["outcome"]["sandbox_decision"], "TERMINATE");
    assert_eq!(attempt["response"]["response_decision"], "REJECT");
    assert_eq!(attempt["response"]["exit"]["signal"], 11);
}

/// Phase-21: crash, timeout and partial are not success, and neither is any other fault.
#[test]
fn table_no_fault_is_success() {
    for fault in ExecutionFaultType::ALL {
        let mut story = on_attempt(1, 3, RetryPolicy::RetryLimited);
        story.given(story.fault(*fault));
        let response = story.json()["attempts"][0]["response"].clone();
        let expected = match fault {
            Timeout => ("TIMEOUT", "REJECT"),
            Partial => ("PARTIAL", "ESCALATE"),
            InvalidResponse => ("MALFORMED", "REJECT"),
            Crash | ResourceExhausted | SecurityViolation => ("FAILURE", "REJECT"),
        };
        assert_eq!(response["response_type"], expected.0);
        assert_eq!(response["response_decision"], expected.1);
        assert_ne!(response["execution_decision"], "CONTINUE");
    }
}

#[test]
fn a_retry_is_dispatched_only_by_permission_and_names_it() {
    let mut story = on_attempt(1, 3, RetryPolicy::RetryLimited);
    let events = story.given(story.fault(Timeout));
    let fault_id = decided(&events).fault_id.clone();
    let events = story.given(story.retry());
    assert_eq!(names(&events), ["evidence_captured", "dispatched", "evidence_captured"]);
    let json = story.json();
    assert_eq!(json["attempts"][1]["number"], 2);
    assert_eq!(json["attempts"][1]["permitted_by_fault"], fault_id.as_str());
}

#[test]
fn attempts_end_with_the_maximum() {
    for max in 1..=3 {
        let mut story = on_attempt(max, max, RetryPolicy::RetryLimited);
        let events = story.given(story.fault(Crash));
        assert_eq!(decided(&events).reason_code.as_str(), "SBX-004");
        assert_eq!(story.json()["attempts"].as_array().unwrap().len(), usize::from(max));
        assert_eq!(story.when(story.retry()).unwrap_err().code(), "LOOP_NOT_LIVE");
    }
}

#[test]
fn retry_once_is_two_attempts_whatever_the_maximum() {
    let mut story = on_attempt(1, 3, RetryPolicy::RetryOnce);
    let events = story.given(story.fault(Crash));
    assert_eq!(decided(&events).retry_policy, RetryPolicy::RetryOnce);
    retry(&mut story);
    let events = story.given(story.fault(Crash));
    assert_eq!(decided(&events).reason_code.as_str(), "SBX-004");
    assert_eq!(halt_reason(&events), Some(HaltReason::FaultTerminated));
}

#[test]
fn a_ceiling_only_narrows() {
    let table = [
        (RetryPolicy::NoRetry, Crash, "TERMINATE"),
        (RetryPolicy::HumanDecision, Crash, "ESCALATE"),
        (RetryPolicy::RetryLimited, SecurityViolation, "TERMINATE"),
        (RetryPolicy::RetryLimited, Partial, "TERMINATE"),
        (RetryPolicy::RetryLimited, ResourceExhausted, "ESCALATE"),
    ];
    for (ceiling, fault, decision) in table {
        let mut story = on_attempt(1, 3, ceiling);
        let events = story.given(story.fault(fault));
        assert_eq!(decided(&events).sandbox_decision.name(), decision, "{ceiling} {fault}");
    }
}

#[test]
fn what_phase_21_did_not_permit_is_not_retried() {
    let mut story = on_attempt(1, 3, RetryPolicy::RetryLimited);
    story.given(story.fault(ResourceExhausted));
    let refusal = story.when(story.retry()).unwrap_err();
    assert_eq!(refusal.code(), "RETRY_NOT_PERMITTED");
    assert!(refusal.to_string().contains("RESOURCE_EXHAUSTED"), "{refusal}");
    let events = story.given(story.complete());
    assert_eq!(halt_reason(&events), Some(HaltReason::FaultEscalated));
}

#[test]
fn a_permission_need_not_be_taken() {
    let mut story = on_attempt(1, 3, RetryPolicy::RetryLimited);
    story.given(story.fault(Crash));
    let events = story.given(story.complete());
    assert_eq!(halt_reason(&events), Some(HaltReason::FaultNotRetried));
    assert_eq!(halt(&events).unwrap().fault_type, Some(Crash));
}

/// W15: a fault of another attempt is refused.
#[test]
fn a_fault_belongs_to_the_attempt_that_runs() {
    let mut story = on_attempt(2, 3, RetryPolicy::RetryLimited);
    for attempt in [0, 1, 3, 99] {
        let fault =
            Command::SandboxFault(SandboxFaultCommand::ReportFault(story.fault_of(Crash, attempt)));
        assert_eq!(story.when(fault).unwrap_err().code(), "FAULT_ELSEWHERE", "{attempt}");
    }
    story.given(story.fault(Crash));
}

#[test]
fn a_fault_in_another_state_is_an_illegal_transition() {
    for state in [Init, Dispatched, Evaluated] {
        let mut story = Story::in_state(state);
        let events = story.given(story.fault(Crash));
        assert_eq!(halt_reason(&events), Some(HaltReason::IllegalTransition), "{state}");
        assert_eq!(story.entity().state(), Halted);
    }
}

#[test]
fn a_fault_needs_its_raw_output_first() {
    let mut story = Story::in_state(Dispatched);
    story.given(story.await_response());
    assert_eq!(story.when(story.fault(Crash)).unwrap_err().code(), "RAW_OUTPUT_MISSING");
}

/// Stop conditions are checked again before every further attempt.
#[test]
fn a_retry_is_checked_like_a_first_attempt() {
    let mut story = on_attempt(1, 3, RetryPolicy::RetryLimited);
    story.given(story.fault(Crash));
    let Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(mut retry)) = story.retry() else {
        panic!("a retry")
    };
    retry.facts.human_abort_signaled = Some(true);
    let events = story.given(Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(retry)));
    assert_eq!(halt_reason(&events), Some(HaltReason::StopCondition));
}
