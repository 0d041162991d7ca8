//! Evidence that is offered while a response is awaited, and events of `evidence_capture`
//! (Phase-31) as they change a loop. The raw bytes are hashed here and not kept.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::hash::Digest;
use crate::core::limits::{
    MAX_CHAIN_RECORDS, MAX_ITEMS_PER_CAPTURE, MAX_RAW_BYTES, RESERVED_CHAIN_RECORDS,
};
use crate::core::payload::Raw;
use crate::core::text::shown;
use crate::core::time::{TimeFault, check_follows};
use crate::evidence_capture::chain::{ChainHead, EvidenceHashes, RecordView};
use crate::evidence_capture::command::{CaptureEvidence, EvidenceItem};
use crate::evidence_capture::event::{
    ChainSealed, EvidenceCaptured, ObserverAttached, StopConditionDetected,
};
use crate::evidence_capture::integration::{LoopStep, may_capture};
use crate::evidence_capture::pieces::{OutputEnd, RecordedStream};
use crate::evidence_capture::rules::attach_own;
use crate::evidence_capture::state::{Chain, ChainRecord};
use crate::evidence_capture::types::{
    EvidenceContent, EvidenceType, ExtentFault, MAX_SNAPSHOTS_PER_ATTEMPT, ObservationContext,
    ObservationPoint, OutputCut, OutputExtent, ResourceSnapshot, StopCondition, check_cut,
};
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{ExecutionLoop, StopDetected};
use crate::governed::attempt::wrong_state;
use crate::governed::batch::{NO_TRANSITION, OnLoop};
use crate::governed::pieces;
use crate::governed::refusal::{LoopRefusal, Ruling};

/// The table allows free captures only in AWAITING_RESPONSE; what belongs to a transition is
/// captured with the transition.
pub(crate) fn capture(
    on: &mut OnLoop<'_>,
    recorded: &[RecordedStream],
    command: &CaptureEvidence,
) -> Ruling {
    if on.entity.state() != ExecutionLoopState::AwaitingResponse {
        let advice = "capture while a response is awaited";
        return Err(wrong_state(on.entity, ExecutionLoopState::AwaitingResponse, advice));
    }
    if !(1..=MAX_ITEMS_PER_CAPTURE).contains(&command.items.len()) {
        return Err(LoopRefusal::ItemCount { found: command.items.len() });
    }
    check_room(on.entity, command.items.len())?;
    let mut streams = recorded.to_vec();
    for item in &command.items {
        let (step, raw_data, content) = described(on.entity, &mut streams, item)?;
        on.batch.capture(step, raw_data, content)?;
    }
    Ok(())
}

/// A halt always fits: some records of every chain are kept for transitions.
fn check_room(entity: &ExecutionLoop, items: usize) -> Ruling {
    let length = entity.chain.as_ref().map_or(0, |chain| chain.head.length);
    let wanted = length.saturating_add(u64::try_from(items).unwrap_or(u64::MAX));
    if wanted > MAX_CHAIN_RECORDS - RESERVED_CHAIN_RECORDS {
        return Err(LoopRefusal::ChainFull { loop_id: String::from(entity.loop_id()) });
    }
    Ok(())
}

/// Captures snapshots in the order in which they were taken, as far as there is room: they take
/// none from what is captured of the end of an attempt.
pub(crate) fn snapshots(on: &mut OnLoop<'_>, offered: &[ResourceSnapshot]) -> Ruling {
    let known = on.entity.snapshots(on.entity.attempt_count()).count();
    let length = on.entity.chain.as_ref().map_or(0, |chain| chain.records.len());
    let room = CHAIN_BEFORE_THE_END.saturating_sub(length);
    let room = room.min(MAX_SNAPSHOTS_PER_ATTEMPT.saturating_sub(known));
    let mut before = on.entity.snapshots(on.entity.attempt_count()).next_back();
    for snapshot in offered.iter().take(room) {
        check_snapshot(on.entity, before, snapshot).map_err(|(field, expected, found)| {
            LoopRefusal::SnapshotContradicted { field, expected, found }
        })?;
        let content = EvidenceContent::Snapshot(*snapshot);
        on.batch.capture(LoopStep::ResourcesMeasured, snapshot.spelled_out(), content)?;
        before = Some(snapshot);
    }
    Ok(())
}

