//! A log and the archives of its first records, read as one sequence.
//!
//! What is moved to an archive keeps its bytes and its names. So the segments of an archive and
//! those of the log are together what the log was, and [`JoinedLog`] shows them as that: each
//! segment is opened from where it lies, and HEAD is the log's with the anchor of the archive.
//! Readers need not know of it, and prove the same: the header of the log's first segment names
//! the archive's last record.
//!
//! Records may be moved while a reader reads. So the archives are looked for again whenever HEAD is
//! read, or a segment is gone, and HEAD's anchor is another one by then.

use crate::finding::{Place, Problem};
use crate::head::{read_head, read_witness};
use crate::reader::{firsts, list, read_header, steadily};
use crate::storage::{Entry, ReadFile, ReadStorage, Stamp};
use crate::survey::{SurveyError, segment_path};
use holdpoint_log_format::{Head, Link, LogId, names};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use thiserror::Error;

/// A log's directory, with the archives of its first records as far as they were found.
pub struct JoinedLog<S> {
    log: S,
    find: Box<Find<S>>,
    joined: RwLock<Joined<S>>,
}

/// Finds the archives of the records before the anchor of a log's HEAD.
pub type Find<S> = dyn Fn(&S, &Head) -> io::Result<Archives<S>> + Send + Sync;

/// The archives of a log.
pub struct Archives<S> {
    /// Those that are read, the one with the newest records first. Each [fits](fit()) what comes
    /// behind it.
    pub read: Vec<Archive<S>>,
    /// The records before them, which are in an archive that is not.
    pub unread: Option<Unread>,
}

/// An archive that is read.
pub struct Archive<S> {
    /// Its directory.
    pub storage: S,
    /// The directory's path, as it may be shown.
    pub path: Arc<str>,
    /// Content of its HEAD.
    pub head: Head,
}

/// Records that are in an archive which is not read: all from record 1 on.
#[derive(Clone, Debug)]
pub struct Unread {
    /// The last of them.
    pub last: u64,
    /// The archive's directory, as the log names it and as it may be shown.
    pub named: Option<Arc<str>>,
    /// Why it is not read, where it was looked at.
    pub why: Option<Arc<Unfit>>,
}

/// Why a directory is not read as the archive of a log's first records.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unfit {
    /// Something else has its name, or a link to a directory.
    #[error("it is not a directory, or a symbolic link to one")]
    NotADirectory,
    /// There is nothing.
    #[error("there is no archive there")]
    Missing,
    /// No HEAD in it names a record: it was begun and not finished, or its HEAD was lost.
    #[error("it is an unfinished archive, or one that lost its HEAD")]
    Unfinished,
    /// A log that is written to, or was copied.
    #[error("it is a log, and not an archive of one")]
    NotAnArchive,
    /// HEAD, the mark or the segments of the archive do not hold.
    #[error("{file} there: {problem}")]
    Damaged {
        /// The file, relative to the archive's directory.
        file: String,
        /// Problem of it.
        problem: Problem,
    },
    /// It is of another log.
    #[error("it belongs to log {found}, and this is log {expected}")]
    OtherLog {
        /// This log.
        expected: LogId,
        /// The log that the archive names.
        found: LogId,
    },
    /// It is older than what the log goes on from.
    #[error("it ends with record {found}, and the log begins behind record {expected}")]
    Older {
        /// The log's anchor.
        expected: u64,
        /// The archive's last record.
        found: u64,
    },
    /// It holds another history.
    #[error("record {sequence} has the link {found} there, and the log goes on from {expected}")]
    OtherLink {
        /// The log's anchor.
        sequence: u64,
        /// The anchor's link.
        expected: Link,
        /// The archive's.
        found: Link,
    },
    /// The log does not go on from its last record.
    #[error("its last record is {newest}, and no segment of the log goes on from that")]
    Untied {
        /// The archive's last record.
        newest: u64,
    },
    /// A file of it cannot be read, or is of a newer format.
    #[error(transparent)]
    Unreadable(#[from] SurveyError),
    /// Nothing was found out: a file of the log cannot be read.
    #[error("{0}, in the log itself")]
    LogUnreadable(SurveyError),
}

