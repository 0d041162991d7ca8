//! Output of a run, as its records hold it: in pieces that were recorded while it ran, or in the
//! evidence itself, as older programs recorded it.

use crate::recorder_notes::NotRecorded;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, OutputEnd, OutputPieces,
    OutputRecorded, OutputStream, PieceView, RecordedStream,
};
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::{Event, Time};
use holdpoint_log_files::Standing;
use std::ops::Range;

/// A stream of an attempt's output, as far as it is on record.
#[derive(Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Attempt that printed it, from 1.
    pub attempt: u8,
    /// The stream.
    pub stream: OutputStream,
    /// The length and the digest of the whole; `None`: its end is not on record.
    pub end: Option<OutputEnd>,
    /// The pieces, in the order of the stream.
    pub parts: Vec<OutputPart>,
    /// The newest record that holds some of it or says something of it.
    pub sequence: u64,
    /// Proof of that record.
    pub standing: Standing,
    /// Bytes that are on record. Whoever shows it to a person needs that person's wish.
    pub bytes: Vec<u8>,
    /// True if what its evidence states is what its records hold.
    pub is_consistent: bool,
    /// Ranges of the bytes for which the disk had no room; `None`: that is not known, for its
    /// recorder was lost or did not write all of it down.
    pub without_room: Option<Vec<(u64, u64)>>,
}

/// Bytes of a stream that follow each other without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// Place in the stream where it begins.
    pub offset: u64,
    /// Place among the bytes that are on record.
    pub place: Range<usize>,
    /// Time when its first byte was read, by the recorder's clock, where that is on record.
    pub first_byte_at: Option<Time>,
    /// True if bytes may be left out before it: it was recorded at the end of a span.
    pub is_behind_gap: bool,
    /// The record that holds it.
    pub sequence: u64,
    /// Proof of that record.
    pub standing: Standing,
}

/// Bytes of a stream that are not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputHole {
    /// Place in the stream where they begin.
    pub offset: u64,
    /// Number of them.
    pub length: u64,
    /// Among the bytes that are on record, where they would be.
    pub place: usize,
    /// Why they are missing.
    pub why: Missing,
}

/// Why bytes are not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are more than the run was to keep.
    BeyondLimit,
    /// The disk was full.
    DiskFull,
    /// The disk was full for so many of them, and the rest is more than the run was to keep.
    Both(u64),
    /// No record says why.
    Unknown,
}

impl Missing {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeyondLimit => "beyond_limit",
            Self::DiskFull => "disk_full",
            Self::Both(_) => "disk_full_and_beyond_limit",
            Self::Unknown => "unknown",
        }
    }
}

impl CapturedOutput {
    /// Why so many bytes from an offset on are missing.
    fn why(&self, begin: u64, length: u64) -> Missing {
        let Some(ranges) = self.end.and(self.without_room.as_ref()) else {
            return Missing::Unknown;
        };
        let end = begin.saturating_add(length);
        let within = |&(from, to): &(u64, u64)| to.min(end).saturating_sub(from.max(begin));
        match ranges.iter().map(within).sum::<u64>() {
            0 => Missing::BeyondLimit,
            all if all >= length => Missing::DiskFull,
            some => Missing::Both(some),
        }
    }

    /// Returns how long the stream is, as far as it is known.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end.map_or_else(|| self.recorded_end(), |end| end.true_length)
    }

    /// SHA-256 of the whole stream, where its end is on record.
    #[must_use]
    pub fn whole_sha256(&self) -> Option<&Digest> {
        self.end.as_ref().map(|end| &end.whole_sha256)
    }

    /// The records that hold it or say something of it, and what is proven of each.
    pub fn records(&self) -> impl Iterator<Item = (u64, Standing)> {
        let parts = self.parts.iter().map(|part| (part.sequence, part.standing));
        parts.chain([(self.sequence, self.standing)])
    }

    /// Returns where the last byte on record ends.
    fn recorded_end(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.offset.saturating_add(part.place.len() as u64))
    }

    /// The bytes that are missing, in the order of the stream. What comes behind an end that is not
    /// on record is not known.
    pub fn holes(&self) -> impl Iterator<Item = OutputHole> {
        let ends = self.parts.iter().map(|part| (part.offset, part.place.start));
        let last = self.end.map(|end| (end.true_length, self.bytes.len()));
        let mut known = 0_u64;
        let mut parts = self.parts.iter();
        ends.chain(last).filter_map(move |(offset, place)| {
            let (begin, length) = (known, offset.saturating_sub(known));
            let part = parts.next();
            known = part.map_or(offset, |it| it.offset.saturating_add(it.place.len() as u64));
            let why = || self.why(begin, length);
            (length > 0).then(|| OutputHole { offset: begin, length, place, why: why() })
        })
    }

    /// Counts the bytes that are missing.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.holes().map(|hole| hole.length).sum()
    }

    /// Returns whether the bytes are what was printed, as far as they say so: they fit what the
    /// evidence states, and where none is missing they have the digest of the whole.
    #[must_use]
    pub fn fits(&self) -> bool {
        let is_whole = self.end.filter(|_| self.missing() == 0);
        self.is_consistent && is_whole.is_none_or(|end| sha256(&self.bytes) == end.whole_sha256)
    }
}

