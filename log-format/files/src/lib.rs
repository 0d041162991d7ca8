//! Places of the bytes of a Holdpoint log: finding, ordering, mapping and reading its segments.
//!
//! Read-only by construction: [`ReadStorage`] has no call that changes anything. Opening for
//! writing and verifying share [`survey()`], which gathers everything that the recovery table of
//! `holdpoint-log-format` looks at, and takes the verdict there.
//!
//! # Architecture invariants
//!
//! - No length in a file is trusted: a read is bounded by what the file system says the file has,
//!   and no allocation is larger than the file.
//! - Whatever is checked is a private copy. What is read in order, and all that may be hostile, is
//!   copied with `pread` in large blocks; reads here and there in segments of one's own log go
//!   through maps ([`map`]), where the process has asked for the guard that this needs.

#[cfg(windows)]
compile_error!("Holdpoint runs on Linux, and builds on macOS; on Windows use WSL 2.");

pub mod blocks;
pub mod damage_scan;
pub mod file_system;
pub mod finding;
pub mod follow;
pub mod head;
pub mod held;
pub mod joined;
pub mod later;
pub mod map;
mod mapped;
pub mod reader;
mod recording_lock;
pub mod run;
pub mod run_entries;
pub mod snapshot;
pub mod storage;
pub mod survey;
mod tie;
pub mod window;

pub use finding::{Finding, Place, Problem, records_named};
pub use follow::{FollowError, Follower};
pub use held::{DisplacedDirectory, FileId};
pub use joined::{ArchivePlaces, JoinedLog};
pub use mapped::Mapped;
pub use reader::{LogReader, Standing, Ties};
pub use recording_lock::{hold_recording_lock, is_recording_locked};
pub use run::{RecordPlace, Run, Stop};
pub use run_entries::{
    RunEntries, RunEntry, RunFileFault, is_outcome_under_way, outcome_of, read_outcome,
};
pub use storage::{DirectoryStorage, Entry, EntryKind, ReadFile, ReadStorage, Stamp};
pub use survey::{
    Extent, READINGS_MAX, Survey, SurveyError, SurveyOptions, survey, survey_completing,
    survey_in_threads,
};
