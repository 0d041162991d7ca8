//! The log's directory, as a verb that reads meets it.

use crate::args::Global;
use crate::log::damage::NEWER_VERSION;
use crate::ui::program::how_to_make;
use crate::ui::{Exit, Failure, path};
use holdpoint_log_files::head::read_witness;
use holdpoint_log_files::{DirectoryStorage, ReadStorage, SurveyError};
use holdpoint_log_format::{Head, LogId, names};
use holdpoint_replay::{
    ArchivedLog, Later, ReadError, ReadOptions, Report, Verdict, read_directory, told_of, verify,
};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A log's directory, open for reading.
pub(crate) struct Directory {
    /// Its own files.
    pub(crate) storage: DirectoryStorage,
    /// The same, with the archives of the log that are read with it.
    pub(crate) log: ArchivedLog,
    /// Its path.
    pub(crate) path: PathBuf,
    /// True if archives are looked for at all.
    pub(crate) reads_archives: bool,
    option: &'static str,
}

/// The id of the log in a directory, as HEAD has it; `None` where there is no HEAD that tells.
pub(crate) fn log_id(storage: &DirectoryStorage) -> std::io::Result<Option<LogId>> {
    let head = read_witness(storage, names::HEAD)?;
    let head = head.and_then(Result::ok).and_then(|bytes| Head::decode(&bytes).ok());
    Ok(head.map(|head| head.log))
}

/// How the log's directory is named.
const LOG_OPTION: &str = "--log DIR or HOLDPOINT_LOG";

/// How the archive's directory is named.
const ARCHIVE_OPTION: &str = "--archive DIR";

/// How the directory of another log is named.
const OTHER_OPTION: &str = "DIR";

impl Directory {
    /// Tells whether it is marked as an archive.
    pub(crate) fn is_archive(&self) -> bool {
        self.path.join(names::ARCHIVE).symlink_metadata().is_ok()
    }

