//! Recorders of the runs of loops, so that nobody else moves them on.

use super::engine::Core;
use crate::log::Storage;
use holdpoint_domain::{Command, Refusal, World};
use holdpoint_log_format::names;
use std::collections::BTreeSet;

/// So many loops are known at most to be recorded by nobody: they are looked at again.
const UNRECORDED_MAX: usize = 128;

/// The recorders of the runs of loops, as far as this engine knows.
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
    pub(super) fn begin(&mut self, loop_id: &str) {
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

    /// Tells whether it is known without a look that nobody else records a run.
    fn excludes_others(&self, loop_id: &str) -> bool {
        self.here.contains(loop_id) || self.unrecorded.contains(loop_id)
    }

    /// Tells whether this engine records a run.
    pub(super) fn is_here(&self, loop_id: &str) -> bool {
        self.here.contains(loop_id)
    }

    /// This engine records a run no longer.
    pub(super) fn end(&mut self, loop_id: &str) {
        self.here.remove(loop_id);
    }
}

/// Checks whether somebody else records the run of the loop that the command would move on: its
/// recorder or guard holds a lock, its file's or the one that no change of that file releases. A
/// file that cannot be looked at speaks for a recorder.
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
    let elsewhere = || Refusal::RecordedElsewhere { loop_id: loop_id.to_string() };
    if matches!(engine.caches.is_recorded(loop_id), Ok(Some(true))) {
        return Err(elsewhere());
    }
    if matches!(engine.caches.open(&names::run(loop_id)), Ok(None)) {
        if engine.log.keeps_its_lock() {
            recorders.has_no_file(loop_id);
        }
        return Ok(());
    }
    match engine.caches.take_run(loop_id) {
        Ok(Some(_)) => Ok(()),
        _ => Err(elsewhere()),
    }
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
