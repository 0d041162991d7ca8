//! The archive of a log's first records is found where the log says that it is.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::log::HistoryArchived;
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::joined::{Archive, Archives, Unread, fit};
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{DirectoryStorage, Entry, JoinedLog, ReadStorage};
use holdpoint_log_format::{BootId, ChainPosition, Head, names};
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_log_index::{IndexBuilder, IndexedRecord, TermHash};
use holdpoint_replay::archives::with_archives;
use holdpoint_replay::{Filter, Order, ReadOptions, search};
use holdpoint_testing::hand_made::{HandMadeLog, change_head};
use holdpoint_testing::log::segments_of;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, origin};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};
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
        engine.submit(&origin(), (), &small(content)).unwrap().accepted().unwrap();
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
fn moved_to(archive: &Path, anchor: ChainPosition) -> Vec<Event> {
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

/// The log that is left of one, in a directory, when what was before `anchor` is moved.
fn write_moved(log: &HandMadeLog, anchor: ChainPosition, path: &Path) {
    log.write(path);
    fs::remove_file(path.join(segment_path(1))).unwrap();
    change_head(path, |head| Head {
        anchor_sequence: anchor.sequence,
        anchor_link: anchor.link,
        ..head
    });
}

/// An archive of all that is in a log.
fn write_archive(log: &HandMadeLog, archive: &Path) {
    log.write(archive);
    fs::remove_file(archive.join(log.active_path())).unwrap();
    fs::write(archive.join(names::ARCHIVE), "").unwrap();
}

#[test]
fn an_archive_is_found_although_an_index_names_another_place_and_a_doctored_one_hides_it() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    let [archive, path] = ["archive", "log"].map(|name| directory.path().join(name));
    log.run();
    let anchor = log.chain;
    log.roll();
    write_archive(&log, &archive);
    log.events(moved_to(&directory.path().join("nowhere"), anchor));
    let between = log.chain.sequence + 1;
    log.roll();
    log.events(moved_to(&archive, anchor));
    log.roll();
    log.run();
    write_moved(&log, anchor, &path);
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

/// A directory that has another name during some of the calls that look into it.
#[derive(Clone)]
struct Renamed {
    disk: DirectoryStorage,
    calls: Arc<AtomicUsize>,
    during: Range<usize>,
}

impl Renamed {
    fn is_away(&self) -> bool {
        self.during.contains(&self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl ReadStorage for Renamed {
    type File = fs::File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        if self.is_away() { Ok(Vec::new()) } else { self.disk.list(directory) }
    }

    fn open(&self, path: &str) -> io::Result<Option<fs::File>> {
        if self.is_away() { Ok(None) } else { self.disk.open(path) }
    }
}

/// A log with the archive in a directory, which may be renamed meanwhile.
fn joined(log: &Path, archive: &Renamed) -> JoinedLog<Renamed> {
    let log = Renamed { disk: DirectoryStorage::new(log), during: 0..0, ..archive.clone() };
    let archive = archive.clone();
    let find = move |log: &Renamed, head: &Head| {
        Ok(match fit(&archive, log, head) {
            Ok(head) => Archives {
                read: vec![Archive { storage: archive.clone(), path: "archive".into(), head }],
                unread: None,
            },
            Err(_) => Archives {
                read: Vec::new(),
                unread: Some(Unread { last: head.anchor_sequence, named: None, why: None }),
            },
        })
    };
    JoinedLog::new(log, Box::new(find))
}

#[test]
fn an_archive_that_is_renamed_while_it_is_read_is_gone_and_no_damage() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    let [archive, path] = ["archive", "log"].map(|name| directory.path().join(name));
    log.run();
    let anchor = log.chain;
    log.roll();
    write_archive(&log, &archive);
    log.run();
    write_moved(&log, anchor, &path);
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let archive = |during| {
        let (disk, calls) = (DirectoryStorage::new(&archive), Arc::default());
        Renamed { disk, calls, during }
    };
    let sequences = |log: &JoinedLog<Renamed>| {
        let mut shown = Vec::new();
        let searched = search(
            log,
            &Filter::default(),
            Order::OldestFirst,
            options,
            &mut |_| {},
            &mut |it, _| {
                shown.push(it.sequence);
                ControlFlow::Continue(())
            },
        );
        searched.map(|searched| (searched.is_sound(), shown))
    };
    let undisturbed = archive(0..0);
    let both = joined(&path, &undisturbed);
    let due = [sequences(&both), sequences(&joined(&path, &archive(0..usize::MAX)))];
    let due = due.map(|told| told.unwrap());
    assert_eq!(due[0], (true, (1..=log.chain.sequence).collect()));
    for first in 0..undisturbed.calls.load(Ordering::Relaxed) {
        for last in [first + 1, first + 2, usize::MAX] {
            let archive = archive(first..last);
            let told = sequences(&joined(&path, &archive));
            let is_so = told.as_ref().map_or(true, |told| due.contains(told));
            assert!(is_so, "away from {first} to {last}: {told:?}");
        }
    }
}
