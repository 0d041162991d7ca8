//! One record: of any bytes, and of valid ones with one thing changed.

use arbitrary::Unstructured;
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, record_footprint};
use holdpoint_log_format::record::{Record, encode_into};
use holdpoint_log_format::{
    ChainPosition, ChecksumSeed, Fault, Item, ItemLength, LogId, RecordHeader,
};

/// Reads one record as the input says, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let log: LogId = input.arbitrary()?;
    let seed = ChecksumSeed::new(log, input.arbitrary()?);
    if input.arbitrary()? {
        check_any(input.bytes(input.len())?, log, seed);
        return Ok(());
    }
    let header: RecordHeader = input.arbitrary()?;
    let edit: (u16, u8) = input.arbitrary()?;
    let payload = input.bytes(input.len())?;
    check_valid(&header, payload, log, seed);
    check_edited(&header, payload, edit, seed);
    Ok(())
}

/// What decodes is inside the bytes and encodes to them, and all readers of frames agree.
fn check_any(bytes: &[u8], log: LogId, seed: ChecksumSeed) {
    let decoded = Record::decode(bytes, seed);
    if let Some(field) = bytes.first_chunk::<4>()
        && let ItemLength::Record(length) = ItemLength::of(*field)
    {
        let item = Item::decode(bytes, 0, seed);
        assert_eq!(item, decoded.clone().map(Item::Record));
        assert!(decoded.is_err() || length <= bytes.len() as u64, "read beyond the bytes");
    }
    let Ok(record) = decoded else { return };
    let footprint = record.header.footprint() as usize;
    let mut again = Vec::new();
    encode_into(&mut again, &record.header, record.payload, seed);
    assert_eq!(bytes.get(..footprint), Some(&again[..]), "what decodes encodes to the same bytes");
    assert_eq!(record.header.size as usize, RECORD_HEADER_LENGTH + record.payload.len());
    check_place(&record, log);
}

/// A step in the chain keeps sequence and time, and only the link that follows is accepted.
fn check_place(record: &Record<'_>, log: LogId) {
    let header = &record.header;
    let before = ChainPosition {
        sequence: header.sequence.wrapping_sub(1),
        link: header.link,
        time: header.time,
    };
    let expected = record.expected_link(log, &before.link);
    match before.advance(log, record) {
        Ok(next) => assert_eq!((next.sequence, expected), (header.sequence, header.link)),
        Err(Fault::Sequence { .. }) => assert_eq!(header.sequence, 0),
        Err(Fault::UnsyncedClaim { .. }) => assert!(header.mark().is_err()),
        Err(fault) => assert_eq!(fault, Fault::Link { expected, found: header.link }),
    }
    if let Ok(Some(mark)) = header.mark() {
        assert!(mark < header.sequence.max(1), "no record proves itself durable");
    }
}

/// What is encoded decodes to itself, whatever follows it.
fn check_valid(header: &RecordHeader, payload: &[u8], log: LogId, seed: ChecksumSeed) {
    let mut bytes = Vec::new();
    encode_into(&mut bytes, header, payload, seed);
    assert_eq!(bytes.len() as u64, record_footprint(payload.len()));
    bytes.push(0xff);
    match Record::decode(&bytes, seed) {
        Ok(record) => {
            assert_eq!(record.payload, payload);
            let RecordHeader { size, checksum, .. } = record.header;
            assert_eq!(record.header, RecordHeader { size, checksum, ..header.clone() });
            check_place(&record, log);
        }
        Err(fault) => {
            assert!(header.flags.withheld() && payload.len() != 32);
            assert_eq!(fault, Fault::WithheldLength { found: payload.len() as u64 });
        }
    }
}

/// One changed byte anywhere, or a byte less, is a fault.
fn check_edited(header: &RecordHeader, payload: &[u8], edit: (u16, u8), seed: ChecksumSeed) {
    let mut bytes = Vec::new();
    encode_into(&mut bytes, header, payload, seed);
    let short = bytes.len() - 1;
    assert!(bytes.get(..short).is_some_and(|bytes| Record::decode(bytes, seed).is_err()));
    let (at, change) = (usize::from(edit.0) % bytes.len(), edit.1.max(1));
    bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= change);
    assert!(Record::decode(&bytes, seed).is_err(), "byte {at}, changed by {change}");
}
