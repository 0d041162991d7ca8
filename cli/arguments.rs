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
#[command(override_help = help::PROGRAM, next_line_help = help::is_narrow())]
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
    /// Directory of the log [default: the nearest `.holdpoint`, in the working directory or above
    /// it].
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", env = program::VARIABLE)]
    #[arg(value_parser = path_given())]
    pub(crate) log: Option<PathBuf>,
    /// Configuration file [default: `holdpoint.toml` in the working directory, if it exists].
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    #[arg(env = "HOLDPOINT_CONFIG", value_parser = path_given(), hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON value, or JSON Lines for streams, to stdout; all else to stderr.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Colour the output: `auto` does on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN")]
    #[arg(value_enum, default_value_t, hide_short_help = true)]
    pub(crate) color: Color,
    /// Use no pager (`HOLDPOINT_PAGER`, `PAGER`) for long output.
    #[arg(long, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) no_pager: bool,
    /// Refuse whatever would write to a log.
    #[arg(long, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) read_only: bool,
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
    /// Create a log.
    Init(Deferred<init::Args>),
    /// Run a command and record it; exit with its status.
    Run(Deferred<Box<run::Args>>),
    /// Submit commands as JSON Lines; answer each with one line.
    Apply(Deferred<apply::Args>),
    /// Record an event of an application, from a file or a pipe.
    Record(Deferred<event::Args>),
    /// List and answer the pending questions of all logs of this user.
    // Its `--log` takes the place of the global one, which deferred options cannot.
    #[command(after_help = help::examples("inbox"))]
    Inbox(inbox::Args),
    /// Approve a pending question. `decision show` shows it; the output of a run is unverified and
    /// no part of the decision.
    Approve(Deferred<ReplyArgs>),
    /// Deny a pending question.
    Deny(Deferred<ReplyArgs>),
    /// Create, list, answer and await questions; consume approvals.
    #[command(subcommand)]
    Decision(Deferred<DecisionVerb>),
    /// Guard an agent's tools, as its hook: read one JSON object from stdin.
    Hook(Deferred<hook::Args>),
    /// Serve decisions to agents over the Model Context Protocol, on stdin and stdout.
    Mcp(Deferred<mcp::Args>),
    /// Show interrupted conversations and their unsaid remainders.
    #[command(subcommand)]
    Thread(Deferred<ThreadVerb>),
    /// Verify that no record was changed, lost or forbidden; exit 6 otherwise.
    Verify(Deferred<verify::Args>),
    /// List runs and sessions of guarded agents, newest first, with outcome, requester and
    /// approver.
    Runs(Deferred<runs::Args>),
    /// Show one run: command, outcome, approver, last lines of output.
    Show(Deferred<show::Args>),
    /// Print the verified output of a recorded command.
    Output(Deferred<output::Args>),
    /// Rebuild the state from the log, at its end or at an earlier point.
    Replay(Deferred<replay::Args>),
    /// Compare two points of the log, two runs or two logs; or bisect for the record after which a
    /// condition holds.
    Diff(Deferred<diff::Args>),
    /// Export the log as JSON Lines, CSV or SQLite, a run or range as a page, or a run as a
    /// terminal recording.
    Export(Deferred<export::Args>),
    /// List records, one a line; raw evidence is hidden.
    Log(Deferred<log::Args>),
    /// Copy a log, even while it is written; or salvage a damaged one.
    Copy(Deferred<copy::Args>),
    /// Move the oldest records to an archive.
    Archive(Deferred<archive::Args>),
    /// Continue a log that ends before its HEAD, as a person at a terminal.
    Continue(Deferred<continue_log::Args>),
    /// Show and change the approval policy.
    #[command(subcommand)]
    Policy(Deferred<policy::PolicyVerb>),
    /// Check the log, its lock, the configuration and the hook settings.
    Doctor(Deferred<doctor::Args>),
    /// Print shell completions or the manual.
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
    /// It writes to a log, makes one, or changes the list of logs.
    pub(crate) writes: bool,
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
        let writes = Rules { writes: true, ..of_a_log };
        match self {
            Self::Init(_) | Self::Continue(_) => Rules { needs_no_log: true, ..writes },
            Self::Inbox(args) => Rules { writes: args.changes_list(), ..no_log },
            Self::Copy(Deferred(args)) => Rules { writes: args.salvage, ..no_log },
            Self::Completions(_) => Rules { needs_no_log: true, ..minds },
            Self::Export(Deferred(args)) => Rules { needs_no_log: args.needs_no_log(), ..of_a_log },
            Self::Run(_) => Rules {
                passes_status_on: true,
                may_ask: true,
                minds_its_configuration: true,
                ..writes
            },
            Self::Apply(Deferred(args)) => Rules { may_ask: true, writes: !args.schema, ..minds },
            Self::Hook(Deferred(args)) => {
                let (may_ask, writes) = (args.may_ask(), args.writes());
                Rules { passes_status_on: true, may_ask, writes, ..of_a_log }
            }
            Self::Mcp(_) => Rules { may_ask: true, ..writes },
            Self::Decision(Deferred(verb)) => {
                let lists = matches!(verb, DecisionVerb::List(_));
                let may_ask = matches!(verb, DecisionVerb::Create(_));
                Rules { lists, may_ask, writes: verb.writes(), ..of_a_log }
            }
            Self::Thread(Deferred(verb)) => Rules { lists: verb.is_array(), ..of_a_log },
            Self::Policy(Deferred(verb)) => {
                Rules { writes: matches!(verb, policy::PolicyVerb::Set(_)), ..minds }
            }
            Self::Doctor(Deferred(args)) => Rules { needs_no_log: args.needs_no_log(), ..minds },
            Self::Record(_) | Self::Approve(_) | Self::Deny(_) | Self::Archive(_) => writes,
            Self::Verify(_)
            | Self::Runs(_)
            | Self::Show(_)
            | Self::Output(_)
            | Self::Replay(_)
            | Self::Diff(_)
            | Self::Log(_) => of_a_log,
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
