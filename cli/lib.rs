//! The program `holdpoint`: what a person types. It parses arguments, shows results and chooses
//! exit codes; it holds no rule and knows no byte of the format.

mod agents;
mod args;
mod arguments;
mod log;
mod questions;
#[cfg(test)]
mod tests;
mod ui;
mod verbs;

use crate::agents::{hook, mcp};
use crate::args::{Global, command_line, expect_writable, forbid_writing, settle};
use crate::arguments::usage;
use crate::log::configuration;
use crate::questions::choice::Answer;
use crate::questions::respond;
use crate::ui::{Exit, Failure, hints, inherited, pager, zone};
use crate::verbs::decide::{decision, inbox, policy};
use crate::verbs::look::{self, output, runs, show};
use crate::verbs::prove::{archive, continue_log, copy, export, verify};
use crate::verbs::record::{apply, event, run};
use crate::verbs::setup::{completions, doctor, init};
use crate::verbs::state::{diff, replay};
use crate::verbs::thread;
use arguments::{Arguments, Deferred, Rules, Verb, read_hook_line};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;
#[cfg(test)]
use tests::golden;

/// Readers of what others write, for whoever gives them any bytes at all.
pub mod readers {
    pub use crate::args::json_lines::{InputLine, next_line};
    pub use crate::ui::exit::{Exit, Failure};
    pub use crate::verbs::record::apply::submission::{Defaults, Submission};
    pub use crate::verbs::state::diff::bisect::predicate::Predicate;
    pub use holdpoint_replay::json_fault::Fault;
    pub use holdpoint_replay::strict_json::{Member, Node, Value, parse};
}

/// Prepares this process, whoever started it, for signals and for what reads its command line.
fn prepare_process() {
    command_line::declare(Arguments::command);
    inherited::expect_children();
    // Where it cannot be had, nothing is mapped.
    let _ = holdpoint_log_files::map::guard();
    // Where it cannot be had, the system ends whoever writes beyond the limit.
    let _ = holdpoint_engine::shell::file_size_limit_is_an_error();
}

/// Returns the whole command line, with what its help hides.
#[must_use]
pub fn command_line() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

/// Does what the arguments of this process say.
#[must_use]
pub fn main() -> ExitCode {
    // No verb of a person's, and so in no help: `run` starts this program once more as its guard.
    if let Some(served) = holdpoint_engine::executor::serve_as_guard() {
        return run::guard_exit(served).into();
    }
    prepare_process();
    if let Some(exit) = usage::version_alone().or_else(|| usage::all_verbs(Arguments::command)) {
        return exit.into();
    }
    let Arguments { given, verb } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::tell(&error).into(),
    };
    if let Verb::Hook(Deferred(args)) = &verb
        && let Some(exit) = hook::bound(args)
    {
        return exit.into();
    }
    given.color.take_effect();
    if given.no_pager {
        pager::forbid();
    }
    if given.read_only {
        forbid_writing();
    }
    let named = given.log.clone();
    let (global, refusal) = given.located();
    let rules = verb.rules();
    let global = Global { lists: rules.lists, ..global };
    hints::is_about(&global.log);
    if let Err(failure) = expect_usable(&global, rules, refusal) {
        return refuse(&global, &verb, failure).into();
    }
    zone::tell_unknown();
    let exit = match verb {
        Verb::Init(Deferred(args)) => init::main(global, named, &args),
        Verb::Run(Deferred(args)) => run::main(&global, *args),
        Verb::Apply(Deferred(args)) => apply::main(&global, args),
        Verb::Record(Deferred(args)) => event::main(&global, &args),
        Verb::Inbox(args) => inbox::main(&global, args),
        Verb::Approve(Deferred(args)) => {
            respond::main(&global, named.is_some(), args, Answer::Approve, None)
        }
        Verb::Deny(Deferred(args)) => {
            respond::main(&global, named.is_some(), args, Answer::Deny, None)
        }
        Verb::Decision(Deferred(verb)) => decision::main(&global, named.is_some(), verb),
        Verb::Hook(Deferred(args)) => hook::main(&global, &args),
        Verb::Mcp(Deferred(args)) => mcp::main(&global, &args),
        Verb::Thread(Deferred(verb)) => thread::main(&global, verb),
        Verb::Verify(Deferred(args)) => verify::main(&global, args),
        Verb::Runs(Deferred(args)) => runs::main(&global, args),
        Verb::Show(Deferred(args)) => show::main(&global, args, show_by_its_verb),
        Verb::Output(Deferred(args)) => output::main(&global, args),
        Verb::Replay(Deferred(args)) => replay::main(&global, args),
        Verb::Diff(Deferred(args)) => diff::main(&global, args),
        Verb::Export(Deferred(args)) => export::main(&global, args),
        Verb::Log(Deferred(args)) => look::log::main(&global, args),
        Verb::Copy(Deferred(args)) => copy::main(&global, args),
        Verb::Archive(Deferred(args)) => archive::main(&global, args),
        Verb::Continue(Deferred(args)) => continue_log::main(&global, &args),
        Verb::Policy(Deferred(verb)) => policy::main(&global, verb),
        Verb::Doctor(Deferred(args)) => doctor::main(&global, &args, read_hook_line),
        Verb::Completions(Deferred(args)) => completions::main(&global, &args),
    };
    if rules.passes_status_on { exit.into() } else { exit.unless_untold().into() }
}

/// Shows by another verb what `show` was given and is no run.
fn show_by_its_verb(global: &Global, line: Vec<String>) -> Result<Exit, Failure> {
    let no_id = |message: String| Failure::new(Exit::USAGE, "no_id", message);
    match Arguments::try_parse_from(line).map(|arguments| arguments.verb) {
        Ok(Verb::Decision(Deferred(verb))) => Ok(decision::main(global, true, verb)),
        Ok(Verb::Thread(Deferred(verb))) => Ok(thread::main(global, verb)),
        Ok(Verb::Log(Deferred(args))) => Ok(look::log::main(global, args)),
        Ok(Verb::Output(Deferred(args))) => Ok(output::main(global, args)),
        Ok(_) => Err(no_id("this names nothing that is shown".to_string())),
        Err(error) => Err(no_id(error.to_string())),
    }
}

/// That a verb may use the log that was found, and works under the configuration that was named.
fn expect_usable(global: &Global, rules: Rules, refusal: Option<Failure>) -> Result<(), Failure> {
    if let Some(failure) = refusal.filter(|_| !rules.needs_no_log) {
        return Err(failure);
    }
    if rules.writes {
        expect_writable()?;
    }
    if !rules.minds_its_configuration {
        configuration::expect_named(global)?;
    }
    if rules.may_ask { configuration::bound_questions(global) } else { Ok(()) }
}

/// Tells that the log that was found is not used, as each verb tells what stops it.
fn refuse(global: &Global, verb: &Verb, failure: Failure) -> Exit {
    match verb {
        Verb::Run(_) => run::refuse(global, &failure),
        Verb::Hook(Deferred(args)) => hook::refuse(args, failure.message()),
        Verb::Apply(_) => failure.tell(),
        _ => settle(global, Err(failure)),
    }
}
