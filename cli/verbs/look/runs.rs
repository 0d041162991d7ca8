//! `holdpoint runs`: what ran, starts that nobody approved, and sessions of guarded agents, the
//! newest first, one line each.

mod following;
mod names;
mod starts;
mod table;

use crate::args::condition::{Condition, FilterFields, boolean};
use crate::args::{Global, labels};
use crate::log::clock::{self, Dated};
use crate::log::coverage::{self, UntiedRecords, WitnessWait};
use crate::log::position::{self, Point};
use crate::log::record_filter::range;
use crate::log::records::{conclude, expect_log};
use crate::log::run_records::{
    ID_CHARACTERS, UNFINISHED, beginning, tell_other_commands, tell_uncounted,
};
use crate::log::{ArchiveArgs, Directory, escalations, recorders, retries, sessions};
use crate::questions::decision_view::what_starts;
use crate::ui::screen::columns_of_table;
use crate::ui::table::Layout;
use crate::ui::{Bar, Exit, Failure, Output, TimesArgs, complain, counted};
use anstyle::{AnsiColor, Style};
use clap::builder::RangedU64ValueParser;
use holdpoint_domain::core::text::bounded;
use holdpoint_engine::shell::Watch;
use holdpoint_replay::run_list::ListedRow;
use holdpoint_replay::run_list::{Retries, apart, placed};
use holdpoint_replay::unapproved_starts::{StartEnd, UnapprovedStart, UnapprovedStartRow};
use holdpoint_replay::waiting::WaitingRun;
use holdpoint_replay::{
    Begun, Filter, Listed, Order, RUN_BEGINS, Run, RunFilter, RunOutcome, RunStatus, Searched,
    Session, SessionList, find_runs, newest, search,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use table::{Entry, entries, followed, table};

/// So many runs are shown where nothing else is said.
const SHOWN: usize = 20;

/// Options of `runs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Filter; all must match: `status`, an outcome or exit status; `failed`, `true` for runs that
    /// ended without success; `by`, the requester; `approver`; `command`, a text in it; `label`, as
    /// NAME=VALUE, repeatable.
    #[arg(value_name = "FIELD=VALUE", value_parser = Condition::of::<RunFilter>)]
    wanted: Vec<Condition>,
    /// Runs that began at this point or later: a record, a moment, a day, `yesterday`, or how long
    /// ago, such as 2h.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    since: Option<Point>,
    /// Runs that began at this point or earlier; a day includes its end.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    until: Option<Point>,
    /// Maximum number of runs.
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = SHOWN)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    count: usize,
    /// Start after this run or session in the order of the list.
    #[arg(long, value_name = "RUN")]
    after: Option<String>,
    /// Print runs as they begin and end, until Ctrl-C or a closed pipe.
    #[arg(long, short, conflicts_with_all = ["until", "after"])]
    follow: bool,
    /// Print IDs only, one a line.
    #[arg(short)]
    quiet: bool,
    #[command(flatten)]
    times: TimesArgs,
    #[command(flatten)]
    archives: ArchiveArgs,
}

impl FilterFields for RunFilter {
    const NAMES: &'static str = "status failed by approver command label";
    const REPEATED: &'static str = "label";

    fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
        match field {
            "status" => self.status = Some(status(value)?),
            "failed" => self.failed = boolean(value)?,
            "by" => self.by = Some(value.to_string()),
            "approver" => self.approved_by = Some(value.to_string()),
            "command" => self.command = Some(value.to_string()),
            _ => self.labels.extend([labels::parse(value)?]),
        }
        Ok(())
    }
}

fn status(text: &str) -> Result<RunStatus, String> {
    if let Ok(exit) = text.parse() {
        return Ok(RunStatus::Exit(exit));
    }
    if text == UNFINISHED {
        return Err(format!("of a list, `status=running` finds what it calls {UNFINISHED}"));
    }
    if text == sessions::OUTCOME {
        return Err(
            "no record says how a session ended: `runs` lists them without this".to_string()
        );
    }
    let start = StartEnd::ALL.into_iter().find(|end| end.name() == text).map(RunStatus::Start);
    RunOutcome::from_name(text).map(RunStatus::Outcome).or(start).ok_or_else(|| {
        let words =
            [&RunOutcome::ALL.map(RunOutcome::name)[..], &StartEnd::ALL.map(StartEnd::name)];
        format!("one of {}, or an exit status such as 2", words.concat().join(", "))
    })
}

