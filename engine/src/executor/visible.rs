//! Showing names and arguments so that nothing in them can deceive a reader or a terminal.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Text with every byte in it visible: control characters, the marks that turn the direction of
/// writing, invisible characters, backslashes and bytes that are not UTF-8 appear as escapes.
/// Different bytes give different text.
pub fn visible(text: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|character| push_visible(&mut shown, character));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A program and its arguments as one line that a shell such as bash would take apart again into
/// the same words.
pub fn command_line(program: &OsStr, arguments: &[OsString]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn push_visible(shown: &mut String, character: char) {
    match character {
        '\\' => shown.push_str("\\\\"),
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => {
            let _ = write!(shown, "\\x{:02x}", u32::from(character));
        }
        other if is_deceptive(other) => {
            let _ = write!(shown, "\\U{:08x}", u32::from(other));
        }
        other => shown.push(other),
    }
}

/// C1 controls, and what is invisible or turns the direction of what follows.
fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn quoted(word: &OsStr) -> String {
    let shown = visible(word);
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "%+,-./:=@_".contains(character);
    if !shown.is_empty() && shown.chars().all(is_plain) {
        return shown;
    }
    if shown.contains('\\') {
        return format!("$'{}'", shown.replace('\'', "\\'"));
    }
    format!("'{}'", shown.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown_as_an_escape() {
        assert_eq!(visible(OsStr::new("a\x1b[2Jb")), "a\\x1b[2Jb");
        assert_eq!(visible(OsStr::new("a\u{202e}b")), "a\\U0000202eb");
        assert_eq!(visible(OsStr::from_bytes(b"a\xffb")), "a\\xffb");
        assert_eq!(visible(OsStr::new("back\\slash\n")), "back\\\\slash\\n");
        assert_eq!(visible(OsStr::new("Zo\u{eb}")), "Zo\u{eb}");
    }

    #[test]
    fn a_command_line_keeps_its_words_apart() {
        let words = ["a b", "", "it's", "x=1", "tab\t'", "$HOME"].map(OsString::from);
        let line = command_line(OsStr::new("run"), &words);
        assert_eq!(line, "run 'a b' '' 'it'\\''s' x=1 $'tab\\t\\'' '$HOME'");
    }
}
