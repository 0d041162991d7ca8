//! A person accepts that the newest record is ahead of the clock, as after a writer with a wrong
//! one. The time of records never goes back, so it stands still until the clock is there. What was
//! due by it has ended; what begins from here on is judged by own clocks meanwhile.

use super::append::{append_stories, envelope};
use super::engine::{Core, Engine, system_actor};
use super::error::SubmitError;
use super::person_terminal::TypedLine;
use super::rebuild::LiveState;
use super::submit::{By, Origin, Submitted, moment_of_next, receipt, with_turn};
use super::writers_own::note_clock_step;
use crate::log::Storage;
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::limits::CLOCK_AHEAD_NS;
use holdpoint_domain::log::ClockStepAccepted;
use holdpoint_domain::{Command, Envelope, Refusal, WriterCommand, decide, decide_for_writer};

impl<S: Storage> Engine<S> {
    /// By how many nanoseconds the newest record is ahead of this clock, where that is more than a
    /// minute. Its time then stands still until the clock is there.
    ///
    /// # Errors
    /// It is asked from inside a callback of this engine, and would wait for itself.
    pub fn ahead_of_clock_ns(&self) -> Result<Option<u64>, SubmitError> {
        self.core().id.expect_outside()?;
        let newest = self.core().log.position().time;
        let ahead_ns = newest.saturating_sub(self.core().now().wall_ns);
        Ok((ahead_ns > CLOCK_AHEAD_NS).then_some(ahead_ns))
    }

    /// Accepts that the newest record is ahead of this clock by more than a minute: a person does,
    /// who typed a line at a terminal. All that is due by the old time ends in the same batch.
    /// Anybody else is refused.
    ///
    /// # Errors
    /// As [`Engine::submit`], and [`SubmitError::Contradicted`] where it is not ahead.
    pub fn accept_clock_step(
        &self,
        origin: &Origin,
        line: TypedLine,
    ) -> Result<Submitted, SubmitError> {
        let core = self.core();
        let Some((person, proof)) = core.identity.person_who_typed(line, &origin.actor) else {
            return Ok(Submitted::Refused(Refusal::ApprovalNeeded));
        };
        with_turn(core, |turn| {
            let reading = note_clock_step(turn)?;
            let now = moment_of_next(reading, turn);
            let body = ClockStepAccepted { by: person, log_time: now.at, clock: now.clock };
            let (ends, due) = ends_by_now(turn.engine, turn.hot, now)?;
            let body = Box::new(body);
            let command = WriterCommand::AcceptClockStep { body, due };
            let accepted = decide_for_writer(&turn.hot.world, &command, now)?.pop();
            let by = By { origin, proof: Some(proof) };
            let said = accepted.map(|event| envelope(&turn.hot.world, by, None, event));
            let (appended, events) = append_stories(turn, ends.into_iter().chain(said), now)?;
            Ok(Submitted::Accepted(receipt(&appended, now.at, events)))
        })
    }
}

/// The end of all that is due, each in the story that it belongs to, and the commands for it.
fn ends_by_now<S: Storage>(
    engine: &Core<S>,
    hot: &LiveState,
    now: Moment,
) -> Result<(Vec<Envelope>, Vec<Command>), SubmitError> {
    let (mut ends, mut commands) = (Vec::new(), Vec::new());
    for due in hot.world.due(now) {
        let command = match due.command.entropy() {
            Some(_) => due.command.with_entropy(engine.entropy()?),
            None => due.command,
        };
        let (correlation, causation) = (due.correlation, Some(due.caused_by));
        let origin = Origin { actor: system_actor(), correlation, causation };
        let events = decide(&hot.world, &command, now)?.into_iter();
        ends.extend(events.map(|it| envelope(&hot.world, By::holdpoint(&origin), None, it)));
        commands.push(command);
    }
    Ok((ends, commands))
}
