//! Copying a log while it may be written: a prefix that verifies, under the same identity.

use super::active::{DiskError, IoContext};
use super::error::{state_of, there_are, way_on};
use super::head_file;
use super::roll;
use super::storage::Storage;
use holdpoint_log_files::later::later_than;
use holdpoint_log_files::survey::{LastSegment, READINGS_MAX, io_error, segment_path};
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    Extent, Finding, Place, Problem, ReadStorage, RecordPlace, Stop, Survey, SurveyError,
    SurveyOptions, survey,
};
use holdpoint_log_format::limits::{PIECE_LENGTH, SEAL_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::tail::TailShape;
use holdpoint_log_format::{BootId, ChainPosition, Head, LogId, SegmentHeader, names};
use std::io;
use std::ops::RangeInclusive;
use thiserror::Error;

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The log's identity, which the copy has as well.
    pub log: LogId,
    /// Sequence of the first record.
    pub first_sequence: u64,
    /// The newest record; the place before the first one when there is none.
    pub newest: ChainPosition,
    /// The newest record that HEAD names, in the log and in the copy.
    pub witnessed: u64,
    /// Records.
    pub records: u64,
    /// Their bytes, headers and padding included.
    pub record_bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Something follows the newest record in the log, or a file beside it tells of a later one: no
    /// copy holds what that may have been.
    pub tail_unproven: bool,
}

/// No copy was made. The log that was to be copied is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There is no log, or one without a segment yet.
    #[error("there is no log to copy: name a log's directory")]
    NothingHere,
    /// The log that was to be copied does not verify.
    #[error(
        "the log is {} and was not copied: {}; {}",
        state_of(*.row),
        first(.findings),
        way_on(*.row)
    )]
    Damaged {
        /// The state of the log.
        row: Row,
        /// Findings of the check.
        findings: Vec<Finding>,
    },
    /// The bytes that were written are not those that were read.
    #[error("the copy does not verify, so it is not to be used: {}", first(.findings))]
    Unlike {
        /// Findings in the copy.
        findings: Vec<Finding>,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] SurveyError),
    /// A segment is gone since it was listed, most likely to an archive.
    #[error("{file} is gone since it was listed: the log was changed meanwhile, try again")]
    Moved {
        /// The file, relative to the log's directory.
        file: String,
    },
    /// The disk is full.
    #[error(
        "no space for {file} of the copy: it needs {needed} bytes{}, free them and try again",
        there_are(*.free)
    )]
    NoSpace {
        /// The file, relative to the copy's directory.
        file: String,
        /// Its length in bytes.
        needed: u64,
        /// Free bytes of the disk, where that is known.
        free: Option<u64>,
    },
    /// The disk refused a call.
    #[error("cannot {operation} {file} of the copy: {source}")]
    Write {
        /// Operation that was tried.
        operation: &'static str,
        /// On what, relative to the copy's directory.
        file: String,
        /// Answer of the disk.
        source: io::Error,
    },
}

/// Copies the log in `source` into `target`, which must be empty and is no log before this returns.
///
/// The copy is a log of the same identity. It ends with a whole batch and holds at least what HEAD
/// named and what was acknowledged when this began. Its HEAD names the record that HEAD named: what
/// nothing witnesses has no witness in the copy either. It has no LOCK. Nothing of `source` is
/// written or locked: `is_locked` says whether a living writer holds its LOCK, so that what follows
/// its newest record is "not yet" instead of damage. `progress` is told the newest record copied,
/// and the last one that will be.
///
/// Two writers that go on from one log and from its copy make two histories under one identity.
///
/// # Errors
/// [`CopyError`]; `target` may then hold a part of the copy, which is not to be used.
pub fn copy_log<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    is_locked: &dyn Fn() -> io::Result<bool>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, CopyError> {
    copy_settled(source, target, is_locked, &mut (1..=READINGS_MAX), progress)
}

/// Does the same as [`copy_log`]; a reading of `source` begins with each of `looks`.
pub(super) fn copy_settled<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    is_locked: &dyn Fn() -> io::Result<bool>,
    looks: &mut RangeInclusive<u32>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, CopyError> {
    let found = look_until_settled(source, target.boot(), is_locked, looks)?;
    let copied = copy_found(source, target, &found, progress);
    copied.map_err(|error| match error {
        CopyError::NoSpace { file, needed, .. } => {
            CopyError::NoSpace { file, needed, free: target.free() }
        }
        error => error,
    })
}

