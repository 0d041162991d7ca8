//! What the log's own writer says of the log: recorded where the state does not contradict it.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::{halt, on_loop};
use crate::command::WriterCommand;
use crate::event::{Event, are_records_before};
use crate::limits::CLOCK_STEP_NS;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::{STATE_SCHEMA_VERSION, World};

/// What follows from what the log's own writer has seen. As [`decide`](super::decide).
///
/// # Errors
/// [`Refusal::ContradictsLog`] where the state says otherwise; [`Refusal::LoopNotLive`] of a loop
/// that has ended.
pub fn decide_for_writer(
    world: &World,
    command: &WriterCommand,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let newest = world.totals().last_sequence;
    let event: Event = match command {
        WriterCommand::DeclareLost { loop_id, entropy } => {
            return on_loop(world, loop_id, *entropy, at, halt::lose_recorder);
        }
        WriterCommand::RecoveryPerformed(body) => {
            let kept = body.last_kept_sequence;
            within("a recovery", body.last_proven_sequence, kept, newest)?;
            unless(body.cut_bytes == 0, "a recovery", "that something was cut", "nothing")?;
            body.clone().into()
        }
        WriterCommand::HeadMissingAccepted(body) => {
            let before = body.first_sequence.saturating_sub(1);
            within("an accepted absence of HEAD", before, body.last_sequence, newest)?;
            body.clone().into()
        }
        WriterCommand::ClockStepped(body) => {
            let is_no_step = body.step_ns.unsigned_abs() < CLOCK_STEP_NS;
            unless(is_no_step, "a step of the clock", "a second or more", body.step_ns)?;
            body.clone().into()
        }
        WriterCommand::HistoryArchived(body) => {
            let before = body.first_sequence.saturating_sub(1);
            within("an archive", before, body.anchor_sequence, newest)?;
            let anchor = body.anchor_sequence;
            let parted = world.unproven_records().iter().find(|(_, last)| *last >= anchor);
            let parted = parted.filter(|(first, _)| *first <= anchor);
            let (first, last) = parted.unwrap_or_default();
            let together = format!(
                "that records {first} to {last} are unproven, and go only with the record behind \
                 them that says so"
            );
            let moved = format!("that it begins behind record {anchor}");
            unless(parted.is_some(), "an archive", together, moved)?;
            let is_other_schema = body.state_schema != STATE_SCHEMA_VERSION;
            unless(is_other_schema, "an archive", STATE_SCHEMA_VERSION, body.state_schema)?;
            body.clone().into()
        }
        WriterCommand::SegmentIndexed(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            let is_ahead = !are_records_before(first, last, newest.saturating_add(1));
            let found = format!("{first} to {last}");
            unless(is_ahead, "an index", format!("records up to {newest}"), found)?;
            body.clone().into()
        }
    };
    Ok(vec![event])
}

/// `first` to `last` are records that there are, or were; `first` may lie before the first one.
fn within(statement: &'static str, first: u64, last: u64, newest: u64) -> Result<(), Refusal> {
    let found = format!("{first} to {last}");
    unless(first > last || last > newest, statement, format!("records up to {newest}"), found)
}

fn unless(
    is_contradicted: bool,
    statement: &'static str,
    expected: impl fmt::Display,
    found: impl fmt::Display,
) -> Result<(), Refusal> {
    if !is_contradicted {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Refusal::ContradictsLog { statement, expected, found })
}
