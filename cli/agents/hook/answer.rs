//! What a hook answers, and how that reaches the host. Commands in it name the log: whoever is told
//! of them need not be where the hook is.

use super::deadline;
use super::drain::{IDLE_MAX, drain};
use crate::args::host::Host;
use crate::ui::hints::pasted_anywhere;
use crate::ui::output::ascii;
use crate::ui::screen::with_few_marks;
use crate::ui::{Exit, Output, complain};
use holdpoint_domain::core::text::bounded;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::stdio::{stderr, stdout};
use serde_json::{Value, json};
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The exit after which the host blocks, whatever is on stdout.
const BLOCKS: Exit = Exit::USAGE;

/// The longest object on stdout, in bytes: as long a line is written whole or not at all.
const LINE_BYTES_MAX: usize = 4000;

/// How long a stderr that takes nothing is waited for once the deadline is over.
const STDERR_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long a host has to write more of the input then.
const IDLE_LATE: Duration = Duration::from_millis(200);

/// What a hook answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    verdict: Verdict,
    exit: Exit,
    /// What stderr says.
    complaint: Option<String>,
    /// What stderr says when stdout reaches nobody: then the host is blocked with it.
    if_lost: Option<String>,
}

/// What is said on stdout, each host in its own form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing for or against.
    NoObjection,
    /// The tool may run.
    Allow(String),
    /// It may not.
    Deny(String),
    /// The agent goes on.
    GoOn(String),
    /// The agent is told something.
    Context(String),
}

impl Answer {
    /// Nothing is said for or against: the host goes on as without the hook.
    pub(super) fn no_objection() -> Self {
        let verdict = Verdict::NoObjection;
        Self { verdict, exit: Exit::DONE, complaint: None, if_lost: None }
    }

    /// The tool may run.
    pub(super) fn allow(reason: &str) -> Self {
        let reason = pasted_anywhere(reason);
        let lost = format!("an approval was spent and could not be told: {reason}");
        Self { verdict: Verdict::Allow(reason), if_lost: Some(lost), ..Self::no_objection() }
    }

    /// The tool may not run: exit 2, the reason on stderr, and nothing on stdout, but for a host
    /// that was recognised and shows no stderr.
    pub(super) fn deny(reason: &str) -> Self {
        let reason = pasted_anywhere(reason);
        let complaint = Some(reason.clone());
        Self { verdict: Verdict::Deny(reason), exit: BLOCKS, complaint, if_lost: None }
    }

    /// Nothing could be decided, so the tool may not run.
    pub(super) fn undecided(reason: &str) -> Self {
        Self::deny(&format!(
            "could not decide on this call, so it is denied; do not try another way: {reason}"
        ))
    }

    /// The agent goes on instead of stopping.
    pub(super) fn go_on(reason: &str) -> Self {
        Self { verdict: Verdict::GoOn(pasted_anywhere(reason)), ..Self::no_objection() }
    }

    /// The agent is told something.
    pub(super) fn context(text: &str) -> Self {
        Self { verdict: Verdict::Context(pasted_anywhere(text)), ..Self::no_objection() }
    }

    /// A failure that blocks nothing, told on stderr.
    pub(super) fn harmless_failure(reason: &str) -> Self {
        Self { complaint: Some(reason.to_string()), ..Self::no_objection() }
    }

    /// A failure that can hold nothing any more, by an exit that the host shows.
    pub(super) fn failure(reason: &str) -> Self {
        Self { exit: Exit::FAILED, ..Self::harmless_failure(reason) }
    }

    /// Gives the answer; the exit that goes with it. Does not come back where the deadline was
    /// first.
    pub(super) fn deliver(self) -> Exit {
        deadline::answer();
        if let Some(complaint) = &self.complaint {
            complain(complaint);
        }
        let is_delivered = self.write();
        // Only now: the host may wait for the answer before it writes on.
        drain(deadline::left_of_all(), IDLE_MAX);
        match self.if_lost {
            Some(reason) if !is_delivered => {
                complain(&reason);
                BLOCKS
            }
            _ => self.exit,
        }
    }

