//! The archive of a log's first records is found where the log says that it is.

use holdpoint_domain::terms::TERMS_VERSION;
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::{DirectoryStorage, ReadStorage};
use holdpoint_log_format::names;
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::{IndexBuilder, IndexedRecord, TermHash};
use holdpoint_replay::archives::with_archives;
use holdpoint_testing::log::segments_of;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, origin};
use std::fs;

/// An index that is whole and names nothing, as anybody can make one.
fn doctored(place: &Place, first: u64) -> Vec<u8> {
    let header = read_header(&place.storage(), first).unwrap().unwrap();
    let before = header.previous.link;
    let mut builder = IndexBuilder::new(header.log, first, before, TERMS_VERSION);
    let record = IndexedRecord { sequence: first, offset: 4_096, time: 1, link: before };
    builder.add(&record, &[TermHash(1)], &[]).unwrap();
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
        fs::write(place.log().join(index_path(first)), doctored(&place, first)).unwrap();
    }
    let log = with_archives(place.storage(), Vec::new());
    log.look().unwrap();
    assert!(log.unread().is_none());
    let archives = log.archives();
    let [found] = archives.all() else { panic!("{archives:?}") };
    assert_eq!((found.first, found.last), (first, last.sequence));
}
