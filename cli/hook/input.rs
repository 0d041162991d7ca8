//! What the host tells a hook: one JSON object on stdin, of which what is unknown is ignored. The
//! host grows fields and permission modes often, and none of them changes the answer.

use crate::reading::all_within;
use crate::screen::quoted;
use holdpoint_engine::shell::{BoundDirectory, MAX_INPUT_BYTES};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::io::stdin;
use std::path::Path;

/// The host is about to run a tool.
pub(super) const PRE_TOOL_USE: &str = "PreToolUse";
/// A tool has run.
pub(super) const POST_TOOL_USE: &str = "PostToolUse";
/// A tool has failed.
pub(super) const POST_TOOL_USE_FAILURE: &str = "PostToolUseFailure";
/// The agent is about to stop.
pub(super) const STOP: &str = "Stop";
/// A session starts, goes on, or lost its beginning.
pub(super) const SESSION_START: &str = "SessionStart";

/// The fields that are used.
#[derive(Debug, Deserialize)]
pub(super) struct Input<'a> {
    hook_event_name: Option<String>,
    session_id: Option<String>,
    cwd: Option<String>,
    /// Which tool.
    pub(super) tool_name: Option<String>,
    /// What it is given, as it was written.
    #[serde(borrow)]
    pub(super) tool_input: Option<&'a RawValue>,
    /// The host's own name of this one call.
    pub(super) tool_use_id: Option<String>,
    /// What a tool that ran answered, as it was written.
    #[serde(borrow)]
    pub(super) tool_response: Option<&'a RawValue>,
    /// What a tool that failed said, as it was written.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Whether a tool that failed was stopped by somebody.
    pub(super) is_interrupt: Option<bool>,
    /// Whether the agent goes on already because a hook would not let it stop.
    #[serde(default)]
    pub(super) stop_hook_active: Option<bool>,
}

/// Reads stdin to its end. The reason why that is no use, in words.
pub(super) fn read() -> Result<String, String> {
    let bytes = all_within(stdin().lock(), MAX_INPUT_BYTES)
        .map_err(|error| format!("cannot read stdin: {error}"))?
        .ok_or_else(|| {
            format!("the input on stdin is longer than {MAX_INPUT_BYTES} bytes (16 MiB)")
        })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("the input on stdin is not UTF-8 from byte {at} on")
    })
}

impl<'a> Input<'a> {
    /// The input of a hook for this event. The reason why it is none, in words.
    pub(super) fn parse(text: &'a str, event: &str) -> Result<Self, String> {
        Self::parse_any(text, &[event])
    }

    /// The input of a hook for one of these events. The reason why it is none, in words.
    pub(super) fn parse_any(text: &'a str, events: &[&str]) -> Result<Self, String> {
        let event = events.join(" and ");
        if !text.trim_start().starts_with('{') {
            return Err(format!(
                "stdin has no JSON object; `holdpoint hook` is run by the agent's host, as a \
                 {event} hook"
            ));
        }
        let input: Self = serde_json::from_str(text)
            .map_err(|error| format!("the input on stdin cannot be read: {error}"))?;
        match &input.hook_event_name {
            Some(found) if !events.contains(&found.as_str()) => Err(format!(
                "this hook answers {event} and was run for {found:?}: mend the hook settings"
            )),
            _ => Ok(input),
        }
    }

    /// Whether the host says that this is the event.
    pub(super) fn is_event(&self, event: &str) -> bool {
        self.hook_event_name.as_deref() == Some(event)
    }

    /// Where the tool runs, whatever name leads there; `None` where that is not stated. The reason
    /// why it is no directory that could be approved, in words.
    pub(super) fn directory(&self) -> Result<Option<BoundDirectory>, String> {
        let Some(cwd) = &self.cwd else { return Ok(None) };
        let shown = quoted(cwd);
        if !Path::new(cwd).is_absolute() {
            return Err(format!(
                "the cwd {shown} of the input on stdin is no absolute path, so it is not known \
                 where the tool runs"
            ));
        }
        let found = BoundDirectory::of(Path::new(cwd));
        found.map(Some).map_err(|error| {
            format!(
                "the cwd {shown} of the input on stdin is no directory that this user can look at \
                 ({error}): go to one that is there"
            )
        })
    }

    /// The session. Without one it is not known whose approvals count.
    pub(super) fn session_id(&self) -> Result<&str, String> {
        let session = self.session_id.as_deref().filter(|session| !session.is_empty());
        session.ok_or_else(|| "the input on stdin has no session_id".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_modes_are_ignored_and_the_tools_input_stays_as_written() {
        let text = r#" {"permission_mode": "of-2031", "new": [{}], "session_id": "s", "cwd": "/",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"a": 1,"a":2}}"#;
        let input = Input::parse(text, PRE_TOOL_USE).unwrap();
        assert_eq!(input.session_id(), Ok("s"));
        assert_eq!(input.directory().unwrap().unwrap().path(), Path::new("/"));
        assert_eq!(Input::parse("{}", STOP).unwrap().directory(), Ok(None));
        assert_eq!(input.tool_input.unwrap().get(), r#"{"a": 1,"a":2}"#);
    }

    #[test]
    fn what_is_no_input_of_this_hook_is_refused() {
        let bad = [
            "",
            "[]",
            r#"["PreToolUse", "s", "/w", "Bash", {}, false]"#,
            "null",
            "{",
            "{} {}",
            r#"{"session_id": 7}"#,
            r#"{"session_id": "a", "session_id": "b"}"#,
            r#"{"tool_input": {}, "tool_input": {}}"#,
            r#"{"hook_event_name": "Stop"}"#,
        ];
        for text in bad {
            assert!(Input::parse(text, PRE_TOOL_USE).is_err(), "{text}");
        }
        assert!(Input::parse("{}", PRE_TOOL_USE).unwrap().session_id().is_err());
    }
}
