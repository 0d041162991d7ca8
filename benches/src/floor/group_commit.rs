//! Writers at once that share writes and syncs, and hash nothing: what any log has to do for them,
//! as a program in C would, with a mutex and a condition.

use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use holdpoint_log_format::limits::record_footprint;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};

/// [`super::GROUP_COMMIT`].
pub const GROUPS: Candidate = Candidate::new(super::GROUP_COMMIT, open);
/// [`super::GATHERING_COMMIT`].
pub const GATHERING: Candidate = Candidate::new(super::GATHERING_COMMIT, open_gathering);

/// Bytes of the file, which was written whole and synced before.
const FILE_BYTES: u64 = 64 << 20;
/// So often whoever commits lets others go first.
const YIELDS_MAX: u32 = 64;

struct GroupCommit {
    file: File,
    record: Vec<u8>,
    gathers: bool,
    state: Mutex<State>,
    committed: Condvar,
}

#[derive(Default)]
struct State {
    /// Records that wait for the next commit.
    gathered: Vec<u8>,
    /// Place where they go.
    offset: u64,
    /// Records that were handed in.
    handed_in: u64,
    /// Records that are synced.
    durable: u64,
    /// Records of the last commit.
    last_commit: u64,
    /// Somebody writes and syncs now.
    is_committing: bool,
    /// A commit failed: none is tried again.
    has_failed: bool,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    opened(at, mode, payload, false)
}

fn open_gathering(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    opened(at, mode, payload, true)
}

fn opened(
    at: &Path,
    mode: Mode,
    payload: &str,
    gathers: bool,
) -> Result<Box<dyn Store>, MeasureError> {
    if mode != Mode::Durable {
        return Err(MeasureError::NotOffered("syncs every commit"));
    }
    let file = prepared(&at.join("records"))?;
    let length = usize::try_from(record_footprint(payload.len())).unwrap_or(payload.len());
    Ok(Box::new(GroupCommit {
        file,
        record: vec![0xa5; length],
        gathers,
        state: Mutex::default(),
        committed: Condvar::new(),
    }))
}

/// The file; written with zeros and synced where it is new, so that writing converts no extents.
fn prepared(path: &Path) -> Result<File, MeasureError> {
    let is_new = !path.exists();
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).open(path).doing("make a file")?;
    if is_new {
        let zeros = vec![0; 1 << 20];
        for offset in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset).doing("write a file")?;
        }
        file.sync_all().doing("sync a file")?;
    }
    Ok(file)
}

impl Store for GroupCommit {
    fn append(&self) -> Result<(), MeasureError> {
        let mut state = self.state()?;
        state.gathered.extend_from_slice(&self.record);
        state.handed_in += 1;
        let own = state.handed_in;
        while state.durable < own {
            if state.has_failed {
                return Err("a commit failed").doing("wait for a commit");
            }
            if !state.is_committing {
                return self.commit(state);
            }
            state = self.committed.wait(state).map_err(|_| "poisoned").doing("wait")?;
        }
        Ok(())
    }
}

impl GroupCommit {
    fn state(&self) -> Result<MutexGuard<'_, State>, MeasureError> {
        self.state.lock().map_err(|_| "poisoned").doing("take a mutex")
    }

    /// Writes and syncs what has gathered, which has the caller's own record in it, and wakes
    /// everybody, when they can have the mutex.
    fn commit<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(), MeasureError> {
        state.is_committing = true;
        if self.gathers {
            state = self.gather(state)?;
        }
        let bytes = std::mem::take(&mut state.gathered);
        let (until, offset) = (state.handed_in, state.offset);
        state.offset = (offset + bytes.len() as u64) % (FILE_BYTES / 2);
        drop(state);
        let synced = self.file.write_all_at(&bytes, offset).and_then(|()| self.file.sync_data());
        let mut state = self.state()?;
        state.is_committing = false;
        match synced {
            Ok(()) => {
                state.last_commit = until - state.durable;
                state.durable = until;
            }
            Err(_) => state.has_failed = true,
        }
        drop(state);
        self.committed.notify_all();
        synced.doing("write and sync a file")
    }

    /// Waits for as many records as the last commit had, for a while.
    fn gather<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, MeasureError> {
        for _ in 0..YIELDS_MAX {
            if state.handed_in - state.durable >= state.last_commit {
                break;
            }
            drop(state);
            std::thread::yield_now();
            state = self.state()?;
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_appends_returns_when_the_record_is_synced() {
        for candidate in [GROUPS, GATHERING] {
            let place = tempfile::tempdir().expect("a directory");
            let store = (candidate.open)(place.path(), Mode::Durable, "text").expect("it opens");
            let store = &*store;
            let append = || (0..8).try_for_each(|_| store.append());
            let appended = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4).map(|_| scope.spawn(append)).collect();
                writers.into_iter().all(|writer| writer.join().is_ok_and(|done| done.is_ok()))
            });
            assert!(appended);
            let written = std::fs::read(place.path().join("records")).expect("it is there");
            let records = written.iter().filter(|byte| **byte == 0xa5).count();
            assert_eq!(records as u64, 32 * record_footprint(4), "{}", candidate.name);
        }
    }
}
