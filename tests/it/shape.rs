//! The size of the product is stated in `shape.toml`: code lines of each crate, verbs and options.
//!
//! Growth shows in the change that causes it. After a change of either, write the file anew:
//! `HOLDPOINT_WRITE_SHAPE=1 cargo test --locked -p holdpoint-cli --test it -- shape::`

mod count;

use crate::completions::verbs;
use crate::program::Place;
use count::code_lines;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SHAPE: &str = "shape.toml";
const ABOUT: &str = "\
# The size of the product, held by tests/it/shape.rs: lines of code of each crate, without blanks,
# comments and tests; the verbs that do something; the long options of all of them, each name once.
";
/// How many lines a crate may have more or less than is stated: a small change states nothing.
const LINES_OFF_MAX: usize = 200;
/// Folders without a line of the product.
const NOT_PRODUCT: [&str; 7] =
    ["target", ".git", "tests", "testing", "examples", "fuzz", "benches"];
/// The one crate below such a folder that is shipped.
const SHIPPED_BENCH: &str = "benches/disk/src";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shape {
    lines: BTreeMap<String, usize>,
    command_line: CommandLine,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CommandLine {
    verbs: BTreeSet<String>,
    options: BTreeSet<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lines of each crate by its folder; those of the root package are in `cli`.
fn lines() -> BTreeMap<String, usize> {
    let mut sources = Vec::new();
    collect(root(), &mut sources);
    collect(&root().join(SHIPPED_BENCH), &mut sources);
    let mut lines = BTreeMap::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        *lines.entry(crate_of(&source)).or_default() += code_lines(&text);
    }
    lines
}

fn collect(directory: &Path, sources: &mut Vec<PathBuf>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if !NOT_PRODUCT.contains(&&*name) => collect(&path, sources),
            false if name.ends_with(".rs") => sources.push(path),
            _ => {}
        }
    }
}

fn crate_of(source: &Path) -> String {
    let mut folders = source.ancestors().skip(1);
    let home = folders.find(|folder| folder.join("Cargo.toml").is_file()).unwrap();
    match home.strip_prefix(root()).unwrap().to_str().unwrap() {
        "" => "cli".into(),
        folder => folder.into(),
    }
}

fn command_line() -> CommandLine {
    let found = verbs(&Place::new());
    let leaves = found.iter().filter(|verb| verb.below.is_empty());
    CommandLine {
        verbs: leaves.map(|verb| verb.words.join(" ")).collect(),
        options: found.iter().flat_map(|verb| verb.options.iter().cloned()).collect(),
    }
}

/// Lists stand one entry a line, so that a change shows what it adds and removes.
fn written(shape: &Shape) -> String {
    let list = |names: &BTreeSet<String>| -> String {
        names.iter().map(|name| format!("    \"{name}\",\n")).collect()
    };
    let lines = shape.lines.iter().map(|(folder, lines)| format!("\"{folder}\" = {lines}\n"));
    let CommandLine { verbs, options } = &shape.command_line;
    format!(
        "{ABOUT}[lines]\n{}\n[command_line]\nverbs = [\n{}]\noptions = [\n{}]\n",
        lines.collect::<String>(),
        list(verbs),
        list(options)
    )
}

#[test]
fn the_product_is_as_large_as_is_stated() {
    let found = Shape { lines: lines(), command_line: command_line() };
    let file = root().join(SHAPE);
    if std::env::var_os("HOLDPOINT_WRITE_SHAPE").is_some() {
        fs::write(&file, written(&found)).unwrap();
    }
    let stated: Shape = toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(found.command_line, stated.command_line, "{SHAPE} states other verbs or options");
    let crates = |shape: &Shape| shape.lines.keys().cloned().collect::<Vec<_>>();
    assert_eq!(crates(&found), crates(&stated), "{SHAPE} states other crates");
    for (folder, lines) in &found.lines {
        let stated = stated.lines[folder];
        let is_near = lines.abs_diff(stated) <= LINES_OFF_MAX;
        assert!(is_near, "{folder} has {lines} lines of code, and {SHAPE} states {stated}");
    }
}
