//! Verifying some records of a log alone: every record stores its link, so any range can be checked
//! against the link before it.

use super::outside::{Comparison, OutsideHead, OutsideState, Witnessed};
use crate::anchor::Anchor;
use crate::axes::{authenticity_by, is_change, is_loss};
use crate::finding::{Finding, Problem};
use crate::head::wrong_witness;
use crate::progress::{Meter, Progress};
use crate::read::ReadError;
use crate::records::segments::{
    Listing, at_begin, before, firsts, gap, take_blank, wrong_first, wrong_link,
};
use crate::report::{Axis, AxisState, Head, Verdict};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    Onward, Place, Problem as LogProblem, ReadStorage, Run, Stop, SurveyError,
};
use holdpoint_log_format::{ChainPosition, Fault, Head as HeadFile, LogId, Record, SegmentHeader};
use serde::Serialize;
use std::io;
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

/// What a range of records proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeReport {
    /// All in one. `NothingHere`: there is no log, or it does not hold the whole range.
    pub verdict: Verdict,
    /// The first record that was asked for.
    pub first: u64,
    /// The last one; the log's newest where none was named.
    pub last: u64,
    /// How many of them hold.
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
    /// Heads from outside, and what came of comparing them.
    pub heads: Vec<Witnessed>,
    /// Everything found wrong, in the order of the log.
    pub findings: Vec<Finding>,
    /// What the verdict says nothing of.
    pub not_checked: Vec<String>,
}

/// Verifies the records of a range: frames, links, times, claims, and that none is missing. Reads
/// HEAD and the segments that hold them and nothing else; their events are not judged. A HEAD that
/// does not hold is a finding of every range: it is what tells how far the log reached.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version. Damage is in the report.
pub fn verify_range<S: ReadStorage>(
    storage: &S,
    range: Range,
    heads: &[OutsideHead],
    progress: &mut dyn FnMut(Progress),
) -> Result<RangeReport, ReadError> {
    let Listing { anchor: Anchor { position: anchor }, head, listed } = Listing::of(storage)?;
    let witnessed = head.as_ref().map_or(0, |head| head.newest_sequence);
    let (segments, blank, witness) = match &listed {
        Ok(listed) => {
            let mut segments = firsts(listed);
            let blank = take_blank(storage, witnessed, &mut segments)?;
            let witness = wrong_witness(&head, segments.is_empty());
            (segments, blank, witness)
        }
        Err(finding) => (Vec::new(), None, Some(finding.clone())),
    };
    let first = range.first.unwrap_or(anchor.sequence.saturating_add(1));
    let begins = segments.first().copied().unwrap_or(0).max(anchor.sequence.saturating_add(1));
    let witness = witness.or_else(|| match begins > first {
        true => wrong_first(anchor.sequence, begins),
        false => None,
    });
    let holding = segments.partition_point(|begins| *begins <= first).saturating_sub(1);
    let walk = Walk {
        storage,
        head: head.ok(),
        blank,
        witness,
        log: None,
        first,
        last: range.last.unwrap_or(u64::MAX),
        records: 0,
        from: None,
        reached: None,
        to: None,
        compared: Comparison::new(heads, &anchor),
        findings: Vec::new(),
        meter: Meter::new(storage, progress),
    };
    walk.all(segments.get(holding..).unwrap_or_default(), range, begins)
}

struct Walk<'s, 'p, S> {
    storage: &'s S,
    head: Option<HeadFile>,
    /// The first record that a blank segment behind all others would have had.
    blank: Option<u64>,
    /// What is wrong with HEAD, or with all that it witnesses.
    witness: Option<Finding>,
    log: Option<LogId>,
    first: u64,
    last: u64,
    records: u64,
    /// The place before the first record that was read.
    from: Option<ChainPosition>,
    reached: Option<ChainPosition>,
    to: Option<ChainPosition>,
    compared: Comparison,
    findings: Vec<Finding>,
    meter: Meter<'p>,
}

