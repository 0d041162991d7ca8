//! Counts over everything that ever happened. They never overflow: they stop at the top.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::core::time::Timestamp;
use crate::decision_point::event::DecisionPointEvent;
use crate::evidence_capture::event::EvidenceCaptureEvent;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::execution_loop::types::HaltReason;
use crate::governed::aggregate::ExecutionLoop;
use crate::human_decision::event::HumanDecisionEvent;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::log::event::LogEvent;
use crate::sandbox_fault::event::SandboxFaultEvent;
use crate::world::event::Event;

/// Counts over all events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Events applied.
    pub events: u64,
    /// The sequence of the last one. 0: none.
    pub last_sequence: u64,
    /// The time of the last one.
    pub last_at: Timestamp,
    /// Loops that were initialized.
    pub loops_initialized: u64,
    /// Attempts that were dispatched.
    pub attempts_dispatched: u64,
    /// Evidence records that were captured.
    pub evidence_records: u64,
    /// Faults that were reported.
    pub faults_reported: u64,
    /// Requests for a person's decision.
    pub decisions_requested: u64,
    /// Answers that counted.
    pub decisions_answered: u64,
    /// Requests that nobody answered in time.
    pub decisions_timed_out: u64,
    /// Answers that came too late.
    pub late_answers: u64,
    /// Commands that were refused on the record.
    pub commands_refused: u64,
    /// Loops that settled, by the reason for which they halted.
    pub loops_settled: BTreeMap<HaltReason, u64>,
}

impl Totals {
    pub(crate) fn count(&mut self, sequence: u64, at: Timestamp, event: &Event) {
        self.last_sequence = sequence;
        self.last_at = at;
        increment(&mut self.events);
        match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(_)) => {
                increment(&mut self.loops_initialized)
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(_)) => {
                increment(&mut self.attempts_dispatched)
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(_)) => {
                increment(&mut self.evidence_records)
            }
            Event::SandboxFault(SandboxFaultEvent::FaultReported(_)) => {
                increment(&mut self.faults_reported)
            }
            Event::HumanDecision(HumanDecisionEvent::DecisionRequested(_)) => {
                increment(&mut self.decisions_requested)
            }
            Event::HumanDecision(HumanDecisionEvent::DecisionAnswered(_)) => {
                increment(&mut self.decisions_answered)
            }
            Event::HumanDecision(HumanDecisionEvent::DecisionTimedOut(_)) => {
                increment(&mut self.decisions_timed_out)
            }
            Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(_)) => {
                increment(&mut self.late_answers)
            }
            Event::Log(LogEvent::CommandRefused(_))
            | Event::InterruptionThread(InterruptionThreadEvent::RowRefused(_)) => {
                increment(&mut self.commands_refused);
            }
            _ => {}
        }
    }

    pub(crate) fn settled(&mut self, done: &ExecutionLoop) {
        if let Some(halt) = &done.halt {
            increment(self.loops_settled.entry(halt.reason).or_default());
        }
    }
}

/// Counts over all events of decision points. A room of their own carries them, so that a state
/// that was carried before there were any is still read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPointTotals {
    /// Questions that were asked.
    pub decision_points_created: u64,
    /// Rounds that somebody answered, guidance aside.
    pub decision_points_resolved: u64,
    /// Rounds that nobody answered in time: the default was taken, or nothing was decided.
    pub decision_points_timed_out: u64,
    /// Answers that came when their round was over.
    pub late_responses: u64,
}

impl DecisionPointTotals {
    pub(crate) fn count(&mut self, event: &Event) {
        match event {
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(_)) => {
                increment(&mut self.decision_points_created)
            }
            Event::DecisionPoint(DecisionPointEvent::DecisionPointResolved(_)) => {
                increment(&mut self.decision_points_resolved)
            }
            Event::DecisionPoint(DecisionPointEvent::DefaultTaken(_))
            | Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(_)) => {
                increment(&mut self.decision_points_timed_out);
            }
            Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(_)) => {
                increment(&mut self.late_responses)
            }
            _ => {}
        }
    }
}

fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}
