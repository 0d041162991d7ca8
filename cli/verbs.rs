//! The verbs, by the job that they do. None names another one.

pub(crate) mod decide;
pub(crate) mod look;
pub(crate) mod prove;
pub(crate) mod record;
pub(crate) mod setup;
pub(crate) mod state;
pub(crate) mod thread;
