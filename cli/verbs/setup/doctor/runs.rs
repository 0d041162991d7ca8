//! Runs that have not ended: who waits for what, and which of them nobody records any more.

use super::check::Check;
use super::policy::POLICY;
use crate::log::Directory;
use crate::ui::{Failure, path};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::execution_loop::ExecutionLoopState;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_replay::machine::{Recorder, is_not_a_directory, recorder_of};
use holdpoint_replay::waiting::{WaitingRun, all_waiting};
use holdpoint_replay::{RunLookup, run_of};

/// What was looked at.
const RUNS: &str = "runs";
/// So many are told one by one.
const TOLD_MAX: usize = 20;

/// One line for each run that has not ended, one where the policy of the log lets none begin, and
/// one for each file that is not the recorder's.
pub(super) fn check(directory: &Directory) -> Vec<Check> {
    let mut checks = of_runs(directory);
    checks.extend(of_files(directory));
    checks
}

/// What stands in the place of the runs' files and counts for nothing.
fn of_files(directory: &Directory) -> Vec<Check> {
    let storage = &directory.storage;
    let log = path(&directory.path);
    if is_not_a_directory(storage) {
        return vec![Check::fail(
            RUNS,
            format!(
                "{log}/runs is not a directory of its own, and nobody follows it: no run can \
                 begin, and what waits for runs is not taken up"
            ),
            "remove it, move the directory back to this place where there was one, and say \
             `holdpoint decision expire`",
        )];
    }
    let waiting = all_waiting(storage).into_iter();
    let failing: Vec<_> = waiting.filter_map(|it| Some((it.foreign()?, it))).collect();
    let mut checks: Vec<_> = failing
        .iter()
        .take(TOLD_MAX)
        .map(|(foreign, WaitingRun { run, entries, .. })| {
            let first = match entries.is_empty() {
                true => "look at it",
                false => {
                    "say `holdpoint decision expire`, which takes up what waits, then look at it"
                }
            };
            let advice = format!("{first}, and remove it once it is not needed: {log}/runs/{run}");
            Check::warn(RUNS, foreign, &advice)
        })
        .collect();
    if let Some(more @ 1..) = failing.len().checked_sub(TOLD_MAX) {
        checks.push(Check::ok(RUNS, format!("and {more} more such files")));
    }
    checks
}

fn of_runs(directory: &Directory) -> Vec<Check> {
    match unfinished(directory) {
        Ok(checks) if checks.is_empty() => vec![Check::ok(RUNS, "none is unfinished")],
        Ok(checks) => checks,
        Err(failure) => {
            let advice = "mend what is wrong with the log first";
            vec![Check::fail(RUNS, failure.message(), advice)]
        }
    }
}

fn unfinished(directory: &Directory) -> Result<Vec<Check>, Failure> {
    let rebuilt = crate::log::open::read_end(directory)?;
    let live: Vec<_> = rebuilt.world.live_loops().filter(|entity| entity.halt.is_none()).collect();
    let told = live.iter().take(TOLD_MAX);
    let mut checks: Vec<_> = told.map(|entity| one(directory, entity)).collect();
    if rebuilt.world.is_policy_lost() {
        checks.push(Check::fail(
            POLICY,
            PolicyRefusal::Lost.to_string(),
            "set the policy: nothing begins in this log before",
        ));
    }
    if let Some(more @ 1..) = live.len().checked_sub(TOLD_MAX) {
        checks.push(Check::ok(RUNS, format!("and {more} more that have not ended")));
    }
    Ok(checks)
}

fn one(directory: &Directory, entity: &ExecutionLoop) -> Check {
    let name = visible(entity.loop_id());
    let asked = entity.open_request().map(|held| visible(held.request_id()).to_string());
    match (recorder_of(&directory.storage, entity.loop_id()), asked) {
        (Recorder::Gone, _) => Check::warn(
            RUNS,
            format!("{name}: the process that recorded it is gone, which is not on record yet"),
            "`holdpoint decision expire` records it, as does whoever writes next",
        ),
        (Recorder::NotToBeTold, _) => Check::fail(
            RUNS,
            format!("runs/{name}: whether its recorder lives cannot be told"),
            "see what stands in the place of `runs/` in the log's directory, or of the file in it: \
             once that is mended, `holdpoint decision expire` records what is due",
        ),
        (Recorder::Lives, None) => Check::ok(RUNS, format!("{name}: under way")),
        (Recorder::Lives, Some(request)) => {
            Check::ok(RUNS, format!("{name}: waits for a person to answer {request}"))
        }
        (Recorder::None, Some(request)) => {
            Check::ok(RUNS, format!("{name}: left open until a person answers {request}"))
        }
        (Recorder::None, None) if has_lost_its_file(directory, entity.loop_id()) => Check::warn(
            RUNS,
            format!(
                "{name}: no process records it any more, and its file runs/{name} was removed: it \
                 is lost, which is not on record yet"
            ),
            "`holdpoint decision expire` records it",
        ),
        (Recorder::None, None) => {
            let state = entity.state();
            Check::ok(
                RUNS,
                format!(
                    "{name}: {state}, and no process holds it; where `run` recorded it, \
                     `holdpoint decision expire` records that it is lost"
                ),
            )
        }
    }
}

/// Whether a command is under way as far as the log says, and its start names the key of a process
/// that made a file for it: read behind the look at that file, so that it has not ended since.
fn has_lost_its_file(directory: &Directory, loop_id: &str) -> bool {
    let read = directory.read(|log, options| run_of(log, loop_id, options));
    let Ok((RunLookup::Run(run), _)) = read else { return false };
    run.has_recorder_key && run.entity.state() == ExecutionLoopState::AwaitingResponse
}
