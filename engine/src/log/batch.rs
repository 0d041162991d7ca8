//! Records before they have a place: checked, digested, and encoded once it is their turn.

use super::error::AppendError;
use holdpoint_log_format::limits::{BATCH_LENGTH_MAX, PAYLOAD_LENGTH_MAX, record_footprint};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::{NO_CLAIM, encode_into};
use holdpoint_log_format::{ChainPosition, ChecksumSeed, Flags, LinkPrefix, LogId, RecordHeader};

/// A record to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Event kind, from the registry of the domain.
    pub kind: u16,
    /// Version of the payload's schema.
    pub version: u8,
    /// The payload, at most 64 MiB.
    pub payload: Vec<u8>,
}

/// A batch whose digests and first hash blocks are computed: what can be done before the turn.
#[derive(Debug)]
pub(super) struct PreparedBatch<'a> {
    records: Vec<(LinkPrefix, Flags, &'a NewRecord)>,
    /// Bytes that the batch takes in a segment.
    pub(super) footprint: u64,
}

impl<'a> PreparedBatch<'a> {
    pub(super) fn new(log: LogId, records: &'a [NewRecord]) -> Result<Self, AppendError> {
        let footprint = checked_footprint(records)?;
        let last = records.len().saturating_sub(1);
        let prepared = records.iter().enumerate().map(|(index, record)| {
            let flags = if index == last { Flags::NONE } else { Flags::MORE_FOLLOWS };
            let digest = payload_digest(&record.payload);
            (LinkPrefix::new(log, record.kind, record.version, flags, &digest), flags, record)
        });
        Ok(Self { records: prepared.collect(), footprint })
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
        for (prefix, flags, record) in &self.records {
            let sequence = chain.sequence + 1;
            let unsynced = u32::try_from(chain.sequence - durable).unwrap_or(NO_CLAIM);
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

fn checked_footprint(records: &[NewRecord]) -> Result<u64, AppendError> {
    if records.is_empty() {
        return Err(AppendError::Empty);
    }
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
}
