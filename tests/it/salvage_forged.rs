//! Whatever single record is forged: `copy --salvage` keeps every genuine record that a witness
//! ties, and what nothing ties is said to be unproven in the new log, by every verb that shows it.

use crate::program::json;
use crate::records_support::{holdpoint, saying, segments, told, values};
use crate::tamper::changes::on_every;
use holdpoint_domain::execution_loop::LoopDispatched;
use holdpoint_domain::world::envelope::encode;
use holdpoint_forger::{Item, Log, Record, RecordAt, layout};
use holdpoint_log_format::{Head, Link, names};
use holdpoint_testing::hand_made::{HandMadeLog, change_head, envelope};
use holdpoint_testing::part::part;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// What is done to one record; checksum, and where it says so the link, are made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forgery {
    Payload,
    PayloadWithLink,
    Time,
    LateTime,
    Kind,
    UnknownKind,
    UnknownVersion,
    Claim,
    Sequence,
    Link,
    Withheld,
    Image,
    Swapped,
}

const FORGERIES: [Forgery; 13] = [
    Forgery::Payload,
    Forgery::PayloadWithLink,
    Forgery::Time,
    Forgery::LateTime,
    Forgery::Kind,
    Forgery::UnknownKind,
    Forgery::UnknownVersion,
    Forgery::Claim,
    Forgery::Sequence,
    Forgery::Link,
    Forgery::Withheld,
    Forgery::Image,
    Forgery::Swapped,
];

/// Kind, time and payload.
pub(crate) type Fact = (u16, u64, Vec<u8>);

/// Runs, and words of somebody else's, in two segments.
pub(crate) fn small_log() -> (TempDir, Log) {
    let mut log = HandMadeLog::new();
    for part in 0..2 {
        if part > 0 {
            log.roll();
        }
        log.events(vec![saying(&format!("part {part} begins, and {}", "so on ".repeat(30)))]);
        log.run();
        log.events((0..3).map(|number| saying(&format!("word {number} of {part}"))).collect());
        log.events(vec![saying(&format!("part {part} ends"))]);
    }
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let log = Log::read(directory.path()).unwrap();
    (directory, log)
}

fn fact(record: &Record) -> Fact {
    (record.kind(), record.time(), record.payload.clone())
}

/// Forges a record. `None`: it cannot be forged so.
fn forge(log: &mut Log, at: RecordAt, how: Forgery) -> Option<()> {
    use layout::record::{KIND, LINK, SEQUENCE, TIME, UNSYNCED, VERSION};
    let (sequence, time) = (log.record(at).sequence(), log.record(at).time());
    let record = log.record_mut(at);
    match how {
        Forgery::Payload | Forgery::PayloadWithLink => *record.payload.last_mut()? ^= 1,
        Forgery::Time => record.header.set_number(TIME, time + 1),
        Forgery::LateTime => record.header.set_number(TIME, time ^ 1 << 62),
        Forgery::Kind => {
            record.header.set_number(KIND, 3);
            record.header.set_number(VERSION, 1);
        }
        Forgery::UnknownKind => record.header.set_number(KIND, 9_999),
        Forgery::UnknownVersion => record.header.set_number(VERSION, 99),
        Forgery::Claim => record.header.set_number(UNSYNCED, layout::NO_CLAIM),
        Forgery::Sequence => record.header.set_number(SEQUENCE, sequence + 1),
        Forgery::Link => record.header.set(LINK, &[7; 32]),
        Forgery::Withheld => return withhold(log, at),
        Forgery::Image => return put_image(log, at),
        Forgery::Swapped => {
            let items = &mut log.segment_mut(at.segment).items;
            items.get(at.item + 1).and_then(Item::record)?;
            items.swap(at.item, at.item + 1);
            return Some(());
        }
    }
    match how {
        Forgery::Payload | Forgery::LateTime | Forgery::Sequence | Forgery::Link => {
            log.remake_checksum(at);
        }
        _ => log.remake_link(at),
    }
    Some(())
}

/// Its digest takes the place of a payload, and zeros that of the rest.
fn withhold(log: &mut Log, at: RecordAt) -> Option<()> {
    let before = log.record(at).length();
    log.withhold(at);
    let left = before.checked_sub(log.record(at).length())?;
    log.segment_mut(at.segment).items.insert(at.item + 1, Item::Bytes(vec![0; left]));
    Some(())
}

