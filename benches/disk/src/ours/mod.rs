//! Our part.

mod log;
pub(crate) mod typed;

pub use log::LOG;
pub use typed::ENGINE;
