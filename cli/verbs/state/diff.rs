//! `holdpoint diff`: what lies between two points of one log, or between two logs, and what differs
//! between two runs; and with which record something began to hold.

pub(crate) mod bisect;
pub(crate) mod of_runs;

use crate::args::{Global, settle};
use crate::log::at_point::{
    Shortcuts, begin, end, tell_place, travelled, travelled_both, warn_of_states,
};
use crate::log::position::{self, Point, of_value};
use crate::log::records::of_record;
use crate::log::run_facts::REPORTED;
use crate::log::verdict::exit_of;
use crate::log::{ArchiveArgs, Directory, IdOf, coverage, ids, run_id};
use crate::ui::text::command_line;
use crate::ui::{Exit, Failure, Output, TimesArgs, counted, excerpt, moment};
use crate::verbs::state::diff::bisect::{Search, StateQuery};
use holdpoint_domain::core::text::visible;
use holdpoint_replay::report::Head;
use holdpoint_replay::{
    Change, CommonPrefix, Difference, EntityChange, Reach, RunSummary, Until, ValueChange,
    common_prefix, diff, diff_states, records_named,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Of more values than this of one entity, the rest is counted.
const VALUES_MAX: usize = 12;

/// Options of `diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Two points: a record, a moment such as 2026-01-25T16:00:00Z, a day, `yesterday`, or how long
    /// ago, such as 2h; 0 is before the first record; one alone: to the end of the log. Or two
    /// runs: an ID, or 6 of its hexadecimal digits with a letter among them.
    ///
    /// A run alone: the first failing run after the last good one of its command and directory,
    /// compared with that one. A directory with a `/` is another log: the records that both share,
    /// and the first difference; a point after it is one of that log. `entity=ID`, with `--when`
    /// and `--exec`: pass the state of this loop, request, decision or thread as `entity`, settled
    /// or not.
    #[arg(value_name = "POINT|RUN|DIR/", value_parser = parse_place, num_args = 1..=4)]
    #[arg(required_unless_present_any = ["predicate", "exec"])]
    places: Vec<Place>,
    /// Bisect for the record between A and B after which this expression over the state holds:
    /// `totals.faults_reported > 3`.
    #[arg(long = "when", value_name = "EXPR", group = "search")]
    predicate: Option<String>,
    /// Bisect by a command for `sh` that reads the state as JSON on stdin: 0 holds, 1 does not, 125
    /// skips this state; any other status ends the search.
    #[arg(long, value_name = "CMD", group = "search")]
    exec: Option<String>,
    #[command(flatten)]
    shortcuts: Shortcuts,
    #[command(flatten)]
    times: TimesArgs,
    #[command(flatten)]
    archives: ArchiveArgs,
}

impl Args {
    const fn is_search(&self) -> bool {
        self.predicate.is_some() || self.exec.is_some()
    }
}

/// A side of a comparison: a state of the log, a run, or another log; or the entity that is shown.
#[derive(Clone, Debug)]
enum Place {
    /// What was written for it as well.
    State(Point, String),
    Run(String),
    Log(PathBuf),
    Entity(String),
}

/// The sides of a comparison.
#[derive(Default)]
struct Sides {
    from: Option<Place>,
    to: Option<Place>,
    other: Option<PathBuf>,
    entity: Option<String>,
}

impl Sides {
    /// Tells apart what is named. Exit 2 where it is too much, or no search takes it.
    fn of(args: &Args) -> Result<Self, Failure> {
        let mut sides = Self::default();
        let begins_elsewhere = matches!(args.places.as_slice(), [Place::Log(_), _]);
        let mut is_too_much = false;
        for place in args.places.iter().cloned() {
            is_too_much |= match place {
                Place::Log(log) => sides.other.replace(log).is_some(),
                Place::Entity(id) => sides.entity.replace(id).is_some(),
                point if sides.from.is_some() || begins_elsewhere => {
                    sides.to.replace(point).is_some()
                }
                point => sides.from.replace(point).is_some(),
            };
        }
        let is_foreign =
            if args.is_search() { sides.other.is_some() } else { sides.entity.is_some() };
        if !is_too_much && !is_foreign {
            return Ok(sides);
        }
        let message = "two points or runs are compared, or this log and another; entity=ID is for \
                       --when and --exec";
        Err(Failure::new(Exit::USAGE, "usage", message))
    }
}

