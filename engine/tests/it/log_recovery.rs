//! Recovery: every state in which a crash or damage can leave a log is met by the row of the table
//! that FORMAT.md names; nothing acknowledged is lost, nothing is cut that was not copied, and a
//! log that is refused is left as it was, byte for byte.

use holdpoint_engine::log::{Level, NewRecord, OpenError, OpenReport};
use holdpoint_log_format::recovery::{OpenAction, Row};
use holdpoint_log_format::{BootId, ChainPosition, Head, OwnerState};
use holdpoint_testing::log as log_support;
use holdpoint_testing::log::faulty::{Call, Failure, FaultyStorage};
use holdpoint_testing::log::image::Image;
use holdpoint_testing::log::{
    Random, append, append_each, content_of, memory_directory, open, open_reporting, quiet,
    read_whole, record, records_of, segments_of, survey_whole, this_boot, try_open,
};
use std::path::Path;

const SECTOR: usize = 512;
const PAGE: usize = 4_096;
const OTHER_BOOT: BootId = BootId([0x77; 16]);
const FIRST: &str = "segments/00000000000000000001.seg";

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// A log in which `before` bytes of one record are durable and witnessed, then the same with a
/// batch of payloads of `lengths` written behind it and not synced; and where each record of the
/// batch ends.
fn durable_and_written(before: usize, lengths: &[usize]) -> (Image, Image, Vec<usize>) {
    let directory = memory_directory();
    let log = open(directory.path(), quiet());
    append_each(&log, 1..3, 10);
    append(&log, 3, before);
    log.close().unwrap();
    let durable = Image::of(directory.path());
    let log = open(directory.path(), quiet());
    let batch: Vec<NewRecord> = lengths.iter().map(|length| record(4, *length)).collect();
    log.append(&batch, 4, Level::Os).unwrap();
    let written = Image::of(directory.path());
    let (_, records) = read_whole(directory.path());
    let bounds = records[2..].iter().map(|stored| usize_of(stored.offset + stored.length));
    (durable, written, bounds.collect())
}

/// Whether FORMAT.md calls a batch whose items end at `bounds`, zero from `cut` on, unfinished: a
/// multiple of 4 096 at or behind the cut lies inside the item that is cut, or at its start.
fn is_unfinished(bounds: &[usize], cut: usize) -> bool {
    let item = bounds.windows(2).find(|item| item[0] <= cut && cut < item[1]).unwrap();
    let at_start = cut == item[0] && item[0].is_multiple_of(PAGE);
    at_start || (cut > item[0] && cut.next_multiple_of(PAGE) < item[1])
}

#[test]
fn crash_a_batch_torn_at_any_sector_is_cut_or_refused_as_the_table_says() {
    let lengths = [3_000, 2_000, 6_000, 100];
    let mut seen = [0, 0, 0];
    for before in [10, 900, 3_800] {
        let (_, written, bounds) = durable_and_written(before, &lengths);
        let (start, end) = (bounds[0], bounds[4]);
        for cut in (start..end).filter(|cut| cut.is_multiple_of(SECTOR)) {
            let mut torn = written.clone();
            torn.file(FIRST)[cut..].fill(0);
            torn.set_owner(OwnerState::InTransaction, OTHER_BOOT);
            assert_cut(&torn, start, cut);
            torn.set_owner(OwnerState::InTransaction, this_boot());
            let unfinished = is_unfinished(&bounds, cut);
            if unfinished {
                assert_cut(&torn, start, cut);
            } else {
                assert_refused(&torn, Row::DamagedTail);
            }
            torn.set_owner(OwnerState::Idle, this_boot());
            assert_refused(&torn, Row::DamagedTail);
            seen[usize::from(unfinished)] += 1;
            seen[2] += usize::from(cut.is_multiple_of(PAGE));
        }
    }
    assert!(seen.iter().all(|count| *count >= 6), "{seen:?}");
}

