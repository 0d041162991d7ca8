//! Key that lets the attempt after a RETRY that nobody waited for begin once. It lies outside of
//! the log, which names where the log is. A copy of the log holds the same RETRY, and no key.

use super::engine::Engine;
use super::resume::ResumeError;
use super::start::{ApprovalKeys, StartError};
use crate::executor::visible;
use crate::log::Storage;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

/// Separator of the parts of a place.
const SEPARATOR: u8 = b' ';
/// The log's id, a word and the inode of its directory, and the path.
const PARTS: usize = 4;

impl<S: Storage> Engine<S> {
    /// Keeps the key of a loop whose question is left open. Where that is not possible, a RETRY is
    /// refused later, and says which key is missing.
    pub(super) fn keep_retry_key(&self, loop_id: &str) {
        let _ = self.retry_keys().and_then(|keys| {
            self.forget_retry_keys(&keys)?;
            keys.keep_retry(loop_id, &self.place()?)
        });
    }

    /// Does the same as [`Engine::keep_retry_key`], where the log cannot be asked which keys are
    /// over.
    pub(super) fn keep_retry_key_unasked(&self, loop_id: &str) {
        let _ = self.retry_keys().and_then(|keys| keys.keep_retry(loop_id, &self.place()?));
    }

    /// Takes the key of a loop away, which one can do, where it is for this log in this place.
    pub(super) fn take_retry_key(&self, request: &str, loop_id: &str) -> Result<(), ResumeError> {
        let keys = self.retry_keys()?;
        let missing = || ResumeError::KeyMissing {
            request_id: request.to_string(),
            file: keys.retry_file(loop_id),
        };
        let (asked, here) = (keys.find_retry(loop_id)?.ok_or_else(missing)?, self.place()?);
        if asked != here {
            let (request_id, asked, here) = (request.to_string(), shown(&asked), shown(&here));
            return Err(ResumeError::OtherLog { request_id, asked, here });
        }
        match keys.take_retry(loop_id)? {
            true => Ok(()),
            false => Err(missing()),
        }
    }

    fn retry_keys(&self) -> Result<ApprovalKeys, StartError> {
        match &self.core().keys {
            Some(keys) => Ok(keys.clone()),
            None => ApprovalKeys::of_user(),
        }
    }

    /// Removes the keys of loops of this log that are over.
    fn forget_retry_keys(&self, keys: &ApprovalKeys) -> Result<(), StartError> {
        let (kept, here) = (keys.retries()?, self.place()?);
        let over = self.query(|world| {
            let is_over = |loop_id: &String| world.live_loop(loop_id).is_none();
            kept.into_iter().filter(is_over).collect::<Vec<String>>()
        })?;
        for loop_id in over {
            if keys.find_retry(&loop_id)?.is_some_and(|place| place == here) {
                keys.take_retry(&loop_id)?;
            }
        }
        Ok(())
    }

    /// Returns which log this is, and where: its id, the inode of its directory, and the canonical
    /// path.
    fn place(&self) -> Result<Vec<u8>, StartError> {
        let root = self.root();
        let failed =
            |source| StartError::Io { what: "find the log", path: root.to_path_buf(), source };
        let place = root.canonicalize().map_err(failed)?;
        let inode = place.metadata().map_err(failed)?.ino();
        let before = format!("{} inode {inode} ", self.report().log);
        Ok([before.as_bytes(), place.as_os_str().as_bytes()].concat())
    }
}

/// A place for a person: the path and the inode.
fn shown(place: &[u8]) -> String {
    let mut parts = place.splitn(PARTS, |byte| *byte == SEPARATOR).skip(2);
    let inode = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let path = visible(OsStr::from_bytes(parts.next().unwrap_or_default()));
    format!("{path} (inode {})", visible(OsStr::new(&inode)))
}
