//! End of a run, in one word that needs no other.

use holdpoint_domain::Event;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceContent, StopCondition};
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, ExecutionLoopState, Exit, HaltReason};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::world::RowFact;
use serde::Serialize;

holdpoint_domain::worded_enum! {
    /// Outcome of a run. Closed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunOutcome {
        /// It has not ended, and nothing is asked.
        Running = "running",
        /// It waits for a person's answer.
        Waiting = "waiting",
        /// Its response was accepted; a command's exit status was 0.
        Ok = "ok",
        /// Its response was not accepted; a command's exit status was another one.
        Failed = "failed",
        /// A signal killed it.
        Crashed = "crashed",
        /// It took longer than it may.
        Timeout = "timeout",
        /// A person ended it.
        Aborted = "aborted",
        /// A rule ended it: a stop condition, a limit, or what no table allows.
        Stopped = "stopped",
        /// It was not begun: its executor is not known, nobody authorized it, or its recorder ended
        /// before it recorded a start.
        Refused = "refused",
        /// It needed a person, and nobody answered in time.
        Unanswered = "unanswered",
        /// A signal to its recorder ended it.
        Interrupted = "interrupted",
        /// Its recorder ended without a word, and what became of it is not known.
        Lost = "lost",
    }
}

impl RunOutcome {
    /// The one of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Returns whether it has ended, and not well.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Running | Self::Waiting | Self::Ok)
    }

    /// Returns what became of a loop so far.
    #[must_use]
    pub fn of(entity: &ExecutionLoop) -> Self {
        let Some(halt) = &entity.halt else { return Self::so_far(entity) };
        if halt.reason == HaltReason::RecorderLost && !has_started(entity, halt.from) {
            return Self::Refused;
        }
        let response = entity.current_attempt().and_then(|attempt| attempt.response.as_ref());
        let exit = response.map(|response| response.exit);
        Self::of_halt(halt.reason, halt.stop_condition, halt.fault_type, exit)
    }

    /// Returns the outcome of a loop that halted so, and whose last attempt's process ended so.
    const fn of_halt(
        reason: HaltReason,
        stop_condition: Option<StopCondition>,
        fault_type: Option<ExecutionFaultType>,
        exit: Option<Exit>,
    ) -> Self {
        match reason {
            HaltReason::Completed => Self::Ok,
            HaltReason::ResponseRejected | HaltReason::ResponseEscalated => Self::of_exit(exit),
            HaltReason::FaultTerminated
            | HaltReason::FaultEscalated
            | HaltReason::FaultNotRetried => match fault_type {
                Some(ExecutionFaultType::Timeout) => Self::Timeout,
                Some(ExecutionFaultType::Crash) => Self::Crashed,
                Some(
                    ExecutionFaultType::ResourceExhausted | ExecutionFaultType::SecurityViolation,
                ) => Self::Stopped,
                _ => Self::of_exit(exit),
            },
            HaltReason::StopCondition => Self::of_stop(stop_condition),
            HaltReason::IllegalTransition => Self::Stopped,
            HaltReason::HandshakeFailed => Self::Refused,
            HaltReason::HumanDecisionTimedOut => Self::Unanswered,
            HaltReason::Interrupted => Self::Interrupted,
            HaltReason::RecorderLost => Self::Lost,
        }
    }

    fn so_far(entity: &ExecutionLoop) -> Self {
        match entity.open_request() {
            Some(_) => Self::Waiting,
            None if entity.state() == ExecutionLoopState::Halted => Self::Stopped,
            None => Self::Running,
        }
    }

    const fn of_exit(exit: Option<Exit>) -> Self {
        match exit {
            Some(Exit::Signal(_)) => Self::Crashed,
            _ => Self::Failed,
        }
    }

    const fn of_stop(condition: Option<StopCondition>) -> Self {
        match condition {
            Some(StopCondition::HumanAbort) => Self::Aborted,
            Some(StopCondition::MissingAuthorization | StopCondition::ExecutorNotRegistered) => {
                Self::Refused
            }
            _ => Self::Stopped,
        }
    }
}

/// Returns whether the start of an attempt is on record: nothing starts before it is.
fn has_started(entity: &ExecutionLoop, halted_from: ExecutionLoopState) -> bool {
    use ExecutionLoopState::{Dispatched, Init};
    entity.attempt_count() > 1 || !matches!(halted_from, Init | Dispatched)
}

/// Statements of records about how a run ended, of each kind the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndRecords {
    /// End of the process of the last attempt; the inner `None`: it has not ended.
    pub(crate) exit: Option<Option<Exit>>,
    pub(crate) halt: Option<Halted>,
}

