//! Statements of the log about itself, and the policy that a person recorded in it.

pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod policy;
pub(crate) mod policy_text;
pub(crate) mod state;

pub use command::*;
pub use event::*;
pub use policy::*;
pub use policy_text::*;
pub use state::*;
