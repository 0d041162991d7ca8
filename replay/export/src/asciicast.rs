//! The output of an attempt as a recording that asciinema plays: asciicast, version 2.

use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_replay::merged_output::{Chunk, MergedOutput};
use holdpoint_replay::{CapturedOutput, Run};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io;

/// The size of a terminal where none is on record.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

const NANOSECONDS: f64 = 1e9;

/// The streams that are played.
pub const STREAMS: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

/// Gives the header, then one line an event, as each is made: the number of events, and whether
/// bytes are missing among those that are played.
///
/// # Errors
/// A line could not be put.
pub fn play(
    run: &Run,
    attempt: u8,
    put: &mut dyn FnMut(&Value) -> io::Result<()>,
) -> io::Result<(u64, bool)> {
    let outputs = outputs(run, attempt);
    let size = run.terminals.get(&attempt);
    let merged = MergedOutput::of(&outputs, &[], usize::MAX);
    let began = merged.chunks.iter().find_map(Chunk::at);
    let began_ns = began.unwrap_or(run.entity.started_at).nanoseconds();
    put(&json!({
        "version": 2,
        "width": size.map_or(COLUMNS, |size| size.columns),
        "height": size.map_or(ROWS, |size| size.rows),
        "timestamp": began_ns / 1_000_000_000,
        "title": run.entity.loop_id(),
    }))?;
    let ends = LineEnds { are_as_told: size.is_some(), is_behind_return: false };
    let mut player = Player { put, ends, events: 0, newest: 0 };
    player.play(&merged.chunks, began_ns)?;
    Ok((player.events, merged.has_hole()))
}

/// The streams of an attempt that are played.
#[must_use]
pub fn outputs(run: &Run, attempt: u8) -> Vec<&CapturedOutput> {
    let of_attempt = run.outputs.iter().filter(|it| it.attempt == attempt);
    of_attempt.filter(|it| STREAMS.contains(&it.stream)).collect()
}

/// Player of output in its order: nothing appears before the output that came before it.
struct Player<'p> {
    put: &'p mut dyn FnMut(&Value) -> io::Result<()>,
    ends: LineEnds,
    events: u64,
    newest: u64,
}

impl Player<'_> {
    fn play(&mut self, chunks: &[Chunk<'_>], began_ns: u64) -> io::Result<()> {
        let mut texts = [Decoder::default(), Decoder::default()];
        for chunk in chunks {
            let after = chunk.at().map(|at| at.nanoseconds().saturating_sub(began_ns));
            self.newest = self.newest.max(after.unwrap_or(0));
            if let Some(hole) = chunk.hole {
                let missing = missing(hole.length);
                self.event("m", &missing)?;
            }
            let [stdout, stderr] = &mut texts;
            let decoder = if chunk.stream == OutputStream::Stderr { stderr } else { stdout };
            let text = decoder.text(chunk.bytes, chunk.hole.is_some());
            self.show(&text)?;
        }
        texts.into_iter().try_for_each(|decoder| self.show(&decoder.rest()))
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let text = self.ends.translated(text);
        self.event("o", &text)
    }

    fn event(&mut self, code: &str, data: &str) -> io::Result<()> {
        self.events = self.events.saturating_add(1);
        (self.put)(&json!([seconds(self.newest), code, data]))
    }
}

fn missing(bytes: u64) -> String {
    let plural = if bytes == 1 { "" } else { "s" };
    format!("{bytes} byte{plural} are missing here")
}

/// Ends of lines. Without a terminal between, nobody has put the cursor back to the beginning of a
/// line, unless the command did.
struct LineEnds {
    /// There was a terminal between.
    are_as_told: bool,
    /// The newest character put the cursor back.
    is_behind_return: bool,
}

impl LineEnds {
    fn translated<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.are_as_told {
            return Cow::Borrowed(text);
        }
        let mut told = String::with_capacity(text.len());
        for character in text.chars() {
            if character == '\n' && !self.is_behind_return {
                told.push('\r');
            }
            told.push(character);
            self.is_behind_return = character == '\r';
        }
        Cow::Owned(told)
    }
}

/// Seconds, to the microsecond.
#[expect(clippy::cast_precision_loss, reason = "no run takes so many years")]
fn seconds(nanoseconds: u64) -> f64 {
    (nanoseconds as f64 / NANOSECONDS * 1e6).round() / 1e6
}

/// Bytes of one stream as text. A character whose bytes come in two pieces appears with the second.
#[derive(Default)]
struct Decoder {
    open: Vec<u8>,
}

impl Decoder {
    fn text(&mut self, bytes: &[u8], begins_anew: bool) -> String {
        let mut text = if begins_anew { std::mem::take(self).rest() } else { String::new() };
        self.open.extend_from_slice(bytes);
        let whole = self.open.utf8_chunks().last().map_or(0, |last| {
            let is_begun =
                std::str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none());
            self.open.len() - if is_begun { last.invalid().len() } else { 0 }
        });
        let taken: Vec<u8> = self.open.drain(..whole).collect();
        text.push_str(&String::from_utf8_lossy(&taken));
        text
    }

    /// Returns the line without an end, at the end.
    fn rest(self) -> String {
        String::from_utf8_lossy(&self.open).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_pieces_is_one_and_bytes_that_are_none_are_marked() {
        let mut decoder = Decoder::default();
        let texts: Vec<String> = [&b"a\xe2"[..], b"\x82", b"\xacb\xff", b"\xf0\x9f"]
            .into_iter()
            .map(|piece| decoder.text(piece, false))
            .collect();
        assert_eq!(texts, ["a", "", "\u{20ac}b\u{fffd}", ""]);
        assert_eq!(decoder.text(b"c", true), "\u{fffd}c");
        assert_eq!(decoder.rest(), "");
    }

    #[test]
    fn a_line_feed_gets_a_return_unless_one_precedes_it_or_a_terminal_was_between() {
        let mut ends = LineEnds { are_as_told: false, is_behind_return: false };
        assert_eq!(ends.translated("a\nb\r\nc\r"), "a\r\nb\r\nc\r");
        assert_eq!(ends.translated("\n\n"), "\n\r\n");
        let mut ends = LineEnds { are_as_told: true, is_behind_return: false };
        assert_eq!(ends.translated("a\nb"), "a\nb");
    }

    #[test]
    fn an_event_has_seconds_and_fractions_of_them() {
        assert_eq!(seconds(0), 0.0);
        assert_eq!(seconds(1_500_000_400), 1.5);
    }
}
