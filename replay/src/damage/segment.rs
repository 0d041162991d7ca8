//! One segment, from its first record to its end: the records that the scan keeps, and each gap
//! between them.

use super::cause::{Explained, Gap, HEADER, explain, in_another_order, of_one_record, one_bit};
use super::forged::TIME_OR_CLAIM;
use super::ledger::Ledger;
use super::region::{Cause, Certainty, Records, Region, Witness};
use super::view::{Next, View};
use holdpoint_log_files::damage_scan::{
    ChainPart, Frame, HoleContent, Piece, link_stored_at, size_at,
};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::{ReadFile, Run};
use holdpoint_log_format::limits::{
    ALIGNMENT, HEAD_LENGTH, PAGE, SEAL_LENGTH, SEGMENT_HEADER_LENGTH, padded,
};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::{ChainPosition, Item, Seal, names};
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;

/// Place where the records of a segment begin.
pub(super) const FIRST_RECORD: u64 = SEGMENT_HEADER_LENGTH as u64;

/// A seal that differs in so few bits from the one that is due is that one, damaged.
const SEAL_BITS_MAX: u32 = 8;

/// Content that is found where no hole is.
static NOTHING: HoleContent = HoleContent { frames: Vec::new(), is_stopped: false };

/// Most kept records of which it is asked whether they and those before them changed places.
const REORDERED_MAX: u64 = 256;

/// A segment while it is mapped.
pub(super) struct SegmentMapper<'a, F> {
    /// Its bytes.
    pub(super) view: View<F>,
    /// Its path, relative to the log's directory.
    pub(super) file: String,
    /// Somebody is writing: what follows the newest record is not yet recorded.
    pub(super) is_being_written: bool,
    /// Seeds of the checksums of the log's segments.
    pub(super) seeds: &'a [(u64, u32)],
    /// Destination of the outcome.
    pub(super) ledger: &'a mut Ledger,
    /// The byte behind the last one that is not zero.
    pub(super) data_end: u64,
}

/// End of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Its last record, as far as it is known.
    pub(super) chain: ChainPosition,
    /// Place where its seal is.
    pub(super) seal: Option<u64>,
}

impl<'a, F: ReadFile> SegmentMapper<'a, F> {
    /// Maps the segment. `start` is the place before its first record, where that is known, and
    /// `pieces` is what the scan says of the segment, in order.
    pub(super) fn map(
        mut self,
        start: Option<ChainPosition>,
        pieces: &[&Piece],
    ) -> io::Result<Ended> {
        let (mut chain, mut at) = (start.unwrap_or(self.view.header.previous), FIRST_RECORD);
        let mut is_known = start.is_some();
        let mut found = &NOTHING;
        for piece in pieces {
            match piece {
                Piece::Kept(kept) => {
                    chain = match self.map_reordered((&chain, at), kept, &found.frames)? {
                        Some(last) => last,
                        None => self.map_kept((&chain, at), is_known, kept, found)?,
                    };
                    (at, is_known, found) = (kept.end, true, &NOTHING);
                }
                Piece::Lost(loss) if loss.file == self.file && loss.offset >= FIRST_RECORD => {
                    found = &loss.found;
                }
                Piece::Lost(_) | Piece::Unproven(_) => {}
            }
        }
        self.map_end(chain, at, found)
    }

    /// Maps records that are kept where they and those before them, which are not, are the ones
    /// that are due, in another order; gives the place behind the last of them.
    fn map_reordered(
        &mut self,
        (chain, at): (&ChainPosition, u64),
        kept: &ChainPart,
        before: &[Frame],
    ) -> io::Result<Option<ChainPosition>> {
        let is_next = kept.from.sequence == chain.sequence && kept.count() <= REORDERED_MAX;
        if before.is_empty() || !is_next {
            return Ok(None);
        }
        let (mut frames, mut end) = (before.to_vec(), kept.offset);
        while let Some(frame) = self.view.frame(end)?.filter(|frame| frame.end <= kept.end) {
            end = frame.end;
            frames.push(frame);
        }
        let last = chain.sequence + frames.len() as u64;
        let gap = Gap { frames: &frames, ..self.gap(*chain, (at, kept.end), last) };
        match in_another_order(self.view.header.log, &gap) {
            Some(_) => self.map_gap(gap),
            None => Ok(None),
        }
    }