/// Opening copies the tail from `start` on aside, zeroes it, and finds nothing to do the next time.
fn assert_cut(torn: &Image, start: usize, cut: usize) {
    let directory = memory_directory();
    torn.restore(directory.path());
    let before = std::fs::read(directory.path().join(FIRST)).unwrap();
    let bytes = &before[start..cut];
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert_eq!(survey_whole(directory.path()).row, Row::TornTail);
    let (log, report) = open_reporting(directory.path(), quiet());
    let recovered = &report.recovered;
    assert_eq!((recovered.cut_bytes, recovered.cut_offset), (end as u64, start as u64));
    assert_eq!((recovered.proven_sequence, recovered.newest_sequence), (3, 3));
    let copy = directory.path().join(recovered.copied_to.as_ref().unwrap());
    assert!(std::fs::read(copy).unwrap() == bytes[..end]);
    let segment = std::fs::read(directory.path().join(FIRST)).unwrap();
    assert!(segment[..start] == before[..start]);
    assert!(segment[start..].iter().all(|byte| *byte == 0) && segment.len() == 65_536);
    log.close().unwrap();
    let after = content_of(directory.path());
    let (log, again) = open_reporting(directory.path(), quiet());
    assert_eq!((again.recovered.cut_bytes, again.recovered.rewritten_bytes), (0, 0));
    log.close().unwrap();
    assert!(content_of(directory.path()) == after);
    assert_eq!(append(&open(directory.path(), quiet()), 9, 30), 4);
    assert_eq!(records_of(directory.path()).len(), 4);
}

/// Opening refuses by this row and changes nothing.
fn assert_refused(image: &Image, row: Row) {
    let directory = memory_directory();
    image.restore(directory.path());
    assert_eq!(survey_whole(directory.path()).row, row);
    match try_open(directory.path(), quiet()).map(drop) {
        Err(OpenError::Refused { row: found, ref findings, .. }) => {
            assert_eq!(found, row);
            assert!(!findings.is_empty(), "{row:?}");
        }
        Err(OpenError::Foreign { .. }) => assert_eq!(row, Row::Foreign),
        other => panic!("{row:?}: {other:?}"),
    }
    assert!(Image::of(directory.path()) == *image, "{row:?} changed the directory");
}

// ---- Power loss --------------------------------------------------------------------------------

#[test]
fn crash_any_subset_of_unsynced_sectors_loses_nothing_that_was_synced() {
    let mut random = Random::new();
    let (durable, written, bounds) = durable_and_written(777, &[3_000, 20, 5_000, 1_000, 9_000]);
    let (start, end) = (bounds[0], bounds[5]);
    let synced = records_in(&durable);
    for _ in 0..150 {
        let mut survived = durable.clone();
        let mut whole = true;
        for at in (start / SECTOR * SECTOR..end).step_by(SECTOR) {
            if random.flips() {
                let sector = written.clone().file(FIRST)[at..at + SECTOR].to_vec();
                survived.file(FIRST)[at..at + SECTOR].copy_from_slice(&sector);
            } else {
                whole = false;
            }
        }
        survived.set_owner(OwnerState::InTransaction, OTHER_BOOT);
        let directory = memory_directory();
        survived.restore(directory.path());
        let (log, report) = open_reporting(directory.path(), quiet());
        assert_eq!(report.position.sequence, if whole { 8 } else { 3 });
        append(&log, 9, 10);
        log.close().unwrap();
        assert!(records_of(directory.path()).starts_with(&synced));
    }
}

fn records_in(image: &Image) -> Vec<log_support::Stored> {
    let directory = memory_directory();
    image.restore(directory.path());
    records_of(directory.path())
}

#[test]
fn crash_again_while_a_tail_is_cut_changes_no_verdict_and_loses_no_copy() {
    let (_, written, bounds) = durable_and_written(10, &[3_000, 2_000, 6_000]);
    let mut torn = written;
    torn.file(FIRST)[2 * PAGE..].fill(0);
    torn.set_owner(OwnerState::InTransaction, this_boot());
    let tail = torn.file(FIRST)[bounds[0]..2 * PAGE].to_vec();
    for call in [Call::Write, Call::Sync, Call::SyncDirectory, Call::Create] {
        for (number, takes_effect) in (1..12).flat_map(|n| [(n, false), (n, true)]) {
            let directory = memory_directory();
            torn.restore(directory.path());
            let storage = FaultyStorage::new(directory.path());
            let kind = std::io::ErrorKind::Other;
            storage.fail(Some(Failure { call, number, takes_effect, kind, on: "", lasts: false }));
            let opened = holdpoint_engine::log::Log::open(storage.clone(), quiet());
            assert_eq!(opened.is_err(), storage.hits() > 0, "{call:?} {number}");
            drop(opened);
            assert_whole_after(directory.path(), &tail);
        }
    }
}

