//! Which records of a segment can be wanted, by the indexes that the log vouches for.
//!
//! An index is believed when its digest is the one that an event in the chain states. These events
//! stand behind the segments that they are about, so that they are looked for from the log's end
//! on: the newest segments have no index yet and are read, and an index that is believed names the
//! events that vouch for the ones before it.

use super::filter::Filter;
use super::segments::{Part, Segment, Segments};
use crate::read::ReadError;
use holdpoint_domain::codec::decode;
use holdpoint_domain::event::{Event, REGISTRY, SegmentIndexed, kind_name};
use holdpoint_domain::hash::Digest;
use holdpoint_domain::terms::{TERMS_VERSION, Term};
use holdpoint_log_files::map::SegmentBytes;
use holdpoint_log_files::{Onward, ReadFile, ReadStorage, Run};
use holdpoint_log_format::{ChainPosition, Item, Record, names};
use holdpoint_log_index::{Index, IndexFault, OpenIndex, TermHash};
use std::collections::{BTreeMap, BTreeSet};

/// The kind of event that vouches for an index.
const STATEMENT: &str = "log.segment_indexed";

/// So many segments without an index are read to find out which indexes the log vouches for. Every
/// segment gets its index soon after it is sealed, unless nobody builds them.
const SEGMENTS_WITHOUT_MAX: usize = 3;

/// What the log says of the indexes of its segments: by a segment's first record, the digest.
#[derive(Default)]
pub(crate) struct Vouched(BTreeMap<u64, Digest>);

/// An index that is believed.
pub(crate) struct Believed {
    index: Index<SegmentBytes>,
    first: u64,
    last: u64,
}

/// A record that an index names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) sequence: u64,
    pub(crate) offset: u64,
    /// Where the record before it lies; `None` for the first one of the segment.
    pub(crate) before: Option<u64>,
}

impl Vouched {
    /// Whether the log vouches for an index of the segment.
    pub(crate) fn names(&self, first: u64) -> bool {
        self.0.contains_key(&first)
    }

    /// Finds out. Where no index lies beside the log, nothing is read.
    pub(crate) fn of<S: ReadStorage>(segments: &Segments<'_, S>) -> Result<Self, ReadError> {
        let mut vouched = Self::default();
        let listed = segments.storage.list(names::SEGMENTS).unwrap_or_default();
        let there: BTreeSet<u64> =
            listed.iter().filter_map(|entry| names::parse_index(&entry.name)).collect();
        // What is wrong about these segments is told by whoever reads records of them.
        let mut part = Part::default();
        let mut without = 0;
        for first in segments.firsts.iter().rev() {
            if without > SEGMENTS_WITHOUT_MAX || there.range(..=*first).next().is_none() {
                break;
            }
            let Some(mut segment) = segments.open(*first, &mut part)? else { break };
            let found = match vouched.index(segments.storage, *first) {
                Some(index) => statements_in_index(&index, &mut segment),
                None => None,
            };
            let found = match found {
                Some(found) => found,
                None => {
                    without += 1;
                    statements_in(segments, &mut segment, &mut part)?
                }
            };
            // The newest word on a segment counts, and it was met first.
            for body in found.into_iter().rev() {
                vouched.0.entry(body.first_sequence).or_insert(body.digest);
            }
        }
        Ok(vouched)
    }

    /// The index of a segment, where there is one to be believed.
    pub(crate) fn index<S: ReadStorage>(&self, storage: &S, first: u64) -> Option<Believed> {
        let digest = self.0.get(&first)?;
        let index = OpenIndex::open(storage, first).ok()?.into_index();
        let scope = *index.scope();
        let is_its = index.digest().0 == *digest.as_bytes()
            && scope.terms_version == TERMS_VERSION
            && scope.first_sequence == first;
        let believed = Believed { index, first, last: scope.last.sequence };
        (is_its && believed.names_all()).then_some(believed)
    }
}

impl Believed {
    /// Whether every record has a kind in the index. One whose payload could not be read when the
    /// index was built has no terms at all.
    fn names_all(&self) -> bool {
        let mut named = 0_u64;
        for entry in REGISTRY {
            let hash = TermHash::of(&Term::Kind(entry.kind).canonical());
            let Ok(records) = self.index.records_with(hash) else { return false };
            named = named.saturating_add(records.count() as u64);
        }
        named == u64::from(self.index.scope().records())
    }

    /// The records that can be wanted, in their order. `None`: the filter names no term, or the
    /// index cannot be used.
    pub(crate) fn candidates(&self, filter: &Filter) -> Option<Vec<Candidate>> {
        let lists = filter.terms();
        let (first, rest) = lists.split_first()?;
        let mut found = self.with_any(first).ok()?;
        for list in rest {
            let others = self.with_any(list).ok()?;
            found.retain(|sequence| others.contains(sequence));
        }
        // Where many are wanted, reading on is faster than going from one to the next.
        if found.len() as u64 > u64::from(self.index.scope().records()) / 4 {
            return None;
        }
        let low = filter.first.unwrap_or(0).max(self.first_since(filter)?);
        let high = filter.last.unwrap_or(u64::MAX);
        let wanted = found.into_iter().filter(|sequence| (low..=high).contains(sequence));
        wanted.map(|sequence| self.candidate(sequence)).collect()
    }

