//! Segments that are read here and there: through a map where there is one.

use crate::map::Map;
use crate::storage::{ReadFile, Stamp};
use rustix::fs::{Stat, fstat};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

/// So many mappings of one log are kept, those that were used last.
const KEPT_MAX: usize = 32;

/// A file that is read through a map, or as it is.
#[derive(Debug)]
pub enum Mapped<F> {
    /// Mapped, as long as the file was then.
    Map(Arc<Map>),
    /// The file as it is.
    File(F),
}

impl<F: ReadFile> ReadFile for Mapped<F> {
    fn length(&self) -> io::Result<u64> {
        match self {
            Self::Map(map) => map.length(),
            Self::File(file) => file.length(),
        }
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        match self {
            Self::Map(map) => map.stamp(),
            Self::File(file) => file.stamp(),
        }
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Map(map) => map.read_some_at(offset, buffer),
            Self::File(file) => file.read_some_at(offset, buffer),
        }
    }
}

/// The mappings of a log's segments that are kept.
#[derive(Debug, Default)]
pub(crate) struct Maps(Mutex<Vec<CachedMap>>);

#[derive(Debug)]
struct CachedMap {
    /// Device and number: which file it is, whatever its name is by now.
    file: (u64, u64),
    /// Tells whether the file has a name at all.
    opened: File,
    map: Arc<Map>,
}

impl Maps {
    /// The mapping of the file that a look at its name found, if one is kept.
    pub(crate) fn known<F>(&self, found: &Stat) -> Option<Mapped<F>> {
        let length = u64::try_from(found.st_size).ok()?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = (found.st_dev, found.st_ino);
        let at = kept.iter().position(|kept| kept.file == id && kept.map.is_of(length))?;
        kept.get_mut(at..)?.rotate_left(1);
        kept.last().map(|last| Mapped::Map(Arc::clone(&last.map)))
    }

    /// The file mapped, now or before, if it can be.
    pub(crate) fn of(&self, file: File) -> io::Result<Mapped<File>> {
        let found = fstat(&file)?;
        if let Some(known) = self.known(&found) {
            return Ok(known);
        }
        let Some(map) = Map::of(&file) else { return Ok(Mapped::File(file)) };
        let (id, map) = ((found.st_dev, found.st_ino), Arc::new(map));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was moved to an archive gives its space back.
        kept.retain(|kept| kept.file != id && kept.has_name());
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push(CachedMap { file: id, opened: file, map: Arc::clone(&map) });
        Ok(Mapped::Map(map))
    }
}

impl CachedMap {
    fn has_name(&self) -> bool {
        self.opened.metadata().is_ok_and(|now| now.nlink() > 0)
    }
}
