//! What `show` is given that is no run: each is shown by the verb that shows such a thing alone.

use crate::args::Global;
use crate::ui::{Exit, Failure, complain};
use holdpoint_replay::is_part;

/// The words that show the records of a correlation.
pub(super) const CORRELATION: &[&str] = &["log", "correlation="];

/// Carries out the command line of another verb.
pub(crate) type LineRunner = fn(&Global, Vec<String>) -> Result<Exit, Failure>;

/// Free names, which need to say what they are.
const OTHERS: [(&str, &[&str]); 3] = [
    ("thread:", &["thread", "show", "--", "/"]),
    ("correlation:", CORRELATION),
    ("stream:", ENTITY),
];

/// The words that show a question by its whole id.
pub(super) const QUESTION: &[&str] = &["decision", "show", "--"];

/// The words that write what a run printed.
pub(super) const OUTPUT: &[&str] = &["output", "--"];

/// What shows the records about something, whatever it is.
pub(super) const ENTITY: &[&str] = &["log", "entity="];

/// Shows what has a free name, or the records of a part of a run by its id; `None` where neither is
/// meant.
pub(super) fn show(
    global: &Global,
    id: &str,
    as_records: bool,
    carry_out: LineRunner,
) -> Option<Result<Exit, Failure>> {
    if is_part(id) {
        return Some(carry_out(global, line(ENTITY, id)).inspect(|exit| {
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
            name if as_records && words.first() == Some(&"thread") => {
                carry_out(global, line(ENTITY, name))
            }
            name => carry_out(global, line(words, name)),
        })
    })
}

/// Shows a record that is about no run.
pub(super) fn record(
    global: &Global,
    sequence: u64,
    carry_out: LineRunner,
) -> Result<Exit, Failure> {
    let number = sequence.to_string();
    carry_out(global, line(&["log", "--since", &number, "--until"], &number))
}

/// The command line of another verb, whose last word is a value of others.
pub(super) fn line(words: &[&str], last: &str) -> Vec<String> {
    let (words, last) = match words.split_last() {
        Some((field, words)) if field.ends_with(['=', '/']) => {
            (words, vec![format!("{field}{last}")])
        }
        // A value may begin with a hyphen.
        Some((option, words)) if *option != "--" => (words, vec![format!("{option}={last}")]),
        _ => (words, vec![last.to_string()]),
    };
    ["holdpoint"].iter().chain(words).map(|word| (*word).to_string()).chain(last).collect()
}
