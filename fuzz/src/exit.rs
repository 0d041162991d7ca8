//! What the program's files that are built in here say when something is wrong.

use serde_json::Value;
use std::fmt::Display;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// The command line is wrong.
    pub const USAGE: Self = Self(2);
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What programs tell it from others by.
    pub code: &'static str,
    message: String,
    /// What else a program is told of it.
    pub more: Vec<(&'static str, Value)>,
}

impl Failure {
    /// A failure with a code and a sentence.
    pub fn new(exit: Exit, code: &'static str, message: impl Display) -> Self {
        Self { exit, code, message: message.to_string(), more: Vec::new() }
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same failure, of which a program is told more.
    pub fn with(mut self, key: &'static str, value: Value) -> Self {
        self.more.push((key, value));
        self
    }
}
