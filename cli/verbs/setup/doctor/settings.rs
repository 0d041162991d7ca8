//! The settings of agents' hosts, where their hooks stand.

use super::check::Check;
use super::command::is_executable;
use super::hooks::{HOOKS, check_hook, hooks_of};
use super::trust::{self, Place};
use crate::args::bounded_read::all_within;
use crate::args::hook_line::HookLineReader;
use crate::args::host::Host;
use crate::ui::path;
use serde_json::Value;
use std::fs::{File, read_dir};
use std::path::{Path, PathBuf};

/// The longest settings that are read, in bytes (4 MiB).
const SETTINGS_BYTES_MAX: usize = 4 << 20;

/// Files where a host looks, in the order in which it does. A name that ends with `/*` stands for
/// every file there.
const USUAL: [(Host, Place, &str); 21] = [
    (Host::ClaudeCode, Place::Project, ".claude/settings.json"),
    (Host::ClaudeCode, Place::Project, ".claude/settings.local.json"),
    (Host::ClaudeCode, Place::Home, ".claude/settings.json"),
    (Host::ClaudeCode, Place::Machine, "/etc/claude-code/managed-settings.json"),
    (Host::Codex, Place::Project, ".codex/hooks.json"),
    (Host::Codex, Place::Project, ".codex/config.toml"),
    (Host::Codex, Place::Home, ".codex/hooks.json"),
    (Host::Codex, Place::Home, ".codex/config.toml"),
    (Host::GeminiCli, Place::Project, ".gemini/settings.json"),
    (Host::GeminiCli, Place::Home, ".gemini/settings.json"),
    (Host::GeminiCli, Place::Machine, "/etc/gemini-cli/settings.json"),
    (Host::CopilotCli, Place::Project, ".github/hooks/*"),
    (Host::CopilotCli, Place::Home, ".copilot/hooks/*"),
    (Host::CopilotCli, Place::Machine, "/etc/github-copilot/policy.d/*"),
    (Host::Cursor, Place::Project, ".cursor/hooks.json"),
    (Host::Cursor, Place::Home, ".cursor/hooks.json"),
    (Host::Cursor, Place::Machine, "/etc/cursor/hooks.json"),
    (Host::OpenCode, Place::Project, ".opencode/plugins/*"),
    (Host::OpenCode, Place::Project, ".opencode/plugin/*"),
    (Host::OpenCode, Place::Home, ".config/opencode/plugins/*"),
    (Host::OpenCode, Place::Home, ".config/opencode/plugin/*"),
];

const SNIPPET: &str = "`holdpoint hook --help` says what stands there";

/// The plugin for OpenCode, which docs/agents.md prints.
const PLUGIN: &str = include_str!("opencode.js");

/// The log that hooks are compared with, and the reader of their lines.
type By<'l> = (&'l Path, HookLineReader);

/// One file of settings.
struct Source {
    host: Host,
    place: Place,
    file: PathBuf,
}

