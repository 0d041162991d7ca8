//! Plans of turns, and their commits.

use holdpoint_domain::Command;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::interruption_thread::{
    CommitTurn, DraftPlan, Heard, IntentHypothesis, InterruptCandidate, InterruptionThreadCommand,
    PartialTranscript, TakeTurn, TurnInput, TurnRequest,
};

/// What three engines say of a request about which they are sure, once the user has ended.
pub fn heard(request: &TurnRequest) -> Heard {
    let confidence_bp = BasisPoints::new(9_999).unwrap();
    let candidate = request.interruption.as_ref().map(|of| InterruptCandidate {
        phrase_id: of.phrase_id,
        t_event: of.t_event,
        confidence_bp: of.phrase_confidence_bp,
    });
    let intent_type = match &request.input {
        TurnInput::Intent { intent_type, .. } => Some(intent_type.clone()),
        _ => None,
    };
    let hypothesis = IntentHypothesis {
        subject_ref: request.subject_ref.clone(),
        intent_type,
        confidence_bp,
        subject_relation: request.interrupt_subject_relation,
        subject_relation_confidence_bp: request.interrupt_subject_relation_confidence_bp,
    };
    let transcript = PartialTranscript { text: "wait a moment".into(), is_final: true };
    Heard { candidate, transcript, hypothesis }
}

/// The key under which the plan of a turn is drafted here.
pub fn plan_key(of: &TakeTurn) -> String {
    format!("plan-{}", of.idempotency_key)
}

/// The plan of a turn.
pub fn drafted(of: &TakeTurn, heard: Heard) -> Command {
    let of = of.clone();
    Command::InterruptionThread(InterruptionThreadCommand::DraftPlan(DraftPlan {
        idempotency_key: plan_key(&of),
        tenant_id: of.tenant_id,
        correlation_id: of.correlation_id,
        turn_id: of.turn_id,
        session_id: of.session_id,
        user_id: of.user_id,
        device_id: of.device_id,
        work_order_id: of.work_order_id,
        work_order_status_snapshot: of.work_order_status_snapshot,
        pending_state: of.pending_state,
        heard: heard.into(),
        request: of.request,
    }))
}

/// The commit of a turn for which there is a plan.
pub fn committed(of: &TakeTurn, plan_key: &str, heard: Heard) -> Command {
    let of = of.clone();
    Command::InterruptionThread(InterruptionThreadCommand::CommitTurn(CommitTurn {
        tenant_id: of.tenant_id,
        correlation_id: of.correlation_id,
        turn_id: of.turn_id,
        session_id: of.session_id,
        user_id: of.user_id,
        device_id: of.device_id,
        work_order_id: of.work_order_id,
        work_order_status_snapshot: of.work_order_status_snapshot,
        pending_state: of.pending_state,
        idempotency_key: of.idempotency_key,
        plan_key: plan_key.into(),
        heard: heard.into(),
        lease_token_hash: of.lease_token_hash,
        request: of.request,
    }))
}
