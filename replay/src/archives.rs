//! Finding the archives of a log's first records: where the log says that they are, or where
//! somebody else says so. What a log says is a hint, which anybody who could write to it has made:
//! it is followed to a directory, and what lies there is read only where it [fits](fit()).

use crate::anchor::{STATEMENT, statement_of};
use crate::read::ReadError;
use crate::records::indexes::LogTies;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::log::HistoryArchived;
use holdpoint_domain::world::{REGISTRY, Term};
use holdpoint_log_files::joined::{Archive, Archives, Unfit, Unread, fit, places_of};
use holdpoint_log_files::reader::Disregard;
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{DirectoryStorage, JoinedLog, LogReader, SurveyError};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{ChainPosition, Head, Item};
use holdpoint_log_index::{Index, TermHash};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// More archives than this, each of the records before another, are not looked for.
const ARCHIVES_MAX: usize = 64;

/// Amount of a path that that is none is shown, in bytes.
const NAMED_BYTES_MAX: usize = 256;

/// A log on a real file system, with the archives that are read with it.
pub type ArchivedLog = JoinedLog<DirectoryStorage>;

/// A log with its archives: those in the `given` directories where they fit, else where the log,
/// or an archive whose own beginning is in another one, says that they are.
#[must_use]
pub fn with_archives(log: DirectoryStorage, given: Vec<DirectoryStorage>) -> ArchivedLog {
    JoinedLog::new(log, Box::new(move |log, head| find(log, head, &given)))
}

/// A log of which no archive is read, though there may be some.
#[must_use]
pub fn without_archives(log: DirectoryStorage) -> ArchivedLog {
    JoinedLog::new(
        log,
        Box::new(|_, head| Ok(Archives { unread: Some(nobody(head)), ..Archives::default() })),
    )
}

fn nobody(head: &Head) -> Unread {
    Unread { last: head.anchor_sequence, named: None, why: None }
}

fn find(
    log: &DirectoryStorage,
    head: &Head,
    given: &[DirectoryStorage],
) -> io::Result<Archives<DirectoryStorage>> {
    let mut archives = Archives::default();
    let (mut behind, mut head) = (log.clone(), *head);
    while head.anchor_sequence > 0 {
        let before = match archives.read.len() < ARCHIVES_MAX {
            true => find_before(&behind, &head, given)?,
            false => Err(nobody(&head)),
        };
        match before {
            Ok(archive) => {
                (behind, head) = (archive.storage.clone(), archive.head);
                archives.read.push(archive);
            }
            Err(unread) => {
                archives.unread = Some(unread);
                break;
            }
        }
    }
    Ok(archives)
}

/// The archive of the records before a log or an archive; the inner error says why there is none.
fn find_before(
    behind: &DirectoryStorage,
    head: &Head,
    given: &[DirectoryStorage],
) -> io::Result<Result<Archive<DirectoryStorage>, Unread>> {
    // What does not fit is told by whoever was given it.
    for storage in given {
        match archive_at(storage, behind, head)? {
            Ok(archive) => return Ok(Ok(archive)),
            Err(Unfit::Unreadable(error)) => return Err(at(storage, error)),
            Err(_) => {}
        }
    }
    let (mut found, mut unread) = (None, nobody(head));
    let mut follow = |hint: HistoryArchived| {
        for place in places_of(&hint.archived_to, behind.root()) {
            match archive_at(&DirectoryStorage::new(&place), behind, head)? {
                Ok(archive) => found = Some(archive),
                Err(Unfit::Missing) if unread.why.is_some() => {}
                Err(why) => {
                    unread.named = Some(shown(bounded(&hint.archived_to, NAMED_BYTES_MAX)));
                    unread.why = Some(Arc::new(why));
                }
            }
            if found.is_some() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    each_hint(behind, head, &mut follow)?;
    Ok(found.ok_or(unread))
}

fn shown(text: &str) -> Arc<str> {
    visible(text).to_string().into()
}

/// An archive that fits; the inner error says why it does not. What says nothing of the directory,
/// but of the disk or of this process, is an error.
fn archive_at(
    storage: &DirectoryStorage,
    behind: &DirectoryStorage,
    head: &Head,
) -> io::Result<Result<Archive<DirectoryStorage>, Unfit>> {
    let path = shown(&storage.root().to_string_lossy());
    match expect_directory(storage.root()).and_then(|()| fit(storage, behind, head)) {
        Ok(head) => Ok(Ok(Archive { storage: storage.clone(), path, head })),
        Err(Unfit::LogUnreadable(error)) => Err(of_survey(error)),
        Err(Unfit::Unreadable(error)) if !is_of_directory(&error) => Err(at(storage, error)),
        Err(unfit) => Ok(Err(unfit)),
    }
}

/// A link is not followed: where it leads to can be named.
fn expect_directory(path: &Path) -> Result<(), Unfit> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Unfit::NotADirectory),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Unfit::Missing),
        Err(source) => Err(SurveyError::Io { file: ".".to_string(), source }.into()),
    }
}

