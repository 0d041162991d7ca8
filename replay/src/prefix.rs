//! Extent to which two logs are one and the same.

use crate::read::ReadError;
use crate::records::Line;
use crate::report::Head;
use crate::timeline::Timeline;
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::Link;
use serde::Serialize;

/// Two logs, and where they part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommonPrefix {
    /// True if both are of one identity, or hold a record in common, which no two logs do: a HEAD
    /// of another log may stand beside the records of this one.
    pub is_one_log: bool,
    /// The last record that both hold; 0: none. A link depends on every record before it, so all
    /// before are the same.
    pub common: u64,
    /// The records up to here are not in both, because one begins behind them. Where the two agree
    /// behind it, their links say that they agreed there too.
    pub compared_behind: u64,
    /// The newest record of the first log.
    pub newest: Option<Head>,
    /// The newest record of the other one.
    pub newest_of_other: Option<Head>,
    /// The record of the first log behind the common ones.
    pub next: Option<Line>,
    /// The record of the other one there.
    pub next_of_other: Option<Line>,
}

/// Finds the last record that two logs have in common: links are compared at places some thousand
/// records apart, of which as many are looked at as a bisection needs, then record by record.
///
/// # Errors
/// One of the logs cannot be read any more.
pub fn common_prefix<A: ReadStorage, B: ReadStorage>(
    log: &Timeline<'_, A>,
    other: &Timeline<'_, B>,
) -> Result<CommonPrefix, ReadError> {
    let begin = log.anchor().max(other.anchor());
    let common = last_common(log, other, begin)?;
    let behind = common.max(begin).saturating_add(1);
    Ok(CommonPrefix {
        is_one_log: common > 0 || log.log() == other.log(),
        common,
        compared_behind: begin,
        newest: log.newest(),
        newest_of_other: other.newest(),
        next: log.lines(behind, behind)?.pop(),
        next_of_other: other.lines(behind, behind)?.pop(),
    })
}

fn last_common<A: ReadStorage, B: ReadStorage>(
    log: &Timeline<'_, A>,
    other: &Timeline<'_, B>,
    begin: u64,
) -> Result<u64, ReadError> {
    let end = log.newest_position().sequence.min(other.newest_position().sequence);
    if begin > end || (begin > 0 && link_at(log, begin)? != link_at(other, begin)?) {
        return Ok(0);
    }
    let marks = log.marks().iter().map(|mark| &mark.chain);
    let marks: Vec<_> = marks.filter(|at| at.sequence > begin && at.sequence <= end).collect();
    let of_other: Vec<_> = other.marks().iter().map(|mark| &mark.chain).collect();
    let is_same = |sequence: u64, link: &Link| {
        let index = of_other.binary_search_by_key(&sequence, |at| at.sequence);
        index.ok().and_then(|index| of_other.get(index)).is_some_and(|at| at.link == *link)
    };
    let same = marks.partition_point(|at| is_same(at.sequence, &at.link));
    let known =
        same.checked_sub(1).and_then(|last| marks.get(last)).map_or(begin, |at| at.sequence);
    let different = marks.get(same).map_or(end, |at| at.sequence);
    let first = known.saturating_add(1);
    let (ours, theirs) = (log.links(first, different)?, other.links(first, different)?);
    let equal = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
    Ok(known.saturating_add(u64::try_from(equal).unwrap_or(0)))
}

fn link_at<S: ReadStorage>(
    line: &Timeline<'_, S>,
    sequence: u64,
) -> Result<Option<Link>, ReadError> {
    let anchor = line.anchor_position();
    if sequence == anchor.sequence {
        return Ok(Some(anchor.link));
    }
    Ok(line.links(sequence, sequence)?.pop())
}
