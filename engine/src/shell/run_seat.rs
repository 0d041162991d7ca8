//! What a run holds on the disk from before its loop is initialized until its end is on the log:
//! its own file, whose lock says that its recorder lives, and room for its ending.

use super::engine::Core;
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::submit::with_turn;
use crate::executor::CommandSpec;
use crate::log::{AppendError, RunFile, Storage};
use holdpoint_log_format::names;

/// The place of a run. Without a word its file stays, unlocked: then the recorder is lost.
pub(super) struct RunSeat<'a, S: Storage> {
    core: &'a Core<Measured<S>>,
    loop_id: String,
    /// `None` on a disk that keeps no such files.
    file: Option<RunFile>,
}

impl<'a, S: Storage> RunSeat<'a, S> {
    /// Takes the place of a run that is to begin.
    pub(super) fn take(core: &'a Core<Measured<S>>, loop_id: String) -> Result<Self, SubmitError> {
        let file = begin(core, &loop_id)?;
        let seat = Self { core, loop_id, file };
        match seat.reserve_room() {
            Ok(()) => Ok(seat),
            Err(error) => {
                seat.leave();
                Err(error.into())
            }
        }
    }

    /// Sees to it that there is room for the ending of one attempt.
    pub(super) fn reserve_room(&self) -> Result<(), AppendError> {
        match &self.file {
            Some(_) => self.core.log.reserve_room(&self.loop_id),
            None => Ok(()),
        }
    }

    /// The command, whose guard holds the run's file as well: as long as one of both lives, nobody
    /// takes the run for lost.
    pub(super) fn guarded(&self, command: &CommandSpec) -> CommandSpec {
        let mut command = command.clone();
        if let Some(file) = &self.file {
            command.guard = command.guard.map(|guard| guard.holding(file.descriptor()));
        }
        command
    }

    /// The end is on the log, or the question is left to whoever answers.
    pub(super) fn leave(mut self) {
        if let Some(file) = self.file.take() {
            file.remove();
        }
    }
}

impl<S: Storage> Drop for RunSeat<'_, S> {
    fn drop(&mut self) {
        self.core.log.give_back_room(&self.loop_id);
    }
}

/// Makes and locks the file of a run, in a turn: whoever looks for lost recorders does that in one.
fn begin<S: Storage>(
    core: &Core<Measured<S>>,
    loop_id: &str,
) -> Result<Option<RunFile>, SubmitError> {
    with_turn(core, |core, _, _| {
        core.caches.begin_run(loop_id).map_err(|source| SubmitError::RunFile {
            path: core.caches.root().join(names::run(loop_id)),
            source,
        })
    })
}
