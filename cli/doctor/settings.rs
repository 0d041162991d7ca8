//! The settings of the agent's host, where its hooks stand.

use super::check::Check;
use super::hooks::{HOOKS, check_hook, hooks_of};
use crate::reading::all_within;
use crate::text::path;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The longest settings that are read, in bytes (4 MiB).
const SETTINGS_BYTES_MAX: usize = 4 << 20;

/// Where the host looks, in the order in which it does.
const IN_PROJECT: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

const SNIPPET: &str = "`holdpoint hook --help` says what stands there";

/// The hooks in these files, or in those where the host looks, and whether they are about this log.
/// Where no tool is guarded that is a failure if a guard is required.
pub(super) fn check(named: &[PathBuf], log: &Path, is_required: bool) -> Vec<Check> {
    let files = if named.is_empty() { usual() } else { named.to_vec() };
    let mut checks = Vec::new();
    let (mut guards, mut reports) = (0_usize, 0_usize);
    for file in &files {
        match read(file) {
            Ok(None) if named.is_empty() => {}
            Ok(None) => checks.push(Check::fail(HOOKS, "no such file", SNIPPET).at(&path(file))),
            Err(reason) => checks.push(Check::fail(HOOKS, reason, SNIPPET).at(&path(file))),
            Ok(Some(settings)) => {
                let (of_file, found) = check_file(&settings, &path(file), log);
                guards = guards.saturating_add(found.guards);
                reports = reports.saturating_add(found.reports);
                checks.extend(of_file);
            }
        }
    }
    if guards == 0 {
        let looked = files.iter().map(|file| path(file)).collect::<Vec<_>>().join(", ");
        let message = format!(
            "no tool is guarded: no `holdpoint hook pre-tool-use` in {looked} is run for one"
        );
        checks.push(match is_required {
            true => Check::fail(HOOKS, message, SNIPPET),
            false => Check::warn(HOOKS, message, SNIPPET),
        });
    }
    if guards > 0 && reports == 0 {
        let message = "no `holdpoint hook post-tool-use` is run, so that what became of approved \
                       calls stays unknown";
        checks.push(Check::warn(HOOKS, message, SNIPPET));
    }
    checks
}

/// How many hooks guard tools, and how many report what became of calls.
#[derive(Default)]
struct Count {
    guards: usize,
    reports: usize,
}

/// What the hooks of one file came to, and how many of them do what.
fn check_file(settings: &Value, place: &str, log: &Path) -> (Vec<Check>, Count) {
    let hooks = match hooks_of(settings) {
        Ok(hooks) => hooks,
        Err(reason) => {
            return (vec![Check::fail(HOOKS, reason, SNIPPET).at(place)], Count::default());
        }
    };
    let (mut checks, mut count) = (Vec::new(), Count::default());
    let is_off = settings.get("disableAllHooks") == Some(&Value::Bool(true));
    if is_off {
        let message = "disableAllHooks is true: no hook is run";
        checks.push(Check::fail(HOOKS, message, "take it out").at(place));
    }
    for hook in &hooks {
        let of_hook = check_hook(hook, log);
        count.guards = count.guards.saturating_add(usize::from(of_hook.is_guard));
        count.reports = count.reports.saturating_add(usize::from(of_hook.reports));
        let place = format!("{place}, {}", hook.event);
        let is_fine = of_hook.checks.is_empty() && of_hook.is_ours;
        let fine = is_fine.then(|| Check::ok(HOOKS, "its hook is as it should be"));
        checks.extend(of_hook.checks.into_iter().chain(fine).map(|check| check.at(&place)));
    }
    (checks, if is_off { Count::default() } else { count })
}

fn usual() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let of_user = home.map(|home| home.join(".claude/settings.json"));
    IN_PROJECT.iter().map(PathBuf::from).chain(of_user).collect()
}

/// A settings file; `None` where there is none.
fn read(file: &Path) -> Result<Option<Value>, String> {
    if !file.exists() {
        return Ok(None);
    }
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // A pipe would wait for ever, and a directory cannot be read.
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("is not a regular file".to_string());
    }
    let opened = File::open(file).map_err(unreadable)?;
    let bytes = all_within(opened, SETTINGS_BYTES_MAX).map_err(unreadable)?;
    let bytes = bytes.ok_or_else(|| format!("is longer than {SETTINGS_BYTES_MAX} bytes"))?;
    let settings = serde_json::from_slice(&bytes);
    settings.map(Some).map_err(|error| format!("is not JSON, so the host runs no hook: {error}"))
}