fn copy_found<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    found: &SourceLog,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, CopyError> {
    target.write_gitignore().named("create", names::GITIGNORE)?;
    target.create_directory(names::SEGMENTS).named("create", names::SEGMENTS)?;
    copy_segments(source, target, found, progress)?;
    head_file::write(target, &Head { boot: target.boot(), ..found.head })?;
    verify_copy(target, found)?;
    Ok(copied(found))
}

/// A log as it was at one moment, as far as it is copied.
struct SourceLog {
    survey: Survey,
    head: Head,
    last: LastSegment,
    /// Up to the end of the last batch.
    record_bytes: u64,
    tail_unproven: bool,
}

/// Looks until what is found is whole, or is found damaged twice in the same way while nobody
/// writes or at the same place while somebody does. The last time, what follows the newest record
/// is taken as "not yet".
fn look_until_settled<R: ReadStorage>(
    source: &R,
    boot: BootId,
    is_locked: &dyn Fn() -> io::Result<bool>,
    looks: &mut RangeInclusive<u32>,
) -> Result<SourceLog, CopyError> {
    let mut damage_before = None;
    while looks.next().is_some() {
        let is_last = looks.is_empty();
        let is_being_written = is_locked().map_err(io_error(names::LOCK))? || is_last;
        match look(source, boot, is_being_written) {
            Ok(found) => return Ok(found),
            Err(CopyError::Damaged { row, findings }) => {
                if is_last || damage_before.as_ref() == Some(&findings) {
                    return Err(CopyError::Damaged { row, findings });
                }
                damage_before = Some(findings);
            }
            // A segment may have been moved to an archive since it was listed.
            Err(CopyError::Read(error)) if error.is_gone() && !is_last => {}
            Err(error) => return Err(error),
        }
    }
    Err(CopyError::NothingHere)
}

fn look<R: ReadStorage>(
    source: &R,
    boot: BootId,
    is_being_written: bool,
) -> Result<SourceLog, CopyError> {
    let options = SurveyOptions::new(Extent::FromAnchor, boot).being_written(is_being_written);
    let mut batch_ends = BatchEnds::default();
    let survey = survey(source, options, &mut |place, record| {
        batch_ends.take(place, record.header.flags.more_follows());
    })?;
    match survey.row.verdict() {
        Verdict::NothingHere => return Err(CopyError::NothingHere),
        Verdict::ShortOfHead | Verdict::Corrupt => {
            return Err(CopyError::Damaged { row: survey.row, findings: survey.findings });
        }
        Verdict::Intact | Verdict::TailUnproven => {}
    }
    let (Some(head), Some(last)) = (survey.head.valid().copied(), survey.last.clone()) else {
        return Err(CopyError::NothingHere);
    };
    let durable = survey.lock.filter(|lock| lock.boot == boot && boot != BootId::UNKNOWN);
    let durable = durable.map_or(0, |lock| lock.durable_sequence);
    if last.run.chain.sequence < durable {
        let findings = vec![short_of(&last, durable)];
        return Err(CopyError::Damaged { row: Row::BelowMark, findings });
    }
    let newest = last.run.chain.sequence;
    let later = || later_than(source, survey.log, newest);
    let tail_unproven =
        survey.row.verdict() == Verdict::TailUnproven || !is_being_written && later()?.is_some();
    Ok(SourceLog { survey, head, last, record_bytes: batch_ends.bytes, tail_unproven })
}

/// LOCK says that more is durable than there is.
fn short_of(last: &LastSegment, durable: u64) -> Finding {
    let place = Place {
        file: segment_path(last.header.first_sequence()),
        offset: last.run.stop_offset,
        sequence: last.run.stop_sequence,
    };
    let first = last.run.chain.sequence.saturating_add(1);
    Finding::new(place, Problem::BelowMark { first, last: durable })
}

/// The bytes up to the newest record that ends a batch.
#[derive(Default)]
struct BatchEnds {
    bytes: u64,
    unfinished: u64,
}

impl BatchEnds {
    fn take(&mut self, place: &RecordPlace, more_follows: bool) {
        self.unfinished += place.length;
        if !more_follows {
            self.bytes += std::mem::take(&mut self.unfinished);
        }
    }
}

