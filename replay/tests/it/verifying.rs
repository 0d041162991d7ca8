//! Verifying says four things apart, names every damage by its place, and never mistakes a writer
//! at work for damage.

use holdpoint_domain::Event;
use holdpoint_domain::application::ReducerFingerprintRecorded;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::execution_loop::LoopDispatched;
use holdpoint_domain::log::{ClockStepped, FingerprintRecorded, LogEvent};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, Flags, Head, LogId};
use holdpoint_replay::machine::is_locked;
use holdpoint_replay::{
    AxisState, Filter, OutsideHead, ReadError, ReadOptions, Report, Unproven, Verdict, records,
    verify, verify_range,
};
use holdpoint_testing::hand_made::{
    FIRST_RECORD, HandMadeLog, OTHER_BOOT, encoded, flip, make_newer,
};
use std::cell::Cell;
use std::path::Path;
use tempfile::TempDir;

const THIS_BOOT: BootId = BootId([1; 16]);

fn report_in(directory: &Path, boot: BootId) -> Report {
    let storage = DirectoryStorage::new(directory);
    let is_written = || is_locked(&storage);
    verify(&storage, ReadOptions::new(boot, &is_written), &mut |_| {}).unwrap()
}

fn report(directory: &Path) -> Report {
    report_in(directory, THIS_BOOT)
}

fn report_of(log: &HandMadeLog) -> Report {
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    report(directory.path())
}

fn clock_stepped(step_ns: i64) -> Event {
    Event::Log(LogEvent::ClockStepped(ClockStepped { step_ns }))
}

/// Two runs over two segments, the first one sealed.
fn two_segments() -> HandMadeLog {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    log.crash();
    log
}

#[test]
fn a_clean_log_is_intact_and_every_axis_says_why() {
    let log = two_segments();
    let report = report_of(&log);
    assert_eq!(report.verdict, Verdict::Intact, "{report:#?}");
    assert_eq!(report.axes.integrity.state, AxisState::Proven);
    assert_eq!(report.axes.completeness.state, AxisState::Proven);
    assert_eq!(report.axes.authenticity.state, AxisState::NotChecked);
    assert_eq!(report.axes.meaning.state, AxisState::Proven);
    assert_eq!(report.records, log.chain.sequence);
    assert_eq!(report.segments, 2);
    assert_eq!(report.mark, log.chain.sequence);
    assert_eq!(report.unproven, None);
    assert_eq!(report.findings, []);
    let head = report.head.unwrap();
    assert_eq!(head.sequence, log.chain.sequence);
    assert_eq!(head.link, log.chain.link.to_string());
    assert_eq!(report.log_id, Some(LogId([7; 16]).to_string()));
}

#[test]
fn a_log_without_records_is_intact_and_has_no_head() {
    let report = report_of(&HandMadeLog::new());
    assert_eq!(report.verdict, Verdict::Intact);
    assert_eq!((report.records, report.segments, report.head), (0, 1, None));
}

#[test]
fn records_above_every_mark_are_said_to_be_unproven() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.events(vec![clock_stepped(1)]);
    let before = log.chain.sequence;
    log.events(vec![clock_stepped(2), clock_stepped(3)]);
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &head);
    let report = report(directory.path());
    assert_eq!(report.verdict, Verdict::TailUnproven);
    assert_eq!(report.mark, before);
    assert_eq!(report.unproven, Some(Unproven { first: before + 1, last: before + 2 }));
    assert_eq!(report.axes.completeness.state, AxisState::Proven);
    assert!(report.axes.completeness.reason.contains("unproven"), "{report:#?}");
}

#[test]
fn a_flipped_byte_is_found_where_it_lies_with_what_was_due() {
    let log = two_segments();
    for (file, offset) in [
        ("segments/00000000000000000001.seg", FIRST_RECORD + 70),
        ("segments/00000000000000000001.seg", 20),
        ("HEAD", 40),
    ] {
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        flip(&directory.path().join(file), offset);
        let report = report(directory.path());
        assert_eq!(report.verdict, Verdict::Corrupt, "{file}");
        assert_eq!(report.axes.integrity.state, AxisState::Failed, "{file}");
        let finding = report.findings.first().unwrap();
        assert_eq!(finding.place.file, file);
        assert!(finding.place.offset <= offset, "{finding}");
        assert!(!finding.expected().is_empty() && finding.expected() != finding.found());
        let json = serde_json::to_value(finding).unwrap();
        assert_eq!(json["segment"], file);
        for field in ["offset", "sequence", "problem", "expected", "found", "message"] {
            assert!(!json[field].is_null(), "{field}");
        }
    }
}

