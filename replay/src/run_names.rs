//! The names of those who began runs, and of those who said yes to them, as indexes keep them.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Searched, row_facts};
use holdpoint_domain::world::{RowFact, RowKind};
use holdpoint_log_files::ReadStorage;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Names on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunNames {
    /// Names of those who began a run.
    pub began: BTreeSet<String>,
    /// Names of those who answered a question before a run, or said yes to one of a run.
    pub answered: BTreeSet<String>,
}

/// Every name of both kinds.
///
/// # Errors
/// As [`crate::verify()`].
pub fn names_of_runs<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
) -> Result<(RunNames, Searched), ReadError> {
    let mut names = RunNames::default();
    let searched = row_facts(storage, options, &mut |_| {}, &|_| true, &mut |segment| {
        let names_somebody =
            |kind| matches!(kind, RowKind::Began | RowKind::Answered | RowKind::Agreed);
        for (_, fact) in segment.of_kinds(names_somebody) {
            match fact {
                Some(RowFact::Began { by, .. }) => keep(&mut names.began, by.as_str()),
                Some(RowFact::Answered { by, .. } | RowFact::Agreed { by, .. }) => {
                    keep(&mut names.answered, by.as_str());
                }
                _ => {}
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((names, searched))
}

fn keep(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_string());
    }
}
