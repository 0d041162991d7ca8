//! Tests that need the inside of the shell.

#[cfg(feature = "model")]
mod model;
