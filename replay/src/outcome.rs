//! How a run ended, in one word that needs no other.

use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{ExecutionLoopState, Exit, HaltReason};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use serde::Serialize;

/// What became of a run. Closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// It has not ended, and nothing is asked.
    Running,
    /// It waits for a person's answer.
    Waiting,
    /// Its response was accepted; a command's exit status was 0.
    Ok,
    /// Its response was not accepted; a command's exit status was another one.
    Failed,
    /// A signal killed it.
    Crashed,
    /// It took longer than it may.
    Timeout,
    /// A person ended it.
    Aborted,
    /// A rule ended it: a stop condition, a limit, or what no table allows.
    Stopped,
    /// It was not begun: its executor is not known, or nobody authorized it.
    Refused,
    /// It needed a person, and nobody answered in time.
    Unanswered,
    /// A signal to its recorder ended it.
    Interrupted,
    /// Its recorder ended without a word, and what became of it is not known.
    Lost,
}

impl RunOutcome {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Running,
        Self::Waiting,
        Self::Ok,
        Self::Failed,
        Self::Crashed,
        Self::Timeout,
        Self::Aborted,
        Self::Stopped,
        Self::Refused,
        Self::Unanswered,
        Self::Interrupted,
        Self::Lost,
    ];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::Timeout => "timeout",
            Self::Aborted => "aborted",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
            Self::Unanswered => "unanswered",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Whether it has ended, and not well.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Running | Self::Waiting | Self::Ok)
    }

    /// What became of a loop so far.
    #[must_use]
    pub fn of(entity: &ExecutionLoop) -> Self {
        let Some(halt) = &entity.halt else { return Self::so_far(entity) };
        let response = entity.current_attempt().and_then(|attempt| attempt.response.as_ref());
        let exit = response.map(|response| response.exit);
        Self::of_halt(halt.reason, halt.stop_condition, halt.fault_type, exit)
    }

    /// What became of a loop that halted so, and whose last attempt's process ended so.
    pub(crate) const fn of_halt(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_found_by_its_word() {
        for outcome in RunOutcome::ALL {
            assert_eq!(RunOutcome::from_name(outcome.name()), Some(outcome));
        }
        assert_eq!(RunOutcome::from_name("OK"), None);
    }
}
