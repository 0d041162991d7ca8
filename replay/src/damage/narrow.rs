//! A gap with more than one damaged record: the first one that can be told from the rest, by a flip
//! that checksum and link prove.

use super::cause::{Gap, HEADER, of_one_record};
use super::view::View;
use holdpoint_log_files::ReadFile;
use holdpoint_log_files::damage_scan::{link_stored_at, size_at};
use holdpoint_log_format::ChainPosition;
use holdpoint_log_format::limits::{ALIGNMENT, padded};
use holdpoint_log_format::record::is_legal_size;
use std::collections::BTreeSet;
use std::io;

/// The first damaged record of a gap that holds more than one: the byte behind it, and the place
/// that what lies behind it follows from. Each costs another look at the rest, so that a segment
/// has so many at most as its size allows.
pub(super) fn first_part<F: ReadFile>(
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
