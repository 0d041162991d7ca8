//! Output that is recorded while its command runs: the pieces, what is kept of them in the state,
//! and what the evidence of an attempt states in the place of bytes.
//!
//! The bytes are recorded once, in the pieces. The evidence (Phase-31, EXECUTOR_OUTPUT) spells out
//! length, digest and pieces, and the seed's hash covers that spelling as its raw data.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::hash::{Digest, HashBuilder};
use crate::core::ids::hex;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::core::{bodies, recorded};
use crate::evidence_capture::event::OutputRecorded;
use crate::evidence_capture::types::{OutputExtent, OutputStream};

/// Most bytes of one piece of output (64 KiB).
pub const MAX_PIECE_BYTES: usize = 64 * 1024;

/// Most pieces that one command records.
pub const MAX_PIECES_PER_COMMAND: usize = 1024;

/// Most bytes of one stream of an attempt that are recorded in pieces (1 GiB).
pub const MAX_RECORDED_BYTES: u64 = 1024 * 1024 * 1024;

bodies! {
    /// A piece of output that is offered.
    OutputPiece {
        /// The stream.
        stream: OutputStream,
        /// Place in the stream where it begins, in bytes.
        offset: u64,
        /// Time when its first byte was read, by the recorder's clock.
        first_byte_at: Timestamp,
        /// 1 byte to 64 KiB.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        raw_data: Vec<u8>,
        /// Gap before it, once bytes are left out.
        gap: Option<OutputGap>,
    }

    /// Gap between a piece and the one before it.
    #[derive(Copy)]
    OutputGap {
        /// Number of bytes of the stream that are missing right before the piece; 0: none.
        length: u64,
        /// SHA-256 of the stream from its beginning to the end of the piece.
        running_sha256: Digest,
    }
}

recorded! {
    /// Statement of evidence about an output stream whose bytes are recorded in pieces.
    OutputPieces {
        /// The stream.
        stream: OutputStream,
        /// Number of pieces there are.
        pieces: u64,
        /// Number of bytes they hold.
        kept_length: u64,
        /// The hash over all pieces, in their order.
        pieces_hash: Digest,
        /// The end of the stream; `None`: the recorder was lost before it.
        end: Option<OutputEnd>,
    }

    /// The whole of a stream.
    #[derive(Copy)]
    OutputEnd {
        /// Its length, in bytes.
        true_length: u64,
        /// Its SHA-256.
        whole_sha256: Digest,
    }
}

impl OutputPieces {
    /// Returns how much of the stream is recorded; `None`: its end is not known.
    #[must_use]
    pub fn extent(&self) -> Option<OutputExtent> {
        self.end.map(|end| OutputExtent {
            stream: self.stream,
            true_length: end.true_length,
            whole_sha256: end.whole_sha256,
            truncated: self.kept_length < end.true_length,
        })
    }

    /// The raw data of the evidence: the same, spelled out.
    #[must_use]
    pub fn spelled_out(&self) -> Vec<u8> {
        let (length, digest) = match self.end {
            Some(end) => (end.true_length.to_string(), end.whole_sha256.to_string()),
            None => (String::from("unknown"), String::from("unknown")),
        };
        format!(
            "stream={} true_length={length} whole_sha256={digest} pieces={} kept_length={} \
             pieces_hash={}",
            self.stream, self.pieces, self.kept_length, self.pieces_hash
        )
        .into_bytes()
    }
}

/// Knowledge of one stream of the attempt that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStream {
    /// The stream.
    pub stream: OutputStream,
    /// Place where the next piece begins, unless something is missing before it.
    pub end: u64,
    /// Number of bytes that are recorded.
    pub kept_length: u64,
    /// Number of pieces that are recorded.
    pub pieces: u64,
    /// The hash over them.
    pub pieces_hash: Digest,
    /// SHA-256 of the stream up to `end`, where the newest piece states it.
    pub running_sha256: Option<Digest>,
    /// True if the attempt's evidence states it: no piece follows.
    pub is_stated: bool,
}

/// Why a piece of output, or what is stated of all of them, does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceFault {
    /// Field that does not fit.
    pub field: &'static str,
    /// Value that it should have.
    pub expected: String,
    /// Value that it has.
    pub found: String,
}

fn fault<T>(
    field: &'static str,
    expected: impl ToString,
    found: impl ToString,
) -> Result<T, PieceFault> {
    Err(PieceFault { field, expected: expected.to_string(), found: found.to_string() })
}

/// Statement of a piece about itself, wherever its bytes lie.
#[derive(Debug, Clone, Copy)]
pub struct PieceView {
    /// Place where it begins.
    pub offset: u64,
    /// The time of its first byte.
    pub first_byte_at: Timestamp,
    /// Number of bytes it has.
    pub length: u64,
    /// Gap before it.
    pub gap: Option<OutputGap>,
}

impl PieceView {
    /// Makes the view of a piece that is offered.
    #[must_use]
    pub fn of(piece: &OutputPiece) -> Self {
        let length = u64::try_from(piece.raw_data.len()).unwrap_or(u64::MAX);
        let OutputPiece { offset, first_byte_at, gap, .. } = *piece;
        Self { offset, first_byte_at, length, gap }
    }

    /// Makes the view of a piece that was recorded.
    #[must_use]
    pub fn of_event(body: &OutputRecorded) -> Self {
        let OutputRecorded { offset, first_byte_at, gap, .. } = *body;
        Self { offset, first_byte_at, length: body.raw_data.length(), gap }
    }
}

