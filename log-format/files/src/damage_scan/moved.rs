//! Tied records that lie elsewhere: from HEAD back, each record that is due is looked for wherever
//! it may lie, and what stands in its place without being it gives way.
//!
//! Only one record has the link that is due, so that what carries it is that record: in another
//! place, in another order, in a segment under another name. What it says is proven where the link
//! before it gives its own; that link is known, or some record carries it.

use super::frames::{Frame, size_at};
use super::outcome::{Kept, Loss, Moved, Piece};
use super::part::Part;
use super::segment::SEARCHES_MAX;
use super::source::{Source, SourceSegment};
use super::survey::{Payload, Visit};
use crate::run::{Onward, RecordPlace, Run, walk};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::tie::{Mark, TiedRecords};
use crate::window::Window;
use holdpoint_log_format::limits::{ALIGNMENT, RECORD_HEADER_LENGTH, SEGMENT_CAPACITY_MAX};
use holdpoint_log_format::{ChainPosition, Link, Record, RecordHeader, SegmentHeader};
use std::io;
use std::iter::once;

/// In each search, so many images of the record that is due are looked at, and so many of the ones
/// that may be before it. Each of [`SEARCHES_MAX`] searches reads every segment twice at most.
const IMAGES_MAX: usize = 16;
const BEFORE_MAX: usize = 4_096;

/// So many segments that begin before a record are asked whether it belongs to them: files without
/// records may be put between it and its own.
const SEEDS_MAX: usize = 8;

/// The search for tied records that are not in their place.
pub(super) struct Recall<'a, S> {
    storage: &'a S,
    source: &'a Source,
    visit: &'a mut Visit<'a>,
    searches_left: usize,
    /// Where those lie that were found.
    pub(super) moved: Vec<Moved>,
}

/// Records in a row, of which the last one is due.
struct Image {
    /// The number in the name of their file.
    segment: u64,
    /// What their checksums are seeded with.
    header: SegmentHeader,
    tied: TiedRecords,
}

/// Sequence and link of a record.
type Named = (u64, Link);

impl<'a, S: ReadStorage> Recall<'a, S> {
    pub(super) fn new(storage: &'a S, source: &'a Source, visit: &'a mut Visit<'a>) -> Self {
        Self { storage, source, visit, searches_left: SEARCHES_MAX, moved: Vec::new() }
    }

    /// Lets what HEAD ties take its place among the pieces.
    pub(super) fn take_places(&mut self, pieces: &mut Vec<Piece>) -> Result<(), SurveyError> {
        let Some(head) = self.source.head else { return Ok(()) };
        let anchor = self.source.anchor().sequence;
        let mut due = (head.newest_sequence, head.newest_link);
        let mut above = pieces.len();
        while due.0 > anchor {
            let below = pieces.get(..above).unwrap_or_default();
            let here = below.iter().rposition(|piece| kept(piece, |it| it.from.sequence < due.0));
            above = here.map_or(0, |here| here + 1);
            let held = here.and_then(|here| before(pieces.get(here)?, due));
            if let Some(before) = held {
                (due, above) = (before, above.saturating_sub(1));
                continue;
            }
            let Some(found) = self.find(due)? else { break };
            due = (found.from.sequence, found.from.link);
            self.moved.push(Moved { segment: found.segment, from: found.offset, to: found.end });
            above = self.take_place(pieces, above, found)?;
        }
        Ok(())
    }

    /// Puts records where they belong, which is among the pieces before `above`. Gives their index.
    fn take_place(
        &mut self,
        pieces: &mut Vec<Piece>,
        above: usize,
        found: Kept,
    ) -> Result<usize, SurveyError> {
        let first = found.from.sequence;
        let below = pieces.get(..above).unwrap_or_default();
        let is_before = |piece: &Piece| kept(piece, |it| it.last.sequence <= first);
        let from = below.iter().rposition(is_before).map_or(0, |last| last + 1);
        // In a hole, they come behind what is lost there.
        let is_behind = |piece: &Piece| kept(piece, |it| it.from.sequence >= found.last.sequence);
        let behind = pieces.iter().skip(from).position(is_behind);
        let (mut anew, mut at) = (Vec::new(), behind.unwrap_or(pieces.len() - from));
        for piece in pieces.drain(from..).collect::<Vec<Piece>>() {
            match piece {
                Piece::Kept(kept) if kept.from.sequence < found.last.sequence => {
                    let parts = self.without(&kept, &found)?;
                    let behind = parts.iter().filter(|part| is_behind(part)).count();
                    anew.extend(parts);
                    at = anew.len() - behind;
                }
                other => anew.push(other),
            }
        }
        anew.insert(at, Piece::Kept(found));
        pieces.append(&mut anew);
        Ok(from + at)
    }

