//! A question before a start as whoever answers it reads it first: what would run, what carries
//! code into it, and what is not bound. The rest is counted.

use super::context::{Edition, is_usual_line, of_kind, unbound_left_out};
use super::facts::COMMAND;
use super::named_files::{FILE, UNREAD};
use super::program::PROGRAM;
use super::shown_command::in_prompt;
use super::variables::{AS_USUAL, CODE, SEARCH, UNBOUND};

/// Text before a digest.
const DIGEST: &str = ", SHA-256 ";
/// Text before the device of a directory.
const DEVICE: &str = " (device ";

/// Something that has a name, and what the question shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLine {
    /// Its name.
    pub name: String,
    /// The value, or why it is not bound.
    pub shown: String,
}

/// The circumstances of a start, taken from the context of its question. Whoever wrote that may
/// have been anybody: every text is to be shown as one of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartSummary {
    /// The command line.
    pub command: String,
    /// The canonical path of the directory.
    pub directory: String,
    /// The canonical path of the program.
    pub program: String,
    /// Standard input, where there is any.
    pub input: Option<String>,
    /// The files that are bound by content.
    pub files: Vec<String>,
    /// The variables that carry code, with their values.
    pub code: Vec<NamedLine>,
    /// The search path in words; `None` where it is as usual, or the question is an older one.
    pub search: Option<String>,
    /// The files that the command names and that are not bound.
    pub unread: Vec<NamedLine>,
    /// The variables that are not bound.
    pub unbound: Vec<NamedLine>,
    /// Number of files and variables that are not bound besides, for want of room.
    pub unbound_besides: usize,
    /// True if files that words of the command name are bound without being named for it.
    pub binds_named_files: bool,
    /// True if the context says something that is not here: then all of it is to be read.
    pub says_more: bool,
}

/// The question in a sentence.
pub(super) fn sentence(command_line: &str) -> String {
    format!("Start {}?", in_prompt(command_line))
}

impl StartSummary {
    /// Reads what the context of a question says; `None` where it says nothing of a command.
    #[must_use]
    pub fn of(context: &str) -> Option<Self> {
        let first = |kind: &str| of_kind(context, kind).next().map(|(_, value)| value);
        let lines = |kind: &str| {
            let of = |(name, shown): (&str, &str)| NamedLine {
                name: name.to_string(),
                shown: shown.to_string(),
            };
            of_kind(context, kind).map(of).collect::<Vec<_>>()
        };
        let before = |text: Option<&str>, mark: &str| {
            let text = text.unwrap_or_default();
            text.rsplit_once(mark).map_or(text, |(before, _)| before).to_string()
        };
        let is_newest = Edition::of_context(context) == Edition::Second;
        Some(Self {
            command: first(COMMAND)?.to_string(),
            directory: before(first("directory"), DEVICE),
            program: before(first(PROGRAM), DIGEST),
            input: first("input").filter(|input| *input != "nothing").map(str::to_string),
            files: of_kind(context, FILE).map(|(name, _)| name.to_string()).collect(),
            code: lines(CODE),
            search: first(SEARCH).filter(|search| *search != AS_USUAL).map(str::to_string),
            unread: lines(UNREAD),
            unbound: lines(UNBOUND),
            unbound_besides: unbound_left_out(context),
            binds_named_files: is_newest,
            says_more: !context.lines().all(is_usual_line),
        })
    }

    /// Returns whether this is what the question's first sentence asks about.
    #[must_use]
    pub fn is_asked_as(&self, prompt: &str) -> bool {
        prompt == sentence(&self.command)
    }
}
