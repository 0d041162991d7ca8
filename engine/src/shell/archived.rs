//! Beginnings in the archives of a log: an id that was used there is used for ever.
//!
//! # Architecture invariants
//!
//! - Where an archive lies is a hint. What lies there is believed where it fits what goes on from
//!   it, and where the links of its records lead there.
//! - An archive that cannot be read is not taken for one in which nothing began.

use super::error::SubmitError;
use super::lookup::{each_record, listed};
use super::rebuild::Recorded;
use crate::log::{RootState, Storage};
use holdpoint_domain::Event;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::log::{HISTORY_ARCHIVED, LogEvent};
use holdpoint_domain::world::{Term, kind_may_begin, term_of_new};
use holdpoint_log_files::joined::{Unfit, fit, places_of};
use holdpoint_log_files::reader::firsts;
use holdpoint_log_files::{FollowError, Follower, SurveyError};
use holdpoint_log_format::{ChainPosition, Head, Link, RecordHeader};
use holdpoint_log_index::TermHash;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Amount of a path that that is none is shown, in bytes.
const NAMED_BYTES_MAX: usize = 256;

/// Beginnings in the archives of a log: 16 bytes for each.
pub(super) struct Archived {
    /// Their last record, behind which the log begins.
    pub(super) end: ChainPosition,
    /// Terms that began, in order, and the segment that says so.
    begun: Vec<(TermHash, u64)>,
    /// By their first record.
    segments: BTreeMap<u64, Lying>,
}

/// Place of a segment that was moved.
struct Lying {
    archive: PathBuf,
    end: ChainPosition,
}

/// Statement of a record about the place to which others were moved.
pub(super) struct Hint {
    anchor: (u64, Link),
    archived_to: Text,
}

/// Statement of a record of an archive.
enum ArchivedRecord {
    Begun(TermHash),
    Hint(Hint),
}

impl Hint {
    pub(super) fn of(event: Event) -> Option<Self> {
        let Event::Log(LogEvent::HistoryArchived(body)) = event else { return None };
        let link = Link(*body.anchor_link.as_bytes());
        Some(Self { anchor: (body.anchor_sequence, link), archived_to: body.archived_to })
    }
}

impl Archived {
    /// Reads the archives of the records before a log's beginning.
    ///
    /// # Errors
    /// [`SubmitError::ArchiveUnread`]; the log itself cannot be read.
    pub(super) fn read<S: Storage>(
        disk: &S,
        beginning: &Follower,
        mut hints: Vec<Hint>,
    ) -> Result<Self, SubmitError> {
        let end = beginning.run.chain;
        let mut archived = Self { end, begun: Vec::new(), segments: BTreeMap::new() };
        let mut head = Head::at_anchor(beginning.header.log, &end, disk.boot());
        let (mut end, mut behind) = (end, None);
        while end.sequence > 0 {
            let before = find(disk, behind.as_ref().unwrap_or(disk), &head, &hints)?;
            let taken = archived.take(&before, end, &mut hints);
            end = taken.map_err(|error| unread_at(before.0.root(), &end, &error))?;
            (behind, head) = (Some(before.0), before.1);
        }
        archived.begun.sort_unstable();
        archived.begun.dedup();
        Ok(archived)
    }

    /// Takes what began in an archive up to a record, and gives the one before its first.
    fn take<S: Storage>(
        &mut self,
        (storage, head): &(S, Head),
        mut end: ChainPosition,
        hints: &mut Vec<Hint>,
    ) -> Result<ChainPosition, SubmitError> {
        let mut due = firsts(&listed(storage)?);
        due.retain(|first| *first > head.anchor_sequence && *first <= end.sequence);
        for first in due.into_iter().rev() {
            let lying = Lying { archive: storage.root().to_path_buf(), end };
            end = each_record(storage, first, &end, &may_tell, &ArchivedRecord::of, &mut |told| {
                match told {
                    ArchivedRecord::Begun(hash) => self.begun.push((hash, first)),
                    ArchivedRecord::Hint(hint) => hints.push(hint),
                }
            })?;
            self.segments.insert(first, lying);
        }
        Ok(end)
    }

