//! What this program says, in lines of some columns.

use super::{columns_of_character, is_mark, width};

/// What a shell goes on behind. Lines that go on begin with a blank.
const GOES_ON: &str = "\\";

/// How a line that goes on stands: behind this on the first line, and behind that on the others.
pub(super) type Before<'b> = (&'b str, &'b str);

/// A line in lines of at most so many columns. No word is broken that fits on a line of its own. A
/// command, which stands between backticks, is folded so that a shell takes it as one.
pub(super) fn wrapped(text: &str, before: Before<'_>, columns: usize) -> Vec<String> {
    Folding::of(before, columns).folded(&words(text, false))
}

/// The same of a command without backticks.
pub(super) fn wrapped_command(text: &str, before: Before<'_>, columns: usize) -> Vec<String> {
    Folding::of(before, columns).folded(&words(text, true))
}

/// A word, and whether the blank before it, and whether the word, stands within a command.
struct Word<'t> {
    text: &'t str,
    is_behind_command: bool,
    is_of_command: bool,
}

/// Lines that are being filled.
struct Folding<'b> {
    before: Before<'b>,
    columns: usize,
    lines: Vec<String>,
    line: String,
    has_word: bool,
}

impl<'b> Folding<'b> {
    fn of(before: Before<'b>, columns: usize) -> Self {
        let line = before.0.to_string();
        Self { before, columns, lines: Vec::new(), line, has_word: false }
    }

    fn folded(mut self, words: &[Word<'_>]) -> Vec<String> {
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at.saturating_add(1));
            let end = next.filter(|next| next.is_behind_command).map_or(0, |_| GOES_ON.len());
            self.add(word, end);
        }
        self.end_line("");
        self.lines
    }

    /// Adds a word, behind which so many columns are needed.
    fn add(&mut self, word: &Word<'_>, end: usize) {
        let space = if self.has_word { " " } else { "" };
        let fits = |line: &str| {
            width(line).saturating_add(width(word.text)) <= self.columns.saturating_sub(end)
        };
        if fits(&format!("{}{space}", self.line)) {
            self.line.push_str(space);
        } else if self.has_word && (word.is_behind_command || fits(self.before.1)) {
            let is_tight = width(&self.line) + 1 + GOES_ON.len() > self.columns;
            let space = if is_tight { "" } else { " " };
            let end = format!("{space}{GOES_ON}");
            self.end_line(if word.is_behind_command { &end } else { "" });
            self.line = self.before.1.to_string();
        } else {
            self.line.push_str(space);
        }
        self.has_word = true;
        match word.is_of_command && !word.text.contains(['\'', '"', '\\', ' ']) {
            true => self.push_glued(word.text, end),
            false => self.push_broken(word.text, end),
        }
    }

    /// A word that a shell puts together again, also where a line ends in it.
    fn push_glued(&mut self, word: &str, end: usize) {
        let mut rest = word;
        while width(&self.line) + width(rest) + end > self.columns {
            let room = self.columns.saturating_sub(width(&self.line) + GOES_ON.len());
            let piece = beginning(rest, room);
            if piece.is_empty() && self.line.is_empty() {
                break;
            }
            self.line.push_str(piece);
            self.end_line(GOES_ON);
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
        self.line.push_str(rest);
    }

    /// A word that is broken where a line is full.
    fn push_broken(&mut self, word: &str, end: usize) {
        let line = format!("{}{word}", self.line);
        let others = self.columns.saturating_sub(width(self.before.1)).max(1);
        if width(&line) + end <= self.columns {
            self.line = line;
            return;
        }
        let mut pieces = fold(&line, self.columns, others).into_iter();
        self.line = pieces.next().unwrap_or_default();
        for piece in pieces {
            self.end_line("");
            self.line = format!("{}{piece}", self.before.1);
        }
    }

    fn end_line(&mut self, end: &str) {
        let line = std::mem::take(&mut self.line);
        self.lines.push(format!("{}{end}", line.trim_end()));
    }
}

/// As much of a text as fits into so many columns.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0_usize;
    let end = text.char_indices().find(|(_, c)| {
        used = used.saturating_add(columns_of_character(*c));
        used > columns
    });
    text.get(..end.map_or(text.len(), |(at, _)| at)).unwrap_or_default()
}

/// The words of a line, which begins within a command or not. What a shell takes for one word is
/// one.
fn words(text: &str, is_command: bool) -> Vec<Word<'_>> {
    let mut reading = Reading { is_command, ..Reading::default() };
    let (mut words, mut begin, mut is_behind_command) = (Vec::new(), 0, false);
    let mut is_of_command = is_command;
    for (at, c) in text.char_indices() {
        if c == ' ' && !reading.is_quoted() {
            let text = text.get(begin..at).unwrap_or_default();
            words.push(Word { text, is_behind_command, is_of_command });
            (begin, is_behind_command) = (at.saturating_add(1), reading.is_command);
            is_of_command = reading.is_command;
        }
        reading.take(c);
        is_of_command |= reading.is_command;
    }
    if reading.is_command != is_command {
        // A backtick that stands for itself.
        let plain = |text| Word { text, is_behind_command: false, is_of_command: false };
        return text.split(' ').map(plain).collect();
    }
    let text = text.get(begin..).unwrap_or_default();
    words.push(Word { text, is_behind_command, is_of_command });
    words
}

