//! Tied records that lie elsewhere: from HEAD back, each record that is due is looked up wherever
//! it may lie, and what stands in its place without being it gives way.
//!
//! Only one record has the link that is due, so that what carries it is that record: in another
//! place, in another order, in a segment under another name. What it says is proven where the link
//! before it gives its own; that link is known, or some record carries it.

use super::frames::{Frame, size_at};
use super::outcome::{ChainPart, Loss, Moved, Piece};
use super::part::Part;
use super::source::{Source, SourceSegment};
use super::survey::{Payload, Visit};
use crate::run::{RecordPlace, Run, walk};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::window::{READ_AHEAD_MAX, Window};
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, SEGMENT_CAPACITY_MAX, padded};
use holdpoint_log_format::zeros::last_nonzero;
use holdpoint_log_format::{ChainPosition, Link, LogId, Record, RecordHeader, SegmentHeader};
use std::io;
use std::iter::{Peekable, once};
use std::ops::ControlFlow;

/// Number of times every byte of the segments is passed over.
const PASSES_MAX: usize = 16;

/// Number of times the length of the segments may be hashed, to find out which images are whole.
const BUDGET_LENGTHS: u64 = 16;

/// So many images that carry one link are looked at.
const COPIES_MAX: usize = 16;

/// So many segments that begin before a record are asked whether it belongs to them: files without
/// records may be put between it and its own.
const SEEDS_MAX: usize = 8;

/// The search for tied records that are not in their place.
pub(super) struct Recall<'a, S: ReadStorage> {
    storage: &'a S,
    source: &'a Source,
    visit: &'a mut Visit<'a>,
    images: Images,
    passes_left: usize,
    budget: u64,
    /// The file that was looked into last.
    opened: Option<(u64, Window<S::File>)>,
}

/// Sequence and link of a record.
type SequenceLink = (u64, Link);

/// The pieces in order, and what of them was moved.
type Recalled = (Vec<Piece>, Vec<Moved>);

/// A whole record: the number in the name of its file, what its checksum is seeded with.
type Copy = (u64, SegmentHeader, Frame);

impl<'a, S: ReadStorage> Recall<'a, S> {
    pub(super) fn new(storage: &'a S, source: &'a Source, visit: &'a mut Visit<'a>) -> Self {
        let lengths = source.segments.iter().map(|it| it.length.min(SEGMENT_CAPACITY_MAX));
        let budget = lengths.fold(0, u64::saturating_add).saturating_mul(BUDGET_LENGTHS);
        let (images, passes_left) = (Images::none(), PASSES_MAX);
        Self { storage, source, visit, images, passes_left, budget, opened: None }
    }

    /// Returns what HEAD ties in its place among the pieces, and where that lies which was not in
    /// its own. `None`: all is where it belongs, as far as it is tied.
    pub(super) fn in_order(mut self, pieces: &[Piece]) -> Result<Option<Recalled>, SurveyError> {
        let Some(head) = self.source.head else { return Ok(None) };
        let anchor = self.source.anchor().sequence;
        let (mut due, mut left) = ((head.newest_sequence, head.newest_link), pieces);
        // The newest ones first; the last one counts where the one before it is no later.
        let (mut tied, mut last): (Vec<AnchoredRecords>, Option<AnchoredRecords>) =
            (Vec::new(), None);
        while due.0 > anchor {
            let mut found = in_place(&mut left, due);
            let mut is_moved = found.is_none();
            if is_moved {
                found = self.find(due, left, anchor)?;
            }
            if found.is_none() {
                // Others may go on from it in its place: either all before it is tied, or nothing.
                is_moved = false;
                found = self.up_to(left, due.0)?.filter(|it| it.ends_with(due));
            }
            let Some(found) = found else { break };
            let is_earlier =
                |it: &mut AnchoredRecords| it.is_moved && it.kept.first_time < found.last.time;
            if let Some(AnchoredRecords { kept, .. }) = last.take_if(is_earlier) {
                due = (kept.last.sequence, kept.last.link);
                break;
            }
            due = (found.from.sequence, found.from.link);
            put(&mut tied, last.replace(AnchoredRecords { kept: found, is_moved }));
        }
        put(&mut tied, last);
        if !tied.iter().any(|it| it.is_moved) {
            return Ok(None);
        }
        let moved = tied.iter().filter(|it| it.is_moved).map(|it| Moved::of(&it.kept)).collect();
        let tied = tied.into_iter().rev().map(|it| it.kept);
        self.ordered(pieces, tied, (due.0, head.newest_sequence)).map(|it| Some((it, moved)))
    }

