//! Writing a log: everything appended is read back, in order, at its level, whatever the size,
//! across rolls, by one writer at a time; and a call that fails is the last one that this handle
//! makes.

use holdpoint_engine::log::{AppendError, Level, Log, NewRecord, OpenError, Options};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::limits::{
    BATCH_LENGTH_MAX, PAYLOAD_LENGTH_MAX, PIECE_LENGTH, SEGMENT_CAPACITY_MIN, record_footprint,
};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{Head, Lock, OwnerState, SegmentHeader};
use holdpoint_testing::log::process::{self, Other};
use holdpoint_testing::log::{
    Stored, append, append_each, content_of, exclusive, open, open_reporting, quiet, read_whole,
    record, records_of, segments_of, survey_whole, try_open,
};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn header_of(segment: &Path) -> SegmentHeader {
    let bytes = std::fs::read(segment).unwrap();
    SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap()
}

fn head_of(directory: &Path) -> Head {
    Head::decode(&std::fs::read(directory.join("HEAD")).unwrap()).unwrap()
}

fn lock_of(directory: &Path) -> Lock {
    Lock::decode(&std::fs::read(directory.join("LOCK")).unwrap()).unwrap()
}

fn tags(records: &[Stored]) -> Vec<u64> {
    records.iter().map(Stored::tag).collect()
}

// ---- What is appended is there -----------------------------------------------------------------

#[test]
fn singles_and_batches_are_read_back_in_order_with_times_that_never_go_back() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    let clocks = [50, 40, 60, 60, 10];
    for (tag, clock) in clocks.iter().enumerate() {
        let batch: Vec<NewRecord> = (0..=tag).map(|_| record(tag as u64, 8 + tag)).collect();
        let appended = log.append(&batch, *clock, Level::Always).unwrap();
        let length = batch.len() as u64;
        assert_eq!(appended.last_sequence - appended.first_sequence + 1, length);
    }
    log.close().unwrap();
    let records = records_of(directory.path());
    assert_eq!(tags(&records), [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4]);
    let times: Vec<u64> = records.iter().map(|record| record.header.time).collect();
    assert_eq!(times, [50, 50, 50, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]);
    let ends = records.iter().filter(|record| !record.header.flags.more_follows());
    let ends: Vec<u64> = ends.map(|record| record.header.sequence).collect();
    assert_eq!(ends, [1, 3, 6, 10, 15]);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn every_record_claims_exactly_what_was_durable_when_its_turn_came() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    let levels = [Level::Always, Level::Os, Level::Os, Level::Always, Level::Staged, Level::Always];
    for level in levels {
        log.append(&[record(1, 9), record(1, 9)], 1, level).unwrap();
    }
    log.close().unwrap();
    let marks: Vec<u64> = records_of(directory.path())
        .iter()
        .map(|record| record.header.mark().unwrap().unwrap())
        .collect();
    assert_eq!(marks, [0, 0, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8]);
}

#[test]
fn a_log_is_reopened_where_it_ended_and_goes_on() {
    let directory = directory();
    for round in 0..5 {
        let (log, report) = open_reporting(directory.path(), quiet());
        assert_eq!(report.position.sequence, round * 3);
        assert_eq!(report.recovered.created, round == 0);
        assert_eq!((report.recovered.cut_bytes, report.recovered.rewritten_bytes), (0, 0));
        append_each(&log, round * 3..round * 3 + 3, 20);
        assert_eq!(log.durable_sequence(), round * 3 + 3);
        log.close().unwrap();
    }
    assert_eq!(tags(&records_of(directory.path())), (0..15).collect::<Vec<_>>());
}

