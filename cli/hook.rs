//! `holdpoint hook`: what an agent's host runs before and after a tool, when the agent stops, and
//! when a session starts. It speaks the hook protocol of Claude Code: one JSON object on stdin, one
//! on stdout. `docs/agent-hooks.md` has the table of answers.
//!
//! Exit 0 with the answer on stdout, or 2, which blocks, with the reason on stderr and nothing on
//! stdout: that is every denial. Never another one before a tool: the host lets the tool run after any other. After
//! a tool, 1 says that its outcome is not on record.

mod answer;
mod ask;
mod gate;
mod input;
mod own;
mod post_tool_use;
mod pre_tool_use;
mod session;
mod session_start;
mod stop;
mod words;

use crate::arguments::Global;
use crate::exit::Exit;
use answer::Answer;
pub(crate) use ask::asks;
#[cfg(test)]
pub(crate) use ask::sample;
use clap::Subcommand;
pub(crate) use session::{is_name, may_begin_name};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long any hook takes at most, besides what it was told to wait for a person.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// How long a hook waits for another process that writes to the log.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What is said below the options.
const SETTINGS: &str = r#"In the host's settings (.claude/settings.json) each event has its command:
  PreToolUse          holdpoint hook pre-tool-use || exit 2
  PostToolUse         holdpoint hook post-tool-use
  PostToolUseFailure  holdpoint hook post-tool-use
  Stop                holdpoint hook stop
  SessionStart        holdpoint hook session-start
The first three stand beside a "matcher" that names tools, such as Bash|Write|Edit, and the first
beside "onFailure": "block". Name the log (holdpoint --log DIR hook ..): a host starts hooks
wherever the agent is."#;

/// Options of `hook`.
#[derive(Debug, clap::Args)]
#[command(after_help = SETTINGS)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: HookVerb,
}

/// Which hook.
#[derive(Debug, Subcommand)]
enum HookVerb {
    /// Let a tool run only with a person's approval of exactly this call.
    PreToolUse(pre_tool_use::Args),
    /// Record what the host says became of an approved call: a claim.
    PostToolUse(post_tool_use::Args),
    /// Say at the end of a turn which approvals wait to be used.
    Stop(stop::Args),
    /// Say at the start of a session which of its decisions wait, and what was answered.
    SessionStart(session_start::Args),
}

impl Args {
    /// The longest time that this hook takes.
    pub(crate) fn takes_at_most(&self) -> Duration {
        match &self.verb {
            HookVerb::PreToolUse(args) => ANSWERS_WITHIN.saturating_add(args.waits_for()),
            HookVerb::PostToolUse(_) | HookVerb::Stop(_) | HookVerb::SessionStart(_) => {
                ANSWERS_WITHIN
            }
        }
    }

    /// What of the options cannot be kept, in words: the hook then answers nothing else.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.verb {
            HookVerb::PreToolUse(args) => args.check(),
            HookVerb::PostToolUse(_) | HookVerb::Stop(_) | HookVerb::SessionStart(_) => Ok(()),
        }
    }

    /// The tools that this hook guards, as they are named; none stands for all.
    pub(crate) fn tools(&self) -> &[String] {
        match &self.verb {
            HookVerb::PreToolUse(args) => args.tools(),
            HookVerb::PostToolUse(_) | HookVerb::Stop(_) | HookVerb::SessionStart(_) => &[],
        }
    }

    /// The events of the host for which this hook is meant, the usual one first.
    pub(crate) const fn events(&self) -> &'static [&'static str] {
        match &self.verb {
            HookVerb::PreToolUse(_) => &[input::PRE_TOOL_USE],
            HookVerb::PostToolUse(_) => &[input::POST_TOOL_USE, input::POST_TOOL_USE_FAILURE],
            HookVerb::Stop(_) => &[input::STOP],
            HookVerb::SessionStart(_) => &[input::SESSION_START],
        }
    }
}

/// Answers the host, within a bound whatever happens.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    let log = global.log.clone();
    let bound = args.takes_at_most();
    let answer = match &args.verb {
        HookVerb::PreToolUse(args) => {
            let args = args.clone();
            within(bound, move || pre_tool_use::answer(&log, &args), Answer::undecided)
        }
        HookVerb::PostToolUse(_) => {
            within(bound, move || post_tool_use::answer(&log), post_tool_use::failed)
        }
        HookVerb::Stop(args) => {
            let args = args.clone();
            within(bound, move || stop::answer(&log, &args), stop::failed)
        }
        HookVerb::SessionStart(_) => {
            within(bound, move || session_start::answer(&log), session_start::failed)
        }
    };
    answer.deliver()
}

/// The answer where there is no log to look into, and why.
pub(crate) fn refuse(args: &Args, reason: &str) -> Exit {
    let answer = match &args.verb {
        HookVerb::PreToolUse(_) => Answer::undecided(reason),
        HookVerb::PostToolUse(_) => post_tool_use::failed(reason),
        HookVerb::Stop(_) => stop::failed(reason),
        HookVerb::SessionStart(_) => session_start::failed(reason),
    };
    answer.deliver()
}

/// What `work` comes to, or the answer of a failure when it takes too long or panics. The process
/// ends right after, and with it work that takes too long: as after a crash, the log holds whole
/// turns only.
fn within(
    bound: Duration,
    work: impl FnOnce() -> Answer + Send + 'static,
    failed: fn(&str) -> Answer,
) -> Answer {
    let (sender, receiver) = channel();
    // Where nobody receives any more, the answer was given already.
    let spawned = Builder::new().spawn(move || drop(sender.send(work())));
    if let Err(error) = spawned {
        return failed(&format!("cannot start a thread: {error}"));
    }
    receiver.recv_timeout(bound).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => {
            failed(&format!("no answer within {}", humantime::format_duration(bound)))
        }
        RecvTimeoutError::Disconnected => failed("this program failed; see above"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "what is tested is a panic")]
    fn whatever_happens_there_is_an_answer() {
        let allowed = || Answer::allow("yes");
        assert_eq!(within(ANSWERS_WITHIN, allowed, Answer::undecided), Answer::allow("yes"));
        let (_keep, never) = channel::<()>();
        let waits = move || {
            let _ = never.recv();
            Answer::allow("late")
        };
        let late = within(Duration::from_millis(1), waits, Answer::undecided);
        assert_eq!(late, Answer::undecided("no answer within 1ms"));
        let failed = within(ANSWERS_WITHIN, || panic!("on purpose"), Answer::undecided);
        assert_eq!(failed, Answer::undecided("this program failed; see above"));
    }
}
