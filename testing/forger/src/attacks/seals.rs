use super::places::{
    a_record_where, a_sealed_segment, a_segment, active_segment, mixed, path_of, pick, room,
};
use super::{Attack, Forged, row};
use crate::block::{Block, Field};
use crate::layout::{MORE_FOLLOWS, SEAL_LENGTH, common, header, seal};
use crate::log::{File, Log};
use crate::segment::{Item, Segment};

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "seal-of-other-sequence",
        "A seal names another last sequence, its checksum good.",
        |log, v| seal_with(log, v, last_sequence),
    ),
    row("seal-of-other-offset", "A seal names another place, its checksum good.", |log, v| {
        seal_with(log, v, offset)
    }),
    row("seal-of-other-time", "A seal names another last time, its checksum good.", |log, v| {
        seal_with(log, v, time)
    }),
    row("seal-of-other-link", "A seal names another last link, its checksum good.", |log, v| {
        seal_with(log, v, link)
    }),
    row("seal-moved", "A seal was moved 64 bytes on, correct for its new place.", moved),
    row(
        "seal-early",
        "A segment was sealed behind an earlier record, and what follows is gone.",
        early,
    ),
    row(
        "seal-early-over-records",
        "A seal was written over a record; what follows stayed behind it.",
        over_records,
    ),
    row(
        "seal-in-batch",
        "A segment was sealed inside a batch, and what follows is gone.",
        in_batch,
    ),
    row("seal-active", "The segment that is written to was sealed, correctly.", active),
    row(
        "seal-and-empty-segment",
        "The segment that is written to was sealed early, and an empty one put behind it.",
        early_and_next,
    ),
    row("hide-record-behind-seal", "A chained record was put behind a seal.", hidden),
    row(
        "header-of-other-log",
        "A segment's header names another log, its checksum good.",
        |log, v| in_header(log, v, header::LOG),
    ),
    row(
        "header-of-other-first-sequence",
        "A segment's header names another first sequence, its checksum good.",
        |log, v| in_header(log, v, header::FIRST_SEQUENCE),
    ),
    row(
        "header-of-other-capacity",
        "A segment's header states twice its capacity, its checksum good.",
        capacity,
    ),
    row(
        "header-of-grown-capacity",
        "A segment's header states twice its capacity, and its file is as long.",
        grown,
    ),
    row(
        "header-of-shrunk-capacity",
        "A segment's header and file are as short as its items allow.",
        shrunk,
    ),
    row(
        "header-of-other-previous-link",
        "A segment's header follows from another link, its checksum good.",
        |log, v| in_header(log, v, header::PREVIOUS_LINK),
    ),
    row(
        "header-of-other-previous-time",
        "A segment's header follows from another time, its checksum good.",
        |log, v| in_header(log, v, header::PREVIOUS_TIME),
    ),
    row(
        "header-of-other-seal-offset",
        "A segment's header names another place of the seal before it, its checksum good.",
        |log, v| in_header(log, v, header::PREVIOUS_SEAL_OFFSET),
    ),
    row(
        "header-with-reserved-byte",
        "A segment's header hides a byte in its zeros, its checksum good.",
        |log, v| in_header(log, v, header::RESERVED),
    ),
    row(
        "header-of-newer-version",
        "A segment's header is of a newer format version, its checksum good.",
        newer,
    ),
    row(
        "empty-segment-behind-active",
        "An empty segment was put behind one that is not sealed.",
        empty_behind,
    ),
    row(
        "blank-segment-behind-active",
        "A segment of zeros was put behind one that is not sealed.",
        blank_behind,
    ),
];

fn seal_with(log: &mut Log, variant: u64, change: fn(&mut Block)) -> Forged {
    let place = a_sealed_segment(log, variant)?;
    let segment = log.segment_mut(place);
    change(segment.seal_mut().ok_or("the segment has no seal")?);
    segment.remake_seal_checksum();
    Ok(())
}

fn last_sequence(block: &mut Block) {
    let other = block.number(seal::LAST_SEQUENCE) - 1;
    block.set_number(seal::LAST_SEQUENCE, other);
}

fn offset(block: &mut Block) {
    let other = block.number(seal::OFFSET) - 8;
    block.set_number(seal::OFFSET, other);
}

fn time(block: &mut Block) {
    let other = block.number(seal::LAST_TIME) + 1;
    block.set_number(seal::LAST_TIME, other);
}

fn link(block: &mut Block) {
    block.flip(seal::LAST_LINK, 0);
}

fn moved(log: &mut Log, variant: u64) -> Forged {
    let place = a_sealed_segment(log, variant)?;
    let segment = log.segment_mut(place);
    let at = segment.seal_place().ok_or("the segment has no seal")?;
    segment.items.insert(at, Item::Bytes(vec![0; 64]));
    segment.remake_seal();
    room(segment.fit())
}