    /// The directory that `--log` names. It may be missing or empty: that is for the reading to
    /// tell.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let path: PathBuf = global.log.components().collect();
        Self::at(path, LOG_OPTION)
    }

    /// The archive that `--archive` names, which is not the log itself.
    pub(crate) fn open_archive(&self, archive: &Path) -> Result<Self, Failure> {
        let archive = Self::at(archive.components().collect(), ARCHIVE_OPTION)?;
        let (of_log, of_archive) = (self.path.canonicalize(), archive.path.canonicalize());
        if let (Ok(of_log), Ok(of_archive)) = (of_log, of_archive)
            && of_log == of_archive
        {
            let shown = path(&archive.path);
            let message = format!(
                "{shown} is the log itself, which proves nothing of the records before it: name \
                 the directory that they were moved to"
            );
            return Err(Failure::new(Exit::USAGE, "archive_is_the_log", message));
        }
        Ok(archive)
    }

    /// The log that an argument of this name names.
    pub(crate) fn open_argument(log: &Path, name: &'static str) -> Result<Self, Failure> {
        Self::at(log.components().collect(), name)
    }

    /// Another log, which an argument names.
    pub(crate) fn open_other(other: &Path) -> Result<Self, Failure> {
        Self::open_argument(other, OTHER_OPTION)
    }

    /// The directory at a path, and how a person names it.
    fn at(path: PathBuf, option: &'static str) -> Result<Self, Failure> {
        check(&path, option)?;
        let storage = DirectoryStorage::holding(&path);
        let log = ArchivedLog::alone(storage.clone());
        Ok(Self { storage, log, path, reads_archives: true, option })
    }

    /// That what is followed is still read: where another directory has its place by now, that one
    /// is read from here on, if it holds the same log.
    pub(crate) fn expect_same(&self) -> Result<(), Failure> {
        if self.storage.check_place().is_ok() {
            return Ok(());
        }
        let id = || log_id(&self.storage).ok().flatten();
        let before = id();
        // Where nothing is there, its log has no identity.
        let _ = self.storage.hold();
        match (before, id()) {
            (Some(before), Some(now)) if before != now => {
                let shown = path(&self.path);
                let message = format!(
                    "{shown}: log {now} took the place of log {before} while that was followed; \
                     run it again"
                );
                Err(Failure::new(Exit::FAILED, "changed", message))
            }
            _ => Ok(()),
        }
    }

    /// Runs a reading of the log, with what it must know of the machine.
    pub(crate) fn read<T>(
        &self,
        reading: impl FnOnce(&ArchivedLog, ReadOptions<'_>) -> Result<T, ReadError>,
    ) -> Result<T, Failure> {
        let read = read_directory(&self.storage, |options| reading(&self.log, options));
        read.map_err(|error| self.unreadable(&error))
    }

    /// Returns the report of reading the whole log.
    pub(crate) fn verified(&self) -> Result<Report, Failure> {
        self.read(|storage, options| verify(storage, options, &mut |_| {}))
    }

    /// [`Directory::read`] of this one and another at once.
    pub(crate) fn read_with<T>(
        &self,
        other: &Self,
        reading: impl FnOnce(
            (&DirectoryStorage, ReadOptions<'_>),
            (&DirectoryStorage, ReadOptions<'_>),
        ) -> Result<T, ReadError>,
    ) -> Result<T, Failure> {
        let read = read_directory(&self.storage, |ours| {
            read_directory(&other.storage, |theirs| {
                reading((&self.storage, ours), (&other.storage, theirs))
            })
        });
        read.map_err(|error| self.unreadable_with(other, &error))
    }

    /// The failure that a reading of this one and another ended with.
    pub(crate) fn unreadable_with(&self, other: &Self, error: &ReadError) -> Failure {
        // The error names a file that both have.
        let both = format!("{} or {}", path(&self.path), path(&other.path));
        unreadable_in(&both, error)
    }

    /// The failure that there is no log here, when the report says so.
    pub(crate) fn expect_log(&self, report: &Report) -> Result<(), Failure> {
        match report.verdict {
            Verdict::NothingHere => {
                Err(Failure::new(Exit::NOT_FOUND, "nothing_here", self.nothing_here(report)))
            }
            _ => Ok(()),
        }
    }

    /// Why there is no log here, and what to do.
    pub(crate) fn nothing_here(&self, report: &Report) -> String {
        let shown = path(&self.path);
        let advice = format!("name another directory with {}", self.option);
        if report.is_archive {
            format!(
                "{shown} is an unfinished archive, or one that lost what it held: where the log \
                 still begins with these records, run `holdpoint archive {shown}` again"
            )
        } else if report.foreign {
            format!("{shown} holds other files and no log: {advice}")
        } else if report.log_id.is_some() {
            format!("the log at {shown} has no segment yet: the next verb that writes makes it")
        } else if self.path.exists() {
            let left = self.what_is_left();
            format!("there is no log at {shown}, {left}: {advice}{}", self.or_make())
        } else {
            format!("there is no log at {shown}, no such directory: {advice}{}", self.or_make())
        }
    }

    /// What the directory holds besides what every log's directory does, in words.
    fn what_is_left(&self) -> String {
        let listed = match self.storage.list("") {
            Ok(listed) => listed,
            Err(error) => return format!("and what is there cannot be listed ({error})"),
        };
        let names = listed.into_iter().map(|entry| entry.name);
        let mut left: Vec<String> = names.filter(|name| name != names::GITIGNORE).collect();
        left.sort();
        if left.is_empty() {
            return "the directory is empty".to_string();
        }
        let told = match told_of(&self.storage) {
            Ok(Some(Later { file, sequence })) => format!("; {file} tells of record {sequence}"),
            Ok(None) => String::new(),
            Err(error) => format!("; {error}"),
        };
        format!("only {} of one{told}", left.join(", "))
    }

    /// How to make a log there, where one is what is missing.
    fn or_make(&self) -> String {
        match self.option == LOG_OPTION {
            true => format!(", or make it with `{}`", how_to_make(&self.path)),
            false => String::new(),
        }
    }

    /// The failure that a reading ended with.
    pub(crate) fn unreadable(&self, error: &ReadError) -> Failure {
        self.or_unread(unreadable_in(&path(&self.path), error))
    }
}

/// The failure that a reading of what has this name ended with.
fn unreadable_in(shown: &str, error: &ReadError) -> Failure {
    match error {
        ReadError::Survey(SurveyError::NewerVersion { .. }) => {
            Failure::new(Exit::FAILED, NEWER_VERSION, format!("{shown}: {error}"))
        }
        ReadError::BeforeAnchor { .. } => {
            Failure::new(Exit::NOT_FOUND, "before_the_log", format!("{shown}: {error}"))
        }
        ReadError::Changed { .. } | ReadError::Survey(SurveyError::Moved) => {
            Failure::new(Exit::FAILED, "changed", format!("{shown}: {error}"))
        }
        ReadError::Survey(error) if error.is_gone() => {
            let message = format!("{shown}: {error}; the log changed while it was read: try again");
            Failure::new(Exit::FAILED, "changed", message)
        }
        ReadError::NoBeginning { .. } => {
            let message = format!("{shown}: {error}; `holdpoint verify` tells more");
            Failure::new(Exit::VERIFICATION_FAILED, "no_beginning", message)
        }
        _ => Failure::new(
            Exit::FAILED,
            "io",
            format!("{shown}: {error}; check that this user may read the directory"),
        ),
    }
}

/// A log is a directory of its own that this user may read.
fn check(log: &Path, option: &str) -> Result<(), Failure> {
    let shown = path(log);
    let kind = match log.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::new(Exit::FAILED, "io", unreadable(&shown, &error))),
    };
    if kind.is_symlink() {
        let target = log.canonicalize().map_or("its target".into(), |target| path(&target));
        let message = format!("{shown} is a symbolic link: name the directory itself, {target}");
        return Err(Failure::new(Exit::FAILED, "symbolic_link", message));
    }
    if !kind.is_dir() {
        let message = format!("{shown} is not a directory: name a log's directory with {option}");
        return Err(Failure::new(Exit::FAILED, "not_a_directory", message));
    }
    match log.read_dir() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::new(Exit::FAILED, "io", unreadable(&shown, &error))),
    }
}

fn unreadable(shown: &str, error: &std::io::Error) -> String {
    format!("cannot read {shown}: {error}; check that this user may read it")
}
