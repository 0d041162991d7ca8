//! Why a command on a question to a person is refused.

use alloc::string::String;

use crate::core::actor::Actor;
use crate::core::limits::MAX_REASON_BYTES;
use crate::core::refusal::refusals;
use crate::core::time::Timestamp;
use crate::human_decision::rules::{AnswerRefusal, RequestRefusal};
use crate::human_decision::types::{HumanDecision, OverrideField};

refusals! {
    /// Why a command on a question to a person is refused. Closed.
    HumanDecisionRefusal holding {}
    /// A step that needs a person's decision first.
    #[error("loop {loop_id} is held: {found}")]
    HoldApplies {
        /// The loop.
        loop_id: String,
        /// Obstacle that stands in the way, and what to do.
        found: String,
    } = "HOLD_APPLIES" in Gating,
    /// No request can be made of the loop's evidence.
    #[error("nobody can be asked about loop {loop_id}: {reason}")]
    NoRequest {
        /// The loop.
        loop_id: String,
        /// Why.
        reason: RequestRefusal,
    } = "NO_REQUEST",
    /// The question is open already.
    #[error("request {request_id} of loop {loop_id} is open; wait for its answer")]
    RequestOpen {
        /// The loop.
        loop_id: String,
        /// The open request.
        request_id: String,
    } = "REQUEST_OPEN",
    /// Another question has, or had, the id that the new one would have.
    #[error("request {request_id} exists; supply fresh random bits for a new question")]
    RequestExists {
        /// The request.
        request_id: String,
    } = "REQUEST_EXISTS",
    /// A person decided about this attempt already.
    #[error("{decision} was decided about attempt {attempt} of loop {loop_id}; act on it")]
    AttemptDecided {
        /// The loop.
        loop_id: String,
        /// The attempt.
        attempt: u8,
        /// Decision that was made.
        decision: HumanDecision,
    } = "ATTEMPT_DECIDED",
    /// No request has this id.
    #[error(
        "request {request_id} is not known: it never was, or its loop settled long ago; look it \
         up in the log"
    )]
    UnknownRequest {
        /// The request.
        request_id: String,
    } = "UNKNOWN_REQUEST" in Scope,
    /// The request is of another loop.
    #[error("request {request_id} is of loop {expected}, not of {found}; name the right loop")]
    RequestElsewhere {
        /// The request.
        request_id: String,
        /// Its loop.
        expected: String,
        /// The loop that the command names.
        found: String,
    } = "REQUEST_ELSEWHERE" in Scope,
    /// Anything but a person answers.
    #[error("request {request_id} is answered by a person only; {found} cannot")]
    NotHuman {
        /// The request.
        request_id: String,
        /// Actor who answers.
        found: Actor,
    } = "NOT_A_HUMAN" in Scope,
    /// A person who is not asked.
    #[error("{human_id} may not answer request {request_id}; ask one of its approvers")]
    NotAnApprover {
        /// The request.
        request_id: String,
        /// Name of who answers.
        human_id: String,
    } = "NOT_AN_APPROVER" in Scope,
    /// A person who may not allow fields to be shown.
    #[error("{human_id} may not override visibility for {request_id}; the hold names who may")]
    NotAnOverrideApprover {
        /// The request.
        request_id: String,
        /// Name of who wants to allow it.
        human_id: String,
    } = "NOT_AN_OVERRIDE_APPROVER" in Scope,
    /// The answer lacks something, or is not allowed, or comes at the wrong time.
    #[error("request {request_id}: {reason}")]
    Answer {
        /// The request.
        request_id: String,
        /// Reason for the refusal.
        reason: AnswerRefusal,
    } by reason: AnswerRefusal,
    /// A reason that does not fit.
    #[error("the reason has {found} bytes; the limit is {MAX_REASON_BYTES}: shorten it")]
    ReasonTooLong {
        /// Its length, in bytes.
        found: usize,
    } = "REASON_TOO_LONG",
    /// An override without a reason that anybody can see.
    #[error("an override of {field} requires a reason")]
    OverrideReason {
        /// The field.
        field: OverrideField,
    } = "REASON_REQUIRED",
    /// The field was allowed before, by somebody else or for another reason.
    #[error(
        "{field} of request {request_id} was overridden before by {human_id} for another reason or \
         under another name, record {sequence}; it is shown already"
    )]
    AlreadyOverridden {
        /// The request.
        request_id: String,
        /// The field.
        field: OverrideField,
        /// Name of who allowed it.
        human_id: String,
        /// The record.
        sequence: u64,
    } = "ALREADY_OVERRIDDEN" in Idempotency,
    /// ESCALATE to somebody who is not configured, or was asked about this attempt already.
    #[error("{target} cannot be asked; the hold's targets that were not asked yet: {known}")]
    UnknownTarget {
        /// The target.
        target: String,
        /// Those that are left.
        known: String,
    } = "UNKNOWN_TARGET" in Scope,
    /// A target with a decision that has none.
    #[error("{decision} takes no escalation target; leave it away")]
    UnexpectedTarget {
        /// The decision.
        decision: HumanDecision,
    } = "UNEXPECTED_TARGET",
    /// Somebody decided otherwise before.
    #[error(
        "request {request_id} was answered before: {decision} by {human_id}, record {sequence}"
    )]
    AlreadyAnswered {
        /// The request.
        request_id: String,
        /// Decision that was made.
        decision: HumanDecision,
        /// By whom.
        human_id: String,
        /// The winner's record.
        sequence: u64,
    } = "ALREADY_ANSWERED" in Idempotency,
    /// The loop halted before anybody answered.
    #[error("request {request_id} was withdrawn with record {sequence}: its loop halted")]
    Withdrawn {
        /// The request.
        request_id: String,
        /// The record.
        sequence: u64,
    } = "REQUEST_WITHDRAWN" in Scope,
    /// Nothing falls due for the request at this time.
    #[error("nothing is due for request {request_id}; next: {}", next_text(*.next))]
    NotDue {
        /// The request.
        request_id: String,
        /// Time of what falls due next, if anything does.
        next: Option<Timestamp>,
    } = "NOT_DUE",
    /// The field has no value.
    #[error("the attempt of request {request_id} has no {field}; there is nothing to show")]
    NothingToDisclose {
        /// The request.
        request_id: String,
        /// The field.
        field: OverrideField,
    } = "NOTHING_TO_DISCLOSE",
}

fn next_text(next: Option<Timestamp>) -> String {
    next.map_or_else(|| String::from("nothing"), |at| alloc::format!("{at}"))
}