/// Where in a line a reading of it is.
#[derive(Default)]
struct Reading {
    is_command: bool,
    /// What ends the quotes within a command, and whether a backslash is one of a text there.
    quotes: Option<(char, bool)>,
    is_escaped: bool,
    before: Option<char>,
}

impl Reading {
    fn is_quoted(&self) -> bool {
        self.quotes.is_some() || self.is_escaped
    }

    fn take(&mut self, c: char) {
        let before = self.before.replace(c);
        if std::mem::take(&mut self.is_escaped) {
            return;
        }
        match (c, self.quotes) {
            ('`', None) => self.is_command = !self.is_command,
            _ if !self.is_command => {}
            ('\\', None | Some((_, true))) => self.is_escaped = true,
            ('\'', None) => self.quotes = Some((c, before == Some('$'))),
            ('"', None) => self.quotes = Some((c, true)),
            (_, Some((end, _))) if c == end => self.quotes = None,
            _ => {}
        }
    }
}

/// A text of visible characters in lines of so many columns: the first one, and the others. It is
/// folded behind a space where one stands behind the first third, else wherever the line is full.
pub(super) fn fold(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used, mut room) = (String::new(), 0_usize, first);
    for c in text.chars() {
        let needed = columns_of_character(c);
        if used.saturating_add(needed) > room {
            let rest = line.split_off(end_of_full(&line, room, c));
            lines.push(std::mem::replace(&mut line, rest));
            (used, room) = (width(&line), others);
            // The line's end stands for the space.
            if c == ' ' && line.is_empty() {
                continue;
            }
        }
        line.push(c);
        used = used.saturating_add(needed);
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

/// Where a full line ends, in bytes, when this character does not fit on it any more.
fn end_of_full(line: &str, room: usize, next: char) -> usize {
    let behind_space = line.rfind(' ').map(|at| at.saturating_add(1));
    let is_far = |at: &usize| line.get(..*at).is_some_and(|kept| width(kept) > room / 3);
    // A mark stays with its letter.
    let letter = if is_mark(next) { line.rfind(|c| !is_mark(c)) } else { None };
    behind_space.filter(is_far).or(letter).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_folded_so_that_a_shell_takes_it_as_one() {
        let command = "holdpoint run --approval DP-0123456789abcdef --hold=before -- env 'A B'=c x";
        let text = format!("then `{command}` spends the approval, once");
        for columns in 30..120 {
            let lines = wrapped(&text, ("", "  "), columns);
            let folded = lines.join("\n");
            let (_, rest) = folded.split_once('`').unwrap();
            let (within, _) = rest.split_once('`').unwrap();
            // What a shell makes of a backslash at a line's end.
            let as_taken = within.replace("\\\n", "").replace("   ", " ").replace("  ", " ");
            assert_eq!(as_taken, command, "{columns}: {folded}");
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {folded}");
            let prose = folded.replacen(within, "", 1);
            assert!(!prose.contains('\\'), "{columns}: {folded}");
        }
    }

    #[test]
    fn a_word_of_a_command_that_is_longer_than_a_line_goes_on_where_a_shell_takes_it() {
        let long = format!("--log=/{}", "long-name/".repeat(9));
        let command = format!("holdpoint {long} show DP-0123456789abcdef0123456789abcdef");
        for columns in 20..120 {
            let lines = wrapped_command(&command, ("answer          ", "  "), columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:#?}");
            let taken = lines.join("\n").replace("\\\n", "");
            let words: Vec<&str> = taken.split_whitespace().skip(1).collect();
            assert_eq!(words.join(" "), command, "{columns}: {lines:#?}");
        }
    }

    #[test]
    fn a_backtick_or_a_quote_that_stands_alone_makes_no_command() {
        for text in ["it's a `quote of no end", "a `command with it's own", "don't fold this away"]
        {
            let lines = wrapped(text, ("", ""), 10);
            assert_eq!(lines.join(" "), text);
        }
    }

    #[test]
    fn no_word_is_broken_that_fits_on_a_line() {
        let id = "DP-0123456789abcdef0123456789abcdef";
        for before in 0..60 {
            let text = format!("{} `answer {id} yes`, or no", "x".repeat(before));
            assert!(
                wrapped(&text, ("", "  "), 40).iter().any(|line| line.contains(id)),
                "{before}"
            );
        }
    }
}
