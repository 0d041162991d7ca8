//! The segment's header block: which log, from where, how large, and what came before.

use crate::chain::ChainPosition;
use crate::checksum::{ChecksumSeed, plain};
use crate::fault::Fault;
use crate::fields::{Fields, FieldsMut};
use crate::identity::LogId;
use crate::limits::{
    FORMAT_VERSION, PAGE, SEAL_LENGTH, SEGMENT_CAPACITY_LEAST, SEGMENT_CAPACITY_MAX,
    SEGMENT_HEADER_LENGTH,
};
use crate::link::Link;

/// First eight bytes of every segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"HOLDSEG\0";

/// Magic, version and checksum.
const PREAMBLE_LENGTH: usize = 16;

/// Bytes of the header block that carry fields; the rest is zero and covered by the checksum.
const FIELDS_LENGTH: usize = 96;

/// A segment's header. Its existence under its final name proves that every record before it is
/// durable: it is written after the previous segment was sealed and synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The log that the segment belongs to.
    pub log: LogId,
    /// The place that the segment's first record follows.
    pub previous: ChainPosition,
    /// Length of the file in bytes, stated once and for ever.
    pub capacity: u64,
    /// Place where the previous segment's seal lies; 0 for the first segment of a log.
    pub previous_seal_offset: u64,
}

impl SegmentHeader {
    /// Sequence of the segment's first record, also its file name.
    #[must_use]
    pub fn first_sequence(&self) -> u64 {
        self.previous.sequence.saturating_add(1)
    }

    /// The seed of every checksum in the segment.
    #[must_use]
    pub fn seed(&self) -> ChecksumSeed {
        ChecksumSeed::new(self.log, self.first_sequence())
    }

    /// Offset behind which no record may reach: the seal's room at the end.
    #[must_use]
    pub fn records_end(&self) -> u64 {
        self.capacity.saturating_sub(SEAL_LENGTH as u64)
    }

    /// The header block.
    #[must_use]
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_LENGTH] {
        let without = self.fields(0);
        let checksum = checksum_of(&without);
        self.fields(checksum)
    }

    /// Decodes a header block. Magic, version and log id are believed only when the checksum
    /// holds.
    ///
    /// # Errors
    /// Checksum first, then magic, version, capacity, what there is not before the first record,
    /// reserved bytes.
    pub fn decode(bytes: &[u8; SEGMENT_HEADER_LENGTH]) -> Result<Self, Fault> {
        let mut fields = check_preamble(bytes, SEGMENT_MAGIC)?;
        let log = LogId(fields.array());
        let (first, capacity) = (fields.u64(), fields.u64());
        let link = Link(fields.array());
        let (time, previous_seal_offset) = (fields.u64(), fields.u64());
        let previous = ChainPosition { sequence: first_minus_one(first)?, link, time };
        check_capacity(capacity)?;
        if first == 1 {
            check_zero("previous time", time)?;
            check_zero("previous seal offset", previous_seal_offset)?;
        }
        check_reserved(fields.rest(), FIELDS_LENGTH)?;
        Ok(Self { log, previous, capacity, previous_seal_offset })
    }

    fn fields(&self, checksum: u32) -> [u8; SEGMENT_HEADER_LENGTH] {
        FieldsMut::new()
            .put(&SEGMENT_MAGIC)
            .put(&FORMAT_VERSION.to_le_bytes())
            .put(&checksum.to_le_bytes())
            .put(&self.log.0)
            .put(&self.first_sequence().to_le_bytes())
            .put(&self.capacity.to_le_bytes())
            .put(&self.previous.link.0)
            .put(&self.previous.time.to_le_bytes())
            .put(&self.previous_seal_offset.to_le_bytes())
            .finish()
    }
}

/// Checksum of a structure whose own checksum lies at bytes 12..16: the same place in the segment
/// header, HEAD and LOCK of every version.
pub(crate) fn checksum_of(bytes: &[u8]) -> u32 {
    let (before, rest) = bytes.split_at_checked(12).unwrap_or((bytes, &[]));
    plain(&[before, rest.get(4..).unwrap_or_default()])
}