    /// Kept records without those that stand in the place of others.
    fn without(&mut self, kept: &Kept, others: &Kept) -> Result<Vec<Piece>, SurveyError> {
        let mut parts: Vec<(bool, Part)> = Vec::new();
        let range = others.from.sequence + 1..=others.last.sequence;
        if !kept.is_linked {
            let mut part = Part::behind(kept.from, kept.offset, false);
            part.end = kept.end;
            parts.push((true, part));
        }
        let mut before = kept.from;
        let mut take = |place: &RecordPlace, record: &Record<'_>, payload: Payload| {
            let sequence = record.header.sequence;
            let gives_way = range.contains(&sequence);
            if parts.last().is_none_or(|(last, _)| *last != gives_way) {
                parts.push((gives_way, Part::behind(before, place.offset, true)));
            }
            let part = parts.last_mut().map(|(_, part)| part);
            part.into_iter().for_each(|part| part.take(record, place.length, payload));
            before = ChainPosition::of(&record.header);
            if sequence < kept.last.sequence { Onward::Go } else { Onward::Stop }
        };
        if kept.is_linked {
            self.read(kept.segment, &kept.header, (kept.from, kept.offset), &mut take)?;
        }
        let piece = |(gives_way, part): (bool, Part)| match gives_way {
            false => Piece::Kept(part.kept(kept.segment, kept.header)),
            true => {
                let problem = "what is tied to a later record belongs here, and lies elsewhere";
                let length = part.end - part.offset;
                let loss = Loss::new(kept.segment, part.offset, length, problem.to_string());
                Piece::Lost(Loss { may_hold_records: false, ..loss })
            }
        };
        Ok(parts.into_iter().map(piece).collect())
    }

    /// Shows the records of a file behind a place, and whether their payloads can be read.
    fn read(
        &mut self,
        segment: u64,
        header: &SegmentHeader,
        (from, offset): (ChainPosition, u64),
        take: &mut dyn FnMut(&RecordPlace, &Record<'_>, Payload) -> Onward,
    ) -> Result<(), SurveyError> {
        let Some(mut window) = self.open(segment)? else { return Ok(()) };
        let visit = &mut *self.visit;
        let mut show = |place: &RecordPlace, record: &Record<'_>| {
            let place = RecordPlace { segment, ..*place };
            let payload = visit(&place, record);
            take(&place, record, payload)
        };
        let read = walk(&mut window, header, Run::from(from, 0, offset), &mut show);
        read.map(drop).map_err(io_error(&segment_path(segment)))
    }

    fn open(&self, segment: u64) -> Result<Option<Window<S::File>>, SurveyError> {
        let file = segment_path(segment);
        let opened = self.storage.open(&file).map_err(io_error(&file))?;
        opened.map(Window::new).transpose().map_err(io_error(&file))
    }

    /// The records that end with the one that is due, wherever they lie.
    fn find(&mut self, due: Named) -> Result<Option<Kept>, SurveyError> {
        let Some(left) = self.searches_left.checked_sub(1) else { return Ok(None) };
        self.searches_left = left;
        let images = self.images(due)?;
        let begun = match self.begun(&images)? {
            Some((image, from)) => Some((image, from, image.tied.first.offset)),
            // Nothing proves what the first one says, which is due next then.
            None => images
                .iter()
                .find(|image| image.tied.first.header.sequence < due.0)
                .map(|image| (image, image.tied.first.chain(), image.tied.first.end())),
        };
        let Some((image, from, offset)) = begun else { return Ok(None) };
        // What it says of its time may be wrong where its link is right.
        let from = ChainPosition { time: 0, ..from };
        let mut part = Part::behind(from, offset, true);
        let mut take = |place: &RecordPlace, record: &Record<'_>, payload: Payload| {
            part.take(record, place.length, payload);
            if record.header.sequence < due.0 { Onward::Go } else { Onward::Stop }
        };
        self.read(image.segment, &image.header, (from, offset), &mut take)?;
        let is_it = (part.last.sequence, part.last.link) == due;
        Ok(is_it.then(|| part.kept(image.segment, image.header)))
    }

    /// Whole records that carry the link that is due, each with those right before it. Their
    /// checksums are seeded with the header of the file or of the segment that they belong to.
    fn images(&self, due: Named) -> Result<Vec<Image>, SurveyError> {
        let (mut images, mut left) = (Vec::new(), IMAGES_MAX);
        let anchor = self.source.anchor().sequence;
        let headers = self.source.segments.iter().rev().filter_map(SourceSegment::header);
        let belongs = headers.filter(|header| header.first_sequence() <= due.0);
        let belongs: Vec<&SegmentHeader> = belongs.take(SEEDS_MAX).collect();
        for segment in &self.source.segments {
            let Some(mut window) = self.open(segment.name)? else { continue };
            let seeds = segment.header().into_iter().chain(belongs.iter().copied());
            // The file may be longer than any of them says.
            let seeds = seeds.map(|it| SegmentHeader { capacity: SEGMENT_CAPACITY_MAX, ..*it });
            let found = images_in(&mut window, seeds, due, &mut left);
            let found = found.map_err(io_error(&segment_path(segment.name)))?;
            let found = found.into_iter().map(|(header, tied)| Image {
                segment: segment.name,
                header,
                tied,
            });
            images.extend(found.filter(|it| it.tied.first.header.sequence > anchor));
        }
        Ok(images)
    }

    /// The image of which some record is the one before it, with the place behind that one.
    fn begun<'i>(
        &self,
        images: &'i [Image],
    ) -> Result<Option<(&'i Image, ChainPosition)>, SurveyError> {
        let behind = |place: ChainPosition| {
            let found = images.iter().find(|image| image.tied.follow(&place));
            found.map(|image| (image, place))
        };
        let headers = self.source.segments.iter().filter_map(SourceSegment::good_header);
        let known = once(self.source.anchor()).chain(headers.map(|header| header.previous));
        let mut found = known.filter_map(behind).next();
        let mut left = BEFORE_MAX;
        for segment in &self.source.segments {
            if found.is_some() || images.is_empty() {
                break;
            }
            let Some(mut window) = self.open(segment.name)? else { continue };
            let mut is_it = |header: &RecordHeader| {
                let is_before = |image: &Image| {
                    image.tied.first.header.sequence == header.sequence.saturating_add(1)
                };
                if left > 0 && images.iter().any(is_before) {
                    left -= 1;
                    found = behind(ChainPosition::of(header));
                }
                found.is_some()
            };
            let looked = next(&mut window, 0, &mut is_it);
            looked.map_err(io_error(&segment_path(segment.name)))?;
        }
        Ok(found)
    }
}

