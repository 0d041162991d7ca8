//! The numbers that are held: one more is a line of `ceilings` or `floors`.

use super::command_line::CommandLine;
use super::count::code_lines;
use super::names::{Doc, docs, is_participle, types};
use super::product::{Source, files, relative};
use super::ratchet::Number;
use super::root;
use std::collections::BTreeMap;
use std::fs;

/// Ways to hide code from the count, or to let it grow unread.
const ESCAPES: [&str; 4] = ["cfg(any(test", "rustfmt::skip", "include!", "#[path"];
/// Endings of files without code; licenses have none.
const NO_CODE: [&str; 3] = ["toml", "md", ""];

pub(super) type Numbers = BTreeMap<String, Number>;
type Counts = BTreeMap<String, usize>;

/// Numbers that may not rise.
pub(super) fn ceilings(sources: &[Source], command_line: &CommandLine) -> Numbers {
    let (rust, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| source.language() == "rs");
    let mut numbers = other_languages(&others);
    let lines = lines(sources);
    let cli = lines.get("cli").map(|lines| ("cli".into(), *lines));
    numbers.extend(of_names(&rust));
    numbers.extend(of_docs(&rust));
    let one = |name: &String| (name.clone(), 1);
    let escapes = ESCAPES.map(|escape| (escape, Number::sum(escapes(&rust, escape))));
    let rest = [
        ("code lines", Number::sum(lines)),
        ("code lines of cli", Number::sum(cli)),
        ("leaf verbs", Number::sum(command_line.verbs.iter().map(one))),
        ("long options", Number::sum(command_line.options.iter().map(one))),
        ("words of docs", Number::sum(words())),
    ];
    numbers.extend(rest.into_iter().chain(escapes).map(|(name, number)| (name.into(), number)));
    numbers
}

/// Numbers that may not fall.
pub(super) fn floors() -> Numbers {
    let asserts = |line: &str| line.contains("assert");
    let rows = |line: &str| line.starts_with('|') && !line.starts_with("|---");
    let conformance = lines_where("docs", "md", rows).into_iter();
    let conformance = conformance.filter(|(path, _)| path.contains("conformance"));
    Numbers::from([
        (
            "lines with assert in tests/it".into(),
            Number::sum(lines_where("tests/it", "rs", asserts)),
        ),
        ("rows of docs/conformance".into(), Number::sum(conformance)),
    ])
}

/// Lines of Rust of each crate, by its folder.
pub(super) fn lines(sources: &[Source]) -> Counts {
    let mut lines = Counts::new();
    for source in sources.iter().filter(|source| source.language() == "rs") {
        *lines.entry(source.folder.clone()).or_default() += code_lines(&source.code);
    }
    lines
}

/// Lines that are not blank, of each language but Rust.
fn other_languages(sources: &[&Source]) -> Numbers {
    let mut numbers = Numbers::new();
    for source in sources.iter().filter(|source| !NO_CODE.contains(&source.language())) {
        let lines = source.text.lines().filter(|line| !line.trim().is_empty()).count();
        let name = format!("lines of {}", source.language());
        numbers.entry(name).or_default().add(source.path.clone(), lines);
    }
    numbers
}

fn escapes(sources: &[&Source], escape: &str) -> Counts {
    let of = |source: &Source| source.code.matches(escape).count();
    sources.iter().map(|source| (source.path.clone(), of(source))).collect()
}

fn of_names(sources: &[&Source]) -> Numbers {
    let mut counts = Counts::new();
    for source in sources {
        for name in types(&source.code) {
            *counts.entry(format!("{name} of {}", source.folder)).or_default() += 1;
        }
    }
    let name_of = |key: &str| key.split(' ').next().unwrap_or_default().to_string();
    let participles = counts.clone().into_iter().filter(|(key, _)| is_participle(&name_of(key)));
    let participles = Number::sum(participles);
    // Each verb has its own.
    counts.retain(|key, _| name_of(key) != "Args");
    let of = counts.values().sum();
    let shared = Number::per_mille(counts.into_iter().filter(|(_, count)| *count > 1), of);
    Numbers::from([
        ("types named by a participle".into(), participles),
        ("types that share a name in a crate, per mille".into(), shared),
    ])
}

fn of_docs(sources: &[&Source]) -> Numbers {
    let mut all = Vec::new();
    for source in sources {
        all.extend(docs(&source.text).into_iter().map(|doc| (&source.path, doc)));
    }
    let share = |is_counted: fn(&Doc) -> bool| {
        let mut of = 0;
        let mut clauses = Counts::new();
        for (path, doc) in all.iter().filter(|(_, doc)| is_counted(doc)) {
            of += 1;
            *clauses.entry((*path).clone()).or_default() += usize::from(doc.opens_with_clause);
        }
        Number::per_mille(clauses, of)
    };
    Numbers::from([
        ("doc comments that open with a clause, per mille".into(), share(|_| true)),
        (
            "public doc comments that open with a clause, per mille".into(),
            share(|doc| doc.is_public),
        ),
    ])
}

fn words() -> Counts {
    count("docs", "md", |text| text.split_whitespace().count())
}

fn lines_where(folder: &str, language: &str, is_counted: impl Fn(&str) -> bool) -> Counts {
    count(folder, language, |text| text.lines().filter(|line| is_counted(line)).count())
}

/// A count of each file of a language, by its path.
fn count(folder: &str, language: &str, of: impl Fn(&str) -> usize) -> Counts {
    let files = files(&root().join(folder), &|_| false).into_iter();
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == language));
    files.map(|path| (relative(&path), of(&fs::read_to_string(&path).unwrap()))).collect()
}
