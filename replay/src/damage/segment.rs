//! One segment, from its first record to its end: where its chain holds, and each gap between.

use super::cause::{Explained, Gap, explain, one_bit};
use super::forged::TIME_OR_CLAIM;
use super::ledger::Ledger;
use super::narrow::{Part, first_part};
use super::region::{Cause, Certainty, Records, Region, Witness};
use super::search::{Behind, Frame, Next, View, size_at};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::{Onward, ReadFile, Run, Stop};
use holdpoint_log_format::limits::{HEAD_LENGTH, PAGE, SEAL_LENGTH, SEGMENT_HEADER_LENGTH, padded};
use holdpoint_log_format::{ChainPosition, Record, Seal, names};
use std::io;

/// Where the records of a segment begin.
pub(super) const FIRST_RECORD: u64 = SEGMENT_HEADER_LENGTH as u64;

/// A seal that differs in so few bits from the one that is due is that one, damaged.
const SEAL_BITS_MAX: u32 = 8;

/// A segment while it is mapped.
pub(super) struct SegmentMapper<'a, F> {
    /// Its bytes.
    pub(super) view: View<F>,
    /// Its path, relative to the log's directory.
    pub(super) file: String,
    /// Somebody is writing: what follows the newest record is not yet recorded.
    pub(super) is_being_written: bool,
    /// What the checksums of the log's segments are seeded with.
    pub(super) seeds: &'a [(u64, u32)],
    /// Where the outcome goes.
    pub(super) ledger: &'a mut Ledger,
    /// The byte behind the last one that is not zero.
    pub(super) data_end: u64,
}

/// Where a segment ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Its last record, as far as it is known.
    pub(super) chain: ChainPosition,
    /// Where its seal is.
    pub(super) seal: Option<u64>,
}

/// How mapping goes on behind a gap.
enum Onwards {
    /// With the record behind this one, which begins there.
    From(ChainPosition, u64),
    /// Not: the seal is there, behind this record.
    Sealed(ChainPosition, u64),
    /// Not: nothing else is there.
    Done,
}

