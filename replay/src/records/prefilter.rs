//! Test that rules a record out by its bytes alone: most records hold nothing of what is asked for,
//! and finding that out is faster than decoding them.

use super::filter::{Filter, OneOf};
use crate::read::cause_named_by;
use holdpoint_log_format::Record;
use memchr::memmem::Finder;
use std::collections::{BTreeMap, BTreeSet};

/// Prefix of the id of every run.
pub(super) const LOOP: &str = "LOOP-";

/// Prefix of the id of every request.
const REQUEST: &str = "REQ-";

/// Prefix of the id of every decision point.
const DECISION: &str = "DP-";

/// Texts that the payload of every wanted record holds: what it is about is written out in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefilter {
    each: Vec<Finder<'static>>,
    one_of: Option<Several>,
}

/// One of which the payload holds.
#[derive(Clone, Debug)]
enum Several {
    Ids(Vec<OneOfThese>),
    Texts(Vec<Finder<'static>>),
    /// The heading names one of them as the cause.
    Causes(BTreeSet<u64>),
}

/// More texts than this are not looked for, one after the other.
const TEXTS_MAX: usize = 16;

/// Texts of one length that begin alike, one of which the payload holds.
#[derive(Clone, Debug)]
struct OneOfThese {
    beginning: Finder<'static>,
    length: usize,
    texts: BTreeSet<Vec<u8>>,
}

impl Prefilter {
    pub(crate) fn of(filter: &Filter) -> Self {
        let ids = [&filter.loop_id, &filter.decision, &filter.correlation];
        let each = ids.into_iter().flatten().map(finder).collect();
        Self { each, one_of: filter.one_of.as_ref().and_then(Several::of) }
    }

    /// Returns whether a record can be wanted.
    pub(crate) fn admits(&self, record: &Record<'_>) -> bool {
        self.each.iter().all(|text| text.find(record.payload).is_some())
            && self.one_of.as_ref().is_none_or(|several| several.stand_in(record))
    }

    /// Returns whether causes are asked for, and the heading of a record names none of these:
    /// whatever else it says, it is not wanted.
    pub(crate) fn is_of_another_cause(&self, record: &Record<'_>) -> bool {
        let Some(Several::Causes(causes)) = &self.one_of else { return false };
        let named = cause_named_by(record);
        named.is_some_and(|named| named.is_none_or(|cause| !causes.contains(&cause)))
    }
}

fn finder(text: &String) -> Finder<'static> {
    Finder::new(text).into_owned()
}

impl Several {
    /// `None`: they are not found faster than the record is decoded.
    fn of(several: &OneOf) -> Option<Self> {
        match several {
            OneOf::Loops(ids) | OneOf::Decisions(ids) => Self::of_ids(ids),
            OneOf::Begun(begun) => {
                let ids = begun.iter().map(|it| it.id().to_string()).collect();
                Self::of_ids(&ids).or_else(|| Self::of_texts(&ids))
            }
            OneOf::LoopsBeginning(texts) | OneOf::Correlations(texts) => Self::of_texts(texts),
            OneOf::Causes(causes) => Some(Self::Causes(causes.clone())),
            OneOf::Records(_) => None,
        }
    }

    fn of_texts(texts: &BTreeSet<String>) -> Option<Self> {
        (texts.len() <= TEXTS_MAX).then(|| Self::Texts(texts.iter().map(finder).collect()))
    }

    /// `None`: some of the ids have nothing in common by which they are found at once.
    fn of_ids(ids: &BTreeSet<String>) -> Option<Self> {
        let mut alike: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for id in ids {
            let beginning = [LOOP, REQUEST, DECISION].into_iter().find(|it| id.starts_with(it))?;
            alike.entry(beginning).or_default().insert(id.clone());
        }
        let alike = alike.iter().map(|(beginning, ids)| OneOfThese::of(beginning, ids));
        alike.collect::<Option<Vec<_>>>().filter(|alike| !alike.is_empty()).map(Self::Ids)
    }

    fn stand_in(&self, record: &Record<'_>) -> bool {
        let Record { payload, .. } = record;
        match self {
            Self::Ids(alike) => alike.iter().any(|ids| ids.stand_in(payload)),
            Self::Texts(texts) => texts.iter().any(|text| text.find(payload).is_some()),
            Self::Causes(causes) => {
                cause_named_by(record).flatten().is_some_and(|cause| causes.contains(&cause))
            }
        }
    }
}

