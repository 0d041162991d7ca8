//! Whether a run that has not ended on record is still recorded by anybody.

use crate::log::Directory;
use crate::ui::{complain, counted, named};
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::waiting::{WaitingRun, all_waiting, waiting_for};
use holdpoint_replay::words::exit_in_words;
use holdpoint_replay::{Run, RunOutcome};
use std::collections::{BTreeMap, BTreeSet};

/// Who names the way on where the files of runs are not as they are to be.
const DOCTOR_TELLS: &str = "`holdpoint doctor` names the way on";

/// Says of which of some runs nothing runs any more, though no record says that they ended.
pub(crate) fn tell(directory: &Directory, runs: &[Run]) {
    let unended = runs.iter().filter(|run| run.entity.halt.is_none());
    let alone: Vec<String> = unended.filter_map(|run| alone(directory, run)).collect();
    if let Some(first) = alone.first() {
        let more = match alone.len() {
            1 => String::new(),
            count => format!("; so are {} more: `holdpoint doctor` names them", count - 1),
        };
        complain(&format!("{first}{more}"));
    }
}

/// The loops of those of some runs that are called running, and that no process of holdpoint
/// records: as far as this machine can tell.
pub(crate) fn unfinished(directory: &Directory, runs: &[Run]) -> BTreeSet<String> {
    let running = runs.iter().filter(|run| RunOutcome::of(&run.entity) == RunOutcome::Running);
    let loops = running.map(|run| run.entity.loop_id());
    let is_alone =
        |id: &&str| matches!(recorder_of(&directory.storage, id), Recorder::Gone | Recorder::None);
    loops.filter(is_alone).map(str::to_string).collect()
}

/// What waits in the files of those of some runs that have not ended.
pub(crate) fn waiting(directory: &Directory, runs: &[Run]) -> BTreeMap<String, WaitingRun> {
    let unended = runs.iter().filter(|run| run.entity.halt.is_none());
    let waiting = unended.filter_map(|run| waiting_for(&directory.storage, run));
    waiting.map(|waiting| (waiting.run.clone(), waiting)).collect()
}

/// Names what waits in the files of runs and may put a question once it is recorded, if anything.
pub(crate) fn may_ask(storage: &DirectoryStorage) -> Option<String> {
    let runs = all_waiting(storage).len() as u64;
    (runs > 0).then(|| {
        format!(
            "no question is on record, but what {} left in runs/ is not, and may put one: \
             `holdpoint decision expire` records it",
            counted(runs, "run")
        )
    })
}

/// What to know of one that has no recorder.
fn alone(directory: &Directory, run: &Run) -> Option<String> {
    let id = named(run.entity.loop_id());
    let recorder = recorder_of(&directory.storage, run.entity.loop_id());
    if let Some(waiting) = waiting_for(&directory.storage, run) {
        let gone = match recorder {
            Recorder::Gone => ", and its recorder is gone: nothing of it runs",
            Recorder::Lives | Recorder::None | Recorder::NotToBeTold => "",
        };
        return Some(format!("{id} is not over on record{gone}: {}", told(&waiting)));
    }
    match recorder {
        Recorder::Lives => None,
        Recorder::Gone => Some(format!(
            "{id} is not over on record, and its recorder is gone: nothing of it runs; `holdpoint \
             decision expire` records that, as does whoever writes next"
        )),
        Recorder::NotToBeTold => Some(not_told(&id)),
        Recorder::None if RunOutcome::of(&run.entity) == RunOutcome::Waiting => None,
        Recorder::None => Some(match retried(run) {
            Some(request) => format!(
                "{id} does not run: a person said RETRY, and `holdpoint run --resume {request} -- \
                 COMMAND` begins the next attempt"
            ),
            None => format!(
                "{id} is not over on record, and no process of holdpoint records it; where `run` \
                 recorded it, `holdpoint decision expire` records that it is lost"
            ),
        }),
    }
}

/// What is said of a run where nothing tells whether it is recorded.
pub(crate) fn not_told(id: &str) -> String {
    format!(
        "{id} is not over on record, and runs/{id} does not tell whether its recorder lives: \
         {DOCTOR_TELLS}"
    )
}

/// What waits in the file of a run, in words.
pub(crate) fn told(waiting: &WaitingRun) -> String {
    let file = format!("runs/{}", waiting.run);
    let fault = match (&waiting.fault, waiting.is_out_of_reach) {
        (Some(fault), true) => {
            Some(format!("what waits in {file} is not taken up: {fault}; {DOCTOR_TELLS}"))
        }
        _ => waiting.foreign(),
    };
    let newest = waiting.entries.last().map(|newest| {
        let count = match waiting.entries.len() {
            1 => "1 entry waits".to_string(),
            count => format!("{count} entries wait"),
        };
        let exit = waiting.exit();
        let exit =
            exit.map(|exit| format!(", {}", exit_in_words(exit, "no exit status", "signal")));
        let exit = exit.unwrap_or_default();
        format!(
            "{count} in {file}, unproven until the next writer takes {} up ({}{exit})",
            if waiting.entries.len() == 1 { "it" } else { "them" },
            newest.words
        )
    });
    newest.into_iter().chain(fault).collect::<Vec<_>>().join("; ")
}

/// The question to which RETRY is the newest answer.
fn retried(run: &Run) -> Option<String> {
    let held = run.entity.decisions.requests.last()?;
    let is_retry = held.decided()?.record.decision == HumanDecision::Retry;
    is_retry.then(|| named(held.request_id()))
}
