//! Staged records that have their place and not their hashes yet: an owner that appends one by one,
//! and asks for no link, has them hashed together, in lanes.
//!
//! # Invariants
//!
//! - They end what is staged, and follow the newest record that is hashed.
//! - Sequence, time, claim and offset are those of the append, whenever the hashes are made.

use super::batch::NewRecord;
use holdpoint_log_files::Run;
use holdpoint_log_format::limits::RECORD_HEADER_LENGTH;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::{encode_header, encode_without_header};
use holdpoint_log_format::{ChainPosition, ChecksumSeed, Flags, LinkPrefix, LogId, RecordHeader};
use holdpoint_sha256_lanes::digest_each;

/// Records whose payloads are digested at once.
const GROUP: usize = 64;

/// The records, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unhashed {
    records: Vec<Staged>,
    /// Number of bytes they take in the segment.
    bytes: usize,
}

#[derive(Debug)]
struct Staged {
    /// From the first of them.
    offset: usize,
    /// Length of the payload.
    length: usize,
    kind: u16,
    version: u8,
    unsynced: u32,
    time: u64,
}

impl Unhashed {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of records.
    pub(super) fn count(&self) -> u64 {
        self.records.len() as u64
    }

    /// Bytes that they take in the segment.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Time of the newest one.
    pub(super) fn time(&self) -> Option<u64> {
        self.records.last().map(|newest| newest.time)
    }

    /// Forgets them, with what is staged.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.bytes = 0;
    }

    /// Stages one more.
    pub(super) fn stage(
        &mut self,
        staged: &mut Vec<u8>,
        record: &NewRecord,
        unsynced: u32,
        time: u64,
    ) {
        let (kind, version, length) = (record.kind, record.version, record.payload.len());
        self.records.push(Staged { offset: self.bytes, length, kind, version, unsynced, time });
        let begins = staged.len();
        encode_without_header(staged, &record.payload);
        self.bytes += staged.len() - begins;
    }

    /// Writes the header of each into what is staged, and gives the place behind the newest one.
    /// `after` is the place that the first one follows.
    pub(super) fn hash(
        &mut self,
        staged: &mut [u8],
        after: &Run,
        log: LogId,
        seed: ChecksumSeed,
    ) -> Run {
        let begins = staged.len().saturating_sub(self.bytes);
        let bytes = staged.get_mut(begins..).unwrap_or_default();
        let mut chain = after.chain;
        let mut finish = |bytes: &mut [u8], record: &Staged, digest: &[u8; 32]| {
            let header = record.header(log, digest, &chain);
            chain = ChainPosition::of(&header);
            let place = bytes.get_mut(record.offset..).unwrap_or_default();
            encode_header(place, &header, record.length, seed);
        };
        if let [only] = &*self.records {
            // Its link is asked for alone: there is nothing to hash it with.
            let digest = payload_digest(only.payload(bytes));
            finish(bytes, only, &digest);
        } else {
            for group in self.records.chunks(GROUP) {
                let digests = digests_of(group, bytes);
                let hashed = group.iter().zip(&digests);
                hashed.for_each(|(record, digest)| finish(bytes, record, digest));
            }
        }
        let newest = self.records.last();
        let record_offset =
            newest.map_or(after.record_offset, |newest| after.end_offset + newest.offset as u64);
        let end_offset = after.end_offset + self.bytes();
        self.clear();
        Run::from(chain, record_offset, end_offset)
    }
}

fn digests_of(group: &[Staged], bytes: &[u8]) -> [[u8; 32]; GROUP] {
    let mut payloads = [[].as_slice(); GROUP];
    for (payload, record) in payloads.iter_mut().zip(group) {
        *payload = record.payload(bytes);
    }
    let mut digests = [[0; 32]; GROUP];
    digest_each(payloads.get(..group.len()).unwrap_or_default(), &mut digests);
    digests
}

impl Staged {
    fn payload<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let begins = self.offset + RECORD_HEADER_LENGTH;
        bytes.get(begins..begins + self.length).unwrap_or_default()
    }

    fn header(&self, log: LogId, digest: &[u8; 32], after: &ChainPosition) -> RecordHeader {
        let &Self { kind, version, unsynced, time, .. } = self;
        let (flags, sequence) = (Flags::NONE, after.sequence + 1);
        let prefix = LinkPrefix::new(log, kind, version, flags, digest);
        let link = prefix.link(&after.link, unsynced, sequence, time);
        // Size and checksum are computed where the header is encoded.
        let (size, checksum) = (0, 0);
        RecordHeader { size, checksum, kind, version, flags, unsynced, sequence, time, link }
    }
}