    /// The newest kept records, up to this one, if it is among them.
    fn up_to(&mut self, pieces: &[Piece], sequence: u64) -> Result<Option<ChainPart>, SurveyError> {
        let is_before =
            |piece: &&Piece| matches!(piece, Piece::Kept(it) if it.from.sequence < sequence);
        match pieces.iter().rfind(is_before) {
            Some(Piece::Kept(kept)) if kept.is_linked && sequence == kept.last.sequence => {
                Ok(Some(kept.clone()))
            }
            Some(Piece::Kept(kept)) if kept.is_linked && sequence < kept.last.sequence => {
                self.read(kept.segment, kept.header, (kept.from, kept.offset), sequence)
            }
            _ => Ok(None),
        }
    }

    /// The records of a file behind a place, up to this one.
    fn read(
        &mut self,
        segment: u64,
        header: SegmentHeader,
        (from, offset): (ChainPosition, u64),
        last: u64,
    ) -> Result<Option<ChainPart>, SurveyError> {
        let mut part = Part::behind(from, offset, true);
        self.walk(segment, &header, (from, offset), &mut |place, record, payload| {
            part.take(record, place.length, payload);
            if record.header.sequence < last {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok((part.last.sequence == last).then(|| part.kept(segment, header)))
    }

    /// Shows the records of a file behind a place, and what their payloads are.
    fn walk(
        &mut self,
        segment: u64,
        header: &SegmentHeader,
        (from, offset): (ChainPosition, u64),
        take: &mut dyn FnMut(&RecordPlace, &Record<'_>, Payload) -> ControlFlow<()>,
    ) -> Result<(), SurveyError> {
        self.open(segment)?;
        let (Some((_, window)), visit) = (&mut self.opened, &mut *self.visit) else {
            return Ok(());
        };
        let mut show = |place: &RecordPlace, record: &Record<'_>| {
            let place = RecordPlace { segment, ..*place };
            let payload = visit(&place, record);
            take(&place, record, payload)
        };
        let run = Run::from(from, 0, offset);
        walk(window, header, run, &mut show).map(drop).map_err(io_error(&segment_path(segment)))
    }

    fn open(&mut self, segment: u64) -> Result<(), SurveyError> {
        if self.opened.as_ref().is_none_or(|(opened, _)| *opened != segment) {
            let file = segment_path(segment);
            let opened = self.storage.open(&file).map_err(io_error(&file))?;
            let window = opened.map(Window::new).transpose().map_err(io_error(&file))?;
            self.opened = window.map(|window| (segment, window));
        }
        Ok(())
    }

    /// The record that is due, wherever it lies, where the link before it is known.
    fn find(
        &mut self,
        due: SequenceLink,
        pieces: &[Piece],
        anchor: u64,
    ) -> Result<Option<ChainPart>, SurveyError> {
        let before = due.0.saturating_sub(1);
        if !self.images.reach(before.max(anchor + 1)) {
            let Some(left) = self.passes_left.checked_sub(1) else { return Ok(None) };
            self.passes_left = left;
            let names = self.source.segments.iter().map(|segment| segment.name);
            self.images = Images::of(self.storage, names, pieces, (anchor, due.0))?;
        }
        let mut copies = Vec::new();
        let is_it = |image: &&Image| image.link == due.1;
        let images = self.images.of_sequence(due.0).iter().filter(is_it).take(COPIES_MAX);
        for image in images.copied().collect::<Vec<Image>>() {
            copies.extend(self.whole(&image)?);
        }
        let headers = self.source.segments.iter().filter_map(SourceSegment::good_header);
        let known = once(self.source.anchor()).chain(headers.map(|header| header.previous));
        let known = known.filter(|place| place.sequence == before).map(|place| place.link);
        let images = self.images.of_sequence(before).iter().map(|image| image.link);
        let links: Vec<Link> = known.chain(images).collect();
        let mut found = follows_one(self.source.log, &copies, &links);
        if found.is_none() && !copies.is_empty() {
            let in_place = self.up_to(pieces, before)?.map(|it| it.last.link);
            found = follows_one(self.source.log, &copies, in_place.as_slice());
        }
        let Some(((segment, header, frame), link)) = found else { return Ok(None) };
        // What the record before it says of its time may be wrong.
        let from = ChainPosition { sequence: before, link, time: 0 };
        self.read(*segment, *header, (from, frame.offset), due.0)
    }

    /// The record, if it is whole. Its checksum is seeded with the header of the file or of the
    /// segment that it belongs to.
    fn whole(&mut self, image: &Image) -> Result<Option<Copy>, SurveyError> {
        let Some(segment) = self.source.segments.get(image.segment) else { return Ok(None) };
        let headers = self.source.segments.iter().rev().filter_map(SourceSegment::header);
        let belongs = headers.filter(|header| header.first_sequence() <= image.sequence);
        let seeds = segment.header().into_iter().chain(belongs.take(SEEDS_MAX));
        self.open(segment.name)?;
        let Some((_, window)) = &mut self.opened else { return Ok(None) };
        for header in seeds {
            // The file may be longer than any of them says.
            let header = SegmentHeader { capacity: SEGMENT_CAPACITY_MAX, ..*header };
            let frame = Frame::at(window, &header, image.offset);
            let frame = frame.map_err(io_error(&segment_path(segment.name)))?;
            self.budget = self.budget.saturating_sub(image.length);
            match frame {
                _ if self.budget == 0 => return Ok(None),
                Some(frame) => return Ok(Some((segment.name, header, frame))),
                None => {}
            }
        }
        Ok(None)
    }

    /// The pieces with what is tied in its place, which are all records behind `low` up to `high`.
    /// What is tied and lies elsewhere comes behind what is lost where it belongs.
    fn ordered(
        &mut self,
        pieces: &[Piece],
        tied: impl Iterator<Item = ChainPart>,
        (low, high): (u64, u64),
    ) -> Result<Vec<Piece>, SurveyError> {
        let (mut tied, mut ordered) = (tied.peekable(), Vec::with_capacity(pieces.len()));
        for piece in pieces {
            let Piece::Kept(kept) = piece else {
                ordered.push(piece.clone());
                continue;
            };
            put_before(kept, &mut tied, &mut ordered);
            let is_here = |it: &ChainPart| (it.segment, it.offset) == (kept.segment, kept.offset);
            let parts = match tied.next_if(is_here) {
                Some(here) if here.last.sequence >= kept.last.sequence => vec![Piece::Kept(here)],
                Some(here) => self.without(kept, (here.last.sequence, high))?,
                None => self.without(kept, (low, high))?,
            };
            for part in parts {
                if let Piece::Kept(kept) = &part {
                    put_before(kept, &mut tied, &mut ordered);
                }
                ordered.push(part);
            }
        }
        ordered.extend(tied.map(Piece::Kept));
        Ok(ordered)
    }

    /// Kept records without those that stand in the place of others, behind `low` up to `high`.
    fn without(
        &mut self,
        kept: &ChainPart,
        (low, high): (u64, u64),
    ) -> Result<Vec<Piece>, SurveyError> {
        let (before, last) = (kept.from.sequence, kept.last.sequence);
        if last <= low || before >= high {
            return Ok(vec![Piece::Kept(kept.clone())]);
        }
        if before >= low && last <= high {
            return Ok(vec![gives_way(kept.segment, kept.offset, kept.end)]);
        }
        let mut parts: Vec<(bool, Part)> = Vec::new();
        let mut from = kept.from;
        self.walk(
            kept.segment,
            &kept.header,
            (from, kept.offset),
            &mut |place, record, payload| {
                let sequence = record.header.sequence;
                let is_other = sequence > low && sequence <= high;
                if parts.last().is_none_or(|(other, _)| *other != is_other) {
                    parts.push((is_other, Part::behind(from, place.offset, true)));
                }
                let part = parts.last_mut().map(|(_, part)| part);
                part.into_iter().for_each(|part| part.take(record, place.length, payload));
                from = ChainPosition::of(&record.header);
                if sequence < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        )?;
        let piece = |(is_other, part): (bool, Part)| match is_other {
            true => gives_way(kept.segment, part.offset, part.end),
            false => Piece::Kept(part.kept(kept.segment, kept.header)),
        };
        Ok(parts.into_iter().map(piece).collect())
    }
}

/// Records in a row that are tied.
struct AnchoredRecords {
    kept: ChainPart,
    is_moved: bool,
}

/// Puts records before those that are tied; moved ones that lie in a row as one.
fn put(tied: &mut Vec<AnchoredRecords>, before: Option<AnchoredRecords>) {
    let Some(before) = before else { return };
    let place = |it: &ChainPart| (it.segment, it.header);
    let continues = |it: &&mut AnchoredRecords| {
        let is_one = it.is_moved && before.is_moved && it.kept.offset == before.kept.end;
        is_one && place(&it.kept) == place(&before.kept)
    };
    match tied.last_mut().filter(continues) {
        Some(behind) => behind.kept = before.kept.joined(&behind.kept),
        None => tied.push(before),
    }
}

/// The kept records that end with the one that is due; what is behind them is not looked at again.
fn in_place(pieces: &mut &[Piece], due: SequenceLink) -> Option<ChainPart> {
    let is_before = |piece: &Piece| matches!(piece, Piece::Kept(it) if it.from.sequence < due.0);
    let here = pieces.iter().rposition(is_before);
    *pieces = pieces.get(..here.map_or(0, |here| here + 1)).unwrap_or_default();
    let (Piece::Kept(kept), before) = pieces.split_last()? else { return None };
    let found = kept.is_linked && kept.ends_with(due);
    *pieces = if found { before } else { *pieces };
    found.then(|| kept.clone())
}

/// The copy that follows from one of these links, and that link.
fn follows_one<'c>(log: LogId, copies: &'c [Copy], links: &[Link]) -> Option<(&'c Copy, Link)> {
    copies.iter().find_map(|copy| {
        let link = links.iter().find(|link| copy.2.follows(log, link))?;
        Some((copy, *link))
    })
}

/// Puts what is tied and comes before these records among the pieces.
fn put_before(
    kept: &ChainPart,
    tied: &mut Peekable<impl Iterator<Item = ChainPart>>,
    pieces: &mut Vec<Piece>,
) {
    while let Some(before) = tied.next_if(|it| it.last.sequence <= kept.from.sequence) {
        pieces.push(Piece::Kept(before));
    }
}

/// Returns what stands in the place of records that are tied.
fn gives_way(segment: u64, from: u64, to: u64) -> Piece {
    let problem = "what is tied to a later record belongs here, and lies elsewhere";
    let loss = Loss::new(segment, from, to - from, problem.to_string());
    Piece::Lost(Loss { may_hold_records: false, ..loss })
}

/// So many images are kept in mind, those with the highest sequences. While they are read, it may
/// be twice as many: 32 MiB.
const IMAGES_MAX: usize = 1 << 18;

/// Bytes that may be the header of a record, in whatever place.
#[derive(Clone, Copy, Debug)]
struct Image {
    sequence: u64,
    /// Index of its segment.
    segment: usize,
    offset: u64,
    /// Number of bytes it says it has.
    length: u64,
    link: Link,
}

/// The images of one pass, by sequence: places where the header of a record may begin, anywhere in
/// the segments, so that records that are not in their place are looked up.
#[derive(Debug)]
struct Images {
    found: Vec<Image>,
    /// Images up to this sequence are left out.
    floor: u64,
}

impl Images {
    /// Before the first pass.
    fn none() -> Self {
        Self { found: Vec::new(), floor: u64::MAX }
    }

    /// Looks for records from `anchor` on, up to this one, that are not among the kept ones which
    /// follow from each other. An image may begin at any byte: something may have been put in.
    fn of<S: ReadStorage>(
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
    fn reach(&self, sequence: u64) -> bool {
        sequence > self.floor
    }

    /// The images of a sequence.
    fn of_sequence(&self, sequence: u64) -> &[Image] {
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
