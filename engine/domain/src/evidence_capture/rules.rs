//! Attaching an observer, capturing evidence, and when a loop stops (Phase-31).
//!
//! Evidence is appended only, and verified before every append. Of the ten stop conditions the
//! table says what triggers each; what is unknown halts.

use alloc::string::String;

use thiserror::Error;

use crate::core::ids::id;
use crate::core::payload::RawData;
use crate::core::text::is_blank;
use crate::evidence_capture::chain::{ChainHead, evidence_hash};
use crate::evidence_capture::types::{
    EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
    StopCondition, StopFacts,
};
use crate::execution_loop::types::{ExecutionLoopContext, ExecutionLoopState};

/// Attaches an observation session to a loop. The loop must be in INIT, and loop, executor and
/// envelope must be the same on both sides and not blank; on any mismatch the session that is
/// returned is halted. A session that is halted already stays halted.
#[must_use]
pub fn attach_observer(
    loop_context: &ExecutionLoopContext,
    observation_context: &ObservationContext,
) -> ObservationContext {
    attach_own(loop_context, observation_context.clone())
}

/// [`attach_observer`], of a session that nobody else needs.
pub(crate) fn attach_own(
    loop_context: &ExecutionLoopContext,
    observation_context: ObservationContext,
) -> ObservationContext {
    let mismatch = observer_mismatch(loop_context, &observation_context);
    let is_halted = observation_context.is_halted || mismatch.is_some();
    ObservationContext { is_halted, ..observation_context }
}

/// Why an observer cannot be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ObserverMismatch {
    /// A field of the session is blank.
    #[error("the observation context is incomplete; fill in every field")]
    Incomplete,
    /// The loop has left INIT.
    #[error("the loop is in {found}; attach the observer while it is in INIT")]
    NotInit {
        /// The state it is in.
        found: ExecutionLoopState,
    },
    /// Another loop.
    #[error("the observation context is of another loop")]
    Loop,
    /// Another executor.
    #[error("the observation context is of another executor")]
    Executor,
    /// Another envelope.
    #[error("the observation context expects another instruction envelope")]
    Envelope,
}

/// The first mismatch between a loop and a session, if any.
#[must_use]
pub fn observer_mismatch(
    loop_context: &ExecutionLoopContext,
    observation_context: &ObservationContext,
) -> Option<ObserverMismatch> {
    if !observation_context.is_initialized() {
        return Some(ObserverMismatch::Incomplete);
    }
    let found = loop_context.current_state();
    if found != ExecutionLoopState::Init {
        return Some(ObserverMismatch::NotInit { found });
    }
    if observation_context.loop_id != loop_context.loop_id() {
        return Some(ObserverMismatch::Loop);
    }
    if observation_context.executor_id != loop_context.executor_id() {
        return Some(ObserverMismatch::Executor);
    }
    if observation_context.envelope_hash != loop_context.instruction_envelope_hash() {
        return Some(ObserverMismatch::Envelope);
    }
    None
}

impl ObservationContext {
    /// Returns whether every field says something: none is blank.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        ![&self.session_id, &self.loop_id, &self.executor_id, &self.envelope_hash, &self.created_at]
            .into_iter()
            .any(|field| is_blank(field))
    }
}

/// Data that a halted context captures instead of what it is offered.
pub const CONTEXT_HALTED: &[u8] = b"CONTEXT_HALTED";

/// Why evidence is not appended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CaptureRefusal {
    /// The chain was sealed.
    #[error("chain {chain_id:?} is sealed after {length} records; start a new loop")]
    Sealed {
        /// The chain.
        chain_id: String,
        /// Its length.
        length: u64,
    },
}

/// Captures evidence: the record that follows this head. The caller appends it, by
/// [`ChainHead::advance`]: no append copies or reads what came before.
///
/// A halted context captures HALT_ENTRY / STOP_CONDITION / `CONTEXT_HALTED`, as the seed has it,
/// and keeps what it was offered in [`EvidenceRecord::offered`].
///
/// # Errors
/// [`CaptureRefusal::Sealed`]: nothing is captured after the seal.
pub fn capture_evidence(
    context: &ObservationContext,
    offer: OfferedEvidence,
    timestamp: &str,
    head: &ChainHead,
    entropy: &str,
) -> Result<EvidenceRecord, CaptureRefusal> {
    if head.is_sealed {
        let (chain_id, length) = (head.chain_id.clone(), head.length);
        return Err(CaptureRefusal::Sealed { chain_id, length });
    }
    let (taken, offered) = if context.is_halted { (halted(), Some(offer)) } else { (offer, None) };
    let mut record = EvidenceRecord {
        record_id: id("REC-", entropy),
        observation_point: taken.observation_point,
        evidence_type: taken.evidence_type,
        timestamp: String::from(timestamp),
        raw_data: taken.raw_data,
        prior_hash: head.head_hash.clone(),
        self_hash: String::new(),
        offered,
    };
    record.self_hash = evidence_hash(&record);
    Ok(record)
}