/// The hooks in these files, or in those where hosts look, and whether they are about this log.
/// Where no tool is guarded that is a failure if a guard is required.
pub(super) fn check(
    named: &[PathBuf],
    log: &Path,
    is_required: bool,
    read_line: HookLineReader,
) -> Vec<Check> {
    let sources = match named.is_empty() {
        true => usual(),
        false => named.iter().map(|file| Source::named(file)).collect(),
    };
    let (mut checks, mut total) = (Vec::new(), Count::default());
    for source in &sources {
        let (of_file, count) = source.check((log, read_line), !named.is_empty());
        total.guards = total.guards.saturating_add(count.guards);
        total.reports = total.reports.saturating_add(count.reports);
        checks.extend(of_file);
    }
    if total.guards == 0 {
        let message = match named {
            [] => "no tool is guarded: no `holdpoint hook pre-tool-use` in the settings of a host \
                   here, in the home directory or of this machine is run for one"
                .to_string(),
            named => {
                let looked = named.iter().map(|file| path(file)).collect::<Vec<_>>().join(", ");
                format!(
                    "no tool is guarded: no `holdpoint hook pre-tool-use` in {looked} is run for \
                     one"
                )
            }
        };
        checks.push(match is_required {
            true => Check::fail(HOOKS, message, SNIPPET),
            false => Check::warn(HOOKS, message, SNIPPET),
        });
    }
    if total.guards > 0 && total.reports == 0 {
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

impl Source {
    /// A file that was named: whose it is, its place and name say.
    fn named(file: &Path) -> Self {
        let text = file.to_string_lossy();
        let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let has = |part: &str| text.contains(part);
        let host = if matches!(extension, "js" | "ts" | "mjs") {
            Host::OpenCode
        } else if has(".codex/") || extension == "toml" {
            Host::Codex
        } else if has(".gemini/") || has("gemini-cli/") {
            Host::GeminiCli
        } else if has(".github/hooks/") || has(".copilot/") || has("github-copilot/") {
            Host::CopilotCli
        } else if has(".cursor/") || has("/cursor/") {
            Host::Cursor
        } else {
            Host::ClaudeCode
        };
        Self { host, place: Place::of(file), file: file.to_path_buf() }
    }

    fn check(&self, by: By<'_>, is_named: bool) -> (Vec<Check>, Count) {
        let place = path(&self.file);
        let failed = |reason: String| {
            (vec![Check::fail(HOOKS, reason, SNIPPET).at(&place)], Count::default())
        };
        let text = match read(&self.file) {
            Ok(Some(text)) => text,
            Ok(None) if is_named => return failed("no such file".to_string()),
            Ok(None) => return (Vec::new(), Count::default()),
            Err(reason) => return failed(reason),
        };
        if self.host == Host::OpenCode {
            return plugin(&text, &place);
        }
        match self.parsed(&text) {
            Ok(settings) => self.check_settings(&settings, &place, by),
            Err(reason) => failed(reason),
        }
    }

    fn parsed(&self, text: &str) -> Result<Value, String> {
        let is_toml = self.file.extension().is_some_and(|extension| extension == "toml");
        match is_toml {
            true => toml::from_str(text)
                .map_err(|error| format!("is not TOML, so the host runs no hook: {error}")),
            false => serde_json::from_str(text)
                .map_err(|error| format!("is not JSON, so the host runs no hook: {error}")),
        }
    }

    /// What the hooks of one file came to, and how many of them do what.
    fn check_settings(
        &self,
        settings: &Value,
        place: &str,
        (log, read_line): By<'_>,
    ) -> (Vec<Check>, Count) {
        let hooks = match hooks_of(self.host, settings) {
            Ok(hooks) => hooks,
            Err(reason) => {
                return (vec![Check::fail(HOOKS, reason, SNIPPET).at(place)], Count::default());
            }
        };
        let (mut checks, mut count) = (Vec::new(), Count::default());
        let off = trust::switched_off(self.host, settings);
        let is_off = off.is_some();
        checks.extend(off.map(|check| check.at(place)));
        for hook in &hooks {
            let mut of_hook = check_hook(hook, log, read_line);
            if of_hook.is_ours && !is_off {
                let distrust = trust::distrusted(self.host, self.place, &self.file, hook);
                of_hook.is_guard &= distrust.is_none();
                of_hook.checks.extend(distrust);
            }
            count.guards = count.guards.saturating_add(usize::from(of_hook.is_guard));
            count.reports = count.reports.saturating_add(usize::from(of_hook.reports));
            let place = format!("{place}, {}", hook.event);
            let is_fine = of_hook.checks.is_empty() && of_hook.is_ours;
            let fine = is_fine.then(|| Check::ok(HOOKS, "its hook is as it should be"));
            checks.extend(of_hook.checks.into_iter().chain(fine).map(|check| check.at(&place)));
        }
        (checks, if is_off { Count::default() } else { count })
    }
}

/// Whether a plugin of OpenCode is the one that the documents print.
fn plugin(text: &str, place: &str) -> (Vec<Check>, Count) {
    if !text.contains("holdpoint") {
        return (Vec::new(), Count::default());
    }
    // Whose program and which log, that line says.
    let rest = |text: &str| {
        let lines = text.trim().lines().filter(|line| !line.starts_with("const HOOK = "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let is_printed = rest(PLUGIN) == rest(text);
    let line = text.lines().find(|line| line.starts_with("const HOOK = "));
    let words = line.and_then(|line| {
        let list = line.strip_prefix("const HOOK = ")?.trim_end().trim_end_matches(';');
        serde_json::from_str::<Vec<String>>(list).ok()
    });
    let is_guard = words.is_some_and(|words| {
        let is_ours = |program: &String| {
            let name = Path::new(program).file_name();
            name.is_some_and(|name| name == "holdpoint") && is_executable(program)
        };
        let is_there = words.first().is_some_and(is_ours);
        is_there && words.iter().any(|word| word == "pre-tool-use")
    });
    let check = match (is_printed, is_guard) {
        (true, true) => Check::ok(HOOKS, "its plugin is as it should be"),
        (true, false) => Check::fail(
            HOOKS,
            "its line `const HOOK` starts no `holdpoint .. hook pre-tool-use` that is there",
            "write the program's whole path, and the log's",
        ),
        (false, _) => Check::fail(
            HOOKS,
            "it is not the plugin that docs/agents.md prints: whether it loads is not known, \
             and OpenCode runs every tool where it does not",
            "take that text, and change its line `const HOOK` alone",
        ),
    };
    let guards = usize::from(is_printed && is_guard);
    // What became of calls a plugin does not say.
    (vec![check.at(place)], Count { guards, reports: guards })
}

fn usual() -> Vec<Source> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let mut sources = Vec::new();
    for (host, place, name) in USUAL {
        let below = match place {
            Place::Home if home.as_os_str().is_empty() => continue,
            Place::Home => home.as_path(),
            Place::Project | Place::Machine => Path::new(""),
        };
        let files = match name.strip_suffix("/*") {
            Some(folder) => files_in(&below.join(folder)),
            None => vec![below.join(name)],
        };
        sources.extend(files.into_iter().map(|file| Source { host, place, file }));
    }
    sources
}

/// The files of a folder that a host reads, by name; none where there is no such folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let is_read = |file: &PathBuf| {
        let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
        matches!(extension, "json" | "js" | "ts" | "mjs")
    };
    let entries = read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_read).collect();
    files.sort();
    files
}

/// A settings file; `None` where there is none.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
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
    String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_string())
}