/// The log is opened, holds the three records, and a copy holds the tail.
fn assert_whole_after(directory: &Path, tail: &[u8]) {
    let (log, report) = open_reporting(directory, quiet());
    assert_eq!(report.position.sequence, 3);
    log.close().unwrap();
    assert_eq!(survey_whole(directory).row, Row::Clean);
    let copies = content_of(&directory.join("cut"));
    assert!(copies.values().any(|copy| copy == tail), "{} copies", copies.len());
}

#[test]
fn crash_while_zeros_were_written_over_a_tail_is_met_as_the_torn_write_that_it_was() {
    let mut random = Random::new();
    let (_, mut torn, bounds) = durable_and_written(10, &[3_000, 2_000, 6_000]);
    torn.file(FIRST)[2 * PAGE..].fill(0);
    torn.set_owner(OwnerState::Recovering, this_boot());
    for _ in 0..40 {
        let mut mixed = torn.clone();
        for at in (bounds[0].next_multiple_of(SECTOR)..2 * PAGE).step_by(SECTOR) {
            if random.flips() {
                mixed.file(FIRST)[at..at + SECTOR].fill(0);
            }
        }
        let directory = memory_directory();
        mixed.restore(directory.path());
        assert_eq!(survey_whole(directory.path()).row, Row::TornTail);
        let (_, report) = open_reporting(directory.path(), quiet());
        assert_eq!(report.position.sequence, 3);
    }
}

#[test]
fn what_no_mark_covers_is_written_again_after_a_reboot_and_not_after_a_clean_leave() {
    let (_, mut image, bounds) = durable_and_written(10, &[100, 200]);
    let unproven = (bounds[2] - bounds[0]) as u64;
    let cases = [
        (OwnerState::Idle, OTHER_BOOT),
        // It said itself that it had not synced the last batch.
        (OwnerState::Idle, this_boot()),
        (OwnerState::Poisoned, this_boot()),
        (OwnerState::Recovering, this_boot()),
        (OwnerState::InTransaction, this_boot()),
    ];
    for (state, boot) in cases {
        image.set_owner(state, boot);
        let directory = memory_directory();
        image.restore(directory.path());
        assert_eq!(survey_whole(directory.path()).row, Row::CleanUnproven);
        let (log, report) = open_reporting(directory.path(), quiet());
        assert_eq!(report.recovered.rewritten_bytes, unproven, "{state:?}");
        assert_eq!((report.recovered.proven_sequence, report.position.sequence), (3, 5));
        log.close().unwrap();
        let (_, again) = open_reporting(directory.path(), quiet());
        assert_eq!(again.recovered.rewritten_bytes, 0);
    }
}

#[test]
fn names_are_made_durable_for_an_owner_who_did_not_leave_cleanly() {
    let (_, mut image, _) = durable_and_written(10, &[100]);
    image.set_owner(OwnerState::InTransaction, this_boot());
    image.0.insert("segments/00000000000000000009.prepared".into(), vec![0; 65_536]);
    for on in ["segments", ""] {
        let directory = memory_directory();
        image.restore(directory.path());
        let storage = FaultyStorage::new(directory.path());
        let (call, kind) = (Call::SyncDirectory, std::io::ErrorKind::Other);
        let failure = Failure { call, number: 1, takes_effect: false, kind, on, lasts: true };
        storage.fail(Some(failure));
        assert!(holdpoint_engine::log::Log::open(storage.clone(), quiet()).is_err(), "{on}");
        open(directory.path(), quiet()).close().unwrap();
        let left = std::fs::read_dir(directory.path().join("segments")).unwrap().count();
        assert_eq!((left, survey_whole(directory.path()).row), (1, Row::Clean));
    }
}

// ---- Damage below a mark -----------------------------------------------------------------------

#[test]
fn damage_below_head_is_refused_and_located_or_found_by_whoever_reads_it() {
    let (mut image, _, _) = durable_and_written(500, &[1]);
    image.set_owner(OwnerState::Idle, OTHER_BOOT);
    let records = records_in(&image);
    for (index, stored) in records.iter().enumerate() {
        let mut damaged = image.clone();
        damaged.file(FIRST)[usize_of(stored.offset) + 66] ^= 0x10;
        let directory = memory_directory();
        damaged.restore(directory.path());
        let survey = survey_whole(directory.path());
        assert_eq!(survey.row, Row::BelowMark);
        let place = &survey.findings[0].place;
        assert_eq!((place.offset, place.sequence), (stored.offset, index as u64 + 1));
        if index + 1 == records.len() {
            assert_refused(&damaged, Row::BelowMark);
            damaged.remove("LOCK");
            assert_refused(&damaged, Row::BelowMark);
        }
    }
}

