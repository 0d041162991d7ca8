//! Who depends on the library gets none of what the program alone needs.

use crate::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The crates that the library is made of, by the directories of their manifests.
const LIBRARIES: [&str; 9] = [
    "engine/holdpoint",
    "engine",
    "engine/domain",
    "engine/reducers",
    "replay",
    "log-format",
    "log-format/files",
    "log-format/index",
    "log-format/lanes",
];

/// The names below `[dependencies]` of a manifest.
fn dependencies_of(directory: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(workspace().join(directory).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap();
    let names = section.lines().filter(|line| !line.starts_with('#') && line.contains('='));
    names.map(|line| line.split(['.', ' ', '=']).next().unwrap().to_string()).collect()
}

#[test]
fn the_library_brings_nothing_of_what_the_program_alone_needs() {
    let of_libraries: BTreeSet<String> =
        LIBRARIES.iter().flat_map(|directory| dependencies_of(directory)).collect();
    let of_program = dependencies_of(".");
    let programs_own: BTreeSet<_> = of_program.difference(&of_libraries).cloned().collect();
    for name in ["clap", "indicatif", "rmcp", "tokio", "holdpoint-export"] {
        assert!(programs_own.contains(name), "{name} is not among {programs_own:?}");
    }
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace())
        .args(["tree", "-p", "holdpoint", "-e", "normal", "--prefix", "none"])
        .args(["--locked", "--offline"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let tree = String::from_utf8(output.stdout).unwrap();
    let mut names: BTreeSet<_> =
        tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect();
    assert!(names.contains("holdpoint-engine") && names.contains("serde"), "{tree}");
    let rusqlite = ["rusqlite".to_string(), "libsqlite3-sys".to_string()];
    names.retain(|name| programs_own.contains(name) || rusqlite.contains(name));
    // What a library needs by itself may bring a crate that the program names too: `regex` is made
    // of `regex-automata`.
    names.retain(|name| !["rustix", "jiff", "regex-automata"].contains(&&**name));
    assert_eq!(names, BTreeSet::new());
}
