//! The documented categories in which our answer to a recorded turn may differ. They look at the
//! input only; where the basis is `seed`, they excuse nothing but state that the seed leaves open.
//!
//! | category | what we do |
//! |---|---|
//! | barge-in while the task is asked for | the same question again counts as asked again |
//! | barge-in in a session that is not active | speech stops; what is lost is named |
//! | somebody else in a session that is not active | nobody was answered: nobody is known anew |
//! | yes or no to one of two questions | the other question stays open |
//! | yes or no after its question expired | one clarify with X_RESUME_EXPIRED, not a refusal |
//! | yes to an action with words left unsaid | relation not sure: one clarify; else served |
//! | answer about memory with words left unsaid | the words are kept, and the row says so |
//! | sensitive memory with words left unsaid | permission first; nothing is given up |
//! | sensitive memory with nothing left unsaid | permission first here as well |
//! | a subject of more than one line | refused, with the field named |
//! | a snapshot longer than the reference's | what may be said may be interrupted |
//! | other input with words left unsaid | served with a sure relation; the words are kept |
//! | subject of an interruption without words | the mark stays until something replaces it |
//! | correlation zero | a correlation is a name, and 0 is one |
//! | pending attempts that no thread reaches | attempts are counted here, from 1 to 10 |

use holdpoint_domain::interruption_thread::{
    Directive, Pending, ReasonCode, ResumePolicy, TtsControl, TurnDecision,
};
use serde_json::Value;

use crate::ph1x::TurnCase;
use crate::ph1x_answer::{Aspect, TurnAnswer};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Category {
    /// What the input is like.
    pub(crate) name: &'static str,
    /// Why the answer differs.
    pub(crate) reason: &'static str,
    /// Whether the input is like that.
    applies: fn(&TurnCase) -> bool,
    /// In what an answer may differ.
    aspects: &'static [Aspect],
    /// Whether this is an answer that the category prescribes for the input.
    pub(crate) prescribes: fn(&TurnCase, &TurnAnswer) -> bool,
}

/// What is known of the words that were left unsaid, and how the row speaks of them.
const MARKS: &[Aspect] = &[
    Aspect::Policy,
    Aspect::ResumeBuffer,
    Aspect::InterruptedSubject,
    Aspect::ReturnCheck,
    Aspect::ReturnCheckExpiry,
];

