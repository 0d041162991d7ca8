//! Rows: of some records, what lists are made of, in the order of the records.
//!
//! To an index a row is opaque bytes. Behind the count of them, 8 bytes, each is written as the
//! number of its record (as postings are, by its distance from the smallest that could stand
//! there), the length of the row in bytes, both in LEB128, and the row.

use crate::fault::IndexFault;
use crate::layout::{Section, aligned};
use crate::postings::{read_varint, write_varint};
use std::ops::Range;

/// The rows of a segment, as they are gathered.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowWriter {
    count: u64,
    bytes: Vec<u8>,
    /// The smallest number that the next record can have.
    least: u32,
}

impl RowWriter {
    /// The row of the record with a number, higher than all before.
    pub(crate) fn add(&mut self, number: u32, row: &[u8]) {
        // An index is never as long as a segment, and a row no longer than its record.
        let length = u32::try_from(row.len()).unwrap_or(u32::MAX);
        write_varint(number.saturating_sub(self.least), &mut self.bytes);
        write_varint(length, &mut self.bytes);
        self.bytes.extend_from_slice(row);
        (self.count, self.least) = (self.count.saturating_add(1), number.saturating_add(1));
    }

    /// Appends the section to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.bytes);
        out.resize(aligned(out.len()), 0);
    }
}

/// The rows of a segment, each with the sequence of its record, in the order of the records.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    /// Record of each row, and where the row begins and ends.
    places: Vec<(u64, Range<usize>)>,
}

impl Rows {
    /// Adds the row of a record behind all of those before.
    pub fn push(&mut self, sequence: u64, row: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.places.push((sequence, begin..self.bytes.len()));
    }

    /// Each row, with the sequence of its record.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &[u8])> {
        let row = |place: &Range<usize>| self.bytes.get(place.clone()).unwrap_or_default();
        self.places.iter().map(move |(sequence, place)| (*sequence, row(place)))
    }

    /// The rows of a section, whose bytes nobody vouches for.
    pub(crate) fn read(bytes: Vec<u8>, first: u64, end: u32) -> Result<Self, IndexFault> {
        let found = places(&bytes, first, end);
        let places =
            found.map_err(|what| IndexFault::Malformed { section: Section::Rows, what })?;
        Ok(Self { bytes, places })
    }
}

/// Returns where the rows of a section lie. Nothing is reserved for a count that it claims.
fn places(
    bytes: &[u8],
    first_sequence: u64,
    end: u32,
) -> Result<Vec<(u64, Range<usize>)>, &'static str> {
    let (count, rows) = bytes.split_first_chunk().ok_or("no count of rows")?;
    let (mut least, mut rest, mut found) = (0_u64, rows.iter().copied(), Vec::new());
    for _ in 0..u64::from_le_bytes(*count) {
        let number = least.saturating_add(u64::from(read_varint(&mut rest)?));
        if number >= u64::from(end) {
            return Err("a record that the segment does not have");
        }
        least = number.saturating_add(1);
        let length = usize::try_from(read_varint(&mut rest)?).unwrap_or(usize::MAX);
        let begin = bytes.len() - rest.len();
        if rest.len() < length {
            return Err("a row that does not end");
        }
        if let Some(last) = length.checked_sub(1) {
            rest.nth(last);
        }
        found.push((first_sequence.saturating_add(number), begin..begin + length));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(rows: &[(u32, &[u8])]) -> Vec<u8> {
        let (mut writer, mut out) = (RowWriter::default(), Vec::new());
        rows.iter().for_each(|(number, row)| writer.add(*number, row));
        writer.write(&mut out);
        assert!(out.len().is_multiple_of(8));
        out
    }

    #[test]
    fn rows_are_read_back_with_their_records() {
        let long = vec![7; 300];
        let rows = [(0, &b"a"[..]), (1, b""), (200, &long)];
        let read = Rows::read(section(&rows), 10, 201).unwrap();
        let due = rows.map(|(number, row)| (10 + u64::from(number), row));
        assert!(read.iter().eq(due));
        assert_eq!(Rows::read(section(&[]), 10, 201).unwrap().iter().count(), 0);
        let mut pushed = Rows::default();
        due.iter().for_each(|(sequence, row)| pushed.push(*sequence, row));
        assert!(pushed.iter().eq(due));
    }

    #[test]
    fn sections_that_no_builder_writes_are_a_fault() {
        let mut cut = section(&[(0, b"abcdefg")]);
        cut.truncate(12);
        let mut endless = section(&[(0, b"a")]);
        endless[0] = 0xff;
        for (malformed, end) in [(cut, 9), (endless, 2), (section(&[(5, b"a")]), 5)] {
            let found = Rows::read(malformed.clone(), 1, end);
            assert!(matches!(found, Err(IndexFault::Malformed { .. })), "{malformed:02x?}");
        }
        assert!(Rows::read(vec![1, 2], 1, 9).is_err());
    }
}
