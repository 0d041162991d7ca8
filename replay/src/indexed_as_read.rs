//! The indexes of the segments that are read, built out of the same records on the way: what the
//! log states of them is compared without reading them again.

use crate::read::Content;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::world::{RowFact, TERMS_VERSION, Term, terms_of};
use holdpoint_log_format::{ChainPosition, RecordHeader, SegmentHeader};
use holdpoint_log_index::{IndexBuilder, IndexDigest, IndexedRecord, RecordTerms};
use std::collections::BTreeMap;

/// The last record of a segment, and the digest of its index.
pub(crate) type Built = (ChainPosition, Digest);

/// Indexes of segments that were read whole, in order. Of a damaged log they say nothing: they
/// count where everything that was read holds.
#[derive(Debug, Default)]
pub(crate) struct IndexedAsRead {
    of_record: RecordTerms,
    canonical: Vec<u8>,
    current: Option<Current>,
    built: BTreeMap<u64, Built>,
}

/// The segment that is being read.
#[derive(Debug)]
struct Current {
    builder: IndexBuilder,
    first_sequence: u64,
    last: Option<ChainPosition>,
}

impl IndexedAsRead {
    /// What was built of the segment that begins at `first_sequence`, where another one followed.
    pub(crate) fn of(&self, first_sequence: u64) -> Option<Built> {
        self.built.get(&first_sequence).copied()
    }

    /// Another segment follows, where its header can be read.
    pub(crate) fn begin_segment(&mut self, header: Option<&SegmentHeader>) {
        let built = self.current.take().and_then(Current::finish);
        self.built.extend(built);
        self.current = header.map(|header| Current {
            builder: IndexBuilder::new(
                header.log,
                header.first_sequence(),
                header.previous.link,
                TERMS_VERSION,
            ),
            first_sequence: header.first_sequence(),
            last: None,
        });
    }

    /// The next record. One that cannot be added leaves its segment without an index.
    pub(crate) fn add(&mut self, offset: u64, header: &RecordHeader, content: &Content) {
        let Self { of_record, canonical, current, .. } = self;
        let Some(segment) = current else { return };
        of_record.clear();
        let is_read = add_terms(header.kind, content, canonical, of_record);
        let RecordHeader { sequence, time, link, .. } = *header;
        let record = IndexedRecord { sequence, offset, time, link };
        let added =
            segment.builder.add(&record, of_record.terms(), of_record.keys(), of_record.row());
        segment.last = Some(ChainPosition { sequence, link, time });
        if !is_read || added.is_err() {
            *current = None;
        }
    }
}

impl Current {
    fn finish(self) -> Option<(u64, Built)> {
        let bytes = self.builder.finish().ok()?;
        let digest = Digest::from_bytes(IndexDigest::of(&bytes)?.0);
        Some((self.first_sequence, (self.last?, digest)))
    }
}

/// The terms and the row of a record, as
/// [`terms_of_record`](holdpoint_domain::world::terms_of_record) and
/// [`row_of_record`](holdpoint_domain::world::row_of_record) give them for one that is not
/// withheld; `false` where nobody read what it says.
fn add_terms(
    kind: u16,
    content: &Content,
    canonical: &mut Vec<u8>,
    of_record: &mut RecordTerms,
) -> bool {
    let mut add = |term: Term<'_>| {
        canonical.clear();
        term.write(canonical);
        match term.is_key() {
            true => of_record.add_key(canonical),
            false => of_record.add_term(canonical),
        }
    };
    match content {
        Content::Event(envelope) => {
            terms_of(envelope, &mut add);
            of_record.set_row(RowFact::of(envelope).and_then(|fact| fact.encode()));
        }
        Content::Opaque => add(Term::Kind(kind)),
        Content::Withheld | Content::Undecodable(_) => {}
        Content::NotRead => return false,
    }
    true
}
