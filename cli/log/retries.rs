//! Runs that were begun again because of a person's RETRY about another one, and what is told of
//! that.

use crate::log::Directory;
use crate::log::run_records::ID_CHARACTERS;
use crate::ui::{Failure, complain, named};
use holdpoint_replay::run_list::{Placed, Retries};
use holdpoint_replay::{Run, Searched, retries_of};

/// So many columns stand before a run for each one that it is under, and so many at most.
const INDENT: (usize, usize) = (2, 8);

/// Those of some runs, and what was read for them.
pub(crate) fn read(
    directory: &Directory,
    runs: &[Run],
) -> Result<(Retries, Option<Searched>), Failure> {
    directory.read(|log, options| retries_of(log, runs, options))
}

/// Returns the columns that stand before it.
pub(crate) fn indent(placed: &Placed<'_>) -> usize {
    INDENT.0.saturating_mul(placed.depth).min(INDENT.1)
}

/// The beginning of its id, and whether it says that it was begun again: nothing proves that.
pub(crate) fn id(placed: &Placed<'_>) -> String {
    let id = placed.run.entity.loop_id();
    let again = if placed.retry.is_some() { " again?" } else { "" };
    format!("{}{again}", id.get(..ID_CHARACTERS).unwrap_or(id))
}

/// Says of those that were begun again and stand under none after which ones they were.
pub(crate) fn tell_apart(placed: &[Placed<'_>]) {
    let alone = placed.iter().filter(|it| it.depth == 0).filter_map(|it| Some((it, it.retry?)));
    let alone: Vec<_> = alone.collect();
    let Some((first, retry)) = alone.first() else { return };
    let (id, after) = (first.run.entity.loop_id(), named(&retry.run));
    complain(&match alone.len() {
        1 => format!("{id} was begun again after {after}, which does not stand above it"),
        count => format!(
            "{count} runs were begun again after others that do not stand above them, the first of \
             them {id} after {after}; `holdpoint show RUN` tells of each"
        ),
    });
}
