//! What is said of a salvaged log: events behind a place where records were lost are not blamed for
//! lacking them, and everything else is judged as ever.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::List;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::execution_loop::LoopDispatched;
use holdpoint_domain::log::{
    ClockStepped, FingerprintRecorded, LogEvent, RecordRange, RecordsLost, RecordsUnproven,
    Salvaged, UnprovenReason,
};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::{AxisState, ReadOptions, Report, Verdict, verify};
use holdpoint_testing::hand_made::{HandMadeLog, OTHER_BOOT};
use tempfile::TempDir;

fn report_of(log: &HandMadeLog) -> Report {
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let options = ReadOptions::new(OTHER_BOOT, &|| Ok(false));
    verify(&storage, options, &mut |_| {}).unwrap()
}

/// The report that a salvage of `records_kept` records writes first.
fn salvaged(records_kept: u64) -> Event {
    Event::Log(LogEvent::Salvaged(Salvaged {
        source_log: "00".into(),
        source_first_sequence: 1,
        source_last_sequence: records_kept,
        records_kept,
        records_lost: 0,
        bytes_not_kept: 0,
        salvaged_at: Timestamp::default(),
        runs: List::default(),
        runs_total: 0,
        findings: List::default(),
        findings_total: 0,
        last_sequence: 0,
        unproven: List::default(),
    }))
}

/// A place where the records from `first` on are missing; 0: bytes alone.
fn lost(first: u64) -> Event {
    Event::Log(LogEvent::RecordsLost(RecordsLost {
        source_first_sequence: first,
        source_last_sequence: first,
        file: "segments/1.seg".into(),
        offset: 64,
        length: 8,
        copied_to: None,
        problem: "damaged".into(),
    }))
}

/// An event of a loop that nothing began.
fn orphan() -> Event {
    let loop_id = "lost".into();
    let (permitted_by_fault, permitted_by_decision) = (None, None);
    LoopDispatched {
        loop_id,
        attempt: 1,
        permitted_by_fault,
        permitted_by_decision,
        instruction: None,
    }
    .into()
}

fn log_of(events: Vec<Event>) -> Report {
    let mut log = HandMadeLog::new();
    events.into_iter().for_each(|event| log.events(vec![event]));
    report_of(&log)
}

#[test]
fn an_orphan_behind_lost_records_is_a_note_and_the_log_is_intact() {
    let report = log_of(vec![salvaged(1), lost(1), orphan()]);
    assert_eq!((report.verdict, report.findings.len()), (Verdict::Intact, 0), "{report:#?}");
    assert_eq!(report.axes.meaning.state, AxisState::NotChecked);
    assert!(report.axes.meaning.reason.contains("record 2 tells of records lost"), "{report:#?}");
    assert!(!report.notes.is_empty());
    assert!(report.notes.iter().all(|note| note.place.sequence == 3));
    assert!(report.axes.meaning.reason.contains("; 1 event there lacks"), "{report:#?}");
}

#[test]
fn an_orphan_without_lost_records_before_it_is_a_finding() {
    let without = [
        vec![salvaged(1), orphan()],
        vec![salvaged(1), orphan(), lost(2)],
        vec![salvaged(1), lost(0), orphan()],
        vec![lost(1), orphan()],
        vec![lost(1), salvaged(1), orphan()],
    ];
    for events in without {
        let report = log_of(events.clone());
        assert_eq!(report.verdict, Verdict::ForbiddenEvents, "{events:?}");
        assert_eq!(report.axes.meaning.state, AxisState::Failed, "{events:?}");
        assert_eq!(report.notes, [], "{events:?}");
    }
}

#[test]
fn a_report_of_a_salvage_is_forbidden_where_none_made_the_log() {
    let rules = |events: Vec<Event>| {
        let findings = log_of(events).findings.into_iter();
        let rules = findings.map(|it| (it.place.sequence, it.rule().map(|it| it.to_string())));
        rules.collect::<Vec<_>>()
    };
    let found = |sequence| (sequence, Some("SALVAGE_REPORT".to_string()));
    assert_eq!(rules(vec![stepped(), salvaged(0)]), [found(2)]);
    assert_eq!(rules(vec![salvaged(0), lost(0), stepped(), salvaged(0)]), [found(4)]);
    // A salvaged log was salvaged again: its report is one of the copies.
    assert_eq!(rules(vec![salvaged(2), salvaged(1), lost(0), stepped()]), []);
}