impl RecordedStream {
    /// A stream of which nothing is recorded yet.
    #[must_use]
    pub fn new(loop_id: &str, attempt: u8, stream: OutputStream) -> Self {
        let pieces_hash = HashBuilder::new("holdpoint.output-pieces", 1)
            .text(loop_id)
            .number(u64::from(attempt))
            .text(stream.name())
            .finish();
        Self {
            stream,
            end: 0,
            kept_length: 0,
            pieces: 0,
            pieces_hash,
            running_sha256: None,
            is_stated: false,
        }
    }

    /// Checks whether the piece is the next one.
    ///
    /// # Errors
    /// [`PieceFault`]: the first thing that does not fit.
    pub fn check(&self, piece: PieceView) -> Result<(), PieceFault> {
        if self.is_stated {
            return fault("stream", "one that the evidence does not state yet", self.stream);
        }
        if !(1..=MAX_PIECE_BYTES as u64).contains(&piece.length) {
            return fault("length", format!("1 to {MAX_PIECE_BYTES}"), piece.length);
        }
        let gap = piece.gap.map_or(0, |gap| gap.length);
        if self.end.checked_add(gap) != Some(piece.offset) {
            let expected = format!("{} behind a gap of {gap}", self.end);
            return fault("offset", expected, piece.offset);
        }
        if piece.offset.checked_add(piece.length).is_none() {
            return fault("end", "a number of 64 bits", "more");
        }
        let kept = self.kept_length.saturating_add(piece.length);
        if kept > MAX_RECORDED_BYTES {
            return fault("recorded length", format!("at most {MAX_RECORDED_BYTES}"), kept);
        }
        Ok(())
    }

    /// Takes the next piece, whose bytes have this SHA-256.
    pub fn take(&mut self, piece: PieceView, raw_sha256: &Digest) {
        let hash = HashBuilder::new("holdpoint.output-piece", 1)
            .digest(&self.pieces_hash)
            .number(piece.offset)
            .number(piece.first_byte_at.nanoseconds());
        let hash = match piece.gap {
            None => hash.absent(),
            Some(gap) => hash.number(gap.length).digest(&gap.running_sha256),
        };
        self.pieces_hash = hash.number(piece.length).digest(raw_sha256).finish();
        self.end = piece.offset.saturating_add(piece.length);
        self.kept_length = self.kept_length.saturating_add(piece.length);
        self.pieces = self.pieces.saturating_add(1);
        self.running_sha256 = piece.gap.map(|gap| gap.running_sha256);
    }

    /// Returns what the evidence states of it.
    #[must_use]
    pub const fn stated(&self, end: Option<OutputEnd>) -> OutputPieces {
        OutputPieces {
            stream: self.stream,
            pieces: self.pieces,
            kept_length: self.kept_length,
            pieces_hash: self.pieces_hash,
            end,
        }
    }

    /// Checks whether this is what the evidence may state.
    ///
    /// # Errors
    /// [`PieceFault`]: the first thing that does not fit.
    pub fn check_stated(&self, stated: &OutputPieces) -> Result<(), PieceFault> {
        if self.is_stated {
            return fault("stream", "one that the evidence does not state yet", self.stream);
        }
        if stated.pieces != self.pieces {
            return fault("pieces", self.pieces, stated.pieces);
        }
        if stated.kept_length != self.kept_length {
            return fault("recorded length", self.kept_length, stated.kept_length);
        }
        if stated.pieces_hash != self.pieces_hash {
            return fault("hash of the pieces", self.pieces_hash, stated.pieces_hash);
        }
        let Some(end) = stated.end else { return Ok(()) };
        if end.true_length < self.end {
            return fault("length", format!("at least {}", self.end), end.true_length);
        }
        let is_at_end = end.true_length == self.end;
        match self.running_sha256.filter(|_| is_at_end) {
            Some(running) if running != end.whole_sha256 => {
                fault("SHA-256", running, end.whole_sha256)
            }
            _ => Ok(()),
        }
    }
}

/// The streams of the attempts that run, as far as pieces of them are recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedOutputs {
    loops: BTreeMap<Text, Vec<RecordedStream>>,
}

impl RecordedOutputs {
    /// Returns what is recorded of the attempt of this loop that runs.
    #[must_use]
    pub fn of(&self, loop_id: &str) -> &[RecordedStream] {
        self.loops.get(loop_id).map_or(&[], Vec::as_slice)
    }

    /// A stream of it, which begins to be known.
    pub(crate) fn stream(
        &mut self,
        loop_id: &Text,
        attempt: u8,
        stream: OutputStream,
    ) -> Option<&mut RecordedStream> {
        let streams = self.loops.entry(loop_id.clone()).or_default();
        let place = streams.iter().position(|it| it.stream == stream).unwrap_or_else(|| {
            streams.push(RecordedStream::new(loop_id, attempt, stream));
            streams.len().saturating_sub(1)
        });
        streams.get_mut(place)
    }

    /// The attempt of this loop is over.
    pub(crate) fn forget(&mut self, loop_id: &str) {
        self.loops.remove(loop_id);
    }
}

/// Returns what is recorded of a stream; nothing yet, where no piece of it is there.
#[must_use]
pub fn recorded_stream(
    recorded: &[RecordedStream],
    loop_id: &str,
    attempt: u8,
    stream: OutputStream,
) -> RecordedStream {
    let found = recorded.iter().find(|it| it.stream == stream).cloned();
    found.unwrap_or_else(|| RecordedStream::new(loop_id, attempt, stream))
}
