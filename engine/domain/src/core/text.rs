//! Text that people and executors supply: what counts as missing, and how it may be shown and
//! recorded.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use thiserror::Error;

use crate::core::limits::{MAX_COMMAND_LINE_BYTES, MAX_ID_BYTES, MAX_SENTENCE_BYTES};

/// The 29 code points that make a text blank. This is the set that the public references strip
/// (`U+001C` to `U+001F` included, which `str::trim` leaves in place). `U+0000`, `U+200B`,
/// `U+2060` and `U+FEFF` are not in it.
pub const BLANK_CODE_POINTS: [char; 29] = [
    '\u{0009}', '\u{000A}', '\u{000B}', '\u{000C}', '\u{000D}', '\u{001C}', '\u{001D}', '\u{001E}',
    '\u{001F}', '\u{0020}', '\u{0085}', '\u{00A0}', '\u{1680}', '\u{2000}', '\u{2001}', '\u{2002}',
    '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}', '\u{2009}', '\u{200A}',
    '\u{2028}', '\u{2029}', '\u{202F}', '\u{205F}', '\u{3000}',
];

/// The longest identifier that commands may carry, in bytes of UTF-8.
pub const MAX_IDENTIFIER_BYTES: usize = 256;

/// Returns whether the text is missing: nothing at all.
#[must_use]
pub fn is_empty(text: &str) -> bool {
    text.is_empty()
}

/// Returns whether the text is missing in the wider sense: empty, or made only of blank code
/// points.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| !c.is_ascii_graphic() && BLANK_CODE_POINTS.contains(&c))
}

/// Returns whether a reader would see anything: some character that is neither blank, nor a
/// control, nor invisible by design (zero-width, direction marks, variation selectors, tags).
#[must_use]
pub fn has_visible_character(text: &str) -> bool {
    text.chars().any(|c| !BLANK_CODE_POINTS.contains(&c) && !is_hidden(c))
}

/// Returns whether a reader finds anything in it. A pattern without a dot (U+2800) is no white
/// space, and looks like some: a text of such blanks alone says nothing.
#[must_use]
pub fn is_readable(text: &str) -> bool {
    text.chars().any(|c| c != '\u{2800}' && !BLANK_CODE_POINTS.contains(&c) && !is_hidden(c))
}

/// The text, or nothing where a reader finds nothing in it.
pub(crate) fn readable(text: Option<&str>) -> Option<&str> {
    text.filter(|text| is_readable(text))
}

/// The name under which timeouts are recorded. Nobody else is called that, however it is written.
pub const TIMEOUT_NAME: &str = "SYSTEM_TIMEOUT";

/// The prefix of names that Holdpoint gives itself, in whatever case.
pub(crate) const SYSTEM_PREFIX: &str = "system:";

/// Returns whether a name is Holdpoint's own: that of timeouts, or one with the prefix `system:`,
/// in whatever case and with whatever blanks around it.
#[must_use]
pub fn is_reserved_name(name: &str) -> bool {
    let name = name.trim_matches(|c: char| c == '\u{2800}' || BLANK_CODE_POINTS.contains(&c));
    let prefix = name.get(..SYSTEM_PREFIX.len()).unwrap_or_default();
    name.eq_ignore_ascii_case(TIMEOUT_NAME) || prefix.eq_ignore_ascii_case(SYSTEM_PREFIX)
}

/// Why a text is not an identifier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentifierFault {
    /// Nothing that a reader could see.
    #[error(
        "the {field} is missing or invisible; give it a name of at least one visible character"
    )]
    Missing {
        /// The identifier.
        field: &'static str,
    },
    /// Longer than [`MAX_IDENTIFIER_BYTES`].
    #[error("the {field} has {found} bytes; the limit is {expected}; shorten it")]
    TooLong {
        /// The identifier.
        field: &'static str,
        /// The limit, in bytes.
        expected: usize,
        /// Its length, in bytes.
        found: usize,
    },
    /// A control or invisible character, which could make two identifiers look alike.
    #[error("the {field} has the hidden character U+{found:04X} at byte {offset}; remove it")]
    Hidden {
        /// The identifier.
        field: &'static str,
        /// Place, in bytes from the start.
        offset: usize,
        /// The code point.
        found: u32,
    },
}

/// Checks whether the text may name something in a command: visible, at most
/// [`MAX_IDENTIFIER_BYTES`], no control and no invisible character.
///
/// # Errors
/// [`IdentifierFault`] names the field, what was expected and what was found.
pub fn check_identifier(field: &'static str, text: &str) -> Result<(), IdentifierFault> {
    if text.len() > MAX_IDENTIFIER_BYTES {
        let (expected, found) = (MAX_IDENTIFIER_BYTES, text.len());
        return Err(IdentifierFault::TooLong { field, expected, found });
    }
    if !has_visible_character(text) {
        return Err(IdentifierFault::Missing { field });
    }
    match hidden_character(text) {
        Some((offset, c)) => Err(IdentifierFault::Hidden { field, offset, found: u32::from(c) }),
        None => Ok(()),
    }
}

/// Checks a name that is chosen now, as [`check_identifier`] does: a reader finds something in it.
/// What was recorded before this was asked for is not judged by it.
///
/// # Errors
/// As [`check_identifier`].
pub fn check_legible(field: &'static str, name: &str) -> Result<(), IdentifierFault> {
    check_identifier(field, name)?;
    if is_readable(name) { Ok(()) } else { Err(IdentifierFault::Missing { field }) }
}

/// The first control or invisible character of a text, and where it is, in bytes from the start.
#[must_use]
pub fn hidden_character(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|(_, c)| is_hidden(*c))
}

/// The text as it may be shown to a person: every control and invisible character as `\u{..}`,
/// a backslash as `\\`, so that the output is one line and two different texts look different.
#[must_use]
pub fn visible(text: &str) -> Visible<'_> {
    Visible(text)
}

/// Shows a text; see [`visible`].
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a>(&'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                c if is_hidden(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The longest prefix of at most `max_bytes` bytes that ends between two characters.
#[must_use]
pub fn bounded(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|i| text.is_char_boundary(*i));
    text.get(..end.unwrap_or(0)).unwrap_or("")
}

/// Controls and the characters that are invisible by design. Line and paragraph separators are
/// here too: they would break a line of output.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}'
            | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// A sentence: at most 4096 bytes, on one line, nothing hidden.
pub(crate) fn shown(text: &str) -> String {
    cut(text, MAX_SENTENCE_BYTES)
}

/// A name: at most 256 bytes, on one line, nothing hidden.
pub(crate) fn shown_name(text: &str) -> String {
    cut(text, MAX_ID_BYTES)
}

/// Shows a command line: at most 64 KiB, on one line, nothing hidden. A person decides by it, so
/// one that is longer says at its end that it was cut, and by how much.
#[must_use]
pub fn shown_command_line(text: &str) -> String {
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
    use alloc::format;

    use super::{shown, shown_command_line};
    use crate::core::limits::{MAX_COMMAND_LINE_BYTES, MAX_SENTENCE_BYTES};

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
