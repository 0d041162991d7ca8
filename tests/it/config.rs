//! What the configuration file promises: it is found, checked with line and column, in force, and
//! on record.

use crate::apply_support::{answers, apply, initialize};
use crate::program::{Place, error_of, json, status, text};
use serde_json::{Value, json};

const FILE: &str = r#"[hold]
default = "after"
decision_timeout = "90s"
retry_needs_person = true
approvers = ["alice", "bob"]

[[hold.escalation_targets]]
target = "on-call"
timeout = "30m"

[evidence]
redact = ["PIN"]
"#;

fn write(place: &Place, name: &str, content: &str) {
    std::fs::write(place.directory.path().join(name), content).unwrap();
}

/// Digests of the configurations on record, oldest first.
fn recorded(place: &Place) -> Vec<Value> {
    let kind = "log.configuration_changed";
    let output = place.holdpoint(&["log", "--json", &format!("kind={kind}")]);
    let shown = text(&output.stdout);
    let lines = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["event"]["digest"].clone()).collect()
}

fn fingerprint(place: &Place) {
    let output = apply(place, &[json!({ "submit": { "command": "log.record_fingerprint" } })]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn what_is_in_force_is_shown_aligned_and_as_json() {
    let place = Place::new();
    let defaults = json(&place.holdpoint(&["doctor", "config", "--json"]));
    assert_eq!((&defaults["file"], &defaults["hold"]["policy"]), (&Value::Null, &"NEVER".into()));
    write(&place, "holdpoint.toml", FILE);
    let found = json(&place.holdpoint(&["doctor", "config", "--json"]));
    assert_eq!(found["file"], "holdpoint.toml");
    assert_eq!(found["hold"]["decision_timeout_ms"], 90_000);
    assert_eq!(found["hold"]["escalation_targets"][0]["timeout_ms"], 1_800_000);
    assert_eq!(found["evidence"]["redact"], json!(["PIN"]));
    let shown = text(&place.holdpoint(&["doctor", "config"]).stdout);
    assert!(shown.contains("\napprovers             alice, bob\n"), "{shown}");
    assert!(shown.contains("\nescalation target     on-call: on-call, 30m\n"), "{shown}");
    assert!(!place.log.exists(), "checking writes nothing");
}

#[test]
fn the_file_in_the_document_is_in_order() {
    let (_, rest) =
        include_str!("../../docs/configuration.md").split_once("```toml\n[hold]").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let place = Place::new();
    write(&place, "holdpoint.toml", &format!("[hold]{block}"));
    let found = place.holdpoint(&["doctor", "config", "--json"]);
    assert_eq!(status(&found), 0, "{}", text(&found.stderr));
    assert_eq!(json(&found)["hold"]["approvers"], json!(["alice"]));
}

#[test]
fn a_file_that_is_named_goes_before_the_one_in_the_working_directory() {
    let place = Place::new();
    write(&place, "holdpoint.toml", FILE);
    write(&place, "other.toml", "[hold]\ndefault = \"never\"\n");
    let policy = |arguments: &[&str], environment: Option<&str>| {
        let mut command = place.command(arguments);
        command.env_remove("HOLDPOINT_CONFIG");
        if let Some(file) = environment {
            command.env("HOLDPOINT_CONFIG", file);
        }
        json(&command.output().unwrap())["hold"]["policy"].clone()
    };
    assert_eq!(policy(&["doctor", "config", "--json"], None), "AFTER");
    assert_eq!(policy(&["doctor", "config", "--json"], Some("other.toml")), "NEVER");
    let named = ["--config", "other.toml", "doctor", "config", "--json"];
    assert_eq!(policy(&named, Some("holdpoint.toml")), "NEVER");
    assert_eq!(policy(&["doctor", "config", "--json", "--config", "other.toml"], None), "NEVER");
}

#[test]
fn a_file_that_is_named_and_not_there_is_an_error_of_every_verb() {
    let place = Place::with_log();
    for words in [
        &["runs"][..],
        &["inbox"],
        &["decision", "list", "--kind", "hold"],
        &["verify"],
        &["doctor", "config"],
    ] {
        let named = [&["--config", "no.toml"], words].concat();
        let by_option = place.holdpoint(&named);
        let by_variable = place.command(words).env("HOLDPOINT_CONFIG", "no.toml").output().unwrap();
        for output in [by_option, by_variable] {
            let said = text(&output.stderr);
            assert_eq!((status(&output), text(&output.stdout)), (3, String::new()), "{said}");
            assert!(said.contains("cannot read no.toml"), "{words:?}: {said}");
        }
    }
    let run = place.holdpoint(&["--config", "no.toml", "run", "--", "true"]);
    assert_eq!(status(&run), 125, "{}", text(&run.stderr));
    let told = error_of(
        &place.holdpoint(&["--config", "no.toml", "decision", "list", "--kind", "hold", "--json"]),
    );
    assert_eq!(told["code"], "configuration_not_found");
}

#[test]
fn a_directory_is_no_configuration_of_any_verb() {
    let place = Place::with_log();
    for words in [
        &["runs"][..],
        &["inbox"],
        &["decision", "list", "--kind", "hold"],
        &["verify"],
        &["doctor", "config"],
    ] {
        let output = place.holdpoint(&[&["--config", "."], words].concat());
        let said = text(&output.stderr);
        assert_eq!((status(&output), text(&output.stdout)), (1, String::new()), "{said}");
        assert!(said.contains("is not a regular file"), "{words:?}: {said}");
    }
    assert_eq!(status(&place.holdpoint(&["--config", ".", "run", "--", "true"])), 125);
}

#[test]
fn what_is_wrong_is_told_with_line_and_column_and_nothing_is_written() {
    let place = Place::new();
    write(&place, "holdpoint.toml", "[hold]\ndefault = \"always\"\nwait = 1\n");
    let checked = place.holdpoint(&["doctor", "config"]);
    assert_eq!(status(&checked), 2);
    assert!(text(&checked.stderr).contains("holdpoint.toml:3:1: unknown field `wait`"));
    let applied = apply(&place, &[json!({ "submit": { "command": "log.record_fingerprint" } })]);
    assert_eq!((status(&applied), text(&applied.stdout)), (2, String::new()));
    assert!(!place.log.exists());
    let missing = place.holdpoint(&["doctor", "config", "--config", "none.toml"]);
    assert_eq!(status(&missing), 3);
    assert_eq!(status(&place.holdpoint(&["doctor", "config", "--config", "."])), 1);
    write(&place, "long.toml", &"#".repeat(1024 * 1024 + 1));
    assert_eq!(status(&place.holdpoint(&["doctor", "config", "--config", "long.toml"])), 2);
}

#[test]
fn the_digest_is_on_record_when_it_changes_and_only_then() {
    let place = Place::new();
    fingerprint(&place);
    assert_eq!(recorded(&place), Vec::<Value>::new(), "the defaults are nothing new");
    write(&place, "holdpoint.toml", FILE);
    fingerprint(&place);
    fingerprint(&place);
    let first = json(&place.holdpoint(&["doctor", "config", "--json"]))["sha256"].clone();
    assert_eq!(recorded(&place), std::slice::from_ref(&first));
    write(&place, "holdpoint.toml", "");
    fingerprint(&place);
    let second = json(&place.holdpoint(&["doctor", "config", "--json"]))["sha256"].clone();
    std::fs::remove_file(place.directory.path().join("holdpoint.toml")).unwrap();
    fingerprint(&place);
    assert_eq!(recorded(&place), [first, second, Value::Null]);
    place.verified();
}

#[test]
fn the_terms_of_a_hold_that_a_command_leaves_away_are_the_configured_ones() {
    let place = Place::new();
    write(&place, "holdpoint.toml", FILE);
    let mut command = initialize(&"1".repeat(32));
    command.as_object_mut().unwrap().remove("hold");
    let output = apply(&place, &[json!({ "submit": command })]);
    assert!(answers(&output)[0]["receipt"].is_object(), "{}", text(&output.stdout));
    let shown = place.holdpoint(&["log", "--json", "kind=execution_loop.initialized"]);
    let hold = json(&shown)["event"]["hold"].clone();
    assert_eq!(hold["policy"], "AFTER");
    assert_eq!(hold["approvers"], json!(["alice", "bob"]));
}
