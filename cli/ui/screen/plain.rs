//! What is plainly visible, and the rest made visible: stricter than what may be recorded, for
//! screens alone.

use super::alike::{Tokens, belongs};
use holdpoint_domain::core::text::hidden_character;
use std::borrow::Cow;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_width::UnicodeWidthChar;

/// How many marks one letter may carry: more would run into the lines above and below.
const MARKS_MAX: usize = 3;
/// How many marks a line may have in a row, whoever made it visible.
const MARKS_IN_A_ROW_MAX: usize = 8;
/// How wide a letter may be with its marks.
pub(super) const LETTER_COLUMNS_MAX: usize = 2 + MARKS_MAX;

/// Letters and symbols that most fonts draw as nothing.
const DRAWN_AS_NOTHING: [char; 7] =
    ['\u{2800}', '\u{115f}', '\u{1160}', '\u{13441}', '\u{13442}', '\u{1d159}', '\u{fffc}'];

/// Which backslashes are written twice, so that what was written cannot be taken for what was made
/// visible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslashes {
    /// Those before something that reads like an escape.
    WhereNeeded,
    /// Every one: a quote may follow it.
    All,
    /// None: they were when it was recorded.
    None,
}

/// A text of which every character can be seen. The rest is written `\u{..}`; so are tabs, spaces
/// but the plain one, line ends, quotes that could be taken for this program's own, and letters
/// that pass for Latin ones. Two different texts stay different.
pub(crate) fn plain(text: &str) -> String {
    escaped(text, Backslashes::WhereNeeded, |_| false)
}

/// The same for a text that was made visible when it was recorded, as command lines are.
pub(super) fn plain_once(text: &str) -> String {
    escaped(text, Backslashes::None, |_| false)
}

/// A text in quotes with no end but its own: besides, letters that are written from right to left
/// and all but the first of several spaces are made visible, so that nothing moves.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = escaped(text, Backslashes::All, is_right_to_left).replace('"', "\\\"");
    while shown.contains("  ") {
        shown = shown.replace("  ", " \\u{20}");
    }
    format!("\"{shown}\"")
}

/// As [`plain`], with letters that are written from right to left made visible too: a terminal
/// would turn around what stands beside them.
pub(super) fn still(text: &str) -> String {
    escaped(text, Backslashes::WhereNeeded, is_right_to_left)
}

/// The same for a text that was made visible when it was recorded.
pub(super) fn still_once(text: &str) -> String {
    escaped(text, Backslashes::None, is_right_to_left)
}

/// How many columns a character may take: the most that any terminal gives it, so that a line that
/// was folded is not folded again.
pub(super) fn columns(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Symbol | GeneralCategoryGroup::Punctuation => 2,
        _ => c.width_cjk().unwrap_or(1).max(1),
    }
}

fn escaped(text: &str, backslashes: Backslashes, is_moving: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    // The letter before with the marks that it may still carry, and the backslashes that stand
    // before.
    let (mut letter, mut slashes, mut tokens) = (None::<(char, usize)>, 0_usize, Tokens::default());
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            slashes = slashes.saturating_add(1);
            letter = None;
            continue;
        }
        let is_mark = c.general_category_group() == GeneralCategoryGroup::Mark;
        let is_shown = is_plain(c)
            && !is_moving(c)
            && (!is_mark || letter.is_some_and(|(letter, left)| left > 0 && belongs(c, letter)))
            && !tokens.pass_for_others(text, at, c);
        let mut is_next = |next| characters.peek().is_some_and(|(_, c)| *c == next);
        let reads_like_one = !is_shown || (c == 'u' && is_next('{'));
        let is_doubled = backslashes == Backslashes::All
            || (backslashes == Backslashes::WhereNeeded && reads_like_one);
        push_slashes(&mut shown, std::mem::take(&mut slashes), is_doubled);
        letter = match (is_mark, is_shown) {
            (true, true) => letter.map(|(letter, left)| (letter, left.saturating_sub(1))),
            (false, true) if carries_marks(c) => Some((c, MARKS_MAX)),
            _ => None,
        };
        match is_shown {
            true => shown.push(c),
            false => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    push_slashes(&mut shown, slashes, backslashes == Backslashes::All);
    shown
}

