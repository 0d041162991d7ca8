//! What the tests with the real thing share: the writers of `examples/durable_writers` as a process
//! of their own, and what they have to leave behind.
#![allow(
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test may fail like the test"
)]

pub mod trace;

use crate::example;
use holdpoint_engine::log::Recovered;
use holdpoint_log_format::recovery::Row;
use holdpoint_testing::log::{append, open_reporting, quiet, records_of, survey_whole};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// What the writers are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub threads: u64,
    pub records: u64,
    pub payload: u64,
}

/// More records than any test waits for.
pub const ENDLESS: u64 = 1 << 40;

/// Arguments of the program, itself first.
pub fn words(directory: &Path, load: Load) -> Vec<std::ffi::OsString> {
    let mut words =
        vec![example::program("durable_writers").into(), "--dir".into(), directory.into()];
    let numbers =
        [("--threads", load.threads), ("--records", load.records), ("--payload", load.payload)];
    for (flag, number) in numbers {
        words.extend([flag.into(), number.to_string().into()]);
    }
    words
}

/// The writers at work.
pub struct Writers {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// How the writers ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Sequences that they acknowledged and nobody had heard of.
    pub acknowledged: Vec<u64>,
    /// What they said went wrong.
    pub said: String,
}

impl Writers {
    pub fn start(directory: &Path, load: Load) -> Self {
        Self::start_words(&words(directory, load))
    }

    pub fn start_words(words: &[std::ffi::OsString]) -> Self {
        let (program, arguments) = words.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next sequence that they acknowledge; `None` when they ended.
    pub fn heard(&mut self) -> Option<u64> {
        let line = self.lines.next()?.unwrap();
        let sequence = line.strip_prefix("ack ").and_then(|number| number.parse().ok());
        Some(sequence.unwrap_or_else(|| panic!("{line:?} is no acknowledgement")))
    }

    /// SIGKILL, now.
    pub fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.finish()
    }

    /// Waits for their end.
    pub fn finish(mut self) -> Ended {
        let acknowledged = std::iter::from_fn(|| self.heard()).collect();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        Ended { status: self.child.wait().unwrap(), acknowledged, said }
    }
}

/// Opens the log as whoever comes next does, appends, closes, and reads every record: all of
/// `acknowledged` are there and the log is intact. Gives what recovery did.
pub fn assert_goes_on(directory: &Path, acknowledged: &[u64], what: &str) -> Recovered {
    let before = survey_whole(directory);
    assert_ne!(before.row.verdict(), holdpoint_log_format::recovery::Verdict::Corrupt, "{what}");
    let newest = acknowledged.iter().copied().max().unwrap_or(0);
    let (log, report) = open_reporting(directory, quiet());
    let reached = report.position.sequence;
    assert!(reached >= newest, "{what}: {newest} was acknowledged and {reached} is the newest");
    assert_eq!(append(&log, 1, 300), reached + 1, "{what}");
    log.close().unwrap();
    let records = records_of(directory);
    assert_eq!(records.len() as u64, reached + 1, "{what}");
    assert_eq!(survey_whole(directory).row, Row::Clean, "{what}");
    report.recovered
}

/// Says that a test does not apply to this machine, past the capture of test output.
pub fn skip(what: &str) {
    say(&format!("skipped: {what}"));
}

/// Says what was done, past the capture of test output.
pub fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
