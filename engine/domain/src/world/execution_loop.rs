//! One execution loop with everything that belongs to it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Chain, Decisions};
use crate::confidence::Confidence;
use crate::envelope::ActorId;
use crate::event::{Exit, HaltReason, OutputExtent, ResourceUsage};
use crate::evidence_capture::{ObservationContext, StopCondition};
use crate::execution_loop::{
    ExecutionDecision, ExecutionLoopContext, ExecutionLoopState, ExecutorResponseType,
    HandshakeDecision, ResponseDecision,
};
use crate::human_decision::HoldTerms;
use crate::sandbox_fault::{
    ExecutionFaultType, FaultReport, RetryPolicy, SandboxContext, SandboxDecision,
    SandboxDecisionResult,
};
use crate::time::Timestamp;

/// An execution loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionLoop {
    /// Phase-29's own context: id, envelope hash, state, executor.
    pub context: ExecutionLoopContext,
    /// The instruction as a person may read it.
    pub command_line: String,
    /// How many attempts there may be, 1 to 3.
    pub max_attempts: u8,
    /// What the caller allows at most after a fault.
    pub retry_ceiling: RetryPolicy,
    /// How long one attempt may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// When and how a person is asked.
    pub hold: HoldTerms,
    /// What was asked and decided.
    pub decisions: Decisions,
    /// Whether the executor is eligible.
    pub handshake_decision: HandshakeDecision,
    /// Why.
    pub handshake_reason: String,
    /// Who initialized it.
    pub actor: ActorId,
    /// The story that it belongs to.
    pub correlation: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The sequence of the record that began it.
    pub started_sequence: u64,
    /// The sequence of the last record that changed it: its version.
    pub version: u64,
    /// Its observer (Phase-31's observation context).
    pub observer: Option<ObservationContext>,
    /// Its evidence.
    pub chain: Option<Chain>,
    /// Its attempts, first to last.
    pub attempts: Vec<Attempt>,
    /// The stop condition that was found, if any.
    pub stop: Option<StopDetected>,
    /// How it ended.
    pub halt: Option<Halt>,
}

/// One attempt at executing the instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1.
    pub number: u8,
    /// When it was dispatched.
    pub dispatched_at: Timestamp,
    /// The sequence of the record that dispatched it.
    pub dispatched_sequence: u64,
    /// The fault of the attempt before, whose decision permitted this one.
    pub permitted_by_fault: Option<String>,
    /// The person's RETRY that decided this one.
    pub permitted_by_decision: Option<String>,
    /// The output streams that were captured.
    pub outputs: Vec<OutputExtent>,
    /// What it used.
    pub resources: Option<ResourceUsage>,
    /// How it failed.
    pub fault: Option<AttemptFault>,
    /// What it answered.
    pub response: Option<AttemptResponse>,
}

/// What an attempt answered and what that is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptResponse {
    /// What was reported.
    pub response_type: ExecutorResponseType,
    /// Phase-30's decision.
    pub response_decision: ResponseDecision,
    /// How far it is trusted.
    #[serde(rename = "confidence_basis_points")]
    pub confidence: Confidence,
    /// Phase-30's reason.
    pub reason: String,
    /// Phase-29's decision.
    pub execution_decision: ExecutionDecision,
    /// Phase-29's reason.
    pub execution_reason: String,
    /// How the process ended.
    pub exit: Exit,
    /// When it was evaluated.
    pub evaluated_at: Timestamp,
}

/// How an attempt failed and what Phase-21 decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFault {
    /// `FAULT-` and 128 random bits.
    pub fault_id: String,
    /// How.
    pub fault_type: ExecutionFaultType,
    /// What was said about it.
    pub fault_message: String,
    /// When.
    pub occurred_at: Timestamp,
    /// What follows.
    pub outcome: Option<SandboxDecisionResult>,
}

/// A stop condition that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopDetected {
    /// Which of the ten.
    pub condition: StopCondition,
    /// In words.
    pub details: String,
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// Why.
    pub reason: HaltReason,
    /// The state before.
    pub from: ExecutionLoopState,
    /// The state that was asked for.
    pub requested: ExecutionLoopState,
    /// The stop condition, where that is the reason.
    pub stop_condition: Option<StopCondition>,
    /// The fault, where that is the reason.
    pub fault_type: Option<ExecutionFaultType>,
    /// When.
    pub at: Timestamp,
    /// The sequence of the record that halted it.
    pub sequence: u64,
}

