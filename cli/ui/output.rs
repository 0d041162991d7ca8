//! Standard output: buffered, coloured only on a terminal, through a pager where that is meant, and
//! quiet about a closed pipe.

use crate::ui::pager::{self, Pager};
use crate::ui::screen::{columns_of_screen, folded, width, with_few_marks};
use crate::ui::streams::{self, Stdout};
use crate::ui::text::aligned;
use crate::ui::{Exit, Failure};
use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Standard output.
pub(crate) struct Output {
    writer: BufWriter<Sink>,
    is_coloured: bool,
    /// What lines for people are folded to.
    columns: Option<usize>,
    fate: Result<(), io::Error>,
}

impl Output {
    /// Takes standard output until it is dropped.
    pub(crate) fn stdout() -> Self {
        Self::to(Sink::Stdout(streams::stdout()))
    }

    /// The same, of a text that may be long: through a pager where a person reads it.
    pub(crate) fn paged(is_json: bool) -> Self {
        match !is_json && pager::is_wanted() {
            true => Self::to(Sink::Page(None)),
            false => Self::stdout(),
        }
    }

    /// The same, with lines that are longer than a terminal is wide folded between their words.
    pub(crate) fn folding(self) -> Self {
        Self { columns: columns_of_screen(), ..self }
    }

    fn to(sink: Sink) -> Self {
        let choice = AutoStream::choice(&io::stdout());
        Self {
            writer: BufWriter::new(sink),
            is_coloured: choice != ColorChoice::Never,
            columns: None,
            fate: Ok(()),
        }
    }

    /// Writes a line. After a failure nothing is written any more.
    pub(crate) fn line(&mut self, line: impl fmt::Display) {
        let line = line.to_string();
        let line = with_few_marks(&line);
        match self.columns {
            Some(columns) => fitted(&line, columns).iter().for_each(|line| self.whole_line(line)),
            None => self.whole_line(line),
        }
    }

    /// The same, however long it is.
    fn whole_line(&mut self, line: impl fmt::Display) {
        if self.fate.is_ok() {
            self.fate = writeln!(self.writer, "{line}");
        }
    }

