//! Measures Holdpoint against what it cannot beat, and against what else there is, in one run.
//!
//! How a figure is measured stands in `holdpoint-disk-bench`, which is what `holdpoint bench` runs
//! on a user's own disk. Here is what judges, explains and draws the figures, the histories that
//! they are measured on, and who else takes part. Without the feature `peers` there are ours and
//! the floors alone.

pub mod allocator;
pub mod bars;
mod explanations;
pub mod history;
#[cfg(feature = "peers")]
pub mod peers;
pub mod report;
pub mod results;
pub mod scale;
pub mod svg;
pub mod syncs;

pub use holdpoint_disk_bench::{
    Candidate, Effort, Figure, Kind, Line, MeasureError, Others, Outcome, Pace, Plan, Role, Scope,
    Unit, child, error, figure, figures, floor, machine, ours, pace, plan, rounds, store,
};
