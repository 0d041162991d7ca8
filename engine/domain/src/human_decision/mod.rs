//! Human-mediated decisions (Phase-32): only a person decides, every decision binds what the
//! person saw, and whatever is ambiguous or late is ABORT.
//!
//! The seed's own record hash joins fields with NUL and covers nothing of the summary but the
//! chain's hash. It is kept for compatibility; what is relied on is the injective hash of this
//! module: [`AuditHead::injective_head`] covers every decision, its place, its session, the whole
//! request that the person saw, and by what means it was answered.
//!
//! A deadline that is now has passed: an answer counts only strictly before it.

pub(crate) mod audit;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod refusal;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod terms;
pub(crate) mod types;

pub use audit::*;
pub use command::*;
pub use event::*;
pub use refusal::*;
pub use rules::*;
pub use state::*;
pub use terms::*;
pub use types::*;
