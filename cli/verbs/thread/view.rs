//! Pieces of a thread as a person reads them. Whatever came from outside is shown with control and
//! invisible characters visible.

use crate::ui::moment;
use holdpoint_domain::Time;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::interruption_thread::{
    Clarify, Pending, PendingState, ReasonCode, Remainder, Thread,
};
use holdpoint_engine::shell::{Clock, SystemClock};
use std::time::Duration;

/// Longest piece of what was said in a line, in bytes.
const SAID_BYTES_MAX: usize = 240;

/// What time it is.
pub(super) fn now() -> Time {
    Time::from_nanoseconds(SystemClock.now().wall_ns)
}

/// Which thread is shown.
pub(super) fn title(tenant: &str, correlation: &str) -> String {
    format!("thread {} of tenant {}", visible(correlation), visible(tenant))
}

/// What a refused command that commits no row was to be: a turn, or the plan of one.
pub(super) fn turn_or_plan(command: &str) -> &'static str {
    if command == "interruption_thread.draft_plan" { "plan of turn" } else { "turn" }
}

/// Quotes a text, whole.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text))
}

/// Quotes the beginning of a text, and says how long it is where that is not all.
pub(super) fn beginning(text: &str) -> String {
    let cut = bounded(text, SAID_BYTES_MAX);
    match cut.len() < text.len() {
        true => format!("{}.. ({} bytes)", quoted(cut), text.len()),
        false => quoted(text),
    }
}

/// Quotes the end of a text, and says how long it is where that is not all.
pub(super) fn end(text: &str) -> String {
    let from = text.len().saturating_sub(SAID_BYTES_MAX);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    match text.get(start..) {
        Some(cut) if start > 0 => format!("({} bytes) ..{}", text.len(), quoted(cut)),
        _ => quoted(text),
    }
}

/// A moment that something is kept until, as seen from another one.
pub(super) fn expiry(expires_at: Time, seen_from: Time) -> String {
    let left = expires_at.nanoseconds_since(seen_from);
    let relative = if expires_at > seen_from {
        format!("in {}", duration(left))
    } else {
        format!("{} ago", duration(seen_from.nanoseconds_since(expires_at)))
    };
    format!("{}, {relative}", moment(expires_at))
}

/// A duration in whole milliseconds: `1m 59s 250ms`.
fn duration(nanoseconds: u64) -> String {
    let rounded = Duration::from_millis(nanoseconds / 1_000_000);
    humantime::format_duration(rounded).to_string()
}

/// What a thread waits for.
pub(super) fn pending(pending: &Pending) -> String {
    let (what, attempts) = match pending {
        Pending::Clarify { missing_field, attempts } => {
            (format!(" of {}", visible(missing_field)), attempts)
        }
        Pending::Confirm { intent_type, attempts } => {
            (format!(" of {}", visible(intent_type)), attempts)
        }
        Pending::MemoryPermission { deferred_response_text, attempts, .. } => {
            (format!(" to say {}", beginning(deferred_response_text)), attempts)
        }
        Pending::Tool { request_id, attempts } => {
            (format!(" to {}", visible(request_id)), attempts)
        }
        Pending::StepUp { attempts } => (String::new(), attempts),
    };
    let (waits_for, code) = (waits_for(pending.state()), pending.state());
    format!("{waits_for}{what}, asked {attempts}x ({code})")
}

/// The same in a word or a few.
pub(super) const fn waits_for(state: PendingState) -> &'static str {
    match state {
        PendingState::None => "nothing",
        PendingState::Clarify => "an answer",
        PendingState::Confirm => "a yes or no",
        PendingState::MemoryPermission => "a permission",
        PendingState::Tool => "a tool",
        PendingState::StepUp => "a proof of identity",
    }
}

/// What the newest turn of a thread came to, in words.
pub(super) fn newest(thread: &Thread) -> String {
    match thread.turns {
        0 => "no turn yet".to_string(),
        _ => format!("turn {}: {}", thread.last_turn_id, words(thread.last_reason_code)),
    }
}

/// What a code says, within a line.
pub(super) fn words(reason: ReasonCode) -> &'static str {
    reason.words().trim_end_matches('.')
}

/// What became of words that were left unsaid.
pub(super) fn fate(remainder: &Remainder) -> String {
    format!(
        "of turn {}, to {}: {}, {}",
        remainder.captured_turn,
        visible(&remainder.speaker_user_id),
        remainder.fate,
        remainder.reason
    )
}

/// A question with the ways to answer it.
pub(super) fn question(clarify: &Clarify) -> String {
    let formats = clarify.accepted_answer_formats.iter();
    let formats: Vec<String> = formats.map(|format| visible(format).to_string()).collect();
    format!("{} ({})", quoted(&clarify.question), formats.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let long = "\u{e9}".repeat(200);
        assert_eq!(beginning(&long), format!("\"{}\".. (400 bytes)", "\u{e9}".repeat(120)));
        assert_eq!(end(&long), format!("(400 bytes) ..\"{}\"", "\u{e9}".repeat(120)));
        assert_eq!(end("short"), "\"short\"");
        assert_eq!(beginning("a\u{202e}b\n"), "\"a\\u{202e}b\\u{a}\"");
    }

    #[test]
    fn an_expiry_says_how_far_away_it_is() {
        let at = |seconds: u64| Time::from_nanoseconds(seconds * 1_000_000_000);
        assert_eq!(expiry(at(70), at(10)), "1970-01-01T00:01:10.000Z, in 1m");
        assert_eq!(expiry(at(10), at(13)), "1970-01-01T00:00:10.000Z, 3s ago");
        assert_eq!(expiry(at(10), at(10)), "1970-01-01T00:00:10.000Z, 0s ago");
    }
}
