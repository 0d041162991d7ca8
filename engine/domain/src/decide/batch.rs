//! The events of one command, with the evidence chain as it grows under them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::words::shown;
use crate::command::Entropy;
use crate::event::{
    ChainSealed, Event, EvidenceCaptured, EvidenceContent, HaltReason, LoopHalted, Offered,
    RequestWithdrawn, StopConditionDetected, Text,
};
use crate::evidence_capture::{
    ChainHead, EvidenceRecord, LoopStep, ObservationContext, OfferedEvidence, RawData,
    StopCondition, capture_place, capture_record,
};
use crate::execution_loop::ExecutionLoopState;
use crate::hash::HashBuilder;
use crate::refusal::Refusal;
use crate::sandbox_fault::ExecutionFaultType;
use crate::time::Timestamp;
use crate::world::{Chain, ExecutionLoop};

/// Events in the making.
pub(super) struct Batch<'a> {
    loop_id: Text,
    entropy: Entropy,
    at: Timestamp,
    timestamp: String,
    /// Records that the chain has already; `None` for a new loop.
    recorded: Option<&'a Chain>,
    /// The session and the head of its chain.
    chain: Option<(ObservationContext, ChainHead)>,
    captured: u64,
    /// The request that waits for an answer, if one does.
    open_request: Option<Text>,
    events: Vec<Event>,
}

/// Why a loop halts, and what is captured about it.
pub(super) struct Ending {
    pub(super) from: ExecutionLoopState,
    pub(super) requested: ExecutionLoopState,
    pub(super) reason: HaltReason,
    pub(super) stop_condition: Option<StopCondition>,
    pub(super) fault_type: Option<ExecutionFaultType>,
    pub(super) details: String,
}

impl<'a> Batch<'a> {
    /// On a live loop.
    pub(super) fn of(entity: &'a ExecutionLoop, entropy: Entropy, at: Timestamp) -> Self {
        let recorded = entity.chain.as_ref();
        let observer = entity.observer.clone();
        Self {
            chain: observer.zip(recorded.map(|chain| chain.head.clone())),
            recorded,
            open_request: entity.open_request().map(|held| held.request.request_id.clone()),
            ..Self::new(entity.loop_id(), entropy, at)
        }
    }

    /// On a loop that this batch brings about.
    pub(super) fn new(loop_id: &str, entropy: Entropy, at: Timestamp) -> Self {
        Self {
            loop_id: loop_id.into(),
            entropy,
            at,
            timestamp: at.to_string(),
            recorded: None,
            chain: None,
            captured: 0,
            open_request: None,
            events: Vec::new(),
        }
    }

    /// Begins the chain of a new loop.
    pub(super) fn begin_chain(&mut self, context: ObservationContext, chain_id: &str) {
        let head = ChainHead::genesis(&context, chain_id);
        self.chain = Some((context, head));
    }

    pub(super) fn loop_id(&self) -> Text {
        self.loop_id.clone()
    }

    pub(super) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The batch's time as text.
    pub(super) fn timestamp(&self) -> &str {
        &self.timestamp
    }

    pub(super) fn push(&mut self, event: impl Into<Event>) {
        self.events.push(event.into());
    }

    pub(super) fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// The open request was decided in this batch.
    pub(super) fn close_request(&mut self) {
        self.open_request = None;
    }

    /// Captures evidence of a step, where and as the integration table says. A step without a
    /// place has none, and neither has a loop without an observer.
    pub(super) fn capture(
        &mut self,
        step: LoopStep,
        raw_data: Vec<u8>,
        content: EvidenceContent,
    ) -> Result<(), Refusal> {
        let Some((observation_point, evidence_type)) = capture_place(step) else { return Ok(()) };
        let entropy = self.record_entropy();
        let Some((context, head)) = &mut self.chain else { return Ok(()) };
        let raw_data = RawData::from(raw_data);
        let offer = OfferedEvidence { observation_point, evidence_type, raw_data };
        let record = capture_record(context, offer, &self.timestamp, head, &entropy)
            .map_err(|_| Refusal::LoopNotLive { loop_id: self.loop_id.to_string() })?;
        if self.recorded.is_some_and(|chain| chain.contains(&record.record_id)) {
            return Err(Refusal::DuplicateRecordId { record_id: record.record_id });
        }
        let next = head.after(context, &record);
        let event = evidence_event(&self.loop_id, head.length, &next, record, content);
        *head = next;
        self.events.push(event.into());
        Ok(())
    }

