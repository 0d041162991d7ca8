//! A log that ends before the record that its HEAD states is continued, by a person at a terminal.
//!
//! The records that are here become a log of another identity, beside the one that was found. One
//! batch ends all that is open in it and says by whom and from where it was continued. Then the two
//! directories change places in one step, and the old one gets a name that says what it is: nothing
//! is removed. A crash leaves the old log or the new one at the place, and each is whole.
//!
//! # Invariants
//!
//! - The old log is locked from before its records are copied until it has its new name: of two who
//!   continue one log at a time, the second is refused before it copies.
//! - The directory that leaves the place is the one that was shown and copied. Another one that was
//!   put there gets its place back before anybody can write to the new log.

mod copy;
mod error;
mod held;
mod place;

pub use error::ContinueError;
pub use place::{LeftDirectory, left_beside, left_by_interrupted};

use super::append::{append_stories, envelope};
use super::engine::{Core, Engine, system_actor};
use super::engine_options::EngineOptions;
use super::error::SubmitError;
use super::person_terminal::TypedLine;
use super::rebuild::LiveState;
use super::submit::{By, Origin, Receipt, Submitted, moment_of_next, receipt, with_turn};
use crate::log::{Options, Storage};
use copy::Looked;
use held::HeldLog;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::LogContinued;
use holdpoint_domain::{Envelope, Event, Refusal, World, WriterCommand, decide_for_writer};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{ChainPosition, LogId};
use place::Place;
use std::path::{Path, PathBuf};

/// A log that ends before the record that its HEAD states, and nothing else is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortLog {
    /// Its directory, links resolved.
    pub path: PathBuf,
    /// Its identity.
    pub log: LogId,
    /// The newest record that a whole batch ends with.
    pub kept: ChainPosition,
    /// The newest record that its witnesses state.
    pub stated_sequence: u64,
    /// Its link, where HEAD states it.
    pub stated_link: Option<Digest>,
    /// Records behind the kept one: of a batch that does not end here.
    pub unfinished: u64,
    looked: Looked,
}

/// Outcome of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContinueReport {
    /// The identity of the new log.
    pub log: LogId,
    /// Place of the old log now.
    pub kept_at: PathBuf,
    /// The batch that continued it.
    pub receipt: Receipt,
}

impl ShortLog {
    /// Looks at the log in a directory, and changes nothing.
    ///
    /// # Errors
    /// It is no log that ends before its HEAD and is whole up to there; a writer has it open; it
    /// cannot be read.
    pub fn look(directory: &Path) -> Result<Self, ContinueError> {
        copy::look(directory)
    }

    /// Continues it, as a person typed. `progress` is told the newest record that was copied.
    ///
    /// # Errors
    /// The person is none; the log is another one by now, or somebody else is continuing it; the
    /// disk refused a call. The log at the place is then as it was, unless the error is
    /// [`ContinueError::Unnamed`], [`ContinueError::Unsynced`] or [`ContinueError::Displaced`].
    pub fn carry_on(
        &self,
        origin: &Origin,
        line: TypedLine,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ContinueReport, ContinueError> {
        let old = HeldLog::take(&self.path, self.looked.directory)?;
        let place = Place::beside(&self.path)?;
        let log = copy::copy(self, place.building(), progress)?;
        let receipt = self.say(place.building(), origin, line)?;
        place.take_along(&self.path)?;
        let kept_at = place.publish(&old, &self.path)?;
        Ok(ContinueReport { log, kept_at, receipt })
    }

    /// Ends all that is open in the new log, and says by whom it was continued.
    fn say(
        &self,
        building: &Path,
        origin: &Origin,
        line: TypedLine,
    ) -> Result<Receipt, ContinueError> {
        let options = EngineOptions::default().log(Options::default().create(false));
        let engine = Engine::open_with(DirectoryStorage::new(building), options)?;
        let said = engine.continue_log(origin, line, |by| LogContinued {
            by,
            source_log: self.log.to_string().into(),
            stated_sequence: self.stated_sequence,
            stated_link: self.stated_link,
            kept_sequence: self.kept.sequence,
            kept_link: Digest::from_bytes(self.kept.link.0),
        })?;
        engine.close()?;
        match said {
            Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => Ok(receipt),
            Submitted::Refused(refusal) => Err(refusal.into()),
        }
    }
}

impl<S: Storage> Engine<S> {
    /// Records that a person continued the log that this one was copied from, behind the end of all
    /// that is open. Anybody else is refused.
    fn continue_log(
        &self,
        origin: &Origin,
        line: TypedLine,
        body: impl FnOnce(Principal) -> LogContinued,
    ) -> Result<Submitted, SubmitError> {
        let core = self.core();
        let Some((person, proof)) = core.identity.person_who_typed(line, &origin.actor) else {
            return Ok(Submitted::Refused(Refusal::ApprovalNeeded));
        };
        let body = Box::new(body(person));
        with_turn(core, |turn| {
            let now = moment_of_next(turn.engine.now(), turn);
            let lost = lost_loops(turn.engine, turn.hot)?;
            let command = WriterCommand::ContinueLog { body, lost };
            let events = decide_for_writer(&turn.hot.world, &command, now)?;
            let by = By { origin, proof: Some(proof) };
            let told: Vec<_> = events.into_iter().map(|it| told(&turn.hot.world, by, it)).collect();
            let (appended, events) = append_stories(turn, told, now)?;
            Ok(Submitted::Accepted(receipt(&appended, now.at, events)))
        })
    }
}

/// Every live loop, with the random bits for its end.
fn lost_loops<S: Storage>(
    engine: &Core<S>,
    hot: &LiveState,
) -> Result<Vec<(String, holdpoint_domain::core::ids::Entropy)>, SubmitError> {
    let ids = hot.world.live_loops().map(|entity| entity.loop_id().to_string());
    ids.map(|loop_id| Ok((loop_id, engine.entropy()?))).collect()
}

/// An event of the batch: what ends is told in its own story, as Holdpoint's own act, and the rest
/// is the person's.
fn told(world: &World, by: By<'_>, event: Event) -> Envelope {
    let ended = match (event.loop_id(), event.decision_point()) {
        (Some(loop_id), _) => {
            world.live_loop(loop_id).map(|it| (it.correlation.clone(), it.version))
        }
        (_, Some(id)) => world.decision_point(id).map(|it| (it.correlation.clone(), it.version)),
        _ => None,
    };
    let Some((correlation, caused_by)) = ended else { return envelope(world, by, None, event) };
    let origin = Origin { actor: system_actor(), correlation, causation: Some(caused_by) };
    envelope(world, By::holdpoint(&origin), None, event)
}