    /// Maps records that are kept, and what lies before them; gives the place behind them. Of one
    /// that was forged, that is what it was where undoing the forgery gives it.
    fn map_kept(
        &mut self,
        (chain, at): (&ChainPosition, u64),
        is_known: bool,
        kept: &ChainPart,
        found: &HoleContent,
    ) -> io::Result<ChainPosition> {
        let Some(first) = self.view.frame(kept.offset)? else { return Ok(kept.last) };
        let mut behind = None;
        let mut held = (kept.from.sequence, kept.offset);
        let log = self.view.header.log;
        if !is_known {
            self.ledger.begin(false);
        } else if kept.offset > at || kept.from.sequence > chain.sequence {
            let last = kept.from.sequence;
            let gap = self.gap(*chain, (at, kept.offset), last).with(found);
            self.map_gap(Gap { next: Some(&Next::Record(first)), ..gap })?;
        } else if chain.advance_by(&first.header, || first.link_behind(log, &chain.link)).is_err() {
            held = (kept.from.sequence + 1, first.end);
            behind =
                self.map_seam(chain, first)?.filter(|place| place.sequence == kept.last.sequence);
        }
        self.hold(held, kept)?;
        Ok(behind.unwrap_or(kept.last))
    }

    /// Records that hold, but for those up to `from`, a sequence and an offset.
    fn hold(&mut self, from: (u64, u64), kept: &ChainPart) -> io::Result<()> {
        let last = kept.last;
        self.ledger.extend(&self.file, from, (last.sequence, kept.end));
        let named = from.0 + 1..=last.sequence;
        let Some(head) = self.view.head.filter(|head| named.contains(&head.newest_sequence)) else {
            return Ok(());
        };
        if (last.sequence, last.link) == (head.newest_sequence, head.newest_link) {
            self.ledger.witness(last.sequence, Witness::Head);
            return Ok(());
        }
        let place = self.view.place_of(head.newest_sequence, kept.offset)?;
        let cause = self.ledger.rechained(head.newest_sequence, Witness::Head);
        let offset = place.map_or(kept.offset, |(offset, _)| offset);
        self.add(offset, 0, None, Explained::fits(cause));
        Ok(())
    }

    /// A record in its place that does not follow from the one before it.
    fn map_seam(
        &mut self,
        chain: &ChainPosition,
        frame: Frame,
    ) -> io::Result<Option<ChainPosition>> {
        let (from, to, sequence) = (frame.offset, frame.end, frame.header.sequence);
        let next = match self.view.frame(to)? {
            Some(next) => Some(Next::Record(next)),
            None => self.view.next_behind(&frame.chain(), to, &[])?,
        };
        let next = next.or_else(|| self.view.place_of_head(chain, from, &[]));
        let next = next.filter(|next| next.offset() == to);
        let gap = self.gap(*chain, (from, to), sequence);
        self.map_gap(Gap { next: next.as_ref(), frames: &[frame], ..gap })
    }

    fn add(&mut self, offset: u64, length: u64, records: Option<Records>, why: Explained) {
        let (file, cause, certainty) = (self.file.clone(), why.cause, why.certainty);
        self.ledger.add(Region { file, offset, length, records, cause, certainty });
    }

    /// Maps what lies at `at`, behind the last record that is kept.
    fn map_end(
        &mut self,
        mut chain: ChainPosition,
        mut at: u64,
        mut found: &HoleContent,
    ) -> io::Result<Ended> {
        self.map_unfinished(&mut chain, &mut at)?;
        loop {
            if self.is_sealed(&chain, at)? {
                self.ledger.witness(chain.sequence, Witness::Seal);
                return self.sealed(chain, at);
            }
            if self.data_end <= at {
                self.map_nothing(&chain, at);
                return Ok(Ended { chain, seal: None });
            }
            if self.map_seal(&chain, at)? {
                return self.sealed(chain, at);
            }
            let next = self.view.next_behind(&chain, at, &found.frames)?;
            if next.is_none() && chain.sequence >= self.view.due {
                self.map_tail(&chain, at, &found.frames)?;
                return Ok(Ended { chain, seal: None });
            }
            let to = next.as_ref().map_or(self.end_of_gap(at)?, Next::offset);
            let last = next.as_ref().map_or(self.view.due, Next::last_before);
            let gap = self.gap(chain, (at, to), last).with(found);
            let restored = self.map_gap(Gap { next: next.as_ref(), ..gap })?;
            found = &NOTHING;
            (chain, at) = match (next, restored) {
                (Some(Next::Seal(at, seal)), _) => return self.sealed(seal.last, at),
                (Some(Next::Head(head)), _) => {
                    let (sequence, link) = (head.newest_sequence, head.newest_link);
                    (ChainPosition { sequence, link, time: chain.time }, head.end_offset)
                }
                (_, Some(before)) if to > at => (before, to),
                _ => return Ok(Ended { chain, seal: None }),
            };
        }
    }

