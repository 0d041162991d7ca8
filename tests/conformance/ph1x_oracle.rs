//! What `interruption.md` says of a turn, row by row, where it says it without doubt: written from
//! its text and with nothing of ours. Where rows of it meet, or the owner's document wants
//! something else than the reference does, it says nothing.

use serde_json::{Value, json};

use crate::session_oracle::is_blank;

/// What has to come of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Row {
    /// A typed refusal; the thread is as it was.
    Refused,
    /// This, and nothing else.
    Said {
        /// `directive` and `reason_code`.
        said: [&'static str; 2],
        /// `interrupt_continuity_outcome` and `interrupt_resume_policy`, where they are told.
        continuity: Option<[Value; 2]>,
        /// What becomes of the words that were left unsaid, where that is told.
        words: Option<Words>,
    },
}

/// What becomes of words that were left unsaid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Kept,
    Gone,
}

/// A row without outcome and policy.
fn plain(directive: &'static str, reason: &'static str) -> Option<Row> {
    said([directive, reason], Some([Value::Null, Value::Null]), None)
}

fn said(
    said: [&'static str; 2],
    continuity: Option<[Value; 2]>,
    words: Option<Words>,
) -> Option<Row> {
    Some(Row::Said { said, continuity, words })
}

/// What the thread waits for and knows once what has expired is dropped (row 0).
struct Known<'a> {
    before: &'a Value,
    request: &'a Value,
    is_live: bool,
    is_asked_back: bool,
}

/// What the document says of a turn; `None` where it leaves it open.
pub(crate) fn row(before: &Value, request: &Value) -> Option<Row> {
    let now = request["now"].as_u64()?;
    let is_there = |expires_at: &Value| expires_at.as_u64().is_some_and(|at| now < at);
    let is_live = is_there(&before["resume_buffer"]["expires_at"]);
    let is_asked_back = is_live
        && before["return_check_pending"] == true
        && is_there(&before["return_check_expires_at"]);
    let known = Known { before, request, is_live, is_asked_back };
    if known.breaks_contract() {
        return Some(Row::Refused);
    }
    // A snapshot with nothing left to say, and a tool that nobody asked, are open.
    if has_said_all(&request["tts_resume_snapshot"]) || known.is_unasked_tool() {
        return None;
    }
    let is_barge_in = !request["interruption"].is_null();
    if request["session_state"] != "ACTIVE" {
        // What a barge-in leaves there is open.
        let words = ["WAIT", "X_SESSION_NOT_ACTIVE"];
        let continuity = (!is_barge_in).then_some([Value::Null, Value::Null]);
        return said(words, continuity, None);
    }
    let differs = |mark: &str, name: &str| !before[mark].is_null() && before[mark] != request[name];
    let drifts = differs("active_subject_ref", "subject_ref");
    if is_barge_in {
        let is_elsewhere = drifts || differs("active_speaker_user_id", "active_speaker_user_id");
        return (!is_elsewhere && !known.is_sure()).then(uncertain)?;
    }
    if differs("active_speaker_user_id", "active_speaker_user_id") {
        return plain("CLARIFY", "X_CONTINUITY_SPEAKER_MISMATCH");
    }
    if drifts && !before["pending"].is_null() {
        let is_short = |label: &Value| label.as_str().is_some_and(|label| label.len() <= 64);
        let fits = is_short(&request["subject_ref"]) && is_short(&before["active_subject_ref"]);
        return fits.then(|| plain("CLARIFY", "X_CONTINUITY_SUBJECT_MISMATCH"))?;
    }
    if !request["confirm_answer"].is_null() {
        return known.answer();
    }
    known.input()
}

fn has_said_all(snapshot: &Value) -> bool {
    let cursor = snapshot["spoken_cursor_byte"].as_u64().and_then(|at| usize::try_from(at).ok());
    let text = snapshot["response_text"].as_str().unwrap_or_default();
    cursor.and_then(|at| text.get(at..)).is_some_and(is_blank)
}

/// Rows 2a, 11 and 17.
fn uncertain() -> Option<Row> {
    plain("CLARIFY", "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY")
}

