//! Files that lie beside the log and are derived from it: built again in memory, and compared byte
//! for byte with what is there.
//!
//! A cache proves nothing and is never missed: whatever is wrong with one is said here, and changes
//! no verdict on the log. There are two kinds: the index of a sealed segment, and the snapshot of a
//! state.

mod snapshots;

use crate::anchor::Anchor;
use crate::progress::Progress;
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::reader::list;
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{ReadFile, ReadStorage, SurveyError};
use holdpoint_log_format::{LogId, names};
use holdpoint_log_index::file::{BuildError, BuiltIndex, Unusable, build_index, index_path};
use holdpoint_log_index::{Index, IndexDigest, IndexFault, Scope};
use serde::Serialize;
pub use snapshots::CachedSnapshot;
use snapshots::check_snapshots;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io;

/// Files beside a log, and whether they are what the log says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Caches {
    /// The index of every sealed segment, and what looks like one beside none, in order.
    pub indexes: Vec<CachedIndex>,
    /// Every snapshot, in order. None has to be there.
    pub snapshots: Vec<CachedSnapshot>,
}

/// One index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CachedIndex {
    /// The file, relative to the log's directory.
    pub file: String,
    /// The sequence in its name: where its segment begins.
    pub first_sequence: u64,
    /// State of the cache.
    pub state: CacheState,
    /// Why it is not, in one sentence.
    pub reason: Option<String>,
    /// The digest of the right one, 64 hexadecimal digits; `None` where none could be built.
    pub digest: Option<String>,
}

holdpoint_domain::worded_enum! {
    /// Worth of a cache.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CacheState {
        /// Byte for byte what the log gives.
        Right = "right",
        /// Not there.
        Missing = "missing",
        /// Made of other records of this log, or by other rules than this program's.
        Stale = "stale",
        /// Changed, cut or forged.
        Damaged = "damaged",
        /// Made of another log.
        Foreign = "foreign",
        /// The part of the log that it is derived from does not hold.
        NotChecked = "not checked",
        /// It, or the part of the log that it is derived from, could not be read.
        Unreadable = "unreadable",
    }
}

impl CacheState {
    /// Returns what a failed call says of a cache: where something else lies in a file's place it
    /// says so.
    fn of_failure(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidInput { Self::Damaged } else { Self::Unreadable }
    }

    /// Returns whether the file is there and is not what the log gives.
    #[must_use]
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Stale | Self::Damaged | Self::Foreign)
    }
}

impl Caches {
    /// Counts the indexes that are in this state.
    #[must_use]
    pub fn count(&self, state: CacheState) -> usize {
        self.indexes.iter().filter(|index| index.state == state).count()
    }

    /// The first of them that could not be read, and why.
    #[must_use]
    pub fn unreadable(&self) -> Option<(&str, &str)> {
        let indexes = self.indexes.iter().map(|one| (&one.file, one.state, &one.reason));
        let snapshots = self.snapshots.iter().map(|one| (&one.file, one.state, &one.reason));
        let mut all = indexes.chain(snapshots);
        let (file, _, why) = all.find(|(_, state, _)| *state == CacheState::Unreadable)?;
        Some((file, why.as_deref().unwrap_or_default()))
    }

    /// Counts the snapshots that are in this state.
    #[must_use]
    pub fn count_snapshots(&self, state: CacheState) -> usize {
        self.snapshots.iter().filter(|snapshot| snapshot.state == state).count()
    }
}

/// Builds every cache of a log again, in memory, and compares it with what is there. Reads each
/// sealed segment once; memory follows the largest one's index. Where something else is in the
/// place of the directory of segments, which verifying tells, there is no index.
///
/// # Errors
/// [`SurveyError`]: the directory of segments cannot be listed. A segment that does not hold is no
/// error: its index is not checked.
pub fn check_caches<S: ReadStorage>(
    storage: &S,
    progress: &mut dyn FnMut(Progress),
) -> Result<Caches, SurveyError> {
    let listed = list(storage)?.unwrap_or_default();
    let begin = Anchor::of(storage)?.position.sequence;
    let sequences = |parse: fn(&str) -> Option<u64>| -> BTreeSet<u64> {
        let found = listed.iter().filter_map(|entry| parse(&entry.name));
        found.filter(|first| *first > begin).collect()
    };
    let (segments, indexes) = (sequences(names::parse_segment), sequences(names::parse_index));
    let expected = segments.last().copied().unwrap_or(0);
    let log = read_header(storage, begin.saturating_add(1))?.map(|header| header.log);
    let mut caches = Caches::default();
    for first in segments.union(&indexes) {
        let is_last = segments.last() == Some(first);
        let is_there = indexes.contains(first);
        let found = check_index(storage, log, *first, (is_last, is_there));
        caches.indexes.extend(found);
        progress(Progress { sequence: *first, expected });
    }
    caches.snapshots = check_snapshots(storage, log);
    Ok(caches)
}