impl ExecutionLoop {
    /// The loop's id.
    #[must_use]
    pub fn loop_id(&self) -> &str {
        self.context.loop_id()
    }

    /// Where the loop is.
    #[must_use]
    pub const fn state(&self) -> ExecutionLoopState {
        self.context.current_state()
    }

    /// The attempt that runs, or ran last.
    #[must_use]
    pub fn current_attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// How many attempts were dispatched.
    #[must_use]
    pub fn attempt_count(&self) -> u8 {
        self.current_attempt().map_or(0, |attempt| attempt.number)
    }

    /// Whether nothing can happen to the loop any more: HALTED, and its chain sealed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.halt.is_some() && self.chain.as_ref().is_none_or(|chain| chain.head.is_sealed)
    }

    /// The fault of the last attempt, if Phase-21 permits another attempt after it.
    #[must_use]
    pub fn retry_permission(&self) -> Option<&str> {
        let fault = self.current_attempt()?.fault.as_ref()?;
        let outcome = fault.outcome.as_ref()?;
        (outcome.decision == SandboxDecision::Retry).then_some(fault.fault_id.as_str())
    }

    /// The last attempt as Phase-21 judges it: what may still happen to this execution.
    #[must_use]
    pub fn sandbox_context(&self) -> Option<SandboxContext> {
        let attempt = self.current_attempt()?;
        Some(SandboxContext {
            execution_id: String::from(self.loop_id()),
            instruction_id: String::from(self.context.instruction_envelope_hash()),
            attempt_number: i64::from(attempt.number),
            max_retries: i64::from(self.max_attempts),
            timeout_ms: self
                .timeout_ms
                .map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX)),
            timestamp: attempt.dispatched_at.to_string(),
        })
    }

    /// The fault of the last attempt, and the context in which Phase-21 judges it.
    #[must_use]
    pub fn judged_fault(&self) -> Option<(FaultReport, SandboxContext)> {
        let attempt = self.current_attempt()?;
        let fault = attempt.fault.as_ref()?;
        let report = FaultReport {
            fault_id: fault.fault_id.clone(),
            execution_id: String::from(self.loop_id()),
            fault_type: fault.fault_type,
            fault_message: fault.fault_message.clone(),
            occurred_at: fault.occurred_at.to_string(),
            attempt_number: i64::from(attempt.number),
        };
        Some((report, self.sandbox_context()?))
    }

    /// How an EVALUATED loop ends when nothing more is done: the reason, and the fault where that
    /// is the reason. `None` in every other state.
    #[must_use]
    pub fn ending(&self) -> Option<(HaltReason, Option<ExecutionFaultType>)> {
        if self.state() != ExecutionLoopState::Evaluated {
            return None;
        }
        let attempt = self.current_attempt()?;
        match &attempt.fault {
            Some(fault) => Some((fault.ending(), Some(fault.fault_type))),
            None => Some((attempt.response.as_ref()?.ending(), None)),
        }
    }
}

impl AttemptFault {
    /// Without a decision a fault terminates.
    fn ending(&self) -> HaltReason {
        match self.outcome.as_ref().map(|outcome| outcome.decision) {
            Some(SandboxDecision::Retry) => HaltReason::FaultNotRetried,
            Some(SandboxDecision::Escalate) => HaltReason::FaultEscalated,
            Some(SandboxDecision::Terminate) | None => HaltReason::FaultTerminated,
        }
    }
}

impl AttemptResponse {
    /// Only what both phases find good has finished well.
    const fn ending(&self) -> HaltReason {
        match (self.response_decision, self.execution_decision) {
            (ResponseDecision::Accept, ExecutionDecision::Continue) => HaltReason::Completed,
            (ResponseDecision::Escalate, _) | (_, ExecutionDecision::Escalate) => {
                HaltReason::ResponseEscalated
            }
            _ => HaltReason::ResponseRejected,
        }
    }
}
