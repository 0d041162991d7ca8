//! Decision points (seed "Decisions"): a program asks, a person answers, once.
//!
//! A decision point is one *round* of a question: it has its own id, and exactly one event ends it.
//! Guidance ends a round and opens the next one, linked both ways; all rounds of a question share
//! the id of the first as their chain.

mod check;
mod response;
mod terms;
mod types;

pub(crate) use check::{
    bad_default, check_binding, check_length, check_plain_name, option_ids, shown,
};
pub use check::{check_policy, check_proposal, check_response_form, check_terms};
pub use response::{ACCEPT, Principal, Response};
pub use terms::{
    APPROVE, ActionBinding, ApprovalPolicy, DENY, DecisionOption, EvidenceAttachment, OptionList,
    Proposal, Terms,
};
pub use types::{Authentication, DecisionPointState, OnTimeout, ResolutionKind, Urgency};

/// Most options of a proposal.
pub const MAX_OPTIONS: usize = 32;
/// Longest prompt, in bytes.
pub const MAX_PROMPT_BYTES: usize = 4 * 1024;
/// Longest context, in bytes.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;
/// Longest text, guidance or comment of an answer, in bytes. A longer one is refused, not cut.
pub const MAX_RESPONSE_BYTES: usize = 32 * 1024;
/// Longest id of an option, in bytes.
pub const MAX_OPTION_ID_BYTES: usize = 32;
/// Longest short form of an option, in bytes.
pub const MAX_SHORT_BYTES: usize = 64;
/// Longest label of an option, in bytes.
pub const MAX_LABEL_BYTES: usize = 1024;
/// Longest description of an option, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// Longest reason for a cancellation or an escalation, in bytes.
pub const MAX_REASON_BYTES: usize = 4 * 1024;
/// Most rounds that guidance may lead to.
pub const MAX_ITERATIONS: u8 = 20;
/// Rounds where the creator says nothing (seed, "DecisionPoint Type").
pub const DEFAULT_MAX_ITERATIONS: u8 = 3;
/// Longest time in which an answer may be awaited or an approval spent: 366 days, in milliseconds.
pub const MAX_TIMEOUT_MS: u64 = 366 * 24 * 60 * 60 * 1000;
/// How long an approval may be spent where the creator says nothing: 24 hours, in milliseconds.
pub const DEFAULT_VALID_FOR_MS: u64 = 24 * 60 * 60 * 1000;
/// Most late responses of one round that are remembered; more are recorded all the same.
pub const MAX_LATE_RESPONSES: usize = 16;
/// Most votes of one round.
pub const MAX_VOTES: usize = 64;
/// Most decision points that are remembered after they ended: the newest.
pub const MAX_CLOSED_DECISION_POINTS: usize = 1024;
