//! `runs --follow`: each run as it begins, and again as it ends.

use super::{Args, Rows, RunListing, put_lines};
use crate::args::Global;
use crate::log::coverage::{WitnessWait, tell_missed};
use crate::log::records::failed;
use crate::log::run_records::tell_uncounted;
use crate::log::{Directory, VERIFY_TELLS, recorders, retries};
use crate::ui::table::Layout;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_engine::shell::Watch;
use holdpoint_replay::{
    Begun, Filter, Line, LogTail, RUN_BEGINS, Run, RunFilter, RunLookup, run_of,
};

/// What ends a run.
const RUN_ENDS: &str = "execution_loop.halted";

/// Goes on until Ctrl-C, or until nobody reads any more.
pub(super) fn follow(
    global: &Global,
    args: &Args,
    (directory, newest, mut awaited): (&Directory, u64, WitnessWait),
    (range, wanted): (&Filter, &RunFilter),
    (watch, layout): (&Watch, Option<&Layout<'_>>),
) -> Result<Exit, Failure> {
    let (mut tail, mut out) = (LogTail::behind(newest), Output::stdout());
    let changes = Filter { kind: Some("execution_loop".to_string()), ..Filter::default() };
    loop {
        directory.expect_same()?;
        let mut changed = Changed::default();
        let caught_up = tail.catch_up(&directory.log, &changes, &mut |line| changed.take(line));
        let missed = caught_up.map_err(|error| failed(directory, &error))?;
        let (mut runs, uncounted) = changed.read(directory, range)?;
        runs.retain(|run| wanted.admits(run));
        let (retries, searched) = retries::read(directory, &runs)?;
        searched.iter().try_for_each(crate::log::run_id::expect_sound)?;
        let unfinished = recorders::unfinished(directory, &runs);
        let rows = Rows { runs, ..Rows::default() };
        let shown = RunListing { rows, retries, unfinished, ..RunListing::default() };
        put_lines(global, args, &shown, &mut out, layout);
        shown.rows.runs.iter().for_each(|run| awaited.take(run.last));
        out.flush();
        let exit = tell_uncounted(directory, &uncounted);
        if exit != Exit::DONE {
            out.finish()?;
            return Ok(exit);
        }
        tell_missed(missed, "runs");
        if !awaited.wait(global, &tail, &mut out, watch) {
            break;
        }
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// What was written of runs since the last look.
#[derive(Default)]
struct Changed {
    /// The loops of the runs that began or ended.
    loops: Vec<String>,
    /// The records that begin one.
    begun: Vec<Line>,
    /// The first record of a run of which nobody can tell what it says.
    unread: Option<u64>,
}

impl Changed {
    fn take(&mut self, line: Line) {
        let Some(loop_id) = &line.loop_id else {
            self.unread.get_or_insert(line.sequence);
            return;
        };
        let begins = line.kind == RUN_BEGINS;
        if (begins || line.kind == RUN_ENDS) && !self.loops.contains(loop_id) {
            self.loops.push(loop_id.clone());
        }
        if begins {
            self.begun.push(line);
        }
    }

    /// The runs as they are now, and the beginnings of those that do not count.
    fn read(
        self,
        directory: &Directory,
        range: &Filter,
    ) -> Result<(Vec<Run>, Vec<Begun>), Failure> {
        if let Some(record) = self.unread {
            let message = format!(
                "record {record} is of a run and withheld or cannot be read, so that what became \
                 of the run is not known; {VERIFY_TELLS}"
            );
            return Err(Failure::new(Exit::VERIFICATION_FAILED, "damaged", message));
        }
        let (mut runs, mut uncounted) = (Vec::new(), Vec::new());
        for loop_id in self.loops {
            let (found, searched) =
                directory.read(|log, options| run_of(log, &loop_id, options))?;
            crate::log::run_id::expect_sound(&searched)?;
            match found {
                RunLookup::Run(run) => runs.push(*run),
                RunLookup::BegunTwice(twice) => uncounted.push(Begun::again(twice)),
                RunLookup::Nothing | RunLookup::NoBeginning(_) => {
                    // The newest first, as in every list.
                    let begun = self.begun.iter().rev();
                    let begun = begun.filter(|line| line.loop_id.as_deref() == Some(&*loop_id));
                    let begun = begun.filter(|line| is_in(range, (line.sequence, line.time)));
                    uncounted.extend(begun.cloned().map(Begun::of));
                }
            }
        }
        runs.retain(|run| is_in(range, (run.first, run.entity.started_at)));
        Ok((runs, uncounted))
    }
}

/// Tells whether a run began in a range, with a record at a time. What is followed has no end.
fn is_in(range: &Filter, (first, time): (u64, Timestamp)) -> bool {
    range.first.is_none_or(|wanted| first >= wanted)
        && range.since.is_none_or(|since| time >= since)
}