impl Known<'_> {
    fn pending(&self) -> &str {
        self.before["pending"]["kind"].as_str().unwrap_or_default()
    }

    /// Of section 2: an answer without a question, a relation without anything to relate to.
    fn breaks_contract(&self) -> bool {
        let is_asked = ["CONFIRM", "MEMORY_PERMISSION"].contains(&self.pending())
            || self.before["return_check_pending"] == true;
        let relates = !self.request["interrupt_subject_relation"].is_null();
        let is_active =
            !self.request["interruption"].is_null() || !self.before["resume_buffer"].is_null();
        (!self.request["confirm_answer"].is_null() && !is_asked) || (relates && !is_active)
    }

    fn is_unasked_tool(&self) -> bool {
        let is_tool = self.request["input"]["kind"] == "TOOL_RESPONSE";
        let asked = &self.before["pending"]["request_id"];
        is_tool && (asked.is_null() || *asked != self.request["input"]["request_id"])
    }

    fn is_sure(&self) -> bool {
        let relation = self.request["interrupt_subject_relation"].as_str();
        let confidence = self.request["interrupt_subject_relation_confidence"].as_f64();
        matches!(relation, Some("SAME" | "SWITCH")) && confidence.is_some_and(|c| c >= 0.7)
    }

    /// Rows 6 to 8.
    fn answer(&self) -> Option<Row> {
        let is_yes = self.request["confirm_answer"] == "Yes";
        let waits = ["CONFIRM", "MEMORY_PERMISSION"].contains(&self.pending());
        if self.is_asked_back {
            let (reason, policy) = match is_yes {
                true => ("X_INTERRUPT_RESUME_NOW", "RESUME_NOW"),
                false => ("X_INTERRUPT_DISCARD", "DISCARD"),
            };
            let continuity = [Value::Null, json!(policy)];
            return said(["RESPOND", reason], Some(continuity), Some(Words::Gone));
        }
        if !waits || self.is_live {
            return None;
        }
        match (self.pending(), is_yes) {
            ("CONFIRM", true) => plain("DISPATCH", "X_CONFIRM_YES_DISPATCH"),
            ("CONFIRM", false) => plain("RESPOND", "X_CONFIRM_NO_ABORT"),
            (_, true) => plain("RESPOND", "X_MEMORY_PERMISSION_YES"),
            (_, false) => plain("RESPOND", "X_MEMORY_PERMISSION_NO"),
        }
    }

    /// Rows 9 to 18.
    fn input(&self) -> Option<Row> {
        let input = &self.request["input"];
        match (input["kind"].as_str()?, input["intent_type"].as_str()) {
            ("LAST_FAILURE", _) if !self.is_live => plain("RESPOND", "X_LAST_FAILURE"),
            ("NLP_CLARIFY", _) if !self.is_live => plain("CLARIFY", "X_NLP_CLARIFY"),
            ("CHAT", _) => self.chat(),
            ("INTENT", Some("CONTINUE" | "MORE_DETAIL")) if !self.is_live => {
                plain("CLARIFY", "X_RESUME_EXPIRED")
            }
            ("INTENT", Some("CONTINUE" | "MORE_DETAIL")) => None,
            ("INTENT", _) if self.is_live && !self.is_sure() => uncertain(),
            ("INTENT", _) if self.is_live => None,
            ("INTENT", Some("TIME_QUERY")) => plain("DISPATCH", "X_DISPATCH_TOOL"),
            ("INTENT", Some("MEMORY_QUERY")) => {
                plain("DISPATCH", "X_DISPATCH_SIMULATION_CANDIDATE")
            }
            ("INTENT", Some("SET_REMINDER")) => plain("CONFIRM", "X_CONFIRM_REQUIRED"),
            _ => None,
        }
    }

    fn chat(&self) -> Option<Row> {
        let is_sensitive = self.request["sensitive_memory_present"] == true;
        if self.is_live && !self.is_sure() {
            return said(
                ["CLARIFY", "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY"],
                Some([Value::Null, Value::Null]),
                Some(Words::Kept),
            );
        }
        if is_sensitive {
            return None;
        }
        if !self.is_live {
            return plain("RESPOND", "X_NLP_CHAT");
        }
        let [reason, outcome, policy] = match self.request["interrupt_subject_relation"].as_str()? {
            "SAME" => ["X_INTERRUPT_SAME_SUBJECT_APPEND", "SAME_SUBJECT_APPEND", "RESUME_NOW"],
            _ => {
                ["X_INTERRUPT_RETURN_CHECK_ASKED", "SWITCH_TOPIC_THEN_RETURN_CHECK", "RESUME_LATER"]
            }
        };
        let words = if policy == "RESUME_NOW" { Words::Gone } else { Words::Kept };
        said(["RESPOND", reason], Some([json!(outcome), json!(policy)]), Some(words))
    }
}
