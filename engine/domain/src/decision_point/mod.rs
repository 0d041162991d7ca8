//! Decision points (seed "Decisions"): a program asks, a person answers, once.
//!
//! A decision point is one *round* of a question: it has its own id, and exactly one event ends it.
//! Guidance ends a round and opens the next one, linked both ways; all rounds of a question share
//! the id of the first as their chain.

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod offered;
pub(crate) mod refusal;
pub(crate) mod round;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod types;
pub(crate) mod view;

pub use check::*;
pub use command::*;
pub use event::*;
pub use refusal::*;
pub use state::*;
pub use types::*;
pub use view::*;
