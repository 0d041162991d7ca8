//! Verbs that rebuild states, and compare them.

pub(crate) mod diff;
pub(crate) mod replay;
