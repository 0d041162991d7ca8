//! The branch table: what a turn comes to, row by row, in order of precedence.
//!
//! "Sure" is a relation SAME or SWITCH with a confidence of at least 0.70. "Live" is a remainder of
//! this very speaker that has not expired: what was left unsaid to somebody else is as if it were
//! not there. The row numbers are those of `docs/interruption-threads.md`.

use alloc::format;
use alloc::string::String;

use crate::core::confidence::RELATION_THRESHOLD;
use crate::core::forbidden::Rules;
use crate::core::payload::Text;
use crate::interruption_thread::decision::{
    Clarify, Dispatch, Marks, Pending, ResumeBuffer, ThreadState, TurnDecision,
};
use crate::interruption_thread::draft;
use crate::interruption_thread::draft::{Draft, TASK, expires_at, selected_missing_field};
use crate::interruption_thread::request::{TurnInput, TurnRequest};
use crate::interruption_thread::turn::Turn;
use crate::interruption_thread::types::{
    ConfirmAnswer, ContinuityOutcome, Directive, DispatchKind, Fate, FateReason, IntentClass,
    ReasonCode, SubjectRelation, ToolStatus, TtsControl,
};
use crate::registration::types::SessionStatus;

/// Longest text that is said, in bytes, and so the longest that can be interrupted.
pub(crate) const SAID_BYTES_MAX: usize = 65_536;

/// Asked once, behind the answer to another subject.
const RETURN_CHECK_QUESTION: &str = "Do you still want to continue the previous topic?";

/// The relation, where it is sure.
pub(crate) fn sure_relation(request: &TurnRequest) -> Option<SubjectRelation> {
    let relation = request.interrupt_subject_relation?;
    let confidence = request.interrupt_subject_relation_confidence_bp?;
    let is_sure = relation != SubjectRelation::Uncertain && confidence >= RELATION_THRESHOLD;
    is_sure.then_some(relation)
}

/// Decides a turn whose request was checked, on a state without anything expired (row 0).
pub(crate) fn decide<'a>(rules: &'a Rules, state: ThreadState, turn: Turn<'a>) -> TurnDecision {
    let is_interruption = turn.request.interruption.is_some();
    let unsaid = captured(&state, &turn);
    let speaker = &turn.request.active_speaker_user_id;
    let waits_for_another = rules.questions_stay && state.waits_for_another(speaker);
    let mut draft = Draft::new(rules, state, turn);
    if is_interruption {
        interrupted(&mut draft, unsaid);
    }
    if turn.session_status != SessionStatus::Active {
        draft.leave_unspoken();
        let reason = ReasonCode::SessionNotActive;
        return draft.decided(Directive::Wait, reason, "SESSION_NOT_ACTIVE");
    }
    if waits_for_another {
        return asked_of_another(draft);
    }
    if is_interruption {
        draft.after.pending = None;
        draft.after.return_check = None;
    }
    if let Some(before) = &draft.before.active_speaker_user_id
        && before.as_str() != draft.speaker()
    {
        return mismatch(draft, ReasonCode::ContinuitySpeakerMismatch, draft::speaker_mismatch());
    }
    if is_interruption && sure_relation(turn.request).is_none() {
        return relation_uncertain(draft);
    }
    if let Some(clarify) = drifted(&draft) {
        return mismatch(draft, ReasonCode::ContinuitySubjectMismatch, clarify);
    }
    if is_interruption && turn.request.input == TurnInput::None {
        return draft.decided(Directive::Wait, ReasonCode::InterruptCancel, "BARGE_IN_CANCEL");
    }
    match turn.request.confirm_answer {
        Some(answer) => answered(draft, answer),
        None => spoken(draft),
    }
}

/// Row 2: speech stops, and what was left unsaid is captured for whom it was said to.
fn interrupted(draft: &mut Draft<'_>, unsaid: Option<ResumeBuffer>) {
    draft.tts_control = Some(TtsControl::Cancel);
    let is_closed = draft.turn.session_status == SessionStatus::Closed;
    let subject = interrupted_subject(&draft.before, &draft.turn);
    if let Some(buffer) = unsaid {
        draft.capture(buffer, is_closed.then_some(FateReason::SessionNotActive));
    }
    if !is_closed {
        draft.after.interrupted_subject_ref = Some(subject);
    }
}

