//! Needs that a reducer of the application has of an engine, and nothing more: how far the log has
//! come, the disk that its files lie on, and the statement of a fingerprint.

use super::append::append;
use super::engine::Core;
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::submit::{By, Origin, Receipt, come_up_to_date, moment_of_next, receipt, with_turn};
use crate::Engine;
use crate::log::Storage;
use holdpoint_domain::application::ReducerFingerprintRecorded;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decide_for_reducer;
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_log_format::ChainPosition;
use std::sync::{Arc, Weak};

/// An engine as a reducer of the application has it. It does not keep the engine open: when that is
/// closed, every call is answered with [`SubmitError::Closed`].
pub struct ReducerAccess<S: Storage> {
    core: Weak<Core<Measured<S>>>,
    disk: Arc<S>,
}

/// Position that a log has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The newest record: durable, at the engine's level.
    pub newest: ChainPosition,
    /// The records that were taken over from a damaged log without proof.
    pub unproven: UnprovenRecords,
}

impl<S: Storage> Engine<S> {
    /// Returns what a reducer needs of this engine; for the crate `holdpoint-reducers`.
    #[must_use]
    pub fn reducer_access(&self) -> ReducerAccess<S> {
        ReducerAccess { core: Arc::downgrade(&self.core), disk: Arc::clone(&self.disk) }
    }
}

impl<S: Storage> ReducerAccess<S> {
    /// The disk that the log lies on.
    #[must_use]
    pub fn storage(&self) -> &Arc<S> {
        &self.disk
    }

    /// Returns how far the log has come, after catching up with what other processes appended.
    ///
    /// # Errors
    /// As [`Engine::query`]; [`SubmitError::Closed`].
    pub fn position(&self) -> Result<LogPosition, SubmitError> {
        with_turn(&*self.core()?, |turn| {
            let unproven = turn.hot.world.unproven_records().clone();
            Ok(LogPosition { newest: turn.log.position(), unproven })
        })
    }

    /// 128 fresh random bits.
    ///
    /// # Errors
    /// The system has none to give; [`SubmitError::Closed`].
    pub fn entropy(&self) -> Result<Entropy, SubmitError> {
        self.core()?.entropy()
    }

    /// Records what the fingerprint of a reducer's states is. Only a program that has the reducer
    /// can know it: no command says it, and nobody else can check it.
    ///
    /// # Errors
    /// The log failed; a name of it is malformed, or it covers records that are not there
    /// ([`SubmitError::Contradicted`]); [`SubmitError::Closed`].
    pub fn record_fingerprint(
        &self,
        origin: &Origin,
        stated: &ReducerFingerprintRecorded,
    ) -> Result<Receipt, SubmitError> {
        let core = self.core()?;
        let proof = core.identity.proof_of(&origin.actor);
        with_turn(&*core, |turn| {
            let now = come_up_to_date(turn)?;
            let now = moment_of_next(now, turn);
            let events = vec![decide_for_reducer(&turn.hot.world, stated)?];
            let by = By { origin, proof: Some(proof) };
            let (appended, events) = append(turn, by, None, events, now)?;
            Ok(receipt(&appended, now.at, events))
        })
    }

    fn core(&self) -> Result<Arc<Core<Measured<S>>>, SubmitError> {
        self.core.upgrade().ok_or(SubmitError::Closed)
    }
}
