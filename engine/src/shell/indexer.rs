//! Indexes of sealed segments are built beside the engine's work, by a thread that lives as long as
//! there is something to build, and told of in the log, by the next turn. The same thread looks
//! once through those that were there, section by section and with pauses, as a lookup would only
//! find what is wrong with the sections that it needs.
//!
//! # Architecture invariants
//!
//! - An index is a cache: where it cannot be built or written, lookups read the segment.
//! - Only who built an index from checked records vouches for it in the log; a file that was found
//!   is compared with what the log says, and never the other way round.

use crate::log::Storage;
use crate::sync::{Condvar, Mutex, now, thread};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::{SegmentIndex, SegmentIndexed, SegmentIndexes};
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::{FollowError, ReadFile};
use holdpoint_log_format::{ChainPosition, names};
use holdpoint_log_index::IndexDigest;
use holdpoint_log_index::file::{build_index, index_path, open_index};
use holdpoint_log_index::layout::INDEX_VERSION;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Before each index that is looked through: nobody waits for it, and others need the disk.
const PAUSE: Duration = Duration::from_millis(250);

/// Indexes to be built, and those that were.
#[derive(Default)]
pub(super) struct Indexer {
    shared: Arc<IndexerState>,
    /// True if what was there at first is to be looked through, or was.
    has_doubted: bool,
    /// The thread, and the process that has it.
    builder: Option<(thread::JoinHandle<()>, u32)>,
}

#[derive(Default)]
struct IndexerState {
    work: Mutex<Work>,
    /// There is something to build, or the builder is to end.
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    /// Segments by their first record, with what the log says of their index.
    due: BTreeMap<u64, Option<SegmentIndex>>,
    /// Segments whose indexes are to be looked through, with what the log says of them.
    doubted: BTreeMap<u64, SegmentIndex>,
    built: Vec<SegmentIndexed>,
    /// Segments of which no index could be built: not tried again by this engine.
    given_up: BTreeSet<u64>,
    /// True if there is a builder.
    is_building: bool,
    /// True if it is at work: else it waits, or has not begun.
    has_task: bool,
    is_closing: bool,
}

impl Indexer {
    /// Every sealed segment is to have an index that the log vouches for: the last of `segments`
    /// is not sealed. What is missing, or of an older format, is built beside the caller.
    pub(super) fn look_after<S: Storage>(
        &mut self,
        disk: &Arc<S>,
        segments: &[u64],
        known: &SegmentIndexes,
        files: &BTreeSet<u64>,
    ) {
        let sealed = segments.split_last().map_or(&[][..], |(_, sealed)| sealed);
        let sealed = sealed.iter().copied().filter(|one| known.of(*one).is_none_or(is_ours));
        let sealed: Vec<u64> = sealed.collect();
        let is_current = |known: &SegmentIndex| known.format == INDEX_VERSION;
        let is_missing =
            |first: &&u64| !known.of(**first).is_some_and(is_current) || !files.contains(*first);
        for first in sealed.iter().filter(is_missing) {
            self.build(disk, *first, known.of(*first).copied());
        }
        if !std::mem::replace(&mut self.has_doubted, true) {
            let doubted = sealed.iter().filter(|first| !is_missing(first));
            let doubted = doubted.filter_map(|first| Some((*first, *known.of(*first)?)));
            self.look_through(disk, doubted.collect());
        }
    }

    /// These indexes are compared with what the log says of them, whole, and built again where they
    /// are wrong.
    fn look_through<S: Storage>(&mut self, disk: &Arc<S>, doubted: BTreeMap<u64, SegmentIndex>) {
        let mut work = self.shared.work.lock();
        if work.is_closing || doubted.is_empty() {
            return;
        }
        work.doubted = doubted;
        if !std::mem::replace(&mut work.is_building, true) {
            drop(work);
            self.start(disk);
        }
    }

    /// The index of a segment is to be built, whatever there is in its place, where that is for
    /// this program to do.
    pub(super) fn build<S: Storage>(
        &mut self,
        disk: &Arc<S>,
        first_sequence: u64,
        known: Option<SegmentIndex>,
    ) {
        let mut work = self.shared.work.lock();
        let is_others = known.as_ref().is_some_and(|known| !is_ours(known));
        if is_others || work.is_closing || work.given_up.contains(&first_sequence) {
            return;
        }
        work.due.insert(first_sequence, known);
        self.shared.changed.notify_all();
        if !std::mem::replace(&mut work.is_building, true) {
            drop(work);
            self.start(disk);
        }
    }

    /// Starts the thread; where none can be had, the next engine tries.
    fn start<S: Storage>(&mut self, disk: &Arc<S>) {
        let (disk, shared) = (Arc::clone(disk), Arc::clone(&self.shared));
        let named = thread::Builder::new().name("holdpoint-indexer".into());
        match named.spawn(move || build_all(&*disk, &shared)) {
            Ok(builder) => self.builder = Some((builder, std::process::id())),
            Err(_) => self.shared.work.lock().is_closing = true,
        }
    }

    /// Nothing is built or told of segments up to a record, which are moved to an archive.
    pub(super) fn forget(&self, last: u64) {
        let mut work = self.shared.work.lock();
        work.due.retain(|first, _| *first > last);
        work.doubted.retain(|first, _| *first > last);
        work.built.retain(|built| built.first_sequence > last);
    }

    /// Returns what was built since this was called last, to be told of in the log.
    pub(super) fn take_built(&self) -> Vec<SegmentIndexed> {
        std::mem::take(&mut self.shared.work.lock().built)
    }

    /// Returns whether there is something to tell.
    pub(super) fn has_built(&self) -> bool {
        !self.shared.work.lock().built.is_empty()
    }