    /// Gives the answer where nothing may be waited for any more; the exit status that goes with
    /// it. Stdout, which may be held by the thread that did not come to an end, is left alone but
    /// for a host that shows nothing else.
    pub(super) fn deliver_late(self) -> i32 {
        let is_writable = |stream: BorrowedFd<'_>| {
            let mut streams = [PollFd::new(&stream, PollFlags::OUT)];
            poll(&mut streams, Some(&STDERR_WAIT)).is_ok_and(|ready| ready > 0)
        };
        let line = self.line(deadline::host());
        if let Some(complaint) = self.complaint.filter(|_| is_writable(stderr())) {
            let line = format!("holdpoint: {}\n", with_few_marks(&complaint));
            let _ = rustix::io::write(stderr(), line.as_bytes());
        }
        if let Some(line) = line.filter(|_| is_writable(stdout())) {
            let _ = rustix::io::write(stdout(), line.as_bytes());
        }
        drain(deadline::WRITING, IDLE_LATE);
        i32::from(self.exit.code())
    }

    /// Whether the object could be read, or there is none.
    fn write(&self) -> bool {
        let Some(line) = self.line(deadline::host()) else { return true };
        let mut out = Output::stdout();
        out.bytes(line.as_bytes());
        let is_written = out.flush();
        is_written && !is_discarded()
    }

    /// The one line on stdout, in the form of a host.
    fn line(&self, host: Option<Host>) -> Option<String> {
        let mut most_bytes = LINE_BYTES_MAX;
        loop {
            let value = self.verdict.value(host, most_bytes)?;
            let line = format!("{}\n", ascii(&value.to_string()));
            let is_short = matches!(self.verdict, Verdict::GoOn(_) | Verdict::Context(_));
            if is_short || line.len() <= LINE_BYTES_MAX || most_bytes == 0 {
                return Some(line);
            }
            most_bytes /= 2;
        }
    }
}

impl Verdict {
    /// The object, with so much of its reason at most.
    fn value(&self, host: Option<Host>, most_bytes: usize) -> Option<Value> {
        let cut = |reason: &String| bounded(reason, most_bytes).to_string();
        Some(match self {
            Self::NoObjection => json!({}),
            Self::Allow(reason) => allowed(host, &cut(reason)),
            Self::Deny(reason) => match host {
                // It shows no stderr. The flat form is read beside exit 2, the nested one is not.
                Some(Host::CopilotCli) => json!({
                    "permissionDecision": "deny", "permissionDecisionReason": cut(reason)
                }),
                _ => return None,
            },
            Self::GoOn(reason) => json!({ "decision": "block", "reason": reason }),
            Self::Context(text) => json!({ "hookSpecificOutput": {
                "hookEventName": "SessionStart", "additionalContext": text
            } }),
        })
    }
}

/// An approval that was spent, as a host reads it.
fn allowed(host: Option<Host>, reason: &str) -> Value {
    match host {
        // Codex takes an allow for garbage where the input stays as it is. A plugin reads nothing.
        Some(Host::Codex | Host::OpenCode) => json!({}),
        Some(Host::GeminiCli) => json!({ "decision": "allow" }),
        Some(Host::CopilotCli) => {
            json!({ "permissionDecision": "allow", "permissionDecisionReason": reason })
        }
        Some(Host::Cursor) => json!({ "permission": "allow" }),
        Some(Host::ClaudeCode) | None => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": reason,
        } }),
    }
}

/// Whether stdout is the null device: that is where it leads when whoever started this process
/// closed it.
fn is_discarded() -> bool {
    match (metadata("/dev/fd/1"), metadata("/dev/null")) {
        (Ok(stdout), Ok(null)) => stdout.rdev() == null.rdev() && stdout.rdev() != 0,
        _ => false,
    }
}