/// What an exit status is of which a run has no such one, as a shell saw it.
const fn other_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Exit(124) => ": a run whose time was over is found by `status=timeout`",
        RunStatus::Exit(129..=192) => {
            ": a shell says 128 and a number where a signal ended a command; here such runs are \
             found by `status=crashed`, `stopped`, `timeout`, `interrupted` or `aborted`"
        }
        RunStatus::Exit(_) | RunStatus::Outcome(_) | RunStatus::Start(_) => "",
    }
}

/// Lists runs; with `--json` as JSON Lines. Exit 3 when there is no log, 6 when it does not verify
/// as far as it was read.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    list(global, &args).unwrap_or_else(|failure| failure.tell())
}

fn list(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    // Watched before it is read: what is written after the reading is not slept through.
    let watch = Watch::of_log(&directory.path);
    let newest = directory.read(|log, _| newest(log))?;
    let ahead_ns = clock::ahead_of(&directory);
    clock::tell(ahead_ns);
    let (range, mut wanted) = (args.range(&directory)?, args.wanted()?);
    let mut looked = ListSources::at(&directory, args, (&range, &wanted))?;
    if looked.is_empty()
        && let Some(whole) = names::completed(&directory, &wanted)?
    {
        wanted = whole;
        looked = ListSources::at(&directory, args, (&range, &wanted))?;
    }
    let ListSources { rows, uncounted, mut searched, looked_back_to, behind } = looked;
    let (retries, also_read) = retries::read(&directory, &rows.runs)?;
    also_read.into_iter().for_each(|also_read| searched.join(also_read));
    let shown = RunListing { ahead_ns, ..RunListing::of(&directory, rows, retries) };
    let (is_all, count) = (wanted.is_all(), shown.rows.runs.len());
    let is_empty = shown.rows.len() == 0;
    let tell_missing = || match searched.is_sound() || count >= args.count {
        true => Ok(tell_uncounted(&directory, &uncounted)),
        false => tell(&directory, &range, (count, is_all)).map(|()| Exit::DONE),
    };
    if is_empty && !searched.is_sound() {
        expect_log(&directory, &searched)?;
        tell_missing()?;
        return conclude(global, &directory, &searched);
    }
    let mut out = if args.follow { Output::stdout() } else { Output::paged(global.json) };
    let layout = args.follow.then(|| {
        let entries = entries(placed(&shown.rows.runs, &shown.retries), &shown.rows);
        followed(&entries, &args.times.clock(), columns_of_table())
    });
    if let Some(layout) = layout.as_ref().filter(|_| !global.json && !args.quiet) {
        out.line(layout.titles());
    }
    put_lines(global, args, &shown, &mut out, layout.as_ref());
    out.finish()?;
    if is_empty && uncounted.is_empty() && !global.json && !args.follow {
        complain(&format!("no run matches{}", wanted.status.map_or("", other_word)));
    }
    if !global.json {
        tell_end(args.since, newest);
    }
    let exit = tell_missing()?.or(tell_other_commands(&shown.rows.runs));
    recorders::tell(&directory, &shown.rows.runs);
    sessions::tell_unlooked(looked_back_to);
    shown.tell_behind(behind);
    let awaited = match global.json {
        true => WitnessWait::default(),
        false => shown.tell_standing(&searched),
    };
    let exit = end(global, &directory, &searched)?.or(exit);
    if !args.follow || exit != Exit::DONE {
        return Ok(exit);
    }
    // A log without records may have some later.
    let (newest, layout) = (newest.unwrap_or(0), layout.as_ref());
    following::follow(
        global,
        args,
        (&directory, newest, awaited),
        (&range, &wanted),
        (&watch, layout),
    )
}

