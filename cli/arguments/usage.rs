//! A command line that is not understood, as a person and a program are told of it.

use crate::agents::hook;
use crate::arguments::{VERSION, old_forms};
use crate::ui::text::cut;
use crate::ui::{Exit, Failure, Output, complain, program, streams};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use holdpoint_domain::core::text::visible;
use std::ffi::{OsStr, OsString};

/// Options that have a variable, as errors name them, and what its value is.
const VARIABLES: [(&str, &str, &str); 2] = [
    ("--log <DIR>", program::VARIABLE, "a directory"),
    ("--config <FILE>", "HOLDPOINT_CONFIG", "a file"),
];

/// Bytes of a value that is not understood which are repeated.
const REPEATED_MAX: usize = 100;

/// Shows what is wrong, or the help that was asked for. With `--json` before `--` a program is told
/// on stdout what is wrong; hooks have an answer of their own, which whoever calls them expects.
pub(crate) fn tell(error: &clap::Error) -> Exit {
    let words: Vec<OsString> =
        std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let verbs: Vec<&OsStr> = verbs(&words).collect();
    let replaced = || old_forms::replacement(&verbs, &words).filter(|_| error.use_stderr());
    let elsewhere = || {
        let is_unknown = error.kind() == ErrorKind::InvalidSubcommand;
        old_forms::known_elsewhere(&verbs).filter(|_| is_unknown)
    };
    let instead = empty_variable(error).or_else(replaced).or_else(elsewhere);
    match &instead {
        Some(sentence) => complain(sentence),
        None if !error.use_stderr() => return help(error),
        // It repeats what was given, which may be anything. The exit code says that all the same.
        None => drop(streams::mention(repeated(error).trim_end_matches('\n'))),
    }
    let verb = verbs.first().copied();
    if verb == Some(OsStr::new("hook")) {
        hook::drain_input();
    } else if words.iter().any(|word| word == "--json") {
        let failure =
            Failure::new(Exit::USAGE, "usage", instead.unwrap_or_else(|| sentence(error)));
        let is_of_decisions = verb == Some(OsStr::new("decision"));
        let failure = if is_of_decisions {
            crate::questions::decision_output::told_whole(failure)
        } else {
            failure
        };
        // What promises an array has none: whoever counts would take this for one.
        if is_list(&verbs) {
            failure.mention_line();
            return Exit::USAGE;
        }
        let mut out = Output::stdout();
        out.json(&failure.value());
        // The exit code already says that something failed.
        let _ = out.finish();
    }
    Exit::USAGE
}

/// Shows what was asked for.
fn help(error: &clap::Error) -> Exit {
    let (mut out, help) = (Output::stdout(), error.render());
    let help = if out.is_coloured() { help.ansi().to_string() } else { help.to_string() };
    out.bytes(help.as_bytes());
    out.finish().map_or_else(|failure| failure.tell(), |()| Exit::DONE)
}

/// Prints the version where nothing else is asked for. To prepare for every verb and option takes
/// longer than the start of the process.
pub(crate) fn version_alone() -> Option<Exit> {
    let mut words = std::env::args_os().skip(1);
    let is_asked = words.next().is_some_and(|word| word == "--version" || word == "-V");
    (is_asked && words.next().is_none()).then(|| {
        let mut out = Output::stdout();
        out.bytes(format!("holdpoint {VERSION}\n").as_bytes());
        out.finish().map_or_else(|failure| failure.tell(), |()| Exit::DONE)
    })
}

/// Lists all verbs where that is asked for: the help of the program has room for their names alone.
pub(crate) fn all_verbs(program: impl FnOnce() -> clap::Command) -> Option<Exit> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    words.ends_with(&["help".into(), "--all".into()]).then(|| {
        let mut out = Output::stdout();
        let program = program().mut_args(|option| option.hide_short_help(false));
        let help = program.override_help(None::<&'static str>).render_help();
        out.bytes(help.to_string().as_bytes());
        out.finish().map_or_else(|failure| failure.tell(), |()| Exit::DONE)
    })
}

/// What is wrong where a variable is set and says nothing.
fn empty_variable(error: &clap::Error) -> Option<String> {
    let argument = error.get(ContextKind::InvalidArg)?.to_string();
    let (_, variable, what) = VARIABLES.iter().find(|(option, _, _)| *option == argument)?;
    let is_empty = std::env::var_os(variable).is_some_and(|value| value.is_empty());
    is_empty.then(|| format!("{variable} is set and empty: set it to {what}, or unset it"))
}

/// Whether the verb is one of the lists whose JSON is an array.
fn is_list(verbs: &[&OsStr]) -> bool {
    let [of, list, ..] = verbs else { return false };
    ["decision", "thread"].into_iter().any(|listed| *of == listed) && *list == "list"
}

/// The words that are neither options nor values of those that may stand before the verb, nor ask
/// for help.
fn verbs(words: &[OsString]) -> impl Iterator<Item = &OsStr> {
    let mut words = words.iter().map(OsString::as_os_str);
    std::iter::from_fn(move || {
        while let Some(word) = words.next() {
            if word == "--log" || word == "--config" || word == "--color" {
                words.next();
            } else if word != "help" && !word.as_encoded_bytes().starts_with(b"-") {
                return Some(word);
            }
        }
        None
    })
}

/// What is wrong. Of a value that was given it repeats the beginning, on one line.
fn repeated(error: &clap::Error) -> String {
    let mut whole = error.to_string();
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidSubcommand, ContextKind::InvalidArg]
    {
        let Some(ContextValue::String(given)) = error.get(kind) else { continue };
        if given.len() > REPEATED_MAX || given.contains('\n') {
            whole = whole.replace(given, &cut(given, REPEATED_MAX));
        }
    }
    seen(&whole)
}

/// A text of several lines, its control and hidden characters visible.
fn seen(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => format!("{}\n", visible(line)),
            None => visible(line).to_string(),
        })
        .collect()
}

fn sentence(error: &clap::Error) -> String {
    let whole = repeated(error);
    whole.trim().trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_found_behind_the_options_of_all_verbs() {
        let verb = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            verbs(&words).next().map(|word| word.to_str().unwrap().to_string())
        };
        assert_eq!(verb("decision create hook").as_deref(), Some("decision"));
        assert_eq!(verb("--json --log hook decision").as_deref(), Some("decision"));
        assert_eq!(verb("--config=a hook --json").as_deref(), Some("hook"));
        assert_eq!(verb("--color always hook --json").as_deref(), Some("hook"));
        assert_eq!(verb("help hook").as_deref(), Some("hook"));
        assert_eq!(verb("--json"), None);
        for (line, expected) in [
            ("--json decision --log x list --stat", true),
            ("thread list --json", true),
            ("decision create list --json", false),
            ("list --json", false),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_list(&verbs(&words).collect::<Vec<_>>()), expected, "{line}");
        }
    }
}
