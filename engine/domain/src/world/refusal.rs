//! A rule said no. That is not an error: the request was understood, nothing came of it, and the
//! sentence says what to do.
//!
//! A refusal writes nothing, with one exception (property E3): one on scope, idempotency, gating
//! or continuity is a fact of its own. [`Refusal::audit`] gives the event to be recorded.

use alloc::string::{String, ToString as _};

use thiserror::Error;

use crate::core::actor::NotAPerson;
use crate::core::forbidden::RefusalClass;
use crate::core::limits::{MAX_CHAIN_RECORDS, MAX_ID_BYTES, MAX_ITEMS_PER_CAPTURE, MAX_RAW_BYTES};
use crate::core::payload::Text;
use crate::core::text::{IdentifierFault, bounded, shown};
use crate::decision_point::refusal::DecisionPointRefusal;
use crate::execution_loop::types::ExecutionLoopState;
use crate::human_decision::refusal::DecisionRefusal;
use crate::human_decision::terms::TermsFault;
use crate::interruption_thread::event::RowRefused;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::types::ReasonCode;
use crate::log::event::CommandRefused;
use crate::log::policy::{Loosened, OF_THE_LOG, PolicyFault};
use crate::sandbox_fault::types::FaultMismatch;
use crate::world::command::Command;
use crate::world::event::Event;

