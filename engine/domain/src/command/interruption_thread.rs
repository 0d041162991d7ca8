//! Commands on interruption threads (seed PH1.X). The seed's `now` is the record's own time and no
//! argument.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::event::Text;
use crate::execution_loop::Actor;
use crate::hash::Digest;
use crate::interruption_thread::{
    Capability, Directive, ENGINE_ID, Fate, FateReason, LeaseStatus, PendingState, ReasonCode,
    RegistrationStatus, Remainder, SessionStatus, TurnRequest, WorkOrderStatus,
};
use crate::text::bounded;
use crate::time::Timestamp;

/// Bodies whose fields are all given by name.
macro_rules! bodies {
    ($($(#[$doc:meta])* $Body:ident { $($(#[$field_doc:meta])* $field:ident: $Type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[serde(deny_unknown_fields)]
            pub struct $Body { $($(#[$field_doc])* pub $field: $Type,)+ }

            #[cfg(feature = "arbitrary")]
            crate::arbitrary::made_of! { $Body { $($field),+ } }
        )+
    };
}

pub(super) use bodies;

/// Bodies with the scope that every capability of the seed begins with, and one way to look at it.
macro_rules! scoped {
    ($($(#[$doc:meta])* $Body:ident { $($(#[$field_doc:meta])* $field:ident: $Type:ty,)+ })+) => {
        bodies! {
            $($(#[$doc])* $Body {
                /// The tenant, 1 to 64 bytes.
                tenant_id: String,
                /// The thread, 1 to 256 bytes.
                correlation_id: String,
                /// The turn, above every earlier one of the thread.
                turn_id: u64,
                /// The session. Left away: the thread's own, in which it was last spoken in.
                #[serde(default)]
                session_id: Option<String>,
                /// The authenticated user.
                user_id: String,
                /// The user's device.
                device_id: String,
                /// The work order that is worked on.
                work_order_id: String,
                /// Its status, as the caller sees it.
                work_order_status_snapshot: WorkOrderStatus,
                /// What the thread waits for, as the caller sees it.
                pending_state: PendingState,
                /// The key under which the command is carried out once, 1 to 128 bytes, unique
                /// within tenant, PH1.X and correlation.
                idempotency_key: String,
                $($(#[$field_doc])* $field: $Type,)+
            })+
        }

        $(impl $Body {
            /// The fields that every capability has.
            #[must_use]
            pub fn scope(&self) -> TurnScope<'_> {
                TurnScope {
                    tenant_id: &self.tenant_id,
                    correlation_id: &self.correlation_id,
                    turn_id: self.turn_id,
                    session_id: self.session_id.as_deref(),
                    user_id: &self.user_id,
                    device_id: &self.device_id,
                    work_order_id: &self.work_order_id,
                    work_order_status_snapshot: self.work_order_status_snapshot,
                    pending_state: self.pending_state,
                    idempotency_key: &self.idempotency_key,
                }
            }
        })+
    };
}

/// Who does what, where, and under which conditions: what every turn and row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnScope<'a> {
    /// The tenant.
    pub tenant_id: &'a str,
    /// The thread.
    pub correlation_id: &'a str,
    /// The turn.
    pub turn_id: u64,
    /// The session, where one is named.
    pub session_id: Option<&'a str>,
    /// The authenticated user.
    pub user_id: &'a str,
    /// The user's device.
    pub device_id: &'a str,
    /// The work order.
    pub work_order_id: &'a str,
    /// Its status, as the caller sees it.
    pub work_order_status_snapshot: WorkOrderStatus,
    /// What the thread waits for, as the caller sees it.
    pub pending_state: PendingState,
    /// The key.
    pub idempotency_key: &'a str,
}

bodies! {
    /// See [`super::Command::ChangeCapability`].
    ChangeCapability {
        /// What kind of actor.
        actor_kind: Actor,
        /// Its name.
        actor_id: String,
        /// Which capability.
        capability: Capability,
        /// Whether the actor has it from now on.
        is_granted: bool,
    }
    /// See [`super::Command::RegisterTenant`].
    RegisterTenant {
        /// Its name, 1 to 64 bytes.
        tenant_id: String,
        /// Its status.
        status: RegistrationStatus,
    }
    /// See [`super::Command::RegisterUser`].
    RegisterUser {
        /// The tenant.
        tenant_id: String,
        /// The user's name, 1 to 128 bytes.
        user_id: String,
        /// The status.
        status: RegistrationStatus,
    }
    /// See [`super::Command::RegisterDevice`].
    RegisterDevice {
        /// The tenant.
        tenant_id: String,
        /// The device's name, 1 to 128 bytes.
        device_id: String,
        /// The user who uses it.
        user_id: String,
        /// The status.
        status: RegistrationStatus,
    }
    /// See [`super::Command::RegisterSession`].
    RegisterSession {
        /// The tenant.
        tenant_id: String,
        /// The session's name, 1 to 128 bytes.
        session_id: String,
        /// Whose it is.
        user_id: String,
        /// On which device.
        device_id: String,
        /// The status.
        status: SessionStatus,
    }
    /// See [`super::Command::RegisterWorkOrder`].
    RegisterWorkOrder {
        /// The tenant.
        tenant_id: String,
        /// The work order's name, 1 to 128 bytes.
        work_order_id: String,
        /// The only correlation under which it is used.
        correlation_id: String,
        /// The status.
        status: WorkOrderStatus,
    }
    /// See [`super::Command::RegisterLease`].
    RegisterLease {
        /// The tenant.
        tenant_id: String,
        /// The work order.
        work_order_id: String,
        /// SHA-256 of the lease's token, lower-case hex. The token itself is never given.
        lease_token_hash: Digest,
        /// From when on the lease allows nothing any more.
        expires_at: Timestamp,
        /// The status.
        status: LeaseStatus,
    }
    /// See [`super::Command::ExpireThread`] and [`super::Command::CloseThread`].
    ThreadCommand {
        /// The tenant.
        tenant_id: String,
        /// The thread.
        correlation_id: String,
    }
}

scoped! {
    /// See [`super::Command::TakeTurn`].
    TakeTurn {
        /// SHA-256 of the token of the lease that allows a dispatch, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// What is known about the turn.
        request: Box<TurnRequest>,
    }
    /// See [`super::Command::ConfirmCommitRow`].
    ConfirmCommitRow {
        /// What is confirmed, 1 to 64 bytes.
        confirm_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`super::Command::ClarifyCommitRow`].
    ClarifyCommitRow {
        /// What is missing, 1 to 64 bytes.
        what_is_missing: String,
        /// The question's id, 1 to 128 bytes.
        clarification_unit_id: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`super::Command::RespondCommitRow`].
    RespondCommitRow {
        /// What kind of answer, 1 to 64 bytes.
        response_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`super::Command::DispatchCommitRow`].
    DispatchCommitRow {
        /// To what, 1 to 64 bytes.
        dispatch_target: String,
        /// SHA-256 of the token of the lease that allows it, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`super::Command::WaitCommitRow`].
    WaitCommitRow {
        /// What for, 1 to 64 bytes.
        wait_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
}

/// A row that a caller commits, whichever of the five it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerRow<'a> {
    /// The fields that every capability has.
    pub scope: TurnScope<'a>,
    /// Which of the five.
    pub directive: Directive,
    /// The directive's own kind.
    pub kind: &'a str,
    /// CLARIFY: the question's id.
    pub clarification_unit_id: Option<&'a str>,
    /// DISPATCH: the lease.
    pub lease_token_hash: Option<Digest>,
    /// Why.
    pub reason_code: ReasonCode,
}

impl super::Command {
    /// The row, for the five COMMIT_ROW capabilities.
    #[must_use]
    pub fn caller_row(&self) -> Option<CallerRow<'_>> {
        let row = |scope, directive, kind, reason_code| CallerRow {
            scope,
            directive,
            kind,
            clarification_unit_id: None,
            lease_token_hash: None,
            reason_code,
        };
        Some(match self {
            Self::ConfirmCommitRow(c) => {
                row(c.scope(), Directive::Confirm, &*c.confirm_kind, c.reason_code)
            }
            Self::ClarifyCommitRow(c) => CallerRow {
                clarification_unit_id: Some(&c.clarification_unit_id),
                ..row(c.scope(), Directive::Clarify, &*c.what_is_missing, c.reason_code)
            },
            Self::RespondCommitRow(c) => {
                row(c.scope(), Directive::Respond, &*c.response_kind, c.reason_code)
            }
            Self::DispatchCommitRow(c) => CallerRow {
                lease_token_hash: c.lease_token_hash,
                ..row(c.scope(), Directive::Dispatch, &*c.dispatch_target, c.reason_code)
            },
            Self::WaitCommitRow(c) => row(c.scope(), Directive::Wait, &*c.wait_kind, c.reason_code),
            _ => return None,
        })
    }

    /// The scope, for turns and rows.
    #[must_use]
    pub fn turn_scope(&self) -> Option<TurnScope<'_>> {
        match self {
            Self::TakeTurn(c) => Some(c.scope()),
            other => other.caller_row().map(|row| row.scope),
        }
    }

    /// What the command's snapshot leaves unsaid, as it ends where the turn is refused.
    pub(crate) fn unsaid(&self) -> Option<Remainder> {
        let Self::TakeTurn(turn) = self else { return None };
        let snapshot = turn.request.tts_resume_snapshot.as_ref()?;
        Some(Remainder {
            captured_turn: turn.turn_id,
            answer_id: snapshot.answer_id,
            speaker_user_id: bounded(&turn.request.active_speaker_user_id, 128).into(),
            fate: Fate::Discarded,
            reason: FateReason::TurnRefused,
        })
    }

    /// The thread that the command is about: tenant and correlation.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        match self {
            Self::ExpireThread(c) | Self::CloseThread(c) | Self::ReadAuditRows(c) => {
                Some((&c.tenant_id, &c.correlation_id))
            }
            other => other.turn_scope().map(|scope| (scope.tenant_id, scope.correlation_id)),
        }
    }

    /// The capability that the caller needs; `None` for commands that anybody may give.
    #[must_use]
    pub const fn needed_capability(&self) -> Option<Capability> {
        match self {
            Self::RegisterTenant(_)
            | Self::RegisterUser(_)
            | Self::RegisterDevice(_)
            | Self::RegisterSession(_)
            | Self::RegisterWorkOrder(_)
            | Self::RegisterLease(_)
            | Self::TakeTurn(_)
            | Self::ConfirmCommitRow(_)
            | Self::ClarifyCommitRow(_)
            | Self::RespondCommitRow(_)
            | Self::DispatchCommitRow(_)
            | Self::WaitCommitRow(_)
            | Self::CloseThread(_)
            | Self::ReadAuditRows(_) => Some(Capability::SeleneOsOnly),
            _ => None,
        }
    }

    /// The key that a turn or a row brings, under which it is carried out once: tenant, engine and
    /// key. It is unique within the command's correlation.
    #[must_use]
    pub fn own_key(&self) -> Option<(&str, &'static str, &str)> {
        let scope = self.turn_scope()?;
        Some((scope.tenant_id, ENGINE_ID, scope.idempotency_key))
    }

    /// Whether the command registers something, or says who may do what: it is about no loop,
    /// request or thread, whatever the names in it.
    #[must_use]
    pub const fn is_registration(&self) -> bool {
        matches!(
            self,
            Self::ChangeCapability(_)
                | Self::RegisterTenant(_)
                | Self::RegisterUser(_)
                | Self::RegisterDevice(_)
                | Self::RegisterSession(_)
                | Self::RegisterWorkOrder(_)
                | Self::RegisterLease(_)
        )
    }
}

/// The text of an event for a name in a command.
impl From<&String> for Text {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}
