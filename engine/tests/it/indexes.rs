//! What the state has forgotten is found again in the log, with indexes and without, and no file
//! in the place of an index changes what is found (properties E5 and E8).

use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::limits::MAX_RETIRED_KEYS;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{LogCommand, LogEvent, SegmentIndexed};
use holdpoint_domain::world::{TERMS_VERSION, Term, terms_of};
use holdpoint_domain::{Command, Event, Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Options, Ownership};
use holdpoint_engine::shell::{
    Conditions, EngineOptions, FingerprintDistance, IdempotencyKey, Submitted,
};
use holdpoint_log_files::map::guard;
use holdpoint_log_format::{LogId, names};
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::layout::INDEX_VERSION;
use holdpoint_log_index::{Index, IndexBuilder, IndexedRecord, Scope, Section, TermHash};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::{dispatch, initialize, small};
use holdpoint_testing::shell::{Place, origin};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// More commands than keys are remembered, in several segments.
pub(crate) const COMMANDS: usize = 4 * MAX_RETIRED_KEYS + 600;

pub(crate) fn engine(place: &Place) -> Engine {
    Engine::open_with(place.storage(), options()).expect("the log opens")
}

pub(crate) fn options() -> EngineOptions {
    let log = Options::default().ownership(Ownership::Exclusive);
    // Opened again and again: each goes on from a snapshot.
    let fingerprints =
        FingerprintDistance { records_at_close: 1, ..FingerprintDistance::default() };
    EngineOptions::simulated().log(log).level(Level::Os).fingerprints(fingerprints)
}

pub(crate) fn keyed(number: usize) -> Conditions {
    let key = format!("command {number}");
    let key = IdempotencyKey { tenant: "acme".into(), engine: "ci".into(), key };
    Conditions::once(key)
}

fn submit(engine: &Engine, number: usize, content: i64) -> Submitted {
    engine.submit(&origin(), keyed(number), &small(content)).unwrap()
}

/// What a small command comes to.
fn recorded(content: i64) -> Event {
    let Command::Log(LogCommand::RecordConfiguration(event)) = small(content) else {
        unreachable!("a small command records a configuration")
    };
    event.into()
}

pub(crate) fn content(number: usize) -> i64 {
    i64::try_from(number).unwrap() + 1
}

/// Every command once. Gives the record of each.
pub(crate) fn fill(place: &Place) -> Vec<u64> {
    let engine = engine(place);
    let sequence_of = |number| match submit(&engine, number, content(number)) {
        Submitted::Accepted(receipt) => receipt.first_sequence,
        other => panic!("command {number}: {other:?}"),
    };
    let sequences = (0..COMMANDS).map(sequence_of).collect();
    engine.close().unwrap();
    sequences
}

/// Opens and closes until every sealed segment has an index that the log vouches for.
pub(crate) fn settle(place: &Place) {
    for _ in 0..50 {
        let engine = engine(place);
        let known = engine.query(|world| world.segment_indexes().iter().count()).unwrap();
        engine.close().unwrap();
        if known + 1 == segments(place).len() && indexes(place).len() == known {
            return;
        }
    }
    panic!("{} segments, {} indexes", segments(place).len(), indexes(place).len());
}

fn files(place: &Place, parse: fn(&str) -> Option<u64>) -> BTreeMap<u64, PathBuf> {
    let listed = fs::read_dir(place.log().join(names::SEGMENTS)).unwrap();
    let paths = listed.map(|entry| entry.unwrap().path());
    let numbered = |path: PathBuf| Some((parse(path.file_name()?.to_str()?)?, path));
    paths.filter_map(numbered).collect()
}

pub(crate) fn segments(place: &Place) -> BTreeMap<u64, PathBuf> {
    files(place, names::parse_segment)
}

pub(crate) fn indexes(place: &Place) -> BTreeMap<u64, PathBuf> {
    files(place, names::parse_index)
}

/// Commands long forgotten, just forgotten, remembered, and new, asked for again: with their own
/// content and with another one.
fn assert_answers(place: &Place, sequences: &[u64], what: &str) {
    let engine = engine(place);
    assert_engine_answers(&engine, sequences, what);
    engine.close().unwrap();
    place.assert_intact();
}

