//! The archive of a log's first records is found where the log says that it is.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::log::HistoryArchived;
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{DirectoryStorage, ReadStorage};
use holdpoint_log_format::{ChainPosition, Head, names};
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_log_index::{IndexBuilder, IndexedRecord, TermHash};
use holdpoint_replay::archives::with_archives;
use holdpoint_testing::hand_made::{HandMade, change_head};
use holdpoint_testing::log::segments_of;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, origin};
use std::fs;
use tempfile::TempDir;

/// An index that is whole and names nothing, as anybody can make one.
fn doctored(storage: &DirectoryStorage, first: u64) -> Vec<u8> {
    let header = read_header(storage, first).unwrap().unwrap();
    let before = header.previous.link;
    let mut builder = IndexBuilder::new(header.log, first, before, TERMS_VERSION);
    let record = IndexedRecord { sequence: first, offset: 4_096, time: 1, link: before };
    builder.add(&record, &[TermHash(1)], &[], None).unwrap();
    builder.finish().unwrap()
}

#[test]
fn an_archive_is_found_although_a_doctored_index_hides_what_names_it() {
    let place = Place::new();
    let engine = place.engine();
    for content in 1.. {
        engine.submit(&origin(), &small(content)).unwrap();
        if segments_of(&place.log()).len() > 2 {
            break;
        }
    }
    let archive = DirectoryStorage::new(place.beside("archive"));
    let moved = engine.archive(&archive, Default::default()).unwrap();
    engine.close().unwrap();
    let (first, last) = moved.moved.unwrap();
    for segment in segments_of(&place.log()) {
        let first = names::parse_segment(segment.file_name().unwrap().to_str().unwrap()).unwrap();
        fs::write(place.log().join(index_path(first)), doctored(&place.storage(), first)).unwrap();
    }
    let log = with_archives(place.storage(), Vec::new());
    log.look().unwrap();
    assert!(log.unread().is_none());
    let archives = log.archives();
    let [found] = archives.all() else { panic!("{archives:?}") };
    assert_eq!((found.first, found.last), (first, last.sequence));
}

/// A statement that some records were moved, whatever the state was.
fn moved_to(archive: &std::path::Path, anchor: ChainPosition) -> Vec<Event> {
    vec![Event::from(HistoryArchived {
        first_sequence: 1,
        anchor_sequence: anchor.sequence,
        anchor_link: Digest::from_bytes(anchor.link.0),
        archived_to: archive.to_string_lossy().into_owned().into(),
        state_schema: 0,
        state_fingerprint: Digest::from_bytes([0; 32]),
        state: RawData::from(Vec::new()).into(),
    })]
}

#[test]
fn an_archive_is_found_although_an_index_names_another_place_and_a_doctored_one_hides_it() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMade::new());
    let [archive, path] = ["archive", "log"].map(|name| directory.path().join(name));
    log.run();
    let anchor = log.chain;
    log.roll();
    log.write(&archive);
    fs::remove_file(archive.join(log.active_path())).unwrap();
    fs::write(archive.join(names::ARCHIVE), "").unwrap();
    log.events(moved_to(&directory.path().join("nowhere"), anchor));
    let between = log.chain.sequence + 1;
    log.roll();
    log.events(moved_to(&archive, anchor));
    log.roll();
    log.run();
    log.write(&path);
    fs::remove_file(path.join(segment_path(1))).unwrap();
    change_head(&path, |head| Head {
        anchor_sequence: anchor.sequence,
        anchor_link: anchor.link,
        ..head
    });
    let storage = DirectoryStorage::new(&path);
    let first = anchor.sequence + 1;
    let built = build_index(&storage, first, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    });
    fs::write(path.join(index_path(first)), built.unwrap().bytes).unwrap();
    fs::write(path.join(index_path(between)), doctored(&storage, between)).unwrap();
    let log = with_archives(storage, Vec::new());
    log.look().unwrap();
    assert!(log.unread().is_none());
    assert_eq!(log.archives().all()[0].last, anchor.sequence);
}
