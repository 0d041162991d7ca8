//! Events of `evidence_capture` (Phase-31). The raw bytes are hashed here and not kept.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::event::{
    ChainSealed, EvidenceCaptured, EvidenceContent, ObserverAttached, StopConditionDetected,
};
use crate::evidence_capture::{
    ChainHead, EvidenceRecord, ObservationContext, ObservationPoint, OfferedEvidence,
    StopCondition, attach_observer, evidence_hash, may_capture,
};
use crate::execution_loop::ExecutionLoopState;
use crate::world::{Chain, ChainRecord, ExecutionLoop, StopDetected};

pub(super) fn observer_attached(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &ObserverAttached,
    judgement: &mut Judgement,
) {
    if entity.observer.is_some() {
        judgement.forbid(Rule::Observer, "one observer", "another");
        return;
    }
    let context = ObservationContext {
        session_id: String::from(body.session_id.as_str()),
        loop_id: String::from(body.loop_id.as_str()),
        executor_id: String::from(body.executor_id.as_str()),
        envelope_hash: String::from(body.envelope_hash.as_str()),
        created_at: String::from(body.created_at.as_str()),
        is_halted: false,
    };
    let attached = attach_observer(&entity.context, &context);
    judgement.expect(Rule::Observer, attached.is_halted, body.is_halted);
    judgement.expect(Rule::EvidenceTime, record.at.to_string().as_str(), &body.created_at);
    let head = ChainHead::genesis(&attached, &body.chain_id);
    entity.observer = Some(attached);
    entity.chain = Some(Chain { head, records: Vec::new(), last_at: None, is_broken: false });
}

pub(super) fn captured(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &EvidenceCaptured,
    judgement: &mut Judgement,
) {
    let state = entity.state();
    let (Some(context), Some(chain)) = (&entity.observer, &mut entity.chain) else {
        judgement.forbid(Rule::ChainPlace, "a chain with an observer", "none");
        return;
    };
    if chain.head.is_sealed {
        judgement.forbid(Rule::Seal, "no evidence after the seal", &body.record_id);
        return;
    }
    check_place(chain, body, judgement);
    check_time(chain, record, body, judgement);
    check_point(state, chain, body, judgement);
    let evidence = evidence_record(body);
    let next = chain.head.after(context, &evidence);
    let links = check_link(chain, body, &evidence, judgement)
        & judgement.expect(Rule::ChainLink, next.injective_head, body.injective_hash);
    chain.is_broken |= !links;
    chain.head = next;
    chain.last_at = chain.last_at.max(Some(record.at));
    chain.records.push(chain_record(record, body));
    note_content(entity, body);
}

/// Outputs and resources are shown with the attempt that they belong to.
fn note_content(entity: &mut ExecutionLoop, body: &EvidenceCaptured) {
    let Some(attempt) = entity.attempts.last_mut() else { return };
    match &body.content {
        EvidenceContent::Output(extent) => attempt.outputs.push(extent.clone()),
        EvidenceContent::Resources(usage) => attempt.resources = Some(*usage),
        _ => {}
    }
}

fn check_place(chain: &Chain, body: &EvidenceCaptured, judgement: &mut Judgement) {
    judgement.expect(Rule::ChainPlace, chain.head.chain_id.as_str(), &body.chain_id);
    judgement.expect(Rule::ChainPlace, chain.head.length, body.index);
    if chain.contains(&body.record_id) {
        judgement.forbid(Rule::RecordId, "an id that is new in this chain", &body.record_id);
    }
}

/// Only the evidence that time went backwards may itself lie before the evidence before it.
fn check_time(
    chain: &Chain,
    record: Record<'_>,
    body: &EvidenceCaptured,
    judgement: &mut Judgement,
) {
    judgement.expect(Rule::EvidenceTime, record.at.to_string().as_str(), &body.timestamp);
    let excused = body.content == EvidenceContent::Stop(StopCondition::TimestampInvalid);
    if let Some(last) = chain.last_at.filter(|last| *last > record.at && !excused) {
        judgement.forbid(Rule::EvidenceTime, format!("{last} or later"), record.at);
    }
}

