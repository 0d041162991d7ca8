//! Runs as a list: the newest beginnings first, and each told by the records about it.

use crate::begun_twice::{BegunOnce, BegunTwice, begun_twice};
use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, Line, OneOf, Order, Searched, search};
use crate::run::{Approvals, Gathered, Run, RunLookup, approval_of};
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_log_files::ReadStorage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Kind of the event that begins a run.
pub const RUN_BEGINS: &str = "execution_loop.initialized";

/// A record that begins a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its sequence.
    pub sequence: u64,
    /// The loop's id; empty where the record cannot be read.
    pub loop_id: String,
    /// The decision point whose approval is spent for it.
    pub approval: Option<String>,
    /// The run began twice: this record is one of several that begin it.
    pub twice: Option<BegunTwice>,
}

impl Begun {
    /// By the record.
    #[must_use]
    pub fn of(line: Line) -> Self {
        let approval = approval_of(&line).map(str::to_string);
        let (sequence, loop_id) = (line.sequence, line.loop_id.unwrap_or_default());
        Self { sequence, loop_id, approval, twice: None }
    }

    /// A beginning of a run that is not the first one of it.
    #[must_use]
    pub fn again(twice: BegunTwice) -> Self {
        let (sequence, loop_id) = (twice.again, twice.what.id().to_string());
        Self { sequence, loop_id, approval: None, twice: Some(twice) }
    }
}

/// The newest records that begin a run and that are wanted, so many at most, the newest first.
///
/// # Errors
/// As [`crate::verify()`].
pub fn begun<S: ReadStorage>(
    storage: &S,
    wanted: &Filter,
    most: usize,
    options: ReadOptions<'_>,
) -> Result<(Vec<Begun>, Searched), ReadError> {
    let filter = Filter { kind: Some(RUN_BEGINS.to_string()), ..wanted.clone() };
    let mut found = Vec::new();
    let mut take = |line, _| {
        found.push(Begun::of(line));
        if found.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let searched = search(storage, &filter, Order::NewestFirst, options, &mut |_| {}, &mut take)?;
    Ok((found, searched))
}

/// Runs, and how much was read for them.
pub struct Listed {
    /// Each, in the order of their beginnings as they were given.
    pub runs: Vec<Run>,
    /// Beginnings that do not count: the rules forbid them, or one of several of a run, or the
    /// approval that was spent for them cannot be read; of runs that are looked for, also those of
    /// which not all can be read.
    pub uncounted: Vec<Begun>,
    /// Extent of what was read.
    pub searched: Searched,
}

/// The runs that some records begin, without their output. Whether they began before is looked up.
///
/// # Errors
/// As [`crate::verify()`].
pub fn runs_of<S: ReadStorage>(
    storage: &S,
    begun: &[Begun],
    options: ReadOptions<'_>,
) -> Result<Listed, ReadError> {
    let mut listed = gather(storage, begun, options)?;
    listed.leave_out_begun_twice(storage)?;
    Ok(listed)
}

/// Does the same as [`runs_of`], by the records from the first of these beginnings on alone.
///
/// # Errors
/// As [`crate::verify()`].
pub(crate) fn gather<S: ReadStorage>(
    storage: &S,
    begun: &[Begun],
    options: ReadOptions<'_>,
) -> Result<Listed, ReadError> {
    let asked: BTreeSet<String> = begun.iter().filter_map(|begun| begun.approval.clone()).collect();
    let newest = begun.iter().map(|begun| begun.sequence).max().unwrap_or_default();
    let mut read = Approvals::read(storage, asked, newest, options)?;
    let mut gathered: BTreeMap<&str, Gathered> = BTreeMap::new();
    for begun in begun {
        let run = gathered.entry(&begun.loop_id).or_default();
        if let Some(approval) = &begun.approval {
            run.approved(approval, &read, begun.sequence);
        }
    }
    let loops = begun.iter().map(|begun| begun.loop_id.clone()).filter(|id| !id.is_empty());
    let first = begun.iter().map(|begun| begun.sequence).min();
    let one_of = Some(OneOf::Loops(loops.collect()));
    let about = Filter { first, one_of, ..Filter::default() };
    let mut take = |line: Line, standing| {
        let run = line.loop_id.as_deref().and_then(|id| gathered.get_mut(id));
        if let Some(run) = run {
            run.take(line, standing);
        }
        ControlFlow::Continue(())
    };
    let mut searched =
        search(storage, &about, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
    read.searched.take().into_iter().for_each(|also_read| searched.join(also_read));
    let mut listed = Listed { runs: Vec::new(), uncounted: Vec::new(), searched };
    for begun in begun {
        let run = gathered.remove(begun.loop_id.as_str());
        match run.map(|run| run.into_run(&begun.loop_id)) {
            Some(RunLookup::Run(run)) => listed.runs.push(*run),
            Some(RunLookup::BegunTwice(twice)) => listed.uncounted.push(Begun::again(twice)),
            // Of one that began twice, both may be among them.
            None if listed.tells_begun_twice(&begun.loop_id) => {}
            _ => listed.uncounted.push(begun.clone()),
        }
    }
    Ok(listed)
}

impl Listed {
    /// Tells no run that began twice, and the first record that only a newer program knows.
    pub(crate) fn leave_out_begun_twice<S: ReadStorage>(
        &mut self,
        storage: &S,
    ) -> Result<(), ReadError> {
        let of = |run: &Run| BegunOnce::Loop(run.entity.loop_id().to_string());
        let told = self.runs.iter().map(|run| (of(run), run.entity.started_sequence));
        let looked_up = begun_twice(storage, told.collect())?;
        self.searched.add(looked_up.not_known);
        for twice in looked_up.twice {
            self.runs.retain(|run| run.entity.loop_id() != twice.what.id());
            if !self.tells_begun_twice(twice.what.id()) {
                self.uncounted.push(Begun::again(twice));
            }
        }
        Ok(())
    }

    fn tells_begun_twice(&self, loop_id: &str) -> bool {
        self.uncounted.iter().any(|begun| begun.twice.is_some() && begun.loop_id == loop_id)
    }
}

/// The decision points of some ids as they are now, the oldest first, and how much was read.
///
/// # Errors
/// As [`crate::verify()`].
pub fn decision_points<S: ReadStorage>(
    storage: &S,
    ids: &BTreeSet<String>,
    options: ReadOptions<'_>,
) -> Result<(Vec<DecisionPoint>, Option<Searched>), ReadError> {
    let mut read = Approvals::read(storage, ids.clone(), u64::MAX, options)?;
    let searched = read.searched.take();
    let mut points: Vec<DecisionPoint> =
        ids.iter().filter_map(|id| read.point(id, u64::MAX)).collect();
    points.sort_by_key(|point| point.created_sequence);
    Ok((points, searched))
}