fn parse_place(text: &str) -> Result<Place, String> {
    match text.strip_prefix("entity=") {
        Some(id) => Ok(Place::Entity(id.to_string())),
        None if text.contains('/') => Ok(Place::Log(PathBuf::from(text))),
        None if run_id::is_meant(text) => Ok(Place::Run(text.to_string())),
        None => {
            let state = |point| Place::State(point, text.to_string());
            position::parse(text).map(state).map_err(|why| {
                format!(
                    "{why}; two records or moments are compared, such as 12 and \
                     2026-01-25T16:00:00Z, or two runs by their ids, as `holdpoint runs` lists them"
                )
            })
        }
    }
}

/// Shows it; with `--json` as JSON Patch too. Exit 6 when a log does not verify, 3 when there is
/// none, or no such run.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, Sides::of(&args).and_then(|sides| compare(global, &args, &sides)))
}

fn compare(global: &Global, args: &Args, sides: &Sides) -> Result<Exit, Failure> {
    let Args { shortcuts, archives, .. } = args;
    match (&sides.from, &sides.to, &sides.other) {
        (Some(Place::Run(from)), Some(Place::Run(to)), None) => {
            Directory::open_with_archives(global, archives)
                .and_then(|directory| of_runs::show(global, &directory, (from, to), args.times))
        }
        (Some(Place::Run(run)), None, None) if !args.is_search() => {
            Directory::open_with_archives(global, archives)
                .and_then(|directory| bisect::of_run::show(global, &directory, run, args.times))
        }
        (_, _, None) if args.is_search() => {
            args.times.expect_utc().and_then(|()| search(global, args, sides))
        }
        (from, to, other) => {
            args.times.expect_utc().and_then(|()| points(sides)).and_then(|points| match other {
                Some(other) => of_two(global, args, points, other),
                None => of_one(
                    global,
                    archives,
                    *shortcuts,
                    (points, &numbers(&[from.as_ref(), to.as_ref()])),
                ),
            })
        }
    }
}

/// Finds the record after which something began to hold.
fn search(global: &Global, args: &Args, sides: &Sides) -> Result<Exit, Failure> {
    let entity = sides.entity.as_deref();
    let asked = match (&args.predicate, &args.exec) {
        (Some(text), _) => StateQuery::predicate(text, entity.is_some())?,
        (None, command) => StateQuery::Command(command.as_deref().unwrap_or_default()),
    };
    let (from, to) = points(sides)?;
    let from = sides.from.is_some().then_some(from).filter(|from| *from != Until::Sequence(0));
    let to = sides.to.is_some().then_some(to);
    bisect::show(global, (&args.archives, args.shortcuts), &Search { asked, from, to, entity })
}

/// Two points of the log: what is between them begins with the first instant of a day. Of two logs
/// the same day is the same place. A run is compared with a run, and with nothing else.
fn points(sides: &Sides) -> Result<(Until, Until), Failure> {
    let first = if sides.other.is_some() { end } else { begin };
    let until = |place: &Option<Place>, of: fn(Point) -> Until| match place {
        Some(Place::Log(_) | Place::Entity(_)) | None => Ok(Until::End),
        Some(Place::State(point, _)) => Ok(of(*point)),
        Some(Place::Run(run)) => {
            let message = format!(
                "{} is a run, and a run is compared with a run of the same log: name two of them, \
                 as `holdpoint runs` lists them",
                excerpt(run)
            );
            Err(Failure::new(Exit::USAGE, "run_and_point", message))
        }
    };
    Ok((until(&sides.from, first)?, until(&sides.to, end)?))
}

