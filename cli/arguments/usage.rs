//! A command line that is not understood, as a person and a program are told of it.

use crate::agents::hook;
use crate::arguments::{VERSION, Verb, old_forms};
use crate::ui::screen::{columns, columns_of_stderr, folded};
use crate::ui::text::cut;
use crate::ui::{Exit, Failure, Output, Page, complain, program, streams};
use clap::Subcommand;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use holdpoint_domain::core::text::visible;
use std::ffi::{OsStr, OsString};

/// Options that have a variable, as errors name them, and what its value is.
const VARIABLES: [(&str, &str, &str); 2] = [
    ("--log <DIR>", program::VARIABLE, "a directory"),
    ("--config <FILE>", "HOLDPOINT_CONFIG", "a file"),
];

/// The verbs that stand before others.
const GROUPS: [&str; 3] = ["decision", "thread", "policy"];

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
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    match &instead {
        Some(sentence) => complain(sentence),
        None if !error.use_stderr() => return help(error),
        // The exit code says all the same that something is missing.
        None if is_help => {
            drop(streams::mention(&as_wide_as(&error.to_string(), columns_of_stderr())));
        }
        None => complain(&sentence(error, &verbs)),
    }
    let verb = verbs.first().copied();
    if verb == Some(OsStr::new("hook")) {
        hook::drain_input();
    } else if words.iter().any(|word| word == "--json") {
        let failure =
            Failure::new(Exit::USAGE, "usage", instead.unwrap_or_else(|| sentence(error, &verbs)));
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
    let narrow = as_wide_as(&help.to_string(), columns());
    let is_whole = narrow == help.to_string();
    let help = if out.is_coloured() && is_whole { help.ansi().to_string() } else { narrow };
    out.bytes(help.as_bytes());
    out.finish().map_or_else(|failure| failure.tell(), |()| Exit::DONE)
}

/// A help whose lines are so wide at most: what goes on stands below what a line explains, and a
/// command goes on behind `\`.
pub(super) fn as_wide_as(help: &str, columns: usize) -> String {
    let lines = help.split('\n').flat_map(|line| match line.len() > columns {
        true => narrowed(line, columns),
        false => vec![line.to_string()],
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn narrowed(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start();
    let own = line.len().saturating_sub(text.len());
    let explained = ["  ", "Usage: "].iter().find_map(|mark| text.split_once(mark));
    if own == 2 && explained.is_none() && text.starts_with("holdpoint ") {
        let mut page = Page::new(columns);
        page.pasted(text);
        return page.lines();
    }
    let meaning = explained.map_or(text, |(_, meaning)| meaning.trim_start());
    let name = line.strip_suffix(meaning).unwrap_or_default();
    if name.len() <= columns / 2 {
        let more = if explained.is_none() { 2 } else { 0 };
        return folded(meaning, (name, &" ".repeat(name.len().saturating_add(more))), columns);
    }
    let below = " ".repeat(own.saturating_add(4));
    let meaning = folded(meaning, (&below, &below), columns);
    std::iter::once(name.trim_end().to_string()).chain(meaning).collect()
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
    GROUPS.iter().any(|group| *of == *group) && *list == "list"
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

/// The fault and its likely remedy, in a sentence, and the command that shows the help. Of a
/// value that was given it repeats the beginning.
fn sentence(error: &clap::Error, verbs: &[&OsStr]) -> String {
    let mut whole = error.to_string();
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidSubcommand, ContextKind::InvalidArg]
    {
        let Some(ContextValue::String(given)) = error.get(kind) else { continue };
        if given.len() > REPEATED_MAX || given.contains('\n') {
            whole = whole.replace(given, &cut(given, REPEATED_MAX));
        }
    }
    let is_said = |part: &&str| !["Usage:", "For more"].iter().any(|begin| part.starts_with(begin));
    let parts = whole.trim().trim_start_matches("error: ").split("\n\n").filter(is_said);
    let said: Vec<&str> = parts.flat_map(str::lines).map(str::trim).collect();
    let said = said.join(" ").replace(" tip: ", "; ");
    let verbs = verbs.iter().filter_map(|word| word.to_str());
    let is_known = verbs.clone().next().is_some_and(Verb::has_subcommand);
    let is_group = verbs.clone().next().is_some_and(|verb| GROUPS.contains(&verb));
    let is_of_group = is_group && error.kind() != ErrorKind::InvalidSubcommand;
    let words = usize::from(is_known).saturating_add(usize::from(is_of_group));
    let verb: String = verbs.take(words).map(|word| format!("{word} ")).collect();
    format!("{}\n  holdpoint {verb}-h", visible(&said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_breaks_between_words_alone_and_a_command_goes_on_behind_a_backslash() {
        let usage = "Usage: holdpoint decision respond [OPTIONS] <ID> [CHOICE]\n\n\
                     \x20 run -- CMD  run a command on the record; and what else there is\n\
                     \x20 runs, show, output  what ran, and what it printed\n\
                     \x20 holdpoint decision create --prompt Ship? --option y:Yes";
        let folded = "Usage: holdpoint decision respond\n       [OPTIONS] <ID> [CHOICE]\n\n\
                      \x20 run -- CMD  run a command on the\n\
                      \x20             record; and what else\n\
                      \x20             there is\n\
                      \x20 runs, show, output\n\
                      \x20     what ran, and what it printed\n\
                      \x20 holdpoint decision create --prompt \\\n    Ship? --option y:Yes";
        assert_eq!(as_wide_as(usage, 40), folded);
        assert_eq!(as_wide_as(usage, 120), usage);
    }

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
