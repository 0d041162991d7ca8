//! What runs left in their own files: what waits there is taken up, and where a run's recorder is
//! gone, whoever can take the lock of its file records that and halts the loop.
//!
//! Only loops that live and have a file are judged: what is driven through `apply`, and what was
//! left open for whoever answers, has none.

use super::append::append;
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::outcome::guarded_end;
use super::rebuild::LiveState;
use super::submit::{Answer, By, Origin, Receipt, changes_nothing, moment_of_next, receipt};
use super::take_up::{NotTakenUp, TakenUp, take_up};
use super::take_up_outcome::take_up_outcome;
use crate::log::{Appended, RunFile, RunFileStamp, Storage, WriteTransaction};
use holdpoint_domain::evidence_capture::GuardedEnd;
use holdpoint_domain::{Event, WriterCommand, decide_for_writer};
use holdpoint_log_files::Entry;
use holdpoint_log_format::limits::RUN_FILE_LINE_MAX;
use holdpoint_log_format::names;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Files of runs whose end is recorded, until that is durable.
pub(super) type Settled = Vec<(u64, RunFile)>;

/// A change this long ago has another time than any that is still to come: file systems tell times
/// as coarse as a tick of the kernel.
const SETTLED_NS: i128 = 100_000_000;

/// What was seen of the files of runs.
#[derive(Default)]
pub(super) struct SeenRuns {
    /// When something in their directory changed last, once that was long ago.
    changed: Option<(i64, i64)>,
    /// The files in which nothing waits that was not looked at.
    stamps: BTreeMap<String, RunFileStamp>,
}

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
        match end(engine, hot, turn, loop_id, &file) {
            Ok(Ended { receipts: more, is_settled }) => {
                receipts.extend(more);
                if is_settled {
                    engine.settled.lock().push((turn.position().sequence, file));
                }
            }
            // No room for it now: the file stays.
            Err(error) if changes_nothing(engine, &error) => {}
            Err(error) => return Err(error),
        }
    }
    // A run's own file is made before its room.
    let is_over = |of: &str| matches!(engine.caches.open(&names::run(of)), Ok(None));
    remove_room(engine, &entries, is_over);
    engine.has_looked_for_lost.fetch_or(has_looked, Ordering::Relaxed);
    Ok(receipts)
}

