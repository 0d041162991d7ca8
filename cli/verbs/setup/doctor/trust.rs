//! Hooks that a host does not run: switched off in its settings, or not trusted, as far as its own
//! files say so.

use super::check::Check;
use super::hooks::{HOOKS, Hook};
use super::settings::read;
use crate::args::host::Host;
use holdpoint_domain::core::hash::sha256;
use serde_json::{Map, Value, json};
use std::env::var_os;
use std::path::{Path, PathBuf, absolute};

/// Where settings stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a project.
    Project,
    /// In a home directory.
    Home,
    /// Below `/etc`.
    Machine,
}

impl Place {
    /// The place of a file.
    pub(super) fn of(file: &Path) -> Self {
        let file = absolute(file).unwrap_or_else(|_| file.to_path_buf());
        let is_of_home = |home: &PathBuf| {
            let rest = file.strip_prefix(home).ok().and_then(|rest| rest.components().next());
            rest.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with('.'))
        };
        if file.starts_with("/etc") {
            Self::Machine
        } else if home().as_ref().is_some_and(is_of_home) {
            Self::Home
        } else {
            Self::Project
        }
    }
}

/// Settings that switch all hooks of a host off.
pub(super) fn switched_off(host: Host, settings: &Value) -> Option<Check> {
    let at = |pointer: &str| settings.pointer(pointer);
    let is = |pointer: &str, value: bool| at(pointer) == Some(&Value::Bool(value));
    let off = |what: &str| Check::fail(HOOKS, format!("{what}: no hook is run"), "take it out");
    match host {
        Host::ClaudeCode if is("/disableAllHooks", true) => Some(off("disableAllHooks is true")),
        Host::Codex if is("/features/hooks", false) || is("/features/codex_hooks", false) => {
            Some(off("[features] hooks is false"))
        }
        Host::GeminiCli if is("/hooksConfig/enabled", false) => {
            Some(off("hooksConfig.enabled is false"))
        }
        _ => None,
    }
}

/// Why a host does not run one hook of its settings.
pub(super) fn distrusted(host: Host, place: Place, file: &Path, hook: &Hook<'_>) -> Option<Check> {
    match host {
        Host::Codex if place != Place::Machine => codex(place, file, hook),
        Host::GeminiCli => gemini(place, file, hook),
        Host::CopilotCli => copilot(place, file),
        _ => None,
    }
}