fn copy_segments<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    found: &SourceLog,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), CopyError> {
    let segments = &found.survey.segments;
    let headers: Vec<_> = segments.iter().filter_map(|segment| segment.good_header()).collect();
    let newest = found.last.run.chain.sequence;
    for pair in headers.windows(2) {
        let [header, next] = pair else { continue };
        let end = next.previous_seal_offset.saturating_add(SEAL_LENGTH as u64);
        copy_segment(source, target, header, end, Unused::GivenBack)?;
        progress(next.previous.sequence, newest);
    }
    let (end, unused) = match &found.last.run.stop {
        Stop::Seal(seal) => (seal.offset + SEAL_LENGTH as u64, Unused::GivenBack),
        _ => (found.last.run.end_offset, Unused::Reserved),
    };
    copy_segment(source, target, &found.last.header, end, unused)?;
    progress(newest, newest);
    target.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)?;
    Ok(())
}

/// Treatment of a segment's space behind its last item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unused {
    /// Nothing will ever be there.
    GivenBack,
    /// The next records go there.
    Reserved,
}

/// Copies a segment up to `end`, behind which it reads as zero, and syncs it before it has its
/// name. The name is not durable yet.
pub(super) fn copy_segment<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    header: &SegmentHeader,
    end: u64,
    unused: Unused,
) -> Result<(), CopyError> {
    let first = header.first_sequence();
    let (prepared, named) = (roll::prepared_path(first), segment_path(first));
    let writer = roll::reserve(target, first, header.capacity)?.writer;
    target.write_at(&writer, 0, &header.encode()).named("write", &prepared)?;
    copy_items(source, target, &writer, header, end)?;
    let from = end.next_multiple_of(holdpoint_log_format::limits::PAGE);
    if unused == Unused::GivenBack && from < header.capacity {
        // The range reads as zero before and after: a failure loses nothing.
        let _ = target.punch(&writer, from, header.capacity - from);
    }
    target.sync(&writer).named("sync", &prepared)?;
    target.rename(&prepared, &named).named("rename", &prepared)?;
    Ok(())
}

/// Copies what lies between the header and `end`.
fn copy_items<R: ReadStorage, W: Storage>(
    source: &R,
    target: &W,
    writer: &W::Writer,
    header: &SegmentHeader,
    end: u64,
) -> Result<(), CopyError> {
    let file = segment_path(header.first_sequence());
    let prepared = roll::prepared_path(header.first_sequence());
    let cannot_read = |source| SurveyError::Io { file: file.clone(), source };
    let opened = source.open(&file).map_err(cannot_read)?;
    let moved = || CopyError::Moved { file: file.clone() };
    let mut window = Window::new(opened.ok_or_else(moved)?).map_err(cannot_read)?;
    let mut at = SEGMENT_HEADER_LENGTH as u64;
    while at < end {
        let length = (end - at).min(PIECE_LENGTH as u64);
        let bytes = window.bytes(at, length).map_err(cannot_read)?;
        if bytes.is_empty() {
            return Err(cannot_read(io::ErrorKind::UnexpectedEof.into()).into());
        }
        target.write_at(writer, at, bytes).named("write", &prepared)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

fn verify_copy<W: Storage>(target: &W, found: &SourceLog) -> Result<(), CopyError> {
    let survey = survey_whole(target)?;
    let is_whole = survey.evidence.tail == TailShape::Zero;
    if is_whole && survey.sound_end() == Some(found.last.run.chain) {
        Ok(())
    } else {
        Err(CopyError::Unlike { findings: survey.findings })
    }
}

/// Every record of a log that nobody writes.
pub(super) fn survey_whole<W: Storage>(target: &W) -> Result<Survey, SurveyError> {
    let boot = target.boot();
    let options = SurveyOptions::new(Extent::FromAnchor, boot);
    survey(target, options, &mut |_, _| {})
}

fn copied(found: &SourceLog) -> Copied {
    let before = found.head.anchor_sequence;
    Copied {
        log: found.head.log,
        first_sequence: before.saturating_add(1),
        newest: found.last.run.chain,
        witnessed: found.head.newest_sequence,
        records: found.last.run.chain.sequence.saturating_sub(before),
        record_bytes: found.record_bytes,
        segments: found.survey.segments.len() as u64,
        tail_unproven: found.tail_unproven,
    }
}

impl From<DiskError> for CopyError {
    fn from(error: DiskError) -> Self {
        if error.is_full() {
            return Self::NoSpace { file: error.file, needed: error.needed, free: None };
        }
        Self::Write { operation: error.operation, file: error.file, source: error.source }
    }
}

fn first(findings: &[Finding]) -> String {
    let of_file = findings.iter().find(|finding| finding.problem.is_of_file());
    of_file.or(findings.first()).map_or_else(|| "no detail".to_string(), ToString::to_string)
}
