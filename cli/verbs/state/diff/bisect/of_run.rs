//! When a command began to fail: from a run that failed back to the first one that did behind the
//! last good one, of the same command in the same directory, and what differs between these two.

use crate::args::Global;
use crate::log::captured_output::{Read, read};
use crate::log::run_difference::{Difference, DifferenceDocument, View, put_difference, put_run};
use crate::log::run_facts::{commands, outcome};
use crate::log::run_records::{tell_standing, tell_uncounted};
use crate::log::{Directory, run_id};
use crate::ui::program::program;
use crate::ui::screen::columns;
use crate::ui::{Bar, Exit, Failure, Output, Page, TimesArgs, counted};
use holdpoint_engine::executor::InstructionEnvelope;
use holdpoint_replay::{Begun, Filter, Run, RunFilter, RunOutcome, Searched, find_runs};
use serde::Serialize;
use std::collections::BTreeMap;

/// So many runs are read together, at first and at most.
const READ_TOGETHER: (usize, usize) = (64, 4_096);

/// Finds and shows it. Exit 3 where there is no such run, it has not failed, or no earlier one
/// ended well; 6 where the log does not verify as far as it was read.
pub(in crate::verbs::state::diff) fn show(
    global: &Global,
    directory: &Directory,
    wanted: &str,
    times: TimesArgs,
) -> Result<Exit, Failure> {
    let Read { run, searched } = read(directory, &run_id::find(directory, wanted)?)?;
    if !RunOutcome::of(&run.entity).is_failure() {
        return Err(not_failed(&run));
    }
    let mut search = Search::from(directory, &run, searched);
    let Some(good) = search.last_good()? else { return Err(no_good(directory, &search)) };
    let Search { mut searched, failing, not_comparable, uncounted, .. } = search;
    let (good, bad) = (read(directory, &good)?, read(directory, &failing.first)?);
    searched.join(good.searched);
    searched.join(bad.searched);
    let found =
        RunComparison { good: &good.run, bad: &bad.run, failing: failing.count, not_comparable };
    let mut out = Output::stdout();
    if global.json {
        let difference = Difference::between(found.good, found.bad);
        out.json(&found.shown(&difference));
    } else {
        let program = program(&global.log);
        let view = View { columns: columns(), clock: &times.clock(), program: &program };
        lines(&found, &view).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    let exit = tell_uncounted(directory, &uncounted);
    directory.tell_unread();
    if !global.json {
        tell_standing(&[found.good, found.bad], searched.reach());
    }
    Ok(exit)
}

fn not_failed(run: &Run) -> Failure {
    let message = format!(
        "{} did not fail ({}): name a run that did, as `holdpoint runs failed=true` lists them",
        run.entity.loop_id(),
        RunOutcome::of(&run.entity).name()
    );
    Failure::new(Exit::NOT_FOUND, "not_failed", message)
}

fn no_good(directory: &Directory, search: &Search<'_>) -> Failure {
    let exit = tell_uncounted(directory, &search.uncounted);
    let Failing { first, count } = &search.failing;
    let message = format!(
        "no earlier run of this command in this directory ended well: of {} that failed, {first} \
         is the first{}",
        counted(*count, "run"),
        match search.not_comparable {
            0 => String::new(),
            some => format!("; {}", not_compared(some)),
        }
    );
    let failure = directory.or_missing(Failure::new(Exit::NOT_FOUND, "no_good_run", message));
    // One that does not count may have ended well.
    if exit == Exit::DONE { failure } else { failure.exiting(exit) }
}

fn not_compared(count: u64) -> String {
    format!(
        "{} with the same words may be of another command or directory, which is not on record",
        counted(count, "run")
    )
}

/// The runs that failed behind the last good one.
struct Failing {
    first: String,
    count: u64,
}

/// The way back through the runs of a command, the newest first.
struct Search<'d> {
    directory: &'d Directory,
    command_line: String,
    like: Like,
    /// The record before which the next of them begins.
    before: u64,
    failing: Failing,
    not_comparable: u64,
    uncounted: Vec<Begun>,
    searched: Searched,
}

impl<'d> Search<'d> {
    fn from(directory: &'d Directory, run: &Run, searched: Searched) -> Self {
        Self {
            directory,
            command_line: run.entity.command_line.clone(),
            like: Like::of(run),
            before: run.entity.started_sequence,
            failing: Failing { first: run.entity.loop_id().to_string(), count: 1 },
            not_comparable: 0,
            uncounted: Vec::new(),
            searched,
        }
    }

    /// The newest run before it that ended well, if there is one.
    fn last_good(&mut self) -> Result<Option<String>, Failure> {
        let mut bar = Bar::new();
        let mut most = READ_TOGETHER.0;
        loop {
            let page = self.page(most, &mut bar)?;
            for run in &page {
                self.before = run.entity.started_sequence;
                if self.is_good(run)? {
                    return Ok(Some(run.entity.loop_id().to_string()));
                }
            }
            if page.len() < most {
                return Ok(None);
            }
            most = most.saturating_mul(4).min(READ_TOGETHER.1);
        }
    }

