//! The matcher of a hook, judged as its host judges it: some hosts compare whole names where a
//! matcher looks like names, and each of them searches with a regular expression otherwise.
//!
//! A matcher, a tool of the host and a `--tool` are sets of names, each an automaton. They meet
//! where one walk through all of them ends with a name.

use crate::args::host::Host;
use regex_automata::dfa::dense::{Builder, Config, DFA};
use regex_automata::dfa::{Automaton, StartKind};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};
use std::collections::BTreeSet;

/// Memory that one automaton takes at most, in bytes (4 MiB).
const AUTOMATON_BYTES_MAX: usize = 4 << 20;
/// Places of a walk through several automata at most.
const PLACES_MAX: usize = 1 << 17;

/// The bytes of which hosts make names of tools.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:.";
/// The set of them, as an expression.
const SOME_LETTERS: &str = "[a-zA-Z0-9_.-]+";

/// Any text, as an expression.
const ANY: &str = "(?s:.)*";

/// The tools that Claude Code has, as far as they do something. A `*` stands for the names that
/// servers and their tools have.
const OF_CLAUDE_CODE: &[&str] = &[
    "Bash",
    "PowerShell",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Glob",
    "Grep",
    "WebFetch",
    "WebSearch",
    "Task",
    "Agent",
    "Skill",
    "SlashCommand",
    "mcp__*__*",
];
/// Those of Codex, as hooks see them.
const OF_CODEX: &[&str] = &["Bash", "apply_patch", "Write", "Edit", "view_image", "mcp__*__*"];
/// Those of Gemini CLI.
const OF_GEMINI_CLI: &[&str] = &[
    "run_shell_command",
    "write_file",
    "replace",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "web_fetch",
    "google_web_search",
    "invoke_agent",
    "activate_skill",
    "mcp_*_*",
];
/// Those of Copilot CLI, which gives the tool of a server as `SERVER-TOOL`.
const OF_COPILOT_CLI: &[&str] = &[
    "Bash", "bash", "Shell", "create", "edit", "view", "Write", "Edit", "Read", "Grep", "grep",
    "glob", "Task", "task", "skill", "sql", "mcp*", "*-*",
];
/// Those of Cursor.
const OF_CURSOR: &[&str] =
    &["Shell", "Write", "Edit", "Read", "Delete", "Grep", "Task", "Bash", "MCP:*"];

/// The tools that a host has.
const fn tools_of(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => OF_CLAUDE_CODE,
        Host::Codex => OF_CODEX,
        Host::GeminiCli => OF_GEMINI_CLI,
        Host::CopilotCli => OF_COPILOT_CLI,
        Host::Cursor | Host::OpenCode => OF_CURSOR,
    }
}

/// The tools for which a host runs a hook.
#[derive(Debug)]
pub(super) enum Matcher {
    /// Every tool.
    All,
    /// These names, whole.
    Names(Vec<String>, NameSet),
    /// What a regular expression finds: anywhere in a name, and from its beginning. Of names that
    /// others choose only those from the beginning count: a server may call a tool anything.
    Expression { anywhere: NameSet, from_start: NameSet },
    /// An expression that is not read here: it looks around or back, or is too large.
    Unread,
}

/// A set of names of tools.
#[derive(Debug)]
pub(super) struct NameSet(Box<DFA<Vec<u32>>>);

