//! Logs whose first records are moved to archives, and what is asked of them before and after.

use crate::decision_support::asked;
use crate::filler::fill;
use crate::program::{Place, contents, json, status, text};
use holdpoint_testing::log::segments_of;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// So many fill more than a segment of a new log.
const FILLERS: u64 = 40;

/// What is asked of a log before and after its first records are moved. `NEWEST` is its newest
/// record before that.
const READINGS: [&str; 20] = [
    "log --until NEWEST",
    "log --until NEWEST --reverse",
    "log loop=LOOP",
    "log loop=LOOP --reverse",
    "log decision=DECISION",
    "log kind=execution_loop.halted --until NEWEST",
    "log --since 3 --until 9",
    "log -n 90 --until NEWEST",
    "replay --until NEWEST",
    "replay --until NEWEST LOOP --story",
    "replay --until NEWEST LOOP",
    "replay --until 5",
    "show --trace 3",
    "show --trace NEWEST",
    "export --until NEWEST",
    "export --until NEWEST --format csv",
    "diff 0 NEWEST --when totals.loops_initialized>1",
    "diff 0 NEWEST --when totals.loops_initialized>0 entity=LOOP",
    "diff 5 NEWEST",
    "diff 5 9",
];

/// A log with runs and a decision in several segments.
pub(crate) struct Sample {
    pub(crate) place: Place,
    first_loop: String,
    decision: String,
    /// Where its first records go.
    pub(crate) archive: PathBuf,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        assert_eq!(status(&place.shell("echo first")), 0);
        let first_loop = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
        let decision = asked(&place, &["PROJ-1"]);
        fill(&place.log, FILLERS);
        let archive = beside(&place, "archive");
        let sample = Self { place, first_loop, decision, archive };
        sample.grow();
        sample
    }

    /// Records more, so that there is a sealed segment.
    pub(crate) fn grow(&self) {
        assert_eq!(status(&self.place.shell("exit 3")), 3);
        fill(&self.place.log, FILLERS);
        while segments_of(&self.place.log).len() < 2 {
            fill(&self.place.log, FILLERS);
        }
    }

    /// Moves to an archive what can be; gives the last record that was moved.
    pub(crate) fn archive_to(&self, to: &Path) -> u64 {
        let output = self.place.holdpoint(&["archive", to.to_str().unwrap(), "--json"]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        json(&output)["anchor_sequence"].as_u64().unwrap()
    }

    pub(crate) fn archived() -> (Self, u64) {
        let sample = Self::new();
        let anchor = sample.archive_to(&sample.archive);
        (sample, anchor)
    }

    pub(crate) fn ask(&self, line: &str, newest: u64) -> Output {
        let newest = newest.to_string();
        let value = |word: &str| match word {
            "NEWEST" => newest.clone(),
            "LOOP" => self.first_loop.clone(),
            "DECISION" => self.decision.clone(),
            word => word.to_string(),
        };
        let words = line.split(' ').map(|word| match word.split_once('=') {
            Some((field, word)) => format!("{field}={}", value(word)),
            None => value(word),
        });
        let words: Vec<String> = words.collect();
        self.place.holdpoint(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What each reading shows, as text and as JSON without what says where it lies.
    pub(crate) fn answers(&self, newest: u64) -> Vec<(String, i32, String)> {
        let mut answers = Vec::new();
        for line in READINGS {
            let output = self.ask(line, newest);
            answers.push((line.to_string(), status(&output), text(&output.stdout)));
            if !line.starts_with("export") {
                let output = self.ask(&format!("{line} --json"), newest);
                let values = values(&output).into_iter().map(without_places);
                let shown = values.map(|value| value.to_string() + "\n").collect();
                answers.push((format!("{line} --json"), status(&output), shown));
            }
        }
        answers
    }

    pub(crate) fn newest(&self) -> u64 {
        self.place.verified()["head"]["sequence"].as_u64().unwrap()
    }

    /// What is done with the log or its archive, beside which no change.
    pub(crate) fn expect(&self, what: &str, line: &str, code: i32, told: &str) -> Output {
        let output = self.ask(line, 1);
        let stderr = text(&output.stderr);
        assert_eq!(status(&output), code, "{what}: {line}: {stderr}");
        assert!(stderr.contains(told), "{what}: {line}: {told:?} is not in {stderr}");
        output
    }
}

pub(crate) fn beside(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

/// One value, or one in each line.
pub(crate) fn values(output: &Output) -> Vec<Value> {
    let stream = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    stream.map(Result::unwrap).collect()
}

/// Without where a record lies, and how much was read.
fn without_places(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !["archive", "checked", "reach"].contains(&&**name));
        fields.values_mut().for_each(|field| *field = without_places(field.take()));
    }
    if let Value::Array(items) = &mut value {
        items.iter_mut().for_each(|item| *item = without_places(item.take()));
    }
    value
}

pub(crate) fn duplicate(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    for (path, bytes) in contents(from) {
        let path = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

pub(crate) fn fifo(path: &Path) {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

pub(crate) fn sequences(output: &Output) -> Vec<u64> {
    values(output).iter().map(|line| line["sequence"].as_u64().unwrap()).collect()
}
