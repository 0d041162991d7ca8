//! Events of interruption threads (seed PH1.X), and their owners. Kinds 160 to 191.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Serialize;

use crate::core::forbidden::RefusalClass;
use crate::core::hash::Digest;
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::interruption_thread::decision::{Remainder, RowPayload, TurnDecision};
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::speculation::{Heard, SpeculativePlan, TurnCommitDecision};
use crate::interruption_thread::types::{
    DecidedBy, Directive, PendingState, ReasonCode, ResumePolicy, RowEventType, Severity,
    TtsControl,
};
use crate::registration::types::SessionStatus;

events! {
    /// Event of an interruption thread.
    InterruptionThreadEvent of "interruption_thread" kinds 167..=191, {
        /// A turn was taken.
        167 v 1 "interruption_thread.turn_taken" => TurnTaken;
        /// An audit row was committed.
        168 v 2 "interruption_thread.row_committed"
            => RowCommitted in Box, before 1 + [0];
        /// A turn or a row was refused.
        169 v 2 "interruption_thread.row_refused" => RowRefused, before 1 + [0, 0];
        /// Words that were left unsaid expired.
        170 v 2 "interruption_thread.buffer_expired"
            => BufferExpired, before 1 + [0];
        /// The question whether to go back expired.
        171 v 2 "interruption_thread.return_check_expired"
            => ReturnCheckExpired, before 1 + [0, 0];
        /// Words that were left unsaid were given up with their session or thread.
        172 v 2 "interruption_thread.remainders_discarded"
            => RemaindersDiscarded, before 1 + [ResumePolicy::Discard as u8, 0];
        /// Audit rows were read in the diagnostic mode.
        173 v 1 "interruption_thread.rows_read" => RowsRead;
        /// A thread ended.
        174 v 1 "interruption_thread.thread_closed" => ThreadClosed;
        /// The pending state of a thread ended with the session in which it was asked, or with the
        /// thread.
        175 v 2 "interruption_thread.pending_disarmed"
            => PendingDisarmed, before 1 + [0, ResumePolicy::Discard as u8];
        /// A thread goes on in another session.
        176 v 1 "interruption_thread.thread_moved" => ThreadMoved;
        /// Words that were left unsaid gave way to one interruption too many.
        177 v 1 "interruption_thread.remainder_displaced" => RemainderDisplaced;
        /// A plan was drafted while the user spoke.
        178 v 2 "interruption_thread.plan_drafted" => PlanDrafted, before 1 + [0];
        /// A turn for which there was a plan passed the commit gate.
        179 v 1 "interruption_thread.turn_committed" => TurnCommitted;
        /// The words of a plan went on without it.
        180 v 1 "interruption_thread.plan_ended" => PlanEnded;
    }
    /// Tenant and correlation of the thread that the event is about.
    pub fn thread(body) -> (&str, &str) { (&body.tenant_id, &body.correlation_id) }
}