fn interrupted_subject(before: &Marks, turn: &Turn<'_>) -> Text {
    let request = turn.request;
    let hint = request.tts_resume_snapshot.as_ref().and_then(|s| s.topic_hint.clone());
    hint.or_else(|| before.active_subject_ref.clone())
        .unwrap_or_else(|| request.subject_ref.clone())
}

/// Returns what a turn's snapshot leaves unsaid: a function of the state before it and of the turn.
/// It belongs to who was told that very text, or else to who spoke last.
pub(crate) fn captured(before: &ThreadState, turn: &Turn<'_>) -> Option<ResumeBuffer> {
    let snapshot = turn.request.tts_resume_snapshot.as_ref()?;
    let cursor = usize::try_from(snapshot.spoken_cursor_byte).ok()?;
    let (spoken, unsaid) = snapshot.response_text.split_at_checked(cursor)?;
    let speaker = &turn.request.active_speaker_user_id;
    let known = before.marks.active_speaker_user_id.as_ref();
    let listener = before.listener_of(&snapshot.response_text).or(known).unwrap_or(speaker);
    let session_id = match known {
        _ if listener == speaker => turn.session_id.map(Text::from),
        Some(known) if known == listener => before.marks.active_session_id.clone(),
        _ => None,
    };
    Some(ResumeBuffer {
        captured_turn: turn.turn_id,
        speaker_user_id: listener.clone(),
        session_id,
        answer_id: snapshot.answer_id,
        topic_hint: snapshot.topic_hint.clone(),
        interrupted_subject_ref: interrupted_subject(&before.marks, turn),
        spoken_prefix: spoken.into(),
        unsaid_remainder: without_leading_blanks(unsaid).into(),
        expires_at: expires_at(turn.at),
    })
}

fn without_leading_blanks(text: &str) -> &str {
    text.trim_start_matches(crate::core::text::BLANK_CODE_POINTS)
}

/// Rows 3 and 4: one question, and nothing of what was asked before stays open.
fn mismatch(mut draft: Draft<'_>, reason: ReasonCode, clarify: Clarify) -> TurnDecision {
    draft.after.interrupted_subject_ref = None;
    draft.after.return_check = None;
    draft.await_clarify(&clarify.what_is_missing);
    draft.clarify(reason, clarify)
}

/// Row 3 while somebody else's answer is waited for: it stays theirs, and so does the thread.
fn asked_of_another(mut draft: Draft<'_>) -> TurnDecision {
    draft.leave_unspoken();
    draft.after.interrupted_subject_ref = None;
    draft.after.return_check = None;
    draft.clarify(ReasonCode::ContinuitySpeakerMismatch, draft::waiting_for_another())
}

/// Row 4: another subject while something is pending.
fn drifted(draft: &Draft<'_>) -> Option<Clarify> {
    let before = draft.before.active_subject_ref.as_ref()?;
    let now = &draft.turn.request.subject_ref;
    let drifts = draft.before.pending.is_some() && before != now;
    drifts.then(|| draft::subject_mismatch(before, now))
}

/// Rows 2a, 11 and 17. A tool that answered meanwhile, and an action that was said yes to, wait:
/// the answer may come again.
fn relation_uncertain(mut draft: Draft<'_>) -> TurnDecision {
    let request = draft.turn.request;
    let comes_again =
        matches!(request.input, TurnInput::ToolResponse { .. }) || request.confirm_answer.is_some();
    if !comes_again {
        draft.await_clarify(TASK);
    }
    let reason = ReasonCode::InterruptRelationUncertainClarify;
    draft.clarify(reason, draft::relation_uncertain())
}

/// Rows 6 to 8: a yes or no, to the question whether to go back before anything else.
fn answered(mut draft: Draft<'_>, answer: ConfirmAnswer) -> TurnDecision {
    if let Some(captured_turn) = draft.asked_about() {
        return return_answered(draft, answer, captured_turn);
    }
    match draft.before.pending.clone() {
        Some(Pending::Confirm { intent_type, .. }) => confirm_answered(draft, answer, intent_type),
        Some(Pending::MemoryPermission { deferred_response_text, resumes_turn, .. }) => {
            memory_answered(draft, answer, &deferred_response_text, resumes_turn)
        }
        _ => {
            let clarify = draft::resume_expired();
            draft.await_clarify(&clarify.what_is_missing);
            draft.clarify(ReasonCode::ResumeExpired, clarify)
        }
    }
}

