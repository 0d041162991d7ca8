//! Bytes that are not kept as records, copied byte for byte into the new log's `cut` directory.

use super::error::{SalvageError, unreadable};
use super::target::io_error;
use crate::log::Storage;
use holdpoint_log_files::damage_scan::Loss;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{DirectoryStorage, ReadStorage};
use holdpoint_log_format::names;
use std::collections::BTreeSet;
use std::io;

/// Amount that is copied at once, in bytes.
const PIECE: u64 = 64 * 1_024;

/// The new log's `cut` directory.
#[derive(Debug)]
pub(super) struct Cuts {
    target: DirectoryStorage,
    /// Names that stand for something already: in the source, whose events may name them, too.
    taken: BTreeSet<String>,
}

impl Cuts {
    /// The directory of a new log. Names that the source's own has are avoided.
    pub(super) fn new<S: ReadStorage>(
        source: &S,
        target: DirectoryStorage,
    ) -> Result<Self, SalvageError> {
        let entries = match source.list(names::CUT) {
            // What is no directory holds no name that an event could have given.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Vec::new(),
            listed => listed.map_err(unreadable(names::CUT))?,
        };
        Ok(Self { target, taken: entries.into_iter().map(|entry| entry.name).collect() })
    }

    /// Copies the bytes of a loss and gives the file's name, relative to the new log's directory;
    /// `None` where there are none.
    pub(super) fn copy<S: ReadStorage>(
        &mut self,
        source: &S,
        loss: &Loss,
    ) -> Result<Option<String>, SalvageError> {
        if loss.length == 0 {
            return Ok(None);
        }
        let opened = source.open(&loss.file).map_err(unreadable(&loss.file))?;
        let changed = || SalvageError::Changed { file: loss.file.clone() };
        let file = opened.ok_or_else(changed)?;
        let mut window = Window::new(file).map_err(unreadable(&loss.file))?;
        let name = format!("{}/{}", names::CUT, self.free_name(loss));
        let written = self.write(&mut window, loss, &name);
        written.map_err(io_error("write", &self.target.path(&name)))?;
        Ok(Some(name))
    }

    /// Makes the names of the copies durable. Their bytes are.
    pub(super) fn finish(&self) -> Result<(), SalvageError> {
        let path = self.target.path(names::CUT);
        if !path.exists() {
            return Ok(());
        }
        self.target.sync_directory(names::CUT).map_err(io_error("sync", &path))
    }

    fn free_name(&mut self, loss: &Loss) -> String {
        let numbered = (1..).map(|number| names::cut(loss.segment, loss.offset, number));
        let mut free = numbered.filter(|name| !self.taken.contains(name));
        let name = free.next().unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    fn write<F: holdpoint_log_files::ReadFile>(
        &self,
        window: &mut Window<F>,
        loss: &Loss,
        name: &str,
    ) -> io::Result<()> {
        self.target.create_directory(names::CUT)?;
        let file = self.target.create(name, loss.length)?;
        let mut copied = 0;
        while copied < loss.length {
            let piece = PIECE.min(loss.length - copied);
            let bytes = window.bytes(loss.offset + copied, piece)?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.target.write_at(&file, copied, bytes)?;
            copied += bytes.len() as u64;
        }
        self.target.sync(&file)
    }
}