/// The records of a log that lie in archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivePlaces(Arc<[ArchivePlace]>);

/// The records that lie in one archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePlace {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// The archive's directory, as it may be shown.
    pub path: Arc<str>,
}

/// Archives that are joined to the log.
struct Joined<S> {
    /// The anchor that the archives were found for.
    anchor: Option<(u64, Link)>,
    archives: Archives<S>,
    places: ArchivePlaces,
}

impl ArchivePlaces {
    /// Each archive, the one with the first records first.
    #[must_use]
    pub fn all(&self) -> &[ArchivePlace] {
        &self.0
    }

    /// The archive that holds a record, or the segment that begins with it.
    #[must_use]
    pub fn of(&self, sequence: u64) -> Option<&Arc<str>> {
        let holding = self.0.iter().find(|place| (place.first..=place.last).contains(&sequence));
        holding.map(|place| &place.path)
    }

    /// The same place, with the archive before the name of a file that lies in one.
    #[must_use]
    pub fn located(&self, place: Place) -> Place {
        let archive = first_of(&place.file).and_then(|first| self.of(first));
        match archive {
            Some(archive) => Place { file: format!("{archive}/{}", place.file), ..place },
            None => place,
        }
    }
}

impl<S> Default for Archives<S> {
    fn default() -> Self {
        Self { read: Vec::new(), unread: None }
    }
}

impl<S> Joined<S> {
    fn of(anchor: Option<(u64, Link)>, archives: Archives<S>) -> Self {
        let mut last = anchor.map_or(0, |(sequence, _)| sequence);
        let place = |archive: &Archive<S>| {
            let before = archive.head.anchor_sequence;
            let place =
                ArchivePlace { first: before.saturating_add(1), last, path: archive.path.clone() };
            last = before;
            place
        };
        let mut places: Vec<ArchivePlace> = archives.read.iter().map(place).collect();
        places.reverse();
        Self { anchor, archives, places: ArchivePlaces(places.into()) }
    }

    /// The archive that holds the segment which begins with a record.
    fn holding(&self, first: u64) -> Option<&Archive<S>> {
        let is_archived = self.anchor.is_some_and(|(anchor, _)| first <= anchor);
        let holds = |archive: &&Archive<S>| is_archived && first > archive.head.anchor_sequence;
        self.archives.read.iter().find(holds)
    }

    /// HEAD of the log, with the anchor of all that is read.
    fn head(&self, head: Head) -> Head {
        let oldest = self.archives.read.last().map_or(&head, |archive| &archive.head);
        let (anchor_sequence, anchor_link) = (oldest.anchor_sequence, oldest.anchor_link);
        Head { anchor_sequence, anchor_link, ..head }
    }
}

impl<S: ReadStorage> JoinedLog<S> {
    /// The log in a directory, with the archives that `find` finds. It is asked when HEAD is read,
    /// and again where the anchor is another one than before.
    #[must_use]
    pub fn new(log: S, find: Box<Find<S>>) -> Self {
        let joined = RwLock::new(Joined::of(None, Archives::default()));
        Self { log, find, joined }
    }

    /// The log in a directory, without any archive.
    #[must_use]
    pub fn alone(log: S) -> Self {
        Self::new(log, Box::new(|_, _| Ok(Archives::default())))
    }

    /// The log's own directory.
    #[must_use]
    pub fn log(&self) -> &S {
        &self.log
    }