/// So many records of a chain may be there before the last snapshot.
const CHAIN_BEFORE_THE_END: usize =
    MAX_CHAIN_RECORDS as usize - 2 * RESERVED_CHAIN_RECORDS as usize;

/// Checks that a snapshot is of the attempt that runs, and behind the one before it. An error is
/// the part that is not so, what was expected and what was found.
fn check_snapshot(
    entity: &ExecutionLoop,
    before: Option<&ResourceSnapshot>,
    snapshot: &ResourceSnapshot,
) -> Result<(), (&'static str, String, String)> {
    let attempt = entity.attempt_count();
    if snapshot.attempt != attempt {
        return Err(("attempt", attempt.to_string(), snapshot.attempt.to_string()));
    }
    match before {
        Some(before) if snapshot.ran_ns <= before.ran_ns => {
            Err(("time", format!("above {}", before.ran_ns), snapshot.ran_ns.to_string()))
        }
        _ => Ok(()),
    }
}

fn judge_snapshot(entity: &ExecutionLoop, body: &EvidenceCaptured, checks: &mut RuleChecks) {
    let EvidenceContent::Snapshot(snapshot) = &body.content else { return };
    let rule = Rule::ResourceSnapshot;
    let before = entity.snapshots(entity.attempt_count()).next_back();
    if let Err((field, expected, found)) = check_snapshot(entity, before, snapshot) {
        checks.forbid(rule, format!("{field}: {expected}"), found);
    }
    let known = entity.snapshots(entity.attempt_count()).count();
    let at_most = format!("at most {MAX_SNAPSHOTS_PER_ATTEMPT} of an attempt");
    checks.demand(known < MAX_SNAPSHOTS_PER_ATTEMPT, rule, at_most, "another");
    if body.offered.is_some() {
        return;
    }
    checks.expect(rule, EvidenceType::ResourceSnapshot, body.evidence_type);
    let spelled = snapshot.spelled_out();
    let expected = String::from_utf8_lossy(&spelled).into_owned();
    checks.demand(spelled == body.raw_data.as_bytes(), rule, expected, "another text");
}

fn described(
    entity: &ExecutionLoop,
    streams: &mut Vec<RecordedStream>,
    item: &EvidenceItem,
) -> Result<(LoopStep, Raw, EvidenceContent), LoopRefusal> {
    match item {
        EvidenceItem::ExecutorOutput { stream, raw_data, true_length, whole_sha256 } => {
            let extent = OutputExtent {
                stream: *stream,
                true_length: *true_length,
                whole_sha256: *whole_sha256,
                truncated: *true_length > length_of(raw_data),
            };
            check_size(raw_data)?;
            let raw_data = Raw::hashed(raw_data.clone());
            check_output(&raw_data, &extent)?;
            Ok((LoopStep::OutputReceived, raw_data, EvidenceContent::Output(extent)))
        }
        EvidenceItem::ExecutorOutputCut {
            stream,
            raw_data,
            head_length,
            true_length,
            whole_sha256,
        } => {
            check_size(raw_data)?;
            let captured = length_of(raw_data);
            let cut = OutputCut {
                stream: *stream,
                true_length: *true_length,
                whole_sha256: *whole_sha256,
                head_length: *head_length,
                gap_length: true_length.saturating_sub(captured),
            };
            check_cut(&cut, captured).map_err(contradicted)?;
            let raw_data = Raw::hashed(raw_data.clone());
            Ok((LoopStep::OutputReceived, raw_data, EvidenceContent::OutputCut(cut)))
        }
        EvidenceItem::ResourceSnapshot(usage) => {
            let content = EvidenceContent::Resources(*usage);
            Ok((LoopStep::ResourcesMeasured, usage.spelled_out().into(), content))
        }
        EvidenceItem::TimestampEvent(raw_data) => {
            check_size(raw_data)?;
            Ok((LoopStep::TimeObserved, raw_data.clone().into(), EvidenceContent::Opaque))
        }
        EvidenceItem::ExecutorOutputPieces { stream, true_length, whole_sha256 } => {
            let end = OutputEnd { true_length: *true_length, whole_sha256: *whole_sha256 };
            let stated = pieces::stated(entity, streams, *stream, end)?;
            let raw_data = Raw::hashed(stated.spelled_out());
            Ok((LoopStep::OutputReceived, raw_data, EvidenceContent::OutputPieces(stated)))
        }
    }
}