fn stepped() -> Event {
    ClockStepped { step_ns: 1 }.into()
}

/// Record 2 is said to be unproven by the one behind it.
fn unproven(reason: UnprovenReason) -> Event {
    RecordsUnproven { first_sequence: 2, last_sequence: 2, reason }.into()
}

fn unproven_of(first_sequence: u64, last_sequence: u64) -> Event {
    RecordsUnproven { first_sequence, last_sequence, reason: UnprovenReason::Damage }.into()
}

#[test]
fn what_is_forbidden_among_records_that_are_said_to_be_unproven_is_a_note() {
    for reason in [UnprovenReason::Damage, UnprovenReason::NoWitness] {
        let report = log_of(vec![salvaged(1), orphan(), unproven(reason)]);
        assert_eq!(report.verdict, Verdict::UnprovenRecords, "{report:#?}");
        assert_eq!(report.findings, []);
        assert!(report.notes.iter().all(|note| note.place.sequence == 2));
        assert!(report.axes.meaning.reason.contains("record 2 is unproven"), "{report:#?}");
    }
    let report = log_of(vec![salvaged(1), lost(0), unproven(UnprovenReason::NoWitness), orphan()]);
    assert_eq!(report.verdict, Verdict::ForbiddenEvents, "{report:#?}");
    let report = log_of(vec![salvaged(1), lost(0), unproven(UnprovenReason::NoWitness)]);
    assert_eq!(report.axes.meaning.state, AxisState::Proven, "{report:#?}");
}

#[test]
fn more_unproven_events_than_are_shown_are_notes_all_of_them() {
    let mut log = HandMadeLog::new();
    log.events(vec![salvaged(2_000)]);
    log.events((0..2_000).map(|_| orphan()).collect());
    let (reason, first_sequence) = (UnprovenReason::NoWitness, 2);
    log.events(vec![RecordsUnproven { first_sequence, last_sequence: 2_001, reason }.into()]);
    let report = report_of(&log);
    assert_eq!(report.verdict, Verdict::UnprovenRecords, "{:?}", report.findings.first());
    assert_eq!((report.findings.len(), report.findings_left_out), (0, 0));
    assert!(report.notes_left_out > 0);
}

#[test]
fn a_log_that_ends_before_what_its_report_names_was_cut_off() {
    let Event::Log(LogEvent::Salvaged(body)) = salvaged(2) else { panic!("a report") };
    let unproven = [RecordRange { first_sequence: 2, last_sequence: 3 }].into_iter().collect();
    let body = Salvaged { last_sequence: 4, unproven, ..body };
    let events = vec![body.into(), lost(0), lost(0), unproven_of(2, 3)];
    let whole = log_of(events.clone());
    assert_eq!((whole.verdict, whole.findings.len()), (Verdict::UnprovenRecords, 0), "{whole:#?}");
    for count in 1..events.len() {
        let report = log_of(events[..count].to_vec());
        let found = (report.verdict, report.findings.len(), report.axes.completeness.state);
        assert_eq!(found, (Verdict::Corrupt, 1, AxisState::Failed), "{report:#?}");
        assert_eq!(report.findings[0].place.sequence, count as u64 + 1);
        assert!(report.reach.says_unproven(2, 3) && !report.reach.says_unproven(1, 1));
    }
}

#[test]
fn lost_records_at_the_end_leave_everything_judged() {
    let mut log = HandMadeLog::new();
    log.events(vec![salvaged(20)]);
    log.run();
    log.events(vec![lost(21)]);
    let report = report_of(&log);
    assert_eq!(report.axes.meaning.state, AxisState::Proven, "{report:#?}");
}

#[test]
fn a_fingerprint_of_the_old_log_is_not_checked_and_one_of_the_new_log_is() {
    let fingerprint = Digest::from_bytes([9; 32]);
    let of = |schema| {
        Event::Log(LogEvent::FingerprintRecorded(FingerprintRecorded { schema, fingerprint }))
    };
    let copied = log_of(vec![salvaged(1), of(0)]);
    assert_eq!(copied.verdict, Verdict::Intact, "{copied:#?}");
    assert!(copied.axes.meaning.reason.contains("or log were not checked"), "{copied:#?}");
    let appended = log_of(vec![salvaged(1), of(0), of(STATE_SCHEMA_VERSION)]);
    assert_eq!(appended.verdict, Verdict::ForbiddenEvents);
    assert_eq!(appended.findings[0].place.sequence, 3);
}
