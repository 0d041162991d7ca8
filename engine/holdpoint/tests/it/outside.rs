//! The example of `docs/embedding.md` is a program outside of this workspace, with one dependency.

use crate::workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

const EXAMPLE: &str = include_str!("../../examples/hello.rs");

const MANIFEST: &str = r#"
[package]
name = "outside"
version = "0.1.0"
edition = "2024"

DEPENDENCIES

[workspace]

PROFILE
"#;

/// What stands between this fence and the next one, behind the first mention of a text.
fn block<'a>(readme: &'a str, behind: &str, fence: &str) -> &'a str {
    let (_, rest) = readme.split_once(behind).unwrap();
    let (_, rest) = rest.split_once(fence).unwrap();
    rest.split_once("\n```").map(|(block, _)| block).unwrap()
}

/// The library is taken from this tree, and not from a registry. With the profile of this
/// workspace, what it depends on is what was built for it already.
fn cargo_project(directory: &Path, dependencies: &str, program: &str) {
    let version =
        concat!("\"", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), "\"");
    let here = format!("{{ path = {:?} }}", env!("CARGO_MANIFEST_DIR"));
    assert!(dependencies.contains(version), "{dependencies}");
    let ours = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, profile) = ours.split_once("\n[profile.dev]\n").unwrap();
    let (profile, _) = profile.split_once("\n[package]\n").unwrap();
    let manifest = MANIFEST.replace("DEPENDENCIES", &dependencies.replacen(version, &here, 1));
    let manifest = manifest.replace("PROFILE", &format!("[profile.dev]\n{profile}"));
    fs::create_dir(directory.join("src")).unwrap();
    fs::write(directory.join("Cargo.toml"), manifest).unwrap();
    fs::write(directory.join("src/main.rs"), program).unwrap();
    fs::copy(workspace().join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
}

#[test]
#[ignore = "builds the library once more, a minute: `.ci/run all` does"]
fn the_documents_example_compiles_outside_of_the_workspace_and_prints_what_is_shown() {
    let document = fs::read_to_string(workspace().join("docs/embedding.md")).unwrap();
    let program = block(&document, "## The first program", "```rust\n");
    assert_eq!(format!("{program}\n"), EXAMPLE, "engine/holdpoint/examples/hello.rs");
    assert!(program.lines().count() <= 30);
    let home = tempfile::tempdir().unwrap();
    let dependencies = block(&document, "## The first program", "```toml\n");
    cargo_project(home.path(), dependencies, program);
    let test = std::env::current_exe().unwrap();
    let output = Command::new(env!("CARGO"))
        .current_dir(home.path())
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap())
        .args(["run", "--offline", "--quiet", "--", "log"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, format!("{}\n", block(&document, "## The first program", "```text\n")));
}
