//! A sealed segment that is damaged and has an index: what is met is told with its place and exit
//! 6, and nothing is said to have changed, for nobody changes the log.

use crate::attack_support::attacked_log;
use crate::records_support::{holdpoint, remove_indexes, told};
use holdpoint_forger::{Log, Reach, RecordAt};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

/// What is done to a record in a sealed segment. Its index stays.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// A byte of its payload is another one.
    Byte,
    /// The checksum is that of the other byte.
    Checksum,
    /// Its link follows, and that of the next record does not.
    Link,
    /// All links of the segment follow, up to its seal.
    Chain,
}

const HARMS: [Harm; 4] = [Harm::Byte, Harm::Checksum, Harm::Link, Harm::Chain];

/// Every so many records one is harmed, another kind of harm each time.
const STEP: usize = 3;

fn harmed(directory: &Path, at: RecordAt, harm: Harm) -> TempDir {
    let mut log = Log::read(directory).unwrap();
    *log.record_mut(at).payload.last_mut().unwrap() ^= 1;
    match harm {
        Harm::Byte => {}
        Harm::Checksum => log.remake_checksum(at),
        Harm::Link => log.remake_link(at),
        Harm::Chain => assert!(log.remake(at, Reach::Seal)),
    }
    let other = TempDir::new().unwrap();
    log.write(other.path()).unwrap();
    other
}

/// What is read of a log, about a record and the run or question that it is about.
fn readings(line: &Value) -> Vec<String> {
    let sequence = line["sequence"].as_u64().unwrap();
    let (from, to) = (sequence.saturating_sub(2).max(1), sequence + 2);
    let kind = line["kind"].as_str().unwrap();
    let mut readings = vec![
        "runs".to_string(),
        "runs command=e".to_string(),
        "decision list state=all".to_string(),
        "show --trace 1".to_string(),
        format!("show --trace {sequence}"),
        format!("log --since {from} --until {to}"),
        format!("log --reverse --until {to}"),
        format!("log --reverse kind={kind}"),
    ];
    if let Some(id) = line["loop_id"].as_str() {
        let verbs = ["show ", "output ", "log loop="];
        readings.extend(verbs.map(|verb| format!("{verb}{id}")));
    }
    if let Some(id) = line["decision_id"].as_str() {
        let verbs = ["decision show ", "log decision="];
        readings.extend(verbs.map(|verb| format!("{verb}{id}")));
    }
    readings
}

#[test]
fn damage_in_a_segment_with_an_index_is_exit_6_with_its_place_and_no_change() {
    let genuine = attacked_log();
    let shown = told(&holdpoint(genuine.path(), &["log", "--json"])).1;
    let lines: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let log = Log::read(genuine.path()).unwrap();
    let sealed = log.segments().len() - 1;
    let records = log.records().into_iter().filter(|at| at.segment < sealed);
    let mut wrong = String::new();
    for ((number, at), harm) in records.enumerate().step_by(STEP).zip(HARMS.iter().cycle()) {
        let harmed = harmed(genuine.path(), at, *harm);
        for reading in readings(&lines[number]) {
            let words: Vec<&str> = reading.split(' ').collect();
            let (code, _, stderr) = told(&holdpoint(harmed.path(), &words));
            let names_place = stderr.contains("segments/") && stderr.contains(".seg, byte ");
            if !(code == 0 || code == 6 && names_place || code == 3 && names_place) {
                writeln!(wrong, "{harm:?} of {}, {reading}: {code} {stderr}", number + 1).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn one_damaged_run_leaves_the_newer_ones_listed_with_indexes_as_without() {
    let genuine = attacked_log();
    let shown = told(&holdpoint(genuine.path(), &["log", "--json"])).1;
    let of_kind = |kind: &str| {
        let lines = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .filter(|line| line["kind"] == kind)
            .map(|line| line["sequence"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let log = Log::read(genuine.path()).unwrap();
    let places = log.records();
    for sequence in of_kind("execution_loop.halted") {
        let at = places[usize::try_from(sequence).unwrap() - 1];
        if at.segment + 1 >= log.segments().len() {
            continue;
        }
        let harmed = harmed(genuine.path(), at, Harm::Byte);
        let listed = || {
            let (code, stdout, stderr) = told(&holdpoint(harmed.path(), &["runs", "-q"]));
            assert_eq!(code, 6, "{sequence}: {stderr}");
            assert!(stderr.contains(&format!("sequence {sequence}: ")), "{stderr}");
            stdout
        };
        let by_index = listed();
        remove_indexes(harmed.path());
        assert_eq!(by_index, listed(), "{sequence}");
        assert!(!by_index.is_empty(), "{sequence}");
    }
}
