//! PH1.X: interruption threads. What was being said when somebody interrupted it, to whom, and what
//! became of the rest; one directive and one audit row for every turn.

mod advice;
mod basis_points;
mod branch;
mod clarify;
mod decision;
mod draft;
mod duplex;
mod health;
mod reason;
mod render;
mod request;
mod row;
mod state;
mod turn;
mod types;
mod validate;

pub use advice::{Style, check_handoff, explanation, selected_missing_field, style};
pub use basis_points::{BasisPoints, BasisPointsOutOfRange, HIGH_BAND_MIN, RELATION_THRESHOLD};
pub use decision::{Clarify, Dispatch, Remainder, TurnDecision};
pub use duplex::{
    COMMIT_THRESHOLD, CommitRefusal, DuplexBranch, Heard, IntentHypothesis, InterruptCandidate,
    PartialTranscript, SpeculativePlan, TurnCommitDecision,
};
pub use health::{HealthReport, HealthRow, MAX_FINGERPRINT_BYTES, issue_fingerprint};
pub use reason::{REGISTRY_BASE, ReasonCode};
pub use render::{
    Citation, MAX_SHOWN_FIELDS, MAX_SHOWN_SOURCES, MAX_TOOL_ITEMS, OutputMode, RenderLocale,
    RenderedResponse, ToolField, ToolResponse, ToolSource, render,
};
pub use request::{
    Advice, ConfidenceBundle, DegradationContext, ExplainTrigger, Explanation, GateConfidences,
    Interruption, Ph1kToPh1xInterruptHandoff, SpeechWindowMetrics, StyleAdvice, TimingMarkers,
    TtsResumeSnapshot, TurnInput, TurnRequest, ValidationStatus,
};
pub use row::{ENGINE_ID, RowPayload};
pub use state::{
    BUFFER_LIFETIME_MS, MAX_NESTED_BUFFERS, MAX_SAID, Marks, Pending, ResumeBuffer, ReturnCheck,
    Said, ThreadState,
};
pub(crate) use turn::decide_checked;
pub use turn::{Expiry, Turn, decide_turn};
pub use types::{
    Capability, ConfidenceBand, ConfirmAnswer, ContinuityOutcome, DecidedBy, DeliveryHint,
    Directive, DispatchKind, Fate, FateReason, IntentClass, LeaseStatus, PendingState,
    RegistrationStatus, ResumePolicy, RiskContextClass, RowEventType, SessionStatus, Severity,
    SubjectRelation, ToolStatus, TtsControl, WorkOrderStatus,
};
pub(crate) use validate::{check_form, check_name, check_request, malformed};
