//! Facts that the log's own writer has seen of the log, and records by itself: a step of the clock,
//! a recovery, an index, an archive. No caller can give any of it.

use super::append::{append, envelope};
use super::clock::Reading;
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::submit::{
    By, Origin, Receipt, Turn, come_up_to_date, moment_of_next, receipt, with_turn,
};
use crate::log::{Recovered, Storage};
use holdpoint_domain::core::limits::CLOCK_STEP_NS;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::log::{ClockStepped, HeadMissingAccepted, RecoveryPerformed, RulesAdopted};
use holdpoint_domain::{Envelope, World, WriterCommand, decide_for_writer};

/// Records what the log's own writer has seen, in a turn of its own.
pub(super) fn record<S: Storage>(
    engine: &Core<S>,
    command: &WriterCommand,
) -> Result<Receipt, SubmitError> {
    with_turn(engine, |turn| {
        come_up_to_date(turn)?;
        record_in_turn(turn, command)
    })
}

/// Appends what happened to the log itself, as Holdpoint's own act and a story of its own.
pub(super) fn record_in_turn<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    command: &WriterCommand,
) -> Result<Receipt, SubmitError> {
    let now = moment_of_next(turn.engine.now(), turn);
    let events = decide_for_writer(&turn.hot.world, command, now)?;
    let correlation = turn.engine.entropy()?.to_string();
    let origin = Origin { actor: system_actor(), correlation, causation: None };
    let (appended, events) = append(turn, By::holdpoint(&origin), None, events, now)?;
    Ok(receipt(&appended, now.at, events))
}

/// A step of the wall clock since the last writer of this boot is recorded before anything else.
/// Gives what the clocks said.
pub(super) fn note_clock_step<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Reading, SubmitError> {
    let reading = turn.engine.now();
    let now = reading.wall_minus_boot();
    let before = turn.log.previous_wall_minus_boot();
    let step_ns = before.map_or(0, |before| now.saturating_sub(before));
    if step_ns.unsigned_abs() >= CLOCK_STEP_NS {
        let stepped = WriterCommand::ClockStepped(ClockStepped { step_ns });
        record_in_turn(turn, &stepped)?;
    }
    turn.log.set_wall_minus_boot(now);
    Ok(reading)
}

/// Records what was found and cut on opening, and on taking over from a writer that died in its
/// turn, before anything else that this engine appends, whichever turn came upon it.
pub(super) fn note_recoveries<S: Storage>(turn: &mut Turn<'_, '_, S>) -> Result<(), SubmitError> {
    let unrecorded = turn.log.unrecorded().to_vec();
    if unrecorded.is_empty() {
        return Ok(());
    }
    for recovered in &unrecorded {
        for seen in seen_on_recovery(turn.engine, recovered)? {
            record_in_turn(turn, &seen)?;
        }
    }
    turn.log.all_is_recorded();
    Ok(())
}

/// Returns what a recovery puts on record, in this order: that HEAD was missing, and what was cut.
fn seen_on_recovery<S: Storage>(
    engine: &Core<S>,
    recovered: &Recovered,
) -> Result<Vec<WriterCommand>, SubmitError> {
    let mut seen = Vec::new();
    if recovered.without_head {
        let before = engine.log.first_place().map_err(SubmitError::from)?.run.chain.sequence;
        seen.push(WriterCommand::HeadMissingAccepted(HeadMissingAccepted {
            first_sequence: before.saturating_add(1),
            last_sequence: recovered.newest_sequence,
            is_end_known: recovered.is_end_known,
        }));
    }
    seen.extend(recovery_performed(recovered));
    Ok(seen)
}

/// The event of a recovery that cut something.
fn recovery_performed(recovered: &Recovered) -> Option<WriterCommand> {
    let performed = RecoveryPerformed {
        last_proven_sequence: recovered.proven_sequence,
        last_kept_sequence: recovered.newest_sequence,
        cut_bytes: recovered.cut_bytes,
        copied_to: recovered.copied_to.as_deref().map(Text::from),
    };
    (recovered.cut_bytes > 0).then_some(WriterCommand::RecoveryPerformed(performed))
}

/// The story of a log's rules.
const RULES_STORY: &str = "holdpoint.rules";

/// Returns the record that adopts rules: it is Holdpoint's own statement, and no part of what is
/// asked for.
pub(super) fn adoption(world: &World, body: RulesAdopted) -> Envelope {
    let correlation = RULES_STORY.to_string();
    let origin = Origin { actor: system_actor(), correlation, causation: None };
    envelope(world, By::holdpoint(&origin), None, body.into())
}
