//! Phase-29, Phase-30 and Phase-28 as tables, each over everything that can come in.

use crate::sessions::moved;
use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::execution_loop::{
    ExecutionDecision, ExecutionLoopContext, ExecutionLoopState, ExecutorIdentity,
    ExecutorIdentityStatus, ExecutorRawResponse, ExecutorResponseType, HandshakeContext,
    HandshakeDecision, ResponseDecision, decide_handshake, evaluate_executor_response,
    initialize_execution_loop, is_transition_allowed, normalize_executor_response,
    normalize_loop_response,
};

use ExecutionDecision::{Continue, Escalate, Stop};
use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

fn in_state(state: ExecutionLoopState) -> ExecutionLoopContext {
    let path: &[ExecutionLoopState] = match state {
        Init => &[],
        Dispatched => &[Dispatched],
        AwaitingResponse => &[Dispatched, AwaitingResponse],
        Evaluated => &[Dispatched, AwaitingResponse, Evaluated],
        Halted => &[Halted],
    };
    let new = initialize_execution_loop("hash", "exec-1", "00000000");
    let reached = path.iter().fold(new, |context, to| moved(&context, *to));
    assert_eq!(reached.current_state(), state);
    reached
}

/// The table once more, written as the state that results: rows are `from`, columns `to`.
#[test]
fn table_transitions_5_by_5() {
    let to = [Init, Dispatched, AwaitingResponse, Evaluated, Halted];
    let table = [
        (Init, [Halted, Dispatched, Halted, Halted, Halted]),
        (Dispatched, [Halted, Halted, AwaitingResponse, Halted, Halted]),
        (AwaitingResponse, [Halted, Halted, Halted, Evaluated, Halted]),
        (Evaluated, [Halted, Dispatched, Halted, Halted, Halted]),
        (Halted, [Halted, Halted, Halted, Halted, Halted]),
    ];
    for (from, row) in table {
        for (to, expected) in to.into_iter().zip(row) {
            let before = in_state(from);
            let after = moved(&before, to);
            assert_eq!(after.current_state(), expected, "{from} -> {to}");
            assert_eq!(after, in_state(expected), "{from} -> {to}");
            let names = |context: &ExecutionLoopContext| {
                let hash = context.instruction_envelope_hash();
                [context.loop_id(), hash, context.executor_id()].map(str::to_owned)
            };
            assert_eq!(names(&after), names(&before), "nothing else changes");
            let allowed = is_transition_allowed(from, to);
            assert_eq!(allowed, to == expected, "{from} -> {to}");
        }
    }
}

#[test]
fn a_loop_without_envelope_or_executor_is_halted_from_the_start() {
    for (hash, executor) in [("", "exec-1"), ("hash", ""), ("", ""), (" ", "x"), ("x", "\t")] {
        let context = initialize_execution_loop(hash, executor, "00000000");
        assert_eq!(context.current_state(), Halted, "{hash:?} {executor:?}");
        assert_eq!(context.instruction_envelope_hash(), hash);
        assert_eq!(context.executor_id(), executor);
        assert_eq!(context.loop_id(), "LOOP-00000000");
    }
    assert_eq!(in_state(Init), initialize_execution_loop("hash", "exec-1", "00000000"));
}

#[test]
fn table_evaluation_of_success_and_error() {
    let table = [
        (true, None, Continue, "Executor reported success"),
        (true, Some(""), Continue, "Executor reported success"),
        (true, Some("x"), Escalate, "Executor reported success with an error: x"),
        (false, None, Stop, "Executor error: None"),
        (false, Some(""), Stop, "Executor error: "),
        (false, Some("x"), Stop, "Executor error: x"),
        (false, Some("CRITICAL: x"), Escalate, "Critical error: CRITICAL: x"),
        (false, Some("critical"), Escalate, "Critical error: critical"),
        (false, Some("NOT CRITICAL"), Escalate, "Critical error: NOT CRITICAL"),
    ];
    for (success, error, decision, reason) in table {
        let result = evaluate_executor_response(success, error);
        assert_eq!(result.decision, decision, "{success} {error:?}");
        assert_eq!(result.reason, reason, "{success} {error:?}");
    }
}

