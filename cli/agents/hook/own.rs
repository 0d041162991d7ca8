//! Calls that only wait for decisions or look at them, with this program itself: nobody is asked
//! about those, or an agent could not wait for its answer without another question.

use crate::args::command_line;
use crate::args::host::Host;
use holdpoint_engine::executor::command_line;
use serde_json::Value;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, absolute};

/// The tools of hosts that run a command in a shell, and what a call may say besides the command:
/// nothing of it changes what is run.
const SHELLS: [(Host, &str, &[&str]); 6] = [
    (Host::ClaudeCode, "Bash", &["description", "timeout", "run_in_background"]),
    (Host::Codex, "Bash", &[]),
    (Host::GeminiCli, "run_shell_command", &["description"]),
    (Host::CopilotCli, "Bash", &["description", "initial_wait", "timeout"]),
    (Host::CopilotCli, "bash", &["description", "initial_wait", "timeout"]),
    (Host::OpenCode, "bash", &["description", "timeout"]),
];

/// The verbs of `decision` that wait and look.
const VERBS: [&str; 3] = ["wait", "show", "list"];

/// The tools of this program's own server that wait and look.
const MCP_TOOLS: [&str; 4] =
    ["decision_wait", "decision_show", "decision_list", "bd_decision_list"];

/// This program, as the system runs it.
const SELF: &str = "/proc/self/exe";

/// Whether a call of a tool, with this input, only waits or looks. `servers` are the names that the
/// host has for this program's own server.
pub(super) fn only_looks(host: Host, tool: &str, input: &[u8], servers: &[String]) -> bool {
    let shell = SHELLS.iter().find(|(of, name, _)| *of == host && *name == tool);
    let Some((_, _, fields)) = shell else {
        let is_of = |server: &String| {
            MCP_TOOLS.iter().any(|name| *tool == format!("mcp__{server}__{name}"))
        };
        return servers.iter().any(is_of);
    };
    let Ok(Value::Object(input)) = serde_json::from_slice(input) else { return false };
    let is_known = input.keys().all(|key| key == "command" || fields.contains(&key.as_str()));
    let command = input.get("command").and_then(Value::as_str);
    is_known && command.is_some_and(is_own)
}

/// Waiting for a decision as a shell takes it. Nobody is asked about it where it [`is_own`].
pub(super) fn wait_command(log: &Path, decision_id: &str) -> String {
    let log = absolute(log).unwrap_or_else(|_| log.to_path_buf());
    let words = ["decision", "wait", decision_id, "--log"].map(Into::into);
    let words = words.into_iter().chain([log.into_os_string()]).collect::<Vec<_>>();
    let program = Path::new(SELF).read_link();
    let program = program.unwrap_or_else(|_| "holdpoint".into());
    command_line(program.as_os_str(), &words)
}

/// Whether a command of a shell only waits or looks.
pub(super) fn is_own(command: &str) -> bool {
    let Some(words) = plain_words(command) else { return false };
    let [program, decision, verb, ..] = words.as_slice() else { return false };
    let is_looking = *decision == "decision" && VERBS.contains(verb);
    // A file of the caller's choice is not read, not even to say what is wrong with it.
    let names_file = words.iter().any(|word| word.starts_with("--config"));
    is_looking && !names_file && is_this_program(program) && is_understood(&words)
}

/// The words of a command that a shell takes as they stand: of nothing but letters, digits and a
/// few signs that mean nothing to it, with one space between two of them.
fn plain_words(command: &str) -> Option<Vec<&str>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':');
    let words: Vec<&str> = command.split(' ').collect();
    words.iter().all(|word| !word.is_empty() && word.chars().all(is_plain)).then_some(words)
}

/// Whether a word is the path of the program that runs now, from the root on, and no other name of
/// it: what a link leads to may be something else once a shell follows it. `/proc/self/exe` is the
/// shell there.
fn is_this_program(word: &str) -> bool {
    let (word, this) = (Path::new(word), Path::new(SELF));
    let of = |path: &Path| metadata(path).ok().map(|file| (file.dev(), file.ino()));
    this.read_link().is_ok_and(|path| path == word) && of(word).is_some() && of(word) == of(this)
}

