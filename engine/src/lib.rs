//! A room of Holdpoint.

pub mod executor;
