//! The picture of a log: a bar of a few cells, true of every damaged place however many there are.
//!
//! Where a place lies is known before the log's length is. So the places are kept as bits that each
//! stand for a quantum of bytes; the quantum doubles, and the bits are folded, as the log goes on.

use super::region::{Cause, Region};
use holdpoint_log_format::names;
use serde::Serialize;

/// Most cells of a bar.
pub const CELLS_MAX: u64 = 64;

/// Number of quanta there may be: many for each cell, so that none is marked for its neighbour.
const QUANTA_MAX: u64 = 1 << 16;

/// A log as a bar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// A character for each part of what was written in the segments, at most [`CELLS_MAX`]:
    /// [`Picture::DAMAGED`] where a damaged place lies, else [`Picture::BORDER`] where a segment
    /// begins, else [`Picture::HELD`]. What is missing marks the part where it should be.
    pub bar: String,
    /// Damaged places that lie in no segment, as those of HEAD.
    pub elsewhere: u64,
}

impl Picture {
    /// Nothing here is damaged.
    pub const HELD: char = '=';
    /// Nothing here is damaged, and a segment begins.
    pub const BORDER: char = '|';
    /// Something here is damaged.
    pub const DAMAGED: char = 'X';
}

/// A picture while the log is mapped. Its bytes are counted through the segments, as far as each
/// of them is written.
#[derive(Debug)]
pub(super) struct Drawing {
    segments: Vec<SegmentSpan>,
    /// Bytes of all segments so far.
    total: u64,
    /// Bytes that one of `marks` stands for, a power of two: `total < quantum * QUANTA_MAX`.
    quantum: u64,
    marks: Vec<bool>,
    elsewhere: u64,
}

/// A segment in a drawing.
#[derive(Clone, Copy, Debug)]
struct SegmentSpan {
    first: u64,
    begin: u64,
    used: u64,
}

impl Drawing {
    pub(super) fn new() -> Self {
        let marks = vec![false; usize::try_from(QUANTA_MAX).unwrap_or_default()];
        Self { segments: Vec::new(), total: 0, quantum: 1, marks, elsewhere: 0 }
    }

    /// Goes on with the segment that begins with record `first` and is written up to `used`.
    pub(super) fn begin(&mut self, first: u64, used: u64) {
        self.segments.push(SegmentSpan { first, begin: self.total, used });
        self.total = self.total.saturating_add(used);
        while self.total / self.quantum >= QUANTA_MAX {
            self.fold();
        }
    }

    fn fold(&mut self) {
        let pairs = self.marks.chunks(2).map(|pair| pair.contains(&true));
        let mut folded: Vec<bool> = pairs.collect();
        folded.resize(self.marks.len(), false);
        self.marks = folded;
        self.quantum = self.quantum.saturating_mul(2);
    }

    /// Marks where a damaged place lies.
    pub(super) fn mark(&mut self, region: &Region) {
        let Some((from, to)) = self.place(region) else {
            self.elsewhere += 1;
            return;
        };
        let index = |at: u64| usize::try_from(at / self.quantum).unwrap_or(usize::MAX);
        let (first, last) = (index(from), index(to.saturating_sub(1).max(from)));
        self.marks
            .iter_mut()
            .take(last.saturating_add(1))
            .skip(first)
            .for_each(|mark| *mark = true);
    }

    /// The bytes that a region is drawn as; where it has none, those behind its place.
    fn place(&self, region: &Region) -> Option<(u64, u64)> {
        if region.file == names::SEGMENTS {
            let at = self.place_of_records(region);
            return Some((at, at));
        }
        let name = region.file.strip_prefix(names::SEGMENTS)?.strip_prefix('/')?;
        let first = names::parse_segment(name)?;
        let known = self.segments.binary_search_by_key(&first, |segment| segment.first).ok();
        let Some(segment) = known.and_then(|known| self.segments.get(known)) else {
            let at = self.begin_behind(first);
            return Some((at, at));
        };
        let last = segment.used.saturating_sub(1);
        let within = |offset: u64| segment.begin.saturating_add(offset);
        Some((within(region.offset.min(last)), within(region.end().min(segment.used))))
    }

