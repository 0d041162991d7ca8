//! The events of one command on a loop, with the evidence chain as it grows under them; and the
//! ways into HALTED.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ExecutionLoopState::{Evaluated, Halted};

use crate::core::hash::{Digest, HashBuilder, sha256};
use crate::core::ids::Entropy;
use crate::core::payload::{Raw, Text};
use crate::core::text::shown;
use crate::core::time::Timestamp;
use crate::evidence_capture::chain::{ChainHead, RecordView, SessionHash};
use crate::evidence_capture::event::{ChainSealed, EvidenceCaptured, StopConditionDetected};
use crate::evidence_capture::integration::{LoopStep, capture_place};
use crate::evidence_capture::pieces::{OutputPieces, RecordedStream};
use crate::evidence_capture::rules::capture_evidence;
use crate::evidence_capture::state::Chain;
use crate::evidence_capture::types::{
    EvidenceContent, EvidenceRecord, GuardedEnd, ObservationContext, Offered, OfferedEvidence,
    OutputStream, StopCondition,
};
use crate::execution_loop::command::InterruptLoop;
use crate::execution_loop::event::LoopHalted;
use crate::execution_loop::types::{ExecutionLoopState, HaltReason};
use crate::governed::GovernedEvent;
use crate::governed::aggregate::ExecutionLoop;
use crate::governed::attempt::{continuity_fault, report_guarded, wrong_state};
use crate::governed::pieces;
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::governed::request::held_back;
use crate::human_decision::event::RequestWithdrawn;
use crate::sandbox_fault::types::ExecutionFaultType;

/// End of the details of a halt that no transition of the table leads to.
pub(crate) const NO_TRANSITION: &str = " is no transition of the table";

/// Every command on a loop: the loop is live, and its evidence so far is sound; else it stops.
pub(crate) fn on_loop(
    (live, recorded): (Option<&ExecutionLoop>, &[RecordedStream]),
    loop_id: &str,
    entropy: Entropy,
    at: Timestamp,
    act: impl FnOnce(&mut OnLoop<'_>) -> Ruling,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    let live = live.filter(|l| l.state() != ExecutionLoopState::Halted);
    let Some(entity) = live else {
        return Err(LoopRefusal::LoopNotLive { loop_id: shown(loop_id) });
    };
    let mut on = OnLoop { entity, batch: Batch::of(entity, entropy, at) };
    on.batch.unstated = pieces::unstated(recorded);
    match continuity_fault(entity, at) {
        Some((condition, details)) => on.batch.stop(entity.state(), condition, &details)?,
        None => act(&mut on)?,
    }
    Ok(on.batch.into_events())
}

/// A live loop, and the events of a command on it.
pub(crate) struct OnLoop<'a> {
    pub(crate) entity: &'a ExecutionLoop,
    pub(crate) batch: Batch<'a>,
}

/// Events in the making.
pub(crate) struct Batch<'a> {
    loop_id: Text,
    entropy: Entropy,
    at: Timestamp,
    timestamp: String,
    /// Records that the chain has already; `None` for a new loop.
    recorded: Option<&'a Chain>,
    /// The session and the head of its chain.
    chain: Option<(Cow<'a, ObservationContext>, ChainHead)>,
    /// Beginning of every record's hash in this session, once it was needed.
    session: Option<SessionHash>,
    captured: u64,
    /// The request that waits for an answer, if one does.
    open_request: Option<Text>,
    /// Streams of which pieces are recorded and no evidence states them yet.
    unstated: Vec<OutputPieces>,
    events: Vec<GovernedEvent>,
}

/// Why a loop halts, and what is captured about it.
pub(crate) struct LoopEnding {
    pub(crate) from: ExecutionLoopState,
    pub(crate) requested: ExecutionLoopState,
    pub(crate) reason: HaltReason,
    pub(crate) stop_condition: Option<StopCondition>,
    pub(crate) fault_type: Option<ExecutionFaultType>,
    pub(crate) details: String,
}

