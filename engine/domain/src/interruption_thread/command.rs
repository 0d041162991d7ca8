//! Commands on interruption threads (seed PH1.X). The seed's `now` is the record's own time and no
//! argument.

use alloc::boxed::Box;
use alloc::string::String;

use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::text::bounded;
use crate::core::{bodies, commands};
use crate::interruption_thread::decision::Remainder;
use crate::interruption_thread::health::issue_fingerprint;
use crate::interruption_thread::request::{TtsResumeSnapshot, TurnRequest};
use crate::interruption_thread::speculation::{COMMIT_THRESHOLD, Heard};
use crate::interruption_thread::types::{Directive, Fate, FateReason, PendingState, ReasonCode};
use crate::registration::types::WorkOrderStatus;

commands! {
    /// Command on an interruption thread.
    InterruptionThreadCommand {
        /// Take a turn: the branch table chooses the directive; its row and the thread's transition
        /// are one batch.
        "interruption_thread.take_turn" TakeTurn(TakeTurn);
        /// PH1X_CONFIRM_COMMIT_ROW.
        "interruption_thread.confirm_commit_row" ConfirmCommitRow(ConfirmCommitRow);
        /// PH1X_CLARIFY_COMMIT_ROW.
        "interruption_thread.clarify_commit_row" ClarifyCommitRow(ClarifyCommitRow);
        /// PH1X_RESPOND_COMMIT_ROW.
        "interruption_thread.respond_commit_row" RespondCommitRow(RespondCommitRow);
        /// PH1X_DISPATCH_COMMIT_ROW.
        "interruption_thread.dispatch_commit_row" DispatchCommitRow(DispatchCommitRow);
        /// PH1X_WAIT_COMMIT_ROW.
        "interruption_thread.wait_commit_row" WaitCommitRow(WaitCommitRow);
        /// PH1X_READ_AUDIT_ROWS in the diagnostic mode: record that the rows are read. Any other
        /// read is a query and no command.
        "interruption_thread.read_audit_rows" ReadAuditRows(ThreadCommand);
        /// Record what has expired in a thread by now.
        "interruption_thread.expire" ExpireThread(ThreadCommand);
        /// End a thread: what was left unsaid is given up, and no turn follows.
        "interruption_thread.close" CloseThread(ThreadCommand);
        /// Draft what would be said if the user ended here: the plan of a turn, which allows
        /// nothing.
        "interruption_thread.draft_plan" DraftPlan(DraftPlan);
        /// Take a turn for which there is a plan: behind the commit gate, and only there.
        "interruption_thread.commit_turn" CommitTurn(CommitTurn);
    }
}

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
                /// Pending state of the thread, as the caller sees it.
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

/// Actor, act, place and conditions: what every turn and row has.
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
    /// Event that the thread waits for, as the caller sees it.
    pub pending_state: PendingState,
    /// The key.
    pub idempotency_key: &'a str,
}

bodies! {
    /// See [`InterruptionThreadCommand::ExpireThread`] and
    /// [`InterruptionThreadCommand::CloseThread`].
    ThreadCommand {
        /// The tenant.
        tenant_id: String,
        /// The thread.
        correlation_id: String,
    }
}

