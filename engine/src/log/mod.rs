//! The disk room: bytes and files. It appends records, syncs, rolls, recovers, and cannot tell a
//! human decision from a fault.
//!
//! # Architecture invariants
//!
//! - Every call on the disk goes through [`Storage`]; nothing here opens a file by itself.
//! - Segments are written with `pwrite`, in order, one piece in flight; nothing is stored through a
//!   memory map.
//! - What is no part of the log yet, a segment made ahead, may be written and synced at the same
//!   time as the log.
//! - Nothing is acknowledged as durable before a sync that began after it was written has returned.
//! - After a failed write or sync the handle is poisoned for ever; nothing is retried.

mod acknowledgement;
mod active;
mod archive;
mod batch;
mod copy;
mod copy_directory;
mod create;
mod directory_board;
mod disk;
mod error;
mod flusher;
mod group_commit;
mod handle;
mod head_file;
mod level;
mod lock;
mod name_fault;
mod open;
mod options;
mod owner;
mod owner_identity;
mod preallocate;
mod recovery;
mod roll;
mod room;
mod run_file;
mod segment_lock;
mod shared_sync;
mod state;
mod storage;
mod tail;
#[cfg(test)]
pub(crate) mod tests;
mod turn_queue;
mod unhashed;
pub(crate) mod vacancy;
mod write_transaction;
mod zeros;

pub use acknowledgement::Acknowledgement;
pub(crate) use active::is_full;
pub use archive::{Archive, ArchiveError, SealedSegment};
pub use batch::NewRecord;
pub use copy::{Copied, CopyError, copy_log};
pub use copy_directory::{CopyDirectoryError, copy_directory};
pub(crate) use create::create_behind;
pub use error::{AppendError, CloseError, OpenError, PoisonCause};
pub use handle::Log;
pub use level::Level;
pub use name_fault::NameState;
pub use options::{OpenReport, Options, Ownership, Recovered};
pub use run_file::{
    DeferOutcomeError, DeferredOutcome, Room, RunFile, RunFileStamp, append_entry, keep_outcome,
};
pub use storage::{Board, LockFile, RootState, Storage, WriteFile};
pub use write_transaction::{Appended, WriteTransaction};
