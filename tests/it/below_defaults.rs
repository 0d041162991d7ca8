//! The built-in defaults are a floor: less than them is said by the machine's file and the user's
//! own, or by a person at a terminal, and by nothing else.

use crate::apply_support::{answers, apply, story};
use crate::decision_support::{asked, decision};
use crate::machine::{configure, home, take_claims, told};
use crate::program::{Place, by_person, json, status, text};
use crate::session::{code, table};
use crate::terminal::Terminal;
use holdpoint_engine::floors::KEYS;
use serde_json::{Value, json};
use std::fs;

const DOCUMENT: &str = include_str!("../../docs/configuration.md");

/// A key that loosens, as a file has it: its line, and what is asked for.
fn loosening() -> Vec<(&'static str, String)> {
    let loosens = KEYS.iter().filter(|key| !key.loosens.is_empty());
    let each = loosens.flat_map(|key| key.loosens.split(", ").map(|word| (key.name, word)));
    let stated = each.map(|(key, word)| {
        let (table, name) = key.split_once('.').unwrap();
        let value = match (word, name) {
            ("any name", _) => "[\"x\"]".to_string(),
            ("more", _) => "100000".to_string(),
            (word, "authentication") => format!("{word:?}"),
            (word, _) => word.to_string(),
        };
        (name, format!("[{table}]\n{name} = {value}\n"))
    });
    stated.collect()
}

#[test]
fn every_key_of_a_configuration_is_in_the_document_with_its_direction() {
    let rows = table(DOCUMENT, "| key | default");
    let documented: Vec<Vec<String>> =
        rows.iter().map(|row| [&[code(&row[0]).to_string()], &row[1..]].concat()).collect();
    let known: Vec<Vec<String>> = KEYS
        .iter()
        .map(|key| {
            let loosens = if key.loosens.is_empty() { "nothing" } else { key.loosens };
            [key.name, key.default, key.tightens, loosens].map(str::to_string).to_vec()
        })
        .collect();
    assert_eq!(documented, known);
}

#[test]
fn a_project_a_named_file_and_the_environment_say_nothing_less_than_the_defaults() {
    let place = Place::new();
    assert_eq!(loosening().len(), 8);
    let (made, directory) = (place.directory.path().join("made"), place.directory.path());
    for (name, content) in loosening() {
        let run = ["run", "--", "touch", "made"];
        for file in ["holdpoint.toml", "other.toml"] {
            fs::write(directory.join(file), &content).unwrap();
            for (words, expected) in [(&run[..], 125), (&["doctor", "config"], 5)] {
                let mut command = place.command(words);
                if file == "other.toml" {
                    command.env("HOLDPOINT_CONFIG", file);
                }
                let output = command.output().unwrap();
                let said = told(&output);
                assert_eq!(status(&output), expected, "{name}: {said}");
                assert!(said.contains(&format!("{file}:2:1: ")) && said.contains(name), "{said}");
                assert!(!made.exists(), "{name}");
            }
            fs::remove_file(directory.join(file)).unwrap();
        }
        // A home, or a directory of configurations, that the environment names.
        let elsewhere = home().join("elsewhere");
        fs::create_dir_all(elsewhere.join(".config/holdpoint")).unwrap();
        let file = elsewhere.join(".config/holdpoint/config.toml");
        fs::write(&file, &content).unwrap();
        let mut command = place.command(&run);
        command.env("HOME", &elsewhere).env("XDG_CONFIG_HOME", elsewhere.join(".config"));
        let output = command.output().unwrap();
        let said = told(&output);
        assert_eq!(status(&output), 125, "{name}: {said}");
        assert!(said.contains(".config/holdpoint/config.toml:2:1: "), "{said}");
        assert!(!made.exists(), "{name}");
        // The user's own file says it.
        configure(&content);
        fs::write(directory.join("holdpoint.toml"), &content).unwrap();
        let checked = place.holdpoint(&["doctor", "config"]);
        assert_eq!(status(&checked), 0, "{name}: {}", told(&checked));
        fs::remove_file(directory.join("holdpoint.toml")).unwrap();
        fs::remove_file(home().join(".config/holdpoint/config.toml")).unwrap();
    }
}

