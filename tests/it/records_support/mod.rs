//! Logs of several segments made by hand, with and without indexes that they vouch for.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::{RecordsLost, SegmentIndexed};
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::names;
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_log_index::{Index, layout::INDEX_VERSION};
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Loops that a segment of [`Sample`] tells of.
const LOOPS_IN_SEGMENT: usize = 6;

/// A log of four sealed segments and one that is written to.
pub(crate) struct Sample {
    pub(crate) directory: TempDir,
    pub(crate) log: HandMadeLog,
    /// The loops, in their order.
    pub(crate) loops: Vec<String>,
}

/// A log whose sealed segments have indexes that it vouches for.
pub(crate) fn indexed() -> Sample {
    indexed_of(&mut |log, _, loops| loops.extend((0..LOOPS_IN_SEGMENT).map(|_| log.run())))
}

/// The same of what is written into each of four segments.
pub(crate) fn indexed_of(
    fill: &mut dyn FnMut(&mut HandMadeLog, usize, &mut Vec<String>),
) -> Sample {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    let mut loops = Vec::new();
    for at in 0..4 {
        fill(&mut log, at, &mut loops);
        log.roll();
    }
    log.write(directory.path());
    for (first, built) in build_all(directory.path()) {
        let index = Index::new(&built[..]).unwrap();
        let last_sequence = index.scope().last.sequence;
        let digest = Digest::from_bytes(index.digest().0);
        std::fs::write(directory.path().join(index_path(first)), &built).unwrap();
        let told =
            SegmentIndexed { first_sequence: first, last_sequence, format: INDEX_VERSION, digest };
        log.events(vec![told.into()]);
    }
    loops.push(log.crash());
    log.write(directory.path());
    Sample { directory, log, loops }
}

/// The right index of every sealed segment, by its first sequence.
pub(crate) fn build_all(log: &Path) -> Vec<(u64, Vec<u8>)> {
    let storage = DirectoryStorage::new(log);
    let firsts = segments(log);
    let sealed = firsts[..firsts.len() - 1].iter();
    let build = |first: &u64| {
        build_index(&storage, *first, TERMS_VERSION, &mut |record, terms| {
            terms.add_record(record, terms_of_record, row_of_record);
        })
    };
    sealed.map(|first| (*first, build(first).unwrap().bytes)).collect()
}

/// First sequences of the segments.
pub(crate) fn segments(log: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(log.join(names::SEGMENTS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<u64> = names.filter_map(|name| names::parse_segment(&name)).collect();
    found.sort_unstable();
    found
}

/// Removes every index.
pub(crate) fn remove_indexes(log: &Path) {
    for first in segments(log) {
        std::fs::remove_file(log.join(index_path(first))).ok();
    }
}

/// An event that holds a text of somebody else's.
pub(crate) fn saying(text: &str) -> Event {
    RecordsLost {
        source_first_sequence: 1,
        source_last_sequence: 1,
        file: "segments".into(),
        offset: 0,
        length: 1,
        copied_to: None,
        problem: text.into(),
    }
    .into()
}

pub(crate) fn holdpoint(log: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env_remove("HOLDPOINT_LOG").arg("--log").arg(log).args(arguments).output().unwrap()
}

/// Exit code, standard output, standard error.
pub(crate) fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// What is said on standard error besides the reach of what was shown to a program.
pub(crate) fn besides_reach(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("{\"reach\":")).collect::<Vec<_>>().join("\n")
}

/// JSON Lines.
pub(crate) fn values(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn sequences(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["sequence"].as_u64().unwrap()).collect()
}
