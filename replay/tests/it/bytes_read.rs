//! How much of a log's segments is read to show a few records: it does not grow with the log.

use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::{RecordsUnproven, SegmentIndexed, UnprovenReason};
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::snapshot::snapshot_path;
use holdpoint_log_files::{DirectoryStorage, Entry, ReadFile, ReadStorage, Standing};
use holdpoint_log_format::BootId;
use holdpoint_log_format::limits::SEGMENT_CAPACITY_MIN;
use holdpoint_log_index::IndexDigest;
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_log_index::layout::{INDEX_HEADER_LENGTH, INDEX_VERSION};
use holdpoint_replay::reach::TiedByState;
use holdpoint_replay::{
    Filter, Order, Part, Reach, ReadOptions, RunFilter, RunLookup, Searched, caused_by, durable_to,
    find_runs, ids_beginning_with, run_beginning_with, run_of, search, span,
};
use holdpoint_testing::hand_made::{HandMadeLog, flip};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

const KIB: u64 = 1_024;
/// What is read in order is read in blocks of so many bytes.
const READ_AHEAD: u64 = 256 * KIB;

/// A directory of which it is counted how much is read of segments, or of indexes.
struct Counted {
    disk: DirectoryStorage,
    extension: &'static str,
    bytes: Arc<AtomicU64>,
}

struct CountedFile {
    file: File,
    bytes: Option<Arc<AtomicU64>>,
}

impl ReadStorage for Counted {
    type File = CountedFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<CountedFile>> {
        let bytes = path.ends_with(self.extension).then(|| Arc::clone(&self.bytes));
        Ok(self.disk.open(path)?.map(|file| CountedFile { file, bytes }))
    }
}

impl ReadFile for CountedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_some_at(offset, buffer)?;
        if let Some(bytes) = &self.bytes {
            bytes.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(read)
    }
}

/// A log of so many sealed segments, each with an index that the next one vouches for, and of so
/// many runs in the one that is written to.
struct Sample {
    directory: TempDir,
    log: HandMadeLog,
    firsts: Vec<u64>,
}

impl Sample {
    fn new(sealed: usize, runs: usize) -> Self {
        Self::of(sealed, runs, &mut |log| (0..9).for_each(|_| drop(log.run())))
    }

    /// The same of what is written into each sealed segment.
    fn of(sealed: usize, runs: usize, fill: &mut dyn FnMut(&mut HandMadeLog)) -> Self {
        let (directory, mut log, mut firsts) =
            (TempDir::new().unwrap(), HandMadeLog::new(), vec![1]);
        for at in 0..sealed {
            fill(&mut log);
            let is_last = at + 1 == sealed;
            log.roll_to(if is_last { 64 * SEGMENT_CAPACITY_MIN } else { SEGMENT_CAPACITY_MIN });
            log.write(directory.path());
            let told = write_index(directory.path(), firsts[at]);
            firsts.push(log.chain.sequence + 1);
            log.events(vec![told.into()]);
        }
        (0..runs).for_each(|_| drop(log.run()));
        log.write(directory.path());
        Self { directory, log, firsts }
    }

    /// The sequences that a search shows, all of them proven; how much was read of segments for
    /// it, and what is said of that.
    fn shown(&self, filter: &Filter, order: Order, most: usize) -> (Vec<u64>, u64, Part) {
        self.shown_by(&self.counted(), filter, order, most)
    }

