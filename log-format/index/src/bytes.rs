//! Reading little-endian numbers out of bytes that nobody vouches for.

use crate::fault::IndexFault;
use holdpoint_log_files::ReadFile;

/// The array at `at`, if it is all there.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// A part of an index's file, read piece by piece.
pub(crate) struct Part<'a, F> {
    file: &'a F,
    start: u64,
    length: u64,
}

impl<F> Clone for Part<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Part<'_, F> {}

impl<'a, F: ReadFile> Part<'a, F> {
    /// The bytes from `start` on, which the file has.
    pub(crate) fn new(file: &'a F, start: u64, length: u64) -> Self {
        Self { file, start, length }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The first `length` bytes and the others; `None` where there are fewer.
    pub(crate) fn split_at(&self, length: u64) -> Option<(Self, Self)> {
        let rest = self.length.checked_sub(length)?;
        Some((Self { length, ..*self }, Self { start: self.start + length, length: rest, ..*self }))
    }

    /// Fills `buffer` from `at` on; `false` where not so many bytes are there.
    pub(crate) fn read(&self, at: u64, buffer: &mut [u8]) -> Result<bool, IndexFault> {
        let end = at.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Ok(false);
        }
        let read = self.file.read_at(self.start + at, buffer);
        Ok(read.map_err(|error| IndexFault::unreadable(&error))? == buffer.len())
    }

    /// All of them, where they lie in memory.
    pub(crate) fn held(&self) -> Option<&'a [u8]> {
        self.file.held(self.start, self.length)
    }

    /// The array at `at`, if it is all there.
    pub(crate) fn array<const N: usize>(&self, at: u64) -> Result<Option<[u8; N]>, IndexFault> {
        let mut array = [0; N];
        Ok(self.read(at, &mut array)?.then_some(array))
    }

    /// The `index`th of the 32-bit numbers.
    pub(crate) fn u32(&self, index: u64) -> Result<Option<u32>, IndexFault> {
        Ok(self.array(index.saturating_mul(4))?.map(u32::from_le_bytes))
    }

    /// The `index`th of the 64-bit numbers.
    pub(crate) fn u64(&self, index: u64) -> Result<Option<u64>, IndexFault> {
        Ok(self.array(index.saturating_mul(8))?.map(u64::from_le_bytes))
    }

    /// Returns the number of those of the first `count` 64-bit numbers, which never fall, that are
    /// below one. What is not there is not below.
    pub(crate) fn count_below(&self, count: u64, number: u64) -> Result<u64, IndexFault> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u64(middle)?.is_some_and(|found| found < number) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_all_there_is_none() {
        let file = vec![9, 1, 0, 0, 0, 2, 0, 0, 0, 0];
        let part = Part::new(&file, 1, 7);
        assert_eq!((part.u32(0), part.u32(1)), (Ok(Some(1)), Ok(None)));
        assert_eq!((part.u64(0), part.u64(u64::MAX)), (Ok(None), Ok(None)));
        let (first, rest) = part.split_at(4).unwrap();
        assert_eq!(
            (first.u32(0), first.u32(1), rest.array(0)),
            (Ok(Some(1)), Ok(None), Ok(Some([2])))
        );
        assert!(part.split_at(8).is_none());
    }

    #[test]
    fn the_count_below_is_that_of_a_slice_and_lies_within_whatever_there_is() {
        let numbers = [1_u64, 3, 3, 7];
        let file = numbers.map(u64::to_le_bytes).concat();
        let part = Part::new(&file, 0, 32);
        for wanted in 0..9 {
            let due = numbers.partition_point(|one| *one < wanted) as u64;
            assert_eq!(part.count_below(4, wanted), Ok(due));
        }
        assert_eq!(Part::new(&file, 0, 0).count_below(9, u64::MAX), Ok(0));
        let disordered = [9_u64, 1, 8, 2].map(u64::to_le_bytes).concat();
        assert!(Part::new(&disordered, 0, 32).count_below(4, 5).unwrap() <= 4);
    }
}
