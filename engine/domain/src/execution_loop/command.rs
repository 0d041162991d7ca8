//! Commands on execution loops (Phase-29 and Phase-30).

use alloc::string::String;
use alloc::vec::Vec;

use crate::core::actor::{NamedUsers, Principal};
use crate::core::hash::Digest;
use crate::core::ids::{Entropy, hex};
use crate::core::{bodies, commands};
use crate::evidence_capture::types::{StopCondition, StopFacts};
use crate::execution_loop::types::{ExecutorIdentityStatus, ExecutorResponseType, Exit, OnFull};
use crate::human_decision::terms::HoldTerms;
use crate::log::policy::GateTerms;
use crate::sandbox_fault::types::RetryPolicy;

commands! {
    /// Command on a loop.
    #[expect(
        clippy::large_enum_variant,
        reason = "a command is made once and carried out; a box would be one more allocation"
    )]
    ExecutionLoopCommand {
        /// Create a loop in INIT, shake hands with its executor, attach its observer.
        "execution_loop.initialize" InitializeLoop(InitializeLoop) with entropy;
        /// INIT to DISPATCHED: the first attempt. All ten stop conditions are checked.
        "execution_loop.dispatch" DispatchLoop(DispatchLoop) with entropy;
        /// DISPATCHED to AWAITING_RESPONSE.
        "execution_loop.await_response" AwaitResponse(AwaitResponse) with entropy;
        /// AWAITING_RESPONSE to EVALUATED: normalize and evaluate a response.
        "execution_loop.report_response" ReportResponse(ReportResponse) with entropy;
        /// EVALUATED to DISPATCHED: the next attempt, where Phase-21 permits it and no hold
        /// applies, or where a person decided RETRY. All ten stop conditions are checked.
        "execution_loop.retry" RetryLoop(DispatchLoop) with entropy;
        /// EVALUATED to DISPATCHED with the loop's next instruction, where a person decided
        /// CONTINUE. All ten stop conditions are checked.
        "execution_loop.instruct" InstructLoop(InstructLoop) with entropy;
        /// EVALUATED to HALTED, with the reason that the last evaluation gives, where no hold
        /// applies.
        "execution_loop.complete" CompleteLoop(CompleteLoop) with entropy;
        /// Any state to HALTED by one of the ten stop conditions.
        "execution_loop.stop" StopLoop(StopLoop) with entropy;
        /// Any state to HALTED, because a signal that is not known to be a person's asked for the
        /// end.
        "execution_loop.interrupt" InterruptLoop(InterruptLoop) with entropy;
    }
}

bodies! {
    /// See [`ExecutionLoopCommand::InitializeLoop`]. The new loop's id is
    /// `LOOP-` and the entropy, its observer's `OBS-` and its chain's `CHAIN-` with the same
    /// digits; see [`InitializeLoop::loop_id`].
    InitializeLoop {
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Id of the executor that will execute.
        executor_id: String,
        /// The instruction envelope, canonically encoded: captured as PRE_DISPATCH evidence.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        envelope: Vec<u8>,
        /// SHA-256 of the envelope, lower-case hex. Checked against the bytes.
        instruction_envelope_hash: String,
        /// The instruction as a person may read it, already redacted.
        command_line: String,
        /// Number of attempts there may be, 1 to 3.
        max_attempts: u8,
        /// Most that a caller allows after a fault; it can only narrow what the fault allows.
        retry_ceiling: RetryPolicy,
        /// Time that one attempt may take, in milliseconds. `None`: as long as it wants.
        timeout_ms: Option<u64>,
        /// Terms that say when and how a person is asked. Agreed before anything runs: nobody
        /// changes it afterwards.
        hold: HoldTerms,
        /// Terms that say who counts as a person, and where the policy in force comes from.
        #[serde(default)]
        gate: GateTerms,
        /// The approval that is spent for the start, where a person is asked before it.
        #[serde(default)]
        approval: Option<SpentApproval>,
        /// The numbers of those whom it names: the engine looks them up, and nobody states them.
        #[serde(skip)]
        people: Option<NamedUsers>,
        /// Presentation of the executor (Phase-28).
        handshake: Handshake,
        /// Expectation of the observer (Phase-31).
        observer: ObserverExpectation,
    }
}

impl InitializeLoop {
    /// The id that the new loop will have.
    #[must_use]
    pub fn loop_id(&self) -> String {
        crate::core::ids::id("LOOP-", &alloc::format!("{}", self.entropy))
    }
}