#[test]
fn payloads_of_every_size_up_to_the_limit_are_kept_byte_for_byte() {
    let directory = directory();
    let log = open(directory.path(), exclusive());
    let around = |size: usize| size.saturating_sub(1)..=size + 1;
    let segment = SEGMENT_CAPACITY_MIN as usize;
    let mut sizes: Vec<usize> = (0..=17).chain(around(4_096)).chain(around(segment)).collect();
    sizes.extend([segment * 9, PAYLOAD_LENGTH_MAX, 1]);
    for (tag, size) in sizes.iter().enumerate() {
        log.append(&[record(tag as u64, *size)], 1, Level::Os).unwrap();
    }
    log.close().unwrap();
    let records = records_of(directory.path());
    assert_eq!(records.len(), sizes.len());
    for (tag, (stored, size)) in records.iter().zip(sizes).enumerate() {
        assert!(stored.payload == record(tag as u64, size).payload, "size {size}");
    }
}

#[test]
fn a_batch_beyond_its_limits_is_refused_and_nothing_is_written() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    append(&log, 1, 10);
    let before = content_of(directory.path());
    let refused = log.append(&[record(2, PAYLOAD_LENGTH_MAX + 1)], 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::PayloadTooLarge { .. })), "{refused:?}");
    let quarter = record(2, usize::try_from(BATCH_LENGTH_MAX / 4).unwrap() - 64);
    let five = [quarter.clone(), quarter.clone(), quarter.clone(), quarter, record(3, 0)];
    let refused = log.append(&five, 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::BatchTooLarge { .. })), "{refused:?}");
    let refused = log.append(&[], 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::Empty)), "{refused:?}");
    assert!(content_of(directory.path()) == before);
    assert_eq!(append(&log, 4, 10), 2);
}

// ---- Levels ------------------------------------------------------------------------------------

#[test]
fn staged_records_are_written_later_and_others_at_once() {
    let directory = directory();
    let log = open(directory.path(), exclusive());
    let written = |directory: &Path| read_whole(directory).1.len();
    log.append(&[record(1, 100)], 1, Level::Staged).unwrap();
    assert_eq!((written(directory.path()), log.durable_sequence()), (0, 0));
    log.append(&[record(2, 100)], 1, Level::Os).unwrap();
    assert_eq!((written(directory.path()), log.durable_sequence()), (2, 0));
    log.append(&[record(3, 100)], 1, Level::Always).unwrap();
    assert_eq!((written(directory.path()), log.durable_sequence()), (3, 3));
    log.append(&[record(4, PIECE_LENGTH)], 1, Level::Staged).unwrap();
    assert_eq!((written(directory.path()), log.durable_sequence()), (4, 3));
}