const CATEGORIES: [Category; 16] = [
    Category {
        name: "barge-in while the task is asked for",
        reason: "the same question again counts as asked again, up to 10 times",
        applies: |case| has_barge_in(case) && !is_sure(case) && waits_for_task(case),
        aspects: &[Aspect::Pending],
        prescribes: |case, answer| {
            answer.reason() != Some(ReasonCode::InterruptRelationUncertainClarify.name())
                || attempts_after(answer) == attempts_before(case).map(|n| (n + 1).min(10))
        },
    },
    Category {
        name: "barge-in in a session that is not active",
        reason: "speech stops; words are kept while suspended, discarded by name when closed",
        applies: |case| has_barge_in(case) && !is_active(case),
        aspects: &[
            Aspect::TtsControl,
            Aspect::Policy,
            Aspect::ResumeBuffer,
            Aspect::InterruptedSubject,
        ],
        prescribes: |_, answer| {
            is(answer, |d| {
                d.reason_code == ReasonCode::SessionNotActive
                    && d.tts_control == Some(TtsControl::Cancel)
            })
        },
    },
    Category {
        name: "somebody else in a session that is not active",
        reason: "nobody was answered: speaker and subject stay, or their questions would pass on",
        applies: |case| !is_active(case) && case.expect["status"] == "OK" && is_elsewhere(case),
        aspects: &[Aspect::ActiveSubject, Aspect::ActiveSpeaker],
        prescribes: |case, answer| {
            is(answer, |d| {
                let speaker = case.before["active_speaker_user_id"].as_str();
                speaker.is_none() || d.after.active_speaker_user_id.as_deref() == speaker
            })
        },
    },
    Category {
        name: "what somebody else is asked",
        reason: "what is pending stays with its speaker, and so do the thread and its subject",
        applies: |case| {
            let pending = case.before["pending"]["kind"].as_str();
            let is_other =
                case.before["active_speaker_user_id"] != case.request["active_speaker_user_id"];
            is_active(case)
                && is_other
                && !case.before["active_speaker_user_id"].is_null()
                && pending.is_some_and(|kind| kind != "CLARIFY")
        },
        aspects: &[Aspect::Pending, Aspect::ActiveSpeaker, Aspect::ActiveSubject],
        prescribes: |case, answer| {
            is(answer, |d| {
                d.reason_code == ReasonCode::ContinuitySpeakerMismatch
                    && d.dropped_pending.is_none()
                    && d.after.pending.is_some()
                    && d.after.active_speaker_user_id.as_deref()
                        == case.before["active_speaker_user_id"].as_str()
                    && d.after.active_subject_ref.as_deref()
                        == case.before["active_subject_ref"].as_str()
            })
        },
    },
    Category {
        name: "yes or no to one of two questions",
        reason: "the question that was asked first stays open",
        applies: |case| {
            may_go_on(case) && has_answer(case) && has_live_check(case) && awaits_yes_or_no(case)
        },
        aspects: &[Aspect::Pending],
        prescribes: |case, answer| {
            is(answer, |d| d.after.pending.is_none() == case.before["pending"].is_null())
        },
    },
    Category {
        name: "yes or no after its question expired",
        reason: "a late answer is told so by one clarify, on record",
        applies: |case| {
            may_go_on(case)
                && has_answer(case)
                && has_expired_check(case)
                && !awaits_yes_or_no(case)
        },
        aspects: &[Aspect::Refusal],
        prescribes: |_, answer| {
            is(answer, |d| {
                d.directive == Directive::Clarify && d.reason_code == ReasonCode::ResumeExpired
            })
        },
    },
    Category {
        name: "yes to an action with words left unsaid",
        reason: "dispatched only with a sure relation, and the words are kept",
        applies: |case| {
            may_go_on(case)
                && case.request["confirm_answer"] == "Yes"
                && is_live(case)
                && !has_live_check(case)
                && pending_kind(case) == "CONFIRM"
        },
        aspects: &[
            Aspect::Directive,
            Aspect::ReasonCode,
            Aspect::Clarify,
            Aspect::Dispatch,
            Aspect::Policy,
            Aspect::Pending,
        ],
        prescribes: |case, answer| {
            is(answer, |d| match d.directive {
                Directive::Dispatch => is_sure(case) && keeps(d),
                Directive::Clarify => !is_sure(case),
                _ => false,
            })
        },
    },
    Category {
        name: "answer about memory with words left unsaid",
        reason: "the words are kept, and the row says RESUME_LATER",
        applies: |case| {
            may_go_on(case)
                && has_answer(case)
                && is_live(case)
                && !has_live_check(case)
                && awaits_yes_or_no(case)
                && (pending_kind(case) != "CONFIRM" || case.request["confirm_answer"] == "No")
        },
        aspects: &[Aspect::Policy],
        prescribes: |_, answer| is(answer, keeps),
    },
    Category {
        name: "sensitive memory with words left unsaid",
        reason: "permission is asked first; the words and their marks are kept",
        applies: |case| {
            may_go_on(case)
                && is_live(case)
                && is_sure(case)
                && !has_answer(case)
                && case.request["sensitive_memory_present"] == true
                && input_kind(case) == "CHAT"
        },
        aspects: MARKS,
        prescribes: |_, answer| {
            is(answer, |d| d.reason_code == ReasonCode::MemoryPermissionRequired && keeps(d))
        },
    },
    Category {
        name: "sensitive memory with nothing left unsaid",
        reason: "permission is asked first here as well",
        applies: |case| {
            may_go_on(case)
                && !is_live(case)
                && !has_answer(case)
                && (!has_barge_in(case) || is_sure(case))
                && case.request["sensitive_memory_present"] == true
                && input_kind(case) == "CHAT"
        },
        aspects: &[Aspect::ReasonCode, Aspect::ResponseText, Aspect::Pending],
        prescribes: |_, answer| {
            is(answer, |d| d.reason_code == ReasonCode::MemoryPermissionRequired)
        },
    },
    Category {
        name: "a subject of more than one line",
        reason: "a label is one line of visible text: refused, with the field named",
        applies: |case| {
            case.request["subject_ref"].as_str().is_some_and(|s| s.contains(char::is_control))
        },
        aspects: &[Aspect::Refusal],
        prescribes: |_, answer| refuses(answer, "subject_ref"),
    },
    Category {
        name: "a snapshot longer than the reference's",
        reason: "whatever may be said may be interrupted: up to 65 536 bytes",
        applies: |case| (32_769..=65_536).contains(&snapshot_bytes(case)),
        aspects: &[Aspect::Refusal],
        prescribes: |_, answer| !refuses(answer, "tts_resume_snapshot.response_text"),
    },
    Category {
        name: "other input with words left unsaid",
        reason: "served with a sure relation; the words and their marks are kept",
        applies: |case| {
            may_go_on(case)
                && is_live(case)
                && is_sure(case)
                && !has_barge_in(case)
                && !has_answer(case)
                && is_other_input(case)
        },
        aspects: MARKS,
        prescribes: |_, answer| is(answer, keeps),
    },
    Category {
        name: "subject of an interruption without words",
        reason: "the mark stays until something replaces it",
        applies: |case| {
            may_go_on(case)
                && !has_barge_in(case)
                && case.before["resume_buffer"].is_null()
                && case.before["interrupted_subject_ref"].is_string()
        },
        aspects: &[Aspect::InterruptedSubject],
        prescribes: |case, answer| {
            let before = case.before["interrupted_subject_ref"].as_str();
            answer.decision().is_none_or(|d| {
                let after = d.after.interrupted_subject_ref.as_deref();
                after.is_none() || after == before
            })
        },
    },
    Category {
        name: "correlation zero",
        reason: "a correlation is a name, and 0 is one",
        applies: |case| case.request["correlation_id"] == 0,
        aspects: &[Aspect::Refusal],
        prescribes: |_, answer| !refuses(answer, "correlation_id"),
    },
    Category {
        name: "pending attempts that no thread reaches",
        reason: "attempts are counted by the thread, from 1 to 10: there is no such state",
        applies: |case| attempts_before(case).is_some_and(|n| !(1..=10).contains(&n)),
        aspects: &[Aspect::Refusal],
        prescribes: |_, answer| answer.accounts_for_all(),
    },
];