/// Rows of a list, each kind the newest first.
#[derive(Default)]
struct Rows {
    runs: Vec<Run>,
    sessions: Vec<Session>,
    starts: Vec<UnapprovedStart>,
}

impl Rows {
    const fn len(&self) -> usize {
        let beside = self.sessions.len().saturating_add(self.starts.len());
        self.runs.len().saturating_add(beside)
    }

    /// Leaves so many of all that began last.
    fn cut_to(&mut self, most: usize) {
        let runs = self.runs.iter().map(|run| run.first);
        let sessions = self.sessions.iter().map(|session| session.first);
        let starts = self.starts.iter().map(|start| start.question.created_sequence);
        let mut begun: Vec<u64> = runs.chain(sessions).chain(starts).collect();
        begun.sort_unstable_by_key(|first| Reverse(*first));
        if let Some(least) = begun.get(most.saturating_sub(1)).filter(|_| begun.len() > most) {
            self.runs.retain(|run| run.first >= *least);
            self.sessions.retain(|session| session.first >= *least);
            self.starts.retain(|start| start.question.created_sequence >= *least);
        }
    }
}

/// Rows of a list, and what was read for them.
struct ListSources {
    rows: Rows,
    uncounted: Vec<Begun>,
    searched: Searched,
    /// The oldest question that was looked at, where those before it were not.
    looked_back_to: Option<u64>,
    behind: Behind,
}

/// True if there are more behind the last one that is shown.
#[derive(Clone, Copy)]
enum Behind {
    Nothing,
    More,
    /// What is there cannot be read, or does not count.
    Unknown,
}

impl ListSources {
    /// As many as are to be shown; one more is read to tell whether there are more. Where that one
    /// is in doubt, nothing of it is told with those that are shown.
    fn at(
        directory: &Directory,
        args: &Args,
        asked: (&Filter, &RunFilter),
    ) -> Result<Self, Failure> {
        if args.follow {
            return Self::newest(directory, asked, args.count);
        }
        let mut one_more = Self::newest(directory, asked, args.count.saturating_add(1))?;
        if !one_more.searched.is_sound() || !one_more.uncounted.is_empty() {
            let shown = Self::newest(directory, asked, args.count)?;
            let is_full = shown.rows.len() >= args.count;
            let behind = if is_full { Behind::Unknown } else { Behind::Nothing };
            return Ok(Self { behind, ..shown });
        }
        if one_more.rows.len() > args.count {
            one_more.rows.cut_to(args.count);
            one_more.behind = Behind::More;
        }
        Ok(one_more)
    }

    /// So many at most.
    fn newest(
        directory: &Directory,
        (range, wanted): (&Filter, &RunFilter),
        most: usize,
    ) -> Result<Self, Failure> {
        let mut bar = Bar::new();
        // No run ended as a start does that nobody approved.
        let of_runs = if matches!(wanted.status, Some(RunStatus::Start(_))) { 0 } else { most };
        let Listed { runs, mut uncounted, mut searched } = directory.read(|log, options| {
            let mut progress = |progress| bar.update(progress);
            find_runs(log, range, wanted, of_runs, options, &mut progress)
        })?;
        drop(bar);
        let least = runs.last().map(|run| run.first).filter(|_| runs.len() >= most);
        let (bounds, mut looked_back_to) = ((least, most), None);
        let mut take = |found: SessionList| {
            searched.join(found.searched);
            looked_back_to = looked_back_to.max(found.looked_back_to);
            found.sessions
        };
        let sessions = sessions::read(directory, (range, wanted), bounds)?;
        let sessions = sessions.map(&mut take).unwrap_or_default();
        let mut starts = Vec::new();
        if let Some(found) = starts::read(directory, (range, wanted), bounds)? {
            take(found.questions);
            uncounted.extend(found.uncounted);
            starts = found.starts;
        }
        let mut rows = Rows { runs, sessions, starts };
        rows.cut_to(most);
        Ok(Self { rows, uncounted, searched, looked_back_to, behind: Behind::Nothing })
    }

    /// Tells whether nothing was found, and all could be read.
    fn is_empty(&self) -> bool {
        self.rows.len() == 0 && self.searched.is_sound()
    }
}

