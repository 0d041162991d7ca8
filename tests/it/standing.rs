//! No reading verb shows a forged record as proven, nor hides a genuine one with exit 0.

use crate::records_support::{holdpoint, indexed, saying, segments, sequences, told, values};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::SegmentIndexed;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{Flags, Head, Lock, Record, SegmentHeader, names};
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::{Index, layout::INDEX_VERSION};
use holdpoint_replay::machine::this_boot;
use holdpoint_testing::hand_made::{FIRST_RECORD, HandMadeLog, OTHER_BOOT, change_head, flip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The text of the record that is forged, and what the forger makes of it.
const SAID: &str = "the answer is no!";
const FORGED: &str = "the answer is yes";

/// A log of three segments, in the middle of which something is said.
fn with_an_answer() -> (TempDir, u64) {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    log.run();
    log.events(vec![saying(SAID)]);
    let answer = log.chain.sequence;
    log.run();
    log.roll();
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    (directory, answer)
}

fn file_of(log: &Path, segment: u64) -> PathBuf {
    log.join(names::SEGMENTS).join(names::segment(segment))
}

/// Rewrites a record whose checksum and link are made anew: only the one behind it is at odds.
fn remake(log: &Path, sequence: u64, change: impl Fn(&mut Vec<u8>) -> Option<Flags>) {
    let firsts = segments(log);
    let segment = *firsts.iter().rev().find(|first| **first <= sequence).unwrap();
    let mut bytes = std::fs::read(file_of(log, segment)).unwrap();
    let header = SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    let (mut at, mut previous) = (FIRST_RECORD as usize, header.previous.link);
    loop {
        let record = Record::decode(&bytes[at..], header.seed()).unwrap();
        let length = record.header.footprint() as usize;
        if record.header.sequence < sequence {
            (at, previous) = (at + length, record.header.link);
            continue;
        }
        let mut payload = record.payload.to_vec();
        let mut forged = record.header.clone();
        forged.flags = change(&mut payload).unwrap_or(forged.flags);
        let made = Record { header: forged.clone(), payload: &payload };
        forged.link = made.expected_link(header.log, &previous);
        let mut frame = Vec::new();
        encode_into(&mut frame, &forged, &payload, header.seed());
        assert!(frame.len() <= length, "it fits into its place");
        frame.resize(length, 0);
        bytes[at..at + length].copy_from_slice(&frame);
        break std::fs::write(file_of(log, segment), bytes).unwrap();
    }
}

fn forge_answer(payload: &mut [u8]) -> Option<Flags> {
    let at = payload.windows(SAID.len()).position(|window| window == SAID.as_bytes()).unwrap();
    payload[at..at + SAID.len()].copy_from_slice(FORGED.as_bytes());
    None
}

/// The verbs that show records, each with what picks out the answer.
fn readings(answer: u64) -> Vec<Vec<String>> {
    let (from, range) = (answer.to_string(), format!("{answer}..{answer}"));
    let texts = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    vec![
        texts(&["log"]),
        texts(&["log", "--reverse"]),
        texts(&["log", "kind=log.records_lost"]),
        texts(&["log", "kind=log.records_lost", "--reverse"]),
        texts(&["log", "kind=log.records_lost", "-n", "1"]),
        texts(&["log", "--since", &from, "--until", &from]),
        texts(&["log", "text=the answer"]),
        texts(&["log", "-n", "1", "kind=log.records_lost"]),
        texts(&["show", "--trace", &from]),
        texts(&["verify", &range]),
        texts(&["export", "--format", "jsonl", "--output", "-"]),
    ]
}

fn run(log: &Path, words: &[String], more: &[&str]) -> (i32, String, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    told(&holdpoint(log, &words))
}

#[test]
fn a_record_made_anew_with_its_link_is_proven_by_no_verb_and_exits_6() {
    let (directory, answer) = with_an_answer();
    let log = directory.path();
    for words in readings(answer) {
        assert_eq!(run(log, &words, &[]).0, 0, "{words:?}");
    }
    remake(log, answer, |payload| forge_answer(payload));
    for words in readings(answer) {
        let (code, _, stderr) = run(log, &words, &[]);
        assert_eq!(code, 6, "{words:?}: {stderr}");
    }
    for words in &readings(answer)[..8] {
        let (_, stdout, _) = run(log, words, &["--json"]);
        for line in stdout.lines().filter(|line| line.contains(FORGED)) {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["standing"], "unproven", "{words:?}");
        }
    }
}

#[test]
fn what_was_shown_and_is_tied_to_nothing_is_named() {
    let (directory, answer) = with_an_answer();
    remake(directory.path(), answer, |payload| forge_answer(payload));
    let words = ["log", "--since", "1", "--until", &answer.to_string()];
    let (code, stdout, stderr) = told(&holdpoint(directory.path(), &words));
    assert_eq!(code, 6);
    assert!(stdout.contains(FORGED));
    let named = format!("records shown from 1 to {answer} are unproven: nothing ties them to HEAD");
    assert!(stderr.contains(&named), "{stderr}");
}

