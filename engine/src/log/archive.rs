//! Moving sealed segments to an archive, so that the log begins behind them.
//!
//! The order is the promise: the archive is whole and verified before the log says that anything
//! was moved, HEAD names the new beginning before anything is removed, and only what the archive
//! holds byte for byte is removed. After a crash in between, doing it again goes on.

use super::active::{DiskError, DiskResult, IoContext};
use super::copy::{CopyError, Unused, copy_segment, survey_whole};
use super::error::{AppendError, there_are};
use super::handle::Log;
use super::lock;
use super::state::Shared;
use super::storage::{RootState, Storage};
use super::write_transaction::WriteTransaction;
use super::{head_file, roll};
use holdpoint_log_files::reader::{firsts, list};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    FollowError, Follower, LogReader, ReadFile, ReadStorage, Survey, SurveyError,
};
use holdpoint_log_format::limits::{PIECE_LENGTH, SEAL_LENGTH};
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{ChainPosition, Head, LogId, SegmentHeader, names};
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Time that to wait for whoever else writes to the archive.
const ARCHIVE_LOCK_WAIT: Duration = Duration::from_secs(1);

/// Records could not be moved to an archive. Nothing was removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The directory is no archive of this log, or one that this log does not go on from.
    #[error(
        "{place} is not an archive that this log goes on from ({reason}): name an empty directory, \
         or the one that its first records were moved to"
    )]
    OtherArchive {
        /// The archive's directory.
        place: String,
        /// Fault of it.
        reason: String,
    },
    /// It is an archive of this log, and damaged.
    #[error(
        "the archive {place} is damaged ({finding}): keep it, look at it with `holdpoint verify \
         --log`, and name an empty directory for the records that go on from it"
    )]
    Damaged {
        /// The archive's directory.
        place: String,
        /// Fault of it.
        finding: String,
    },
    /// Somebody else writes to the archive.
    #[error("somebody else is writing to the archive at {place}: try again when that is done")]
    Busy {
        /// The archive's directory.
        place: String,
    },
    /// Somebody else moved records of this log to an archive meanwhile.
    #[error(
        "the log begins behind record {found} now, and not behind {expected}: somebody else moved \
         records to an archive meanwhile, try again"
    )]
    Overtaken {
        /// The anchor when this began.
        expected: u64,
        /// The anchor now.
        found: u64,
    },
    /// No HEAD, or one that cannot be read: nothing says where the log begins.
    #[error("HEAD cannot be read, so nothing says where the log begins: look at it with `verify`")]
    NoHead,
    /// The archive could not be written.
    #[error(
        "the archive at {place} cannot be written: cannot {operation} {file} there: {source}; make \
         it a directory that this user may write to, or name another one"
    )]
    Write {
        /// The archive's directory.
        place: String,
        /// Operation that was tried.
        operation: &'static str,
        /// On what, relative to the archive's directory.
        file: String,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The archive's disk is full.
    #[error(
        "no space for {file} of the archive at {place}: it needs {needed} bytes{}, free them and \
         try again",
        there_are(*.free)
    )]
    NoSpace {
        /// The archive's directory.
        place: String,
        /// The file, relative to the archive's directory.
        file: String,
        /// Its length in bytes.
        needed: u64,
        /// Free bytes of the disk, where that is known.
        free: Option<u64>,
    },
    /// The archive cannot be read.
    #[error("the archive at {place} cannot be read: {source}; check that this user may read it")]
    Unreadable {
        /// The archive's directory.
        place: String,
        /// Cause of it.
        source: SurveyError,
    },
    /// The copy that was written to the archive does not verify.
    #[error(
        "the archive at {place} does not verify, so nothing was removed from the log: {finding}; \
         remove what was made there, or name an empty directory"
    )]
    Unlike {
        /// The archive's directory.
        place: String,
        /// First fault that was found in it.
        finding: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] SurveyError),
    /// The log cannot be read on.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The disk refused a call on the log.
    #[error("cannot {operation} {file}: {source}")]
    Disk {
        /// Operation that was tried.
        operation: &'static str,
        /// On what, relative to the log's directory.
        file: String,
        /// Answer of the disk.
        source: io::Error,
    },
}

