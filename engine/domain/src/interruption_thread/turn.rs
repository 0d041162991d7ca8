//! One turn against the state of its thread: the branch table behind one door.

use super::decision::TurnDecision;
use super::request::TurnRequest;
use super::state::ThreadState;
use super::types::SessionStatus;
use crate::refusal::ThreadRefusal;
use crate::time::Timestamp;

/// A turn, with what the branch table needs to know besides the state.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The turn, above 0 and unique in its thread.
    pub turn_id: u64,
    /// Where the session is.
    pub session_status: SessionStatus,
    /// What is known about the turn.
    pub request: &'a TurnRequest,
    /// The time of its record.
    pub at: Timestamp,
}

/// What a turn comes to. What has expired by then counts as expired, whether or not that is on
/// record yet.
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the field of a request that breaks the contract (seed,
/// "Request contract fields"). Nothing is decided then.
pub fn decide_turn(_state: &ThreadState, _turn: &Turn<'_>) -> Result<TurnDecision, ThreadRefusal> {
    Err(ThreadRefusal::Malformed {
        field: "request",
        expected: "a branch table",
        found: alloc::string::String::from("none"),
    })
}

impl ThreadState {
    /// The state after a turn that came to this.
    #[must_use]
    pub fn after_turn(&self, _turn: &Turn<'_>, _decision: &TurnDecision) -> Self {
        self.clone()
    }
}