fn assert_engine_answers(engine: &Engine, sequences: &[u64], what: &str) {
    assert!(engine.query(World::keys_forgotten).unwrap() > 0);
    for number in [0, 1, 100, COMMANDS - MAX_RETIRED_KEYS - 1, COMMANDS - 1] {
        match submit(engine, number, content(number)) {
            Submitted::Repeated(receipt) => {
                assert_eq!(receipt.first_sequence, sequences[number], "{what}: {number}");
                assert_eq!(receipt.events, [recorded(content(number))], "{what}: {number}");
            }
            other => panic!("{what}: command {number} again: {other:?}"),
        }
        match submit(engine, number, -1) {
            Submitted::Refused(Refusal::IdempotencyConflict { first_sequence, .. }) => {
                assert_eq!(first_sequence, sequences[number], "{what}: {number}");
            }
            other => panic!("{what}: command {number} with other content: {other:?}"),
        }
    }
}

#[test]
fn a_key_that_the_state_has_forgotten_is_found_in_the_log_with_and_without_an_index() {
    let place = Place::new();
    let sequences = fill(&place);
    assert!(segments(&place).len() > 3, "several segments");
    for path in indexes(&place).into_values() {
        fs::remove_file(path).unwrap();
    }
    assert_answers(&place, &sequences, "without an index");
    settle(&place);
    assert_answers(&place, &sequences, "with indexes");
    let engine = engine(&place);
    assert!(matches!(submit(&engine, COMMANDS + 1, 5), Submitted::Accepted(_)), "a new key");
    assert!(matches!(submit(&engine, COMMANDS + 1, 5), Submitted::Repeated(_)));
    engine.close().unwrap();
    place.rebuilt();
}

/// Everything that a log says under every term that any of its records holds, by reading it whole.
fn by_term(place: &Place) -> BTreeMap<Vec<u8>, Vec<u64>> {
    let mut found: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
    for line in place.lines() {
        terms_of(&line.envelope, &mut |term| {
            let sequences = found.entry(term.canonical()).or_default();
            if sequences.last() != Some(&line.sequence) {
                sequences.push(line.sequence);
            }
        });
    }
    found
}

#[test]
fn what_is_found_under_a_term_is_what_reading_the_whole_log_finds() {
    let place = Place::new();
    let first = engine(&place);
    for _ in 0..400 {
        let begin = initialize(1);
        let loop_id = begin.loop_id();
        first
            .submit(
                &origin(),
                (),
                &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begin)),
            )
            .unwrap()
            .accepted()
            .unwrap();
        first.submit(&origin(), (), &dispatch(&loop_id)).unwrap().accepted().unwrap();
    }
    first.close().unwrap();
    for has_indexes in [false, true] {
        if has_indexes {
            settle(&place);
        } else {
            indexes(&place).into_values().for_each(|path| fs::remove_file(path).unwrap());
        }
        let expected = by_term(&place);
        let lines = place.lines();
        let engine = engine(&place);
        for line in lines.iter().step_by(lines.len() / 40) {
            terms_of(&line.envelope, &mut |term| {
                let found = engine.records_with(&term).unwrap();
                let found: Vec<u64> = found.iter().map(|record| record.sequence).collect();
                let own = &expected[&term.canonical()];
                let behind = lines.last().unwrap().sequence;
                let found: Vec<u64> = found.into_iter().filter(|at| *at <= behind).collect();
                assert!(found == *own, "{term:?}, with indexes: {has_indexes}");
            });
        }
        let nobody = Term::Loop("LOOP-ffffffffffffffffffffffffffffffff");
        assert_eq!(engine.records_with(&nobody).unwrap(), []);
        engine.close().unwrap();
    }
}

#[test]
fn what_the_log_says_of_an_index_is_true_of_its_file_and_survives_replay() {
    let place = Place::new();
    fill(&place);
    settle(&place);
    let world = place.rebuilt();
    let known: Vec<u64> = world.segment_indexes().iter().map(|(first, _)| first).collect();
    assert_eq!(known, indexes(&place).into_keys().collect::<Vec<_>>());
    for (first, path) in indexes(&place) {
        let index = Index::new(fs::read(path).unwrap()).unwrap();
        index.check().unwrap();
        let vouched = world.segment_indexes().of(first).unwrap();
        assert_eq!(index.digest().0, *vouched.digest.as_bytes());
        assert_eq!(index.scope().last.sequence, vouched.last_sequence);
    }
}