impl From<DiskError> for ArchiveError {
    fn from(error: DiskError) -> Self {
        Self::Disk { operation: error.operation, file: error.file, source: error.source }
    }
}

/// A segment that will never change again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedSegment {
    /// Its header.
    pub header: SegmentHeader,
    /// Its last record: the log may begin behind it.
    pub last: ChainPosition,
    /// Offset behind its seal.
    pub end: u64,
}

/// An archive of a log, held against others who write to it.
#[derive(Debug)]
pub struct Archive<'w, W: Storage> {
    storage: &'w W,
    /// The newest record that it holds; the log's anchor while it holds none.
    end: ChainPosition,
    is_new: bool,
    /// The record that its HEAD named, where it holds later ones.
    head_named: Option<u64>,
    _lock: W::Lock,
}

/// Text of an archive's mark for a person; a program looks at its name alone.
const MARK: &[u8] = b"The first records of a log are here. Nothing but `holdpoint archive` \
may write to this directory.\n";

impl<W: Storage> Archive<'_, W> {
    /// The record that its HEAD named when it was opened, where it held later ones.
    #[must_use]
    pub const fn head_named(&self) -> Option<u64> {
        self.head_named
    }

    /// The newest record that it holds; the log's anchor while it holds none.
    #[must_use]
    pub fn end(&self) -> ChainPosition {
        self.end
    }
}

impl<S: Storage> Log<S> {
    /// The place before the first record that the log holds now.
    ///
    /// # Errors
    /// HEAD or the first segment cannot be read.
    pub fn beginning(&self) -> Result<Follower, ArchiveError> {
        beginning(&self.shared)
    }

    /// Every sealed segment, oldest first.
    ///
    /// # Errors
    /// The list or a header cannot be read.
    pub fn sealed_segments(&self) -> Result<Vec<SealedSegment>, ArchiveError> {
        let storage = &self.shared.storage;
        self.beginning()?;
        let reader = LogReader::of(storage)?;
        let headers =
            reader.firsts().iter().map(|first| Ok(Follower::at_segment(storage, *first)?.header));
        let headers: Vec<SegmentHeader> = headers.collect::<Result<_, ArchiveError>>()?;
        let sealed = headers.windows(2).filter_map(|pair| {
            let [header, next] = pair else { return None };
            let end = next.previous_seal_offset.saturating_add(SEAL_LENGTH as u64);
            Some(SealedSegment { header: *header, last: next.previous, end })
        });
        Ok(sealed.collect())
    }