/// Whether this program itself takes the words for waiting or looking.
fn is_understood(words: &[&str]) -> bool {
    let parsed = command_line::declared().try_get_matches_from(words);
    let parsed = parsed.ok().and_then(|mut parsed| parsed.remove_subcommand());
    parsed.is_some_and(|(group, parsed)| {
        group == "decision" && parsed.subcommand_name().is_some_and(|verb| VERBS.contains(&verb))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::env::current_exe;

    fn looks(command: &str) -> bool {
        command_line::declare(<crate::arguments::Arguments as clap::CommandFactory>::command);
        bash("Bash", &json!({ "command": command }).to_string())
    }

    fn bash(tool: &str, input: &str) -> bool {
        command_line::declare(<crate::arguments::Arguments as clap::CommandFactory>::command);
        only_looks(Host::ClaudeCode, tool, input.as_bytes(), &[])
    }

    #[test]
    fn waiting_and_looking_with_this_very_program_is_let_through() {
        let this = current_exe().unwrap().canonicalize().unwrap();
        let this = this.to_str().unwrap();
        for rest in ["wait DP-1", "show gt-1 --json", "list", "wait DP-1 --log /w/.holdpoint"] {
            assert!(looks(&format!("{this} decision {rest}")), "{rest}");
        }
        let told = wait_command(Path::new("/w/.holdpoint"), "DP-1");
        assert!(looks(&told), "{told}");
        let more = json!({ "command": told, "description": "wait", "timeout": 9 }).to_string();
        assert!(bash("Bash", &more));
        let unknown = json!({ "command": told, "shell": "/tmp/sh" }).to_string();
        assert!(!bash("Bash", &unknown));
        assert!(!bash("Zsh", &more));
    }

    #[test]
    fn another_name_of_this_program_is_asked_about() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("holdpoint");
        std::os::unix::fs::symlink(current_exe().unwrap(), &link).unwrap();
        for name in [link.to_str().unwrap(), "/proc/self/exe", "/proc/thread-self/exe"] {
            assert!(!looks(&format!("{name} decision wait DP-1")), "{name}");
        }
    }

    #[test]
    fn whatever_a_shell_would_do_more_than_that_is_asked_about() {
        let this = current_exe().unwrap().canonicalize().unwrap();
        let this = this.to_str().unwrap();
        let wait = format!("{this} decision wait DP-1");
        for more in [
            ";id",
            " ; id",
            "&",
            " && id",
            "|sh",
            "\nid",
            "\rid",
            " > f",
            " 2>f",
            " < f",
            " $(id)",
            " `id`",
            " $HOME",
            " ${X}",
            " *",
            " ?",
            " [a]",
            " {a,b}",
            " ~",
            " ~root",
            " 'a'",
            " \"a\"",
            " \\a",
            " # x",
            " !x",
            " ",
            "\t",
            "\u{a0}x",
            " a=b",
            " (id)",
            " %1",
            " ^a^b",
            " --config /etc/shadow",
            " --no-such-option",
            "\0",
        ] {
            assert!(!looks(&format!("{wait}{more}")), "{more:?}");
        }
        for other in [
            format!("A=1 {wait}"),
            format!(" {wait}"),
            wait.replacen('/', "//proc/self/root/", 1).replacen("decision", "hook", 1),
            format!("{this} decision respond DP-1 --option approve"),
            format!("{this} decision create"),
            format!("{this} --json decision list"),
            format!("{this} run -- decision wait"),
            format!("{this} decision"),
            "holdpoint decision wait DP-1".to_string(),
            "/bin/sh decision wait DP-1".to_string(),
            "/no/such decision wait DP-1".to_string(),
            String::new(),
        ] {
            assert!(!looks(&other), "{other}");
        }
        for input in ["{}", "[]", "null", r#"{"command":["a"]}"#, r#"{"command":1}"#] {
            assert!(!bash("Bash", input), "{input}");
        }
    }

    #[test]
    fn tools_of_a_server_are_let_through_where_its_name_was_given_and_only_those_that_look() {
        let own = ["holdpoint".to_string()];
        for (tool, servers, expected) in [
            ("mcp__holdpoint__decision_wait", &own[..], true),
            ("mcp__holdpoint__decision_show", &own, true),
            ("mcp__holdpoint__bd_decision_list", &own, true),
            ("mcp__holdpoint__decision_respond", &own, false),
            ("mcp__holdpoint__decision_create", &own, false),
            ("mcp__other__decision_wait", &own, false),
            ("mcp__holdpoint__decision_wait", &[], false),
            ("mcp__holdpoint__decision_wait2", &own, false),
        ] {
            assert_eq!(only_looks(Host::ClaudeCode, tool, b"{}", servers), expected, "{tool}");
        }
    }
}
