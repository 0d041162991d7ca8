//! A run as a recording that asciinema plays: asciicast, version 2.

use super::merged::{Chunk, Merged};
use super::{expect_verified, nothing_kept, read};
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::run_id;
use crate::text::counted;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_replay::CapturedOutput;
use serde_json::{Value, json};

/// The size of a terminal where none is on record.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

const NANOSECONDS: f64 = 1e9;

/// What is played, and how it is known.
pub(crate) struct Cast {
    /// The header, then one line an event.
    pub(crate) lines: Vec<Value>,
    /// The run.
    pub(crate) run: Text,
    /// Exit 3 where bytes are missing among those that are played.
    pub(crate) exit: Exit,
}

/// What the last attempt that printed anything printed, once all of it has verified.
pub(crate) fn cast(directory: &Directory, wanted: &str) -> Result<Cast, Failure> {
    let loop_id = run_id::find(directory, wanted)?;
    let found = read(directory, &loop_id)?;
    let run = &*found.run;
    let streams = [OutputStream::Stdout, OutputStream::Stderr];
    let printed = run.outputs.iter().filter(|output| streams.contains(&output.stream));
    let newest = |output: &&CapturedOutput| (output.length() > 0, output.attempt);
    let attempt = printed.clone().max_by_key(newest).map(|output| output.attempt);
    let attempt = attempt.ok_or_else(|| nothing_kept(run, &streams, None))?;
    let outputs: Vec<&CapturedOutput> = printed.filter(|it| it.attempt == attempt).collect();
    outputs.iter().try_for_each(|it| expect_verified(run, it, found.searched.reach()))?;
    let size = run.terminals.get(&attempt);
    let merged = Merged::of(&outputs, usize::MAX);
    let began = merged.chunks.iter().find_map(Chunk::at).unwrap_or(run.entity.started_at);
    let began_ns = began.nanoseconds();
    let mut lines = vec![json!({
        "version": 2,
        "width": size.map_or(COLUMNS, |size| size.columns),
        "height": size.map_or(ROWS, |size| size.rows),
        "timestamp": began_ns / 1_000_000_000,
        "title": loop_id,
    })];
    lines.extend(events(&merged.chunks, began_ns));
    let exit = if merged.has_hole() { Exit::NOT_FOUND } else { Exit::DONE };
    Ok(Cast { lines, run: run.entity.loop_id().into(), exit })
}

/// What appears, and when: nothing appears before what came before it.
fn events(chunks: &[Chunk<'_>], began_ns: u64) -> Vec<Value> {
    let is_of_terminal = chunks.iter().any(|chunk| has_ends_of_terminal(chunk.bytes));
    let (mut texts, mut newest) = ([Decoder::default(), Decoder::default()], 0_u64);
    let mut events = Vec::new();
    for chunk in chunks {
        let after = chunk.at().map_or(newest, |at| at.nanoseconds().saturating_sub(began_ns));
        newest = newest.max(after);
        if let Some(hole) = chunk.hole {
            let missing = format!("{} are missing here", counted(hole.length, "byte"));
            events.push(json!([seconds(newest), "m", missing]));
        }
        let [stdout, stderr] = &mut texts;
        let decoder = if chunk.stream == OutputStream::Stderr { stderr } else { stdout };
        let text = decoder.text(chunk.bytes, chunk.hole.is_some());
        push(&mut events, newest, &text, is_of_terminal);
    }
    for decoder in texts {
        push(&mut events, newest, &decoder.rest(), is_of_terminal);
    }
    events
}

fn push(events: &mut Vec<Value>, at_ns: u64, text: &str, is_of_terminal: bool) {
    if text.is_empty() {
        return;
    }
    // Without a terminal between, nobody has put the cursor back to the beginning of a line.
    let text = if is_of_terminal { text.to_string() } else { text.replace('\n', "\r\n") };
    events.push(json!([seconds(at_ns), "o", text]));
}

/// Whether lines end as a terminal ends them.
fn has_ends_of_terminal(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"\r\n")
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

    /// What has no end, at the end.
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
    fn an_event_has_seconds_and_fractions_of_them() {
        assert_eq!(seconds(0), 0.0);
        assert_eq!(seconds(1_500_000_400), 1.5);
    }
}
