//! The floors of `cli/`: `ui` < `args` < `log` < `questions` < `verbs` and `agents`.
//! Imports go down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// From the lowest to the highest, which has two folders beside each other.
const FLOORS: [&[&str]; 5] = [&["ui"], &["args"], &["log"], &["questions"], &["verbs", "agents"]];

/// A module, or what stands in one, from the root of the crate on.
type Names = Vec<String>;

/// One path that a module names.
struct Reference {
    from: Names,
    to: Names,
    is_public: bool,
}

impl Reference {
    fn told(&self) -> String {
        format!("{} names {}", self.from.join("::"), self.to.join("::"))
    }
}

fn names(path: &str) -> Names {
    path.split("::").map(|name| name.trim().to_string()).collect()
}

/// Sources of the program by their modules, without their tests and comments.
fn modules() -> BTreeMap<Names, String> {
    let mut modules = BTreeMap::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli"), &Names::new(), &mut modules);
    modules
}

fn collect(folder: &Path, above: &Names, modules: &mut BTreeMap<Names, String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = match (above.is_empty(), &*name) {
            (true, "lib" | "main") => Names::new(),
            _ => above.iter().cloned().chain([name]).collect(),
        };
        if path.is_dir() {
            collect(&path, &module, modules);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            modules.insert(module, code_of(&fs::read_to_string(path).unwrap()));
        }
    }
}

fn code_of(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut is_of_tests = false;
    let lines = code.lines().filter(|line| {
        let is_code = !is_of_tests && !line.trim_start().starts_with("//");
        is_of_tests = line.trim() == "#[cfg(test)]";
        is_code
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path of the crate that a source names, by imports and in its code.
fn references(module: &Names, code: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut take = |path: &Names, is_public| {
        if let Some(to) = resolved(module, path) {
            found.push(Reference { from: module.clone(), to, is_public });
        }
    };
    let (imports, rest) = imports(code);
    for (tree, is_public) in imports {
        paths(&tree).iter().for_each(|path| take(&names(path), is_public));
    }
    let is_of_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    for path in rest.split(|letter| !is_of_path(letter)) {
        take(&names(path), false);
    }
    found
}

/// The trees of all imports and whether they are public, and the code beside them.
fn imports(code: &str) -> (Vec<(String, bool)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        let Some(at) = line.find("use ").filter(|at| *at == 0 || line.starts_with("pub")) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = line[at + "use ".len()..].to_string();
        while !tree.ends_with(';') {
            tree.push_str(lines.next().unwrap().trim());
        }
        found.push((tree.trim_end_matches(';').to_string(), at > 0));
    }
    (found, rest)
}

/// The paths of a tree of imports.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap();
        return vec![path.trim_end_matches("::self").to_string()];
    };
    let inner = inner.strip_suffix('}').unwrap();
    branches(inner).iter().flat_map(|branch| paths(&format!("{before}{branch}"))).collect()
}

/// The parts of a list that no brace encloses.
fn branches(list: &str) -> Vec<String> {
    let (mut found, mut depth) = (vec![String::new()], 0_usize);
    for letter in list.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match letter {
            ',' if depth == 0 => found.push(String::new()),
            _ => found.last_mut().unwrap().push(letter),
        }
    }
    found.retain(|branch| !branch.trim().is_empty());
    found.iter().map(|branch| branch.trim().to_string()).collect()
}

/// A path from the root of the crate on; `None`: it is relative to what is imported, or external.
fn resolved(module: &Names, path: &Names) -> Option<Names> {
    match path.first().map(String::as_str)? {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(module.iter().chain(&path[1..]).cloned().collect()),
        "super" => {
            let steps = path.iter().take_while(|name| *name == "super").count();
            let above = module.len().checked_sub(steps)?;
            Some(module[..above].iter().chain(&path[steps..]).cloned().collect())
        }
        _ => None,
    }
}

/// How high a module stands; `None`: it is at the root, which names all.
fn floor(module: &[String]) -> Option<usize> {
    let folder = module.first()?;
    FLOORS.iter().position(|folders| folders.contains(&folder.as_str()))
}

/// The verb, or the program of agents, that a module belongs to.
fn verb(module: &[String]) -> Option<&[String]> {
    let length = match module.first()?.as_str() {
        "agents" => 2,
        // A group of verbs that is a job of its own.
        "verbs" if module.get(1)? == "thread" => 2,
        "verbs" => 3,
        _ => return None,
    };
    module.get(..length)
}

fn all() -> Vec<Reference> {
    let modules = modules();
    let found: Vec<Reference> =
        modules.iter().flat_map(|(module, code)| references(module, code)).collect();
    assert!(found.len() > 1_000, "{}", found.len());
    found
}

fn assert_none(what: &str, is_wrong: impl Fn(&Reference) -> bool) {
    let wrong: Vec<String> =
        all().iter().filter(|reference| is_wrong(reference)).map(Reference::told).collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[test]
fn a_floor_names_nothing_above_it() {
    assert_none("imports upwards", |reference| {
        let Some(from) = floor(&reference.from) else { return false };
        let is_of_root = reference.to.first().is_some_and(|name| name == "arguments");
        is_of_root || floor(&reference.to).is_some_and(|to| to > from)
    });
}

#[test]
fn a_verb_names_no_other_verb() {
    assert_none("a verb imports another", |reference| {
        let verbs = verb(&reference.from).zip(verb(&reference.to));
        verbs.is_some_and(|(from, to)| from != to)
    });
}

#[test]
fn only_the_root_and_the_command_line_name_verbs() {
    assert_none("names a verb", |reference| {
        let is_below = |floors: &[String]| floor(floors) == Some(FLOORS.len() - 1);
        let from = reference.from.first().map(String::as_str);
        // The root, the command line, and what is built for tests alone.
        let may = from.is_none_or(|from| ["arguments", "tests"].contains(&from));
        is_below(&reference.to) && !is_below(&reference.from) && !may
    });
}

#[test]
fn nothing_of_another_folder_is_exported_again() {
    assert_none("exported from another folder", |reference| {
        reference.is_public && !reference.to.starts_with(&reference.from)
    });
}

#[test]
fn every_path_that_a_source_names_is_found() {
    let module = names("verbs::look::show");
    let code = "use crate::{log::{ids::{self, IdOf}, open}, ui};\n\
                pub(crate) use super::runs::Row;\n\
                fn f() {\n    super::super::decide::hold::main(crate::args::wait());\n}\n";
    let found = references(&module, &code_of(code));
    let told: Vec<String> = found.iter().map(|found| found.to.join("::")).collect();
    let expected = [
        "log::ids",
        "log::ids::IdOf",
        "log::open",
        "ui",
        "verbs::look::runs::Row",
        "verbs::decide::hold::main",
        "args::wait",
    ];
    assert_eq!(told, expected);
    assert_eq!(found.iter().filter(|found| found.is_public).count(), 1);
    assert_eq!((floor(&module), verb(&module).map(<[String]>::len)), (Some(4), Some(3)));
}
