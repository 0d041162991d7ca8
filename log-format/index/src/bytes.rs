//! Reading little-endian numbers out of bytes that nobody vouches for.

/// The array at `at`, if it is all there.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The `index`th of the 32-bit numbers that begin `bytes`.
pub(crate) fn u32_of(bytes: &[u8], index: usize) -> Option<u32> {
    array_at(bytes, index.checked_mul(4)?).map(u32::from_le_bytes)
}

/// The `index`th of the 64-bit numbers that begin `bytes`.
pub(crate) fn u64_of(bytes: &[u8], index: usize) -> Option<u64> {
    array_at(bytes, index.checked_mul(8)?).map(u64::from_le_bytes)
}

/// How many of `count` numbers that never fall are before the first one that is not `is_before`.
/// `number` gives the one at an index; what is not there counts as not before.
pub(crate) fn partition_point(
    count: usize,
    number: impl Fn(usize) -> Option<u64>,
    is_before: impl Fn(u64) -> bool,
) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if number(middle).is_some_and(&is_before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_all_there_is_none() {
        let bytes = [1, 0, 0, 0, 2, 0, 0];
        assert_eq!((u32_of(&bytes, 0), u32_of(&bytes, 1)), (Some(1), None));
        assert_eq!((u64_of(&bytes, 0), u64_of(&bytes, usize::MAX)), (None, None));
    }

    #[test]
    fn the_partition_point_is_that_of_a_slice_and_lies_within_whatever_there_is() {
        let numbers = [1_u64, 3, 3, 7];
        for wanted in 0..9 {
            let found = partition_point(4, |at| numbers.get(at).copied(), |one| one < wanted);
            assert_eq!(found, numbers.partition_point(|one| *one < wanted));
        }
        assert_eq!(partition_point(9, |_| None, |_| true), 0);
        assert!(partition_point(4, |at| [9_u64, 1, 8, 2].get(at).copied(), |one| one < 5) <= 4);
    }
}