/// Why a command is refused. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A name that is missing, too long or hides characters.
    #[error("{0}")]
    InvalidIdentifier(#[from] IdentifierFault),
    /// A number of attempts outside 1 to 3.
    #[error("{found} attempts are not possible; allow 1 to {expected_most}")]
    AttemptsOutOfRange {
        /// The most attempts that there may be.
        expected_most: u8,
        /// What the command allows.
        found: u8,
    },
    /// A loop with this id is live, or lived once.
    #[error("loop {loop_id} exists; supply fresh random bits for a new loop")]
    LoopExists {
        /// The loop.
        loop_id: String,
    },
    /// A run that another process records: nobody else says what becomes of it.
    #[error(
        "another process records loop {loop_id} and says what becomes of it; nothing else can \
         while it lives: end that process to end the run"
    )]
    RecordedElsewhere {
        /// The loop.
        loop_id: String,
    },
    /// What the log's own writer says is contradicted by the log.
    #[error("{statement} says {found}, and the log says {expected}; nothing was recorded")]
    ContradictsLog {
        /// The event that would say so.
        statement: &'static str,
        /// What the log says.
        expected: String,
        /// What the statement says.
        found: String,
    },
    /// No live loop has this id.
    #[error(
        "loop {loop_id} is not live: it halted or never was; a halted loop is final, so \
             start a new one"
    )]
    LoopNotLive {
        /// The loop.
        loop_id: String,
    },
    /// The loop is in a state in which the command means nothing.
    #[error("loop {loop_id} is {found}; this needs {expected}: {advice}")]
    WrongState {
        /// The loop.
        loop_id: String,
        /// The state that the command needs.
        expected: ExecutionLoopState,
        /// The loop's state.
        found: ExecutionLoopState,
        /// What to do instead.
        advice: &'static str,
    },
    /// EVALUATED to DISPATCHED without a decision that permits it.
    #[error(
        "loop {loop_id} may not be dispatched again: {found}; complete it, or start a new loop"
    )]
    RetryNotPermitted {
        /// The loop.
        loop_id: String,
        /// What was decided instead.
        found: String,
    },
    /// Automation is to go on from where only records without proof may have let it come.
    #[error(
        "records {first} to {last} are unproven, and {subject} may rest on them: nothing is \
             permitted by it; end it, and begin anew"
    )]
    RestsOnUnproven {
        /// The loop, or the correlation id of the thread.
        subject: String,
        /// The first of these records.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// A response or fault is reported before the attempt's raw output was captured.
    #[error(
        "attempt {attempt} of loop {loop_id} has no raw output yet; capture EXECUTOR_OUTPUT \
             evidence (it may be empty) before reporting"
    )]
    RawOutputMissing {
        /// The loop.
        loop_id: String,
        /// The attempt.
        attempt: u8,
    },
    /// A fault of another attempt than the one that runs.
    #[error("{0}")]
    FaultElsewhere(FaultMismatch),
    /// A stop is asked for and its condition stated not to hold.
    #[error("{condition} is stated not to hold; leave the loop alone, or state that it holds")]
    StopNotTriggered {
        /// The condition's name.
        condition: &'static str,
    },
    /// Nothing, or too much, is offered in one capture.
    #[error("{found} evidence items are offered; offer 1 to {MAX_ITEMS_PER_CAPTURE} at once")]
    ItemCount {
        /// How many are offered.
        found: usize,
    },
    /// Raw evidence beyond the limit.
    #[error(
        "raw evidence of {found} bytes; the limit is {MAX_RAW_BYTES}: capture its beginning \
             and state its true length"
    )]
    EvidenceTooLarge {
        /// Its length, in bytes.
        found: usize,
    },
    /// What is said of an output stream contradicts the bytes captured of it.
    #[error(
        "the output's {field} is {found}, but the captured bytes say {expected}; describe \
             the whole stream"
    )]
    OutputContradicted {
        /// `length` or `SHA-256`.
        field: &'static str,
        /// What follows from the bytes.
        expected: String,
        /// What was said.
        found: String,
    },
    /// The chain is as long as it may be, but for the records that a halt needs.
    #[error(
        "the evidence chain of loop {loop_id} is full ({MAX_CHAIN_RECORDS} records, some \
             kept for its end); end the loop"
    )]
    ChainFull {
        /// The loop.
        loop_id: String,
    },
    /// The terms of a hold cannot be agreed on.
    #[error("the terms of the hold: {0}")]
    InvalidTerms(#[from] TermsFault),
    /// A question to a person.
    #[error(transparent)]
    HumanDecision(#[from] DecisionRefusal),
    /// An interruption thread.
    #[error(transparent)]
    InterruptionThread(#[from] ThreadRefusal),
    /// Terms that demand less than the policy in force.
    #[error("the policy of {floor} says otherwise: {loosened}; {}", advice(floor))]
    PolicyLoosened {
        /// Whose policy.
        floor: String,
        /// What is asked for, and what is demanded.
        loosened: Loosened,
    },
    /// A policy that is set already.
    #[error("this changes nothing: the policy of this log says so already")]
    PolicyUnchanged,
    /// A policy that cannot be kept.
    #[error("the policy cannot be kept: {0}")]
    InvalidPolicy(#[from] PolicyFault),
    /// The records that were lost may have held the log's policy.
    #[error(
        "records of this log were lost or are unproven, and its policy may be among them; a person \
         has to set one first, at a terminal: `holdpoint policy set`"
    )]
    PolicyLost,
    /// Somebody who is no person acts where only a person may.
    #[error("{what}: {reason}")]
    PersonNeeded {
        /// What a person alone may do.
        what: &'static str,
        /// Why this one does not count as a person.
        reason: NotAPerson,
    },
    /// A run that needs an approval before its start.
    #[error(
        "a person has to approve this before it starts; ask with `holdpoint run --hold before`"
    )]
    ApprovalNeeded,
    /// A decision point.
    #[error(transparent)]
    DecisionPoint(#[from] DecisionPointRefusal),
    /// Exactly this was done before: nothing more is to be done, and the caller is told of the
    /// record again.
    #[error("this was done before, with record {sequence}")]
    AlreadyDone {
        /// The record.
        sequence: u64,
    },
    /// An idempotency key was used for something else.
    #[error(
        "the idempotency key {key} was used for other content with record {first_sequence}; use \
         a new key for a new command"
    )]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// The first record under the key.
        first_sequence: u64,
    },
    /// The entity has changed since the caller looked.
    #[error("{entity} is at version {found}, not {expected}; look again and decide anew")]
    StaleVersion {
        /// The loop, request, thread or decision point.
        entity: String,
        /// The version that the caller saw.
        expected: u64,
        /// Its version: the sequence of the last record that changed it.
        found: u64,
    },
    /// The same random bits were used before in this chain.
    #[error("evidence record {record_id} exists in this chain; supply fresh random bits")]
    DuplicateRecordId {
        /// The record.
        record_id: String,
    },
}

/// What helps against a policy: that of a log can be relaxed, a file is its owner's.
fn advice(floor: &str) -> &'static str {
    match floor == OF_THE_LOG {
        true => "ask for at least that, or let its approvers relax it (`holdpoint policy relax`)",
        false => "ask for at least that: who may change the file decides about it",
    }
}

impl Refusal {
    /// Of terms that the log's own policy does not let pass.
    pub(crate) fn loosened(loosened: Loosened) -> Self {
        Self::PolicyLoosened { floor: OF_THE_LOG.to_string(), loosened }
    }