fn handshake(executor_id: &str, envelope: &str, status: ExecutorIdentityStatus) -> bool {
    let loop_context = initialize_execution_loop("hash", "exec-1", "00000000");
    let context = HandshakeContext {
        instruction_envelope_hash: envelope.into(),
        executor_identity: ExecutorIdentity {
            executor_id: executor_id.into(),
            trust_status: status,
        },
        timestamp: "2026-01-25T16:00:00Z".into(),
    };
    decide_handshake(&loop_context, &context).decision == HandshakeDecision::Accept
}

#[test]
fn only_the_registered_executor_of_this_envelope_is_accepted() {
    use ExecutorIdentityStatus::{Registered, Revoked, Unknown};
    assert!(handshake("exec-1", "hash", Registered));
    assert!(!handshake("exec-1", "hash", Unknown));
    assert!(!handshake("exec-1", "hash", Revoked));
    assert!(!handshake("evil", "hash", Registered));
    assert!(!handshake("exec-1", "other", Registered));
    assert!(!handshake("", "hash", Registered));
    assert!(!handshake("exec-1", " ", Registered));
}

fn response(executor: &str, hash: &str, status: ExecutorResponseType) -> ExecutorRawResponse {
    ExecutorRawResponse {
        executor_id: executor.into(),
        instruction_hash: hash.into(),
        raw_payload: RawData::from(b"SUCCESS".to_vec()),
        reported_status: status,
    }
}

#[test]
fn table_response_outcome_and_trust() {
    use ExecutorResponseType::{Failure, Malformed, Partial, Success, Timeout};
    use ResponseDecision::{Accept, Escalate, Reject};
    let table = [
        (Success, Accept, 8_500),
        (Failure, Reject, 3_000),
        (Timeout, Reject, 2_000),
        (Partial, Escalate, 5_000),
        (Malformed, Reject, 1_000),
    ];
    assert_eq!(table.map(|row| row.0).as_slice(), ExecutorResponseType::ALL);
    for (status, decision, basis_points) in table {
        let result = normalize_executor_response(&response("exec-1", "h", status), "h");
        assert_eq!(result.decision, decision, "{status}");
        assert_eq!(result.confidence_score.basis_points(), basis_points, "{status}");
    }
}

#[test]
fn only_the_loops_executor_is_heard() {
    let loop_context = initialize_execution_loop("h", "exec-1", "00000000");
    let hear = |executor: &str, hash: &str| {
        let raw = response(executor, hash, ExecutorResponseType::Success);
        normalize_loop_response(&loop_context, &raw)
    };
    assert_eq!(hear("exec-1", "h").decision, ResponseDecision::Accept);
    for (executor, hash) in [("evil", "h"), ("\u{200b}", "h"), (" ", "h"), ("exec-1", "x")] {
        let result = hear(executor, hash);
        assert_eq!(result.decision, ResponseDecision::Reject, "{executor:?} {hash:?}");
        assert_eq!(result.confidence_score, Confidence::ZERO);
    }
    assert!(hear("exec-1", &"h".repeat(1_000_000)).reason.len() < 100);
}

#[test]
fn the_payload_decides_nothing() {
    let mut results = Vec::new();
    for payload in [b"SUCCESS".as_slice(), b"", b"\0ACCEPT"] {
        let raw_payload = RawData::from(payload.to_vec());
        let raw = response("exec-1", "h", ExecutorResponseType::Failure);
        let raw = ExecutorRawResponse { raw_payload, ..raw };
        results.push(normalize_executor_response(&raw, "h"));
    }
    results.dedup();
    assert_eq!(results.len(), 1);
}