/// What was written for those that are records.
fn numbers<'p>(places: &[Option<&'p Place>]) -> Vec<&'p str> {
    let number = |place: &Option<&'p Place>| match place {
        Some(Place::State(Point::Record(_), text)) => Some(text.as_str()),
        _ => None,
    };
    places.iter().filter_map(number).collect()
}

fn of_one(
    global: &Global,
    archives: &ArchiveArgs,
    shortcuts: Shortcuts,
    ((from, to), numbers): ((Until, Until), &[&str]),
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let (line, (first, (difference, last))) = travelled(&directory, shortcuts, |line| {
        let first = line.at(from)?;
        match line.at(to)? {
            last if last.sequence() < first.sequence() => {
                Ok(Err(backwards(first.sequence(), last.sequence())))
            }
            _ => diff(line, &first, to).map(|passed| Ok((first, passed))),
        }
    })?;
    let report = line.report_on(&[&first, &last]);
    let mut out = Output::paged(global.json).folding();
    match global.json {
        true => {
            let reach = &report.reach;
            out.json(&StateDifferenceDocument {
                logs: None,
                difference: &difference,
                reach,
                of_other: None,
            });
        }
        false => show(&mut out, &difference),
    }
    out.finish()?;
    tell_place(from, &first, &line);
    tell_place(to, &last, &line);
    numbers.iter().for_each(|digits| ids::tell_meaning(&directory, digits, &[IdOf::Run]));
    coverage::tell_of_states(global, &report, last.sequence());
    warn_of_states(&report, &[&first, &last]);
    Ok(exit_of(&report))
}

fn backwards(first: u64, last: u64) -> Failure {
    let message = format!(
        "the first point, record {first}, lies behind the second, record {last}: name the earlier \
         one first"
    );
    Failure::new(Exit::USAGE, "backwards", message)
}

fn of_two(
    global: &Global,
    args: &Args,
    (from, to): (Until, Until),
    other: &Path,
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let other = Directory::open_other(other)?.following_archives()?;
    let ([ours, theirs], (logs, first, last)) =
        travelled_both([&directory, &other], args.shortcuts, |[ours, theirs]| {
            Ok((common_prefix(ours, theirs)?, ours.at(from)?, theirs.at(to)?))
        })?;
    let difference = diff_states(&first, &last);
    let reports = [ours.report_on(&[&first]), theirs.report_on(&[&last])];
    let mut out = Output::paged(global.json).folding();
    if global.json {
        let [reach, of_other] = reports.each_ref().map(|report| &report.reach);
        let of_other = Some(of_other);
        out.json(&StateDifferenceDocument {
            logs: Some(&logs),
            difference: &difference,
            reach,
            of_other,
        });
    } else {
        show_logs(&mut out, &logs);
        show(&mut out, &difference);
    }
    out.finish()?;
    tell_place(from, &first, &ours);
    tell_place(to, &last, &theirs);
    for (report, shown) in reports.iter().zip([&first, &last]) {
        // How the logs go on is shown up to the newest record of each.
        let newest = report.head.as_ref().map_or(shown.sequence(), |head| head.sequence);
        coverage::tell_of_states(global, report, newest);
        warn_of_states(report, &[shown]);
    }
    [&directory, &other].into_iter().for_each(Directory::tell_unread);
    let failing = reports.iter().find(|report| report.failed());
    Ok(failing.map_or(Exit::DONE, exit_of))
}

/// What `--json` shows.
#[derive(Serialize)]
struct StateDifferenceDocument<'a> {
    /// How far two logs are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<&'a CommonPrefix>,
    #[serde(flatten)]
    difference: &'a Difference,
    reach: &'a Reach,
    #[serde(rename = "reach_of_other", skip_serializing_if = "Option::is_none")]
    of_other: Option<&'a Reach>,
}