#[test]
fn head_follows_at_opening_also_when_the_newest_record_is_in_the_segment_before() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let log = holdpoint_engine::log::Log::open(storage.clone(), quiet()).unwrap().0;
    append(&log, 1, 60_000);
    let call = Call::SyncDirectory;
    let (number, takes_effect, kind) = (1, true, std::io::ErrorKind::Other);
    storage.fail(Some(Failure { call, number, takes_effect, kind, on: "segments", lasts: false }));
    assert!(log.append(&[record(2, 60_000)], 1, Level::Always).is_err());
    drop(log);
    assert_eq!(segments_of(directory.path()).len(), 2);
    assert_eq!(survey_whole(directory.path()).head.valid().unwrap().newest_sequence, 0);
    open(directory.path(), quiet()).close().unwrap();
    let survey = survey_whole(directory.path());
    let head = survey.head.valid().unwrap();
    assert_eq!((head.newest_sequence, head.segment, survey.row), (1, 1, Row::Clean));
    let image = Image::of(directory.path());
    let mut cut = image.clone();
    cut.remove("segments/00000000000000000002.seg");
    cut.file(FIRST)[4_096..].fill(0);
    assert_refused(&cut, Row::ShortOfHead);
}

// ---- Every row of the table --------------------------------------------------------------------

/// A log of a sealed segment with records 1 to 3 and an active one with 4 and 5, closed.
/// Whoever left it knew of no record that it was durable.
fn two_segments() -> Image {
    let directory = memory_directory();
    let log = open(directory.path(), quiet());
    append_each(&log, 1..4, 15_000);
    append_each(&log, 4..6, 30_000);
    log.close().unwrap();
    let mut image = Image::of(directory.path());
    assert_eq!(image.segments().len(), 2);
    image.set_durable(0);
    image
}

const SECOND: &str = "segments/00000000000000000004.seg";

/// A file of zeros under the name of a segment.
fn put_blank(image: &mut Image, first: u64) {
    image.0.insert(format!("segments/{first:020}.seg").into(), vec![0; 65_536]);
}

fn change_head(image: &mut Image, change: impl FnOnce(Head) -> Head) {
    let head = Head::decode(image.file("HEAD")).unwrap();
    *image.file("HEAD") = change(head).encode().to_vec();
}

/// HEAD as it was when `sequence` was the newest record.
fn set_head(image: &mut Image, sequence: u64) {
    let records = records_in(image);
    let stored = &records[usize_of(sequence) - 1];
    change_head(image, |head| Head {
        newest_sequence: sequence,
        newest_link: stored.header.link,
        segment: stored.segment,
        record_offset: stored.offset,
        end_offset: stored.offset + stored.length,
        ..head
    });
}

fn set_head_at_anchor(image: &mut Image) {
    change_head(image, |head| {
        Head::at_anchor(head.log, &ChainPosition::genesis(head.log), head.boot)
    });
}

fn seal_offset(image: &mut Image) -> usize {
    let bytes = image.file(SECOND).first_chunk().copied().unwrap();
    usize_of(holdpoint_log_format::SegmentHeader::decode(&bytes).unwrap().previous_seal_offset)
}

type Change = fn(&mut Image);