    fn shown_by(
        &self,
        storage: &Counted,
        filter: &Filter,
        order: Order,
        most: usize,
    ) -> (Vec<u64>, u64, Part) {
        let mut found = Vec::new();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let reach = search(storage, filter, order, options, &mut |_| {}, &mut |line, standing| {
            assert_eq!(standing, Standing::Proven);
            found.push(line.sequence);
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let Searched::Part(part) = reach.unwrap() else { panic!("the whole log was read") };
        assert_eq!(part.findings, []);
        (found, storage.bytes.load(Ordering::Relaxed), *part)
    }

    /// A snapshot, the record that states it, and more runs. Gives that record.
    fn take_snapshot(&mut self, runs: usize) -> u64 {
        let stated_by = self.log.snapshot(self.directory.path());
        (0..runs).for_each(|_| drop(self.log.run()));
        self.log.write(self.directory.path());
        stated_by
    }

    /// Shows a few records of the first segment.
    fn few_of_the_first(&self, order: Order) -> (u64, Part) {
        let (mut found, bytes, part) = self.shown(&between(20, 29), order, usize::MAX);
        found.sort_unstable();
        assert_eq!(found, (20..30).collect::<Vec<_>>());
        (bytes, part)
    }

    fn counted(&self) -> Counted {
        self.counting(".seg")
    }

    fn counting(&self, extension: &'static str) -> Counted {
        let disk = DirectoryStorage::new(self.directory.path());
        Counted { disk, extension, bytes: Arc::default() }
    }

    fn newest(&self) -> u64 {
        self.log.chain.sequence
    }
}

fn write_index(directory: &std::path::Path, first: u64) -> SegmentIndexed {
    let storage = DirectoryStorage::new(directory);
    let built = build_index(&storage, first, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    });
    let built = built.unwrap();
    fs::write(directory.join(index_path(first)), &built.bytes).unwrap();
    SegmentIndexed {
        first_sequence: first,
        last_sequence: built.scope.last.sequence,
        format: INDEX_VERSION,
        digest: Digest::from_bytes(IndexDigest::of(&built.bytes).unwrap().0),
    }
}

fn between(first: u64, last: u64) -> Filter {
    Filter { first: Some(first), last: Some(last), ..Filter::default() }
}

#[test]
fn the_newest_records_are_read_in_the_same_few_kilobytes_of_any_log() {
    let logs = [Sample::new(2, 40), Sample::new(20, 40), Sample::new(20, 600)];
    for sample in &logs {
        let newest = sample.newest();
        let (found, bytes, _) = sample.shown(&Filter::default(), Order::NewestFirst, 10);
        assert_eq!(found, (newest - 9..=newest).rev().collect::<Vec<_>>());
        assert!(bytes <= 64 * KIB, "backwards: {bytes}");
        let (found, bytes, _) =
            sample.shown(&between(newest - 9, newest), Order::OldestFirst, usize::MAX);
        assert_eq!(found, (newest - 9..=newest).collect::<Vec<_>>());
        assert!(bytes <= 64 * KIB, "forwards: {bytes}");
        let storage = sample.counted();
        assert_eq!(span(&storage).unwrap().unwrap().last, newest);
        let bytes = storage.bytes.load(Ordering::Relaxed);
        assert!(bytes <= 64 * KIB, "the ends: {bytes}");
        let storage = sample.counted();
        assert_eq!(durable_to(&storage, BootId::UNKNOWN).unwrap(), newest);
        let bytes = storage.bytes.load(Ordering::Relaxed);
        assert!(bytes <= 64 * KIB, "what is durable: {bytes}");
    }
}

#[test]
fn records_of_a_sealed_segment_are_read_in_kilobytes_besides_the_segment_that_is_written_to() {
    let logs = [Sample::new(2, 40), Sample::new(20, 40)];
    let read = |sample: &Sample, first: u64| {
        let (found, bytes, part) =
            sample.shown(&between(first, first + 9), Order::OldestFirst, usize::MAX);
        assert_eq!(found, (first..first + 10).collect::<Vec<_>>());
        assert_eq!((part.segments_by_index, part.segments_read), (1, 0));
        assert_eq!((part.reach.segments_by_index, part.reach.segments_read), (1, 1));
        (bytes, sample.log.active_end() + READ_AHEAD)
    };
    // In the newest sealed one: how many there are before it makes no difference.
    let newest = |sample: &Sample| sample.firsts[sample.firsts.len() - 2];
    let [few, many] = logs.each_ref().map(|sample| read(sample, newest(sample) + 20));
    assert!(few.0 <= few.1 + 64 * KIB && few.0.abs_diff(many.0) <= KIB, "{few:?} and {many:?}");
    // In the oldest one: of each that is passed its header, and what vouches for the one before.
    let [few, many] = logs.each_ref().map(|sample| read(sample, 20));
    let each = many.0.saturating_sub(few.0) / 18;
    assert!(few.0 <= few.1 + 128 * KIB && each <= 32 * KIB, "{few:?}, and {each} for each");
}

#[test]
fn no_more_is_read_of_a_sparse_file_in_the_place_of_an_index_than_its_header() {
    let sample = Sample::new(2, 40);
    let wanted = between(20, 29);
    let expected: Vec<u64> = (20..30).collect();
    let path = sample.directory.path().join(index_path(1));
    let genuine = fs::read(&path).unwrap();
    for length in [200 << 20, 1 << 40] {
        for held in [&[][..], &genuine[..INDEX_HEADER_LENGTH], &genuine] {
            fs::write(&path, held).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            let storage = sample.counting(".idx");
            let (found, bytes, part) =
                sample.shown_by(&storage, &wanted, Order::OldestFirst, usize::MAX);
            assert_eq!((found, part.segments_by_index), (expected.clone(), 0));
            let others = fs::metadata(sample.directory.path().join(index_path(sample.firsts[1])));
            let others = 2 * others.unwrap().len();
            assert!(bytes <= others + 8 * KIB, "{length}: {bytes} besides {others}");
        }
    }
}

/// A directory of which no index can be opened.
struct Locked(DirectoryStorage);

impl ReadStorage for Locked {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.0.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        match path.ends_with(".idx") {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => self.0.open(path),
        }
    }
}

