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

/// A command line: at most 64 KiB, on one line, nothing hidden.
pub(super) fn shown_command_line(text: &str) -> String {
    cut(text, MAX_COMMAND_LINE_BYTES)
}

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
}
