//! Showing names and arguments so that nothing in them can deceive a reader or a terminal.

use holdpoint_log_format::instruction;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Text with every byte in it visible; see [`instruction::escaped`].
pub fn visible(text: &OsStr) -> String {
    instruction::escaped(text.as_bytes())
}

/// A program and its arguments as one line that a shell such as bash would take apart again into
/// the same words.
pub fn command_line(program: &OsStr, arguments: &[OsString]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    instruction::command_line(words.map(OsStrExt::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown_as_an_escape() {
        assert_eq!(visible(OsStr::new("a\x1b[2Jb")), "a\\x1b[2Jb");
        assert_eq!(visible(OsStr::new("a\u{202e}b")), "a\\xe2\\x80\\xaeb");
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

    #[test]
    fn a_shell_takes_every_word_of_a_command_line_as_it_is_in_any_locale() {
        let blanks = "a\u{a0}b \u{3000}\u{2003}\u{202f}\u{1680}\u{85}\u{9b}\u{2028}";
        let others = "\u{2800}\u{200b}\u{202e}\u{e000}\u{feff} Zo\u{eb}\\u{a0}\n'";
        let mut words: Vec<OsString> =
            [blanks, others, "\u{a0}", "a\u{a0}0"].map(Into::into).into();
        words.push(OsStr::from_bytes(b"\xc2\xff\xa0").into());
        let line = command_line(OsStr::new("printf"), &[&["%s\\0".into()], &*words].concat());
        let is_seen = |c: char| matches!(c, ' '..='~' | '\u{eb}');
        assert!(line.chars().all(is_seen), "{line:?}");
        for locale in ["C", "C.UTF-8"] {
            let mut shell = std::process::Command::new("bash");
            let Ok(output) = shell.args(["-c", &line]).env("LC_ALL", locale).output() else {
                eprintln!("skipped: there is no bash");
                return;
            };
            let taken: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
            let given: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            assert_eq!(taken[..taken.len() - 1], given, "{locale}: {line}");
        }
    }
}
