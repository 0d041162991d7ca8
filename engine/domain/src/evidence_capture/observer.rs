//! Attaching an observer to a loop (Phase-31).

use thiserror::Error;

use super::ObservationContext;
use crate::execution_loop::{ExecutionLoopContext, ExecutionLoopState};
use crate::text::is_blank;

/// Attaches an observation session to a loop. The loop must be in INIT, and loop, executor and
/// envelope must be the same on both sides and not blank; on any mismatch the session that is
/// returned is halted. A session that is halted already stays halted.
#[must_use]
pub fn attach_observer(
    loop_context: &ExecutionLoopContext,
    observation_context: &ObservationContext,
) -> ObservationContext {
    let mismatch = observer_mismatch(loop_context, observation_context);
    let is_halted = observation_context.is_halted || mismatch.is_some();
    ObservationContext { is_halted, ..observation_context.clone() }
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
    /// Whether every field says something: none is blank.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        ![&self.session_id, &self.loop_id, &self.executor_id, &self.envelope_hash, &self.created_at]
            .into_iter()
            .any(|field| is_blank(field))
    }
}
