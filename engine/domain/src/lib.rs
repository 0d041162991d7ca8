//! What the rules of Holdpoint say: events, commands, decide and evolve.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