    /// The next runs with the same words.
    fn page(&mut self, most: usize, bar: &mut Bar) -> Result<Vec<Run>, Failure> {
        let range = Filter { last: Some(self.before.saturating_sub(1)), ..Filter::default() };
        let command = Some(self.command_line.clone());
        let wanted = RunFilter { command, ..RunFilter::default() };
        let found = self.directory.read(|log, options| {
            find_runs(log, &range, &wanted, most, options, &mut |progress| bar.update(progress))
        })?;
        run_id::expect_sound(&found.searched)?;
        self.searched.join(found.searched);
        self.uncounted.extend(found.uncounted);
        Ok(found.runs)
    }

    /// Tells whether a run is of the same command, and ended well; one that failed is counted.
    fn is_good(&mut self, run: &Run) -> Result<bool, Failure> {
        let outcome = RunOutcome::of(&run.entity);
        if run.entity.command_line != self.command_line || run.entity.halt.is_none() {
            return Ok(false);
        }
        match self.like.is_same(self.directory, run)? {
            Some(true) if outcome.is_failure() => {
                self.failing.first = run.entity.loop_id().to_string();
                self.failing.count = self.failing.count.saturating_add(1);
            }
            Some(is_same) => return Ok(is_same),
            None => self.not_comparable = self.not_comparable.saturating_add(1),
        }
        Ok(false)
    }
}

/// The command that is looked for: its words and directory, whatever its environment.
struct Like {
    envelope: Option<InstructionEnvelope>,
    /// What is known already, by the hash of an instruction; `None`: it cannot be told.
    known: BTreeMap<String, Option<bool>>,
}

impl Like {
    fn of(run: &Run) -> Self {
        let hash = run.entity.context.instruction_envelope_hash().to_string();
        let envelope = InstructionEnvelope::decode(&run.instruction);
        Self { envelope, known: [(hash, Some(true))].into() }
    }

    /// Whether another run is of it; `None` where its exact command is not on record. What a list
    /// gives lacks the instruction: it is read once for each of them.
    fn is_same(&mut self, directory: &Directory, run: &Run) -> Result<Option<bool>, Failure> {
        let hash = run.entity.context.instruction_envelope_hash();
        if let Some(known) = self.known.get(hash) {
            return Ok(*known);
        }
        let whole = read(directory, run.entity.loop_id())?;
        let envelope = InstructionEnvelope::decode(&whole.run.instruction);
        let both = self.envelope.as_ref().zip(envelope.as_ref());
        let same = both.map(|(one, other)| {
            (&one.program, &one.arguments, &one.directory)
                == (&other.program, &other.arguments, &other.directory)
        });
        self.known.insert(hash.to_string(), same);
        Ok(same)
    }
}

/// What was found.
struct RunComparison<'r> {
    good: &'r Run,
    bad: &'r Run,
    failing: u64,
    not_comparable: u64,
}

/// What a program is shown.
#[derive(Serialize)]
struct ComparisonDocument<'r> {
    last_good: &'r str,
    first_failing: &'r str,
    /// How many failed from the first failing one to the one that was named.
    failing_runs: u64,
    /// How many had the same words, and may be of another command or directory.
    not_comparable_runs: u64,
    #[serde(flatten)]
    difference: DifferenceDocument<'r>,
}

impl<'r> RunComparison<'r> {
    fn shown(&self, difference: &'r Difference) -> ComparisonDocument<'r> {
        ComparisonDocument {
            last_good: self.good.entity.loop_id(),
            first_failing: self.bad.entity.loop_id(),
            failing_runs: self.failing,
            not_comparable_runs: self.not_comparable,
            difference: DifferenceDocument::of(self.good, self.bad, difference),
        }
    }
}

/// The screen.
fn lines(found: &RunComparison<'_>, view: &View<'_>) -> Vec<String> {
    let mut page = Page::new(view.columns);
    commands(found.bad).iter().for_each(|(name, command)| page.recorded(name, command));
    put_run(&mut page, "last good", found.good, view.clock);
    put_run(&mut page, "first failing", found.bad, view.clock);
    page.row("it ended", &outcome(found.bad));
    if found.failing > 1 {
        let more = counted(found.failing.saturating_sub(1), "later run");
        page.row(
            "and since",
            &format!("{more} up to the one that was named failed, none was good"),
        );
    }
    put_difference(&mut page, &Difference::between(found.good, found.bad), view.program);
    if found.not_comparable > 0 {
        page.sentence(&not_compared(found.not_comparable));
    }
    page.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use crate::ui::time_format::Clock;

    #[test]
    fn when_it_began_to_fail_is_told_on_one_screen_at_every_width() {
        let sample = Sample::new();
        let runs = sample.whole();
        let found = RunComparison { good: &runs[0], bad: &runs[1], failing: 3, not_comparable: 1 };
        for columns in golden::COLUMNS {
            let view = View { columns, clock: &Clock::at(sample.now), program: "holdpoint" };
            golden::compare("bisect-run", columns, &lines(&found, &view));
        }
    }
}
