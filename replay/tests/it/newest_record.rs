//! Which record is the newest, for whoever shows what leads up to it.

use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::newest;
use holdpoint_testing::hand_made::HandMadeLog;
use std::fs::{self, OpenOptions};

/// Who took the last record that can be read would show older ones for the newest, and be right
/// about them once the file is whole again.
#[test]
fn the_newest_record_is_heads_whatever_becomes_of_its_segment() {
    let (directory, mut log) = (tempfile::TempDir::new().unwrap(), HandMadeLog::new());
    log.run();
    log.roll();
    let active = log.chain.sequence + 1;
    log.run();
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let expected = Some(log.chain.sequence);
    assert_eq!(newest(&storage).unwrap(), expected);
    let path = directory.path().join(holdpoint_log_files::survey::segment_path(active));
    for length in [8_192, 4_096, 0] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        assert_eq!(newest(&storage).unwrap(), expected, "{length} bytes are left");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(newest(&storage).unwrap(), expected, "it is gone");
}
