//! The state as a person or another program reads it: the seeds' names, hashes in hex, times in
//! RFC 3339, raw evidence absent.

mod decision;
mod decision_point;

use alloc::vec::Vec;

pub use decision::{AnswerView, DisclosureView, RequestView, SummaryView};
pub use decision_point::{DecisionPointView, HeadView, VoteView};
use serde::{Serialize, Serializer};

use super::{
    Attempt, Chain, ChainRecord, DecisionPointTotals, ExecutionLoop, STATE_SCHEMA_VERSION, Totals,
    UnprovenRecords, World,
};
use crate::envelope::ActorId;
use crate::event::HaltReason;
use crate::evidence_capture::{ObservationContext, StopCondition};
use crate::execution_loop::{ExecutionLoopState, HandshakeDecision};
use crate::hash::Digest;
use crate::human_decision::HoldTerms;
use crate::sandbox_fault::{ExecutionFaultType, RetryPolicy};
use crate::time::Timestamp;

/// A readable world.
#[derive(Debug, Serialize)]
pub struct WorldView<'a> {
    /// The version of the fingerprint's encoding.
    pub state_schema: u32,
    /// Counts over all events.
    pub totals: &'a Totals,
    /// Counts over all events of decision points.
    pub decision_point_totals: DecisionPointTotals,
    /// The first and the last record of each range that was taken over without proof.
    #[serde(skip_serializing_if = "UnprovenRecords::is_empty")]
    pub unproven_records: &'a UnprovenRecords,
    /// Every loop, live and (where kept) settled, in the order in which they began.
    pub execution_loops: Vec<LoopView<'a>>,
}

/// A readable loop.
#[derive(Debug, Serialize)]
pub struct LoopView<'a> {
    /// `LOOP-...`.
    pub loop_id: &'a str,
    /// Who executes.
    pub executor_id: &'a str,
    /// SHA-256 of the exact instruction.
    pub instruction_envelope_hash: &'a str,
    /// The instruction, redacted.
    pub command_line: &'a str,
    /// Where the loop is.
    pub current_state: ExecutionLoopState,
    /// Why it halted.
    pub halt_reason: Option<HaltReason>,
    /// The stop condition that halted it.
    pub stop_condition: Option<StopCondition>,
    /// Its details, in words.
    pub stop_details: Option<&'a str>,
    /// The fault that halted it.
    pub halt_fault: Option<ExecutionFaultType>,
    /// The state in which it halted.
    pub halted_from: Option<ExecutionLoopState>,
    /// The state that was asked for when it halted.
    pub halt_requested: Option<ExecutionLoopState>,
    /// How many attempts there may be.
    pub max_attempts: u8,
    /// What the caller allows at most after a fault.
    pub retry_ceiling: RetryPolicy,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// When and how a person is asked.
    pub hold: &'a HoldTerms,
    /// What was asked and decided, first to last.
    pub decision_requests: Vec<RequestView<'a>>,
    /// Whether the executor is eligible.
    pub handshake_decision: HandshakeDecision,
    /// Why.
    pub handshake_reason: &'a str,
    /// The attempts, first to last.
    pub attempts: &'a [Attempt],
    /// The observer's session.
    pub observer: Option<&'a ObservationContext>,
    /// The evidence, without raw bytes.
    pub evidence_chain: Option<ChainView<'a>>,
    /// Who initialized it.
    pub actor: &'a ActorId,
    /// The story that it belongs to.
    pub correlation: &'a str,
    /// When it began.
    pub started_at: Timestamp,
    /// With which record.
    pub started_sequence: u64,
    /// When it halted.
    pub ended_at: Option<Timestamp>,
    /// With which record.
    pub ended_sequence: Option<u64>,
    /// The last record that changed it.
    pub version: u64,
    /// Whether nothing can happen to it any more.
    pub settled: bool,
}

/// A readable evidence chain.
#[derive(Debug, Serialize)]
pub struct ChainView<'a> {
    /// `CHAIN-...`.
    pub chain_id: &'a str,
    /// How many records.
    pub length: u64,
    /// The seed's hash of the last record.
    pub head_hash: &'a str,
    /// Our own hash over the whole chain.
    pub injective_head: &'a Digest,
    /// Whether the chain has ended.
    pub sealed: bool,
    /// Whether some event contradicted it.
    pub broken: bool,
    /// The records.
    pub records: &'a [ChainRecord],
}

impl World {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> WorldView<'_> {
        let mut loops: Vec<&ExecutionLoop> =
            self.settled_loops().chain(self.live_loops()).collect();
        loops.sort_by_key(|entity| entity.started_sequence);
        WorldView {
            state_schema: STATE_SCHEMA_VERSION,
            totals: self.totals(),
            decision_point_totals: self.decision_point_totals(),
            unproven_records: self.unproven_records(),
            execution_loops: loops.into_iter().map(ExecutionLoop::view).collect(),
        }
    }
}

/// As [`World::view`].
impl Serialize for World {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl ExecutionLoop {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> LoopView<'_> {
        let halt = self.halt.as_ref();
        LoopView {
            loop_id: self.loop_id(),
            executor_id: self.context.executor_id(),
            instruction_envelope_hash: self.context.instruction_envelope_hash(),
            command_line: &self.command_line,
            current_state: self.state(),
            halt_reason: halt.map(|h| h.reason),
            stop_condition: halt.and_then(|h| h.stop_condition),
            stop_details: self.stop.as_ref().map(|stop| stop.details.as_str()),
            halt_fault: halt.and_then(|h| h.fault_type),
            halted_from: halt.map(|h| h.from),
            halt_requested: halt.map(|h| h.requested),
            max_attempts: self.max_attempts,
            retry_ceiling: self.retry_ceiling,
            timeout_ms: self.timeout_ms,
            hold: &self.hold,
            decision_requests: self.request_views(),
            handshake_decision: self.handshake_decision,
            handshake_reason: &self.handshake_reason,
            attempts: &self.attempts,
            observer: self.observer.as_ref(),
            evidence_chain: self.chain.as_ref().map(Chain::view),
            actor: &self.actor,
            correlation: &self.correlation,
            started_at: self.started_at,
            started_sequence: self.started_sequence,
            ended_at: halt.map(|h| h.at),
            ended_sequence: halt.map(|h| h.sequence),
            version: self.version,
            settled: self.is_settled(),
        }
    }
}

impl Chain {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> ChainView<'_> {
        ChainView {
            chain_id: &self.head.chain_id,
            length: self.head.length,
            head_hash: &self.head.head_hash,
            injective_head: &self.head.injective_head,
            sealed: self.head.is_sealed,
            broken: self.is_broken,
            records: &self.records,
        }
    }
}