/// Codex runs a hook whose digest its own settings name, in a project that they trust.
fn codex(place: Place, file: &Path, hook: &Hook<'_>) -> Option<Check> {
    let advice = "trust it in Codex: /hooks";
    let fail = |message: &str| Some(Check::fail(HOOKS, message, advice));
    let folder = var_os("CODEX_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| home().map(|home| home.join(".codex")))?;
    let settings = read(&folder.join("config.toml")).ok().flatten();
    let settings: Option<Value> = settings.and_then(|text| toml::from_str(&text).ok());
    let Some(settings) = settings else {
        return fail("Codex has no settings that trust it, and skips it without a word");
    };
    if let Some(off) = switched_off(Host::Codex, &settings) {
        return Some(off.at("~/.codex/config.toml"));
    }
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let is_trusted = |project: &Path| {
        let level = settings.get("projects")?.get(&*project.to_string_lossy())?.get("trust_level");
        level?.as_str().map(|level| level == "trusted")
    };
    let mut projects = file.ancestors().skip(2);
    if place == Place::Project && !projects.any(|it| is_trusted(it) == Some(true)) {
        return fail("Codex does not trust this project, and skips its hooks without a word");
    }
    let label = codex_label(hook.event);
    let (entry, number) = hook.place;
    let key = format!("{}:{label}:{entry}:{number}", file.display());
    let state = settings.pointer("/hooks/state").and_then(|state| state.get(&key));
    let Some(state) = state else {
        return fail("Codex was not told to trust it, and skips it without a word");
    };
    if state.get("enabled") == Some(&Value::Bool(false)) {
        return fail("Codex was told not to run it");
    }
    let trusted = state.get("trusted_hash").and_then(Value::as_str).unwrap_or_default();
    match trusted == codex_digest(&label, hook) {
        true => None,
        false => fail("it was changed since Codex was told to trust it, and is skipped"),
    }
}

/// The name of an event in the keys of Codex.
fn codex_label(event: &str) -> String {
    let mut label = String::new();
    for character in event.chars() {
        if character.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(character.to_ascii_lowercase());
    }
    label
}

/// What Codex trusts: the digest of the event, the matcher and the one hook, as JSON whose names
/// are in order.
fn codex_digest(label: &str, hook: &Hook<'_>) -> String {
    let mut handler = Map::new();
    handler.insert("async".to_string(), Value::Bool(false));
    handler.extend(hook.value.as_object().cloned().unwrap_or_default());
    let mut trusted = json!({ "event_name": label, "hooks": [handler] });
    if let (Some(matcher), Some(trusted)) = (hook.matcher, trusted.as_object_mut()) {
        trusted.insert("matcher".to_string(), matcher.into());
    }
    format!("sha256:{}", sha256(in_order(&trusted).as_bytes()))
}

/// JSON with the names of every object in order.
fn in_order(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let text = |name: &String| {
                let value = fields.get(name).map(in_order).unwrap_or_default();
                format!("{}:{value}", Value::String(name.clone()))
            };
            format!("{{{}}}", names.into_iter().map(text).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_order).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Gemini CLI runs a hook that no settings disable by its name or command, in a folder that is
/// trusted where trust is asked for.
fn gemini(place: Place, file: &Path, hook: &Hook<'_>) -> Option<Check> {
    let folder = home().unwrap_or_default().join(".gemini");
    let parsed =
        |file: &Path| -> Option<Value> { serde_json::from_str(&read(file).ok().flatten()?).ok() };
    let others = [folder.join("settings.json"), PathBuf::from(".gemini/settings.json")];
    let others: Vec<Value> =
        others.iter().map(PathBuf::as_path).chain([file]).filter_map(parsed).collect();
    let is_disabled = others.iter().any(|settings| {
        let names = settings.pointer("/hooksConfig/disabled").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|name| name == hook.command || Some(name) == hook.name)
    });
    if is_disabled {
        let message = "hooksConfig.disabled names it: it is not run";
        return Some(Check::fail(HOOKS, message, "take it out"));
    }
    if let Some(off) = others.iter().find_map(|it| switched_off(Host::GeminiCli, it)) {
        return Some(off);
    }
    let asks = |settings: &Value| {
        settings.pointer("/security/folderTrust/enabled") == Some(&Value::Bool(true))
    };
    if place != Place::Project || !others.iter().any(asks) {
        return None;
    }
    let trusted = parsed(&folder.join("trustedFolders.json")).unwrap_or_default();
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let is_trusted = file.ancestors().skip(2).any(|folder| {
        let level = trusted.get(&*folder.to_string_lossy()).and_then(Value::as_str);
        matches!(level, Some("TRUST_FOLDER" | "TRUST_PARENT"))
    });
    (!is_trusted).then(|| {
        let message = "Gemini CLI does not trust this folder, and runs none of its hooks";
        Check::fail(HOOKS, message, "trust the folder, or put the hook in ~/.gemini/settings.json")
    })
}

/// Copilot CLI runs the hooks of a repository in a folder that is trusted.
fn copilot(place: Place, file: &Path) -> Option<Check> {
    let home = home().unwrap_or_default().join(".copilot");
    let parsed = |name: &str| -> Option<Value> {
        serde_json::from_str(&read(&home.join(name)).ok().flatten()?).ok()
    };
    let settings: Vec<Value> =
        ["config.json", "settings.json"].into_iter().filter_map(parsed).collect();
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let is_trusted = settings.iter().any(|settings| {
        let folders = settings.get("trusted_folders").or_else(|| settings.get("trustedFolders"));
        let folders = folders.and_then(Value::as_array).into_iter().flatten();
        folders.filter_map(Value::as_str).any(|folder| file.starts_with(folder))
    });
    (place == Place::Project && !is_trusted).then(|| {
        let message = "Copilot CLI does not trust this folder, and with -p runs none of its hooks";
        let advice = "put the hook in ~/.copilot/hooks, or trust the folder";
        Check::fail(HOOKS, message, advice)
    })
}

fn home() -> Option<PathBuf> {
    var_os("HOME").map(PathBuf::from).filter(|home| !home.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::hooks::hooks_of;
    use super::*;

    /// As Codex 0.171.0 itself has it of this hook.
    #[test]
    fn the_digest_that_codex_trusts_is_known() {
        let command =
            "holdpoint --log /srv/shop/.holdpoint hook pre-tool-use --host codex || exit 2";
        let hook = json!({ "type": "command", "command": command, "timeout": 60 });
        let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": ".*", "hooks": [hook] }] } });
        let hooks = hooks_of(Host::Codex, &settings).unwrap();
        assert_eq!(
            codex_digest(&codex_label("PreToolUse"), &hooks[0]),
            "sha256:af6872d77d6579261c3ec27889d2607f746983c48cf3ae4e3df904dddcc497da"
        );
    }

    #[test]
    fn a_home_directory_is_no_project() {
        assert_eq!(Place::of(Path::new("/etc/claude-code/managed-settings.json")), Place::Machine);
        assert_eq!(Place::of(Path::new("/srv/shop/.codex/hooks.json")), Place::Project);
    }
}