/// Contents of a list.
#[derive(Default)]
struct RunListing {
    rows: Rows,
    retries: Retries,
    /// The loops of the runs that have not ended, and that nobody records.
    unfinished: BTreeSet<String>,
    /// What waits in the files of those that have not ended.
    waiting: BTreeMap<String, WaitingRun>,
    /// The open decisions about escalations, by the loop of each.
    escalated: BTreeMap<String, String>,
    /// By how much the newest record is ahead of this clock.
    ahead_ns: Option<u64>,
}

impl RunListing {
    fn of(directory: &Directory, rows: Rows, retries: Retries) -> Self {
        let unfinished = recorders::unfinished(directory, &rows.runs);
        let waiting = recorders::waiting(directory, &rows.runs);
        let escalated = escalations::open(directory, &rows.runs);
        Self { rows, retries, unfinished, waiting, escalated, ahead_ns: None }
    }

    /// Says that there are more, and what shows them.
    fn tell_behind(&self, behind: Behind) {
        let there = match behind {
            Behind::Nothing => return,
            Behind::More => "there are",
            Behind::Unknown => "there may be",
        };
        let Rows { runs, sessions, starts } = &self.rows;
        let short = |id: &str| bounded(id, ID_CHARACTERS).to_string();
        let runs = runs.iter().map(|run| (run.first, short(run.entity.loop_id())));
        let sessions = sessions.iter().map(|it| (it.first, sessions::id(it)));
        let starts = starts.iter().map(|it| &it.question);
        let starts = starts.map(|it| (it.created_sequence, short(&it.decision_id)));
        // Behind the one that began first, nothing is left out and nothing is seen twice.
        let Some((_, last)) = runs.chain(sessions).chain(starts).min() else { return };
        let count = self.rows.len();
        complain(&format!(
            "{there} more than the {count} shown: `-n N` shows N of them, `--after {last}` goes on \
             behind the last one"
        ));
    }

    /// Says where what is shown ceases to be proven.
    fn tell_standing(&self, searched: &Searched) -> WitnessWait {
        let (Rows { runs, sessions, starts }, retries) = (&self.rows, &self.retries);
        let mut untied = UntiedRecords::default();
        let ends = runs.iter().flat_map(|run| [(run.first, run), (run.last, run)]);
        ends.for_each(|(sequence, run)| untied.take(sequence, run.standing()));
        retries.values().for_each(|retry| untied.take(retry.sequence, retry.by.standing));
        for session in sessions {
            let ends = [session.first, session.last];
            ends.into_iter().for_each(|sequence| untied.take(sequence, session.standing()));
        }
        starts.iter().for_each(|start| untied.take(start.question.version, start.standing));
        untied.tell(searched.reach())
    }
}

impl Args {
    /// Where the records lie that begin wanted runs.
    fn range(&self, directory: &Directory) -> Result<Filter, Failure> {
        let mut range = range(self.since, self.until)?;
        if let Some(after) = &self.after {
            let before = beginning(directory, after)?.saturating_sub(1);
            range.last = Some(range.last.map_or(before, |last| last.min(before)));
        }
        Ok(range)
    }

    fn wanted(&self) -> Result<RunFilter, Failure> {
        let mut all = Condition::put(&self.wanted, RunFilter::default())?;
        if all.failed && all.status.is_some() {
            let message = "a run has one outcome: name failed or status";
            return Err(Failure::new(Exit::USAGE, "given_twice", message));
        }
        // What has not ended may wait for a person as well.
        all.running = all.status == Some(RunStatus::Outcome(RunOutcome::Running));
        all.status = all.status.filter(|_| !all.running);
        Ok(all)
    }
}

/// Says where the log ends, where what is looked for begins behind that.
fn tell_end(since: Option<Point>, newest: Option<u64>) {
    if let (Some(Point::Record(since)), Some(newest)) = (since, newest)
        && since > newest
    {
        complain(&format!("the log ends with record {newest}, before record {since}"));
    }
}

