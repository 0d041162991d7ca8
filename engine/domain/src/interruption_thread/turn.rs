//! One turn against the state of its thread: the contract and the branch table behind one door.

use alloc::vec::Vec;

use crate::core::forbidden::Rules;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::interruption_thread::branch;
use crate::interruption_thread::decision::{Pending, ResumeBuffer, ThreadState, TurnDecision};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::types::{Directive, Fate, PendingState, ResumePolicy};
use crate::interruption_thread::validate::check_request;
use crate::registration::types::SessionStatus;

/// A turn, with what the branch table needs to know besides the state.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The turn, above 0 and unique in its thread.
    pub turn_id: u64,
    /// The session, where there is one.
    pub session_id: Option<&'a str>,
    /// State of the session.
    pub session_status: SessionStatus,
    /// Request that is the turn's input.
    pub request: &'a TurnRequest,
    /// The time of its record.
    pub at: Timestamp,
}

/// Decides what a turn comes to. What has expired by then counts as expired, whether or not that is
/// on record yet.
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the field of a request that breaks the contract (seed,
/// "Request contract fields"). Nothing is decided then.
pub fn decide_turn(state: &ThreadState, turn: &Turn<'_>) -> Result<TurnDecision, ThreadRefusal> {
    decide_turn_by(Rules::NEWEST, state, turn)
}

/// The same by the rules of a number.
pub(crate) fn decide_turn_by(
    rules: &Rules,
    state: &ThreadState,
    turn: &Turn<'_>,
) -> Result<TurnDecision, ThreadRefusal> {
    check_request(state, turn)?;
    let mut now = state.clone();
    now.expire(turn.at);
    Ok(branch::decide(rules, now, *turn))
}

/// The same for a request that was checked, on a state from which what expired is taken out.
pub(crate) fn decide_checked(state: ThreadState, turn: &Turn<'_>) -> TurnDecision {
    branch::decide(Rules::NEWEST, state, *turn)
}

/// Something of a thread expired.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "at most two at a time, made and used up at once")]
pub enum Expiry {
    /// Words that were left unsaid.
    Buffer(ResumeBuffer),
    /// The question whether to go back to them.
    ReturnCheck {
        /// The turn whose interruption left the words that it was about.
        captured_turn: u64,
        /// HEALTH's topic marker of what had been interrupted, where the words are kept and have
        /// one.
        issue_fingerprint: Option<Text>,
        /// Time: not later than the words.
        expires_at: Timestamp,
        /// Fate of the words: RESUME_LATER, or DISCARD where they expire with it.
        policy: ResumePolicy,
    },
}

impl ThreadState {
    /// Takes out what has expired at this time, in the order of its expiry (row 0 of the table):
    /// what comes of it does not depend on when somebody looks. A question expires with the words
    /// that it is about, just before them.
    pub fn expire(&mut self, at: Timestamp) -> Vec<Expiry> {
        let mut expired = Vec::new();
        while let Some(expiry) = self.next_expired(at) {
            match &expiry {
                Expiry::Buffer(buffer) => self.drop_buffer(buffer.captured_turn),
                Expiry::ReturnCheck { .. } => self.drop_return_check(),
            }
            expired.push(expiry);
        }
        expired
    }

    /// Returns what expired first; a question before words of the same time.
    fn next_expired(&self, at: Timestamp) -> Option<Expiry> {
        let gone = self.resume_buffers.iter().filter(|buffer| buffer.is_expired(at));
        let buffer = gone.min_by_key(|buffer| buffer.expires_at);
        let check = self.return_check_expiry().filter(|(expires_at, _)| at >= *expires_at);
        match (buffer, check) {
            (Some(buffer), Some((expires_at, _))) if buffer.expires_at < expires_at => {
                Some(Expiry::Buffer(buffer.clone()))
            }
            (_, Some((expires_at, policy))) => self.return_check_expired(expires_at, policy),
            (buffer, None) => buffer.cloned().map(Expiry::Buffer),
        }
    }

    fn return_check_expired(&self, expires_at: Timestamp, policy: ResumePolicy) -> Option<Expiry> {
        let captured_turn = self.marks.return_check?.captured_turn;
        let issue_fingerprint = self.buffer(captured_turn).and_then(ResumeBuffer::issue);
        Some(Expiry::ReturnCheck { captured_turn, issue_fingerprint, expires_at, policy })
    }

    /// Returns when the question whether to go back expires, and what becomes of the words with it:
    /// they are kept for their own time, or it is their time that is over.
    pub(crate) fn return_check_expiry(&self) -> Option<(Timestamp, ResumePolicy)> {
        let check = self.marks.return_check?;
        Some(match self.buffer(check.captured_turn) {
            Some(words) if words.expires_at <= check.expires_at => {
                (words.expires_at, ResumePolicy::Discard)
            }
            _ => (check.expires_at, ResumePolicy::ResumeLater),
        })
    }

    /// The question whether to go back is over without an answer; the words are kept.
    pub(crate) fn drop_return_check(&mut self) {
        self.marks.return_check = None;
        self.marks.return_check_lapsed = true;
    }

    /// Words are gone, and the marks about them (seed, "Fail-closed rule": expiry clears the
    /// continuity markers).
    pub(crate) fn drop_buffer(&mut self, captured_turn: u64) {
        let is_asked = self.marks.return_check.map(|check| check.captured_turn);
        self.marks.return_check_lapsed |= is_asked == Some(captured_turn);
        self.marks.buffer_lapsed = true;
        self.give_up(captured_turn);
    }

    /// Words are given up with their session or thread, and the marks about them.
    pub(crate) fn give_up(&mut self, captured_turn: u64) {
        let marked = self.marked_turn();
        self.resume_buffers.retain(|buffer| buffer.captured_turn != captured_turn);
        if self.marks.return_check.is_some_and(|check| check.captured_turn == captured_turn) {
            self.marks.return_check = None;
        }
        if marked.is_none_or(|marked| marked == captured_turn) {
            let below = self.newest_of_speaker();
            self.marks.interrupted_subject_ref =
                below.map(|buffer| buffer.interrupted_subject_ref.clone());
        }
    }

    /// Drops what was asked in a session that was closed: it is asked no more. A late yes or no is
    /// told so.
    pub(crate) fn disarm(&mut self) {
        let marks = &mut self.marks;
        let takes_answer = matches!(
            marks.pending,
            Some(Pending::Confirm { .. } | Pending::MemoryPermission { .. })
        );
        marks.return_check_lapsed |= takes_answer || marks.return_check.is_some();
        (marks.pending, marks.return_check) = (None, None);
    }

    /// The thread's user is spoken to in this session from here on.
    pub(crate) fn move_to(&mut self, session_id: &Text) {
        self.marks.active_session_id = Some(session_id.clone());
    }

    /// The turn whose words the marks are about.
    fn marked_turn(&self) -> Option<u64> {
        let asked = self.marks.return_check.map(|check| check.captured_turn);
        asked.or_else(|| self.newest_of_speaker().map(|buffer| buffer.captured_turn))
    }

    fn newest_of_speaker(&self) -> Option<&ResumeBuffer> {
        let speaker = self.marks.active_speaker_user_id.as_ref();
        let is_theirs = |buffer: &&ResumeBuffer| {
            speaker.is_none_or(|speaker| buffer.speaker_user_id == *speaker)
        };
        self.resume_buffers.iter().rev().find(is_theirs)
    }

    /// The thread ended: it waits for nothing any more.
    pub(crate) fn end(&mut self) {
        (self.marks.pending, self.marks.return_check) = (None, None);
        self.said.clear();
    }

    /// Returns whether the thread waits for an answer that only its own speaker may give, and this
    /// is somebody else. A clarifying question is answered by whatever comes next.
    pub(crate) fn waits_for_another(&self, user_id: &str) -> bool {
        let waits = !matches!(self.pending_state(), PendingState::None | PendingState::Clarify);
        let speaker = self.marks.active_speaker_user_id.as_deref();
        waits && speaker.is_some_and(|speaker| speaker != user_id)
    }

    /// Returns what the thread waits for, where a caller's row gives that up without an answer. A
    /// clarifying question is answered by whatever comes next, and one to somebody else ends
    /// nothing.
    pub(crate) fn dropped_by_row(
        &self,
        rules: &Rules,
        (directive, kind): (Directive, &str),
        user_id: &str,
    ) -> Option<PendingState> {
        let before = self.pending_state();
        let asks_another = rules.questions_stay && self.waits_for_another(user_id);
        if asks_another && directive == Directive::Clarify {
            return None;
        }
        let is_same = match directive {
            Directive::Wait => true,
            Directive::Confirm => match &self.marks.pending {
                Some(Pending::Confirm { intent_type, .. }) => {
                    !rules.names_ends || intent_type.as_str() == kind
                }
                _ => false,
            },
            Directive::Clarify | Directive::Respond | Directive::Dispatch => false,
        };
        let is_kept = is_same || matches!(before, PendingState::None | PendingState::Clarify);
        (!is_kept).then_some(before)
    }

    /// Sets what the thread waits for after a caller's row: a CONFIRM or CLARIFY is a question, a
    /// RESPOND or DISPATCH ends one, a WAIT leaves it. Whoever a question or an answer is for is
    /// who speaks in the thread from then on; a WAIT is for nobody.
    pub(crate) fn follow_row(
        &mut self,
        directive: Directive,
        kind: Option<&Text>,
        (user, session): (&Text, Option<&Text>),
    ) {
        self.follow_speaker(directive, user, session);
        if matches!(directive, Directive::Confirm | Directive::Clarify) {
            self.marks.return_check = None;
        }
        let before = self.marks.pending.take();
        let kind = kind.cloned().unwrap_or_default();
        self.marks.pending = match (directive, &before) {
            (Directive::Confirm, Some(Pending::Confirm { intent_type, attempts }))
                if *intent_type == kind =>
            {
                Some(Pending::Confirm { intent_type: kind, attempts: again(*attempts) })
            }
            (Directive::Confirm, _) => Some(Pending::Confirm { intent_type: kind, attempts: 1 }),
            (Directive::Clarify, Some(Pending::Clarify { missing_field, attempts }))
                if *missing_field == kind =>
            {
                Some(Pending::Clarify { missing_field: kind, attempts: again(*attempts) })
            }
            (Directive::Clarify, _) => Some(Pending::Clarify { missing_field: kind, attempts: 1 }),
            (Directive::Respond | Directive::Dispatch, _) => None,
            (Directive::Wait, _) => before,
        };
    }

    fn follow_speaker(&mut self, directive: Directive, user: &Text, session: Option<&Text>) {
        let marks = &mut self.marks;
        let known = marks.active_speaker_user_id.as_ref();
        if known == Some(user) || (known.is_some() && directive == Directive::Wait) {
            return;
        }
        if known.is_some() {
            marks.return_check = None;
            marks.interrupted_subject_ref = None;
            marks.active_subject_ref = None;
        }
        marks.active_speaker_user_id = Some(user.clone());
        marks.active_session_id = session.cloned();
        (marks.return_check_lapsed, marks.buffer_lapsed) = (false, false);
    }

    /// The state after a turn that came to this. What has expired is taken out first.
    #[must_use]
    pub fn after_turn(&self, turn: &Turn<'_>, decision: &TurnDecision) -> Self {
        let mut after = self.clone();
        after.expire(turn.at);
        for remainder in decision.remainders.iter() {
            match remainder.fate {
                Fate::Captured => {
                    let captured = branch::captured(&after, turn);
                    // Words of a lapsed plan of the turn are taken over, or gave way.
                    after.resume_buffers.retain(|kept| kept.captured_turn != turn.turn_id);
                    after.resume_buffers.extend(captured);
                }
                Fate::Resumed | Fate::Discarded => {
                    let gone = (remainder.captured_turn, remainder.answer_id);
                    let is_it = |kept: &ResumeBuffer| (kept.captured_turn, kept.answer_id) == gone;
                    after.resume_buffers.retain(|kept| !is_it(kept));
                }
                Fate::KeptForLater => {}
            }
        }
        after.marks = decision.after.clone();
        let question = decision.clarify.as_ref().map(|clarify| &clarify.question);
        for text in decision.response_text.iter().chain(question) {
            after.remember_said(&turn.request.active_speaker_user_id, text);
        }
        after
    }
}

/// Once more, at most 10 times.
fn again(attempts: u8) -> u8 {
    attempts.saturating_add(1).min(10)
}
