//! Records before they have a place: checked, digested, and encoded once it is their turn.

use super::error::AppendError;
use holdpoint_log_format::limits::{
    BATCH_LENGTH_MAX, OPAQUE_KIND_MIN, PAYLOAD_LENGTH_MAX, record_footprint,
};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::{NO_CLAIM, encode_into};
use holdpoint_log_format::{ChainPosition, ChecksumSeed, Flags, LinkPrefix, LogId, RecordHeader};
use holdpoint_sha256_lanes::digest_each;

/// A record to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Its kind. From 32768 on it is the caller's own; below are events, which an engine appends.
    pub kind: u16,
    /// Version of the payload's schema.
    pub version: u8,
    /// The payload, at most 64 MiB.
    pub payload: Vec<u8>,
}

/// Checks whether no record claims to be an event.
pub(super) fn check_kinds(records: &[NewRecord]) -> Result<(), AppendError> {
    match records.iter().find(|record| record.kind < OPAQUE_KIND_MIN) {
        Some(record) => Err(AppendError::EventKind { kind: record.kind }),
        None => Ok(()),
    }
}

/// A batch whose digests and first hash blocks are computed: what can be done before the turn.
#[derive(Debug)]
pub(super) struct PreparedBatch<'a> {
    first: PreparedRecord<'a>,
    /// Most batches are one record: then nothing is allotted.
    rest: Vec<PreparedRecord<'a>>,
    /// Bytes that the batch takes in a segment.
    pub(super) footprint: u64,
}

#[derive(Debug)]
struct PreparedRecord<'a> {
    prefix: LinkPrefix,
    flags: Flags,
    record: &'a NewRecord,
}

impl<'a> PreparedBatch<'a> {
    pub(super) fn new(log: LogId, records: &'a [NewRecord]) -> Result<Self, AppendError> {
        let footprint = checked_footprint(records)?;
        let (first, rest) = records.split_first().ok_or(AppendError::Empty)?;
        if rest.is_empty() {
            let digest = payload_digest(&first.payload);
            let first = PreparedRecord::new(log, Flags::NONE, first, &digest);
            return Ok(Self { first, rest: Vec::new(), footprint });
        }
        let payloads: Vec<&[u8]> = records.iter().map(|record| &*record.payload).collect();
        let mut digests = vec![[0; 32]; records.len()];
        digest_each(&payloads, &mut digests);
        let prepare = |(index, (record, digest))| {
            let flags = if index == rest.len() { Flags::NONE } else { Flags::MORE_FOLLOWS };
            PreparedRecord::new(log, flags, record, digest)
        };
        let mut prepared = records.iter().zip(&digests).enumerate().map(prepare);
        let first = prepared.next().ok_or(AppendError::Empty)?;
        Ok(Self { first, rest: prepared.collect(), footprint })
    }

    /// Appends the encoded batch to `out` and gives the place behind it and the offset of its last
    /// record from the batch's start.
    pub(super) fn encode(
        &self,
        out: &mut Vec<u8>,
        seed: ChecksumSeed,
        after: &ChainPosition,
        time: u64,
        durable: u64,
    ) -> (ChainPosition, u64) {
        let start = out.len();
        out.reserve(usize::try_from(self.footprint).unwrap_or_default());
        let mut chain = ChainPosition { time, ..*after };
        let mut last_offset = 0;
        for PreparedRecord { prefix, flags, record } in
            std::iter::once(&self.first).chain(&self.rest)
        {
            let sequence = chain.sequence + 1;
            let unsynced = claim(chain.sequence, durable);
            let link = prefix.link(&chain.link, unsynced, sequence, time);
            let header = RecordHeader {
                size: 0,
                checksum: 0,
                kind: record.kind,
                version: record.version,
                flags: *flags,
                unsynced,
                sequence,
                time,
                link,
            };
            last_offset = (out.len() - start) as u64;
            encode_into(out, &header, &record.payload, seed);
            chain = ChainPosition { sequence, link, time };
        }
        (chain, last_offset)
    }
}

/// Returns what a record behind `previous` claims of those before it.
pub(super) fn claim(previous: u64, durable: u64) -> u32 {
    u32::try_from(previous - durable).unwrap_or(NO_CLAIM)
}

impl<'a> PreparedRecord<'a> {
    fn new(log: LogId, flags: Flags, record: &'a NewRecord, digest: &[u8; 32]) -> Self {
        let prefix = LinkPrefix::new(log, record.kind, record.version, flags, digest);
        Self { prefix, flags, record }
    }
}

/// Bytes that a batch takes in a segment.
pub(super) fn checked_footprint(records: &[NewRecord]) -> Result<u64, AppendError> {
    let limit = PAYLOAD_LENGTH_MAX as u64;
    let largest = records.iter().map(|record| record.payload.len() as u64).max();
    if let Some(length) = largest.filter(|length| *length > limit) {
        return Err(AppendError::PayloadTooLarge { length, limit });
    }
    let length = records.iter().map(|record| record_footprint(record.payload.len())).sum();
    if length > BATCH_LENGTH_MAX {
        return Err(AppendError::BatchTooLarge { length, limit: BATCH_LENGTH_MAX });
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_format::{Link, Record};

    #[test]
    fn a_batch_beyond_its_limits_is_refused_before_anything_is_encoded() {
        let log = LogId([0; 16]);
        assert!(matches!(PreparedBatch::new(log, &[]), Err(AppendError::Empty)));
        let over = NewRecord { kind: 1, version: 1, payload: vec![0; PAYLOAD_LENGTH_MAX + 1] };
        let refused = PreparedBatch::new(log, std::slice::from_ref(&over));
        assert!(matches!(refused, Err(AppendError::PayloadTooLarge { .. })));
        let at_limit = NewRecord { kind: 1, version: 1, payload: vec![0; PAYLOAD_LENGTH_MAX] };
        let four = vec![at_limit; 4];
        let refused = PreparedBatch::new(log, &four);
        assert!(matches!(refused, Err(AppendError::BatchTooLarge { .. })));
    }

    #[test]
    fn every_record_of_a_batch_follows_from_the_one_before_however_many_there_are() {
        let (log, seed) = (LogId([3; 16]), ChecksumSeed::new(LogId([3; 16]), 1));
        let before = ChainPosition { sequence: 4, link: Link([9; 32]), time: 1 };
        for count in 1..=40 {
            let record =
                |at: usize| NewRecord { kind: 40_000, version: 1, payload: vec![7; at * 11] };
            let records: Vec<NewRecord> = (0..count).map(record).collect();
            let batch = PreparedBatch::new(log, &records).unwrap();
            let mut bytes = Vec::new();
            let (last, _) = batch.encode(&mut bytes, seed, &before, 1, 4);
            assert_eq!(bytes.len() as u64, batch.footprint);
            let (mut chain, mut rest) = (before, &bytes[..]);
            for (at, record) in records.iter().enumerate() {
                let found = Record::decode(rest, seed).unwrap();
                chain = chain.advance(log, &found).unwrap();
                assert_eq!(found.payload, record.payload);
                assert_eq!(found.header.flags.more_follows(), at + 1 < count);
                rest = &rest[found.header.footprint() as usize..];
            }
            assert_eq!((chain, rest), (last, &[][..]));
        }
    }
}