    /// Opens the archive in `storage`, which is empty or ends where one of this log's segments
    /// does, and verifies it.
    ///
    /// # Errors
    /// It is something else, damaged, or held by somebody else.
    pub fn open_archive<'w, W: Storage>(
        &self,
        storage: &'w W,
    ) -> Result<Archive<'w, W>, ArchiveError> {
        let place = || storage.root().display().to_string();
        let begins = self.beginning()?.run.chain;
        // Where nothing is there yet, it is made below.
        let _ = storage.hold();
        let mut ends = vec![begins];
        ends.extend(self.sealed_segments()?.iter().map(|segment| segment.last));
        let reached = reached_by_archive(storage, self.shared.log, &begins)?;
        if reached.is_some_and(|end| !ends.contains(&end)) {
            let reason = "its last record is not the one before this log's first".to_string();
            return Err(ArchiveError::OtherArchive { place: place(), reason });
        }
        storage.create_directory("").named("create", ".").map_err(at(storage))?;
        if reached.is_none() {
            storage.hold().named("open", ".").map_err(at(storage))?;
        }
        let lock =
            lock::acquire(storage, None, ARCHIVE_LOCK_WAIT, &mut || {}).map_err(at(storage))?;
        let Ok(lock) = lock else { return Err(ArchiveError::Busy { place: place() }) };
        let head = mark_as_archive(storage, self.shared.log)?;
        let (end, is_new) = (reached.unwrap_or(begins), reached.is_none());
        let head_named =
            head.map(|head| head.newest_sequence).filter(|named| *named < end.sequence);
        Ok(Archive { storage, end, is_new, head_named, _lock: lock })
    }

    /// Checks that `storage` is empty, missing, or an archive of this log, whatever its last record
    /// is, and says whether it is one. Nothing is made.
    ///
    /// # Errors
    /// It is something else, or damaged.
    pub fn check_archive<W: Storage>(&self, storage: &W) -> Result<bool, ArchiveError> {
        let begins = self.beginning()?.run.chain;
        Ok(reached_by_archive(storage, self.shared.log, &begins)?.is_some())
    }

    /// Copies the sealed segments behind the archive's end up to record `until`, the last of a
    /// segment. The archive is verified and durable when this returns. `progress` is told the
    /// newest record copied, and the last one that will be.
    ///
    /// # Errors
    /// The log cannot be read, or the archive not written, or it does not verify.
    pub fn copy_to_archive<W: Storage>(
        &self,
        archive: &mut Archive<'_, W>,
        until: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), ArchiveError> {
        let storage = archive.storage;
        let due = self.sealed_segments()?.into_iter();
        let due = due.filter(|segment| {
            segment.header.first_sequence() > archive.end.sequence && segment.last.sequence <= until
        });
        let due: Vec<SealedSegment> = due.collect();
        if archive.is_new {
            let made = storage.write_gitignore().named("create", names::GITIGNORE);
            made.map_err(at(storage))?;
            let head = Head::at_anchor(self.shared.log, &archive.end, storage.boot());
            head_file::replace(storage, &head).map_err(at(storage))?;
        }
        let made = storage.create_directory(names::SEGMENTS).named("create", names::SEGMENTS);
        made.map_err(at(storage))?;
        roll::remove_prepared(storage);
        for segment in &due {
            let (header, end) = (&segment.header, segment.end);
            copy_segment(&self.shared.storage, storage, header, end, Unused::GivenBack)
                .map_err(|error| of_copying(storage, error))?;
            archive.end = segment.last;
            progress(segment.last.sequence, until);
        }
        finish_archive(storage, &archive.end)
    }

    /// Makes the log begin behind `anchor`, the last record of a sealed segment that an archive
    /// holds: HEAD says so from now on. Everything appended is made durable first.
    ///
    /// # Errors
    /// The log does not begin behind record `expected` any more, or it cannot be written.
    pub fn begin_behind(&self, anchor: &ChainPosition, expected: u64) -> Result<(), ArchiveError> {
        let mut turn = self.begin()?;
        turn.sync()?;
        turn.write_head()?;
        let _at_the_disk = self.shared.commit.take(self.durable_sequence());
        let head = head_file::read(&self.shared.storage)?.ok_or(ArchiveError::NoHead)?;
        let found = head.anchor_sequence;
        if found != expected || head.newest_sequence < anchor.sequence {
            return Err(ArchiveError::Overtaken { expected, found });
        }
        let (anchor_sequence, anchor_link) = (anchor.sequence, anchor.link);
        let moved = Head { anchor_sequence, anchor_link, ..head };
        let written = head_file::write(&self.shared.storage, &moved);
        Ok(written.inspect_err(|_| self.shared.doubt_head(&moved))?)
    }

    /// Removes the segments before the log's beginning that `archive` holds byte for byte. Gives
    /// how many were removed, and how many are left because it does not hold them.
    ///
    /// # Errors
    /// The disk refused a call; doing it again goes on.
    pub fn remove_archived<W: ReadStorage>(&self, archive: &W) -> Result<(u64, u64), ArchiveError> {
        let storage = &self.shared.storage;
        let first = self.beginning()?.header.first_sequence();
        let listed = firsts(&list(storage)?.map_err(FollowError::Damaged)?);
        let (mut removed, mut left) = (0, 0);
        for sequence in listed.into_iter().filter(|sequence| *sequence < first) {
            let file = segment_path(sequence);
            if is_alike(storage, archive, &file)? {
                storage.remove(&file).named("remove", &file)?;
                // What was derived from it is of no use without it, and harms nothing.
                let index = format!("{}/{}", names::SEGMENTS, names::index(sequence));
                let _ = storage.remove(&index);
                removed += 1;
            } else {
                left += 1;
            }
        }
        storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)?;
        Ok((removed, left))
    }
}