scoped! {
    /// See [`InterruptionThreadCommand::TakeTurn`].
    TakeTurn {
        /// SHA-256 of the token of the lease that allows a dispatch, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// Facts that are known about the turn.
        request: Box<TurnRequest>,
    }
    /// See [`InterruptionThreadCommand::DraftPlan`].
    DraftPlan {
        /// Input that was heard so far.
        heard: Box<Heard>,
        /// Facts that are known about the turn so far.
        request: Box<TurnRequest>,
    }
    /// See [`InterruptionThreadCommand::CommitTurn`].
    CommitTurn {
        /// The idempotency key under which the plan was drafted, 1 to 128 bytes.
        plan_key: String,
        /// Input that was heard.
        heard: Box<Heard>,
        /// SHA-256 of the token of the lease that allows a dispatch, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// Facts that are known about the turn.
        request: Box<TurnRequest>,
    }
    /// See [`InterruptionThreadCommand::ConfirmCommitRow`].
    ConfirmCommitRow {
        /// Name of what is confirmed, 1 to 64 bytes.
        confirm_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`InterruptionThreadCommand::ClarifyCommitRow`].
    ClarifyCommitRow {
        /// Name of what is missing, 1 to 64 bytes.
        what_is_missing: String,
        /// The question's id, 1 to 128 bytes.
        clarification_unit_id: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`InterruptionThreadCommand::RespondCommitRow`].
    RespondCommitRow {
        /// Kind of answer, 1 to 64 bytes.
        response_kind: String,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`InterruptionThreadCommand::DispatchCommitRow`].
    DispatchCommitRow {
        /// To what, 1 to 64 bytes.
        dispatch_target: String,
        /// SHA-256 of the token of the lease that allows it, lower-case hex.
        #[serde(default)]
        lease_token_hash: Option<Digest>,
        /// Why.
        reason_code: ReasonCode,
    }
    /// See [`InterruptionThreadCommand::WaitCommitRow`].
    WaitCommitRow {
        /// Name of what is waited for, 1 to 64 bytes.
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
    /// Directive, one of the five.
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

impl InterruptionThreadCommand {
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
            Self::TakeTurn(_)
            | Self::DraftPlan(_)
            | Self::CommitTurn(_)
            | Self::ReadAuditRows(_)
            | Self::ExpireThread(_)
            | Self::CloseThread(_) => return None,
        })
    }

    /// The scope, for turns and rows.
    #[must_use]
    pub fn turn_scope(&self) -> Option<TurnScope<'_>> {
        match self.caller_row() {
            Some(row) => Some(row.scope),
            None => self.turn().map(|(scope, ..)| scope),
        }
    }

    /// The turn that is to be taken, or planned, with what was heard where that matters.
    pub(crate) fn turn(&self) -> Option<(TurnScope<'_>, &TurnRequest, Option<&Heard>)> {
        if let Self::DraftPlan(c) = self {
            return Some((c.scope(), &c.request, Some(&c.heard)));
        }
        if let Self::CommitTurn(c) = self {
            return Some((c.scope(), &c.request, Some(&c.heard)));
        }
        if let Self::TakeTurn(c) = self { Some((c.scope(), &c.request, None)) } else { None }
    }

    /// The request of the turn that is to be taken. A plan takes none, and interrupts nothing.
    fn taken(&self) -> Option<&TurnRequest> {
        let (_, request, _) = self.turn().filter(|_| !matches!(self, Self::DraftPlan(_)))?;
        Some(request)
    }

    /// Returns whether the command's turn interrupts what is being said. A candidate that is not
    /// sure enough for a commit interrupts nothing, neither by its commit nor where the plan bars
    /// the turn.
    pub(crate) fn interrupts(&self, is_barred_by_plan: bool) -> bool {
        let interruption = self.taken().and_then(|request| request.interruption.as_ref());
        let is_planned = is_barred_by_plan || matches!(self, Self::CommitTurn(_));
        interruption.is_some_and(|of| !is_planned || of.phrase_confidence_bp >= COMMIT_THRESHOLD)
    }

    /// The turn that leaves words unsaid.
    pub(crate) fn interrupting(&self) -> Option<(TurnScope<'_>, &TurnRequest)> {
        let (request, _) = self.snapshot()?;
        Some((self.turn_scope()?, request))
    }

    /// Returns what was being said when the command's turn interrupted it.
    fn snapshot(&self) -> Option<(&TurnRequest, &TtsResumeSnapshot)> {
        let request = self.taken()?;
        Some((request, request.tts_resume_snapshot.as_ref()?))
    }

    /// Returns what the command's snapshot leaves unsaid, as it ends where the turn is refused.
    pub(crate) fn unsaid(&self) -> Option<Remainder> {
        let (request, snapshot) = self.snapshot()?;
        Some(Remainder {
            captured_turn: self.turn_scope()?.turn_id,
            answer_id: snapshot.answer_id,
            speaker_user_id: bounded(&request.active_speaker_user_id, 128).into(),
            fate: Fate::Discarded,
            reason: FateReason::TurnRefused,
        })
    }

    /// HEALTH's topic marker of what the command's turn interrupted, as the command says it.
    pub(crate) fn interrupted_issue(&self) -> Option<Text> {
        issue_fingerprint(self.snapshot()?.1.topic_hint.as_ref()?)
    }

    /// The thread that the command is about: tenant and correlation.
    #[must_use]
    pub fn thread(&self) -> (&str, &str) {
        if let Self::ExpireThread(c) | Self::CloseThread(c) | Self::ReadAuditRows(c) = self {
            return (&c.tenant_id, &c.correlation_id);
        }
        self.turn_scope().map_or(("", ""), |scope| (scope.tenant_id, scope.correlation_id))
    }
}
