//! What an index says is what a scan of all records finds.

use crate::support::{History, Told, for_each_seed, link_of, some_term};
use holdpoint_log_index::{Index, Stretch, TermHash};
use quickcheck::{Arbitrary, Gen};

/// Random histories, of few and of many records.
fn histories(check: impl Fn(&mut Gen, &History, &Index<&[u8]>)) {
    for_each_seed(60, |random| {
        let records = [1, 2, 63, 64, 65, 128, 129, 1_000][usize::arbitrary(random) % 8];
        let history = History::random(random, records);
        let bytes = history.build();
        let index = Index::new(&bytes[..]).unwrap();
        check(random, &history, &index);
    });
}

/// Sequences of the records that `holds` is true of.
fn sequences(history: &History, holds: impl Fn(&Told) -> bool) -> Vec<u64> {
    history.records.iter().filter(|record| holds(record)).map(|record| record.sequence).collect()
}

/// All that an index says of a term.
fn sequences_with(index: &Index<&[u8]>, term: TermHash) -> Vec<u64> {
    index.records_with(term).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_record_is_found_at_its_offset_and_no_other_is() {
    histories(|_, history, index| {
        let scope = history.scope();
        assert_eq!(index.scope(), &scope);
        for record in &history.records {
            assert_eq!(index.offset_of(record.sequence), Ok(Some(record.offset)));
        }
        for other in [0, scope.first_sequence - 1, scope.last.sequence + 1, u64::MAX] {
            assert_eq!(index.offset_of(other), Ok(None));
        }
    });
}

#[test]
fn a_record_lies_between_the_links_that_are_stated_before_and_behind_64_records() {
    histories(|_, history, index| {
        let scope = history.scope();
        for (number, record) in (0_u64..).zip(&history.records) {
            let first = scope.first_sequence + number / 64 * 64;
            let last = scope.last.sequence.min(first + 63);
            let (before, behind) = (link_of(first - 1), link_of(last));
            let due = Stretch { first, before, last, behind };
            assert_eq!(index.stretch_of(record.sequence), Ok(Some(due)));
        }
        for other in [0, scope.first_sequence - 1, scope.last.sequence + 1, u64::MAX] {
            assert_eq!(index.stretch_of(other), Ok(None));
        }
    });
}

#[test]
fn a_term_or_key_names_the_records_that_hold_it_and_no_others() {
    histories(|random, history, index| {
        let all = history.records.iter();
        let mut terms: Vec<TermHash> = all.flat_map(|record| record.terms.clone()).collect();
        terms.extend((0..50).map(|_| some_term(random, b't')));
        for term in terms {
            let due = sequences(history, |record| record.terms.contains(&term));
            assert_eq!(sequences_with(index, term), due);
            assert!(due.is_empty() || index.may_have_term(term) == Ok(true));
        }
        let all = history.records.iter();
        let mut keys: Vec<TermHash> = all.flat_map(|record| record.keys.clone()).collect();
        keys.extend((0..50).map(|_| some_term(random, b'k')));
        for key in keys {
            let due = sequences(history, |record| record.keys.contains(&key));
            let found = index.records_with_key(key).unwrap();
            assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), due);
            assert!(due.is_empty() || index.may_have_key(key) == Ok(true));
        }
    });
}

#[test]
fn from_where_a_walk_begins_the_first_record_at_or_after_a_time_is_within_64() {
    histories(|_, history, index| {
        let (first, last) = (history.records.first().unwrap(), history.records.last().unwrap());
        let around = first.time.saturating_sub(2)..=last.time + 2;
        for time in around.chain([0, u64::MAX]) {
            let due = history.records.iter().find(|record| record.time >= time);
            let found = index.first_at_or_after(time).unwrap();
            assert_eq!(found.is_some(), due.is_some(), "{time}");
            if let (Some(from), Some(due)) = (found, due) {
                assert!(from <= due.sequence && due.sequence <= from + 64, "{time}");
            }
        }
    });
}

#[test]
fn the_same_records_give_the_same_bytes_and_any_other_record_gives_another_digest() {
    for_each_seed(20, |random| {
        let history = History::random(random, 40);
        let bytes = history.build();
        assert_eq!(bytes, history.clone().build());
        let digest = Index::new(&bytes[..]).unwrap().digest();
        let changed = usize::arbitrary(random) % history.records.len();
        let differs = |change: fn(&mut Told)| {
            let mut other = history.clone();
            other.records.iter_mut().skip(changed).take(1).for_each(change);
            Index::new(&other.build()[..]).unwrap().digest() != digest
        };
        assert!(differs(|record| record.terms.push(TermHash::of(b"one more"))));
        assert!(differs(|record| record.keys.push(TermHash::of(b"one more"))));
    });
}

#[test]
fn threads_look_up_in_one_index() {
    let history = History::random(&mut Gen::from_size_and_seed(64, 1), 500);
    let bytes = history.build();
    let index = Index::new(&bytes[..]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for record in &history.records {
                    assert_eq!(index.offset_of(record.sequence), Ok(Some(record.offset)));
                    let holds = |term: &TermHash| sequences_with(&index, *term);
                    assert!(record.terms.iter().all(|term| holds(term).contains(&record.sequence)));
                }
            });
        }
    });
}
