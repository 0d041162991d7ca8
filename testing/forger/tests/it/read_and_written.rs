//! What is read is written as the same bytes, whatever it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_forger::{File, Log, attacks};

use crate::made;

/// Every file and link below a directory, without the forger's own reading.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let bytes = if kind.is_symlink() {
                fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_dir() {
                left.push(entry.path());
                continue;
            } else {
                fs::read(entry.path()).unwrap()
            };
            found.insert(entry.path().strip_prefix(root).unwrap().to_path_buf(), bytes);
        }
    }
    found
}

#[test]
fn a_log_that_was_read_is_written_as_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = (root.path().join("one"), root.path().join("other"));
    made::log().write(&one).unwrap();
    Log::read(&one).unwrap().write(&other).unwrap();
    assert_eq!(tree(&one), tree(&other));
    assert_eq!(
        tree(&one).len(),
        3 + 4 + 3 + 1,
        "HEAD, LOCK, .gitignore, segments, indexes, snapshot"
    );
}

#[test]
fn bytes_that_are_no_log_are_written_as_they_were() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = (root.path().join("one"), root.path().join("other"));
    fs::create_dir_all(one.join("segments")).unwrap();
    let noise: Vec<u8> = (0..10_000_u32).map(|place| (place * 167 % 251) as u8).collect();
    for (path, length) in [("HEAD", 7), ("LOCK", 64), ("segments/00000000000000000001.seg", 9_999)]
    {
        fs::write(one.join(path), &noise[..length]).unwrap();
    }
    Log::read(&one).unwrap().write(&other).unwrap();
    assert_eq!(tree(&one), tree(&other));
}

#[test]
fn writing_leaves_nothing_of_what_was_there() {
    let root = tempfile::tempdir().unwrap();
    let mut log = made::log();
    log.write(root.path()).unwrap();
    log.remove_directory("segments");
    log.write(root.path()).unwrap();
    assert!(!root.path().join("segments").exists());
    assert_eq!(Log::read(root.path()).unwrap(), log);
}

#[test]
fn an_attacked_log_is_written_as_it_stands_in_memory() {
    let root = tempfile::tempdir().unwrap();
    for attack in attacks() {
        let mut log = made::log();
        attack.apply(&mut log, 1);
        log.write(root.path()).unwrap();
        let encoded = |log: &Log| -> BTreeMap<PathBuf, Option<Vec<u8>>> {
            log.files.iter().map(|(path, file)| (path.into(), File::encode(file))).collect()
        };
        let found = Log::read(root.path()).unwrap();
        assert_eq!(encoded(&found), encoded(&log), "{}", attack.name);
        assert_eq!(found.directories, log.directories, "{}", attack.name);
    }
}
