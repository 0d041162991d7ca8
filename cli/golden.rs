//! Screens as they were, in `tests/golden/screens`: a change to one is seen where it is made.
//! `HOLDPOINT_WRITE_GOLDEN=1` writes what is not there yet.

use crate::screen::width;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{
    Filter, ReadOptions, Retry, Run, RunFound, begun, retries_of, run_of, runs_of,
};
use holdpoint_testing::hand_made::HandMade;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// How wide the terminals are.
pub(crate) const COLUMNS: [usize; 4] = [20, 40, 80, 120];

/// Compares a screen with the one that it was, and that no line is wider than the terminal.
pub(crate) fn compare(name: &str, columns: usize, lines: &[String]) {
    for line in lines {
        assert!(width(line) <= columns, "{name}: {} columns: {line}", width(line));
    }
    compare_file(&format!("{name}-{columns}.txt"), &format!("{}\n", lines.join("\n")));
}

/// Compares a text with the one that is kept under this name.
pub(crate) fn compare_file(name: &str, shown: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens");
    let file = directory.join(name);
    if !file.exists() && std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() {
        fs::create_dir_all(&directory).unwrap();
        fs::write(&file, shown).unwrap();
    }
    let was = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(shown, was, "{name}; HOLDPOINT_WRITE_GOLDEN=1 adds what is new");
}

/// A log of runs that always come out the same, and a moment at which somebody looks.
pub(crate) struct Sample {
    directory: TempDir,
    ids: Vec<String>,
    pub(crate) now: Timestamp,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut log = HandMade::new();
        let ids = vec![
            log.run_of("make deploy ENVIRONMENT=production REGION=eu-central-1 TIMEOUT=600"),
            log.crash(),
            log.run_of("echo \u{6587}\u{5b57}\u{5316}\u{3051} \u{30c6}\u{30b9}\u{30c8}"),
            log.awaited("sleep 100000"),
        ];
        Self::of(log, ids)
    }

    /// A run that failed and was ended after a RETRY, another one, and one that was begun again
    /// because of the RETRY.
    pub(crate) fn begun_again() -> Self {
        let mut log = HandMade::new();
        let (first, retry) = log.retry_of_halted("make deploy REGION=eu-central-1");
        let other = log.run_of("make test");
        let again = log.run_caused_by("make deploy REGION=eu-central-1", retry);
        Self::of(log, vec![first, other, again])
    }

    fn of(log: HandMade, ids: Vec<String>) -> Self {
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        let minutes_later = log.chain.time + 7 * 60 * 1_000_000_000;
        Self { directory, ids, now: Timestamp::from_nanoseconds(minutes_later) }
    }

    pub(crate) fn storage(&self) -> DirectoryStorage {
        DirectoryStorage::new(self.directory.path())
    }

    /// Every run, the newest first, as a list has them.
    pub(crate) fn listed(&self) -> Vec<Run> {
        let (storage, options) = (self.storage(), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
        let (found, searched) = begun(&storage, &Filter::default(), 9, options).unwrap();
        let listed = runs_of(&storage, &found, options).unwrap();
        assert!(searched.is_sound() && listed.searched.is_sound() && listed.uncounted.is_empty());
        assert_eq!(listed.runs.len(), self.ids.len());
        listed.runs
    }

    /// The RETRY with which each says that it began, by its loop.
    pub(crate) fn retries(&self) -> BTreeMap<String, Retry> {
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let (retries, searched) = retries_of(&self.storage(), &self.listed(), options).unwrap();
        assert!(searched.is_none_or(|searched| searched.is_sound()));
        retries
    }

    /// Every run, the oldest first, with its output.
    pub(crate) fn whole(&self) -> Vec<Run> {
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let run = |id: &String| match run_of(&self.storage(), id, options).unwrap() {
            (RunFound::Run(run), _) => *run,
            _ => panic!("no run {id}"),
        };
        self.ids.iter().map(run).collect()
    }
}