fn check_size(raw_data: &[u8]) -> Ruling {
    match raw_data.len() {
        0..=MAX_RAW_BYTES => Ok(()),
        found => Err(LoopRefusal::EvidenceTooLarge { found }),
    }
}

/// Checks that what is said of the whole stream fits the bytes captured of it.
fn check_output(raw_data: &Raw, extent: &OutputExtent) -> Ruling {
    let captured = raw_data.length();
    if extent.true_length < captured {
        return Err(LoopRefusal::OutputContradicted {
            field: "length",
            expected: format!("at least {captured}"),
            found: extent.true_length.to_string(),
        });
    }
    let expected = raw_data.sha256();
    if !extent.truncated && extent.whole_sha256 != expected {
        return Err(LoopRefusal::OutputContradicted {
            field: "SHA-256",
            expected: expected.to_string(),
            found: extent.whole_sha256.to_string(),
        });
    }
    Ok(())
}

fn contradicted(fault: ExtentFault) -> LoopRefusal {
    let ExtentFault { field, expected, found } = fault;
    LoopRefusal::OutputContradicted { field, expected, found: found.to_string() }
}

fn length_of(raw_data: &[u8]) -> u64 {
    u64::try_from(raw_data.len()).unwrap_or(u64::MAX)
}

/// The first observer counts.
pub(crate) fn observer_attached(entity: &mut ExecutionLoop, body: &ObserverAttached) {
    if entity.observer.is_none() {
        let attached = attached(entity, body);
        entity.chain = Some(Chain::new(ChainHead::genesis(&attached, &body.chain_id)));
        entity.observer = Some(attached);
    }
}

/// The observer as it is attached: halted where it does not fit the loop.
fn attached(entity: &ExecutionLoop, body: &ObserverAttached) -> ObservationContext {
    let context = ObservationContext {
        session_id: String::from(body.session_id.as_str()),
        loop_id: String::from(body.loop_id.as_str()),
        executor_id: String::from(body.executor_id.as_str()),
        envelope_hash: String::from(body.envelope_hash.as_str()),
        created_at: String::from(body.created_at.as_str()),
        is_halted: false,
    };
    attach_own(&entity.context, context)
}

pub(crate) fn judge_observer_attached(
    entity: &ExecutionLoop,
    record: Record<'_>,
    body: &ObserverAttached,
    checks: &mut RuleChecks,
) {
    if checks.demand(entity.observer.is_none(), Rule::Observer, "one observer", "another") {
        checks.expect(Rule::Observer, attached(entity, body).is_halted, body.is_halted);
        checks.expect(Rule::EvidenceTime, record.at.to_text().as_str(), &body.created_at);
    }
}

/// A broken chain is a stop condition: evidence is hashed whoever wrote it.
pub(crate) fn captured(entity: &mut ExecutionLoop, record: Record<'_>, body: &EvidenceCaptured) {
    let (Some(context), Some(chain)) = (&entity.observer, &mut entity.chain) else { return };
    if chain.head.is_sealed {
        return;
    }
    let hashes = hashes(chain, context, record, body);
    let [raw_sha256, _, injective] = hashes;
    chain.is_broken |= !is_linked(chain, hashes, body, &mut RuleChecks::unheard());
    chain.head.advance(&body.self_hash, injective);
    chain.last_at = chain.last_at.max(Some(record.at));
    chain.push(chain_record(record, body, raw_sha256));
    note_content(entity, body);
}

