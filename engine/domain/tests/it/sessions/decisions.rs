//! Requests, records and audit trails that several tests start from.

use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};
use holdpoint_domain::execution_loop::{ExecutionLoopState, ExecutorResponseType, Exit};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerMeans, EvidenceSummary, HumanDecision, HumanDecisionBinding,
    HumanDecisionRecord, HumanDecisionRequest, HumanDecisionTimeout, ObservedAttempt,
    RequestContext, accept_decision, create_request,
};
use holdpoint_testing::chains::DecisionTrail;

use super::AT;

/// When everything in these tests happens.
pub(crate) fn at() -> Timestamp {
    AT.parse().unwrap()
}

/// So many seconds later.
pub(crate) fn after(seconds: u64) -> Timestamp {
    Timestamp::from_nanoseconds(at().nanoseconds() + seconds * 1_000_000_000)
}

/// What is shown of an evaluated loop.
pub(crate) fn summary() -> EvidenceSummary {
    EvidenceSummary {
        observation_point: ObservationPoint::PostEvaluate,
        evidence_type: EvidenceType::StateTransition,
        timestamp: AT.into(),
        chain_length: 3,
        execution_state: ExecutionLoopState::Evaluated,
        confidence_score: Confidence::from_basis_points(8_500).unwrap(),
        chain_hash: sha256(b"head").to_string().into(),
        observed: Some(ObservedAttempt {
            attempts_max: 3,
            exit: Exit::Status(1),
            duration_ns: Some(3_200_000_000),
            fault_type: None,
        }),
    }
}

/// A request in this state, with five minutes' time.
pub(crate) fn request_in(state: ExecutionLoopState) -> HumanDecisionRequest {
    let summary = EvidenceSummary { execution_state: state, ..summary() };
    create_request("OBS-1", summary, HumanDecisionTimeout::DEFAULT, at(), "1").unwrap()
}

/// A request about an evaluated loop.
pub(crate) fn request() -> HumanDecisionRequest {
    request_in(ExecutionLoopState::Evaluated)
}

/// The circumstances of a request.
pub(crate) fn context() -> RequestContext {
    RequestContext {
        loop_id: "LOOP-1".into(),
        attempt: 1,
        command_line: "make test".into(),
        executor_claim: ExecutorResponseType::Failure,
        self_hash: sha256(b"head").to_string().into(),
        prior_hash: "".into(),
        escalation_depth: 0,
        asked_of: None,
        escalated_from: None,
    }
}

/// A complete answer of alice.
pub(crate) fn accepted(decision: HumanDecision) -> HumanDecisionRecord {
    accept_decision(&request(), decision, "alice", Some("r"), Some("boss"), AT, "1").unwrap()
}

/// A trail of so many answers to as many requests.
pub(crate) fn audit_of(length: usize) -> DecisionTrail {
    let decisions = HumanDecision::ALL.iter().cycle();
    let empty = DecisionTrail::empty("AUDIT-1", "OBS-1");
    decisions.take(length).enumerate().fold(empty, |audit, (i, decision)| {
        let mut record = accepted(*decision);
        record.decision_id = format!("DEC-{i}").into();
        record.request_id = format!("REQ-{i}").into();
        audit.with(record)
    })
}

/// What those answers bind: something else each.
pub(crate) fn bindings(length: usize) -> Vec<HumanDecisionBinding> {
    let means = AnswerMeans { channel: AnswerChannel::Terminal, detail: "/dev/pts/3".into() };
    let binding = |i: usize| HumanDecisionBinding {
        shown: sha256(&i.to_be_bytes()),
        means: Some(means.clone()),
    };
    (0..length).map(binding).collect()
}
