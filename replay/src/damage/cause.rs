//! The cause of one gap: each guess is made undone, and checksum and chain say whether it is right.

use super::forged;
use super::region::{Cause, Certainty};
use super::syndrome::{Flip, implied_seed, single_flip};
use super::view::{Next, View};
use holdpoint_log_files::ReadFile;
use holdpoint_log_files::damage_scan::{Frame, HoleContent, link_of, size_at};
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, padded};
use holdpoint_log_format::{
    ChainPosition, Fault, Link, LogId, Record, RecordHeader, SegmentHeader,
};
use std::io;

/// The unit in which disks lose and keep bytes.
pub(super) const SECTOR: u64 = 512;

/// Amount that is read at once where only zeros are looked for, in bytes.
const PIECE: u64 = 64 * 1_024;

/// Length of a record's header, and of the shortest record, in bytes.
pub(super) const HEADER: u64 = RECORD_HEADER_LENGTH as u64;

/// Place where a record's link lies behind its checksum.
const LINK_AT: usize = 32 - 8;

/// A stretch of a segment that does not hold what it should.
#[derive(Clone, Copy)]
pub(super) struct Gap<'g> {
    /// Its first byte.
    pub(super) from: u64,
    /// The byte behind it.
    pub(super) to: u64,
    /// The last good record before it.
    pub(super) after: ChainPosition,
    /// The last record that should be in it; the one before it where none is missing.
    pub(super) last: u64,
    /// Frames in it that hold.
    pub(super) frames: &'g [Frame],
    /// True if the search for those was stopped.
    pub(super) is_stopped: bool,
    /// Item that lies behind it.
    pub(super) next: Option<&'g Next>,
    /// True if all is zero behind it.
    pub(super) is_end: bool,
    /// Seeds of the checksums of the log's segments, by first sequence.
    pub(super) seeds: &'g [(u64, u32)],
}

impl<'g> Gap<'g> {
    /// The gap with what the scan found in it.
    pub(super) fn with(self, found: &'g HoleContent) -> Self {
        Self { frames: &found.frames, is_stopped: found.is_stopped, ..self }
    }

    /// Returns the number of records that should be in it, as far as anything tells.
    pub(super) fn missing(&self) -> Option<u64> {
        self.last.checked_sub(self.after.sequence).filter(|_| !self.is_stopped)
    }

    /// Returns whether its frames fill it.
    fn is_tiled(&self) -> bool {
        let tiles = |at, frame: &Frame| (frame.offset == at).then_some(frame.end);
        self.frames.iter().try_fold(self.from, tiles) == Some(self.to)
    }
}

/// A cause, and the place behind the last record in the gap where undoing it gives that back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explained {
    pub(super) cause: Cause,
    pub(super) certainty: Certainty,
    pub(super) before: Option<ChainPosition>,
}

impl Explained {
    pub(super) fn new(cause: Cause, certainty: Certainty) -> Self {
        Self { cause, certainty, before: None }
    }

    pub(super) fn proven(cause: Cause) -> Self {
        Self::new(cause, Certainty::Proven)
    }

    pub(super) fn fits(cause: Cause) -> Self {
        Self::new(cause, Certainty::Fits)
    }

    pub(super) fn going_on(self, before: ChainPosition) -> Self {
        Self { before: Some(before), ..self }
    }
}

/// Says why there is a gap. `stopped` is what was wrong at its first byte, in words.
pub(super) fn explain<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
    stopped: &str,
) -> io::Result<Explained> {
    if gap.from == gap.to {
        return Ok(Explained::proven(Cause::Missing));
    }
    if let Some(explained) = of_frames(view, gap)? {
        return Ok(explained);
    }
    if gap.missing().is_none_or(|missing| missing == 1)
        && let Some(explained) = of_one_record(view, gap)?
    {
        return Ok(explained);
    }
    if let Some(explained) = of_zeros(view, gap)? {
        return Ok(explained);
    }
    if let Some(explained) = of_another_place(view, gap)? {
        return Ok(explained);
    }
    let found = format!("{stopped}; no single flip, length, zeroed sector or torn write fits");
    Ok(Explained::new(Cause::Unknown { found }, Certainty::Open))
}

