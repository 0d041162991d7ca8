//! The verbs, by the job that they do. None names another one.

pub(crate) mod setup;
