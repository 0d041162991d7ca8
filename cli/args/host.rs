//! The agent's host, which is known by the fields of what it sends. `--host` says which one it is
//! only where the fields prove none.

use clap::ValueEnum;
use std::fmt;

/// A host whose hooks this program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Copilot CLI.
    CopilotCli,
    /// Cursor.
    Cursor,
    /// OpenCode, by way of a plugin.
    #[value(name = "opencode")]
    OpenCode,
}

/// What a hook is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The host is about to run a tool.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A tool has failed.
    PostToolUseFailure,
    /// The agent is about to stop.
    Stop,
    /// A session starts, goes on, or lost its beginning.
    SessionStart,
}

/// Every host.
pub(crate) const HOSTS: [Host; 6] = [
    Host::ClaudeCode,
    Host::Codex,
    Host::GeminiCli,
    Host::CopilotCli,
    Host::Cursor,
    Host::OpenCode,
];

/// The fields of a built-in tool that do not change its effect: a question shows them, and an
/// approval is not bound to them. Every other field of these tools, and every field of every other
/// tool, is bound. `docs/agents.md` has the same table.
pub(crate) const NOT_BOUND: [(Host, &str, &[&str]); 11] = [
    (Host::ClaudeCode, "Bash", &["description", "timeout"]),
    (Host::ClaudeCode, "Agent", &["description"]),
    (Host::ClaudeCode, "Task", &["description"]),
    (Host::GeminiCli, "run_shell_command", &["description"]),
    (Host::GeminiCli, "replace", &["instruction"]),
    (Host::CopilotCli, "Bash", &["description", "initial_wait", "timeout"]),
    (Host::CopilotCli, "bash", &["description", "initial_wait", "timeout"]),
    (Host::CopilotCli, "task", &["description"]),
    (Host::OpenCode, "bash", &["description", "timeout"]),
    (Host::OpenCode, "task", &["description"]),
    (Host::OpenCode, "webfetch", &["timeout"]),
];

impl Host {
    /// The name that `--host` takes, and with which the names of its sessions begin.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::CopilotCli => "copilot-cli",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
        }
    }

    /// The names that it has for an event. The first one is that of its documentation.
    pub(crate) const fn names_of(self, event: Event) -> &'static [&'static str] {
        match (self, event) {
            (Self::GeminiCli, Event::PreToolUse) => &["BeforeTool"],
            (Self::GeminiCli, Event::PostToolUse) => &["AfterTool"],
            (Self::GeminiCli, Event::Stop) => &["AfterAgent"],
            (Self::CopilotCli, Event::PreToolUse) => &["PreToolUse", "preToolUse"],
            (Self::CopilotCli, Event::PostToolUse) => &["PostToolUse", "postToolUse"],
            (Self::CopilotCli, Event::PostToolUseFailure) => {
                &["PostToolUseFailure", "postToolUseFailure"]
            }
            (Self::CopilotCli, Event::Stop) => &["Stop", "agentStop"],
            (Self::CopilotCli, Event::SessionStart) => &["SessionStart", "sessionStart"],
            (Self::Cursor, Event::PreToolUse) => &["preToolUse", "PreToolUse"],
            (Self::Cursor, Event::PostToolUse) => &["postToolUse", "PostToolUse"],
            (Self::Cursor, Event::PostToolUseFailure) => {
                &["postToolUseFailure", "PostToolUseFailure"]
            }
            (Self::Cursor, Event::Stop) => &["stop", "Stop"],
            (Self::Cursor, Event::SessionStart) => &["sessionStart", "SessionStart"],
            (_, Event::PreToolUse) => &["PreToolUse"],
            (_, Event::PostToolUse) => &["PostToolUse"],
            (_, Event::PostToolUseFailure) => &["PostToolUseFailure"],
            (_, Event::Stop) => &["Stop"],
            (_, Event::SessionStart) => &["SessionStart"],
        }
    }

    /// The fields of a tool that an approval is not bound to.
    pub(crate) fn not_bound(self, tool: &str) -> &'static [&'static str] {
        let row = NOT_BOUND.iter().find(|(host, name, _)| *host == self && *name == tool);
        row.map_or(&[], |(_, _, fields)| fields)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::CopilotCli => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::OpenCode => "OpenCode",
        })
    }
}

/// The fields by which hosts are known, as far as they are there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks<'a> {
    /// The name of the event.
    pub(crate) event: Option<&'a str>,
    /// The session's name in `session_id`.
    pub(crate) session: Option<&'a str>,
    /// `conversation_id` or `generation_id`.
    pub(crate) conversation: bool,
    /// `turn_id`.
    pub(crate) turn: bool,
    /// `toolName` or `toolArgs`.
    pub(crate) camel_tool: bool,
    /// `permission_mode`, `prompt_id` or `effort`.
    pub(crate) permission_mode: bool,
    /// `transcript_path`.
    pub(crate) transcript: bool,
    /// `timestamp`.
    pub(crate) timestamp: bool,
    /// `event`.
    pub(crate) goose: bool,
    /// `agent_action_name`.
    pub(crate) windsurf: bool,
    /// `clineVersion` or `hookName`.
    pub(crate) cline: bool,
    /// `hookEventName`.
    pub(crate) camel_event: bool,
}

