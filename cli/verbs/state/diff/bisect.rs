//! The record after which something began to hold, who caused it, and what
//! caused that; and the run with which a command began to fail.

mod command;
pub(super) mod of_run;
pub(crate) mod predicate;

use crate::args::Global;
use crate::log::at_point::{Shortcuts, travelled, unknown};
use crate::log::record_filter::expect_places_in_order;
use crate::log::records::of_record;
use crate::log::verdict::exit_of;
use crate::log::{ArchiveArgs, Directory, coverage, not_found, warn};
use crate::ui::{Exit, Failure, Output, counted};
use command::ask_command;
use holdpoint_replay::bisect::Bisected;
use holdpoint_replay::report::Head;
use holdpoint_replay::{
    Answer, ArchivedLog, BisectError, Entity, FirstBatch, Moment, Outcome, Reach, ReadError,
    Timeline, Until, bisect, state_of,
};
use predicate::Predicate;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Display;

/// What of a watched entity the predicate sees: its readable form.
const ENTITY: &str = "entity";

/// A search: what is asked of each state, and between which places.
pub(super) struct Search<'a> {
    pub(super) asked: StateQuery<'a>,
    /// Place at which it does not hold yet; else before the first record.
    pub(super) from: Option<Until>,
    /// Place at which it holds; else the end of the log.
    pub(super) to: Option<Until>,
    /// Entity that is shown as `entity`, also when it has left the state of the whole.
    pub(super) entity: Option<&'a str>,
}

/// Finds and shows it. Exit 3 when there is no such record, 6 when the log does not verify.
pub(super) fn show(
    global: &Global,
    (archives, shortcuts): (&ArchiveArgs, Shortcuts),
    args: &Search<'_>,
) -> Result<Exit, Failure> {
    expect_places_in_order(("A", args.from), ("B", args.to))?;
    let directory = Directory::open_with_archives(global, archives)?;
    let (line, found) = travelled(&directory, shortcuts, |line| bisected(&directory, line, args))?;
    let report = line.report_of(&found.unread, found.stated_by.iter().copied());
    let mut out = Output::stdout().folding();
    match global.json {
        true => out.json(&BisectDocument { found: &found, reach: &report.reach }),
        false => show_to_person(&mut out, &found),
    }
    out.finish()?;
    if args.from.is_none() {
        directory.tell_unread();
    }
    coverage::tell_of_states(global, &report, found.newest);
    warn(&report);
    match &found.outcome {
        _ if report.failed() => Ok(exit_of(&report)),
        Outcome::Found(_) => Ok(Exit::DONE),
        _ => Ok(Exit::NOT_FOUND),
    }
}

fn bisected(
    directory: &Directory,
    line: &Timeline<'_, ArchivedLog>,
    args: &Search<'_>,
) -> Result<Result<Bisected, Failure>, ReadError> {
    if let Some(wanted) = args.entity
        && let Err(failure) = expect_one(directory, line, args, wanted)?
    {
        return Ok(Err(failure));
    }
    let from = args.from.unwrap_or(Until::Sequence(line.anchor()));
    let to = args.to.unwrap_or(Until::End);
    let mut ask = |moment: &Moment| args.asked.answer(moment, args.entity.is_some());
    let found = bisect(line, (from, to), args.entity, &mut ask);
    found.map(Ok).or_else(|error| match error {
        BisectError::Read(error) => Err(error),
        BisectError::Asking { after, source } => {
            Ok(Err(source.adding(&format!(" (the state after record {after})"))))
        }
        _ => Ok(Err(Failure::new(Exit::FAILED, "io", "the search came to nothing"))),
    })
}

/// An entity that never was would never fulfil anything: a wrong id is told before.
fn expect_one(
    directory: &Directory,
    line: &Timeline<'_, ArchivedLog>,
    args: &Search<'_>,
    wanted: &str,
) -> Result<Result<(), Failure>, ReadError> {
    let to = args.to.unwrap_or(Until::End);
    let last = line.at_watching(to, wanted)?;
    Ok(match last.watched().is_empty() {
        true => {
            let otherwise = || unknown(directory, &last, wanted);
            Err(not_found(&line.report_on(&[&last]), "what was asked for", otherwise))
        }
        false => Ok(()),
    })
}

