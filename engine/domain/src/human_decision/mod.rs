//! Human-mediated decisions (Phase-32): only a person decides, every decision binds what the
//! person saw, and whatever is ambiguous or late is ABORT.
//!
//! The seed's own record hash joins fields with NUL and covers nothing of the summary but the
//! chain's hash. It is kept for compatibility; what is relied on is the injective hash of this
//! module: [`AuditHead::injective_head`] covers every decision, its place, its session, the whole
//! request that the person saw, and by what means it was answered.
//!
//! A deadline that is now has passed: an answer counts only strictly before it.

mod apply;
mod audit;
mod hashing;
mod record;
mod request;
mod shown;
mod terms;
mod timing;
mod types;
mod visibility;

pub use apply::apply_decision;
pub use audit::{
    AuditAnchor, AuditFinding, AuditHead, DecisionAudit, DecisionBinding, create_empty_audit,
    inspect_anchored_audit, inspect_audit, record_decision, validate_audit_chain,
};
pub use hashing::{
    AuditPlace, disclosure_hash, injective_audit_genesis_hash, injective_decision_hash,
    injective_request_hash, record_hash, shown_hash,
};
pub(crate) use record::visible_or_none;
pub use record::{
    AnswerRefusal, DecisionRecord, SYSTEM_TIMEOUT, TIMEOUT_REASON, accept_decision,
    accept_decision_in_time, create_timeout_decision,
};
pub use request::{
    DecisionRequest, EvidenceSummary, RequestRefusal, create_request, present_evidence,
    request_from_summary,
};
pub use shown::RequestContext;
pub use terms::{EscalationTarget, HoldPolicy, HoldTerms, TermsFault};
pub use timing::{DecisionTimeout, MAX_TIMEOUT_MS, TimeoutOutOfRange, warning_time};
pub use types::{
    AnswerChannel, AnswerMeans, DecisionOutcome, EvidenceVisibility, HumanDecision, OverrideField,
};
pub use visibility::{VISIBILITY, claimed, get_visibility};
