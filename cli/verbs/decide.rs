//! Verbs that answer questions, and say who may.

pub(crate) mod decision;
pub(crate) mod inbox;
pub(crate) mod policy;
