//! Runs that were begun again because of a person's RETRY about another one: where they stand in a
//! list, and what is told of that.

use crate::log::Directory;
use crate::log::run_records::ID_CHARACTERS;
use crate::ui::{Failure, complain, named};
use holdpoint_domain::{ActorId, Proof};
use holdpoint_replay::{Retry, Run, Searched, retries_of};
use serde::Serialize;
use std::collections::BTreeMap;

/// The RETRY with which runs say that they began, by their loops.
pub(crate) type Retries = BTreeMap<String, Retry>;

/// So many columns stand before a run for each one that it is under, and so many at most.
const INDENT: (usize, usize) = (2, 8);

/// What a program is shown of a RETRY.
#[derive(Serialize)]
pub(crate) struct RetryOf<'r> {
    /// The run that it is about.
    run: &'r str,
    record: u64,
    by: &'r ActorId,
    proof: Option<Proof>,
    /// What is proven of its record.
    standing: &'static str,
}

impl<'r> RetryOf<'r> {
    pub(crate) fn of(retry: &'r Retry) -> Self {
        Self {
            run: &retry.run,
            record: retry.sequence,
            by: &retry.by.actor,
            proof: retry.by.proof,
            standing: retry.by.standing.name(),
        }
    }
}

/// Those of some runs, and what was read for them.
pub(crate) fn read(
    directory: &Directory,
    runs: &[Run],
) -> Result<(Retries, Option<Searched>), Failure> {
    directory.read(|log, options| retries_of(log, runs, options))
}

/// A run in a list, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'r> {
    pub(crate) run: &'r Run,
    /// Under how many others.
    depth: usize,
    pub(crate) retry: Option<&'r Retry>,
    /// Whether it has not ended, and nobody records it.
    pub(crate) is_unfinished: bool,
}

impl Placed<'_> {
    /// How many columns stand before it.
    pub(crate) fn indent(&self) -> usize {
        INDENT.0.saturating_mul(self.depth).min(INDENT.1)
    }

    /// Whether it stands behind what began with a record.
    pub(crate) fn comes_after(&self, first: u64) -> bool {
        self.depth == 0 && self.run.first < first
    }

    /// The beginning of its id, and whether it says that it was begun again: nothing proves that.
    pub(crate) fn id(&self) -> String {
        let id = self.run.entity.loop_id();
        let again = if self.retry.is_some() { " again?" } else { "" };
        format!("{}{again}", id.get(..ID_CHARACTERS).unwrap_or(id))
    }
}

/// Runs as they were listed, each for itself.
pub(crate) fn apart<'r>(runs: &'r [Run], retries: &'r Retries) -> Vec<Placed<'r>> {
    let of = |run: &'r Run| {
        let retry = retries.get(run.entity.loop_id());
        Placed { run, depth: 0, retry, is_unfinished: false }
    };
    runs.iter().map(of).collect()
}

/// Runs as they were listed, the newest first, but each that was begun again under the one which it
/// was begun after, where that is listed as well.
pub(crate) fn placed<'r>(runs: &'r [Run], retries: &'r Retries) -> Vec<Placed<'r>> {
    let listed: BTreeMap<&str, &Run> = runs.iter().map(|run| (run.entity.loop_id(), run)).collect();
    let mut under: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    let mut due = Vec::new();
    for run in runs.iter().rev() {
        let retry = retries.get(run.entity.loop_id());
        // Each stands under one that began before it, whatever a log says.
        let above = retry.filter(|retry| {
            listed.get(retry.run.as_str()).is_some_and(|above| above.first < retry.sequence)
        });
        match above {
            Some(retry) => under.entry(&retry.run).or_default().push(run),
            None => due.push((run, 0)),
        }
    }
    let mut placed = Vec::new();
    while let Some((run, depth)) = due.pop() {
        let id = run.entity.loop_id();
        placed.push(Placed { run, depth, retry: retries.get(id), is_unfinished: false });
        let below = under.remove(id).into_iter().flatten().rev();
        due.extend(below.map(|run| (run, depth.saturating_add(1))));
    }
    placed
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