/// A row, what is done to the two segments so that it matches, and how.
type Case = (Row, &'static str, Change);

fn cases() -> Vec<Case> {
    [without_a_log_or_witness(), with_damage(), with_an_end()].concat()
}

/// Rows 0 to 3: what is there.
fn without_a_log_or_witness() -> Vec<Case> {
    vec![
        (Row::Nothing, "no file", |image| image.0.clear()),
        (Row::Foreign, "a file of somebody else", |image| {
            image.0.clear();
            image.0.insert("notes".into(), vec![1]);
        }),
        (Row::Layout, "a segment under another name", |image| {
            let bytes = image.file(SECOND).clone();
            image.0.insert("segments/00000000000000000009.seg".into(), bytes);
        }),
        (Row::Layout, "the first segment is gone", |image| image.remove(FIRST)),
        (Row::Layout, "every segment is gone but a blank one above HEAD", |image| {
            image.remove(FIRST);
            image.remove(SECOND);
            put_blank(image, 6);
        }),
        (Row::Layout, "a segment is gone before a blank one", |image| {
            set_head(image, 3);
            image.remove(SECOND);
            put_blank(image, 6);
        }),
        (Row::Layout, "a blank segment below the newest record", |image| {
            set_head(image, 1);
            image.remove(SECOND);
            put_blank(image, 2);
        }),
        (Row::Layout, "HEAD of another log", |image| {
            *image.file("HEAD") = two_segments().file("HEAD").clone();
        }),
        (Row::Layout, "a segment of another log", |image| {
            *image.file(SECOND) = two_segments().file(SECOND).clone();
        }),
        (Row::NoWitness, "no HEAD", |image| image.remove("HEAD")),
        (Row::NoWitness, "a damaged HEAD", |image| image.file("HEAD")[90] ^= 1),
        (Row::NoWitness, "a longer HEAD", |image| image.file("HEAD").push(0)),
        (Row::NoSegments, "no segments", |image| {
            image.remove(FIRST);
            image.remove(SECOND);
        }),
        (Row::NoSegments, "no segments, a damaged HEAD", |image| {
            image.remove(FIRST);
            image.remove(SECOND);
            image.file("HEAD")[0] ^= 1;
        }),
        (Row::NoSegments, "no segments, HEAD at the end of an archive", |image| {
            change_head(image, |head| {
                let (anchor_sequence, anchor_link) = (head.newest_sequence, head.newest_link);
                Head { anchor_sequence, anchor_link, ..head }
            });
            image.remove(FIRST);
            image.remove(SECOND);
        }),
        (Row::UnfinishedCreation, "no segments, HEAD at its anchor", |image| {
            set_head_at_anchor(image);
            image.remove(FIRST);
            image.remove(SECOND);
        }),
    ]
}

/// Rows 4 to 8: headers, seals, marks, shapes.
fn with_damage() -> Vec<Case> {
    vec![
        (Row::BlankSegment, "a blank last segment above every mark", |image| {
            set_head(image, 3);
            image.file(SECOND).fill(0);
        }),
        (Row::BlankSegment, "a blank segment behind the anchor, and one before it", |image| {
            set_head_at_anchor(image);
            image.remove(SECOND);
            image.file(FIRST).fill(0);
            put_blank(image, 0);
        }),
        (Row::BlankSegment, "an empty last file above every mark", |image| {
            set_head(image, 3);
            image.file(SECOND).clear();
        }),
        (Row::BelowMark, "a record before a blank last segment is zero", |image| {
            set_head(image, 2);
            let at = usize_of(records_in(image)[2].offset);
            image.file(FIRST)[at..].fill(0);
            image.file(SECOND).fill(0);
        }),
        (Row::BelowMark, "a damaged record before a blank last segment", |image| {
            set_head(image, 3);
            image.file(SECOND).fill(0);
            let at = usize_of(records_in(&two_segments())[2].offset);
            image.file(FIRST)[at + 100] ^= 1;
        }),
        (Row::LastHeaderBad, "a blank last segment below HEAD", |image| {
            image.file(SECOND).fill(0);
        }),
        (Row::LastHeaderBad, "a damaged last header", |image| image.file(SECOND)[4_000] ^= 1),
        (Row::EarlierSegment, "a damaged earlier header", |image| image.file(FIRST)[50] ^= 1),
        (Row::EarlierSegment, "a damaged seal", |image| {
            let at = seal_offset(image);
            image.file(FIRST)[at + 20] ^= 1;
        }),
        (Row::EarlierSegment, "a shorter sealed segment", |image| {
            image.file(FIRST).truncate(65_000);
        }),
        (Row::Rewritten, "another link at HEAD", |image| {
            let newest_link = holdpoint_log_format::Link([9; 32]);
            change_head(image, |head| Head { newest_link, ..head });
        }),
        (Row::ShortOfHead, "the newest record is zero", |image| {
            let at = usize_of(records_in(image)[4].offset);
            image.file(SECOND)[at..].fill(0);
        }),
        (Row::ShortOfHead, "the last segment is gone", |image| image.remove(SECOND)),
        (Row::Shape, "a longer last segment", |image| image.file(SECOND).push(0)),
        (Row::Shape, "a shorter last segment", |image| image.file(SECOND).truncate(131_071)),
        (Row::Shape, "bytes behind the last seal", |image| {
            set_head(image, 3);
            image.remove(SECOND);
            *image.file(FIRST).last_mut().unwrap() = 1;
        }),
    ]
}

/// Rows 9 to 12: how it ends.
fn with_an_end() -> Vec<Case> {
    vec![
        (Row::SealedLast, "a seal and no successor", |image| {
            set_head(image, 3);
            image.remove(SECOND);
        }),
        (Row::Clean, "nothing", |_| {}),
        (Row::Clean, "an older HEAD in the segment before", |image| {
            set_head(image, 2);
            let at = usize_of(records_in(image)[3].offset);
            image.file(SECOND)[at..].fill(0);
        }),
        (Row::CleanUnproven, "an older HEAD", |image| set_head(image, 3)),
        (Row::DamagedTail, "a byte behind the newest record", |image| {
            image.file(SECOND)[100_000] = 1;
        }),
        (Row::TornTail, "the same after a reboot", |image| {
            image.file(SECOND)[100_000] = 1;
            image.set_owner(OwnerState::Idle, OTHER_BOOT);
        }),
        (Row::TornTail, "the same without LOCK", |image| {
            image.file(SECOND)[100_000] = 1;
            image.remove("LOCK");
        }),
    ]
}

#[test]
fn table_every_row_is_met_by_a_directory_and_acted_on() {
    let mut rows: Vec<Row> = cases().into_iter().map(|(row, _, _)| row).collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 18, "{rows:?}");
    for (row, what, change) in cases() {
        let mut image = two_segments();
        change(&mut image);
        if matches!(row.action(), OpenAction::Refuse | OpenAction::RefuseUnlessWithoutHead) {
            assert_refused(&image, row);
        } else {
            assert_opened(&image, row, what);
        }
    }
}

