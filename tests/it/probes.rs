//! `docs/conformance.md` and the documents below it: each line that says `departs`, `no` or `never`
//! names what would fail if it were untrue of the real program, as `<!-- probe: FILE::TEST -->`, a
//! test of this folder, or as `<!-- probe: vector FILE/ID -->`, vectors whose ids begin so.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The overview, and the documents of the five systems.
fn documents() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs/conformance")).unwrap();
    let below = folder.map(|entry| entry.unwrap().path());
    let below = below.filter(|path| path.extension().is_some_and(|end| end == "md"));
    below.chain([root().join("docs/conformance.md")]).collect()
}

/// The lines of tables that claim that something is otherwise, or that something is not so.
fn claims() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
        for (index, line) in rows.filter(|(_, line)| is_claim(line)) {
            let place = format!("{}:{}", path.file_name().unwrap().display(), index + 1);
            found.push((place, line.to_string()));
        }
    }
    found
}

/// Whether a row says `departs`, `no` or `never`. Where there is `no rule`, nothing is claimed.
fn is_claim(row: &str) -> bool {
    let words = row.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_one = |word: &str| ["departs", "no", "never"].contains(&&*word.to_lowercase());
    words.into_iter().any(is_one) && !row.contains("| no rule:")
}

fn probes(row: &str) -> Vec<&str> {
    let comments = row.split("<!-- probe: ").skip(1);
    comments.filter_map(|rest| rest.split_once(" -->").map(|(name, _)| name)).collect()
}

/// Every file of tests of the real program, by its name without ending.
fn tests_in(folder: &Path, found: &mut Vec<(String, String)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            tests_in(&path, found);
            continue;
        }
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let parent = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let name = if stem == "mod" { parent } else { stem };
        found.push((name, fs::read_to_string(&path).unwrap_or_default()));
    }
}

/// Whether a file has this test, by its whole name.
fn has_test((file, test): (&str, &str), tests: &[(String, String)]) -> bool {
    let start = format!("fn {test}()");
    tests.iter().any(|(name, text)| {
        let mut lines = text.lines().scan("", |before, line| {
            let was = std::mem::replace(before, line);
            Some((was, line))
        });
        name == file
            && lines.any(|(before, line)| {
                line.trim_start().starts_with(&start) && before.trim_start().starts_with("#[")
            })
    })
}

fn ids() -> Vec<String> {
    let of_file = |(name, text): (&str, String)| {
        let stem = name.trim_end_matches(".jsonl").to_string();
        let ids = text.lines().filter_map(|line| line.strip_prefix("{\"id\":\"")).map(|rest| {
            let (id, _) = rest.split_once('"').unwrap();
            format!("{stem}/{id}")
        });
        ids.collect::<Vec<_>>()
    };
    holdpoint_testing::vectors::files().into_iter().flat_map(of_file).collect()
}

#[test]
fn each_line_that_says_departs_no_or_never_names_a_probe_of_the_program_that_is_there() {
    let (ids, mut tests) = (ids(), Vec::new());
    tests_in(&root().join("tests/it"), &mut tests);
    let claims = claims();
    assert!(claims.len() > 100, "{} lines", claims.len());
    let mut faults = Vec::new();
    for (place, row) in &claims {
        let named = probes(row);
        if named.is_empty() {
            faults.push(format!("{place}: no probe: {row}"));
        }
        for name in named {
            let is_there = match (name.strip_prefix("vector "), name.split_once("::")) {
                (Some(id), _) => ids.iter().any(|known| known.starts_with(id)),
                (None, Some(test)) => has_test(test, &tests),
                (None, None) => false,
            };
            if !is_there {
                faults.push(format!("{place}: there is no probe {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
