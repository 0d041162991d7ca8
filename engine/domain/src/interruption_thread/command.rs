//! Commands on interruption threads (seed PH1.X). The seed's `now` is the record's own time and no
//! argument.

use alloc::boxed::Box;
use alloc::string::String;

use crate::core::bodies;
use crate::core::hash::Digest;
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::types::{Directive, PendingState, ReasonCode};
use crate::registration::types::WorkOrderStatus;

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
    /// See [`Command::ExpireThread`](crate::Command::ExpireThread) and
    /// [`Command::CloseThread`](crate::Command::CloseThread).
    ThreadCommand {
        /// The tenant.
        tenant_id: String,
        /// The thread.
        correlation_id: String,
    }
}

scoped! {
    /// See [`Command::TakeTurn`](crate::Command::TakeTurn).
    TakeTurn {
        /// SHA-256 of the token of the lease that allows a dispatch, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// What is known about the turn.
        request: Box<TurnRequest>,
    }
    /// See [`Command::ConfirmCommitRow`](crate::Command::ConfirmCommitRow).
    ConfirmCommitRow {
        /// What is confirmed, 1 to 64 bytes.
        confirm_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`Command::ClarifyCommitRow`](crate::Command::ClarifyCommitRow).
    ClarifyCommitRow {
        /// What is missing, 1 to 64 bytes.
        what_is_missing: String,
        /// The question's id, 1 to 128 bytes.
        clarification_unit_id: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`Command::RespondCommitRow`](crate::Command::RespondCommitRow).
    RespondCommitRow {
        /// What kind of answer, 1 to 64 bytes.
        response_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`Command::DispatchCommitRow`](crate::Command::DispatchCommitRow).
    DispatchCommitRow {
        /// To what, 1 to 64 bytes.
        dispatch_target: String,
        /// SHA-256 of the token of the lease that allows it, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`Command::WaitCommitRow`](crate::Command::WaitCommitRow).
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