    fn is_sealed(&mut self, chain: &ChainPosition, at: u64) -> io::Result<bool> {
        let item = self.view.window.item(at, &self.view.header)?;
        Ok(matches!(item, Ok((Item::Seal(seal), _)) if seal.last == *chain))
    }

    fn sealed(&mut self, chain: ChainPosition, at: u64) -> io::Result<Ended> {
        self.map_behind_seal(at + SEAL_LENGTH as u64)?;
        Ok(Ended { chain, seal: Some(at) })
    }

    /// Valid records of a batch whose end was never written: they are not kept.
    fn map_unfinished(&mut self, chain: &mut ChainPosition, at: &mut u64) -> io::Result<()> {
        let (from, header) = (*at, self.view.header);
        let run = Run::from(*chain, 0, from);
        walk(&mut self.view.window, &header, run, &mut |place, record| {
            (*chain, *at) = (ChainPosition::of(&record.header), place.offset + place.length);
            ControlFlow::Continue(())
        })?;
        if *at > from && !self.is_being_written {
            let torn = Explained::fits(Cause::TornWrite { boundary: *at });
            self.add(from, *at - from, None, torn);
        }
        Ok(())
    }

    /// All is zero from `from` on.
    fn map_nothing(&mut self, after: &ChainPosition, from: u64) {
        if self.view.head.is_some_and(|head| {
            head.newest_link == after.link && head.newest_sequence != after.sequence
        }) {
            let cause = Cause::Forged { field: "newest sequence".to_string() };
            let (file, length) = (names::HEAD.to_string(), HEAD_LENGTH as u64);
            let certainty = Certainty::Proven;
            let region = Region { file, offset: 0, length, records: None, cause, certainty };
            return self.ledger.add(region);
        }
        let length = self.view.window.length();
        let missing = Records::new(after.sequence.saturating_add(1), self.view.due);
        let is_cut = length < self.view.header.capacity;
        if missing.is_some() {
            let cut = self.view.header.capacity.saturating_sub(length);
            self.add(length.min(from), cut, missing, Explained::proven(Cause::Truncated));
        } else if self.view.next.is_some_and(|(_, seal)| seal == from) && !is_cut {
            let to = from + SEAL_LENGTH as u64;
            let cause = Cause::Zeroed { from, to, sectors: 0 };
            self.add(from, SEAL_LENGTH as u64, None, Explained::proven(cause));
        }
    }

    /// The seal is due here, and something near to it is: says what is wrong with it.
    fn map_seal(&mut self, after: &ChainPosition, from: u64) -> io::Result<bool> {
        if self.view.seal(from)?.is_some() || self.view.frame(from)?.is_some() {
            return Ok(false);
        }
        let is_named = self.view.next.is_some_and(|(last, seal)| {
            (last.sequence, last.link, seal) == (after.sequence, after.link, from)
        });
        let due = Seal { last: *after, offset: from }.encode(self.view.header.seed());
        let found = self.view.window.bytes(from, SEAL_LENGTH as u64)?;
        let differs: Vec<u8> = due.iter().zip(found).map(|(due, found)| due ^ found).collect();
        let bits: u32 = differs.iter().map(|byte| byte.count_ones()).sum();
        if found.len() < due.len() || !is_named && bits > SEAL_BITS_MAX {
            return Ok(false);
        }
        let why = match one_bit(&differs) {
            Some((at, bit)) => Explained::proven(Cause::FlippedBit { at: from + at, bit }),
            None if found.iter().all(|byte| *byte == 0) => {
                let to = from + SEAL_LENGTH as u64;
                Explained::proven(Cause::Zeroed { from, to, sectors: 0 })
            }
            None => {
                let found = format!("{bits} bits of the seal differ");
                Explained::new(Cause::Unknown { found }, Certainty::Open)
            }
        };
        self.add(from, SEAL_LENGTH as u64, None, why);
        Ok(true)
    }

