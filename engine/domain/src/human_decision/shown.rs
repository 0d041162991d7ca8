//! What a person is shown besides the summary of the evidence.

use serde::{Deserialize, Serialize};

use crate::event::Text;
use crate::execution_loop::ExecutorResponseType;

/// The circumstances of a request. The person sees them, so a decision binds them as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestContext {
    /// The loop that is decided on.
    pub loop_id: Text,
    /// The attempt that was evaluated, from 1.
    pub attempt: u8,
    /// The instruction as a person may read it: redacted, control characters visible.
    pub command_line: Text,
    /// What the executor claims about the attempt. Data, not truth.
    pub executor_claim: ExecutorResponseType,
    /// The seed's hash of the newest evidence record, lower-case hex.
    pub self_hash: Text,
    /// The seed's hash of the record before it; empty for the first.
    pub prior_hash: Text,
    /// How often the question was passed on before: 0 for the first request of an attempt.
    pub escalation_depth: u8,
    /// Who is asked; `None`: the approvers of the hold, or anyone where it names none.
    pub asked_of: Option<Text>,
    /// The request whose ESCALATE led to this one.
    pub escalated_from: Option<Text>,
}
