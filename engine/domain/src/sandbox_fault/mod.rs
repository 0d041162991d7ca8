//! Runtime sandbox and fault isolation (Phase-21): what follows when an execution goes wrong.
//!
//! A fault never ends in more than it started with. The outcome of a fault is TERMINATE, RETRY of
//! the very same execution, or ESCALATE to a human; none of them can name another instruction,
//! another executor, a longer timeout or a higher limit, because a [`SandboxDecisionResult`] has
//! no field for any of these. RETRY is a permission, not an order.

pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod rules;
pub(crate) mod types;

pub use command::*;
pub use event::*;
pub use rules::*;
pub use types::*;