/// A record is cut short, and in the room of its rest stands one that follows from it.
fn put_image(log: &mut Log, at: RecordAt) -> Option<()> {
    let payload = encode(&envelope(saying("nobody said so"))).unwrap().payload;
    let (sequence, time) = (log.record(at).sequence(), log.record(at).time());
    let length = log.record(at).length();
    let mut image = Record::new(8, 1, payload);
    image.header.set_number(layout::record::SEQUENCE, sequence + 1);
    image.header.set_number(layout::record::TIME, time);
    let left = length.checked_sub(image.length() + layout::RECORD_HEADER_LENGTH + 8)?;
    let host = log.record(at).payload[..left + 8].to_vec();
    log.record_mut(at).set_payload(host);
    log.segment_mut(at.segment).items.insert(at.item + 1, Item::Record(image));
    log.remake_link(at);
    log.remake_link(RecordAt { item: at.item + 1, ..at });
    Some(())
}

/// The records of a salvaged log that are the other one's, by their sequences. Its own events speak
/// of another story.
pub(crate) fn taken_over(log: &Log) -> Vec<(u64, Fact)> {
    let records = log.records().into_iter().map(|at| log.record(at)).skip(1);
    let is_own = |record: &&Record| {
        let text = String::from_utf8_lossy(&record.payload).into_owned();
        matches!(record.kind(), 12 | 13) || record.kind() == 8 && !text.contains("story-1")
    };
    records.filter(|record| !is_own(record)).map(|one| (one.sequence(), fact(one))).collect()
}

pub(crate) fn salvaged(log: &Log) -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    log.write(&old).unwrap();
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap()];
    let (code, stdout, stderr) = told(&holdpoint(directory.path(), &words));
    assert_eq!(code, 0, "{stdout}{stderr}");
    (directory, new)
}

pub(crate) fn unproven_of(new: &Path) -> BTreeSet<u64> {
    let lines = values(&holdpoint(new, &["log", "--json"]));
    let unproven = lines.into_iter().filter(|line| line["standing"] == "unproven");
    unproven.map(|line| line["sequence"].as_u64().unwrap()).collect()
}

pub(crate) fn verified(new: &Path) -> (i32, Value) {
    let (code, stdout, _) = told(&holdpoint(new, &["verify", "--json"]));
    (code, serde_json::from_str(&stdout).unwrap())
}

/// Every record of the log, forged in every way in which it can be.
fn cases(log: &Log) -> Vec<(RecordAt, Forgery)> {
    let records = log.records().into_iter();
    records.flat_map(|at| FORGERIES.map(|how| (at, how))).collect()
}

#[test]
fn every_tied_record_is_kept_and_no_forged_one_is_proven_whatever_single_record_is_forged() {
    let (_directory, genuine) = small_log();
    let facts: Vec<(u64, Fact)> = facts_of(&genuine);
    let newest = facts.last().unwrap().0;
    let cases = cases(&genuine);
    assert!(cases.len() > 300, "{}", cases.len());
    on_every(&part(cases, 6), |(at, how)| {
        let mut forged = genuine.clone();
        if forge(&mut forged, *at, *how).is_none() {
            return;
        }
        let sequence = genuine.record(*at).sequence();
        let what = format!("record {sequence}, {how:?}");
        let (_directory, new) = salvaged(&forged);
        let found = taken_over(&Log::read(&new).unwrap());
        let unproven = unproven_of(&new);
        // The one behind it is the first that no longer follows, or that is out of its place.
        let is_named = sequence + u64::from(*how == Forgery::Swapped) < newest;
        for (at, fact) in facts.iter().filter(|(at, _)| *at > sequence + 1 && is_named) {
            let is_it = |(new, found): &(u64, Fact)| found == fact && !unproven.contains(new);
            assert!(found.iter().any(is_it), "{what}: {at} is not there as proven");
        }
        // The one right behind it is there too, though nothing may prove what it says.
        let is_whole = *how != Forgery::Swapped;
        for (at, (kind, _, payload)) in facts.iter().filter(|(at, _)| *at == sequence + 1) {
            let is_it = |(_, found): &(u64, Fact)| (found.0, &found.2) == (*kind, payload);
            assert!(!is_whole || found.iter().any(is_it), "{what}: {at} is lost");
        }
        for (at, fact) in found.iter().filter(|(at, _)| !unproven.contains(at)) {
            assert!(facts.iter().any(|(_, genuine)| genuine == fact), "{what}: {at} was made up");
        }
        // What is before it is not tied, and yet kept.
        for (at, fact) in facts.iter().filter(|(at, _)| *at < sequence) {
            assert!(found.iter().any(|(_, found)| found == fact), "{what}: {at} is lost");
        }
        let (code, report) = verified(&new);
        let verdict = if unproven.is_empty() { "intact" } else { "intact, with unproven records" };
        assert_eq!((code, report["verdict"].as_str()), (0, Some(verdict)), "{what}: {report:#}");
    });
}

