//! The runs that need a person: a fault of theirs was escalated, and the decision that asks about
//! it is open.

use crate::log::{Directory, LiveState};
use crate::ui::{complain, named};
use holdpoint_domain::sandbox_fault::SandboxDecision;
use holdpoint_replay::{Run, Tells};
use std::collections::BTreeMap;

/// The open decisions about escalations of some runs, by the loop of each. The state is read where
/// one of them was escalated.
pub(crate) fn open(directory: &Directory, runs: &[Run]) -> BTreeMap<String, String> {
    let escalated = |run: &&Run| {
        let mut faults = run.entity.attempts.iter().filter_map(|it| it.fault.as_ref());
        faults.any(|fault| {
            fault.outcome.as_ref().is_some_and(|it| it.decision == SandboxDecision::Escalate)
        })
    };
    let escalated: Vec<&Run> = runs.iter().filter(escalated).collect();
    if escalated.is_empty() {
        return BTreeMap::new();
    }
    let state = match LiveState::read_quietly(directory, Tells::Questions) {
        Ok(state) => state,
        Err(failure) => {
            let failed = failure.message();
            complain(&format!("which runs need a person could not be read: {failed}"));
            return BTreeMap::new();
        }
    };
    let asked = escalated.into_iter().filter_map(|run| {
        let faults = run.entity.attempts.iter().filter_map(|it| it.fault.as_ref());
        let mut points = faults.filter_map(|fault| state.world().escalation(fault));
        let point = points.find(|point| point.is_open())?;
        Some((run.entity.loop_id().to_string(), point.decision_id.to_string()))
    });
    asked.collect()
}

/// Says of which of them a person is needed.
pub(crate) fn tell(open: &BTreeMap<String, String>) {
    for (run, asked) in open {
        complain(&format!("a person is needed for {}: decision {}", named(run), named(asked)));
    }
}
