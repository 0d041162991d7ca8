//! The streams of an attempt in the order in which they came.

use crate::captured_output::{CapturedOutput, OutputHole};
use crate::waiting::WaitingOutput;
use holdpoint_domain::Time;
use holdpoint_domain::evidence_capture::OutputStream;
use serde_json::{Value, json};

/// Output that is shown: the pieces of the chosen streams, in the order in which they came.
pub struct MergedOutput<'o> {
    /// The part that is on record.
    pub chunks: Vec<Chunk<'o>>,
    /// The part behind it that waits in the run's file: unproven.
    pub waiting: Vec<Chunk<'o>>,
}

/// A piece of it, and what is missing before it.
#[derive(Clone, Copy)]
pub struct Chunk<'o> {
    /// Its stream.
    pub stream: OutputStream,
    /// Bytes that are missing before it.
    pub hole: Option<OutputHole>,
    /// Its bytes.
    pub bytes: &'o [u8],
    offset: u64,
    first_byte_at: Option<Time>,
    is_behind_gap: bool,
    /// Its record; of what waits, its entry in the run's file.
    pub sequence: u64,
}

impl<'o> MergedOutput<'o> {
    /// The last lines of some streams, counted over all of them.
    #[must_use]
    pub fn of(outputs: &[&'o CapturedOutput], waiting: &'o [WaitingOutput], lines: usize) -> Self {
        let mut chunks: Vec<Chunk<'o>> = outputs.iter().flat_map(|it| of_stream(it)).collect();
        chunks.sort_by_key(|chunk| chunk.sequence);
        let waiting: Vec<Chunk<'o>> = waiting.iter().map(of_waiting).collect();
        let mut merged = Self { chunks: as_they_came(chunks), waiting: as_they_came(waiting) };
        if lines < usize::MAX {
            merged.keep_last(lines);
        }
        merged
    }

    fn keep_last(&mut self, lines: usize) {
        let all = [self.bytes(), bytes_of(&self.waiting)].concat();
        let mut skipped = all.len().saturating_sub(last_lines(&all, lines).len());
        for chunks in [&mut self.chunks, &mut self.waiting] {
            let mut kept = Vec::new();
            for mut chunk in chunks.drain(..) {
                let cut = skipped.min(chunk.bytes.len());
                if cut > 0 {
                    // What is missing before it is not among what is shown.
                    chunk.hole = None;
                    chunk.bytes = chunk.bytes.get(cut..).unwrap_or_default();
                    chunk.offset = chunk.offset.saturating_add(cut as u64);
                    skipped = skipped.saturating_sub(cut);
                }
                if !chunk.bytes.is_empty() || (chunk.hole.is_some() && skipped == 0) {
                    kept.push(chunk);
                }
            }
            *chunks = kept;
        }
    }

    /// Tells whether bytes are missing among those that are shown.
    #[must_use]
    pub fn has_hole(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.hole.is_some())
    }

    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        bytes_of(&self.chunks)
    }
}

/// The bytes of some pieces.
#[must_use]
pub fn bytes_of(chunks: &[Chunk<'_>]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| chunk.bytes).copied().collect()
}

/// Puts pieces that are in the order of their records into the order in which they came: beyond the
/// limit of a stream a piece is recorded at the end of its span, behind what came after it.
fn as_they_came(chunks: Vec<Chunk<'_>>) -> Vec<Chunk<'_>> {
    let mut newest = Time::default();
    let mut newest_of: [Time; OutputStream::ALL.len()] = Default::default();
    let timed = chunks.into_iter().map(|chunk| {
        let at = chunk.first_byte_at.unwrap_or(newest);
        let of_stream = newest_of.get_mut(chunk.stream as usize);
        let at = match &of_stream {
            Some(of_stream) if chunk.is_behind_gap => at.max(**of_stream),
            _ => at.max(newest),
        };
        newest = newest.max(at);
        of_stream.into_iter().for_each(|of_stream| *of_stream = at);
        (at, chunk)
    });
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|(at, _)| *at);
    timed.into_iter().map(|(_, chunk)| chunk).collect()
}

const fn of_waiting(piece: &WaitingOutput) -> Chunk<'_> {
    Chunk {
        stream: piece.stream,
        hole: None,
        bytes: piece.bytes.as_slice(),
        offset: piece.offset,
        first_byte_at: piece.first_byte_at,
        is_behind_gap: piece.is_behind_gap,
        sequence: piece.number,
    }
}

