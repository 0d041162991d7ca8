//! What the host tells a hook: one JSON object on stdin, of which what is unknown is ignored. The
//! host grows fields and permission modes often, and none of them changes the answer.

use crate::args::bounded_read::all_within;
use crate::args::host::{Event, HOSTS, Host, Marks, recognised};
use crate::log::agent_sessions;
use crate::ui::screen::quoted;
use holdpoint_domain::core::text::bounded;
use holdpoint_engine::shell::{BoundDirectory, MAX_INPUT_BYTES};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::stdin;
use std::path::Path;

/// How much of a name that no host gives is repeated, in bytes.
const NAME_SHOWN_BYTES: usize = 100;

/// What one hook is told.
#[derive(Debug)]
pub(super) struct Input<'a> {
    /// Whose it is; `None` where that is not known, which hooks that only read put up with.
    pub(super) host: Option<Host>,
    event: Option<String>,
    session: Option<String>,
    cwd: Option<String>,
    /// Which tool.
    pub(super) tool_name: Option<String>,
    /// What it is given, as it was written.
    pub(super) tool_input: Option<Cow<'a, str>>,
    /// The host's own name of this one call.
    pub(super) tool_use_id: Option<String>,
    /// What a tool that ran answered, or one that failed said, as it was written.
    pub(super) response: Option<&'a str>,
    /// Whether a tool that failed was stopped by somebody.
    pub(super) is_interrupt: Option<bool>,
    /// Whether the agent goes on already because a hook would not let it stop.
    pub(super) stop_hook_active: Option<bool>,
}

/// The fields that are used, under every name that a host has for them, and those by which hosts
/// are known.
#[derive(Debug, Deserialize)]
struct Fields<'a> {
    hook_event_name: Option<String>,
    session_id: Option<String>,
    #[serde(rename = "sessionId")]
    camel_session_id: Option<String>,
    conversation_id: Option<String>,
    generation_id: Option<IgnoredAny>,
    turn_id: Option<IgnoredAny>,
    transcript_path: Option<IgnoredAny>,
    permission_mode: Option<IgnoredAny>,
    prompt_id: Option<IgnoredAny>,
    effort: Option<IgnoredAny>,
    timestamp: Option<IgnoredAny>,
    event: Option<IgnoredAny>,
    agent_action_name: Option<IgnoredAny>,
    #[serde(rename = "clineVersion")]
    cline_version: Option<IgnoredAny>,
    #[serde(rename = "hookName")]
    hook_name: Option<IgnoredAny>,
    #[serde(rename = "hookEventName")]
    camel_event: Option<IgnoredAny>,
    cwd: Option<String>,
    tool_name: Option<String>,
    #[serde(rename = "toolName")]
    camel_tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolArgs")]
    camel_tool_input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_result: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolResult")]
    camel_tool_result: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    is_interrupt: Option<bool>,
    stop_hook_active: Option<bool>,
}

impl<'a> Fields<'a> {
    fn marks(&self) -> Marks<'_> {
        Marks {
            event: self.hook_event_name.as_deref(),
            session: self.session_id.as_deref(),
            conversation: self.conversation_id.is_some() || self.generation_id.is_some(),
            turn: self.turn_id.is_some(),
            camel_tool: self.camel_tool_name.is_some() || self.camel_tool_input.is_some(),
            permission_mode: self.permission_mode.is_some()
                || self.prompt_id.is_some()
                || self.effort.is_some(),
            transcript: self.transcript_path.is_some(),
            timestamp: self.timestamp.is_some(),
            goose: self.event.is_some(),
            windsurf: self.agent_action_name.is_some(),
            cline: self.cline_version.is_some() || self.hook_name.is_some(),
            camel_event: self.camel_event.is_some(),
        }
    }

    /// What is meant, under the one name that says it. What is said under two names may be read as
    /// either.
    fn meant(self, host: Option<Host>) -> Result<Input<'a>, String> {
        let session = match host {
            Some(Host::Cursor) => self.conversation_id.or(self.session_id),
            _ => one("session", self.session_id, self.camel_session_id)?,
        };
        let tool_input = one("input", self.tool_input, self.camel_tool_input)?;
        let response = self.tool_response.or(self.tool_result).or(self.camel_tool_result);
        let response = response.or(self.tool_output).or(self.error);
        Ok(Input {
            host,
            event: self.hook_event_name,
            session,
            cwd: self.cwd,
            tool_name: one("tool", self.tool_name, self.camel_tool_name)?,
            tool_input: tool_input.map(unwrapped),
            tool_use_id: self.tool_use_id,
            response: response.map(RawValue::get),
            is_interrupt: self.is_interrupt,
            stop_hook_active: self.stop_hook_active,
        })
    }
}

fn one<T>(what: &str, snake: Option<T>, camel: Option<T>) -> Result<Option<T>, String> {
    match (snake, camel) {
        (Some(_), Some(_)) => Err(format!("the input on stdin states its {what} twice")),
        (snake, camel) => Ok(snake.or(camel)),
    }
}

