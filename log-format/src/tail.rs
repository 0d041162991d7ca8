//! Bytes behind the longest valid run of a segment: nothing, an interrupted write, or something
//! that an interrupted write cannot have left.

use crate::chain::ChainPosition;
use crate::checksum::ChecksumSeed;
use crate::identity::LogId;
use crate::item::{Item, ItemLength};
use crate::limits::{ALIGNMENT, PAGE, RECORD_HEADER_LENGTH, SEAL_LENGTH};
use alloc::borrow::Cow;

/// Place where a record's header has its sequence, in bytes from the record's begin.
const RECORD_SEQUENCE_OFFSET: usize = 16;

/// Place where a seal has the sequence of the last record, in bytes from the seal's begin.
const SEAL_SEQUENCE_OFFSET: usize = 8;

/// The bytes behind the longest valid run that ends a batch, up to the last one that is not zero.
#[derive(Clone, Copy, Debug)]
pub struct Tail<'a> {
    /// The bytes; what follows them in the file is zero.
    pub bytes: &'a [u8],
    /// Offset of the first of them in the file.
    pub start: u64,
    /// Length of the file.
    pub capacity: u64,
    /// The log that the file belongs to.
    pub log: LogId,
    /// Seed of the segment's checksums.
    pub seed: ChecksumSeed,
    /// The newest record of the run.
    pub after: ChainPosition,
}

/// The verdict on a tail's bytes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TailShape {
    /// Nothing there.
    Zero,
    /// The start of one unfinished batch or seal, as a killed process leaves it: writes are in
    /// order, one in flight, and end at a multiple of 4 096 or at the batch's end.
    Unfinished,
    /// Anything else.
    Other,
}

/// Result of a search behind the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resync {
    /// The highest sequence that something found there proves durable, and where it was found.
    pub mark: Option<FoundMark>,
    /// The search stopped before its end: the bytes were made to be slow.
    pub budget_spent: bool,
}

/// A proof of durability found behind damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundMark {
    /// Everything up to this sequence was durable.
    pub sequence: u64,
    /// Offset in the file of the record or seal that says so.
    pub offset: u64,
}