    /// Returns where records should be that no file holds, or the one that a witness contradicts.
    fn place_of_records(&self, region: &Region) -> u64 {
        match (region.records, &region.cause) {
            (Some(records), _) => self.begin_behind(records.first),
            (None, Cause::Rechained { to, .. }) => {
                let before = self.segments.iter().rev().find(|segment| segment.first <= *to);
                before.map_or(0, |segment| segment.begin)
            }
            _ => self.total,
        }
    }

    /// Returns where the first segment behind this record begins, or the end.
    fn begin_behind(&self, sequence: u64) -> u64 {
        let behind = self.segments.partition_point(|segment| segment.first <= sequence);
        self.segments.get(behind).map_or(self.total, |segment| segment.begin)
    }

    pub(super) fn finish(self) -> Picture {
        let is_blank = self.total == 0 && !self.marks.contains(&true);
        let width = if is_blank { 0 } else { self.total.clamp(1, CELLS_MAX) };
        let mut cells = vec![Picture::HELD; usize::try_from(width).unwrap_or_default()];
        let mut paint = |at: u64, what: char| {
            let cell = u128::from(at) * u128::from(width) / u128::from(self.total.max(1));
            let cell = cell.min(u128::from(width.saturating_sub(1)));
            let cell = usize::try_from(cell).ok().and_then(|cell| cells.get_mut(cell));
            cell.into_iter().for_each(|cell| *cell = what);
        };
        self.segments.iter().for_each(|segment| paint(segment.begin, Picture::BORDER));
        for (mark, number) in self.marks.iter().zip(0_u64..) {
            if *mark {
                paint(number * self.quantum, Picture::DAMAGED);
            }
        }
        Picture { bar: cells.into_iter().collect(), elsewhere: self.elsewhere }
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::{Certainty, Records};
    use super::*;
    use holdpoint_log_files::survey::segment_path;

    fn region(file: String, offset: u64, length: u64, records: Option<Records>) -> Region {
        let (cause, certainty) = (Cause::Missing, Certainty::Proven);
        Region { file, offset, length, records, cause, certainty }
    }

    #[test]
    fn every_byte_of_every_segment_marks_its_own_cell_and_no_other() {
        for used in [70_u64, 5_000, 1_000_000] {
            let segments = 8;
            for damaged in 0..segments {
                for offset in (0..used).step_by((used / 37) as usize) {
                    let mut drawing = Drawing::new();
                    for segment in 0..segments {
                        drawing.begin(segment + 1, used);
                        if segment == damaged {
                            drawing.mark(&region(segment_path(segment + 1), offset, 1, None));
                        }
                    }
                    let bar = drawing.finish().bar;
                    let marked: Vec<_> = bar.match_indices(Picture::DAMAGED).collect();
                    let at = damaged * used + offset;
                    let near = at * CELLS_MAX / (used * segments);
                    assert_eq!(bar.len() as u64, CELLS_MAX);
                    assert_eq!(marked.len(), 1, "{used} {at}: {bar}");
                    assert!(near - marked[0].0 as u64 <= 1, "{used} {at}: {bar}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_bytes_marks_the_cell_where_it_should_be() {
        let mut drawing = Drawing::new();
        drawing.begin(1, 640);
        let gone = region(names::SEGMENTS.to_string(), 0, 0, Records::new(5, 8));
        drawing.begin(9, 640);
        drawing.mark(&gone);
        drawing.begin(20, 0);
        drawing.mark(&region(segment_path(20), 0, 0, None));
        drawing.mark(&region(names::HEAD.to_string(), 0, 64, None));
        let picture = drawing.finish();
        assert_eq!(picture.bar.match_indices('X').map(|(at, _)| at).collect::<Vec<_>>(), [32, 63]);
        assert_eq!(picture.elsewhere, 1);
    }

    #[test]
    fn an_empty_log_has_no_bar_unless_something_is_wrong_with_it() {
        let mut drawing = Drawing::new();
        drawing.begin(1, 0);
        assert_eq!(drawing.finish(), Picture::default());
        let mut drawing = Drawing::new();
        drawing.begin(1, 0);
        drawing.mark(&region(segment_path(1), 0, 0, None));
        assert_eq!(drawing.finish().bar, "X");
    }
}
