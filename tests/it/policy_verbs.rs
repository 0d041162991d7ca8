//! What the verbs of policies say and do: an approval relaxes what its question showed, and what is
//! in force is told only where it is known.

use crate::apply_support::{answers, apply};
use crate::decision_support::asked;
use crate::machine::{assert_refused, told};
use crate::program::{Place, json, status, text};
use crate::terminal::Terminal;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a verb at a terminal.
fn typed(place: &Place, arguments: &[&str]) -> (i32, String) {
    Terminal::start(place, arguments).end()
}

#[track_caller]
fn assert_set(place: &Place, options: &[&str]) {
    let (code, said) = typed(place, &[&["policy", "set"], options].concat());
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_question_about_something_else_relaxes_nothing_whatever_it_is_bound_to() {
    let place = Place::new();
    assert_set(&place, &["default=after"]);
    let asked = place.holdpoint(&["policy", "set", "default=never", "--no-wait", "--json"]);
    let id = json(&asked)["decision_id"].as_str().unwrap().to_string();
    let asked = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    let option = |id: &str, label: &str| {
        let reject = id == "deny";
        json!({ "id": id, "short": label, "label": label, "reject": reject })
    };
    let by = json!({ "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "" });
    let create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "by": by, "prompt": "Which colour?", "max_iterations": 1,
        "options": [option("approve", "Blue"), option("deny", "Red")],
        "policy": { "approvers": asked["approvers"], "quorum": 1, "allow_requester": true,
            "authentication": "terminal" },
        "binding": asked["binding"] });
    let line = json!({ "submit": create, "actor": { "kind": "AGENT", "id": "planner" } });
    let created = apply(&place, &[line]);
    assert!(answers(&created)[0]["receipt"].is_object(), "{}", told(&created));
    let forged = format!("DP-{}", "7".repeat(32));
    for id in [&forged, &id] {
        let (code, said) = typed(&place, &["decision", "respond", id, "--option", "approve"]);
        assert_eq!(code, 0, "{said}");
    }
    let spend = |id: &str| typed(&place, &["policy", "set", "--approval", id, "default=never"]);
    let (code, said) = spend(&forged);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("shows something else"), "{said}");
    // Nobody is at a terminal through a line.
    let user = holdpoint_engine::shell::user_name();
    let by = json!({ "kind": "HUMAN", "id": user, "authenticated_by": "terminal", "means": "" });
    let relax = json!({ "command": "policy.relax", "by": by, "policy": {}, "approval": forged });
    let line = json!({ "submit": relax, "actor": { "kind": "HUMAN", "id": user } });
    let refused = apply(&place, &[line]);
    assert_eq!(answers(&refused)[0]["refusal"]["code"], "PROVEN_LESS", "{}", told(&refused));
    let (code, said) = spend(&id);
    assert_eq!(code, 0, "the question that the program asked: {said}");
    place.verified();
}

/// Puts something at fault in the place of the project's file.
type Spoil = fn(&Path);

#[test]
fn a_configuration_that_cannot_be_believed_starts_nothing() {
    let place = Place::new();
    let file = place.directory.path().join("holdpoint.toml");
    let faults: [(&str, Spoil); 5] = [
        ("holdpoint.toml:1:", |file| fs::write(file, "hold = [").unwrap()),
        ("unknown field `wat`", |file| fs::write(file, "[hold]\nwat = 1\n").unwrap()),
        ("not a regular file", |file| {
            assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
        }),
        ("not a regular file", |file| fs::create_dir(file).unwrap()),
        ("is missing", |file| symlink("/nonexistent/holdpoint.toml", file).unwrap()),
    ];
    let refused = |arguments: &[&str], said: &str| {
        let output = place.holdpoint(&[arguments, &["run", "--", "touch", "f"]].concat());
        assert_refused(&output, 125, &[said, "the command was not started"]);
        assert!(!place.log.exists() && !place.directory.path().join("f").exists());
    };
    for (said, spoil) in faults {
        spoil(&file);
        refused(&[], said);
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir(&file);
    }
    refused(&["--config", "nofile"], "nofile");
    refused(&["--config", "/dev/null"], "not a regular file");
}

#[test]
fn what_is_in_force_is_told_only_of_a_log_that_is_there_and_verifies() {
    let place = Place::new();
    let (show, check) = (["policy", "show"], ["doctor", "config"]);
    for json in [&["--json"][..], &[]] {
        let shown = place.holdpoint(&[&show, json].concat());
        assert_refused(&shown, 3, &[&place.log.display().to_string()]);
        assert!(!told(&shown).contains("in force"), "{}", told(&shown));
    }
    assert_eq!(status(&place.holdpoint(&check)), 0, "a file is checked before there is a log");
    assert!(!place.log.exists());
    assert_set(&place, &["default=after"]);
    assert_eq!(status(&place.holdpoint(&show)), 0);
    let segment = place.log.join("segments/00000000000000000001.seg");
    let whole = fs::read(&segment).unwrap();
    let mut changed = whole.clone();
    changed[4_096 + 70] ^= 1;
    let spoil: [&dyn Fn(); 2] =
        [&|| fs::write(&segment, &changed).unwrap(), &|| fs::remove_file(&segment).unwrap()];
    for spoil in spoil {
        spoil();
        for verb in [&show, &check] {
            for json in [&["--json"][..], &[]] {
                let output = place.holdpoint(&[&verb[..], json].concat());
                assert_refused(&output, 6, &["the log is"]);
                assert!(!told(&output).contains("never"), "{}", told(&output));
            }
        }
        fs::write(&segment, &whole).unwrap();
    }
}

