//! The filter: says of most hashes that are not in a table that they are not, from one cache line.
//!
//! It is the split-block Bloom filter of Apache Parquet: a hash chooses one block of eight 32-bit
//! words by its upper half, and one bit in each word by its lower half. It can be built from any
//! hashes, holds its own in one block, and its bytes follow from the hashes alone.

use crate::bytes::Part;
use crate::fault::IndexFault;
use crate::layout::{FILTER_BITS_PER_HASH, FILTER_BLOCK_LENGTH};
use crate::term::TermHash;
use holdpoint_log_files::ReadFile;

/// Odd multipliers that choose the bit in each word, as Parquet's format states them.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Appends the filter of these distinct hashes to `out`. That of no hash has no bytes.
pub(crate) fn write(hashes: &[TermHash], out: &mut Vec<u8>) {
    let blocks = (hashes.len() * FILTER_BITS_PER_HASH).div_ceil(FILTER_BLOCK_LENGTH * 8);
    let start = out.len();
    out.resize(start + blocks * FILTER_BLOCK_LENGTH, 0);
    let filter = out.get_mut(start..).unwrap_or_default();
    for hash in hashes {
        let at = block_of(*hash, blocks) * FILTER_BLOCK_LENGTH;
        let block = filter.get_mut(at..).unwrap_or_default();
        for (word, mask) in block.chunks_exact_mut(4).zip(masks(*hash)) {
            word.iter_mut().zip(mask.to_le_bytes()).for_each(|(byte, bits)| *byte |= bits);
        }
    }
}

/// Returns whether the filter's hashes may include this one. `false` is certain. Reads one block.
pub(crate) fn may_hold<F: ReadFile>(
    filter: &Part<'_, F>,
    hash: TermHash,
) -> Result<bool, IndexFault> {
    let blocks = index(filter.length()) / FILTER_BLOCK_LENGTH;
    let at = (block_of(hash, blocks) * FILTER_BLOCK_LENGTH) as u64;
    let Some(block) = filter.array::<FILTER_BLOCK_LENGTH>(at)? else { return Ok(false) };
    let mut words = block.chunks_exact(4).zip(masks(hash));
    Ok(words.all(|(word, mask)| {
        word.iter().zip(mask.to_le_bytes()).all(|(byte, bits)| byte & bits == bits)
    }))
}

/// The block that a hash chooses among so many.
fn block_of(hash: TermHash, blocks: usize) -> usize {
    index(((u128::from(hash.0 >> 32) * blocks as u128) >> 32) as u64)
}

/// A length within a file that is no longer than memory can be.
fn index(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX / FILTER_BLOCK_LENGTH)
}

/// One bit for each word of a block.
fn masks(hash: TermHash) -> [u32; 8] {
    SALTS.map(|salt| 1 << ((hash.0 as u32).wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(seed: u8, count: u32) -> Vec<TermHash> {
        let term = |number: u32| TermHash::of(&[&[seed], &number.to_le_bytes()[..]].concat());
        (0..count).map(term).collect()
    }

    fn may_hold(filter: &Vec<u8>, hash: TermHash) -> bool {
        super::may_hold(&Part::new(filter, 0, filter.len() as u64), hash).unwrap()
    }

    #[test]
    fn no_hash_is_missed_and_one_in_a_hundred_of_the_others_seems_to_be_there() {
        for count in [1, 2, 20, 21, 22, 1_000, 50_000] {
            let own = hashes(1, count);
            let mut filter = Vec::new();
            write(&own, &mut filter);
            assert!(own.iter().all(|hash| may_hold(&filter, *hash)), "{count}");
            let others = hashes(2, 20_000);
            let seeming = others.iter().filter(|hash| may_hold(&filter, **hash)).count();
            assert!(seeming <= 200, "{count} hashes: {seeming} of 20000 others seem to be there");
        }
    }

    #[test]
    fn a_filter_of_nothing_has_no_bytes_and_holds_nothing() {
        let mut filter = Vec::new();
        write(&[], &mut filter);
        assert!(filter.is_empty());
        assert!(!may_hold(&filter, TermHash(0)) && !may_hold(&filter, TermHash(u64::MAX)));
    }

    #[test]
    fn every_hash_chooses_a_block_that_is_there() {
        for blocks in [1, 2, 3, 1 << 20] {
            assert_eq!(block_of(TermHash(0), blocks), 0);
            assert_eq!(block_of(TermHash(u64::MAX), blocks), blocks - 1);
        }
    }
}