#[test]
fn one_flipped_bit_hides_no_record_with_exit_0() {
    let (directory, answer) = with_an_answer();
    let log = directory.path();
    let file = file_of(log, segments(log)[1]);
    let without: Vec<_> = readings(answer).iter().map(|words| run(log, words, &[]).1).collect();
    flip(&file, FIRST_RECORD + 70);
    for (words, due) in readings(answer).iter().zip(without) {
        // Who reads from the end has what was asked for before it gets to the damage.
        let is_before_damage =
            ["-n", "--since"].iter().any(|it| words.iter().any(|word| word == it));
        let (code, shown, _) = run(log, words, &[]);
        let due = if is_before_damage { (0, due) } else { (6, shown.clone()) };
        assert_eq!((code, shown), due, "{words:?}");
    }
    flip(&file, FIRST_RECORD + 70);
    let bytes = std::fs::read(&file).unwrap();
    let said = bytes.windows(SAID.len()).position(|window| window == SAID.as_bytes()).unwrap();
    for at in [said, said + 200] {
        flip(&file, at as u64);
        for words in readings(answer) {
            assert_eq!(run(log, &words, &[]).0, 6, "{at}: {words:?}");
        }
        flip(&file, at as u64);
    }
}

#[test]
fn a_payload_replaced_by_its_digest_hides_no_record_with_exit_0() {
    let (directory, answer) = with_an_answer();
    let log = directory.path();
    remake(log, answer, |payload| {
        let digest = holdpoint_log_format::link::payload_digest(payload);
        *payload = digest.to_vec();
        Some(Flags::WITHHELD)
    });
    // A filter of the text cannot tell whether the record is wanted.
    for words in readings(answer) {
        let is_told_by_its_kind = words.contains(&"--trace".to_string()) || words[0] == "verify";
        assert!(run(log, &words, &[]).0 == 6 || is_told_by_its_kind, "{words:?}");
    }
}

#[test]
fn two_statements_on_one_index_that_differ_count_for_nothing() {
    let sample = indexed();
    let log = sample.directory.path();
    let wanted = ["log", "--json", &format!("entity={}", sample.loops[1])];
    let right = sequences(&values(&holdpoint(log, &wanted)));
    assert!(!right.is_empty());
    let first = segments(log)[0];
    // The index of another segment's records, under this one's name and with a statement that
    // vouches for it: nothing is in it of what is wanted.
    let path = log.join(index_path(first));
    let doctored = doctored(&std::fs::read(&path).unwrap());
    let index = Index::new(&doctored[..]).unwrap();
    let digest = Digest::from_bytes(index.digest().0);
    let last_sequence = index.scope().last.sequence;
    let told =
        SegmentIndexed { first_sequence: first, last_sequence, format: INDEX_VERSION, digest };
    let mut hand_made = sample.log;
    hand_made.events(vec![told.into()]);
    hand_made.write(log);
    std::fs::write(&path, &doctored).unwrap();
    assert_eq!(sequences(&values(&holdpoint(log, &wanted))), right);
    assert_refuted(log, first);
}

/// Verifying finds the statement that is false, whichever of them came first.
fn assert_refuted(log: &Path, segment: u64) {
    let (code, stdout, _) = told(&holdpoint(log, &["verify", "--json"]));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, report["verdict"].as_str()), (6, Some("forbidden events")), "{stdout}");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{stdout}");
    assert_eq!(findings[0]["problem"], "false_index_statement");
    let (_, _, said) = told(&holdpoint(log, &["replay"]));
    assert!(said.contains("the log has forbidden events"), "{said}");
    let named = format!("an index of {} ", segment_path(segment));
    assert!(findings[0]["message"].as_str().unwrap().contains(&named), "{stdout}");
}

#[test]
fn a_false_statement_on_an_index_is_found_though_no_other_contradicts_it() {
    let stating = |format: u32| {
        let mut log = HandMadeLog::new();
        log.run();
        log.roll();
        let (last_sequence, digest) = (log.chain.sequence, Digest::from_bytes([7; 32]));
        let told = SegmentIndexed { first_sequence: 1, last_sequence, format, digest };
        log.events(vec![told.into()]);
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        directory
    };
    assert_refuted(stating(INDEX_VERSION).path(), 1);
    // What this program cannot build is not checked, and no failure.
    let directory = stating(INDEX_VERSION + 1);
    let (code, stdout, _) = told(&holdpoint(directory.path(), &["verify"]));
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("were not checked: 1"), "{stdout}");
}

/// An index whose terms are those of its keys: digests and checksum are made anew.
fn doctored(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let field = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    // The third section holds the terms: its hashes behind their count.
    let entry = 96 + 2 * 56;
    let (start, length) = (field(&bytes, entry + 8), field(&bytes, entry + 16));
    let count = field(&bytes, start);
    for at in (start + 8..start + 8 + count * 8).step_by(8) {
        bytes[at] ^= 0x01;
    }
    let digest = *blake3::hash(&bytes[start..start + length]).as_bytes();
    bytes[entry + 24..entry + 56].copy_from_slice(&digest);
    let covered = [&bytes[..12], &bytes[16..4_096]].concat();
    bytes[12..16].copy_from_slice(&crc32fast::hash(&covered).to_le_bytes());
    bytes
}

