//! Characters that pass for others, by UTS #39: in a token whose skeleton or compatibility form is
//! ASCII, and in a word that mixes scripts. And marks that do not belong to their letter.

use super::is_mark;
use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use unicode_security::mixed_script::AugmentedScriptSet;
use unicode_security::skeleton;

/// The token and the word that are gone through: each is looked at once.
#[derive(Default)]
pub(super) struct Tokens {
    token: Span,
    word: Span,
}

/// A part of a text, by where it ends in bytes.
#[derive(Default)]
struct Span {
    end: usize,
    is_alike: bool,
}

impl Tokens {
    /// Whether a character passes for another one. They are gone through from the first to the last
    /// one, each with its place in bytes.
    pub(super) fn pass_for_others(&mut self, text: &str, at: usize, c: char) -> bool {
        if c.is_ascii() {
            return false;
        }
        self.token.look(text, at, |c| !c.is_whitespace(), passes_for_ascii);
        if is_of_word(c) {
            self.word
                .look(text, at, is_of_word, |word| passes_for_ascii(word) || mixes_scripts(word));
        }
        let is_in_word = is_of_word(c) && self.word.is_alike;
        self.token.is_alike || is_in_word || is_form_of_latin(c)
    }
}

impl Span {
    /// Looks at the span around a place, where that is behind the last one.
    fn look(
        &mut self,
        text: &str,
        at: usize,
        is_of_span: fn(char) -> bool,
        is_alike: fn(&str) -> bool,
    ) {
        if at < self.end {
            return;
        }
        // What stands before in the same span is ASCII, or this is its beginning.
        let before = text.get(..at).unwrap_or_default();
        let begun = before.trim_end_matches(is_of_span).len();
        let rest = text.get(begun..).unwrap_or_default();
        let span = rest.split(|c| !is_of_span(c)).next().unwrap_or_default();
        self.end = begun.saturating_add(span.len());
        self.is_alike = is_alike(span);
    }
}

/// Whether a text that is not ASCII is taken for one that is.
fn passes_for_ascii(text: &str) -> bool {
    !text.is_ascii() && (skeleton(text).all(|c| c.is_ascii()) || text.nfkc().all(|c| c.is_ascii()))
}

/// Whether the letters of a word are of several scripts that no language writes together: Latin
/// letters may stand among Chinese, Japanese and Korean ones.
fn mixes_scripts(word: &str) -> bool {
    if !AugmentedScriptSet::for_str(word).is_empty() {
        return false;
    }
    let others: String = word.chars().filter(|c| !c.is_ascii()).collect();
    let others = AugmentedScriptSet::for_str(&others);
    !(others.hanb || others.jpan || others.kore)
}

/// Whether a mark is of the script of the letter before it.
pub(super) fn belongs(mark: char, letter: char) -> bool {
    let of_mark = mark.script_extension();
    let is_own = !of_mark.is_common() && !of_mark.is_inherited();
    is_own && of_mark.iter().any(|script| is_of(letter, script))
}

fn is_of(letter: char, script: Script) -> bool {
    let of_letter = letter.script_extension();
    !of_letter.is_common() && of_letter.contains_script(script)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
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
