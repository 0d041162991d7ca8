//! The archives that are read with a log, and what is said of those that are not.

use crate::args::Global;
use crate::log::Directory;
use crate::log::archived_hint::{AMONG_THEM, lying_in};
use crate::log::damage::NEWER_VERSION;
use crate::ui::{Exit, Failure, complain, path};
use holdpoint_log_files::head::read_head;
use holdpoint_log_files::joined::{Unfit, Unread, fit};
use holdpoint_log_files::{ReadStorage, SurveyError};
use holdpoint_log_format::names;
use holdpoint_replay::archives::{with_archives, without_archives};
use holdpoint_replay::is_salvaged;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Which archives of a log are read with it.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveArgs {
    /// Archive of the log's oldest records, where it was moved; repeatable. `none`: read the log
    /// alone; a directory of that name is `./none`.
    #[arg(long, value_name = "DIR|none")]
    archive: Vec<PathBuf>,
}

impl ArchiveArgs {
    /// Fails where an archive is named and this form of the verb reads none.
    pub(crate) fn expect_none(&self, form: &str) -> Result<(), Failure> {
        if self.archive.is_empty() {
            return Ok(());
        }
        let message = format!("archives are read with {form} alone: leave them away, or name it");
        Err(Failure::new(Exit::USAGE, "no_archives", message))
    }
}

impl Directory {
    /// The directory that `--log` names, read together with the archives of its first records.
    pub(crate) fn open_with_archives(global: &Global, args: &ArchiveArgs) -> Result<Self, Failure> {
        let mut directory = Self::open(global)?;
        directory.take_archives(args)?;
        Ok(directory)
    }

    /// Reads the archives where the log says that they are.
    pub(crate) fn following_archives(mut self) -> Result<Self, Failure> {
        self.take_archives(&ArchiveArgs { archive: Vec::new() })?;
        Ok(self)
    }

    fn take_archives(&mut self, args: &ArchiveArgs) -> Result<(), Failure> {
        let reads_none = args.archive == [Path::new("none")];
        let named = args.archive.iter().filter(|_| !reads_none);
        let given = named.map(|archive| self.open_archive(archive));
        let given: Vec<Self> = given.collect::<Result<_, _>>()?;
        let storages = given.iter().map(|archive| archive.storage.clone()).collect();
        self.reads_archives = !reads_none;
        self.log = match reads_none {
            true => without_archives(self.storage.clone()),
            false => with_archives(self.storage.clone(), storages),
        };
        self.log.look().map_err(|source| self.unreadable_head(source))?;
        given.iter().try_for_each(|archive| self.expect_read(archive))
    }

    /// An archive that was named and is not read does not belong to the log.
    fn expect_read(&self, archive: &Self) -> Result<(), Failure> {
        let shown = path(&archive.path);
        if self.log.archives().all().iter().any(|place| *place.path == *shown) {
            return Ok(());
        }
        // What is wrong with HEAD is for the reading to tell.
        let Ok(head) = read_head(&self.storage).map_err(|error| self.unreadable(&error.into()))?
        else {
            return Ok(());
        };
        match fit(&archive.storage, &self.storage, &head) {
            Ok(_) => complain(&format!("{shown} is not read: what it holds is read elsewhere")),
            Err(unfit) => return Err(self.of_unfit(archive, &unfit)),
        }
        Ok(())
    }

    /// The failure that a directory is not the archive that it was named as.
    fn of_unfit(&self, archive: &Self, unfit: &Unfit) -> Failure {
        let (exit, code) = match unfit {
            Unfit::Missing | Unfit::Unfinished => (Exit::NOT_FOUND, "nothing_here"),
            Unfit::NotADirectory | Unfit::NotAnArchive => (Exit::USAGE, "not_an_archive"),
            Unfit::Unreadable(SurveyError::NewerVersion { .. }) => (Exit::FAILED, NEWER_VERSION),
            Unfit::Unreadable(_) => (Exit::FAILED, "io"),
            _ => (Exit::VERIFICATION_FAILED, "archive_differs"),
        };
        let advice = match self.is_salvaged() {
            true => FITS_NONE,
            false => "; name the directory that its first records were moved to",
        };
        let shown = path(&archive.path);
        let message = format!("{shown} is not read as the archive of this log: {unfit}{advice}");
        Failure::new(exit, code, message)
    }

    fn unreadable_head(&self, source: std::io::Error) -> Failure {
        self.unreadable(&SurveyError::Io { file: names::HEAD.to_string(), source }.into())
    }

    /// The last record that is in an archive which is not read, where one from `first` on is.
    pub(crate) fn unread_from(&self, first: Option<u64>) -> Option<u64> {
        let last = self.log.unread()?.last;
        first.is_none_or(|first| first <= last).then_some(last)
    }

    /// How a verb ends that met the beginning of something that does not count, or none: the log
    /// does not verify, or what is missing may lie in an archive that is not read.
    pub(crate) fn exit_of_uncounted(&self) -> Exit {
        match self.log.unread() {
            Some(_) => Exit::NOT_FOUND,
            None => Exit::VERIFICATION_FAILED,
        }
    }

    /// Says which records are in an archive that is not read, if there are any.
    pub(crate) fn tell_unread(&self) {
        if let Some(sentence) = self.said_of_unread() {
            complain(&sentence);
        }
    }

    /// Which records are in an archive that is not read, and what to do, if there are any.
    pub(crate) fn said_of_unread(&self) -> Option<String> {
        self.log.unread().map(|unread| self.sentence(&unread))
    }

