//! Finding what is not zero in space that mostly is: the unused part of a segment is looked through
//! at every opening.

/// Bytes that are looked at as one before each is. A fold of so many becomes wide instructions.
const BLOCK: usize = 512;

/// Index of the first byte that is not zero.
#[must_use]
pub fn first_nonzero(bytes: &[u8]) -> Option<usize> {
    let zeros = bytes.chunks(BLOCK).take_while(|block| is_zero(block)).map(<[u8]>::len).sum();
    let rest = bytes.get(zeros..)?;
    rest.iter().position(|byte| *byte != 0).map(|at| zeros + at)
}

/// Index of the last byte that is not zero.
#[must_use]
pub fn last_nonzero(bytes: &[u8]) -> Option<usize> {
    let zeros: usize =
        bytes.rchunks(BLOCK).take_while(|block| is_zero(block)).map(<[u8]>::len).sum();
    let rest = bytes.get(..bytes.len() - zeros)?;
    rest.iter().rposition(|byte| *byte != 0)
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().fold(0, |all, byte| all | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn the_first_and_the_last_byte_are_found_wherever_they_are() {
        for length in [0, 1, 511, 512, 513, 1_024, 1_500] {
            let mut bytes = vec![0; length];
            assert_eq!((first_nonzero(&bytes), last_nonzero(&bytes)), (None, None));
            for first in 0..length {
                bytes[first] = 1;
                assert_eq!(first_nonzero(&bytes), Some(first));
                assert_eq!(last_nonzero(&bytes), Some(first));
                bytes[length - 1] = 0x80;
                assert_eq!(first_nonzero(&bytes), Some(first));
                assert_eq!(last_nonzero(&bytes), Some(length - 1));
                (bytes[first], bytes[length - 1]) = (0, 0);
            }
        }
    }
}
