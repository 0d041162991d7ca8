//! A turn between its end and its sync.

use super::callback::pass_on_panic;
use super::engine::Core;
use super::error::SubmitError;
use super::metrics::TurnWatch;
use super::snapshot::Snapshot;
use crate::log::{Acknowledgement, Level, Storage};

/// A turn that is over: other threads have theirs while this one's records reach the disk.
pub(super) struct UnsyncedTurn<'a, S: Storage> {
    pub(super) engine: &'a Core<S>,
    pub(super) watch: TurnWatch<'a>,
    pub(super) acknowledgement: Acknowledgement<'a, S>,
    /// To be written when the records are durable.
    pub(super) snapshot: Option<Snapshot>,
    /// The newest record that the turn saw.
    pub(super) newest: u64,
    pub(super) level: Level,
}

impl<S: Storage> UnsyncedTurn<'_, S> {
    /// Waits until the turn's records are durable, and with them all before them.
    pub(super) fn wait(self) -> Result<(), SubmitError> {
        let Self { engine, mut watch, acknowledgement, snapshot, newest, level } = self;
        let waited = acknowledgement.wait();
        match &waited {
            Ok(()) => {
                engine.acknowledged(newest, level);
                engine.keep(snapshot);
            }
            Err(_) => watch.failed(engine.log.poison()),
        }
        pass_on_panic();
        Ok(waited?)
    }
}