/// How a list ends: what damage was met is told; how much was read is of interest to programs.
fn end(global: &Global, directory: &Directory, searched: &Searched) -> Result<Exit, Failure> {
    directory.tell_unread();
    if !searched.is_sound() {
        return conclude(global, directory, searched);
    }
    if global.json {
        coverage::state(searched.reach());
    }
    Ok(Exit::DONE)
}

/// Writes what a list shows: as a table of its own, or as rows of one to which others come.
fn put_lines(
    global: &Global,
    args: &Args,
    shown: &RunListing,
    out: &mut Output,
    followed: Option<&Layout<'_>>,
) {
    let RunListing { rows, retries, unfinished, waiting, escalated, ahead_ns } = shown;
    if global.json || args.quiet {
        for entry in entries(apart(&rows.runs, retries), rows) {
            match entry {
                Entry::Run(placed) if global.json => {
                    let id = placed.run.entity.loop_id();
                    let needs_person = escalated.get(id).map(String::as_str);
                    let row = ListedRow::of(&placed, (waiting.get(id), needs_person));
                    out.json_line(&Dated::of(row, *ahead_ns));
                }
                Entry::Session(session) if global.json => {
                    out.json_line(&Dated::of(sessions::SessionRow::of(session), *ahead_ns));
                }
                Entry::Run(placed) => out.line(placed.run.entity.loop_id()),
                Entry::Session(session) => out.line(sessions::id(session)),
                Entry::Start(start) if global.json => {
                    let command = what_starts(&start.question);
                    out.json_line(&Dated::of(UnapprovedStartRow::of(start, &command), *ahead_ns));
                }
                Entry::Start(start) => out.line(&start.question.decision_id),
            }
        }
        return;
    }
    let mut placed = placed(&rows.runs, retries);
    for placed in &mut placed {
        placed.is_unfinished = unfinished.contains(placed.run.entity.loop_id());
    }
    let entries = entries(placed.clone(), rows);
    let clock = args.times.clock();
    let lines: Vec<String> = match followed {
        Some(layout) => layout.lines(entries.iter().map(|entry| entry.cells(&clock)).collect()),
        None if entries.is_empty() => return,
        None => {
            let mut lines = table(&entries, &clock, columns_of_table()).into_iter();
            lines.next().iter().for_each(|titles| out.line(titles));
            lines.collect()
        }
    };
    for (line, entry) in lines.iter().zip(&entries) {
        // What did not end well stands out.
        let style = if entry.is_failure() { AnsiColor::Red.on_default() } else { Style::new() };
        out.line(out.paint(style, line));
    }
    retries::tell_apart(&placed);
    escalations::tell(escalated);
}

/// Says so of those that began within a range, as far as their beginnings can be read, where so
/// many are shown. `is_all`: nothing else is asked of them.
fn tell(
    directory: &Directory,
    range: &Filter,
    (shown, is_all): (usize, bool),
) -> Result<(), Failure> {
    let begins = Filter { kind: Some(RUN_BEGINS.to_string()), ..range.clone() };
    let mut begun = 0_u64;
    directory.read(|log, options| {
        search(log, &begins, Order::OldestFirst, options, &mut |_| {}, &mut |_, _| {
            begun = begun.saturating_add(1);
            ControlFlow::Continue(())
        })
    })?;
    let hidden = begun.saturating_sub(shown as u64);
    let why = "what became of them may lie in the damage";
    complain(&match (hidden, is_all) {
        (0, _) => "not shown: runs that began in the damage or before it, if there are any: they \
                   cannot be counted"
            .to_string(),
        (_, true) => format!("not shown: at least {}: {why}", counted(hidden, "run")),
        (_, false) => format!(
            "not shown: at least {}, whether they are wanted or not: {why}",
            counted(hidden, "run")
        ),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_word_of_the_table_or_a_number() {
        assert_eq!(status("crashed"), Ok(RunStatus::Outcome(RunOutcome::Crashed)));
        assert_eq!(status("-1"), Ok(RunStatus::Exit(-1)));
        assert!(status("CRASHED").is_err_and(|words| words.contains("unanswered")));
    }
}
