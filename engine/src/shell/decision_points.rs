//! Decision points at the library's doors (seed "Decisions"): the seed's four storage operations,
//! looking at one, and waiting for its answer.

mod record;
mod storage;
mod update;
mod wait;

pub use record::{DecisionPointRecord, NotOptions};
pub use storage::{CreateDecisionPointError, FindDecisionPointError};
pub use update::{UpdateDecisionPointError, UpdatedDecisionPoint};
pub use wait::{WaitError, WaitOutcome, Waited};

use super::engine::Engine;
use super::error::SubmitError;
use super::rebuild::first_kept;
use super::recall;
use super::submit::Origin;
use crate::log::Storage;
use holdpoint_domain::core::actor::{Authentication, Principal};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::decision_point::DecisionPoint;
use std::ops::ControlFlow;

/// By what means somebody is named who is only a name to the library.
const MEANS: &str = "library";

impl<S: Storage> Engine<S> {
    /// The round with this id: open, with an approval to be spent, or among the newest 1,024 that
    /// ended. `None` where there is none. What is due is not recorded by this.
    ///
    /// # Errors
    /// The log failed or cannot be read.
    pub fn decision_point(&self, decision_id: &str) -> Result<Option<DecisionPoint>, SubmitError> {
        self.query(|world| world.decision_point(decision_id).cloned())
    }

    /// The chain link of the record with this sequence, as the record itself states it. `None`
    /// where the log does not hold it: it was moved to an archive, or is not written yet. What
    /// [`Engine::query`] and a receipt tell of is written.
    ///
    /// # Errors
    /// The log cannot be read, or the record is damaged.
    pub fn link_of(&self, sequence: u64) -> Result<Option<Digest>, SubmitError> {
        let core = self.core();
        let known = core.hot()?.as_mut().map(|hot| recall::link_of(core, hot, sequence));
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

/// The origin's actor, of whom the library knows a name that was claimed. Another name that a
/// record claims is kept for the rules to refuse.
fn named(origin: &Origin, name: &str) -> Principal {
    let (kind, own) = (origin.actor.kind, origin.actor.id.as_str());
    let (id, means) = (if name.is_empty() { own } else { name }.into(), MEANS.into());
    Principal { kind, id, authenticated_by: Authentication::None, means }
}
