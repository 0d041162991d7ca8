//! What this program says, in lines of some columns.

use super::glued::{GOES_ON, pieces};
use super::{columns_of_character, is_mark, width};

/// What stands in place of the last blank before the rest of a word that did not fit on a line, and
/// is no command: nothing else is ever written there.
const REST: char = '+';
/// What a line ends in behind which a command goes on with another word.
const BETWEEN: &str = " \\";

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
            let end = next.filter(|next| next.is_behind_command).map_or(0, |_| self.end().len());
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
            let end = if is_tight { self.end() } else { BETWEEN };
            self.end_line(if word.is_behind_command { end } else { "" });
            self.line = self.before.1.to_string();
        } else {
            self.line.push_str(space);
        }
        self.has_word = true;
        let line = width(&self.line);
        let pieces = match word.is_of_command {
            true => pieces(word.text, line, self.columns, end),
            false => Vec::new(),
        };
        match pieces.split_last() {
            None => self.push_broken(word.text, end),
            Some((last, others)) => {
                for piece in others {
                    self.line.push_str(piece);
                    self.lines.push(std::mem::take(&mut self.line));
                }
                self.line.push_str(last);
            }
        }
    }

    /// A word that is broken where a line is full; the lines that it goes on in are marked.
    fn push_broken(&mut self, word: &str, end: usize) {
        let is_begun = !self.line.trim_end().is_empty() && width(&self.line) > self.columns / 3;
        if is_begun && !self.fits(word, end) {
            self.end_line("");
            self.line = self.before.1.to_string();
        }
        let mut rest = word;
        while !rest.is_empty() && !self.fits(rest, end) {
            let room = self.columns.saturating_sub(width(&self.line));
            let piece = beginning(rest, room);
            self.line.push_str(piece);
            self.end_line("");
            self.line = self.goes_on();
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
        self.line.push_str(rest);
    }

    /// Tells whether so much more fits on the line, with so many columns behind it.
    fn fits(&self, rest: &str, end: usize) -> bool {
        width(&self.line) + width(rest) + end <= self.columns
    }

    /// What stands before the rest of a word.
    fn goes_on(&self) -> String {
        let before = self.before.1;
        before.strip_suffix(' ').map_or(before.to_string(), |before| format!("{before}{REST}"))
    }

    /// The shortest end of a line behind which a command goes on with another word.
    fn end(&self) -> &'static str {
        if self.before.1.starts_with(' ') { GOES_ON } else { BETWEEN }
    }

    fn end_line(&mut self, end: &str) {
        let line = std::mem::take(&mut self.line);
        self.lines.push(format!("{}{end}", line.trim_end()));
    }
}

/// As much of a text as fits into so many columns, and one letter at least. A mark stays with its
/// letter.
pub(super) fn beginning(text: &str, columns: usize) -> &str {
    let (mut used, mut end) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        if !is_mark(c) {
            end = at;
        }
        used = used.saturating_add(columns_of_character(c));
        if used > columns && end > 0 {
            return text.get(..end).unwrap_or_default();
        }
    }
    text
}

/// The words of a line, which begins within a command or not. What a shell takes for one word is
/// one. Names and texts of others stand in quotes, and a backtick there is no command's.
fn words(text: &str, is_command: bool) -> Vec<Word<'_>> {
    let plain = |text| Word { text, is_behind_command: false, is_of_command: false };
    read(text, Reading { is_command, heeds_quotes: true, ..Reading::default() })
        // A quote that stands for itself.
        .or_else(|| read(text, Reading { is_command, ..Reading::default() }))
        // A backtick that does.
        .unwrap_or_else(|| text.split(' ').map(plain).collect())
}

