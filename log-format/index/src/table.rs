//! A table: sorted hashes, and for each the records that hold it.

use crate::bytes::{partition_point, u32_of, u64_of};
use crate::fault::IndexFault;
use crate::layout::{Section, aligned};
use crate::postings;
use crate::term::TermHash;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    section: Section,
    count: usize,
    hashes: &'a [u8],
    ends: &'a [u8],
    lists: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table that a section is. What the count announces must be there.
    pub(crate) fn new(section: Section, bytes: &'a [u8]) -> Result<Self, IndexFault> {
        let split = || {
            let count = usize::try_from(u64_of(bytes, 0)?).ok()?;
            let (hashes, rest) = bytes.get(8..)?.split_at_checked(count.checked_mul(8)?)?;
            let (ends, lists) = rest.split_at_checked(aligned(count * 4))?;
            Some(Self { section, count, hashes, ends, lists })
        };
        let what = "it announces more hashes than it has bytes for";
        split().ok_or(IndexFault::Malformed { section, what })
    }

    /// The list of the records that hold a hash, empty where none does.
    pub(crate) fn list_of(&self, hash: TermHash) -> Result<&'a [u8], IndexFault> {
        let hash_at = |at| u64_of(self.hashes, at);
        let at = partition_point(self.count, hash_at, |one| one < hash.0);
        if at >= self.count || hash_at(at) != Some(hash.0) {
            return Ok(&[]);
        }
        let what = "a list that lies outside";
        self.list_at(at).ok_or(IndexFault::Malformed { section: self.section, what })
    }

    fn list_at(&self, at: usize) -> Option<&'a [u8]> {
        let start = at.checked_sub(1).map_or(Some(0), |before| u32_of(self.ends, before))?;
        let end = u32_of(self.ends, at)?;
        self.lists.get(start as usize..end as usize).filter(|list| !list.is_empty())
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

    fn sequences(table: &Table<'_>, hash: u64) -> Vec<u64> {
        let list = table.list_of(TermHash(hash)).unwrap();
        Records::new(Section::Terms, list, 1, 10).map(Result::unwrap).collect()
    }

    #[test]
    fn every_hash_has_its_records_and_others_have_none() {
        let mut bytes = Vec::new();
        let hashes = write(&HOLDINGS, &mut bytes).unwrap();
        assert_eq!(hashes, [TermHash(3), TermHash(5), TermHash(u64::MAX)]);
        assert_eq!(bytes.len() % 8, 0);
        let table = Table::new(Section::Terms, &bytes).unwrap();
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
        assert!(sequences(&Table::new(Section::Keys, &bytes).unwrap(), 0).is_empty());
    }

    #[test]
    fn a_table_that_announces_more_than_it_has_is_refused_without_room_for_it() {
        let mut bytes = Vec::new();
        write(&HOLDINGS, &mut bytes).unwrap();
        for count in [5_u64, 1 << 32, u64::MAX / 8, u64::MAX] {
            bytes[..8].copy_from_slice(&count.to_le_bytes());
            assert!(Table::new(Section::Terms, &bytes).is_err(), "{count}");
        }
        assert!(Table::new(Section::Terms, &[]).is_err());
    }

    #[test]
    fn a_list_that_lies_outside_is_a_fault() {
        let mut bytes = Vec::new();
        write(&HOLDINGS, &mut bytes).unwrap();
        let first_end = 8 + 3 * 8;
        for end in [0_u32, 100, u32::MAX] {
            bytes[first_end..first_end + 4].copy_from_slice(&end.to_le_bytes());
            let table = Table::new(Section::Terms, &bytes).unwrap();
            assert!(table.list_of(TermHash(3)).is_err(), "{end}");
        }
    }
}
