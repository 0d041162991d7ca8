//! Signals that ask for the end of a run, and what the rules are told of them: a key that was typed
//! at a terminal is a person's stop, any other signal is not.

use super::outcome::{named, of_signal};
use crate::executor::{SignalOrigin, SignalSource};
use holdpoint_domain::Command;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{StopCondition, StopFacts};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InterruptLoop, StopLoop};

/// A signal that asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupt {
    pub(super) signal: i32,
    pub(super) origin: SignalOrigin,
}

impl Interrupt {
    /// The first of what came since signals were looked at.
    pub(super) fn take(signals: &mut dyn SignalSource) -> Option<Self> {
        let first = signals.take().into_iter().find(|came| came.signal.asks_for_the_end())?;
        Some(Self { signal: first.signal.number(), origin: first.origin })
    }

    /// Returns whether a person stopped the run: Ctrl-C or Ctrl-\ at a terminal. That a terminal is
    /// gone comes from its driver as well, and is nobody's word.
    pub(super) fn is_typed(self) -> bool {
        self.origin == SignalOrigin::Terminal && matches!(self.signal, libc::SIGINT | libc::SIGQUIT)
    }

    pub(super) fn exit_status(self) -> u8 {
        of_signal(self.signal)
    }

    /// Returns what happened, in words.
    pub(super) fn details(self) -> String {
        let signal = named(self.signal);
        match self.origin {
            SignalOrigin::Terminal if self.is_typed() => {
                format!("interrupted by {signal} from the terminal")
            }
            SignalOrigin::Terminal if self.signal == libc::SIGHUP => {
                format!("interrupted by {signal}: the terminal is gone")
            }
            SignalOrigin::Terminal => format!("interrupted by {signal} from the system"),
            SignalOrigin::Process { pid: Some(pid), uid } => {
                format!("interrupted by {signal} from process {pid} of user number {uid}")
            }
            SignalOrigin::Process { pid: None, uid } => {
                format!("interrupted by {signal} from a process of user number {uid}")
            }
            SignalOrigin::Unknown => {
                format!("interrupted by {signal}, and who sent it is not known")
            }
        }
    }

    /// The command that halts a loop for it.
    pub(super) fn command(self, loop_id: String, entropy: Entropy, details: String) -> Command {
        if self.is_typed() {
            return Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
                loop_id,
                entropy,
                condition: StopCondition::HumanAbort,
                facts: StopFacts { human_abort_signaled: Some(true), ..StopFacts::default() },
                details,
            }));
        }
        let (sender_pid, sender_uid) = match self.origin {
            SignalOrigin::Process { pid, uid } => (pid, Some(uid)),
            SignalOrigin::Terminal | SignalOrigin::Unknown => (None, None),
        };
        let signal = self.signal;
        Command::ExecutionLoop(ExecutionLoopCommand::InterruptLoop(InterruptLoop {
            loop_id,
            entropy,
            signal,
            sender_pid,
            sender_uid,
        }))
    }
}
