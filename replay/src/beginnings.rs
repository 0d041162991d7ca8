//! Runs and questions to people, by how their ids begin.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Searched, row_facts};
use holdpoint_domain::world::kind_may_begin;
use holdpoint_log_files::ReadStorage;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The ids of the runs, the rounds of decision points and the requests whose id begins in one of
/// these ways. All are looked for in one pass.
///
/// # Errors
/// As [`crate::verify()`].
pub fn ids_beginning_with<S: ReadStorage>(
    storage: &S,
    beginnings: &BTreeSet<String>,
    options: ReadOptions<'_>,
) -> Result<(BTreeSet<String>, Searched), ReadError> {
    let is_meant = |id: &str| beginnings.iter().any(|it| id.starts_with(it.as_str()));
    let mut found = BTreeSet::new();
    let searched = row_facts(storage, options, &mut |_| {}, &kind_may_begin, &mut |segment| {
        found.extend(segment.begun(is_meant));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((found, searched))
}