/// What `--json` shows.
#[derive(Serialize)]
struct BisectDocument<'a> {
    #[serde(flatten)]
    found: &'a Bisected,
    reach: &'a Reach,
}

/// What is asked about each state.
pub(super) enum StateQuery<'a> {
    Predicate(Box<Predicate>),
    Command(&'a str),
}

impl<'a> StateQuery<'a> {
    /// Reads an expression that is to hold. It may name `entity` where there is one.
    pub(super) fn predicate(text: &str, with_entity: bool) -> Result<Self, Failure> {
        Ok(Self::Predicate(Box::new(Predicate::parse(text, with_entity)?)))
    }

    fn answer(&self, moment: &Moment, with_entity: bool) -> Result<Answer, Failure> {
        let mut state = state_of(moment);
        if let (true, Value::Object(fields)) = (with_entity, &mut state) {
            fields.insert(ENTITY.to_string(), watched(&moment.watched()));
        }
        match self {
            Self::Command(command) => ask_command(command, &state),
            Self::Predicate(predicate) => {
                let holds = predicate.holds(&state)?;
                Ok(if holds { Answer::Holds } else { Answer::DoesNot })
            }
        }
    }
}

/// The one entity, or several threads by tenant and correlation; null where there is none yet.
fn watched(found: &[Entity]) -> Value {
    match found {
        [] => Value::Null,
        [only] => only.state.clone(),
        several => {
            let named = several.iter().map(|entity| (entity.id.clone(), entity.state.clone()));
            Value::Object(named.collect::<Map<_, _>>())
        }
    }
}

fn show_to_person(out: &mut Output, found: &Bisected) {
    match &found.outcome {
        Outcome::Found(found) => show_found(out, found),
        Outcome::HoldsFromTheStart { head: None } => {
            out.line("it holds before the first record already: no record made it so");
        }
        Outcome::HoldsFromTheStart { head } => out.line(format_args!(
            "it holds {} already: name an earlier point as A",
            after(head.as_ref())
        )),
        Outcome::DoesNotHoldAtTheEnd { head } => out.line(format_args!(
            "it does not hold {}; whether it did before is not known: name a point where it holds \
             as B",
            after(head.as_ref())
        )),
        Outcome::OnlySkippedLeft { after, up_to } => out.line(format_args!(
            "it began to hold behind record {after}, at the latest with record {up_to}; the states \
             between could not be judged"
        )),
        Outcome::EndSkipped { head } => out.line(format_args!(
            "the state {} cannot be judged: name another A or B",
            after(head.as_ref())
        )),
    }
    out.line(format_args!(
        "{} looked at, {} of them from a snapshot; {} applied",
        counted(found.states, "state"),
        found.states_from_snapshots,
        counted(found.records_applied, "record")
    ));
}

fn after(head: Option<&Head>) -> impl Display {
    head.map_or("before the first record".into(), |head| format!("after record {}", head.sequence))
}

fn show_found(out: &mut Output, found: &FirstBatch) {
    let before = match found.after {
        0 => "before the first record".to_string(),
        record => format!("after record {record}"),
    };
    out.line(format_args!("it holds after record {}, and not {before}", found.record));
    if found.records.len() > 1 {
        out.line("these records are one batch, all or nothing:");
    }
    found.records.iter().for_each(|line| out.line(format_args!("  {}", of_record(line))));
    if let Some(run) = found.records.iter().find_map(|line| line.loop_id.as_deref()) {
        let record = found.record;
        out.line(format_args!(
            "of {run}: `holdpoint show {run}` tells of it, \
             `holdpoint show {record} --trace` what led to it"
        ));
    }
    if !found.causes.is_empty() {
        out.line("caused by, the nearest cause first:");
        found.causes.iter().for_each(|line| out.line(format_args!("  {}", of_record(line))));
    }
    out.line("this is a change; where it comes and goes, there are others");
}
