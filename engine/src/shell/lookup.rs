//! Finding records by what they hold: through the indexes that the log vouches for, and by reading
//! the segments that have none. The answer is the same either way.

use super::error::SubmitError;
use super::indexer::Indexer;
use super::rebuild::{Recorded, recorded};
use crate::log::Storage;
use holdpoint_domain::Envelope;
use holdpoint_domain::event::Event;
use holdpoint_domain::hash::Digest;
use holdpoint_domain::terms::{TERMS_VERSION, Term, terms_of};
use holdpoint_domain::world::{SegmentIndex, SegmentIndexes};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    FollowError, Follower, Mapped, Onward, ReadError, ReadFile, ReadStorage, RecordPlace, Run,
    Stamp, Stop, SurveyError,
};
use holdpoint_log_format::{Item, Record, SegmentHeader, names};
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::{Index, IndexFault, TermHash};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// So many files of indexes are held open at most: a process may have 1,024 by default. The others
/// are opened again by their names whenever something is read of them.
const HELD_MAX: usize = 256;

/// An index, of which nothing is kept in memory.
type OpenIndex = Index<Box<dyn ReadFile + Send>>;

/// What lookups keep: the indexes that are open, and what is in the segments that have none.
#[derive(Default)]
pub(super) struct Lookup {
    opened: BTreeMap<u64, OpenIndex>,
    /// The segments up to the active one, and which that was.
    listed: Option<(u64, Vec<u64>)>,
    recent: Option<Recent>,
    pub(super) indexer: Indexer,
    /// Whether somebody moves records to an archive.
    has_archived: bool,
    /// The segment that was the active one when the indexer last looked.
    looked_at: u64,
}

/// What is looked up again and again in the records that no index holds yet: idempotency keys,
/// threads, sessions and work orders that ended, and which ids were used.
struct Recent {
    /// Term and sequence.
    terms: BTreeSet<(TermHash, u64)>,
    /// The first record of everything that has an id.
    used: BTreeMap<TermHash, u64>,
    /// Segments that were read.
    read: BTreeSet<u64>,
    /// Everything behind this record was followed.
    followed_behind: u64,
    /// Segments of which what was followed is not kept any more.
    forgotten: BTreeSet<u64>,
}

/// Where a lookup looks: up to a record, in the log of this disk.
pub(super) struct Scope<'a, S> {
    pub(super) disk: &'a Arc<S>,
    pub(super) known: &'a SegmentIndexes,
    /// The newest record that is written, and its place.
    pub(super) newest: &'a Follower,
}

impl Lookup {
    /// Whether a lookup of a term reads the whole of the active segment.
    pub(super) fn reads(&self, active: u64, term: &Term<'_>) -> bool {
        !self.knows(active) || !is_remembered(term)
    }

    /// Whether it is known which ids were used in the active segment.
    pub(super) fn knows(&self, active: u64) -> bool {
        self.recent.as_ref().is_some_and(|recent| recent.covers(active))
    }

    /// Follows a record that was appended or read.
    pub(super) fn follow(&mut self, event: &Recorded) {
        if matches!(event.envelope.event, Event::HistoryArchived(_)) {
            // Segments leave, sooner or later: they are listed again and again from then on.
            self.has_archived = true;
        }
        let Some(recent) = &mut self.recent else { return };
        recent.follow(event.sequence, &event.envelope);
        if let Event::SegmentIndexed(body) = &event.envelope.event {
            recent.forget(body.first_sequence, body.last_sequence);
        }
    }

    /// Has the indexes built that are missing: at first, and whenever a segment was sealed.
    pub(super) fn look_after<S: Storage>(&mut self, scope: &Scope<'_, S>) {
        let active = scope.newest.header.first_sequence();
        if self.looked_at == active {
            return;
        }
        self.looked_at = active;
        // Where the list cannot be read, lookups say so.
        let Ok(entries) = scope.disk.list(names::SEGMENTS) else { return };
        let of = |parse: fn(&str) -> Option<u64>| -> BTreeSet<u64> {
            entries.iter().filter_map(|entry| parse(&entry.name)).collect()
        };
        let segments: Vec<u64> = of(names::parse_segment).range(..=active).copied().collect();
        self.indexer.look_after(scope.disk, &segments, scope.known, &of(names::parse_index));
    }

