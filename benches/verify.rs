//! Verifying a log, against copying and hashing the same bytes in the same run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails, fails the bench")]

mod floors;

use criterion::Criterion;
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::BootId;
use holdpoint_replay::{Filter, ReadOptions, Verdict, records, verify};
use holdpoint_testing::hand_made::HandMadeLog;
use tempfile::TempDir;

/// Runs of a command on the log: 13 records each.
const RUNS: usize = 4_000;

fn main() {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    (0..RUNS).for_each(|_| drop(log.run()));
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let whole = || {
        let report = verify(&storage, options, &mut |_| {}).unwrap();
        assert_eq!(report.verdict, Verdict::Intact);
    };
    let lines = || {
        let report = records(&storage, &Filter::default(), options, &mut |_| {}, &mut drop);
        assert_eq!(report.unwrap().verdict, Verdict::Intact);
    };
    let bytes_alone = || {
        let boot = BootId::UNKNOWN;
        let survey_options = SurveyOptions::new(Extent::FromAnchor, boot);
        let survey = survey(&storage, survey_options, &mut |_, _| {}).unwrap();
        assert_eq!(survey.findings, []);
    };
    let bytes = floors::record_bytes(directory.path());
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = floors::group(&mut criterion, "verify", &bytes);
    group.bench_function("bytes and events", |bencher| bencher.iter(whole));
    group.bench_function("bytes alone", |bencher| bencher.iter(bytes_alone));
    group.bench_function("bytes, events as lines", |bencher| bencher.iter(lines));
    group.finish();
    criterion.final_summary();
    floors::print_ratios("verify", &bytes, whole);
    floors::print_ratios("verify, bytes alone", &bytes, bytes_alone);
}
