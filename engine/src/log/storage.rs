//! The few calls made on a disk to write a log. Everything the engine does to files goes through
//! this trait, so that a simulated disk can stand in for a real one.

use super::name_fault::NameState;
use super::run_file::{RunFile, RunFileStamp};
use holdpoint_log_files::{FileId, ReadFile, ReadStorage, RunEntries, RunFileFault};
use holdpoint_log_format::BootId;
use holdpoint_log_format::board::Ticket;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Kind of what stands at the log's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootState {
    /// Nothing.
    Missing,
    /// A directory.
    Directory,
    /// A symbolic link.
    SymbolicLink,
    /// Anything else.
    Other,
}

/// Writing calls on one log's directory. Paths are relative to it; `""` is the directory itself.
pub trait Storage: ReadStorage + Send + Sync + 'static {
    /// A file open for writing at any offset.
    type Writer: WriteFile + Send + Sync;
    /// The held lock; dropping it releases.
    type Lock: LockFile + Send + Sync;

    /// The directory's path, for messages.
    fn root(&self) -> &Path;

    /// The same directory for one handle alone: no clone of this decides what it holds.
    #[must_use]
    fn apart(self) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Reads and writes the directory that is at the path now from here on, whatever takes its
    /// place.
    ///
    /// # Errors
    /// There is none, or the disk says no.
    fn hold(&self) -> io::Result<()> {
        Ok(())
    }

    /// Checks that the directory that is held is still the one at the path. A disk on which nobody
    /// moves a log need not look.
    ///
    /// # Errors
    /// It is not, or what the disk says.
    fn check_place(&self) -> io::Result<()> {
        Ok(())
    }

    /// Another directory of the file system that this one is in; `None`: this disk has no others.
    fn elsewhere(&self, path: &Path) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = path;
        None
    }

    /// Free bytes of the disk for this user; `None`: that cannot be known.
    fn free(&self) -> Option<u64> {
        None
    }

    /// Returns what stands at the path.
    ///
    /// # Errors
    /// What the disk says.
    fn root_state(&self) -> io::Result<RootState>;

    /// The kind of the file system when its locks and syncs cannot be relied on.
    ///
    /// # Errors
    /// What the disk says.
    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>>;

    /// Makes a directory, owner only, with its parents; one that exists is fine.
    ///
    /// # Errors
    /// What the disk says.
    fn create_directory(&self, path: &str) -> io::Result<()>;

    /// Makes the file that keeps a new log out of a work tree of git around it. One that says
    /// something stays as it is; a disk that no work tree is on need not have one.
    ///
    /// # Errors
    /// What the disk says.
    fn write_gitignore(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes a file of `length` zero bytes, owner only, its space reserved, in place of any of the
    /// same name.
    ///
    /// # Errors
    /// What the disk says; a full disk is [`io::ErrorKind::StorageFull`].
    fn create(&self, path: &str, length: u64) -> io::Result<Self::Writer>;

    /// Opens an existing file for writing.
    ///
    /// # Errors
    /// What the disk says.
    fn open_writer(&self, path: &str) -> io::Result<Self::Writer>;

    /// Writes at `offset` as the system does: it may write only the first of `bytes` and say how
    /// many, or say [`io::ErrorKind::Interrupted`] and have written none.
    ///
    /// # Errors
    /// What the disk says; how much was written is then unknown.
    fn write_some_at(&self, file: &Self::Writer, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Writes zeros through a range of zeros whose space is reserved, so that later syncs of what
    /// is written there change nothing but that: a file system that keeps a note of space without
    /// content would change the note. A disk without such notes need not do anything.
    ///
    /// # Errors
    /// What the disk says; the range reads as zero all the same.
    fn write_zeros(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()> {
        let _ = (file, offset, length);
        Ok(())
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// What the disk says, and [`io::ErrorKind::WriteZero`] when it takes nothing and gives no
    /// reason; how much was written is then unknown.
    fn write_at(&self, file: &Self::Writer, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match self.write_some_at(file, offset.saturating_add(written as u64), rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lets the system begin to write a range of a file to the disk, and waits for nothing: a sync
    /// then finds less to do. Nothing is durable by it, and what fails on the way is told by that
    /// sync. A disk that cannot do that need not.
    fn begin_write_out(&self, file: &Self::Writer, offset: u64, length: u64) {
        let _ = (file, offset, length);
    }

    /// Makes a file's content durable.
    ///
    /// # Errors
    /// What the disk says; what is durable is then unknown.
    fn sync(&self, file: &Self::Writer) -> io::Result<()>;

    /// Makes a directory's names durable.
    ///
    /// # Errors
    /// What the disk says.
    fn sync_directory(&self, path: &str) -> io::Result<()>;

    /// Renames a file, replacing any of the new name.
    ///
    /// # Errors
    /// What the disk says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file; none of that name is fine.
    ///
    /// # Errors
    /// What the disk says.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Gives the blocks of a range back; the file's length stays and the range reads as zero. A
    /// file system that cannot do that leaves the range as it is.
    ///
    /// # Errors
    /// What the disk says.
    fn punch(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()>;

    /// Takes the lock if nobody has it, making the file LOCK when there is none. The lock is of the
    /// file that the name LOCK stands for when the call returns.
    ///
    /// # Errors
    /// What the disk says.
    fn try_lock(&self) -> io::Result<Option<Self::Lock>>;

    /// Takes the lock of SYNC if nobody has it, making that file as LOCK is made. `None` on a disk
    /// without a [board](Storage::board), which is not asked.
    ///
    /// # Errors
    /// What the disk says.
    fn try_sync_lock(&self) -> io::Result<Option<Self::Lock>> {
        Ok(None)
    }

    /// LOCK, open for whoever does not hold it, made as it is for its holder. `None` on a disk
    /// whose processes share no sync: each one syncs for itself then, while it holds LOCK.
    ///
    /// # Errors
    /// What the disk says.
    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        Ok(None)
    }

    /// A failure to write a file back that this open file has not been told of. A disk that tells
    /// at a sync alone need not look.
    ///
    /// # Errors
    /// The failure: what was written to it since it was opened, by anybody, may not be durable.
    fn check_written_back(&self, file: &Self::Writer) -> io::Result<()> {
        let _ = file;
        Ok(())
    }

    /// Returns whether a name stands for an open file. A disk on which nobody but a log's writers
    /// changes names need not look.
    ///
    /// # Errors
    /// What the disk says.
    fn is_named(&self, path: &str, file: &Self::Writer) -> io::Result<bool> {
        let _ = (path, file);
        Ok(true)
    }

    /// Which file an open one is. `None` on a disk on which nobody but a log's writers changes
    /// names and lengths: then [`Storage::name_state`] is not asked.
    ///
    /// # Errors
    /// What the disk says.
    fn id_of(&self, file: &Self::Writer) -> io::Result<Option<FileId>> {
        let _ = file;
        Ok(None)
    }

    /// The state of a name, which differs once somebody writes to the file or replaces it. `None`
    /// where nothing has the name, or nobody but a log's writers changes it.
    ///
    /// # Errors
    /// What the disk says.
    fn name_state(&self, path: &str) -> io::Result<Option<NameState>> {
        let _ = path;
        Ok(None)
    }

    /// The process that holds the lock of a file now, as the system knows it; `None` where it does
    /// not say.
    fn lock_holder(&self, path: &str) -> Option<u32> {
        let _ = path;
        None
    }

    /// Returns whether a process holds the lock now, for whoever only reads. Waits for nothing.
    ///
    /// # Errors
    /// What the disk says.
    fn is_locked(&self) -> io::Result<bool>;

    /// Makes the file of a run and holds its lock; `None` on a disk that keeps none, where nobody
    /// learns that a recorder is gone. Only within a turn.
    ///
    /// # Errors
    /// What the disk says.
    fn begin_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        let _ = loop_id;
        Ok(None)
    }

    /// Takes the lock of a run's file; `None` where somebody holds it or nothing is there. Only
    /// within a turn.
    ///
    /// # Errors
    /// What the disk says, and that something else than a run's own file stands there.
    fn take_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        let _ = loop_id;
        Ok(None)
    }

    /// Returns whether the recorder of a run lives, or its guard, whatever became of the run's own
    /// file; `None` where nothing tells.
    ///
    /// # Errors
    /// What the disk says.
    fn is_recorded(&self, loop_id: &str) -> io::Result<Option<bool>> {
        let _ = loop_id;
        Ok(None)
    }

    /// Returns whether what stands in the place of a run's file is not its recorder's, and nobody
    /// holds its lock. Only within a turn.
    ///
    /// # Errors
    /// What the disk says.
    fn is_foreign_run(&self, loop_id: &str) -> io::Result<bool> {
        let _ = loop_id;
        Ok(false)
    }

    /// Returns when something in the directory of the runs' files changed last; `None` where there
    /// is none.
    ///
    /// # Errors
    /// What the disk says.
    fn runs_changed(&self) -> io::Result<Option<(i64, i64)>> {
        Ok(None)
    }

    /// The stamp of a run's file; `None` where there is none.
    ///
    /// # Errors
    /// What the disk says.
    fn run_stamp(&self, loop_id: &str) -> io::Result<Option<RunFileStamp>> {
        let _ = loop_id;
        Ok(None)
    }

    /// The entries of a run's file, whoever holds its lock; `None` where there is none.
    ///
    /// # Errors
    /// A [`RunFileFault`].
    fn run_entries(&self, loop_id: &str) -> Result<Option<RunEntries>, RunFileFault> {
        let _ = loop_id;
        Ok(None)
    }

    /// This boot of the machine.
    fn boot(&self) -> BootId;

    /// Fills `bytes` with randomness, for a new log's identity: the system's, unless the disk is
    /// one whose every byte must be reproducible.
    ///
    /// # Errors
    /// The system has none to give.
    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
    }
}

/// A file open for writing, which one process at a time may lock. Where LOCK can be neither removed
/// nor replaced it alone keeps others out, and a disk need not lock anything else.
pub trait WriteFile: ReadFile {
    /// Takes its lock; false where somebody has it. The lock goes with the open file: a second
    /// handle of the same file, in this process or another one, is somebody else.
    ///
    /// # Errors
    /// What the disk says.
    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Gives its lock back, also one that a forked child has with the open file.
    ///
    /// # Errors
    /// What the disk says.
    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }
}

/// LOCK as it is for whoever does not hold it: what it says of shared syncs and of who waits, and
/// where to wait.
pub trait Board: Debug + Send + Sync {
    /// The whole file.
    ///
    /// # Errors
    /// What the disk says.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Writes a block. Who holds SYNC writes what shared syncs came to, everybody a ticket.
    ///
    /// # Errors
    /// What the disk says.
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()>;

    /// Checks like [`LockFile::has_its_name`].
    ///
    /// # Errors
    /// What the disk says.
    fn has_its_name(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Waits until one of `bits` of the word at `offset` is woken, unless the word is no longer
    /// `seen`, and for at most `within`; for a shorter time where the system cannot wait so.
    fn wait(&self, offset: usize, seen: u32, bits: u32, within: Duration);

    /// Wakes at most so many who wait for one of `bits` of the word at `offset`.
    fn wake(&self, offset: usize, bits: u32, most: u32);

    /// A ticket for somebody of this process who comes now.
    fn ticket(&self) -> Ticket;

    /// Returns whether the process of a ticket is there.
    fn is_there(&self, ticket: &Ticket) -> bool;
}

/// The file LOCK, held.
pub trait LockFile {
    /// Its content.
    ///
    /// # Errors
    /// What the disk says.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Returns whether the name LOCK still stands for this file. Where it does not, somebody
    /// removed or replaced it, and another process may hold the one that has the name now. A disk
    /// on which that cannot happen need not look.
    ///
    /// # Errors
    /// What the disk says.
    fn has_its_name(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Replaces its beginning, and makes the file as long as LOCK is. Not synced: LOCK matters only
    /// within a boot.
    ///
    /// # Errors
    /// What the disk says.
    fn write(&self, bytes: &[u8]) -> io::Result<()>;
}

impl<L: LockFile> LockFile for Arc<L> {
    fn read(&self) -> io::Result<Vec<u8>> {
        (**self).read()
    }

    fn has_its_name(&self) -> io::Result<bool> {
        (**self).has_its_name()
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        (**self).write(bytes)
    }
}
