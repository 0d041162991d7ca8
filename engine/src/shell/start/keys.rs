//! The keys of questions that are asked before a start: what is bound and not recorded is on the
//! log as a keyed digest, and the key is kept outside of it, until its question is over.

use super::StartError;
use crate::shell::state_home;
use hmac::{Hmac, KeyInit, Mac};
use holdpoint_domain::core::hash::Digest;
use sha2::Sha256;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Length of a key, in bytes: one block of the digest.
const KEY_BYTES: usize = 64;
/// Suffix of the file of a key.
const ENDING: &str = ".key";
/// Suffix of the file of a key that lets a loop be tried again.
const RETRY_ENDING: &str = ".retry";
/// The most that is read of such a file, in bytes: a path is shorter.
const RETRY_BYTES: u64 = 16 << 10;
/// Path of the keys below a directory of states.
const FOLDER: &str = "holdpoint/keys";

/// The key of one question.
#[derive(Clone)]
pub(super) struct ApprovalKey([u8; KEY_BYTES]);

/// Place of the keys of questions: one file each, which only its user may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalKeys {
    directory: PathBuf,
}

impl ApprovalKey {
    /// Fresh random bits.
    pub(super) fn fresh() -> Result<Self, StartError> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(StartError::Random)?;
        Ok(Self(bytes))
    }

    /// The digest of a variable's name and value under this key.
    pub(super) fn digest(&self, name: &[u8], value: &[u8]) -> Digest {
        // The length parts the two; a key of this length fits every such digest.
        let length = (name.len() as u64).to_le_bytes();
        let mac = Hmac::<Sha256>::new(&self.0.into());
        let mac = [length.as_slice(), name, value].into_iter().fold(mac, |mut mac, part| {
            mac.update(part);
            mac
        });
        Digest::from_bytes(mac.finalize().into_bytes().into())
    }
}

impl ApprovalKeys {
    /// The keys of this user: `.local/state/holdpoint/keys` in the home that the system's user
    /// database names.
    ///
    /// # Errors
    /// The user has no home, or nobody knows.
    pub fn of_user() -> Result<Self, StartError> {
        let states = state_home().map_err(StartError::HomeUnknown)?;
        Ok(Self::in_directory(&states.ok_or(StartError::NoHome)?.join(FOLDER)))
    }

    /// The keys in this directory, which is made when the first one is kept.
    #[must_use]
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_path_buf() }
    }

    /// Keeps the key of a question that is about to be asked.
    pub(super) fn keep(&self, decision_id: &str, key: &ApprovalKey) -> Result<(), StartError> {
        self.write(self.file(decision_id), &key.0)
    }

    fn write(&self, file: PathBuf, content: &[u8]) -> Result<(), StartError> {
        let kept = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            let options = OpenOptions::new().write(true).create_new(true).mode(0o600).to_owned();
            let mut opened = options.open(&file)?;
            opened.write_all(content)?;
            opened.sync_all()
        };
        kept().map_err(|source| StartError::Io { what: "keep the key", path: file.clone(), source })
    }

    /// The key of a question, if it is still kept.
    pub(super) fn find(&self, decision_id: &str) -> Result<Option<ApprovalKey>, StartError> {
        let (mut key, file) = ([0; KEY_BYTES], self.file(decision_id));
        match File::open(&file).and_then(|mut opened| opened.read_exact(&mut key)) {
            Ok(()) => Ok(Some(ApprovalKey(key))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StartError::Io { what: "read the key", path: file, source }),
        }
    }

    /// Removes the key of a question that is over. Where it cannot be, it opens nothing any more.
    pub(super) fn remove(&self, decision_id: &str) {
        let _ = std::fs::remove_file(self.file(decision_id));
    }

    /// The questions whose keys are kept here, of whichever log.
    pub(super) fn questions(&self) -> Result<Vec<String>, StartError> {
        self.kept(ENDING)
    }

    /// Whatever has a key here whose file ends so.
    fn kept(&self, ending: &str) -> Result<Vec<String>, StartError> {
        let path = self.directory.clone();
        let failed = |source| StartError::Io { what: "list the keys in", path, source };
        let listed = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>()),
        };
        let names =
            listed.map_err(failed)?.into_iter().map(|entry| entry.file_name().into_string());
        let ids = names.flatten().filter_map(|name| name.strip_suffix(ending).map(str::to_string));
        Ok(ids.collect())
    }

    /// Returns where the key of a question is, or was.
    pub(super) fn file(&self, decision_id: &str) -> PathBuf {
        // An id is checked before a key is looked for: it has no slash.
        self.directory.join(format!("{decision_id}{ENDING}"))
    }

    /// Keeps what a loop can be tried again with, instead of what was kept before.
    pub(in crate::shell) fn keep_retry(&self, id: &str, place: &[u8]) -> Result<(), StartError> {
        self.take_retry(id)?;
        self.write(self.retry_file(id), place)
    }

    /// Returns what a loop can be tried again with, if it is still kept.
    pub(in crate::shell) fn find_retry(&self, id: &str) -> Result<Option<Vec<u8>>, StartError> {
        let (mut place, path) = (Vec::new(), self.retry_file(id));
        let opened = File::open(&path).map(|opened| opened.take(RETRY_BYTES));
        match opened.and_then(|mut opened| opened.read_to_end(&mut place)) {
            Ok(_) => Ok(Some(place)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StartError::Io { what: "read the key", path, source }),
        }
    }

    /// Removes it. Of two that try, one is told that it did.
    pub(in crate::shell) fn take_retry(&self, id: &str) -> Result<bool, StartError> {
        let path = self.retry_file(id);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StartError::Io { what: "remove the key", path, source }),
        }
    }

    /// The loops that can be tried again by what is kept here, of whichever log.
    pub(in crate::shell) fn retries(&self) -> Result<Vec<String>, StartError> {
        self.kept(RETRY_ENDING)
    }

    /// Returns where what a loop can be tried again with is, or was.
    pub(in crate::shell) fn retry_file(&self, id: &str) -> PathBuf {
        // The id of a loop is made of random bits; a record could say something else.
        let name: String = id.chars().filter(|letter| *letter != '/').collect();
        self.directory.join(format!("{name}{RETRY_ENDING}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// RFC 4231 has no case with a length in front; this pins ours.
    #[test]
    fn a_keyed_digest_parts_name_and_value_and_depends_on_the_key() {
        let (key, other) = (ApprovalKey([7; KEY_BYTES]), ApprovalKey([8; KEY_BYTES]));
        let digest = key.digest(b"AB", b"C");
        assert_ne!(digest, key.digest(b"A", b"BC"));
        assert_ne!(digest, other.digest(b"AB", b"C"));
        assert_eq!(digest, key.digest(b"AB", b"C"));
    }

    #[test]
    fn a_key_is_its_users_alone_and_gone_when_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let keys = ApprovalKeys::in_directory(&directory.path().join("a/keys"));
        assert!(keys.questions().unwrap().is_empty() && keys.find("DP-1").unwrap().is_none());
        let key = ApprovalKey::fresh().unwrap();
        keys.keep("DP-1", &key).unwrap();
        let mode = keys.file("DP-1").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(keys.find("DP-1").unwrap().unwrap().0, key.0);
        assert!(keys.keep("DP-1", &key).is_err(), "a key is written once");
        assert_eq!(keys.questions().unwrap(), ["DP-1"]);
        keys.remove("DP-1");
        assert!(keys.find("DP-1").unwrap().is_none());
    }
}