    /// A gap behind a record, in which the records up to `last` should be.
    fn gap(&self, after: ChainPosition, (from, to): (u64, u64), last: u64) -> Gap<'a> {
        let (is_end, seeds) = (to >= self.data_end, self.seeds);
        Gap { from, to, after, last, frames: &[], is_stopped: false, next: None, is_end, seeds }
    }

    /// Maps a gap: gives the place behind the last record in it, where undoing the cause gives
    /// that.
    fn map_gap(&mut self, gap: Gap<'_>) -> io::Result<Option<ChainPosition>> {
        let first = self.view.frame(gap.from)?.filter(|first| first.end <= gap.to);
        let first: Vec<Frame> = first.into_iter().filter(|_| gap.frames.is_empty()).collect();
        let here = gap.frames.partition_point(|frame| frame.end <= gap.to);
        let here = gap.frames.get(..here).unwrap_or_default();
        let mut gap = Gap { frames: if first.is_empty() { here } else { &first }, ..gap };
        while let Some((to, before)) = first_part(&mut self.view, &gap)? {
            let part = self.gap(gap.after, (gap.from, to), before.sequence);
            let why = self.explain(&Gap { is_end: false, ..part })?;
            let records = Records::new(before.sequence, before.sequence);
            self.add(gap.from, to - gap.from, records, why);
            self.ledger.begin(false);
            (gap.after, gap.from) = (before, to);
        }
        self.map_whole_gap(&gap)
    }

    /// Maps a gap of which no part can be told from the rest.
    fn map_whole_gap(&mut self, gap: &Gap<'_>) -> io::Result<Option<ChainPosition>> {
        let Gap { after, from, to, last, .. } = *gap;
        let why = match &gap.next {
            Some(Next::Seal(_, seal)) if from == to && gap.missing() == Some(0) => {
                match self.explain_seal(&after, seal) {
                    Some(why) => why,
                    None => return Ok(None),
                }
            }
            _ if gap.is_stopped => {
                let found = "the search behind it was stopped: the bytes were made to be slow";
                Explained::new(Cause::Unknown { found: found.into() }, Certainty::Open)
            }
            _ if gap.is_end && self.view.window.length() < self.view.header.capacity => {
                Explained::proven(Cause::Truncated)
            }
            _ => self.explain(gap)?,
        };
        gap.frames.iter().for_each(|frame| self.ledger.displace(frame.header.sequence));
        let records = Records::new(after.sequence.saturating_add(1), last);
        let is_seam = matches!(why.cause, Cause::Rechained { .. } | Cause::ForgedOrRechained);
        let (records, length) = if is_seam { (None, 0) } else { (records, to - from) };
        let before = why.before;
        let is_undecided = why.cause == Cause::ForgedOrRechained;
        self.add(from, length, records, why);
        self.ledger.begin(false);
        if is_undecided {
            let (first, last) = (after.sequence, after.sequence.saturating_add(1));
            self.ledger.extend(&self.file, (first, from), (last, to));
        }
        Ok(before)
    }

    /// A seal behind the right record that names another link or place. One that was moved by what
    /// is said already is not told of again.
    fn explain_seal(&self, after: &ChainPosition, seal: &Seal) -> Option<Explained> {
        if seal.last.link != after.link {
            let cause = self.ledger.rechained(seal.last.sequence, Witness::Seal);
            return Some(Explained::fits(cause));
        }
        let found = "the seal is not where it says, or names another time".to_string();
        (!self.ledger.tells_of(&self.file))
            .then(|| Explained::new(Cause::Unknown { found }, Certainty::Open))
    }

    fn explain(&mut self, gap: &Gap<'_>) -> io::Result<Explained> {
        let stopped = match self.view.window.item(gap.from, &self.view.header)? {
            Ok((Item::Record(record), _)) => {
                let due = gap.after.advance(self.view.header.log, &record).err();
                due.map_or_else(String::new, |fault| fault.to_string())
            }
            Ok(_) => "no record begins there".to_string(),
            Err(fault) => fault.to_string(),
        };
        self.view.restores = self.ledger.restores_left;
        let explained = explain(&mut self.view, gap, &stopped);
        self.ledger.restores_left = self.view.restores;
        explained
    }

    /// Returns where a gap ends behind which nothing holds: where the record that begins there
    /// ends, when all is zero behind that, else with the last byte that is not zero.
    fn end_of_gap(&mut self, from: u64) -> io::Result<u64> {
        let size = size_at(self.view.window.bytes(from, 4)?);
        let end = size.map(|size| from.saturating_add(padded(u64::from(size))));
        let last = self.view.window.length().min(self.view.header.capacity);
        let is_whole = |end: &u64| *end >= self.data_end && *end <= last;
        Ok(end.filter(is_whole).unwrap_or(self.data_end.next_multiple_of(8).min(last)).max(from))
    }

    /// Bytes behind the newest record that anything names.
    fn map_tail(&mut self, after: &ChainPosition, from: u64, frames: &[Frame]) -> io::Result<()> {
        if self.is_being_written {
            return Ok(());
        }
        let first = self.first_nonzero(from)?;
        if first == from && frames.is_empty() && self.is_beginning(after, from)? {
            let to = self.end_of_gap(from)?;
            let gap = self.gap(*after, (from, to), after.sequence + 1);
            let found = self.explain(&Gap { is_end: true, ..gap })?;
            let records = Records::new(after.sequence + 1, after.sequence + 1);
            let is_flip = found.before.is_some();
            let why = if is_flip { found } else { torn(self.data_end) };
            self.add(from, to - from, records.filter(|_| is_flip), why);
            return Ok(());
        }
        let why = match frames.first() {
            Some(frame)
                if frame.offset == from && frame.follows(self.view.header.log, &after.link) =>
            {
                Explained::fits(Cause::Forged { field: TIME_OR_CLAIM.to_string() })
            }
            Some(frame) if frame.offset == from => {
                let sequence = frame.header.sequence;
                let is_last = (sequence, frame.header.link) == (after.sequence, after.link);
                let certainty = if is_last { Certainty::Proven } else { Certainty::Fits };
                Explained::new(Cause::Duplicated { sequence }, certainty)
            }
            _ => self.stray(first)?,
        };
        self.add(first, self.data_end - first, None, why);
        Ok(())
    }

    /// Returns whether what is there looks like the beginning of the next record.
    fn is_beginning(&mut self, after: &ChainPosition, from: u64) -> io::Result<bool> {
        let bytes = self.view.window.bytes(from, FIRST_LINK_END)?;
        let sequence = bytes.get(16..24).and_then(|bytes| bytes.first_chunk());
        let sequence = sequence.map(|bytes| u64::from_le_bytes(*bytes));
        Ok(size_at(bytes).is_some() && sequence == after.sequence.checked_add(1))
    }

    fn first_nonzero(&mut self, from: u64) -> io::Result<u64> {
        let mut at = from;
        while at < self.data_end {
            let bytes = self.view.window.bytes(at, PAGE.min(self.data_end - at))?;
            if let Some(first) = holdpoint_log_format::zeros::first_nonzero(bytes) {
                return Ok(at + first as u64);
            }
            at += bytes.len().max(1) as u64;
        }
        Ok(from)
    }

    /// Something in space that should be zero.
    fn stray(&mut self, from: u64) -> io::Result<Explained> {
        let length = self.data_end - from;
        let one = match length {
            1 => one_bit(self.view.window.bytes(from, 1)?),
            _ => None,
        };
        Ok(Explained::proven(match one {
            Some((at, bit)) => Cause::FlippedBit { at: from + at, bit },
            None => Cause::StrayBytes,
        }))
    }

    fn map_behind_seal(&mut self, from: u64) -> io::Result<()> {
        if self.data_end <= from {
            return Ok(());
        }
        let first = self.first_nonzero(from)?;
        let why = match self.view.frame(first)? {
            Some(frame) => Explained::fits(Cause::Duplicated { sequence: frame.header.sequence }),
            None => self.stray(first)?,
        };
        self.add(first, self.data_end - first, None, why);
        Ok(())
    }
}

