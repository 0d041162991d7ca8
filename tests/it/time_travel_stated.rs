//! A state that verbs which go back in time take from a snapshot is as stated by a record: one that
//! HEAD witnesses, and that is named.

use crate::records_support::{holdpoint, told};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_log_format::Head;
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// The answer to a verb: exit code, stdout, stderr.
type Answer = (i32, String, String);

/// The options that lead to a state, made from all records.
const WHOLE: &str = "--whole";

/// A log of which a record states rightly what a snapshot holds, and a later one falsely.
struct Forged {
    directory: TempDir,
    /// HEAD before the record that states what is false.
    before: Head,
    /// The record that states what is right.
    right: u64,
    /// The record that states what is false.
    wrong: u64,
    /// What was never asked, and lives in the state that is forged.
    made_up: String,
}

impl Forged {
    /// So many runs follow what is stated falsely; HEAD names the newest record.
    fn followed_by(runs: u64) -> Self {
        let directory = TempDir::new().unwrap();
        let (mut log, mut other) = (HandMadeLog::new(), HandMadeLog::new());
        log.run();
        let right = log.snapshot(directory.path());
        log.run();
        let made_up = other.ask(Entropy::from_bytes([7; 16]));
        let before = log.head();
        let wrong = log.snapshot_of(&mut other.world, directory.path());
        (0..runs).for_each(|_| drop(log.run()));
        log.write(directory.path());
        Self { directory, before, right, wrong, made_up }
    }

    /// The same with HEAD before what is stated falsely.
    fn behind_head(runs: u64) -> Self {
        let forged = Self::followed_by(runs);
        let file = forged.path().join(holdpoint_log_format::names::HEAD);
        std::fs::write(file, forged.before.encode()).unwrap();
        forged
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn asked(&self, words: &[&str]) -> Answer {
        told(&holdpoint(self.path(), words))
    }

    /// The verbs that go to the state that the forged snapshot stands for.
    fn verbs(&self) -> Vec<Vec<String>> {
        let (at, log) = ((self.wrong - 1).to_string(), self.path().to_str().unwrap());
        let there = format!("decision_points.{} != null", self.made_up);
        let verbs: [&[&str]; 6] = [
            &["replay", "--live", "--at", &at],
            &["replay", "--live"],
            &["replay", &self.made_up, "--at", &at],
            &["diff", &at],
            &["diff", log, &at, &at],
            &["diff", "--when", &there, "0", &at],
        ];
        verbs.map(|words| words.iter().map(ToString::to_string).collect()).to_vec()
    }
}

fn with<'w>(words: &'w [String], more: &[&'w str]) -> Vec<&'w str> {
    words.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

#[test]
fn a_snapshot_that_is_stated_behind_head_is_gone_to_by_no_verb() {
    for forged in [0, 1].map(Forged::behind_head) {
        for words in forged.verbs() {
            let (code, stdout, stderr) = forged.asked(&with(&words, &["--json"]));
            let without = forged.asked(&with(&words, &["--json", WHOLE]));
            assert_eq!(code, without.0, "{words:?}: {stderr}");
            let is_shown = code == 0 && stdout.contains(&forged.made_up);
            assert!(!is_shown, "{words:?}: nobody asked this: {stdout}");
        }
        let at = (forged.wrong - 1).to_string();
        let (_, bisected, _) =
            forged.asked(&["diff", "--when", "totals.events < 0", "0", &at, "--json"]);
        assert!(bisected.contains("\"states_from_snapshots\": 1"), "an older one is: {bisected}");
    }
}

/// The reach that is told: in the object that is shown, or in a line of its own on stderr.
fn reach((_, stdout, stderr): &Answer) -> Value {
    let shown: Value = serde_json::from_str(stdout).unwrap();
    let told = stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut reaches = [shown].into_iter().chain(told).filter_map(|it| it.get("reach").cloned());
    reaches.next().unwrap()
}

#[test]
fn every_verb_names_the_record_that_states_the_state_which_it_shows() {
    for forged in [0, 2].map(Forged::followed_by) {
        let (right, wrong) = (forged.right, forged.wrong);
        for words in forged.verbs() {
            // A search takes what is right on its way.
            let (records, sentence) = match words[1].as_str() {
                "--when" => {
                    (json!([right, wrong]), format!("by 2 records from {right} to {wrong}: "))
                }
                _ => (json!([wrong]), format!("as stated by record {wrong}: ")),
            };
            let told = forged.asked(&with(&words, &["--json"]));
            let found = reach(&told);
            let named = (&found["stated_by"], &found["whole"]);
            assert_eq!(named, (&records, &json!(false)), "{words:?}: {found}");
            let (_, _, stderr) = forged.asked(&with(&words, &[]));
            let times = if words[1].contains('/') { 2 } else { 1 };
            assert_eq!(stderr.matches(&sentence).count(), times, "{words:?}: {stderr}");

            let told = forged.asked(&with(&words, &["--json", WHOLE]));
            let is_not_found = told.0 == 3 && words[..2] == ["replay", &*forged.made_up];
            if !is_not_found {
                let found = reach(&told);
                let named = (found.get("stated_by"), &found["whole"]);
                assert_eq!(named, (None, &json!(true)), "{words:?}: {found}");
            }
            let (_, stdout, stderr) = forged.asked(&with(&words, &[WHOLE]));
            let is_said = [stdout, stderr].iter().any(|it| it.contains("as stated by"));
            assert!(!is_said, "{words:?}");
        }
    }
}

#[test]
fn what_began_before_the_record_that_states_a_state_is_told_as_stated_in_a_difference() {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    let begun = log.awaited("sh -c true");
    let right = log.snapshot(directory.path());
    let new = log.run();
    log.end(&begun);
    log.write(directory.path());
    let at = (right - 1).to_string();
    let told = |more: &[&str]| {
        let words = [&["diff", &at, "--json"], more].concat();
        let (_, shown, _) = told(&holdpoint(directory.path(), &words));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let entities = shown["entities"].as_array().unwrap().clone();
        let of =
            |id: &str| entities.iter().find(|one| one["id"] == id).unwrap()["standing"].clone();
        (shown["reach"]["stated_by"].clone(), of(&begun), of(&new))
    };
    assert_eq!(told(&[WHOLE]), (Value::Null, json!("proven"), json!("proven")));
    assert_eq!(told(&[]), (json!([right]), json!("stated"), json!("proven")));
}