    /// The records up to `until` that hold a term, in their order. What segments without an index
    /// hold is read from them, and for idempotency keys and threads kept in memory from then on:
    /// everything appended must be written.
    ///
    /// # Errors
    /// A segment cannot be read, or is damaged.
    pub(super) fn records_with<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        term: &Term<'_>,
        until: u64,
    ) -> Result<Vec<Recorded>, SubmitError> {
        let hash = TermHash::of(&term.canonical());
        let mut found = Vec::new();
        for segment in self.segments_to_ask(scope, hash, term.is_key())? {
            let first = *segment.start();
            if first > until {
                break;
            }
            match self.in_index(scope, first, hash, term.is_key()) {
                Some(candidates) => read_each(scope, first, &candidates, term, &mut found)?,
                None if is_remembered(term) => {
                    let candidates = self.in_recent(scope, segment, hash)?;
                    read_each(scope, first, &candidates, term, &mut found)?;
                }
                None => read_all(scope, first, term, &mut found)?,
            }
        }
        found.retain(|event| event.sequence <= until);
        found.sort_unstable_by_key(|event| event.sequence);
        Ok(found)
    }

    /// Some record that holds the term of something that has an id: its first one, unless that is
    /// in an archive. Everything appended must be written, unless [`Lookup::knows`] the segment.
    ///
    /// # Errors
    /// As [`Lookup::records_with`].
    pub(super) fn first_use<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        term: &Term<'_>,
    ) -> Result<Option<u64>, SubmitError> {
        let hash = TermHash::of(&term.canonical());
        for segment in self.segments_to_ask(scope, hash, false)? {
            let first = *segment.start();
            let Some(candidates) = self.in_index(scope, first, hash, false) else {
                self.recent(scope, first)?;
                continue;
            };
            for candidate in candidates.chunks(1) {
                let mut found = Vec::new();
                read_each(scope, first, candidate, term, &mut found)?;
                if let Some(event) = found.first() {
                    return Ok(Some(event.sequence));
                }
            }
        }
        let recent = self.recent.as_ref();
        Ok(recent.and_then(|recent| recent.used.get(&hash).copied()))
    }

    /// The records from one on, up to another or to the end of its batch, where the index of a
    /// segment says where they lie; `None` where they have to be looked for.
    pub(super) fn records_between<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        last: Option<u64>,
    ) -> Option<Vec<Recorded>> {
        let mut found = Vec::new();
        self.each_from(scope, first, &mut |record| {
            let event = recorded(record).ok()?;
            let sequence = event.sequence;
            let is_last = last.map_or(event.ends_batch, |last| sequence >= last);
            found.push(event);
            Some(if is_last { Onward::Stop } else { Onward::Go })
        })?;
        Some(found)
    }

    /// The link of a record, where the index of a segment says where it lies.
    pub(super) fn link_of<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        sequence: u64,
    ) -> Option<Digest> {
        let mut link = None;
        self.each_from(scope, sequence, &mut |record| {
            link = Some(Digest::from_bytes(record.header.link.0));
            Some(Onward::Stop)
        })?;
        link
    }

    /// Shows records of one segment from one on, where its index says where that lies. `None`: not
    /// all of them are there, or `visit` gave up.
    fn each_from<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        visit: &mut dyn FnMut(&Record<'_>) -> Option<Onward>,
    ) -> Option<()> {
        let (segment, known) =
            scope.known.iter().take_while(|(segment, _)| *segment <= first).last()?;
        let mut offset = match known.last_sequence >= first {
            true => self.index(scope, segment)?.offset_of(first).ok()??,
            false => return None,
        };
        let (header, mut window) = opened(scope, segment, Reads::HereAndThere).ok()?;
        for sequence in first..=known.last_sequence {
            let Ok(Ok((Item::Record(record), length))) = window.item(offset, &header) else {
                return None;
            };
            if record.header.sequence != sequence {
                return None;
            }
            if visit(&record)? == Onward::Stop {
                return Some(());
            }
            offset = offset.saturating_add(length);
        }
        None
    }

    /// The segments that may hold a hash, in their order: all but those of which an index that is
    /// open says that they do not. Each of those costs one read of its filter; everything
    /// else is read in its order, not looked for.
    fn segments_to_ask<S: ReadStorage>(
        &mut self,
        scope: &Scope<'_, S>,
        hash: TermHash,
        is_key: bool,
    ) -> Result<Vec<RangeInclusive<u64>>, SubmitError> {
        self.list_segments(scope)?;
        let firsts = self.listed.as_ref().map_or(&[][..], |(_, firsts)| firsts);
        let ends = firsts.iter().skip(1).map(|next| next.saturating_sub(1)).chain([u64::MAX]);
        let mut known = scope.known.iter().peekable();
        let mut opened = self.opened.iter().peekable();
        let mut may_hold = |first: u64| {
            while known.next_if(|(one, _)| *one < first).is_some() {}
            while opened.next_if(|(one, _)| **one < first).is_some() {}
            let known = known.peek().filter(|(one, _)| *one == first);
            let opened = opened.peek().filter(|(one, _)| **one == first);
            let (Some((_, known)), Some((_, opened))) = (known, opened) else { return true };
            let is_to_be_used = is_usable(opened, known);
            !is_to_be_used || may_have(opened, hash, is_key).unwrap_or(true)
        };
        let segments = firsts.iter().zip(ends).filter(|(first, _)| may_hold(**first));
        Ok(segments.map(|(first, end)| *first..=end).collect())
    }

    /// Lists the segments up to the active one, by their first records. The list changes at a roll.
    fn list_segments<S: ReadStorage>(&mut self, scope: &Scope<'_, S>) -> Result<(), SubmitError> {
        let active = scope.newest.header.first_sequence();
        let is_listed = self.listed.as_ref().is_some_and(|(listed_at, _)| *listed_at == active);
        if !is_listed || self.has_archived {
            let firsts = segments_of(scope)?;
            self.opened.retain(|first, _| firsts.binary_search(first).is_ok());
            self.listed = Some((active, firsts));
        }
        Ok(())
    }

    /// The records of a segment without an index that may hold a term that is remembered.
    fn in_recent<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        records: RangeInclusive<u64>,
        hash: TermHash,
    ) -> Result<Vec<(u64, u64)>, SubmitError> {
        let (first, end) = records.into_inner();
        let held = self.recent(scope, first)?.terms.range((hash, first)..=(hash, end));
        Ok(held.map(|(_, sequence)| (*sequence, 0)).collect())
    }

    /// What is in a segment without an index, among others: it is read once.
    fn recent<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
    ) -> Result<&Recent, SubmitError> {
        let newest = scope.newest.run.chain.sequence;
        let recent = self.recent.get_or_insert_with(|| Recent::from(newest));
        if !recent.covers(first) {
            each_record(scope, first, &mut |event| {
                recent.follow(event.sequence, &event.envelope);
            })?;
            recent.read.insert(first);
        }
        Ok(recent)
    }

    /// What the index of a segment gives; `None` where there is none to be believed, and one is
    /// built then.
    fn in_index<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        hash: TermHash,
        is_key: bool,
    ) -> Option<Vec<(u64, u64)>> {
        let candidates = candidates_in(self.index(scope, first)?, hash, is_key);
        if candidates.is_err() {
            self.opened.remove(&first);
            self.indexer.build(scope.disk, first, scope.known.of(first).copied());
        }
        candidates.ok()
    }

    /// The index of a segment, where there is one to be believed; else one is built, unless the log
    /// says two things of it.
    fn index<S: Storage>(&mut self, scope: &Scope<'_, S>, first: u64) -> Option<&OpenIndex> {
        let known = scope.known.of(first).filter(|known| !known.is_disputed())?;
        if !self.opened.get(&first).is_some_and(|opened| is_usable(opened, known)) {
            self.opened.remove(&first);
            let is_held = self.opened.len() < HELD_MAX;
            let opened = index_file(scope.disk, index_path(first), is_held);
            let opened = opened.and_then(|file| Index::new(file).ok());
            let Some(opened) = opened.filter(|opened| is_usable(opened, known)) else {
                self.indexer.build(scope.disk, first, Some(*known));
                return None;
            };
            self.opened.insert(first, opened);
        }
        self.opened.get(&first)
    }
}

