//! Check that the log that is open answers spenders here, and what a person at the terminal lets it
//! do.

use super::engine::{Core, Engine};
use super::error::SubmitError;
use super::person_terminal::TypedLine;
use crate::adoption::{Adoption, Ground, LogPlace, NotAdopted, RegistryError, spends};
use crate::floors::{Floors, FloorsError};
use crate::log::Storage;
use holdpoint_domain::{Command, Refusal};
use std::sync::atomic::Ordering;

impl<S: Storage> Engine<S> {
    /// Returns what lets this log answer a spender: it was begun by this user on this machine, was
    /// adopted at a terminal, or is named by root.
    ///
    /// # Errors
    /// A file that demands something cannot be believed. Where nothing lets the log answer, that is
    /// said instead, with what to do, and what would spend an approval here is refused.
    pub fn adoption(&self) -> Result<Result<Ground, NotAdopted>, FloorsError> {
        self.core.adoption()
    }

    /// Puts this log into the list of this user's logs, as a person said at a terminal.
    ///
    /// # Errors
    /// The list cannot be believed or written.
    pub fn adopt(&self, adoption: Adoption) -> Result<(), RegistryError> {
        self.core.list_as(adoption)
    }

    /// Lets what this engine is given ask for less than the built-in defaults, as a person typed at
    /// the terminal of this process. Files and the policy of the log hold all the same.
    pub fn allow_below_defaults(&self, line: &TypedLine) {
        let _ = line;
        self.core.is_below_defaults.store(true, Ordering::Relaxed);
    }

    /// Checks that this log answers a spender.
    pub(super) fn expect_adopted(&self) -> Result<Result<(), Refusal>, SubmitError> {
        Ok(self.core.adoption()?.map(drop).map_err(Refusal::from))
    }

    /// Why a log that was made by this opening is not in the list of this user's logs: it approves
    /// nothing before root names it, or it is adopted.
    #[must_use]
    pub const fn not_listed(&self) -> Option<&RegistryError> {
        self.not_listed.as_ref()
    }
}

impl<S: Storage> Core<S> {
    /// Returns what lets this log answer a spender, or why it does not.
    fn adoption(&self) -> Result<Result<Ground, NotAdopted>, FloorsError> {
        let floors = self.floors.read()?;
        Ok(self.adoption_under(&floors))
    }

    fn adoption_under(&self, floors: &Floors) -> Result<Ground, NotAdopted> {
        if self.registry.is_simulated() {
            return Ok(Ground::Simulated);
        }
        let storage = &*self.caches;
        let place = LogPlace::of(storage.root(), self.log_id, storage.boot());
        let place = place.map_err(|source| {
            let log = storage.root().to_path_buf();
            let source = Box::new(RegistryError::Io { path: log.clone(), source });
            NotAdopted::Unknown { log, source }
        })?;
        self.registry.ground(floors, &place)
    }

    /// Checks whether this log may answer a command, where it spends an approval.
    pub(super) fn check_adopted(
        &self,
        command: &Command,
    ) -> Result<Result<(), Refusal>, FloorsError> {
        match spends(command) {
            true => Ok(self.adoption()?.map(drop).map_err(Refusal::from)),
            false => Ok(Ok(())),
        }
    }

    pub(super) fn list_as(&self, adoption: Adoption) -> Result<(), RegistryError> {
        if self.registry.is_simulated() {
            return Ok(());
        }
        let storage = &*self.caches;
        let place = LogPlace::of(storage.root(), self.log_id, storage.boot());
        let unknown = |source| RegistryError::Io { path: storage.root().to_path_buf(), source };
        self.registry.list(place.map_err(unknown)?, adoption)
    }
}