/// The rows that apply to a turn.
pub(crate) fn of(case: &TurnCase) -> Vec<&'static Category> {
    CATEGORIES.iter().filter(|category| (category.applies)(case)).collect()
}

impl Category {
    /// Whether an answer may differ in this.
    pub(crate) fn excuses(&self, case: &TurnCase, aspect: Aspect) -> bool {
        let is_free = case.basis != "seed" || is_open(aspect) || self.name == OF_SOMEBODY_ELSE;
        self.aspects.contains(&aspect) && is_free
    }
}

/// The owner's later word, which goes before the subject that a case of the seed states: a yes to
/// what is pending would else be about another subject than the question.
const OF_SOMEBODY_ELSE: &str = "what somebody else is asked";

/// State that the seed does not name.
fn is_open(aspect: Aspect) -> bool {
    matches!(aspect, Aspect::Pending | Aspect::ActiveSpeaker)
}

fn is(answer: &TurnAnswer, holds: impl FnOnce(&TurnDecision) -> bool) -> bool {
    answer.decision().is_some_and(holds)
}

/// Whether a turn is refused for this field.
fn refuses(answer: &TurnAnswer, field: &str) -> bool {
    matches!(answer, TurnAnswer::Refused(why) if why.contains(field))
}

/// The words are kept, and the row says so.
fn keeps(decision: &TurnDecision) -> bool {
    decision.interrupt_resume_policy == Some(ResumePolicy::ResumeLater)
}