impl<S: Storage> WriteTransaction<'_, S> {
    /// The place before the first record that the log holds now.
    ///
    /// # Errors
    /// HEAD or the first segment cannot be read.
    pub fn beginning(&self) -> Result<Follower, ArchiveError> {
        beginning(self.shared)
    }
}

/// Returns the follower that begins at the first segment: where HEAD is missing and that is
/// accepted, nothing moved the anchor since the log was opened.
fn beginning<S: Storage>(shared: &Shared<S>) -> Result<Follower, ArchiveError> {
    let first_segment = match head_file::read(&shared.storage)? {
        Some(head) => head.anchor_sequence.saturating_add(1),
        None if shared.options.without_head => shared.first_segment,
        None => return Err(ArchiveError::NoHead),
    };
    Ok(Follower::at_segment(&shared.storage, first_segment)?)
}

/// Makes a directory an archive before anything else is made in it; gives its HEAD.
fn mark_as_archive<W: Storage>(storage: &W, log: LogId) -> Result<Option<Head>, ArchiveError> {
    // Its lock was not held when it was looked at.
    let head = head_file::read(storage).map_err(at(storage))?;
    if head.as_ref().is_some_and(|head| head.log != log) {
        let place = storage.root().display().to_string();
        let reason = "it belongs to another log".to_string();
        return Err(ArchiveError::OtherArchive { place, reason });
    }
    write_mark(storage).map_err(at(storage))?;
    Ok(head)
}

fn write_mark<W: Storage>(storage: &W) -> DiskResult<()> {
    let mark = names::ARCHIVE;
    if storage.open(mark).named("open", mark)?.is_none() {
        let file = storage.create(mark, MARK.len() as u64).named("create", mark)?;
        storage.write_at(&file, 0, MARK).named("write", mark)?;
        storage.sync(&file).named("sync", mark)?;
    }
    storage.sync_directory("").named("sync", ".")
}

/// A refusal of the archive's disk, with the archive's directory.
fn at<W: Storage>(storage: &W) -> impl FnOnce(DiskError) -> ArchiveError {
    let place = storage.root().display().to_string();
    move |error| match error.is_full() {
        true => ArchiveError::NoSpace {
            place,
            file: error.file,
            needed: error.needed,
            free: storage.free(),
        },
        false => {
            let DiskError { operation, file, source, .. } = error;
            ArchiveError::Write { place, operation, file, source }
        }
    }
}

/// Returns what went wrong while a segment was copied: only the log is read then.
fn of_copying<W: Storage>(storage: &W, error: CopyError) -> ArchiveError {
    let place = storage.root().display().to_string();
    match error {
        CopyError::Write { operation, file, source } => {
            ArchiveError::Write { place, operation, file, source }
        }
        CopyError::NoSpace { file, needed, .. } => {
            ArchiveError::NoSpace { place, file, needed, free: storage.free() }
        }
        CopyError::Read(error) => ArchiveError::Read(error),
        CopyError::Moved { file } => {
            ArchiveError::Read(SurveyError::Io { file, source: io::ErrorKind::NotFound.into() })
        }
        other => ArchiveError::Unlike { place, finding: other.to_string() },
    }
}

fn survey_archive<W: Storage>(storage: &W) -> Result<Survey, ArchiveError> {
    let place = || storage.root().display().to_string();
    survey_whole(storage).map_err(|source| ArchiveError::Unreadable { place: place(), source })
}

