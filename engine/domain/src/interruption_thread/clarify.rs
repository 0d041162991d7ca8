//! Clarifying questions: one line of at most 240 characters, 2 or 3 ways to answer, one thing
//! missing. They are made so that no legal input can make one impossible: what is quoted is cut.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::decision::Clarify;
use crate::event::{List, Text};
use crate::text::{BLANK_CODE_POINTS, visible};

/// Longest label inside a question, in characters.
const LABEL_MAX: usize = 72;

/// What is missing: what the words are about.
pub(super) const TASK: &str = "TASK";
/// What is missing: what the words refer to.
pub(super) const REFERENCE_TARGET: &str = "REFERENCE_TARGET";

/// It is not clear what an interruption is about.
pub(super) fn relation_uncertain() -> Clarify {
    fixed(
        "Is this about what I was just saying, or about something else?",
        &["The same topic", "A different topic", "Never mind"],
        TASK,
    )
}

/// Somebody else speaks.
pub(super) fn speaker_mismatch() -> Clarify {
    fixed(
        "I was talking with someone else. What would you like to talk about?",
        &["A new topic", "The topic, in your own words", "Never mind"],
        REFERENCE_TARGET,
    )
}

/// The subject drifted while something was pending.
pub(super) fn subject_mismatch(before: &str, now: &str) -> Clarify {
    let question =
        format!("Should we stay with \"{}\" or go on with \"{}\"?", label(before), label(now));
    fixed(&question, &["Stay with the first", "Go on with the second"], REFERENCE_TARGET)
}

/// There is nothing to go on with any more.
pub(super) fn resume_expired() -> Clarify {
    fixed(
        "I have nothing to go on with. What should I talk about?",
        &["The topic, in your own words", "A new topic", "Never mind"],
        REFERENCE_TARGET,
    )
}

/// A tool found several things. What is sensitive is not quoted.
pub(super) fn tool_ambiguous(summary: &str, is_sensitive: bool) -> Clarify {
    let found = if is_sensitive { String::new() } else { format!(": {}", label(summary)) };
    let question = format!("I found more than one match{found}. Which one do you mean?");
    fixed(&question, &["The name of one of them", "None of them"], REFERENCE_TARGET)
}

/// An upstream question, which was checked to be one.
pub(super) fn upstream(question: &Text, formats: &List<Text>, missing: &str) -> Clarify {
    Clarify {
        question: question.clone(),
        accepted_answer_formats: formats.clone(),
        what_is_missing: missing.into(),
    }
}

fn fixed(question: &str, formats: &[&str], missing: &str) -> Clarify {
    Clarify {
        question: question.into(),
        accepted_answer_formats: formats.iter().map(|format| Text::from(*format)).collect(),
        what_is_missing: missing.into(),
    }
}

/// A label as it may be quoted: one line, blanks as one space each, controls visible, cut to
/// [`LABEL_MAX`] characters.
fn label(text: &str) -> String {
    let words: Vec<&str> = text.split(BLANK_CODE_POINTS).filter(|w| !w.is_empty()).collect();
    let shown = visible(&words.join(" ")).to_string();
    if shown.chars().count() <= LABEL_MAX {
        return shown;
    }
    shown.chars().take(LABEL_MAX.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_one_short_line_whatever_it_quotes() {
        let hostile = ["a", "\n\r\u{2028}", "\u{202e}", "\"", "\u{10ffff}", "\\"];
        for (one, other) in hostile.iter().flat_map(|a| hostile.iter().map(move |b| (a, b))) {
            for times in [1, 64, 118, 256] {
                let (one, other) = (one.repeat(times), other.repeat(times));
                for clarify in [subject_mismatch(&one, &other), tool_ambiguous(&one, false)] {
                    let question = clarify.question.as_str();
                    assert!(question.chars().count() <= 240, "{question}");
                    assert!(crate::text::hidden_character(question).is_none(), "{question}");
                    assert!((2..=3).contains(&clarify.accepted_answer_formats.len()));
                }
            }
        }
    }
}
