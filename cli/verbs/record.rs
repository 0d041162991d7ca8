//! Verbs that write to the record.

pub(crate) mod apply;
pub(crate) mod event;
pub(crate) mod run;
