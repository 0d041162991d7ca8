//! Valid values out of any bytes, for fuzzing and random tests: what is generated encodes, and
//! decodes to itself. Bytes that do not decode are the tests' own affair.

use crate::chain::ChainPosition;
use crate::head::Head;
use crate::identity::{BootId, LogId};
use crate::limits::{PAGE, SEGMENT_CAPACITY_LEAST, SEGMENT_CAPACITY_MAX};
use crate::link::Link;
use crate::lock::{Lock, OwnerState};
use crate::record::{Flags, RecordHeader, size_for};
use crate::seal::Seal;
use crate::segment::SegmentHeader;
use arbitrary::{Arbitrary, Result, Unstructured};

macro_rules! of_bytes {
    ($($name:ident)*) => {$(
        impl<'a> Arbitrary<'a> for $name {
            fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                input.arbitrary().map(Self)
            }

            fn size_hint(depth: usize) -> (usize, Option<usize>) {
                <[u8; size_of::<Self>()]>::size_hint(depth)
            }
        }
    )*};
}

of_bytes!(LogId BootId Link);

impl<'a> Arbitrary<'a> for Flags {
    /// Flags that this version knows.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let bits = Self::MORE_FOLLOWS.bits() | Self::WITHHELD.bits();
        Ok(Self::from_bits(input.arbitrary::<u8>()? & bits).unwrap_or(Self::NONE))
    }
}

impl<'a> Arbitrary<'a> for RecordHeader {
    /// A header of a payload of up to 64 KiB. Size and checksum hold for no payload until
    /// [`crate::record::encode_into`] computes them.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            size: size_for(usize::from(input.arbitrary::<u16>()?)),
            checksum: input.arbitrary()?,
            kind: input.arbitrary()?,
            version: input.arbitrary()?,
            flags: input.arbitrary()?,
            unsynced: input.arbitrary()?,
            sequence: input.arbitrary()?,
            time: input.arbitrary()?,
            link: input.arbitrary()?,
        })
    }
}

impl<'a> Arbitrary<'a> for ChainPosition {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (sequence, link, time) = input.arbitrary()?;
        Ok(Self { sequence, link, time })
    }
}

impl<'a> Arbitrary<'a> for Seal {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (last, offset) = input.arbitrary()?;
        Ok(Self { last, offset })
    }
}

impl<'a> Arbitrary<'a> for SegmentHeader {
    /// A legal capacity, a first sequence that 64 bits hold, and nothing before the first record.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (log, mut previous): (_, ChainPosition) = input.arbitrary()?;
        previous.sequence = previous.sequence.min(u64::MAX - 1);
        let pages = SEGMENT_CAPACITY_LEAST / PAGE..=SEGMENT_CAPACITY_MAX / PAGE;
        let capacity = input.int_in_range(pages)?.saturating_mul(PAGE);
        let mut previous_seal_offset = input.arbitrary()?;
        if previous.sequence == 0 {
            (previous.time, previous_seal_offset) = (0, 0);
        }
        Ok(Self { log, previous, capacity, previous_seal_offset })
    }
}

impl<'a> Arbitrary<'a> for Head {
    /// A newest record that is not before the anchor.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let anchor_sequence = input.arbitrary()?;
        Ok(Self {
            log: input.arbitrary()?,
            anchor_sequence,
            anchor_link: input.arbitrary()?,
            newest_sequence: input.int_in_range(anchor_sequence..=u64::MAX)?,
            newest_link: input.arbitrary()?,
            segment: input.arbitrary()?,
            record_offset: input.arbitrary()?,
            end_offset: input.arbitrary()?,
            boot: input.arbitrary()?,
        })
    }
}

impl<'a> Arbitrary<'a> for OwnerState {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        input.choose(&Self::ALL).copied()
    }
}

impl<'a> Arbitrary<'a> for Lock {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            pid: input.arbitrary()?,
            state: input.arbitrary()?,
            previous_state: input.arbitrary()?,
            boot: input.arbitrary()?,
            durable_sequence: input.arbitrary()?,
            wall_minus_boot: input.arbitrary()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::ChecksumSeed;
    use crate::record::{Record, encode_into};
    use alloc::vec::Vec;

    /// Values of any bytes: a multiplicative walk through all of them, the same on every run.
    fn every<T: for<'a> Arbitrary<'a>>(mut check: impl FnMut(T)) {
        for start in 0..1_000_u64 {
            let step = |at: u64| (start.wrapping_mul(0x9e37_79b9) ^ at).wrapping_mul(0x85eb_ca6b);
            let bytes: Vec<u8> = (0..400).map(|at| (step(at) >> 16) as u8).collect();
            check(T::arbitrary(&mut Unstructured::new(&bytes)).unwrap());
        }
    }

    #[test]
    fn what_is_generated_decodes_to_itself() {
        every(|head: Head| assert_eq!(Head::decode(&head.encode()), Ok(head)));
        every(|lock: Lock| assert_eq!(Lock::decode(&lock.encode()), Ok(lock)));
        every(|header: SegmentHeader| {
            assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
        });
        let seed = ChecksumSeed::new(LogId([1; 16]), 1);
        every(|seal: Seal| {
            assert_eq!(Seal::decode(&seal.encode(seed), seal.offset, seed), Ok(seal));
        });
    }

    #[test]
    fn generated_headers_frame_any_payload_of_a_withheld_record_s_length() {
        let seed = ChecksumSeed::new(LogId([1; 16]), 1);
        every(|header: RecordHeader| {
            let mut bytes = Vec::new();
            encode_into(&mut bytes, &header, &[9; 32], seed);
            let decoded = Record::decode(&bytes, seed).unwrap().header;
            assert_eq!((decoded.flags, decoded.sequence), (header.flags, header.sequence));
        });
    }
}