/// An input that a host wrote as JSON in a text is that JSON.
fn unwrapped(value: &RawValue) -> Cow<'_, str> {
    let text = value.get();
    let inner = text.starts_with('"').then(|| serde_json::from_str::<String>(text).ok()).flatten();
    inner.filter(|inner| inner.trim_start().starts_with('{')).map_or(text.into(), Cow::Owned)
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
    /// The input of a hook for one of these events. The reason why it is none, or of no host that
    /// is recognised, in words.
    pub(super) fn parse(
        text: &'a str,
        events: &[Event],
        stated: Option<Host>,
    ) -> Result<Self, String> {
        let fields = fields(text, events)?;
        let host = recognised(&fields.marks(), stated)?;
        check_event(fields.hook_event_name.as_deref(), events, &[host])?;
        fields.meant(Some(host))
    }

    /// The same where nothing is recorded: an input that proves no host may be any one's.
    pub(super) fn parse_any(
        text: &'a str,
        event: Event,
        stated: Option<Host>,
    ) -> Result<Self, String> {
        let fields = fields(text, &[event])?;
        let marks = fields.marks();
        let host = match marks.proven()? {
            None if stated.is_none() => None,
            _ => Some(recognised(&marks, stated)?),
        };
        let hosts = host.map_or(HOSTS.to_vec(), |host| vec![host]);
        check_event(fields.hook_event_name.as_deref(), &[event], &hosts)?;
        fields.meant(host)
    }

    /// Whether the host says that this is the event.
    pub(super) fn is_event(&self, event: Event) -> bool {
        let names = self.host.map_or(&[][..], |host| host.names_of(event));
        self.event.as_deref().is_some_and(|found| names.contains(&found))
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
        let session = self.session.as_deref().filter(|session| !session.is_empty());
        session.ok_or_else(|| "the input on stdin has no session_id".to_string())
    }

    /// The names under which the session may have asked.
    pub(super) fn session_names(&self) -> Result<Vec<String>, String> {
        let hosts = self.host.map_or(HOSTS.to_vec(), |host| vec![host]);
        hosts.into_iter().map(|host| agent_sessions::name(host, self.session_id()?)).collect()
    }
}

fn fields<'a>(text: &'a str, events: &[Event]) -> Result<Fields<'a>, String> {
    if !text.trim_start().starts_with('{') {
        return Err(format!(
            "stdin has no JSON object; `holdpoint hook` is run by the agent's host, as a {} hook",
            named(events, &HOSTS)
        ));
    }
    serde_json::from_str(text)
        .map_err(|error| format!("the input on stdin cannot be read: {error}"))
}

/// Whether an event that is stated is one of these, as one of these hosts calls it.
fn check_event(found: Option<&str>, events: &[Event], hosts: &[Host]) -> Result<(), String> {
    let Some(found) = found else { return Ok(()) };
    let is_meant = |host: &Host| events.iter().any(|event| host.names_of(*event).contains(&found));
    match hosts.iter().any(is_meant) {
        true => Ok(()),
        false => Err(format!(
            "this hook answers {} and was run for {:?}: mend the hook settings",
            named(events, hosts),
            bounded(found, NAME_SHOWN_BYTES)
        )),
    }
}

/// The names of events, each once.
fn named(events: &[Event], hosts: &[Host]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in events.iter().flat_map(|event| hosts.iter().flat_map(|it| it.names_of(*event))) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Input<'_>, String> {
        Input::parse(text, &[Event::PreToolUse], None)
    }

    #[test]
    fn unknown_fields_and_modes_are_ignored_and_the_tools_input_stays_as_written() {
        let text = r#" {"permission_mode": "of-2031", "new": [{}], "session_id": "s", "cwd": "/",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"a": 1,"a":2}}"#;
        let input = parsed(text).unwrap();
        assert_eq!((input.session_id(), input.host), (Ok("s"), Some(Host::ClaudeCode)));
        assert_eq!(input.directory().unwrap().unwrap().path(), Path::new("/"));
        let stop = Input::parse_any("{}", Event::Stop, None).unwrap();
        assert_eq!((stop.directory(), stop.host), (Ok(None), None));
        assert_eq!(input.tool_input.unwrap(), r#"{"a": 1,"a":2}"#);
    }

    #[test]
    fn an_input_in_the_words_of_another_host_is_read_and_a_text_of_json_is_that_json() {
        let text = r#"{"sessionId": "s", "toolName": "bash", "toolArgs": "{\"command\":\"ls\"}"}"#;
        let input = parsed(text).unwrap();
        assert_eq!((input.session_id(), input.host), (Ok("s"), Some(Host::CopilotCli)));
        assert_eq!(input.tool_input.unwrap(), r#"{"command":"ls"}"#);
        let cursor =
            r#"{"conversation_id": "c", "session_id": "x", "hook_event_name": "preToolUse"}"#;
        assert_eq!(parsed(cursor).unwrap().session_id(), Ok("c"));
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
            "{}",
            r#"{"session_id": 7}"#,
            r#"{"session_id": "a", "session_id": "b", "turn_id": "t"}"#,
            r#"{"session_id": "a", "sessionId": "b", "turn_id": "t"}"#,
            r#"{"tool_input": {}, "tool_input": {}, "turn_id": "t"}"#,
            r#"{"tool_name": "Bash", "toolName": "Read"}"#,
            r#"{"hook_event_name": "Stop", "turn_id": "t"}"#,
            r#"{"hook_event_name": "PreToolUse", "session_id": "s"}"#,
        ];
        for text in bad {
            assert!(parsed(text).is_err(), "{text}");
        }
        assert!(parsed(r#"{"turn_id": "t"}"#).unwrap().session_id().is_err());
    }
}