pub(crate) fn judge_captured(
    entity: &ExecutionLoop,
    record: Record<'_>,
    body: &EvidenceCaptured,
    checks: &mut RuleChecks,
) {
    let (Some(context), Some(chain)) = (&entity.observer, &entity.chain) else {
        checks.forbid(Rule::ChainPlace, "a chain with an observer", "none");
        return;
    };
    if chain.head.is_sealed {
        checks.forbid(Rule::Seal, "no evidence after the seal", &body.record_id);
        return;
    }
    check_place(chain, body, checks);
    check_time(chain, record, body, checks);
    check_point(entity.state(), chain, body, checks);
    check_extent(body, checks);
    judge_snapshot(entity, body, checks);
    let hashes = hashes(chain, context, record, body);
    check_content(body, hashes, checks);
    is_linked(chain, hashes, body, checks);
}

/// What is said of raw bytes besides them is what they say.
fn check_content(body: &EvidenceCaptured, [raw_sha256, ..]: [Digest; 3], checks: &mut RuleChecks) {
    let (raw, length) = (body.raw_data.as_bytes(), body.raw_data.length());
    let mut demand = |holds: bool, stated: &dyn Display| {
        if !holds {
            let raw = String::from_utf8_lossy(raw);
            let expected =
                format!("what {length} bytes, SHA-256 {raw_sha256}, say: {}", shown(&raw));
            checks.forbid(Rule::EvidenceCopy, expected, stated);
        }
    };
    match &body.content {
        _ if body.offered.is_some() => {}
        EvidenceContent::Resources(usage) => {
            let stated = usage.spelled_out();
            demand(raw == stated, &String::from_utf8_lossy(&stated));
        }
        EvidenceContent::Decision(decision) => demand(raw == decision.name().as_bytes(), decision),
        EvidenceContent::Stop(condition) => {
            demand(raw.starts_with(condition.name().as_bytes()), condition);
        }
        EvidenceContent::Output(OutputExtent { true_length, whole_sha256, truncated, .. }) => {
            let is_whole = (*true_length, *whole_sha256) == (length, raw_sha256);
            let holds = if *truncated { *true_length > length } else { is_whole };
            demand(holds, &format_args!("{true_length} bytes, SHA-256 {whole_sha256}"));
        }
        EvidenceContent::Transition { from, to } => {
            let stated = format!("{from} -> {to}");
            demand(raw.starts_with(stated.as_bytes()) || is_other_halt(raw, *to), &stated);
        }
        EvidenceContent::Opaque
        | EvidenceContent::Instruction
        | EvidenceContent::OutputCut(_)
        | EvidenceContent::OutputPieces(_)
        | EvidenceContent::Snapshot(_) => {}
    }
}

/// Returns whether the raw bytes of a halt say why it came, and not that another transition did.
fn is_other_halt(raw: &[u8], to: ExecutionLoopState) -> bool {
    let states = ExecutionLoopState::ALL;
    let begins = |from: &ExecutionLoopState, to: &ExecutionLoopState| {
        raw.starts_with(format!("{from} -> {to}").as_bytes())
    };
    let says_transition = states.iter().any(|from| states.iter().any(|to| begins(from, to)));
    to == ExecutionLoopState::Halted
        && (!says_transition || raw.ends_with(NO_TRANSITION.as_bytes()))
}

/// Returns what binds the evidence to its place in the chain: whoever judges and applies hashes
/// once.
fn hashes(
    chain: &Chain,
    context: &ObservationContext,
    record: Record<'_>,
    body: &EvidenceCaptured,
) -> [Digest; 3] {
    *record.hashes.get_or_init(|| {
        let known = record.known_hashes;
        let [raw_sha256, seed_hash] = known.unwrap_or_else(|| EvidenceHashes::of(body).0);
        let evidence = RecordView::of_event(body);
        let injective = evidence.injective_hash(chain.session(context), &chain.head, &raw_sha256);
        [raw_sha256, seed_hash, injective]
    })
}

