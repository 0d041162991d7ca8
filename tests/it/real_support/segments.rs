//! Logs of very many small segments, made with the format's own functions: no writer makes them so
//! small.

use super::{START_NS, record};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, LinkPrefix, LogId, RecordHeader, Seal, SegmentHeader, names,
};
use std::path::Path;

const LOG: LogId = LogId([0x1b; 16]);
const CAPACITY: u64 = 8_192;

/// Writes a log of so many segments, each with one record, all but the last sealed.
pub(crate) fn write_many(log: &Path, count: u64) {
    std::fs::create_dir_all(log.join("segments")).unwrap();
    let genesis = ChainPosition::genesis(LOG);
    let mut header =
        SegmentHeader { log: LOG, previous: genesis, capacity: CAPACITY, previous_seal_offset: 0 };
    let mut head = Head::at_anchor(LOG, &genesis, BootId::UNKNOWN);
    for number in 1..=count {
        let (mut bytes, last) = segment(&header);
        let end = bytes.len() as u64;
        head = Head {
            newest_sequence: last.sequence,
            newest_link: last.link,
            segment: header.first_sequence(),
            record_offset: SEGMENT_HEADER_LENGTH as u64,
            end_offset: end,
            ..head
        };
        if number < count {
            let seal = Seal { last, offset: end };
            bytes.extend(seal.encode(header.seed()));
        }
        bytes.resize(usize::try_from(CAPACITY).unwrap(), 0);
        std::fs::write(log.join(segment_path(header.first_sequence())), bytes).unwrap();
        header = SegmentHeader { previous: last, previous_seal_offset: end, ..header };
    }
    std::fs::write(log.join(names::HEAD), head.encode()).unwrap();
}

/// A header block and one record that follows from it.
fn segment(header: &SegmentHeader) -> (Vec<u8>, ChainPosition) {
    let record = record(10);
    let sequence = header.first_sequence();
    let time = START_NS + sequence;
    let digest = payload_digest(&record.payload);
    let prefix = LinkPrefix::new(LOG, record.kind, record.version, Flags::NONE, &digest);
    let link = prefix.link(&header.previous.link, 0, sequence, time);
    let (kind, version) = (record.kind, record.version);
    let (size, checksum, flags, unsynced) = (0, 0, Flags::NONE, 0);
    let of_record =
        RecordHeader { size, checksum, kind, version, flags, unsynced, sequence, time, link };
    let mut bytes = header.encode().to_vec();
    encode_into(&mut bytes, &of_record, &record.payload, header.seed());
    (bytes, ChainPosition { sequence, link, time })
}