/// Staged one by one they are hashed together, when somebody asks or when they are written: the
/// records, their order and the places that are told are the same.
#[test]
fn records_staged_one_by_one_have_the_links_that_are_told_of_them() {
    let directory = directory();
    let log = open(directory.path(), exclusive());
    let (mut told, mut appended) = (Vec::new(), 0);
    for step in 0..3_000_u64 {
        let length = usize::try_from(step * 37 % 700).unwrap();
        // Longer than a piece, so that it rolls too.
        let length = if step % 500 == 499 { PIECE_LENGTH + length } else { length };
        let records: Vec<NewRecord> = match step % 50 {
            7 => (0..5).map(|at| record(step * 10 + at, length)).collect(),
            _ => vec![record(step, length)],
        };
        let level = if step % 90 == 89 { Level::Os } else { Level::Staged };
        let at = log.append(&records, step, level).unwrap();
        assert_eq!((at.first_sequence, at.time), (appended + 1, step));
        appended += records.len() as u64;
        assert_eq!(at.last_sequence, appended);
        if step % 71 == 70 {
            told.push(log.position());
        }
        if step % 700 == 699 {
            log.commit(appended, Level::Always).unwrap();
        }
    }
    log.close().unwrap();
    let stored = records_of(directory.path());
    assert_eq!((stored.len() as u64, stored.len() > 3_000), (appended, true));
    for place in told {
        let header = &stored[usize::try_from(place.sequence).unwrap() - 1].header;
        assert_eq!((header.link, header.time), (place.link, place.time));
    }
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn what_an_interval_promised_becomes_durable_and_head_follows_without_another_call() {
    let directory = directory();
    let options = Options::default().head_delay(Duration::ZERO);
    let log = open(directory.path(), options);
    log.append(&[record(1, 100)], 1, Level::Interval(Duration::ZERO)).unwrap();
    while log.durable_sequence() < 1 || head_of(directory.path()).newest_sequence < 1 {
        std::thread::yield_now();
    }
    log.append(&[record(2, 100)], 1, Level::Interval(Duration::MAX)).unwrap();
    log.close().unwrap();
    assert_eq!(head_of(directory.path()).newest_sequence, 2);
}

#[test]
fn closing_and_dropping_both_leave_everything_durable_and_witnessed() {
    for closes in [true, false] {
        let directory = directory();
        let log = open(directory.path(), exclusive());
        log.append(&[record(1, 100)], 1, Level::Staged).unwrap();
        if closes {
            log.close().unwrap();
        } else {
            drop(log);
        }
        assert_eq!(head_of(directory.path()).newest_sequence, 1);
        let lock = lock_of(directory.path());
        assert_eq!((lock.state, lock.durable_sequence), (OwnerState::Idle, 1));
        assert_eq!(survey_whole(directory.path()).row, Row::Clean);
    }
}

// ---- Rolls -------------------------------------------------------------------------------------

#[test]
fn segments_double_are_sealed_and_give_their_unused_space_back() {
    let directory = directory();
    let log = open(directory.path(), exclusive());
    let mut capacities = vec![SEGMENT_CAPACITY_MIN];
    append(&log, 0, 10);
    for step in 1..6_u64 {
        let capacity = *capacities.last().unwrap();
        append(&log, step, usize::try_from(capacity).unwrap());
        capacities.push(capacity * 2);
    }
    log.close().unwrap();
    let segments = segments_of(directory.path());
    let headers: Vec<SegmentHeader> = segments.iter().map(|path| header_of(path)).collect();
    let found: Vec<u64> = headers.iter().map(|header| header.capacity).collect();
    assert_eq!(found, capacities);
    for (path, header) in segments.iter().zip(&headers) {
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.len(), header.capacity);
        let used = metadata.blocks() * 512;
        let is_last = header.capacity == *capacities.last().unwrap();
        assert!(is_last || used < header.capacity, "{used} of {}", header.capacity);
    }
    assert_eq!(records_of(directory.path()).len(), 6);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn a_batch_never_crosses_a_segment_and_fills_one_to_its_last_byte() {
    let room = SEGMENT_CAPACITY_MIN - 4_096 - 64;
    for (spare, segments) in [(0, 1), (8, 1), (-8, 2)] {
        let directory = directory();
        let log = open(directory.path(), quiet());
        append(&log, 1, 0);
        let second = i64::try_from(room - 2 * 64 - 64).unwrap() - spare;
        let payload = usize::try_from(second).unwrap();
        assert_eq!(record_footprint(payload), payload as u64 + 64);
        log.append(&[record(2, 0), record(3, payload)], 1, Level::Always).unwrap();
        log.close().unwrap();
        assert_eq!(segments_of(directory.path()).len(), segments, "spare {spare}");
        let records = records_of(directory.path());
        assert_eq!(records[1].segment, records[2].segment);
    }
}

#[test]
fn an_empty_segment_too_small_for_its_first_batch_is_replaced_and_old_handles_follow() {
    let directory = directory();
    let first = open(directory.path(), quiet());
    let second = open(directory.path(), quiet());
    append(&first, 1, 300_000);
    assert_eq!(append(&second, 2, 10), 2);
    assert_eq!(append(&first, 3, 10), 3);
    drop((first, second));
    assert_eq!(tags(&records_of(directory.path())), [1, 2, 3]);
    let segments = segments_of(directory.path());
    assert_eq!(segments.len(), 1);
    assert_eq!(header_of(&segments[0]).capacity, segments[0].metadata().unwrap().len());
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

// ---- One writer at a time ----------------------------------------------------------------------

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    match job.name.as_str() {
        "append" => append_many(&job.directory, job.number),
        "hold" => {
            let log = open(&job.directory, exclusive());
            process::say(1);
            process::wait_for_release();
            log.close().unwrap();
        }
        "within a file-size limit" => append_within_limit(&job.directory, job.number),
        "without permissions" => {
            rustix::process::umask(rustix::fs::Mode::from_bits_truncate(0o777));
            std::env::set_current_dir(&job.directory).unwrap();
            append(&open(Path::new("a/b/.holdpoint"), quiet()), 1, 100_000);
        }
        other => panic!("no job is called {other}"),
    }
}

fn append_many(directory: &Path, first_tag: u64) {
    let log = open(directory, quiet());
    for tag in first_tag..first_tag + 50 {
        process::say(append(&log, tag, 3_000));
    }
}

#[test]
fn an_exclusive_owner_keeps_others_out_and_is_named() {
    let directory = directory();
    let held = open(directory.path(), exclusive());
    append(&held, 1, 10);
    let impatient = quiet().lock_wait(Duration::ZERO);
    let refused = try_open(directory.path(), impatient.clone()).map(drop);
    let Err(OpenError::Locked { pid, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(pid, std::process::id());
    held.close().unwrap();
    let mut other = Other::start(module_path!(), "hold", directory.path(), 0);
    assert_eq!(other.heard(), Some(1));
    let refused = try_open(directory.path(), impatient.clone()).map(drop);
    let Err(OpenError::Locked { pid, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(pid, other.id());
    other.finish();
    append(&open(directory.path(), impatient), 2, 10);
    assert_eq!(tags(&records_of(directory.path())), [1, 2]);
}

#[test]
fn a_turn_keeps_other_handles_waiting_and_a_wait_that_runs_out_changes_nothing() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    let impatient = quiet().lock_wait(Duration::ZERO);
    let waiting = open(directory.path(), impatient);
    let mut turn = log.begin().unwrap();
    turn.append(&[record(1, 10)], 1).unwrap();
    let refused = waiting.append(&[record(2, 10)], 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::Locked { pid, .. }) if pid == std::process::id()));
    turn.finish(Level::Always).unwrap();
    assert_eq!(append(&waiting, 3, 10), 2);
    drop((log, waiting));
    assert_eq!(tags(&records_of(directory.path())), [1, 3]);
}

#[test]
fn two_threads_with_a_handle_each_write_in_turns() {
    let directory = directory();
    drop(open(directory.path(), quiet()));
    std::thread::scope(|scope| {
        for first_tag in [1_000, 2_000] {
            let path = directory.path();
            scope.spawn(move || {
                let log = open(path, quiet());
                append_each(&log, first_tag..first_tag + 60, 2_000);
            });
        }
    });
    assert_interleaved(directory.path(), 60);
}

#[test]
fn two_processes_write_in_turns_and_every_acknowledgement_names_its_own_record() {
    let directory = directory();
    let mut other = Other::start(module_path!(), "append", directory.path(), 2_000);
    let log = open(directory.path(), quiet());
    let mut mine = Vec::new();
    for tag in 1_000..1_050 {
        mine.push((append(&log, tag, 3_000), tag));
    }
    let theirs: Vec<u64> = std::iter::from_fn(|| other.heard()).collect();
    other.finish();
    drop(log);
    assert_interleaved(directory.path(), 50);
    let records = records_of(directory.path());
    let acknowledged = mine.into_iter().chain(theirs.into_iter().zip(2_000..));
    for (sequence, tag) in acknowledged {
        assert_eq!(records[usize::try_from(sequence).unwrap() - 1].tag(), tag);
    }
}

/// Every record of both writers, each one's in its own order, in a log that ends cleanly.
fn assert_interleaved(directory: &Path, each: u64) {
    let all = tags(&records_of(directory));
    for first_tag in [1_000, 2_000] {
        let own: Vec<u64> =
            all.iter().copied().filter(|tag| tag / 1_000 * 1_000 == first_tag).collect();
        assert_eq!(own, (first_tag..first_tag + each).collect::<Vec<_>>());
    }
    assert_eq!(survey_whole(directory).row, Row::Clean);
}

#[test]
fn a_reader_learns_in_its_turn_what_others_appended_across_rolls() {
    let directory = directory();
    let first = open(directory.path(), quiet());
    let second = open(directory.path(), quiet());
    let mut place = second.first_place().unwrap();
    let mut seen = Vec::new();
    for tag in 0..30 {
        append(&first, tag, 5_000);
        if tag % 7 == 0 {
            let turn = second.begin().unwrap();
            turn.catch_up(&mut place, &mut |_, record| seen.push(record.header.sequence)).unwrap();
            assert_eq!(place.run.chain, turn.position());
        }
    }
    assert_eq!(seen, (1..=29).collect::<Vec<_>>());
}

#[test]
fn a_reader_that_meets_damage_below_the_newest_record_is_told_and_does_not_wait() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    append_each(&log, 0..5, 100);
    let third = records_of(directory.path())[2].offset;
    let path = segments_of(directory.path()).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(third).unwrap() + 70] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let mut place = log.first_place().unwrap();
    let turn = log.begin().unwrap();
    let mut seen = Vec::new();
    let stopped = turn.catch_up(&mut place, &mut |_, record| seen.push(record.header.sequence));
    let message = stopped.unwrap_err().to_string();
    assert!(message.contains("sequence 3") && message.contains("verify"), "{message}");
    assert_eq!(seen, [1, 2]);
}

