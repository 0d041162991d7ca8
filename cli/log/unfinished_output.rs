//! What is not known of the end of a run's output, and why.

use crate::log::recorders;
use crate::ui::{Exit, complain, counted, named};
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_replay::machine::Recorder;
use holdpoint_replay::waiting::WaitingRun;
use holdpoint_replay::{CapturedOutput, Run, RunOutcome};

/// Why more may have been printed last than is there; `None`: all of it is, or it still runs. What
/// is known of its recorder is from before the log was read: one that was gone wrote nothing since.
pub(crate) fn open_end(
    run: &Run,
    recorder: Recorder,
    outputs: &[&CapturedOutput],
    waiting: Option<&WaitingRun>,
) -> Option<String> {
    let (entity, id) = (&run.entity, named(run.entity.loop_id()));
    let is_last = outputs.iter().all(|output| output.attempt == entity.attempt_count());
    let is_whole = !outputs.is_empty() && outputs.iter().all(|output| output.end.is_some());
    if !is_last || is_whole {
        return None;
    }
    let missing = waiting.map_or(0, |waiting| {
        let of_stream = |stream: &OutputStream| waiting.missing_of(run, *stream);
        [OutputStream::Stdout, OutputStream::Stderr].iter().map(of_stream).sum()
    });
    if missing > 0 {
        return Some(format!(
            "{} that {id} printed are neither on record nor in what waits for the next writer",
            counted(missing, "byte")
        ));
    }
    let tells_all = waiting.is_some_and(WaitingRun::ends_output);
    let outcome = RunOutcome::of(entity);
    let is_gone = match (&entity.halt, recorder) {
        (Some(_), _) => outcome == RunOutcome::Lost || !outputs.is_empty(),
        (None, Recorder::Lives) => false,
        (None, Recorder::Gone) => true,
        // Whoever removes its file, or puts something in its place, does not make it whole.
        (None, Recorder::None | Recorder::NotToBeTold) => outcome == RunOutcome::Running,
    };
    let fault = waiting.filter(|waiting| waiting.fault.is_some()).map(recorders::told);
    let fault = fault.map_or(String::new(), |fault| format!("; {fault}"));
    match (is_gone, fault.is_empty()) {
        _ if tells_all => None,
        (true, _) if entity.halt.is_some() && outcome != RunOutcome::Lost => {
            Some(format!("how much {id} printed is not on record: its last part may be missing"))
        }
        (true, _) if recorder == Recorder::None && entity.halt.is_none() => Some(format!(
            "no process records {id} any more: what the command printed last, for a second or \
             more, may be missing{fault}"
        )),
        (true, _) => Some(format!(
            "the recorder of {id} was lost: what the command printed last, for a second or \
             more, may be missing{fault}"
        )),
        (false, false) => Some(format!("of {id} more may have been printed than is shown{fault}")),
        (false, true) => None,
    }
}

/// Says what may be missing, or what is not the recorder's. Exit 3 where something may be missing.
pub(crate) fn tell_doubt(doubt: Option<&str>, waiting: Option<&WaitingRun>) -> Exit {
    let Some(doubt) = doubt else {
        waiting.and_then(WaitingRun::foreign).iter().for_each(|foreign| complain(foreign));
        return Exit::DONE;
    };
    complain(doubt);
    Exit::NOT_FOUND
}