/// A line that was made visible by whoever worded it, with no more marks in a row than stay near
/// it; the rest is written `\u{..}`.
pub(crate) fn with_few_marks(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        return line.into();
    }
    let (mut shown, mut marks) = (String::with_capacity(line.len()), 0_usize);
    for c in line.chars() {
        let is_mark = c.general_category_group() == GeneralCategoryGroup::Mark;
        marks = if is_mark { marks.saturating_add(1) } else { 0 };
        match marks > MARKS_IN_A_ROW_MAX {
            true => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown.into()
}

fn push_slashes(shown: &mut String, count: usize, is_doubled: bool) {
    let count = if is_doubled { count.saturating_mul(2) } else { count };
    shown.extend(std::iter::repeat_n('\\', count));
}

fn carries_marks(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Number};
    matches!(c.general_category_group(), Letter | Number)
}

/// Whether a reader sees this character, and takes it for nothing else.
fn is_plain(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number, Punctuation, Symbol};
    if matches!(c, ' '..='~') {
        return true;
    }
    let is_hidden = hidden_character(c.encode_utf8(&mut [0; 4])).is_some();
    let is_seen =
        matches!(c.general_category_group(), Letter | Mark | Number | Punctuation | Symbol)
            && c.general_category() != GeneralCategory::EnclosingMark;
    is_seen && !is_hidden && !DRAWN_AS_NOTHING.contains(&c) && !is_like_a_quote(c)
}

/// What could be taken for an ASCII quote.
fn is_like_a_quote(c: char) -> bool {
    matches!(
        c,
        '\u{b4}'
            | '\u{2b9}'..='\u{2be}'
            | '\u{2c8}'
            | '\u{2ca}'..='\u{2cb}'
            | '\u{2dd}'
            | '\u{2ee}'
            | '\u{2f4}'..='\u{2f6}'
            | '\u{374}'
            | '\u{384}'
            | '\u{55a}'
            | '\u{5f3}'..='\u{5f4}'
            | '\u{7f4}'..='\u{7f5}'
            | '\u{1fbd}'..='\u{1fc1}'
            | '\u{1fef}'
            | '\u{1ffd}'..='\u{1ffe}'
            | '\u{2018}'..='\u{201f}'
            | '\u{2032}'..='\u{2037}'
            | '\u{2057}'
            | '\u{275b}'..='\u{2760}'
            | '\u{2e42}'
            | '\u{3003}'
            | '\u{301d}'..='\u{301f}'
            | '\u{a78b}'..='\u{a78c}'
            | '\u{ff02}'
            | '\u{ff07}'
            | '\u{ff40}'
            | '\u{1f676}'..='\u{1f678}'
    )
}