impl Matcher {
    /// Reads a matcher as its host does. The reason why it is no regular expression, in words.
    pub(super) fn read(host: Host, matcher: Option<&str>) -> Result<Self, String> {
        let matcher = matcher.unwrap_or_default();
        let matcher = if host == Host::GeminiCli { matcher.trim() } else { matcher };
        if matches!(matcher, "" | "*") {
            return Ok(Self::All);
        }
        if let Some(names) = names(host, matcher) {
            let either: Vec<String> = names.iter().map(|name| literal(name)).collect();
            return match NameSet::of(&either.join("|")) {
                Ok(set) => Ok(Self::Names(names, set)),
                Err(_) => Ok(Self::Unread),
            };
        }
        if host != Host::Codex && looks_around(matcher) {
            return Ok(Self::Unread);
        }
        // By itself first: it may close a group that the whole would open.
        NameSet::of(matcher).map_err(reason)?;
        let (before, behind) = match host {
            Host::CopilotCli => ("", ""),
            _ => (ANY, ANY),
        };
        let anywhere = NameSet::of(&format!("{before}(?:{matcher}){behind}"));
        let from_start = NameSet::of(&format!("(?:{matcher}){behind}"));
        Ok(match (anywhere, from_start) {
            (Ok(anywhere), Ok(from_start)) => Self::Expression { anywhere, from_start },
            _ => Self::Unread,
        })
    }

    /// Whether the host runs the hook for a tool that it has, and that these names of `--tool`
    /// guard.
    pub(super) fn guards(&self, host: Host, tools: &[String]) -> bool {
        let guarded = NameSet::of_tools(tools);
        let is_guarded = |(name, known): (&str, NameSet)| match guarded.as_slice() {
            [] => self.meets(name, &[&known]),
            guarded => guarded.iter().any(|tool| self.meets(name, &[&known, tool])),
        };
        known(host).any(is_guarded)
    }

    /// The names of `--tool` for none of which the host runs the hook.
    pub(super) fn unmet<'t>(&self, tools: &'t [String]) -> Vec<&'t str> {
        let is_unmet =
            |name: &&String| NameSet::of_tool(name).is_some_and(|it| !self.meets(name, &[&it]));
        tools.iter().filter(is_unmet).map(String::as_str).collect()
    }

    /// The tools for which the host runs the hook and that no `--tool` names. A matcher of every
    /// tool leaves the choice to `--tool`.
    pub(super) fn unguarded(&self, host: Host, tools: &[String]) -> Vec<&'static str> {
        let guarded = NameSet::of_tools(tools);
        let (met, unmet): (Vec<_>, Vec<_>) =
            known(host).partition(|(name, tool)| self.meets(name, &[tool]));
        if unmet.is_empty() || guarded.is_empty() {
            return Vec::new();
        }
        let is_free =
            |tool: &NameSet| !guarded.iter().any(|guarded| NameSet::meet(&[guarded, tool]));
        met.into_iter().filter(|(_, tool)| is_free(tool)).map(|(name, _)| name).collect()
    }

    /// The names of a list that are certainly no tool: the beginning of those of a server, or a
    /// tool but for upper and lower case.
    pub(super) fn misnamed(&self, host: Host) -> Vec<&str> {
        let Self::Names(names, _) = self else { return Vec::new() };
        let is_tool = |name: &str| {
            let set = NameSet::of(&literal(name)).ok();
            set.is_none_or(|set| known(host).any(|(_, tool)| NameSet::meet(&[&set, &tool])))
        };
        let is_close = |name: &str| {
            name.to_ascii_lowercase().starts_with("mcp")
                || tools_of(host).iter().any(|tool| tool.eq_ignore_ascii_case(name))
        };
        names.iter().map(String::as_str).filter(|name| is_close(name) && !is_tool(name)).collect()
    }

    /// Whether some name is in all of these sets and in this one; `name` is how the first of them
    /// is written.
    fn meets(&self, name: &str, sets: &[&NameSet]) -> bool {
        let own = match self {
            Self::All => None,
            Self::Expression { from_start, .. } if name.contains('*') => Some(from_start),
            Self::Names(_, set) | Self::Expression { anywhere: set, .. } => Some(set),
            Self::Unread => return false,
        };
        NameSet::meet(&sets.iter().copied().chain(own).collect::<Vec<_>>())
    }
}

/// The tools that a host has, as they are written here and as sets.
fn known(host: Host) -> impl Iterator<Item = (&'static str, NameSet)> {
    tools_of(host).iter().filter_map(|name| Some((*name, NameSet::of_known(name)?)))
}

