//! A snapshot: the state behind one record, so that opening a log need not read what is before. A
//! derived file, which is believed only where the chain says what state there was.

use crate::chain::ChainPosition;
use crate::fields::{Fields, FieldsMut};
use crate::identity::LogId;
use crate::limits::SNAPSHOT_HEADER_LENGTH;
use crate::link::Link;
use alloc::vec::Vec;

/// First eight bytes of a snapshot.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"HOLDSNAP";

/// Version of a snapshot's header. A snapshot of another one is ignored.
pub const SNAPSHOT_VERSION: u32 = 1;

/// Position and encoding of a snapshot's state. Nothing in it is believed by itself: whoever goes
/// on from here compares what follows with the chain, up to a record that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// The log that it belongs to.
    pub log: LogId,
    /// The record behind which the state stands. The next one states the state's fingerprint.
    pub chain: ChainPosition,
    /// First sequence of the segment that holds that record.
    pub segment: u64,
    /// Offset of the record in that segment.
    pub record_offset: u64,
    /// Offset behind it.
    pub end_offset: u64,
    /// Version of the state's encoding.
    pub state_schema: u32,
}

impl SnapshotHeader {
    /// The whole file: this header and the state behind it.
    #[must_use]
    pub fn encode_with(&self, state: &[u8]) -> Vec<u8> {
        let header: [u8; SNAPSHOT_HEADER_LENGTH] = FieldsMut::new()
            .put(&SNAPSHOT_MAGIC)
            .put(&SNAPSHOT_VERSION.to_le_bytes())
            .put(&self.state_schema.to_le_bytes())
            .put(&self.log.0)
            .put(&self.chain.sequence.to_le_bytes())
            .put(&self.chain.link.0)
            .put(&self.chain.time.to_le_bytes())
            .put(&self.segment.to_le_bytes())
            .put(&self.record_offset.to_le_bytes())
            .put(&self.end_offset.to_le_bytes())
            .put(&(state.len() as u64).to_le_bytes())
            .finish();
        let mut file = Vec::with_capacity(header.len() + state.len());
        file.extend_from_slice(&header);
        file.extend_from_slice(state);
        file
    }

    /// The header and the state of a whole file; `None` for anything else, of another version or of
    /// another length than it says.
    #[must_use]
    pub fn decode(file: &[u8]) -> Option<(Self, &[u8])> {
        let (header, state) = file.split_at_checked(SNAPSHOT_HEADER_LENGTH)?;
        let mut fields = Fields::new(header);
        let is_snapshot = fields.array() == SNAPSHOT_MAGIC && fields.u32() == SNAPSHOT_VERSION;
        let state_schema = fields.u32();
        let log = LogId(fields.array());
        let (sequence, link, time) = (fields.u64(), Link(fields.array()), fields.u64());
        let (segment, record_offset, end_offset) = (fields.u64(), fields.u64(), fields.u64());
        let is_whole = fields.u64() == state.len() as u64;
        let rest_is_zero = fields.rest().iter().all(|byte| *byte == 0);
        let chain = ChainPosition { sequence, link, time };
        let header = Self { log, chain, segment, record_offset, end_offset, state_schema };
        (is_snapshot && is_whole && rest_is_zero).then_some((header, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SnapshotHeader {
        SnapshotHeader {
            log: LogId([7; 16]),
            chain: ChainPosition { sequence: 4_096, link: Link([5; 32]), time: 9 },
            segment: 812,
            record_offset: 5_000,
            end_offset: 5_200,
            state_schema: 5,
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same_header_and_state() {
        for state in [&b""[..], b"state"] {
            let file = sample().encode_with(state);
            assert_eq!(SnapshotHeader::decode(&file), Some((sample(), state)));
        }
    }

    #[test]
    fn every_prefix_every_longer_file_and_every_flipped_bit_of_its_frame_is_refused() {
        let file = sample().encode_with(b"state");
        for length in 0..file.len() {
            assert_eq!(SnapshotHeader::decode(&file[..length]), None);
        }
        assert_eq!(SnapshotHeader::decode(&[&file[..], b"x"].concat()), None);
        let frame = (0..12).chain(112..SNAPSHOT_HEADER_LENGTH);
        for at in frame {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(SnapshotHeader::decode(&damaged), None, "byte {at}");
        }
    }
}