/// Returns whether an error says of a directory that it is not one for this user under this name,
/// or not one for this program.
fn is_of_directory(error: &SurveyError) -> bool {
    match error {
        SurveyError::Io { source, .. } => matches!(
            source.kind(),
            ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::PermissionDenied
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidFilename
        ),
        _ => true,
    }
}

/// An error with the directory that was looked at.
fn at(storage: &DirectoryStorage, error: SurveyError) -> io::Error {
    let (error, path) = (of_survey(error), shown(&storage.root().to_string_lossy()));
    io::Error::new(error.kind(), format!("looking for an archive at {path}: {error}"))
}

fn of_read(error: ReadError) -> io::Error {
    match error {
        ReadError::Survey(error) => of_survey(error),
        error => io::Error::other(error.to_string()),
    }
}

fn of_survey(error: SurveyError) -> io::Error {
    let kind = match &error {
        SurveyError::Io { source, .. } => source.kind(),
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

/// Shows what a log says of where the records before its anchor are, in order, until `visit` has
/// had enough. Only the frames of records are checked: it is a hint. An index that what is tied
/// does not vouch for hides nothing: the segment is read.
fn each_hint(
    log: &DirectoryStorage,
    head: &Head,
    visit: &mut dyn FnMut(HistoryArchived) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let anchor = ChainPosition { sequence: head.anchor_sequence, link: head.anchor_link, time: 0 };
    let mut found = Disregard("a hint is all that is lost: whoever reads the segment is told");
    let reader = LogReader::of(log).map_err(of_survey)?;
    let mut tied = LogTies::begin(&reader, &mut found).map_err(of_read)?;
    tied.back_to(&reader, 0, &mut found).map_err(of_read)?;
    for first in reader.firsts() {
        let opened = reader.open(*first, &mut found).map_err(of_survey)?;
        let Some(mut segment) = opened else { continue };
        let believed = tied.vouched(log, *first).map_err(of_read)?;
        let mut named = believed.and_then(|believed| named_by(&believed.index));
        let mut behind = SEGMENT_HEADER_LENGTH as u64;
        loop {
            let offset = named.as_mut().map_or(Some(behind), Iterator::next);
            let Some(offset) = offset else { break };
            let item = segment.window.item(offset, &segment.header);
            let item = item.map_err(|error| of_survey(io_error(&segment_path(*first))(error)))?;
            let Ok((Item::Record(record), length)) = item else { break };
            if let Some(hint) = statement_of(&record, &anchor)
                && visit(hint)?.is_break()
            {
                return Ok(());
            }
            behind = offset.saturating_add(length);
        }
    }
    Ok(())
}

/// The offsets of the records of a segment that may say where an archive is, by its index; `None`
/// where it cannot be used.
fn named_by(index: &Index<Vec<u8>>) -> Option<std::vec::IntoIter<u64>> {
    let entry = REGISTRY.iter().find(|entry| entry.name == STATEMENT)?;
    let records = index.records_with(TermHash::of(&Term::Kind(entry.kind).canonical())).ok()?;
    let offsets = records.map(|sequence| index.offset_of(sequence.ok()?).ok()?);
    Some(offsets.collect::<Option<Vec<u64>>>()?.into_iter())
}