fn return_answered(
    mut draft: Draft<'_>,
    answer: ConfirmAnswer,
    captured_turn: u64,
) -> TurnDecision {
    let asked = Some(captured_turn);
    // Asking for an action's yes takes this question back, so the answer is to this one. Where both
    // are open all the same, the action goes on waiting. A clarifying question is over.
    if matches!(draft.before.pending, Some(Pending::Clarify { .. })) {
        draft.after.pending = None;
    }
    match answer {
        ConfirmAnswer::Yes => {
            let text = draft.release(asked, Fate::Resumed, FateReason::ReturnCheckYes);
            let text = text.map_or_else(String::new, Text::into_string);
            draft.respond(ReasonCode::InterruptResumeNow, "RESUME_NOW", text)
        }
        ConfirmAnswer::No => {
            draft.release(asked, Fate::Discarded, FateReason::ReturnCheckNo);
            let text = String::from("Okay, I will leave the previous topic.");
            draft.respond(ReasonCode::InterruptDiscard, "DISCARD", text)
        }
    }
}

/// Row 8: an action goes ahead only while it is sure what the user speaks of.
fn confirm_answered(
    mut draft: Draft<'_>,
    answer: ConfirmAnswer,
    intent_type: Text,
) -> TurnDecision {
    if answer == ConfirmAnswer::No {
        draft.answered();
        draft.keep_for_later(FateReason::OtherInput);
        let text = String::from("Okay, I will not do that.");
        return draft.respond(ReasonCode::ConfirmNoAbort, "CONFIRM_NO_ABORT", text);
    }
    if draft.live().is_some() && sure_relation(draft.turn.request).is_none() {
        return relation_uncertain(draft);
    }
    draft.answered();
    draft.keep_for_later(FateReason::OtherInput);
    let kind = DispatchKind::SimulationCandidate;
    let dispatch = Dispatch { kind, intent_type, request_id: None };
    draft.dispatch(ReasonCode::ConfirmYesDispatch, dispatch)
}

/// Row 8: what is kept in memory, and the remainder before it where that is still kept.
fn memory_answered(
    mut draft: Draft<'_>,
    answer: ConfirmAnswer,
    deferred: &str,
    resumes_turn: Option<u64>,
) -> TurnDecision {
    draft.answered();
    if answer == ConfirmAnswer::No {
        draft.keep_for_later(FateReason::OtherInput);
        let text = String::from("Okay, I will not say that.");
        return draft.respond(ReasonCode::MemoryPermissionNo, "MEMORY_PERMISSION_NO", text);
    }
    let fits = fits(&draft, deferred);
    let remainder = resumes_turn
        .filter(|_| fits)
        .and_then(|turn| draft.release(Some(turn), Fate::Resumed, FateReason::MemoryPermitted));
    let text = match remainder {
        Some(remainder) => merged(&remainder, deferred),
        None if deferred.is_empty() => {
            let clarify = draft::resume_expired();
            draft.await_clarify(&clarify.what_is_missing);
            return draft.clarify(ReasonCode::ResumeExpired, clarify);
        }
        None => {
            draft.keep_for_later(FateReason::OtherInput);
            String::from(deferred)
        }
    };
    draft.respond(ReasonCode::MemoryPermissionYes, "MEMORY_PERMISSION_YES", text)
}