    /// Looks for the archives, where HEAD says that there are any. A HEAD that does not hold is for
    /// the reading to tell.
    ///
    /// # Errors
    /// HEAD or what `find` looks at cannot be read.
    pub fn look(&self) -> io::Result<()> {
        match self.read_head() {
            Err(error) if error.kind() != ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns whether HEAD's anchor is another one by now, or an archive was not where it is: the
    /// archives were looked for again then. One that was read and is no more is an error: without
    /// it this is another reading.
    fn has_moved(&self) -> io::Result<bool> {
        let before = self.anchor();
        let gone = self.archive_gone()?;
        if gone.is_some() {
            self.replace(Joined::of(None, Archives::default()));
        }
        let looked = self.look();
        looked.map_err(|error| io::Error::other(format!("{}: {error}", names::HEAD)))?;
        match gone {
            Some((path, count)) if self.anchor() == before && self.archives_read() < count => {
                let told = "it became another one while it was read, or is gone; run it again";
                Err(io::Error::other(format!("{} in the archive {path}: {told}", names::HEAD)))
            }
            gone => Ok(gone.is_some() || self.anchor() != before),
        }
    }

    fn joined(&self) -> RwLockReadGuard<'_, Joined<S>> {
        self.joined.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, joined: Joined<S>) {
        *self.joined.write().unwrap_or_else(PoisonError::into_inner) = joined;
    }

    fn archives_read(&self) -> usize {
        self.joined().archives.read.len()
    }

    /// An archive that is read and is another one by now, or none; and how many are read.
    fn archive_gone(&self) -> io::Result<Option<(Arc<str>, usize)>> {
        let joined = self.joined();
        for archive in &joined.archives.read {
            let head = read_witness(&archive.storage, names::HEAD);
            let head = head.map_err(|error| {
                io::Error::other(format!("{} {}", names::HEAD, archive.told(&error)))
            })?;
            let head = head.and_then(Result::ok).and_then(|bytes| Head::decode(&bytes).ok());
            if head != Some(archive.head) {
                return Ok(Some((archive.path.clone(), joined.archives.read.len())));
            }
        }
        Ok(None)
    }

    /// The records that are in an archive which is not read.
    #[must_use]
    pub fn unread(&self) -> Option<Unread> {
        self.joined().archives.unread.clone()
    }

    fn anchor(&self) -> Option<(u64, Link)> {
        self.joined().anchor
    }

    /// HEAD's bytes, as whoever reads log and archives as one sequence needs them.
    fn read_head(&self) -> io::Result<Option<Vec<u8>>> {
        steadily(io::Error::from, || match self.read_head_once() {
            // What was looked at was moved to an archive meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        })
    }

    fn read_head_once(&self) -> io::Result<Option<Vec<u8>>> {
        let bytes = match read_witness(&self.log, names::HEAD)? {
            None => return Ok(None),
            Some(Err(_)) => return Err(ErrorKind::InvalidInput.into()),
            Some(Ok(bytes)) => bytes,
        };
        let Ok(head) = Head::decode(&bytes) else { return Ok(Some(bytes)) };
        let anchor = Some((head.anchor_sequence, head.anchor_link));
        if self.anchor() != anchor {
            let archives = match head.anchor_sequence {
                0 => Archives::default(),
                _ => (self.find)(&self.log, &head)?,
            };
            self.replace(Joined::of(anchor, archives));
        }
        Ok(Some(self.joined().head(head).encode().to_vec()))
    }

    /// Lists the segments: what an archive holds is not looked for in the log, where a move may
    /// have left it.
    fn list_segments(&self) -> io::Result<Vec<Entry>> {
        let mut entries = self.log.list(names::SEGMENTS)?;
        let joined = self.joined();
        let holding = |entry: &Entry| joined.holding(names::parse_segment(&entry.name)?);
        entries.retain(|entry| holding(entry).is_none());
        for archive in &joined.archives.read {
            let listed = archive.storage.list(names::SEGMENTS);
            let listed = listed.map_err(|error| io::Error::other(archive.told(&error)))?;
            let is_its = |entry: &Entry| holding(entry).is_some_and(|it| std::ptr::eq(it, archive));
            entries.extend(listed.into_iter().filter(is_its));
        }
        Ok(entries)
    }

    /// Returns whether a segment of each archive is listed.
    fn lists_each(&self, listed: &[Entry]) -> bool {
        let joined = self.joined();
        let firsts = firsts(listed);
        let is_listed = |archive: &Archive<S>| {
            let is_its =
                |first: &u64| joined.holding(*first).is_some_and(|it| std::ptr::eq(it, archive));
            firsts.iter().any(is_its)
        };
        joined.archives.read.iter().all(is_listed)
    }

    fn open_in_its_place(&self, first: u64, path: &str) -> io::Result<Option<JoinedFile<S::File>>> {
        let joined = self.joined();
        let (opened, archive) = match joined.holding(first) {
            None => (self.log.open(path)?, None),
            Some(archive) => {
                let opened = archive.storage.open(path).map_err(|error| archive.told(&error))?;
                (opened, Some(archive.path.clone()))
            }
        };
        Ok(opened.map(|file| JoinedFile::File { file, archive }))
    }
}

impl<S> Archive<S> {
    fn told(&self, error: &io::Error) -> io::Error {
        in_archive(&self.path, error)
    }
}

impl<S: ReadStorage> ReadStorage for JoinedLog<S> {
    type File = JoinedFile<S::File>;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        if directory != names::SEGMENTS {
            return self.log.list(directory);
        }
        steadily(io::Error::from, || {
            let listed = self.list_segments()?;
            if self.has_moved()? {
                return Ok(None);
            }
            // An archive that had another name for a moment seemed to be empty.
            if self.lists_each(&listed) { Ok(Some(listed)) } else { self.list_segments().map(Some) }
        })
    }

    fn open(&self, path: &str) -> io::Result<Option<Self::File>> {
        if path == names::HEAD {
            return Ok(self.read_head()?.map(JoinedFile::Head));
        }
        // No segment begins with record 0: whatever else it is lies in the log's own directory.
        let first = first_of(path).unwrap_or(0);
        steadily(io::Error::from, || {
            let opened = self.open_in_its_place(first, path)?;
            if opened.is_some() || first == 0 {
                return Ok(Some(opened));
            }
            // Its archive may have had another name for a moment.
            if self.has_moved()? { Ok(None) } else { self.open_in_its_place(first, path).map(Some) }
        })
    }

    fn archives(&self) -> ArchivePlaces {
        self.joined().places.clone()
    }
}

/// The first record of the segment that has a path.
fn first_of(path: &str) -> Option<u64> {
    let name = path.strip_prefix(names::SEGMENTS)?.strip_prefix('/')?;
    names::parse_segment(name)
}

/// An error of an archive's file, which names the archive.
fn in_archive(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("in the archive {path}: {error}"))
}

/// A file of a log or of an archive, or HEAD as it is for both.
pub enum JoinedFile<F> {
    /// A file.
    File {
        /// It.
        file: F,
        /// The archive that it lies in.
        archive: Option<Arc<str>>,
    },
    /// HEAD.
    Head(Vec<u8>),
}

impl<F> JoinedFile<F> {
    fn told<T>(&self, done: io::Result<T>) -> io::Result<T> {
        match self {
            Self::File { archive: Some(path), .. } => {
                done.map_err(|error| in_archive(path, &error))
            }
            _ => done,
        }
    }
}

impl<F: ReadFile> ReadFile for JoinedFile<F> {
    fn length(&self) -> io::Result<u64> {
        match self {
            Self::File { file, .. } => self.told(file.length()),
            Self::Head(bytes) => bytes.length(),
        }
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => self.told(file.read_some_at(offset, buffer)),
            Self::Head(bytes) => bytes.read_some_at(offset, buffer),
        }
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        match self {
            Self::File { file, .. } => self.told(file.stamp()),
            Self::Head(bytes) => bytes.stamp(),
        }
    }
}