#[test]
fn behind_damage_nothing_is_judged() {
    let log = two_segments();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    flip(&directory.path().join("segments/00000000000000000001.seg"), FIRST_RECORD + 70);
    let report = report(directory.path());
    assert_eq!(report.axes.meaning.state, AxisState::NotChecked, "{report:#?}");
    assert!(report.findings.iter().all(|finding| finding.rule().is_none()));
}

#[test]
fn missing_head_and_missing_segments_are_losses() {
    let log = two_segments();
    for file in ["HEAD", "segments/00000000000000000001.seg"] {
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        std::fs::remove_file(directory.path().join(file)).unwrap();
        let report = report(directory.path());
        assert_eq!(report.verdict, Verdict::Corrupt, "{file}");
        assert_eq!(report.axes.completeness.state, AxisState::Failed, "{file}: {report:#?}");
    }
}

#[test]
fn a_history_spliced_from_another_log_is_not_applied() {
    let mut one = HandMadeLog::of(LogId([1; 16]));
    let mut other = HandMadeLog::of(LogId([1; 16]));
    one.run_of("one");
    other.run_of("other");
    one.roll();
    other.roll();
    one.run_of("one again");
    other.run_of("other again");
    let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    one.write(here.path());
    other.write(there.path());
    let second = one.active_path();
    assert_eq!(second, other.active_path());
    std::fs::copy(there.path().join(&second), here.path().join(&second)).unwrap();
    let report = report(here.path());
    assert_eq!(report.verdict, Verdict::Corrupt);
    assert_eq!(report.axes.meaning.state, AxisState::NotChecked, "{report:#?}");
}

#[test]
fn a_batch_without_its_end_is_neither_counted_nor_applied() {
    let mut log = HandMadeLog::new();
    log.run();
    let (head, end) = (log.head(), log.active_end());
    let steps = [encoded(clock_stepped(1)), encoded(clock_stepped(2))];
    log.batch_with(&steps, Flags::NONE, false);
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &head);
    let report = report(directory.path());
    assert_eq!(report.verdict, Verdict::TailUnproven, "{report:#?}");
    assert_eq!(report.head.map(|head| head.sequence), Some(head.newest_sequence));
    assert_eq!(report.axes.meaning.state, AxisState::Proven);
    let tail = report.tail.unwrap();
    assert_eq!((tail.offset, tail.segment), (end, log.active_path()));
}

#[test]
fn bytes_that_no_writer_left_in_this_boot_are_damage_and_not_while_the_log_is_written() {
    let mut log = HandMadeLog::new();
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    flip(&directory.path().join(log.active_path()), log.active_end() + 1_001);
    let same_boot = report_in(directory.path(), OTHER_BOOT);
    assert_eq!(same_boot.verdict, Verdict::Corrupt, "{same_boot:#?}");
    assert_eq!(same_boot.findings.first().unwrap().place.offset, log.active_end() + 1_001);
    assert_eq!(report(directory.path()).verdict, Verdict::TailUnproven);
    let held = std::fs::File::open(directory.path().join("LOCK")).unwrap();
    held.lock().unwrap();
    let writing = report_in(directory.path(), OTHER_BOOT);
    assert_eq!(writing.verdict, Verdict::Intact);
    assert!(writing.being_written);
}

#[test]
fn a_batch_that_is_completed_while_it_is_read_is_read_again() {
    let mut log = HandMadeLog::new();
    log.run();
    let directory = TempDir::new().unwrap();
    let (head, end) = (log.head(), log.active_end());
    log.events(vec![clock_stepped(1), clock_stepped(2)]);
    log.write_with_head(directory.path(), &head);
    let segment = directory.path().join(log.active_path());
    let whole = std::fs::read(&segment).unwrap();
    flip(&segment, end + 70);
    let asked = Cell::new(0);
    let is_locked = || {
        asked.set(asked.get() + 1);
        let is_writing = asked.get() == 2;
        if is_writing {
            std::fs::write(&segment, &whole).unwrap();
        }
        Ok(is_writing)
    };
    let storage = DirectoryStorage::new(directory.path());
    let mut seen = 0;
    let options = ReadOptions::new(OTHER_BOOT, &is_locked);
    let mut count = |_| seen += 1;
    let report = records(&storage, &Filter::default(), options, &mut |_| {}, &mut count).unwrap();
    assert_eq!(report.verdict, Verdict::TailUnproven, "{report:#?}");
    assert_eq!(report.records, log.chain.sequence);
    assert_eq!(seen, log.chain.sequence, "each record once");
    assert_eq!(asked.get(), 3);
}