impl OneOfThese {
    /// `None`: the ids have nothing in common by which they are found at once.
    fn of(beginning: &str, ids: &BTreeSet<String>) -> Option<Self> {
        let length = ids.first()?.len();
        let is_alike = |id: &String| id.len() == length && id.starts_with(beginning);
        ids.iter().all(is_alike).then(|| Self {
            beginning: Finder::new(beginning).into_owned(),
            length,
            texts: ids.iter().map(|id| id.clone().into_bytes()).collect(),
        })
    }

    fn stand_in(&self, payload: &[u8]) -> bool {
        let text = |at: usize| payload.get(at..at.saturating_add(self.length));
        let mut found = self.beginning.find_iter(payload).filter_map(text);
        found.any(|text| self.texts.contains(text))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use holdpoint_domain::Envelope;
    use holdpoint_domain::world::envelope::{Encoded, encode};
    use holdpoint_log_format::{Flags, Link, RecordHeader};
    use holdpoint_testing::story::samples::samples;

    fn one_of(ids: &[&str]) -> Filter {
        let ids = ids.iter().map(|id| (*id).to_string()).collect();
        Filter { one_of: Some(OneOf::Loops(ids)), ..Filter::default() }
    }

    /// The header of some record.
    pub(in crate::records) fn header() -> RecordHeader {
        RecordHeader {
            size: 64,
            checksum: 0,
            kind: 32,
            version: 1,
            flags: Flags::NONE,
            unsynced: 0,
            sequence: 9,
            time: 9,
            link: Link([0; 32]),
        }
    }

    /// A record of a kind with a payload.
    fn record(kind: u16, version: u8, payload: &[u8]) -> Record<'_> {
        Record { header: RecordHeader { kind, version, ..header() }, payload }
    }

    fn admits(filter: &Filter, payload: &[u8]) -> bool {
        Prefilter::of(filter).admits(&record(32, 1, payload))
    }

    #[test]
    fn a_payload_that_holds_no_wanted_id_is_ruled_out() {
        let filter = Filter { loop_id: Some("LOOP-1".into()), ..Filter::default() };
        assert!(admits(&filter, b"..LOOP-12"));
        assert!(!admits(&filter, b"..LOOP-2"));
        let two = Filter { correlation: Some("story".into()), ..filter };
        assert!(!admits(&two, b"..LOOP-1"));
        assert!(admits(&two, b"story..LOOP-1"));
        let several = one_of(&["LOOP-1", "LOOP-2"]);
        assert!(admits(&several, b"LOOP-LOOP-2"));
        assert!(!admits(&several, b"LOOP-3 LOOP-"));
        assert!(!admits(&several, b""));
        let names = Some(OneOf::Correlations(["a story".into(), "b".into()].into()));
        let stories = Filter { one_of: names, ..Filter::default() };
        assert!(admits(&stories, b"of a story"));
        assert!(!admits(&stories, b"of a stor"));
    }

    #[test]
    fn ids_that_have_nothing_in_common_rule_nothing_out() {
        for ids in [&["LOOP-1", "LOOP-22"][..], &["LOOP-1", "x"], &["mine"]] {
            assert!(admits(&one_of(ids), b""), "{ids:?}");
        }
        assert!(admits(&Filter::default(), b""));
        let many = (0..=TEXTS_MAX).map(|one| one.to_string()).collect();
        let many = Filter { one_of: Some(OneOf::Correlations(many)), ..Filter::default() };
        assert!(admits(&many, b""));
    }

    #[test]
    fn a_record_of_another_cause_is_ruled_out_by_its_heading() {
        let causes = Filter { one_of: Some(OneOf::Causes([7].into())), ..Filter::default() };
        let envelope = samples().into_iter().next().expect("there is a sample");
        for (causation, is_wanted) in [(Some(7), true), (Some(8), false), (None, false)] {
            let envelope = Envelope { causation, ..envelope.clone() };
            let Encoded { kind, version, payload } = encode(&envelope).expect("it is short");
            let found = Prefilter::of(&causes).admits(&record(kind, version, &payload));
            assert_eq!(found, is_wanted, "{causation:?}");
        }
        assert!(!admits(&causes, b"no payload"));
    }
}
