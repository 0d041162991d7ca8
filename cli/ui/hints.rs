//! Commands that sentences of this program name in backticks: pasted, they find the log that the
//! sentence is about.

use crate::ui::program::{program, program_on};
use std::path::{Path, PathBuf, absolute};
use std::sync::OnceLock;

/// The log that this process was told to use.
static LOG: OnceLock<PathBuf> = OnceLock::new();

/// What a command begins with that names no log.
const COMMAND: &str = "`holdpoint ";

/// The verbs that need a log that exists.
const OF_A_LOG: &[&str] = &[
    "apply", "approve", "archive", "decision", "deny", "diff", "export", "log", "output", "policy",
    "record", "replay", "run", "runs", "show", "thread", "verify",
];

/// All sentences from here on are about this log where they say nothing else.
pub(crate) fn is_about(log: &Path) {
    // A process has one log.
    let _ = LOG.set(log.to_path_buf());
}

/// A sentence about the log that this process was told to use.
pub(crate) fn pasted(sentence: &str) -> String {
    LOG.get().map_or_else(|| sentence.to_string(), |log| on(log, sentence))
}

/// The same for whoever pastes it somewhere else than here.
pub(crate) fn pasted_anywhere(sentence: &str) -> String {
    let on = |log: &PathBuf| named(&program_on(&absolute(log).unwrap_or(log.clone())), sentence);
    LOG.get().map_or_else(|| sentence.to_string(), on)
}

/// A sentence about a log.
pub(crate) fn on(log: &Path, sentence: &str) -> String {
    named(&program(log), sentence)
}

/// A sentence whose commands call the program so where they are about a log.
fn named(program: &str, sentence: &str) -> String {
    let mut pieces = sentence.split(COMMAND);
    let mut whole = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let command = piece.split('`').next().unwrap_or_default();
        let mut words = command.split(' ');
        let needs_log = words.next().is_some_and(|verb| OF_A_LOG.contains(&verb));
        match needs_log && !words.any(|word| word == "--log") {
            true => whole.push_str(&format!("`{program} ")),
            false => whole.push_str(COMMAND),
        }
        whole.push_str(piece);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_needs_a_log_names_it_and_no_other_does() {
        let on = |sentence: &str| on(Path::new("/var/a log"), sentence);
        assert_eq!(
            on("corrupt: `holdpoint verify` tells all; `holdpoint runs -n 3` lists"),
            "corrupt: `holdpoint --log '/var/a log' verify` tells all; `holdpoint --log '/var/a \
             log' runs -n 3` lists"
        );
        for as_it_is in [
            "no command",
            "`holdpoint inbox --add DIR` adds one",
            "`holdpoint --log other verify`",
            "`holdpoint run --log other -- x`",
            "holdpoint verify without backticks, and an end `holdpoint",
        ] {
            assert_eq!(on(as_it_is), as_it_is);
        }
    }

    #[test]
    fn the_verbs_are_verbs_of_this_program() {
        use clap::CommandFactory;
        let command = crate::arguments::Arguments::command();
        for verb in OF_A_LOG {
            assert!(command.find_subcommand(verb).is_some(), "{verb}");
        }
    }
}
