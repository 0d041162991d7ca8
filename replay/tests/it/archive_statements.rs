//! What a log states of a move to an archive that its HEAD does not carry out is true, or a finding
//! of `verify`: an interrupted move leaves such a statement, and so does whoever prepares a false
//! beginning.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::log::{HistoryArchived, SegmentIndexed};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, Head, names};
use holdpoint_log_index::layout::INDEX_VERSION;
use holdpoint_replay::archives::with_archives;
use holdpoint_replay::{ReadOptions, Report, Verdict, verify, verify_together};
use holdpoint_testing::hand_made::{HandMadeLog, change_head};
use tempfile::TempDir;

type Change = fn(&mut HistoryArchived);

/// What `verify` says of a log that was to be moved up to its first roll, as it states, and is
/// whole.
fn verified(change: Change) -> (Report, u64) {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    (0..3).for_each(|_| drop(log.run()));
    let (anchor, state) = (log.chain, log.world.clone());
    log.roll();
    log.run();
    let mut stated = HistoryArchived {
        first_sequence: 1,
        anchor_sequence: anchor.sequence,
        anchor_link: Digest::from_bytes(anchor.link.0),
        archived_to: directory.path().join("archive").to_string_lossy().into_owned().into(),
        state_schema: STATE_SCHEMA_VERSION,
        state_fingerprint: Digest::from_bytes(state.fingerprint()),
        state: RawData::from(state.carry()).into(),
    };
    change(&mut stated);
    log.events(vec![Event::from(stated)]);
    log.write(directory.path());
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let storage = with_archives(DirectoryStorage::new(directory.path()), Vec::new());
    (verify(&storage, options, &mut |_| {}).unwrap(), log.chain.sequence)
}

#[test]
fn a_move_that_was_stated_and_interrupted_leaves_an_intact_log() {
    let (report, newest) = verified(|_| {});
    assert_eq!((report.verdict, report.findings), (Verdict::Intact, vec![]));
    assert_eq!(report.records, newest);
}

/// Nothing is read there unless it fits: a path leads to an archive and proves nothing.
#[test]
fn a_path_that_leads_nowhere_makes_no_statement_false() {
    for change in [(|it| it.archived_to = "/nowhere".into()) as Change, |it| {
        it.archived_to = "../\u{1b}[2J".into();
    }] {
        assert_eq!(verified(change).0.verdict, Verdict::Intact);
    }
}

#[test]
fn every_false_statement_of_a_move_is_a_finding_at_the_record_that_makes_it() {
    let changes: [(&str, Change); 7] = [
        ("another link", |it| it.anchor_link = Digest::from_bytes([7; 32])),
        ("a record inside a segment", |it| it.anchor_sequence -= 1),
        ("a record inside the next segment", |it| it.anchor_sequence += 1),
        ("a record that comes later", |it| it.anchor_sequence += 1_000),
        ("no record", |it| it.first_sequence = it.anchor_sequence + 1),
        ("another state", |it| it.state_fingerprint = Digest::from_bytes([7; 32])),
        ("no state", |it| it.state = RawData::from(vec![7; 40]).into()),
    ];
    for (what, change) in changes {
        let (report, newest) = verified(change);
        let places: Vec<_> =
            report.findings.iter().map(|it| (it.name(), it.place.sequence)).collect();
        assert_eq!(places, [("false_archive_statement", newest)], "{what}");
        assert_eq!(report.verdict, Verdict::ForbiddenEvents, "{what}");
    }
}

#[test]
fn a_false_statement_about_an_index_is_found_in_an_archive_that_is_verified_with_its_log() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    let [archive, path] = ["archive", "log"].map(|name| directory.path().join(name));
    log.run();
    let last_sequence = log.chain.sequence;
    log.roll();
    let digest = Digest::from_bytes([7; 32]);
    let stated = SegmentIndexed { first_sequence: 1, last_sequence, format: INDEX_VERSION, digest };
    log.events(vec![stated.into()]);
    let anchor = log.chain;
    log.roll();
    log.write(&archive);
    std::fs::remove_file(archive.join(log.active_path())).unwrap();
    std::fs::write(archive.join(names::ARCHIVE), "").unwrap();
    log.run();
    log.write(&path);
    change_head(&path, |head| Head {
        anchor_sequence: anchor.sequence,
        anchor_link: anchor.link,
        ..head
    });
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let (archive, log) = (DirectoryStorage::new(archive), DirectoryStorage::new(path));
    let both = verify_together((&archive, options), (&log, options), &mut |_| {}).unwrap();
    let found: Vec<_> = both.archive.findings.iter().map(|it| it.name()).collect();
    assert_eq!(found, ["false_index_statement"]);
}
