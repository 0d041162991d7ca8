//! A process that is killed at any moment: nothing that it acknowledged is missing, and whoever
//! opens the log next, or holds it open already, goes on.

use holdpoint_engine::log::{Level, NewRecord, Options};
use holdpoint_log_format::recovery::Row;
use holdpoint_testing::log::process::{self, Other};
use holdpoint_testing::log::{
    Random, append, open, open_reporting, quiet, record, records_of, segments_of, survey_whole,
};

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    assert_eq!(job.name, "append until killed");
    let mut random = Random::of(job.number);
    let log = open(&job.directory, Options::default());
    for tag in 0.. {
        let lengths =
            (0..=random.below(4)).map(|_| usize::try_from(random.below(20_000)).unwrap() + 8);
        let batch: Vec<NewRecord> = lengths.map(|length| record(tag, length)).collect();
        let level = if random.flips() { Level::Always } else { Level::Os };
        let appended = log.append(&batch, tag, level).unwrap();
        process::say(appended.last_sequence);
    }
}

#[test]
fn crash_a_process_killed_at_any_moment_loses_nothing_that_it_acknowledged() {
    let mut random = Random::new();
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 0..30 {
        let mut other = Other::start(
            module_path!(),
            "append until killed",
            directory.path(),
            random.below(1 << 40),
        );
        for _ in 0..=random.below(12) {
            acknowledged = other.heard().expect("it appends until it is killed");
        }
        acknowledged = other.kill().into_iter().fold(acknowledged, u64::max);
        let (log, report) = open_reporting(directory.path(), quiet());
        let reached = report.position.sequence;
        assert!(reached >= acknowledged, "round {round}: {reached} of {acknowledged}");
        log.close().unwrap();
        assert_eq!(records_of(directory.path()).len() as u64, reached);
        assert_eq!(survey_whole(directory.path()).row, Row::Clean);
    }
    assert!(segments_of(directory.path()).len() > 3);
}

#[test]
fn crash_a_handle_takes_over_from_a_process_that_was_killed_in_its_turn() {
    let mut random = Random::new();
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), quiet());
    let mut own = 0;
    for _ in 0..15 {
        let mut other = Other::start(
            module_path!(),
            "append until killed",
            directory.path(),
            random.below(1 << 40),
        );
        let mut heard = other.heard().expect("it appends until it is killed");
        for _ in 0..random.below(8) {
            heard = other.heard().expect("it appends until it is killed");
            own = append(&log, 1 << 40, 100);
        }
        heard = other.kill().into_iter().fold(heard, u64::max);
        let next = append(&log, 1 << 40, 100);
        assert!(next > heard && next > own);
    }
    log.close().unwrap();
    let records = records_of(directory.path());
    assert!(records.iter().filter(|stored| stored.tag() == 1 << 40).count() >= 15);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}