#[test]
fn a_lock_that_was_removed_or_overwritten_between_turns_is_made_again() {
    let directory = directory();
    let log = open(directory.path(), quiet());
    let other = open(directory.path(), quiet());
    append(&log, 1, 10);
    std::fs::remove_file(directory.path().join("LOCK")).unwrap();
    append(&other, 2, 10);
    std::fs::write(directory.path().join("LOCK"), [0x5a; 4_000]).unwrap();
    append(&log, 3, 10);
    append(&other, 4, 10);
    let lock = lock_of(directory.path());
    assert_eq!((lock.state, lock.durable_sequence), (OwnerState::Idle, 4));
    drop((log, other));
    assert_eq!(tags(&records_of(directory.path())), [1, 2, 3, 4]);
}

// ---- Space and names ---------------------------------------------------------------------------

/// Appends until there is no space, says how many were acknowledged, then appends a smaller one.
fn append_within_limit(directory: &Path, limit: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Fsize, Rlimit { current: Some(limit), maximum: None }).unwrap();
    let log = match try_open(directory, quiet()) {
        Err(OpenError::NoSpace { needed, .. }) => return assert!(needed > limit),
        opened => opened.unwrap().0,
    };
    let mut last = 0;
    let refused = loop {
        match log.append(&[record(last + 1, 20_000)], 1, Level::Always) {
            Ok(appended) => last = appended.last_sequence,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::NoSpace { needed, .. } if needed > limit), "{refused}");
    process::say(append(&log, last + 1, 10));
    log.close().unwrap();
}

