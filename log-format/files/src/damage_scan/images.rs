//! Places where the header of a record may begin, anywhere in the segments: one pass over all
//! bytes, so that records that are not in their place are looked up.

use super::frames::size_at;
use super::outcome::{ChainPart, Piece};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::window::{READ_AHEAD_MAX, Window};
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, padded};
use holdpoint_log_format::zeros::last_nonzero;
use holdpoint_log_format::{Link, RecordHeader};
use std::io;

/// So many images are kept in mind, those with the highest sequences. While they are read, it may
/// be twice as many: 32 MiB.
const IMAGES_MAX: usize = 1 << 18;

/// Bytes that may be the header of a record, in whatever place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image {
    pub(super) sequence: u64,
    /// Index of its segment.
    pub(super) segment: usize,
    pub(super) offset: u64,
    /// Number of bytes it says it has.
    pub(super) length: u64,
    pub(super) link: Link,
}

/// The images of one pass, by sequence.
#[derive(Debug)]
pub(super) struct Images {
    found: Vec<Image>,
    /// Images up to this sequence are left out.
    floor: u64,
}

impl Images {
    /// Before the first pass.
    pub(super) fn none() -> Self {
        Self { found: Vec::new(), floor: u64::MAX }
    }

    /// Looks for records from `anchor` on, up to this one, that are not among the kept ones which
    /// follow from each other. An image may begin at any byte: something may have been put in.
    pub(super) fn of<S: ReadStorage>(
        storage: &S,
        segments: impl Iterator<Item = u64>,
        pieces: &[Piece],
        (anchor, last): (u64, u64),
    ) -> Result<Self, SurveyError> {
        let mut images = Self { found: Vec::new(), floor: anchor };
        for (index, segment) in segments.enumerate() {
            let file = segment_path(segment);
            let opened = storage.open(&file).map_err(io_error(&file))?;
            let opened = opened.map(Window::new).transpose().map_err(io_error(&file))?;
            let Some(mut window) = opened else { continue };
            let in_place = Places::of(segment, pieces);
            let read = images.read(&mut window, index, in_place, last);
            read.map_err(io_error(&file))?;
        }
        images.keep_highest();
        Ok(images)
    }

    fn read<F: ReadFile>(
        &mut self,
        window: &mut Window<F>,
        segment: usize,
        mut in_place: Places,
        last: u64,
    ) -> io::Result<()> {
        let (mut at, end) = (0, window.readable());
        loop {
            let bytes = window.bytes(at, READ_AHEAD_MAX)?;
            let whole = (bytes.len() + 1).saturating_sub(RECORD_HEADER_LENGTH);
            if whole == 0 {
                return Ok(());
            }
            // Behind the last byte that is not zero, nothing begins.
            let written = last_nonzero(bytes).map_or(0, |last| last + 1);
            for (offset, bytes) in (at..).zip(bytes.windows(RECORD_HEADER_LENGTH)).take(written) {
                let Some(size) = size_at(bytes) else { continue };
                let sequence = bytes.get(16..24).and_then(|bytes| bytes.first_chunk());
                let sequence = sequence.map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let length = padded(u64::from(size));
                if in_place.has(offset, length) || sequence <= self.floor || sequence > last {
                    continue;
                }
                let header = bytes.first_chunk().and_then(|it| RecordHeader::decode(it).ok());
                if let Some(header) = header.filter(|_| offset.saturating_add(length) <= end) {
                    self.found.push(Image { sequence, segment, offset, length, link: header.link });
                }
            }
            if self.found.len() >= 2 * IMAGES_MAX {
                self.keep_highest();
            }
            at += whole as u64;
        }
    }

    /// Forgets the images with the lowest sequences where there are too many.
    fn keep_highest(&mut self) {
        self.found.sort_unstable_by_key(|image| (image.sequence, image.segment, image.offset));
        if let Some(excess) = self.found.len().checked_sub(IMAGES_MAX).filter(|it| *it > 0) {
            self.floor = self.found.get(excess - 1).map_or(self.floor, |image| image.sequence);
            let floor = self.floor;
            self.found.retain(|image| image.sequence > floor);
        }
    }

    /// Returns whether every image of this sequence is here.
    pub(super) fn reach(&self, sequence: u64) -> bool {
        sequence > self.floor
    }

    /// The images of a sequence.
    pub(super) fn of_sequence(&self, sequence: u64) -> &[Image] {
        let from = self.found.partition_point(|image| image.sequence < sequence);
        let to = self.found.partition_point(|image| image.sequence <= sequence);
        self.found.get(from..to).unwrap_or_default()
    }
}

/// Places of the kept records of one file that follow from each other.
struct Places {
    /// Beginning and end of each, the last of them first.
    ranges: Vec<(u64, u64)>,
    /// Place where the next of them begins.
    next: u64,
}

impl Places {
    fn of(segment: u64, pieces: &[Piece]) -> Self {
        let linked = |piece: &Piece| match piece {
            Piece::Kept(ChainPart { segment: here, offset, end, is_linked: true, .. }) => {
                (*here == segment).then_some((*offset, *end))
            }
            _ => None,
        };
        let mut ranges: Vec<(u64, u64)> = pieces.iter().filter_map(linked).collect();
        ranges.sort_unstable_by(|one, other| other.cmp(one));
        let next = ranges.last().map_or(u64::MAX, |(from, _)| *from);
        Self { ranges, next }
    }

    /// Returns whether one of them begins at this offset, which is not before the one that was
    /// asked for last.
    fn has(&mut self, offset: u64, length: u64) -> bool {
        if offset != self.next {
            return false;
        }
        self.next = offset.saturating_add(length);
        if self.ranges.last().is_none_or(|(_, to)| self.next >= *to) {
            self.ranges.pop();
            self.next = self.ranges.last().map_or(u64::MAX, |(from, _)| *from);
        }
        true
    }
}
