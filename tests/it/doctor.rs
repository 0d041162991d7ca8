//! `holdpoint doctor` finds what would let an agent's tools run unguarded, and has nothing against
//! what the documentation says to do.

use crate::machine::{ALICE, BOB, Machine};
use crate::program::{Place, contents, json, skip, status, text};
use crate::real_support::SmallDisk;
use serde_json::{Value, json};
use std::fs::{File, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const DOCUMENT: &str = include_str!("../../docs/agents.md");

/// `doctor --json` with these settings, their log being the one at hand, and the program on the
/// path.
fn doctor(place: &Place, settings: &str, options: &[&str]) -> Output {
    let file = place.directory.path().join("settings.json");
    write(&file, settings.replace("$CLAUDE_PROJECT_DIR/.holdpoint", "$CLAUDE_PROJECT_DIR/log"))
        .unwrap();
    let named = ["doctor", "--json", file.to_str().unwrap()];
    let folder = Path::new(env!("CARGO_BIN_EXE_holdpoint")).parent().unwrap().display();
    let mut command = place.command(&[&named[..], options].concat());
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    command.output().unwrap()
}

/// What was found of the hooks, each with its state.
fn found(output: &Output) -> Vec<(String, String)> {
    let report = json(output);
    let hooks = report["checks"].as_array().unwrap().iter().filter(|c| c["name"] == "hooks");
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_string();
    hooks.map(|check| (word(check, "state"), word(check, "message"))).collect()
}

fn documented() -> Value {
    let (_, block) = DOCUMENT.split_once("```json\n").unwrap();
    serde_json::from_str(block.split_once("```").unwrap().0).unwrap()
}

#[test]
fn what_doctor_advises_to_read_names_each_hook_of_the_documented_settings() {
    let place = Place::new();
    let advised = text(&place.holdpoint(&["doctor"]).stdout);
    assert!(advised.contains("`holdpoint hook --help`") && !advised.contains("docs/"), "{advised}");
    let help = text(&place.holdpoint(&["hook", "--help"]).stdout);
    for (event, entries) in documented()["hooks"].as_object().unwrap() {
        let command = entries[0]["hooks"][0]["command"].as_str().unwrap();
        let (_, hook) = command.split_once(" hook ").unwrap();
        let line = help.lines().find(|line| line.split_whitespace().next() == Some(event)).unwrap();
        assert!(line.ends_with(&format!(" holdpoint hook {hook}")), "{line}: {command}");
    }
}

#[test]
fn a_guard_without_a_hook_that_reports_outcomes_is_told_of() {
    let mut settings = documented();
    let hooks = settings["hooks"].as_object_mut().unwrap();
    hooks.remove("PostToolUse").unwrap();
    let (place, words) = (Place::new(), "stays unknown");
    let told = |settings: &Value| {
        let found = found(&doctor(&place, &settings.to_string(), &[]));
        found.into_iter().any(|(state, said)| state == "warn" && said.contains(words))
    };
    assert!(told(&settings));
    assert!(!told(&documented()));
    // Where nothing is guarded there is nothing to report.
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse").unwrap();
    assert!(!told(&settings));
}

/// The documented settings with a field of the guard changed, or taken out.
fn guard(key: &str, value: Option<Value>) -> String {
    let mut settings = documented();
    let hook = settings["hooks"]["PreToolUse"][0]["hooks"][0].as_object_mut().unwrap();
    match value {
        Some(value) => drop(hook.insert(key.to_string(), value)),
        None => drop(hook.remove(key)),
    }
    settings.to_string()
}

#[test]
fn the_documented_settings_are_as_they_should_be() {
    let place = Place::new();
    let output = doctor(&place, &documented().to_string(), &[]);
    let found = found(&output);
    assert!(found.len() == 5 && found.iter().all(|(state, _)| state == "ok"), "{found:?}");
    assert_eq!((status(&output), &json(&output)["state"]), (3, &"fail".into()), "no log");
    let names: Vec<Value> = json(&output)["checks"].as_array().unwrap().clone();
    let is_claimed = |check: &Value| check["name"] == "lock" || check["name"] == "runs";
    assert!(!names.iter().any(is_claimed), "nothing is known of them without a log: {names:#?}");
    assert!(text(&output.stdout).contains(" init`"), "{}", text(&output.stdout));
    place.init();
    let output = doctor(&place, &documented().to_string(), &[]);
    assert_eq!((status(&output), &json(&output)["state"]), (0, &"ok".into()));
}

#[test]
fn what_fails_open_is_found() {
    let command = "holdpoint --log /l hook pre-tool-use";
    let with = |rest: &str| guard("command", Some(format!("{command}{rest}").into()));
    let set = |before: &str| guard("command", Some(format!("{before} {command}").into()));
    let wrong = guard("command", Some("holdpoint --log /l hook stop".into()));
    let absent = guard("command", Some("/no/such/holdpoint --log /l hook pre-tool-use".into()));
    let relative = guard("command", Some("holdpoint hook pre-tool-use".into()));
    let matched = |matcher: &str, options: &str| {
        let mut settings: Value = serde_json::from_str(&with(options)).unwrap();
        settings["hooks"]["PreToolUse"][0]["matcher"] = matcher.into();
        settings.to_string()
    };
    let table = [
        (guard("async", Some(true.into())), "fail", "it is async"),
        (with(""), "warn", "another was looked at"),
        (with(" --quorum 2 --approvers ada"), "fail", "its options are refused"),
        (with(" --tool ''"), "fail", "an empty name"),
        (with(" --tool bash"), "fail", "no tool of its matcher is bash"),
        (with(" --tool Bash"), "warn", "its matcher has mcp__*"),
        (matched("Bash|Write", " --tool Write --tool B*"), "ok", ""),
        (matched("^(Bash)$", " --tool Bash"), "ok", ""),
        (matched("(Bash", ""), "fail", "is no regular expression"),
        (matched("Bash|mcp__memory", ""), "fail", "its matcher names mcp__memory"),
        (matched("Bash|write", ""), "fail", "its matcher names write"),
        (matched("^(?!Read)", ""), "warn", "it is not counted as a guard"),
        (guard("onFailure", None), "fail", "the tool runs"),
        (guard("onFailure", Some("allow".into())), "fail", "the tool runs"),
        (guard("timeout", Some(json!(10))), "fail", "it may take 25 seconds"),
        (guard("timeout", Some(json!("60"))), "fail", "it may take 25 seconds"),
        (guard("timeout", None), "warn", "no timeout of its own"),
        (with(" || true"), "fail", "|| true"),
        (set("HOLDPOINT_CONFIG=/x"), "fail", "it sets HOLDPOINT_CONFIG for itself"),
        (set("A=1 PATH=/x"), "fail", "it sets A, PATH for itself"),
        (with(" --wiat 3s"), "fail", "--wiat"),
        (with(" --wait 45s"), "fail", "its options are refused"),
        (with(" --wait 45s --deadline 55s"), "ok", ""),
        (with(" --deadline 2m"), "fail", "it may take 120 seconds"),
        (wrong, "fail", "stands under PreToolUse"),
        (absent, "fail", "not found"),
        (relative, "warn", "wherever the agent"),
        (json!({ "hooks": {} }).to_string(), "warn", "no tool is guarded"),
        (json!({ "hooks": { "PreToolUse": {} } }).to_string(), "fail", "is not a list"),
        ("{ // comment\n}".to_string(), "fail", "is not JSON"),
    ];
    let place = Place::with_log();
    for (settings, state, words) in table {
        let output = doctor(&place, &settings, &[]);
        let found = found(&output);
        let is_there = |(s, m): &(String, String)| s == state && m.contains(words);
        assert!(found.iter().any(is_there), "{words}: {found:#?}");
        assert_eq!(status(&output), i32::from(state == "fail"), "{words}: {found:#?}");
    }
}

#[test]
fn where_a_guard_is_required_there_is_one_for_some_tool() {
    let place = Place::with_log();
    let required = |settings: &str| doctor(&place, settings, &["hooks"]);
    assert_eq!(status(&required(&documented().to_string())), 0);
    let with = |matcher: Option<&str>, options: &str| {
        let command = "holdpoint --log $CLAUDE_PROJECT_DIR/.holdpoint hook pre-tool-use";
        let mut settings: Value =
            serde_json::from_str(&guard("command", Some(format!("{command}{options}").into())))
                .unwrap();
        match matcher {
            Some(matcher) => settings["hooks"]["PreToolUse"][0]["matcher"] = matcher.into(),
            None => {
                drop(settings["hooks"]["PreToolUse"][0].as_object_mut().unwrap().remove("matcher"))
            }
        }
        settings
    };
    let mut off = documented();
    off["disableAllHooks"] = true.into();
    let mut elsewhere = documented();
    let guards = elsewhere["hooks"].as_object_mut().unwrap().remove("PreToolUse").unwrap();
    elsewhere["hooks"]["PostToolUse"] = guards;
    for settings in [
        json!({}),
        json!({ "hooks": {} }),
        json!({ "hooks": { "PreToolUse": [] } }),
        with(Some("bash|write"), ""),
        with(Some("NoSuchTool"), ""),
        with(Some("Ba"), ""),
        with(Some("mcp__"), ""),
        with(Some("mcp__memory"), ""),
        with(Some("mcp__brave-search"), ""),
        with(Some("mcp__plugin_a_b"), ""),
        with(Some("mcp__a, mcp__b"), ""),
        with(Some("^mcp__memory$"), ""),
        with(Some("mcp__memory__.*"), " --tool mcp__other__*"),
        with(Some("^(?!Read)"), ""),
        with(Some("Bash"), " --tool Write"),
        with(Some("*"), " --tool bash"),
        with(None, " --tool bash"),
        off,
        elsewhere,
    ] {
        let output = required(&settings.to_string());
        let found = found(&output);
        let is_told = |(s, m): &(String, String)| s == "fail" && m.contains("no tool is guarded");
        assert!(found.iter().any(is_told), "{settings}: {found:#?}");
        let is_fine = |(s, m): &(String, String)| s == "ok" && m.contains("PreToolUse");
        let is_on = settings.get("disableAllHooks").is_none();
        assert!(!(is_on && found.iter().any(is_fine)), "{settings}: {found:#?}");
        assert_eq!(status(&output), 1, "{settings}");
    }
    assert_eq!(status(&required(&with(None, "").to_string())), 0, "every tool is guarded");
    for good in ["mcp__memory__.*", "Bash, Write", "mcp__.*__write.*", "mcp__brave-search__web"] {
        assert_eq!(status(&required(&with(Some(good), "").to_string())), 0, "{good}");
    }
}

#[test]
fn the_script_that_guards_nothing_is_recognised_inline_and_in_a_file() {
    let (_, broken) = DOCUMENT.split_once("```bash\n# broken: it never").unwrap();
    let broken = format!("#{}", broken.split_once("```").unwrap().0);
    let (_, sound) = DOCUMENT.split_once("```sh\n#!/bin/sh\n# Blocks").unwrap();
    let sound = format!("#{}", sound.split_once("```").unwrap().0);
    let place = Place::with_log();
    let file = place.directory.path().join("hook.sh");
    for (script, flaws) in [(&broken, 2), (&broken.replace("holdpoint", "bd"), 2), (&sound, 0)] {
        write(&file, script).unwrap();
        for command in [script.clone(), format!("sh {}", file.display())] {
            let output = doctor(&place, &guard("command", Some(command.into())), &[]);
            let failed = found(&output).iter().filter(|(state, _)| state == "fail").count();
            assert_eq!((failed, status(&output)), (flaws, i32::from(flaws > 0)), "{script}");
        }
    }
}

#[test]
fn the_log_is_looked_at_and_not_changed() {
    let place = Place::new();
    place.shell("true");
    let before = contents(&place.log);
    let output = doctor(&place, &documented().to_string(), &[]);
    assert_eq!((status(&output), &json(&output)["state"]), (0, &"ok".into()));
    assert!(before == contents(&place.log));
    let lock = File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let output = doctor(&place, &documented().to_string(), &[]);
    assert_eq!((status(&output), &json(&output)["state"]), (0, &"warn".into()), "it is locked");
    drop(lock);
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    let output = doctor(&place, &documented().to_string(), &[]);
    assert_eq!((status(&output), &json(&output)["state"]), (0, &"ok".into()), "there is no LOCK");
    assert!(!text(&output.stdout).contains("nobody has written"), "{}", text(&output.stdout));
    write(place.log.join("LOCK"), "nobody").unwrap();
    let output = doctor(&place, &documented().to_string(), &[]);
    assert_eq!((status(&output), &json(&output)["state"]), (1, &"fail".into()), "whose is LOCK?");
}

#[test]
fn damage_anywhere_is_exit_6_and_a_bad_configuration_exit_1() {
    let place = Place::new();
    place.shell("true");
    let is_segment = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "seg");
    let segment = contents(&place.log).keys().find(is_segment).unwrap().clone();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[200] ^= 1;
    write(&segment, bytes).unwrap();
    assert_eq!(status(&doctor(&place, &documented().to_string(), &[])), 6);
    let other = Place::with_log();
    write(other.directory.path().join("holdpoint.toml"), "[hold]\nwat = 1\n").unwrap();
    let output = doctor(&other, &documented().to_string(), &[]);
    assert_eq!(status(&output), 1, "{}", text(&output.stdout));
}