/// Length of the part of a record that ends with its link.
const FIRST_LINK_END: u64 = 64;

fn torn(data_end: u64) -> Explained {
    let boundary = data_end.next_multiple_of(super::cause::SECTOR);
    Explained::fits(Cause::TornWrite { boundary })
}

/// The first damaged record of a gap that holds more than one: the byte behind it, and the place
/// that what lies behind it follows from. Each costs another look at the rest, so that a segment
/// has so many at most as its size allows.
fn first_part<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
) -> io::Result<Option<(u64, ChainPosition)>> {
    let Some(missing) = gap.missing().filter(|missing| *missing > 1) else { return Ok(None) };
    if gap.frames.first().is_some_and(|frame| frame.offset == gap.from)
        || !view.may_narrow(gap.to - gap.from)
    {
        return Ok(None);
    }
    match first_restored(view, gap, missing)? {
        None if gap.frames.is_empty() && missing == 2 => second_restored(view, gap),
        first => Ok(first),
    }
}

/// The first record is still there but for one bit; its size may be what differs.
fn first_restored<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
    missing: u64,
) -> io::Result<Option<(u64, ChainPosition)>> {
    let field = view.window.bytes(gap.from, 4)?.first_chunk().copied();
    let Some(field) = field.map(u32::from_le_bytes) else { return Ok(None) };
    let end = gap.frames.first().map_or(gap.to, |frame| frame.offset);
    let others = if gap.frames.is_empty() { missing - 1 } else { 0 };
    let room = (end - gap.from).saturating_sub(others.saturating_mul(HEADER));
    let sizes = (0..32).map(|bit| field ^ 1 << bit).chain([field]);
    let lengths = sizes.filter(|size| is_legal_size(*size)).map(|size| padded(u64::from(size)));
    let lengths: BTreeSet<u64> = lengths.filter(|length| *length <= room).collect();
    for length in lengths {
        let to = gap.from + length;
        if let Some(chain) = restored(view, gap, (gap.from, to), gap.after)? {
            return Ok(Some((to, chain)));
        }
    }
    Ok(None)
}

