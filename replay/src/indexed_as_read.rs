//! The indexes of the segments that are read, built out of the same records on the way: what the
//! log states of them is compared without reading them again.

use crate::read::Content;
use holdpoint_domain::Envelope;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::world::{RowFact, TERMS_VERSION, Term, terms_of};
use holdpoint_log_format::{ChainPosition, RecordHeader, SegmentHeader};
use holdpoint_log_index::{IndexBuilder, IndexDigest, IndexedRecord, RecordTerms, TermHash};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread::{Builder, JoinHandle};

/// The last record of a segment, and the digest of its index.
pub(crate) type Built = (ChainPosition, Digest);

/// Indexes of segments that were read whole, in order. Of a damaged log they say nothing: they
/// count where everything that was read holds.
#[derive(Debug, Default)]
pub(crate) struct IndexedAsRead {
    made: TermsMaker,
    current: Option<Current>,
    finishing: Option<Finishing>,
    built: BTreeMap<u64, Built>,
}

/// The segment before the one that is read. Its terms are sorted and its index is hashed by a
/// thread of its own: whoever reads on judges records meanwhile, which nobody else can do.
type Finishing = JoinHandle<Option<(u64, Built)>>;

/// The segment that is being read.
#[derive(Debug)]
struct Current {
    builder: IndexBuilder,
    first_sequence: u64,
    last: Option<ChainPosition>,
}

impl IndexedAsRead {
    /// With all that was begun to be built: nothing more is read.
    pub(crate) fn complete(mut self) -> Self {
        self.await_finishing();
        self
    }

    /// Returns what was built of the segment that begins at `first_sequence`, where another one
    /// followed. What could not be built, for the system gave no thread, is left to whoever needs
    /// it.
    pub(crate) fn of(&self, first_sequence: u64) -> Option<Built> {
        self.built.get(&first_sequence).copied()
    }

    /// Another segment follows, where its header can be read.
    pub(crate) fn begin_segment(&mut self, header: Option<&SegmentHeader>) {
        // One at a time: a reading holds the terms of no more than two segments.
        self.await_finishing();
        let whole = self.current.take();
        self.finishing = whole.and_then(|it| Builder::new().spawn(move || it.finish()).ok());
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

    fn await_finishing(&mut self) {
        let built = self.finishing.take().and_then(|it| it.join().ok().flatten());
        self.built.extend(built);
    }

    /// The next record, with its terms where they are known. One that cannot be added leaves its
    /// segment without an index.
    pub(crate) fn add(
        &mut self,
        offset: u64,
        header: &RecordHeader,
        content: &Content,
        known: Option<&TermsOfEvent>,
    ) {
        let Self { made, current, .. } = self;
        let Some(segment) = current else { return };
        let RecordHeader { sequence, time, link, .. } = *header;
        let record = IndexedRecord { sequence, offset, time, link };
        let is_read = !matches!(content, Content::NotRead);
        let row = row_of(content);
        let added = match known {
            Some(known) => {
                segment.builder.add(&record, known.terms(), known.key.as_slice(), row.as_deref())
            }
            None => {
                made.make(header.kind, content);
                let terms = &made.of_record;
                segment.builder.add(&record, terms.terms(), terms.keys(), row.as_deref())
            }
        };
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

/// The row of a record, as [`row_of_record`](holdpoint_domain::world::row_of_record) gives it for
/// one that is not withheld.
fn row_of(content: &Content) -> Option<Vec<u8>> {
    let Content::Event(envelope) = content else { return None };
    RowFact::of(envelope)?.encode()
}

/// More terms than nearly every event has.
const TERMS_KEPT: usize = 7;

/// The terms of an event. They lie in their place, for another thread takes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermsOfEvent {
    terms: [TermHash; TERMS_KEPT],
    count: usize,
    key: Option<TermHash>,
}

impl TermsOfEvent {
    /// `None` where they are too many to be kept so.
    fn of(made: &RecordTerms) -> Option<Self> {
        let (mut terms, count) = ([TermHash(0); TERMS_KEPT], made.terms().len());
        terms.get_mut(..count)?.copy_from_slice(made.terms());
        let key = match made.keys() {
            [] => None,
            [key] => Some(*key),
            _ => return None,
        };
        Some(Self { terms, count, key })
    }

    fn terms(&self) -> &[TermHash] {
        self.terms.get(..self.count).unwrap_or_default()
    }
}

/// Makes terms, one record after the other: many have the same as the one before.
#[derive(Debug, Default)]
struct TermsMaker {
    of_record: RecordTerms,
    canonical: Vec<u8>,
}

impl TermsMaker {
    /// The terms of a record, as
    /// [`terms_of_record`](holdpoint_domain::world::terms_of_record) gives them for one that is not
    /// withheld.
    fn make(&mut self, kind: u16, content: &Content) {
        self.of_record.clear();
        match content {
            Content::Event(envelope) => self.add_event(envelope),
            Content::Opaque => self.add(Term::Kind(kind)),
            Content::Withheld | Content::Undecodable(_) | Content::NotRead => {}
        }
    }

    fn add_event(&mut self, envelope: &Envelope) {
        terms_of(envelope, &mut |term| self.add(term));
    }

    fn add(&mut self, term: Term<'_>) {
        let Self { of_record, canonical } = self;
        canonical.clear();
        term.write(canonical);
        match term.is_key() {
            true => of_record.add_key(canonical),
            false => of_record.add_term(canonical),
        }
    }
}

thread_local! {
    /// Maker of terms of this thread.
    static MAKER: RefCell<TermsMaker> = RefCell::default();
}

/// The terms of an event; `None` where there are too many to be kept beside it.
pub(crate) fn terms_of_event(envelope: &Envelope) -> Option<TermsOfEvent> {
    MAKER.with_borrow_mut(|maker| {
        maker.of_record.clear();
        maker.add_event(envelope);
        TermsOfEvent::of(&maker.of_record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has more terms than there is room for is left to whoever builds the index.
    #[test]
    fn terms_beside_a_record_are_all_of_its_terms_or_none() {
        for count in 0..=TERMS_KEPT + 1 {
            let mut made = RecordTerms::default();
            (0..count).for_each(|term| made.add_term(&[u8::try_from(term).unwrap()]));
            let kept = TermsOfEvent::of(&made);
            assert_eq!(kept.is_some(), count <= TERMS_KEPT);
            assert!(kept.is_none_or(|kept| kept.terms() == made.terms() && kept.key.is_none()));
            made.add_key(b"one");
            let kept = TermsOfEvent::of(&made);
            assert!(kept.is_none_or(|kept| kept.key.as_slice() == made.keys()));
            made.add_key(b"another");
            assert!(TermsOfEvent::of(&made).is_none());
        }
    }
}