#[test]
fn a_configuration_that_is_named_and_missing_is_told_among_the_rest_and_is_exit_3() {
    let place = Place::with_log();
    for (named, exit) in [("no.toml", 3), (".", 1)] {
        let output = place.holdpoint(&["--config", named, "doctor"]);
        let said = text(&output.stdout);
        assert_eq!(status(&output), exit, "{said}");
        assert!(said.contains("fail  configuration") && said.contains("ok    log"), "{said}");
    }
}

#[test]
fn a_person_reads_lines_that_say_what_to_do() {
    let place = Place::new();
    let file = place.directory.path().join("settings.json");
    write(&file, guard("onFailure", None)).unwrap();
    let output = place.holdpoint(&["doctor", file.to_str().unwrap()]);
    let shown = text(&output.stdout);
    assert!(shown.contains("\nfail  hooks") && shown.contains("add \"onFailure\""), "{shown}");
    assert!(shown.starts_with("fail  log"), "{shown}");
}

/// What a log that cannot be written is told as.
fn of_writing(output: &Output) -> (String, String, i32) {
    let report = json(output);
    let check = report["checks"].as_array().unwrap().iter().find(|c| c["name"] == "writing");
    let word = |key: &str| check.unwrap()[key].as_str().unwrap().to_string();
    (word("state"), word("message"), status(output))
}

