//! The hooks of a settings file, and what is wrong with those that are Holdpoint's.

use super::check::Check;
use super::command::{Line, is_executable};
use super::matcher::{self, Names};
use super::script;
use crate::arguments::{Arguments, Verb};
use crate::hook;
use crate::text::path;
use clap::Parser;
use serde_json::Value;
use std::path::{Path, absolute};
use std::time::Duration;

/// What is looked at.
pub(super) const HOOKS: &str = "hooks";

const HELP: &str = "`holdpoint hook --help` shows how";

/// The event before a tool runs.
const GUARDS_TOOLS: &str = "PreToolUse";
/// The event after a tool has run.
const TELLS_OUTCOMES: &str = "PostToolUse";
/// The host lets the tool run when a hook takes longer than its timeout, or cannot be started,
/// unless this says otherwise.
const ON_FAILURE: &str = "\"onFailure\": \"block\"";

/// One command that the host runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hook<'a> {
    /// When.
    pub(super) event: &'a str,
    matcher: Option<&'a str>,
    command: &'a str,
    timeout: Option<&'a Value>,
    on_failure: Option<&'a Value>,
    is_async: bool,
}

/// What was found of a hook.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What is wrong.
    pub(super) checks: Vec<Check>,
    /// It runs this program's `hook`.
    pub(super) is_ours: bool,
    /// It runs this program's `hook pre-tool-use`, for some tool that there is.
    pub(super) is_guard: bool,
    /// It runs this program's `hook post-tool-use`.
    pub(super) reports: bool,
}

/// Every command hook of the settings; what is not as the host has it, in words.
pub(super) fn hooks_of(settings: &Value) -> Result<Vec<Hook<'_>>, String> {
    let Some(events) = settings.get("hooks") else { return Ok(Vec::new()) };
    let events = events.as_object().ok_or("\"hooks\" is not an object of events")?;
    let mut found = Vec::new();
    for (event, groups) in events {
        let groups = groups.as_array().ok_or(format!("\"hooks\".\"{event}\" is not a list"))?;
        for group in groups {
            let hooks = group.get("hooks").and_then(Value::as_array).ok_or(format!(
                "an entry of \"hooks\".\"{event}\" has no list \"hooks\" of its own"
            ))?;
            let matcher = group.get("matcher").and_then(Value::as_str);
            found.extend(hooks.iter().filter_map(|hook| Hook::of(event, matcher, hook)));
        }
    }
    Ok(found)
}

impl<'a> Hook<'a> {
    fn of(event: &'a str, matcher: Option<&'a str>, hook: &'a Value) -> Option<Self> {
        let command = hook.get("command")?.as_str()?;
        let (timeout, on_failure) = (hook.get("timeout"), hook.get("onFailure"));
        let is_async = hook.get("async").is_some_and(|value| *value != Value::Bool(false));
        Some(Self { event, matcher, command, timeout, on_failure, is_async })
    }
}

