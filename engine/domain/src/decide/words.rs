//! Text from outside on its way into an event.

use alloc::format;
use alloc::string::{String, ToString};

use crate::limits::{MAX_COMMAND_LINE_BYTES, MAX_ID_BYTES, MAX_SENTENCE_BYTES};
use crate::text::{bounded, visible};

/// A sentence: at most 4096 bytes, on one line, nothing hidden.
pub(crate) fn shown(text: &str) -> String {
    cut(text, MAX_SENTENCE_BYTES)
}

/// A name: at most 256 bytes, on one line, nothing hidden.
pub(super) fn shown_name(text: &str) -> String {
    cut(text, MAX_ID_BYTES)
}

/// A command line: at most 64 KiB, on one line, nothing hidden. A person decides by it, so one that
/// is longer says at its end that it was cut, and by how much.
pub(super) fn shown_command_line(text: &str) -> String {
    let whole = cut(text, usize::MAX);
    if whole.len() <= MAX_COMMAND_LINE_BYTES {
        return whole;
    }
    let kept = bounded(&whole, MAX_COMMAND_LINE_BYTES - CUT_MARK_BYTES);
    format!("{kept} [cut: {} of {} bytes shown]", kept.len(), whole.len())
}

/// Room for the mark of a cut command line: its words and two numbers of at most 20 digits.
const CUT_MARK_BYTES: usize = 64;

/// Text that hides nothing stays as it is, backslashes included; the rest is made visible.
fn cut(text: &str, most: usize) -> String {
    let text = bounded(text, most);
    let hides = text.split('\\').any(|part| visible(part).to_string() != part);
    if !hides {
        return String::from(text);
    }
    String::from(bounded(&format!("{}", visible(text)), most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_nothing_stays_as_it_is() {
        assert_eq!(shown("grep '\\.rs$' \u{e9}"), "grep '\\.rs$' \u{e9}");
    }

    #[test]
    fn what_hides_something_is_made_visible_and_bounded() {
        assert_eq!(shown("a\nb\\"), "a\\u{a}b\\\\");
        assert_eq!(shown(&"\u{7}".repeat(5000)).len(), MAX_SENTENCE_BYTES);
    }

    #[test]
    fn a_command_line_that_is_cut_says_so() {
        let long = format!("sh -c '{}' rm", "x".repeat(100_000));
        let shown = shown_command_line(&long);
        assert!(shown.len() <= MAX_COMMAND_LINE_BYTES);
        assert!(shown.ends_with(" [cut: 65472 of 100011 bytes shown]"), "{}", &shown[65_400..]);
        assert_eq!(shown_command_line("sh -c 'true'"), "sh -c 'true'");
    }
}
