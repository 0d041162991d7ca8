//! Events of `evidence_capture` (Phase-31). The raw bytes are hashed here and not kept.

use alloc::format;
use alloc::string::String;

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::event::{
    ChainSealed, EvidenceCaptured, EvidenceContent, ObserverAttached, StopConditionDetected,
};
use crate::evidence_capture::{
    ChainHead, ExtentFault, ObservationContext, ObservationPoint, RecordView, StopCondition,
    attach_observer, check_cut, may_capture,
};
use crate::execution_loop::ExecutionLoopState;
use crate::hash::Digest;
use crate::world::{Chain, ChainRecord, ExecutionLoop, StopDetected};

pub(super) fn observer_attached(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &ObserverAttached,
    judgement: &mut Judgement<'_>,
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
    judgement.expect(Rule::EvidenceTime, record.at.to_text().as_str(), &body.created_at);
    let head = ChainHead::genesis(&attached, &body.chain_id);
    entity.observer = Some(attached);
    entity.chain = Some(Chain::new(head));
}

pub(super) fn captured(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &EvidenceCaptured,
    judgement: &mut Judgement<'_>,
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
    check_extent(body, judgement);
    let evidence = record_view(body);
    let raw_sha256 = body.raw_data.sha256();
    let (index, prior) = (chain.head.length, chain.head.injective_head);
    let injective = evidence.injective_hash(chain.session(context), index, &prior, &raw_sha256);
    let links = check_link(chain, &evidence, judgement)
        & judgement.expect(Rule::ChainLink, injective, body.injective_hash);
    chain.is_broken |= !links;
    chain.head.advance(&body.self_hash, injective);
    chain.last_at = chain.last_at.max(Some(record.at));
    chain.records.push(chain_record(record, body, raw_sha256));
    note_content(entity, body);
}

/// Outputs and resources are shown with the attempt that they belong to.
fn note_content(entity: &mut ExecutionLoop, body: &EvidenceCaptured) {
    let Some(attempt) = entity.attempts.last_mut() else { return };
    attempt.outputs.extend(body.content.output());
    if let EvidenceContent::Resources(usage) = &body.content {
        attempt.resources = Some(*usage);
    }
}

/// Beginning, end and what is missing between them are the whole.
fn check_extent(body: &EvidenceCaptured, judgement: &mut Judgement<'_>) {
    let EvidenceContent::OutputCut(cut) = &body.content else { return };
    if let Err(fault) = check_cut(cut, body.raw_data.length()) {
        let ExtentFault { field, expected, found } = fault;
        judgement.forbid(Rule::OutputExtent, format!("{field}: {expected}"), found);
    }
}

fn check_place(chain: &Chain, body: &EvidenceCaptured, judgement: &mut Judgement<'_>) {
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
    judgement: &mut Judgement<'_>,
) {
    judgement.expect(Rule::EvidenceTime, record.at.to_text().as_str(), &body.timestamp);
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
    judgement: &mut Judgement<'_>,
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
fn check_link(chain: &Chain, evidence: &RecordView<'_>, judgement: &mut Judgement<'_>) -> bool {
    let prior =
        judgement.expect(Rule::ChainLink, chain.head.head_hash.as_str(), evidence.prior_hash);
    let hash = evidence.seed_hash();
    let is_own = hash.is_text(evidence.self_hash);
    if !is_own {
        judgement.forbid(Rule::ChainLink, hash, evidence.self_hash);
    }
    prior & is_own
}

/// What Phase-31's hashes are made of.
fn record_view(body: &EvidenceCaptured) -> RecordView<'_> {
    RecordView {
        record_id: &body.record_id,
        observation_point: body.observation_point,
        evidence_type: body.evidence_type,
        timestamp: &body.timestamp,
        raw_data: body.raw_data.as_bytes(),
        prior_hash: &body.prior_hash,
        self_hash: &body.self_hash,
        offered: body.offered.as_ref().map(|offered| {
            (offered.observation_point, offered.evidence_type, offered.raw_data.as_bytes())
        }),
    }
}

fn chain_record(record: Record<'_>, body: &EvidenceCaptured, raw_sha256: Digest) -> ChainRecord {
    ChainRecord {
        record_id: body.record_id.clone(),
        observation_point: body.observation_point,
        evidence_type: body.evidence_type,
        timestamp: body.timestamp.clone(),
        raw_length: body.raw_data.length(),
        raw_sha256,
        prior_hash: body.prior_hash.clone(),
        self_hash: body.self_hash.clone(),
        injective_hash: body.injective_hash,
        content: body.content.clone(),
        sequence: record.sequence,
    }
}

pub(super) fn stop_detected(
    entity: &mut ExecutionLoop,
    body: &StopConditionDetected,
    judgement: &mut Judgement<'_>,
) {
    if entity.state() == ExecutionLoopState::Halted {
        judgement.forbid(Rule::HaltedIsFinal, "nothing after HALTED", body.condition);
        return;
    }
    let details = String::from(body.details.as_str());
    entity.stop = Some(StopDetected { condition: body.condition, details });
}

pub(super) fn sealed(
    entity: &mut ExecutionLoop,
    body: &ChainSealed,
    judgement: &mut Judgement<'_>,
) {
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