/// Checks the index of one segment; `None` for a segment that is still being written and has none.
fn check_index<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
    first_sequence: u64,
    (is_last, is_there): (bool, bool),
) -> Option<CachedIndex> {
    let built = build_index(storage, first_sequence, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    });
    let (state, reason) = match &built {
        // A log that was verified has no such segment: it became another's since.
        Ok(built) if log.is_some_and(|log| log != built.scope.log) => {
            let reason = format!("its segment is another log's, {}, by now", built.scope.log);
            (CacheState::Unreadable, Some(reason))
        }
        Ok(built) => compared(storage, built),
        Err(BuildError::NotSealed { .. }) if is_last && !is_there => return None,
        Err(BuildError::NotSealed { .. }) if is_last => {
            (CacheState::Stale, Some("its segment is still being written".to_string()))
        }
        Err(error) if is_gone(storage, first_sequence) => {
            (CacheState::Stale, Some(format!("it has no segment: {error}")))
        }
        Err(error @ BuildError::Io { source, .. }) => {
            (CacheState::of_failure(source), Some(error.to_string()))
        }
        Err(error) => (CacheState::NotChecked, Some(error.to_string())),
    };
    let digest = built.ok().and_then(|built| IndexDigest::of(&built.bytes));
    Some(CachedIndex {
        file: index_path(first_sequence),
        first_sequence,
        state,
        reason,
        digest: digest.map(|digest| digest.to_string()),
    })
}

fn is_gone<S: ReadStorage>(storage: &S, first_sequence: u64) -> bool {
    matches!(storage.open(&segment_path(first_sequence)), Ok(None))
}

fn compared<S: ReadStorage>(storage: &S, built: &BuiltIndex) -> (CacheState, Option<String>) {
    match compare(storage, built) {
        Ok(()) => (CacheState::Right, None),
        Err(unusable) => (state_of(&unusable), Some(unusable.to_string())),
    }
}

fn state_of(unusable: &Unusable) -> CacheState {
    match unusable {
        Unusable::Missing => CacheState::Missing,
        Unusable::Unreadable(error) => CacheState::of_failure(error),
        Unusable::Foreign { .. } => CacheState::Foreign,
        Unusable::Stale { .. } | Unusable::Damaged(IndexFault::Version { .. }) => CacheState::Stale,
        _ => CacheState::Damaged,
    }
}

/// Why the file is not, byte for byte, what was built. Never more than that is read of it.
fn compare<S: ReadStorage>(storage: &S, built: &BuiltIndex) -> Result<(), Unusable> {
    let file = storage.open(&index_path(built.scope.first_sequence))?.ok_or(Unusable::Missing)?;
    let length = file.length()?;
    let mut found = vec![0; built.bytes.len()];
    let read = file.read_at(0, &mut found)?;
    found.truncate(read);
    if length == read as u64 && found == built.bytes {
        return Ok(());
    }
    let (scope, stated) = Scope::stated_by(&found)?;
    Unusable::check_scope(&built.scope, &scope)?;
    match length.cmp(&stated) {
        Ordering::Less => Err(IndexFault::Short { needed: stated, available: length }.into()),
        Ordering::Greater => Err(IndexFault::Long { expected: stated, found: length }.into()),
        Ordering::Equal if stated != read as u64 => Err(Unusable::Forged),
        Ordering::Equal => {
            Err(Index::new(&found[..])?.check().err().map_or(Unusable::Forged, Unusable::from))
        }
    }
}