fn halted() -> OfferedEvidence {
    OfferedEvidence {
        observation_point: ObservationPoint::HaltEntry,
        evidence_type: EvidenceType::StopCondition,
        raw_data: RawData::from(CONTEXT_HALTED.to_vec()),
    }
}

/// Trigger of a stop condition, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct StopTrigger {
    /// The condition.
    pub condition: StopCondition,
    /// The fact that it depends on, by name.
    pub fact: &'static str,
    /// The value of the fact with which the loop may go on. The other value halts, and so does
    /// not knowing.
    pub goes_on_when: bool,
    /// Looks the fact up.
    known: fn(&ObservationContext, &StopFacts) -> Option<bool>,
}

/// Triggers of the ten conditions; [`check_stop`] decides by this table. CONTEXT_UNINITIALIZED
/// depends on the context itself: it goes on when no field is blank. Whatever the condition, a
/// missing or a halted context halts.
///
/// | condition | halts when | and also when |
/// |---|---|---|
/// | MISSING_AUTHORIZATION | `authorization_present` is false | unknown |
/// | EXECUTOR_NOT_REGISTERED | `executor_registered` is false | unknown |
/// | ENVELOPE_HASH_MISMATCH | `envelope_hash_matches` is false | unknown |
/// | CONTEXT_UNINITIALIZED | a field of the context is blank | there is no context |
/// | EVIDENCE_CHAIN_BROKEN | `chain_valid` is false | unknown |
/// | RESOURCE_LIMIT_EXCEEDED | `resources_available` is false | unknown |
/// | TIMESTAMP_INVALID | `timestamp_valid` is false | unknown |
/// | PRIOR_EXECUTION_PENDING | `prior_execution_complete` is false | unknown |
/// | AMBIGUOUS_INTENT | `intent_clear` is false | unknown |
/// | HUMAN_ABORT | `human_abort_signaled` is true | unknown |
pub const STOP_TRIGGERS: [StopTrigger; 10] = {
    use StopCondition as C;
    [
        needs(C::MissingAuthorization, "authorization_present", |_, f| f.authorization_present),
        needs(C::ExecutorNotRegistered, "executor_registered", |_, f| f.executor_registered),
        needs(C::EnvelopeHashMismatch, "envelope_hash_matches", |_, f| f.envelope_hash_matches),
        needs(C::ContextUninitialized, "is_initialized", |c, _| Some(c.is_initialized())),
        needs(C::EvidenceChainBroken, "chain_valid", |_, f| f.chain_valid),
        needs(C::ResourceLimitExceeded, "resources_available", |_, f| f.resources_available),
        needs(C::TimestampInvalid, "timestamp_valid", |_, f| f.timestamp_valid),
        needs(C::PriorExecutionPending, "prior_execution_complete", |_, f| {
            f.prior_execution_complete
        }),
        needs(C::AmbiguousIntent, "intent_clear", |_, f| f.intent_clear),
        StopTrigger {
            condition: C::HumanAbort,
            fact: "human_abort_signaled",
            goes_on_when: false,
            known: |_, f| f.human_abort_signaled,
        },
    ]
};

/// A row whose fact has to be true for the loop to go on.
const fn needs(
    condition: StopCondition,
    fact: &'static str,
    known: fn(&ObservationContext, &StopFacts) -> Option<bool>,
) -> StopTrigger {
    StopTrigger { condition, fact, goes_on_when: true, known }
}

/// Returns whether the condition halts the loop: `true` is HALT. Missing context, halted context
/// and unknown fact all halt; only the fact of this condition is looked at.
#[must_use]
pub fn check_stop(
    context: Option<&ObservationContext>,
    condition: StopCondition,
    facts: &StopFacts,
) -> bool {
    let Some(context) = context else { return true };
    let row = STOP_TRIGGERS.iter().find(|row| row.condition == condition);
    let goes_on = row.is_some_and(|row| (row.known)(context, facts) == Some(row.goes_on_when));
    context.is_halted || !goes_on
}

/// Every condition that halts the loop now, in the seed's order: all ten are checked.
pub fn triggered_conditions<'a>(
    context: Option<&'a ObservationContext>,
    facts: &'a StopFacts,
) -> impl Iterator<Item = StopCondition> + 'a {
    let halts = move |condition: &StopCondition| check_stop(context, *condition, facts);
    StopCondition::ALL.iter().copied().filter(halts)
}