/// Cuts a segment behind a record that something follows, and seals it there.
fn sealed_behind(log: &mut Log, variant: u64, ends: bool) -> Result<usize, &'static str> {
    let is_right = |at: crate::RecordAt| {
        let is_last = at.item + 1 == log.segment(at.segment).records().count();
        log.record(at).has(MORE_FOLLOWS) != ends && !is_last
    };
    let at = a_record_where(log, variant, is_right)?;
    let segment = log.segment_mut(at.segment);
    segment.items.truncate(at.item + 1);
    segment.remake_seal();
    room(segment.fit())?;
    Ok(at.segment)
}

fn early(log: &mut Log, variant: u64) -> Forged {
    sealed_behind(log, variant, true).map(drop)
}

fn in_batch(log: &mut Log, variant: u64) -> Forged {
    sealed_behind(log, variant, false).map(drop)
}

fn over_records(log: &mut Log, variant: u64) -> Forged {
    let whole = log.clone();
    let place = sealed_behind(log, variant, true)?;
    let cut = log.segment(place);
    let from = cut.seal_place().ok_or("the segment has no seal")?;
    let image = cut.items[from].encode();
    let at = cut.offset_of(from);
    *log = whole;
    log.segment_mut(place).overwrite(at, &image);
    Ok(())
}

fn active(log: &mut Log, _: u64) -> Forged {
    let place = active_segment(log)?;
    let segment = log.segment_mut(place);
    segment.last_record().ok_or("the segment has no record")?;
    segment.remake_seal();
    room(segment.fit())
}

fn early_and_next(log: &mut Log, variant: u64) -> Forged {
    let last = active_segment(log)?;
    let records = log.segment(last).records();
    let ends = records.filter(|(_, record)| !record.has(MORE_FOLLOWS)).map(|(item, _)| item);
    let ends: Vec<usize> = ends.collect();
    let before_newest = ends.len().saturating_sub(1);
    let end = pick(variant, before_newest).ok_or("the segment has one batch at most")?;
    log.segment_mut(last).items.truncate(ends[end] + 1);
    log.roll();
    Ok(())
}

fn hidden(log: &mut Log, variant: u64) -> Forged {
    let place = a_sealed_segment(log, variant)?;
    let first = super::places::first_record_of(log, place)?;
    let mut forged = log.record(first).clone();
    crate::derived::alter(&mut forged)?;
    let at = crate::RecordAt { segment: place, item: log.segment(place).items.len() };
    let sequence = log.before(at).sequence + 1;
    forged.header.set_number(crate::layout::record::SEQUENCE, sequence);
    log.segment_mut(place).items.push(Item::Record(forged));
    log.remake_link(at);
    room(log.segment_mut(place).fit())
}

fn in_header(log: &mut Log, variant: u64, field: Field) -> Forged {
    let place = a_segment(log, variant)?;
    let segment = log.segment_mut(place);
    segment.header.flip(field, mixed(variant));
    segment.remake_header_checksum();
    Ok(())
}

fn set_capacity(segment: &mut Segment, capacity: u64) {
    segment.header.set_number(header::CAPACITY, capacity);
    segment.remake_header_checksum();
}

fn capacity(log: &mut Log, variant: u64) -> Forged {
    let place = a_segment(log, variant)?;
    let segment = log.segment_mut(place);
    let stated = segment.header.number(header::CAPACITY);
    set_capacity(segment, stated * 2);
    Ok(())
}

fn grown(log: &mut Log, variant: u64) -> Forged {
    capacity(log, variant)?;
    let place = a_segment(log, variant)?;
    room(log.segment_mut(place).fit())
}

fn shrunk(log: &mut Log, variant: u64) -> Forged {
    let place = a_segment(log, variant)?;
    let segment = log.segment_mut(place);
    let least = (segment.end() + SEAL_LENGTH).next_multiple_of(4096).max(8192);
    set_capacity(segment, least as u64);
    room(segment.fit())
}

fn newer(log: &mut Log, variant: u64) -> Forged {
    let place = a_segment(log, variant)?;
    let segment = log.segment_mut(place);
    segment.header.set_number(common::VERSION, 2);
    segment.remake_header_checksum();
    Ok(())
}

/// What a roll would leave that forgot the seal.
fn empty_behind(log: &mut Log, _: u64) -> Forged {
    let last = active_segment(log)?;
    let unsealed = log.segment(last).clone();
    unsealed.last_record().ok_or("the segment has no record")?;
    log.roll();
    *log.segment_mut(last) = unsealed;
    Ok(())
}

fn blank_behind(log: &mut Log, _: u64) -> Forged {
    empty_behind(log, 0)?;
    let path = path_of(log, log.segments().len() - 1);
    let length = log.files.get(&path).and_then(File::encode).map_or(0, |bytes| bytes.len());
    log.files.insert(path, File::Other(vec![0; length]));
    Ok(())
}
