//! A command line as the question before its start shows it: nothing of it is hidden unsaid.

use crate::executor::ending;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::bounded;

/// Maximum length of a command line in the question's first sentence, in bytes.
pub(super) const PROMPT_BYTES: usize = 1024;
/// Maximum length of it in the question's context, in bytes.
const CONTEXT_BYTES: usize = 32 * 1024;
/// So many blanks in a row are shown as they are: more would push what follows out of sight.
const BLANKS_MAX: usize = 16;
/// Looks like a blank and counts as none elsewhere.
const BLANK_BRAILLE: char = '\u{2800}';

/// The command line in the question's first sentence: whole, or its beginning and its end.
pub(super) fn in_prompt(line: &str) -> String {
    let line = &with_counted_blanks(line);
    let Some((head, tail, hidden)) = parts(line, PROMPT_BYTES) else { return format!("`{line}`") };
    format!("`{head}` .. (CUT: {hidden} bytes of the command are not shown here) .. `{tail}`")
}

/// The command line in the question's context, where there is room for nearly every one.
pub(super) fn in_context(line: &str) -> String {
    let shown = with_counted_blanks(line);
    let Some((head, tail, hidden)) = parts(&shown, CONTEXT_BYTES) else { return shown };
    format!(
        "{head} .. (CUT: {hidden} bytes of the command are shown nowhere; the whole has {} bytes, \
         SHA-256 {}) .. {tail}",
        line.len(),
        sha256(line.as_bytes())
    )
}

/// The beginning and the end of a line that is too long, and how many bytes are between.
fn parts(line: &str, most_bytes: usize) -> Option<(&str, &str, usize)> {
    if line.len() <= most_bytes {
        return None;
    }
    let (head, tail) = (bounded(line, most_bytes / 2), ending(line, most_bytes / 2));
    Some((head, tail, line.len().saturating_sub(head.len()).saturating_sub(tail.len())))
}

/// The same line, long runs of blanks counted. In a command line a backslash stands before another
/// one or begins an escape of a letter, so that no command can look like a count.
fn with_counted_blanks(line: &str) -> String {
    let is_blank = |c: char| c.is_whitespace() || c == BLANK_BRAILLE;
    let mut shown = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let said = rest.find(is_blank).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(said);
        let (blanks, next) =
            behind.split_at(behind.len() - behind.trim_start_matches(is_blank).len());
        shown.push_str(word);
        match blanks.chars().count() {
            few if few <= BLANKS_MAX => shown.push_str(blanks),
            many => shown.push_str(&format!(" \\<{many} blanks> ")),
        }
        rest = next;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_hide_nothing_of_a_command_that_follows_them() {
        let asked = |blanks: &str| in_prompt(&format!("sh -c 'echo harmless{blanks}; rm -rf /'"));
        let counted = "`sh -c 'echo harmless \\<5000 blanks> ; rm -rf /'`";
        for blank in [" ", "\u{a0}", "\u{3000}", "\u{2800}"] {
            assert_eq!(asked(&blank.repeat(5000)), counted);
        }
        assert_eq!(asked(&" ".repeat(16)), format!("`sh -c 'echo harmless{:16}; rm -rf /'`", ""));
    }

    #[test]
    fn a_command_that_is_cut_says_so_and_shows_its_end() {
        let line = format!("sh -c 'echo {}; rm -rf /'", "\u{e9}".repeat(20_000));
        let asked = in_prompt(&line);
        assert!(asked.starts_with("`sh -c 'echo ") && asked.ends_with("; rm -rf /'`"), "{asked}");
        assert!(asked.contains(" .. (CUT: 39000 bytes of the command are not shown here) .. "));
        let shown = in_context(&line);
        assert!(shown.ends_with("; rm -rf /'") && shown.len() < CONTEXT_BYTES + 256, "{shown}");
        let whole = format!("40023 bytes, SHA-256 {}) .. ", sha256(line.as_bytes()));
        assert!(
            shown.contains("(CUT: 7256 bytes of the command are shown nowhere; the whole has ")
        );
        assert!(shown.contains(&whole), "{shown}");
        let fits = "x".repeat(CONTEXT_BYTES);
        assert_eq!(in_context(&fits), fits);
    }
}
