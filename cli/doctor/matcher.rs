//! The matcher of a hook: the regular expression by which the host picks tools.

use crate::hook::Host;
use std::fmt;

/// What stands for something else in a regular expression, but for `|` and `.*`.
const SPECIAL: [char; 12] = ['\\', '^', '$', '.', '*', '+', '?', '(', ')', '[', ']', '{'];

/// The tools that Claude Code has, as far as they do something; those of servers by their
/// beginning.
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
    "mcp__*",
];
/// Those of Codex, as hooks see them.
const OF_CODEX: &[&str] = &["Bash", "apply_patch", "Write", "Edit", "view_image", "mcp__*"];
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
    "mcp_*",
];
/// Those of Copilot CLI and of Cursor, which name several of them in two ways.
const OF_OTHERS: &[&str] = &[
    "Bash", "bash", "Shell", "create", "edit", "view", "Write", "Edit", "Read", "Delete", "Grep",
    "grep", "glob", "Task", "task", "skill", "sql", "mcp*", "MCP:*",
];

/// The tools that a host has.
const fn tools_of(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => OF_CLAUDE_CODE,
        Host::Codex => OF_CODEX,
        Host::GeminiCli => OF_GEMINI_CLI,
        Host::CopilotCli | Host::Cursor | Host::OpenCode => OF_OTHERS,
    }
}

/// One tool, or all whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    beginning: String,
    is_whole: bool,
}

impl Names {
    /// Those of `--tool`.
    pub(super) fn of_tool(tool: &str) -> Self {
        Self::of(tool, "*")
    }

    fn of(text: &str, rest: &str) -> Self {
        let beginning = text.strip_suffix(rest);
        Self { is_whole: beginning.is_none(), beginning: beginning.unwrap_or(text).to_string() }
    }

    /// Whether some name is in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self.is_whole, other.is_whole) {
            (true, true) => self.beginning == other.beginning,
            (true, false) => self.beginning.starts_with(&other.beginning),
            (false, true) => other.beginning.starts_with(&self.beginning),
            (false, false) => {
                self.beginning.starts_with(&other.beginning)
                    || other.beginning.starts_with(&self.beginning)
            }
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = if self.is_whole { "" } else { "*" };
        write!(f, "{}{rest}", self.beginning)
    }
}

/// The tools that a matcher names; `None` where that takes more than reading names. Why it is no
/// regular expression, in words.
pub(super) fn names(matcher: &str) -> Result<Option<Vec<Names>>, &'static str> {
    // These two stand for every tool.
    if matches!(matcher, "" | "*") {
        return Ok(Some(vec![Names { beginning: String::new(), is_whole: false }]));
    }
    well_formed(matcher)?;
    let names: Vec<Names> = matcher.split('|').map(|text| Names::of(text, ".*")).collect();
    let is_plain = names.iter().all(|names| !names.beginning.contains(SPECIAL));
    Ok(is_plain.then_some(names))
}

/// Whether a hook with this matcher and these names of `--tool` guards any tool that there is. A
/// regular expression that is more than names is looked through for them.
pub(super) fn guards(host: Host, matcher: Option<&str>, tools: &[String]) -> bool {
    let guarded: Vec<Names> = tools.iter().map(|tool| Names::of_tool(tool)).collect();
    let is_guarded = |name: &Names| guarded.is_empty() || guarded.iter().any(|t| t.meets(name));
    let mut known = tools_of(host).iter().map(|tool| Names::of_tool(tool)).filter(is_guarded);
    let matcher = matcher.unwrap_or_default();
    match names(matcher) {
        Err(_) => false,
        Ok(None) => known.any(|tool| matcher.contains(&tool.beginning)),
        Ok(Some(named)) => {
            let meets_both = |name: &Names| known.clone().any(|tool| tool.meets(name));
            named.iter().any(|name| is_guarded(name) && meets_both(name))
        }
    }
}

/// Brackets in pairs, and something before whatever repeats it.
fn well_formed(matcher: &str) -> Result<(), &'static str> {
    let (mut depth, mut is_class, mut has_item) = (0_usize, false, false);
    let mut characters = matcher.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none() => return Err("nothing follows its last \\"),
            ']' if is_class => is_class = false,
            _ if is_class => {}
            '[' => is_class = true,
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.checked_sub(1).ok_or("a ) closes nothing")?,
            '*' | '+' if !has_item => return Err("a * or + repeats nothing"),
            _ => {}
        }
        has_item = !matches!(character, '(' | '|');
    }
    match (is_class, depth) {
        (true, _) => Err("a [ is not closed"),
        (false, 0) => Ok(()),
        (false, _) => Err("a ( is not closed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_of_names_is_read_and_another_is_not_guessed() {
        let shown = |matcher: &str| {
            let names = names(matcher).unwrap()?;
            Some(names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(shown("Bash|mcp__.*").as_deref(), Some("Bash mcp__*"));
        for all in ["", "*", ".*"] {
            assert_eq!(shown(all).as_deref(), Some("*"), "{all}");
        }
        for other in ["^Bash$", "(Ba|Z)sh", "[BZ]ash", "a.b", "Notebook.+", r"mcp\(", "[(]"] {
            assert_eq!(shown(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_regular_expression_is_told() {
        for bad in ["(Bash", "Bash)", "[Bash", r"Bash\", "*Bash", "Bash|+", "(*)", ")("] {
            assert!(names(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hook_guards_where_some_tool_that_there_is_gets_through_to_it() {
        let table: [(Option<&str>, &[&str], bool); 14] = [
            (None, &[], true),
            (Some("*"), &["Bash"], true),
            (Some("*"), &["bash"], false),
            (Some("Bash|Write"), &[], true),
            (Some("bash|write"), &[], false),
            (Some("NoSuchTool"), &[], false),
            (Some("Bash"), &["Write"], false),
            (Some("Bash|Read"), &["Write", "R*"], true),
            (Some("mcp__.*"), &["mcp__prod__drop"], true),
            (Some("mcp__prod__drop"), &[], true),
            (Some("^(Bash|Edit)$"), &["Bash"], true),
            (Some("^(Bash|Edit)$"), &["Grep"], false),
            (Some(".+"), &[], false),
            (Some("(Bash"), &[], false),
        ];
        for (matcher, tools, expected) in table {
            let tools: Vec<String> = tools.iter().map(ToString::to_string).collect();
            assert_eq!(
                guards(Host::ClaudeCode, matcher, &tools),
                expected,
                "{matcher:?} {tools:?}"
            );
        }
    }

    #[test]
    fn each_host_has_tools_of_its_own() {
        for (host, matcher, expected) in [
            (Host::Codex, "Bash", true),
            (Host::Codex, "run_shell_command", false),
            (Host::GeminiCli, "run_shell_command|write_file", true),
            (Host::GeminiCli, "Bash|Write|Edit", false),
            (Host::CopilotCli, "bash", true),
        ] {
            assert_eq!(guards(host, Some(matcher), &[]), expected, "{host}: {matcher}");
        }
    }

    #[test]
    fn names_meet_where_one_name_is_in_both() {
        let meet = |one: &str, other: &str| Names::of_tool(one).meets(&Names::of_tool(other));
        let table = [
            ("Bash", "Bash", true),
            ("Bash", "bash", false),
            ("Bash", "Ba*", true),
            ("Ba*", "Zsh", false),
            ("mcp__*", "mcp__a__*", true),
            ("mcp__b*", "mcp__a*", false),
            ("*", "Bash", true),
        ];
        for (one, other, expected) in table {
            assert_eq!((meet(one, other), meet(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
