//! Finding records by what they hold: through the indexes that the log vouches for, and by reading
//! the segments that have none. The answer is the same either way.

use super::archived::Archived;
use super::error::SubmitError;
use super::indexer::{Indexer, is_gone_on_from};
use super::rebuild::{Recorded, recorded};
use super::recent::{Gathered, Recent, is_remembered};
use crate::log::Storage;
use holdpoint_domain::log::{LogEvent, SegmentIndex, SegmentIndexes};
use holdpoint_domain::world::{TERMS_VERSION, Term, terms_of};
use holdpoint_domain::{Envelope, Event};
use holdpoint_log_files::reader::{OpenSegment, firsts, list};
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{Entry, FollowError, Follower, Mapped, ReadFile, RecordPlace, Stamp};
use holdpoint_log_format::{ChainPosition, Record, RecordHeader, names};
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::{Index, IndexFault, TermHash, read_indexed};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// So many files of indexes are held open at most: a process may have 1,024 by default. The others
/// are opened again by their names whenever something is read of them.
const HELD_MAX: usize = 256;

/// An index, of which nothing is kept in memory.
type OpenIndex = Index<Box<dyn ReadFile + Send>>;

/// State that lookups keep: the indexes that are open, and what is in the segments that have none.
#[derive(Default)]
pub(super) struct Lookup {
    opened: BTreeMap<u64, OpenIndex>,
    /// The segments up to the active one, and which that was.
    listed: Option<(u64, Vec<u64>)>,
    recent: Option<Recent>,
    /// By the first record of a segment, the one before it, as what is tied says.
    tied: BTreeMap<u64, ChainPosition>,
    pub(super) indexer: Indexer,
    /// Beginnings before that of the log.
    pub(super) archived: Option<Archived>,
    /// The last record that is moved to an archive, as an event that was followed says; 0: none.
    archived_to: u64,
    /// The segment that was the active one when the indexer last looked.
    looked_at: u64,
}

/// Scope of a lookup: up to a record, in the log of this disk.
pub(super) struct Scope<'a, S> {
    pub(super) disk: &'a Arc<S>,
    pub(super) known: &'a SegmentIndexes,
    /// The newest record that is written, and its place.
    pub(super) newest: &'a Follower,
}

impl Lookup {
    /// Returns whether a lookup of a term reads the whole of the active segment.
    pub(super) fn reads(&self, active: u64, term: &Term<'_>) -> bool {
        !self.knows(active) || !is_remembered(term)
    }

    /// Returns whether it is known which ids were used in the active segment.
    pub(super) fn knows(&self, active: u64) -> bool {
        self.recent.as_ref().is_some_and(|recent| recent.covers(active))
    }

    /// Follows a record that was appended or read.
    pub(super) fn follow(&mut self, sequence: u64, envelope: &Envelope) {
        if let Event::Log(LogEvent::HistoryArchived(body)) = &envelope.event {
            // Segments leave, sooner or later: they are listed again and again from then on.
            self.archived_to = body.anchor_sequence;
            self.indexer.forget(self.archived_to);
        }
        let Some(recent) = &mut self.recent else { return };
        recent.follow(sequence, envelope);
        if let Event::Log(LogEvent::SegmentIndexed(body)) = &envelope.event {
            recent.forget(body.first_sequence, body.last_sequence);
        }
    }

    /// Has the indexes built that are missing: at first, and whenever a segment was sealed.
    pub(super) fn look_after<S: Storage>(&mut self, scope: &Scope<'_, S>) {
        let active = scope.newest.header.first_sequence();
        if self.looked_at == active {
            return;
        }
        // Indexes are caches: no command fails for want of one, and the next turn looks again. What
        // reads segments lists them itself, and says why it cannot.
        let Ok(entries) = listed(&**scope.disk) else { return };
        self.looked_at = active;
        let mut segments = firsts(&entries);
        segments.retain(|first| *first > self.archived_to && *first <= active);
        let files = entries.iter().filter_map(|entry| names::parse_index(&entry.name)).collect();
        self.indexer.look_after(scope.disk, &segments, scope.known, &files);
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
            match self.in_index(scope, first, hash, term.is_key())? {
                Some(candidates) => self.read_each(scope, first, &candidates, term, &mut found)?,
                None if is_remembered(term) => {
                    let candidates = self.in_recent(scope, segment, hash)?;
                    let is_it = |event: &Recorded| candidates.contains(&event.sequence);
                    if !candidates.is_empty() {
                        self.read_all(scope, first, term, &is_it, &mut found)?;
                    }
                }
                None => self.read_all(scope, first, term, &|_| true, &mut found)?,
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
            let Some(candidates) = self.in_index(scope, first, hash, false)? else {
                self.recent(scope, first)?;
                continue;
            };
            for candidate in candidates.chunks(1) {
                let mut found = Vec::new();
                self.read_each(scope, first, candidate, term, &mut found)?;
                if let Some(event) = found.first() {
                    return Ok(Some(event.sequence));
                }
            }
        }
        let recent = self.recent.as_ref();
        Ok(recent.and_then(|recent| recent.used.get(&hash).copied()))
    }

