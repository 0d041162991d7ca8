//! Entries that runs left in their own files: what waits there is taken up, and where a run's
//! recorder is gone, whoever can take the lock of its file records that and halts the loop.
//!
//! Only loops that live and have a file are judged: what is driven through `apply`, and what was
//! left open for whoever answers, has none. Where somebody put something else in the place of a
//! run's file, that counts for nothing, and the run is ended once the lock that no change of the
//! file releases says that its recorder and its guard are gone.

use super::append::append;
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::outcome::guarded_end;
use super::starts::has_recorder;
use super::submit::{Answer, By, Origin, Receipt, Turn, changes_nothing, moment_of_next, receipt};
use super::take_up::{NotTakenUp, TakenUp, Taker, take_up, take_up_outcome};
use crate::log::{Appended, RunFile, RunFileStamp, Storage};
use holdpoint_domain::evidence_capture::GuardedEnd;
use holdpoint_domain::execution_loop::ExecutionLoopState;
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

/// Number of files of outcomes that are looked into at once.
const OUTCOMES_AT_ONCE: usize = 64;

/// Number of files of ended runs that are looked into at once: nothing of them is taken up, and
/// those that are not their recorders' stay for ever.
const ENDED_AT_ONCE: usize = 8;

/// Facts seen of the files of runs.
#[derive(Default)]
pub(super) struct SeenRuns {
    /// Time at which something in their directory changed last, once that was long ago.
    changed: Option<(i64, i64)>,
    /// The files in which nothing waits that was not looked at.
    stamps: BTreeMap<String, RunFileStamp>,
}

/// Does the same as [`record_lost`], for an engine that has not looked yet.
pub(super) fn record_lost_once<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Vec<Receipt>, SubmitError> {
    match turn.engine.has_looked_for_lost.load(Ordering::Relaxed) {
        true => Ok(Vec::new()),
        false => record_lost(turn),
    }
}

/// Looks at every run's file. A disk that cannot say is no obstacle to whoever writes: nothing is
/// recorded of a run whose file it does not give, and the next turn looks again.
pub(super) fn record_lost<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Vec<Receipt>, SubmitError> {
    let mut receipts = Vec::new();
    let Ok(entries) = turn.engine.caches.list(names::RUNS) else { return Ok(receipts) };
    let (mut has_looked, mut ended) = (true, 0);
    for entry in &entries {
        let Some(loop_id) = names::parse_run(&entry.name) else { continue };
        if turn.hot.world.live_loop(loop_id).is_none() {
            ended += 1;
            if ended > ENDED_AT_ONCE {
                continue;
            }
        }
        let file = match turn.engine.caches.take_run(loop_id) {
            Ok(Some(file)) => Some(file),
            Ok(None) => continue,
            Err(_) if !matches!(turn.engine.caches.is_foreign_run(loop_id), Ok(true)) => {
                has_looked = false;
                continue;
            }
            Err(_) if is_left(turn, loop_id)? => None,
            Err(_) => continue,
        };
        remove_room(turn.engine, &entries, |of| of == loop_id);
        let ended = match &file {
            Some(file) => end(turn, loop_id, file),
            None => halt(turn, loop_id, None).map(Ended::with_file_left),
        };
        match ended {
            Ok(Ended { receipts: more, is_settled }) => {
                receipts.extend(more);
                if let Some(file) = file.filter(|_| is_settled) {
                    turn.engine.settled.lock().push((turn.log.position().sequence, file));
                }
            }
            // No room for it now: the file stays, and the next turn looks again.
            Err(error) if changes_nothing(turn.engine, &error) => has_looked = false,
            Err(error) => return Err(error),
        }
    }
    // A run's own file is made before its room.
    let is_over = |of: &str| matches!(turn.engine.caches.open(&names::run(of)), Ok(None));
    remove_room(turn.engine, &entries, is_over);
    turn.engine.has_looked_for_lost.fetch_or(has_looked, Ordering::Relaxed);
    Ok(receipts)
}

