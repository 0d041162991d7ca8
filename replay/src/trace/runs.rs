//! The runs that a story tells of, as its records say.

use super::Step;
use crate::outcome::RunOutcome;
use crate::records::Line;
use holdpoint_domain::Event;
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, Exit, LoopHalted};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that a story tells of. What the story does not have of it is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedRun {
    /// The loop's id.
    pub run: String,
    /// The command, where the record is told that begins it.
    pub command_line: Option<String>,
    /// What became of it, where the record is told with which it ended.
    pub outcome: Option<RunOutcome>,
    /// How the process of its last attempt ended, where that is told.
    #[serde(skip)]
    pub exit: Option<Exit>,
}

/// What a record says of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidOfRun {
    run: String,
    says: Says,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    Began(String),
    Again,
    Exited(Exit),
    Halted(Box<LoopHalted>),
    Other,
}

impl SaidOfRun {
    /// `None`: the record is about no loop.
    pub(super) fn of(line: &Line) -> Option<Self> {
        let says = match &line.event {
            Some(Event::ExecutionLoop(event)) => match event {
                ExecutionLoopEvent::LoopInitialized(body) => {
                    Says::Began(body.command_line.to_string())
                }
                ExecutionLoopEvent::LoopDispatched(_) => Says::Again,
                ExecutionLoopEvent::ResponseEvaluated(body) => Says::Exited(body.exit),
                ExecutionLoopEvent::LoopHalted(body) => Says::Halted(Box::new(body.clone())),
                ExecutionLoopEvent::ResponseAwaited(_) => Says::Other,
            },
            _ => Says::Other,
        };
        Some(Self { run: line.loop_id.clone()?, says })
    }
}

/// Every run of some steps, in the order in which they are met.
pub(super) fn runs_in(steps: &[Step]) -> Vec<TracedRun> {
    let mut runs: Vec<TracedRun> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for said in steps.iter().flat_map(|step| &step.of_runs) {
        let at = *places.entry(&said.run).or_insert_with(|| {
            let run = said.run.clone();
            runs.push(TracedRun { run, command_line: None, outcome: None, exit: None });
            runs.len().saturating_sub(1)
        });
        if let Some(run) = runs.get_mut(at) {
            run.take(&said.says);
        }
    }
    runs
}

impl TracedRun {
    fn take(&mut self, says: &Says) {
        match says {
            Says::Began(command) => self.command_line = Some(command.clone()),
            Says::Again => self.exit = None,
            Says::Exited(exit) => self.exit = Some(*exit),
            Says::Halted(halt) => {
                let (stop, fault) = (halt.stop_condition, halt.fault_type);
                self.outcome = Some(RunOutcome::of_halt(halt.reason, stop, fault, self.exit));
            }
            Says::Other => {}
        }
    }
}
