//! Registrations: who may call PH1.X, and the tenants, users, devices, sessions, work orders and
//! leases that its scope and gating rules presume (seed PH1.X: every capability names them, none
//! says how they come to be).

pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod types;

pub use command::*;
pub use event::*;
pub use state::*;
pub use types::*;
