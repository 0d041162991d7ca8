//! The command line: global options and verbs. Each verb's own options stand in its file.

mod deferred;
mod help;
mod old_forms;
pub(crate) mod usage;

pub(crate) use self::deferred::Deferred;
use crate::agents::{hook, mcp};
use crate::args::Global;
use crate::args::hook_line::HookLine;
use crate::questions::respond::ReplyArgs;
use crate::ui::text::path_given;
use crate::ui::{Failure, program};
use crate::verbs::decide::decision::DecisionVerb;
use crate::verbs::decide::{inbox, policy};
use crate::verbs::look::{log, output, runs, show};
use crate::verbs::prove::{archive, continue_log, copy, export, verify};
use crate::verbs::record::{apply, event, run};
use crate::verbs::setup::{completions, doctor, init};
use crate::verbs::state::{diff, replay};
use crate::verbs::thread::ThreadVerb;
use anstream::ColorChoice;
use clap::{Args, Parser, Subcommand, ValueEnum};
use holdpoint_log_format::limits::FORMAT_VERSION;
use std::path::PathBuf;

pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (log format 1)");

const _: () = assert!(FORMAT_VERSION == 1, "the version's text names the log format");

/// A flight recorder and approval gate for automated execution: every action a chained,
/// checksummed, replayable record.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version = VERSION, arg_required_else_help = true)]
#[command(override_help = help::PROGRAM)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) given: GlobalArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What stands above the options of every verb, in help and manual.
const GLOBAL: &str = "Global options";

/// Options of every verb, as they are given.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// The log's directory; else the nearest `.holdpoint`, in the working directory or above it.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", env = program::VARIABLE)]
    #[arg(value_parser = path_given())]
    pub(crate) log: Option<PathBuf>,
    /// The configuration; else `holdpoint.toml` in the working directory, if there is one.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    #[arg(env = "HOLDPOINT_CONFIG", value_parser = path_given(), hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// Write one JSON value to stdout, or JSON Lines for streams; everything else to stderr.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// When colours are shown: `auto` is on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN")]
    #[arg(value_enum, default_value_t, hide_short_help = true)]
    pub(crate) color: Color,
    /// Write a long text to the terminal at once, not through `HOLDPOINT_PAGER` or `PAGER`.
    #[arg(long, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) no_pager: bool,
}

/// When colours are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Wherever it is written to.
    Always,
    /// Nowhere.
    Never,
}