impl Marks<'_> {
    /// The host that the fields prove. The reason why it is none that is served, in words: it is
    /// another one, or the fields are those of two.
    pub(crate) fn proven(&self) -> Result<Option<Host>, String> {
        let other = [
            (self.goose, "goose"),
            (self.windsurf, "Windsurf"),
            (self.cline, "Cline"),
            (self.camel_event, "VS Code"),
        ];
        if let Some((_, name)) = other.into_iter().find(|(is_there, _)| *is_there) {
            return Err(format!(
                "the input on stdin is that of {name}, a host that is not served (served: {})",
                named(&HOSTS)
            ));
        }
        let is_gemini = self.event.is_some_and(|event| {
            matches!(event, "BeforeTool" | "AfterTool" | "BeforeAgent" | "AfterAgent")
        });
        let certain = [
            (self.conversation, Host::Cursor),
            (self.turn, Host::Codex),
            (is_gemini, Host::GeminiCli),
            (self.camel_tool, Host::CopilotCli),
        ];
        let certain: Vec<Host> =
            certain.into_iter().filter(|(is_there, _)| *is_there).map(|(_, host)| host).collect();
        match certain.as_slice() {
            [] => Ok(self.likely()),
            [host] => Ok(Some(*host)),
            several => Err(format!(
                "the input on stdin has fields of several hosts ({}), so it is not known whose it \
                 is",
                named(several)
            )),
        }
    }

    /// The host by fields that hosts share, where only one of them has these.
    fn likely(&self) -> Option<Host> {
        if self.transcript && self.timestamp && !self.permission_mode {
            Some(Host::GeminiCli)
        } else if self.permission_mode || self.transcript {
            Some(Host::ClaudeCode)
        } else if self.timestamp {
            Some(Host::CopilotCli)
        } else {
            self.session.is_some_and(|it| it.starts_with("ses_")).then_some(Host::OpenCode)
        }
    }
}

/// The host of an input: the one that its fields prove, else the one that `--host` names. The
/// reason why that is none, in words.
pub(crate) fn recognised(marks: &Marks<'_>, stated: Option<Host>) -> Result<Host, String> {
    match (marks.proven()?, stated) {
        (Some(proven), Some(stated)) if proven != stated => Err(format!(
            "the input on stdin is that of {proven}, and --host says {}: mend the hook's command \
             line",
            stated.id()
        )),
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(format!(
            "the input on stdin is that of no host that is recognised ({}): where it is one of \
             these, say so with --host ({})",
            named(&HOSTS),
            HOSTS.map(Host::id).join(", ")
        )),
    }
}

fn named(hosts: &[Host]) -> String {
    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_fields_and_two_are_none() {
        let of = Marks::default;
        let table = [
            (Marks { permission_mode: true, transcript: true, ..of() }, Ok(Some(Host::ClaudeCode))),
            (
                Marks { turn: true, permission_mode: true, transcript: true, ..of() },
                Ok(Some(Host::Codex)),
            ),
            (
                Marks { event: Some("BeforeTool"), timestamp: true, transcript: true, ..of() },
                Ok(Some(Host::GeminiCli)),
            ),
            (Marks { timestamp: true, ..of() }, Ok(Some(Host::CopilotCli))),
            (Marks { camel_tool: true, timestamp: true, ..of() }, Ok(Some(Host::CopilotCli))),
            (Marks { conversation: true, transcript: true, ..of() }, Ok(Some(Host::Cursor))),
            (Marks { session: Some("ses_1"), ..of() }, Ok(Some(Host::OpenCode))),
            (Marks { session: Some("s"), event: Some("PreToolUse"), ..of() }, Ok(None)),
            (Marks { goose: true, ..of() }, Err("goose")),
            (Marks { windsurf: true, permission_mode: true, ..of() }, Err("Windsurf")),
            (Marks { camel_event: true, timestamp: true, ..of() }, Err("VS Code")),
            (Marks { turn: true, conversation: true, ..of() }, Err("Cursor, Codex")),
        ];
        for (marks, expected) in table {
            match (marks.proven(), expected) {
                (Err(reason), Err(name)) => assert!(reason.contains(name), "{reason}"),
                (found, expected) => {
                    assert_eq!(found, expected.map_err(String::from), "{marks:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_stated_counts_only_where_nothing_is_proven() {
        let (proven, none) = (Marks { turn: true, ..Marks::default() }, Marks::default());
        assert_eq!(recognised(&proven, Some(Host::Codex)), Ok(Host::Codex));
        assert!(recognised(&proven, Some(Host::ClaudeCode)).unwrap_err().contains("Codex"));
        assert_eq!(recognised(&none, Some(Host::OpenCode)), Ok(Host::OpenCode));
        assert!(recognised(&none, None).unwrap_err().contains("--host"));
    }
}
