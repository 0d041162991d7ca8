//! Whatever happens to the bytes of an index: it is refused, or its digest is another one. Nothing
//! is believed that was changed.

use crate::support::{History, for_each_seed};
use holdpoint_log_index::layout::INDEX_HEADER_LENGTH;
use holdpoint_log_index::{Index, IndexFault, Section, TermHash};
use quickcheck::{Arbitrary, Gen};

fn small() -> History {
    History::random(&mut Gen::from_size_and_seed(64, 7), 9)
}

/// The digest of an index that holds, or what is wrong with it.
fn refused(bytes: &[u8]) -> Option<IndexFault> {
    Index::new(bytes).and_then(|index| index.check()).err()
}

#[test]
fn tamper_every_flipped_bit_of_an_index_is_refused() {
    let bytes = small().build();
    assert_eq!(refused(&bytes), None);
    for position in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[position / 8] ^= 1 << (position % 8);
        let fault = refused(&damaged).expect("a flipped bit is seen");
        match position / 8 < INDEX_HEADER_LENGTH {
            true => assert!(matches!(fault, IndexFault::Checksum { .. }), "{position}: {fault}"),
            false => assert!(matches!(fault, IndexFault::Digest { .. }), "{position}: {fault}"),
        }
    }
}

#[test]
fn tamper_an_index_of_any_other_length_is_refused() {
    let bytes = small().build();
    for length in 0..bytes.len() {
        let fault = refused(&bytes[..length]);
        assert!(matches!(fault, Some(IndexFault::Short { .. })), "{length}");
    }
    for more in [1, 8, 4_096] {
        let longer = [&bytes[..], &vec![0; more]].concat();
        assert!(matches!(refused(&longer), Some(IndexFault::Long { .. })), "{more}");
    }
}

#[test]
fn tamper_only_lookups_that_rest_on_a_damaged_section_are_refused() {
    let history = small();
    let mut bytes = history.build();
    let entry = 96 + 5 * 56;
    let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let last = field(entry + 8) + field(entry + 16) - 1;
    bytes[last] ^= 1;
    let index = Index::new(&bytes[..]).unwrap();
    let first = history.records.first().unwrap();
    assert_eq!(index.offset_of(first.sequence), Ok(Some(first.offset)));
    let due = IndexFault::Digest { section: Section::KeyFilter };
    for _ in 0..2 {
        assert_eq!(index.may_have_key(TermHash(1)), Err(due.clone()));
        assert!(index.records_with_key(TermHash(1)).is_err());
    }
    assert_eq!(index.check(), Err(due));
}

/// Makes checksum and digests hold again, as whoever forges an index does.
fn forge(bytes: &mut [u8]) {
    for entry in (96..96 + 8 * 56).step_by(56) {
        let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let (start, length) = (field(entry + 8), field(entry + 16));
        let digest = bytes.get(start..start + length).map(blake3::hash);
        if let Some(digest) = digest {
            bytes[entry + 24..entry + 56].copy_from_slice(digest.as_bytes());
        }
    }
    let covered = [&bytes[..12], &bytes[16..INDEX_HEADER_LENGTH]].concat();
    bytes[12..16].copy_from_slice(&crc32fast::hash(&covered).to_le_bytes());
}

#[test]
fn tamper_a_forged_index_has_another_digest_and_every_lookup_ends() {
    for_each_seed(2_000, |random| {
        let history = History::random(random, 12);
        let bytes = history.build();
        let digest = Index::new(&bytes[..]).unwrap().digest();
        let mut forged = bytes.clone();
        for _ in 0..1 + u8::arbitrary(random) % 4 {
            let at = INDEX_HEADER_LENGTH + usize::arbitrary(random) % (bytes.len() - 4_096);
            forged[at] = u8::arbitrary(random);
        }
        forge(&mut forged);
        let index = Index::new(&forged[..]).unwrap();
        assert_eq!(index.check(), Ok(()));
        assert_eq!(index.digest() == digest, forged == bytes);
        look_at_everything(&index, &history);
    });
}

/// Lookups in a forged index give records of the segment, or a fault.
fn look_at_everything(index: &Index<&[u8]>, history: &History) {
    let scope = history.scope();
    let range = scope.first_sequence..=scope.last.sequence;
    for record in &history.records {
        assert!(index.offset_of(record.sequence).is_ok());
        let stretch = index.stretch_of(record.sequence).unwrap().unwrap();
        assert!((stretch.first..=stretch.last).contains(&record.sequence));
        let from = index.first_at_or_after(record.time);
        assert!(from.is_ok_and(|from| from.is_some_and(|from| range.contains(&from))));
        let rows = index.rows().unwrap_or_default();
        assert!(rows.iter().all(|(sequence, _)| range.contains(&sequence)));
        for hash in record.terms.iter().chain(&record.keys) {
            let lists = [index.records_with(*hash), index.records_with_key(*hash)];
            for found in lists.into_iter().flatten().flatten() {
                assert!(found.is_err() || found.is_ok_and(|one| range.contains(&one)));
            }
        }
    }
}