fn show_logs(out: &mut Output, logs: &CommonPrefix) {
    let common = match (logs.is_one_log, logs.common) {
        (false, _) => "none: the logs are of two identities".to_string(),
        (true, 0) => "none".to_string(),
        (true, last) => records_named(1, last),
    };
    out.line(format_args!("{:<12}  {common}", "in common"));
    let sides =
        [("here", &logs.newest, &logs.next), ("there", &logs.newest_of_other, &logs.next_of_other)];
    for (side, newest, next) in sides {
        let newest = newest.as_ref().map_or("no record".into(), |head| {
            format!("ends with record {}, {}, link {}", head.sequence, moment(head.time), head.link)
        });
        out.line(format_args!("{side:<12}  {newest}"));
        let next = next.as_ref().map_or("nothing".into(), of_record);
        out.line(format_args!("{:<12}  goes on with {next}", ""));
    }
    out.line("");
}

fn show(out: &mut Output, difference: &Difference) {
    let of = |head: &Option<Head>| match head {
        Some(head) => format!("record {}, {}", head.sequence, moment(head.time)),
        None => "before the first record".to_string(),
    };
    out.line(format_args!("from  {}", of(&difference.from)));
    out.line(format_args!("to    {}", of(&difference.to)));
    difference.entities.iter().for_each(|change| show_change(out, change));
    if difference.entities.is_empty() {
        out.line("no entity differs");
    }
    if difference.records_left_out > 0 {
        let more = counted(difference.records_left_out, "record");
        out.line(format_args!("and {more} about entities that are not named here"));
    }
}

fn show_change(out: &mut Output, change: &EntityChange) {
    let is_run = change.run.is_some();
    let (sign, what) = match change.change {
        Change::Appeared if is_run => ('+', "began"),
        Change::Settled if is_run => ('-', "ended"),
        Change::CameAndSettled if is_run => ('*', "began and ended"),
        Change::LongSettled if is_run => ('.', "had ended before"),
        Change::Appeared => ('+', "appeared"),
        Change::Changed => ('~', "changed"),
        Change::Settled => ('-', "settled"),
        Change::CameAndSettled => ('*', "began and settled"),
        Change::LongSettled => ('.', "had settled before"),
        Change::Forgotten => ('.', "is not among the 65,536 newest streams"),
    };
    let records = match (change.first_record, change.last_record) {
        (Some(first), Some(last)) => format!(", {}", records_named(first, last)),
        _ => String::new(),
    };
    let told = change.run.as_ref().and_then(ended).or_else(|| change.last_words.clone());
    out.line(format_args!(
        "{sign} {}  {}  {what}{records}{}",
        noun(change.room),
        visible(&change.id),
        told.map(|told| format!(": {told}")).unwrap_or_default()
    ));
    if let Some(run) = &change.run {
        out.line(format_args!("    {}", command_line(&run.command_line)));
    }
    for value in change.values.iter().take(VALUES_MAX) {
        out.line(format_args!("    {}", of_change(value)));
    }
    let more = change.values.len().saturating_sub(VALUES_MAX);
    if more > 0 {
        out.line(format_args!("    and {more} more values: `--json` shows all"));
    }
}

/// How a run ended, and whether nobody is known to have watched its process.
fn ended(run: &RunSummary) -> Option<String> {
    let outcome = run.outcome?.name();
    Some(match run.is_reported {
        Some(true) => format!("{outcome} {REPORTED}"),
        Some(false) | None => outcome.to_string(),
    })
}

/// What the entities of a room are, for people.
fn noun(room: &'static str) -> &'static str {
    match room {
        "execution_loops" => "run",
        "human_decisions" => "question",
        "interruption_threads" => "thread",
        "decision_points" => "decision",
        "registrations" => "registered",
        "streams" => "stream",
        other => other,
    }
}

fn of_change(value: &ValueChange) -> String {
    let path = visible(&value.path);
    match (&value.from, &value.to) {
        (Some(from), Some(to)) => format!("{path}  {} -> {}", of_value(from), of_value(to)),
        (None, Some(to)) => format!("{path}  + {}", of_value(to)),
        (Some(from), None) => format!("{path}  - {}", of_value(from)),
        (None, None) => path.to_string(),
    }
}
