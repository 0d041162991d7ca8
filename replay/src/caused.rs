//! Consequences of a run beside its own course.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, Line, OneOf, Order, Searched, search};
use crate::run::Run;
use crate::runs::{Begun, RUN_BEGINS};
use holdpoint_log_files::ReadStorage;
use std::ops::ControlFlow;

/// The records that name a record of a run as their cause, in the order of the log.
#[derive(Debug, Default)]
pub struct Caused {
    /// Those that begin other runs.
    pub runs: Vec<Begun>,
    /// Those that are about no run, and those about this one behind the batch that ended it.
    pub records: Vec<Line>,
}

/// Finds what a run caused, and what was read for that, where anything had to be. `found_by`: the
/// reading by which the run was found. The newest segment is not read again where that met no
/// record in it which names one of the run's.
///
/// # Errors
/// As [`crate::verify()`].
pub fn caused_by<S: ReadStorage>(
    storage: &S,
    run: &Run,
    found_by: &Searched,
    options: ReadOptions<'_>,
) -> Result<(Caused, Option<Searched>), ReadError> {
    let own = run.doers.range(run.first..=run.last).map(|(sequence, _)| *sequence).collect();
    let met = found_by.newest_said().filter(|met| !met.name_any(&own));
    if met.is_some_and(|met| run.first >= met.first) {
        return Ok((Caused::default(), None));
    }
    let last = met.map(|met| met.first.saturating_sub(1));
    let one_of = Some(OneOf::Causes(own));
    let wanted = Filter { first: Some(run.first), last, one_of, ..Filter::default() };
    let ended = run.entity.halt.as_ref().map(|halt| halt.sequence);
    let (mut caused, mut is_over) = (Caused::default(), false);
    let mut take = |line: Line, standing| {
        let is_own = line.loop_id.as_deref() == Some(run.entity.loop_id());
        let is_kept = if is_own { is_over } else { line.loop_id.is_none() };
        is_over |= line.ends_batch && ended.is_some_and(|ended| line.sequence >= ended);
        if is_kept {
            caused.records.push(line.standing(standing));
        } else if !is_own && line.kind == RUN_BEGINS {
            caused.runs.push(Begun::of(line));
        }
        ControlFlow::Continue(())
    };
    let searched = search(storage, &wanted, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
    Ok((caused, Some(searched)))
}
