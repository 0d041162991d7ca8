//! The chain link of one record, for whoever shows which record a state rests on.

use super::super::engine::Engine;
use super::super::error::SubmitError;
use super::super::rebuild::first_kept;
use super::super::recall;
use crate::log::Storage;
use holdpoint_domain::core::hash::Digest;
use std::ops::ControlFlow;

impl<S: Storage> Engine<S> {
    /// The chain link of the record with this sequence, as the record itself states it. `None`
    /// where the log does not hold it: it was moved to an archive, or is not written yet. What
    /// [`Engine::query`] and a receipt tell of is written.
    ///
    /// # Errors
    /// The log cannot be read, or the record is damaged.
    pub fn link_of(&self, sequence: u64) -> Result<Option<Digest>, SubmitError> {
        let core = self.core();
        let known = core.hot.lock().as_mut().map(|hot| recall::link_of(core, hot, sequence));
        if let Some(known) = known.transpose()?.flatten() {
            return Ok(Some(known));
        }
        let mut link = None;
        let read = core.log.read_from(sequence, &mut |_, record| {
            let is_asked_for = record.header.sequence == sequence;
            link = is_asked_for.then_some(Digest::from_bytes(record.header.link.0));
            ControlFlow::Break(())
        });
        match read {
            Ok(()) => Ok(link),
            Err(_) if first_kept(core)? > sequence => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
