//! What a hook answers, and how that reaches the host. Commands in it name the log: whoever is told
//! of them need not be where the hook is.

use super::input::{PRE_TOOL_USE, SESSION_START};
use crate::advice::pasted_anywhere;
use crate::exit::{Exit, complain};
use crate::output::Output;
use serde_json::{Value, json};
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;

/// The exit after which the host blocks, whatever is on stdout.
const BLOCKS: Exit = Exit::USAGE;

/// What a hook answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The one object on stdout. A denial has none: hosts read JSON before the exit code, and
    /// another host's JSON is no objection to them.
    value: Option<Value>,
    exit: Exit,
    /// What stderr says.
    complaint: Option<String>,
    /// What stderr says when stdout reaches nobody: then the host is blocked with it.
    if_lost: Option<String>,
}

impl Answer {
    /// Nothing is said for or against: the host goes on as without the hook.
    pub(super) fn no_objection() -> Self {
        Self { value: Some(json!({})), exit: Exit::DONE, complaint: None, if_lost: None }
    }

    /// The tool may run.
    pub(super) fn allow(reason: &str) -> Self {
        let reason = &pasted_anywhere(reason);
        let lost = format!("an approval was spent and could not be told: {reason}");
        let value = Some(permission("allow", reason));
        Self { value, if_lost: Some(lost), ..Self::no_objection() }
    }

    /// The tool may not run: exit 2, the reason on stderr, and nothing on stdout.
    pub(super) fn deny(reason: &str) -> Self {
        let complaint = Some(pasted_anywhere(reason));
        Self { value: None, exit: BLOCKS, complaint, if_lost: None }
    }

    /// Nothing could be decided, so the tool may not run.
    pub(super) fn undecided(reason: &str) -> Self {
        Self::deny(&format!(
            "could not decide on this call, so it is denied; do not try another way: {reason}"
        ))
    }

    /// The agent goes on instead of stopping.
    pub(super) fn go_on(reason: &str) -> Self {
        let value = json!({ "decision": "block", "reason": pasted_anywhere(reason) });
        Self { value: Some(value), ..Self::no_objection() }
    }

    /// The agent is told something.
    pub(super) fn context(text: &str) -> Self {
        let text = pasted_anywhere(text);
        let value = json!({
            "hookSpecificOutput": { "hookEventName": SESSION_START, "additionalContext": text }
        });
        Self { value: Some(value), ..Self::no_objection() }
    }

    /// A failure that blocks nothing, told on stderr.
    pub(super) fn harmless_failure(reason: &str) -> Self {
        Self { complaint: Some(reason.to_string()), ..Self::no_objection() }
    }

    /// A failure that can hold nothing any more, by an exit that the host shows.
    pub(super) fn failure(reason: &str) -> Self {
        Self { exit: Exit::FAILED, ..Self::harmless_failure(reason) }
    }

    /// Gives the answer; the exit that goes with it.
    pub(super) fn deliver(self) -> Exit {
        if let Some(complaint) = &self.complaint {
            complain(complaint);
        }
        let is_delivered = self.write();
        match self.if_lost {
            Some(reason) if !is_delivered => {
                complain(&reason);
                BLOCKS
            }
            _ => self.exit,
        }
    }

    /// Whether the object could be read, or there is none.
    fn write(&self) -> bool {
        let Some(value) = &self.value else { return true };
        let mut out = Output::stdout();
        out.json_line(value);
        let is_written = out.flush();
        is_written && !is_discarded()
    }
}

fn permission(decision: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": PRE_TOOL_USE,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    })
}

/// Whether stdout is the null device: that is where it leads when whoever started this process
/// closed it.
fn is_discarded() -> bool {
    match (metadata("/dev/fd/1"), metadata("/dev/null")) {
        (Ok(stdout), Ok(null)) => stdout.rdev() == null.rdev() && stdout.rdev() != 0,
        _ => false,
    }
}
