//! Runtime observation and evidence capture (Phase-31): passive, immutable, hash-chained, and
//! halting whatever it does not know.
//!
//! The seed's own hash joins fields with NUL and is not injective, covers no identity and has no
//! anchor. It is kept in every record for compatibility; what is relied on is the injective hash
//! of this module: [`ChainHead::injective_head`] covers every field of every record, its place,
//! its chain, session, loop, executor and envelope, and a [`ChainSeal`] says that nothing follows.

pub(crate) mod chain;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod integration;
pub(crate) mod pieces;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod types;

pub use chain::*;
pub use command::*;
pub use event::*;
pub use integration::*;
pub use pieces::*;
pub use rules::*;
pub use state::*;
pub use types::*;
