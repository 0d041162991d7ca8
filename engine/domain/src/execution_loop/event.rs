//! Events of execution loops (seeds Phase-29 and Phase-30). Kinds 32 to 63.

use crate::core::actor::NamedUsers;
use crate::core::confidence::Confidence;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::{events, recorded, recorded_of, scored};
use crate::evidence_capture::types::StopCondition;
use crate::execution_loop::types::{
    ExecutionDecision, ExecutionLoopState, ExecutorResponseType, Exit, HaltReason,
    HandshakeDecision, OnFull, ResponseDecision,
};
use crate::human_decision::terms::HoldTerms;
use crate::log::policy::GateTerms;
use crate::sandbox_fault::types::{ExecutionFaultType, RetryPolicy};

events! {
    /// Event of a loop.
    #[expect(
        clippy::large_enum_variant,
        reason = "events lie in the union of all systems, which is as large as the largest"
    )]
    ExecutionLoopEvent of "execution_loop" kinds 32..=63, {
        /// A loop exists.
        32 v 3 "execution_loop.initialized"
            => LoopInitialized, before 1 + [0, 0, 0], before 2 + [0];
        /// An attempt was dispatched.
        33 v 2 "execution_loop.dispatched" => LoopDispatched, before 1 + [0];
        /// An attempt's response is awaited.
        34 v 3 "execution_loop.response_awaited"
            => ResponseAwaited, before 1 + [0, 0], before 2 + [0];
        /// An attempt's response was evaluated.
        35 v 1 "execution_loop.response_evaluated" => ResponseEvaluated;
        /// A loop halted.
        36 v 1 "execution_loop.halted" => LoopHalted;
    }
    /// The loop that the event is about.
    pub fn loop_id(body) -> &str { &body.loop_id }
}

recorded! {
    /// A loop exists, in INIT. Attempts are counted from 1.
    LoopInitialized {
        /// `LOOP-` and 128 random bits.
        loop_id: Text,
        /// Id of the executor that will execute.
        executor_id: Text,
        /// SHA-256 over the exact instruction, lower-case hex.
        instruction_envelope_hash: Text,
        /// The instruction as a person may read it: redacted, control characters visible.
        command_line: Text,
        /// Number of attempts that Phase-21 may permit, 1 to 3.
        max_attempts: u8,
        /// Most that the caller allows after a fault.
        retry_ceiling: RetryPolicy,
        /// Time that one attempt may take, in milliseconds. `None`: as long as it wants.
        timeout_ms: Option<u64>,
        /// Terms that say when and how a person is asked, agreed before anything runs.
        hold: HoldTerms,
        /// Decision whether the executor is eligible (Phase-28). REJECT: a halt follows in the same
        /// batch.
        handshake_decision: HandshakeDecision,
        /// Why, in words.
        handshake_reason: Text,
        /// The policy in force and where it comes from. `None` in records that were made before it
        /// was recorded.
        gate: Option<GateTerms>,
        /// The decision point whose approval was spent for the start, in the same batch.
        approval: Option<Text>,
        /// Whom the terms name, with the numbers that they had. `None` in records that were made
        /// before numbers were.
        people: Option<NamedUsers>,
    }
}

recorded! {
    /// The next instruction of a loop. The envelope is evidence captured before.
    NextInstruction {
        /// SHA-256 over the exact instruction, lower-case hex.
        envelope_hash: Text,
        /// The instruction as a person may read it: redacted, control characters visible.
        command_line: Text,
    }

    /// INIT or EVALUATED became DISPATCHED.
    LoopDispatched {
        /// The loop.
        loop_id: Text,
        /// The number of this attempt, from 1.
        attempt: u8,
        /// The fault whose Phase-21 decision permits this attempt. `None` for the first attempt.
        permitted_by_fault: Option<Text>,
        /// The person's RETRY that decides this attempt, or the CONTINUE that lets the loop have
        /// another instruction. `None` for the first attempt, and where no hold applies.
        permitted_by_decision: Option<Text>,
        /// The loop's next instruction, where a person decided CONTINUE. `None` where the attempt
        /// executes the one of before, and in records that were made before there were others.
        instruction: Option<NextInstruction>,
    }

    /// DISPATCHED became AWAITING_RESPONSE.
    ResponseAwaited {
        /// The loop.
        loop_id: Text,
        /// The attempt.
        attempt: u8,
        /// The public half of the key by which the attempt's recorder signs what it could not put
        /// on the log at once (Ed25519, RFC 8032). `None` where nothing is signed, and in records
        /// that were made before there were keys.
        recorder_key: Option<Digest>,
        /// Fate of the command where its output cannot be recorded, because the disk is full.
        /// `None` where its recorder said nothing of it.
        on_full: Option<OnFull>,
    }

    /// Any state became HALTED. Final.
    LoopHalted {
        /// The loop.
        loop_id: Text,
        /// The state before.
        from: ExecutionLoopState,
        /// The state that was asked for; not HALTED only where the transition is illegal.
        requested: ExecutionLoopState,
        /// Why.
        reason: HaltReason,
        /// The stop condition, exactly where the reason is STOP_CONDITION.
        stop_condition: Option<StopCondition>,
        /// The fault, exactly where the reason is one of the FAULT ones.
        fault_type: Option<ExecutionFaultType>,
    }
}

recorded_of! {
    /// AWAITING_RESPONSE became EVALUATED: the response was normalized (Phase-30) and evaluated
    /// (Phase-29). Its raw output is evidence captured before.
    #[cfg_attr(feature = "schema", schemars(transform = crate::core::schema::name_score))]
    ResponseEvaluated {
        /// The loop.
        loop_id: Text,
        /// The attempt.
        attempt: u8,
        /// Type of the response that the executor reported.
        response_type: ExecutorResponseType,
        /// Decision on what the response is worth.
        response_decision: ResponseDecision,
        /// Confidence in the response.
        confidence: Confidence,
        /// Why, in words.
        reason: Text,
        /// Decision that Phase-29 makes of it.
        execution_decision: ExecutionDecision,
        /// Why, in words.
        execution_reason: Text,
        /// Exit of the executor's process.
        exit: Exit,
    }
}

scored! {
    ResponseEvaluated {
        loop_id as "loop_id",
        attempt as "attempt",
        response_type as "response_type",
        response_decision as "response_decision",
        confidence as "confidence",
        reason as "reason",
        execution_decision as "execution_decision",
        execution_reason as "execution_reason",
        exit as "exit"
    } by confidence
}