/// Forges the record before the last one of the first run, and salvages what is left.
fn with_unproven_records() -> (TempDir, std::path::PathBuf) {
    let (_directory, mut log) = small_log();
    let at = log.records()[4];
    forge(&mut log, at, Forgery::PayloadWithLink).unwrap();
    salvaged(&log)
}

#[test]
fn every_verb_that_shows_unproven_records_says_so_and_ends_with_0() {
    let (_directory, new) = with_unproven_records();
    let unproven = unproven_of(&new);
    // The report of the salvage is its own; the forged record is 6, and 7 does not follow from it.
    assert_eq!(unproven, (2..=7).collect());
    assert_unproven(&new, 7, 0, "as it is");
    // What nothing is wrong with is shown as it is.
    let (code, stdout, _) = told(&holdpoint(&new, &["log", "--json", "--since", "9"]));
    assert!(code == 0 && !stdout.contains("\"unproven\""), "{stdout}");
    let (code, stdout, _) = told(&holdpoint(&new, &["verify", "9.."]));
    assert!(code == 0 && !stdout.contains("unproven"), "{stdout}");
}

/// The readings of a salvaged log of which record 3 begins a run, and is unproven.
fn readings(new: &Path) -> Vec<Vec<String>> {
    let one = values(&holdpoint(new, &["log", "--json", "--since", "3", "--until", "3"]));
    let loop_id = one[0]["loop_id"].as_str().unwrap().to_string();
    let verbs: [&[&str]; 23] = [
        &["verify"],
        &["verify", "3..4"],
        &["log"],
        &["log", "--reverse"],
        &["log", "--since", "3", "--until", "4"],
        &["log", "--until", "4", "-n", "2"],
        &["log", "--since", "3", "--until", "4", "--reverse"],
        &["log", &format!("loop={loop_id}")],
        &["log", "kind=execution_loop.initialized"],
        &["log", "kind=execution_loop.initialized", "--reverse"],
        &["log", "text=INIT"],
        &["log", "-n", "100"],
        &["log", "--stat"],
        &["show", "--trace", "3"],
        &["replay"],
        &["replay", "--story", &loop_id],
        &["export", "--format", "jsonl", "--output", "-"],
        &["decision", "list"],
        &["decision", "list", "--kind", "hold"],
        &["thread", "list"],
        &["thread", "list", "--health"],
        &["doctor"],
        &["log", "-n", "100"],
    ];
    verbs.iter().map(|words| words.iter().map(ToString::to_string).collect()).collect()
}

/// Asserts that every reading ends so, says something of unproven records, and shows none of the
/// records 2 to `last` as anything else.
fn assert_unproven(new: &Path, last: u64, expected: i32, what: &str) {
    for words in readings(new) {
        for json in [false, true] {
            let words = words.iter().map(String::as_str).chain(json.then_some("--json"));
            let words: Vec<&str> = words.collect();
            let output = holdpoint(new, &words);
            let (code, stdout, stderr) = told(&output);
            let told = format!("{what}, {words:?}: {code} {stdout}{stderr}");
            assert!(code == expected || words[0] == "doctor", "{told}");
            assert!(told.contains("unproven") || expected != 0, "{told}");
            let mut shown = Vec::new();
            if json {
                let text = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
                text.for_each(|value| standings_in(&value.unwrap(), &mut shown));
            }
            for (from, to, standing) in shown {
                assert!(from > last || to < 2 || standing == "unproven", "{from} to {to}: {told}");
            }
        }
    }
    let (_, stdout, _) = told(&holdpoint(new, &["verify", "3..4", "--json"]));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let verdict = if expected == 0 { "intact, with unproven records" } else { "corrupt" };
    assert_eq!(report["verdict"], verdict, "{what}: {stdout}");
}

/// The records, alone or a step of them, that a program is told the standing of.
fn standings_in(value: &Value, found: &mut Vec<(u64, u64, String)>) {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let alone = number("sequence").map(|sequence| (sequence, sequence));
    let standing = value.get("standing").and_then(Value::as_str);
    if let (Some((first, last)), Some(standing)) =
        (alone.or(number("first").zip(number("last"))), standing)
    {
        found.push((first, last, standing.to_string()));
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| standings_in(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| standings_in(value, found)),
        _ => {}
    }
}

