//! Our part.

mod log;
pub(crate) mod typed;

pub use log::{LOG, SHARED_LOG};
pub use typed::{ENGINE, SHARED_ENGINE};
