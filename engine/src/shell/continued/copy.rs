//! Looking at a log that ends before its HEAD, and copying its records into a log of another
//! identity: each keeps its sequence, its time and its batch.

use super::super::salvage::writer_of;
use super::held::DirectoryId;
use super::{ContinueError, ShortLog};
use crate::log::{Level, Log, NewRecord, Options, Ownership, Storage, create_behind};
use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::LogEvent;
use holdpoint_log_files::{DirectoryStorage, Extent, Problem, Survey, SurveyOptions, survey};
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{ChainPosition, Head, LogId, Record};
use std::io;
use std::path::Path;

/// State that has to be as it was when the records are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looked {
    /// The directory itself, whatever name it has.
    pub(super) directory: DirectoryId,
    head: Head,
    /// The record before the first one.
    anchor: ChainPosition,
}

pub(super) fn look(directory: &Path) -> Result<ShortLog, ContinueError> {
    let path = directory.canonicalize().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ContinueError::NothingHere { path: directory.to_path_buf() },
        _ => ContinueError::io("look at", directory)(source),
    })?;
    if let Some(pid) = writer_of(&path) {
        return Err(ContinueError::InUse { path, pid });
    }
    let directory = DirectoryId::at(&path).map_err(ContinueError::io("look at", &path))?;
    let mut end = WholeBatches::default();
    let found = surveyed(&path, &mut |record| end.take(record))?;
    let (head, anchor) = check(&path, &found, &end)?;
    let Some(kept) = end.batch else { return Err(ContinueError::NothingKept { path }) };
    let is_of_head = head.newest_sequence == found.mark;
    Ok(ShortLog {
        path,
        log: head.log,
        kept,
        stated_sequence: found.mark,
        stated_link: is_of_head.then(|| Digest::from_bytes(head.newest_link.0)),
        unfinished: end.unfinished,
        looked: Looked { directory, head, anchor },
    })
}

/// Copies the records up to the kept one into a new log, which is durable when this returns.
pub(super) fn copy(
    short: &ShortLog,
    building: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<LogId, ContinueError> {
    let target = DirectoryStorage::new(building);
    if short.looked.anchor.sequence > 0 {
        create_behind(&target, &short.looked.anchor).map_err(Box::new)?;
    }
    let options = Options { ownership: Ownership::Exclusive, ..Options::default() };
    let (log, opened) = Log::open(target, options).map_err(Box::new)?;
    let (mut end, mut batch, mut failure) = (WholeBatches::default(), Vec::new(), None);
    let found = surveyed(&short.path, &mut |record| {
        end.take(record);
        let header = &record.header;
        // Of a batch that does not end here nothing is copied, and nothing held in memory.
        if header.sequence > short.kept.sequence {
            return;
        }
        let (kind, version) = (header.kind, header.version);
        batch.push(NewRecord { kind, version, payload: record.payload.to_vec() });
        if !header.flags.more_follows() {
            let records = std::mem::take(&mut batch);
            if failure.is_none() {
                failure = log.append_batch(&records, header.time, Level::Os).err();
                progress(header.sequence);
            }
        }
    })?;
    failure.map_or(Ok(()), Err)?;
    let (head, anchor) = check(&short.path, &found, &end)?;
    let looked = Looked { directory: short.looked.directory, head, anchor };
    if end.batch != Some(short.kept) || looked != short.looked {
        return Err(ContinueError::Changed { path: short.path.clone() });
    }
    log.close()?;
    Ok(opened.log)
}

/// Place up to which whole batches reach.
#[derive(Default)]
struct WholeBatches {
    batch: Option<ChainPosition>,
    unfinished: u64,
    withheld: Option<u64>,
}

impl WholeBatches {
    fn take(&mut self, record: &Record<'_>) {
        let header = &record.header;
        self.unfinished += 1;
        if header.flags.withheld() {
            self.withheld.get_or_insert(header.sequence);
        }
        if !header.flags.more_follows() {
            let (sequence, link, time) = (header.sequence, header.link, header.time);
            self.batch = Some(ChainPosition { sequence, link, time });
            self.unfinished = 0;
        }
    }
}

/// Returns whether a log was made from the one with this identity, and holds nothing behind the
/// record that says so: it was whole, and did not take that one's place.
pub(super) fn is_made_from(path: &Path, source: &str) -> bool {
    let mut newest = None;
    let read = surveyed(path, &mut |record| {
        let (kind, version) = (record.header.kind, record.header.version);
        newest = Some((kind, version, record.payload.to_vec()));
    });
    let newest = newest.filter(|_| read.is_ok()).and_then(|(kind, version, payload)| {
        holdpoint_domain::world::envelope::decode(kind, version, &payload).ok()
    });
    newest.is_some_and(|envelope| match envelope.event {
        Event::Log(LogEvent::LogContinued(body)) => *body.source_log == *source,
        _ => false,
    })
}

fn surveyed(path: &Path, visit: &mut dyn FnMut(&Record<'_>)) -> Result<Survey, ContinueError> {
    let storage = DirectoryStorage::new(path);
    let options = SurveyOptions::new(Extent::FromAnchor, storage.boot());
    Ok(survey(&storage, options, &mut |_, record| visit(record))?)
}

/// Checks whether nothing is wrong with the log but that it ends before its HEAD.
fn check(
    path: &Path,
    found: &Survey,
    end: &WholeBatches,
) -> Result<(Head, ChainPosition), ContinueError> {
    let path = || path.to_path_buf();
    if found.is_archive {
        return Err(ContinueError::Archive { path: path() });
    }
    let is_short = |problem: &Problem| matches!(problem, Problem::ShortOfHead { .. });
    let others = found.findings.iter().find(|finding| !is_short(&finding.problem));
    match (found.row.verdict(), others, found.head.valid()) {
        (Verdict::NothingHere, ..) => Err(ContinueError::NothingHere { path: path() }),
        (Verdict::Intact, None, _) => Err(ContinueError::Whole { path: path() }),
        (Verdict::TailUnproven, None, _) => Err(ContinueError::Unproven { path: path() }),
        (Verdict::ShortOfHead, None, Some(head)) if found.row == Row::ShortOfHead => {
            if let Some(sequence) = end.withheld {
                return Err(ContinueError::Withheld { path: path(), sequence });
            }
            let first = found.segments.first().and_then(|segment| segment.good_header());
            let anchor = first.map(|header| header.previous);
            let anchor = anchor.filter(|anchor| anchor.sequence == head.anchor_sequence);
            Ok((*head, anchor.ok_or(ContinueError::NothingKept { path: path() })?))
        }
        (_, other, _) => {
            let unsaid = || "its files do not fit together".to_string();
            let finding = other.map_or_else(unsaid, ToString::to_string);
            Err(ContinueError::Damaged { path: path(), finding })
        }
    }
}
