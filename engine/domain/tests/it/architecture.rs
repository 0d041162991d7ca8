//! Which module of the domain knows which. Each system is one folder with the same few files; what
//! it is made of knows no system, and what gathers several lies above them.

use std::collections::BTreeSet;

use crate::sources::{self, Source};

/// The systems, in the order in which their types know each other.
const SYSTEMS: [&str; 9] = [
    "sandbox_fault",
    "execution_loop",
    "evidence_capture",
    "human_decision",
    "registration",
    "interruption_thread",
    "decision_point",
    "application",
    "log",
];

/// The systems of which `governed` makes one loop.
const GOVERNED: [&str; 4] =
    ["sandbox_fault", "execution_loop", "evidence_capture", "human_decision"];

/// The files whose types every system may know. The chain of evidence is one, with what makes it
/// whole.
const TYPES: [&str; 6] = ["types", "chain", "terms", "request", "decision", "policy"];

#[test]
fn nothing_looks_upwards() {
    assert_eq!(backward(), BTreeSet::new(), "these look upwards");
}

#[test]
fn every_system_is_one_folder_and_the_files_are_few() {
    let sources = sources::all();
    assert!(sources.len() <= 128, "{} files", sources.len());
    let known: BTreeSet<&str> =
        SYSTEMS.into_iter().chain(["core", "governed", "lib", "world"]).collect();
    let found: BTreeSet<&str> = sources.iter().map(Source::module).collect();
    assert_eq!(found, known);
    for system in SYSTEMS {
        for part in ["types", "command", "event"] {
            let path = format!("{system}/{part}.rs");
            let is_policy = path == "log/types.rs";
            assert!(is_policy || sources.iter().any(|source| source.path == path), "{path}");
        }
    }
}

fn backward() -> BTreeSet<(String, String)> {
    let sources = sources::all();
    let parts: BTreeSet<(&str, &str)> =
        sources.iter().map(|source| (source.module(), source.part())).collect();
    let mut found = BTreeSet::new();
    for source in &sources {
        let from = (source.module(), source.part());
        for to in known_by(source, &parts) {
            if !may_know(from, to) {
                found.insert((format!("{}::{}", from.0, from.1), format!("{}::{}", to.0, to.1)));
            }
        }
    }
    found
}

/// The files that a file names, each by its module and its own name.
fn known_by<'a>(
    source: &Source,
    parts: &BTreeSet<(&'a str, &'a str)>,
) -> BTreeSet<(&'a str, &'a str)> {
    let code: Vec<&str> = source.code().collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    let modules: BTreeSet<&'a str> = parts.iter().map(|(module, _)| *module).collect();
    for module in modules {
        for (place, _) in code.match_indices(&format!("{module}::")) {
            let before = code[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            // `core::fmt` is the language's own; ours is always named from the root.
            if module == "core" && !code[..place].ends_with("crate::") {
                continue;
            }
            let rest = &code[place + module.len() + 2..];
            let part = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            let named = parts.iter().find(|known| **known == (module, part));
            found.insert(named.copied().unwrap_or((module, module)));
        }
    }
    found
}

/// Whether one file may know another one.
fn may_know(from: (&str, &str), to: (&str, &str)) -> bool {
    if from.0 == to.0 || from.0 == "lib" || to.0 == "core" || from.0 == "world" {
        return true;
    }
    if from.0 == "core" || to.0 == "world" || to.0 == "governed" {
        return false;
    }
    let is_types = TYPES.contains(&to.1);
    if from.0 == "governed" {
        return is_types || GOVERNED.contains(&to.0);
    }
    let rank = |system| SYSTEMS.iter().position(|known| *known == system);
    if TYPES.contains(&from.1) {
        return is_types && rank(to.0) < rank(from.0);
    }
    is_types || (from.0, to) == ("interruption_thread", ("registration", "state"))
}
