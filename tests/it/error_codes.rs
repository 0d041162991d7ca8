//! Every code that the program can give a failure is documented, with its exit status.

use crate::program::{Place, json, status, text};
use crate::session::{code, table};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const CODES: &str = include_str!("../../docs/exit-codes.md");

/// The sources of the program below this folder, without their tests.
fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            let source = fs::read_to_string(path).unwrap();
            found.push(source.split("#[cfg(test)]\nmod tests").next().unwrap().to_string());
        }
    }
    found
}

/// What a text begins with of these characters, and the rest.
fn begins(text: &str, with: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !with(c)).unwrap_or(text.len()))
}

/// The text in quotes that stands at once behind this, if it is in the letters of a code.
fn quoted(text: &str) -> Option<&str> {
    let (inner, rest) = begins(text.trim_start().strip_prefix('"')?, is_of_code);
    (!inner.is_empty() && rest.starts_with('"')).then_some(inner)
}

fn is_of_code(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

/// The value of each constant that is a text in the letters of a code.
fn constants(sources: &[String]) -> BTreeMap<&str, &str> {
    let all = sources.iter().flat_map(|source| source.split("const ").skip(1));
    let named = all.filter_map(|rest| {
        let (name, rest) = rest.split_once(": &str = ")?;
        // A few codes are in capitals, as the rules have theirs.
        let is_capital = |c: char| is_of_code(c) || c.is_ascii_uppercase();
        let (value, rest) = begins(rest.trim_start().strip_prefix('"')?, is_capital);
        rest.starts_with('"').then_some((name, value))
    });
    named.collect()
}

/// The number of each exit by its name.
fn exits() -> BTreeMap<&'static str, &'static str> {
    const EXIT: &str = include_str!("../../cli/ui/exit.rs");
    let named = EXIT.split("const ").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(": Self = Self(")?;
        let (number, _) = rest.split_once(')')?;
        Some((name, if name == "HOLDPOINT_FAILED" { "125" } else { number }))
    });
    named.collect()
}

/// Each code that stands beside the name of an exit, and the number of that.
fn with_exits(sources: &[String]) -> BTreeSet<(String, String)> {
    let (constants, exits) = (constants(sources), exits());
    let mut found = BTreeSet::new();
    for rest in sources.iter().flat_map(|source| source.split("Exit::").skip(1)) {
        let (name, rest) = begins(rest, |c| c.is_ascii_uppercase() || c == '_');
        let Some(rest) = rest.strip_prefix(',') else { continue };
        let (constant, _) = begins(rest.trim_start(), |c| c.is_ascii_uppercase() || c == '_');
        let code = quoted(rest).or_else(|| constants.get(constant).copied());
        if let (Some(code), Some(exit)) = (code, exits.get(name)) {
            found.insert((code.to_string(), (*exit).to_string()));
        }
    }
    found
}

/// What gives a failure the code that stands first.
const FIRST: [&str; 5] = ["not_started(", ".called(", " usage(", " failed(", " from("];

/// Each code that is given in another way than beside the name of an exit.
fn by_ways(sources: &[String]) -> BTreeSet<String> {
    let behind =
        |way: &'static str| sources.iter().flat_map(move |source| source.split(way).skip(1));
    let first = FIRST.into_iter().flat_map(behind).filter_map(quoted);
    // What exit it is may be worked out.
    let second = behind("Failure::new(").filter_map(|rest| {
        let (before, _) = rest.split_once('"')?;
        let is_one_call = !before.contains([';', '{', '}', '|']);
        quoted(&rest[before.len()..]).filter(|_| is_one_call)
    });
    first.chain(second).map(String::from).collect()
}

/// The codes of errors that tell theirs themselves.
fn by_functions() -> BTreeSet<String> {
    const DAMAGE: &str = include_str!("../../cli/log/damage.rs");
    const START: &str = include_str!("../../engine/src/shell/start/mod.rs");
    const RESUME: &str = include_str!("../../engine/src/shell/resume.rs");
    const RUN: &str = include_str!("../../engine/src/shell/run.rs");
    let mut found: BTreeSet<String> = BTreeSet::new();
    for function in DAMAGE.split("\n    fn ").skip(1) {
        let body = function.split("\n    }\n").next().unwrap();
        found.extend(
            body.match_indices('"').filter_map(|(at, _)| quoted(&body[at..])).map(String::from),
        );
    }
    let is_capital =
        |text: &&str| text.len() > 3 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    for source in [START, RESUME] {
        let (_, body) = source.split_once("pub const fn code(&self)").unwrap();
        let body = body.split("\n    }\n").next().unwrap();
        found.extend(body.split('"').filter(is_capital).map(String::from));
    }
    let constants = RUN.lines().filter(|line| line.starts_with("pub(super) const "));
    let constants = constants.filter_map(|line| line.split('"').nth(1)).filter(is_capital);
    found.extend(constants.map(String::from));
    found
}

/// Of ids that are given by their beginning, the codes are made of two words.
fn by_ids() -> impl Iterator<Item = String> {
    let kinds = ["run", "decision", "request", "id"];
    let both = |what: &'static str| kinds.map(|kind| format!("{what}_{kind}"));
    both("no_such").into_iter().chain(both("ambiguous"))
}

#[test]
fn every_error_code_is_documented_with_its_exit_status() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli"));
    let with_exits = with_exits(&sources);
    let mut found: BTreeSet<String> = with_exits.iter().map(|(code, _)| code.clone()).collect();
    found.extend(by_ways(&sources));
    found.extend(by_functions());
    found.extend(by_ids());
    let rows = table(CODES, "| error code |");
    let documented: BTreeSet<String> = rows.iter().map(|row| code(&row[0]).to_string()).collect();
    let missing: Vec<_> = found.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&found).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
    assert_eq!(rows.len(), documented.len(), "each once");
    assert!(with_exits.len() > 90, "{}", with_exits.len());
    for (wanted, exit) in &with_exits {
        let row = rows.iter().find(|row| code(&row[0]) == wanted).unwrap();
        assert!(row[1].split(", ").any(|it| it == exit), "{wanted} is {exit}: {row:?}");
        assert!(!row[2].is_empty(), "{wanted}");
    }
}

#[test]
fn failures_have_the_codes_and_the_exits_of_the_table() {
    let place = Place::new();
    place.holdpoint(&["run", "--", "true"]);
    let kept = place.directory.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "").unwrap();
    for (arguments, told) in [
        (&["copy", "log", "kept"][..], "not_empty"),
        (&["copy", "--salvage", "log", "kept"], "target_not_empty"),
        (&["show", "LOOP-00000000000000000000000000000000"], "no_such_run"),
        (&["run", "--max-attempts", "2", "--hold", "before", "--", "true"], "attempts"),
    ] {
        let output = place.holdpoint(&[&["--json"], arguments].concat());
        assert_eq!(json(&output)["error"]["code"], told, "{}", text(&output.stderr));
        let rows = table(CODES, "| error code |");
        let row = rows.iter().find(|row| code(&row[0]) == told).unwrap();
        assert_eq!(row[1], status(&output).to_string(), "{told}");
    }
}