impl<S: ReadStorage> Walk<'_, '_, S> {
    fn all(
        mut self,
        segments: &[u64],
        range: Range,
        begins: u64,
    ) -> Result<RangeReport, ReadError> {
        for (index, name) in segments.iter().enumerate() {
            let is_done = self.reached.is_some_and(|reached| reached.sequence >= self.last);
            if is_done || !self.findings.is_empty() {
                break;
            }
            let next = segments.get(index + 1).copied();
            self.segment(*name, next)?;
        }
        Ok(self.report(range, begins))
    }

    fn segment(&mut self, name: u64, next: Option<u64>) -> Result<(), ReadError> {
        let file = segment_path(name);
        let opened = match self.storage.open(&file) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.find(name, 0, name, LogProblem::NotRegular);
                return Ok(());
            }
            opened => opened.map_err(of(&file))?,
        };
        let gone = || of(&file)(io::ErrorKind::NotFound.into());
        let mut window = Window::new(opened.ok_or_else(gone)?).map_err(of(&file))?;
        let header = match window.header().map_err(of(&file))? {
            Ok(header) => header,
            Err(Fault::NewerVersion { found, supported }) => {
                return Err(SurveyError::NewerVersion { file, found, supported }.into());
            }
            Err(fault) => {
                self.find(name, 0, name, fault.into());
                return Ok(());
            }
        };
        if self.is_ours(name, &header) {
            let run = self.records(&mut window, &header).map_err(of(&file))?;
            self.end(name, next, &run);
        }
        Ok(())
    }

    /// Whether a header fits its name, the log, and what is before it.
    fn is_ours(&mut self, name: u64, header: &SegmentHeader) -> bool {
        let due = self.head.map(|head| head.log).or(self.log).unwrap_or(header.log);
        let found = header.first_sequence();
        let previous = header.previous;
        let finding = if header.log != due {
            Some(at_begin(name, LogProblem::ForeignLog { expected: due, found: header.log }))
        } else if found != name {
            Some(at_begin(name, LogProblem::Renamed { expected: name, found }))
        } else {
            self.reached.and_then(|reached| {
                let link = || wrong_link(&reached, name, previous.link);
                gap(reached.sequence, name).or_else(link)
            })
        };
        self.log = Some(due);
        self.from = self.from.or(Some(previous));
        let is_ours = finding.is_none();
        self.findings.extend(finding);
        is_ours
    }

    fn records(&mut self, window: &mut Window<S::File>, header: &SegmentHeader) -> io::Result<Run> {
        let (first, last, head) = (self.first, self.last, self.head);
        let mut rewritten = None;
        let run = {
            let Self { records, to, compared, meter, reached, .. } = self;
            *reached = Some(header.previous);
            let mut visit = |place: &holdpoint_log_files::RecordPlace, record: &Record<'_>| {
                let header = &record.header;
                let (sequence, link, time) = (header.sequence, header.link, header.time);
                let here = ChainPosition { sequence, link, time };
                let named = head.filter(|head| head.newest_sequence == sequence);
                if named.is_some_and(|head| head.newest_link != link) {
                    rewritten = Some((place.offset, here));
                }
                if (first..=last).contains(&sequence) {
                    *records += 1;
                    *to = Some(here);
                }
                *reached = Some(here);
                compared.take_one(&here);
                meter.reached(sequence);
                if sequence >= last { Onward::Stop } else { Onward::Go }
            };
            walk(window, header, Run::at_start(header), &mut visit)?
        };
        if let (Some((offset, found)), Some(head)) = (rewritten, head) {
            let problem = LogProblem::Rewritten { expected: head.newest_link, found: found.link };
            self.find(header.first_sequence(), offset, found.sequence, problem);
        }
        Ok(run)
    }

    /// A run that ended before it should have.
    fn end(&mut self, name: u64, next: Option<u64>, run: &Run) {
        let witnessed = self.head.map_or(0, |head| head.newest_sequence);
        let due = next.map_or(witnessed.max(before(self.blank)), |next| next.saturating_sub(1));
        let reached = self.reached.map_or(0, |reached| reached.sequence);
        let problem = match &run.stop {
            Stop::Asked => return,
            Stop::Seal(_) if next.is_some() => return,
            Stop::Seal(_) if self.blank.is_some() || reached >= due => {
                self.findings.extend(self.blank.and_then(|blank| gap(reached, blank)));
                return;
            }
            Stop::Fault(fault) if reached < due || next.is_some() => fault.clone().into(),
            Stop::Nothing | Stop::Seal(_) if reached < due => {
                LogProblem::BelowMark { first: reached.saturating_add(1), last: due }
            }
            Stop::Nothing if next.is_some() => LogProblem::SealMissing { expected: reached },
            _ => return,
        };
        self.find(name, run.stop_offset, run.stop_sequence, problem);
    }

    fn find(&mut self, name: u64, offset: u64, sequence: u64, problem: LogProblem) {
        let place = Place { file: segment_path(name), offset, sequence };
        self.findings.push(Finding { place, problem: Problem::Log(problem) });
    }

    fn report(self, range: Range, begins: u64) -> RangeReport {
        let reached = self.reached.map_or(0, |reached| reached.sequence);
        let last = range.last.unwrap_or(reached);
        let log = self.log.or(self.head.map(|head| head.log));
        let heads = self.compared.finish_part(log);
        let is_here = self.first >= begins && self.first <= last && last <= reached;
        let authenticity = authenticity_by(&heads);
        let is_refuted = authenticity.state == AxisState::Failed;
        let verdict = match self.findings.first().or(self.witness.as_ref()) {
            Some(_) => Verdict::Corrupt,
            None if is_refuted => Verdict::Corrupt,
            None if is_here => Verdict::Intact,
            None => Verdict::NothingHere,
        };
        let proves = Proves {
            damage: self.findings.first(),
            witness: self.witness.as_ref(),
            records: (self.first, last),
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
            heads,
            findings: self.witness.into_iter().chain(self.findings).collect(),
            not_checked,
        }
    }
}

