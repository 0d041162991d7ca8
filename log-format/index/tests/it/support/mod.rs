//! Random histories for tests of the index, and what a scan of all their records finds.

use holdpoint_log_format::{ChainPosition, Link, LogId};
use holdpoint_log_index::{IndexBuilder, IndexedRecord, Scope, TermHash};
use quickcheck::{Arbitrary, Gen};

/// The log that histories are of.
pub(crate) const LOG: LogId = LogId([0x5a; 16]);

/// One record, as an index is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) sequence: u64,
    pub(crate) offset: u64,
    pub(crate) time: u64,
    pub(crate) link: Link,
    pub(crate) terms: Vec<TermHash>,
    pub(crate) keys: Vec<TermHash>,
    pub(crate) row: Option<Vec<u8>>,
}

/// The records of one segment.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) records: Vec<Told>,
}

impl History {
    /// As many records as asked for; some terms are held by many of them, some by one.
    pub(crate) fn random(random: &mut Gen, records: usize) -> Self {
        let mut told = Vec::with_capacity(records);
        let mut next = Told {
            sequence: 1 + u64::from(u32::arbitrary(random)),
            offset: 4_096,
            time: u64::from(u32::arbitrary(random)),
            link: link_of(0),
            terms: Vec::new(),
            keys: Vec::new(),
            row: None,
        };
        for _ in 0..records {
            next.terms = terms(random, 4, b't');
            next.keys = terms(random, 1, b'k');
            next.row = bool::arbitrary(random).then(|| Vec::arbitrary(random));
            next.link = link_of(next.sequence);
            told.push(next.clone());
            next.sequence += 1;
            next.offset += 8 * (1 + u64::from(u8::arbitrary(random)));
            next.time += u64::from(u8::arbitrary(random) % 3);
        }
        Self { records: told }
    }

    pub(crate) fn scope(&self) -> Scope {
        let (first, last) = (self.records.first().unwrap(), self.records.last().unwrap());
        Scope {
            log: LOG,
            first_sequence: first.sequence,
            last: ChainPosition { sequence: last.sequence, link: last.link, time: last.time },
            terms_version: 3,
        }
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let scope = self.scope();
        let mut builder = IndexBuilder::new(
            LOG,
            scope.first_sequence,
            link_of(scope.first_sequence - 1),
            scope.terms_version,
        );
        for told in &self.records {
            let Told { sequence, offset, time, link, .. } = *told;
            let record = IndexedRecord { sequence, offset, time, link };
            builder.add(&record, &told.terms, &told.keys, told.row.as_deref()).unwrap();
        }
        builder.finish().unwrap()
    }
}

/// The link of a record.
pub(crate) fn link_of(sequence: u64) -> Link {
    Link(*blake3::hash(&sequence.to_le_bytes()).as_bytes())
}

fn terms(random: &mut Gen, most: u8, class: u8) -> Vec<TermHash> {
    let count = u8::arbitrary(random) % (most + 1);
    (0..count).map(|_| some_term(random, class)).collect()
}

/// A term that is common, rare, or nobody else's.
pub(crate) fn some_term(random: &mut Gen, class: u8) -> TermHash {
    let name = match u8::arbitrary(random) % 3 {
        0 => u64::from(u8::arbitrary(random) % 4),
        1 => u64::from(u16::arbitrary(random)),
        _ => u64::arbitrary(random),
    };
    TermHash::of(&[&[class], &name.to_le_bytes()[..]].concat())
}

/// Runs a check on random histories; a failing one names the seed that reproduces it.
pub(crate) fn for_each_seed(runs: u64, check: impl Fn(&mut Gen)) {
    let given = std::env::var("HOLDPOINT_SEED").ok().map(|text| text.parse().unwrap());
    let first: u64 = given.unwrap_or_else(|| u64::arbitrary(&mut Gen::new(64)));
    for seed in (0..if given.is_some() { 1 } else { runs }).map(|run| first.wrapping_add(run)) {
        println!("HOLDPOINT_SEED={seed}");
        check(&mut Gen::from_size_and_seed(64, seed));
    }
}
