//! What a run holds on the disk from before its loop is initialized until its end is on the log:
//! its own file, whose lock says that its recorder lives, and room for its ending.

use super::engine::Core;
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::submit::with_turn;
use crate::executor::CommandSpec;
use crate::log::{AppendError, RunFile, Storage};
use holdpoint_domain::{Command, Refusal, World};
use holdpoint_log_format::names;
use std::collections::BTreeSet;

/// So many loops are known at most to be recorded by nobody: they are looked at again.
const UNRECORDED_MAX: usize = 128;

/// Who records the runs of loops, as far as this engine knows.
#[derive(Default)]
pub(super) struct Recorders {
    /// The loops of the runs that this engine records.
    here: BTreeSet<String>,
    /// Loops whose runs have no file, and get none but here: files are made in turns, and nobody
    /// else has one while this engine keeps the lock.
    unrecorded: BTreeSet<String>,
}

impl Recorders {
    /// This engine makes the file of a run.
    fn begin(&mut self, loop_id: &str) {
        self.unrecorded.remove(loop_id);
        self.here.insert(loop_id.to_string());
    }

    /// A run has no file, and every other process waits for this engine to give the lock back.
    fn has_no_file(&mut self, loop_id: &str) {
        if self.unrecorded.len() >= UNRECORDED_MAX {
            self.unrecorded.clear();
        }
        self.unrecorded.insert(loop_id.to_string());
    }

    /// Whether it is known without a look that nobody else records a run.
    fn excludes_others(&self, loop_id: &str) -> bool {
        self.here.contains(loop_id) || self.unrecorded.contains(loop_id)
    }
}

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
        core.recorders.lock().begin(&loop_id);
        let file = begin(core, &loop_id).inspect_err(|_| forget(core, &loop_id))?;
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
        forget(self.core, &self.loop_id);
    }
}

fn forget<S: Storage>(core: &Core<S>, loop_id: &str) {
    core.recorders.lock().here.remove(loop_id);
}

/// Whether somebody else records the run of the loop that the command would move on: its file's
/// lock is held. A file that cannot be looked at speaks for a recorder.
pub(super) fn check_recorder<S: Storage>(
    engine: &Core<S>,
    world: &World,
    command: &Command,
) -> Result<(), Refusal> {
    // Only the ids of loops that live are names of files.
    let live = command.driven_loop().filter(|loop_id| world.live_loop(loop_id).is_some());
    let Some(loop_id) = live else { return Ok(()) };
    let mut recorders = engine.recorders.lock();
    if recorders.excludes_others(loop_id) {
        return Ok(());
    }
    if matches!(engine.caches.open(&names::run(loop_id)), Ok(None)) {
        if engine.log.keeps_its_lock() {
            recorders.has_no_file(loop_id);
        }
        return Ok(());
    }
    match engine.caches.take_run(loop_id) {
        Ok(Some(_)) => Ok(()),
        _ => Err(Refusal::RecordedElsewhere { loop_id: loop_id.to_string() }),
    }
}

/// Makes and locks the file of a run, in a turn: whoever looks for lost recorders does that in one.
fn begin<S: Storage>(
    core: &Core<Measured<S>>,
    loop_id: &str,
) -> Result<Option<RunFile>, SubmitError> {
    with_turn(core, |core, _, _| {
        core.caches.begin_run(loop_id).map_err(|source| SubmitError::RunFile {
            path: core.caches.root().join(names::RUNS),
            source,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_looked_at_again_when_it_was_recorded_here_and_when_many_others_came() {
        let mut recorders = Recorders::default();
        assert!(!recorders.excludes_others("LOOP-1"));
        recorders.has_no_file("LOOP-1");
        assert!(recorders.excludes_others("LOOP-1") && !recorders.excludes_others("LOOP-2"));
        recorders.begin("LOOP-1");
        assert!(recorders.excludes_others("LOOP-1"));
        // What is left of the run may have a guard that lives on.
        recorders.here.remove("LOOP-1");
        assert!(!recorders.excludes_others("LOOP-1"));
        for number in 0..10 * UNRECORDED_MAX {
            recorders.has_no_file(&format!("LOOP-{number}"));
            assert!(recorders.unrecorded.len() <= UNRECORDED_MAX);
        }
    }
}
