//! The links of single records, without reading the log whole.

use super::indexes::LogTies;
use crate::read::ReadError;
use holdpoint_domain::log::SegmentIndexes;
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{Finding, LogReader, ReadStorage, Run, Standing};
use holdpoint_log_format::{Link, Record};
use holdpoint_log_index::read_indexed;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The links of records, as far as they are not in an archive. `known` are the indexes that a state
/// of the log says are vouched for: of their segments no more is read than what they name. The rest
/// is tied to HEAD. `None` where one of the records is not what it should be.
///
/// # Errors
/// The log cannot be read.
pub fn links_of<S: ReadStorage>(
    storage: &S,
    known: &SegmentIndexes,
    wanted: &BTreeSet<u64>,
) -> Result<Option<BTreeMap<u64, Link>>, ReadError> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(Some(found));
    }
    let (reader, mut findings) = (LogReader::of(storage)?, Vec::new());
    let mut tied = LogTies::knowing(&reader, known, &mut findings)?;
    for (at, first) in reader.firsts().iter().enumerate().rev() {
        let inside: Vec<u64> = wanted.range(*first..=reader.end_of(at)).copied().collect();
        let links = links_in(&reader, &mut tied, *first, &inside, &mut findings)?;
        let Some(links) = links.filter(|_| findings.is_empty()) else { return Ok(None) };
        found.extend(links);
    }
    let is_whole = wanted
        .range(reader.anchor().saturating_add(1)..)
        .all(|sequence| found.contains_key(sequence));
    Ok(is_whole.then_some(found))
}

/// The links of these records of a segment.
fn links_in<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    first: u64,
    wanted: &[u64],
    findings: &mut Vec<Finding>,
) -> Result<Option<BTreeMap<u64, Link>>, ReadError> {
    let mut found = BTreeMap::new();
    let (Some(oldest), Some(newest)) = (wanted.first(), wanted.last()) else {
        return Ok(Some(found));
    };
    let Some(mut segment) = reader.open(first, findings)? else { return Ok(None) };
    let mut take = |record: &Record<'_>| {
        found.insert(record.header.sequence, record.header.link);
    };
    if let Some(believed) = tied.vouched(reader.storage(), first)? {
        let read =
            read_indexed(&believed.index, &mut segment, wanted, &mut |_, record| take(record));
        let read = read.map_err(io_error(&segment_path(first)))?;
        return Ok(read.map(|()| found));
    }
    tied.back_to(reader, *oldest, findings)?;
    let from = Run::at_start(&segment.header);
    let mut as_tied = Some(true);
    reader.walk(&mut segment, from, findings, &mut |_, record| {
        let sequence = record.header.sequence;
        if wanted.binary_search(&sequence).is_ok() {
            take(record);
        }
        as_tied = tied.ties().is_as_tied(&record.header);
        let is_over = as_tied == Some(false) || sequence >= *newest && as_tied.is_some();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if as_tied != Some(true) {
        tied.read_anew(reader, first, findings)?;
        return Ok(None);
    }
    let is_tied = |sequence: &u64| tied.standing_of(*sequence) != Standing::Unproven;
    Ok(wanted.iter().all(is_tied).then_some(found))
}
