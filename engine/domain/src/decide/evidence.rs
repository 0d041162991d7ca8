//! Evidence that is offered while a response is awaited.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::batch::Batch;
use super::dispatch::wrong_state;
use crate::command::{CaptureEvidence, EvidenceItem};
use crate::event::{EvidenceContent, OutputCut, OutputExtent, Raw, ResourceUsage};
use crate::evidence_capture::{ExtentFault, LoopStep, check_cut};
use crate::execution_loop::ExecutionLoopState;
use crate::limits::{
    MAX_CHAIN_RECORDS, MAX_ITEMS_PER_CAPTURE, MAX_RAW_BYTES, RESERVED_CHAIN_RECORDS,
};
use crate::refusal::Refusal;
use crate::world::ExecutionLoop;

/// The table allows free captures only in AWAITING_RESPONSE; what belongs to a transition is
/// captured with the transition.
pub(super) fn capture(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &CaptureEvidence,
) -> Result<(), Refusal> {
    if entity.state() != ExecutionLoopState::AwaitingResponse {
        let advice = "capture while a response is awaited";
        return Err(wrong_state(entity, ExecutionLoopState::AwaitingResponse, advice));
    }
    if !(1..=MAX_ITEMS_PER_CAPTURE).contains(&command.items.len()) {
        return Err(Refusal::ItemCount { found: command.items.len() });
    }
    check_room(entity, command.items.len())?;
    for item in &command.items {
        let (step, raw_data, content) = described(item)?;
        batch.capture(step, raw_data, content)?;
    }
    Ok(())
}

/// A halt always fits: some records of every chain are kept for transitions.
fn check_room(entity: &ExecutionLoop, items: usize) -> Result<(), Refusal> {
    let length = entity.chain.as_ref().map_or(0, |chain| chain.head.length);
    let wanted = length.saturating_add(u64::try_from(items).unwrap_or(u64::MAX));
    if wanted > MAX_CHAIN_RECORDS - RESERVED_CHAIN_RECORDS {
        return Err(Refusal::ChainFull { loop_id: String::from(entity.loop_id()) });
    }
    Ok(())
}

fn described(item: &EvidenceItem) -> Result<(LoopStep, Raw, EvidenceContent), Refusal> {
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
            Ok((LoopStep::ResourcesMeasured, spelled_out(usage).into(), content))
        }
        EvidenceItem::TimestampEvent(raw_data) => {
            check_size(raw_data)?;
            Ok((LoopStep::TimeObserved, raw_data.clone().into(), EvidenceContent::Opaque))
        }
    }
}

fn check_size(raw_data: &[u8]) -> Result<(), Refusal> {
    match raw_data.len() {
        0..=MAX_RAW_BYTES => Ok(()),
        found => Err(Refusal::EvidenceTooLarge { found }),
    }
}

/// What is said of the whole stream must fit the bytes captured of it.
fn check_output(raw_data: &Raw, extent: &OutputExtent) -> Result<(), Refusal> {
    let captured = raw_data.length();
    if extent.true_length < captured {
        return Err(Refusal::OutputContradicted {
            field: "length",
            expected: format!("at least {captured}"),
            found: extent.true_length.to_string(),
        });
    }
    let expected = raw_data.sha256();
    if !extent.truncated && extent.whole_sha256 != expected {
        return Err(Refusal::OutputContradicted {
            field: "SHA-256",
            expected: expected.to_string(),
            found: extent.whole_sha256.to_string(),
        });
    }
    Ok(())
}

fn contradicted(fault: ExtentFault) -> Refusal {
    let ExtentFault { field, expected, found } = fault;
    Refusal::OutputContradicted { field, expected, found: found.to_string() }
}

fn length_of(raw_data: &[u8]) -> u64 {
    u64::try_from(raw_data.len()).unwrap_or(u64::MAX)
}

fn spelled_out(usage: &ResourceUsage) -> Vec<u8> {
    let ResourceUsage { wall_ns, user_cpu_ns, system_cpu_ns, peak_memory_bytes } = usage;
    format!(
        "wall_ns={wall_ns} user_cpu_ns={user_cpu_ns} system_cpu_ns={system_cpu_ns} \
         peak_memory_bytes={peak_memory_bytes}"
    )
    .into_bytes()
}
