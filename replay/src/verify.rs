//! Verifying: what a log proves, four things apart.

use crate::axes::report;
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions, read};
use crate::rebuild::Until;
use crate::report::Report;
use holdpoint_domain::world::World;
use holdpoint_log_files::ReadStorage;

/// Verifies a whole log: every byte of it against the chain and the recovery table, every event
/// against the rules. Memory follows live entities, not history.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version. Damage is no error: it
/// is in the report.
pub fn verify<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    let mut meaning = Meaning::new(World::default(), Until::End);
    let reading = read(storage, options, progress, &mut |batch| {
        meaning.apply(batch);
    })?;
    Ok(report(reading, Some(&meaning)))
}
