//! Rules of Holdpoint: events, commands, decide and evolve.
//!
//! Each of the systems is one folder with the same few files: `types`, `command`, `event`, `rules`,
//! `state`, `refusal`. [`core`] is what all of them are made of. [`governed`] is what needs several
//! of the first four at once, above all a loop with everything that belongs to it. [`world`] is all
//! of them together.
#![no_std]
#![forbid(unsafe_code)]
// What is forgotten does not compile: no arm is for whatever else there is.
#![deny(clippy::wildcard_enum_match_arm)]

extern crate alloc;

pub mod application;
pub mod core;
pub mod decision_point;
pub mod evidence_capture;
pub mod execution_loop;
pub mod governed;
pub mod human_decision;
pub mod interruption_thread;
pub mod log;
pub mod registration;
pub mod sandbox_fault;
pub mod world;

pub use crate::core::actor::{ActorId, Proof};
pub use crate::core::forbidden::ForbiddenEvent;
pub use crate::core::ids::Idempotency;
pub use crate::core::time::Timestamp as Time;
pub use log::WriterCommand;
pub use world::{
    Command, Envelope, Event, Refusal, World, check_repeated, decide, decide_for_reducer,
    decide_for_writer, kind_name,
};

#[doc = include_str!("weaknesses.md")]
pub mod weaknesses {}