impl NameSet {
    /// The names that an expression describes from end to end.
    fn of(expression: &str) -> Result<Self, Box<regex_automata::dfa::dense::BuildError>> {
        let config = Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .dfa_size_limit(Some(AUTOMATON_BYTES_MAX))
            .determinize_size_limit(Some(AUTOMATON_BYTES_MAX));
        let thompson = thompson::Config::new().nfa_size_limit(Some(AUTOMATON_BYTES_MAX));
        let dfa = Builder::new()
            .configure(config)
            .thompson(thompson.utf8(false))
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .build(expression);
        dfa.map(|dfa| Self(Box::new(dfa))).map_err(Box::new)
    }

    /// Those of `--tool`: one, or all that begin so.
    fn of_tool(tool: &str) -> Option<Self> {
        let expression = match tool.strip_suffix('*') {
            Some(beginning) => format!("{}{ANY}", literal(beginning)),
            None => literal(tool),
        };
        Self::of(&expression).ok()
    }

    fn of_tools(tools: &[String]) -> Vec<Self> {
        tools.iter().filter_map(|tool| Self::of_tool(tool)).collect()
    }

    /// Those of a tool that a host has.
    fn of_known(tool: &str) -> Option<Self> {
        let parts: Vec<String> = tool.split('*').map(literal).collect();
        Self::of(&parts.join(SOME_LETTERS)).ok()
    }

    /// Whether some name is in all of them.
    fn meet(sets: &[&Self]) -> bool {
        let start = start::Config::new().anchored(Anchored::Yes);
        let begun = sets.iter().map(|set| set.0.start_state(&start)).collect::<Result<Vec<_>, _>>();
        let Ok(begun) = begun else { return false };
        let next = |places: &[StateID], letter: u8| -> Vec<StateID> {
            let each = sets.iter().zip(places);
            each.map(|(set, place)| set.0.next_state(*place, letter)).collect()
        };
        let is_end = |places: &[StateID]| {
            let mut each = sets.iter().zip(places);
            each.all(|(set, place)| set.0.is_match_state(set.0.next_eoi_state(*place)))
        };
        let is_dead = |places: &[StateID]| {
            sets.iter().zip(places).any(|(set, place)| set.0.is_dead_state(*place))
        };
        let mut seen = BTreeSet::from([begun.clone()]);
        let mut open = vec![begun];
        while let Some(places) = open.pop() {
            if is_end(&places) {
                return true;
            }
            for letter in LETTERS {
                let places = next(&places, *letter);
                if !is_dead(&places) && seen.len() < PLACES_MAX && seen.insert(places.clone()) {
                    open.push(places);
                }
            }
        }
        false
    }
}

/// The names of a matcher that its host compares whole; `None` where it is an expression there.
fn names(host: Host, matcher: &str) -> Option<Vec<String>> {
    let is_list = |others: &[char]| {
        matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || others.contains(&c))
    };
    match host {
        Host::ClaudeCode if is_list(&['|', ',', ' ', '-']) => {
            let names = matcher.split(['|', ',']).map(str::trim);
            Some(names.filter(|name| !name.is_empty()).map(String::from).collect())
        }
        Host::Codex if is_list(&['|']) => Some(matcher.split('|').map(String::from).collect()),
        _ => None,
    }
}

/// A name as an expression that finds it alone.
fn literal(name: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() => c.to_string(),
        c => format!("\\x{:02X}", u32::from(c)),
    };
    name.chars().map(escaped).collect()
}

/// Whether an expression looks around, or back at what it found: an automaton cannot.
fn looks_around(matcher: &str) -> bool {
    let digits = ('1'..='9').map(|digit| format!("\\{digit}"));
    let around = ["(?=", "(?!", "(?<=", "(?<!", "\\k<"].map(String::from);
    around.into_iter().chain(digits).any(|part| matcher.contains(&part))
}