/// Returns what an event says of whether somebody watched the process of a run: that what it used
/// was measured, or that another one begins; `None`: nothing.
pub(crate) fn measured(event: &Event) -> Option<bool> {
    match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(_)) => Some(false),
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
            matches!(body.content, EvidenceContent::Resources(_)).then_some(true)
        }
        _ => None,
    }
}

/// Halt of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halted {
    reason: HaltReason,
    stop_condition: Option<StopCondition>,
    fault_type: Option<ExecutionFaultType>,
}

impl EndRecords {
    /// Returns what an event says.
    pub(crate) const fn of(event: &ExecutionLoopEvent) -> Self {
        match event {
            ExecutionLoopEvent::LoopDispatched(_) => Self::BEGUN,
            ExecutionLoopEvent::ResponseEvaluated(body) => Self::exited(body.exit),
            ExecutionLoopEvent::LoopHalted(body) => {
                Self::halted(body.reason, body.stop_condition, body.fault_type)
            }
            ExecutionLoopEvent::LoopInitialized(_) | ExecutionLoopEvent::ResponseAwaited(_) => {
                Self::NOTHING
            }
        }
    }

    /// Returns what the row that an index keeps of a record says. An index keeps no first attempt,
    /// which changes nothing.
    pub(crate) const fn of_row(fact: &RowFact) -> Self {
        match *fact {
            RowFact::Again { .. } => Self::BEGUN,
            RowFact::Exited { exit, .. } => Self::exited(exit),
            RowFact::Halted { reason, stop_condition, fault_type, .. } => {
                Self::halted(reason, stop_condition, fault_type)
            }
            _ => Self::NOTHING,
        }
    }

    const NOTHING: Self = Self { exit: None, halt: None };
    /// Statement of the beginning of an attempt: how the process of the one before ended is not how
    /// the run's did.
    const BEGUN: Self = Self { exit: Some(None), halt: None };

    const fn exited(exit: Exit) -> Self {
        Self { exit: Some(Some(exit)), halt: None }
    }

    const fn halted(
        reason: HaltReason,
        stop_condition: Option<StopCondition>,
        fault_type: Option<ExecutionFaultType>,
    ) -> Self {
        Self { exit: None, halt: Some(Halted { reason, stop_condition, fault_type }) }
    }

    /// Takes what later records say.
    pub(crate) fn go_on(&mut self, later: Self) {
        *self = Self { exit: later.exit.or(self.exit), halt: later.halt.or(self.halt) };
    }

    /// Takes what earlier records say.
    pub(crate) fn go_back(&mut self, mut earlier: Self) {
        earlier.go_on(*self);
        *self = earlier;
    }

    /// Returns what became of the run, where it halted.
    pub(crate) fn outcome(self) -> Option<RunOutcome> {
        let Halted { reason, stop_condition, fault_type } = self.halt?;
        Some(RunOutcome::of_halt(reason, stop_condition, fault_type, self.exit.flatten()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::world::RunKey;

    #[test]
    fn every_outcome_is_found_by_its_word() {
        for outcome in RunOutcome::ALL {
            assert_eq!(RunOutcome::from_name(outcome.name()), Some(outcome));
        }
        assert_eq!(RunOutcome::from_name("OK"), None);
    }

    #[test]
    fn how_an_attempt_ended_is_forgotten_where_the_next_one_begins_in_either_direction() {
        let run = || RunKey::of("LOOP-of-two-attempts");
        let exited = |exit| RowFact::Exited { run: run(), exit };
        let reason = HaltReason::ResponseRejected;
        let halted = RowFact::Halted { run: run(), reason, stop_condition: None, fault_type: None };
        let [killed, failed] = [Exit::Signal(9), Exit::Status(1)].map(exited);
        let again = || RowFact::Again { run: run() };
        let begun = [killed.clone(), again()];
        let faulted = [killed.clone(), again(), halted.clone()];
        let ended = [killed, again(), failed, halted];
        let stories = [
            (&begun[..1], Some(Some(Exit::Signal(9))), None),
            (&begun[..], Some(None), None),
            (&faulted[..], Some(None), Some(RunOutcome::Failed)),
            (&ended[..], Some(Some(Exit::Status(1))), Some(RunOutcome::Failed)),
        ];
        for (facts, exit, outcome) in stories {
            let (mut forth, mut back) = (EndRecords::default(), EndRecords::default());
            facts.iter().for_each(|fact| forth.go_on(EndRecords::of_row(fact)));
            facts.iter().rev().for_each(|fact| back.go_back(EndRecords::of_row(fact)));
            assert_eq!(forth, back, "{facts:?}");
            assert_eq!((forth.exit, forth.outcome()), (exit, outcome), "{facts:?}");
        }
    }
}
