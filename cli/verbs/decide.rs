//! Verbs that answer questions, and say who may.

pub(crate) mod answer;
pub(crate) mod decision;
pub(crate) mod hold;
pub(crate) mod inbox;
pub(crate) mod policy;
