//! What `show` is given that is no run: each is shown by the verb that shows such a thing alone.

use crate::args::global::Global;
use crate::arguments::{Arguments, Deferred, LogVerb, Verb};
use crate::ui::exit::{Exit, Failure, complain};
use crate::verbs::decide::{decision, hold};
use crate::verbs::look::log::show;
use crate::verbs::thread;
use clap::Parser;
use holdpoint_replay::is_part;

/// Free names, which need to say what they are.
const OTHERS: [(&str, &[&str]); 3] = [
    ("thread:", &["thread", "show", "--"]),
    ("correlation:", &["log", "show", "--correlation"]),
    ("stream:", ENTITY),
];

/// What shows the records about something, whatever it is.
const ENTITY: &[&str] = &["log", "show", "--entity"];

/// Shows what has a free name, or the records of a part of a run by its id; `None` where neither is
/// meant.
pub(super) fn show(global: &Global, id: &str) -> Option<Result<Exit, Failure>> {
    if is_part(id) {
        return Some(carried_out(global, ENTITY, id).inspect(|exit| {
            if *exit == Exit::NOT_FOUND {
                complain("the id of a part of a run is given whole, in its own letters");
            }
        }));
    }
    let mut others = OTHERS.iter();
    others.find_map(|(beginning, words)| {
        Some(match id.strip_prefix(beginning)? {
            "" => {
                let message = format!("a name stands behind `{beginning}`");
                Err(Failure::new(Exit::USAGE, "no_id", message))
            }
            name => carried_out(global, words, name),
        })
    })
}

/// Shows a decision by its whole id.
pub(super) fn decision(global: &Global, id: &str) -> Result<Exit, Failure> {
    carried_out(global, &["decision", "show", "--"], id)
}

/// Shows a request by its whole id.
pub(super) fn request(global: &Global, id: &str) -> Result<Exit, Failure> {
    carried_out(global, &["hold", "show", "--"], id)
}

/// Shows a record that is about no run.
pub(super) fn record(global: &Global, sequence: u64) -> Result<Exit, Failure> {
    let number = sequence.to_string();
    carried_out(global, &["log", "show", "--from", &number, "--to"], &number)
}

fn carried_out(global: &Global, words: &[&str], last: &str) -> Result<Exit, Failure> {
    let (words, last) = match words.split_last() {
        // A value may begin with a hyphen.
        Some((option, words)) if *option != "--" => (words, vec![format!("{option}={last}")]),
        _ => (words, vec![last.to_string()]),
    };
    let line = ["holdpoint"].iter().chain(words).map(|word| (*word).to_string()).chain(last);
    let parsed = Arguments::try_parse_from(line);
    match parsed.map(|arguments| arguments.verb) {
        Ok(Verb::Decision(Deferred(verb))) => Ok(decision::main(global, verb)),
        Ok(Verb::Hold(Deferred(verb))) => Ok(hold::main(global, verb)),
        Ok(Verb::Thread(Deferred(verb))) => Ok(thread::main(global, verb)),
        Ok(Verb::Log(Deferred(LogVerb::Show(args)))) => Ok(show::main(global, args)),
        Ok(_) => Err(Failure::new(Exit::USAGE, "no_id", "this names nothing that is shown")),
        Err(error) => Err(Failure::new(Exit::USAGE, "no_id", error.to_string())),
    }
}
