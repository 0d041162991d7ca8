//! What the tests with the real program share: logs with content, directories compared as they
//! are, and small file systems.

pub(crate) mod segments;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::log::CommandRefused;
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Envelope};
use holdpoint_engine::log::{Level, Log, NewRecord, Options};
use holdpoint_log_files::DirectoryStorage;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// 2026-01-25T16:00:00Z.
const START_NS: u64 = 1_769_356_800_000_000_000;

/// A record of about `length` bytes that every reader of the log can read.
pub(crate) fn record(length: usize) -> NewRecord {
    let refused = CommandRefused {
        command: Text::from("-"),
        class: RefusalClass::Scope,
        code: Text::from("-"),
        subject: None,
        message: Text::from(".".repeat(length)),
    };
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor: ActorId { kind: Actor::System, id: "w".to_string() },
        correlation: "w".to_string(),
        causation: None,
        idempotency: None,
        event: refused.into(),
    };
    let encoded = envelope::encode(&envelope).unwrap();
    NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload }
}

/// Appends so many records of about `length` bytes and closes the log.
pub(crate) fn fill(log: &Path, count: u64, length: usize) {
    let (log, _) = Log::open(DirectoryStorage::new(log), Options::default()).unwrap();
    for number in 0..count {
        log.append_any_kind(&[record(length)], START_NS + number, Level::Always).unwrap();
    }
    log.close().unwrap();
}

/// What is read of a file that is larger than any of a test.
const READ_MAX: u64 = 1 << 24;

/// Everything below a directory as it is: kinds, targets of links, lengths and bytes. Nothing is
/// followed, and nothing but regular files is opened.
pub(crate) fn shape_of(directory: &Path) -> BTreeMap<PathBuf, (String, u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let kind = format!("{:?} {:?}", metadata.file_type(), std::fs::read_link(&path).ok());
        if metadata.is_dir() {
            found.extend(shape_of(&path));
        }
        let mut bytes = Vec::new();
        if metadata.is_file() {
            bytes.resize(usize::try_from(metadata.len().min(READ_MAX)).unwrap(), 0);
            std::fs::File::open(&path).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        }
        let length = if metadata.is_dir() { 0 } else { metadata.len() };
        found.insert(path, (kind, length, bytes));
    }
    found
}

/// A file system in memory, unmounted when the test is over.
pub(crate) struct SmallDisk {
    pub(crate) path: PathBuf,
    _directory: TempDir,
}

/// How often a disk that is busy is mounted anew.
const REMOUNTS_MAX: u32 = 1_000;

impl SmallDisk {
    /// `None` where nothing may be mounted.
    pub(crate) fn mount(size: &str) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let disk = Self { path, _directory: directory };
        disk.call(&format!("size={size}")).then_some(disk)
    }

    /// Mounts it anew with other options. It is busy for as long as a process that another test
    /// starts just now has what this one has open.
    pub(crate) fn remount(&self, options: &str) {
        assert!((0..REMOUNTS_MAX).any(|_| self.call(&format!("remount,{options}"))));
    }

    /// Fills it until so many bytes are free.
    pub(crate) fn fill_but_for(&self, left: u64) {
        let free = rustix::fs::statvfs(&self.path).unwrap();
        let filler = (free.f_bavail * free.f_frsize).saturating_sub(left);
        let filler = vec![1; usize::try_from(filler).unwrap()];
        std::fs::write(self.path.join("filler"), filler).unwrap();
    }

    fn call(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.path);
        mount.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).output();
    }
}