#[test]
fn an_event_that_the_rules_forbid_is_found_by_its_rule() {
    let mut log = HandMadeLog::new();
    let loop_id = log.run();
    let dispatched = LoopDispatched {
        loop_id: loop_id.as_str().into(),
        attempt: 1,
        permitted_by_fault: None,
        permitted_by_decision: None,
        instruction: None,
    };
    log.events(vec![dispatched.into()]);
    let report = report_of(&log);
    assert_eq!(report.verdict, Verdict::ForbiddenEvents, "{report:#?}");
    assert_eq!(report.axes.integrity.state, AxisState::Proven);
    assert_eq!(report.axes.meaning.state, AxisState::Failed);
    let finding = report.findings.first().unwrap();
    assert_eq!(finding.place.sequence, log.chain.sequence);
    assert_eq!(finding.rule(), Some("LOOP_IS_LIVE"));
    assert_eq!(finding.kind().as_deref(), Some("execution_loop.dispatched"));
}

#[test]
fn a_payload_that_cannot_be_read_is_found_and_what_follows_is_not_judged() {
    let mut log = HandMadeLog::new();
    log.run();
    let known = encoded(clock_stepped(1));
    let mut trailing = known.payload.clone();
    trailing.push(0);
    log.batch(&[Encoded { payload: trailing, ..known }]);
    log.run();
    let report = report_of(&log);
    assert_eq!(report.verdict, Verdict::ForbiddenEvents);
    let names: Vec<_> = report.findings.iter().map(|finding| finding.name()).collect();
    assert_eq!(names, ["undecodable_payload"]);
}

#[test]
fn what_only_a_newer_program_knows_is_not_checked_and_no_finding() {
    let known = encoded(clock_stepped(1));
    for newer in [Encoded { kind: 255, ..known.clone() }, Encoded { version: 9, ..known }] {
        let mut log = HandMadeLog::new();
        log.run();
        log.batch(std::slice::from_ref(&newer));
        log.events(vec![forbidden_dispatch()]);
        let report = report_of(&log);
        assert_eq!((report.verdict, report.findings.len()), (Verdict::Intact, 0), "{report:#?}");
        assert_eq!(report.axes.meaning.state, AxisState::NotChecked);
        assert!(report.axes.meaning.reason.contains("only a newer holdpoint knows"), "{report:#?}");
    }
}

#[test]
fn reducers_whose_states_are_stated_are_named_as_not_checked() {
    let mut log = HandMadeLog::new();
    log.run();
    log.events(vec![reduced("orders"), reduced("orders"), reduced("c; all is proven")]);
    let report = report_of(&log);
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Intact, 0), "{report:#?}");
    let reason = &report.axes.meaning.reason;
    assert!(reason.contains("; not checked: reducer \"c; all is proven\", orders"), "{reason}");
    log.events((0..20).map(|at| reduced(&format!("r{at}"))).collect());
    let reason = report_of(&log).axes.meaning.reason;
    assert!(reason.contains(", r7, r8, r9 and more"), "{reason}");
}

fn reduced(reducer: &str) -> Event {
    ReducerFingerprintRecorded {
        reducer: reducer.into(),
        version: 1,
        encoding: "json".into(),
        covers: 1,
        fingerprint: Digest::from_bytes([7; 32]),
    }
    .into()
}

#[test]
fn opaque_records_are_chained_and_the_rest_is_judged_as_without_them() {
    let mut log = HandMadeLog::new();
    log.run();
    for kind in [32_768, u16::MAX] {
        log.batch(&[Encoded { kind, version: 0, payload: vec![0xff; 9] }]);
    }
    log.run();
    let good = report_of(&log);
    assert_eq!((good.verdict, good.findings.len()), (Verdict::Intact, 0), "{good:#?}");
    assert_eq!(good.axes.meaning.state, AxisState::Proven);
    assert!(good.axes.meaning.reason.contains("chained and not judged: 2"), "{good:#?}");
    log.events(vec![forbidden_dispatch()]);
    assert_eq!(report_of(&log).verdict, Verdict::ForbiddenEvents);
}

/// Of a loop that does not exist.
fn forbidden_dispatch() -> Event {
    let loop_id = "LOOP-000102030405060708090a0b0c0d0e0f";
    LoopDispatched {
        loop_id: loop_id.into(),
        attempt: 1,
        permitted_by_fault: None,
        permitted_by_decision: None,
        instruction: None,
    }
    .into()
}

