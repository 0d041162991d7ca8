//! What `doctor` finds of the settings that the document prints for each host, and of those that do
//! not hold.

use crate::program::{Place, json, status, text};
use holdpoint_domain::core::hash::sha256;
use serde_json::{Value, json};
use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};
use std::process::Output;

const DOCUMENT: &str = include_str!("../../docs/agents.md");

/// A project with a home directory and a log.
struct Agent {
    place: Place,
    project: PathBuf,
    home: PathBuf,
}

impl Agent {
    fn new() -> Self {
        let mut place = Place::new();
        let project = place.directory.path().canonicalize().unwrap().join("project");
        let home = place.directory.path().canonicalize().unwrap().join("home");
        create_dir_all(&project).unwrap();
        create_dir_all(&home).unwrap();
        place.log = project.join(".holdpoint");
        place.init();
        Self { place, project, home }
    }

    /// The block that the document prints for this file, for this project.
    fn printed(&self, file: &str) -> String {
        let (_, text) = DOCUMENT.split_once(&format!("`{file}`:\n")).unwrap();
        let (_, block) = text.split_once("```").unwrap().1.split_once('\n').unwrap();
        let block = block.split_once("```").unwrap().0;
        block.replace("/path/to/project", self.project.to_str().unwrap())
    }

    fn put(&self, file: &str, text: &str) {
        let file = match file.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => self.project.join(file),
        };
        create_dir_all(file.parent().unwrap()).unwrap();
        write(file, text).unwrap();
    }

    fn doctor(&self) -> Output {
        let folder = Path::new(env!("CARGO_BIN_EXE_holdpoint")).parent().unwrap().display();
        let mut command = self.place.command(&["doctor", "hooks", "--json"]);
        command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
        command.env("HOME", &self.home).env_remove("CODEX_HOME").current_dir(&self.project);
        command.output().unwrap()
    }

    fn holds(&self, what: &str) {
        let output = self.doctor();
        assert_eq!(status(&output), 0, "{what}: {}", text(&output.stdout));
    }

    /// It fails, and some check of the hooks that fails has these words.
    fn fails(&self, what: &str, words: &str) {
        let output = self.doctor();
        let report = json(&output);
        let checks = report["checks"].as_array().unwrap().iter();
        let failed: Vec<&str> = checks
            .filter(|check| check["name"] == "hooks" && check["state"] == "fail")
            .map(|check| check["message"].as_str().unwrap())
            .collect();
        assert_eq!(status(&output), 1, "{what}: {failed:#?}");
        assert!(failed.iter().any(|said| said.contains(words)), "{what}: {failed:#?}");
    }

    /// What Codex has in its settings once a person trusted the hooks of this project.
    fn trusted_by_codex(&self, hooks: &Value, level: &str) -> String {
        let file = self.project.join(".codex/hooks.json");
        let mut text = format!("[projects.{:?}]\ntrust_level = {level:?}\n", self.project);
        for (event, label) in [("PreToolUse", "pre_tool_use"), ("PostToolUse", "post_tool_use")] {
            let hook = &hooks["hooks"][event][0]["hooks"][0];
            let command = &hook["command"];
            let hook =
                format!(r#""async":false,"command":{command},"timeout":60,"type":"command""#);
            let trusted =
                format!(r#"{{"event_name":"{label}","hooks":[{{{hook}}}],"matcher":".*"}}"#);
            let digest = sha256(trusted.as_bytes());
            let key = format!("{}:{label}:0:0", file.display());
            text.push_str(&format!("[hooks.state.{key:?}]\ntrusted_hash = \"sha256:{digest}\"\n"));
        }
        text
    }
}

#[test]
fn the_settings_that_the_document_prints_for_each_host_hold() {
    for file in [
        ".claude/settings.json",
        ".gemini/settings.json",
        "~/.copilot/hooks/holdpoint.json",
        ".cursor/hooks.json",
        ".opencode/plugins/holdpoint.js",
    ] {
        let agent = Agent::new();
        agent.put(file, &agent.printed(file));
        agent.holds(file);
        let half = agent.printed(file);
        agent.put(file, &half[..half.len() / 2]);
        let words = if file.ends_with("js") { "not the plugin" } else { "is not JSON" };
        agent.fails(file, words);
    }
}

#[test]
fn settings_of_every_host_that_do_not_hold_fail_where_a_hook_is_required() {
    let agent = Agent::new();
    let file = ".codex/hooks.json";
    let printed = agent.printed(file);
    let hooks: Value = serde_json::from_str(&printed).unwrap();
    agent.put(file, &printed);
    agent.fails("Codex without settings", "skips it without a word");
    agent.put("~/.codex/config.toml", &agent.trusted_by_codex(&hooks, "untrusted"));
    agent.fails("Codex in a project", "does not trust this project");
    let trusted = agent.trusted_by_codex(&hooks, "trusted");
    agent.put("~/.codex/config.toml", &trusted);
    agent.holds("Codex once it trusts them");
    agent.put("~/.codex/config.toml", &format!("{trusted}[features]\nhooks = false\n"));
    agent.fails("Codex switched off", "[features] hooks is false");
    agent.put("~/.codex/config.toml", &trusted);
    agent.put(file, &printed.replace("\"timeout\": 60", "\"timeout\": 61"));
    agent.fails("Codex after a change", "changed since Codex was told to trust it");
    let bare = printed.replace(
        " || { echo 'holdpoint: the hook gave no answer, so this call is denied' >&2; exit 2; }",
        "",
    );
    agent.put(file, &bare);
    agent.fails("Codex without an end", "the tool may run");

    let agent = Agent::new();
    let file = ".gemini/settings.json";
    let printed = agent.printed(file);
    for (off, words) in [
        (json!({ "disabled": ["holdpoint"] }), "hooksConfig.disabled names it"),
        (json!({ "enabled": false }), "hooksConfig.enabled is false"),
    ] {
        let mut settings: Value = serde_json::from_str(&printed).unwrap();
        settings["hooksConfig"] = off;
        agent.put(file, &settings.to_string());
        agent.fails("Gemini switched off", words);
    }
    agent.put(file, &printed);
    let asks = json!({ "security": { "folderTrust": { "enabled": true } } });
    agent.put("~/.gemini/settings.json", &asks.to_string());
    agent.fails("Gemini in a folder", "does not trust this folder");
    let folders = json!({ agent.project.to_str().unwrap(): "TRUST_FOLDER" });
    agent.put("~/.gemini/trustedFolders.json", &folders.to_string());
    agent.holds("Gemini once it trusts the folder");
    agent.put(file, &printed.replace("60000", "20000"));
    agent.fails("Gemini with too short a time", "its timeout is 20000 ms");
    agent.put(file, &printed.replace("\".*\"", "\"Bash|Write\""));
    agent.fails("Gemini with another host's tools", "no tool is guarded");

    let agent = Agent::new();
    agent.put(".github/hooks/x.json", &agent.printed("~/.copilot/hooks/holdpoint.json"));
    agent.fails("Copilot in a repository", "with -p runs none of its hooks");

    let agent = Agent::new();
    let file = ".claude/settings.json";
    agent.put(file, &agent.printed(file));
    agent.put(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    agent.fails("Claude Code switched off", "disableAllHooks is true");

    let agent = Agent::new();
    let file = ".cursor/hooks.json";
    let printed = agent.printed(file);
    agent.put(file, &printed.replace("true", "false"));
    agent.fails("Cursor open", "the tool runs");
    agent.put(file, &printed.replace("--host cursor", "--host codex"));
    agent.fails("Cursor called Codex", "--host says codex");
}
