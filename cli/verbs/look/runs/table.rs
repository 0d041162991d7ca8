//! The table of runs, sessions and starts that nobody approved.

use super::{Rows, starts};
use crate::log::retries;
use crate::log::run_facts::{exit_of, marked_command};
use crate::log::run_records::UNFINISHED;
use crate::log::sessions::{self, claimed};
use crate::ui::table::{Column, Fit, Layout, NOTHING, column, indented, number};
use crate::ui::text::visible_once;
use crate::ui::time_format::{Clock, took};
use holdpoint_domain::Proof;
use holdpoint_domain::governed::Attempt;
use holdpoint_replay::run_list::Placed;
use holdpoint_replay::unapproved_starts::UnapprovedStart;
use holdpoint_replay::words::each_once;
use holdpoint_replay::{Run, RunOutcome, Session};
use std::cmp::Reverse;

const COLUMNS: [Column; 8] = [
    column("began", 5, Fit::Time),
    column("outcome", 7, Fit::Whole),
    column("exit", 3, Fit::Whole),
    number("took", 2, Fit::Time),
    column("by", 4, Fit::Name),
    column("approved by", 1, Fit::Name),
    column("run", 8, Fit::Id),
    column("command", 6, Fit::Rest(9)),
];

/// What a row may come to be, column by column.
const LATER: [&str; 8] = [
    "59 min ago",
    "",
    "signal 11",
    "59 min 59 s",
    "agent-name:12345678?",
    "somebody",
    "LOOP-0123456789",
    "",
];

/// A row.
pub(super) enum Entry<'s> {
    Run(Placed<'s>),
    Session(&'s Session),
    Start(&'s UnapprovedStart),
}

impl Entry<'_> {
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::Run(placed) => RunOutcome::of(&placed.run.entity).is_failure(),
            Self::Session(_) => false,
            Self::Start(_) => true,
        }
    }

    fn indent(&self) -> usize {
        match self {
            Self::Run(placed) => retries::indent(placed),
            Self::Session(_) | Self::Start(_) => 0,
        }
    }

    /// The record that it begins with.
    fn first(&self) -> u64 {
        match self {
            Self::Run(placed) => placed.run.first,
            Self::Session(session) => session.first,
            Self::Start(start) => start.question.created_sequence,
        }
    }

    pub(super) fn cells(&self, clock: &Clock) -> Vec<String> {
        match self {
            Self::Run(placed) => cells(placed, clock),
            Self::Session(session) => sessions::cells(session, clock),
            Self::Start(start) => starts::cells(start, clock),
        }
    }
}

/// Runs as they are placed, and the other rows between them by when they began.
pub(super) fn entries<'s>(placed: Vec<Placed<'s>>, rows: &'s Rows) -> Vec<Entry<'s>> {
    let starts = rows.starts.iter().map(Entry::Start);
    let mut others: Vec<_> = rows.sessions.iter().map(Entry::Session).chain(starts).collect();
    others.sort_by_key(|other| Reverse(other.first()));
    let (mut entries, mut others) = (Vec::new(), others.into_iter().peekable());
    for placed in placed {
        while let Some(other) = others.next_if(|it| placed.comes_after(it.first())) {
            entries.push(other);
        }
        entries.push(Entry::Run(placed));
    }
    entries.extend(others);
    entries
}