/// Lists where a path may lead that was recorded when records of the log in a directory were moved.
/// It is absolute in records of today; a relative one was seen from where the move was asked for.
#[must_use]
pub fn places_of(named: &str, log: &Path) -> Vec<PathBuf> {
    let named = Path::new(named);
    let beside = log.parent().map(|parent| parent.join(named));
    let mut places = vec![named.to_path_buf()];
    places.extend(beside.filter(|beside| beside != named));
    places
}

/// Checks whether a directory holds the records before the anchor of a log's HEAD: it is a finished
/// archive of the same log, and ends with the very record that the log goes on from. Gives the
/// archive's HEAD.
///
/// Further records may be in both: moving them was interrupted, or goes on now. Then a segment of
/// the log goes on from the archive's last record, and one of the archive from the anchor.
///
/// # Errors
/// Why it is not read as that.
pub fn fit<A: ReadStorage, S: ReadStorage>(
    archive: &A,
    log: &S,
    head: &Head,
) -> Result<Head, Unfit> {
    let found = head_of_archive(archive)?;
    if found.log != head.log {
        return Err(Unfit::OtherLog { expected: head.log, found: found.log });
    }
    let (anchor, newest) = (head.anchor_sequence, found.newest_sequence);
    if newest < anchor {
        return Err(Unfit::Older { expected: anchor, found: newest });
    }
    let at_anchor = match newest == anchor {
        true => Some(found.newest_link),
        false => link_before(archive, anchor)?,
    };
    let at_anchor = at_anchor.ok_or(Unfit::Untied { newest })?;
    if at_anchor != head.anchor_link {
        let expected = head.anchor_link;
        return Err(Unfit::OtherLink { sequence: anchor, expected, found: at_anchor });
    }
    match link_before(log, newest).map_err(Unfit::LogUnreadable)? {
        Some(link) if link == found.newest_link => Ok(found),
        _ => Err(Unfit::Untied { newest }),
    }
}