/// Opening leads to a log that holds every record that was valid, and that goes on.
fn assert_opened(image: &Image, row: Row, what: &str) {
    let directory = memory_directory();
    image.restore(directory.path());
    let (survey, valid) = read_whole(directory.path());
    assert_eq!(survey.row, row, "{what}");
    let (log, report) = open_reporting(directory.path(), quiet());
    assert_eq!(report.position.sequence, valid.len() as u64, "{what}");
    append(&log, 9, 10);
    log.close().unwrap();
    assert!(records_of(directory.path()).starts_with(&valid), "{what}");
    let after = survey_whole(directory.path());
    assert_eq!(after.row, Row::Clean, "{what}");
    assert_eq!(after.head.valid().unwrap().newest_sequence, valid.len() as u64 + 1, "{what}");
}

#[test]
fn a_refusal_leaves_also_a_log_without_lock_as_it_was() {
    for (row, what, change) in cases() {
        let mut image = two_segments();
        change(&mut image);
        let owner_decides = matches!(row, Row::DamagedTail | Row::Foreign);
        if row.action() == OpenAction::Refuse && !owner_decides {
            image.remove("LOCK");
            assert_refused(&image, row);
            assert!(!image.0.contains_key(Path::new("LOCK")), "{what}");
        }
    }
}

#[test]
fn without_head_a_log_opens_only_when_told_and_the_report_says_so() {
    let damages: [Change; 2] = [|image| image.remove("HEAD"), |image| image.file("HEAD").push(7)];
    for damage in damages {
        let mut image = two_segments();
        damage(&mut image);
        assert_refused(&image, Row::NoWitness);
        let directory = memory_directory();
        image.restore(directory.path());
        let told = quiet().without_head(true);
        let (log, report): (_, OpenReport) = try_open(directory.path(), told.clone()).unwrap();
        assert!(report.recovered.without_head);
        append(&log, 6, 10);
        log.close().unwrap();
        assert_eq!(survey_whole(directory.path()).row, Row::Clean);
        assert!(!try_open(directory.path(), told.clone()).unwrap().1.recovered.without_head);
        let at = usize_of(records_in(&two_segments())[4].offset);
        image.file(SECOND)[at + 100] ^= 1;
        image.set_owner(OwnerState::Idle, this_boot());
        image.restore(directory.path());
        let refused = try_open(directory.path(), told).map(drop);
        assert!(matches!(refused, Err(OpenError::Refused { .. })), "{refused:?}");
    }
}