/// The table of some rows, in so many columns.
pub(super) fn table(entries: &[Entry<'_>], clock: &Clock, columns: usize) -> Vec<String> {
    let rows: Vec<Vec<String>> = entries.iter().map(|entry| entry.cells(clock)).collect();
    let indents: Vec<usize> = entries.iter().map(Entry::indent).collect();
    indented(&COLUMNS, &rows, &indents, columns)
}

/// How the rows are laid out to which others come, whose width is not known yet.
pub(super) fn followed(entries: &[Entry<'_>], clock: &Clock, columns: usize) -> Layout<'static> {
    let mut rows: Vec<Vec<String>> = entries.iter().map(|entry| entry.cells(clock)).collect();
    rows.push(vec![clock.told(clock.now())]);
    rows.push(LATER.map(String::from).to_vec());
    let outcomes = RunOutcome::ALL.map(|outcome| vec![String::new(), reported(outcome.name())]);
    rows.extend(outcomes);
    Layout::with_room_for(&COLUMNS, &rows, columns)
}

fn cells(placed: &Placed<'_>, clock: &Clock) -> Vec<String> {
    let (run, entity) = (placed.run, &placed.run.entity);
    let last = entity.current_attempt();
    let told = |result: &str| match last.is_some_and(Attempt::is_reported) {
        true => reported(result),
        false => result.to_string(),
    };
    let deciders = each_once(run.approvers().map(|who| claimed(who.id, who.is_claim)));
    vec![
        clock.told(entity.started_at),
        told(if placed.is_unfinished { UNFINISHED } else { RunOutcome::of(entity).name() }),
        last.and_then(exit_of)
            .map_or(NOTHING.to_string(), |exit| told(exit.trim_start_matches("exit status "))),
        match (run.took_ns(), &entity.halt) {
            (Some(length), _) if !run.ran_at_most.is_empty() => format!("<= {}", took(length)),
            (Some(length), _) => took(length),
            (None, Some(_)) => "unknown".to_string(),
            (None, None) => NOTHING.to_string(),
        },
        beginner(run),
        if deciders.is_empty() { NOTHING.to_string() } else { deciders.join(", ") },
        retries::id(placed),
        visible_once(&marked_command(&entity.command_line, run.is_claim(entity.attempt_count()))),
    ]
}

/// A result that nobody observed. Each cell bears the mark: on a narrow screen one may stand alone.
fn reported(result: &str) -> String {
    format!("{result}?")
}

fn beginner(run: &Run) -> String {
    let doer = run.doers.get(&run.entity.started_sequence);
    claimed(&run.entity.actor.id, doer.is_none_or(|it| it.proof.is_none_or(Proof::is_claim)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_domain::core::time::Timestamp;
    use holdpoint_replay::run_list::placed;

    #[test]
    fn the_list_of_runs_keeps_its_columns_at_every_width() {
        let sample = Sample::new();
        let runs = sample.listed();
        let retries = sample.retries();
        let rows = Rows::default();
        let entries = entries(placed(&runs, &retries), &rows);
        for columns in golden::COLUMNS {
            golden::compare("runs", columns, &table(&entries, &Clock::at(sample.now), columns));
        }
    }

    #[test]
    fn a_run_that_was_begun_again_stands_under_the_one_before_it_and_is_marked_where_it_is_alone() {
        let sample = Sample::begun_again();
        let (runs, retries) = (sample.listed(), sample.retries());
        for (runs, name) in [(&runs[..], "runs-again"), (&runs[..1], "runs-again-alone")] {
            let rows = Rows::default();
            let entries = entries(placed(runs, &retries), &rows);
            for columns in golden::COLUMNS {
                let shown = table(&entries, &Clock::at(sample.now), columns);
                golden::compare(name, columns, &shown);
            }
        }
    }

    #[test]
    fn a_session_is_one_row_among_runs_at_every_width() {
        let sample = Sample::guarded();
        let (runs, retries) = (sample.listed(), sample.retries());
        let rows = Rows { sessions: sample.sessions(), ..Rows::default() };
        let entries = entries(placed(&runs, &retries), &rows);
        for columns in golden::COLUMNS {
            let shown = table(&entries, &Clock::at(sample.now), columns);
            golden::compare("runs-session", columns, &shown);
        }
    }

    #[test]
    fn a_long_name_is_cut_and_keeps_its_column_and_its_mark_at_every_width() {
        let sample = Sample::new();
        let mut runs = sample.listed();
        let names = [
            "deployments-of-production-eu-central-1",
            "deployments-of-production-us-east-2",
            "\u{6587}\u{5b57}\u{5316}\u{3051}\u{6587}\u{5b57}\u{5316}\u{3051}\u{6587}\u{5b57}",
            "cut..",
        ];
        for (run, name) in runs.iter_mut().zip(names) {
            run.entity.actor.id = name.to_string();
        }
        let retries = sample.retries();
        let rows = Rows::default();
        let entries = entries(placed(&runs, &retries), &rows);
        for columns in golden::COLUMNS {
            let shown = table(&entries, &Clock::at(sample.now), columns);
            golden::compare("runs-long-names", columns, &shown);
            assert_eq!(columns >= 80, shown[0].contains("  by "), "{columns}: {shown:?}");
            assert!(columns < 40 || shown[0].contains("  run "), "{columns}: {shown:?}");
        }
    }

    #[test]
    fn no_result_that_was_reported_stands_without_its_mark_at_any_width() {
        let sample = Sample::new();
        let runs = sample.listed();
        let retries = sample.retries();
        let rows = Rows::default();
        let entries = entries(placed(&runs, &retries), &rows);
        let reported = |entry: &Entry<'_>| match entry {
            Entry::Run(placed) => {
                placed.run.entity.current_attempt().is_some_and(Attempt::is_reported)
            }
            Entry::Session(_) | Entry::Start(_) => false,
        };
        assert!(entries.iter().any(reported) && !entries.iter().all(reported));
        for columns in 20..=120 {
            let shown = table(&entries, &Clock::at(sample.now), columns);
            let Some(begin) = shown[0].find("outcome") else { continue };
            for (line, entry) in shown.iter().skip(1).zip(&entries) {
                let word = line.get(begin..).unwrap_or_default().split("  ").next().unwrap();
                assert_eq!(word.ends_with('?'), reported(entry), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn what_is_followed_has_the_columns_of_the_list_from_80_on_and_the_id_at_every_width() {
        for columns in golden::COLUMNS {
            let layout = followed(&[], &Clock::at(Timestamp::from_nanoseconds(0)), columns);
            let titles = layout.titles();
            let shown: Vec<&str> = titles.split_whitespace().collect();
            let due: &[&str] = match columns {
                ..40 => &["run"],
                40 => &["outcome", "run", "command"],
                80 => &["began", "outcome", "exit", "took", "by", "run", "command"],
                _ => {
                    &["began", "outcome", "exit", "took", "by", "approved", "by", "run", "command"]
                }
            };
            assert_eq!(shown, due, "{columns}");
        }
    }
}