    /// Writes rows below a header, in columns that are as wide as their widest cell.
    pub(crate) fn table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) {
        let rows: Vec<_> = std::iter::once(header.map(String::from)).chain(rows).collect();
        aligned(&rows).iter().for_each(|line| self.line(line));
    }

    /// Says how many more there are than the few of `total` that are shown.
    pub(crate) fn more(&mut self, total: u64, shown: usize) {
        if let Some(more @ 1..) = total.checked_sub(shown as u64) {
            self.line(format_args!("  ... and {more} more, which --json shows"));
        }
    }

    /// Writes a value over several lines.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.whole_line(ascii(&text)),
            Err(error) => self.fate = Err(error.into()),
        }
    }

    /// Writes a value as one line.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.whole_line(ascii(&text)),
            Err(error) => self.fate = Err(error.into()),
        }
    }

    /// Writes what is buffered, for somebody who waits for it. False: nobody reads any more, or
    /// writing failed; [`Output::finish`] tells which.
    pub(crate) fn flush(&mut self) -> bool {
        if self.fate.is_ok() {
            self.fate = self.writer.flush();
        }
        self.fate.is_ok()
    }

    /// Whether somebody may still read what is written. Of a pipe it is known though nothing is.
    pub(crate) fn has_reader(&self) -> bool {
        let stdout = io::stdout();
        let mut closed = [PollFd::new(&stdout, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Where it cannot be told, writing does.
        self.fate.is_ok() && !poll(&mut closed, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Tells whether a pager has the terminal until the output is finished.
    pub(crate) fn is_paged(&self) -> bool {
        matches!(self.writer.get_ref(), Sink::Page(_))
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.fate.is_ok() {
            self.fate = self.writer.write_all(bytes);
        }
    }

    /// Tells whether colours are shown.
    pub(crate) const fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// `text` in this style where colours are shown.
    pub(crate) fn paint(&self, style: Style, text: impl fmt::Display) -> String {
        if self.is_coloured { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Writes what is buffered, and waits for the pager. Whoever closed the pipe has seen enough:
    /// no failure.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.writer.flush();
        let seen = self.writer.get_mut().close();
        match self.fate.and(flushed).and(seen) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                let message = format!("cannot write to stdout: {error}");
                Err(Failure::new(Exit::FAILED, "output", message))
            }
            _ => Ok(()),
        }
    }
}

/// A line in so many columns. Colours stay where they end on the first of its lines.
fn fitted(line: &str, columns: usize) -> Vec<String> {
    let plain = strip_str(line).to_string();
    if width(&plain) <= columns {
        return vec![line.to_string()];
    }
    let mut lines = hanging(&plain, columns);
    let end = line.rfind(END_OF_COLOUR).map_or(0, |at| at.saturating_add(END_OF_COLOUR.len()));
    let (painted, _) = line.split_at_checked(end).unwrap_or(("", line));
    let seen = strip_str(painted).to_string();
    if let Some(first) = lines.first_mut()
        && let Some(rest) = first.strip_prefix(&seen)
    {
        *first = format!("{painted}{rest}");
    }
    lines
}

/// What ends a style.
const END_OF_COLOUR: &str = "\u{1b}[0m";

/// A line without colours in so many columns: what goes on stands below the beginning of its last
/// cell, where that leaves enough room.
fn hanging(line: &str, columns: usize) -> Vec<String> {
    let begin = |at: usize| line.get(at..).map_or(at, |rest| line.len() - rest.trim_start().len());
    let cells = line.match_indices("  ").map(|(at, _)| begin(at));
    let (leading, most) = (begin(0), columns / 3);
    let cell = cells.filter(|at| (leading.saturating_add(1)..=most).contains(at)).max();
    let (first, rest) = line.split_at_checked(cell.unwrap_or(leading)).unwrap_or(("", line));
    let indent = cell.unwrap_or(leading.saturating_add(2));
    folded(rest, (first, &" ".repeat(indent)), columns)
}

/// Where the bytes go.
enum Sink {
    Stdout(Stdout),
    /// The pager, which is started when there is something to show.
    Page(Option<Pager>),
}

impl Sink {
    fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Page(Some(pager)) => pager.close(),
            Self::Page(None) | Self::Stdout(_) => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Self::Page(none @ None) = self {
            *none = Pager::start();
        }
        match self {
            Self::Page(Some(pager)) => pager.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Page(None) => {
                let mut stdout = streams::stdout();
                let written = stdout.write(bytes);
                *self = Self::Stdout(stdout);
                written
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Page(Some(pager)) => pager.flush(),
            Self::Page(None) => Ok(()),
        }
    }
}

/// JSON in ASCII alone. Other characters stand inside strings only, where `\uXXXX` means the same
/// and cannot steer a terminal.
pub(crate) fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, '\n' | ' '..='~') {
            text.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_ascii_and_says_the_same() {
        let value = "a\u{7f}\u{9b}\u{202e}\u{1f552}\n\u{1b}z";
        let text = ascii(&serde_json::to_string(value).unwrap());
        assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }

    #[test]
    fn a_long_line_goes_on_below_its_last_cell_and_keeps_its_words() {
        let line =
            "  integrity     failed       segments/1.seg, byte 20360: the checksum says 1b94";
        let shown = [
            "  integrity     failed       segments/1.seg, byte",
            "                20360: the checksum says 1b94",
        ];
        assert_eq!(hanging(line, 50), shown);
        assert_eq!(fitted(line, 200), [line]);
        let red = line.replace("failed", "\u{1b}[31mfailed\u{1b}[0m");
        assert_eq!(fitted(&red, 50), [&red[..58], shown[1]]);
        assert_eq!(fitted(&red, width(line)), [&*red]);
        let shown = hanging("a sentence of several words", 12);
        assert_eq!(shown, ["a sentence", "  of several", "  words"]);
        for columns in 1..100 {
            let words = |lines: &[String]| lines.join(" ").split_whitespace().count();
            let shown = hanging(line, columns);
            assert!(columns < 20 || words(&shown) == words(&[line.to_string()]), "{shown:?}");
            assert!(columns < 20 || shown.iter().all(|line| width(line) <= columns), "{shown:?}");
        }
    }
}
