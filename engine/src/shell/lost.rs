//! Runs whose recorder is gone: whoever can take the lock of a run's own file records that the
//! recorder was lost, and halts the loop.
//!
//! Only loops that live and have a file are judged: what is driven through `apply`, and what was
//! left open for whoever answers, has none.

use super::append::append;
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::rebuild::LiveState;
use super::submit::{By, Origin, Receipt, changes_nothing, receipt, time_of_next};
use crate::log::{Appended, RunFile, Storage, WriteTransaction};
use holdpoint_domain::{Event, WriterCommand, decide_for_writer};
use holdpoint_log_files::Entry;
use holdpoint_log_format::names;
use std::sync::atomic::Ordering;

/// Files of runs whose end is recorded, until that is durable.
pub(super) type Settled = Vec<(u64, RunFile)>;

/// As [`record_lost`], for an engine that has not looked yet.
pub(super) fn record_lost_once<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
) -> Result<Vec<Receipt>, SubmitError> {
    match engine.has_looked_for_lost.load(Ordering::Relaxed) {
        true => Ok(Vec::new()),
        false => record_lost(engine, hot, turn),
    }
}

/// Looks at every run's file. A disk that cannot say is no obstacle to whoever writes: nothing is
/// recorded of a run whose file it does not give, and the next turn looks again.
pub(super) fn record_lost<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
) -> Result<Vec<Receipt>, SubmitError> {
    let mut receipts = Vec::new();
    let Ok(entries) = engine.caches.list(names::RUNS) else { return Ok(receipts) };
    let mut has_looked = true;
    for entry in &entries {
        let Some(loop_id) = names::parse_run(&entry.name) else { continue };
        let taken = engine.caches.take_run(loop_id);
        has_looked &= taken.is_ok();
        let Ok(Some(file)) = taken else { continue };
        remove_room(engine, &entries, |of| of == loop_id);
        match halt(engine, hot, turn, loop_id) {
            Ok(lost) => receipts.extend(lost),
            // No room for it now: the file stays.
            Err(error) if changes_nothing(engine, &error) => continue,
            Err(error) => return Err(error),
        }
        engine.settled.lock().push((turn.position().sequence, file));
    }
    // A run's own file is made before its room.
    let is_over = |of: &str| matches!(engine.caches.open(&names::run(of)), Ok(None));
    remove_room(engine, &entries, is_over);
    engine.has_looked_for_lost.fetch_or(has_looked, Ordering::Relaxed);
    Ok(receipts)
}

/// Removes the room of runs that need none any more: nobody reads it, so a failure loses nothing.
fn remove_room<S: Storage>(engine: &Core<S>, entries: &[Entry], is_over: impl Fn(&str) -> bool) {
    for entry in entries {
        if names::parse_run_room(&entry.name).is_some_and(&is_over) {
            let _ = engine.caches.remove(&format!("{}/{}", names::RUNS, entry.name));
        }
    }
}

/// Halts the loop, where it lives.
fn halt<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    loop_id: &str,
) -> Result<Option<Receipt>, SubmitError> {
    let Some(entity) = hot.world.live_loop(loop_id) else { return Ok(None) };
    let (correlation, causation) = (entity.correlation.clone(), Some(entity.version));
    let origin = Origin { actor: system_actor(), correlation, causation };
    let loop_id = loop_id.to_string();
    let lost = WriterCommand::DeclareLost { loop_id, entropy: engine.entropy()? };
    let at = time_of_next(engine.now(), turn);
    let Ok(events) = decide_for_writer(&hot.world, &lost, at) else { return Ok(None) };
    let (appended, events): (Appended, Vec<Event>) =
        append(hot, turn, By::holdpoint(&origin), None, events, at)?;
    Ok(Some(receipt(&appended, at, events)))
}