/// Finds the second of two records where it is still there but for one bit, and follows from the
/// link that the first one carries.
fn second_restored<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
) -> io::Result<Option<(u64, ChainPosition)>> {
    let Some(link) = link_stored_at(&mut view.window, gap.from)? else { return Ok(None) };
    let sequence = gap.after.sequence.saturating_add(1);
    let first = ChainPosition { sequence, link, ..gap.after };
    let announced = size_at(view.window.bytes(gap.from, 4)?);
    let announced = announced.map(|size| gap.from + padded(u64::from(size)));
    let mut at = gap.from + HEADER;
    while at.saturating_add(HEADER) <= gap.to {
        let is_there = announced == Some(at) || leads_to(view, at, gap.to, sequence + 1)?;
        if is_there && restored(view, gap, (at, gap.to), first)?.is_some() {
            return Ok(Some((at, first)));
        }
        at += ALIGNMENT as u64;
    }
    Ok(None)
}

/// Returns whether a record of this sequence seems to begin here and to end at `end`.
fn leads_to<F: ReadFile>(view: &mut View<F>, at: u64, end: u64, sequence: u64) -> io::Result<bool> {
    let bytes = view.window.bytes(at, HEADER)?;
    let is_long = size_at(bytes).is_some_and(|size| at + padded(u64::from(size)) == end);
    let found = bytes.get(16..24).and_then(|bytes| bytes.first_chunk());
    Ok(is_long && found.is_some_and(|found| u64::from_le_bytes(*found) == sequence))
}

/// The place behind the record that these bytes are, when undoing one flip gives it back.
fn restored<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
    (from, to): (u64, u64),
    after: ChainPosition,
) -> io::Result<Option<ChainPosition>> {
    if !view.may_narrow(to - from) {
        return Ok(None);
    }
    let last = after.sequence.saturating_add(1);
    let one = Gap { from, to, after, last, frames: &[], next: None, is_end: false, ..*gap };
    Ok(of_one_record(view, &one)?.and_then(|explained| explained.before))
}