#[test]
fn an_index_that_is_there_and_cannot_be_read_is_an_error_that_names_it() {
    let sample = Sample::new(2, 40);
    let storage = Locked(DirectoryStorage::new(sample.directory.path()));
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let read = search(
        &storage,
        &between(20, 29),
        Order::OldestFirst,
        options,
        &mut |_| {},
        &mut |_, _| ControlFlow::Continue(()),
    );
    let told = read.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains(".idx") && told.contains("permission denied"), "{told:?}");
}

const ORDERS: [Order; 2] = [Order::OldestFirst, Order::NewestFirst];

#[test]
fn records_of_a_sealed_segment_are_tied_by_the_newest_state_and_nothing_between_is_read() {
    let mut sample = Sample::new(20, 300);
    let stated_by = sample.take_snapshot(3);
    let active = sample.log.active_path();
    assert!(sample.log.active_end() > 300 * KIB);
    for is_damaged in [false, true] {
        // What lies between is in nobody's reach.
        if is_damaged {
            flip(&sample.directory.path().join(&active), sample.log.active_end() / 2);
        }
        for order in ORDERS {
            let (bytes, part) = sample.few_of_the_first(order);
            assert!(bytes <= 128 * KIB, "{order:?}: {bytes}");
            assert_eq!((part.segments_by_index, part.segments_read), (1, 0));
            let (first, last) = (1, sample.firsts[1] - 1);
            assert_eq!(part.reach.tied_by_state, [TiedByState { first, last, stated_by }]);
            assert_eq!(part.reach.tied_from, Some(stated_by), "what lies between is not tied");
            let mut joined = Reach::default();
            joined.join(&part.reach);
            assert_eq!(joined.tied_by_state, part.reach.tied_by_state);
            for (sequence, standing) in [
                (first, Standing::Proven),
                (last, Standing::Proven),
                (last + 1, Standing::Unproven),
                (stated_by, Standing::Proven),
            ] {
                assert_eq!(part.reach.standing(sequence, false), standing, "{sequence}");
            }
        }
    }
}