#[test]
fn a_damaged_foreign_stale_or_forged_index_is_not_believed_and_is_built_again() {
    let place = Place::new();
    let sequences = fill(&place);
    settle(&place);
    let other = Place::new();
    fill(&other);
    settle(&other);
    let (first, path) = indexes(&place).into_iter().next().unwrap();
    let right = fs::read(&path).unwrap();
    let foreign = fs::read(&indexes(&other)[&first]).unwrap();
    let another = fs::read(indexes(&place).into_values().nth(1).unwrap()).unwrap();
    let flipped = |at: usize| {
        let mut bytes = right.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let length = right.len();
    let flips = (0..length).step_by(length / 13 + 1).chain([0, 8, 12, 40, 4_095, 4_096]);
    let mut cases: Vec<(String, Vec<u8>)> =
        flips.map(|at| (format!("byte {at} flipped"), flipped(at))).collect();
    let cuts = [0, 1, 4_095, 4_096, 4_097, length - 1];
    cases.extend(cuts.map(|cut| (format!("cut to {cut} bytes"), right[..cut].to_vec())));
    cases.push(("another log's".into(), foreign));
    cases.push(("another segment's".into(), another));
    cases.push(("forged: it names no key".into(), forged(&right)));
    cases.push(("zeros".into(), vec![0; length]));
    cases.push(("longer".into(), [&right[..], &[0; 64]].concat()));
    for (what, bytes) in cases {
        fs::write(&path, &bytes).unwrap();
        assert_answers(&place, &sequences, &what);
        let is_unread = Index::new(&bytes[..]).is_ok_and(|index| {
            let is_whole = |section| index.check_section(section).is_ok();
            let read = [Section::Offsets, Section::Keys, Section::KeyFilter];
            index.digest() == Index::new(&right[..]).unwrap().digest()
                && read.into_iter().all(is_whole)
        });
        let is_right = fs::read(&path).unwrap() == right;
        assert!(is_unread || is_right, "{what}: it is built again where it was read");
    }
}

/// What becomes of a file, in words and done.
type Change<'a> = (&'static str, &'a dyn Fn(&Path));

/// What was compared with its digest before is looked at anew.
#[test]
fn an_index_that_is_changed_or_cut_while_a_writer_has_it_open_is_not_believed_any_more() {
    let place = Place::new();
    let sequences = fill(&place);
    settle(&place);
    let engine = engine(&place);
    let cut = |path: &Path, length: u64| {
        fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
    };
    let changes: [Change<'_>; 5] = [
        ("zeroed behind its header", &|path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.iter_mut().skip(4_096).for_each(|byte| *byte = 0);
            fs::write(path, bytes).unwrap();
        }),
        ("cut to its header", &|path| cut(path, 4_096)),
        ("cut to nothing", &|path| cut(path, 0)),
        ("taken away", &|path| fs::remove_file(path).unwrap()),
        ("put where it was", &|path| fs::write(path, "").unwrap()),
    ];
    assert_engine_answers(&engine, &sequences, "as it was");
    for (what, change) in changes {
        let found = indexes(&place);
        assert!(found.len() > 1);
        found.values().for_each(|path| change(path));
        assert_engine_answers(&engine, &sequences, what);
        // They are built again behind the writer's back.
        let segments = segments(&place).len();
        while indexes(&place).len() + 1 < segments {
            std::thread::yield_now();
        }
    }
    engine.close().unwrap();
    place.assert_intact();
}

/// The file is there when it is mapped and cut before it is read.
#[test]
fn a_segment_that_is_cut_under_its_map_fails_what_reads_it_and_makes_no_key_new() {
    guard().unwrap();
    let place = Place::new();
    let sequences = fill(&place);
    settle(&place);
    let disk = Brittle::new(place.storage());
    let engine = Engine::open_with(disk.clone(), options()).expect("the log opens");
    let link = engine.link_of(sequences[1]).unwrap();
    assert!(link.is_some());
    let mut subscription = engine.subscribe(sequences[COMMANDS / 2]).unwrap();
    // Whoever stands behind a record reads on through a map.
    assert!(subscription.try_next().unwrap().is_some());
    disk.cut_what_is_mapped();
    let repeated = engine.submit(&origin(), keyed(0), &small(content(0)));
    assert!(repeated.is_err(), "{repeated:?}");
    assert!(engine.link_of(sequences[1]).is_err());
    assert!((0..COMMANDS).any(|_| subscription.try_next().is_err()));
}

