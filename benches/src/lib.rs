//! Measures Holdpoint against what it cannot beat, and against what else there is, in one run.
//!
//! A figure is measured in rounds in which everyone takes part in turns, so that whatever else the
//! machine does meets all of them; what counts is the median, and the ratio to ours taken round by
//! round. Absolute times say something of one machine only.
//!
//! `holdpoint-bench` measures our part on a user's own disk. `results` measures, judges, explains
//! and draws all of it; without the feature `peers` there are ours and the floors alone.

pub mod allocator;
pub mod bars;
pub mod child;
pub mod error;
mod explanations;
pub mod figure;
pub mod figures;
pub mod floor;
pub mod history;
pub mod machine;
mod one_core;
pub mod ours;
pub mod own_disk;
pub mod pace;
#[cfg(feature = "peers")]
pub mod peers;
pub mod plan;
pub mod report;
pub mod results;
pub mod rounds;
pub mod scale;
pub mod store;
pub mod svg;
pub mod syncs;

pub use error::MeasureError;
pub use figure::{Figure, Kind, Line, Outcome, Role, Scope, Unit};
pub use figures::{Others, figures};
pub use pace::Pace;
pub use plan::{Effort, Plan};
pub use store::Candidate;
