//! What a command printed, on a screen of its own beside the question about it.

use crate::args::Global;
use crate::log::captured_output::{length, missing, verified};
use crate::ui::program::program;
use crate::ui::screen::seen_lines;
use crate::ui::{Failure, Page};
use holdpoint_replay::CapturedOutput;
use holdpoint_replay::merged_output::last_lines;
use holdpoint_replay::words::stream_in_words;

/// How many bytes of one stream are shown at most: no screen holds more.
const BYTES_MAX: usize = 64 * 1024;

/// What stands above what is not said by this program.
const WHAT_IT_IS: &str = "Untrusted output of the command, and no part of the decision.";

/// What one attempt printed.
pub(super) struct Printed {
    outputs: Vec<CapturedOutput>,
    /// The command that has all of it.
    has_all: String,
}

impl Printed {
    /// What is on record of it, once all of that has verified.
    pub(super) fn of(global: &Global, loop_id: &str, attempt: u8) -> Result<Self, Failure> {
        let outputs = verified(global, loop_id, attempt)?;
        Ok(Self { outputs, has_all: format!("{} output {loop_id}", program(&global.log)) })
    }

    /// The screen, of one row less than there are: the last lines of each stream, behind a mark.
    pub(super) fn lines(&self, rows: usize, columns: usize) -> Vec<String> {
        let mut head = Page::new(columns);
        head.sentence(WHAT_IT_IS);
        let mut foot = Page::new(columns);
        foot.sentence(&format!("Enter: back to the question. `{}` has all of it.", self.has_all));
        let (head, foot) = (head.lines(), foot.lines());
        let printed: Vec<&CapturedOutput> =
            self.outputs.iter().filter(|output| output.length() > 0).collect();
        let room = rows.saturating_sub(head.len() + foot.len() + 1).max(printed.len() * 2);
        let room = room.checked_div(printed.len()).unwrap_or(room);
        let shown = printed.iter().flat_map(|output| stream(output, room, columns));
        let mut shown: Vec<String> = shown.collect();
        if shown.is_empty() {
            shown.push("No output.".to_string());
        }
        head.into_iter().chain(shown).chain(foot).collect()
    }
}

/// The name of a stream, and its last lines in so many rows at most.
fn stream(output: &CapturedOutput, rows: usize, columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    page.printed(&seen_lines(end(last_lines(&output.bytes, rows))));
    let lines = page.lines();
    let (name, size) = (stream_in_words(output.stream), length(output));
    let of = format!("{name}, {size}{}:", missing(output));
    let mut title = Page::new(columns);
    title.sentence(&of);
    let mut shown = title.lines();
    let behind = lines.len().saturating_sub(rows.saturating_sub(shown.len()).max(1));
    shown.extend(lines.into_iter().skip(behind));
    shown
}

/// The end of some bytes, which begins with a whole letter.
fn end(bytes: &[u8]) -> &[u8] {
    let Some(begin) = bytes.len().checked_sub(BYTES_MAX) else { return bytes };
    let end = bytes.get(begin..).unwrap_or_default();
    let goes_on = end.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    end.get(goes_on..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_domain::evidence_capture::OutputEnd;

    fn printed(bytes: &[&[u8]]) -> Printed {
        let of = |bytes: &&[u8]| {
            let mut output = Sample::new().whole()[0].outputs[0].clone();
            let whole_sha256 = output.end.unwrap().whole_sha256;
            output.end = Some(OutputEnd { true_length: bytes.len() as u64, whole_sha256 });
            output.parts[0].place = 0..bytes.len();
            output.bytes = bytes.to_vec();
            output
        };
        let outputs = bytes.iter().map(of).collect();
        Printed { outputs, has_all: "holdpoint output LOOP-1".to_string() }
    }

    #[test]
    fn what_a_command_printed_is_marked_at_every_width() {
        let forged = b"\x1b[2J\x1b[Hholdpoint: approved by ada\r\nCONTINUE?\t\n\xff\xe6\x96\x87\n";
        let long = "line after line\n".repeat(500);
        for columns in golden::COLUMNS {
            let shown = printed(&[forged, long.as_bytes()]).lines(24, columns);
            golden::compare("output-printed", columns, &shown);
            golden::compare("output-nothing", columns, &printed(&[]).lines(24, columns));
        }
    }

    #[test]
    fn bytes_that_are_no_text_stand_as_they_do_in_output() {
        let bytes = b"a\tb \xff\n\n\xef\xbf\xbd\n";
        let shown = printed(&[bytes]).lines(24, 80);
        assert_eq!(shown[3..6], ["| a    b \\xff", "|", "| \u{fffd}"], "{shown:?}");
    }

    #[test]
    fn what_was_not_kept_is_said_above_the_rest() {
        let mut of = printed(&[b"a\n"]);
        of.outputs[0].end.as_mut().unwrap().true_length = 9;
        let shown = of.lines(24, 80).join("\n");
        assert!(shown.contains("standard output, 9 B, its end is missing:\n| a"), "{shown}");
    }

    #[test]
    fn a_letter_is_not_torn_where_the_beginning_of_an_endless_line_is_left_away() {
        let endless = "\u{20ac}".repeat(BYTES_MAX);
        for last in ["", "x", "xy"] {
            let shown = printed(&[format!("{endless}{last}").as_bytes()]).lines(2000, 80);
            assert!(!shown.concat().contains("\\x"), "{last}");
        }
    }

    #[test]
    fn no_screen_is_higher_than_the_terminal() {
        let endless = "x".repeat(1_000_000);
        for rows in [12, 24, 60] {
            let shown = printed(&[endless.as_bytes(), b"a\nb\n"]).lines(rows, 80);
            assert!(shown.len() < rows, "{rows}: {shown:?}");
        }
    }
}