/// The words, unless something that begins does not end.
fn read(text: &str, mut reading: Reading) -> Option<Vec<Word<'_>>> {
    let is_command = reading.is_command;
    let (mut words, mut begin, mut is_behind_command) = (Vec::new(), 0, false);
    let mut is_of_command = is_command;
    for (at, c) in text.char_indices() {
        if c == ' ' && !(reading.is_command && reading.is_quoted()) {
            let text = text.get(begin..at).unwrap_or_default();
            words.push(Word { text, is_behind_command, is_of_command });
            (begin, is_behind_command) = (at.saturating_add(1), reading.is_command);
            is_of_command = reading.is_command;
        }
        reading.take(c);
        is_of_command |= reading.is_command;
    }
    let text = text.get(begin..).unwrap_or_default();
    words.push(Word { text, is_behind_command, is_of_command });
    let is_whole = reading.is_command == is_command && !reading.is_quoted();
    is_whole.then_some(words)
}

/// Where in a line a reading of it is.
#[derive(Default)]
struct Reading {
    is_command: bool,
    /// True if what stands in double quotes outside of a command is somebody's text.
    heeds_quotes: bool,
    /// What ends the quotes, and whether a backslash is one of a text there.
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
            self.before = None;
            return;
        }
        match (c, self.quotes) {
            ('`', None) => self.is_command = !self.is_command,
            ('"', None) if !self.is_command && self.heeds_quotes => self.quotes = Some((c, true)),
            _ if !self.is_command && self.quotes.is_none() => {}
            ('\\', None | Some((_, true))) => self.is_escaped = true,
            ('\'', None) => self.quotes = Some((c, before == Some('$'))),
            ('"', None) => self.quotes = Some((c, true)),
            (_, Some((end, _))) if c == end => self.quotes = None,
            _ => {}
        }
    }
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
    fn an_argument_in_quotes_that_is_longer_than_a_line_stays_what_it_is() {
        let quoted = "'/var/a log  of many words, the last of which is the longest of them all'";
        let command = format!("printf '%s\\0' --log={quoted} $'\\xc2\\xa0\\n'{quoted} -- \"a  b\"");
        let taken = |pasted: &str| {
            let output = std::process::Command::new("bash").args(["-c", pasted]).output().unwrap();
            assert!(output.status.success(), "{pasted}: {output:?}");
            output.stdout
        };
        let whole = taken(&command);
        for columns in 20..120 {
            for others in ["", "  ", "                "] {
                let lines = wrapped(&format!("so `{command}`, or no"), ("", others), columns);
                assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:#?}");
                let folded = lines.join("\n");
                let within = folded.split('`').nth(1).unwrap();
                assert_eq!(taken(within), whole, "{columns}: {lines:#?}");
            }
        }
    }

    #[test]
    fn the_rest_of_what_is_no_word_of_a_command_is_marked() {
        let hash = "0123456789abcdef".repeat(4);
        let row = format!("answer binds    {hash}, and more");
        let lines = wrapped(&row, ("", "  "), 40);
        let shown = [
            "answer binds".to_string(),
            format!("  {}", &hash[..38]),
            format!(" +{}, and more", &hash[38..]),
        ];
        assert_eq!(lines, shown);
        // Nothing that somebody wrote stands where the mark does.
        let lines = wrapped("by \"+ +a `holdpoint +b\" and + `holdpoint runs`", ("", "  "), 20);
        assert!(!lines.iter().any(|line| line.starts_with(" +")), "{lines:#?}");
    }

    #[test]
    fn a_name_in_quotes_makes_no_command_and_hides_none() {
        let forged = format!("by \"`{}`\"; `holdpoint show {}`", "x".repeat(30), "y".repeat(30));
        let lines = wrapped(&forged, ("", "  "), 20);
        assert!(lines.iter().any(|line| line.starts_with(" +xxx")), "{lines:#?}");
        assert!(lines.iter().any(|line| line.ends_with('\\')), "{lines:#?}");
        let alone = wrapped("of \"x: `holdpoint show LOOP-1 --verbose`", ("", "  "), 20);
        assert!(alone.iter().any(|line| line.ends_with('\\')), "{alone:#?}");
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
