//! `--read-only`: whatever would write to a log is refused, and whatever looks works as before.

use crate::decision_support::asked;
use crate::program::{Place, text};
use crate::shape::leaf_verbs;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Each verb that writes to a log, with arguments, and what it exits with.
const WRITING: [(&str, i32); 21] = [
    ("init", 5),
    ("run -- true", 125),
    ("apply", 5),
    ("record --stream s --type t README", 5),
    ("approve @ID", 5),
    ("deny @ID", 5),
    ("decision create --prompt p --option a:A --option b:B", 5),
    ("decision respond @ID a", 5),
    ("decision cancel @ID", 5),
    ("decision notify @ID", 5),
    ("decision expire", 5),
    ("decision consume @ID", 5),
    ("hook pre-tool-use", 2),
    ("hook post-tool-use", 1),
    ("mcp", 5),
    ("archive old", 5),
    ("continue other", 5),
    ("copy log salvaged --salvage", 5),
    ("inbox --add log", 5),
    ("inbox --remove log", 5),
    ("policy set default=after", 5),
];

/// Each other verb, with arguments, and what it exits with.
const LOOKING: [(&str, i32); 20] = [
    ("verify", 0),
    ("runs", 0),
    ("show RUN", 0),
    ("output RUN", 0),
    ("replay", 0),
    ("diff 1 2", 0),
    ("export --format csv --output CSV", 0),
    ("log", 0),
    ("copy log copied", 0),
    ("doctor", 0),
    ("hook stop", 0),
    ("hook session-start", 0),
    ("completions bash", 0),
    ("inbox", 0),
    ("policy show", 0),
    ("thread list", 0),
    ("thread show none", 3),
    ("decision list", 0),
    ("decision show @ID", 0),
    ("decision wait @ID --timeout 1ms", 10),
];

fn answer(place: &Place, line: &str, id: &str, run: &str) -> (Option<i32>, String) {
    let line = line.replace("@ID", id).replace("RUN", run);
    let words: Vec<&str> = std::iter::once("--read-only").chain(line.split(' ')).collect();
    let output = place.command(&words).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), text(&output.stderr))
}

/// Every file of the log, with its bytes.
fn contents(log: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => contents(&path),
        false => [(path.clone(), fs::read(path).unwrap())].into(),
    };
    entries.flat_map(of).collect()
}

#[test]
fn each_verb_that_would_write_is_refused_and_each_that_looks_is_not() {
    let place = Place::new();
    place.run(&["echo", "out"]);
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let id = asked(&place, &["--expires", "1h"]);
    let before = contents(&place.log);
    for (line, exit) in WRITING {
        let (found, stderr) = answer(&place, line, &id, &run);
        assert_eq!(found, Some(exit), "{line}: {stderr}");
        assert!(stderr.contains("--read-only forbids"), "{line}: {stderr}");
        assert!(contents(&place.log) == before, "{line}");
    }
    for (line, exit) in LOOKING {
        let (found, stderr) = answer(&place, line, &id, &run);
        assert_eq!(found, Some(exit), "{line}: {stderr}");
        assert!(contents(&place.log) == before, "{line}");
    }
    let begins = |verb: &str| {
        let mut lines = WRITING.iter().chain(&LOOKING);
        lines.any(|(line, _)| format!("{line} ").starts_with(&format!("{verb} ")))
    };
    let missing: BTreeSet<String> = leaf_verbs().into_iter().filter(|verb| !begins(verb)).collect();
    assert_eq!(missing, ["thread render".to_string()].into(), "it knows no log");
}

#[test]
fn a_wait_records_no_deadline_that_passed() {
    let place = Place::new();
    let id = asked(&place, &["--expires", "1ms"]);
    let before = contents(&place.log);
    let (exit, stderr) = answer(&place, "decision wait @ID --timeout 1s", &id, "");
    assert!(stderr.contains("--read-only forbids"), "{stderr}");
    assert_eq!(exit, Some(12));
    assert!(contents(&place.log) == before);
}
