use super::places::{a_record, a_sealed_segment, a_segment, mixed, path_of, pick};
use super::{Attack, Forged, row};
use crate::layout::RECORD_HEADER_LENGTH;
use crate::log::{File, Log, RecordAt};

pub(super) const ATTACKS: &[Attack] = &[
    row("zero-sector", "A sector of 512 bytes reads as zero.", sector),
    row("zero-page", "A page of 4096 bytes reads as zero.", page),
    row("zero-record", "A whole record reads as zero.", record),
    row("zero-record-header", "A record's header reads as zero.", record_header),
    row("zero-payload", "A record's payload reads as zero.", payload),
    row("zero-records", "Several records in a row read as zero.", records),
    row("zero-from-record", "From a record on the segment reads as zero.", from_record),
    row("zero-header", "A segment's header block reads as zero.", header),
    row("zero-seal", "A seal reads as zero.", seal),
    row("zero-segment", "A whole segment reads as zero.", segment),
    row("zero-head", "HEAD reads as zero.", |log, _| file(log, "HEAD")),
    row("zero-lock", "LOCK reads as zero.", |log, _| file(log, "LOCK")),
];

fn zero(log: &mut Log, segment: usize, from: usize, length: usize) -> Forged {
    log.segment_mut(segment).overwrite(from, &vec![0; length]);
    Ok(())
}

fn sector(log: &mut Log, variant: u64) -> Forged {
    aligned(log, variant, 512)
}

fn page(log: &mut Log, variant: u64) -> Forged {
    aligned(log, variant, 4096)
}

/// A sector or page of those that hold something.
fn aligned(log: &mut Log, variant: u64, length: usize) -> Forged {
    let segment = a_segment(log, mixed(variant) as u64)?;
    let count = log.segment(segment).end().div_ceil(length);
    let place = pick(variant, count).ok_or("there is no such sector")?;
    zero(log, segment, place * length, length)
}

fn record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let (from, length) = (offset(log, at), log.record(at).length());
    zero(log, at.segment, from, length)
}

fn record_header(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let from = offset(log, at);
    zero(log, at.segment, from, RECORD_HEADER_LENGTH)
}

fn payload(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let from = offset(log, at) + RECORD_HEADER_LENGTH;
    let length = log.record(at).payload.len();
    zero(log, at.segment, from, length)
}

fn records(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let items = &log.segment(at.segment).items[at.item..];
    let length = items.iter().take(3).map(crate::Item::length).sum();
    let from = offset(log, at);
    zero(log, at.segment, from, length)
}

fn from_record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let from = offset(log, at);
    let length = log.segment(at.segment).end() - from;
    zero(log, at.segment, from, length)
}

fn header(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    zero(log, segment, 0, 4096)
}

fn seal(log: &mut Log, variant: u64) -> Forged {
    let segment = a_sealed_segment(log, variant)?;
    let one = log.segment(segment);
    let item = one.seal_place().ok_or("the segment has no seal")?;
    let (from, length) = (one.offset_of(item), one.items[item].length());
    zero(log, segment, from, length)
}

fn segment(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    file(log, &path)
}

fn file(log: &mut Log, path: &str) -> Forged {
    let bytes = log.files.get(path).and_then(File::encode).ok_or("there is no such file")?;
    log.files.insert(path.into(), File::Other(vec![0; bytes.len()]));
    Ok(())
}

fn offset(log: &Log, at: RecordAt) -> usize {
    log.segment(at.segment).offset_of(at.item)
}
