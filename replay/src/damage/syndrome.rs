//! Conclusions from a checksum that does not match about the bytes that it covers: CRC-32 is
//! linear, so the difference of what is stored and what the bytes give depends on the flipped bits
//! alone.

/// CRC-32 (ISO-HDLC), reflected.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// One bit that explains a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flip {
    /// A bit of the covered bytes: the byte's offset among them, and which bit of it.
    Covered(u64, u8),
    /// A bit of the checksum itself.
    Checksum(u8),
}

/// The bit that explains `difference` in so many covered bytes, if one does. There is at most one:
/// the polynomial's period is longer than any record. Takes one step for each bit.
pub(super) fn single_flip(difference: u32, covered: u64) -> Option<Flip> {
    if difference.is_power_of_two() {
        return u8::try_from(difference.trailing_zeros()).ok().map(Flip::Checksum);
    }
    let mut register = 1;
    for behind in 0..covered {
        // A bit is 8 - bit steps away from the register once its byte is taken in.
        for bit in (0..8).rev() {
            register = step(register);
            if register == difference {
                return Some(Flip::Covered(covered - 1 - behind, bit));
            }
        }
    }
    None
}

/// The seed with which the bytes give this checksum. There is exactly one for any bytes.
pub(super) fn implied_seed(parts: &[&[u8]], checksum: u32) -> u32 {
    let mut register = !checksum;
    for byte in parts.iter().rev().flat_map(|part| part.iter().rev()) {
        register = (0..8).fold(register, |register, _| step_back(register)) ^ u32::from(*byte);
    }
    !register
}

fn step(register: u32) -> u32 {
    (register >> 1) ^ (POLYNOMIAL & (register & 1).wrapping_neg())
}

/// The polynomial's highest bit is set, so that a register's highest bit tells what was dropped.
fn step_back(register: u32) -> u32 {
    match register >> 31 {
        1 => ((register ^ POLYNOMIAL) << 1) | 1,
        _ => register << 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_format::{ChecksumSeed, LogId};

    #[test]
    fn every_single_flip_of_covered_bytes_and_checksum_is_named() {
        let seed = ChecksumSeed::new(LogId([3; 16]), 9);
        for length in [1_usize, 7, 56, 300] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8 ^ 0x5a).collect();
            let stored = seed.of(&[&bytes]);
            for (at, bit) in (0..length).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let found = single_flip(stored ^ seed.of(&[&flipped]), length as u64);
                assert_eq!(found, Some(Flip::Covered(at as u64, bit)), "{length}");
            }
        }
        for bit in 0..32 {
            assert_eq!(single_flip(1 << bit, 56), Some(Flip::Checksum(bit)));
        }
        assert_eq!(single_flip(0, 56), None);
    }

    #[test]
    fn the_implied_seed_is_the_one_that_was_used() {
        let seed = ChecksumSeed::new(LogId([3; 16]), 9);
        let parts: [&[u8]; 3] = [b"size", b"the rest of it", b""];
        assert_eq!(implied_seed(&parts, seed.of(&parts)), seed.of(&[]));
    }
}
