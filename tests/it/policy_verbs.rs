//! What the verbs of policies say and do: an approval relaxes what its question showed, and what is
//! in force is told only where it is known.

use crate::apply_support::{answers, apply};
use crate::machine::{assert_refused, told};
use crate::program::{Place, json, status};
use crate::terminal::Terminal;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

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
    assert_set(&place, &["--hold", "after"]);
    let asked = place.holdpoint(&["policy", "relax", "--hold", "never", "--no-wait", "--json"]);
    let id = json(&asked)["decision_id"].as_str().unwrap().to_string();
    let asked = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    let option = |id: &str, label: &str, reject: bool| json!({ "id": id, "short": label, "label": label, "reject": reject });
    let by = json!({ "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "" });
    let create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "by": by, "prompt": "Which colour?", "max_iterations": 1,
        "options": [option("approve", "Blue", false), option("deny", "Red", true)],
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
    let spend = |id: &str| typed(&place, &["policy", "relax", "--approval", id, "--hold", "never"]);
    let (code, said) = spend(&forged);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("shows something else"), "{said}");
    // The same through a line.
    let user = holdpoint_engine::shell::user_name();
    let by = json!({ "kind": "HUMAN", "id": user, "authenticated_by": "terminal", "means": "" });
    let relax = json!({ "command": "policy.relax", "by": by, "policy": {}, "approval": forged });
    let line = json!({ "submit": relax, "actor": { "kind": "HUMAN", "id": user } });
    let refused = apply(&place, &[line]);
    assert_eq!(answers(&refused)[0]["refusal"]["code"], "BINDING_MISMATCH", "{}", told(&refused));
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
