//! How many questions a project's file lets be open at once: never more than elsewhere.

use super::demands::looser;
use super::{Configuration, floors};
use crate::arguments::Global;
use crate::exit::Failure;
use crate::text::path;
use holdpoint_domain::world::OpenBounds;
use holdpoint_engine::floors::QuestionsTable;
use std::sync::OnceLock;

/// What the project's file of this process says.
static BOUNDS: OnceLock<OpenBounds> = OnceLock::new();

/// Takes the bounds of the project's file for every log that this process opens. A file that cannot
/// be read is told of by whoever works under it.
pub(crate) fn bound_questions(global: &Global) -> Result<(), Failure> {
    let Ok(configuration) = Configuration::load(global) else { return Ok(()) };
    let table = configuration.settings.questions;
    if table == QuestionsTable::default() {
        return Ok(());
    }
    let most = floors()?.open_bounds();
    if let Some(loosened) = table.loosens(most) {
        let failure = looser("what the machine and its user allow", loosened);
        let file = configuration.file.as_deref().map(path).unwrap_or_default();
        return Err(failure.adding(&format!("; {file} may only say less")));
    }
    // A process has one configuration.
    let _ = BOUNDS.set(table.over(most));
    Ok(())
}

/// The bounds of the project's file, where it says any.
pub(crate) fn open_bounds() -> Option<OpenBounds> {
    BOUNDS.get().copied()
}