/// What is wrong with a hook, where it has to do with decisions.
pub(super) fn check_hook(hook: &Hook<'_>, log: &Path) -> Found {
    let line = Line::split(hook.command);
    let flaws = script::flaws_of(hook.command, &line);
    let Some(words) = line.of_holdpoint().filter(|words| words.iter().any(|w| w == "hook")) else {
        return Found { checks: flaws, ..Found::default() };
    };
    let mut found = Found { checks: flaws, is_ours: true, ..Found::default() };
    match Arguments::try_parse_from(words) {
        Ok(Arguments { given, verb: Verb::Hook(args) }) => {
            let is_meant = hook.event == GUARDS_TOOLS && args.events().contains(&GUARDS_TOOLS);
            found.reports = hook.event == TELLS_OUTCOMES && args.events().contains(&TELLS_OUTCOMES);
            found.is_guard = is_meant && matcher::guards(hook.matcher, args.tools());
            found.checks.extend(check_event(hook, &args));
            found.checks.extend(check_options(&args));
            found.checks.extend(check_log(given.log.as_deref(), log));
            found.checks.extend(check_tools(hook, args.tools()));
            found.checks.extend(check_guard(hook, is_meant && !found.is_guard));
            found.checks.extend(check_timeout(hook, args.takes_at_most()));
        }
        Ok(_) => return Found::default(),
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
    if hook.event == GUARDS_TOOLS {
        found.checks.extend(check_matcher(hook));
        found.checks.extend(check_failure(hook));
    }
    found
}

fn check_event(hook: &Hook<'_>, args: &hook::Args) -> Option<Check> {
    let (expected, found) = (args.events(), hook.event);
    (!expected.contains(&found)).then(|| {
        let message = format!("a hook for {} stands under {found}", expected.join(" and "));
        Check::fail(HOOKS, message, "move it, or run the hook of that name")
    })
}

/// Options that the hook refuses when it runs, and then it denies every call.
fn check_options(args: &hook::Args) -> Option<Check> {
    let reason = args.check().err()?;
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
fn check_tools(hook: &Hook<'_>, tools: &[String]) -> Vec<Check> {
    let Some(Ok(named)) = hook.matcher.map(matcher::names) else { return Vec::new() };
    let guarded: Vec<Names> = tools.iter().map(|tool| Names::of_tool(tool)).collect();
    let Some(named) = named.filter(|_| !guarded.is_empty()) else { return Vec::new() };
    let unmet = guarded.iter().filter(|tool| !named.iter().any(|name| name.meets(tool)));
    let unguarded = named.iter().filter(|name| !guarded.iter().any(|tool| tool.meets(name)));
    let unmet = unmet.map(|tool| {
        let message = format!("no tool of its matcher is {tool}, which --tool names");
        Check::fail(HOOKS, message, "name it in the matcher as well: upper and lower case count")
    });
    let unguarded = unguarded.map(|name| {
        let message = format!("its matcher has {name}, which no --tool names: that tool just runs");
        Check::warn(HOOKS, message, "name it with --tool, or take it out of the matcher")
    });
    unmet.chain(unguarded).collect()
}

/// A hook that no tool gets through to. A matcher that is none is told of by itself.
fn check_guard(hook: &Hook<'_>, is_idle: bool) -> Option<Check> {
    let is_well_formed = hook.matcher.is_none_or(|matcher| matcher::names(matcher).is_ok());
    (is_idle && is_well_formed).then(|| {
        let message = "no tool that is known gets through to it: it guards nothing";
        Check::warn(HOOKS, message, "name tools as the host does: upper and lower case count")
    })
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
    hook.is_async.then(|| {
        let message = "it is async: the host does not wait for its answer, and nothing is held";
        Check::fail(HOOKS, message, "take \"async\" out")
    })
}

fn check_timeout(hook: &Hook<'_>, takes_at_most: Duration) -> Option<Check> {
    let needed = takes_at_most.as_secs();
    let advice = format!("give it \"timeout\": {}", needed.saturating_add(5));
    match hook.timeout {
        None => Some(Check::warn(HOOKS, "it has no timeout of its own", &advice)),
        Some(stated) => {
            let is_enough =
                stated.as_f64().is_some_and(|stated| stated > takes_at_most.as_secs_f64());
            let message = format!("its timeout is {stated}, and it may take {needed} seconds");
            (!is_enough).then(|| Check::fail(HOOKS, message, &advice))
        }
    }
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
    let advice = "name the tools: \"matcher\": \"Bash|Write|Edit\"";
    let Some(matcher) = hook.matcher else {
        let message = "it has no matcher, so every tool waits for a person, also those that read";
        return Some(Check::warn(HOOKS, message, advice));
    };
    let reason = matcher::names(matcher).err()?;
    let message = format!("its matcher {matcher} is no regular expression ({reason})");
    Some(Check::fail(HOOKS, message, advice))
}

fn check_failure(hook: &Hook<'_>) -> Option<Check> {
    let is_block = hook.on_failure.and_then(Value::as_str) == Some("block");
    (!is_block).then(|| {
        let message = "where it cannot be started or takes too long, the tool runs";
        Check::fail(HOOKS, message, &format!("add {ON_FAILURE}"))
    })
}
