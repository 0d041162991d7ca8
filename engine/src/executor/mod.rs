//! Runs a real command and reports what happened. Knows no rule.
//!
//! [`execute`] starts a [`CommandSpec`] in a session of its own, keeps every descriptor of a
//! terminal from it, passes its output on to an [`OutputSink`] and captures it, passes signals on,
//! enforces a timeout and a memory limit, and returns an [`ExecutionReport`] of plain facts. What
//! they mean is for others to say.
//!
//! One loop over one `poll` does all of it: no thread, no wall clock, no busy waiting. Nothing in
//! the embedding process is changed, unless it [installs](Signals::install) the handling of
//! signals.
//!
//! With a [`Guard`] a process stands between this one and the command: it kills all that the
//! command started when this process is gone, and the limits hold for all of that.
//!
//! Every execution ends within a bound of its command's end: see [`TERMINATE_GRACE`],
//! [`INTERRUPT_GRACE`], [`STRAY_GRACE`], [`LAST_DRAIN`] and [`SINK_GRACE`]. What no bound can
//! promise: a command that runs with another user's rights cannot be killed, so it is waited for;
//! and a reader of passed-on output that is merely slow is waited for as long as nobody
//! interrupts, unless the sink [defers](OutputSink::defer) what is left.
//!
//! Architecture invariant: the executor neither reads nor writes the log, and knows no event.

mod again;
mod capture;
mod child_calls;
mod command;
mod descriptors;
mod due;
mod envelope;
mod environment;
#[cfg(target_os = "linux")]
mod gate;
mod guard;
#[cfg(target_os = "linux")]
mod guard_above;
#[cfg(target_os = "linux")]
mod guard_fork;
#[cfg(target_os = "linux")]
mod guard_messages;
#[cfg(target_os = "linux")]
mod guard_process;
mod guard_signals;
#[cfg(target_os = "linux")]
mod guarded;
mod keeper;
mod last_word;
mod leader;
mod memory;
mod opened;
mod outlets;
mod output;
mod own_child;
mod own_signals;
mod own_terminal;
mod parting;
mod pauses;
mod pieces;
mod process_table;
mod redaction;
mod report;
mod resolve;
mod run;
mod secrets;
mod signal_state;
mod signals;
mod snapshots;
mod stage;
mod stream;
#[cfg(target_os = "linux")]
mod tree;
mod usage;
mod variable;
mod visible;

pub use capture::CapturedOutput;
pub(crate) use child_calls::{StopRequests, begin_write_out, process_mark, user_namespace_number};
pub use command::{CommandSpec, Stdin};
pub use envelope::InstructionEnvelope;
pub use environment::{EnvironmentPolicy, ShownValue};
pub use guard::{GUARD_NAME, Guard};
#[cfg(not(target_os = "linux"))]
pub use guard::{fork_guard, serve_as_guard};
#[cfg(target_os = "linux")]
pub use guard_fork::fork_guard;
#[cfg(target_os = "linux")]
pub use guard_process::serve_as_guard;
pub use keeper::{KeepError, Keeper, KeeperRequest, terminal_taker, usual as usual_terminal};
pub(crate) use last_word::LastWord;
pub use opened::{OpenProgramError, OpenedFile, OpenedProgram};
pub(crate) use outlets::PieceRecording;
pub use output::{Discard, Notice, OutputSink, OutputStream, PassThrough};
pub use own_signals::Signals;
pub(crate) use parting::Parting;
pub(crate) use pieces::{Piece, PieceRecorder};
pub use redaction::{ending, ends_without_secrets};
pub use report::{
    Containment, ExecuteError, ExecutionReport, Outcome, SinkFailure, Survivor, TerminalSize,
    signal_name,
};
pub use resolve::{Obstacle, StartRefusal, resolve};
pub(crate) use run::execute_recorded;
pub use run::{
    INTERRUPT_GRACE, LAST_DRAIN, SINK_GRACE, STRAY_GRACE, TERMINATE_GRACE, execute, execute_opened,
};
pub use signal_state::SignalState;
pub use signals::{
    ForwardedSignal, NoSignals, ReceivedSignal, SignalOrigin, SignalReceiver, SignalSender,
    SignalSource, signal_channel,
};
pub(crate) use snapshots::{ProcessSnapshot, SNAPSHOTS_MAX};
pub use variable::Variable;
pub use visible::{command_line, visible};