impl Color {
    /// Holds for all that this process writes.
    pub(crate) fn take_effect(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

impl GlobalArgs {
    /// The options with the log that is meant, and why that log is not used, if it is not.
    pub(crate) fn located(self) -> (Global, Option<Failure>) {
        let Self { log, config, json, .. } = self;
        let (log, refusal) = match log {
            Some(named) => (named, None),
            None => {
                let found = program::find();
                let refusal = found.refusal();
                (found.log, refusal)
            }
        };
        (Global { log, config, json, lists: false }, refusal)
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a log, where verbs that only read and hooks find none.
    Init(Deferred<init::Args>),
    /// Run a command and put all of it on the record; exit with its status.
    Run(Deferred<Box<run::Args>>),
    /// Carry out commands given as JSON Lines; answer each with one line.
    Apply(Deferred<apply::Args>),
    /// Record an event of an application, from a file or a pipe.
    Record(Deferred<event::Args>),
    /// Everything that waits for a person, in all logs of this user, answered in place.
    // Its `--log` takes the place of the global one, which deferred options cannot.
    #[command(after_help = help::examples("inbox"))]
    Inbox(inbox::Args),
    /// Say yes to a pending question. `decision show` shows it; `holdpoint output` has what a run
    /// printed, which nobody checked and which is no part of what is decided.
    Approve(Deferred<ReplyArgs>),
    /// Say no to a pending question.
    Deny(Deferred<ReplyArgs>),
    /// Ask questions, answer them, wait for them, spend approvals.
    #[command(subcommand)]
    Decision(Deferred<DecisionVerb>),
    /// Guard an agent's tools: a hook that reads one JSON object from stdin.
    Hook(Deferred<hook::Args>),
    /// Serve decisions to agents over the Model Context Protocol, on stdin and stdout.
    Mcp(Deferred<mcp::Args>),
    /// Look at conversations that were interrupted, and at what became of the rest.
    #[command(subcommand)]
    Thread(Deferred<ThreadVerb>),
    /// Prove that nothing recorded was changed, lost or forbidden; exit 6 if something was.
    Verify(Deferred<verify::Args>),
    /// List what ran, and sessions of guarded agents, the newest first: when, how it ended, who
    /// began it, who said yes.
    Runs(Deferred<runs::Args>),
    /// Tell one run: the command, how it ended, who was asked, the last lines of its output.
    Show(Deferred<show::Args>),
    /// Write what a recorded command printed, after all of it has verified.
    Output(Deferred<output::Args>),
    /// Rebuild the state from the log, at its end or at any record or moment.
    Replay(Deferred<replay::Args>),
    /// Show what lies between two points of the log, two runs or two logs; or find the record
    /// between them after which something began to hold.
    Diff(Deferred<diff::Args>),
    /// Write the log as JSON Lines, CSV or a SQLite database; a page of a run or a range; or a
    /// recording of a run.
    Export(Deferred<export::Args>),
    /// Show one line for each record, and what follows; raw evidence is hidden.
    Log(Deferred<log::Args>),
    /// Copy a log, also while it is being written, or what verifies of a damaged one.
    Copy(Deferred<copy::Args>),
    /// Move the first records to an archive; the log then begins behind them.
    Archive(Deferred<archive::Args>),
    /// Go on from a log that ends before its HEAD, as a person at a terminal.
    Continue(Deferred<continue_log::Args>),
    /// Look at who may pass a hold point, and change what the log demands.
    #[command(subcommand)]
    Policy(Deferred<policy::PolicyVerb>),
    /// Check the log, its lock, the configuration and the hook settings.
    Doctor(Deferred<doctor::Args>),
    /// Write the completions of a shell, or the manual.
    Completions(Deferred<completions::Args>),
}

/// The rules that hold of a verb before it is carried out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules {
    /// Its JSON is an array of what there is: whoever counts goes by its length.
    pub(crate) lists: bool,
    /// The log that was found is of no concern to it.
    pub(crate) needs_no_log: bool,
    /// Its exit code is a command's, or an answer to whoever asked the hook.
    pub(crate) passes_status_on: bool,
    /// It may put a question.
    pub(crate) may_ask: bool,
    /// It tells in its own words what is wrong with the configuration, or writes the same wherever
    /// it is used.
    pub(crate) minds_its_configuration: bool,
}

impl Verb {
    /// The rules of each verb.
    pub(crate) fn rules(&self) -> Rules {
        let of_a_log = Rules::default();
        let no_log = Rules { needs_no_log: true, ..of_a_log };
        let minds = Rules { minds_its_configuration: true, ..of_a_log };
        match self {
            Self::Init(_) | Self::Inbox(_) | Self::Copy(_) | Self::Continue(_) => no_log,
            Self::Completions(_) => Rules { needs_no_log: true, ..minds },
            Self::Export(Deferred(args)) => Rules { needs_no_log: args.needs_no_log(), ..of_a_log },
            Self::Run(_) => Rules { passes_status_on: true, may_ask: true, ..minds },
            Self::Apply(_) => Rules { may_ask: true, ..minds },
            Self::Hook(Deferred(args)) => {
                Rules { passes_status_on: true, may_ask: args.may_ask(), ..of_a_log }
            }
            Self::Mcp(_) => Rules { may_ask: true, ..of_a_log },
            Self::Decision(Deferred(verb)) => {
                let lists = matches!(verb, DecisionVerb::List(_));
                Rules { lists, may_ask: matches!(verb, DecisionVerb::Create(_)), ..of_a_log }
            }
            Self::Thread(Deferred(verb)) => Rules { lists: verb.is_array(), ..of_a_log },
            Self::Policy(_) => minds,
            Self::Doctor(Deferred(args)) => Rules { needs_no_log: args.needs_no_log(), ..minds },
            Self::Record(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Verify(_)
            | Self::Runs(_)
            | Self::Show(_)
            | Self::Output(_)
            | Self::Replay(_)
            | Self::Diff(_)
            | Self::Log(_)
            | Self::Archive(_) => of_a_log,
        }
    }
}

/// Reads a command line of `hook`; `None`: it calls another verb.
pub(crate) fn read_hook_line(words: &[String]) -> Result<Option<HookLine>, clap::Error> {
    let Arguments { given, verb: Verb::Hook(Deferred(args)) } = Arguments::try_parse_from(words)?
    else {
        return Ok(None);
    };
    Ok(Some(HookLine {
        log: given.log,
        host: args.host(),
        events: args.events(),
        tools: args.tools().to_vec(),
        takes_at_most: args.takes_at_most(),
        flaw: args.check().err(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
