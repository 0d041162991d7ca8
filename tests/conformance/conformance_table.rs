//! `docs/conformance.md` and the documents below it are true: whatever they name is there, and they
//! leave out no heading, value, field, function or row of the owner's documents.
//!
//! The owner's documents lie beside the repository, in `../shared/seeds`. Where they are not, what
//! is said of them is not compared, and that is a visible skip.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use holdpoint_domain::Command;
use holdpoint_domain::world::REGISTRY;
use libtest_mimic::{Failed, Trial};

use crate::conformance_owner::Owned;
use crate::fail_with;

/// What a table of conformance begins with.
const HEADER: &str = "| the document says | here | proven by |";

/// The overview, which also tells of what the owner's documents import.
const OVERVIEW: &str = "docs/conformance.md";

/// Each of the owner's documents by its title, and the document that follows it.
const FOLLOWED: [(&str, &str); 5] = [
    ("PHASE-21 DESIGN", "docs/conformance/phase-21.md"),
    ("PHASE-31 DESIGN", "docs/conformance/phase-31.md"),
    ("PHASE-32 DESIGN", "docs/conformance/phase-32.md"),
    ("PH1.X ECM Spec", "docs/conformance/interruption-threads.md"),
    ("Decisions (Human-in-the-Loop Gates)", "docs/conformance/decision-points.md"),
];

/// Where the product's own code is.
const PRODUCT: [&str; 4] = ["engine", "replay", "cli", "log-format"];

/// Where tests are.
const TESTS: [&str; 5] = ["engine", "replay", "tests", "cli", "log-format"];

/// How a line of a table begins that is not simply implemented.
const DEPARTS: &str = "departs:";
const NOT_YET: &str = "not yet:";
const NO_RULE: &str = "no rule:";

/// One line of a table.
struct Row {
    place: String,
    here: String,
    proof: String,
}

impl Row {
    /// Whether there is nothing to be proven.
    fn is_bare(&self) -> bool {
        self.here.starts_with(NOT_YET) || self.here.starts_with(NO_RULE)
    }

    fn kind(&self) -> &'static str {
        let kinds = [(DEPARTS, "departed"), (NOT_YET, "not implemented"), (NO_RULE, "no rule")];
        let known = kinds.iter().find(|(beginning, _)| self.here.starts_with(beginning));
        known.map_or("implemented", |(_, kind)| kind)
    }
}

/// The tests. `skipped` learns what was not there.
pub(crate) fn trials(skipped: &mut Vec<String>) -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("conformance_table_says_of_each_line_what_proves_it", || {
            fail_with(&unproven(&rows()))
        }),
        Trial::test("conformance_table_names_what_is_there", names_are_there),
    ];
    let folder = root().join("../shared/seeds");
    if folder.is_dir() {
        let name = "conformance_table_leaves_out_nothing_of_the_owners_documents";
        trials.push(Trial::test(name, move || covers(&folder)));
    } else {
        skipped.push(format!("{} is not there", folder.display()));
    }
    trials
}

/// How many lines of each kind there are.
pub(crate) fn counts() -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rows().iter().for_each(|row| *counts.entry(row.kind()).or_default() += 1);
    let mut line = String::from("conformance table:");
    for (kind, count) in counts {
        let _ = write!(line, " {count} {kind},");
    }
    line.trim_end_matches(',').to_string() + "\n"
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn documents() -> impl Iterator<Item = &'static str> {
    FOLLOWED.iter().map(|(_, path)| *path).chain([OVERVIEW])
}

fn rows() -> Vec<Row> {
    documents().flat_map(|path| rows_of(path, &read(path))).collect()
}

/// Every line of every table of conformance in a document.
fn rows_of(path: &str, text: &str) -> Vec<Row> {
    let (mut found, mut is_inside) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        is_inside = line == HEADER || (is_inside && line.starts_with('|'));
        if !is_inside || line == HEADER || line.starts_with("|---") {
            continue;
        }
        let place = format!("{path}:{}", index + 1);
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{place}: {line}");
        found.push(Row { place, here: cells[1].into(), proof: cells[2].into() });
    }
    assert!(!found.is_empty(), "{path}: no table");
    found
}

/// What is implemented, or departed from, is proven or explained. Of what is not there, nothing is.
fn unproven(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let is_proven = row.proof.contains("::") || row.proof.contains("category \"");
        if row.here.is_empty() || is_proven == row.is_bare() || (row.is_bare() && row.proof != "-")
        {
            faults.push(format!("{}: {} | {}", row.place, row.here, row.proof));
        }
    }
    faults
}

/// Everything in these marks.
fn marked(cell: &str, mark: char) -> impl Iterator<Item = &str> {
    cell.split(mark).skip(1).step_by(2)
}