/// The gap is made of whole frames that hold.
fn of_frames<F: ReadFile>(view: &mut View<F>, gap: &Gap<'_>) -> io::Result<Option<Explained>> {
    let Some(first) = gap.frames.first().filter(|_| gap.is_tiled()) else { return Ok(None) };
    let (log, after) = (view.header.log, &gap.after);
    if let Some(last) = in_another_order(log, gap) {
        return Ok(Some(Explained::proven(Cause::Reordered).going_on(last)));
    }
    let sequence = first.header.sequence;
    if gap.frames.len() > 1
        && after.sequence.checked_add(1) == Some(sequence)
        && first.follows(log, &after.link)
    {
        let field = forged::TIME_OR_CLAIM.to_string();
        return Ok(Some(Explained::fits(Cause::Forged { field })));
    }
    let is_last = (sequence, first.header.link) == (after.sequence, after.link);
    if gap.frames.len() == 1 && !is_last && gap.missing().is_none_or(|missing| missing == 1) {
        return forged::explain(view, gap, first).map(Some);
    }
    let is_earlier = gap.frames.iter().all(|frame| frame.header.sequence <= after.sequence);
    if is_earlier || gap.missing() == Some(0) {
        let cause = Cause::Duplicated { sequence };
        let certainty = if is_last { Certainty::Proven } else { Certainty::Fits };
        return Ok(Some(Explained::new(cause, certainty)));
    }
    Ok(Some(Explained::fits(Cause::Reordered)))
}

/// The frames are the records that are missing, in another order; gives the last of them.
pub(super) fn in_another_order(log: LogId, gap: &Gap<'_>) -> Option<ChainPosition> {
    let mut frames: Vec<&Frame> = gap.frames.iter().collect();
    frames.sort_by_key(|frame| frame.header.sequence);
    let last = frames.iter().try_fold(gap.after, |before, frame| {
        let is_next = frame.header.sequence == before.sequence.saturating_add(1);
        (is_next && frame.follows(log, &before.link)).then(|| frame.chain())
    })?;
    let is_all = gap.missing().is_none_or(|missing| missing == frames.len() as u64);
    let is_sorted = gap.frames.is_sorted_by_key(|frame| frame.header.sequence);
    (!is_sorted && is_all && gap.is_tiled()).then_some(last)
}

/// The gap has the place of one record: what was there is still there but for little.
pub(super) fn of_one_record<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
) -> io::Result<Option<Explained>> {
    let header = view.header;
    let length = gap.to - gap.from;
    if length < HEADER || !length.is_multiple_of(8) || length > header.capacity {
        return Ok(None);
    }
    let bytes = view.window.bytes(gap.from, length)?;
    let one = OneRecord { bytes, at: gap.from, header: &header, after: &gap.after };
    Ok(one.with_another_length().or_else(|| one.with_another_bit()).or_else(|| one.padded()))
        .map(|found| found.or_else(|| one.with_another_flag()))
}

/// The bytes in the place of one record.
struct OneRecord<'b> {
    bytes: &'b [u8],
    at: u64,
    header: &'b SegmentHeader,
    after: &'b ChainPosition,
}

