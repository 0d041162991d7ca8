//! What a run came after, and what it caused: the RETRY about another run with which it says that
//! it began, the runs that name one of its records as their cause, and whatever else does.

use crate::log::Directory;
use crate::log::run_facts::{outcome, proven};
use crate::ui::time_format::Clock;
use crate::ui::{Failure, Page, counted, named};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::{ActorId, Proof};
use holdpoint_replay::run_list::RetryOf;
use holdpoint_replay::{Begun, Line, Listed, Retry, Run, Searched, caused_by, retries_of, runs_of};
use serde::Serialize;
use std::slice;

/// So many of the runs that it caused are told.
const RUNS_MAX: usize = 20;
/// So many of the other records that it caused are shown, and so many lines of each.
const RECORDS_MAX: usize = 10;
const RECORD_LINES: usize = 2;

/// What is before and behind a run.
#[derive(Default)]
pub(crate) struct Relations {
    /// The RETRY with which it says that it began.
    pub(super) retry: Option<Retry>,
    /// The first of the runs that it caused.
    pub(super) runs: Vec<Run>,
    /// Those of them that do not count.
    pub(super) uncounted: Vec<Begun>,
    /// How many more there are.
    pub(super) more: usize,
    /// What else it caused.
    pub(super) records: Vec<Line>,
}

/// What a program is shown of that.
#[derive(Serialize)]
pub(super) struct ShownRelations<'r> {
    retry_of: Option<RetryOf<'r>>,
    /// The loops that name a record of it as their cause.
    caused_runs: Vec<&'r str>,
    /// How many more there are.
    caused_runs_more: usize,
    /// What it caused beside these and its own course.
    caused: Vec<Caused<'r>>,
}

#[derive(Serialize)]
struct Caused<'r> {
    record: u64,
    time: Timestamp,
    kind: &'r str,
    summary: &'r str,
    actor: &'r Option<ActorId>,
    proof: Option<Proof>,
    decision: Option<&'r str>,
    standing: Option<&'static str>,
}

impl<'r> Caused<'r> {
    fn of(line: &'r Line) -> Self {
        let Line { kind, summary, actor, proof, standing, .. } = line;
        Self {
            record: line.sequence,
            time: line.time,
            kind,
            summary,
            actor,
            proof: *proof,
            decision: line.decision_id.as_deref(),
            standing: *standing,
        }
    }
}

impl Relations {
    /// Reads them, and joins what was read for that.
    pub(super) fn read(
        directory: &Directory,
        run: &Run,
        searched: &mut Searched,
    ) -> Result<Self, Failure> {
        let (mut retries, read) =
            directory.read(|log, options| retries_of(log, slice::from_ref(run), options))?;
        let (caused, also_read) =
            directory.read(|log, options| caused_by(log, run, searched, options))?;
        read.into_iter().chain(also_read).for_each(|read| searched.join(read));
        let told = caused.runs.get(..RUNS_MAX).unwrap_or(&caused.runs);
        let mut relations = Self {
            retry: retries.remove(run.entity.loop_id()),
            more: caused.runs.len().saturating_sub(told.len()),
            ..Self::default()
        };
        if !told.is_empty() {
            let Listed { runs, uncounted, searched: read } =
                directory.read(|log, options| runs_of(log, told, options))?;
            searched.join(read);
            (relations.runs, relations.uncounted) = (runs, uncounted);
        }
        relations.records = caused.records;
        Ok(relations)
    }

    pub(super) fn shown(&self) -> ShownRelations<'_> {
        ShownRelations {
            retry_of: self.retry.as_ref().map(RetryOf::of),
            caused_runs: self.runs.iter().map(|run| run.entity.loop_id()).collect(),
            caused_runs_more: self.more,
            caused: self.records.iter().map(Caused::of).collect(),
        }
    }

    /// The run that it came after. That the RETRY is the cause is what its own record says.
    pub(super) fn put_before(&self, page: &mut Page) {
        let Some(Retry { run, sequence, by, reason }) = &self.retry else { return };
        let by = proven(&by.actor, by.proof);
        page.row(
            "again",
            &format!(
                "after {}; its cause is given as record {sequence}, RETRY by {by}",
                named(run)
            ),
        );
        if let Some(reason) = reason {
            page.foreign("reason", reason);
        }
    }

    /// The runs that came after it. That it caused them is what their own records say.
    pub(super) fn put_later(&self, page: &mut Page, of: &Run, clock: &Clock) {
        for run in &self.runs {
            let (id, began) = (run.entity.loop_id(), clock.told(run.entity.started_at));
            let is_again = run.cause.is_some_and(|cause| of.retries().any(|it| it == cause));
            let (how, what) = if is_again { ("begun again", ", RETRY,") } else { ("begun", "") };
            let cause =
                run.cause.map(|cause| format!(" (record {cause}{what} is given as its cause)"));
            let (cause, outcome) = (cause.unwrap_or_default(), outcome(run));
            page.row("caused", &format!("{id}, {how} {began}{cause}: {outcome}"));
        }
        if self.more > 0 {
            let more = counted(self.more as u64, "more run");
            let others = format!("`runs --since {} -n 1000` has them among others", of.first);
            page.row("caused", &format!("{more}: {others}"));
        }
    }

    /// What else it caused: what each record says may be words of others.
    pub(super) fn put_records(&self, page: &mut Page, clock: &Clock) {
        for line in self.records.iter().take(RECORDS_MAX) {
            let by = line.actor.as_ref().map(|actor| format!(", by {}", proven(actor, line.proof)));
            let by = by.unwrap_or_default();
            page.row("caused", &format!("record {}, {}{by}", line.sequence, clock.told(line.time)));
            page.beginning(&line.summary, RECORD_LINES);
        }
        if let Some(more @ 1..) = self.records.len().checked_sub(RECORDS_MAX) {
            page.row("caused", &format!("{more} more records; --json has all"));
        }
    }
}