/// Takes up what waits in the files of runs that others record. Where nothing in their directory
/// changed since the last look, that costs one call.
pub(super) fn take_up_waiting<S: Storage>(turn: &mut Turn<'_, '_, S>) -> Result<(), SubmitError> {
    let Ok(Some(changed)) = turn.engine.caches.runs_changed() else { return Ok(()) };
    if turn.engine.seen_runs.lock().changed == Some(changed) {
        return Ok(());
    }
    let Ok(listed) = turn.engine.caches.list(names::RUNS) else { return Ok(()) };
    let runs: Vec<&str> = listed.iter().filter_map(|it| names::parse_run(&it.name)).collect();
    let mut stamps = BTreeMap::new();
    let mut is_whole = true;
    for loop_id in runs {
        let Ok(Some(stamp)) = turn.engine.caches.run_stamp(loop_id) else { continue };
        // A run that this engine records takes up its own, and learns what came of it.
        if stamp.length > RUN_FILE_LINE_MAX as u64 && turn.engine.recorders.lock().is_here(loop_id)
        {
            is_whole = false;
            continue;
        }
        let is_seen = turn.engine.seen_runs.lock().stamps.get(loop_id) == Some(&stamp);
        if !is_seen && stamp.length > RUN_FILE_LINE_MAX as u64 {
            match take_up_of(turn, loop_id) {
                Ok(()) => {}
                Err(error) if changes_nothing(turn.engine, &error) => {
                    is_whole = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        stamps.insert(loop_id.to_string(), stamp);
    }
    is_whole &= take_up_outcomes(turn, &listed, &mut stamps)?;
    let now = i128::from(turn.engine.now().wall_ns);
    let at = i128::from(changed.0) * 1_000_000_000 + i128::from(changed.1);
    let is_long_ago = (now - at).abs() > SETTLED_NS;
    let mut seen = turn.engine.seen_runs.lock();
    seen.stamps = stamps;
    seen.changed = (is_whole && is_long_ago).then_some(changed);
    Ok(())
}

/// Takes up the outcomes that wait: so many files at once, the first of them another one each time,
/// so that those which nobody takes up keep no other waiting. `false`: some are left.
fn take_up_outcomes<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    listed: &[Entry],
    stamps: &mut BTreeMap<String, RunFileStamp>,
) -> Result<bool, SubmitError> {
    let named = |entry: &Entry| Some((entry.name.clone(), names::parse_outcome(&entry.name)?));
    let outcomes: Vec<(String, String)> = listed.iter().filter_map(named).collect();
    let count = outcomes.len();
    let first =
        usize::try_from(turn.engine.now().wall_ns).unwrap_or(0).checked_rem(count).unwrap_or(0);
    let mut is_whole = true;
    let mut looks = 0;
    for (name, decision_id) in outcomes.iter().cycle().skip(first).take(count) {
        let stamp = match turn.engine.caches.run_stamp(name) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => continue,
            Err(_) => {
                is_whole = false;
                continue;
            }
        };
        let is_seen = turn.engine.seen_runs.lock().stamps.get(name) == Some(&stamp);
        if !is_seen {
            if looks >= OUTCOMES_AT_ONCE {
                return Ok(false);
            }
            looks += 1;
            match take_up_outcome(turn, (name, decision_id)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) if changes_nothing(turn.engine, &error) => {
                    is_whole = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        stamps.insert(name.clone(), stamp);
    }
    Ok(is_whole)
}

/// Takes up what waits for a run; a file that cannot be read or is not the recorder's counts for
/// nothing, and is told by whoever looks at the log.
fn take_up_of<S: Storage>(turn: &mut Turn<'_, '_, S>, loop_id: &str) -> Result<(), SubmitError> {
    let Ok(Some(entries)) = turn.engine.caches.run_entries(loop_id) else { return Ok(()) };
    take_up(turn, loop_id, entries, Taker::Other).map(drop)
}

/// Removes the room of runs that need none any more: nobody reads it, so a failure loses nothing.
fn remove_room<S: Storage>(engine: &Core<S>, entries: &[Entry], is_over: impl Fn(&str) -> bool) {
    for entry in entries {
        if names::parse_run_room(&entry.name).is_some_and(&is_over) {
            let _ = engine.caches.remove(&format!("{}/{}", names::RUNS, entry.name));
        }
    }
}

/// Ends the runs whose recorder and guard are gone and whose file somebody removed: only a run with
/// a file has a key in the record of its start. These records are read, so only whoever records
/// what is due does this.
pub(super) fn record_lost_without_file<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Vec<Receipt>, SubmitError> {
    let fileless = turn.hot.world.live_loops().filter(|entity| {
        entity.state() == ExecutionLoopState::AwaitingResponse
            && matches!(turn.engine.caches.run_stamp(entity.loop_id()), Ok(None))
    });
    let fileless: Vec<String> = fileless.map(|entity| entity.loop_id().to_string()).collect();
    let mut receipts = Vec::new();
    for loop_id in fileless {
        if is_left(turn, &loop_id)? {
            receipts.extend(halt(turn, &loop_id, None)?);
        }
    }
    Ok(receipts)
}

/// Returns whether a loop that lives is of a run whose recorder and guard are gone: known without
/// its file. What is driven through `apply` is nobody's to end, whatever lies in the place of a
/// file.
fn is_left<S: Storage>(turn: &Turn<'_, '_, S>, loop_id: &str) -> Result<bool, SubmitError> {
    match turn.hot.world.live_loop(loop_id) {
        Some(entity) if is_gone(turn.engine, loop_id) => has_recorder(turn.engine, entity),
        _ => Ok(false),
    }
}

/// Returns whether neither the recorder of a run nor its guard lives: known without its file.
fn is_gone<S: Storage>(engine: &Core<S>, loop_id: &str) -> bool {
    matches!(engine.caches.is_recorded(loop_id), Ok(Some(false)))
}

/// A run whose recorder is gone.
struct Ended {
    receipts: Vec<Receipt>,
    /// True if all that its file holds is on the log.
    is_settled: bool,
}

impl Ended {
    /// A run that was ended, or had ended before, while something else stands in its file's place.
    fn with_file_left(receipt: Option<Receipt>) -> Self {
        Self { receipts: receipt.into_iter().collect(), is_settled: false }
    }
}

/// Takes up what waits, and halts the loop where it lives on then and no question was left open.
fn end<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    loop_id: &str,
    file: &RunFile,
) -> Result<Ended, SubmitError> {
    let mut ended = Ended { receipts: Vec::new(), is_settled: true };
    let taken = match file.entries() {
        Ok(entries) => take_up(turn, loop_id, entries, Taker::Other)?,
        Err(fault) => Err(NotTakenUp::Fault(fault, TakenUp::default())),
    };
    let taken = match taken {
        Ok(taken) => taken,
        Err(NotTakenUp::StartArchived) => return Ok(Ended { is_settled: false, ..ended }),
        Err(NotTakenUp::Fault(fault, taken)) => {
            ended.is_settled = false;
            // The lock of a file that somebody else made says nothing of the recorder.
            if fault.is_another_file() && !is_left(turn, loop_id)? {
                return Ok(ended);
            }
            taken
        }
    };
    ended.receipts.extend(taken.answers.into_iter().filter_map(accepted));
    if !taken.is_left_open {
        let limit = turn.hot.world.live_loop(loop_id).and_then(|entity| entity.timeout_ms);
        let end = taken.guard.map(|facts| guarded_end(&facts, limit.map(Duration::from_millis)));
        ended.receipts.extend(halt(turn, loop_id, end)?);
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
    turn: &mut Turn<'_, '_, S>,
    loop_id: &str,
    end: Option<GuardedEnd>,
) -> Result<Option<Receipt>, SubmitError> {
    let Some(entity) = turn.hot.world.live_loop(loop_id) else { return Ok(None) };
    let (correlation, causation) = (entity.correlation.clone(), Some(entity.version));
    let origin = Origin { actor: system_actor(), correlation, causation };
    let loop_id = loop_id.to_string();
    let lost = WriterCommand::DeclareLost { loop_id, entropy: turn.engine.entropy()?, end };
    let now = moment_of_next(turn.engine.now(), turn);
    let Ok(events) = decide_for_writer(&turn.hot.world, &lost, now) else { return Ok(None) };
    let (appended, events): (Appended, Vec<Event>) =
        append(turn, By::holdpoint(&origin), None, events, now)?;
    Ok(Some(receipt(&appended, now.at, events)))
}