impl OneRecord<'_> {
    fn size(&self) -> Option<u32> {
        let size = size_at(self.bytes)?;
        (padded(u64::from(size)) == self.bytes.len() as u64).then_some(size)
    }

    fn checksum(&self) -> u32 {
        let stored = self.bytes.get(4..8).and_then(|bytes| bytes.first_chunk());
        stored.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn checksum_with(&self, size: u32) -> Option<u32> {
        let rest = self.bytes.get(8..size as usize)?;
        Some(self.header.seed().of(&[&size.to_le_bytes(), rest]))
    }

    /// The place behind the record, when these bytes are the one that is due.
    fn holds(&self, bytes: &[u8]) -> Option<ChainPosition> {
        let record = Record::decode(bytes, self.header.seed()).ok()?;
        self.after.advance(self.header.log, &record).ok()
    }

    fn with_another_length(&self) -> Option<Explained> {
        let length = u32::try_from(self.bytes.len()).ok()?;
        let field: [u8; 4] = *self.bytes.first_chunk()?;
        let found = u32::from_le_bytes(field);
        let sizes = length.saturating_sub(7).max(HEADER as u32)..=length;
        let was = sizes
            .filter(|size| *size != found)
            .find(|size| self.checksum_with(*size) == Some(self.checksum()))?;
        let chain = self.holds(&patched(self.bytes, 0, &was.to_le_bytes()))?;
        let changed = found ^ was;
        let cause = match changed.is_power_of_two() {
            true => self.flipped(u64::from(changed.trailing_zeros())),
            false => Cause::LengthField { found, was },
        };
        Some(Explained::proven(cause).going_on(chain))
    }

    fn with_another_bit(&self) -> Option<Explained> {
        let size = self.size()?;
        let difference = self.checksum() ^ self.checksum_with(size)?;
        let place = match single_flip(difference, u64::from(size) - 4)? {
            Flip::Covered(byte @ 0..4, bit) => byte * 8 + u64::from(bit),
            Flip::Covered(byte, bit) => (byte + 4) * 8 + u64::from(bit),
            Flip::Checksum(bit) => 32 + u64::from(bit),
        };
        let at = usize::try_from(place / 8).ok()?;
        let byte = *self.bytes.get(at)? ^ 1 << (place % 8);
        let chain = self.holds(&patched(self.bytes, at, &[byte]))?;
        Some(Explained::proven(self.flipped(place)).going_on(chain))
    }

    /// Only what fills the record up to a multiple of eight is not zero.
    fn padded(&self) -> Option<Explained> {
        let size = usize::try_from(self.size()?).ok()?;
        let padding = self.bytes.get(size..)?;
        let chain = self.holds(&patched(self.bytes, size, &vec![0; padding.len()]))?;
        let cause = match one_bit(padding) {
            Some((at, bit)) => self.flipped((size as u64 + at) * 8 + u64::from(bit)),
            None => Cause::StrayBytes,
        };
        Some(Explained::proven(cause).going_on(chain))
    }

    /// The checksum holds, and the flags are none that a record of this length has.
    fn with_another_flag(&self) -> Option<Explained> {
        let size = self.size()?;
        let fault = Record::decode(self.bytes, self.header.seed()).err()?;
        if !matches!(fault, Fault::UnknownFlags { .. } | Fault::WithheldLength { .. }) {
            return None;
        }
        let restored = [0_u8, 1].into_iter().find_map(|flags| {
            let bytes = patched(self.bytes.get(..size as usize)?, 11, &[flags]);
            let (header, payload) = bytes.split_first_chunk()?;
            let header = RecordHeader::decode(header).ok()?;
            let record = Record { header, payload };
            self.after.advance(self.header.log, &record).ok()
        });
        let forged = Cause::Forged { field: "flags".to_string() };
        Some(match restored {
            Some(chain) => Explained::proven(forged).going_on(chain),
            None => Explained::fits(forged),
        })
    }

    /// The bit that is so many bits behind the record's beginning.
    fn flipped(&self, place: u64) -> Cause {
        let bit = u8::try_from(place % 8).unwrap_or_default();
        Cause::FlippedBit { at: self.at.saturating_add(place / 8), bit }
    }
}

/// Whole sectors, a header, or the end are zero.
fn of_zeros<F: ReadFile>(view: &mut View<F>, gap: &Gap<'_>) -> io::Result<Option<Explained>> {
    let begins = size_at(view.window.bytes(gap.from, 4)?);
    let announced = begins.map_or(0, |size| gap.from.saturating_add(padded(u64::from(size))));
    let end = view.window.nonzero_end_within(gap.from, gap.to)?;
    let written = end.unwrap_or(gap.from);
    let boundary = written.next_multiple_of(SECTOR);
    let due = gap.to.max(announced.min(view.header.records_end()));
    if gap.is_end && boundary < due && due - written >= 8 {
        return Ok(Some(match end {
            None => Explained::proven(Cause::Truncated),
            Some(_) if begins.is_some() => Explained::fits(Cause::TornWrite { boundary }),
            Some(_) => Explained::fits(zeroed(written, due)),
        }));
    }
    let Some((from, to)) = longest_zeros(view, gap)? else { return Ok(None) };
    let cause = zeroed(from, to);
    let is_header = from == gap.from && to - from >= HEADER;
    let is_end = gap.is_end && to == gap.to && to - from >= 8;
    let has_sector = matches!(cause, Cause::Zeroed { sectors: 1.., .. });
    Ok((has_sector || is_header || is_end).then(|| Explained::fits(cause)))
}