#[test]
fn a_log_that_this_user_may_not_write_is_found() {
    let Some(machine) = Machine::new() else { return };
    machine.place.init();
    let doctor = |user| machine.call(user, &["doctor", "--json"]);
    machine.give_log(ALICE);
    assert_eq!(of_writing(&doctor(ALICE)).0, "ok");
    let readable = Command::new("chmod").args(["-R", "a+rX"]).arg(&machine.place.log).status();
    assert!(readable.unwrap().success());
    let (state, message, exit) = of_writing(&doctor(BOB));
    assert!(message.contains("this user may not write"), "{message}");
    assert_eq!((state.as_str(), exit), ("fail", 1));
    // Only the newest segment.
    let segment = machine.place.log.join("segments/00000000000000000001.seg");
    set_permissions(&segment, PermissionsExt::from_mode(0o444)).unwrap();
    let (state, message, _) = of_writing(&doctor(ALICE));
    assert!(state == "fail" && message.contains(".seg"), "{message}");
}

#[test]
fn a_log_on_a_file_system_that_is_read_only_is_found() {
    let Some(disk) = SmallDisk::mount("2m") else {
        return skip("a read-only disk: no small file system can be mounted here");
    };
    let place = Place { log: disk.path.join("log"), ..Place::new() };
    place.init();
    let doctor = || place.holdpoint(&["doctor", "--json"]);
    assert_eq!(of_writing(&doctor()).0, "ok");
    let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.path).status();
    assert!(mounted.unwrap().success());
    let (state, message, exit) = of_writing(&doctor());
    assert!(message.contains("mounted read-only"), "{message}");
    assert_eq!((state.as_str(), exit), ("fail", 1));
}
