//! An index that is open.
//!
//! **Why it is mapped.** An index is written whole under another name and renamed; nobody of
//! Holdpoint changes or cuts it afterwards, and one that is replaced keeps its bytes for whoever
//! has it mapped. What the map gives is memory that the system can take back: private memory would
//! grow with the log. Somebody else may write to the file in its place all the same, or cut it,
//! which ends whoever reads the map behind the cut with SIGBUS. So whoever keeps an index asks
//! [`OpenIndex::is_unchanged`] before each use, and opens it again where it is not; what is left
//! are the microseconds between the two.

use crate::file::{Unusable, index_path};
use crate::index::Index;
use holdpoint_log_files::map::SegmentBytes;
use holdpoint_log_files::{ReadFile, ReadStorage, Stamp};
use std::fs::File;

/// An index that is mapped, and what tells whether somebody has written to its file since, or cut
/// it: what a section was compared with its digest for holds no longer then.
#[derive(Debug)]
pub struct OpenIndex {
    index: Index<SegmentBytes>,
    first_sequence: u64,
    stamp: Option<Stamp>,
    held: Option<File>,
}

impl OpenIndex {
    /// Opens the index of the segment that begins at `first_sequence`, mapped from a real file. Its
    /// header block holds; whether what that says is true, its [digest](Index::digest) tells
    /// whoever knows the right one.
    ///
    /// # Errors
    /// [`Unusable`], which says why; the caller goes on without an index.
    pub fn open<S: ReadStorage>(storage: &S, first_sequence: u64) -> Result<Self, Unusable> {
        let file = storage.open(&index_path(first_sequence))?.ok_or(Unusable::Missing)?;
        // The stamp comes before the bytes: what changes behind it is noticed.
        let stamp = file.stamp()?;
        let index = Index::new(file.segment_bytes(file.length()?)?)?;
        Ok(Self { index, first_sequence, stamp, held: file.held() })
    }

    /// The index.
    #[must_use]
    pub const fn index(&self) -> &Index<SegmentBytes> {
        &self.index
    }

    /// The index alone, for whoever uses it once.
    #[must_use]
    pub fn into_index(self) -> Index<SegmentBytes> {
        self.index
    }

    /// Gives back the file that is held open. From then on it is looked up by its name when it is
    /// asked whether it is unchanged.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Whether the file is as it was when it was opened.
    pub fn is_unchanged<S: ReadStorage>(&self, storage: &S) -> bool {
        let Some(stamp) = self.stamp else { return true };
        let now = match &self.held {
            Some(file) => file.stamp().ok().flatten(),
            None => {
                let found = storage.open(&index_path(self.first_sequence)).ok().flatten();
                found.and_then(|file| file.stamp().ok().flatten())
            }
        };
        now == Some(stamp)
    }
}
