//! What verifies of a damaged log, and what does not: the plan that a salvage copies by, and that
//! a damage map shows. The source is only read.

mod plan;
mod segment;
mod source;
mod survey;

pub use plan::{Kept, Loss, Piece, Plan, Unproven};
pub use source::{Source, SourceSegment, Standing};
pub use survey::{Visit, plan};