impl Tail<'_> {
    /// Classifies the bytes.
    #[must_use]
    pub fn shape(&self) -> TailShape {
        if self.bytes.is_empty() {
            return TailShape::Zero;
        }
        let mut position = 0;
        let mut chain = self.after;
        while let Some((length, next)) = self.unfinished_record(position, &chain) {
            position += length;
            chain = next;
        }
        if self.is_torn_at(position) { TailShape::Unfinished } else { TailShape::Other }
    }

    /// The valid record at `position` that says that its batch goes on.
    fn unfinished_record(
        &self,
        position: usize,
        chain: &ChainPosition,
    ) -> Option<(usize, ChainPosition)> {
        let bytes = self.item_bytes(position)?;
        let item = Item::decode(&bytes, self.offset_of(position), self.seed).ok()?;
        let Item::Record(record) = item else { return None };
        if !record.header.flags.more_follows() {
            return None;
        }
        let next = chain.advance(self.log, &record).ok()?;
        Some((usize::try_from(record.header.footprint()).ok()?, next))
    }

    /// Offset in the file of `position` in the bytes.
    fn offset_of(&self, position: usize) -> u64 {
        self.start.saturating_add(position as u64)
    }

    /// The bytes from `position` on, with the zeros that the last item ends in: they were left out
    /// of `bytes`, which stop at the last byte that is not zero. Never more than the file holds.
    fn item_bytes(&self, position: usize) -> Option<Cow<'_, [u8]>> {
        let rest = self.bytes.get(position..)?;
        let length = self.legal_length(rest, self.offset_of(position))?;
        let length = usize::try_from(length).ok()?;
        if rest.len() >= length {
            return Some(Cow::Borrowed(rest));
        }
        let mut whole = rest.to_vec();
        whole.resize(length, 0);
        Some(Cow::Owned(whole))
    }

    /// Returns whether a write that stopped at a multiple of 4 096 explains what begins at
    /// `position`: one item of a legal size that such a multiple cuts, or none at all when
    /// `position` is one.
    fn is_torn_at(&self, position: usize) -> bool {
        let offset = self.offset_of(position);
        let Some(rest) = self.bytes.get(position..).filter(|rest| !rest.is_empty()) else {
            return offset.is_multiple_of(PAGE);
        };
        let Some(length) = self.legal_length(rest, offset) else {
            return false;
        };
        let last_cut = (offset + length - 1) / PAGE * PAGE;
        let nonzero_end = self.offset_of(self.bytes.len());
        last_cut > offset && nonzero_end <= last_cut
    }

    /// Length of the item that begins `rest`, when the segment has room for it.
    fn legal_length(&self, rest: &[u8], offset: u64) -> Option<u64> {
        let mut field = [0; 4];
        field.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let room = self.capacity.checked_sub(offset)?;
        match ItemLength::of(field) {
            ItemLength::Record(length) if length + SEAL_LENGTH as u64 <= room => Some(length),
            ItemLength::Seal if SEAL_LENGTH as u64 <= room => Some(SEAL_LENGTH as u64),
            _ => None,
        }
    }

    /// Searches the bytes for records and seals that prove durability, hashing at most `budget`
    /// bytes. A candidate counts only when the bytes before its end have room for every record
    /// between the run and it: each takes at least 64.
    #[must_use]
    pub fn resync(&self, budget: u64) -> Resync {
        let mut found = Resync::default();
        let mut left = budget;
        for position in (0..self.bytes.len()).step_by(ALIGNMENT) {
            let Some(cost) = self.candidate_cost(position) else { continue };
            if cost > left {
                found.budget_spent = true;
                break;
            }
            left -= cost;
            if let Some(mark) = self.mark_at(position) {
                found.mark =
                    found.mark.filter(|best| best.sequence >= mark.sequence).or(Some(mark));
            }
        }
        found
    }

    /// Bytes to hash at `position`, or `None` when no record or seal within bounds begins there.
    fn candidate_cost(&self, position: usize) -> Option<u64> {
        let rest = self.bytes.get(position..)?;
        let length = self.legal_length(rest, self.offset_of(position))?;
        // The zeros that the last record ends in were left out: its link may end in some.
        let mut header = [0; RECORD_HEADER_LENGTH];
        header.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        // Whatever else its header says, the frame is hashed to know whether that holds.
        let sequence_offset = match ItemLength::of(*header.first_chunk()?) {
            ItemLength::Seal => SEAL_SEQUENCE_OFFSET,
            _ => RECORD_SEQUENCE_OFFSET,
        };
        let sequence = u64::from_le_bytes(*header.get(sequence_offset..)?.first_chunk()?);
        let room = (position as u64 + length) / RECORD_HEADER_LENGTH as u64;
        let behind = sequence.checked_sub(self.after.sequence)?;
        (behind > 0 && behind <= room).then_some(length)
    }

    fn mark_at(&self, position: usize) -> Option<FoundMark> {
        let offset = self.offset_of(position);
        let sequence = match Item::decode(&self.item_bytes(position)?, offset, self.seed).ok()? {
            Item::Nothing => None,
            Item::Seal(seal) => Some(seal.last.sequence),
            Item::Record(record) => record.header.mark().ok().flatten(),
        }?;
        Some(FoundMark { sequence, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::record::{Flags, RecordHeader, encode_into, payload_link_header};
    use alloc::vec;
    use alloc::vec::Vec;

    const CAPACITY: u64 = 65_536;

    fn seed() -> ChecksumSeed {
        ChecksumSeed::new(LogId([1; 16]), 1)
    }

    fn after() -> ChainPosition {
        ChainPosition { sequence: 3, link: Link([3; 32]), time: 3 }
    }

    fn batch(lengths: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut chain = after();
        for (index, length) in lengths.iter().enumerate() {
            let last = index + 1 == lengths.len();
            let flags = if last { Flags::NONE } else { Flags::MORE_FOLLOWS };
            let payload = vec![0x55; *length];
            let header = payload_link_header(LogId([1; 16]), &chain, flags, &payload);
            chain =
                ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
            encode_into(&mut out, &header, &payload, seed());
        }
        out
    }

    fn tail(bytes: &[u8], start: u64) -> Tail<'_> {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Tail {
            bytes: &bytes[..end],
            start,
            capacity: CAPACITY,
            log: LogId([1; 16]),
            seed: seed(),
            after: after(),
        }
    }

    /// Whether the rule, stated on the known item bounds, calls a batch whose bytes from `written`
    /// on are zero unfinished. No answer inside a size field: items are aligned, so no page cut
    /// splits one, and what is left of it may be a legal size or not.
    fn is_unfinished(start: u64, lengths: &[usize], written: u64) -> Option<bool> {
        let mut item = start;
        for length in lengths {
            let end = item + crate::limits::record_footprint(*length);
            if written < end {
                if written > item && written < item + 4 {
                    return None;
                }
                let at_start = written <= item && item.is_multiple_of(PAGE);
                let inside = (item + 1..end).any(|at| at.is_multiple_of(PAGE) && written <= at);
                return Some(at_start || (written > item && inside));
            }
            item = end;
        }
        Some(false)
    }

    #[test]
    fn table_a_batch_zeroed_from_any_byte_on_is_unfinished_exactly_when_a_page_cut_explains_it() {
        let lengths = [3_000, 2_000, 6_000];
        let whole = batch(&lengths);
        for start in [4_096_u64, 5_000, 8_184] {
            let mut page_cuts = 0;
            for cut in 1..whole.len() {
                let mut bytes = whole.clone();
                bytes[cut..].fill(0);
                let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                let Some(expected) = is_unfinished(start, &lengths, start + written as u64) else {
                    continue;
                };
                let shape = tail(&bytes, start).shape();
                assert_eq!(shape == TailShape::Unfinished, expected, "start {start}, cut {cut}");
                page_cuts += usize::from((start + cut as u64).is_multiple_of(PAGE));
            }
            assert!(page_cuts >= 2);
        }
    }

    #[test]
    fn a_batch_cut_between_two_pages_is_unfinished_also_where_a_record_ends_in_zeros() {
        for first_end in 8_000..=8_192_usize {
            let lengths = [first_end - 4_096 - 64, 5_000];
            let mut bytes = batch(&lengths);
            bytes[4_096..].fill(0);
            assert_eq!(tail(&bytes, 4_096).shape(), TailShape::Unfinished, "{first_end}");
        }
    }

    #[test]
    fn an_empty_tail_is_zero_and_a_hole_is_other() {
        assert_eq!(tail(&[], 4_096).shape(), TailShape::Zero);
        let mut bytes = batch(&[100]);
        bytes[..64].fill(0);
        assert_eq!(tail(&bytes, 4_096).shape(), TailShape::Other);
    }

    #[test]
    fn a_whole_record_with_one_flipped_byte_is_other() {
        let mut bytes = batch(&[100]);
        bytes[80] ^= 1;
        assert_eq!(tail(&bytes, 4_096).shape(), TailShape::Other);
    }

    #[test]
    fn a_record_behind_a_hole_proves_what_it_says() {
        let mut bytes = batch(&[0, 0, 40]);
        bytes[..64].fill(0);
        let resync = tail(&bytes, 4_096).resync(4 * CAPACITY);
        assert_eq!(resync.mark.map(|mark| mark.sequence), Some(5));
        assert!(!resync.budget_spent);
        assert!(tail(&bytes, 4_096).resync(10).budget_spent);
    }

    #[test]
    fn a_candidate_costs_its_length_whatever_its_flags_say() {
        for flags in 0..=u8::MAX {
            let mut bytes = batch(&[0, 0, 40]);
            bytes[..128].fill(0);
            bytes[128 + 11] = flags;
            assert!(tail(&bytes, 4_096).resync(103).budget_spent, "{flags}");
            assert!(!tail(&bytes, 4_096).resync(104).budget_spent, "{flags}");
        }
    }

    #[test]
    fn a_record_behind_a_hole_proves_what_it_says_also_when_it_ends_in_padding() {
        for length in 33..=40 {
            let mut bytes = batch(&[0, 0, length]);
            bytes[..64].fill(0);
            let resync = tail(&bytes, 4_096).resync(4 * CAPACITY);
            assert_eq!(resync.mark.map(|mark| mark.sequence), Some(5), "{length}");
        }
    }

    /// A record without payload whose link ends in so many zero bytes, made by trying.
    fn record_that_ends_in_zeros(zeros: usize) -> Vec<u8> {
        let link_of = |number: u64| Link(core::array::from_fn(|at| number.to_le_bytes()[at % 8]));
        let mut made = (0..).map(|number| {
            let before = ChainPosition { sequence: 5, link: link_of(number), time: 3 };
            payload_link_header(LogId([1; 16]), &before, Flags::NONE, b"")
        });
        let ends_so = |header: &RecordHeader| header.link.0.ends_with(&vec![0; zeros]);
        let header = made.find(ends_so).unwrap();
        let mut record = Vec::new();
        encode_into(&mut record, &header, b"", seed());
        record
    }

    #[test]
    fn a_record_behind_a_hole_proves_what_it_says_also_when_its_link_ends_in_zeros() {
        for zeros in 0..=2 {
            let mut bytes = vec![0; 128];
            bytes.extend(record_that_ends_in_zeros(zeros));
            let resync = tail(&bytes, 4_096).resync(4 * CAPACITY);
            assert_eq!(resync.mark.map(|mark| mark.sequence), Some(5), "{zeros}");
        }
    }

    #[test]
    fn a_candidate_too_far_ahead_for_its_distance_does_not_count() {
        let mut far = after();
        far.sequence = 1_000;
        let header = payload_link_header(LogId([1; 16]), &far, Flags::NONE, b"");
        let mut bytes = vec![0x11; 64];
        encode_into(&mut bytes, &header, b"", seed());
        assert_eq!(tail(&bytes, 4_096).resync(4 * CAPACITY), Resync::default());
    }
}
