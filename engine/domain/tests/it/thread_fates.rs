//! Counts what becomes of remainders from the events of turns, and in which session everybody
//! speaks: what random turns are held to, besides the books of their rows.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, Fate, InterruptionThreadEvent, Pending, ReasonCode, ThreadState,
    TurnTaken,
};
use holdpoint_domain::registration::{RegistrationEvent, SessionStatus};

/// Words that were captured and not yet seen to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    owner: String,
    answer: u64,
    words: String,
}

/// Counts what becomes of remainders, from the events alone.
#[derive(Debug, Default)]
pub(crate) struct Accountant {
    /// By thread and turn.
    pub(crate) kept: BTreeMap<String, BTreeMap<u64, Kept>>,
    /// What the open plan of a thread owns, by its turn.
    planned: BTreeMap<String, (u64, Kept)>,
    /// Words that give way to others by the event that follows.
    displaced: Option<u64>,
    pub(crate) captured: u64,
    pub(crate) ends: BTreeMap<&'static str, u64>,
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    pub(crate) sessions: Sessions,
}

/// Where every session is and in which each thread was spoken in last, from the events alone.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    active: BTreeSet<String>,
    spoken_in: BTreeMap<String, String>,
    /// Who speaks in a thread, and whether it waits for an answer that only they may give.
    waits: BTreeMap<String, (String, bool)>,
    pub(crate) disarmed: u64,
}

impl Sessions {
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Registration(RegistrationEvent::SessionRegistered(body))
                if body.status == SessionStatus::Active =>
            {
                self.active.insert(body.session_id.to_string());
            }
            Event::Registration(RegistrationEvent::SessionRegistered(body)) => {
                self.active.remove(body.session_id.as_str());
            }
            Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => {
                // What was asked in no session ends with the one in which somebody waits.
                let asked_in = self.spoken_in.get(body.correlation_id.as_str());
                assert!(asked_in.is_none_or(|asked_in| *asked_in == *body.session_id), "{body:?}");
                let is_closed = !self.active.contains(body.session_id.as_str());
                assert!(is_closed || body.reason_code == ReasonCode::ThreadClosed);
                self.waits.entry(body.correlation_id.to_string()).and_modify(|it| it.1 = false);
                self.disarmed += 1;
            }
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => {
                let (session, decision) = (body.session_id.as_deref(), &body.decision);
                let (thread, user) = (&body.correlation_id, &body.request.active_speaker_user_id);
                let is_stranger = self.is_stranger(thread, user);
                let pending = decision.after.pending.as_ref();
                let waits = pending.is_some_and(|it| !matches!(it, Pending::Clarify { .. }));
                let speaker = decision.after.active_speaker_user_id.as_ref();
                let speaker = speaker.map_or_else(String::new, ToString::to_string);
                self.waits.insert(thread.to_string(), (speaker, waits));
                let is_active = body.session_status == SessionStatus::Active;
                if is_stranger && is_active {
                    let reason = decision.reason_code;
                    assert_eq!(reason, ReasonCode::ContinuitySpeakerMismatch, "{body:?}");
                    let is_there = session.is_none_or(|session| self.active.contains(session));
                    return assert!(is_there, "{body:?}");
                }
                let before = self.spoken_in.get(body.correlation_id.as_str());
                if answers_what_was_asked(decision.reason_code) {
                    // What was asked in no session is answered in any.
                    let is_there = before.is_none_or(|before| Some(&**before) == session);
                    assert!(is_there, "asked in {before:?}, answered elsewhere: {body:?}");
                }
                let speaks = decision.directive != Directive::Wait
                    || decision.reason_code == ReasonCode::InterruptCancel;
                self.spoken(thread, session, speaks);
            }
            Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body))
                if body.decided_by == DecidedBy::Caller =>
            {
                let (thread, directive) = (&body.correlation_id, body.payload.directive);
                let speaks = directive != Directive::Wait;
                if speaks && self.is_stranger(thread, &body.user_id) {
                    return assert_eq!(directive, Directive::Clarify, "{body:?}");
                }
                if speaks {
                    let waits = (body.user_id.to_string(), directive == Directive::Confirm);
                    self.waits.insert(thread.to_string(), waits);
                }
                self.spoken(thread, body.session_id.as_deref(), speaks);
            }
            _ => {}
        }
    }

    /// Whether the thread waits for somebody else's answer.
    fn is_stranger(&self, thread: &str, user: &str) -> bool {
        self.waits.get(thread).is_some_and(|(speaker, waits)| *waits && *speaker != user)
    }

    fn spoken(&mut self, thread: &str, session: Option<&str>, speaks: bool) {
        match session {
            Some(session) if speaks => {
                assert!(self.active.contains(session), "{thread} speaks in {session}");
                self.spoken_in.insert(thread.into(), session.into());
            }
            Some(_) => {}
            None => assert!(!self.spoken_in.contains_key(thread), "{thread} has a session"),
        }
    }
}

/// Whether this comes of the answer to a question that only its own session may answer.
fn answers_what_was_asked(reason: ReasonCode) -> bool {
    matches!(
        reason,
        ReasonCode::ConfirmYesDispatch
            | ReasonCode::ConfirmNoAbort
            | ReasonCode::MemoryPermissionYes
            | ReasonCode::MemoryPermissionNo
            | ReasonCode::ToolOk
            | ReasonCode::ToolFail
    )
}