fn names_are_there() -> Result<(), Failed> {
    let product = Code::of(&PRODUCT, false);
    let tests = Code::of(&TESTS, true);
    let mut faults = Vec::new();
    for row in rows() {
        for name in marked(&row.here, '`').filter(|name| !is_there(name, &product)) {
            faults.push(format!("{}: there is no {name}", row.place));
        }
        for name in marked(&row.proof, '`').filter(|name| !tests.has_test(name)) {
            faults.push(format!("{}: there is no test {name}", row.place));
        }
        for name in marked(&row.proof, '"').filter(|name| !tests.has_category(name)) {
            faults.push(format!("{}: there is no category {name}", row.place));
        }
    }
    faults.extend(unmentioned());
    fail_with(&faults)
}

/// Events and commands that stand in none of the documents.
fn unmentioned() -> Vec<String> {
    let text: String = documents().map(read).collect();
    let events = REGISTRY.iter().map(|kind| kind.name);
    let names = events.chain(Command::NAMES.iter().copied());
    let unnamed = names.filter(|name| !text.contains(&format!("`{name}`")));
    unnamed.map(|name| format!("no document has {name}")).collect()
}

/// An event, a command, a verb with its options, a file, or something in the code.
fn is_there(name: &str, product: &Code) -> bool {
    if let Some(words) = name.strip_prefix("holdpoint ") {
        return is_verb(words);
    }
    if name.contains('/') {
        return root().join(name).exists();
    }
    let is_dotted = name.chars().all(|c| c.is_ascii_lowercase() || ".-_".contains(c));
    if is_dotted && name.contains('.') {
        let is_event = REGISTRY.iter().any(|kind| kind.name == name);
        return is_event || Command::NAMES.contains(&name);
    }
    name.split("::").all(|part| product.has(part.trim_end_matches("()")))
}

/// Asks the program for help on a verb, which names each of its options.
fn is_verb(words: &str) -> bool {
    let (options, verbs): (Vec<&str>, Vec<&str>) =
        words.split(' ').partition(|word| word.starts_with("--"));
    let mut program = Process::new(env!("CARGO_BIN_EXE_holdpoint"));
    let output = program.args(verbs).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    output.status.success() && options.iter().all(|option| has_word(&help, option))
}

/// Files of code, each with its name without an ending, and without its comments.
struct Code(Vec<(String, String)>);

impl Code {
    fn of(folders: &[&str], with_tests: bool) -> Self {
        let mut found = Vec::new();
        for folder in folders {
            collect(&root().join(folder), with_tests, &mut found);
        }
        Self(found)
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|(_, text)| has_word(text, word))
    }

    /// `FILE::TEST`: a test by its name, or a function that recorded cases call.
    fn has_test(&self, name: &str) -> bool {
        let Some((file, test)) = name.split_once("::") else { return false };
        let mut files = self.0.iter().filter(|(name, _)| name == file);
        files.any(|(_, text)| has_word(text, test))
    }

    fn has_category(&self, name: &str) -> bool {
        let line = format!("name: \"{name}\",");
        let mut files = self.0.iter().filter(|(file, _)| file.ends_with("categories"));
        files.any(|(_, text)| text.contains(&line))
    }
}

fn collect(folder: &Path, with_tests: bool, found: &mut Vec<(String, String)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if with_tests || name != "tests" {
                collect(&path, with_tests, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push((name_of(&path, name), code(&path, with_tests)));
        }
    }
}

/// The file's name; that of its folder for a `mod.rs`.
fn name_of(path: &Path, name: String) -> String {
    let folder = path.parent().and_then(Path::file_name);
    if name == "mod" { folder.unwrap().to_string_lossy().into_owned() } else { name }
}

fn code(path: &Path, with_tests: bool) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = match text.split_once("\n#[cfg(test)]\nmod tests") {
        Some((before, _)) if !with_tests => before,
        _ => &text,
    };
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Whether a text has this as a whole word.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back().is_some_and(is_part);
            let after = text[at + word.len()..].chars().next().is_some_and(is_part);
            !before && !after
        })
}

/// Whatever the owner's documents name is named by those that follow them.
fn covers(folder: &Path) -> Result<(), Failed> {
    let mut faults = Vec::new();
    let mut unmet: Vec<&str> = FOLLOWED.iter().map(|(title, _)| *title).collect();
    for path in texts_in(folder) {
        let owned = Owned::of(&fs::read_to_string(&path).unwrap());
        let Some((title, follower)) = FOLLOWED.iter().find(|(title, _)| *title == owned.title())
        else {
            faults.push(format!("{}: nothing follows it", path.display()));
            continue;
        };
        unmet.retain(|other| other != title);
        let missing = owned.missing_in(&read(follower));
        faults.extend(missing.iter().map(|what| format!("{follower}: lacks {what}")));
    }
    faults.extend(unmet.iter().map(|title| format!("{title} is not in {}", folder.display())));
    fail_with(&faults)
}

fn texts_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "txt")).collect();
    found.sort();
    found
}