/// Rows 5 and 9 to 18: whatever the input is, what was left unsaid is seen to first.
fn spoken(draft: Draft<'_>) -> TurnDecision {
    let relation = match (draft.live(), sure_relation(draft.turn.request)) {
        (Some(_), None) => return relation_uncertain(draft),
        (Some(_), relation) => relation,
        (None, _) => None,
    };
    match &draft.turn.request.input {
        TurnInput::None => {
            draft.decided(Directive::Wait, ReasonCode::InterruptCancel, "BARGE_IN_CANCEL")
        }
        TurnInput::Chat { response_text } => said(draft, relation, response_text),
        TurnInput::Intent { class, .. } if class.is_resume() => asked_to_resume(draft, relation),
        TurnInput::Intent { intent_type, class } => intended(draft, intent_type, *class),
        TurnInput::NlpClarify { question, accepted_answer_formats, missing_fields } => {
            let missing = selected_missing_field(missing_fields, &draft.turn.request.advice);
            let missing = missing.map_or(TASK, Text::as_str);
            let clarify = draft::upstream(question, accepted_answer_formats, missing);
            asked_upstream(draft, clarify)
        }
        TurnInput::ToolResponse { status, response_text, .. } => {
            tool_answered(draft, *status, response_text)
        }
        TurnInput::LastFailure { response_text } => {
            if draft.turn.request.sensitive_memory_present {
                return ask_memory_permission(draft, None, response_text);
            }
            let mut draft = other_input(draft);
            draft.after.pending = None;
            let text = String::from(response_text.as_str());
            draft.respond(ReasonCode::LastFailure, "LAST_FAILURE", text)
        }
    }
}

