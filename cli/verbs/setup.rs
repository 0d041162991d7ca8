//! Verbs that set the program up, and look at how it is set up.

pub(crate) mod config;
