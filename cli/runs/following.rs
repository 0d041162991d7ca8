//! `runs --follow`: each run as it begins, and again as it ends.

use super::{Args, Shown, again, put_lines};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure, complain};
use crate::log_tail::failed;
use crate::output::Output;
use crate::recorders;
use crate::table::Layout;
use holdpoint_engine::shell::Watch;
use holdpoint_replay::{Filter, LogTail, Missed, RUN_BEGINS, Run, RunFound, RunsWanted, run_of};
use std::time::Duration;

/// What ends a run.
const RUN_ENDS: &str = "execution_loop.halted";

/// Goes on until Ctrl-C, or until nobody reads any more.
pub(super) fn follow(
    global: &Global,
    args: &Args,
    (directory, newest): (&Directory, u64),
    (range, wanted): (&Filter, &RunsWanted),
    (watch, layout): (&Watch, Option<&Layout<'_>>),
) -> Result<Exit, Failure> {
    let (mut tail, mut out) = (LogTail::behind(newest), Output::stdout());
    let changes = Filter { kind: Some("execution_loop".to_string()), ..Filter::default() };
    loop {
        let mut changed = Vec::new();
        let caught_up = tail.catch_up(&directory.log, &changes, &mut |line| {
            let is_told = line.kind == RUN_BEGINS || line.kind == RUN_ENDS;
            changed.extend(line.loop_id.filter(|id| is_told && !changed.contains(id)));
        });
        let missed = caught_up.map_err(|error| failed(directory, &error))?;
        let runs = changed.iter().map(|id| read(directory, id)).collect::<Result<Vec<_>, _>>()?;
        let runs: Vec<Run> = runs
            .into_iter()
            .flatten()
            .filter(|run| is_in(range, run) && wanted.admits(run))
            .collect();
        let (retries, searched) = again::read(directory, &runs)?;
        searched.iter().try_for_each(crate::run_id::expect_sound)?;
        let unfinished = recorders::unfinished(directory, &runs);
        let shown = Shown { runs, retries, unfinished, ..Shown::default() };
        put_lines(global, args, &shown, &mut out, layout);
        out.flush();
        if let Some(Missed { first, last }) = missed {
            complain(&format!(
                "records {first} to {last} were moved to an archive before they were looked at: \
                 `holdpoint runs --archive DIR` shows their runs"
            ));
        }
        // Looked at though nothing was written: whoever closes a pipe is not kept waiting for us.
        if !out.has_reader() {
            break;
        }
        // What was written is looked for in any case.
        let _ = watch.wait(Duration::MAX);
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// Whether a run began in a range. What is followed has no end.
fn is_in(range: &Filter, run: &Run) -> bool {
    range.first.is_none_or(|first| run.first >= first)
        && range.since.is_none_or(|since| run.entity.started_at >= since)
}

/// A run as it is now; `None` where nothing that counts began it.
fn read(directory: &Directory, loop_id: &str) -> Result<Option<Run>, Failure> {
    let (found, searched) = directory.read(|log, options| run_of(log, loop_id, options))?;
    crate::run_id::expect_sound(&searched)?;
    Ok(match found {
        RunFound::Run(run) => Some(*run),
        RunFound::Nothing | RunFound::NoBeginning(_) => None,
    })
}
