//! A table: sorted hashes, and for each the records that hold it.

use crate::bytes::Part;
use crate::fault::IndexFault;
use crate::layout::{SECTION_ALIGNMENT, Section, aligned};
use crate::postings;
use crate::term::TermHash;
use holdpoint_log_files::ReadFile;

/// A hash and the number of a record that holds it.
pub(crate) type Holding = (TermHash, u32);

/// Appends the table of these holdings, which are sorted and distinct, to `out`, and gives their
/// distinct hashes. `None` when the lists are longer than an offset in them can say.
pub(crate) fn write(holdings: &[Holding], out: &mut Vec<u8>) -> Option<Vec<TermHash>> {
    let lists = || holdings.chunk_by(|(one, _), (other, _)| one == other);
    let hashes: Vec<TermHash> = lists().filter_map(|list| Some(list.first()?.0)).collect();
    out.extend_from_slice(&(hashes.len() as u64).to_le_bytes());
    hashes.iter().for_each(|hash| out.extend_from_slice(&hash.0.to_le_bytes()));
    let mut lists_bytes = Vec::new();
    for list in lists() {
        postings::write(list.iter().map(|(_, number)| *number), &mut lists_bytes);
        out.extend_from_slice(&u32::try_from(lists_bytes.len()).ok()?.to_le_bytes());
    }
    out.resize(aligned(out.len()), 0);
    out.extend_from_slice(&lists_bytes);
    out.resize(aligned(out.len()), 0);
    Some(hashes)
}

/// A table whose bytes nobody vouches for.
pub(crate) struct Table<'a, F> {
    section: Section,
    count: u64,
    hashes: Part<'a, F>,
    ends: Part<'a, F>,
    lists: Part<'a, F>,
}

impl<'a, F: ReadFile> Table<'a, F> {
    /// The table that a section is. What the count announces must be there.
    pub(crate) fn new(section: Section, bytes: Part<'a, F>) -> Result<Self, IndexFault> {
        let what = "it announces more hashes than it has bytes for";
        let malformed = IndexFault::Malformed { section, what };
        let Some(count) = bytes.u64(0)? else { return Err(malformed) };
        let split = || {
            let (_, rest) = bytes.split_at(8)?;
            let (hashes, rest) = rest.split_at(count.checked_mul(8)?)?;
            let ends = (count * 4).next_multiple_of(SECTION_ALIGNMENT as u64);
            let (ends, lists) = rest.split_at(ends)?;
            Some(Self { section, count, hashes, ends, lists })
        };
        split().ok_or(malformed)
    }

    /// The list of the records that hold a hash, empty where none does.
    pub(crate) fn list_of(&self, hash: TermHash) -> Result<Vec<u8>, IndexFault> {
        let at = self.hashes.count_below(self.count, hash.0)?;
        if at >= self.count || self.hashes.u64(at)? != Some(hash.0) {
            return Ok(Vec::new());
        }
        let what = "a list that lies outside";
        let outside = IndexFault::Malformed { section: self.section, what };
        let start = at.checked_sub(1).map_or(Ok(Some(0)), |before| self.ends.u32(before))?;
        let (Some(start), Some(end)) = (start, self.ends.u32(at)?) else { return Err(outside) };
        let is_there = start < end && u64::from(end) <= self.lists.length();
        let mut list = vec![0; if is_there { end.saturating_sub(start) as usize } else { 0 }];
        let is_read = is_there && self.lists.read(u64::from(start), &mut list)?;
        if is_read { Ok(list) } else { Err(outside) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postings::Records;

    const HOLDINGS: [Holding; 5] = [
        (TermHash(3), 0),
        (TermHash(3), 4),
        (TermHash(5), 2),
        (TermHash(u64::MAX), 2),
        (TermHash(u64::MAX), 9),
    ];

    fn table(bytes: &Vec<u8>) -> Result<Table<'_, Vec<u8>>, IndexFault> {
        Table::new(Section::Terms, Part::new(bytes, 0, bytes.len() as u64))
    }

    fn sequences(table: &Table<'_, Vec<u8>>, hash: u64) -> Vec<u64> {
        let list = table.list_of(TermHash(hash)).unwrap();
        Records::new(Section::Terms, list, 1, 10).map(Result::unwrap).collect()
    }

    #[test]
    fn every_hash_has_its_records_and_others_have_none() {
        let mut bytes = Vec::new();
        let hashes = write(&HOLDINGS, &mut bytes).unwrap();
        assert_eq!(hashes, [TermHash(3), TermHash(5), TermHash(u64::MAX)]);
        assert_eq!(bytes.len() % 8, 0);
        let table = table(&bytes).unwrap();
        assert_eq!(sequences(&table, 3), [1, 5]);
        assert_eq!(sequences(&table, 5), [3]);
        assert_eq!(sequences(&table, u64::MAX), [3, 10]);
        assert!([0, 4, 6].iter().all(|other| sequences(&table, *other).is_empty()));
    }

    #[test]
    fn the_table_of_nothing_is_its_count() {
        let mut bytes = Vec::new();
        assert_eq!(write(&[], &mut bytes), Some(Vec::new()));
        assert_eq!(bytes, [0; 8]);
        assert!(sequences(&table(&bytes).unwrap(), 0).is_empty());
    }

    #[test]
    fn a_table_that_announces_more_than_it_has_is_refused_without_room_for_it() {
        let mut bytes = Vec::new();
        write(&HOLDINGS, &mut bytes).unwrap();
        for count in [5_u64, 1 << 32, u64::MAX / 8, u64::MAX] {
            bytes[..8].copy_from_slice(&count.to_le_bytes());
            assert!(table(&bytes).is_err(), "{count}");
        }
        assert!(table(&Vec::new()).is_err());
    }

    #[test]
    fn a_list_that_lies_outside_is_a_fault() {
        let mut bytes = Vec::new();
        write(&HOLDINGS, &mut bytes).unwrap();
        let first_end = 8 + 3 * 8;
        for end in [0_u32, 100, u32::MAX] {
            bytes[first_end..first_end + 4].copy_from_slice(&end.to_le_bytes());
            let table = table(&bytes).unwrap();
            assert!(table.list_of(TermHash(3)).is_err(), "{end}");
        }
    }
}