impl<'a> Batch<'a> {
    /// On a live loop.
    pub(crate) fn of(entity: &'a ExecutionLoop, entropy: Entropy, at: Timestamp) -> Self {
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
    pub(crate) fn new(loop_id: &str, entropy: Entropy, at: Timestamp) -> Self {
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
            unstated: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Begins the chain of a new loop.
    pub(crate) fn begin_chain(&mut self, context: ObservationContext, chain_id: &str) {
        let head = ChainHead::genesis(&context, chain_id);
        self.chain = Some((Cow::Owned(context), head));
    }

    pub(crate) fn loop_id(&self) -> Text {
        self.loop_id.clone()
    }

    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The batch's time as text.
    pub(crate) fn timestamp(&self) -> &str {
        &self.timestamp
    }

    pub(crate) fn push(&mut self, event: impl Into<GovernedEvent>) {
        self.events.push(event.into());
    }

    pub(crate) fn into_events(self) -> Vec<GovernedEvent> {
        self.events
    }

    /// The open request was decided in this batch.
    pub(crate) fn close_request(&mut self) {
        self.open_request = None;
    }

    /// Captures evidence of a step, where and as the integration table says. A step without a
    /// place has none, and neither has a loop without an observer.
    pub(crate) fn capture(
        &mut self,
        step: LoopStep,
        raw_data: impl Into<Raw>,
        content: EvidenceContent,
    ) -> Ruling {
        let raw_data = raw_data.into();
        let Some((observation_point, evidence_type)) = capture_place(step) else { return Ok(()) };
        let entropy = self.record_entropy();
        let Some((context, head)) = &mut self.chain else { return Ok(()) };
        // A halted context puts its own record in the place of what it is offered.
        let known = raw_data.known_sha256().filter(|_| !context.is_halted);
        let raw_data = raw_data.into_raw_data();
        let offer = OfferedEvidence { observation_point, evidence_type, raw_data };
        let record = capture_evidence(context, offer, &self.timestamp, head, &entropy)
            .map_err(|_| LoopRefusal::LoopNotLive { loop_id: self.loop_id.to_string() })?;
        if self.recorded.is_some_and(|chain| chain.contains(&record.record_id)) {
            return Err(LoopRefusal::DuplicateRecordId { record_id: record.record_id });
        }
        let raw_sha256 = known.unwrap_or_else(|| sha256(record.raw_data.as_bytes()));
        let session = self.session.get_or_insert_with(|| SessionHash::of(context, &head.chain_id));
        let injective_hash = RecordView::of(&record).injective_hash(session, head, &raw_sha256);
        let hashes = (raw_sha256, injective_hash);
        let event = evidence_event(&self.loop_id, head, record, hashes, content);
        head.advance(&event.self_hash, injective_hash);
        self.events.push(event.into());
        Ok(())
    }

    /// Phase-31, "Stop condition enforcement": capture the condition, halt, seal the chain.
    pub(crate) fn stop(
        &mut self,
        from: ExecutionLoopState,
        condition: StopCondition,
        details: &str,
    ) -> Ruling {
        let details = shown(details);
        self.push(StopConditionDetected {
            loop_id: self.loop_id(),
            condition,
            details: details.as_str().into(),
        });
        self.halt(LoopEnding {
            from,
            requested: ExecutionLoopState::Halted,
            reason: HaltReason::StopCondition,
            stop_condition: Some(condition),
            fault_type: None,
            details: alloc::format!("{condition}: {details}"),
        })
    }

    /// Withdraws an open request, captures what is recorded of output that no evidence states yet
    /// and the halt, halts, and seals the chain.
    pub(crate) fn halt(&mut self, ending: LoopEnding) -> Ruling {
        let content = match ending.stop_condition {
            Some(condition) => EvidenceContent::Stop(condition),
            None => {
                EvidenceContent::Transition { from: ending.from, to: ExecutionLoopState::Halted }
            }
        };
        if let Some(request_id) = self.open_request.take() {
            self.push(RequestWithdrawn { loop_id: self.loop_id(), request_id });
        }
        self.state_output()?;
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

    /// The random bits of the command.
    pub(crate) const fn entropy(&self) -> Entropy {
        self.entropy
    }

    /// States of an attempt that printed nothing, as far as that is recorded, just this.
    pub(crate) fn expect_output(&mut self, entity: &ExecutionLoop) {
        let has_output = entity.current_attempt().is_some_and(|it| !it.outputs.is_empty());
        if !has_output && self.unstated.is_empty() {
            let (loop_id, attempt) = (entity.loop_id(), entity.attempt_count());
            let stream = RecordedStream::new(loop_id, attempt, OutputStream::Stdout);
            self.unstated.push(stream.stated(None));
        }
    }

    /// Captures what is recorded of streams that no evidence states yet: their end is not known.
    pub(crate) fn state_output(&mut self) -> Ruling {
        for stated in core::mem::take(&mut self.unstated) {
            let raw_data = stated.spelled_out();
            let content = EvidenceContent::OutputPieces(stated);
            self.capture(LoopStep::OutputReceived, raw_data, content)?;
        }
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
        String::from(crate::core::text::bounded(&bits, 32))
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

/// EVALUATED to HALTED, with the reason that the last evaluation gives. Where a hold applies, only
/// a person's CONTINUE does this.
pub(crate) fn complete(on: &mut OnLoop<'_>) -> Ruling {
    let Some((reason, fault_type)) = on.entity.ending() else {
        return Err(wrong_state(on.entity, Evaluated, "report a response, or stop the loop"));
    };
    if let Some(barrier) = on.entity.completion_barrier() {
        return Err(held_back(on.entity, barrier));
    }
    on.batch.halt(LoopEnding {
        from: Evaluated,
        requested: Halted,
        reason,
        stop_condition: None,
        fault_type,
        details: format!("{Evaluated} -> {Halted}, {reason}"),
    })
}

/// A signal asked for the end, and no person is known to have sent it.
pub(crate) fn interrupt(on: &mut OnLoop<'_>, command: &InterruptLoop) -> Ruling {
    let sender = match (command.sender_pid, command.sender_uid) {
        (Some(pid), Some(uid)) => format!("process {pid} of user number {uid}"),
        (Some(pid), None) => format!("process {pid}"),
        (None, Some(uid)) => format!("a process of user number {uid}"),
        (None, None) => String::from("a sender that is not known"),
    };
    let details = format!("signal {} from {sender}", command.signal);
    on.batch.end_without_condition(on.entity.state(), HaltReason::Interrupted, &details)
}

/// The process that recorded the loop is gone. How its command ended, where a guard saw that, is
/// recorded before the halt.
pub(crate) fn lose_recorder(on: &mut OnLoop<'_>, end: Option<&GuardedEnd>) -> Ruling {
    let is_awaited = on.entity.state() == ExecutionLoopState::AwaitingResponse;
    let (from, what) = match (is_awaited, end) {
        (true, Some(end)) => {
            report_guarded(on, end)?;
            (Evaluated, Cow::Owned(shown(&end.message)))
        }
        (true, None) => {
            (on.entity.state(), Cow::Borrowed("what became of the command is not known"))
        }
        (false, _) => (on.entity.state(), Cow::Borrowed("no command was running")),
    };
    let details = format!("the process that recorded the loop is gone; {what}");
    on.batch.end_without_condition(from, HaltReason::RecorderLost, &details)
}

impl Batch<'_> {
    /// A halt for a reason that is neither one of the ten conditions nor what an evaluation gives.
    fn end_without_condition(
        &mut self,
        from: ExecutionLoopState,
        reason: HaltReason,
        details: &str,
    ) -> Ruling {
        self.halt(LoopEnding {
            from,
            requested: Halted,
            reason,
            stop_condition: None,
            fault_type: None,
            details: format!("{reason}: {details}"),
        })
    }

    /// A transition that the table does not allow halts the loop and is recorded.
    pub(crate) fn illegal(
        &mut self,
        from: ExecutionLoopState,
        requested: ExecutionLoopState,
    ) -> Ruling {
        self.halt(LoopEnding {
            from,
            requested,
            reason: HaltReason::IllegalTransition,
            stop_condition: None,
            fault_type: None,
            details: format!("{from} -> {requested}{NO_TRANSITION}"),
        })
    }
}