/// The outputs of a run, as its records are met.
#[derive(Default)]
pub(crate) struct Outputs {
    outputs: Vec<CapturedOutput>,
    /// Streams as the state would keep them, of each that is recorded in pieces.
    recorded: Vec<(usize, RecordedStream)>,
    /// The attempt that runs; 0: its start was not met.
    attempt: u8,
}

impl Outputs {
    /// Takes an event of the run.
    pub(crate) fn take(&mut self, event: &Event, sequence: u64, standing: Standing) {
        match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => {
                self.attempt = body.attempt;
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
                self.take_evidence(body, self.attempt, sequence, standing);
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)) => {
                self.take_piece(body, sequence, standing);
            }
            _ => {}
        }
    }

    fn take_piece(&mut self, body: &OutputRecorded, sequence: u64, standing: Standing) {
        let place = self.place(&body.loop_id, body.attempt, body.stream);
        let Some((at, known)) = self.recorded.get_mut(place) else { return };
        let Some(output) = self.outputs.get_mut(*at) else { return };
        let view = PieceView::of_event(body);
        output.sequence = sequence;
        output.standing = standing;
        if self.attempt == 0 && known.pieces == 0 {
            // Pieces may lie before the records that are met.
            known.end = view.offset.saturating_sub(view.gap.map_or(0, |gap| gap.length));
        }
        if known.check(view).is_err() {
            // What the rules forbid does not count: the pieces before it stay what they are.
            output.is_consistent = false;
            return;
        }
        known.take(view, &body.raw_data.sha256());
        let begin = output.bytes.len();
        output.bytes.extend_from_slice(body.raw_data.as_bytes());
        output.parts.push(OutputPart {
            offset: body.offset,
            place: begin..output.bytes.len(),
            first_byte_at: Some(body.first_byte_at),
            is_behind_gap: body.gap.is_some(),
            sequence,
            standing,
        });
    }

    fn take_evidence(
        &mut self,
        body: &EvidenceCaptured,
        attempt: u8,
        sequence: u64,
        standing: Standing,
    ) {
        if let Some(told) = NotRecorded::of(body) {
            let of_attempt = self.outputs.iter_mut().filter(|output| output.attempt == attempt);
            of_attempt.for_each(|output| output.without_room = told.ranges_of(output.stream));
            return;
        }
        match &body.content {
            EvidenceContent::OutputPieces(stated) => {
                self.take_stated(body, attempt, stated, (sequence, standing));
            }
            content => {
                let raw = body.raw_data.as_bytes();
                let Some(extent) = content.output() else { return };
                let head = match content {
                    EvidenceContent::OutputCut(cut) => usize::try_from(cut.head_length).ok(),
                    _ => None,
                };
                let head = head.unwrap_or(raw.len()).min(raw.len());
                let tail = extent.true_length.saturating_sub((raw.len() - head) as u64);
                let part = |offset, place| OutputPart {
                    offset,
                    place,
                    first_byte_at: None,
                    is_behind_gap: false,
                    sequence,
                    standing,
                };
                let parts = [part(0, 0..head), part(tail, head..raw.len())];
                self.outputs.push(CapturedOutput {
                    attempt,
                    stream: extent.stream,
                    end: Some(OutputEnd {
                        true_length: extent.true_length,
                        whole_sha256: extent.whole_sha256,
                    }),
                    parts: parts.into_iter().filter(|part| !part.place.is_empty()).collect(),
                    sequence,
                    standing,
                    bytes: raw.to_vec(),
                    is_consistent: true,
                    without_room: Some(Vec::new()),
                });
            }
        }
    }

    fn take_stated(
        &mut self,
        body: &EvidenceCaptured,
        attempt: u8,
        stated: &OutputPieces,
        (sequence, standing): (u64, Standing),
    ) {
        let place = self.place(&body.loop_id, attempt, stated.stream);
        let Some((at, known)) = self.recorded.get_mut(place) else { return };
        let Some(output) = self.outputs.get_mut(*at) else { return };
        output.is_consistent &= known.check_stated(stated).is_ok();
        known.is_stated = true;
        output.end = stated.end;
        output.sequence = sequence;
        output.standing = standing;
    }

    /// Returns where a stream that is recorded in pieces is among them, from now on.
    fn place(&mut self, loop_id: &str, attempt: u8, stream: OutputStream) -> usize {
        let is_it = |(at, known): &(usize, RecordedStream)| {
            let is_of = |output: &CapturedOutput| attempt == 0 || output.attempt == attempt;
            known.stream == stream && self.outputs.get(*at).is_some_and(is_of)
        };
        if let Some(place) = self.recorded.iter().position(is_it) {
            return place;
        }
        self.outputs.push(CapturedOutput {
            attempt,
            stream,
            end: None,
            parts: Vec::new(),
            sequence: 0,
            standing: Standing::Proven,
            bytes: Vec::new(),
            is_consistent: true,
            without_room: Some(Vec::new()),
        });
        let known = RecordedStream::new(loop_id, attempt, stream);
        self.recorded.push((self.outputs.len().saturating_sub(1), known));
        self.recorded.len().saturating_sub(1)
    }

    /// All of them.
    pub(crate) fn into_all(self) -> Vec<CapturedOutput> {
        self.outputs
    }
}