#[test]
fn two_lines_in_a_project_let_no_script_answer_as_somebody_else() {
    let place = Place::new();
    let claimed = "[hold]\nauthentication = \"claimed\"\n";
    fs::write(place.directory.path().join("holdpoint.toml"), claimed).unwrap();
    let ask =
        ["run", "--hold", "before", "--no-wait", "--approvers", "gbob", "--", "touch", "made"];
    assert_eq!(status(&place.holdpoint(&ask)), 125);
    fs::remove_file(place.directory.path().join("holdpoint.toml")).unwrap();
    // Nor does a line of input ask for less, or spend what was asked for when that was let.
    let question = json!({
        "command": "decision_point.create", "entropy": "1".repeat(32), "prompt": "May it?",
        "by": { "kind": "AGENT", "id": "bot", "authenticated_by": "none", "means": "a line" },
        "options": [{ "id": "a", "label": "A" }, { "id": "b", "label": "B", "reject": true }],
        "policy": { "approvers": ["gbob"], "quorum": 1, "authentication": "none" },
        "binding": { "tool": "Bash", "input_sha256": "ab".repeat(32) },
    });
    let output = apply(
        &place,
        &[json!({ "submit": question, "correlation": "c",
        "actor": { "kind": "AGENT", "id": "bot" } })],
    );
    let answered = answers(&output);
    assert_eq!(answered[0]["refusal"]["code"], "POLICY_LOOSENED", "{answered:#?}");
    assert!(answered[0].to_string().contains("the built-in defaults"), "{answered:#?}");
    take_claims();
    let bind = ["--bind", "tool=Bash", "--bind", "input={}"];
    let claims = ["--authentication", "none", "--approvers", "gbob"];
    let id = asked(&place, &[&bind[..], &claims].concat());
    let answer = decision(&place, &["respond", &id, "--option", "a", "--as", "gbob"]);
    assert_eq!(status(&answer), 0, "{}", told(&answer));
    fs::remove_file(home().join(".config/holdpoint/config.toml")).unwrap();
    let spend = decision(&place, &[&["consume", &id][..], &bind].concat());
    assert_eq!((status(&spend), &json(&spend)["error"]["code"]), (5, &"policy_loosened".into()));
}

/// A run that `apply` begins with this hold.
fn begun(place: &Place, digit: &str, hold: &Value) -> Value {
    let mut line = story(&digit.repeat(32)).swap_remove(0);
    line["submit"]["hold"] = hold.clone();
    answers(&apply(place, &[line])).remove(0)
}

#[test]
fn no_run_of_apply_lets_anybody_override_whom_no_owner_names() {
    let place = Place::new();
    let named = json!({ "policy": "AFTER", "override_approvers": ["zoe"] });
    let unheld = json!({ "policy": "NEVER", "override_approvers": ["zoe"] });
    for (digit, hold) in [("1", &named), ("2", &unheld)] {
        let answer = begun(&place, digit, hold);
        assert_eq!(answer["refusal"]["code"], "POLICY_LOOSENED", "{answer:#}");
        let said = answer.to_string();
        assert!(said.contains("override_approvers: nobody is demanded"), "{said}");
        assert!(said.contains("the built-in defaults"), "{said}");
    }
    let nobody = json!({ "policy": "AFTER", "override_approvers": [] });
    assert!(begun(&place, "3", &nobody)["receipt"].is_object());
    // The user's own file names her.
    configure("[hold]\noverride_approvers = [\"zoe\"]\n");
    let answer = begun(&place, "4", &named);
    assert!(answer["receipt"].is_object(), "{answer:#}");
    fs::remove_file(home().join(".config/holdpoint/config.toml")).unwrap();
    assert_eq!(begun(&place, "5", &named)["refusal"]["code"], "POLICY_LOOSENED");
    // So does the policy that a person gives the log.
    let set = by_person(&place.command(&["policy", "set", "override_approvers=zoe"]));
    assert_eq!(status(&set), 0, "{}", told(&set));
    let answer = begun(&place, "6", &named);
    assert!(answer["receipt"].is_object(), "{answer:#}");
}

#[test]
fn an_option_that_asks_for_less_takes_a_word_typed_at_the_terminal() {
    let place = Place::new();
    let crash = ["--", "sh", "-c", "touch made; exit 7"];
    let ask = ["decision", "create", "--prompt", "May it?", "--option", "a:A"];
    let lines: [(Vec<&str>, i32, &str); 4] = [
        ([&["run", "--record-env", "*"][..], &crash].concat(), 125, "--record-env *"),
        (
            [&["run", "--retry-needs-person=false"][..], &crash].concat(),
            125,
            "--retry-needs-person",
        ),
        ([&ask[..], &["--allow", "agents"]].concat(), 5, "--allow agents"),
        ([&ask[..], &["--authentication", "none"]].concat(), 5, "--authentication none"),
    ];
    let made = place.directory.path().join("made");
    for (words, refused, said) in lines {
        let output = place.holdpoint(&words);
        assert_eq!(status(&output), refused, "{words:?}: {}", told(&output));
        assert!(told(&output).contains(said), "{words:?}: {}", told(&output));
        assert!(text(&output.stderr).contains("less than the defaults"), "{}", told(&output));
        assert!(!made.exists() && !place.log.exists(), "nothing is begun");
        for (word, is_done) in [("yes", false), ("less", true)] {
            let mut terminal = Terminal::start(&place, &words);
            let seen = terminal.wait_for("type less");
            assert!(seen.contains(said), "{words:?}: {seen}");
            terminal.type_line(word);
            let (code, rest) = terminal.end();
            let done = if words[0] == "run" { 7 } else { 0 };
            assert_eq!(code, if is_done { done } else { refused }, "{words:?}: {rest}");
            assert_eq!(made.exists(), is_done && words[0] == "run", "{words:?}");
        }
        let _ = fs::remove_file(&made);
        fs::remove_dir_all(&place.log).unwrap();
    }
}