/// The newest record of an archive of `log`; none of a directory that may become one that begins
/// behind `anchor`.
fn reached_by_archive<W: Storage>(
    storage: &W,
    log: LogId,
    anchor: &ChainPosition,
) -> Result<Option<ChainPosition>, ArchiveError> {
    let place = || storage.root().display().to_string();
    let other =
        |reason: &str| Err(ArchiveError::OtherArchive { place: place(), reason: reason.into() });
    match storage.root_state().named("look at", ".").map_err(at(storage))? {
        RootState::Other => return other("it is not a directory"),
        RootState::SymbolicLink => return other("it is a symbolic link"),
        RootState::Missing => return Ok(None),
        RootState::Directory => {}
    }
    let survey = survey_archive(storage)?;
    if survey.row == Row::Foreign {
        return other("it holds other files");
    }
    if survey.log.is_some_and(|found| found != log) {
        return other("it belongs to another log");
    }
    if survey.row.verdict().has_failed() {
        let finding = survey.findings.first().map(ToString::to_string).unwrap_or_default();
        return match survey.is_archive {
            true => Err(ArchiveError::Damaged { place: place(), finding }),
            false => other(&format!("it is damaged: {finding}")),
        };
    }
    match &survey.last {
        None if is_free_for(&survey, anchor) => Ok(None),
        None => other("it was begun for other records of this log"),
        Some(last) if !last.is_sealed => other("it is a log that is written to"),
        Some(last) => Ok(Some(last.run.chain)),
    }
}

/// Returns whether a directory without segments may become an archive that begins behind `anchor`.
fn is_free_for(survey: &Survey, anchor: &ChainPosition) -> bool {
    survey.head.valid().is_none_or(|head| {
        head.is_at_anchor()
            && (head.anchor_sequence, head.anchor_link) == (anchor.sequence, anchor.link)
    })
}

/// Makes the archive's names durable, verifies every byte of it, and lets its HEAD name its newest
/// record.
fn finish_archive<W: Storage>(storage: &W, end: &ChainPosition) -> Result<(), ArchiveError> {
    let synced = storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS);
    synced.map_err(at(storage))?;
    storage.sync_directory("").named("sync", ".").map_err(at(storage))?;
    let survey = survey_archive(storage)?;
    let last = survey.last.as_ref().filter(|last| last.is_sealed && last.run.chain == *end);
    let is_whole = survey.row.verdict() == Verdict::Intact && survey.findings.is_empty();
    let (Some(last), Some(head), true) = (last, survey.head.valid(), is_whole) else {
        let finding = survey.findings.first().map(ToString::to_string).unwrap_or_default();
        let place = storage.root().display().to_string();
        return Err(ArchiveError::Unlike { place, finding });
    };
    let named = Head {
        newest_sequence: end.sequence,
        newest_link: end.link,
        segment: last.header.first_sequence(),
        record_offset: last.run.record_offset,
        end_offset: last.run.end_offset,
        boot: storage.boot(),
        ..*head
    };
    head_file::replace(storage, &named).map_err(at(storage))
}

/// Returns whether both hold the same bytes under a name.
fn is_alike<S: ReadStorage, W: ReadStorage>(log: &S, archive: &W, file: &str) -> DiskResult<bool> {
    let opened = (log.open(file).named("open", file)?, archive.open(file).named("open", file)?);
    let (Some(ours), Some(theirs)) = opened else { return Ok(false) };
    let length = ours.length().named("read", file)?;
    if theirs.length().named("read", file)? != length {
        return Ok(false);
    }
    let mut ours = Window::new(ours).named("read", file)?;
    let mut theirs = Window::new(theirs).named("read", file)?;
    let mut at = 0;
    while at < length {
        let piece = PIECE_LENGTH as u64;
        let of_log = ours.bytes(at, piece).named("read", file)?;
        if of_log.is_empty() || of_log != theirs.bytes(at, piece).named("read", file)? {
            return Ok(false);
        }
        at += of_log.len() as u64;
    }
    Ok(true)
}
