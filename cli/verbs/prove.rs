//! Verbs that prove a log, and hand it on.

pub(crate) mod archive;
pub(crate) mod continue_log;
pub(crate) mod copy;
pub(crate) mod export;
pub(crate) mod verify;
