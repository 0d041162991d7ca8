//! `holdpoint show`: the whole story of one run on one screen, or whatever else an id names.

pub(crate) mod by_other_verb;
mod envelope;
pub(crate) mod id_meaning;
mod relations;
mod run;
mod session;
pub(crate) mod trace;

use crate::args::{Global, settle};
use crate::log::captured_output::{expect_run, is_hidden};
use crate::log::records::conclude;
use crate::log::run_id::{self, NEWEST};
use crate::log::run_records::{tell_other_commands, tell_standing, tell_uncounted};
use crate::log::{ArchiveArgs, Directory, escalations, other_logs, recorders, sessions};
use crate::ui::screen::columns;
use crate::ui::{Exit, Failure, Output, TimesArgs, complain};
use crate::verbs::look::show::by_other_verb::{ENTITY, LineRunner, OUTPUT, QUESTION, line};
use crate::verbs::look::show::id_meaning::IdTarget;
use crate::verbs::look::show::trace::TraceArgs;
use holdpoint_replay::waiting::waiting_for;
use holdpoint_replay::{Reach, Run, RunLookup, Searched, run_of};
use relations::Relations;
use run::{RunDocument, View};
use std::slice;

/// Options of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ID, or at least six of its first digits, of a run, decision or request; the number of a
    /// record, for its run or itself; `thread:NAME`, `correlation:NAME`, `stream:NAME` or
    /// `session:N`; the ID of a part of a run, such as `FAULT-..`.
    #[arg(value_name = "ID")]
    id: String,
    /// Show the output of the run; `output` has more options.
    #[arg(long, group = "form", conflicts_with = "archive")]
    output: bool,
    /// Show the records; `log` has more options.
    #[arg(long, group = "form", conflicts_with = "archive")]
    records: bool,
    /// Print the bytes that were hashed as the command of the run.
    #[arg(long, group = "form")]
    envelope: bool,
    #[command(flatten)]
    trace: TraceArgs,
    /// Show codes and hashes too.
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    times: TimesArgs,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Tells a run: what it was, how it ended, who began it, who was asked and what was answered, and
/// the last lines of what it printed. Exit 3 where there is no such thing, 4 where several ids
/// begin so, 6 where the log does not verify as far as it was read for that.
pub(crate) fn main(global: &Global, mut args: Args, carry_out: LineRunner) -> Exit {
    if args.id == NEWEST {
        let directory = Directory::open_with_archives(global, &args.archives);
        match directory.and_then(|directory| run_id::find(&directory, NEWEST)) {
            Ok(id) => args.id = id,
            Err(failure) => return settle(global, Err(failure)),
        }
    }
    if args.trace.trace {
        return settle(global, trace::show(global, &args));
    }
    settle(global, other_logs::told(global, &args.id, show(global, &args, carry_out)))
}

fn show(global: &Global, args: &Args, carry_out: LineRunner) -> Result<Exit, Failure> {
    if args.output {
        args.times.expect_utc()?;
        return carry_out(global, line(OUTPUT, &args.id));
    }
    if args.envelope {
        return envelope::show(global, args);
    }
    if let Some(shown) = by_other_verb::show(global, &args.id, args.records, carry_out) {
        args.times.expect_utc()?;
        return shown;
    }
    if args.id.starts_with(sessions::PREFIX) {
        return session::show(global, args, carry_out);
    }
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let meant = IdTarget::find(&directory, &args.id)?;
    if !matches!(meant, IdTarget::Run(..)) {
        args.times.expect_utc()?;
    }
    match meant {
        IdTarget::Run(id, _) | IdTarget::Decision(id) | IdTarget::Request(id) if args.records => {
            args.times.expect_utc()?;
            carry_out(global, line(ENTITY, &id))
        }
        IdTarget::Run(loop_id, met) => show_run(global, args, &directory, (&loop_id, met)),
        IdTarget::Decision(id) | IdTarget::Request(id) => carry_out(global, line(QUESTION, &id)),
        IdTarget::Record(sequence) => by_other_verb::record(global, sequence, carry_out),
    }
}

fn show_run(
    global: &Global,
    args: &Args,
    directory: &Directory,
    (loop_id, met): (&str, Option<(RunLookup, Searched)>),
) -> Result<Exit, Failure> {
    let (found, mut searched) = match met {
        Some(met) => met,
        None => directory.read(|log, options| run_of(log, loop_id, options))?,
    };
    if !searched.is_sound() {
        return conclude(global, directory, &searched);
    }
    let run = expect_run(directory, loop_id, found)?;
    let relations = Relations::read(directory, &run, &mut searched)?;
    if !searched.is_sound() {
        return conclude(global, directory, &searched);
    }
    let waiting = match run.entity.halt {
        Some(_) => None,
        None => waiting_for(&directory.storage, &run),
    };
    let escalated = escalations::open(directory, slice::from_ref(&*run));
    let mut out = Output::paged(global.json);
    if global.json {
        let shown = RunDocument::of((&run, &relations), searched.reach());
        let needs_person = escalated.values().next().map(String::as_str);
        out.json(&shown.waiting(waiting.as_ref()).needing(needs_person));
    } else {
        let is_unfinished = !recorders::unfinished(directory, slice::from_ref(&*run)).is_empty();
        let clock = args.times.clock();
        let view = View::of(columns(), &clock, &out);
        let waiting = waiting.as_ref();
        let hides_output = is_hidden(global, &run);
        let view = View { is_verbose: args.verbose, is_unfinished, hides_output, waiting, ..view };
        let program = crate::ui::program::program(&global.log);
        let shown = run::lines((&run, &relations), &view, &program);
        shown.iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    recorders::tell(directory, slice::from_ref(&run));
    escalations::tell(&escalated);
    directory.tell_unread();
    if !global.json {
        tell(&run, searched.reach());
    }
    Ok(tell_other_commands([&*run]).or(tell_uncounted(directory, &relations.uncounted)))
}

/// Says where what is shown ceases to be proven, and whose words the last lines are.
fn tell(run: &Run, reach: &Reach) {
    if run.outputs.iter().any(|output| !output.bytes.is_empty()) {
        complain("lines starting with `|` are untrusted text");
    }
    tell_standing(&[run], reach);
}
