//! An approval that a program before this one asked for keeps what it was bound to.

use crate::machine::{configure, remembered};
use crate::program::{Place, json, status, text};
use crate::run_before::{answer, command, file, refused};
use holdpoint_domain::core::hash::{Digest, HashBuilder, sha256};
use holdpoint_domain::log::run_binding;
use holdpoint_engine::executor::{CommandSpec, EnvironmentPolicy, InstructionEnvelope, Variable};
use holdpoint_engine::shell::{BoundDirectory, user_name, user_number};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const SEARCHED: &str = "/usr/bin:/bin";

/// The program with the variables that the question of the former program bound.
fn formerly(place: &Place, arguments: &[&str]) -> Command {
    let mut command = command(place, arguments);
    command.env_clear();
    command.env("PATH", SEARCHED).env("COLUMNS", "80");
    command.env("XDG_STATE_HOME", place.directory.path().join("state"));
    command
}

/// The variables, as the run records them: each of them is recorded and shown.
fn variables(place: &Place) -> Vec<(String, String)> {
    let states = place.directory.path().join("state").to_str().unwrap().to_string();
    let of = |name: &str, value: &str| (name.to_string(), value.to_string());
    vec![of("COLUMNS", "80"), of("PATH", SEARCHED), of("XDG_STATE_HOME", &states)]
}

/// A fact as it was bound and shown: kind, name, value, text.
type Fact = (&'static str, Vec<u8>, Vec<u8>, String);

fn facts(place: &Place, words: &[&str], log_id: &str) -> Vec<Fact> {
    let log = place.log.canonicalize().unwrap();
    let directory = BoundDirectory::of(place.directory.path()).unwrap();
    let metadata = fs::metadata(directory.path()).unwrap();
    let (device, inode) = {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    let mut command = Vec::new();
    for word in words {
        command.extend((word.len() as u64).to_le_bytes());
        command.extend(word.as_bytes());
    }
    let program = Path::new("/usr/bin").join(words[0]).canonicalize().unwrap();
    let digest: Digest = sha256(&fs::read(&program).unwrap());
    let number = user_number();
    let mut all: Vec<Fact> = vec![
        ("command", vec![], command, words.join(" ")),
        (
            "user",
            vec![],
            u64::from(number).to_le_bytes().to_vec(),
            format!("{number} ({})", user_name()),
        ),
        (
            "log",
            vec![],
            format!("{log_id} {}", log.display()).into_bytes(),
            format!("{log_id} in {}", log.display()),
        ),
        (
            "directory",
            vec![],
            directory.identity(),
            format!("{} (device {device}, inode {inode})", directory.path().display()),
        ),
        (
            "program",
            vec![],
            [digest.as_bytes().as_slice(), program.to_str().unwrap().as_bytes()].concat(),
            format!("{}, SHA-256 {digest}", program.display()),
        ),
    ];
    for (name, value) in variables(place) {
        let bound = [&[0], sha256(value.as_bytes()).as_bytes().as_slice()].concat();
        all.push(("variable", name.into_bytes(), bound, value));
    }
    all.push(("input", vec![], b"nothing".to_vec(), "nothing".to_string()));
    all
}

/// The question of the former program: its context, and what it binds.
fn question(place: &Place, words: &[&str], log_id: &str) -> (String, Digest) {
    let facts = facts(place, words, log_id);
    let mut context = "Bound, and looked at again at the start:\n".to_string();
    let begun = HashBuilder::new("holdpoint.start", 1).number(facts.len() as u64);
    let details = facts
        .iter()
        .fold(begun, |digest, (kind, name, value, _)| digest.text(kind).bytes(name).bytes(value));
    for (kind, name, _, shown) in &facts {
        let name = String::from_utf8_lossy(name);
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        context += &format!("  {kind:<10}{name} = {shown}\n");
    }
    context += "Not bound, and free to change until it is read:
  the program that an interpreter such as env looks up, and what a script's interpreter finds at \
the script's path after the last look
  what the program reads later: the modules, configuration and data files of an interpreter, \
libraries, and files that its arguments name and --bind-file does not
  what standard input's terminal or file holds later
  the limits of the run, and when a person is asked after an attempt";
    let mut spec = CommandSpec::new(words[0]).args(words[1..].iter().copied());
    spec.directory = place.directory.path().canonicalize().unwrap();
    spec.environment = variables(place).into_iter().map(Variable::from).collect();
    let policy = EnvironmentPolicy::default().allow("XDG_STATE_HOME");
    let envelope = InstructionEnvelope::of(&spec, &policy).hex();
    (context, run_binding(&envelope, &details.finish()))
}

/// Puts that question, with the key of another one, and has it approved.
fn asked_formerly(place: &Place, words: &[&str]) -> String {
    configure("[evidence]\nrecord_env = [\"XDG_STATE_HOME\"]\n");
    let before = ["run", "--hold", "before", "--no-wait", "--record-env", "XDG_STATE_HOME", "--"];
    let asked = formerly(place, &[&before, words].concat()).output().unwrap();
    assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
    let newest = text(&asked.stdout).trim().to_string();
    let shown = json(&place.holdpoint(&["decision", "show", &newest, "--json"]));
    let newest_context = shown["context"].as_str().unwrap();
    let (_, log_id) = newest_context.split_once("  log        = ").unwrap();
    let (context, binding) = question(place, words, log_id.split_once(" in ").unwrap().0);
    let create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "by": { "kind": "AUTOMATION", "id": "ci", "authenticated_by": "none", "means": "" },
        "prompt": shown["prompt"], "context": context, "options": shown["options"],
        "max_iterations": 1, "on_timeout": "abort", "timeout_ms": 600_000,
        "binding": { "tool": "holdpoint run", "input_sha256": binding.to_string() } });
    let line = json!({ "submit": create, "actor": { "kind": "AUTOMATION", "id": "ci" } });
    let mut apply = command(place, &["apply"]).stdin(Stdio::piped()).spawn().unwrap();
    apply.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    let answered = apply.wait_with_output().unwrap();
    assert_eq!(status(&answered), 0, "{}", text(&answered.stdout));
    let id = format!("DP-{}", "7".repeat(32));
    let key = |id: &str| remembered().join("keys").join(format!("{id}.key"));
    fs::copy(key(&newest), key(&id)).unwrap();
    assert_eq!(answer(place, &id, "approve"), 0);
    id
}

fn spend(place: &Place, id: &str, words: &[&str]) -> Command {
    let spend = ["--json", "run", "--record-env", "XDG_STATE_HOME", "--approval", id, "--"];
    formerly(place, &[&spend, words].concat())
}

#[test]
fn an_approval_of_a_program_before_this_one_keeps_what_it_was_bound_to() {
    let place = Place::new();
    let words = ["true", "data"];
    // The former program bound every variable, and no file that was not named for it.
    fs::write(file(&place, "data"), "one").unwrap();
    let id = asked_formerly(&place, &words);
    fs::write(file(&place, "data"), "two").unwrap();
    let other = spend(&place, &id, &words).env("COLUMNS", "100").output().unwrap();
    let (code, said) = refused(&other);
    assert_eq!(code, "BINDING_MISMATCH");
    assert!(said.contains("variable COLUMNS: 80 was approved, 100 is asked for"), "{said}");
    let spent = spend(&place, &id, &words).output().unwrap();
    assert_eq!(status(&spent), 0, "{}{}", text(&spent.stdout), text(&spent.stderr));
    place.verified();
}
