//! The hooks of a settings file, and what is wrong with those that are Holdpoint's.

use super::check::{Check, State};
use super::command::{Line, OnFailure, is_executable};
use super::matcher::Matcher;
use crate::args::hook_line::{HookLine, HookLineReader};
use crate::args::host::{Event, Host};
use crate::ui::path;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, absolute};
use std::time::Duration;

/// What is looked at.
pub(super) const HOOKS: &str = "hooks";

const HELP: &str = "`holdpoint hook --help` shows how";

/// The host lets the tool run when a hook takes longer than its timeout, or cannot be started,
/// unless this says otherwise.
const ON_FAILURE: &str = "\"onFailure\": \"block\"";

/// One command that the host runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hook<'a> {
    /// Whose settings it stands in.
    host: Host,
    /// When.
    pub(super) event: &'a str,
    /// The entry of its event, and its place there.
    pub(super) place: (usize, usize),
    pub(super) matcher: Option<&'a str>,
    pub(super) command: &'a str,
    /// What the host calls it.
    pub(super) name: Option<&'a str>,
    /// What stands in the settings.
    pub(super) value: &'a Value,
}

/// What was found of a hook.
#[derive(Debug, Default)]
pub(super) struct HookFindings {
    /// What is wrong.
    pub(super) checks: Vec<Check>,
    /// It runs this program's `hook`.
    pub(super) is_ours: bool,
    /// It runs this program's `hook pre-tool-use`, for some tool that there is.
    pub(super) is_guard: bool,
    /// It runs this program's `hook post-tool-use`.
    pub(super) reports: bool,
}

/// Every command hook of the settings of a host; what is not as the host has it, in words.
pub(super) fn hooks_of(host: Host, settings: &Value) -> Result<Vec<Hook<'_>>, String> {
    let Some(events) = settings.get("hooks") else { return Ok(Vec::new()) };
    let events = events.as_object().ok_or("\"hooks\" is not an object of events")?;
    let mut found = Vec::new();
    // Codex keeps there what it was told to trust.
    for (event, groups) in events.iter().filter(|(event, _)| *event != "state") {
        let groups = groups.as_array().ok_or(format!("\"hooks\".\"{event}\" is not a list"))?;
        for (entry, group) in groups.iter().enumerate() {
            let matcher = group.get("matcher").and_then(Value::as_str);
            let of = |number, hook| Hook::of(host, event, (entry, number), matcher, hook);
            match group.get("hooks").and_then(Value::as_array) {
                Some(hooks) => {
                    found.extend(hooks.iter().enumerate().filter_map(|(at, hook)| of(at, hook)));
                }
                None if matches!(host, Host::CopilotCli | Host::Cursor) => {
                    found.extend(of(0, group));
                }
                None => {
                    return Err(format!(
                        "an entry of \"hooks\".\"{event}\" has no list \"hooks\" of its own"
                    ));
                }
            }
        }
    }
    Ok(found)
}

impl<'a> Hook<'a> {
    fn of(
        host: Host,
        event: &'a str,
        place: (usize, usize),
        matcher: Option<&'a str>,
        value: &'a Value,
    ) -> Option<Self> {
        let command = value.get("bash").or_else(|| value.get("command"))?.as_str()?;
        let name = value.get("name").and_then(Value::as_str);
        Some(Self { host, event, place, matcher, command, name, value })
    }

    fn is_of(&self, event: Event) -> bool {
        self.host.names_of(event).contains(&self.event)
    }

    fn is_true(&self, key: &str) -> bool {
        self.value.get(key) == Some(&Value::Bool(true))
    }
}

