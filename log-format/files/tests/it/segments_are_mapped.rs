//! Reads here and there in a segment go through a map, which shows the file as it is when it is
//! opened; whatever happens to the file meanwhile is an error, or what was there before.

use crate::support::Segment;
use holdpoint_log_files::map::guard;
use holdpoint_log_files::{
    DirectoryStorage, Entry, FollowError, Follower, Mapped, ReadFile, ReadStorage, SurveyError,
};
use holdpoint_log_format::{Flags, names};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The directory of a log, with a segment of so many records: in memory, where there is such a
/// place, for files of an overlay are not mapped.
fn with_records(count: usize) -> (TempDir, Segment) {
    guard().unwrap();
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let (directory, mut segment) = (TempDir::new_in(place).unwrap(), Segment::first());
    (0..count).for_each(|_| segment.push(Flags::NONE, b"one of many"));
    fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
    fs::write(directory.path().join(segment.path()), segment.file()).unwrap();
    (directory, segment)
}

fn all(file: &impl ReadFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.length()?).unwrap()];
    let read = file.read_at(0, &mut bytes)?;
    assert_eq!(read, bytes.len());
    Ok(bytes)
}

fn opened(storage: &DirectoryStorage, path: &str) -> Arc<holdpoint_log_files::map::Map> {
    match storage.open_mapped(path).unwrap() {
        Some(Mapped::Map(map)) => map,
        other => panic!("it is not mapped: {other:?}"),
    }
}

#[test]
fn a_segment_is_mapped_once_and_anew_when_its_file_is_another_or_of_another_length() {
    let (directory, segment) = with_records(5);
    let (storage, path) = (DirectoryStorage::new(directory.path()), segment.path());
    let place = directory.path().join(&path);
    let first = opened(&storage, &path);
    assert!(Arc::ptr_eq(&first, &opened(&storage.clone(), &path)));
    assert_eq!(all(&*first).unwrap(), segment.file());
    let cut = |length| File::options().write(true).open(&place).unwrap().set_len(length).unwrap();
    let whole = segment.file().len() as u64;
    cut(whole + 4_096);
    let grown = opened(&storage, &path);
    let lengths = [&first, &grown].map(|map| map.length().unwrap());
    assert_eq!(lengths, [whole, whole + 4_096]);
    assert_eq!(all(&*first).unwrap(), segment.file());
    let other = directory.path().join("other");
    fs::write(&other, b"another file").unwrap();
    fs::rename(&other, &place).unwrap();
    let replaced = opened(&storage, &path);
    assert_eq!(all(&*replaced).unwrap(), b"another file");
    assert_eq!(all(&*first).unwrap(), segment.file(), "what has no name any more is still there");
    cut(0);
    assert_eq!(all(&*replaced).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(matches!(storage.open_mapped(&path).unwrap(), Some(Mapped::File(_))), "it is empty");
    fs::remove_file(&place).unwrap();
    assert!(storage.open_mapped(&path).unwrap().is_none());
}

#[test]
fn no_more_than_a_few_maps_are_kept_and_none_of_a_file_that_has_no_name() {
    let (directory, segment) = with_records(1);
    let storage = DirectoryStorage::new(directory.path());
    let path = |number: u64| format!("{}/{}", names::SEGMENTS, names::segment(number));
    let kept: Vec<_> = (1..=60)
        .map(|number| {
            fs::write(directory.path().join(path(number)), segment.file()).unwrap();
            Arc::downgrade(&opened(&storage, &path(number)))
        })
        .collect();
    let are_kept = || kept.iter().filter(|map| map.strong_count() > 0).count();
    assert_eq!((are_kept(), kept[59].strong_count()), (32, 1));
    (30..=60).for_each(|number| fs::remove_file(directory.path().join(path(number))).unwrap());
    opened(&storage, &path(1));
    assert_eq!(are_kept(), 1, "the one with the number 29");
}

/// Cuts whatever it has mapped.
struct Cutting(DirectoryStorage);

impl ReadStorage for Cutting {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.0.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        self.0.open(path)
    }

    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<File>>> {
        let opened = self.0.open_mapped(path)?;
        File::options().write(true).open(self.0.path(path))?.set_len(0)?;
        Ok(opened)
    }
}

#[test]
fn whoever_follows_a_segment_that_is_cut_under_its_map_is_told() {
    let (directory, mut segment) = with_records(3);
    let storage = DirectoryStorage::new(directory.path());
    let mut follower = Follower::at_segment(&storage, 1).unwrap();
    let mut seen = 0;
    follower.catch_up(&storage, &mut |_, _| seen += 1).unwrap();
    segment.push(Flags::NONE, b"a later one");
    fs::write(directory.path().join(segment.path()), segment.file()).unwrap();
    let mut cut = follower.clone();
    follower.catch_up(&storage, &mut |_, _| seen += 1).unwrap();
    assert_eq!((seen, follower.run.chain), (4, segment.last));
    match cut.catch_up(&Cutting(storage), &mut |_, _| seen += 1) {
        Err(FollowError::Read(SurveyError::Io { file, source })) => {
            assert_eq!((file, source.kind()), (segment.path(), io::ErrorKind::UnexpectedEof));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(seen, 4);
}