    /// Shows the records of one segment from one on, where its index says where they lie. `false`:
    /// it does not, as for one that was moved to an archive, or `visit` did not have enough; then
    /// nothing that it saw is proven.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub(super) fn each_from<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        visit: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> Result<bool, SubmitError> {
        let holding = scope.known.iter().take_while(|(segment, _)| *segment <= first).last();
        let Some((segment, known)) = holding else { return Ok(false) };
        self.list_segments(scope)?;
        let is_gone = |(_, firsts): &(u64, Vec<u64>)| firsts.binary_search(&segment).is_err();
        if self.listed.as_ref().is_none_or(is_gone) {
            return Ok(false);
        }
        let Some(index) = self.index(scope, segment)? else { return Ok(false) };
        let mut opened = opened(scope, segment)?;
        let (mut next, mut onward) = (first, ControlFlow::Continue(()));
        while onward.is_continue() && next <= known.last_sequence {
            let Ok(Some(stretch)) = index.stretch_of(next) else { return Ok(false) };
            let wanted: Vec<u64> = (next..=stretch.last).collect();
            let read = read_indexed(index, &mut opened, &wanted, &mut |_, record| {
                if onward.is_continue() {
                    onward = visit(record);
                }
            });
            if read.map_err(failed(segment))?.is_none() {
                self.build_again(scope, segment);
                return Ok(false);
            }
            next = stretch.last.saturating_add(1);
        }
        Ok(onward.is_break())
    }

    /// The segments that may hold a hash, in their order: all but those of which an index that is
    /// open says that they do not. Each of those costs one read of its filter; everything
    /// else is read in its order, not looked for.
    fn segments_to_ask<S: Storage>(
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
            // What is wrong with the index is found where the segment is asked.
            !is_usable(opened, first, known) || may_have(opened, hash, is_key).unwrap_or(true)
        };
        let segments = firsts.iter().zip(ends).filter(|(first, _)| may_hold(**first));
        Ok(segments.map(|(first, end)| *first..=end).collect())
    }

    /// Lists the segments up to the active one, by their first records. The list changes at a roll.
    fn list_segments<S: Storage>(&mut self, scope: &Scope<'_, S>) -> Result<(), SubmitError> {
        let active = scope.newest.header.first_sequence();
        let is_listed = self.listed.as_ref().is_some_and(|(listed_at, _)| *listed_at == active);
        if !is_listed || self.archived_to > 0 {
            let mut firsts = firsts(&listed(&**scope.disk)?);
            firsts.retain(|first| *first <= active);
            let is_there = |first: &u64| firsts.binary_search(first).is_ok();
            self.opened.retain(|first, _| is_there(first));
            self.tied.retain(|first, _| is_there(first));
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
    ) -> Result<BTreeSet<u64>, SubmitError> {
        let (first, end) = records.into_inner();
        let held = self.recent(scope, first)?.terms.range((hash, first)..=(hash, end));
        Ok(held.map(|(_, sequence)| *sequence).collect())
    }

    /// Returns what is in a segment without an index, among others: it is read once.
    fn recent<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
    ) -> Result<&Recent, SubmitError> {
        if !self.knows(first) {
            let end = self.end_of(scope, first)?;
            let newest = scope.newest.run.chain.sequence;
            let mut read = Gathered::default();
            let told = |event: Recorded| Some(Gathered::of(event.sequence, &event.envelope));
            let before = each_record(&**scope.disk, first, &end, &|_| true, &told, &mut |told| {
                read.add(told)
            })?;
            let recent = self.recent.get_or_insert_with(|| Recent::from(newest));
            recent.take(read);
            recent.read.insert(first);
            self.tied.insert(first, before);
        }
        Ok(self.recent.get_or_insert_with(|| Recent::from(0)))
    }

    /// Returns what the index of a segment gives; `None` where there is none to be believed, and
    /// one is built then.
    fn in_index<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        hash: TermHash,
        is_key: bool,
    ) -> Result<Option<Vec<u64>>, SubmitError> {
        let Some(index) = self.index(scope, first)? else { return Ok(None) };
        let candidates = candidates_in(index, hash, is_key);
        if candidates.is_err() {
            self.build_again(scope, first);
        }
        // An index is a cache: where it cannot be read, the segment is.
        Ok(candidates.ok())
    }

    fn build_again<S: Storage>(&mut self, scope: &Scope<'_, S>, first: u64) {
        self.opened.remove(&first);
        self.indexer.build(scope.disk, first, scope.known.of(first).copied());
    }

    /// The index of a segment, where there is one to be believed; else one is built, unless the log
    /// says two things of it.
    fn index<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
    ) -> Result<Option<&OpenIndex>, SubmitError> {
        let known = scope.known.of(first).filter(|known| !known.is_disputed());
        let Some(known) = known else { return Ok(None) };
        if !self.opened.get(&first).is_some_and(|opened| is_usable(opened, first, known)) {
            self.opened.remove(&first);
            let is_held = self.opened.len() < HELD_MAX;
            // An index is a cache: one that cannot be read is none.
            let opened = index_file(scope.disk, index_path(first), is_held);
            let opened = opened.and_then(|file| Index::new(file).ok());
            let opened = opened.filter(|opened| is_usable(opened, first, known));
            match opened {
                // Else what the log says of the index is not so.
                Some(opened) if is_gone_on_from(&**scope.disk, &opened.scope().last)? => {
                    self.opened.insert(first, opened);
                }
                _ => self.build_again(scope, first),
            }
        }
        Ok(self.opened.get(&first))
    }

    /// Adds the candidates of an index that hold the term indeed. Where they are not what the index
    /// says, they are looked for in the whole segment.
    fn read_each<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        candidates: &[u64],
        term: &Term<'_>,
        found: &mut Vec<Recorded>,
    ) -> Result<(), SubmitError> {
        // Most segments hold nothing of what is looked for: none of these is opened.
        if candidates.is_empty() {
            return Ok(());
        }
        let mut read = Vec::new();
        let mut take = |_: &RecordPlace, record: &Record<'_>| read.push(recorded(record));
        let is_read = match self.opened.get(&first) {
            Some(index) => read_indexed(index, &mut opened(scope, first)?, candidates, &mut take),
            None => Ok(None),
        };
        if is_read.map_err(failed(first))?.is_none() {
            self.build_again(scope, first);
            let is_it = |event: &Recorded| candidates.binary_search(&event.sequence).is_ok();
            return self.read_all(scope, first, term, &is_it, found);
        }
        for event in read {
            found.extend(event?.filter(|event| holds(event, term)));
        }
        Ok(())
    }

    /// Adds the records of a segment that hold the term, of those that may.
    fn read_all<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
        term: &Term<'_>,
        may_hold: &(dyn Fn(&Recorded) -> bool + Sync),
        found: &mut Vec<Recorded>,
    ) -> Result<(), SubmitError> {
        let end = self.end_of(scope, first)?;
        let wanted = |event: Recorded| (may_hold(&event) && holds(&event, term)).then_some(event);
        let before = each_record(&**scope.disk, first, &end, &|_| true, &wanted, &mut |event| {
            found.push(event)
        })?;
        self.tied.insert(first, before);
        Ok(())
    }

    /// The last record of a segment. It is tied to the newest one: the segments behind it are read,
    /// up to one of which it is known from which record it goes on.
    fn end_of<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
    ) -> Result<ChainPosition, SubmitError> {
        self.list_segments(scope)?;
        let firsts = self.listed.as_ref().map_or(&[][..], |(_, firsts)| firsts);
        let behind = firsts.partition_point(|one| *one <= first);
        let behind: Vec<u64> = firsts.get(behind..).unwrap_or_default().to_vec();
        let (mut due, mut end) = (Vec::new(), scope.newest.run.chain);
        for next in behind {
            if let Some(before) = self.before(scope, next)? {
                end = before;
                break;
            }
            due.push(next);
        }
        for next in due.into_iter().rev() {
            end = read_to(&**scope.disk, next, &end, &|_| (), &mut |()| {})?;
            self.tied.insert(next, end);
        }
        Ok(end)
    }

    /// The record before a segment, where that is known without reading the segment.
    fn before<S: Storage>(
        &mut self,
        scope: &Scope<'_, S>,
        first: u64,
    ) -> Result<Option<ChainPosition>, SubmitError> {
        if let Some(before) = self.tied.get(&first) {
            return Ok(Some(*before));
        }
        let active = &scope.newest.header;
        let was_followed = |recent: &Recent| first > recent.followed_behind;
        if active.first_sequence() == first && self.recent.as_ref().is_some_and(was_followed) {
            return Ok(Some(*self.tied.entry(first).or_insert(active.previous)));
        }
        let stretch = self.index(scope, first)?.map(|index| index.stretch_of(first));
        let Some(Ok(Some(stretch))) = stretch else { return Ok(None) };
        let sequence = first.saturating_sub(1);
        // The index states no time there; it is no part of what a link ties.
        Ok(Some(ChainPosition { sequence, link: stretch.before, time: 0 }))
    }
}