#[test]
fn a_file_size_limit_is_no_space_and_no_signal() {
    let directory = directory();
    let said = Other::start(module_path!(), "within a file-size limit", directory.path(), 200_000)
        .finish();
    let records = records_of(directory.path());
    assert_eq!(said, [records.len() as u64]);
    assert_eq!(tags(&records), (1..=records.len() as u64).collect::<Vec<_>>());
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
    let log = open(directory.path(), quiet());
    append(&log, 0, 100_000);
    drop(log);
    let limited = tempfile::tempdir().unwrap();
    let said =
        Other::start(module_path!(), "within a file-size limit", limited.path(), 60_000).finish();
    assert!(said.is_empty(), "not even the first segment fits");
}

#[test]
fn directories_are_for_their_owner_alone_whatever_the_umask() {
    let directory = directory();
    Other::start(module_path!(), "without permissions", directory.path(), 0).finish();
    let log = directory.path().join("a/b/.holdpoint");
    assert_eq!(records_of(&log).len(), 1);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    for made in ["a", "a/b", "a/b/.holdpoint", "a/b/.holdpoint/segments"] {
        assert_eq!(mode(&directory.path().join(made)), 0o700, "{made}");
    }
    for (path, _) in content_of(&log) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_directory_that_its_group_may_write_is_shared_with_that_group() {
    let directory = directory();
    let log = directory.path().join("shared");
    std::fs::create_dir(&log).unwrap();
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o2770)).unwrap();
    Other::start(module_path!(), "append", &log, 0).finish();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&log), mode(&log.join("segments"))), (0o2770, 0o2770));
    for (path, _) in content_of(&log) {
        assert_eq!(mode(&path), 0o660, "{}", path.display());
    }
}

