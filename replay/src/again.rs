//! Runs that were begun again: the record that begins one names as its cause a person's RETRY about
//! another one. That it is the cause is what whoever began the run says; that the RETRY was on
//! record by then is what the order of the records says.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, Line, OneOf, Order, Searched, search};
use crate::run::{Doer, Run};
use holdpoint_domain::Event;
use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionEvent};
use holdpoint_log_files::{ReadStorage, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Event that records an answer about a run.
const ANSWERED: &str = "human_decision.answered";

/// A person's RETRY about a run, which another run names as its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The loop that it is about.
    pub run: String,
    /// The record of it.
    pub sequence: u64,
    /// Actor whose it is.
    pub by: Doer,
    /// Why, as that person said.
    pub reason: Option<String>,
}

impl Retry {
    fn of(line: &Line, standing: Standing) -> Option<Self> {
        let Some(Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body))) =
            &line.event
        else {
            return None;
        };
        let record = &body.record;
        (record.decision == HumanDecision::Retry).then_some(())?;
        Some(Self {
            run: body.loop_id.to_string(),
            sequence: line.sequence,
            by: Doer::of(line, line.actor.clone()?, standing),
            reason: record.reason.as_deref().map(str::to_string),
        })
    }
}

/// The RETRY about another run with which some runs say that they began, by their loops; and what
/// was read for them, where anything had to be.
///
/// # Errors
/// As [`crate::verify()`].
pub fn retries_of<S: ReadStorage>(
    storage: &S,
    runs: &[Run],
    options: ReadOptions<'_>,
) -> Result<(BTreeMap<String, Retry>, Option<Searched>), ReadError> {
    // What is known of a run is about itself or its approval, and no RETRY about another one.
    let cause = |run: &Run| run.cause.filter(|it| *it < run.first && !run.doers.contains_key(it));
    let causes: BTreeSet<u64> = runs.iter().filter_map(cause).collect();
    let (Some(first), Some(last)) = (causes.first().copied(), causes.last().copied()) else {
        return Ok((BTreeMap::new(), None));
    };
    let wanted = Filter {
        first: Some(first),
        last: Some(last),
        kind: Some(ANSWERED.to_string()),
        one_of: Some(OneOf::Records(causes)),
        ..Filter::default()
    };
    let mut retries = BTreeMap::new();
    let mut take = |line: Line, standing| {
        retries.extend(Retry::of(&line, standing).map(|retry| (retry.sequence, retry)));
        ControlFlow::Continue(())
    };
    let searched = search(storage, &wanted, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
    let of_run = |run: &Run| {
        let retry = retries.get(&cause(run)?).filter(|it| it.run != run.entity.loop_id())?;
        Some((run.entity.loop_id().to_string(), retry.clone()))
    };
    Ok((runs.iter().filter_map(of_run).collect(), Some(searched)))
}
