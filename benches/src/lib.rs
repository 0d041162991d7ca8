//! Measures Holdpoint against what it cannot beat, and against what else there is, in one run.
//!
//! A figure is measured in rounds in which everyone takes part in turns, so that whatever else the
//! machine does meets all of them; what counts is the median, and the ratio to ours taken round by
//! round. Absolute times say something of one machine only.
//!
//! Without the feature `peers` there are ours and the floors alone; without `harness`, only what
//! `holdpoint bench` runs on a user's own disk.

#[cfg(feature = "harness")]
pub mod bars;
pub mod child;
pub mod error;
#[cfg(feature = "harness")]
mod explanations;
pub mod figure;
pub mod figures;
pub mod floor;
#[cfg(feature = "harness")]
pub mod history;
pub mod machine;
pub mod ours;
pub mod own_disk;
mod pace;
#[cfg(feature = "peers")]
pub mod peers;
pub mod plan;
#[cfg(feature = "harness")]
pub mod report;
#[cfg(feature = "harness")]
pub mod results;
pub mod rounds;
#[cfg(feature = "harness")]
pub mod scale;
pub mod store;
#[cfg(feature = "harness")]
pub mod svg;
#[cfg(feature = "harness")]
pub mod syncs;

pub use error::MeasureError;
pub use figure::{Figure, Kind, Line, Outcome, Role, Scope, Unit};
pub use figures::{Others, figures};
pub use pace::Pace;
pub use plan::{Effort, Plan};
pub use store::Candidate;