/// What is wrong with a hook, where it has to do with decisions.
pub(super) fn check_hook(hook: &Hook<'_>, log: &Path, read: HookLineReader) -> HookFindings {
    let line = Line::split(hook.command);
    let flaws = flaws_of(hook.command, &line);
    let Some(words) = line.of_holdpoint().filter(|words| words.iter().any(|w| w == "hook")) else {
        return HookFindings { checks: flaws, ..HookFindings::default() };
    };
    let mut found = HookFindings { checks: flaws, is_ours: true, ..HookFindings::default() };
    match read(&words) {
        Ok(Some(args)) => {
            let is_for = |event| hook.is_of(event) && args.events.contains(&event);
            let is_meant = is_for(Event::PreToolUse);
            let matcher = Matcher::read(hook.host, hook.matcher).ok();
            let is_met = matcher.as_ref().is_some_and(|it| it.guards(hook.host, &args.tools));
            found.reports = is_for(Event::PostToolUse) && is_met;
            found.is_guard = is_meant && is_met;
            found.checks.extend(check_event(hook, &args));
            found.checks.extend(check_host(hook, &args));
            found.checks.extend(check_options(&args));
            found.checks.extend(check_log(args.log.as_deref(), log));
            if let Some(matcher) = matcher.filter(|_| is_meant || is_for(Event::PostToolUse)) {
                found.checks.extend(check_tools(hook, &matcher, &args.tools));
                found.checks.extend(check_idle(&matcher, is_met));
            }
            found.checks.extend(check_timeout(hook, args.takes_at_most));
        }
        Ok(None) => return HookFindings::default(),
        Err(error) => {
            let said = error.to_string();
            let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("its command line is refused ({said}): {}", hook.command);
            found.checks.push(Check::fail(HOOKS, message, HELP));
        }
    }
    found.checks.extend(check_settings(&line));
    found.checks.extend(check_program(&line));
    found.checks.extend(check_rest(&line));
    found.checks.extend(check_async(hook));
    if hook.is_of(Event::PreToolUse) {
        found.checks.extend(check_matcher(hook));
        found.checks.extend(check_failure(hook, &line));
    }
    // What fails guards nothing that could be relied on.
    found.is_guard &= found.checks.iter().all(|check| check.state != State::Fail);
    found
}

/// A host that the command line names, and in whose settings it does not stand.
fn check_host(hook: &Hook<'_>, args: &HookLine) -> Option<Check> {
    let stated = args.host.filter(|stated| *stated != hook.host)?;
    let message = format!("--host says {}, in the settings of {}", stated.id(), hook.host);
    Some(Check::fail(HOOKS, message, &format!("write --host {}", hook.host.id())))
}

fn check_event(hook: &Hook<'_>, args: &HookLine) -> Option<Check> {
    let found = hook.event;
    let names = |event: &Event| hook.host.names_of(*event).iter().copied();
    let expected: Vec<&str> = args.events.iter().flat_map(names).collect();
    (!expected.contains(&found)).then(|| {
        let message = format!("a hook for {} stands under {found}", expected.join(" and "));
        Check::fail(HOOKS, message, "move it, or run the hook of that name")
    })
}

/// Options that the hook refuses when it runs, and then it denies every call.
fn check_options(args: &HookLine) -> Option<Check> {
    let reason = args.flaw.as_ref()?;
    Some(Check::fail(HOOKS, format!("its options are refused: {reason}"), HELP))
}

/// A relative directory is another one wherever the agent goes. Another log than the one that was
/// looked at was not looked at.
fn check_log(log: Option<&Path>, ours: &Path) -> Option<Check> {
    let Some(log) = log.filter(|log| log.is_absolute()) else {
        let log = log.map_or("the nearest .holdpoint".to_string(), path);
        let message = format!("its log is {log}, wherever the agent happens to be");
        let advice = "name it: --log \"$CLAUDE_PROJECT_DIR/.holdpoint\"";
        return Some(Check::warn(HOOKS, message, advice));
    };
    let whole = |path: &Path| path.canonicalize().or_else(|_| absolute(path)).ok();
    (whole(log) != whole(ours)).then(|| {
        let message = format!("its log is {}, and another was looked at", log.display());
        Check::warn(HOOKS, message, "run doctor on that one, with --log")
    })
}

