//! What the rules of Holdpoint say: events, commands, decide and evolve.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod closed;
pub mod confidence;
pub mod evidence_capture;
pub mod execution_loop;
pub mod hash;
pub mod sandbox_fault;
pub mod text;
pub mod time;
#[doc = include_str!("weaknesses.md")]
pub mod weaknesses {}
