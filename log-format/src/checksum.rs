//! The frame checksum: CRC-32 (ISO-HDLC, as zlib's), seeded with the log and the segment.

use crate::fields::FieldsMut;
use crate::identity::LogId;
use crc32fast::Hasher;

/// The state of the CRC after the log's identity and the segment's first sequence. A record's
/// checksum goes on from here, so that bytes of another log, or of another segment of this one,
/// do not pass for a record: captured output may hold any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumSeed(u32);

impl ChecksumSeed {
    /// The seed for the segment of `log` that begins at `first_sequence`.
    #[must_use]
    pub fn new(log: LogId, first_sequence: u64) -> Self {
        let bytes: [u8; 24] =
            FieldsMut::new().put(&log.0).put(&first_sequence.to_le_bytes()).finish();
        Self(plain(&[&bytes]))
    }

    /// The seed with which bytes that begin with `found` have the checksum that they would have
    /// with `due` in its place: a CRC adds its next four bytes to its state before it does anything
    /// else. So what a checksum covers is one piece, though the checksum itself stands in it.
    pub(crate) fn in_place_of(self, found: u32, due: u32) -> Self {
        Self(self.0 ^ found ^ due)
    }

    /// CRC-32 of the seed's bytes followed by `parts`.
    #[must_use]
    #[inline]
    pub fn of(self, parts: &[&[u8]]) -> u32 {
        let mut hasher = Hasher::new_with_initial(self.0);
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize()
    }
}

/// CRC-32 of `parts` without a seed, for files that name their log themselves.
#[must_use]
pub(crate) fn plain(parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseeded_checksum_is_the_one_of_zlib() {
        assert_eq!(plain(&[b"1234", b"56789"]), 0xcbf4_3926);
    }

    #[test]
    fn seeds_differ_by_log_and_by_segment() {
        let one = ChecksumSeed::new(LogId([1; 16]), 1);
        assert_ne!(one.of(&[b"x"]), ChecksumSeed::new(LogId([2; 16]), 1).of(&[b"x"]));
        assert_ne!(one.of(&[b"x"]), ChecksumSeed::new(LogId([1; 16]), 2).of(&[b"x"]));
    }
}
