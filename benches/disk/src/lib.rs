//! Speed at which a log is written, verified and opened on a disk, beside what nothing can do
//! faster there.
//!
//! A figure is measured in rounds in which everyone takes part in turns, so that whatever else the
//! machine does meets all of them; what counts is the median, and the ratio to ours taken round by
//! round. Absolute times say something of one machine only.

pub mod child;
pub mod error;
pub mod figure;
pub mod figures;
pub mod floor;
pub mod hashing;
pub mod machine;
mod one_core;
pub mod ours;
pub mod own_disk;
pub mod pace;
pub mod plan;
pub mod rounds;
pub mod store;

pub use error::MeasureError;
pub use figure::{Figure, Kind, Line, Outcome, Role, Scope, Unit};
pub use figures::{Others, figures};
pub use pace::Pace;
pub use plan::{Effort, Plan};
pub use store::Candidate;
