//! What this program says, in lines of some columns.

use super::{columns_of_character, is_mark, width};

/// What a shell goes on behind. Lines that go on begin with a blank.
const GOES_ON: &str = "\\";

/// A line in lines of at most so many columns, the first of so many and the others of so many. No
/// word is broken that fits on a line of its own. A command, which stands between backticks, is
/// folded between its words alone and so that a shell takes it as one.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let words = words(text);
    let (mut lines, mut line, mut room) = (Vec::new(), String::new(), first);
    for (at, (word, is_within)) in words.iter().enumerate() {
        let is_gone_on = words.get(at.saturating_add(1)).is_some_and(|(_, is_within)| *is_within);
        let end = if is_gone_on { GOES_ON.len() } else { 0 };
        let longer = if at == 0 { (*word).to_string() } else { format!("{line} {word}") };
        if width(&longer).saturating_add(end) <= room {
            line = longer;
            continue;
        }
        if at > 0 && (*is_within || width(word).saturating_add(end) <= others) {
            let space = if width(&line).saturating_add(GOES_ON.len()) < room { " " } else { "" };
            let end = if *is_within { format!("{space}{GOES_ON}") } else { String::new() };
            lines.push(format!("{}{end}", line.trim_end()));
            (line, room) = ((*word).to_string(), others);
        } else {
            line = longer;
        }
        if width(&line).saturating_add(end) > room {
            let mut pieces = fold(&line, room, others);
            line = pieces.pop().unwrap_or_default();
            room = if pieces.is_empty() { room } else { others };
            lines.extend(pieces);
        }
    }
    lines.push(line.trim_end().to_string());
    lines
}

/// The words of a line, each with whether the blank before it stands within a command. What a shell
/// takes for one word is one.
fn words(text: &str) -> Vec<(&str, bool)> {
    let mut reading = Reading::default();
    let (mut words, mut begin, mut is_within) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if c == ' ' && !reading.is_quoted() {
            words.push((text.get(begin..at).unwrap_or_default(), is_within));
            (begin, is_within) = (at.saturating_add(1), reading.is_command);
        }
        reading.take(c);
    }
    if reading.is_command {
        // A backtick that stands for itself.
        return text.split(' ').map(|word| (word, false)).collect();
    }
    words.push((text.get(begin..).unwrap_or_default(), is_within));
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
            let lines = wrapped(&text, columns, columns - 2);
            let folded = lines.join("\n  ");
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
    fn a_backtick_or_a_quote_that_stands_alone_makes_no_command() {
        for text in ["it's a `quote of no end", "a `command with it's own", "don't fold this away"]
        {
            let lines = wrapped(text, 10, 8);
            assert_eq!(lines.join(" "), text);
        }
    }

    #[test]
    fn no_word_is_broken_that_fits_on_a_line() {
        let id = "DP-0123456789abcdef0123456789abcdef";
        for before in 0..60 {
            let text = format!("{} `answer {id} yes`, or no", "x".repeat(before));
            assert!(wrapped(&text, 40, 38).iter().any(|line| line.contains(id)), "{before}");
        }
    }
}