/// The hashes that evidence states of itself, where that of its raw bytes is known: what `decide`
/// made is as it says.
pub(crate) fn stated_hashes(body: &EvidenceCaptured) -> Option<[Digest; 3]> {
    let raw_sha256 = body.raw_data.known_sha256()?;
    let seed_hash = body.self_hash.parse().ok()?;
    debug_assert_eq!(EvidenceHashes([raw_sha256, seed_hash]), EvidenceHashes::of(body));
    Some([raw_sha256, seed_hash, body.injective_hash])
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
fn check_extent(body: &EvidenceCaptured, checks: &mut RuleChecks) {
    let EvidenceContent::OutputCut(cut) = &body.content else { return };
    if let Err(fault) = check_cut(cut, body.raw_data.length()) {
        let ExtentFault { field, expected, found } = fault;
        checks.forbid(Rule::OutputExtent, format!("{field}: {expected}"), found);
    }
}

fn check_place(chain: &Chain, body: &EvidenceCaptured, checks: &mut RuleChecks) {
    checks.expect(Rule::ChainPlace, chain.head.chain_id.as_str(), &body.chain_id);
    checks.expect(Rule::ChainPlace, chain.head.length, body.index);
    if chain.contains(&body.record_id) {
        checks.forbid(Rule::RecordId, "an id that is new in this chain", &body.record_id);
    }
}

/// Only the evidence that time went backwards may itself lie before the evidence before it.
fn check_time(chain: &Chain, record: Record<'_>, body: &EvidenceCaptured, checks: &mut RuleChecks) {
    checks.expect(Rule::EvidenceTime, record.at.to_text().as_str(), &body.timestamp);
    let excused = body.content == EvidenceContent::Stop(StopCondition::TimestampInvalid);
    let order = check_follows(chain.last_at.filter(|_| !excused), record.at);
    if let Err(TimeFault::Backwards { expected, found }) = order {
        checks.forbid(Rule::EvidenceTime, format_args!("{expected} or later"), found);
    }
}

/// HALT_ENTRY is captured on the way into HALTED, and nothing but the halt follows it.
fn check_point(
    state: ExecutionLoopState,
    chain: &Chain,
    body: &EvidenceCaptured,
    checks: &mut RuleChecks,
) {
    let (point, kind) = (body.observation_point, body.evidence_type);
    let newest = chain.records.last().map(|record| record.observation_point);
    let is_entry = point == ObservationPoint::HaltEntry;
    let state_then = if is_entry { ExecutionLoopState::Halted } else { state };
    if newest == Some(ObservationPoint::HaltEntry)
        || state == ExecutionLoopState::Halted
        || !may_capture(state_then, point, kind)
    {
        let expected = format!("a row of the integration table for {state}");
        checks.forbid(Rule::EvidencePlace, expected, format!("{point} {kind}"));
    }
}

/// Returns whether the evidence is linked, as the seed has it and by the injective hash.
fn is_linked(
    chain: &Chain,
    [_, hash, injective]: [Digest; 3],
    body: &EvidenceCaptured,
    checks: &mut RuleChecks,
) -> bool {
    let link = chain.head.link(&RecordView::of_event(body), &hash);
    if let Err(finding) = &link {
        checks.forbid(Rule::ChainLink, &finding.expected, &finding.found);
    }
    link.is_ok() & checks.expect(Rule::ChainLink, injective, body.injective_hash)
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

pub(crate) fn stop_detected(entity: &mut ExecutionLoop, body: &StopConditionDetected) {
    if entity.state() != ExecutionLoopState::Halted {
        let details = String::from(body.details.as_str());
        entity.stop = Some(StopDetected { condition: body.condition, details });
    }
}

pub(crate) fn sealed(entity: &mut ExecutionLoop) {
    if let Some(chain) = &mut entity.chain {
        chain.head.is_sealed = true;
    }
}

pub(crate) fn judge_sealed(entity: &ExecutionLoop, body: &ChainSealed, checks: &mut RuleChecks) {
    checks.expect(Rule::Seal, ExecutionLoopState::Halted, entity.state());
    let Some(chain) = &entity.chain else {
        checks.forbid(Rule::Seal, "a chain", "none");
        return;
    };
    checks.demand(!chain.head.is_sealed, Rule::Seal, "one seal", "another");
    let (_, seal) = chain.head.sealed();
    checks.expect(Rule::Seal, seal.chain_id.as_str(), &body.chain_id);
    checks.expect(Rule::Seal, seal.length, body.length);
    checks.expect(Rule::Seal, chain.head.head_hash.as_str(), &body.head_hash);
    checks.expect(Rule::Seal, seal.injective_head, body.injective_head);
    checks.expect(Rule::Seal, seal.seal_hash, body.seal_hash);
}
