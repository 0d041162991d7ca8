//! A fault of a line, and its place.

use holdpoint_domain::core::text::{bounded, visible};
use std::fmt;

/// Longest message, in bytes: it may quote the line, which may be anything.
const MESSAGE_BYTES_MAX: usize = 400;

/// A fault of a line, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    at: Option<usize>,
    field: String,
    message: String,
}

impl Fault {
    /// A fault after so many bytes of the line.
    pub fn at(at: usize, message: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::somewhere(message) }
    }

    /// The fault as the object or list around it sees it: `step` is a name or `[index]`.
    pub fn inside(mut self, step: &str) -> Self {
        let step = visible(bounded(step, MESSAGE_BYTES_MAX)).to_string();
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{step}{dot}{}", self.field);
        self
    }

    /// The fault at this place, unless it has one.
    pub fn or_at(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }

    /// The place: bytes from 1.
    pub fn column(&self) -> usize {
        self.at.unwrap_or(0).saturating_add(1)
    }

    /// In which field, as `submit.items[0].raw_data`; empty for the line as a whole.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The fault.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn somewhere(message: impl Into<String>) -> Self {
        let message: String = message.into();
        let message = match bounded(&message, MESSAGE_BYTES_MAX) {
            whole if whole.len() == message.len() => message,
            cut => format!("{cut}.."),
        };
        Self { at: None, field: String::new(), message }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column(), visible(&self.message))
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::somewhere(message.to_string())
    }
}
