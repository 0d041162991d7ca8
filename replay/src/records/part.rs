//! Result of reading some of a log's segments, besides the records.

use super::seen::NewestSegment;
use crate::finding::Finding;
use crate::reach::Reach;
use crate::read::{ReadError, ReadOptions};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::reader::Disregard;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{
    ArchivePlaces, Extent, Finding as LogFinding, LogReader, Place, Problem, ReadStorage,
    RecordPlace, Run, Survey, SurveyError, SurveyOptions, survey,
};
use holdpoint_log_format::BootId;
use serde::Serialize;
use std::ops::ControlFlow;

/// More findings than this are not kept: of a damaged log, each segment can give one.
pub(super) const FINDINGS_MAX: usize = 100;

/// Part of a log that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The log's segments.
    pub segments: u64,
    /// Those of which every record up to the last one that was needed was read and checked.
    pub segments_read: u64,
    /// Those of which no more was read than what an index names.
    pub segments_by_index: u64,
    /// Those of them of which records were read.
    #[serde(skip)]
    pub(crate) segments_read_by_index: u64,
    /// Findings there.
    pub findings: Vec<Finding>,
    /// Reach of the reading, when it is over.
    #[serde(skip)]
    pub reach: Reach,
    /// Places of records that are not in the log's own directory.
    #[serde(skip)]
    pub(crate) archives: ArchivePlaces,
    /// Answers of the newest segment's records, where they were asked.
    #[serde(skip)]
    pub(super) newest: Option<NewestSegment>,
}

impl Part {
    /// Nothing was read yet.
    pub(crate) fn begin<S: ReadStorage>(reader: &LogReader<'_, S>) -> Self {
        let (segments, archives) = (reader.firsts().len() as u64, reader.storage().archives());
        Self { segments, archives, ..Self::default() }
    }
}

impl Extend<LogFinding> for Part {
    fn extend<T: IntoIterator<Item = LogFinding>>(&mut self, findings: T) {
        self.extend(findings.into_iter().map(Finding::from));
    }
}

impl Extend<Finding> for Part {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        for finding in findings {
            let finding = finding.located(&self.archives);
            if self.findings.len() < FINDINGS_MAX && !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }
}

/// The time of the record before each segment.
pub(super) fn times_before<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    part: &mut Part,
) -> Result<Vec<u64>, ReadError> {
    let mut times: Vec<u64> = Vec::with_capacity(reader.firsts().len());
    for first in reader.firsts() {
        let opened = reader.open(*first, part)?;
        let before = times.last().copied().unwrap_or(0);
        times.push(opened.map_or(before, |segment| segment.header.previous.time));
    }
    Ok(times)
}

/// Returns the finding that of a record only the digest is there; no event can authorise one.
pub(crate) fn withheld_at(place: &RecordPlace, sequence: u64) -> LogFinding {
    let place = Place { file: segment_path(place.segment), offset: place.offset, sequence };
    LogFinding::new(place, Problem::Withheld)
}

/// The ends of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first record that there is.
    pub first: u64,
    /// Time when it was recorded.
    pub since: Timestamp,
    /// The newest record that ends a batch.
    pub last: u64,
    /// Time when it was recorded.
    pub until: Timestamp,
}

/// The first and the newest record of a log; `None` where there is none. Reads what lies behind the
/// record that HEAD names.
///
/// # Errors
/// The log cannot be read.
pub fn span<S: ReadStorage>(storage: &S) -> Result<Option<Span>, ReadError> {
    let reader = LogReader::of(storage)?;
    let Some(first) = reader.firsts().first() else { return Ok(None) };
    let Some(Run { chain: newest, .. }) = last_run(&reader)? else { return Ok(None) };
    let mut found = Disregard("whoever looked for records was told what is wrong about the ends");
    let Some(mut segment) = reader.open(*first, &mut found)? else { return Ok(None) };
    let mut since = None;
    let from = Run::at_start(&segment.header);
    reader.walk(&mut segment, from, &mut found, &mut |_, record| {
        since = Some(record.header.time);
        ControlFlow::Break(())
    })?;
    let Some(since) = since.filter(|_| newest.sequence >= *first) else { return Ok(None) };
    Ok(Some(Span {
        first: *first,
        since: Timestamp::from_nanoseconds(since),
        last: newest.sequence,
        until: Timestamp::from_nanoseconds(newest.time),
    }))
}

/// The newest record of a log; `None` where there is none. HEAD's record is there, also where it
/// cannot be read now: whoever reads up to here finds why.
///
/// # Errors
/// The log cannot be read.
pub fn newest<S: ReadStorage>(storage: &S) -> Result<Option<u64>, ReadError> {
    let reader = LogReader::of(storage)?;
    let read = last_run(&reader)?.map_or(0, |run| run.chain.sequence);
    Ok(Some(read.max(reader.witnessed())).filter(|newest| *newest > 0))
}

/// Finds what is missing at the end of a log: what LOCK of this boot says was durable, or what a
/// record behind damage does, where something that is no record follows the newest one. While LOCK
/// is held, that is "not yet". Says whether something follows where nothing is missing.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn check_end<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    is_followed: bool,
    options: ReadOptions<'_>,
    found: &mut impl Extend<LogFinding>,
) -> Result<bool, ReadError> {
    let mut missing: Vec<LogFinding> = Vec::new();
    reader.check_durable(options.boot, &mut missing)?;
    let (storage, boot) = (reader.storage(), options.boot);
    let mut follows = false;
    // What was read while a writer came and left is read again.
    if missing.is_empty() && is_followed && !options.is_being_written()? {
        let (below_mark, is_there) = end_from_head(storage, boot)?;
        if is_there && !options.is_being_written()? {
            follows = true;
            if !below_mark.is_empty() {
                missing = end_from_head(storage, boot)?.0;
            }
        }
    }
    // What stands in the place of records that were durable is damage, and no interrupted write.
    follows &= missing.is_empty();
    found.extend(missing);
    Ok(follows)
}

/// The records behind HEAD's that were durable, as others behind them say, and cannot be read; and
/// whether something follows the newest one.
fn end_from_head<S: ReadStorage>(
    storage: &S,
    boot: BootId,
) -> Result<(Vec<LogFinding>, bool), SurveyError> {
    let options = SurveyOptions::new(Extent::FromHead, boot);
    let Survey { mut findings, last, .. } = survey(storage, options, &mut |_, _| {})?;
    findings.retain(|finding| {
        matches!(finding.problem, Problem::BelowMark { .. } | Problem::ShortOfHead { .. })
    });
    Ok((findings, last.is_some_and(|last| last.tail_end.is_some())))
}

/// The run from HEAD's record to the last one that can be read, in the last segment.
pub(crate) fn last_run<S: ReadStorage>(
    reader: &LogReader<'_, S>,
) -> Result<Option<Run>, ReadError> {
    let Some(last) = reader.firsts().last() else { return Ok(None) };
    let mut found =
        Disregard("it says how far records can be read: whoever reads them is told why");
    let Some(mut segment) = reader.open(*last, &mut found)? else { return Ok(None) };
    let from = reader.behind_head(&mut segment)?;
    Ok(Some(reader.walk(&mut segment, from, &mut found, &mut |_, _| ControlFlow::Continue(()))?))
}