/// Keeps what was left unsaid until the turn's own matter is done.
fn other_input(mut draft: Draft<'_>) -> Draft<'_> {
    draft.keep_for_later(FateReason::OtherInput);
    draft
}

/// Rows 12 to 14m.
fn said(mut draft: Draft<'_>, relation: Option<SubjectRelation>, text: &str) -> TurnDecision {
    if draft.turn.request.sensitive_memory_present {
        return ask_memory_permission(draft, relation, text);
    }
    draft.after.pending = None;
    match relation {
        Some(SubjectRelation::Same) => append(draft, text),
        Some(_) => switch(draft, text),
        None => draft.respond(ReasonCode::NlpChat, "CHAT", String::from(text)),
    }
}

/// Row 12: the remainder, then the new text, as one. What is too long to be said as one could not
/// be interrupted any more: then it is asked whether to go back (row 13).
fn append(mut draft: Draft<'_>, text: &str) -> TurnDecision {
    if !fits(&draft, text) {
        return switch(draft, text);
    }
    let remainder = draft.release(None, Fate::Resumed, FateReason::SameSubject);
    let text = remainder.map_or_else(|| String::from(text), |rest| merged(&rest, text));
    draft.set_outcome(ContinuityOutcome::SameSubjectAppend);
    draft.respond(ReasonCode::InterruptSameSubjectAppend, "SAME_SUBJECT_APPEND", text)
}

/// Row 13: the new text, then the question whether to go back, once.
fn switch(mut draft: Draft<'_>, text: &str) -> TurnDecision {
    draft.ask_return();
    draft.set_outcome(ContinuityOutcome::SwitchTopicThenReturnCheck);
    let text = merged(text, RETURN_CHECK_QUESTION);
    draft.respond(ReasonCode::InterruptReturnCheckAsked, "RETURN_CHECK", text)
}

/// Row 14m: it is asked first, and nothing that was left unsaid is lost meanwhile.
fn ask_memory_permission(
    mut draft: Draft<'_>,
    relation: Option<SubjectRelation>,
    text: &str,
) -> TurnDecision {
    let attempts = draft.attempts(|pending| {
        let Pending::MemoryPermission { attempts, .. } = pending else { return None };
        Some(*attempts)
    });
    let is_same = relation == Some(SubjectRelation::Same);
    let resumes_turn = draft.live().filter(|_| is_same).map(|buffer| buffer.captured_turn);
    draft.keep_for_later(FateReason::MemoryPermissionAsked);
    draft.after.return_check = None;
    draft.after.pending = Some(Pending::MemoryPermission {
        deferred_response_text: text.into(),
        resumes_turn,
        attempts,
    });
    let text = "This is about something that I remember. May I say it?";
    let reason = ReasonCode::MemoryPermissionRequired;
    draft.respond(reason, "MEMORY_PERMISSION_REQUIRED", String::from(text))
}

/// Rows 15 and 16: the user asked for what was left unsaid.
fn asked_to_resume(mut draft: Draft<'_>, relation: Option<SubjectRelation>) -> TurnDecision {
    match relation {
        Some(SubjectRelation::Same) if draft.turn.request.sensitive_memory_present => {
            ask_memory_permission(draft, relation, "")
        }
        Some(SubjectRelation::Same) => {
            draft.after.pending = None;
            append(draft, "")
        }
        Some(_) => {
            draft.after.pending = None;
            switch(draft, "")
        }
        None => {
            let clarify = draft::resume_expired();
            draft.await_clarify(&clarify.what_is_missing);
            draft.clarify(ReasonCode::ResumeExpired, clarify)
        }
    }
}

/// Row 18: an intent is served, and what was left unsaid waits for it.
fn intended(draft: Draft<'_>, intent_type: &Text, class: IntentClass) -> TurnDecision {
    let mut draft = other_input(draft);
    draft.after.pending = None;
    let intent_type = intent_type.clone();
    match class {
        IntentClass::ReadOnlyTool => {
            let request_id = Text::from(format!("TOOL-{}", draft.turn.turn_id));
            let awaited = Pending::Tool { request_id: request_id.clone(), attempts: 1 };
            draft.after.pending = Some(awaited);
            let kind = DispatchKind::ToolRequest;
            let dispatch = Dispatch { kind, intent_type, request_id: Some(request_id) };
            draft.dispatch(ReasonCode::DispatchTool, dispatch)
        }
        IntentClass::MemoryQuery => {
            let kind = DispatchKind::SimulationCandidate;
            let dispatch = Dispatch { kind, intent_type, request_id: None };
            draft.dispatch(ReasonCode::DispatchSimulationCandidate, dispatch)
        }
        IntentClass::Impactful | IntentClass::Continue | IntentClass::MoreDetail => {
            confirm(draft, intent_type)
        }
    }
}

fn confirm(mut draft: Draft<'_>, intent_type: Text) -> TurnDecision {
    let attempts = draft.attempts(|pending| {
        let Pending::Confirm { intent_type: before, attempts } = pending else { return None };
        (*before == intent_type).then_some(*attempts)
    });
    draft.after.pending = Some(Pending::Confirm { intent_type: intent_type.clone(), attempts });
    draft.after.return_check = None;
    let text = format!("Do you want me to do this: {intent_type}?");
    let decision = draft.decided(Directive::Confirm, ReasonCode::ConfirmRequired, &intent_type);
    TurnDecision { response_text: Some(text.into()), ..decision }
}

/// Row 10.
fn asked_upstream(draft: Draft<'_>, clarify: Clarify) -> TurnDecision {
    let mut draft = other_input(draft);
    draft.after.return_check = None;
    draft.await_clarify(&clarify.what_is_missing);
    draft.clarify(ReasonCode::NlpClarify, clarify)
}

/// Row 5.
fn tool_answered(mut draft: Draft<'_>, status: ToolStatus, text: &str) -> TurnDecision {
    draft.answered();
    if draft.turn.request.sensitive_memory_present && status != ToolStatus::Ambiguous {
        return ask_memory_permission(draft, None, text);
    }
    let mut draft = other_input(draft);
    match status {
        ToolStatus::Ok => draft.respond(ReasonCode::ToolOk, "TOOL_RESULT_OK", text.into()),
        ToolStatus::Fail => draft.respond(ReasonCode::ToolFail, "TOOL_RESULT_FAIL", text.into()),
        ToolStatus::Ambiguous => {
            let is_sensitive = draft.turn.request.sensitive_memory_present;
            let clarify = draft::tool_ambiguous(text, is_sensitive);
            draft.await_clarify(&clarify.what_is_missing);
            draft.clarify(ReasonCode::ToolAmbiguous, clarify)
        }
    }
}

/// Returns whether the newest remainder and a text may be said as one, with a space between them.
fn fits(draft: &Draft<'_>, text: &str) -> bool {
    let rest = draft.live().map_or(0, |buffer| buffer.unsaid_remainder.len());
    let space = usize::from(!text.is_empty());
    rest.saturating_add(space).saturating_add(text.len()) <= SAID_BYTES_MAX
}

/// Two texts as one, each said once.
fn merged(first: &str, second: &str) -> String {
    if first.contains(second) {
        return String::from(first);
    }
    if second.contains(first) {
        return String::from(second);
    }
    format!("{first} {second}")
}
