//! How cost follows the length of a log: memory, opening, appending and finding again, at ten
//! thousand records and at ten million, with the same number of live entities.
//!
//! One process writes a history. Whatever is measured is measured in processes of its own, in
//! rounds in which the logs of all lengths take turns.

mod errand;
mod inbox;
mod look;
mod memory;
mod picture;
mod place;
mod report;
mod result;
mod run;

pub use errand::{Errand, as_child};
pub use inbox::InboxPlan;
pub use look::{Look, PROGRAM, as_program, is_program};
pub use memory::Memory;
pub use picture::curves;
pub use report::markdown;
pub use result::{InboxPoint, LookPoint, Percentiles, Point, Ratio, Scale, Spread};
pub(crate) use run::{OPENING_GROWS, WRITERS_MEMORY};
pub use run::{ScalePlan, measure};