bodies! {
    /// The approval of a run's start.
    SpentApproval {
        /// The decision point, bound to [`RUN_TOOL`](crate::log::RUN_TOOL).
        decision_id: String,
        /// Principal who spends it.
        by: Principal,
        /// The digest of all that the approval is bound to besides the instruction envelope; see
        /// [`run_binding`](crate::log::run_binding).
        details: Digest,
    }

    /// Presentation of an executor before it is given an instruction.
    Handshake {
        /// Its id.
        executor_id: String,
        /// Status of its identity, as far as it is known.
        trust_status: ExecutorIdentityStatus,
        /// The hash of the envelope that it holds.
        instruction_envelope_hash: String,
    }

    /// Expectation of an observer about the loop that it is attached to.
    ObserverExpectation {
        /// The executor that it expects.
        executor_id: String,
        /// The instruction that it expects.
        envelope_hash: String,
    }

    /// See [`ExecutionLoopCommand::DispatchLoop`] and
    /// [`ExecutionLoopCommand::RetryLoop`].
    DispatchLoop {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// The hash of what is about to be executed.
        envelope_hash: String,
        /// Facts that only the caller can know.
        facts: DispatchFacts,
    }
}

bodies! {
    /// See [`ExecutionLoopCommand::InstructLoop`].
    InstructLoop {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// The instruction envelope, canonically encoded: captured as POST_EVALUATE evidence.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        envelope: Vec<u8>,
        /// SHA-256 of the envelope, lower-case hex. Checked against the bytes.
        instruction_envelope_hash: String,
        /// The instruction as a person may read it, already redacted.
        command_line: String,
        /// Facts that only the caller can know.
        facts: DispatchFacts,
    }
}

bodies! {
    /// Facts about the world outside at dispatch. `None` is "not stated", and what is not stated
    /// halts the loop. The facts behind the other stop conditions are the loop's own and are not
    /// asked for.
    #[derive(Copy, Default)]
    DispatchFacts {
        /// False: MISSING_AUTHORIZATION.
        authorization_present: Option<bool>,
        /// False: EXECUTOR_NOT_REGISTERED.
        executor_registered: Option<bool>,
        /// False: RESOURCE_LIMIT_EXCEEDED.
        resources_available: Option<bool>,
        /// False: AMBIGUOUS_INTENT.
        intent_clear: Option<bool>,
        /// True: HUMAN_ABORT.
        human_abort_signaled: Option<bool>,
    }
}

bodies! {
    /// See [`ExecutionLoopCommand::AwaitResponse`].
    AwaitResponse {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// The public half of the key by which the recorder signs what waits for the log's lock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recorder_key: Option<Digest>,
        /// Fate of the command where the disk is full.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_full: Option<OnFull>,
    }

    /// See [`ExecutionLoopCommand::ReportResponse`]. The attempt's raw output
    /// must have been captured before.
    ReportResponse {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Id of the executor that answers. Anyone but the loop's executor is rejected.
        executor_id: String,
        /// The hash of the instruction that is answered.
        instruction_hash: String,
        /// Type of the response that the executor reports.
        reported_status: ExecutorResponseType,
        /// The error that it reports, in words.
        error: Option<String>,
        /// Exit of its process.
        exit: Exit,
    }

    /// See [`ExecutionLoopCommand::CompleteLoop`].
    CompleteLoop {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
    }

    /// See [`ExecutionLoopCommand::StopLoop`].
    StopLoop {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Condition that is found, one of the ten.
        condition: StopCondition,
        /// Facts that are known of the world outside. Only the fact of this condition is looked at;
        /// not stated stops, and stated to be well is refused. Of `envelope_hash_matches`,
        /// `chain_valid`, `timestamp_valid` and `prior_execution_complete` none may be stated:
        /// Holdpoint judges them itself.
        facts: StopFacts,
        /// The details, in words.
        details: String,
    }

    /// See [`ExecutionLoopCommand::InterruptLoop`].
    InterruptLoop {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// The signal's number.
        signal: i32,
        /// The process that sent it, where the kernel tells.
        sender_pid: Option<u32>,
        /// The user number of that process, where the kernel tells.
        sender_uid: Option<u32>,
    }
}

impl ExecutionLoopCommand {
    /// The loop that the command is about; `None` for a new one.
    #[must_use]
    pub fn loop_id(&self) -> Option<&str> {
        Some(match self {
            Self::InitializeLoop(_) => return None,
            Self::DispatchLoop(c) | Self::RetryLoop(c) => &c.loop_id,
            Self::InstructLoop(c) => &c.loop_id,
            Self::AwaitResponse(c) => &c.loop_id,
            Self::ReportResponse(c) => &c.loop_id,
            Self::CompleteLoop(c) => &c.loop_id,
            Self::StopLoop(c) => &c.loop_id,
            Self::InterruptLoop(c) => &c.loop_id,
        })
    }
}