    /// Waits for the index that is being built now; others are left to the next engine.
    pub(super) fn finish(&mut self) {
        let Some((builder, owner)) = self.builder.take() else { return };
        if std::process::id() != owner {
            // A forked child has no such thread, and nobody gives back what it may have locked.
            return std::mem::forget(builder);
        }
        self.shared.work.lock().close();
        self.shared.changed.notify_all();
        // The thread returns nothing, and a panic in it was already printed.
        let _ = builder.join();
    }
}

impl Drop for Indexer {
    /// Ends the thread: whoever drops an engine may remove its directory next, and nothing is
    /// written there any more.
    fn drop(&mut self) {
        self.finish();
    }
}

impl Work {
    /// No more is taken in. What is built now is finished, or else one that is due is built.
    fn close(&mut self) {
        self.is_closing = true;
        self.doubted.clear();
        let first = self.due.pop_first().filter(|_| !self.has_task);
        self.due = first.into_iter().collect();
    }

    /// Returns what is to be done now that a pause is over or is not.
    fn next(&mut self, is_pause_over: bool) -> Option<Task> {
        if let Some((first_sequence, known)) = self.due.pop_first() {
            return Some(Task::Build(first_sequence, known));
        }
        let doubted = if is_pause_over { self.doubted.pop_first() } else { None };
        doubted.map(|(first_sequence, known)| Task::LookThrough(first_sequence, known))
    }
}

/// Next task of the builder.
enum Task {
    Build(u64, Option<SegmentIndex>),
    LookThrough(u64, SegmentIndex),
}

/// Returns whether another index of a segment may be stated beside this one: where the log says two
/// things of a segment, one more would settle nothing, and one of a newer format is for the program
/// that made it.
fn is_ours(known: &SegmentIndex) -> bool {
    !known.is_disputed() && known.format <= INDEX_VERSION
}

fn build_all<S: Storage>(disk: &S, shared: &IndexerState) {
    while let Some(task) = next(shared) {
        let (first_sequence, known) = match task {
            Task::Build(first_sequence, known) => (first_sequence, known),
            Task::LookThrough(first_sequence, known) if is_whole(disk, first_sequence, &known) => {
                continue;
            }
            Task::LookThrough(first_sequence, known) => (first_sequence, Some(known)),
        };
        match build_one(disk, first_sequence, known.as_ref()) {
            Ok(Some(built)) => shared.work.lock().built.push(built),
            Ok(None) => {}
            Err(_) => drop(shared.work.lock().given_up.insert(first_sequence)),
        }
    }
}

/// Returns the next task: what is missing comes first; then, each after a pause, what is to be
/// looked through.
fn next(shared: &IndexerState) -> Option<Task> {
    let mut work = shared.work.lock();
    work.has_task = false;
    let pause_ends = now() + PAUSE;
    let mut is_over = false;
    loop {
        let task = work.next(is_over);
        if task.is_some() || work.doubted.is_empty() {
            work.has_task = task.is_some();
            work.is_building = task.is_some();
            return task;
        }
        is_over = shared.changed.wait_until(&mut work, pause_ends).timed_out();
    }
}

/// Returns whether every section of an index is the one that the log vouches for, by this program's
/// rules.
fn is_whole<S: Storage>(disk: &S, first_sequence: u64, known: &SegmentIndex) -> bool {
    open_index(disk, first_sequence).is_ok_and(|index| {
        index.is_vouched(first_sequence, known.digest.as_bytes(), TERMS_VERSION)
            && index.check().is_ok()
    })
}

/// Builds the index of a segment and puts it beside it. Gives what the log is to be told, unless it
/// says so already.
fn build_one<S: Storage>(
    disk: &S,
    first_sequence: u64,
    known: Option<&SegmentIndex>,
) -> io::Result<Option<SegmentIndexed>> {
    let built = build_index(disk, first_sequence, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    });
    let built = built.map_err(|error| io::Error::other(error.to_string()))?;
    let last = built.scope.last;
    if !is_gone_on_from(disk, &last).map_err(|error| io::Error::other(error.to_string()))? {
        return Err(io::Error::other("the next segment goes on from another record"));
    }
    let digest = IndexDigest::of(&built.bytes).ok_or(io::ErrorKind::InvalidData)?;
    let digest = Digest::from_bytes(digest.0);
    put(disk, first_sequence, &built.bytes)?;
    let told = SegmentIndexed {
        first_sequence,
        last_sequence: last.sequence,
        format: INDEX_VERSION,
        digest,
    };
    Ok((known.map(|known| known.digest) != Some(digest)).then_some(told))
}

/// Returns whether the segment behind a sealed one goes on from the record that is said to be its
/// last one.
pub(super) fn is_gone_on_from<S: Storage>(
    disk: &S,
    last: &ChainPosition,
) -> Result<bool, FollowError> {
    let next = read_header(disk, last.sequence.saturating_add(1))?;
    Ok(next.is_some_and(|next| next.previous == *last))
}

/// The file appears whole or not at all. A crash may leave anything under its name all the same,
/// which then has another digest.
fn put<S: Storage>(disk: &S, first_sequence: u64, bytes: &[u8]) -> io::Result<()> {
    let temporary = format!("{}/{}", names::SEGMENTS, names::index_temporary(first_sequence));
    let file = disk.create(&temporary, bytes.len() as u64)?;
    let is_longer = file.length()? != bytes.len() as u64;
    let written = match is_longer {
        true => Err(io::Error::other("the file is longer than what is written to it")),
        false => disk.write_at(&file, 0, bytes),
    };
    let renamed = written.and_then(|()| disk.rename(&temporary, &index_path(first_sequence)));
    renamed.inspect_err(|_| drop(disk.remove(&temporary)))
}