/// HALT_ENTRY is captured on the way into HALTED, and nothing but the halt follows it.
fn check_point(
    state: ExecutionLoopState,
    chain: &Chain,
    body: &EvidenceCaptured,
    judgement: &mut Judgement,
) {
    let (point, kind) = (body.observation_point, body.evidence_type);
    let newest = chain.records.last().map(|record| record.observation_point);
    let state_then = match point {
        ObservationPoint::HaltEntry => ExecutionLoopState::Halted,
        _ => state,
    };
    if newest == Some(ObservationPoint::HaltEntry)
        || state == ExecutionLoopState::Halted
        || !may_capture(state_then, point, kind)
    {
        let expected = format!("a row of the integration table for {state}");
        judgement.forbid(Rule::EvidencePlace, expected, format!("{point} {kind}"));
    }
}

/// Whether the evidence is linked as the seed has it.
fn check_link(
    chain: &Chain,
    body: &EvidenceCaptured,
    evidence: &EvidenceRecord,
    judgement: &mut Judgement,
) -> bool {
    let prior = judgement.expect(Rule::ChainLink, chain.head.head_hash.as_str(), &body.prior_hash);
    let expected = evidence_hash(evidence);
    prior & judgement.expect(Rule::ChainLink, expected.as_str(), &body.self_hash)
}

/// Phase-31's own record, which its hash functions take.
fn evidence_record(body: &EvidenceCaptured) -> EvidenceRecord {
    EvidenceRecord {
        record_id: String::from(body.record_id.as_str()),
        observation_point: body.observation_point,
        evidence_type: body.evidence_type,
        timestamp: String::from(body.timestamp.as_str()),
        raw_data: body.raw_data.as_raw_data().clone(),
        prior_hash: String::from(body.prior_hash.as_str()),
        self_hash: String::from(body.self_hash.as_str()),
        offered: body.offered.as_ref().map(|offered| OfferedEvidence {
            observation_point: offered.observation_point,
            evidence_type: offered.evidence_type,
            raw_data: offered.raw_data.as_raw_data().clone(),
        }),
    }
}

fn chain_record(record: Record<'_>, body: &EvidenceCaptured) -> ChainRecord {
    ChainRecord {
        record_id: String::from(body.record_id.as_str()),
        observation_point: body.observation_point,
        evidence_type: body.evidence_type,
        timestamp: String::from(body.timestamp.as_str()),
        raw_length: body.raw_data.length(),
        raw_sha256: body.raw_data.sha256(),
        prior_hash: String::from(body.prior_hash.as_str()),
        self_hash: String::from(body.self_hash.as_str()),
        injective_hash: body.injective_hash,
        content: body.content.clone(),
        sequence: record.sequence,
    }
}

pub(super) fn stop_detected(
    entity: &mut ExecutionLoop,
    body: &StopConditionDetected,
    judgement: &mut Judgement,
) {
    if entity.state() == ExecutionLoopState::Halted {
        judgement.forbid(Rule::HaltedIsFinal, "nothing after HALTED", body.condition);
        return;
    }
    let details = String::from(body.details.as_str());
    entity.stop = Some(StopDetected { condition: body.condition, details });
}

pub(super) fn sealed(entity: &mut ExecutionLoop, body: &ChainSealed, judgement: &mut Judgement) {
    judgement.expect(Rule::Seal, ExecutionLoopState::Halted, entity.state());
    let Some(chain) = &mut entity.chain else {
        judgement.forbid(Rule::Seal, "a chain", "none");
        return;
    };
    if chain.head.is_sealed {
        judgement.forbid(Rule::Seal, "one seal", "another");
    }
    let (head, seal) = chain.head.sealed();
    judgement.expect(Rule::Seal, seal.chain_id.as_str(), &body.chain_id);
    judgement.expect(Rule::Seal, seal.length, body.length);
    judgement.expect(Rule::Seal, chain.head.head_hash.as_str(), &body.head_hash);
    judgement.expect(Rule::Seal, seal.injective_head, body.injective_head);
    judgement.expect(Rule::Seal, seal.seal_hash, body.seal_hash);
    chain.head = head;
}
