//! The execution loop (Phase-29) and the governance of what an executor answers (Phase-30), with
//! the closed types of Phase-01 and Phase-28 that they import.
//!
//! Everything here is a pure function of its arguments. An executor's report is data, not truth.

pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod rules;
pub(crate) mod types;

pub use command::*;
pub use event::*;
pub use rules::*;
pub use types::*;