recorded! {
    /// A turn was taken: its input, what it came to, and the hashes that bind the state before and
    /// after it.
    TurnTaken {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn, above every earlier one of the thread.
        turn_id: u64,
        /// The session: the one that the turn names, else the thread's own; `None` where neither
        /// is.
        session_id: Option<Text>,
        /// Status of the session; ACTIVE where there is none.
        session_status: SessionStatus,
        /// The input.
        request: Box<TurnRequest>,
        /// Result of the turn.
        decision: Box<TurnDecision>,
        /// [`ThreadState::digest`](crate::interruption_thread::ThreadState::digest) before.
        state_before: Digest,
        /// The same after.
        state_after: Digest,
    }

    /// An audit row was committed. The record's sequence is the row's id, its time the row's time.
    RowCommitted {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn.
        turn_id: u64,
        /// The session: the one that was named, else the thread's own; `None` where neither is.
        session_id: Option<Text>,
        /// The user.
        user_id: Text,
        /// The user's device.
        device_id: Text,
        /// The type.
        event_type: RowEventType,
        /// Severity of the row.
        severity: Severity,
        /// Why; the name goes verbatim into whatever shows the row.
        reason_code: ReasonCode,
        /// The key under which it was committed, 1 to 128 bytes.
        idempotency_key: Text,
        /// HEALTH's topic marker, where the turn has a topic: at most 128 bytes of ASCII.
        issue_fingerprint: Option<Text>,
        /// Origin of the directive: the branch table or a caller.
        decided_by: DecidedBy,
        /// Pending state of the thread, where the row gives that up without an answer.
        dropped_pending: Option<PendingState>,
        /// The payload.
        payload: RowPayload,
        /// The words that the row's turn touches, each with its end. What gives way to others has
        /// a row of its own. Empty in records that were made before rows named words.
        remainders: List<Remainder>,
    }

    /// A turn or a row was refused by a rule on scope, idempotency, gating or continuity: a
    /// reason-coded row of its own. Nothing else came of the command.
    RowRefused {
        /// The command's name.
        command: Text,
        /// The tenant that the command names, cut to 64 bytes, as all that follows is to its own
        /// bound.
        tenant_id: Text,
        /// The thread that it names.
        correlation_id: Text,
        /// The turn that it names.
        turn_id: u64,
        /// The user that it names.
        user_id: Text,
        /// The device that it names.
        device_id: Text,
        /// The directive that was to be committed; `None` for a turn.
        directive: Option<Directive>,
        /// Why.
        reason_code: ReasonCode,
        /// The kind of rule.
        class: RefusalClass,
        /// The same in words, with the field, what was expected and what was found.
        message: Text,
        /// The key that the command names.
        idempotency_key: Text,
        /// The words that the turn left unsaid, if any: nothing of a refused turn is kept, so they
        /// are DISCARDED, with the reason TURN_REFUSED. Words that the thread or its plan keeps are
        /// STILL_KEPT; an unsure candidate behind a plan leaves none.
        remainders: List<Remainder>,
        /// Control of speech that is under way: CANCEL where somebody interrupted it.
        tts_control: Option<TtsControl>,
        /// HEALTH's topic marker of what was interrupted, where the turn says it.
        issue_fingerprint: Option<Text>,
    }

    /// Words that were left unsaid were kept for their time, and are gone: policy DISCARD. Where it
    /// was asked whether to go back to them, that question expired just before.
    BufferExpired {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn whose interruption left the words.
        captured_turn: u64,
        /// The answer that they belong to.
        answer_id: u64,
        /// Whom they were being said to.
        speaker_user_id: Text,
        /// Time when they expired; the record's own time is when somebody looked.
        expires_at: Timestamp,
        /// Fate of the words: always DISCARD.
        interrupt_resume_policy: ResumePolicy,
        /// Always `X_BUFFER_EXPIRED`.
        reason_code: ReasonCode,
        /// HEALTH's topic marker of what had been interrupted; `None` where it is not known, and in
        /// records that were made before it was recorded.
        issue_fingerprint: Option<Text>,
    }

    /// Nobody answered whether to go back: the words are kept for their own time, or expire with
    /// it.
    ReturnCheckExpired {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// Time when it expired, not later than the words; the record's own time is when somebody
        /// looked.
        expires_at: Timestamp,
        /// Fate of the words: RESUME_LATER, or DISCARD where their own time is over as well.
        interrupt_resume_policy: ResumePolicy,
        /// Always `X_RETURN_CHECK_EXPIRED`.
        reason_code: ReasonCode,
        /// The turn whose interruption left the words that the question was about; `None` in
        /// records that were made before it was recorded.
        captured_turn: Option<u64>,
        /// HEALTH's topic marker of what had been interrupted; `None` where it is not known, and in
        /// records that were made before it was recorded.
        issue_fingerprint: Option<Text>,
    }

    /// A session was closed, or a thread, with words left unsaid: policy DISCARD. Each of the words
    /// has an event of its own; one of all of them is of before.
    RemaindersDiscarded {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The session that was closed; `None` where the thread was.
        session_id: Option<Text>,
        /// The words, each DISCARDED.
        remainders: List<Remainder>,
        /// `X_SESSION_CLOSED` or `X_THREAD_CLOSED`.
        reason_code: ReasonCode,
        /// Fate of the words: always DISCARD.
        interrupt_resume_policy: ResumePolicy,
        /// HEALTH's topic marker of what had been interrupted; `None` where it is not known, and in
        /// records that were made before it was recorded.
        issue_fingerprint: Option<Text>,
    }

    /// The session was closed in which a thread waited for something, or the thread itself: it
    /// waits for that no more, and no answer that is still to come lets anything be said or done.
    PendingDisarmed {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The session that was closed; where the thread was, its own, and empty where it had none.
        session_id: Text,
        /// Pending state of the thread; NONE where only a return check was open.
        pending_state: PendingState,
        /// The turn whose words the open return check was about, where there was one.
        return_check: Option<u64>,
        /// `X_SESSION_CLOSED` or `X_THREAD_CLOSED`.
        reason_code: ReasonCode,
        /// User who was asked; `None` in records that were made before it was recorded.
        user_id: Option<Text>,
        /// Fate of the request: always DISCARD.
        interrupt_resume_policy: ResumePolicy,
    }

    /// A caller's row speaks to the thread's user in another session than before: that is the
    /// thread's own from here on.
    ThreadMoved {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The session in which it goes on.
        session_id: Text,
    }

    /// Words that were left unsaid give way, the oldest first, where an interruption would leave
    /// more than are kept, or to other words of the same turn: policy DISCARD. The turn or the end
    /// of the plan that leaves those follows in the same batch.
    RemainderDisplaced {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn whose interruption leaves the words that they give way to.
        displaced_by_turn: u64,
        /// The words, DISCARDED with the reason NESTING_LIMIT, or PLAN_REPLACED where other words
        /// of the same turn take their place.
        remainder: Remainder,
        /// Fate of the words: always DISCARD.
        interrupt_resume_policy: ResumePolicy,
        /// `X_NESTING_LIMIT`, or `X_PLAN_REPLACED`.
        reason_code: ReasonCode,
        /// HEALTH's topic marker of what had been interrupted, where it has one.
        issue_fingerprint: Option<Text>,
    }

    /// The audit rows of a thread were read in the diagnostic mode. Other reads leave no trace.
    RowsRead {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// Sequence of the thread's newest record when it was read; 0 where there is no thread, but
        /// perhaps rows that were refused.
        last_sequence: u64,
    }

    /// A plan of what would be said if the user ended here, in a session that is ACTIVE or in none.
    /// It takes the place of the plan before it, and nothing comes of it but by its commit.
    PlanDrafted {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn that it is for.
        turn_id: u64,
        /// The session: the one that was named, else the thread's own; `None` where neither is.
        session_id: Option<Text>,
        /// The idempotency key of the command, by which the plan is committed.
        plan_key: Text,
        /// Input that was heard so far.
        heard: Box<Heard>,
        /// The input so far.
        request: Box<TurnRequest>,
        /// The plan.
        plan: SpeculativePlan,
        /// The words that the turn leaves unsaid, and that the plan owns from here on: CAPTURED, as
        /// NOT_SURE where the candidate is not sure, and no plan before was sure of the same.
        /// `None` where nothing is interrupted, and in records that were made before plans owned
        /// words.
        unsaid: Option<Remainder>,
    }

    /// A plan that owns words ended otherwise than by the commit of these words. The thread keeps
    /// them, or the plan or turn that follows in the same batch and interrupts the very same words:
    /// policy RESUME_LATER. Words that nobody surely interrupted went on being said: DISCARD.
    PlanEnded {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn of the plan.
        turn_id: u64,
        /// The plan, by its key.
        plan_key: Text,
        /// The words: CAPTURED where the thread keeps them from here on, KEPT_FOR_LATER where they
        /// pass to what follows, DISCARDED as NOT_SURE.
        remainder: Remainder,
        /// From when on the words are gone that the thread keeps; `None` where it does not.
        expires_at: Option<Timestamp>,
        /// The turn to which they pass, or whose plan owns them then; `None` where they do not.
        passed_to_turn: Option<u64>,
        /// Fate of the words: RESUME_LATER, or DISCARD.
        interrupt_resume_policy: ResumePolicy,
        /// `X_PLAN_LAPSED`, `X_PLAN_REPLACED` or `X_PLAN_PASSED_BY`.
        reason_code: ReasonCode,
        /// HEALTH's topic marker of what was interrupted, where it has one.
        issue_fingerprint: Option<Text>,
    }

    /// A turn for which there was a plan passed the commit gate. It follows in the same batch.
    TurnCommitted {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
        /// The turn.
        turn_id: u64,
        /// The plan, by its key.
        plan_key: Text,
        /// Input that was heard.
        heard: Box<Heard>,
        /// Decision on what the turn says and does.
        decision: TurnCommitDecision,
    }

    /// A thread ended: no turn follows.
    ThreadClosed {
        /// The tenant.
        tenant_id: Text,
        /// The thread.
        correlation_id: Text,
    }
}

