//! Room for the ending of what is under way: small segments made beforehand, of which the log takes
//! one where the disk has no space for the segment that would come next.
//!
//! # Invariants
//!
//! - A file of room is no segment, and holds nothing but zeros, until a roll gives it a header and
//!   a segment's name: then nothing new is asked of the disk.
//! - Only appends that say whose room they may take get it: what else is written fails for want of
//!   space as it did before.

use super::active::DiskError;
use super::error::AppendError;
use super::handle::Log;
use super::roll::{self, Prepared};
use super::state::State;
use super::storage::Storage;
use super::write_transaction::WriteTransaction;
use holdpoint_log_format::limits::{SEAL_LENGTH, SEGMENT_CAPACITY_MIN, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::names;

/// Purpose of the files of room, for people: the run that they are named after may not be on record
/// yet.
const ROOM: &str = "the end of the run, in `runs/`";

/// Files of room for one run: one for each batch that its ending takes, because other writers share
/// the segment that a file becomes.
const FILES: u32 = 3;

impl<S: Storage> Log<S> {
    /// Reserves the room of a run, as far as it is not there. The directory is.
    ///
    /// # Errors
    /// [`AppendError::NoSpace`], and what was reserved by then is kept. Anything else that the disk
    /// says poisons the handle.
    pub fn reserve_room(&self, loop_id: &str) -> Result<(), AppendError> {
        self.shared.check_owner()?;
        let mut state = self.shared.state.lock();
        self.shared.check_usable()?;
        for number in 0..FILES {
            let path = names::run_room(loop_id, number);
            if state.rooms.iter().any(|room| room.path == path) {
                continue;
            }
            match roll::prepare_at(&self.shared.storage, path, SEGMENT_CAPACITY_MIN) {
                Ok(room) => state.rooms.push(room),
                Err(error) if error.is_full() => {
                    // Of all files, for what is missing of the one alone says too little.
                    let reserved = error.needed.saturating_mul(u64::from(number));
                    let free = self.shared.storage.free();
                    let free = free.map(|free| free.saturating_add(reserved));
                    let needed = error.needed.saturating_mul(u64::from(FILES));
                    return Err(AppendError::NoSpace { needed, free });
                }
                Err(error) => {
                    let error = DiskError { file: ROOM.to_string(), ..error };
                    return Err(self.shared.poisoned_by(&mut state, &error));
                }
            }
        }
        Ok(())
    }

    /// Gives back what is left of the room of a run. Where that fails, whoever finds the files of a
    /// run that is over removes them.
    pub fn give_back_room(&self, loop_id: &str) {
        let mut state = self.shared.state.lock();
        for room in state.rooms.extract_if(.., |room| is_of(room, loop_id)) {
            let _ = self.shared.storage.remove(&room.path);
        }
    }
}

impl<S: Storage> WriteTransaction<'_, S> {
    /// Lets what this turn appends from here on take the room of this run, if it has any.
    pub fn may_take_room_of(&mut self, loop_id: Option<&str>) {
        self.takes_room_of = loop_id.map(str::to_string);
    }
}

impl<S: Storage> State<S> {
    /// A file of a run's room that is still there and in which a batch of so many bytes fits.
    pub(super) fn take_room(
        &mut self,
        storage: &S,
        loop_id: &str,
        footprint: u64,
    ) -> Option<Prepared<S::Writer>> {
        let around = SEGMENT_HEADER_LENGTH as u64 + SEAL_LENGTH as u64;
        let fits = |room: &Prepared<_>| footprint.saturating_add(around) <= room.capacity;
        while let Some(at) = self.rooms.iter().position(|room| is_of(room, loop_id) && fits(room)) {
            let room = self.rooms.swap_remove(at);
            if matches!(storage.open(&room.path), Ok(Some(_))) {
                return Some(room);
            }
        }
        None
    }
}

fn is_of<W>(room: &Prepared<W>, loop_id: &str) -> bool {
    let name = room.path.rsplit('/').next().unwrap_or_default();
    names::parse_run_room(name) == Some(loop_id)
}
