//! One turn against the state of its thread: the contract and the branch table behind one door.

use alloc::vec::Vec;

use super::branch;
use super::decision::TurnDecision;
use super::request::TurnRequest;
use super::state::{Pending, ResumeBuffer, ReturnCheck, ThreadState};
use super::types::{Directive, Fate, SessionStatus};
use super::validate::check_request;
use crate::event::Text;
use crate::refusal::ThreadRefusal;
use crate::time::Timestamp;

/// A turn, with what the branch table needs to know besides the state.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The turn, above 0 and unique in its thread.
    pub turn_id: u64,
    /// Where the session is.
    pub session_status: SessionStatus,
    /// What is known about the turn.
    pub request: &'a TurnRequest,
    /// The time of its record.
    pub at: Timestamp,
}

/// What a turn comes to. What has expired by then counts as expired, whether or not that is on
/// record yet.
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the field of a request that breaks the contract (seed,
/// "Request contract fields"). Nothing is decided then.
pub fn decide_turn(state: &ThreadState, turn: &Turn<'_>) -> Result<TurnDecision, ThreadRefusal> {
    check_request(state, turn)?;
    let mut now = state.clone();
    now.expire(turn.at);
    Ok(branch::decide(now, *turn))
}

/// Something of a thread expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expiry {
    /// Words that were left unsaid.
    Buffer(ResumeBuffer),
    /// The question whether to go back to them.
    ReturnCheck(ReturnCheck),
}

impl ThreadState {
    /// Takes out what has expired at this time, oldest first (row 0 of the table). The question
    /// whether to go back expires before the words themselves, where both do.
    pub fn expire(&mut self, at: Timestamp) -> Vec<Expiry> {
        let mut expired = Vec::new();
        if let Some(check) = self.marks.return_check.filter(|check| check.is_expired(at)) {
            self.drop_return_check();
            expired.push(Expiry::ReturnCheck(check));
        }
        let turns: Vec<u64> = self.resume_buffers.iter().map(|b| b.captured_turn).collect();
        for turn in turns {
            let is_gone = |b: &ResumeBuffer| b.captured_turn == turn && b.is_expired(at);
            let Some(gone) = self.resume_buffers.iter().find(|b| is_gone(b)).cloned() else {
                continue;
            };
            self.drop_buffer(turn);
            expired.push(Expiry::Buffer(gone));
        }
        expired
    }

    /// The question whether to go back is over without an answer; the words are kept.
    pub(crate) fn drop_return_check(&mut self) {
        self.marks.return_check = None;
        self.marks.return_check_lapsed = true;
    }

    /// Words are gone. Where they were the newest, so are the marks about them (seed, "Fail-closed
    /// rule": expiry clears the continuity markers).
    pub(crate) fn drop_buffer(&mut self, captured_turn: u64) {
        let newest = self.resume_buffers.last().map(|buffer| buffer.captured_turn);
        self.resume_buffers.retain(|buffer| buffer.captured_turn != captured_turn);
        self.marks.buffer_lapsed = true;
        if newest != Some(captured_turn) {
            return;
        }
        self.marks.return_check_lapsed |= self.marks.return_check.take().is_some();
        let below = self.resume_buffers.last();
        self.marks.interrupted_subject_ref =
            below.map(|buffer| buffer.interrupted_subject_ref.clone());
    }

    /// Words are given up with their session or thread, and the marks about them.
    pub(crate) fn give_up(&mut self, captured_turn: u64) {
        self.resume_buffers.retain(|buffer| buffer.captured_turn != captured_turn);
        self.marks.return_check = None;
        self.marks.interrupted_subject_ref = None;
    }

    /// What the thread waits for after a caller's row: a CONFIRM or CLARIFY is a question, a
    /// RESPOND or DISPATCH ends one, a WAIT leaves it. Whoever a question or an answer is for is
    /// who speaks in the thread from then on; a WAIT is for nobody.
    pub(crate) fn follow_row(&mut self, directive: Directive, kind: Option<&Text>, user: &Text) {
        self.follow_speaker(directive, user);
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

    fn follow_speaker(&mut self, directive: Directive, user: &Text) {
        let marks = &mut self.marks;
        let known = marks.active_speaker_user_id.as_ref();
        if known == Some(user) || (known.is_some() && directive == Directive::Wait) {
            return;
        }
        if known.is_some() {
            marks.return_check = None;
            marks.interrupted_subject_ref = None;
        }
        marks.active_speaker_user_id = Some(user.clone());
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
                    after.resume_buffers.extend(branch::captured(&after.marks, turn));
                }
                Fate::Resumed | Fate::Discarded => {
                    let turn = remainder.captured_turn;
                    after.resume_buffers.retain(|buffer| buffer.captured_turn != turn);
                }
                Fate::KeptForLater => {}
            }
        }
        after.marks = decision.after.clone();
        after
    }
}

/// Once more, at most 10 times.
fn again(attempts: u8) -> u8 {
    attempts.saturating_add(1).min(10)
}
