use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::attacks::Victim;
use crate::log::Log;
use crate::outcome::Effect;

/// The log's directory.
pub const LOG: &str = "log";

/// The archive's, as the log names it: beside the log.
pub const ARCHIVE: &str = "archive";

/// A log whose first records are in an archive beside it (30), and whatever else is there, by the
/// names of the directories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pair(pub BTreeMap<String, Log>);

impl Pair {
    pub fn log(&self) -> &Log {
        &self.0[LOG]
    }

    pub fn log_mut(&mut self) -> &mut Log {
        self.0.get_mut(LOG).expect("no attack takes the log away")
    }

    pub fn archive(&self) -> &Log {
        &self.0[ARCHIVE]
    }

    pub fn archive_mut(&mut self) -> &mut Log {
        self.0.get_mut(ARCHIVE).expect("it is there until an attack takes it away")
    }
}

impl Victim for Pair {
    fn read(directory: &Path) -> io::Result<Self> {
        let mut pair = Self::default();
        for name in [LOG, ARCHIVE] {
            pair.0.insert(name.to_owned(), Log::read(&directory.join(name))?);
        }
        Ok(pair)
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            fs::remove_dir_all(entry?.path())?;
        }
        self.0.iter().try_for_each(|(name, log)| log.write(&directory.join(name)))
    }

    fn effect(before: &Self, after: &Self) -> Effect {
        let nothing = Log::default();
        let mut whole = Effect::default();
        for name in before.0.keys().chain(after.0.keys()) {
            let [old, new] = [before, after].map(|pair| pair.0.get(name).unwrap_or(&nothing));
            whole.add(Effect::between(old, new), name);
        }
        whole
    }
}