    /// The run that ends before the first record that the filter's beginning admits, as far as the
    /// index knows it: that record, or one of the few behind it, is the first wanted one.
    pub(crate) fn run_before<F: ReadFile>(
        &self,
        filter: &Filter,
        segment: &mut Segment<F>,
    ) -> Option<Run> {
        let low = filter.first.unwrap_or(0).max(self.first_since(filter)?);
        let before = low.min(self.last).checked_sub(1).filter(|before| *before >= self.first)?;
        let offset = self.index.offset_of(before).ok().flatten()?;
        let item = segment.window.item(offset, &segment.header).ok()?.ok()?;
        let (Item::Record(record), length) = item else { return None };
        let header = &record.header;
        let chain =
            ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        let is_it = header.sequence == before;
        is_it.then(|| Run::from(chain, offset, offset.saturating_add(length)))
    }

    fn first_since(&self, filter: &Filter) -> Option<u64> {
        let Some(since) = filter.since else { return Some(0) };
        let found = self.index.first_at_or_after(since.nanoseconds()).ok()?;
        Some(found.unwrap_or(u64::MAX))
    }

    fn with_any(&self, terms: &[Term<'_>]) -> Result<BTreeSet<u64>, IndexFault> {
        let mut found = BTreeSet::new();
        for term in terms {
            for sequence in self.index.records_with(TermHash::of(&term.canonical()))? {
                found.insert(sequence?);
            }
        }
        Ok(found)
    }

    fn candidate(&self, sequence: u64) -> Option<Candidate> {
        let offset = self.index.offset_of(sequence).ok().flatten()?;
        let before = match sequence.checked_sub(1).filter(|before| *before >= self.first) {
            Some(before) => Some(self.index.offset_of(before).ok().flatten()?),
            None => None,
        };
        Some(Candidate { sequence, offset, before })
    }
}

/// A record that an index names, read and checked: its frame, its sequence, and that it follows
/// from the record before it. `None`: it is not there.
pub(crate) fn read_candidate<T, F: ReadFile>(
    segment: &mut Segment<F>,
    candidate: &Candidate,
    take: impl FnOnce(&Record<'_>, u64) -> T,
) -> Option<T> {
    let before = match candidate.before {
        None => segment.header.previous,
        Some(offset) => {
            let item = segment.window.item(offset, &segment.header).ok()?.ok()?;
            let (Item::Record(record), _) = item else { return None };
            let header = &record.header;
            ChainPosition { sequence: header.sequence, link: header.link, time: header.time }
        }
    };
    let item = segment.window.item(candidate.offset, &segment.header).ok()?.ok()?;
    let (Item::Record(record), length) = item else { return None };
    let follows = before.advance(segment.header.log, &record).is_ok();
    (follows && record.header.sequence == candidate.sequence).then(|| take(&record, length))
}

/// The events of a segment that vouch for indexes, by its own index; `None` where it cannot be
/// used.
fn statements_in_index<F: ReadFile>(
    index: &Believed,
    segment: &mut Segment<F>,
) -> Option<Vec<SegmentIndexed>> {
    let filter = Filter { kind: Some(STATEMENT.to_string()), ..Filter::default() };
    let candidates = index.candidates(&filter)?;
    let read = |candidate: &Candidate| {
        read_candidate(segment, candidate, |record, _| statement_of(record))
    };
    let found: Option<Vec<Option<SegmentIndexed>>> = candidates.iter().map(read).collect();
    Some(found?.into_iter().flatten().collect())
}

fn statements_in<S: ReadStorage>(
    segments: &Segments<'_, S>,
    segment: &mut Segment<S::File>,
    part: &mut Part,
) -> Result<Vec<SegmentIndexed>, ReadError> {
    let from = Run::at_start(&segment.header);
    let mut found = Vec::new();
    let run = segments.walk(segment, from, part, &mut |_, record| {
        found.extend(statement_of(record).map(|body| (record.header.sequence, body)));
        Onward::Go
    })?;
    // Of an unfinished batch nothing counts.
    let whole = found.into_iter().filter(|(sequence, _)| *sequence <= run.chain.sequence);
    Ok(whole.map(|(_, body)| body).collect())
}

fn statement_of(record: &Record<'_>) -> Option<SegmentIndexed> {
    let header = &record.header;
    if kind_name(header.kind) != Some(STATEMENT) || header.flags.withheld() {
        return None;
    }
    match decode(header.kind, header.version, record.payload).ok()?.event {
        Event::SegmentIndexed(body) => Some(body),
        _ => None,
    }
}
