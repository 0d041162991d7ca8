//! Verifying some records of a log alone: every record stores its link, so any range can be checked
//! against the link before it.

use super::outside::{Comparison, OutsideHead, OutsideState, Witnessed};
use crate::anchor::Anchor;
use crate::axes::{authenticity_by, is_change, is_loss, refutation};
use crate::finding::Finding;
use crate::progress::{Meter, Progress};
use crate::reach::Reach;
use crate::read::{ReadError, ReadOptions};
use crate::records::indexes::{BehindHead, statement_of};
use crate::records::part::{check_end, withheld_at};
use crate::report::{Axis, AxisState, Head, MEANING_FINDINGS_MAX, Unproven, Verdict};
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_log_files::{
    Finding as LogFinding, LogReader, ReadStorage, RecordPlace, Run, Ties, records_named,
};
use holdpoint_log_format::{ChainPosition, LogId, Record, RecordHeader, names};
use serde::Serialize;
use std::ops::ControlFlow;
use std::str::FromStr;
use thiserror::Error;

/// Records of a log, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first one; `None`: the log's first.
    pub first: Option<u64>,
    /// The last one; `None`: the log's newest.
    pub last: Option<u64>,
}

/// A text that is no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected A..B, A.. or ..B: sequences from 1 on, A at most B, both ends included")]
pub struct RangeSyntax;

impl FromStr for Range {
    type Err = RangeSyntax;

    fn from_str(text: &str) -> Result<Self, RangeSyntax> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let end = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().ok().filter(|end| *end > 0).map(Some).ok_or(RangeSyntax),
        };
        let range = Self { first: end(first)?, last: end(last)? };
        let is_ordered = range.first.unwrap_or(1) <= range.last.unwrap_or(u64::MAX);
        (is_ordered && range != Self::default()).then_some(range).ok_or(RangeSyntax)
    }
}

/// Proof of a range of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RangeReport {
    /// All in one. `NothingHere`: there is no log, or it does not hold the whole range.
    pub verdict: Verdict,
    /// The first record that was asked for.
    pub first: u64,
    /// The last one; the log's newest where none was named.
    pub last: u64,
    /// Number of them that hold.
    pub records: u64,
    /// The records that the log has: its first, and its newest as far as it was read.
    pub begins: u64,
    /// The newest record that was read.
    pub reached: u64,
    /// Nothing recorded in the range was changed.
    pub integrity: Axis,
    /// Nothing is missing in the range.
    pub completeness: Axis,
    /// Heads from outside.
    pub authenticity: Axis,
    /// The place that the first record checked follows from, taken on trust.
    pub from: Option<Head>,
    /// The last record of the range.
    pub to: Option<Head>,
    /// The log's identity, 32 hexadecimal digits.
    pub log_id: Option<String>,
    /// Those of them that the log took over from a damaged one without proof, as it says itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproven_records: Vec<Unproven>,
    /// Reach of the reading, and up to where it is tied.
    pub reach: Reach,
    /// Heads from outside, and what came of comparing them.
    pub heads: Vec<Witnessed>,
    /// Everything found wrong, in the order of the log.
    pub findings: Vec<Finding>,
    /// Matters that the verdict says nothing of.
    pub not_checked: Vec<String>,
}

/// Verifies the records of a range: frames, links, times, claims, that none is missing, and that
/// they are tied to HEAD by the links of everything between. Reads HEAD and the segments from the
/// range to the log's end; their events are not judged. A HEAD that does not hold is a finding of
/// every range: it is what tells how far the log reached.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version. Damage is in the report.
pub fn verify_range<S: ReadStorage>(
    storage: &S,
    range: Range,
    heads: &[OutsideHead],
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<RangeReport, ReadError> {
    let reader = LogReader::of(storage)?;
    let anchor = Anchor::of(storage)?.position;
    let behind_anchor = anchor.sequence.saturating_add(1);
    let first = range.first.unwrap_or(behind_anchor);
    let begins = reader.firsts().first().copied().unwrap_or(0).max(behind_anchor);
    let walk = Walk {
        reader: &reader,
        first,
        last: range.last.unwrap_or(u64::MAX),
        records: 0,
        log: None,
        from: None,
        reached: None,
        to: None,
        compared: Comparison::new(heads, &anchor),
        end: None,
        findings: Vec::new(),
        withheld: Vec::new(),
        unproven: UnprovenRecords::default(),
        reach: Reach::begin(&reader),
        meter: Meter::new(storage, progress),
    };
    walk.all(range, begins, options)
}

struct Walk<'r, 's, 'p, S> {
    reader: &'r LogReader<'s, S>,
    first: u64,
    last: u64,
    records: u64,
    log: Option<LogId>,
    /// The place before the first record that was read.
    from: Option<ChainPosition>,
    reached: Option<ChainPosition>,
    to: Option<ChainPosition>,
    compared: Comparison,
    /// The newest record, where the log is known to end with it.
    end: Option<u64>,
    findings: Vec<LogFinding>,
    /// Records of the range of which only the digest is there; no event can authorise one.
    withheld: Vec<LogFinding>,
    /// Records that others behind them say are unproven, up to the end of the log.
    unproven: UnprovenRecords,
    reach: Reach,
    meter: Meter<'p>,
}