    /// The stable reason code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidIdentifier(_) => "INVALID_IDENTIFIER",
            Self::AttemptsOutOfRange { .. } => "ATTEMPTS_OUT_OF_RANGE",
            Self::LoopExists { .. } => "LOOP_EXISTS",
            Self::RecordedElsewhere { .. } => "RECORDED_ELSEWHERE",
            Self::ContradictsLog { .. } => "CONTRADICTS_LOG",
            Self::LoopNotLive { .. } => "LOOP_NOT_LIVE",
            Self::WrongState { .. } => "WRONG_STATE",
            Self::RetryNotPermitted { .. } => "RETRY_NOT_PERMITTED",
            Self::RestsOnUnproven { .. } => "RESTS_ON_UNPROVEN",
            Self::RawOutputMissing { .. } => "RAW_OUTPUT_MISSING",
            Self::FaultElsewhere(_) => "FAULT_ELSEWHERE",
            Self::StopNotTriggered { .. } => "STOP_NOT_TRIGGERED",
            Self::ItemCount { .. } => "ITEM_COUNT",
            Self::EvidenceTooLarge { .. } => "EVIDENCE_TOO_LARGE",
            Self::OutputContradicted { .. } => "OUTPUT_CONTRADICTED",
            Self::ChainFull { .. } => "CHAIN_FULL",
            Self::InvalidTerms(_) => "INVALID_TERMS",
            Self::HumanDecision(refusal) => refusal.code(),
            Self::InterruptionThread(refusal) => refusal.code(),
            Self::DecisionPoint(refusal) => refusal.code(),
            Self::PolicyLoosened { .. } => "POLICY_LOOSENED",
            Self::PolicyUnchanged => "POLICY_UNCHANGED",
            Self::InvalidPolicy(_) => "INVALID_POLICY",
            Self::PolicyLost => "POLICY_LOST",
            Self::PersonNeeded { reason, .. } => reason.code(),
            Self::ApprovalNeeded => "APPROVAL_NEEDED",
            Self::AlreadyDone { .. } => "ALREADY_DONE",
            Self::IdempotencyConflict { .. } => "IDEMPOTENCY_CONFLICT",
            Self::StaleVersion { .. } => "STALE_VERSION",
            Self::DuplicateRecordId { .. } => "DUPLICATE_RECORD_ID",
        }
    }

    /// The kind of rule, where the refusal is a fact of its own; `None` where nothing is written.
    #[must_use]
    pub const fn class(&self) -> Option<RefusalClass> {
        match self {
            Self::HumanDecision(refusal) => refusal.class(),
            Self::InterruptionThread(refusal) => refusal.class(),
            Self::DecisionPoint(refusal) => refusal.class(),
            Self::LoopNotLive { .. } | Self::FaultElsewhere(_) => Some(RefusalClass::Scope),
            Self::IdempotencyConflict { .. } => Some(RefusalClass::Idempotency),
            Self::RetryNotPermitted { .. }
            | Self::RestsOnUnproven { .. }
            | Self::RecordedElsewhere { .. }
            | Self::PolicyLoosened { .. }
            | Self::PolicyLost
            | Self::PersonNeeded { .. }
            | Self::ApprovalNeeded => Some(RefusalClass::Gating),
            Self::StaleVersion { .. } => Some(RefusalClass::Continuity),
            _ => None,
        }
    }

    /// The fact that this command was refused, to be recorded in its place; `None` where a
    /// refusal leaves no trace. It carries the command's envelope but for the idempotency key,
    /// which stays free for a command that is accepted.
    #[must_use]
    pub fn audit(&self, command: &Command) -> Option<Event> {
        let class = self.class()?;
        if let Some(row) = self.refused_row(command, class) {
            return Some(row.into());
        }
        let subject = command.subject().map(|subject| bounded(subject, MAX_ID_BYTES));
        Some(Event::from(CommandRefused {
            command: command.name().into(),
            class,
            code: self.code().into(),
            subject: subject.map(|subject| Text::from(shown(subject))),
            message: shown(&self.to_string()).into(),
        }))
    }

    /// A turn's or a row's refusal is a reason-coded row (seed PH1.X, "Failure Modes").
    fn refused_row(&self, command: &Command, class: RefusalClass) -> Option<RowRefused> {
        let scope = command.turn_scope()?;
        let reason_code = match self {
            Self::InterruptionThread(refusal) => refusal.row_reason()?,
            Self::IdempotencyConflict { .. } => ReasonCode::FailIdempotencyConflict,
            Self::StaleVersion { .. } => ReasonCode::FailStaleVersion,
            _ => return None,
        };
        let cut = |text: &str, bytes: usize| Text::from(shown(bounded(text, bytes)));
        Some(RowRefused {
            command: command.name().into(),
            tenant_id: cut(scope.tenant_id, 64),
            correlation_id: cut(scope.correlation_id, MAX_ID_BYTES),
            turn_id: scope.turn_id,
            user_id: cut(scope.user_id, 128),
            device_id: cut(scope.device_id, 128),
            directive: command.caller_row().map(|row| row.directive),
            reason_code,
            class,
            message: shown(&self.to_string()).into(),
            idempotency_key: cut(scope.idempotency_key, 128),
            remainders: command.unsaid().into_iter().collect(),
        })
    }
}
