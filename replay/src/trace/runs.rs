//! The runs that a story tells of, as its records say.

use super::Step;
use crate::evidence_copies::{CommandCopies, CommandCopy, holds_instruction};
use crate::outcome::{EndRecords, RunOutcome, measured};
use crate::records::Line;
use holdpoint_domain::Event;
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, Exit};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that a story tells of. What the story does not have of it is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedRun {
    /// The loop's id.
    pub run: String,
    /// The command, where the record is told that begins it.
    pub command_line: Option<String>,
    /// Tells whether the story does not prove that it is the command that was hashed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_claimed: bool,
    /// Outcome of it, where the record is told with which it ended.
    pub outcome: Option<RunOutcome>,
    #[serde(skip)]
    end: EndRecords,
    #[serde(skip)]
    is_measured: bool,
    #[serde(skip)]
    copies: CommandCopies,
}

/// Statement of a record about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidOfRun {
    run: String,
    /// The record, where it has to do with the command.
    of_command: Option<Event>,
    end: EndRecords,
    measured: Option<bool>,
}

impl SaidOfRun {
    /// `None`: the record is about no loop.
    pub(super) fn of(line: &Line) -> Option<Self> {
        let run = line.loop_id.clone()?;
        let measured = line.event.as_ref().and_then(measured);
        let of_command = line.event.clone().filter(is_of_command);
        let end = match &line.event {
            Some(Event::ExecutionLoop(event)) => EndRecords::of(event),
            _ => EndRecords::default(),
        };
        Some(Self { run, of_command, end, measured })
    }
}

fn is_of_command(event: &Event) -> bool {
    let begins = matches!(event, Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(_)));
    begins || event.captured().is_some_and(holds_instruction)
}

/// Every run of some steps, in the order in which they are met.
pub(super) fn runs_in(steps: &[Step]) -> Vec<TracedRun> {
    let mut runs: Vec<TracedRun> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for said in steps.iter().flat_map(|step| &step.of_runs) {
        let at = *places.entry(&said.run).or_insert_with(|| {
            runs.push(TracedRun::named(&said.run));
            runs.len().saturating_sub(1)
        });
        if let Some(run) = runs.get_mut(at) {
            run.take(said);
        }
    }
    runs
}

impl TracedRun {
    /// One of which nothing is known yet.
    fn named(run: &str) -> Self {
        let (run, end) = (run.to_string(), EndRecords::default());
        let (command_line, outcome, copies) = (None, None, CommandCopies::default());
        let (command_claimed, is_measured) = (false, false);
        Self { run, command_line, command_claimed, outcome, end, is_measured, copies }
    }

    /// Returns how the process of its last attempt ended, where that is told.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.end.exit.flatten()
    }

    /// Returns whether the story has what that process used: somebody watched it.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.is_measured
    }

    fn take(&mut self, said: &SaidOfRun) {
        if let Some(event) = &said.of_command {
            if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
                self.command_line = Some(body.command_line.to_string());
                self.command_claimed = true;
            }
            let is_first = |(attempt, copy)| attempt == 1 && copy == CommandCopy::Same;
            self.command_claimed &= !self.copies.take(event).is_some_and(is_first);
        }
        self.is_measured = said.measured.unwrap_or(self.is_measured);
        self.end.go_on(said.end);
        self.outcome = self.end.outcome();
    }
}
