//! Tests that need the inside of the log.

#[cfg(feature = "model")]
pub(crate) mod model;
