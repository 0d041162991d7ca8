//! What happened in interruption threads (seed PH1.X), and to whom they belong. Kinds 160 to 191.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::{List, RefusalClass, Text};
use crate::execution_loop::Actor;
use crate::hash::Digest;
use crate::interruption_thread::{
    Capability, DecidedBy, Directive, LeaseStatus, PendingState, ReasonCode, RegistrationStatus,
    Remainder, ResumePolicy, RowEventType, RowPayload, SessionStatus, Severity, TurnDecision,
    TurnRequest, WorkOrderStatus,
};
use crate::time::Timestamp;

/// Who may call the capabilities of PH1.X.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapabilityChanged {
    /// What kind of actor.
    pub actor_kind: Actor,
    /// Its name.
    pub actor_id: Text,
    /// Which capability.
    pub capability: Capability,
    /// Whether the actor has it from now on.
    pub is_granted: bool,
}

/// A tenant exists, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantRegistered {
    /// Its name, 1 to 64 bytes.
    pub tenant_id: Text,
    /// Its status.
    pub status: RegistrationStatus,
}

/// A user exists in a tenant, or the user's status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The user's name, 1 to 128 bytes.
    pub user_id: Text,
    /// The status.
    pub status: RegistrationStatus,
}

/// A user uses a device, or the status of that changed. A device that several users share is
/// registered for each; it is never bound to whoever writes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The device's name, 1 to 128 bytes.
    pub device_id: Text,
    /// The user.
    pub user_id: Text,
    /// The status.
    pub status: RegistrationStatus,
}

/// A session began, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The session's name, 1 to 128 bytes.
    pub session_id: Text,
    /// Whose it is.
    pub user_id: Text,
    /// On which device.
    pub device_id: Text,
    /// The status.
    pub status: SessionStatus,
}

/// A work order exists, or its status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkOrderRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The work order's name, 1 to 128 bytes.
    pub work_order_id: Text,
    /// The only correlation under which it is used.
    pub correlation_id: Text,
    /// The status.
    pub status: WorkOrderStatus,
}

/// A lease on a work order was taken, or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseRegistered {
    /// The tenant.
    pub tenant_id: Text,
    /// The work order.
    pub work_order_id: Text,
    /// SHA-256 of the lease's token. The token itself never enters.
    pub lease_token_hash: Digest,
    /// From when on the lease allows nothing any more.
    pub expires_at: Timestamp,
    /// The status.
    pub status: LeaseStatus,
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
