//! One execution loop: how it starts and how it moves (Phase-29).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{ALLOWED_TRANSITIONS, ExecutionLoopState};
use crate::text::{id, is_blank};

/// An execution loop at one moment. Frozen: nothing outside this module can set the state, so a
/// HALTED loop cannot be copied back to life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionLoopContext {
    loop_id: String,
    instruction_envelope_hash: String,
    current_state: ExecutionLoopState,
    executor_id: String,
}

impl ExecutionLoopContext {
    /// `LOOP-` and the entropy it was made with.
    #[must_use]
    pub fn loop_id(&self) -> &str {
        &self.loop_id
    }

    /// The hash of the exact instruction that may be executed.
    #[must_use]
    pub fn instruction_envelope_hash(&self) -> &str {
        &self.instruction_envelope_hash
    }

    /// Where the loop is.
    #[must_use]
    pub const fn current_state(&self) -> ExecutionLoopState {
        self.current_state
    }

    /// As [`transition_execution_state`], in place.
    pub(crate) fn transition(&mut self, to_state: ExecutionLoopState) {
        let allowed = is_transition_allowed(self.current_state, to_state);
        self.current_state = if allowed { to_state } else { ExecutionLoopState::Halted };
    }

    /// The only executor whose response counts.
    #[must_use]
    pub fn executor_id(&self) -> &str {
        &self.executor_id
    }
}

/// Starts a loop in INIT, or HALTED when the envelope hash or the executor is missing. Missing
/// means blank, as in the other phases; the reference of Phase-29 starts a loop on `" "`.
#[must_use]
pub fn initialize_execution_loop(
    instruction_envelope_hash: &str,
    executor_id: &str,
    entropy: &str,
) -> ExecutionLoopContext {
    let missing = is_blank(instruction_envelope_hash) || is_blank(executor_id);
    ExecutionLoopContext {
        loop_id: id("LOOP-", entropy),
        instruction_envelope_hash: String::from(instruction_envelope_hash),
        current_state: if missing { ExecutionLoopState::Halted } else { ExecutionLoopState::Init },
        executor_id: String::from(executor_id),
    }
}

/// Moves a loop. A transition that is not allowed halts it. Ask [`is_transition_allowed`] to tell
/// a wanted halt from an illegal transition, which has to be recorded with its reason.
#[must_use]
pub fn transition_execution_state(
    context: &ExecutionLoopContext,
    to_state: ExecutionLoopState,
) -> ExecutionLoopContext {
    let mut moved = context.clone();
    moved.transition(to_state);
    moved
}

/// Whether the table of Phase-29 has this transition.
#[must_use]
pub fn is_transition_allowed(from: ExecutionLoopState, to: ExecutionLoopState) -> bool {
    ALLOWED_TRANSITIONS.contains(&(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

    fn in_state(state: ExecutionLoopState) -> ExecutionLoopContext {
        let loop_context = initialize_execution_loop("hash", "exec-1", "00000000");
        ExecutionLoopContext { current_state: state, ..loop_context }
    }

    /// The table once more, written as the state that results: rows are `from`, columns `to`.
    #[test]
    fn table_transitions_5_by_5() {
        let to = [Init, Dispatched, AwaitingResponse, Evaluated, Halted];
        let table = [
            (Init, [Halted, Dispatched, Halted, Halted, Halted]),
            (Dispatched, [Halted, Halted, AwaitingResponse, Halted, Halted]),
            (AwaitingResponse, [Halted, Halted, Halted, Evaluated, Halted]),
            (Evaluated, [Halted, Dispatched, Halted, Halted, Halted]),
            (Halted, [Halted, Halted, Halted, Halted, Halted]),
        ];
        for (from, row) in table {
            for (to, expected) in to.into_iter().zip(row) {
                let before = in_state(from);
                let after = transition_execution_state(&before, to);
                assert_eq!(after.current_state(), expected, "{from} -> {to}");
                assert_eq!(after, ExecutionLoopContext { current_state: expected, ..before });
                let allowed = is_transition_allowed(from, to);
                assert_eq!(allowed, to == expected, "{from} -> {to}");
            }
        }
    }

    #[test]
    fn a_loop_without_envelope_or_executor_is_halted_from_the_start() {
        for (hash, executor) in [("", "exec-1"), ("hash", ""), ("", ""), (" ", "x"), ("x", "\t")] {
            let context = initialize_execution_loop(hash, executor, "00000000");
            assert_eq!(context.current_state(), Halted, "{hash:?} {executor:?}");
            assert_eq!(context.instruction_envelope_hash(), hash);
            assert_eq!(context.executor_id(), executor);
            assert_eq!(context.loop_id(), "LOOP-00000000");
        }
        assert_eq!(in_state(Init), initialize_execution_loop("hash", "exec-1", "00000000"));
    }
}