impl<S: ReadStorage> Walk<'_, '_, '_, S> {
    fn all(
        mut self,
        range: Range,
        begins: u64,
        options: ReadOptions<'_>,
    ) -> Result<RangeReport, ReadError> {
        let witness = self.reader.witness(begins > self.first);
        let holding = self.reader.holding(self.first).unwrap_or(0);
        for name in self.reader.firsts().iter().skip(holding) {
            let is_done = self.reached.is_some_and(|reached| reached.sequence >= self.last);
            if is_done || !self.findings.is_empty() {
                break;
            }
            self.segment(*name)?;
        }
        if self.findings.is_empty() {
            let (newest, is_followed) = self.tie()?;
            let is_whole = self.findings.is_empty() && witness.is_none();
            self.end = Some(newest).filter(|_| is_whole);
            if self.findings.is_empty() && self.last > self.reader.witnessed() {
                self.reach.followed =
                    check_end(self.reader, is_followed, options, &mut self.findings)?;
            }
        }
        // What a writer is about to append may be the record of a head.
        if !self.findings.is_empty() || self.end.is_some() && options.is_being_written()? {
            self.end = None;
        }
        Ok(self.report(range, begins, witness.map(Finding::from)))
    }

    fn segment(&mut self, name: u64) -> Result<(), ReadError> {
        let opened = self.reader.open(name, &mut self.findings)?;
        let Some(mut segment) = opened else { return Ok(()) };
        let header = segment.header;
        self.reach.segments_read += 1;
        self.log.get_or_insert(header.log);
        self.from.get_or_insert(header.previous);
        if !self.findings.is_empty() {
            return Ok(());
        }
        let Self { reader, records, to, compared, meter, reached, findings, withheld, .. } = self;
        let (first, last) = (self.first, self.last);
        *reached = Some(header.previous);
        let mut visit = |place: &RecordPlace, record: &Record<'_>| {
            let RecordHeader { sequence, link, time, .. } = record.header;
            let here = ChainPosition { sequence, link, time };
            if (first..=last).contains(&sequence) {
                *records += 1;
                *to = Some(here);
                if record.header.flags.withheld() && withheld.len() < MEANING_FINDINGS_MAX {
                    withheld.push(withheld_at(place, sequence));
                }
            }
            *reached = Some(here);
            compared.take_one(&here);
            meter.reached(sequence);
            if sequence >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let from = Run::at_start(&header);
        reader.walk(&mut segment, from, findings, &mut visit)?;
        Ok(())
    }

    /// Returns what ties the range to HEAD: all that lies between. Gives the newest record, and
    /// whether something that is no record follows it.
    fn tie(&mut self) -> Result<(u64, bool), ReadError> {
        let Self { reader, findings, unproven, compared, reached, .. } = self;
        let mut ties = Ties::witnessed_by(reader, &compared.named(), findings)?;
        let mut is_as_read = true;
        while !ties.reach(reader, self.first) && findings.is_empty() {
            ties.read(reader, findings, &mut |_, record| {
                statement_of(record).iter().for_each(|it| it.add_unproven(unproven));
                let here = ChainPosition::of(&record.header);
                is_as_read &=
                    reached.is_none_or(|read| read.sequence != here.sequence || read == here);
                compared.take_one(&here);
            })?;
        }
        // A link depends on every record before it: what was read of the range is what is tied.
        if !is_as_read && findings.is_empty() {
            return Err(ReadError::Changed { file: names::SEGMENTS.to_string() });
        }
        self.reach.take_links(&ties);
        let mut found = Vec::new();
        let BehindHead { unproven, newest, is_followed } =
            BehindHead::read(self.reader, &mut found)?;
        found.retain(|finding| !self.findings.contains(finding));
        self.findings.append(&mut found);
        unproven.iter().for_each(|(first, last)| self.unproven.add(first, last));
        Ok((newest, is_followed))
    }

    fn report(self, range: Range, begins: u64, witness: Option<Finding>) -> RangeReport {
        let reached = self.reached.map_or(0, |reached| reached.sequence);
        let last = range.last.unwrap_or(reached);
        let log = self.reader.log().or(self.log);
        let heads = self.compared.finish(log, self.end);
        let findings: Vec<Finding> = self.findings.into_iter().map(Finding::from).collect();
        let withheld: Vec<Finding> = self.withheld.into_iter().map(Finding::from).collect();
        let asked = |(begin, end): &(u64, u64)| *end >= self.first && *begin <= last;
        let unproven = self.unproven.iter().filter(asked);
        let unproven_records: Vec<Unproven> = unproven
            .map(|(begin, end)| Unproven { first: begin.max(self.first), last: end.min(last) })
            .collect();
        let is_here = self.first >= begins && self.first <= last && last <= reached;
        let authenticity = authenticity_by(&heads);
        let is_refuted = authenticity.state == AxisState::Failed;
        let verdict = match findings.first().or(witness.as_ref()).or(withheld.first()) {
            Some(first) => Verdict::by(std::slice::from_ref(first)),
            None if is_refuted => Verdict::Corrupt,
            None if is_here && !unproven_records.is_empty() => Verdict::UnprovenRecords,
            None if is_here => Verdict::Intact,
            None => Verdict::NothingHere,
        };
        let mut reach = self.reach;
        reach.unproven_records.clone_from(&unproven_records);
        reach.take_newest(last.min(reached));
        let proves = Proves {
            damage: findings.first(),
            witness: witness.as_ref(),
            withheld: withheld.first(),
            missing: heads.iter().find(|head| head.state == OutsideState::Missing),
            records: (self.first, last),
            witnessed: reach.witnessed_to.unwrap_or(0),
            is_here,
        };
        let (integrity, completeness) = (proves.integrity(), proves.completeness());
        let before = self.from.map_or(0, |from| from.sequence);
        let not_checked = not_checked(before, last, reached, &heads);
        RangeReport {
            verdict,
            first: self.first,
            last,
            records: self.records,
            begins,
            reached,
            integrity,
            completeness,
            authenticity,
            from: self.from.as_ref().and_then(Head::at),
            to: self.to.as_ref().and_then(Head::at),
            log_id: log.map(|log| log.to_string()),
            unproven_records,
            reach,
            heads,
            findings: witness.into_iter().chain(withheld).chain(findings).collect(),
            not_checked,
        }
    }
}