/// Whether a piece is one of kept records of which this holds.
fn kept(piece: &Piece, is_it: impl Fn(&Kept) -> bool) -> bool {
    matches!(piece, Piece::Kept(kept) if is_it(kept))
}

/// What is before the kept records that end with this one.
fn before(piece: &Piece, due: Named) -> Option<Named> {
    let Piece::Kept(kept) = piece else { return None };
    let is_it = kept.is_linked && (kept.last.sequence, kept.last.link) == due;
    is_it.then_some((kept.from.sequence, kept.from.link))
}

/// The whole records of one file that carry the link that is due, with those right before them.
fn images_in<F: ReadFile>(
    window: &mut Window<F>,
    seeds: impl Iterator<Item = SegmentHeader> + Clone,
    due: Named,
    left: &mut usize,
) -> io::Result<Vec<(SegmentHeader, TiedRecords)>> {
    let (mut images, mut at) = (Vec::new(), 0);
    let mut is_it = |header: &RecordHeader| (header.sequence, header.link) == due;
    while *left > 0
        && let Some(offset) = next(window, at, &mut is_it)?
    {
        *left -= 1;
        at = offset + ALIGNMENT as u64;
        for header in seeds.clone() {
            let Some(frame) = Frame::at(window, &header, offset)? else { continue };
            let (end, ends_segment) = (frame.end, false);
            let mark = Mark { sequence: due.0, link: due.1, end, ends_segment };
            images.extend(TiedRecords::find(window, &header, &mark, 0)?.map(|tied| (header, tied)));
            break;
        }
    }
    Ok(images)
}

/// The next offset at which something may be the header of a record that is looked for.
fn next<F: ReadFile>(
    window: &mut Window<F>,
    mut at: u64,
    is_it: &mut dyn FnMut(&RecordHeader) -> bool,
) -> io::Result<Option<u64>> {
    while let bytes = window.bytes(at, RECORD_HEADER_LENGTH as u64)?
        && let Some(header) = bytes.first_chunk()
    {
        if size_at(bytes).is_some() && RecordHeader::decode(header).is_ok_and(|it| is_it(&it)) {
            return Ok(Some(at));
        }
        at += ALIGNMENT as u64;
    }
    Ok(None)
}