/// The matcher says for which tools the host runs the hook, and `--tool` which of them it guards.
fn check_tools(hook: &Hook<'_>, matcher: &Matcher, tools: &[String]) -> Vec<Check> {
    let misnamed = matcher.misnamed(hook.host).into_iter().map(|name| {
        let message = format!("its matcher names {name}, and {} has no such tool", hook.host);
        let advice = "write it as the host does: upper and lower case count, and all tools of a \
                      server are \"mcp__SERVER__.*\"";
        Check::fail(HOOKS, message, advice)
    });
    let unmet = matcher.unmet(tools).into_iter().map(|tool| {
        let message = format!("no tool of its matcher is {tool}, which --tool names");
        Check::fail(HOOKS, message, "name it in the matcher as well: upper and lower case count")
    });
    let unguarded = matcher.unguarded(hook.host, tools).into_iter().map(|name| {
        let message = format!("its matcher has {name}, which no --tool names: that tool just runs");
        Check::warn(HOOKS, message, "name it with --tool, or take it out of the matcher")
    });
    misnamed.chain(unmet).chain(unguarded).collect()
}

/// A hook that no tool gets through to, as far as its matcher can be read.
fn check_idle(matcher: &Matcher, is_met: bool) -> Option<Check> {
    let message = match matcher {
        Matcher::Unread => {
            "its matcher looks around or is too large to be read here: it is not \
                            counted as a guard"
        }
        _ => "no tool that is known gets through to it: it guards nothing",
    };
    let advice = "name tools as the host does: upper and lower case count";
    (!is_met).then(|| Check::warn(HOOKS, message, advice))
}

/// A variable that is set for the hook alone makes it another one than was looked at: another
/// program, policy or log.
fn check_settings(line: &Line) -> Option<Check> {
    let names = line.settings();
    (!names.is_empty()).then(|| {
        let message = format!("it sets {} for itself, which nobody looked at", names.join(", "));
        Check::fail(HOOKS, message, "take that out, and use options: --log DIR, --config FILE")
    })
}

/// The host does not wait for such a hook.
fn check_async(hook: &Hook<'_>) -> Option<Check> {
    let is_async = hook.value.get("async").is_some_and(|value| *value != Value::Bool(false));
    is_async.then(|| {
        let message = "it is async: the host does not wait for its answer, and nothing is held";
        Check::fail(HOOKS, message, "take \"async\" out")
    })
}

fn check_timeout(hook: &Hook<'_>, takes_at_most: Duration) -> Option<Check> {
    let needed = takes_at_most.as_secs();
    let enough = needed.saturating_add(5);
    let (key, of_second) = match hook.host {
        Host::GeminiCli => ("timeout", 1000.0),
        Host::CopilotCli => ("timeoutSec", 1.0),
        _ => ("timeout", 1.0),
    };
    let advice = match hook.host {
        Host::GeminiCli => format!("give it \"{key}\": {}000", enough),
        _ => format!("give it \"{key}\": {enough}"),
    };
    let Some(stated) = hook.value.get(key) else {
        return Some(Check::warn(HOOKS, "it has no timeout of its own", &advice));
    };
    let is_enough =
        stated.as_f64().is_some_and(|stated| stated / of_second > takes_at_most.as_secs_f64());
    let unit = if of_second > 1.0 { " ms" } else { "" };
    let message = format!("its timeout is {stated}{unit}, and it may take {needed} seconds");
    (!is_enough).then(|| Check::fail(HOOKS, message, &advice))
}

fn check_program(line: &Line) -> Option<Check> {
    let program = line.program()?;
    (!is_executable(program)).then(|| {
        let message =
            format!("{program} is not found, and a hook that is not there guards nothing");
        Check::fail(HOOKS, message, "install it on the host's PATH, or write its whole path")
    })
}

/// What stands behind the program decides over its exit code.
fn check_rest(line: &Line) -> Option<Check> {
    (!line.rest.is_empty()).then(|| {
        let message = format!("its exit code is not holdpoint's own: {}", line.rest);
        Check::fail(HOOKS, message, "put nothing behind it but `|| exit 2`")
    })
}

fn check_matcher(hook: &Hook<'_>) -> Option<Check> {
    let is_claude = hook.host == Host::ClaudeCode;
    let advice = match is_claude {
        true => "name the tools: \"matcher\": \"Bash|Write|Edit\"",
        false => "name the tools, or write \".*\"",
    };
    let Some(matcher) = hook.matcher else {
        let message = "it has no matcher, so every tool waits for a person, also those that read";
        return is_claude.then(|| Check::warn(HOOKS, message, advice));
    };
    let reason = Matcher::read(hook.host, Some(matcher)).err()?;
    let message = format!("its matcher {matcher} is no regular expression ({reason})");
    Some(Check::fail(HOOKS, message, advice))
}