fn index_file<S: Storage>(
    disk: &Arc<S>,
    path: String,
    is_held: bool,
) -> Option<Box<dyn ReadFile + Send>> {
    match is_held {
        true => Some(Box::new(disk.open(&path).ok()??)),
        false => Some(Box::new(PathFile { disk: Arc::clone(disk), path })),
    }
}

/// A file that is opened whenever something is asked of it.
struct PathFile<S> {
    disk: Arc<S>,
    path: String,
}

impl<S: Storage> PathFile<S> {
    fn opened(&self) -> io::Result<S::File> {
        self.disk.open(&self.path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl<S: Storage> ReadFile for PathFile<S> {
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

/// Returns whether an index is the one that the log vouches for, by the rules of today, and its
/// file is as it was when it was opened.
fn is_usable(index: &OpenIndex, first: u64, known: &SegmentIndex) -> bool {
    index.is_vouched(first, known.digest.as_bytes(), TERMS_VERSION) && index.is_unchanged()
}

/// Returns whether some record of an index's segment may hold a term.
fn may_have(index: &OpenIndex, hash: TermHash, is_key: bool) -> Result<bool, IndexFault> {
    match is_key {
        true => index.may_have_key(hash),
        false => index.may_have_term(hash),
    }
}

/// Every record of an index's segment that may hold a term, in order.
fn candidates_in(index: &OpenIndex, hash: TermHash, is_key: bool) -> Result<Vec<u64>, IndexFault> {
    let records = match is_key {
        true => index.records_with_key(hash)?,
        false => index.records_with(hash)?,
    };
    records.collect()
}

/// Returns what is in the directory of segments.
pub(super) fn listed<S: Storage>(disk: &S) -> Result<Vec<Entry>, FollowError> {
    list(disk)?.map_err(FollowError::Damaged)
}

fn holds(event: &Recorded, term: &Term<'_>) -> bool {
    let mut is_held = false;
    terms_of(&event.envelope, &mut |held| is_held |= held == *term);
    is_held
}

/// Returns what the disk says of a segment.
fn failed(first: u64) -> impl FnOnce(io::Error) -> FollowError {
    move |source| FollowError::Read(io_error(&segment_path(first))(source))
}

/// A segment, to be read here and there: through a map where there is one.
fn opened<S: Storage>(
    scope: &Scope<'_, S>,
    first: u64,
) -> Result<OpenSegment<Mapped<S::File>>, FollowError> {
    OpenSegment::of(scope.disk.open_mapped(&segment_path(first)), first)
}

/// Shows what `make` makes of every record of a segment up to `end`, as [`read_to`] does, of those
/// whose headers are `wanted`. One of them that cannot be read is an error.
pub(super) fn each_record<S: Storage, T: Send>(
    disk: &S,
    first: u64,
    end: &ChainPosition,
    wanted: &(dyn Fn(&RecordHeader) -> bool + Sync),
    make: &(dyn Fn(Recorded) -> Option<T> + Sync),
    visit: &mut dyn FnMut(T),
) -> Result<ChainPosition, SubmitError> {
    let mut failure = None;
    let made = |record: &Record<'_>| match wanted(&record.header) {
        true => recorded(record).map(|event| event.and_then(make)),
        false => Ok(None),
    };
    let before = read_to(disk, first, end, &made, &mut |made| match made {
        _ if failure.is_some() => {}
        Ok(made) => made.into_iter().for_each(&mut *visit),
        Err(error) => failure = Some(error),
    })?;
    failure.map_or(Ok(before), Err)
}

/// Shows what is made of every record of a segment up to `end`, its last one or the log's newest,
/// which has to have its link: none is proven before this is over. Gives the record before the
/// segment. Records are checked, and what is made of them is, by as many threads as there are.
fn read_to<S: Storage, T: Send>(
    disk: &S,
    first: u64,
    end: &ChainPosition,
    make: &(dyn Fn(&Record<'_>) -> T + Sync),
    visit: &mut dyn FnMut(T),
) -> Result<ChainPosition, FollowError> {
    let mut place = Follower::at_segment(disk, first)?;
    let before = place.header.previous;
    let make = |_: &RecordPlace, record: &Record<'_>| make(record);
    place.follow_within(disk, end, &make, &mut |_, _, made| visit(made))?;
    Ok(before)
}
