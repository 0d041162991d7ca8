//! An audit row: what PH1.X commits for every directive (seed, "Audit Emission Requirements").

use serde::{Deserialize, Serialize};

use super::types::{Directive, PendingState, ResumePolicy, WorkOrderStatus};
use crate::event::Text;
use crate::hash::Digest;

/// The name under which PH1.X writes: `owner_engine_id` of HEALTH rows, and the engine in the scope
/// of its idempotency keys.
pub const ENGINE_ID: &str = "PH1.X";

/// A row's payload: exactly the seed's twelve keys, absent where they say nothing. Everything more
/// about a turn is in its transition event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowPayload {
    /// Which directive.
    pub directive: Directive,
    /// CONFIRM: what is confirmed, 1 to 64 bytes.
    pub confirm_kind: Option<Text>,
    /// CLARIFY: what is missing, 1 to 64 bytes.
    pub what_is_missing: Option<Text>,
    /// CLARIFY: the question's id, 1 to 128 bytes.
    pub clarification_unit_id: Option<Text>,
    /// RESPOND: what kind of answer, 1 to 64 bytes.
    pub response_kind: Option<Text>,
    /// DISPATCH: to what, 1 to 64 bytes.
    pub dispatch_target: Option<Text>,
    /// WAIT: what for, 1 to 64 bytes.
    pub wait_kind: Option<Text>,
    /// The work order.
    pub work_order_id: Text,
    /// Its status when the row was written.
    pub work_order_status_snapshot: WorkOrderStatus,
    /// What the thread waited for when the row was written.
    pub pending_state: PendingState,
    /// DISPATCH: SHA-256 of the token of the lease that allows it. The token itself never enters.
    pub lease_token_hash: Option<Digest>,
    /// What becomes of the words that were left unsaid.
    pub interrupt_resume_policy: Option<ResumePolicy>,
}

impl RowPayload {
    /// The keys, in the seed's order.
    pub const KEYS: [&'static str; 12] = [
        "directive",
        "confirm_kind",
        "what_is_missing",
        "clarification_unit_id",
        "response_kind",
        "dispatch_target",
        "wait_kind",
        "work_order_id",
        "work_order_status_snapshot",
        "pending_state",
        "lease_token_hash",
        "interrupt_resume_policy",
    ];
}
