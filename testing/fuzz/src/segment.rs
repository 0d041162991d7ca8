//! A segment: of any bytes, and a valid one with any changes. Decoded, walked, classified and
//! searched.

use super::edit::Edit;
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_log_format::limits::{RESYNC_BUDGET_SEGMENTS, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::segment::SEGMENT_MAGIC;
use holdpoint_log_format::tail::{Tail, TailShape};
use holdpoint_log_format::{ChainPosition, Item, RecordHeader, Seal, SegmentHeader};

/// Reads a segment and asserts what must hold whatever it is: bytes that begin as a segment does
/// are one, any others say what is written and what is then changed.
pub fn read(bytes: &[u8]) {
    if bytes.starts_with(&SEGMENT_MAGIC) {
        check(bytes);
    } else {
        // An input that is used up says nothing more.
        let _ = read_damaged(&mut Unstructured::new(bytes));
    }
}

/// A valid segment is read whole; a changed one up to the first change, and no record differs from
/// what was written.
fn read_damaged(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let segment = input.choose(&written.segments)?;
    let whole = check(&segment.bytes).unwrap_or_default();
    assert_eq!(whole.len(), segment.records.len(), "a valid segment is read whole");
    let mut bytes = segment.bytes.clone();
    for edit in input.arbitrary_iter::<Edit>()?.take(8) {
        edit?.apply(&mut bytes);
    }
    let differs = bytes.iter().zip(&segment.bytes).position(|(new, old)| new != old);
    let first_change = differs.unwrap_or(bytes.len().min(segment.bytes.len()));
    let Some(found) = check(&bytes) else { return Ok(()) };
    let untouched = segment.records.iter().zip(&found).take_while(|(old, new)| old == new);
    let untouched = untouched.count();
    let is_before = |(at, header): &&(usize, RecordHeader)| {
        *at as u64 + header.footprint() <= first_change as u64
    };
    let due = segment.records.iter().take_while(is_before).count();
    assert!(untouched >= due, "{due} records lie before the change, {untouched} were read");
    Ok(())
}

/// Walks a segment of any bytes and asserts what must hold; the records found, or nothing where
/// the header is none.
fn check(bytes: &[u8]) -> Option<Vec<(usize, RecordHeader)>> {
    let block = bytes.first_chunk::<SEGMENT_HEADER_LENGTH>()?;
    let header = SegmentHeader::decode(block).ok()?;
    assert_eq!(header.encode(), *block, "what decodes encodes to the same bytes");
    let (records, end, chain, seal) = walk(bytes, &header);
    if let Some(seal) = seal {
        assert!(seal.offset == end as u64);
        let is_here = bytes.get(end..).is_some_and(|rest| rest.starts_with(b"SEAL"));
        assert!(is_here, "a seal is where it says");
    }
    check_tail(bytes, &header, end, chain);
    Some(records)
}

fn check_tail(bytes: &[u8], header: &SegmentHeader, start: usize, after: ChainPosition) {
    let rest = bytes.get(start..).unwrap_or_default();
    let length = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let tail = Tail {
        bytes: rest.get(..length).unwrap_or_default(),
        start: start as u64,
        capacity: header.capacity,
        log: header.log,
        seed: header.seed(),
        after,
    };
    assert_eq!(tail.shape() == TailShape::Zero, length == 0);
    let resync = tail.resync(header.capacity.saturating_mul(RESYNC_BUDGET_SEGMENTS));
    if let Some(mark) = resync.mark {
        assert!(mark.offset >= tail.start && mark.offset < tail.start + length as u64);
        assert!(mark.sequence <= after.sequence.saturating_add(header.capacity / 64));
    }
    assert!(tail.resync(0).mark.is_none(), "without a budget nothing is hashed");
}

/// The valid run: its records, the offset behind it, the newest record, and the seal that ends it.
#[allow(clippy::type_complexity, reason = "read in one place, right above")]
fn walk(
    bytes: &[u8],
    header: &SegmentHeader,
) -> (Vec<(usize, RecordHeader)>, usize, ChainPosition, Option<Seal>) {
    let (mut offset, mut chain, mut records) = (SEGMENT_HEADER_LENGTH, header.previous, Vec::new());
    loop {
        let rest = bytes.get(offset..).unwrap_or_default();
        let record = match Item::decode(rest, offset as u64, header.seed()) {
            Ok(Item::Record(record)) => record,
            Ok(Item::Seal(seal)) => return (records, offset, chain, Some(seal)),
            _ => return (records, offset, chain, None),
        };
        let Ok(next) = chain.advance(header.log, &record) else {
            return (records, offset, chain, None);
        };
        assert_eq!(next.sequence, chain.sequence + 1);
        assert!(next.time >= chain.time);
        chain = next;
        records.push((offset, record.header.clone()));
        offset += record.header.footprint() as usize;
    }
}
