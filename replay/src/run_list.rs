//! Runs in a list: where each stands, and what a program is shown of it.

use crate::again::Retry;
use crate::outcome::RunOutcome;
use crate::run::{CommandClaims, Run};
use crate::waiting::WaitingRun;
use crate::words::each_once;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::execution_loop::Exit as ProcessExit;
use holdpoint_domain::governed::Attempt;
use holdpoint_domain::{ActorId, Proof};
use serde::Serialize;
use std::collections::BTreeMap;

/// The RETRY with which runs say that they began, by their loops.
pub type Retries = BTreeMap<String, Retry>;

/// A RETRY for programs.
#[derive(Serialize)]
pub struct RetryOf<'r> {
    /// The run that it is about.
    run: &'r str,
    record: u64,
    by: &'r ActorId,
    proof: Option<Proof>,
    /// The proof of its record.
    standing: &'static str,
}

impl<'r> RetryOf<'r> {
    /// Shows a RETRY.
    pub fn of(retry: &'r Retry) -> Self {
        Self {
            run: &retry.run,
            record: retry.sequence,
            by: &retry.by.actor,
            proof: retry.by.proof,
            standing: retry.by.standing.name(),
        }
    }
}

/// A run in a list, and where it stands.
#[derive(Clone, Copy)]
pub struct Placed<'r> {
    /// The run.
    pub run: &'r Run,
    /// Under how many others.
    pub depth: usize,
    /// The RETRY with which it says that it began.
    pub retry: Option<&'r Retry>,
    /// True if it has not ended, and nobody records it.
    pub is_unfinished: bool,
}

impl Placed<'_> {
    /// Tells whether it stands behind what began with a record.
    pub fn comes_after(&self, first: u64) -> bool {
        self.depth == 0 && self.run.first < first
    }
}

/// Runs as they were listed, each for itself.
pub fn apart<'r>(runs: &'r [Run], retries: &'r Retries) -> Vec<Placed<'r>> {
    let of = |run: &'r Run| {
        let retry = retries.get(run.entity.loop_id());
        Placed { run, depth: 0, retry, is_unfinished: false }
    };
    runs.iter().map(of).collect()
}

/// Runs as they were listed, the newest first, but each that was begun again under the one which it
/// was begun after, where that is listed as well.
pub fn placed<'r>(runs: &'r [Run], retries: &'r Retries) -> Vec<Placed<'r>> {
    let listed: BTreeMap<&str, &Run> = runs.iter().map(|run| (run.entity.loop_id(), run)).collect();
    let mut under: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    let mut due = Vec::new();
    for run in runs.iter().rev() {
        let retry = retries.get(run.entity.loop_id());
        // Each stands under one that began before it, whatever a log says.
        let above = retry.filter(|retry| {
            listed.get(retry.run.as_str()).is_some_and(|above| above.first < retry.sequence)
        });
        match above {
            Some(retry) => under.entry(&retry.run).or_default().push(run),
            None => due.push((run, 0)),
        }
    }
    let mut placed = Vec::new();
    while let Some((run, depth)) = due.pop() {
        let id = run.entity.loop_id();
        placed.push(Placed { run, depth, retry: retries.get(id), is_unfinished: false });
        let below = under.remove(id).into_iter().flatten().rev();
        due.extend(below.map(|run| (run, depth.saturating_add(1))));
    }
    placed
}

/// A run of a list, for programs.
#[derive(Serialize)]
pub struct ListedRow<'r> {
    #[serde(flatten)]
    row: RunRow<'r>,
    /// The RETRY about another run with which it says that it began.
    retry_of: Option<RetryOf<'r>>,
    /// The end that waits in its file for the next writer, unproven.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<&'r WaitingRun>,
    /// The open decision that asks a person about an escalation.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_person: Option<&'r str>,
}

impl<'r> ListedRow<'r> {
    /// Shows a run of a list, with what waits in its file and the decision that needs a person.
    pub fn of(
        placed: &Placed<'r>,
        (waiting, needs_person): (Option<&'r WaitingRun>, Option<&'r str>),
    ) -> Self {
        let retry_of = placed.retry.map(RetryOf::of);
        Self { row: RunRow::of(placed.run), retry_of, waiting, needs_person }
    }
}

/// A run for programs.
#[derive(Serialize)]
pub struct RunRow<'r> {
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
    /// Time that it waited for a person, where it has ended.
    waited_ns: Option<u64>,
    attempts: u8,
    by: &'r ActorId,
    proof: Option<Proof>,
    approved_by: Vec<&'r str>,
    /// Those of them whose name nothing proves.
    approved_by_unproven: Vec<&'r str>,
    command_line: &'r str,
    #[serde(flatten)]
    claims: CommandClaims<'r>,
    correlation: &'r str,
    labels: &'r BTreeMap<String, String>,
    first_record: u64,
    last_record: u64,
    /// The proof of the weakest of its records.
    standing: &'static str,
}

impl<'r> RunRow<'r> {
    /// Shows a run.
    pub fn of(run: &'r Run) -> Self {
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
            claims: run.command_claims(),
            correlation: &entity.correlation,
            labels: &run.labels,
            first_record: run.first,
            last_record: run.last,
            standing: run.standing().name(),
        }
    }
}
