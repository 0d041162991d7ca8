//! A segment of any bytes: decoded, walked, classified and searched.

use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::tail::Tail;
use holdpoint_log_format::{ChainPosition, Item, Seal, SegmentHeader};

/// Reads `bytes` as a segment file and asserts what must hold whatever they are.
pub fn read(bytes: &[u8]) {
    let Some(block) = bytes.first_chunk::<SEGMENT_HEADER_LENGTH>() else { return };
    let Ok(header) = SegmentHeader::decode(block) else { return };
    assert_eq!(header.encode(), *block, "what decodes encodes to the same bytes");
    let (end, chain, seal) = walk(bytes, &header);
    if let Some(seal) = seal {
        assert!(seal.last.sequence <= header.previous.sequence + bytes.len() as u64 / 64);
    }
    let tail = Tail {
        bytes: bytes.get(end..).unwrap_or_default(),
        start: end as u64,
        capacity: header.capacity,
        log: header.log,
        seed: header.seed(),
        after: chain,
    };
    let _ = tail.shape();
    let resync = tail.resync(bytes.len() as u64);
    if let Some(mark) = resync.mark {
        assert!(mark.offset >= tail.start && mark.offset < tail.start + tail.bytes.len() as u64);
    }
}

/// The valid run: offset behind it, newest record, and the seal that ends it.
fn walk(bytes: &[u8], header: &SegmentHeader) -> (usize, ChainPosition, Option<Seal>) {
    let (mut offset, mut chain) = (SEGMENT_HEADER_LENGTH, header.previous);
    loop {
        let rest = bytes.get(offset..).unwrap_or_default();
        let record = match Item::decode(rest, offset as u64, header.seed()) {
            Ok(Item::Record(record)) => record,
            Ok(Item::Seal(seal)) => return (offset, chain, Some(seal)),
            _ => return (offset, chain, None),
        };
        let Ok(next) = chain.advance(header.log, &record) else { return (offset, chain, None) };
        assert_eq!(next.sequence, chain.sequence + 1);
        assert!(next.time >= chain.time);
        chain = next;
        offset += record.header.footprint() as usize;
    }
}
