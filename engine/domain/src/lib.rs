//! What the rules of Holdpoint say: events, commands, decide and evolve.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod closed;
pub mod codec;
pub mod command;
pub mod confidence;
pub mod decide;
pub mod decision_point;
pub mod envelope;
pub mod event;
pub mod evidence_capture;
pub mod evolve;
pub mod execution_loop;
pub mod hash;
pub mod human_decision;
pub mod interruption_thread;
pub mod limits;
pub mod policy;
pub mod principal;
pub mod refusal;
pub mod sandbox_fault;
#[cfg(feature = "schema")]
mod schema;
pub mod terms;
pub mod text;
pub mod time;
pub mod world;

pub use command::{Command, WriterCommand};
pub use decide::{decide, decide_for_writer};
pub use envelope::{ActorId, Envelope, Idempotency};
pub use event::{Event, kind_name};
pub use evolve::ForbiddenEvent;
pub use principal::Proof;
pub use refusal::Refusal;
pub use time::Timestamp as Time;
pub use world::World;
#[doc = include_str!("weaknesses.md")]
pub mod weaknesses {}