fn zeroed(from: u64, to: u64) -> Cause {
    let first = from.div_ceil(SECTOR);
    Cause::Zeroed { from, to, sectors: (to / SECTOR).saturating_sub(first) }
}

/// The longest range of zeros in a gap.
fn longest_zeros<F: ReadFile>(view: &mut View<F>, gap: &Gap<'_>) -> io::Result<Option<(u64, u64)>> {
    let (mut best, mut begun) = (None, None);
    let mut at = gap.from;
    while at < gap.to {
        let bytes = view.window.bytes(at, PIECE.min(gap.to - at))?;
        if bytes.is_empty() {
            break;
        }
        for (place, byte) in (at..).zip(bytes) {
            begun = if *byte == 0 { begun.or(Some(place)) } else { None };
            let length = |(from, to): (u64, u64)| to - from;
            let now = begun.map(|from| (from, place + 1));
            best = if now.map_or(0, length) > best.map_or(0, length) { now } else { best };
        }
        at += bytes.len() as u64;
    }
    Ok(best)
}

/// A whole record stands here that another segment's checksum fits, or that is well made and tied
/// to nothing around it.
fn of_another_place<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
) -> io::Result<Option<Explained>> {
    let room = gap.to - gap.from;
    let header = view.window.bytes(gap.from, HEADER)?.first_chunk().copied();
    let Some(header) = header.and_then(|bytes| RecordHeader::decode(&bytes).ok()) else {
        return Ok(None);
    };
    let (size, length) = (u64::from(header.size), header.footprint());
    if size < HEADER || length > room || header.mark().is_err() {
        return Ok(None);
    }
    let bytes = view.window.bytes(gap.from, length)?;
    let rest = bytes.get(8..usize::try_from(size).unwrap_or(usize::MAX)).unwrap_or_default();
    let seed = implied_seed(&[&header.size.to_le_bytes(), rest], header.checksum);
    if let Some((segment, _)) = gap.seeds.iter().find(|(_, known)| *known == seed) {
        let cause = Cause::Foreign { log: None, segment: Some(*segment) };
        return Ok(Some(Explained::proven(cause)));
    }
    let (payload, padding) = split(bytes, size);
    let digest = Record { header: header.clone(), payload }.digest();
    let content = link_of(view.header.log, &header, &digest, &gap.after.link);
    let restored = patched(rest, LINK_AT, &content.0);
    let size = header.size.to_le_bytes();
    let is_damaged_link = view.header.seed().of(&[&size, &restored]) == header.checksum;
    let is_tied = |link: &Link| gap.next.is_none_or(|next| next.ties(view.header.log, link));
    let is_ours = is_tied(&header.link) || is_damaged_link && is_tied(&content);
    let is_whole = length == room && padding.iter().all(|byte| *byte == 0);
    let cause = Cause::Foreign { log: None, segment: None };
    Ok((is_whole && !is_ours).then(|| Explained::fits(cause)))
}

/// Payload and padding of a record's bytes.
fn split(bytes: &[u8], size: u64) -> (&[u8], &[u8]) {
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
    let (record, padding) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
    (record.get(RECORD_HEADER_LENGTH..).unwrap_or_default(), padding)
}

/// The bytes with others in one place.
pub(super) fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut patched = bytes.to_vec();
    patched.iter_mut().skip(at).zip(new).for_each(|(to, from)| *to = *from);
    patched
}

/// The only bit that is set, where only one is.
pub(super) fn one_bit(bytes: &[u8]) -> Option<(u64, u8)> {
    let mut set = bytes.iter().zip(0_u64..).filter(|(byte, _)| **byte != 0);
    let (byte, at) = set.next()?;
    let is_one = byte.is_power_of_two() && set.next().is_none();
    is_one.then(|| (at, u8::try_from(byte.trailing_zeros()).unwrap_or_default()))
}
