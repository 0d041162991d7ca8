//! Exit codes, and failures on the way to one.

use crate::ui::output::ascii;
use crate::ui::screen::{columns_of, with_few_marks};
use crate::ui::{Page, hints, streams};
use holdpoint_engine::shell::EXIT_HOLDPOINT_FAILED;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

/// The end of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Exit(u8);

impl Exit {
    /// Done.
    pub(crate) const DONE: Self = Self(0);
    /// The disk or this program failed.
    pub(crate) const FAILED: Self = Self(1);
    /// The command line, the configuration or the input is wrong.
    pub const USAGE: Self = Self(2);
    /// Not found, or nothing there.
    pub(crate) const NOT_FOUND: Self = Self(3);
    /// Somebody else was first.
    pub(crate) const CONFLICT: Self = Self(4);
    /// A rule said no.
    pub(crate) const REFUSED: Self = Self(5);
    /// The log does not verify.
    pub(crate) const VERIFICATION_FAILED: Self = Self(6);
    /// Waits: still open when the wait's own time was over.
    pub(crate) const STILL_PENDING: Self = Self(10);
    /// Waits: expired, and the default was taken, which is no rejection.
    pub(crate) const DEFAULT_TAKEN: Self = Self(11);
    /// Waits: expired without a decision.
    pub(crate) const TIMED_OUT: Self = Self(12);
    /// Waits: cancelled or revoked, or the run ended.
    pub(crate) const CANCELLED: Self = Self(13);
    /// Waits: another question took its place.
    pub(crate) const SUPERSEDED: Self = Self(14);
    /// Waits: guidance led to another round.
    pub(crate) const ITERATED: Self = Self(15);
    /// Waits: the answer is a no.
    pub(crate) const REJECTED: Self = Self(16);
    /// Waits: RETRY.
    pub(crate) const RETRY: Self = Self(17);
    /// `run`: Holdpoint itself failed, as `timeout` and `env` say it.
    pub(crate) const HOLDPOINT_FAILED: Self = Self(EXIT_HOLDPOINT_FAILED);

    /// The same; what is done is not done where a sentence about it is lost.
    pub(crate) fn unless_untold(self) -> Self {
        if self == Self::DONE && streams::is_untold() { Self::FAILED } else { self }
    }

    /// The same, or another where it is done.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::DONE { other } else { self }
    }

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        self.0
    }

    /// The status of a command, passed on.
    pub(crate) fn of_command(status: u8) -> Self {
        Self(status)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// Why a verb gives no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The end of the program.
    pub exit: Exit,
    code: Cow<'static, str>,
    message: String,
    /// More that a program is told of it.
    more: Map<String, Value>,
}

impl Failure {
    /// A failure with a stable code for programs and a sentence that says what to do.
    pub(crate) fn new(
        exit: Exit,
        code: impl Into<Cow<'static, str>>,
        message: impl Display,
    ) -> Self {
        Self { exit, code: code.into(), message: message.to_string(), more: Map::new() }
    }

    /// Returns whether this is its code.
    pub(crate) fn is_called(&self, code: &str) -> bool {
        self.code == code
    }

    /// The same failure, of which a program is told more.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.more.insert(key.to_string(), value);
        self
    }

    /// The same failure, with what a full disk was asked for and what it had.
    pub(crate) fn with_room(self, room: Option<(u64, Option<u64>)>) -> Self {
        match room {
            Some((needed, free)) => {
                self.with("needed_bytes", needed.into()).with("free_bytes", free.into())
            }
            None => self,
        }
    }

    /// The same failure, of which a program is told null under a key where it is told nothing else.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.more.entry(key).or_insert(Value::Null);
        self
    }

    /// Returns whether a program is told something under this key.
    pub(crate) fn tells(&self, key: &str) -> bool {
        self.more.contains_key(key)
    }

    /// The same failure, whose sentence goes on.
    pub(crate) fn adding(mut self, words: &str) -> Self {
        self.message.push_str(words);
        self
    }

    /// The same failure under another code.
    pub(crate) fn called(self, code: &'static str) -> Self {
        Self { code: code.into(), ..self }
    }

    /// The same failure of a log, whose commands name that one.
    pub(crate) fn on(mut self, log: &Path) -> Self {
        self.message = hints::on(log, &self.message);
        self
    }

    /// The same failure, with which the program ends so.
    pub(crate) fn exiting(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// The same failure of `run`, where nothing was started.
    pub(crate) fn of_run(self) -> Self {
        Self { exit: Exit::HOLDPOINT_FAILED, ..self }.adding("; the command was not started")
    }

    /// The name by which programs tell it from others.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The value that a program is told.
    pub fn value(&self) -> Value {
        json!({ "error": self.error() })
    }

    /// The failure, beside something else that a program is told.
    pub(crate) fn error(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), json!(self.code));
        error.insert("message".into(), json!(hints::pasted(&self.message)));
        error.extend(self.more.clone());
        Value::Object(error)
    }

    /// Says so on stderr and nowhere else: for verbs that write a stream of values, which is then
    /// empty or ends here.
    pub(crate) fn tell(&self) -> Exit {
        complain(&self.message);
        self.exit
    }

    /// Says so on stderr alone, as a sentence and behind it as JSON on one line.
    pub(crate) fn tell_line(&self) -> Exit {
        let exit = self.tell();
        self.mention_line();
        exit
    }

    /// Says so on stderr as JSON on one line.
    pub(crate) fn mention_line(&self) {
        streams::tell(&ascii(&self.value().to_string()));
    }
}

/// Writes a sentence to stderr, folded where that is a terminal; its commands name the log.
pub(crate) fn complain(sentence: &str) {
    let sentence = format!("holdpoint: {}", hints::pasted(sentence));
    let sentence = with_few_marks(&sentence).into_owned();
    let told = match std::io::stderr().is_terminal() {
        true => folded(&sentence, columns_of(std::io::stderr())),
        false => sentence,
    };
    streams::tell(&told);
}

fn folded(sentence: &str, columns: usize) -> String {
    let mut page = Page::new(columns);
    sentence.split('\n').for_each(|line| match line.strip_prefix("  ") {
        Some(command) => page.pasted(command),
        None => page.sentence(line),
    });
    page.lines().join("\n")
}