    fn sentence(&self, unread: &Unread) -> String {
        format!("{}{}", told(unread), self.advice(unread))
    }

    /// What to do about an archive that is not read.
    pub(crate) fn advice(&self, unread: &Unread) -> &'static str {
        match unread.why.as_deref() {
            _ if self.is_salvaged() => FITS_NONE,
            _ if !self.reads_archives => "; leave --archive none away, and it is read",
            None | Some(Unfit::Missing) => "; name its directory with --archive DIR",
            Some(_) => "; if it lies elsewhere, name that directory with --archive DIR",
        }
    }

    /// Whether this log was made by salvage. What cannot be read is for the reading to tell.
    fn is_salvaged(&self) -> bool {
        is_salvaged(&self.storage).unwrap_or(false)
    }

    /// The same failure; where something was not found that may be in an archive which is not read,
    /// it says so.
    pub(crate) fn or_unread(&self, failure: Failure) -> Failure {
        match self.log.unread() {
            Some(unread) if failure.exit == Exit::NOT_FOUND => {
                let sentence = self.sentence(&unread);
                before(failure, &sentence, (unread.last, unread.named.as_deref()))
            }
            _ => failure,
        }
    }

    /// That no record of the log is in an archive that was not read. Exit 3.
    pub(crate) fn expect_archives_read(&self) -> Result<(), Failure> {
        let Some(unread) = self.log.unread() else { return Ok(()) };
        let message = format!("{}: not all of the log was read", path(&self.path));
        let failure = Failure::new(Exit::NOT_FOUND, BEFORE_THE_LOG, message);
        Err(before(failure, &told(&unread), (unread.last, unread.named.as_deref())))
    }

    /// In which archives records lie that are before the log's first one, for a verb that reads the
    /// log alone; `None` where none of them does.
    pub(crate) fn said_of_archived(&self, (first, last): (u64, u64)) -> Option<String> {
        let log = with_archives(self.storage.clone(), Vec::new());
        log.look().ok()?;
        let unread = log.unread().filter(|unread| first <= unread.last).map(|unread| {
            let advice = if self.is_salvaged() { FITS_NONE } else { "; `--log DIR` reads it" };
            format!("{}{advice}", told(&unread))
        });
        let places = log.archives();
        let asked = places.all().iter().filter(|place| place.first <= last && first <= place.last);
        let read = asked.map(|place| lying_in((place.first, place.last), Some(&place.path)));
        let all: Vec<String> = unread.into_iter().chain(read).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The last record of the log that is in an archive, and the archive's directory where the log
    /// names it, whether that is read or not.
    fn archived(&self) -> Option<(u64, Option<String>)> {
        let log = with_archives(self.storage.clone(), Vec::new());
        log.look().ok()?;
        let unread =
            log.unread().map(|unread| (unread.last, unread.named.map(|it| it.to_string())));
        let places = log.archives();
        let read = places.all().iter().map(|place| (place.last, Some(place.path.to_string())));
        read.chain(unread).max()
    }
}

/// What came of a verb that reads the log alone: where something was not found that may be in an
/// archive of the log's first records, or was in records that are lost, it says so.
pub(crate) fn or_archived<T>(global: &Global, outcome: Result<T, Failure>) -> Result<T, Failure> {
    outcome.map_err(|failure| {
        let is_told = [BEFORE_THE_LOG, "nothing_here"].contains(&failure.code());
        if is_told || failure.exit != Exit::NOT_FOUND {
            return failure;
        }
        let Ok(log) = Directory::open(global) else { return failure };
        let failure = log.or_lost(failure);
        let Some((last, named)) = log.archived() else { return failure };
        let lying = lying_in((1, last), named.as_deref());
        before(failure, &format!("{lying}, {AMONG_THEM}"), (last, named.as_deref()))
    })
}

/// Says of a list of what ended, read of the log alone, that an archive may have more of it.
pub(crate) fn tell_archived(directory: &Directory) {
    if let Some(sentence) = not_listed(directory) {
        complain(&sentence);
    }
}

/// That an archive may have more of what ended than the log alone lists, where there is one.
pub(crate) fn not_listed(directory: &Directory) -> Option<String> {
    let (last, named) = directory.archived()?;
    let lying = lying_in((1, last), named.as_deref());
    Some(format!("{lying}: what ended there long ago is not listed"))
}

/// The code of what was not found and may be in an archive.
pub(crate) const BEFORE_THE_LOG: &str = "before_the_log";

/// A failure to find something that may be in an archive, and which that is.
fn before(failure: Failure, sentence: &str, (last, named): (u64, Option<&str>)) -> Failure {
    failure
        .adding(&format!("; {sentence}"))
        .called(BEFORE_THE_LOG)
        .with("archive", json!(named))
        .with("archived_to_sequence", json!(last))
}

/// What is said of the archives of a log with an identity of its own, whose first records are in
/// the archive of another.
pub(crate) const FITS_NONE: &str = "; this log was made by salvage, so no archive fits it: read \
                                    the archive by itself, with --log DIR";

/// Which records are in an archive that is not read, and why it is not.
pub(crate) fn told(unread: &Unread) -> String {
    let records = match unread.last {
        1 => "record 1 is".to_string(),
        last => format!("records 1 to {last} are"),
    };
    let archive =
        unread.named.as_ref().map_or("an archive".into(), |at| format!("the archive {at}"));
    let why = unread.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{records} in {archive}, which was not read{why}")
}
