//! Runs that have not ended: who waits for what, and which of them nobody records any more.

use super::check::Check;
use super::policy::POLICY;
use crate::directory::Directory;
use crate::exit::Failure;
use crate::text::path;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_replay::machine::{Recorder, is_not_a_directory, recorder_of};
use holdpoint_replay::waiting::all_waiting;

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
             `holdpoint hold expire`",
        )];
    }
    let waiting = all_waiting(storage).into_iter();
    let failing: Vec<_> = waiting.filter_map(|it| Some((it.run, it.fault?))).collect();
    let mut checks: Vec<_> = failing
        .iter()
        .take(TOLD_MAX)
        .map(|(run, fault)| {
            Check::warn(
                RUNS,
                format!(
                    "runs/{run} is a file that is not the recorder's, and counts for nothing: {}",
                    visible(fault)
                ),
                &format!("look at it, and remove it once it is not needed: {log}/runs/{run}"),
            )
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
    let rebuilt = crate::hold::read_end(directory)?;
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
            "`holdpoint hold expire` records it, as does whoever writes next",
        ),
        (Recorder::NotToBeTold, _) => Check::fail(
            RUNS,
            format!("runs/{name}: whether its recorder lives cannot be told"),
            "see what stands in the place of `runs/` in the log's directory, or of the file in it: \
             once that is mended, `holdpoint hold expire` records what is due",
        ),
        (Recorder::Lives, None) => Check::ok(RUNS, format!("{name}: under way")),
        (Recorder::Lives, Some(request)) => {
            Check::ok(RUNS, format!("{name}: waits for a person to answer {request}"))
        }
        (Recorder::None, Some(request)) => {
            Check::ok(RUNS, format!("{name}: left open until a person answers {request}"))
        }
        (Recorder::None, None) => {
            let state = entity.state();
            Check::ok(
                RUNS,
                format!(
                    "{name}: {state}, and no process holds it; where `run` recorded it, \
                     `holdpoint hold expire` records that it is lost"
                ),
            )
        }
    }
}
