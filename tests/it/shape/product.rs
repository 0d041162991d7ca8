//! The files of the product: those of every crate that the program or the facade links.

use super::count::{Comments, stripped};
use super::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that a person installs or embeds.
const ROOTS: [&str; 2] = ["holdpoint-cli", "holdpoint"];
/// Folder of tests within a module, which the module declares for tests alone.
const MODULE_TESTS: &str = "tests";
/// Folders of a crate that Cargo links into nothing that is shipped.
const UNLINKED: [&str; 3] = ["tests", "benches", "examples"];

/// A file of a crate, by its folder and its path in the repository.
pub(super) struct Source {
    pub(super) folder: String,
    pub(super) path: String,
    pub(super) text: String,
    /// Of Rust, without comments; otherwise empty.
    pub(super) code: String,
}

impl Source {
    /// The ending of its name; none: empty.
    pub(super) fn language(&self) -> &str {
        Path::new(&self.path).extension().map_or("", |ending| ending.to_str().unwrap())
    }

    fn of(folder: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let is_rust = path.extension().is_some_and(|ending| ending == "rs");
        let code = if is_rust { stripped(&text, Comments::None) } else { String::new() };
        Self { folder: relative(folder), path: relative(path), text, code }
    }
}

pub(super) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().into()
}

/// Every file of the product.
pub(super) fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in folders(&packages()) {
        let apart = UNLINKED.map(|name| folder.join(name));
        let is_unlinked =
            |inner: &Path| apart.iter().any(|apart| apart == inner) || is_module_tests(inner);
        let files = files(&folder, &is_unlinked);
        sources.extend(files.iter().map(|file| Source::of(&folder, file)));
    }
    sources
}

/// A folder `tests` of a module whose declaration is for tests alone.
fn is_module_tests(folder: &Path) -> bool {
    let module = folder.parent().unwrap();
    let declares = [module.join("mod.rs"), module.join("lib.rs"), module.with_extension("rs")];
    folder.ends_with(MODULE_TESTS)
        && declares.iter().filter_map(|file| fs::read_to_string(file).ok()).any(|text| {
            let (before, _) = text.split_once("mod tests;").unwrap_or_default();
            let attribute = before.trim_end_matches("pub(crate) ").lines().last();
            attribute.is_some_and(|line| {
                line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,")
            })
        })
}

/// Every file below a folder, without other crates and what is left out.
pub(super) fn files(folder: &Path, is_left_out: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in entries {
        if !path.is_dir() {
            files.push(path);
        } else if !is_left_out(&path) && !path.join("Cargo.toml").is_file() {
            files.extend(self::files(&path, is_left_out));
        }
    }
    files
}

/// The workspace's packages, with their dependencies and targets, as Cargo understands them.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = cargo.current_dir(root()).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Folders of the crates that the roots link, directly or through others.
fn folders(packages: &[Value]) -> BTreeSet<PathBuf> {
    let mut linked = BTreeSet::from(ROOTS.map(String::from));
    loop {
        let is_linked = |package: &&Value| linked.contains(package["name"].as_str().unwrap());
        let below = packages.iter().filter(is_linked).flat_map(linked_by).collect::<Vec<_>>();
        let before = linked.len();
        linked.extend(below);
        if linked.len() == before {
            break;
        }
    }
    let shipped = packages.iter().filter(|package| linked.contains(&name(package)));
    shipped.map(folder).collect()
}

fn name(package: &Value) -> String {
    package["name"].as_str().unwrap().into()
}

/// Dependencies within the workspace that are there beyond tests.
fn linked_by(package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    let own = all.filter(|dependency| dependency["path"].is_string());
    own.filter(|dependency| dependency["kind"] != "dev").map(name).collect()
}

/// The folder of a package's library: that above `src`, where there is one.
fn folder(package: &Value) -> PathBuf {
    let mut targets = package["targets"].as_array().unwrap().iter();
    let library = targets.find(|target| target["kind"][0] == "lib").unwrap();
    let folder = Path::new(library["src_path"].as_str().unwrap()).parent().unwrap();
    if folder.ends_with("src") { folder.parent().unwrap().into() } else { folder.into() }
}
