//! This very command line again, to spend an approval: with its options as they were given, so that
//! what they ask for still happens.

use crate::args::command_line;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};
use holdpoint_engine::executor::{CommandSpec, command_line};
use std::ffi::{OsStr, OsString};

/// The verb, whose options are looked for.
const RUN: &str = "run";
/// What is said otherwise (the log, the approval), or is over (HEAD's absence: a run that asked
/// has made it again).
const OMITTED: [&str; 3] = ["log", "approval", "without-head"];
/// What is over as well: the time to approve.
const OVER: &str = "--expires=before=";
/// Whoever does not wait for the one question waits for none, where there is another.
const NO_WAIT: &str = "no-wait";

/// `run --approval ID`, the options and the command, as a shell takes them.
pub(super) fn spending(decision_id: &str, asks_after: bool, command: &CommandSpec) -> String {
    let words = ["--approval", decision_id].map(OsString::from).into_iter();
    let command = [OsString::from("--"), command.program.clone()]
        .into_iter()
        .chain(command.arguments.iter().cloned());
    let words: Vec<OsString> = words.chain(options(asks_after)).chain(command).collect();
    command_line(OsStr::new(RUN), &words)
}

fn options(asks_after: bool) -> Vec<OsString> {
    let (program, run) = (command_line::declared(), super::Args::augment_args(Command::new(RUN)));
    let given = program.clone().try_get_matches_from(std::env::args_os());
    let Ok(given) = given else { return Vec::new() };
    let Some(of_run) = given.subcommand_matches(RUN) else { return Vec::new() };
    let of_all = program.get_arguments().flat_map(|option| words_of(option, &given));
    let of_run = run.get_arguments().flat_map(|option| words_of(option, of_run));
    let no_wait = OsString::from(format!("--{NO_WAIT}"));
    let is_over = |word: &OsString| word.as_encoded_bytes().starts_with(OVER.as_bytes());
    let words = of_all.chain(of_run).filter(|word| asks_after || *word != no_wait);
    words.filter(|word| !is_over(word)).collect()
}

/// An option of the command line, each of its values with its name.
fn words_of(option: &Arg, given: &ArgMatches) -> Vec<OsString> {
    let Some(name) = option.get_long().filter(|name| !OMITTED.contains(name)) else {
        return Vec::new();
    };
    let id = option.get_id().as_str();
    if given.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    if !option.get_action().takes_values() {
        return vec![format!("--{name}").into()];
    }
    let values = given.get_raw(id).into_iter().flatten();
    values.map(|value| [OsStr::new(&format!("--{name}=")), value].into_iter().collect()).collect()
}
