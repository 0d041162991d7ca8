//! Letters that pass for those of the Latin alphabet: of another one in the midst of a Latin word,
//! and forms of Latin letters that are none.

use super::is_mark;

/// The word that is gone through.
#[derive(Default)]
pub(super) struct Word {
    end: usize,
    is_mixed: bool,
}

impl Word {
    /// Whether a character passes for another one. They are gone through from the first to the last
    /// one, each with its place in bytes.
    pub(super) fn passes_for_latin(&mut self, text: &str, at: usize, c: char) -> bool {
        if c.is_ascii() {
            return false;
        }
        if at >= self.end {
            // What stands before in the same word is ASCII, or this is its beginning.
            let before = text.get(..at).unwrap_or_default();
            let begun = before.trim_end_matches(is_of_word).len();
            let rest = text.get(begun..).unwrap_or_default();
            let word = rest.split(|c| !is_of_word(c)).next().unwrap_or_default();
            self.end = begun.saturating_add(word.len());
            self.is_mixed = word.chars().any(is_latin) && word.chars().any(is_like_latin);
        }
        is_form_of_latin(c) || (self.is_mixed && is_like_latin(c))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Letters of the Greek, Cyrillic, Armenian and Cherokee alphabets.
fn is_like_latin(c: char) -> bool {
    matches!(
        c,
        '\u{370}'..='\u{58f}'
            | '\u{13a0}'..='\u{13ff}'
            | '\u{1c80}'..='\u{1c8f}'
            | '\u{1f00}'..='\u{1fff}'
            | '\u{2de0}'..='\u{2dff}'
            | '\u{a640}'..='\u{a69f}'
            | '\u{ab70}'..='\u{abbf}'
    )
}

/// Full-width letters and digits, and those of mathematics.
fn is_form_of_latin(c: char) -> bool {
    matches!(
        c,
        '\u{ff10}'..='\u{ff19}'
            | '\u{ff21}'..='\u{ff3a}'
            | '\u{ff41}'..='\u{ff5a}'
            | '\u{1d400}'..='\u{1d7ff}'
    )
}
