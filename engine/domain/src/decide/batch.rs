//! The events of one command, with the evidence chain as it grows under them.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::words::shown;
use crate::command::Entropy;
use crate::event::{
    ChainSealed, Event, EvidenceCaptured, EvidenceContent, HaltReason, LoopHalted, Offered, Raw,
    RequestWithdrawn, StopConditionDetected, Text,
};
use crate::evidence_capture::{
    ChainHead, EvidenceRecord, LoopStep, ObservationContext, OfferedEvidence, SessionHash,
    StopCondition, capture_place, capture_record, next_injective_hash,
};
use crate::execution_loop::ExecutionLoopState;
use crate::hash::{Digest, HashBuilder, sha256};
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
    chain: Option<(Cow<'a, ObservationContext>, ChainHead)>,
    /// What every record's hash begins with in this session, once it was needed.
    session: Option<SessionHash>,
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
        let observer = entity.observer.as_ref().map(Cow::Borrowed);
        Self {
            chain: observer.zip(recorded.map(|chain| chain.head.clone())),
            session: recorded.and_then(Chain::known_session).cloned(),
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
            timestamp: String::from(at.to_text().as_str()),
            recorded: None,
            chain: None,
            session: None,
            captured: 0,
            open_request: None,
            events: Vec::new(),
        }
    }

    /// Begins the chain of a new loop.
    pub(super) fn begin_chain(&mut self, context: ObservationContext, chain_id: &str) {
        let head = ChainHead::genesis(&context, chain_id);
        self.chain = Some((Cow::Owned(context), head));
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
        raw_data: impl Into<Raw>,
        content: EvidenceContent,
    ) -> Result<(), Refusal> {
        let raw_data = raw_data.into();
        let Some((observation_point, evidence_type)) = capture_place(step) else { return Ok(()) };
        let entropy = self.record_entropy();
        let Some((context, head)) = &mut self.chain else { return Ok(()) };
        // A halted context puts its own record in the place of what it is offered.
        let known = raw_data.known_sha256().filter(|_| !context.is_halted);
        let raw_data = raw_data.into_raw_data();
        let offer = OfferedEvidence { observation_point, evidence_type, raw_data };
        let record = capture_record(context, offer, &self.timestamp, head, &entropy)
            .map_err(|_| Refusal::LoopNotLive { loop_id: self.loop_id.to_string() })?;
        if self.recorded.is_some_and(|chain| chain.contains(&record.record_id)) {
            return Err(Refusal::DuplicateRecordId { record_id: record.record_id });
        }
        let raw_sha256 = known.unwrap_or_else(|| sha256(record.raw_data.as_bytes()));
        let session = self.session.get_or_insert_with(|| SessionHash::of(context, &head.chain_id));
        let injective_hash = next_injective_hash(session, head, &record, &raw_sha256);
        let hashes = (raw_sha256, injective_hash);
        let event = evidence_event(&self.loop_id, head, record, hashes, content);
        head.advance(&event.self_hash, injective_hash);
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
            .to_text();
        self.captured = self.captured.saturating_add(1);
        String::from(crate::text::bounded(&bits, 32))
    }
}

/// The record behind a head, with the SHA-256 of its raw data and its injective hash.
fn evidence_event(
    loop_id: &Text,
    head: &ChainHead,
    record: EvidenceRecord,
    (raw_sha256, injective_hash): (Digest, Digest),
    content: EvidenceContent,
) -> EvidenceCaptured {
    let offered = |offered: OfferedEvidence| Offered {
        observation_point: offered.observation_point,
        evidence_type: offered.evidence_type,
        raw_data: offered.raw_data.into(),
    };
    EvidenceCaptured {
        loop_id: loop_id.clone(),
        chain_id: head.chain_id.as_str().into(),
        index: head.length,
        record_id: record.record_id.into(),
        observation_point: record.observation_point,
        evidence_type: record.evidence_type,
        timestamp: record.timestamp.into(),
        raw_data: Raw::known(record.raw_data, raw_sha256),
        prior_hash: record.prior_hash.into(),
        self_hash: record.self_hash.into(),
        injective_hash,
        content,
        offered: record.offered.map(offered),
    }
}