impl<F: ReadFile> SegmentMapper<'_, F> {
    /// Maps the segment. `start` is the place before its first record, where that is known.
    pub(super) fn map(mut self, start: Option<ChainPosition>) -> io::Result<Ended> {
        let (mut chain, mut offset) = (self.view.header.previous, FIRST_RECORD);
        if let Some(start) = start {
            chain = start;
        } else if let Some(first) = self.view.frame(FIRST_RECORD)? {
            self.ledger.begin(false);
            self.ledger.extend(
                &self.file,
                (chain.sequence, offset),
                (chain.sequence + 1, first.end),
            );
            (chain, offset) = (first.chain(), first.end);
        }
        loop {
            let stopped = self.walk(&mut chain, &mut offset)?;
            if let Stop::Seal(seal) = stopped {
                self.ledger.witness(chain.sequence, Witness::Seal);
                self.map_behind_seal(seal.offset + SEAL_LENGTH as u64)?;
                return Ok(Ended { chain, seal: Some(seal.offset) });
            }
            match self.map_damage(&chain, offset, &stopped)? {
                Onwards::From(before, at) => (chain, offset) = (before, at),
                Onwards::Sealed(last, at) => {
                    self.map_behind_seal(at + SEAL_LENGTH as u64)?;
                    return Ok(Ended { chain: last, seal: Some(at) });
                }
                Onwards::Done => return Ok(Ended { chain, seal: None }),
            }
        }
    }

    /// Walks on as far as the chain holds.
    fn walk(&mut self, chain: &mut ChainPosition, offset: &mut u64) -> io::Result<Stop> {
        let (from, at) = (*chain, *offset);
        let (mut last, mut end) = (from, at);
        let (mut batch_end, mut in_batch) = (at, false);
        let head = self.view.head;
        let (mut is_head, mut rewritten) = (false, None);
        let mut visit = |place: &_, record: &Record<'_>| {
            let place: &holdpoint_log_files::RecordPlace = place;
            let header = &record.header;
            let (sequence, link, time) = (header.sequence, header.link, header.time);
            last = ChainPosition { sequence, link, time };
            end = place.offset + place.length;
            in_batch = header.flags.more_follows();
            batch_end = if in_batch { batch_end } else { end };
            if let Some(head) = head.filter(|head| head.newest_sequence == sequence) {
                is_head = head.newest_link == link;
                rewritten = (!is_head).then_some(place.offset);
            }
            Onward::Go
        };
        let header = self.view.header;
        let run = walk(&mut self.view.window, &header, Run::from(from, 0, at), &mut visit)?;
        (*chain, *offset) = (last, end);
        self.ledger.extend(&self.file, (from.sequence, at), (last.sequence, end));
        if let Some(head) = head.filter(|_| is_head) {
            self.ledger.witness(head.newest_sequence, Witness::Head);
        }
        if let Some(offset) = rewritten {
            self.map_rewritten(offset);
        }
        let is_due = last.sequence < self.view.due;
        if in_batch && !is_due && end >= self.data_end && !self.is_being_written {
            self.lose_batch(batch_end, end);
        }
        Ok(run.stop)
    }

    /// HEAD names another link than the record of its sequence has.
    fn map_rewritten(&mut self, offset: u64) {
        let Some(head) = self.view.head else { return };
        let from = self.ledger.witnessed_outside().saturating_add(1);
        let cause = Cause::Rechained { from, to: head.newest_sequence, witness: Witness::Head };
        self.add(offset, 0, None, Explained::fits(cause));
    }

    /// Valid records of a batch whose end was never written.
    fn lose_batch(&mut self, from: u64, end: u64) {
        let torn = Explained::fits(Cause::TornWrite { boundary: end });
        self.add(from, end - from, None, torn);
    }

    fn add(&mut self, offset: u64, length: u64, records: Option<Records>, why: Explained) {
        let (file, cause, certainty) = (self.file.clone(), why.cause, why.certainty);
        self.ledger.add(Region { file, offset, length, records, cause, certainty });
    }

    /// Maps what lies at `from`, where the record behind `after` should be.
    fn map_damage(&mut self, after: &ChainPosition, from: u64, stop: &Stop) -> io::Result<Onwards> {
        if self.data_end <= from {
            self.map_nothing(after, from);
            return Ok(Onwards::Done);
        }
        if let Some(onwards) = self.map_seal(after, from)? {
            return Ok(onwards);
        }
        let behind = self.view.behind(after, from, self.data_end)?;
        if behind.next.is_none() && after.sequence >= self.view.due {
            return self.map_tail(after, from, &behind);
        }
        self.map_gap(after, from, stop, &behind)
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

    /// The seal is due here, and something near to it is.
    fn map_seal(&mut self, after: &ChainPosition, from: u64) -> io::Result<Option<Onwards>> {
        if self.view.seal(from)?.is_some() || self.view.frame(from)?.is_some() {
            return Ok(None);
        }
        let is_named = self.view.next.is_some_and(|(last, seal)| {
            (last.sequence, last.link, seal) == (after.sequence, after.link, from)
        });
        let due = Seal { last: *after, offset: from }.encode(self.view.header.seed());
        let found = self.view.window.bytes(from, SEAL_LENGTH as u64)?;
        let differs: Vec<u8> = due.iter().zip(found).map(|(due, found)| due ^ found).collect();
        let bits: u32 = differs.iter().map(|byte| byte.count_ones()).sum();
        if found.len() < due.len() || !is_named && bits > SEAL_BITS_MAX {
            return Ok(None);
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
        Ok(Some(Onwards::Sealed(*after, from)))
    }

    /// Maps a gap that something lies behind, or that should hold records.
    fn map_gap(
        &mut self,
        after: &ChainPosition,
        from: u64,
        stop: &Stop,
        behind: &Behind,
    ) -> io::Result<Onwards> {
        let next = behind.next.as_ref();
        let last = next.map_or(self.view.due, Next::last_before).max(after.sequence);
        let is_older = next.is_some_and(|next| next.last_before() < after.sequence);
        let to = next.map_or(self.end_of_gap(from)?, Next::offset);
        let missing = (!behind.budget_spent && !is_older).then(|| last - after.sequence);
        let seeds = self.seeds;
        let gap = Gap {
            from,
            to,
            after: *after,
            missing,
            frames: &behind.frames,
            next,
            is_end: to >= self.data_end,
            seeds,
        };
        if let Some(part) = first_part(&mut self.view, &gap)? {
            return self.map_part(after, from, stop, (part, &behind.frames));
        }
        let why = match &gap.next {
            Some(Next::Seal(at, seal)) if from == to && missing == Some(0) => {
                match self.explain_seal(after, seal) {
                    Some(why) => why,
                    None => return Ok(Onwards::Sealed(*after, *at)),
                }
            }
            _ if behind.budget_spent => {
                let found = "the search behind it was stopped: the bytes were made to be slow";
                Explained::new(Cause::Unknown { found: found.into() }, Certainty::Open)
            }
            _ if gap.is_end && self.view.window.length() < self.view.header.capacity => {
                Explained::proven(Cause::Truncated)
            }
            _ => self.explain(&gap, stop)?,
        };
        behind.frames.iter().for_each(|frame| self.ledger.displace(frame.header.sequence));
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
        self.go_on((after, from, to), before, next)
    }

    /// Maps the first part of a gap.
    fn map_part(
        &mut self,
        after: &ChainPosition,
        from: u64,
        stop: &Stop,
        (part, frames): (Part, &[Frame]),
    ) -> io::Result<Onwards> {
        let (to, before) = match part {
            Part::First(to, before) => (to, before),
            Part::Before(frame) => {
                let is_before = |other: &&Frame| other.end <= frame.offset;
                let frames = frames.iter().filter(is_before).cloned().collect();
                let next = Some(Next::Record(frame));
                let before = Behind { frames, next, budget_spent: false };
                return self.map_gap(after, from, stop, &before);
            }
        };
        let seeds = self.seeds;
        let (after, missing) = (*after, Some(1));
        let gap = Gap { from, to, after, missing, frames: &[], next: None, is_end: false, seeds };
        let why = self.explain(&gap, stop)?;
        let records = Records::new(before.sequence, before.sequence);
        self.add(from, to - from, records, why);
        self.ledger.begin(false);
        Ok(Onwards::From(before, to))
    }

    /// A seal behind the right record that names another link or place. One that was moved by what
    /// is said already is not told of again.
    fn explain_seal(&self, after: &ChainPosition, seal: &Seal) -> Option<Explained> {
        if seal.last.link != after.link {
            let from = self.ledger.witnessed_outside().saturating_add(1);
            let to = seal.last.sequence;
            let cause = Cause::Rechained { from, to, witness: Witness::Seal };
            return Some(Explained::fits(cause));
        }
        let found = "the seal is not where it says, or names another time".to_string();
        (!self.ledger.tells_of(&self.file))
            .then(|| Explained::new(Cause::Unknown { found }, Certainty::Open))
    }

    fn explain(&mut self, gap: &Gap<'_>, stop: &Stop) -> io::Result<Explained> {
        let stopped = match stop {
            Stop::Fault(fault) => fault.to_string(),
            _ => "no record begins there".to_string(),
        };
        self.view.restores = self.ledger.restores_left;
        let explained = explain(&mut self.view, gap, &stopped);
        self.ledger.restores_left = self.view.restores;
        explained
    }

    /// Where a gap ends behind which nothing holds: where the record that begins there ends, when
    /// all is zero behind that, else with the last byte that is not zero.
    fn end_of_gap(&mut self, from: u64) -> io::Result<u64> {
        let size = size_at(self.view.window.bytes(from, 4)?);
        let end = size.map(|size| from.saturating_add(padded(u64::from(size))));
        let last = self.view.window.length().min(self.view.header.capacity);
        let is_whole = |end: &u64| *end >= self.data_end && *end <= last;
        Ok(end.filter(is_whole).unwrap_or(self.data_end.next_multiple_of(8).min(last)).max(from))
    }

    /// Goes on behind a gap: with what is tied to the record before, else behind the first record
    /// that holds, of which its successor proves the link.
    fn go_on(
        &mut self,
        (after, from, to): (&ChainPosition, u64, u64),
        restored: Option<ChainPosition>,
        next: Option<&Next>,
    ) -> io::Result<Onwards> {
        let log = self.view.header.log;
        match next {
            None => Ok(restored.map_or(Onwards::Done, |before| Onwards::From(before, to))),
            Some(Next::Seal(at, seal)) => Ok(Onwards::Sealed(seal.last, *at)),
            Some(Next::Head(head)) => {
                let (sequence, link) = (head.newest_sequence, head.newest_link);
                let chain = ChainPosition { sequence, link, time: after.time };
                Ok(Onwards::From(chain, head.end_offset))
            }
            Some(Next::Record(frame)) => {
                let stored = self.view.link_stored_at(from)?;
                let sequence = frame.header.sequence.saturating_sub(1);
                let of = |link| ChainPosition { sequence, link, time: after.time };
                let stored = stored.map(of);
                let straight = (sequence == after.sequence).then_some(*after);
                let mut known = [restored, straight, stored].into_iter().flatten();
                let known = known
                    .find(|before| before.sequence == sequence && frame.follows(log, &before.link));
                Ok(match known {
                    Some(before) => Onwards::From(before, frame.offset),
                    None => {
                        let until = (frame.header.sequence, frame.end);
                        self.ledger.extend(&self.file, (sequence, frame.offset), until);
                        self.check_head_at(frame);
                        Onwards::From(frame.chain(), frame.end)
                    }
                })
            }
        }
    }

    /// A record that is passed over may be the one that HEAD names.
    fn check_head_at(&mut self, frame: &Frame) {
        let sequence = frame.header.sequence;
        let Some(head) = self.view.head.filter(|head| head.newest_sequence == sequence) else {
            return;
        };
        match head.newest_link == frame.header.link {
            true => self.ledger.witness(sequence, Witness::Head),
            false => self.map_rewritten(frame.offset),
        }
    }

    /// Bytes behind the newest record that anything names.
    fn map_tail(
        &mut self,
        after: &ChainPosition,
        from: u64,
        behind: &Behind,
    ) -> io::Result<Onwards> {
        if self.is_being_written {
            return Ok(Onwards::Done);
        }
        let first = self.first_nonzero(from)?;
        if first == from && behind.frames.is_empty() && self.is_beginning(after, from)? {
            let to = self.end_of_gap(from)?;
            let gap = Gap {
                from,
                to,
                after: *after,
                missing: Some(1),
                frames: &[],
                next: None,
                is_end: true,
                seeds: self.seeds,
            };
            let found = self.explain(&gap, &Stop::Nothing)?;
            let records = Records::new(after.sequence + 1, after.sequence + 1);
            let is_flip = found.before.is_some();
            let why = if is_flip { found } else { torn(self.data_end) };
            self.add(from, to - from, records.filter(|_| is_flip), why);
            return Ok(Onwards::Done);
        }
        let why = match behind.frames.first() {
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
        Ok(Onwards::Done)
    }

    /// Whether what is there looks like the beginning of the next record.
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
