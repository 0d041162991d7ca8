//! The scan of a damaged log: which of its records survive, which of them a witness ties, and where
//! the holes lie. It alone decides that: a salvage copies what it says, and a damage map explains
//! the holes. The log is only read.
//!
//! What is tied comes first, from the newest witness back, wherever it lies. What nothing ties is
//! kept where it is whole and in its place, is said to be unproven, and takes no place of what is
//! tied.

mod frames;
mod moved;
mod outcome;
mod part;
mod segment;
mod source;
mod survey;

pub use frames::{Frame, HoleContent, link_of, link_stored_at, size_at};
pub use outcome::{ChainPart, DamageScan, Loss, Piece, Unproven};
pub use source::{SegmentState, Source, SourceSegment, inferred_header};
pub use survey::{Payload, Visit};
