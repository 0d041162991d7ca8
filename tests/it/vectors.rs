//! The rules as data: the files below `docs/conformance/vectors` are what the rules give, and the
//! program answers as they say. `HOLDPOINT_WRITE_VECTORS=1` writes them anew.

use crate::export::has_python;
use crate::program::{status, text};
use holdpoint_testing::vectors::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance/vectors")
}

/// What `check.py` in a folder says of the program; its logs are in memory, where there is room.
fn checked(folder: &Path, only: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.arg(folder.join("check.py")).arg(env!("CARGO_BIN_EXE_holdpoint")).args(only);
    if Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    command.output().unwrap()
}

#[test]
fn the_vectors_are_what_the_rules_give() {
    let mut others = Vec::new();
    for (name, told) in files() {
        let file = folder().join(name);
        if std::env::var_os("HOLDPOINT_WRITE_VECTORS").is_some() {
            fs::write(&file, &told).unwrap();
        }
        if fs::read_to_string(&file).is_ok_and(|written| written == told) {
            continue;
        }
        others.push(name);
    }
    assert!(others.is_empty(), "{others:?}: HOLDPOINT_WRITE_VECTORS=1 writes them anew");
}

#[test]
fn the_program_answers_every_vector_as_the_rules_do() {
    if !has_python() {
        return;
    }
    let output = checked(&folder(), &[]);
    let said = text(&output.stdout);
    assert_eq!(status(&output), 0, "{said}{}", text(&output.stderr));
    assert!(said.ends_with(" vectors, 0 not as expected\n"), "{said}");
}

/// So that an outsider reads it: without blank lines, comments and what describes it.
#[test]
fn the_script_has_at_most_100_lines_of_code() {
    let script = fs::read_to_string(folder().join("check.py")).unwrap();
    let outside_of_texts = script.split("\"\"\"").step_by(2).flat_map(str::lines);
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let count = outside_of_texts.filter(is_code).count();
    assert!((1..=100).contains(&count), "{count}");
}

#[test]
fn an_expectation_that_is_not_met_is_named_whatever_it_is() {
    if !has_python() {
        return;
    }
    let copy = TempDir::new().unwrap();
    let file = |name: &str| copy.path().join(name);
    fs::copy(folder().join("check.py"), file("check.py")).unwrap();
    for (name, vector, was, is) in [
        ("hashes", "formula/evidence/first", "\"digest\":\"", "\"digest\":\"0"),
        ("hashes", "chain/completed", "\"ACCEPT\"", "\"REJECT\""),
        ("phase-29", "INIT/await", "\"ILLEGAL_TRANSITION\"", "\"COMPLETED\""),
        (
            "decision-points",
            "pending/option-a",
            "\"selected_option\":\"a\"",
            "\"selected_option\":\"b\"",
        ),
        ("decision-points", "pending/option-c", "\"BAD_OPTION\"", "\"ANOTHER_CODE\""),
        ("interruption-threads", "new/chat", "\"RESPOND\"", "\"WAIT\""),
    ] {
        let lines = fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap();
        let start = format!("{{\"id\":\"{vector}\"");
        let of_vector = lines.lines().find(|line| line.starts_with(&start)).unwrap();
        let changed = lines.replace(of_vector, &of_vector.replace(was, is));
        assert!(changed != lines, "{vector} has {was}");
        fs::write(file(&format!("{name}.jsonl")), changed).unwrap();
        let output = checked(copy.path(), &[&format!("{name}/{vector}")]);
        let said = text(&output.stdout);
        let named = said.lines().any(|line| line.starts_with(&format!("{name}/{vector} (")));
        assert!(status(&output) == 1 && named, "{vector}: {said}{}", text(&output.stderr));
    }
}
