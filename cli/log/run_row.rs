//! What a program is shown of a run.

use crate::log::retries::{Placed, RetryOf};
use crate::ui::text::each_once;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::execution_loop::Exit as ProcessExit;
use holdpoint_domain::governed::Attempt;
use holdpoint_domain::{ActorId, Proof};
use holdpoint_replay::waiting::WaitingRun;
use holdpoint_replay::{Run, RunOutcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a program is shown of a run in a list.
#[derive(Serialize)]
pub(crate) struct ListedRow<'r> {
    #[serde(flatten)]
    row: Row<'r>,
    /// The RETRY about another run with which it says that it began.
    retry_of: Option<RetryOf<'r>>,
    /// What waits in its file for the next writer, unproven.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<&'r WaitingRun>,
    /// The open decision that asks a person about an escalation.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_person: Option<&'r str>,
}

impl<'r> ListedRow<'r> {
    pub(crate) fn of(
        placed: &Placed<'r>,
        (waiting, needs_person): (Option<&'r WaitingRun>, Option<&'r str>),
    ) -> Self {
        let retry_of = placed.retry.map(RetryOf::of);
        Self { row: Row::of(placed.run), retry_of, waiting, needs_person }
    }
}

/// What a program is shown of a run.
#[derive(Serialize)]
pub(crate) struct Row<'r> {
    run: &'r str,
    outcome: RunOutcome,
    exit_status: Option<i32>,
    signal: Option<i32>,
    /// True if the recorder was told how it ended, and watched no process.
    is_reported: bool,
    began_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// Without the time in which it waited for a person.
    took_ns: Option<u64>,
    /// How long it waited for a person, where it has ended.
    waited_ns: Option<u64>,
    attempts: u8,
    by: &'r ActorId,
    proof: Option<Proof>,
    approved_by: Vec<&'r str>,
    /// Those of them whose name nothing proves.
    approved_by_unproven: Vec<&'r str>,
    command_line: &'r str,
    correlation: &'r str,
    labels: &'r BTreeMap<String, String>,
    first_record: u64,
    last_record: u64,
    /// What is proven of the weakest of its records.
    standing: &'static str,
}

impl<'r> Row<'r> {
    pub(crate) fn of(run: &'r Run) -> Self {
        let entity = &run.entity;
        let exit =
            entity.current_attempt().and_then(|attempt| Some(attempt.response.as_ref()?.exit));
        let (exit_status, signal) = match exit {
            Some(ProcessExit::Status(status)) => (Some(status), None),
            Some(ProcessExit::Signal(signal)) => (None, Some(signal)),
            Some(ProcessExit::Unknown) | None => (None, None),
        };
        let unproven = run.approvers().filter(|who| who.is_claim);
        Self {
            run: entity.loop_id(),
            outcome: RunOutcome::of(entity),
            exit_status,
            signal,
            is_reported: entity.current_attempt().is_some_and(Attempt::is_reported),
            began_at: entity.started_at,
            ended_at: run.ended_at(),
            took_ns: run.took_ns(),
            waited_ns: run.lasted().and(entity.halt.as_ref()).map(|halt| run.waited(halt.at)),
            attempts: entity.attempt_count(),
            by: &entity.actor,
            proof: run.doers.get(&entity.started_sequence).and_then(|doer| doer.proof),
            approved_by: each_once(run.approvers().map(|who| who.id)),
            approved_by_unproven: each_once(unproven.map(|who| who.id)),
            command_line: &entity.command_line,
            correlation: &entity.correlation,
            labels: &run.labels,
            first_record: run.first,
            last_record: run.last,
            standing: run.standing().name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::golden::Sample;
    use holdpoint_domain::execution_loop::HaltReason;

    #[test]
    fn what_a_run_took_holds_no_wait_for_a_person_and_no_end_that_nobody_saw() {
        let mut runs = Sample::begun_again().listed();
        let run = &mut runs[2];
        let (began, end) = (run.entity.started_at, run.entity.halt.as_ref().unwrap().at);
        assert_eq!((run.waited(end), run.lasted()), (1_000_000, Some(6_000_000)));
        assert_eq!(end.nanoseconds_since(began), 7_000_000);
        run.entity.halt.as_mut().unwrap().reason = HaltReason::RecorderLost;
        let attempt = run.entity.attempts.last().unwrap();
        assert_eq!(run.lasted(), attempt.resources.map(|usage| usage.wall_ns));
        run.entity.attempts.last_mut().unwrap().response = None;
        assert_eq!(run.lasted(), None);
    }
}
