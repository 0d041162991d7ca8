//! Words of a command that are longer than a line: where a line may end in one, so that a shell
//! puts it together again.

use super::{is_mark, width};

/// What a shell goes on behind. Where a line ends between two words, the next one begins with a
/// blank; where it ends within a word, the next one begins in the first column.
pub(super) const GOES_ON: &str = "\\";

/// How a part of a word is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    None,
    Single,
    /// `$'..'`, in which a backslash begins an escape.
    Escaping,
    Double,
}

impl Quotes {
    /// What a line begins with that goes on within them.
    const fn begin(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Single => "'",
            Self::Escaping => "$'",
            Self::Double => "\"",
        }
    }

    const fn end(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Single | Self::Escaping => "'",
            Self::Double => "\"",
        }
    }
}

/// A place in a word at which a line may end, in bytes, and the quotes that are open there.
type Place = (usize, Quotes);

/// A word in pieces: the first so wide that it fits behind so many columns that are taken, the
/// others from the first column on, the last with so many columns behind it. Nothing where a line
/// is too narrow for any piece.
pub(super) fn pieces(word: &str, taken: usize, columns: usize, behind: usize) -> Vec<String> {
    let places = places(word);
    let (mut pieces, mut begun, mut taken) = (Vec::new(), (0, Quotes::None), taken);
    loop {
        let (from, quotes) = begun;
        let begin = quotes.begin();
        let room = columns.saturating_sub(taken);
        let rest = word.get(from..).unwrap_or_default();
        if width(begin) + width(rest) + behind <= room {
            pieces.push(format!("{begin}{rest}"));
            return pieces;
        }
        let piece = |(to, quotes): &Place| {
            let text = word.get(from..*to).unwrap_or_default();
            format!("{begin}{text}{}{GOES_ON}", quotes.end())
        };
        let later = places.iter().filter(|(to, _)| *to > from);
        let fits = later.take_while(|place| width(&piece(place)) <= room).last();
        match fits {
            Some(place) => {
                pieces.push(piece(place));
                begun = *place;
            }
            // What is taken leaves no room: the word begins on the next line.
            None if taken > 0 => pieces.push(GOES_ON.to_string()),
            None => return Vec::new(),
        }
        taken = 0;
    }
}

/// Where a line may end: between two letters or escapes, and not right beside a quote that opens or
/// closes.
fn places(word: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let (mut quotes, mut escape) = (Quotes::None, Escape::default());
    let (mut is_begun, mut is_dollar) = (true, false);
    let mut characters = word.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let is_free = !escape.holds(c) && !is_begun && !is_mark(c);
        let closes = escape.is_over() && quotes != Quotes::None && quotes.end().starts_with(c);
        if is_free && !closes {
            places.push((at, quotes));
        }
        is_begun = false;
        if closes {
            quotes = Quotes::None;
        } else if escape.is_over() && quotes == Quotes::None {
            quotes = match c {
                '\'' if is_dollar => Quotes::Escaping,
                '\'' => Quotes::Single,
                '"' => Quotes::Double,
                _ => Quotes::None,
            };
            // A dollar belongs to the quote behind it.
            is_dollar = c == '$' && next == Some('\'');
            is_begun = quotes != Quotes::None || is_dollar;
        }
        escape.take(c, quotes);
    }
    places
}

/// An escape that is being read, which no line ends in.
#[derive(Default)]
struct Escape {
    /// How many characters more may belong to it; of a number, only digits do.
    left: usize,
    is_number: bool,
}

impl Escape {
    /// Whether a character belongs to what stands before it.
    fn holds(&self, c: char) -> bool {
        self.left > 0 && (!self.is_number || c.is_ascii_hexdigit())
    }

    /// Whether a quote would be one.
    fn is_over(&self) -> bool {
        self.left == 0 || self.is_number
    }

    fn take(&mut self, c: char, quotes: Quotes) {
        if self.holds(c) {
            self.left = self.left.saturating_sub(1);
            if !self.is_number && quotes == Quotes::Escaping {
                // Up to eight digits behind `\U`, fewer behind others.
                (self.left, self.is_number) = match c {
                    'x' => (2, true),
                    'u' => (4, true),
                    'U' => (8, true),
                    '0'..='7' => (2, true),
                    _ => (0, false),
                };
            }
            return;
        }
        let begins = c == '\\' && quotes != Quotes::Single;
        (self.left, self.is_number) = (usize::from(begins), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The words that a shell makes of what is pasted.
    fn taken(pasted: &str) -> Vec<Vec<u8>> {
        let line = format!("printf '%s\\0' {pasted}");
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        let mut words: Vec<_> =
            output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        words.pop();
        words
    }

    #[test]
    fn a_shell_puts_a_word_together_again_whatever_quotes_it_is_in() {
        let words = [
            format!("--log=/{}", "long-name/".repeat(9)),
            format!("'/var/a log/of  {} names'", "many words and ".repeat(5)),
            format!("'it'\\''s {}'", "a name ".repeat(12)),
            format!("$'a\\xc2\\xa0b{}\\'c\\\\'", "\\u00e9\\x41\\102\\n z".repeat(9)),
            format!("\"{}\"", "a \\\"b\\\" \\\\ c".repeat(9)),
            format!("{}\\ \\'{}\\$'x'", "bare\\ ".repeat(9), "\\\"".repeat(9)),
            format!("--name='{}'$'\\x01{}'", "e\u{301}\u{6587}".repeat(9), "\\x7f".repeat(20)),
        ];
        for word in words {
            let whole = taken(&word);
            assert_eq!(whole.len(), 1);
            for columns in [20, 21, 30, 40, 80] {
                for at in [0, 2, 16, 19] {
                    let pieces = pieces(&word, at, columns, 1);
                    let widest = pieces.iter().map(|piece| width(piece)).max();
                    assert!(widest.is_some_and(|widest| widest <= columns), "{pieces:#?}");
                    assert!(at + width(&pieces[0]) <= columns, "{pieces:#?}");
                    assert_eq!(taken(&pieces.join("\n")), whole, "{columns}: {pieces:#?}");
                }
            }
        }
    }
}