/// Times are asked for by no lookup.
#[test]
fn what_no_lookup_needs_is_looked_through_all_the_same_and_built_again() {
    let place = Place::new();
    fill(&place);
    settle(&place);
    let (_, path) = indexes(&place).into_iter().next().unwrap();
    let right = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = right.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let is_unseen = |bytes: &Vec<u8>| {
        let index = Index::new(&bytes[..]);
        index.is_ok_and(|index| index.check_section(Section::Times).is_err())
    };
    let wrong = (4_096..right.len()).step_by(8).map(flipped).find(is_unseen).unwrap();
    fs::write(&path, &wrong).unwrap();
    let engine = engine(&place);
    engine.query(|_| ()).unwrap();
    // Nobody asks for anything meanwhile.
    let is_mended = (0..1_000_000).any(|_| {
        std::thread::yield_now();
        fs::read(&path).unwrap() == right
    });
    assert!(is_mended, "it is built again");
    engine.close().unwrap();
    place.rebuilt();
}

/// An index of the same segment with every digest right, which says that no key was ever used.
fn forged(right: &[u8]) -> Vec<u8> {
    let scope = *Index::new(right).unwrap().scope();
    let LogId(id) = scope.log;
    let Scope { first_sequence, last, terms_version, .. } = scope;
    let mut builder = IndexBuilder::new(LogId(id), first_sequence, last.link, terms_version);
    for sequence in first_sequence..=last.sequence {
        let offset = 4_096 + 8 * (sequence - first_sequence);
        let record = IndexedRecord { sequence, offset, time: last.time, link: last.link };
        builder.add(&record, &[TermHash(1)], &[], None).unwrap();
    }
    let forged = builder.finish().unwrap();
    Index::new(&forged[..]).unwrap().check().unwrap();
    forged
}

#[test]
fn an_index_that_cannot_be_written_fails_nothing() {
    let place = Place::new();
    engine(&place).close().unwrap();
    for first in 1..3_000 {
        // In the way of every segment that there may be.
        fs::create_dir(place.log().join(names::SEGMENTS).join(names::index(first))).unwrap();
    }
    let sequences = fill(&place);
    assert_answers(&place, &sequences, "directories where indexes would be");
    place.rebuilt();
}

/// A log of one sealed segment, of which a record in the next one says that its index is this one.
fn indexed_by(format: u32) -> Place {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.run();
    let last_sequence = log.chain.sequence;
    log.roll();
    let digest = Digest::from_bytes([7; 32]);
    let stated = SegmentIndexed { first_sequence: 1, last_sequence, format, digest };
    log.events(vec![stated.into()]);
    log.write(&place.log());
    fs::write(place.log().join(index_path(1)), "of another version").unwrap();
    place
}

#[test]
fn an_index_of_an_older_format_is_built_again_by_the_first_writer() {
    let place = indexed_by(INDEX_VERSION - 1);
    let first_writer = engine(&place);
    submit(&first_writer, 0, 1).accepted().unwrap();
    first_writer.close().unwrap();
    let known = engine(&place).query(|world| world.segment_indexes().of(1).copied()).unwrap();
    assert_eq!(known.map(|known| known.format), Some(INDEX_VERSION));
    let file = fs::File::open(place.log().join(index_path(1))).unwrap();
    let digest = *known.unwrap().digest.as_bytes();
    assert!(Index::new(file).unwrap().is_vouched(1, &digest, TERMS_VERSION));
}

#[test]
fn an_index_of_a_newer_format_is_left_to_the_program_that_made_it() {
    let place = indexed_by(INDEX_VERSION + 1);
    let lines = place.lines().len();
    for number in 0..2 {
        let engine = engine(&place);
        submit(&engine, number, content(number)).accepted().unwrap();
        let known = engine.query(|world| world.segment_indexes().of(1).copied()).unwrap().unwrap();
        assert_eq!((known.format, known.is_disputed()), (INDEX_VERSION + 1, false));
        engine.close().unwrap();
    }
    let kept = fs::read(place.log().join(index_path(1))).unwrap();
    assert_eq!(kept, b"of another version");
    let is_indexed = |event: &Event| matches!(event, Event::Log(LogEvent::SegmentIndexed(_)));
    assert!(!place.lines().iter().skip(lines).any(|line| is_indexed(&line.envelope.event)));
}