    /// Returns whether something began under this term. Different terms may have one hash: the
    /// record is read again.
    ///
    /// # Errors
    /// [`SubmitError::ArchiveUnread`]
    pub(super) fn began<S: Storage>(&self, disk: &S, term: &Term<'_>) -> Result<bool, SubmitError> {
        let hash = TermHash::of(&term.canonical());
        let from = self.begun.partition_point(|(begun, _)| *begun < hash);
        let alike = self.begun.iter().skip(from).take_while(|(begun, _)| *begun == hash);
        for (_, first) in alike {
            let Some(lying) = self.segments.get(first) else { continue };
            if lying.began(disk, *first, term)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Lying {
    fn began<S: Storage>(
        &self,
        disk: &S,
        first: u64,
        term: &Term<'_>,
    ) -> Result<bool, SubmitError> {
        let unread = |why: &dyn Display| unread_at(&self.archive, &self.end, why);
        let storage = disk.elsewhere(&self.archive).ok_or_else(|| unread(&Unfit::Missing))?;
        let mut has_begun = false;
        let is_it = |event: Recorded| (term_of_new(&event.envelope.event)? == *term).then_some(());
        let read = each_record(&storage, first, &self.end, &may_tell, &is_it, &mut |()| {
            has_begun = true;
        });
        read.map_err(|error| unread(&error))?;
        Ok(has_begun)
    }
}

impl ArchivedRecord {
    fn of(event: Recorded) -> Option<Self> {
        let event = event.envelope.event;
        let begun = term_of_new(&event).map(|term| TermHash::of(&term.canonical()));
        begun.map(Self::Begun).or_else(|| Hint::of(event).map(Self::Hint))
    }
}

fn may_tell(header: &RecordHeader) -> bool {
    kind_may_begin(header.kind) || header.kind == HISTORY_ARCHIVED
}

/// The archive of the records before a log or an archive, and what its HEAD says.
fn find<S: Storage>(
    disk: &S,
    behind: &S,
    head: &Head,
    hints: &[Hint],
) -> Result<(S, Head), SubmitError> {
    let anchor = (head.anchor_sequence, head.anchor_link);
    let (mut named, mut why) = (None, "no record says where".to_string());
    for hint in hints.iter().rev().filter(|hint| hint.anchor == anchor) {
        for place in places_of(&hint.archived_to, behind.root()) {
            match archive_at(disk, &place, behind, head) {
                Ok(found) => return Ok(found),
                Err(Unfit::LogUnreadable(error)) => return Err(FollowError::Read(error).into()),
                Err(Unfit::Missing) if named.is_some() => {}
                Err(unfit) => (named, why) = (Some(&*hint.archived_to), unfit.to_string()),
            }
        }
    }
    Err(unread(anchor.0, named, &why))
}

fn archive_at<S: Storage>(
    disk: &S,
    place: &Path,
    behind: &S,
    head: &Head,
) -> Result<(S, Head), Unfit> {
    let io = |source| SurveyError::Io { file: ".".to_string(), source };
    let Some(archive) = disk.elsewhere(place) else { return Err(Unfit::Missing) };
    match archive.root_state().map_err(io)? {
        RootState::Missing => return Err(Unfit::Missing),
        RootState::Directory => {}
        RootState::SymbolicLink | RootState::Other => return Err(Unfit::NotADirectory),
    }
    let found = fit(&archive, behind, head)?;
    // Whatever it says, it goes on from records before its own.
    match found.anchor_sequence < head.anchor_sequence {
        true => Ok((archive, found)),
        false => Err(Unfit::Untied { newest: found.newest_sequence }),
    }
}

fn unread_at(archive: &Path, end: &ChainPosition, why: &dyn Display) -> SubmitError {
    unread(end.sequence, Some(&archive.to_string_lossy()), why)
}

fn unread(last: u64, named: Option<&str>, why: &dyn Display) -> SubmitError {
    let shown = |named| visible(bounded(named, NAMED_BYTES_MAX));
    let archive = named.map_or("an archive".into(), |at| format!("the archive {}", shown(at)));
    SubmitError::ArchiveUnread { last, archive, why: visible(&why.to_string()).to_string() }
}