/// Puts a HEAD in HEAD's place that names an older record, correctly.
pub(crate) fn set_head_back(new: &Path, sequence: u64) {
    let log = Log::read(new).unwrap();
    let at = log.records().into_iter().find(|at| log.record(*at).sequence() == sequence).unwrap();
    let (segment, record) = (log.segment(at.segment), log.record(at));
    let begin = segment.offset_of(at.item) as u64;
    change_head(new, |head| Head {
        newest_sequence: sequence,
        newest_link: Link(record.link()),
        segment: segment.first_sequence(),
        record_offset: begin,
        end_offset: begin + record.length() as u64,
        ..head
    });
}

/// The records that end a batch, up to one.
pub(crate) fn ends_up_to(new: &Path, last: u64) -> Vec<u64> {
    let log = Log::read(new).unwrap();
    let records = log.records().into_iter().map(|at| log.record(at));
    let ends = records.filter(|record| !record.has(layout::MORE_FOLLOWS));
    ends.map(Record::sequence).filter(|sequence| *sequence <= last).collect()
}

#[test]
fn no_head_that_is_set_back_or_taken_away_makes_unproven_records_proven() {
    let (_directory, new) = with_unproven_records();
    let ends = ends_up_to(&new, 7);
    assert!(ends.len() >= 4, "{ends:?}");
    for end in ends {
        set_head_back(&new, end);
        assert_unproven(&new, 7, 0, &format!("HEAD names record {end}"));
    }
    std::fs::remove_file(new.join(names::HEAD)).unwrap();
    assert_unproven(&new, 7, 6, "there is no HEAD");
}

/// A salvaged log of several segments, the last of which says that what is before is unproven; and
/// the last of these records.
fn with_unproven_segments() -> (TempDir, std::path::PathBuf, u64) {
    let mut log = HandMadeLog::new();
    log.events(vec![saying("it begins")]);
    log.run();
    for number in 0..40 {
        if number % 15 == 14 {
            log.roll();
        }
        log.events(vec![saying(&format!("{number} {}", "and so on ".repeat(300)))]);
    }
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let mut log = Log::read(directory.path()).unwrap();
    let records = log.records();
    forge(&mut log, records[records.len() - 3], Forgery::PayloadWithLink).unwrap();
    let (directory, new) = salvaged(&log);
    let last = *unproven_of(&new).last().unwrap();
    assert!(segments(&new).len() > 1 && *segments(&new).last().unwrap() < last);
    (directory, new, last)
}

#[test]
fn what_is_unproven_stays_so_where_a_later_segment_says_it_and_head_does_not_reach_there() {
    let (_directory, new, last) = with_unproven_segments();
    assert_unproven(&new, last, 0, "as it is");
    // Whoever writes next builds an index of the sealed segments, and the log vouches for it.
    let (code, _, stderr) = told(&holdpoint(&new, &["run", "--hold", "never", "--", "true"]));
    assert_eq!(code, 0, "{stderr}");
    let first = segments(&new)[0];
    assert!(new.join(names::SEGMENTS).join(names::index(first)).exists());
    assert_unproven(&new, last, 0, "with an index");
    let sealed = ends_up_to(&new, segments(&new)[1] - 1);
    for end in [sealed[1], *sealed.last().unwrap(), *ends_up_to(&new, last).last().unwrap()] {
        set_head_back(&new, end);
        assert_unproven(&new, last, 0, &format!("HEAD names record {end}"));
    }
}

#[test]
fn what_is_unproven_stays_so_in_a_salvage_of_a_salvage() {
    let (directory, new) = with_unproven_records();
    let again = directory.path().join("again");
    let words = ["copy", "--salvage", new.to_str().unwrap(), again.to_str().unwrap()];
    assert_eq!(told(&holdpoint(directory.path(), &words)).0, 0);
    assert_eq!(unproven_of(&again), (3..=8).collect());
    let (code, report) = verified(&again);
    let expected = (0, Some("intact, with unproven records"));
    assert_eq!((code, report["verdict"].as_str()), expected, "{report:#}");
}

/// The record of a salvaged log that says which ones are unproven.
fn statement_in(log: &Log) -> RecordAt {
    log.records().into_iter().find(|at| log.record(*at).kind() == 13).unwrap()
}

/// Salvages a salvaged log again, of which records 2 to 7 are unproven: they still are.
fn assert_unproven_again(directory: &Path, old: &Path) {
    let again = directory.join("again");
    let words = ["copy", "--salvage", old.to_str().unwrap(), again.to_str().unwrap()];
    let (code, stdout, stderr) = told(&holdpoint(directory, &words));
    assert!(code == 0 && stdout.contains("unproven"), "{stdout}{stderr}");
    let unproven = unproven_of(&again);
    assert!((3..=8).all(|sequence| unproven.contains(&sequence)), "{unproven:?}");
    let (code, report) = verified(&again);
    let expected = (0, Some("intact, with unproven records"));
    assert_eq!((code, report["verdict"].as_str()), expected, "{report:#}");
}

