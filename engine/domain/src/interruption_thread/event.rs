//! What happened in interruption threads (seed PH1.X), and to whom they belong. Kinds 160 to 191.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::core::events;
use crate::core::forbidden::RefusalClass;
use crate::core::hash::Digest;
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::interruption_thread::decision::{Remainder, RowPayload, TurnDecision};
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::types::{
    DecidedBy, Directive, PendingState, ReasonCode, ResumePolicy, RowEventType, Severity,
};
use crate::registration::types::SessionStatus;

events! {
    /// What happened to an interruption thread.
    #[expect(
        clippy::large_enum_variant,
        reason = "events lie in the union of all systems, which is as large as the largest"
    )]
    InterruptionThreadEvent of "interruption_thread" kinds 167..=191, {
        /// A turn was taken.
        167 v 1 "interruption_thread.turn_taken" => TurnTaken;
        /// An audit row was committed.
        168 v 1 "interruption_thread.row_committed" => RowCommitted in Box;
        /// A turn or a row was refused.
        169 v 1 "interruption_thread.row_refused" => RowRefused;
        /// Words that were left unsaid expired.
        170 v 1 "interruption_thread.buffer_expired" => BufferExpired;
        /// The question whether to go back expired.
        171 v 1 "interruption_thread.return_check_expired" => ReturnCheckExpired;
        /// Words that were left unsaid were given up with their session or thread.
        172 v 1 "interruption_thread.remainders_discarded" => RemaindersDiscarded;
        /// Audit rows were read in the diagnostic mode.
        173 v 1 "interruption_thread.rows_read" => RowsRead;
        /// A thread ended.
        174 v 1 "interruption_thread.thread_closed" => ThreadClosed;
        /// What a thread waited for ended with the session in which it was asked.
        175 v 1 "interruption_thread.pending_disarmed" => PendingDisarmed;
        /// A thread goes on in another session.
        176 v 1 "interruption_thread.thread_moved" => ThreadMoved;
    }
    /// Tenant and correlation of the thread that the event is about.
    pub fn thread(body) -> (&str, &str) { (&body.tenant_id, &body.correlation_id) }
}

/// A turn was taken: its input, what it came to, and the hashes that bind the state before and
/// after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnTaken {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The turn, above every earlier one of the thread.
    pub turn_id: u64,
    /// The session: the one that the turn names, else the thread's own; `None` where neither is.
    pub session_id: Option<Text>,
    /// Where the session was; ACTIVE where there is none.
    pub session_status: SessionStatus,
    /// The input.
    pub request: Box<TurnRequest>,
    /// What it came to.
    pub decision: Box<TurnDecision>,
    /// [`ThreadState::digest`](crate::interruption_thread::ThreadState::digest) before.
    pub state_before: Digest,
    /// The same after.
    pub state_after: Digest,
}

/// An audit row was committed. The record's sequence is the row's id, its time the row's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowCommitted {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The turn.
    pub turn_id: u64,
    /// The session: the one that was named, else the thread's own; `None` where neither is.
    pub session_id: Option<Text>,
    /// The user.
    pub user_id: Text,
    /// The user's device.
    pub device_id: Text,
    /// The type.
    pub event_type: RowEventType,
    /// How much it matters.
    pub severity: Severity,
    /// Why; the name goes verbatim into whatever shows the row.
    pub reason_code: ReasonCode,
    /// The key under which it was committed, 1 to 128 bytes.
    pub idempotency_key: Text,
    /// HEALTH's topic marker, where the turn has a topic: at most 128 bytes of ASCII.
    pub issue_fingerprint: Option<Text>,
    /// Who chose the directive.
    pub decided_by: DecidedBy,
    /// What the thread waited for, where the row gives that up without an answer.
    pub dropped_pending: Option<PendingState>,
    /// The payload.
    pub payload: RowPayload,
}