/// Why an expression is none.
fn reason(error: Box<regex_automata::dfa::dense::BuildError>) -> String {
    let mut said = error.to_string();
    let mut source = std::error::Error::source(&*error);
    while let Some(error) = source {
        said = error.to_string();
        source = error.source();
    }
    let last = said.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards(host: Host, matcher: Option<&str>, tools: &[&str]) -> bool {
        let tools: Vec<String> = tools.iter().map(ToString::to_string).collect();
        Matcher::read(host, matcher).is_ok_and(|matcher| matcher.guards(host, &tools))
    }

    #[test]
    fn what_is_no_regular_expression_is_told() {
        for bad in ["(Bash", "Bash)", "[Bash", r"Bash\", "*Bash", "Bash|+", "(*)", ")("] {
            assert!(Matcher::read(Host::ClaudeCode, Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hook_guards_where_some_tool_that_there_is_gets_through_to_it() {
        let table: [(Option<&str>, &[&str], bool); 28] = [
            (None, &[], true),
            (Some("*"), &["Bash"], true),
            (Some("*"), &["bash"], false),
            (Some("Bash|Write"), &[], true),
            (Some("Bash, Write"), &["Write"], true),
            (Some("bash|write"), &[], false),
            (Some("NoSuchTool"), &[], false),
            (Some("Bash"), &["Write"], false),
            (Some("Bash|Read"), &["Write", "R*"], true),
            (Some("mcp__.*"), &["mcp__prod__drop"], true),
            (Some("mcp__prod__drop"), &[], true),
            (Some("mcp__prod__drop"), &["mcp__prod__*"], true),
            (Some("mcp__prod__drop"), &["mcp__test__*"], false),
            (Some("mcp__prod"), &[], false),
            (Some("mcp__brave-search"), &[], false),
            (Some("mcp__brave-search__web"), &[], true),
            (Some("mcp__a, mcp__b"), &[], false),
            (Some("mcp__.*__write.*"), &[], true),
            (Some("mcp__.*__write.*"), &["Bash"], false),
            (Some("mcp__memory__.*"), &["mcp__other__*"], false),
            (Some("mcp__*"), &[], true),
            (Some("^mcp__github$"), &[], false),
            (Some("^(Bash|Edit)$"), &["Bash"], true),
            (Some("^(Bash|Edit)$"), &["Grep"], false),
            (Some("^(bash)$"), &[], false),
            (Some(".+"), &[], true),
            (Some("^(?!Read)"), &[], false),
            (Some("(Bash"), &[], false),
        ];
        for (matcher, tools, expected) in table {
            assert_eq!(guards(Host::ClaudeCode, matcher, tools), expected, "{matcher:?} {tools:?}");
        }
    }

    #[test]
    fn each_host_has_tools_and_rules_of_its_own() {
        for (host, matcher, expected) in [
            (Host::Codex, "Bash", true),
            (Host::Codex, "run_shell_command", false),
            (Host::Codex, "mcp__memory", false),
            (Host::Codex, "mcp__brave-search", true),
            (Host::Codex, "Bas, Write ", false),
            (Host::GeminiCli, "run_shell_command|write_file", true),
            (Host::GeminiCli, "Bash|Write|Edit", false),
            (Host::GeminiCli, "mcp_memory", true),
            (Host::GeminiCli, " * ", true),
            (Host::CopilotCli, "bash", true),
            (Host::CopilotCli, "bas", false),
            (Host::CopilotCli, "github-.*", true),
            (Host::Cursor, "Shell", true),
            (Host::Cursor, "hell", true),
            (Host::Cursor, "MCP:", true),
            (Host::Cursor, "mcp__.*", false),
        ] {
            assert_eq!(guards(host, Some(matcher), &[]), expected, "{host}: {matcher}");
        }
    }

    #[test]
    fn a_name_of_a_list_that_is_certainly_no_tool_is_told() {
        let matcher = Matcher::read(Host::ClaudeCode, Some("Bash|write|mcp__a|New|mcp__a__b"));
        assert_eq!(matcher.unwrap().misnamed(Host::ClaudeCode), ["write", "mcp__a"]);
    }
}