#[test]
fn no_withheld_statement_makes_unproven_records_proven() {
    let (directory, new) = with_unproven_records();
    let mut log = Log::read(&new).unwrap();
    let at = statement_in(&log);
    withhold(&mut log, at).unwrap();
    let withheld = directory.path().join("withheld");
    log.write(&withheld).unwrap();
    for words in readings(&withheld) {
        let words = words.iter().map(String::as_str).chain(["--json"]);
        let (code, stdout, stderr) = told(&holdpoint(&withheld, &words.collect::<Vec<_>>()));
        let told = format!("{code} {stdout}{stderr}");
        let mut shown = Vec::new();
        let values = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
        values.for_each(|value| standings_in(&value.unwrap(), &mut shown));
        let is_unproven = |(from, to, standing): &(u64, u64, String)| {
            *from > 7 || *to < 1 || matches!(&**standing, "unproven" | "withheld")
        };
        assert!(shown.iter().all(is_unproven), "{told}");
    }
    assert_unproven_again(directory.path(), &withheld);
}

#[test]
fn no_damaged_statement_makes_unproven_records_proven_by_a_salvage() {
    let (directory, new) = with_unproven_records();
    let last = ends_up_to(&new, 7).pop().unwrap();
    set_head_back(&new, last);
    let mut log = Log::read(&new).unwrap();
    let at = statement_in(&log);
    *log.record_mut(at).payload.last_mut().unwrap() ^= 1;
    let damaged = directory.path().join("damaged");
    log.write(&damaged).unwrap();
    assert_unproven_again(directory.path(), &damaged);
}

#[test]
fn what_a_newer_program_wrote_is_not_salvaged_where_head_ties_it_and_is_cut_out_elsewhere() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    let mut newer = encode(&envelope(saying("it is said anew"))).unwrap();
    newer.kind = 9_999;
    log.batch(&[newer]);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    log.write(&old);
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap(), "--json"];
    let (code, stdout, stderr) = told(&holdpoint(directory.path(), &words));
    let refused: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, refused["error"]["code"].as_str()), (1, Some("newer_version")), "{stderr}");
    let last = log.chain.sequence;
    assert!(stderr.contains(&format!("record {last} is of a kind")) && !new.exists(), "{stderr}");
    let mapped = json(&holdpoint(&old, &["verify", "--map", "--json"]));
    assert_eq!(mapped["damage"]["salvage"]["unknown"], last, "{mapped}");
    log.write_with_head(&old, &head);
    let salvaged = json(&holdpoint(directory.path(), &words));
    let (salvaged, losses) = (&salvaged["salvaged"], salvaged["losses"].as_array().unwrap());
    assert_eq!((salvaged["records_kept"].as_u64(), losses.len()), (Some(last - 1), 2));
    // HEAD does not follow to the end: that is the other loss.
    assert_eq!(losses[1]["source_last_sequence"], 0, "{losses:?}");
    assert!(new.join(losses[0]["copied_to"].as_str().unwrap()).exists(), "{losses:?}");
    let (code, report) = verified(&new);
    let expected = (0, Some("intact, with unproven records"));
    assert_eq!((code, report["verdict"].as_str()), expected, "{report:#}");
}

#[test]
fn a_forbidden_event_that_no_witness_reached_leaves_a_salvaged_log_without_a_finding() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    let (permitted_by_fault, permitted_by_decision) = (None, None);
    let loop_id = "nobody-began-it".into();
    let made_up = LoopDispatched {
        loop_id,
        attempt: 1,
        permitted_by_fault,
        permitted_by_decision,
        instruction: None,
    };
    log.events(vec![made_up.into()]);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    log.write_with_head(&old, &head);
    assert_eq!(verified(&old).0, 6);
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap()];
    assert_eq!(told(&holdpoint(directory.path(), &words)).0, 0);
    let (code, report) = verified(&new);
    let expected = (0, Some("intact, with unproven records"));
    assert_eq!((code, report["verdict"].as_str()), expected, "{report:#}");
}

/// The records of a log, by their sequences.
pub(crate) fn facts_of(log: &Log) -> Vec<(u64, Fact)> {
    let records = log.records().into_iter().map(|at| log.record(at));
    records.map(|record| (record.sequence(), fact(record))).collect()
}