#[test]
fn what_no_log_can_be_in_is_refused_and_left_as_it_is() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("file"), "x").unwrap();
    std::fs::create_dir(path("foreign")).unwrap();
    std::fs::write(path("foreign/notes"), "x").unwrap();
    std::fs::create_dir(path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", path("link")).unwrap();
    for own in ["segments", "HEAD", "LOCK"] {
        let inside = path(&format!("linked-{own}"));
        std::fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(path("elsewhere"), inside.join(own)).unwrap();
    }
    let before = content_of(directory.path()).len();
    let names =
        ["file", "foreign", "link", "link/", "linked-segments", "linked-HEAD", "linked-LOCK"];
    for name in names {
        let refused = try_open(&path(name), quiet()).map(drop);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(name.trim_end_matches('/')), "{message}");
    }
    let absent = quiet().create(false);
    let nothing = try_open(&path("absent"), absent).map(drop);
    assert!(matches!(nothing, Err(OpenError::NothingHere { .. })), "{nothing:?}");
    assert_eq!(content_of(directory.path()).len(), before);
    assert!(!path("absent").exists() && path("elsewhere").read_dir().unwrap().next().is_none());
}

#[test]
fn a_log_can_be_used_from_several_threads_through_one_handle() {
    let directory = directory();
    let log = Log::open(DirectoryStorage::new(directory.path()), quiet()).unwrap().0;
    std::thread::scope(|scope| {
        for first_tag in [1_000, 2_000] {
            let log = &log;
            scope.spawn(move || {
                append_each(log, first_tag..first_tag + 40, 500);
            });
        }
    });
    log.close().unwrap();
    assert_interleaved(directory.path(), 40);
}

#[test]
fn head_follows_as_soon_as_another_owner_lets_go() {
    let directory = directory();
    let options = Options::default().head_delay(Duration::ZERO);
    let log = open(directory.path(), options);
    let other = open(directory.path(), quiet());
    append(&log, 1, 10);
    let turn = other.begin().unwrap();
    turn.finish(Level::Os).unwrap();
    while head_of(directory.path()).newest_sequence < 1 {
        std::thread::yield_now();
    }
}

#[test]
fn a_log_that_several_make_at_once_is_one_log() {
    for _ in 0..5 {
        let directory = directory();
        let path = directory.path().join("made/by/all");
        std::thread::scope(|scope| {
            for tag in 1..=6 {
                let path = &path;
                scope.spawn(move || append(&open(path, quiet()), tag, 9_000));
            }
        });
        let mut all = tags(&records_of(&path));
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4, 5, 6]);
    }
}
