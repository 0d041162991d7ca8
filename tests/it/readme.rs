//! The README is true, and short: its sessions, its two commands and its exit codes are run.

use crate::program::{Place, status, text};
use crate::session::{blocks, code, happens, section, shell, table};
use serde_json::Value;
use std::process::Command;

const README: &str = include_str!("../../README.md");
const README_BYTES_MAX: usize = 8 * 1024;

#[test]
fn the_readme_is_short_and_opens_with_what_it_does_and_two_commands() {
    assert!(README.len() <= README_BYTES_MAX, "{} bytes", README.len());
    let headings: Vec<&str> =
        README.lines().filter_map(|line| line.strip_prefix("## ")).take(4).collect();
    assert_eq!(headings, ["Two commands", "Record", "Approve", "Investigate"]);
    let (opening, _) = README.split_once("\n## ").unwrap();
    assert_eq!(opening.lines().filter(|line| line.starts_with("- **")).count(), 5);
    assert!(opening.contains("a hold point is a step past which work may not proceed"));
    assert_eq!(blocks(section(README, "Two commands"), "sh").len(), 2);
}

/// With nothing but the first command: which program cargo runs, and that it does what is said.
#[test]
fn the_first_command_runs_the_program_and_records_a_command() {
    let first = blocks(README, "sh")[0];
    let arguments = first.strip_prefix("cargo run --release --locked -- ").unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"]);
    let told = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    let default_runs: Vec<&str> = packages.filter_map(|one| one["default_run"].as_str()).collect();
    assert_eq!(default_runs, ["holdpoint"], "cargo run must know what it runs");
    let place = Place::new();
    let ran = shell(&place, &format!("holdpoint {arguments}"));
    let streams = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!((status(&ran), streams), (0, ("out\n".into(), "err\n".into())));
    assert_eq!(status(&shell(&place, "holdpoint verify")), 0);
}

#[test]
fn the_two_commands_are_those_that_are_checked() {
    let ci = include_str!("../../.ci/run");
    let tests = "cargo test --locked";
    assert_eq!(blocks(README, "sh")[1].trim(), tests);
    assert!(
        ci.lines().any(|line| line.ends_with(&format!(" {tests}"))),
        ".ci/run runs the README's test command"
    );
}

#[test]
fn a_command_is_recorded_approved_and_looked_into_as_shown() {
    for job in ["Record", "Approve", "Investigate"] {
        assert_eq!(blocks(section(README, job), "console").len(), 1, "{job}");
    }
    happens(&Place::new(), README);
}

#[test]
fn every_exit_code_is_what_the_table_says() {
    let codes = include_str!("../../docs/exit-codes.md");
    let (short, whole) = (table(README, "| code |"), table(codes, "| code |"));
    assert_eq!((short.len(), whole.len()), (7, 17));
    for row in short.iter().chain(&whole) {
        let [exit, _, example] = &row[..] else { panic!("{row:?}") };
        if example.ends_with("above") {
            assert!(blocks(README, "console").concat().contains(&format!("exit status {exit}\n")));
            continue;
        }
        let output = shell(&Place::new(), code(example));
        assert_eq!(status(&output).to_string(), *exit, "{example}: {}", text(&output.stderr));
    }
}
