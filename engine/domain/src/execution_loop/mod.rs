//! The execution loop (Phase-29) and the governance of what an executor answers (Phase-30), with
//! the closed types of Phase-01 and Phase-28 that they import.
//!
//! Everything here is a pure function of its arguments. An executor's report is data, not truth.

mod actor;
mod context;
mod evaluation;
mod handshake;
mod response;
mod state;

pub use actor::{Actor, Role};
pub use context::{
    ExecutionLoopContext, initialize_execution_loop, is_transition_allowed,
    transition_execution_state,
};
pub use evaluation::{ExecutionDecision, ExecutionEvaluationResult, evaluate_executor_response};
pub use handshake::{
    ExecutorIdentity, ExecutorIdentityStatus, HandshakeContext, HandshakeDecision, HandshakeResult,
    decide_handshake,
};
pub use response::{
    ExecutorRawResponse, ExecutorResponseType, NormalizedExecutionResult, ResponseDecision,
    decide_response_outcome, evaluate_response_trust, normalize_executor_response,
    normalize_loop_response,
};
pub use state::{ALLOWED_TRANSITIONS, ExecutionLoopState};