/// Proof that a range gives, and what speaks against it.
struct Proves<'a> {
    damage: Option<&'a Finding>,
    witness: Option<&'a Finding>,
    withheld: Option<&'a Finding>,
    /// A head kept outside of a record behind the log's end.
    missing: Option<&'a Witnessed>,
    records: (u64, u64),
    /// The newest record that a witness names; 0: none does.
    witnessed: u64,
    is_here: bool,
}

impl Proves<'_> {
    fn integrity(&self) -> Axis {
        let (first, last) = self.records;
        let changed = self.damage.or(self.witness.filter(|finding| is_change(finding)));
        match changed {
            Some(finding) => axis(AxisState::Failed, finding.to_string()),
            None if !self.is_here => axis(AxisState::NotChecked, NOT_HERE.to_string()),
            None => {
                let reach = match self.witnessed {
                    witnessed if last <= witnessed => "up to the newest witness".to_string(),
                    witnessed if first > witnessed => "and no witness reaches them".to_string(),
                    witnessed => {
                        format!("up to the newest witness, record {witnessed}, and on behind it")
                    }
                };
                let hash = if first == last { "hashes" } else { "hash" };
                let named = records_named(first, last);
                let reason = format!("{named} {hash} to what their chain says, {reach}");
                axis(AxisState::Proven, reason)
            }
        }
    }

    fn completeness(&self) -> Axis {
        let (first, last) = self.records;
        let lost = self.witness.filter(|finding| is_loss(finding)).or(self.withheld);
        let lost = lost.map(ToString::to_string).or(self.missing.map(refutation));
        let (state, reason) = match (lost, self.damage, self.witness) {
            (Some(lost), ..) => (AxisState::Failed, lost),
            (None, Some(_), _) => {
                (AxisState::NotChecked, "what lies behind the damage was not read".to_string())
            }
            (None, None, Some(_)) => {
                (AxisState::NotChecked, "nothing tells how far the log reached".to_string())
            }
            (None, None, None) if !self.is_here => (AxisState::NotChecked, NOT_HERE.to_string()),
            (None, None, None) => {
                (AxisState::Proven, format!("nothing of {} is missing", records_named(first, last)))
            }
        };
        axis(state, reason)
    }
}

const NOT_HERE: &str = "the log does not hold these records";

fn not_checked(before: u64, last: u64, reached: u64, heads: &[Witnessed]) -> Vec<String> {
    let mut told = Vec::new();
    if before > 0 {
        told.push(format!("records up to {before}, which lie in earlier segments"));
    }
    if reached >= last && last > 0 {
        told.push(format!("what the records behind {last} say, and what lies behind HEAD"));
    }
    told.push("meaning: no event was judged, for the state before them was not rebuilt".into());
    for head in heads.iter().filter(|head| head.state == OutsideState::NotReached) {
        told.push(format!("the head kept outside for record {}: not in the range", head.sequence));
    }
    told
}

fn axis(state: AxisState, reason: String) -> Axis {
    Axis { state, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_one_end_at_least_and_its_ends_are_in_order() {
        let of = |first, last| Ok(Range { first, last });
        assert_eq!("3..9".parse(), of(Some(3), Some(9)));
        assert_eq!("3..".parse(), of(Some(3), None));
        assert_eq!("..9".parse(), of(None, Some(9)));
        assert_eq!("7".parse(), of(Some(7), Some(7)));
        for text in ["", "..", "9..3", "0..3", "a..b", "1...3", "1..2..3", "-1..2"] {
            assert_eq!(text.parse::<Range>(), Err(RangeSyntax), "{text:?}");
        }
    }
}
