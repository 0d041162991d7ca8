//! The seal: the last item of a segment that will never change again.

use crate::chain::ChainPosition;
use crate::checksum::ChecksumSeed;
use crate::fault::Fault;
use crate::fields::{Fields, FieldsMut};
use crate::limits::SEAL_LENGTH;
use crate::link::Link;

/// First four bytes of a seal, where a record has its size. No record is this large.
pub const SEAL_TAG: u32 = u32::from_le_bytes(*b"SEAL");

/// A seal. It is written after its records were synced, so its existence proves that they are
/// durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The newest record of the segment.
    pub last: ChainPosition,
    /// Offset of the seal itself in its file.
    pub offset: u64,
}

impl Seal {
    /// The seal's bytes.
    #[must_use]
    pub fn encode(&self, seed: ChecksumSeed) -> [u8; SEAL_LENGTH] {
        let checksum = seed.of(&[&SEAL_TAG.to_le_bytes(), &self.covered()]);
        FieldsMut::new()
            .put(&SEAL_TAG.to_le_bytes())
            .put(&checksum.to_le_bytes())
            .put(&self.covered())
            .finish()
    }

    /// Decodes the seal that begins `bytes`, found at `offset` of its file.
    ///
    /// # Errors
    /// Too few bytes, a wrong tag, a wrong checksum, or a seal written for another offset.
    pub fn decode(bytes: &[u8], offset: u64, seed: ChecksumSeed) -> Result<Self, Fault> {
        let bytes: &[u8; SEAL_LENGTH] =
            bytes.first_chunk().ok_or(Fault::short(SEAL_LENGTH as u64, bytes.len()))?;
        let mut fields = Fields::new(bytes);
        let (tag, checksum) = (fields.u32(), fields.u32());
        if tag != SEAL_TAG {
            return Err(Fault::IllegalSize { found: tag });
        }
        let (sequence, at, time) = (fields.u64(), fields.u64(), fields.u64());
        let last = ChainPosition { sequence, link: Link(fields.array()), time };
        let seal = Self { last, offset: at };
        let expected = seed.of(&[&SEAL_TAG.to_le_bytes(), &seal.covered()]);
        if checksum != expected {
            return Err(Fault::Checksum { expected, found: checksum });
        }
        if at != offset {
            return Err(Fault::Field { field: "seal offset", expected: offset, found: at });
        }
        Ok(seal)
    }

    /// The fields after the checksum.
    fn covered(&self) -> [u8; SEAL_LENGTH - 8] {
        FieldsMut::new()
            .put(&self.last.sequence.to_le_bytes())
            .put(&self.offset.to_le_bytes())
            .put(&self.last.time.to_le_bytes())
            .put(&self.last.link.0)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::LogId;

    #[test]
    fn a_seal_is_read_back_only_whole_and_only_at_its_own_offset() {
        let seed = ChecksumSeed::new(LogId([1; 16]), 1);
        let last = ChainPosition { sequence: 9, link: Link([3; 32]), time: 4 };
        let seal = Seal { last, offset: 4_160 };
        let bytes = seal.encode(seed);
        assert_eq!(Seal::decode(&bytes, 4_160, seed), Ok(seal));
        assert!(matches!(Seal::decode(&bytes, 4_168, seed), Err(Fault::Field { .. })));
        for position in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[position / 8] ^= 1 << (position % 8);
            assert!(Seal::decode(&damaged, 4_160, seed).is_err(), "bit {position}");
        }
    }
}