/// What a range proves, and what speaks against it.
struct Proves<'a> {
    damage: Option<&'a Finding>,
    witness: Option<&'a Finding>,
    records: (u64, u64),
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
                let reason = format!("records {first} to {last} hash to what their chain says");
                axis(AxisState::Proven, reason)
            }
        }
    }

    fn completeness(&self) -> Axis {
        let (first, last) = self.records;
        let lost = self.witness.filter(|finding| is_loss(finding));
        let (state, reason) = match (lost, self.damage, self.witness) {
            (Some(finding), ..) => (AxisState::Failed, finding.to_string()),
            (None, Some(_), _) => {
                (AxisState::NotChecked, "what lies behind the damage was not read".to_string())
            }
            (None, None, Some(_)) => {
                (AxisState::NotChecked, "nothing tells how far the log reached".to_string())
            }
            (None, None, None) if !self.is_here => (AxisState::NotChecked, NOT_HERE.to_string()),
            (None, None, None) => {
                (AxisState::Proven, format!("none of the records {first} to {last} is missing"))
            }
        };
        axis(state, reason)
    }
}

const NOT_HERE: &str = "the log does not hold these records";

fn not_checked(before: u64, last: u64, reached: u64, heads: &[Witnessed]) -> Vec<String> {
    let mut told = Vec::new();
    if before > 0 {
        told.push(format!(
            "records up to {before}: the link that the range follows from is taken from the header \
             of the segment behind them"
        ));
    }
    if reached >= last && last > 0 {
        told.push(format!("everything behind record {last}"));
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

fn of(file: &str) -> impl Fn(io::Error) -> ReadError {
    let file = file.to_string();
    move |source| ReadError::Survey(SurveyError::Io { file: file.clone(), source })
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