/// A turn or a row was refused by a rule on scope, idempotency, gating or continuity: a
/// reason-coded row of its own. Nothing else came of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowRefused {
    /// The command's name.
    pub command: Text,
    /// The tenant that the command names, cut to 64 bytes, as all that follows is to its own bound.
    pub tenant_id: Text,
    /// The thread that it names.
    pub correlation_id: Text,
    /// The turn that it names.
    pub turn_id: u64,
    /// The user that it names.
    pub user_id: Text,
    /// The device that it names.
    pub device_id: Text,
    /// The directive that was to be committed; `None` for a turn.
    pub directive: Option<Directive>,
    /// Why.
    pub reason_code: ReasonCode,
    /// The kind of rule.
    pub class: RefusalClass,
    /// The same in words, with the field, what was expected and what was found.
    pub message: Text,
    /// The key that the command names.
    pub idempotency_key: Text,
    /// The words that the turn left unsaid, if any: nothing of a refused turn is kept, so they are
    /// DISCARDED, with the reason TURN_REFUSED.
    pub remainders: List<Remainder>,
}

/// Words that were left unsaid were kept for their time, and are gone: policy DISCARD. Where it
/// was asked whether to go back to them, that question expired just before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BufferExpired {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The turn whose interruption left the words.
    pub captured_turn: u64,
    /// The answer that they belong to.
    pub answer_id: u64,
    /// Whom they were being said to.
    pub speaker_user_id: Text,
    /// When they expired; the record's own time is when somebody looked.
    pub expires_at: Timestamp,
    /// What becomes of the words: always DISCARD.
    pub interrupt_resume_policy: ResumePolicy,
    /// Always `X_BUFFER_EXPIRED`.
    pub reason_code: ReasonCode,
}

/// Nobody answered whether to go back: the words are kept for their own time, or expire with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReturnCheckExpired {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// When it expired, not later than the words; the record's own time is when somebody looked.
    pub expires_at: Timestamp,
    /// What becomes of the words: RESUME_LATER, or DISCARD where their own time is over as well.
    pub interrupt_resume_policy: ResumePolicy,
    /// Always `X_RETURN_CHECK_EXPIRED`.
    pub reason_code: ReasonCode,
}

/// The session of a thread was closed with words left unsaid: policy DISCARD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemaindersDiscarded {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The session that was closed; `None` where the thread was.
    pub session_id: Option<Text>,
    /// The words, each DISCARDED.
    pub remainders: List<Remainder>,
    /// `X_SESSION_CLOSED` or `X_THREAD_CLOSED`.
    pub reason_code: ReasonCode,
}

/// The session was closed in which a thread waited for something: it waits for that no more, and no
/// answer that is still to come lets anything be said or done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingDisarmed {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The session that was closed.
    pub session_id: Text,
    /// What the thread waited for; NONE where only a return check was open.
    pub pending_state: PendingState,
    /// The turn whose words the open return check was about, where there was one.
    pub return_check: Option<u64>,
    /// Always `X_SESSION_CLOSED`.
    pub reason_code: ReasonCode,
}

/// A caller's row speaks to the thread's user in another session than before: that is the thread's
/// own from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadMoved {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The session in which it goes on.
    pub session_id: Text,
}

/// The audit rows of a thread were read in the diagnostic mode. Other reads leave no trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowsRead {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// Sequence of the thread's newest record when it was read; 0 where there is no thread, but
    /// perhaps rows that were refused.
    pub last_sequence: u64,
}

/// A thread ended: no turn follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadClosed {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    TurnTaken {
        tenant_id, correlation_id, turn_id, session_id, session_status, request, decision,
        state_before, state_after,
    }
    RowCommitted {
        tenant_id, correlation_id, turn_id, session_id, user_id, device_id, event_type, severity,
        reason_code, idempotency_key, issue_fingerprint, decided_by, dropped_pending, payload,
    }
    RowRefused {
        command, tenant_id, correlation_id, turn_id, user_id, device_id, directive, reason_code,
        class, message, idempotency_key, remainders,
    }
    BufferExpired {
        tenant_id, correlation_id, captured_turn, answer_id, speaker_user_id, expires_at,
        interrupt_resume_policy, reason_code,
    }
    ReturnCheckExpired {
        tenant_id, correlation_id, expires_at, interrupt_resume_policy, reason_code,
    }
    RemaindersDiscarded { tenant_id, correlation_id, session_id, remainders, reason_code }
    PendingDisarmed {
        tenant_id, correlation_id, session_id, pending_state, return_check, reason_code,
    }
    ThreadMoved { tenant_id, correlation_id, session_id }
    RowsRead { tenant_id, correlation_id, last_sequence }
    ThreadClosed { tenant_id, correlation_id }
}
