//! Events of the program that embeds Holdpoint: what happened to its own streams, in its own words.
//!
//! The rules know that such an event happened, to which stream and under which name. What its bytes
//! mean is known to the application alone, whose reducers make a state of them.

pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod types;

pub use command::*;
pub use event::*;
pub use state::*;
pub use types::*;
