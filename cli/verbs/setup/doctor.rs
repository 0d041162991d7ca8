//! `holdpoint doctor`: whether what guards the agent is in working order: the log, its lock, the
//! configuration, and the hooks in the settings of the agent's host. It reads and changes
//! nothing; with `terminal` it puts back a terminal instead, and with `clock-step` a person
//! accepts that the newest record is ahead of the clock: its only writing use.

mod access;
mod check;
mod clock_step;
mod command;
mod configuration;
mod hooks;
mod identity;
mod log;
mod matcher;
mod policy;
mod runs;
mod settings;
mod terminal;
mod trust;
mod writing;

use crate::args::hook_line::HookLineReader;
use crate::args::{Global, LockWaitArgs, settle};
use crate::log::configuration::Configuration;
use crate::ui::{Exit, Failure, Output};
use anstyle::{AnsiColor, Style};
use check::{Check, State};
use clap::ValueEnum;
use serde_json::json;
use std::path::PathBuf;

/// What is said below the options.
const MORE: &str = "\
Without FILE it looks at the settings of Claude Code, Codex, Gemini CLI, Copilot CLI, Cursor
and OpenCode here, in the home directory and of the machine. Exit 0 when nothing failed, 6 when the
log does not verify, 3 when there is none or the configuration that was named is missing, 1 when
something else failed.";

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// `config`, `terminal` or `clock-step`: this check only. `hooks`: all checks, which fail where
    /// no hook guards a tool. A file with `/` or `.` in its name: all checks, with the hooks in it.
    #[arg(value_name = "SUBJECT|FILE", value_parser = topic)]
    topics: Vec<Topic>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

impl Args {
    /// Returns whether the log that was found is of no concern.
    pub(crate) fn needs_no_log(&self) -> bool {
        self.subject() == Some(Subject::Config)
    }

    fn subject(&self) -> Option<Subject> {
        self.topics.iter().find_map(|topic| topic.as_ref().ok()).copied()
    }
}

/// A subject, or a file.
type Topic = Result<Subject, PathBuf>;

fn topic(text: &str) -> Result<Topic, String> {
    if text.contains(['/', '.']) {
        return Ok(Err(text.into()));
    }
    let known = "write config, terminal, clock-step, hooks, or a file with `/` or `.` in its name";
    Subject::from_str(text, false).map(Ok).map_err(|_| known.to_string())
}

/// Subject of a check that is asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// Show what the configuration and the policies have in force, or what is wrong and where.
    Config,
    /// Put back the settings of the terminal here, where a question that was killed left them.
    Terminal,
    /// Put on record, typed at a terminal, that this clock is right and the newest record is ahead
    /// of it: what is due by the old time ends.
    ClockStep,
    /// Fail also where no hook guards a tool.
    Hooks,
}

/// Checks everything. Exit 1 when something failed, 6 when the log does not verify, 3 when there is
/// none or a configuration that was named is missing.
pub(crate) fn main(global: &Global, args: &Args, read_line: HookLineReader) -> Exit {
    settle(
        global,
        match args.subject() {
            Some(Subject::Config) => configuration::check(global),
            Some(Subject::Terminal) => terminal::put_back(global),
            Some(Subject::ClockStep) => clock_step::accept(global, &args.turn),
            Some(Subject::Hooks) | None => examine(global, args, read_line),
        },
    )
}

fn examine(global: &Global, args: &Args, read_line: HookLineReader) -> Result<Exit, Failure> {
    let (of_log, exit_of_log) = log::check(global);
    let mut checks = of_log;
    let (of_configuration, exit_of_configuration) = check_configuration(global);
    checks.push(of_configuration);
    checks.push(policy::check());
    checks.push(identity::check());
    let is_required = args.subject() == Some(Subject::Hooks);
    let files: Vec<_> = args.topics.iter().filter_map(|topic| topic.clone().err()).collect();
    checks.extend(settings::check(&files, &global.log, is_required, read_line));
    let worst = checks.iter().map(|check| check.state).max().unwrap_or(State::Ok);
    let mut out = Output::stdout().folding();
    match global.json {
        true => out.json(&json!({ "state": worst, "checks": checks })),
        false => show(&mut out, &checks),
    }
    out.finish()?;
    Ok(match worst {
        _ if exit_of_log != Exit::DONE => exit_of_log,
        _ if exit_of_configuration != Exit::DONE => exit_of_configuration,
        State::Fail => Exit::FAILED,
        State::Ok | State::Warn => Exit::DONE,
    })
}

/// The configuration, and how the program ends for it: for one that is missing as every verb does.
fn check_configuration(global: &Global) -> (Check, Exit) {
    match Configuration::load(global) {
        Ok(_) => {
            let message = "it is well-formed, or there is none";
            (Check::ok("configuration", message), Exit::DONE)
        }
        Err(failure) => {
            let advice = "mend the file; `holdpoint doctor config` shows what is in force";
            let exit = if failure.exit == Exit::NOT_FOUND { failure.exit } else { Exit::FAILED };
            (Check::fail("configuration", failure.message(), advice), exit)
        }
    }
}

/// One line for each check, and below it what to do.
fn show(out: &mut Output, checks: &[Check]) {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let state = out.paint(style(check.state), format_args!("{:<4}", check.state.name()));
        out.line(format_args!("{state}  {:<width$}  {}", check.name, check.message));
        if let Some(advice) = &check.advice {
            out.line(format_args!("{:<6}{:<width$}  {advice}", "", ""));
        }
    }
}

const fn style(state: State) -> Style {
    match state {
        State::Ok => AnsiColor::Green.on_default(),
        State::Warn => AnsiColor::Yellow.on_default(),
        State::Fail => AnsiColor::Red.on_default(),
    }
}
