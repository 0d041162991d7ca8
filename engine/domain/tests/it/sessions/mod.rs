//! Sessions and chains that several tests start from.

pub(crate) mod decisions;

use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{
    EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopContext, ExecutionLoopState, transition_execution_state,
};
use holdpoint_testing::chains::EvidenceChain;

/// When everything in these tests happens.
pub(crate) const AT: &str = "2026-01-25T16:00:00Z";

/// A complete session.
pub(crate) fn session() -> ObservationContext {
    ObservationContext {
        session_id: "OBS-00000001".into(),
        loop_id: "LOOP-00000001".into(),
        executor_id: "exec-1".into(),
        envelope_hash: "ab".repeat(32),
        created_at: AT.into(),
        is_halted: false,
    }
}

/// A halted session.
pub(crate) fn halted_session() -> ObservationContext {
    ObservationContext { is_halted: true, ..session() }
}

/// A loop in another state, or in HALTED where the table has no such transition.
pub(crate) fn moved(
    context: &ExecutionLoopContext,
    to_state: ExecutionLoopState,
) -> ExecutionLoopContext {
    let mut moved = context.clone();
    transition_execution_state(&mut moved, to_state);
    moved
}

/// Captures one more record.
pub(crate) fn capture(
    context: &ObservationContext,
    chain: &EvidenceChain,
    observation_point: ObservationPoint,
    raw: &[u8],
) -> EvidenceChain {
    let (evidence_type, raw_data) = (EvidenceType::StateTransition, RawData::from(raw.to_vec()));
    let offer = OfferedEvidence { observation_point, evidence_type, raw_data };
    let entropy = format!("{:08x}", chain.length);
    chain.capture(context, offer, AT, &entropy).expect("the chain is intact")
}

/// A chain of so many records.
pub(crate) fn chain_of(length: usize) -> EvidenceChain {
    let points = ObservationPoint::ALL.iter().copied().cycle();
    let empty = EvidenceChain::empty(&session(), "CHAIN-00000001");
    points.take(length).enumerate().fold(empty, |chain, (i, point)| {
        capture(&session(), &chain, point, format!("raw {i}").as_bytes())
    })
}
