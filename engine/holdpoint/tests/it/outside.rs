//! The README's example is a program of its own outside of this workspace, with one dependency.

use crate::examples::{printed, text};
use crate::workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

const EXAMPLE: &str = include_str!("../../examples/hello.rs");

/// As little as possible is built, and it is kept for the next time.
const MANIFEST: &str = r#"
[package]
name = "outside"
version = "0.1.0"
edition = "2024"

DEPENDENCIES

[profile.dev]
debug = false
incremental = false

[workspace]
"#;

/// What stands between this fence and the next one, behind the first mention of a text.
fn block<'a>(readme: &'a str, behind: &str, fence: &str) -> &'a str {
    let (_, rest) = readme.split_once(behind).unwrap();
    let (_, rest) = rest.split_once(fence).unwrap();
    rest.split_once("\n```").map(|(block, _)| block).unwrap()
}

/// The library is taken from this tree, and not from a registry.
fn cargo_project(directory: &Path, dependencies: &str, program: &str) {
    let version =
        concat!("\"", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), "\"");
    let here = format!("{{ path = {:?} }}", env!("CARGO_MANIFEST_DIR"));
    assert!(dependencies.contains(version), "{dependencies}");
    let manifest = MANIFEST.replace("DEPENDENCIES", &dependencies.replacen(version, &here, 1));
    fs::create_dir(directory.join("src")).unwrap();
    fs::write(directory.join("Cargo.toml"), manifest).unwrap();
    fs::write(directory.join("src/main.rs"), program).unwrap();
    fs::copy(workspace().join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
}

#[test]
fn the_readmes_example_compiles_outside_of_the_workspace_and_prints_what_is_shown() {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let program = block(&readme, "## Embed it", "```rust\n");
    assert_eq!(format!("{program}\n"), EXAMPLE, "engine/holdpoint/examples/hello.rs");
    assert!(program.lines().count() <= 30);
    let home = tempfile::tempdir().unwrap();
    let dependencies = block(&readme, "## Embed it", "```toml\n");
    cargo_project(home.path(), dependencies, program);
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let output = Command::new(env!("CARGO"))
        .current_dir(home.path())
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", target.join("outside"))
        .args(["check", "--offline", "--quiet"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The same text, which cargo built beside the tests: to build all of it twice takes too long.
    let printed = printed("hello", &[text(&home.path().join("log"))]);
    assert_eq!(printed, format!("{}\n", block(&readme, "## Embed it", "```text\n")));
}