/// The link of a record, as the header of the segment behind it names it.
fn link_before<S: ReadStorage>(storage: &S, sequence: u64) -> Result<Option<Link>, SurveyError> {
    let header = read_header(storage, sequence.saturating_add(1))?;
    Ok(header.map(|header| header.previous).filter(|at| at.sequence == sequence).map(|at| at.link))
}

/// HEAD of a directory that is a finished archive.
fn head_of_archive<A: ReadStorage>(archive: &A) -> Result<Head, Unfit> {
    let damaged = |file: &str, problem| Err(Unfit::Damaged { file: file.to_string(), problem });
    let is_marked = match archive.open(names::ARCHIVE) {
        Ok(mark) => mark.is_some(),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            return damaged(names::ARCHIVE, Problem::NotRegular);
        }
        Err(source) => return Err(SurveyError::Io { file: names::ARCHIVE.into(), source }.into()),
    };
    let head = match read_head(archive)? {
        Ok(_) if !is_marked => return Err(Unfit::NotAnArchive),
        Err(Problem::HeadMissing) if is_marked => return Err(Unfit::Unfinished),
        Err(Problem::HeadMissing) => return Err(Unfit::Missing),
        Err(problem) => return damaged(names::HEAD, problem),
        Ok(head) if head.is_at_anchor() => return Err(Unfit::Unfinished),
        Ok(head) => head,
    };
    let first = head.anchor_sequence.saturating_add(1);
    let firsts = match list(archive)? {
        Err(finding) => return damaged(&finding.place.file, finding.problem),
        Ok(listed) => firsts(&listed),
    };
    match firsts.first() {
        Some(found) if *found == first => Ok(head),
        // Nothing is ever moved out of an archive, so that it has no anchor but its beginning.
        Some(found) if firsts.contains(&first) => {
            damaged(&segment_path(*found), Problem::NotTheAnchor { expected: first, found: *found })
        }
        _ => damaged(&segment_path(first), Problem::SegmentsGone { newest: head.newest_sequence }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_looked_for_here_and_beside_the_log() {
        let found = |named| places_of(named, Path::new("/logs/mine"));
        assert_eq!(found("old"), [PathBuf::from("old"), PathBuf::from("/logs/old")]);
        assert_eq!(found("/archives/old"), [PathBuf::from("/archives/old")]);
    }
}