/// A row of what no turn and no caller decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeRow {
    /// The tenant.
    pub tenant_id: Text,
    /// The thread.
    pub correlation_id: Text,
    /// The turn whose interruption left the words; `None` in records that were made before it was
    /// recorded of return checks.
    pub turn_id: Option<u64>,
    /// The session that ended with the words in it.
    pub session_id: Option<Text>,
    /// Whom the words were being said to; `None` of a return check.
    pub user_id: Option<Text>,
    /// The answer that they belong to; `None` of a return check.
    pub answer_id: Option<u64>,
    /// Why.
    pub reason_code: ReasonCode,
    /// Fate of the words.
    pub interrupt_resume_policy: ResumePolicy,
    /// HEALTH's topic marker of what had been interrupted, where it is known.
    pub issue_fingerprint: Option<Text>,
    /// The turn under which the words go on, where a plan's words passed to another plan or turn
    /// that interrupts the same.
    pub passed_to_turn: Option<u64>,
    /// The request that the thread waits for no more: NONE where that was a return check alone;
    /// `None` of words.
    pub pending_state: Option<PendingState>,
}

impl InterruptionThreadEvent {
    /// The rows that the event is, of words and requests that no turn and no caller decided on.
    /// None of other events.
    #[must_use]
    pub fn outcome_rows(&self) -> Vec<OutcomeRow> {
        let (tenant_id, correlation_id) = self.thread();
        let row = |reason_code, interrupt_resume_policy, issue: &Option<Text>| OutcomeRow {
            tenant_id: tenant_id.into(),
            correlation_id: correlation_id.into(),
            turn_id: None,
            session_id: None,
            user_id: None,
            answer_id: None,
            reason_code,
            interrupt_resume_policy,
            issue_fingerprint: issue.clone(),
            passed_to_turn: None,
            pending_state: None,
        };
        match self {
            Self::BufferExpired(of) => Vec::from([OutcomeRow {
                turn_id: Some(of.captured_turn),
                user_id: Some(of.speaker_user_id.clone()),
                answer_id: Some(of.answer_id),
                ..row(of.reason_code, of.interrupt_resume_policy, &of.issue_fingerprint)
            }]),
            Self::ReturnCheckExpired(of) => Vec::from([OutcomeRow {
                turn_id: of.captured_turn,
                ..row(of.reason_code, of.interrupt_resume_policy, &of.issue_fingerprint)
            }]),
            Self::RemaindersDiscarded(of) => {
                let row = row(of.reason_code, of.interrupt_resume_policy, &of.issue_fingerprint);
                let row = OutcomeRow { session_id: of.session_id.clone(), ..row };
                of.remainders.iter().map(|words| row.clone().about(words)).collect()
            }
            Self::RemainderDisplaced(of) => {
                let row = row(of.reason_code, of.interrupt_resume_policy, &of.issue_fingerprint);
                Vec::from([row.about(&of.remainder)])
            }
            Self::PlanEnded(of) => {
                let row = row(of.reason_code, of.interrupt_resume_policy, &of.issue_fingerprint);
                let row = OutcomeRow { passed_to_turn: of.passed_to_turn, ..row };
                Vec::from([row.about(&of.remainder)])
            }
            Self::PendingDisarmed(of) => Vec::from([OutcomeRow {
                turn_id: of.return_check,
                session_id: Some(of.session_id.clone()).filter(|_| !of.ends_thread()),
                user_id: of.user_id.clone(),
                pending_state: Some(of.pending_state),
                ..row(of.reason_code, of.interrupt_resume_policy, &None)
            }]),
            Self::TurnTaken(_)
            | Self::RowCommitted(_)
            | Self::RowRefused(_)
            | Self::RowsRead(_)
            | Self::ThreadClosed(_)
            | Self::ThreadMoved(_)
            | Self::PlanDrafted(_)
            | Self::TurnCommitted(_) => Vec::new(),
        }
    }
}

impl PendingDisarmed {
    /// Tells whether the thread was closed, and no session.
    pub(crate) const fn ends_thread(&self) -> bool {
        matches!(self.reason_code, ReasonCode::ThreadClosed)
    }
}

impl OutcomeRow {
    fn about(self, words: &Remainder) -> Self {
        Self {
            turn_id: Some(words.captured_turn),
            user_id: Some(words.speaker_user_id.clone()),
            answer_id: Some(words.answer_id),
            ..self
        }
    }
}