/// The pieces of a stream; behind the last one, what is missing at its end.
fn of_stream(output: &CapturedOutput) -> impl Iterator<Item = Chunk<'_>> {
    let hole = |place: usize| output.holes().find(|hole| hole.place == place);
    let parts = output.parts.iter().map(move |part| Chunk {
        stream: output.stream,
        hole: hole(part.place.start),
        bytes: output.bytes.get(part.place.clone()).unwrap_or_default(),
        offset: part.offset,
        first_byte_at: part.first_byte_at,
        is_behind_gap: part.is_behind_gap,
        sequence: part.sequence,
    });
    let last = hole(output.bytes.len()).map(|hole| Chunk {
        stream: output.stream,
        hole: Some(hole),
        bytes: &[],
        offset: output.length(),
        first_byte_at: None,
        is_behind_gap: false,
        sequence: output.sequence,
    });
    parts.chain(last)
}

impl Chunk<'_> {
    /// Time when its first byte was read, where that is on record.
    #[must_use]
    pub const fn at(&self) -> Option<Time> {
        self.first_byte_at
    }

    /// Its form for programs, with the name of its number; `None` where nothing of it is there.
    #[must_use]
    pub fn json(&self, number: &str) -> Option<Value> {
        (!self.bytes.is_empty()).then(|| {
            json!({
                "stream": self.stream,
                "offset": self.offset,
                "length": self.bytes.len(),
                "first_byte_at": self.first_byte_at,
                number: self.sequence,
            })
        })
    }
}

/// Lines that begin with their time.
#[derive(Default)]
pub struct TimedLines {
    /// The stream whose line has no end yet.
    open: Option<OutputStream>,
}

impl TimedLines {
    /// A piece whose lines begin with the time at which its first byte was read, and the stream.
    #[must_use]
    pub fn timed(&mut self, chunk: &Chunk<'_>) -> Vec<u8> {
        let at = chunk.first_byte_at.map_or_else(|| "-".to_string(), |at| at.to_string());
        let mark = format!("{at} {} ", chunk.stream.name().to_ascii_lowercase()).into_bytes();
        let mut timed = Vec::new();
        for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.open.is_some_and(|stream| stream != chunk.stream) {
                timed.push(b'\n');
                self.open = None;
            }
            if self.open.is_none() {
                timed.extend_from_slice(&mark);
            }
            timed.extend_from_slice(line);
            self.open = (!line.ends_with(b"\n")).then_some(chunk.stream);
        }
        timed
    }
}

/// The last lines of some bytes.
#[must_use]
pub fn last_lines(bytes: &[u8], lines: usize) -> &[u8] {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let start = match lines.checked_sub(1) {
        None => bytes.len(),
        Some(before) => ends.map(|(at, _)| at.saturating_add(1)).nth(before).unwrap_or(0),
    };
    bytes.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole_lines() {
        assert_eq!(last_lines(b"a\nb\nc\n", 2), b"b\nc\n");
        assert_eq!(last_lines(b"a\nb\nc", 2), b"b\nc");
        assert_eq!(last_lines(b"a\nb\n", 9), b"a\nb\n");
        assert_eq!(last_lines(b"a\n\n", 1), b"\n");
        assert_eq!(last_lines(b"a\nb\n", 0), b"");
        assert_eq!(last_lines(b"", 3), b"");
    }
}
