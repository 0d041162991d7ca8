//! What is not known of the end of a run's output, and why.

use crate::directory::Directory;
use crate::exit::{Exit, complain};
use crate::recorders;
use crate::screen::named;
use crate::text::counted;
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::waiting::WaitingRun;
use holdpoint_replay::{CapturedOutput, Run, RunOutcome};

/// Why more may have been printed last than is there; `None`: all of it is, or it still runs.
pub(super) fn open_end(
    directory: &Directory,
    run: &Run,
    outputs: &[&CapturedOutput],
    waiting: Option<&WaitingRun>,
) -> Option<String> {
    let (entity, id) = (&run.entity, named(run.entity.loop_id()));
    let is_last = outputs.iter().all(|output| output.attempt == entity.attempt_count());
    let is_whole = !outputs.is_empty() && outputs.iter().all(|output| output.end.is_some());
    if !is_last || is_whole {
        return None;
    }
    let missing = waiting.map_or(0, |waiting| waiting.missing_of(run));
    if missing > 0 {
        return Some(format!(
            "{} that {id} printed are neither on record nor in what waits for the next writer",
            counted(missing, "byte")
        ));
    }
    let tells_all = waiting.is_some_and(|waiting| waiting.fault.is_none() && waiting.ends_output());
    let is_gone = match &entity.halt {
        Some(_) => RunOutcome::of(entity) == RunOutcome::Lost || !outputs.is_empty(),
        None => recorder_of(&directory.storage, entity.loop_id()) == Recorder::Gone,
    };
    let fault = waiting.filter(|waiting| waiting.fault.is_some()).map(recorders::told);
    let fault = fault.map_or(String::new(), |fault| format!("; {fault}"));
    match (is_gone && !tells_all, fault.is_empty()) {
        (true, _) if entity.halt.is_some() && RunOutcome::of(entity) != RunOutcome::Lost => {
            Some(format!("how much {id} printed is not on record: its last part may be missing"))
        }
        (true, _) => Some(format!(
            "the recorder of {id} was lost: what the command printed last, for a second or \
             more, may be missing{fault}"
        )),
        (false, false) => Some(format!("of {id} more may have been printed than is shown{fault}")),
        (false, true) => None,
    }
}

/// Says what may be missing. Exit 3 where something may.
pub(super) fn tell_doubt(doubt: Option<&str>) -> Exit {
    let Some(doubt) = doubt else { return Exit::DONE };
    complain(doubt);
    Exit::NOT_FOUND
}
