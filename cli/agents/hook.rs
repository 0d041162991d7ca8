//! `holdpoint hook`: what an agent's host runs before and after a tool, when the agent stops, and
//! when a session starts. It speaks the hook protocol of Claude Code: one JSON object on stdin, one
//! on stdout. `docs/agents.md` has the table of answers.
//!
//! Exit 0 with the answer on stdout, or 2, which blocks, with the reason on stderr and nothing on
//! stdout: that is every denial. Never another one before a tool: the host lets the tool run after
//! any other. After a tool, 1 says that its outcome is not on record.

mod answer;
mod ask;
mod bound_input;
mod deadline;
pub(crate) mod describe;
mod drain;
mod gate;
mod input;
mod own;
mod post_tool_use;
mod pre_tool_use;
mod session_start;
mod stop;

use crate::args::Global;
use crate::args::host::{Event, Host};
use crate::ui::{Exit, complain};
use answer::Answer;
#[cfg(test)]
pub(crate) use ask::sample;
use clap::ValueEnum;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// How long a hook waits for another process that writes to the log.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What is said below the options.
const SETTINGS: &str = r#"In the settings of Claude Code (.claude/settings.json):
  PreToolUse          holdpoint hook pre-tool-use || exit 2
  PostToolUse         holdpoint hook post-tool-use
  PostToolUseFailure  holdpoint hook post-tool-use
  Stop                holdpoint hook stop
  SessionStart        holdpoint hook session-start
The first three stand beside a "matcher" that names tools, such as Bash|Write|Edit, and the first
beside "onFailure": "block". Name the log (holdpoint --log DIR hook ..): a host starts hooks
wherever the agent is. docs/agents.md has the lines for Codex, Gemini CLI, Copilot CLI, Cursor
and OpenCode."#;

/// Options of `hook`.
#[derive(Debug, clap::Args)]
#[command(after_help = SETTINGS)]
pub(crate) struct Args {
    /// Event of the agent host.
    #[arg(value_enum)]
    event: HookEvent,
    #[command(flatten)]
    terms: Terms,
    /// With `stop`: keep the agent from stopping, once, while its own question is pending.
    #[arg(long)]
    require_answer: bool,
    #[command(flatten)]
    call: Option<pre_tool_use::Args>,
}

/// What every hook is told by its command line, and by nothing else.
#[derive(Clone, Debug, clap::Args)]
struct Terms {
    /// Agent host, where its payload does not identify it.
    #[arg(long, value_name = "HOST")]
    host: Option<Host>,
    /// Deadline of the hook from its start. The host's own timeout must be longer: most hosts run
    /// the tool after it [default: 25s].
    #[arg(long, value_name = "DURATION", value_parser = bounded_deadline)]
    deadline: Option<Duration>,
}

impl Terms {
    /// Within what time the hook answers.
    fn deadline(&self) -> Duration {
        self.deadline.unwrap_or(deadline::USUAL)
    }
}

/// Which hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HookEvent {
    /// Allow a tool call only with a person's approval of exactly this call.
    PreToolUse,
    /// Record the outcome of an approved call, as the host claims it.
    PostToolUse,
    /// List unspent approvals at the end of a turn.
    Stop,
    /// List the session's pending decisions and their answers at its start.
    SessionStart,
}

impl Args {
    /// The longest time that this hook takes.
    pub(crate) fn takes_at_most(&self) -> Duration {
        self.terms.deadline()
    }

    /// The host that the command line names.
    pub(crate) const fn host(&self) -> Option<Host> {
        self.terms.host
    }

    /// Tells whether this hook may put a question.
    pub(crate) const fn may_ask(&self) -> bool {
        matches!(self.event, HookEvent::PreToolUse)
    }

    /// Tells whether this hook writes to the log.
    pub(crate) const fn writes(&self) -> bool {
        matches!(self.event, HookEvent::PreToolUse | HookEvent::PostToolUse)
    }

    /// What of the options cannot be kept, in words: the hook then answers nothing else.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.expect_own_options()?;
        self.call.as_ref().map_or(Ok(()), |call| call.check(self.terms.deadline()))
    }

    /// The tools that this hook guards, as they are named; none stands for all.
    pub(crate) fn tools(&self) -> &[String] {
        self.call.as_ref().map_or(&[], pre_tool_use::Args::tools)
    }

    /// Refuses the options of another event.
    fn expect_own_options(&self) -> Result<(), String> {
        let is_own = (self.call.is_none() || self.event == HookEvent::PreToolUse)
            && (!self.require_answer || self.event == HookEvent::Stop);
        if is_own { Ok(()) } else { Err("an option of another event is given".to_string()) }
    }

    /// The events for which this hook is meant, the usual one first.
    pub(crate) const fn events(&self) -> &'static [Event] {
        match self.event {
            HookEvent::PreToolUse => &[Event::PreToolUse],
            HookEvent::PostToolUse => &[Event::PostToolUse, Event::PostToolUseFailure],
            HookEvent::Stop => &[Event::Stop],
            HookEvent::SessionStart => &[Event::SessionStart],
        }
    }

    /// The answer of a failure, and why.
    const fn failed(&self) -> fn(&str) -> Answer {
        match self.event {
            HookEvent::PreToolUse => Answer::undecided,
            HookEvent::PostToolUse => post_tool_use::failed,
            HookEvent::Stop => stop::failed,
            HookEvent::SessionStart => session_start::failed,
        }
    }

    /// The answer; of what fails, the one that is meant for failures.
    fn answer(&self, log: &Path) -> Answer {
        let terms = &self.terms;
        let answer = match self.event {
            HookEvent::PreToolUse => {
                pre_tool_use::decide(log, terms, self.call.as_ref().unwrap_or(&Default::default()))
            }
            HookEvent::PostToolUse => {
                post_tool_use::record(log, terms).map(|()| Answer::no_objection())
            }
            HookEvent::Stop => stop::decide(log, terms, self.require_answer),
            HookEvent::SessionStart => session_start::decide(log, terms),
        };
        answer.unwrap_or_else(|reason| self.failed()(&reason))
    }
}

/// Bounds the process from now on: before its log is looked for, which may take any time. The exit
/// where that cannot be done, or the options are those of another event.
pub(crate) fn bound(args: &Args) -> Option<Exit> {
    if let Err(reason) = args.expect_own_options() {
        complain(&reason);
        drain_input();
        return Some(Exit::USAGE);
    }
    let error = deadline::watch(args.terms.deadline(), args.failed()).err()?;
    Some(args.failed()(&format!("cannot start a thread: {error}")).deliver())
}

/// Answers the host, within the deadline whatever happens.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    let answer = catch_unwind(AssertUnwindSafe(|| args.answer(&global.log)));
    answer.unwrap_or_else(|_| args.failed()("this program failed; see above")).deliver()
}

/// The answer where there is no log to look into, and why.
pub(crate) fn refuse(args: &Args, reason: &str) -> Exit {
    args.failed()(reason).deliver()
}

/// Reads what the host still writes to a hook whose command line is not understood.
pub(crate) fn drain_input() {
    drain::drain(deadline::left_of_all(), drain::IDLE_MAX);
}

/// A deadline: some time, and not more than any host waits.
fn bounded_deadline(text: &str) -> Result<Duration, String> {
    let deadline = crate::args::durations::wait(text)?;
    match !deadline.is_zero() && deadline <= deadline::LONGEST {
        true => Ok(deadline),
        false => Err("a hook answers within 1h, and takes some time".to_string()),
    }
}
