//! How many questions a project's file lets be open at once: never more than elsewhere.

use super::{Configuration, floors};
use crate::args::Global;
use crate::ui::Failure;
use holdpoint_domain::world::OpenBounds;
use holdpoint_engine::floors::QuestionsTable;
use std::sync::OnceLock;

/// What the project's file of this process says.
static BOUNDS: OnceLock<OpenBounds> = OnceLock::new();

/// Takes the bounds of the project's file for every log that this process opens.
pub(crate) fn bound_questions(global: &Global) -> Result<(), Failure> {
    let table = Configuration::load(global)?.settings.questions;
    if table != QuestionsTable::default() {
        // A process has one configuration.
        let _ = BOUNDS.set(table.over(floors()?.open_bounds()));
    }
    Ok(())
}

/// The bounds of the project's file, where it says any.
pub(crate) fn open_bounds() -> Option<OpenBounds> {
    BOUNDS.get().copied()
}