/// Checks what the segment header, HEAD and LOCK begin with in every version: checksum first, then
/// magic and version, which are believed only under a good checksum. Gives the fields behind them.
pub(crate) fn check_preamble(bytes: &[u8], magic: [u8; 8]) -> Result<Fields<'_>, Fault> {
    if bytes.len() < PREAMBLE_LENGTH {
        return Err(Fault::short(PREAMBLE_LENGTH as u64, bytes.len()));
    }
    let mut fields = Fields::new(bytes);
    let (letters, version, found) = (fields.array::<8>(), fields.u32(), fields.u32());
    let expected = checksum_of(bytes);
    if found != expected {
        return Err(Fault::Checksum { expected, found });
    }
    if letters != magic {
        return Err(Fault::Magic { expected: magic, found: letters });
    }
    check_version(version)?;
    Ok(fields)
}

fn check_version(found: u32) -> Result<(), Fault> {
    match found {
        FORMAT_VERSION => Ok(()),
        0 => Err(Fault::Field { field: "format version", expected: 1, found: 0 }),
        _ => Err(Fault::NewerVersion { found, supported: FORMAT_VERSION }),
    }
}

/// Checks that a file of this version is as long as it should be.
pub(crate) fn check_length(bytes: &[u8], length: usize) -> Result<(), Fault> {
    let (expected, found) = (length as u64, bytes.len() as u64);
    if found == expected { Ok(()) } else { Err(Fault::Field { field: "length", expected, found }) }
}

/// Checks that `bytes`, which lie at offset `at` of the structure, are zero.
pub(crate) fn check_reserved(bytes: &[u8], at: usize) -> Result<(), Fault> {
    let nonzero = bytes.iter().zip(at as u64..).find(|(byte, _)| **byte != 0);
    nonzero.map_or(Ok(()), |(found, at)| Err(Fault::Padding { at, found: *found }))
}

fn first_minus_one(first: u64) -> Result<u64, Fault> {
    first.checked_sub(1).ok_or(Fault::Field { field: "first sequence", expected: 1, found: 0 })
}

fn check_zero(field: &'static str, found: u64) -> Result<(), Fault> {
    if found == 0 { Ok(()) } else { Err(Fault::Field { field, expected: 0, found }) }
}

fn check_capacity(capacity: u64) -> Result<(), Fault> {
    let legal = (SEGMENT_CAPACITY_LEAST..=SEGMENT_CAPACITY_MAX).contains(&capacity)
        && capacity.is_multiple_of(PAGE);
    let expected = capacity.clamp(SEGMENT_CAPACITY_LEAST, SEGMENT_CAPACITY_MAX) / PAGE * PAGE;
    if legal { Ok(()) } else { Err(Fault::Field { field: "capacity", expected, found: capacity }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SegmentHeader {
        SegmentHeader {
            log: LogId([8; 16]),
            previous: ChainPosition { sequence: 41, link: Link([2; 32]), time: 77 },
            capacity: 65_536,
            previous_seal_offset: 9_000,
        }
    }

    #[test]
    fn a_header_is_read_back_and_every_flipped_byte_of_its_block_is_a_fault() {
        let bytes = sample().encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(sample()));
        for position in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[position] ^= 0x40;
            assert!(SegmentHeader::decode(&damaged).is_err(), "byte {position}");
        }
    }

    #[test]
    fn before_the_first_record_there_is_neither_a_time_nor_a_seal() {
        let genesis = ChainPosition::genesis(LogId([8; 16]));
        let first = SegmentHeader { previous: genesis, previous_seal_offset: 0, ..sample() };
        assert_eq!(SegmentHeader::decode(&first.encode()), Ok(first));
        let later = ChainPosition { time: 1, ..genesis };
        for forged in [
            SegmentHeader { previous: later, ..first },
            SegmentHeader { previous_seal_offset: 8, ..first },
        ] {
            let decoded = SegmentHeader::decode(&forged.encode());
            assert!(matches!(decoded, Err(Fault::Field { expected: 0, .. })), "{decoded:?}");
        }
    }

    #[test]
    fn version_is_believed_only_under_a_good_checksum() {
        let mut bytes = sample().encode();
        bytes[8] = 2;
        assert!(matches!(SegmentHeader::decode(&bytes), Err(Fault::Checksum { .. })));
        let checksum = checksum_of(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(
            SegmentHeader::decode(&bytes),
            Err(Fault::NewerVersion { found: 2, supported: 1 })
        );
    }
}