fn attempts_before(case: &TurnCase) -> Option<u64> {
    case.before["pending"]["attempts"].as_u64()
}

fn attempts_after(answer: &TurnAnswer) -> Option<u64> {
    match answer.decision()?.after.pending {
        Some(Pending::Clarify { attempts, .. }) => Some(attempts.into()),
        _ => None,
    }
}

fn has_barge_in(case: &TurnCase) -> bool {
    !case.request["interruption"].is_null()
}

fn snapshot_bytes(case: &TurnCase) -> usize {
    let snapshot = &case.request["tts_resume_snapshot"];
    let times = snapshot["response_text_repeat"].as_u64().unwrap_or(1);
    let once = snapshot["response_text"].as_str().map_or(0, str::len);
    usize::try_from(times).map_or(usize::MAX, |times| once.saturating_mul(times))
}

fn has_answer(case: &TurnCase) -> bool {
    !case.request["confirm_answer"].is_null()
}

fn is_active(case: &TurnCase) -> bool {
    case.request["session_state"] == "ACTIVE"
}

/// The request breaks no contract of the reference, the session is active, and neither speaker nor
/// subject stop the turn.
fn may_go_on(case: &TurnCase) -> bool {
    let same =
        |of: &str| case.before[of].is_null() || case.before[of] == case.request[now_called(of)];
    let is_served = case.expect["status"] == "OK" || has_expired_check(case);
    is_served
        && is_active(case)
        && same("active_speaker_user_id")
        && (case.before["pending"].is_null() || same("active_subject_ref"))
}

/// Another speaker or another subject than the thread knows.
fn is_elsewhere(case: &TurnCase) -> bool {
    ["active_speaker_user_id", "active_subject_ref"]
        .iter()
        .any(|mark| case.before[*mark] != case.request[now_called(mark)])
}

fn now_called(mark: &str) -> &str {
    if mark == "active_subject_ref" { "subject_ref" } else { mark }
}

fn input_kind(case: &TurnCase) -> &str {
    case.request["input"]["kind"].as_str().unwrap_or_default()
}

fn is_other_input(case: &TurnCase) -> bool {
    match input_kind(case) {
        "INTENT" => !["CONTINUE", "MORE_DETAIL"]
            .contains(&case.request["input"]["intent_type"].as_str().unwrap_or_default()),
        kind => ["NLP_CLARIFY", "TOOL_RESPONSE", "LAST_FAILURE"].contains(&kind),
    }
}

fn pending_kind(case: &TurnCase) -> &str {
    case.before["pending"]["kind"].as_str().unwrap_or_default()
}

fn awaits_yes_or_no(case: &TurnCase) -> bool {
    ["CONFIRM", "MEMORY_PERMISSION"].contains(&pending_kind(case))
}

fn waits_for_task(case: &TurnCase) -> bool {
    pending_kind(case) == "CLARIFY" && case.before["pending"]["missing_field"] == "TASK"
}

fn is_sure(case: &TurnCase) -> bool {
    let confidence = case.request["interrupt_subject_relation_confidence"].as_f64();
    let relation = case.request["interrupt_subject_relation"].as_str();
    matches!(relation, Some("SAME" | "SWITCH")) && confidence.is_some_and(|c| c >= 0.7)
}

/// Whether something that expires at this time is still there.
fn is_there(case: &TurnCase, expires_at: &Value) -> bool {
    let now = case.request["now"].as_u64().unwrap_or_default();
    expires_at.as_u64().is_some_and(|at| now < at)
}

fn is_live(case: &TurnCase) -> bool {
    is_there(case, &case.before["resume_buffer"]["expires_at"])
}

fn has_live_check(case: &TurnCase) -> bool {
    is_live(case) && is_there(case, &case.before["return_check_expires_at"])
}

fn has_expired_check(case: &TurnCase) -> bool {
    case.before["return_check_pending"] == true && !has_live_check(case)
}
