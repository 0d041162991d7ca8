//! Verbs that show what happened.

pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod runs;
pub(crate) mod show;