#[test]
fn segments_that_hold_nothing_of_a_run_are_neither_read_nor_tied() {
    let mut sample = Sample::new(20, 40);
    sample.take_snapshot(3);
    let mut loop_id = None;
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let of_the_first = between(1, 30);
    search(&sample.counted(), &of_the_first, ORDERS[0], options, &mut |_| {}, &mut |line, _| {
        loop_id = line.loop_id;
        if loop_id.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    let wanted = Filter { loop_id, ..Filter::default() };
    // Of each that is excluded no more than the header of the one behind it.
    let most = sample.log.active_end() + READ_AHEAD + 20 * 8 * KIB;
    for order in ORDERS {
        let (found, bytes, part) = sample.shown(&wanted, order, usize::MAX);
        assert!(!found.is_empty() && found.iter().all(|one| *one < sample.firsts[1]));
        assert_eq!((part.segments_by_index, part.segments_read), (20, 1), "{order:?}");
        assert!(bytes <= most, "{order:?}: {bytes}, not {most}");
        assert_eq!(part.reach.segments_tied, 2, "{order:?}");
    }
}

#[test]
fn whoever_wants_the_newest_record_of_a_kind_asks_no_index_before_its_turn() {
    let mut sample = Sample::new(20, 40);
    sample.take_snapshot(3);
    let kind = Some("execution_loop.initialized".to_string());
    let (storage, wanted) = (sample.counting(".idx"), Filter { kind, ..Filter::default() });
    let (found, bytes, _) = sample.shown_by(&storage, &wanted, Order::NewestFirst, 1);
    assert_eq!((found.len(), bytes), (1, 0));
}

#[test]
fn a_state_that_no_tied_record_states_ties_nothing() {
    let is_read = |sample: &Sample| {
        for order in ORDERS {
            let (bytes, part) = sample.few_of_the_first(order);
            assert!(bytes >= sample.log.active_end() - 128 * KIB, "{order:?}: {bytes}");
            assert_eq!(part.reach.tied_by_state, []);
        }
    };
    let mut changed = Sample::new(3, 300);
    let stated_by = changed.take_snapshot(3);
    let file = changed.directory.path().join(snapshot_path(stated_by - 1));
    flip(&file, fs::metadata(&file).unwrap().len() - 1);
    is_read(&changed);
    let mut said = Sample::new(3, 300);
    let stated_by = said.take_snapshot(3);
    let reason = UnprovenReason::Damage;
    let unproven = RecordsUnproven { first_sequence: stated_by, last_sequence: stated_by, reason };
    said.log.events(vec![unproven.into()]);
    said.log.write(said.directory.path());
    is_read(&said);
}

#[test]
fn an_index_that_a_record_behind_the_state_contradicts_ties_nothing() {
    let mut sample = Sample::new(3, 40);
    sample.take_snapshot(3);
    let other = SegmentIndexed {
        digest: Digest::from_bytes([7; 32]),
        ..write_index(sample.directory.path(), 1)
    };
    sample.log.events(vec![other.into()]);
    sample.log.write(sample.directory.path());
    for order in ORDERS {
        let (_, part) = sample.few_of_the_first(order);
        assert_eq!((part.segments_by_index, part.segments_read), (0, 1), "{order:?}");
        assert_eq!(part.reach.tied_by_state, []);
    }
}

#[test]
fn runs_and_questions_are_found_by_how_their_ids_begin_in_one_pass_over_rows() {
    let mut ids = BTreeSet::new();
    let sample = Sample::of(8, 40, &mut |log| {
        ids.insert(log.run());
        ids.insert(log.retry_of_halted("false").0);
        let entropy = log.entropy();
        ids.insert(log.ask(entropy));
    });
    let found = |beginnings: &[&str]| {
        let beginnings = beginnings.iter().map(|one| (*one).to_string()).collect();
        let (storage, options) =
            (sample.counted(), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
        let (found, searched) = ids_beginning_with(&storage, &beginnings, options).unwrap();
        let Searched::Part(part) = searched else { panic!("the whole log was read") };
        assert_eq!(part.findings, []);
        (found, part, storage.bytes.load(Ordering::Relaxed))
    };
    let (all, part, both) = found(&["LOOP-", "DP-", "REQ-"]);
    assert_eq!((part.segments_by_index, part.segments_read), (8, 1));
    assert!(ids.is_subset(&all), "{all:?}");
    let (runs, _, one) = found(&["LOOP-"]);
    assert_eq!(both, one, "one pass for all");
    let (requests, ..) = found(&["REQ-"]);
    assert_eq!((runs.len(), requests.len(), all.len()), (16 + 40, 8, 16 + 40 + 8 + 8));
    for id in &all {
        let (beginning, _) = id.split_at(id.len() - 1);
        let (few, ..) = found(&[beginning]);
        assert!(few.iter().all(|it| it.starts_with(beginning)) && few.contains(id), "{id}");
    }
    assert!(found(&["DP-f", "REQ-f", "LOOP-f"]).0.is_empty());
    for first in &sample.firsts {
        fs::remove_file(sample.directory.path().join(index_path(*first))).ok();
    }
    let (without, part, _) = found(&["LOOP-", "DP-", "REQ-"]);
    assert_eq!((part.segments_by_index, part.segments_read), (0, 9));
    assert_eq!(without, all);
}

#[test]
fn of_a_sealed_segment_that_the_newest_state_vouches_for_its_rows_alone_are_read_for_a_list() {
    let mut sample = Sample::new(8, 40);
    let found = |sample: &Sample, extension| {
        let (storage, options) =
            (sample.counting(extension), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
        let beginnings = ["LOOP-".to_string()].into();
        let (found, searched) = ids_beginning_with(&storage, &beginnings, options).unwrap();
        assert!(searched.is_sound());
        let Searched::Part(part) = searched else { panic!("the whole log was read") };
        assert_eq!((part.segments_by_index, part.segments_read), (8, 1));
        (found, storage.bytes.load(Ordering::Relaxed))
    };
    let (all, whole) = found(&sample, ".idx");
    let (_, tied_through) = found(&sample, ".seg");
    sample.take_snapshot(0);
    assert_eq!(found(&sample, ".idx").0, all);
    let (rows, segments) = (found(&sample, ".idx").1, found(&sample, ".seg").1);
    assert!(rows < whole, "{rows} of {whole}");
    // Of each its header, and none of the records that vouch for the one before.
    assert!(segments < tied_through, "{segments} and {tied_through}");
}

#[test]
fn a_run_told_by_how_its_id_begins_is_that_of_the_whole_id_in_one_reading_of_the_newest_segment() {
    let mut sample = Sample::of(4, 9, &mut |log| {
        log.run();
        let entropy = log.entropy();
        log.ask(entropy);
    });
    (0..300).for_each(|_| drop(sample.log.run()));
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let told = |found: &RunLookup| match found {
        RunLookup::Run(run) => format!("{:?} {:?}", run.entity, run.doers),
        _ => panic!("there is one"),
    };
    let is_same = |sample: &Sample, is_read_once: bool| {
        let every = ["LOOP-", "DP-", "REQ-"].map(str::to_string).into();
        let (all, _) = ids_beginning_with(&sample.counted(), &every, options).unwrap();
        let met = run_beginning_with(&sample.counted(), &every, options).unwrap();
        assert!(met.ids == all && met.run.is_none() && met.searched.is_sound());
        for id in all.iter().step_by(3) {
            let beginnings: BTreeSet<String> = [id[..id.len() - 1].to_string()].into();
            let (ids, _) = ids_beginning_with(&sample.counted(), &beginnings, options).unwrap();
            let storage = sample.counting(".seg");
            let met = run_beginning_with(&storage, &beginnings, options).unwrap();
            assert_eq!(met.ids, ids, "{id}");
            assert!(met.searched.is_sound(), "{id}");
            assert_eq!(met.run.is_some(), is_read_once && ids.len() == 1 && id.starts_with('L'));
            let Some(run) = met.run else { continue };
            let whole = sample.counting(".seg");
            let (by_whole_id, _) = run_of(&whole, id, options).unwrap();
            assert_eq!(told(&run), told(&by_whole_id));
            let read = [storage, whole].map(|it| it.bytes.load(Ordering::Relaxed));
            // Besides, the headers of the segments that were asked for rows: never records twice.
            let headers = 16 * KIB * sample.firsts.len() as u64;
            assert!(read[0] <= read[1] + headers, "{id}: {read:?}");
            assert!(headers < read[1] / 4, "the newest segment is longer: {read:?}");
        }
    };
    sample.take_snapshot(0);
    is_same(&sample, true);
    for first in &sample.firsts {
        fs::remove_file(sample.directory.path().join(index_path(*first))).ok();
    }
    is_same(&sample, false);
}

#[test]
fn what_a_run_caused_is_found_wherever_it_lies_and_the_newest_segment_is_read_once_for_it() {
    let (mut ids, mut last) = (Vec::new(), 0);
    let mut sample = Sample::of(3, 9, &mut |log| {
        ids.push(log.run());
        last = log.chain.sequence;
        ids.push(log.run_caused_by("in the same segment", last));
    });
    ids.push(sample.log.run_caused_by("in the newest segment", last));
    last = sample.log.chain.sequence;
    ids.push(sample.log.run_caused_by("caused by that", last));
    (0..300).for_each(|_| drop(sample.log.run()));
    sample.take_snapshot(3);
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let mut caused_in_all = Vec::new();
    for id in &ids {
        let storage = sample.counted();
        let (found, searched) = run_of(&storage, id, options).unwrap();
        let RunLookup::Run(run) = found else { panic!("{id} is there") };
        let found_by = storage.bytes.swap(0, Ordering::Relaxed);
        let (caused, _) = caused_by(&storage, &run, &searched, options).unwrap();
        let knowing = storage.bytes.swap(0, Ordering::Relaxed);
        let nothing = Searched::Part(Box::default());
        let (expected, _) = caused_by(&storage, &run, &nothing, options).unwrap();
        assert_eq!((&caused.runs, &caused.records), (&expected.runs, &expected.records), "{id}");
        let is_in_newest =
            caused.runs.iter().any(|begun| begun.sequence > *sample.firsts.last().unwrap());
        assert_eq!(knowing >= sample.log.active_end(), is_in_newest, "{id}: {knowing}");
        assert!(found_by >= sample.log.active_end());
        caused_in_all.extend(caused.runs.into_iter().map(|begun| begun.loop_id));
    }
    assert_eq!(caused_in_all, [&ids[1], &ids[3], &ids[5], &ids[6], &ids[7]].map(String::clone));
}

#[test]
fn wanted_runs_of_several_segments_are_read_together_and_the_newest_segment_is_not_for_each() {
    let mut sample = Sample::of(8, 300, &mut |log| {
        (0..8).for_each(|_| drop(log.run()));
        log.run_of("make deploy");
    });
    sample.take_snapshot(3);
    let wanted = RunFilter { command: Some("deploy".to_string()), ..RunFilter::default() };
    let (storage, options) = (sample.counted(), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
    let all = Filter::default();
    let listed = find_runs(&storage, &all, &wanted, 20, options, &mut |_| {}).unwrap();
    assert!(listed.searched.is_sound());
    assert_eq!(listed.runs.len(), 8);
    // Once for the rows of the newest segment, once for all that are wanted, and once for whether
    // one of these began before.
    let (read, active) = (storage.bytes.load(Ordering::Relaxed), sample.log.active_end());
    assert!(read < 5 * active, "{read} besides a newest segment of {active}");
}

#[test]
fn whether_a_run_began_before_is_looked_up_in_indexes_and_no_sealed_segment_is_read_for_it() {
    let (mut sample, options) =
        (Sample::new(8, 30), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
    sample.take_snapshot(3);
    let newest = |sample: &Sample| {
        let storage = sample.counting(".seg");
        let (all, wanted) = (Filter::default(), RunFilter::default());
        let listed = find_runs(&storage, &all, &wanted, 3, options, &mut |_| {}).unwrap();
        assert!(listed.searched.is_sound() && listed.runs.len() == 3);
        storage.bytes.load(Ordering::Relaxed)
    };
    let (read, sealed) = (newest(&sample), sample.firsts.len() as u64 - 1);
    for first in sample.firsts.split_last().unwrap().1 {
        fs::remove_file(sample.directory.path().join(index_path(*first))).unwrap();
    }
    // Of each no more than its header, and what follows from there in one go.
    let without = newest(&sample);
    assert!(read + sealed * 16 * KIB < without, "{read} and {without} without indexes");
}