impl Accountant {
    pub(crate) fn follow(&mut self, event: &Event, words: &str) {
        self.sessions.follow(event);
        match event {
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(turn)) => {
                self.turn(turn, words)
            }
            Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(gone)) => {
                self.end(&gone.correlation_id, gone.captured_turn, "expired");
            }
            Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(gone)) => {
                for remainder in gone.remainders.iter() {
                    assert_eq!(remainder.fate, Fate::Discarded);
                    let (thread, turn) = (&*gone.correlation_id, remainder.captured_turn);
                    if self.of(thread).contains_key(&turn) {
                        self.end(thread, turn, "discarded at an end");
                    } else {
                        let planned = self.planned.remove(thread).map(|(turn, _)| turn);
                        assert_eq!(planned, Some(turn), "{gone:?}");
                    }
                }
            }
            Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(gone)) => {
                self.displaced = Some(gone.remainder.captured_turn);
            }
            Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(plan)) => {
                self.planned.remove(&*plan.correlation_id);
                if let Some(unsaid) = &plan.unsaid {
                    let owner = unsaid.speaker_user_id.as_str().to_owned();
                    let (answer, words) = (unsaid.answer_id, words.to_owned());
                    let owned = (plan.turn_id, Kept { owner, answer, words });
                    self.planned.insert(plan.correlation_id.to_string(), owned);
                }
            }
            Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(ended)) => {
                self.plan_ended(&ended.correlation_id, ended.remainder.fate);
            }
            _ => {}
        }
    }

    fn plan_ended(&mut self, thread: &str, fate: Fate) {
        let (turn, words) = self.planned.remove(thread).expect("the words of a plan");
        if fate != Fate::Captured {
            return;
        }
        if let Some(gone) = self.displaced.take() {
            self.end(thread, gone, "discarded");
        }
        self.keep(thread, turn, words);
    }

    /// Words are kept, or go on to be under the same turn.
    fn keep(&mut self, thread: &str, turn: u64, words: Kept) {
        let before = self.of(thread).insert(turn, words.clone());
        assert!(before.as_ref().is_none_or(|before| *before == words), "{before:?} {words:?}");
        self.captured += u64::from(before.is_none());
    }

    fn turn(&mut self, turn: &TurnTaken, words: &str) {
        let decision = &turn.decision;
        self.displaced = None;
        let thread = &*turn.correlation_id;
        if self.planned.get(thread).is_some_and(|(planned, _)| *planned <= turn.turn_id) {
            self.planned.remove(thread);
        }
        *self.reasons.entry(decision.reason_code.name()).or_default() += 1;
        let said = decision.response_text.as_deref().unwrap_or_default();
        let mut named_now = false;
        for remainder in decision.remainders.iter() {
            let of = remainder.captured_turn;
            let kept = self.of(&turn.correlation_id).get(&of);
            let is_kept = kept.is_some_and(|kept| kept.answer == remainder.answer_id);
            named_now |= of == turn.turn_id;
            match remainder.fate {
                Fate::Captured => {
                    assert_eq!(of, turn.turn_id, "{turn:?}");
                    let owner = remainder.speaker_user_id.as_str().to_owned();
                    let (answer, words) = (remainder.answer_id, words.to_owned());
                    self.keep(thread, of, Kept { owner, answer, words });
                }
                Fate::Resumed => {
                    let kept = self.end(&turn.correlation_id, of, "resumed");
                    assert_eq!(kept.owner, turn.request.active_speaker_user_id.as_str());
                    assert!(said.contains(&kept.words), "said {said:?}, not {kept:?}");
                }
                Fate::Discarded if is_kept => {
                    self.end(&turn.correlation_id, of, "discarded");
                }
                Fate::Discarded => {
                    assert_eq!(of, turn.turn_id, "words that were not kept are given up");
                    assert_eq!(turn.session_status, SessionStatus::Closed);
                    self.captured += 1;
                    *self.ends.entry("discarded when captured").or_default() += 1;
                }
                Fate::KeptForLater => assert!(is_kept, "words that are gone are kept: {turn:?}"),
            }
        }
        assert!(named_now || turn.request.tts_resume_snapshot.is_none(), "{turn:?}");
        assert_own_words(turn);
    }

    fn of(&mut self, thread: &str) -> &mut BTreeMap<u64, Kept> {
        self.kept.entry(thread.to_owned()).or_default()
    }

    /// Words come to an end, once.
    fn end(&mut self, thread: &str, turn: u64, how: &'static str) -> Kept {
        *self.ends.entry(how).or_default() += 1;
        let kept = self.of(thread).remove(&turn);
        kept.unwrap_or_else(|| panic!("words of turn {turn} of {thread} are {how}, but not kept"))
    }

    /// What is kept is what the thread keeps, for the same people.
    pub(crate) fn assert_kept(&mut self, thread: &str, state: &ThreadState) {
        let kept = self.of(thread);
        assert_eq!(kept.len(), state.resume_buffers.len(), "{thread}: {kept:?}, {state:?}");
        for buffer in &state.resume_buffers {
            let known = &kept[&buffer.captured_turn];
            assert_eq!(known.owner, buffer.speaker_user_id.as_str());
            assert_eq!(known.words, buffer.unsaid_remainder.as_str());
        }
    }
}

/// Every text here says in brackets whose it is: `[ann 7]` was being said to ann.
fn assert_own_words(turn: &TurnTaken) {
    let speaker = turn.request.active_speaker_user_id.as_str();
    let decision = &turn.decision;
    let question = decision.clarify.as_ref().map(|clarify| clarify.question.as_str());
    let said = [decision.response_text.as_deref(), question];
    for text in said.into_iter().flatten() {
        for marked in text.split('[').skip(1) {
            assert!(marked.starts_with(speaker), "{speaker} hears {text:?}");
        }
    }
}