#[test]
fn a_withheld_record_that_no_event_authorises_is_a_loss() {
    let mut log = HandMadeLog::new();
    log.run();
    log.batch_with(&[encoded(clock_stepped(1))], Flags::WITHHELD, true);
    let report = report_of(&log);
    assert_eq!((report.verdict, report.withheld), (Verdict::Corrupt, 1), "{report:#?}");
    assert_eq!(report.axes.integrity.state, AxisState::Proven);
    assert_eq!(report.axes.completeness.state, AxisState::Failed);
    assert_eq!(report.axes.meaning.state, AxisState::NotChecked);
    assert_eq!(report.findings[0].name(), "withheld");
}

#[test]
fn a_recorded_fingerprint_is_compared_with_the_state_before_it() {
    let mut log = HandMadeLog::new();
    log.run();
    let fingerprint = Digest::from_bytes(log.world.fingerprint());
    let of = |schema, fingerprint| {
        Event::Log(LogEvent::FingerprintRecorded(FingerprintRecorded { schema, fingerprint }))
    };
    log.events(vec![of(STATE_SCHEMA_VERSION, fingerprint)]);
    log.events(vec![of(STATE_SCHEMA_VERSION + 1, Digest::from_bytes([0; 32]))]);
    let good = report_of(&log);
    assert_eq!(good.verdict, Verdict::Intact);
    assert!(good.axes.meaning.reason.contains("1 recorded fingerprint matches"), "{good:#?}");
    assert!(good.axes.meaning.reason.contains("1 of another state schema"), "{good:#?}");
    log.events(vec![of(STATE_SCHEMA_VERSION, fingerprint)]);
    let bad = report_of(&log);
    assert_eq!(bad.verdict, Verdict::ForbiddenEvents);
    assert_eq!(bad.findings[0].rule(), Some("FINGERPRINT"));
}

#[test]
fn nothing_here_is_no_failure_and_says_whether_the_place_is_somebody_elses() {
    let directory = TempDir::new().unwrap();
    for path in [directory.path().to_path_buf(), directory.path().join("missing")] {
        let report = report(&path);
        assert_eq!((report.verdict, report.foreign), (Verdict::NothingHere, false));
        assert!(!report.failed());
    }
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    let report = report(directory.path());
    assert_eq!((report.verdict, report.foreign), (Verdict::NothingHere, true));
}

#[test]
fn a_newer_format_is_an_error_that_names_the_version() {
    let log = HandMadeLog::new();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let head = directory.path().join("HEAD");
    make_newer(&head);
    let storage = DirectoryStorage::new(directory.path());
    let options = ReadOptions::new(THIS_BOOT, &|| Ok(false));
    let error: ReadError = verify(&storage, options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("log format version 2"), "{error}");
}

#[test]
fn a_head_that_witnesses_another_history_is_a_rewrite() {
    let log = two_segments();
    let mut newest_link = log.head().newest_link;
    newest_link.0[0] ^= 1;
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &Head { newest_link, ..log.head() });
    let report = report(directory.path());
    assert_eq!(report.verdict, Verdict::Corrupt);
    assert_eq!(report.findings[0].name(), "rewritten");
}

#[test]
fn of_a_damaged_log_it_is_said_from_where_on_it_is_tied() {
    let (directory, log) = (TempDir::new().unwrap(), two_segments());
    log.write(directory.path());
    let segment = directory.path().join("segments/00000000000000000001.seg");
    flip(&segment, FIRST_RECORD + 20);
    let reach = report(directory.path()).reach;
    assert_eq!((reach.tied_from, reach.segments_tied), (Some(2), 2));
    flip(&segment, FIRST_RECORD + 20);
    flip(&directory.path().join(log.active_path()), log.active_end() - 1);
    let reach = report(directory.path()).reach;
    assert_eq!((reach.tied_from, reach.segments_tied), (None, 1), "HEAD's own record is changed");
}

#[test]
fn damage_before_the_record_of_a_head_kept_outside_is_a_finding_of_a_range_that_it_ties() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    log.run();
    let early = log.head();
    log.roll();
    log.run();
    let (sequence, link) = (log.chain.sequence, log.chain.link);
    let file = directory.path().join(log.active_path());
    log.roll();
    log.run();
    log.write_with_head(directory.path(), &early);
    let storage = DirectoryStorage::new(directory.path());
    let options = ReadOptions::new(THIS_BOOT, &|| Ok(false));
    let kept = OutsideHead { from: "kept".into(), sequence, link, log: None };
    let verified = || {
        let range = "1..2".parse().unwrap();
        verify_range(&storage, range, std::slice::from_ref(&kept), options, &mut |_| {}).unwrap()
    };
    assert_eq!(verified().verdict, Verdict::Intact);
    assert_eq!(verified().reach.witnessed_to, Some(sequence));
    flip(&file, FIRST_RECORD + 20);
    let report = verified();
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Corrupt, 1));
}
