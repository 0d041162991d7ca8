//! What one check came to.

use crate::ui::text::visible_once;
use serde::Serialize;

/// How one thing stands, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// It works, and may not do what is wanted.
    Warn,
    /// It does not do what it is there for.
    Fail,
}

impl State {
    /// The word for it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) name: &'static str,
    /// How it stands.
    pub(super) state: State,
    /// What was found.
    pub(super) message: String,
    /// What to do about it; null where nothing is to be done.
    pub(super) advice: Option<String>,
}

impl Check {
    /// As it should be.
    pub(super) fn ok(name: &'static str, message: impl AsRef<str>) -> Self {
        Self { name, state: State::Ok, message: visible_once(message.as_ref()), advice: None }
    }

    /// It works, and may not do what is wanted.
    pub(super) fn warn(name: &'static str, message: impl AsRef<str>, advice: &str) -> Self {
        let advice = Some(advice.to_string());
        Self { state: State::Warn, advice, ..Self::ok(name, message) }
    }

    /// It does not do what it is there for.
    pub(super) fn fail(name: &'static str, message: impl AsRef<str>, advice: &str) -> Self {
        Self { state: State::Fail, ..Self::warn(name, message, advice) }
    }

    /// The same, said of a place.
    pub(super) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}