/// Hebrew, Arabic and their like: some terminals turn a line around that holds them.
fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_as_its_number() {
        let blanks = "\u{a0}\u{1680}\u{2000}\u{200a}\u{2007}\u{202f}\u{205f}\u{3000}\t\r\n\u{85}";
        let fillers = "\u{2800}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{34f}\u{17b4}\u{180e}\u{1d159}";
        let formats = "\u{200b}\u{200d}\u{2060}\u{feff}\u{202e}\u{2066}\u{61c}\u{ad}\u{e0041}";
        let others = "\u{fe0f}\u{e0100}\u{e000}\u{f0000}\u{10fffd}\u{378}\u{fffe}\u{301}\u{20e3}";
        let quotes = "\u{2018}\u{2019}\u{201c}\u{201d}\u{ff02}\u{2bc}\u{2033}";
        for c in [blanks, fillers, formats, others, quotes].concat().chars() {
            assert_eq!(plain(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)), "{c:?}");
        }
        for seen in
            ["a b~", "\u{e9}e\u{301}", "\u{6587}\u{1f600}", "\u{5d0}\u{5d1}", "\u{ab}\u{bb}"]
        {
            assert_eq!(plain(seen), seen);
        }
        assert_eq!(
            plain(" \u{301}e\u{301}\u{301}\u{301}\u{301}"),
            " \\u{301}e\u{301}\u{301}\u{301}\\u{301}"
        );
    }

    #[test]
    fn a_line_has_few_marks_in_a_row() {
        let with = |count: usize| format!("a{}b", "\u{301}".repeat(count));
        let mut due = with(8);
        assert_eq!(with_few_marks(&due), due);
        due.insert_str(due.len() - 1, "\\u{301}\\u{301}");
        assert_eq!(with_few_marks(&with(10)), due);
        assert_eq!(with_few_marks(&[with(8), with(8)].concat()), [with(8), with(8)].concat());
    }

    #[test]
    fn different_texts_stay_different_and_common_backslashes_stay_single() {
        assert_eq!(plain(r#"echo \"a\" \\ C:\users"#), r#"echo \"a\" \\ C:\users"#);
        let alike = ["\t", r"\u{9}", "\\\t", r"\\u{9}", "\\\\\t", r"\\\u{9}", r"\\\\u{9}"];
        let shown: std::collections::BTreeSet<String> = alike.map(plain).into_iter().collect();
        assert_eq!(shown.len(), alike.len(), "{shown:?}");
        assert_eq!(plain_once(r"a\u{9}\"), r"a\u{9}\");
    }

    #[test]
    fn quotes_end_where_they_are_ended() {
        assert_eq!(quoted(r#"a" by b\"#), r#""a\" by b\\""#);
        assert_eq!(quoted("a   b\u{5d0}"), "\"a \\u{20} b\\u{5d0}\"");
    }

    #[test]
    fn a_mark_is_shown_only_on_a_letter_of_its_script() {
        for seen in ["e\u{301}", "\u{435}\u{308}\u{43d}", "\u{5d0}\u{5b0}", "\u{915}\u{94d}"] {
            assert_eq!(plain(seen), seen);
        }
        for (text, shown) in [
            ("e\u{5b0}", r"e\u{5b0}"),
            ("d\u{336}e\u{336}", r"d\u{336}e\u{336}"),
            ("1\u{301}", r"1\u{301}"),
            ("\u{5d0}\u{301}", r"\u{5d0}\u{301}"),
            ("a\u{94d}", r"a\u{94d}"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn a_letter_that_passes_for_a_latin_one_is_written_as_its_number() {
        for (text, shown) in [
            ("d\u{435}ploy", r"d\u{435}ploy"),
            ("\u{440}aypal, DE\u{420}LOY-1", r"\u{440}aypal, DE\u{420}LOY-1"),
            ("/usr/bin/r\u{3bf}\u{3bf}t", r"/usr/bin/r\u{3bf}\u{3bf}t"),
            ("\u{435}1\u{301}x", r"\u{435}1\u{301}x"),
            ("\u{ff52}\u{ff4d}", r"\u{ff52}\u{ff4d}"),
            ("\u{1d41d}eploy", r"\u{1d41d}eploy"),
            // One script, and yet ASCII to whoever reads it.
            ("\u{430}\u{441}\u{435}", r"\u{430}\u{441}\u{435}"),
            ("\u{440}\u{443} \u{430}", r"\u{440}\u{443} \u{430}"),
            ("\u{131}d", r"\u{131}d"),
            ("usr\u{2215}bin", r"usr\u{2215}bin"),
            ("\u{ff0f}etc\u{ff0f}passwd", r"\u{ff0f}etc\u{ff0f}passwd"),
            ("rm\u{2024}sh", r"rm\u{2024}sh"),
            ("\u{3b1}\u{431}\u{3b2}", r"\u{3b1}\u{431}\u{3b2}"),
            ("\u{5d0}b", r"\u{5d0}b"),
        ] {
            assert_eq!((&*plain(text), &*plain_once(text)), (shown, shown));
            assert_eq!(quoted(text), format!("\"{shown}\""));
        }
        // Words of one alphabet each are what they look like.
        let russian =
            "\u{43f}\u{443}\u{441}\u{43a} deploy-\u{441}\u{43a}\u{440}\u{438}\u{43f}\u{442}";
        let japanese = "\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}\u{306e}T\u{30b7}\u{30e3}\u{30c4}";
        let korean = "\u{97d3}\u{570b}\u{d55c}\u{ae00}";
        for seen in [
            russian,
            "\u{3b1}\u{3b2}\u{3b3}",
            "na\u{ef}ve",
            "\u{65e5}\u{672c}\u{ff1f}",
            japanese,
            korean,
        ] {
            assert_eq!(plain(seen), seen);
        }
        assert_ne!(plain("d\u{435}ploy"), plain(r"d\u{435}ploy"));
    }
}