/// Takes up what waits in the files of runs, whoever records them. Where nothing in their directory
/// changed since the last look, that costs one call.
pub(super) fn take_up_waiting<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
) -> Result<(), SubmitError> {
    let Ok(Some(changed)) = engine.caches.runs_changed() else { return Ok(()) };
    if engine.seen_runs.lock().changed == Some(changed) {
        return Ok(());
    }
    let Ok(listed) = engine.caches.list(names::RUNS) else { return Ok(()) };
    let runs: Vec<&str> = listed.iter().filter_map(|it| names::parse_run(&it.name)).collect();
    let mut stamps = BTreeMap::new();
    let mut is_whole = true;
    for loop_id in runs {
        let Ok(Some(stamp)) = engine.caches.run_stamp(loop_id) else { continue };
        let is_seen = engine.seen_runs.lock().stamps.get(loop_id) == Some(&stamp);
        if !is_seen && stamp.length > RUN_FILE_LINE_MAX as u64 {
            match take_up_of(engine, hot, turn, loop_id) {
                Ok(()) => {}
                Err(error) if changes_nothing(engine, &error) => {
                    is_whole = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        stamps.insert(loop_id.to_string(), stamp);
    }
    for entry in &listed {
        let Some(decision_id) = names::parse_outcome(&entry.name) else { continue };
        match take_up_outcome(engine, hot, turn, (&entry.name, &decision_id)) {
            Ok(()) => {}
            Err(error) if changes_nothing(engine, &error) => is_whole = false,
            Err(error) => return Err(error),
        }
    }
    let now = i128::from(engine.now().wall_ns);
    let at = i128::from(changed.0) * 1_000_000_000 + i128::from(changed.1);
    let is_long_ago = (now - at).abs() > SETTLED_NS;
    let mut seen = engine.seen_runs.lock();
    seen.stamps = stamps;
    seen.changed = (is_whole && is_long_ago).then_some(changed);
    Ok(())
}

/// What a file that cannot be read or is not the recorder's says counts for nothing, and is told by
/// whoever looks at the log.
fn take_up_of<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    loop_id: &str,
) -> Result<(), SubmitError> {
    let Ok(Some(entries)) = engine.caches.run_entries(loop_id) else { return Ok(()) };
    let known = engine.recorders.lock().start_of(loop_id);
    take_up(engine, hot, turn, loop_id, entries, known).map(drop)
}

/// Removes the room of runs that need none any more: nobody reads it, so a failure loses nothing.
fn remove_room<S: Storage>(engine: &Core<S>, entries: &[Entry], is_over: impl Fn(&str) -> bool) {
    for entry in entries {
        if names::parse_run_room(&entry.name).is_some_and(&is_over) {
            let _ = engine.caches.remove(&format!("{}/{}", names::RUNS, entry.name));
        }
    }
}

/// A run whose recorder is gone.
struct Ended {
    receipts: Vec<Receipt>,
    /// Whether all that its file holds is on the log.
    is_settled: bool,
}

/// Takes up what waits, and halts the loop where it lives on then and no question was left open.
fn end<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    loop_id: &str,
    file: &RunFile,
) -> Result<Ended, SubmitError> {
    let mut ended = Ended { receipts: Vec::new(), is_settled: true };
    let taken = match file.entries() {
        Ok(entries) => take_up(engine, hot, turn, loop_id, entries, None)?,
        Err(fault) => Err(NotTakenUp::Fault(fault, TakenUp::default())),
    };
    let taken = match taken {
        Ok(taken) => taken,
        Err(NotTakenUp::StartArchived) => return Ok(Ended { is_settled: false, ..ended }),
        Err(NotTakenUp::Fault(fault, taken)) => {
            ended.is_settled = false;
            // The lock of a file that somebody else made says nothing of the recorder.
            if fault.is_another_file() {
                return Ok(ended);
            }
            taken
        }
    };
    ended.receipts.extend(taken.answers.into_iter().filter_map(accepted));
    if !taken.is_left_open {
        let limit = hot.world.live_loop(loop_id).and_then(|entity| entity.timeout_ms);
        let end = taken.guard.map(|facts| guarded_end(&facts, limit.map(Duration::from_millis)));
        ended.receipts.extend(halt(engine, hot, turn, loop_id, end)?);
    }
    Ok(ended)
}

fn accepted(answer: Answer) -> Option<Receipt> {
    match answer {
        Answer::Accepted(receipt) => Some(receipt),
        Answer::Repeated(_) | Answer::DoneBefore(_) | Answer::Refused(_) => None,
    }
}

/// Halts the loop, where it lives.
fn halt<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    loop_id: &str,
    end: Option<GuardedEnd>,
) -> Result<Option<Receipt>, SubmitError> {
    let Some(entity) = hot.world.live_loop(loop_id) else { return Ok(None) };
    let (correlation, causation) = (entity.correlation.clone(), Some(entity.version));
    let origin = Origin { actor: system_actor(), correlation, causation };
    let loop_id = loop_id.to_string();
    let lost = WriterCommand::DeclareLost { loop_id, entropy: engine.entropy()?, end };
    let now = moment_of_next(engine.now(), turn);
    let Ok(events) = decide_for_writer(&hot.world, &lost, now) else { return Ok(None) };
    let (appended, events): (Appended, Vec<Event>) =
        append(hot, turn, By::holdpoint(&origin), None, events, now)?;
    Ok(Some(receipt(&appended, now.at, events)))
}
