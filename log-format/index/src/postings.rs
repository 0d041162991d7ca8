//! Postings: the records that hold one term, as a list of gaps.
//!
//! A record is named by its number in the segment, from 0. Each number is written as its distance
//! from the smallest one that could stand there (0, or the number before plus 1), in LEB128 of as
//! few bytes as possible.

use crate::fault::IndexFault;
use crate::layout::Section;

/// Bytes that a 32-bit number has at most in LEB128.
const VARINT_LENGTH_MAX: u32 = 5;

/// Appends the list of these ascending numbers to `out`.
pub(crate) fn write(numbers: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut least = 0;
    for number in numbers {
        write_varint(number.saturating_sub(least), out);
        least = number.saturating_add(1);
    }
}

pub(crate) fn write_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The sequences of the records that may hold a term, ascending. After a fault there is no more.
#[derive(Clone, Debug)]
pub struct Records {
    section: Section,
    postings: std::vec::IntoIter<u8>,
    first_sequence: u64,
    /// The smallest number that could stand next.
    least: u64,
    /// Numbers are below this.
    end: u32,
}

impl Records {
    /// The records of a list, whose bytes nobody vouches for.
    pub(crate) fn new(section: Section, postings: Vec<u8>, first_sequence: u64, end: u32) -> Self {
        Self { section, postings: postings.into_iter(), first_sequence, least: 0, end }
    }

    fn next_sequence(&mut self) -> Result<u64, &'static str> {
        let number = self.least + u64::from(read_varint(&mut self.postings)?);
        if number >= u64::from(self.end) {
            return Err("a record that the segment does not have");
        }
        self.least = number + 1;
        Ok(self.first_sequence.saturating_add(number))
    }
}

/// The number that some bytes begin with.
pub(crate) fn read_varint(bytes: &mut impl Iterator<Item = u8>) -> Result<u32, &'static str> {
    let mut number = 0_u64;
    for index in 0..VARINT_LENGTH_MAX {
        let byte = bytes.next().ok_or("a number that does not end")?;
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let is_padded = byte == 0 && index > 0;
            let number = u32::try_from(number).ok().filter(|_| !is_padded);
            return number.ok_or("a number that is too long");
        }
    }
    Err("a number that is too long")
}

impl Iterator for Records {
    type Item = Result<u64, IndexFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.postings.as_slice().is_empty() {
            return None;
        }
        let section = self.section;
        Some(self.next_sequence().map_err(|what| {
            self.postings = Vec::new().into_iter();
            IndexFault::Malformed { section, what }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(postings: &[u8], end: u32) -> Vec<Result<u64, IndexFault>> {
        Records::new(Section::Terms, postings.to_vec(), 10, end).collect()
    }

    #[test]
    fn numbers_are_read_back_as_sequences() {
        let numbers = [0, 1, 2, 129, 16_512, 2_097_281, u32::MAX - 1];
        let mut postings = Vec::new();
        write(numbers.into_iter(), &mut postings);
        let sequences: Vec<_> = numbers.iter().map(|one| Ok(10 + u64::from(*one))).collect();
        assert_eq!(read(&postings, u32::MAX), sequences);
        assert_eq!(read(&[], 1), []);
    }

    #[test]
    fn lists_that_no_builder_writes_end_in_one_fault() {
        let malformed: [&[u8]; 5] = [
            &[0x80],
            &[0x80, 0x00],
            &[0xff, 0xff, 0xff, 0xff, 0x1f],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            &[0x05],
        ];
        for postings in malformed {
            let found = read(postings, 5);
            assert!(matches!(found[..], [Err(IndexFault::Malformed { .. })]), "{postings:02x?}");
        }
        assert_eq!(read(&[0, 0, 7, 0], 5).len(), 3);
    }
}