#[test]
fn a_missing_log_is_told_before_a_missing_terminal() {
    let place = Place::new();
    let log = place.log.display().to_string();
    let answer = ["decision", "respond", "REQ-111111", "ABORT"];
    let relax = ["policy", "set", "--approval", "DP-111111", "default=never"];
    for verb in [&answer[..], &relax] {
        let mut command = place.command(verb);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_refused(&output, 3, &[&log]);
    }
    assert!(!place.log.exists());
}

#[test]
fn an_approval_from_before_the_policy_got_stricter_is_not_spent() {
    let place = Place::new();
    let bind = ["--bind", "tool=Bash", "--bind", "input={}"];
    let id = asked(&place, &bind);
    let (code, said) = typed(&place, &["decision", "respond", &id, "--option", "a"]);
    assert_eq!(code, 0, "{said}");
    assert_set(&place, &["approvers=alice"]);
    let consume = [&["decision", "consume", &id], &bind[..]].concat();
    assert_refused(&place.holdpoint(&consume), 5, &["this log", "approvers", "alice"]);
    place.verified();
}

/// The command that is shown under a name, as somebody pastes it.
fn pasted(shown: &str, name: &str) -> String {
    let mut lines = shown.lines().skip_while(|line| !line.starts_with(name));
    let mut command = lines.next().unwrap().strip_prefix(name).unwrap().trim_start().to_string();
    while command.ends_with('\\') {
        command.push('\n');
        command.push_str(lines.next().unwrap());
    }
    command
}

/// Runs what was pasted, at a terminal.
fn paste(place: &Place, command: &str) -> (i32, String) {
    let mut shell = Command::new("sh");
    let script = format!("holdpoint() {{ \"$0\" \"$@\"; }}; {command}");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_holdpoint")]);
    Terminal::start_command(place, &shell).end()
}

#[test]
fn what_a_question_says_to_paste_on_stderr_is_one_command_at_every_width() {
    let mut place = Place::new();
    place.log = place.directory.path().join("a-log-whose-name-is-long").join(".holdpoint");
    fs::create_dir(place.log.parent().unwrap()).unwrap();
    for columns in [40, 80, 200] {
        assert_set(&place, &["default=on-failure"]);
        let relax = ["policy", "set", "default=never"];
        let mut asking = Terminal::sized(&place, (24, columns), &relax);
        asking.wait_for("leaves it: ");
        asking.type_line("relax");
        let shown = asking.wait_for("or deny").replace('\r', "");
        assert!(!shown.contains("holdpoint: answer"), "{columns}: {shown}");
        let (code, said) = paste(&place, &pasted(&shown, "answer "));
        assert_eq!(code, 0, "{columns}: {said}");
        let (code, said) = asking.end();
        assert_eq!(code, 0, "{columns}: {said}");
        // The id is for a pipe, and what is said beside it for the terminal.
        let create = "exec \"$0\" --log \"$1\" decision create --prompt Which? --option a:A >id";
        let mut shell = Command::new("sh");
        shell.args(["-c", create, env!("CARGO_BIN_EXE_holdpoint")]).arg(&place.log);
        let (code, shown) = Terminal::start_sized(&place, (24, columns), &shell).end();
        assert_eq!(code, 0, "{columns}: {shown}");
        let is_folded = shown.lines().all(|line| line.trim_end().len() <= usize::from(columns));
        assert!(is_folded, "{columns}: {shown}");
        let (code, said) = paste(&place, &pasted(&shown.replace('\r', ""), "answer "));
        assert_eq!(code, 0, "{columns}: {said}");
    }
}

#[test]
fn what_a_policy_does_not_state_is_told_as_any_and_what_is_in_force_as_it_is() {
    let place = Place::new();
    let retry = |shown: &str| -> Vec<String> {
        let named = shown.lines().filter_map(|line| line.trim().strip_prefix("retry needs person"));
        named.map(|value| value.trim().to_string()).collect()
    };
    let (code, said) = typed(&place, &["policy", "set", "default=on-failure"]);
    assert_eq!((code, retry(&said)), (0, vec!["any".to_string(); 2]), "{said}");
    let shown = text(&place.holdpoint(&["policy", "show"]).stdout);
    assert_eq!(retry(&shown), ["any", "true"], "{shown}");
    let (_, said) = typed(&place, &["policy", "set", "retry_needs_person=true"]);
    assert_eq!(retry(&said), ["true   <- before: any", "true"], "{said}");
    // A policy that says nothing.
    let silent = Place::new();
    let (code, said) = typed(&silent, &["policy", "set"]);
    let proof = said.lines().rev().find(|line| line.starts_with("authentication")).unwrap();
    assert!(code == 0 && proof.ends_with(" any"), "{said}");
}