/// What the host does where the hook cannot be started, or fails.
fn check_failure(hook: &Hook<'_>, line: &Line) -> Option<Check> {
    let runs = "where it cannot be started or takes too long, the tool runs";
    match hook.host {
        Host::ClaudeCode => {
            let is_block = hook.value.get("onFailure").and_then(Value::as_str) == Some("block");
            (!is_block).then(|| Check::fail(HOOKS, runs, &format!("add {ON_FAILURE}")))
        }
        Host::Codex | Host::GeminiCli => {
            let is_block = line.on_failure == OnFailure::BlocksAndSaysSo;
            let message = "where it cannot be started or fails, the tool may run";
            let advice = "put `|| { echo 'no answer' >&2; exit 2; }` behind it";
            (!is_block).then(|| Check::fail(HOOKS, message, advice))
        }
        Host::Cursor if line.on_failure != OnFailure::Nothing => {
            let message = "what the host sends is read by `exit`, and not by it";
            Some(Check::fail(HOOKS, message, "put nothing behind it, and \"failClosed\": true"))
        }
        Host::Cursor => {
            let is_block = hook.is_true("failClosed");
            (!is_block).then(|| Check::fail(HOOKS, runs, "add \"failClosed\": true"))
        }
        Host::CopilotCli | Host::OpenCode => None,
    }
}

/// The longest script that is read, in bytes (1 MiB).
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// What such a script asks.
const ASKS: &str = "decision list";

/// What is wrong with the script that a hook is or runs, where it asks for decisions.
fn flaws_of(command: &str, line: &Line) -> Vec<Check> {
    let words = line.program().into_iter().chain(line.arguments());
    let files = words.filter_map(|word| read(Path::new(word)));
    std::iter::once(command.to_string()).chain(files).flat_map(|text| flaws(&text)).collect()
}

/// What is wrong with a script.
fn flaws(text: &str) -> Vec<Check> {
    if !text.contains(ASKS) {
        return Vec::new();
    }
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let code = code.join("\n");
    let mut flaws = Vec::new();
    if has_words(&code, &["exit", "1"]) {
        let message =
            "its script ends with `exit 1`, after which the host runs the tool all the same";
        flaws.push(Check::fail(HOOKS, message, "`exit 2` blocks"));
    }
    if has_words(&code, &["[", "-n"]) || has_words(&code, &["test", "-n"]) {
        let message = "its script takes any output for a pending decision: an empty list prints []";
        flaws.push(Check::fail(HOOKS, message, "compare with the empty list: != \"[]\""));
    }
    if code.contains("2>/dev/null") {
        let message = "its script throws away why the list could not be read";
        flaws.push(Check::warn(HOOKS, message, "leave stderr alone, and exit 2 when it fails"));
    }
    flaws
}

/// Whether these words stand behind one another.
fn has_words(code: &str, words: &[&str]) -> bool {
    let separated = code.replace([';', '&', '|', '(', ')', '{', '}'], " ");
    let found: Vec<&str> = separated.split_whitespace().collect();
    found.windows(words.len()).any(|window| window == words)
}

/// A script; `None` where the word names none.
fn read(file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(SCRIPT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    // A program is not looked into.
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_flaws_are_found_in_scripts_that_list_decisions_and_nowhere_else() {
        let broken = "pending=$(bd decision list --json 2>/dev/null)\n\
                      if [ -n \"$pending\" ]; then exit 1; fi";
        assert_eq!(flaws(broken).len(), 3);
        let sound = "#!/bin/sh\n# never `exit 1` [ -n\n\
                     pending=$(holdpoint decision list --json) || exit 2\n\
                     [ \"$pending\" = \"[]\" ] || exit 2\n";
        assert_eq!(flaws(sound), []);
        assert_eq!(flaws("if [ -n \"$x\" ]; then exit 1; fi"), []);
        assert_eq!(flaws("decision list; exit 10"), []);
    }
}