    /// Phase-31, "Stop condition enforcement": capture the condition, halt, seal the chain.
    pub(super) fn stop(
        &mut self,
        from: ExecutionLoopState,
        condition: StopCondition,
        details: &str,
    ) -> Result<(), Refusal> {
        let details = shown(details);
        self.push(StopConditionDetected {
            loop_id: self.loop_id(),
            condition,
            details: details.as_str().into(),
        });
        self.halt(Ending {
            from,
            requested: ExecutionLoopState::Halted,
            reason: HaltReason::StopCondition,
            stop_condition: Some(condition),
            fault_type: None,
            details: alloc::format!("{condition}: {details}"),
        })
    }

    /// Withdraws an open request, captures the halt, halts, and seals the chain.
    pub(super) fn halt(&mut self, ending: Ending) -> Result<(), Refusal> {
        let content = match ending.stop_condition {
            Some(condition) => EvidenceContent::Stop(condition),
            None => {
                EvidenceContent::Transition { from: ending.from, to: ExecutionLoopState::Halted }
            }
        };
        if let Some(request_id) = self.open_request.take() {
            self.push(RequestWithdrawn { loop_id: self.loop_id(), request_id });
        }
        self.capture(ending.reason.step(), ending.details.into_bytes(), content)?;
        self.push(LoopHalted {
            loop_id: self.loop_id(),
            from: ending.from,
            requested: ending.requested,
            reason: ending.reason,
            stop_condition: ending.stop_condition,
            fault_type: ending.fault_type,
        });
        self.seal();
        Ok(())
    }

    fn seal(&mut self) {
        let Some((_, head)) = &mut self.chain else { return };
        let (sealed, seal) = head.sealed();
        let event = ChainSealed {
            loop_id: self.loop_id.clone(),
            chain_id: seal.chain_id.into(),
            length: seal.length,
            head_hash: head.head_hash.as_str().into(),
            injective_head: seal.injective_head,
            seal_hash: seal.seal_hash,
        };
        *head = sealed;
        self.events.push(event.into());
    }

    /// 128 bits for the next record's id: no two records of one command share them, and the same
    /// entropy used twice gives the same ones, which is refused.
    fn record_entropy(&mut self) -> String {
        let bits = HashBuilder::new("holdpoint.record-id", 1)
            .bytes(self.entropy.as_bytes())
            .number(self.captured)
            .finish()
            .to_string();
        self.captured = self.captured.saturating_add(1);
        String::from(crate::text::bounded(&bits, 32))
    }
}

fn evidence_event(
    loop_id: &Text,
    index: u64,
    next: &ChainHead,
    record: EvidenceRecord,
    content: EvidenceContent,
) -> EvidenceCaptured {
    let offered = |offered: OfferedEvidence| Offered {
        observation_point: offered.observation_point,
        evidence_type: offered.evidence_type,
        raw_data: offered.raw_data.into(),
    };
    EvidenceCaptured {
        loop_id: loop_id.clone(),
        chain_id: next.chain_id.as_str().into(),
        index,
        record_id: record.record_id.into(),
        observation_point: record.observation_point,
        evidence_type: record.evidence_type,
        timestamp: record.timestamp.into(),
        raw_data: record.raw_data.into(),
        prior_hash: record.prior_hash.into(),
        self_hash: record.self_hash.into(),
        injective_hash: next.injective_head,
        content,
        offered: record.offered.map(offered),
    }
}