#[test]
fn records_behind_head_have_no_witness_yet_and_that_is_no_failure() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.run();
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &head);
    let output = holdpoint(directory.path(), &["log", "--json"]);
    assert_eq!(told(&output).0, 0);
    for line in values(&output) {
        let is_witnessed = line["sequence"].as_u64().unwrap() <= head.newest_sequence;
        assert_eq!(line["standing"], if is_witnessed { "proven" } else { "unproven" });
    }
    let (_, _, stderr) = told(&holdpoint(directory.path(), &["log"]));
    let said = format!("no witness yet from record {}", head.newest_sequence + 1);
    assert!(stderr.contains(&said), "{stderr}");
}

#[test]
fn an_anchor_that_no_record_states_hides_the_beginning_with_no_exit_0() {
    let (directory, answer) = with_an_answer();
    let log = directory.path();
    let third = segments(log)[2];
    let header = std::fs::read(file_of(log, third)).unwrap();
    let header = SegmentHeader::decode(header.first_chunk().unwrap()).unwrap();
    change_head(log, |head| Head {
        anchor_sequence: header.previous.sequence,
        anchor_link: header.previous.link,
        ..head
    });
    assert!(answer < third);
    for words in [
        &["verify"][..],
        &["log"],
        &["log", "--reverse"],
        &["log", "--stat"],
        &["log", "kind=log.records_lost"],
        &["log", "text=the answer"],
        &["export", "--format", "jsonl", "--output", "-"],
        &["replay"],
    ] {
        let (code, _, stderr) = told(&holdpoint(log, words));
        assert_eq!(code, 6, "{words:?}: {stderr}");
    }
}

/// Of every file that may name a later record than the log has: only LOCK of this boot proves that
/// there was one.
#[test]
fn a_file_that_tells_of_later_records_leaves_completeness_unproven() {
    let (directory, _) = with_an_answer();
    let log = directory.path();
    let whole = told(&holdpoint(log, &["verify"])).1;
    assert!(whole.contains("completeness  proven"), "{whole}");
    let head = Head::decode(&std::fs::read(log.join(names::HEAD)).unwrap()).unwrap();
    let later = Head { newest_sequence: head.newest_sequence + 1, ..head };
    let before = std::fs::read(log.join(names::LOCK)).unwrap();
    let lock = Lock::decode(&before).unwrap();
    let naming = |boot| Lock { durable_sequence: 9_002, boot, ..lock }.encode().to_vec();
    let cases = [
        (format!("{}/{}", names::SNAPSHOTS, names::snapshot(9_000)), vec![], 9_000, false),
        (format!("{}/{}", names::SEGMENTS, names::index(9_001)), vec![], 9_001, false),
        (names::HEAD_TEMPORARY.to_string(), later.encode().to_vec(), later.newest_sequence, false),
        (names::LOCK.to_string(), naming(OTHER_BOOT), 9_002, false),
        (names::LOCK.to_string(), naming(this_boot()), 9_002, true),
    ];
    std::fs::create_dir(log.join(names::SNAPSHOTS)).unwrap();
    for (file, bytes, sequence, is_proof) in cases {
        std::fs::write(log.join(&file), bytes).unwrap();
        let (code, stdout, _) = told(&holdpoint(log, &["verify"]));
        let told = match is_proof {
            false => format!(
                "not checked  unproven: the newest record here is {}, and {file} \
                              tells of record {sequence}",
                head.newest_sequence
            ),
            true => {
                format!("records {} to {sequence}, which are not here", head.newest_sequence + 1)
            }
        };
        assert_eq!(code, if is_proof { 6 } else { 0 }, "{stdout}");
        assert!(stdout.contains(&told), "{file}: {stdout}");
        assert_eq!(stdout.contains("intact, tail unproven"), !is_proof, "{stdout}");
        assert!(!stdout.contains("delete") && !stdout.contains("remove"), "{stdout}");
        std::fs::remove_file(log.join(&file)).unwrap();
        std::fs::write(log.join(names::LOCK), &before).unwrap();
    }
}

#[test]
fn a_segment_whose_index_is_believed_is_tied_by_what_is_read_of_it() {
    let sample = indexed();
    let log = sample.directory.path();
    let forged = segments(log)[1] + 3;
    remake(log, forged, |payload| {
        payload.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        None
    });
    for words in
        [&["log"][..], &["log", "--reverse"], &["log", &format!("loop={}", sample.loops[9])]]
    {
        let output = holdpoint(log, &[words, &["--json"]].concat());
        for line in values(&output).iter().filter(|line| line["sequence"] == forged) {
            assert_eq!(line["standing"], "unproven", "{words:?}");
        }
    }
}