fn index_file<S: Storage>(
    disk: &Arc<S>,
    path: String,
    is_held: bool,
) -> Option<Box<dyn ReadFile + Send>> {
    match is_held {
        true => Some(Box::new(disk.open(&path).ok()??)),
        false => Some(Box::new(Named { disk: Arc::clone(disk), path })),
    }
}

/// A file that is opened whenever something is asked of it.
struct Named<S> {
    disk: Arc<S>,
    path: String,
}

impl<S: Storage> Named<S> {
    fn opened(&self) -> io::Result<S::File> {
        self.disk.open(&self.path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl<S: Storage> ReadFile for Named<S> {
    fn length(&self) -> io::Result<u64> {
        self.opened()?.length()
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        self.opened()?.stamp()
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.opened()?.read_some_at(offset, buffer)
    }
}

impl Recent {
    fn from(newest: u64) -> Self {
        let (terms, used) = (BTreeSet::new(), BTreeMap::new());
        let (read, forgotten) = (BTreeSet::new(), BTreeSet::new());
        Self { terms, used, read, followed_behind: newest, forgotten }
    }

    /// Whether every record of the segment that begins here is known.
    fn covers(&self, first: u64) -> bool {
        let was_followed = first > self.followed_behind && !self.forgotten.contains(&first);
        was_followed || self.read.contains(&first)
    }

    fn follow(&mut self, sequence: u64, envelope: &Envelope) {
        terms_of(envelope, &mut |term| {
            if is_remembered(&term) {
                self.terms.insert((TermHash::of(&term.canonical()), sequence));
            } else if has_id(&term) {
                let first = self.used.entry(TermHash::of(&term.canonical())).or_insert(sequence);
                *first = sequence.min(*first);
            }
        });
    }

    /// The records of a segment need not be kept any more: the log vouches for an index.
    fn forget(&mut self, first: u64, last: u64) {
        self.terms.retain(|(_, sequence)| !(first..=last).contains(sequence));
        self.used.retain(|_, sequence| !(first..=last).contains(sequence));
        self.read.remove(&first);
        self.forgotten.insert(first);
    }
}

/// Whether a term is looked up with commands, and not only when somebody asks.
const fn is_remembered(term: &Term<'_>) -> bool {
    matches!(
        term,
        Term::Key { .. } | Term::Thread { .. } | Term::Session { .. } | Term::WorkOrder { .. }
    )
}

/// Whether a term names something by an id of its own, that nothing else ever has.
const fn has_id(term: &Term<'_>) -> bool {
    matches!(term, Term::Loop(_) | Term::Request(_) | Term::DecisionPoint(_))
}

/// Whether an index is the one that the log vouches for, by the rules of today, and its file is as
/// it was when it was opened.
fn is_usable(index: &OpenIndex, known: &SegmentIndex) -> bool {
    index.digest().0 == *known.digest.as_bytes()
        && index.scope().terms_version == TERMS_VERSION
        && index.is_unchanged()
}

/// Whether some record of an index's segment may hold a term.
fn may_have(index: &OpenIndex, hash: TermHash, is_key: bool) -> Result<bool, IndexFault> {
    match is_key {
        true => index.may_have_key(hash),
        false => index.may_have_term(hash),
    }
}

/// Sequence and offset of every record of an index's segment that may hold a term.
fn candidates_in(
    index: &OpenIndex,
    hash: TermHash,
    is_key: bool,
) -> Result<Vec<(u64, u64)>, IndexFault> {
    let records = match is_key {
        true => index.records_with_key(hash)?,
        false => index.records_with(hash)?,
    };
    let mut candidates = Vec::new();
    for sequence in records {
        let sequence = sequence?;
        candidates.push((sequence, index.offset_of(sequence)?.unwrap_or(0)));
    }
    Ok(candidates)
}

/// The segments up to the active one, by their first records.
fn segments_of<S: ReadStorage>(scope: &Scope<'_, S>) -> Result<Vec<u64>, SubmitError> {
    let listed = scope.disk.list(names::SEGMENTS).map_err(|source| {
        let file = names::SEGMENTS.to_string();
        ReadError::from(SurveyError::Io { file, source })
    })?;
    let active = scope.newest.header.first_sequence();
    let firsts = listed.iter().filter_map(|entry| names::parse_segment(&entry.name));
    let firsts: BTreeSet<u64> = firsts.filter(|first| *first <= active).collect();
    Ok(firsts.into_iter().collect())
}

/// Adds the candidates that hold the term indeed. One whose offset is not known, or is not right,
/// is looked for in the whole segment.
fn read_each<S: Storage>(
    scope: &Scope<'_, S>,
    first: u64,
    candidates: &[(u64, u64)],
    term: &Term<'_>,
    found: &mut Vec<Recorded>,
) -> Result<(), SubmitError> {
    // Most segments hold nothing of what is looked for: none of these is opened.
    if candidates.is_empty() {
        return Ok(());
    }
    let mut missing = BTreeSet::new();
    let (header, mut window) = opened(scope, first, Reads::HereAndThere)?;
    for &(sequence, offset) in candidates {
        let item = (offset > 0).then(|| window.item(offset, &header)).transpose();
        let failed = |source| SurveyError::Io { file: segment_path(first), source };
        let read = match item.map_err(|error| ReadError::Read(failed(error)))? {
            Some(Ok((Item::Record(record), _))) if record.header.sequence == sequence => {
                Some(recorded(&record)?)
            }
            _ => None,
        };
        match read {
            Some(event) if holds(&event, term) => found.push(event),
            Some(_) => {}
            None => drop(missing.insert(sequence)),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    each_record(scope, first, &mut |event| {
        if missing.contains(&event.sequence) && holds(&event, term) {
            found.push(event);
        }
    })
}

/// Adds the records of a segment that hold the term.
fn read_all<S: Storage>(
    scope: &Scope<'_, S>,
    first: u64,
    term: &Term<'_>,
    found: &mut Vec<Recorded>,
) -> Result<(), SubmitError> {
    each_record(scope, first, &mut |event| {
        if holds(&event, term) {
            found.push(event);
        }
    })
}

fn holds(event: &Recorded, term: &Term<'_>) -> bool {
    let mut is_held = false;
    terms_of(&event.envelope, &mut |held| is_held |= held == *term);
    is_held
}

/// How much of a segment is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// A few records, through a map where there is one.
    HereAndThere,
    /// All of it.
    InOrder,
}

/// A segment's bytes.
type Opened<S> = Window<Mapped<<S as ReadStorage>::File>>;

/// The header of a segment, and its bytes.
fn opened<S: ReadStorage>(
    scope: &Scope<'_, S>,
    first: u64,
    reads: Reads,
) -> Result<(SegmentHeader, Opened<S>), SubmitError> {
    let file = segment_path(first);
    let opened = match reads {
        Reads::HereAndThere => scope.disk.open_mapped(&file),
        Reads::InOrder => scope.disk.open(&file).map(|opened| opened.map(Mapped::File)),
    };
    let failed = |source| SurveyError::Io { file: file.clone(), source };
    let sequence = first.saturating_sub(1);
    let opened = opened.map_err(|error| FollowError::Read(failed(error)))?;
    let opened = opened.ok_or_else(|| FollowError::Gone { file: file.clone(), sequence })?;
    let mut window = Window::new(opened).map_err(|error| FollowError::Read(failed(error)))?;
    let header = window.header().map_err(|error| FollowError::Read(failed(error)))?;
    Ok((header.map_err(|fault| FollowError::Header { file: file.clone(), fault })?, window))
}

/// Shows every record of a segment up to the newest one, each checked.
fn each_record<S: Storage>(
    scope: &Scope<'_, S>,
    first: u64,
    visit: &mut dyn FnMut(Recorded),
) -> Result<(), SubmitError> {
    let (header, mut window) = opened(scope, first, Reads::InOrder)?;
    let last = scope.newest.run.chain.sequence;
    let mut failure = None;
    let mut take = |_: &RecordPlace, record: &Record<'_>| {
        if record.header.sequence > last {
            return Onward::Stop;
        }
        match recorded(record) {
            Ok(event) => visit(event),
            Err(error) => failure = Some(error),
        }
        if failure.is_some() { Onward::Stop } else { Onward::Go }
    };
    let walked = walk(&mut window, &header, Run::at_start(&header), &mut take);
    failure.map_or(Ok(()), Err)?;
    let file = segment_path(first);
    let failed = |source| SurveyError::Io { file: file.clone(), source };
    let run = walked.map_err(|source| SubmitError::Read(failed(source).into()))?;
    match run.stop {
        Stop::Fault(fault) if run.stop_sequence <= last => {
            let offset = run.stop_offset;
            Err(ReadError::Damaged { file, offset, fault }.into())
        }
        // Only the last segment ends with nothing, behind the newest record.
        Stop::Nothing if run.stop_sequence <= last => {
            Err(ReadError::Missing { sequence: run.stop_sequence }.into())
        }
        _ => Ok(()),
    }
}
