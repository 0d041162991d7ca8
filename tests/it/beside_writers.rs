//! Whoever reads a log beside processes that write it finds it whole.

use crate::program::{Place, json, status, text};
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread::{JoinHandle, spawn};

/// Every verb that reads a log, with what makes it do so. `RUN`, `SEQ` and `OUT` stand for a run, a
/// record and a path where nothing is.
const READERS: [&str; 26] = [
    "init",
    "inbox",
    "decision list",
    "policy show",
    "runs",
    "show RUN",
    "output RUN",
    "export --format html RUN --output OUT",
    "log --since 3 --until 5",
    "log -n 3",
    "log --stat",
    "show --trace SEQ",
    "replay --at SEQ",
    "diff SEQ",
    "diff --when totals.events>=5",
    "verify",
    "verify --map",
    "copy --salvage LOG OUT",
    "copy LOG OUT",
    "export --format jsonl --output OUT",
    "export --format sqlite --output OUT",
    "thread list",
    "thread show --rows none",
    "thread list --health",
    "doctor config",
    "doctor",
];

/// Verbs that write, ask, or have nothing to do with a log.
const OTHERS: [&str; 12] = [
    "run",
    "apply",
    "record",
    "approve",
    "deny",
    "decision create",
    "hook",
    "mcp",
    "archive",
    "completions",
    "thread show",
    "continue",
];

/// Says that something is wrong with the bytes of a log.
const ACCUSATIONS: [&str; 3] = ["corrupt", "damaged", "short of HEAD"];

#[test]
fn every_verb_is_tried_beside_writers_or_writes_itself() {
    for row in include_str!("../../docs/verbs.md").lines() {
        let Some(verb) = row.strip_prefix("| `holdpoint ") else { continue };
        let is_named = |known: &&str| {
            let words: Vec<&str> = known.split(' ').collect();
            verb.split([' ', '`']).take(words.len()).eq(words.iter().copied())
        };
        let first = |known: &str| known.split(' ').next().unwrap().to_string();
        let is_read = READERS.iter().any(|known| verb.starts_with(&first(known)));
        assert!(is_read || OTHERS.iter().any(is_named), "{verb}");
    }
}

/// A process that appends without a pause until it is stopped.
struct Writer {
    process: Child,
    threads: Vec<JoinHandle<()>>,
}

impl Writer {
    fn start(place: &Place, stream: &'static str) -> Self {
        let mut command = place.command(&["apply"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut lines = process.stdin.take().unwrap();
        let mut receipts = process.stdout.take().unwrap();
        let event = format!(r#""command":"application.record","stream":"{stream}","type":"t""#);
        let feeding = spawn(move || {
            let mut number = 0_u64;
            // Until nobody reads the lines any more.
            while writeln!(lines, r#"{{"submit":{{{event},"data":"{number}"}}}}"#).is_ok() {
                number += 1;
            }
        });
        // The first receipt: it writes by now.
        receipts.read_exact(&mut [0]).unwrap();
        let draining = spawn(move || {
            std::io::copy(&mut receipts, &mut std::io::sink()).unwrap();
        });
        Self { process, threads: vec![feeding, draining] }
    }

    fn stop(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_reader_beside_writers_accuses_nobody() {
    let place = Place::with_log();
    place.run(&["echo", "printed"]);
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let writers = ["one", "two"].map(|stream| Writer::start(&place, stream));
    for (number, line) in READERS.iter().enumerate() {
        let out = place.directory.path().join(format!("out-{number}"));
        let (out, log) = (out.to_str().unwrap(), place.log.to_str().unwrap());
        let words: Vec<&str> = line
            .split(' ')
            .map(|word| match word {
                "RUN" => run.as_str(),
                "SEQ" => "5",
                "OUT" => out,
                "LOG" => log,
                word => word,
            })
            .collect();
        let output = place.command(&words).output().unwrap();
        let told = text(&output.stderr);
        assert!([0, 3].contains(&status(&output)), "{line}: {} {told}", status(&output));
        let accusation = ACCUSATIONS.iter().find(|it| told.contains(**it));
        assert_eq!(accusation, None, "{line}: {told}");
    }
    writers.into_iter().for_each(Writer::stop);
    let report = json(&place.command(&["verify", "--json"]).output().unwrap());
    assert!(report["verdict"].as_str().unwrap().starts_with("intact"), "{report:#}");
    assert!(fs::metadata(place.log.join("HEAD")).is_ok());
}
