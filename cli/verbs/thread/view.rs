//! Pieces of a thread as a person reads them. Whatever came from outside is shown with control and
//! invisible characters visible.

use crate::ui::moment;
use holdpoint_domain::Time;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{Pending, PendingState, ReasonCode, Thread};
use holdpoint_replay::words::beginning;
use std::time::Duration;

/// Which thread is shown.
pub(super) fn title(tenant: &str, correlation: &str) -> String {
    format!("thread {} of tenant {}", visible(correlation), visible(tenant))
}

/// Quotes a text, whole.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_says_how_far_away_it_is() {
        let at = |seconds: u64| Time::from_nanoseconds(seconds * 1_000_000_000);
        assert_eq!(expiry(at(70), at(10)), "1970-01-01T00:01:10.000Z, in 1m");
        assert_eq!(expiry(at(10), at(13)), "1970-01-01T00:00:10.000Z, 3s ago");
        assert_eq!(expiry(at(10), at(10)), "1970-01-01T00:00:10.000Z, 0s ago");
    }
}
