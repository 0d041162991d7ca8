//! A log's directory as data: copied, damaged, and put back.

use holdpoint_log_format::{BootId, Lock, OwnerState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file with its bytes, relative to the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image(pub BTreeMap<PathBuf, Vec<u8>>);

impl Image {
    pub fn of(directory: &Path) -> Self {
        let relative = |path: PathBuf| path.strip_prefix(directory).unwrap().to_path_buf();
        let files = super::content_of(directory);
        Self(files.into_iter().map(|(path, bytes)| (relative(path), bytes)).collect())
    }

    /// Makes the directory hold exactly these files.
    pub fn restore(&self, directory: &Path) {
        if directory.exists() {
            std::fs::remove_dir_all(directory).unwrap();
        }
        std::fs::create_dir_all(directory.join("segments")).unwrap();
        for (path, bytes) in &self.0 {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }

    pub fn file(&mut self, path: impl AsRef<Path>) -> &mut Vec<u8> {
        let path = path.as_ref();
        self.0.get_mut(path).unwrap_or_else(|| panic!("no {}", path.display()))
    }

    pub fn remove(&mut self, path: &str) {
        assert!(self.0.remove(Path::new(path)).is_some(), "no {path}");
    }

    /// Paths of the segments, oldest first.
    pub fn segments(&self) -> Vec<PathBuf> {
        let is_segment = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "seg");
        self.0.keys().filter(is_segment).cloned().collect()
    }

    /// Says how the last owner left.
    pub fn set_owner(&mut self, state: OwnerState, boot: BootId) {
        self.change_lock(|lock| Lock { state, previous_state: state, boot, ..lock });
    }

    /// Says up to which record the last owner knew all to be durable.
    pub fn set_durable(&mut self, durable_sequence: u64) {
        self.change_lock(|lock| Lock { durable_sequence, ..lock });
    }

    fn change_lock(&mut self, change: impl Fn(Lock) -> Lock) {
        let lock = Lock::decode(self.file("LOCK")).unwrap();
        *self.file("LOCK") = change(lock).encode().to_vec();
    }
}
