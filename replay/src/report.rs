//! Statement of a reading about a log: the verdict, the four axes, how far it reaches, every
//! finding.

use crate::anchor::Archived;
use crate::axes::short_by;
use crate::damage::DamageMap;
use crate::finding::Finding;
use crate::reach::Reach;
use crate::read::Reading;
use crate::verify::{OutsideState, Witnessed};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::ArchivePlaces;
use holdpoint_log_format::ChainPosition;
use holdpoint_log_format::limits::FORMAT_VERSION;
use holdpoint_log_format::recovery::{Row, Verdict as LogVerdict};
use serde::{Serialize, Serializer};
use std::fmt;

/// Number of findings about events that are kept; the rest is counted. A log can hold as many as it
/// has records.
pub const MEANING_FINDINGS_MAX: usize = 1_000;

/// Number of findings that are shown where a report is told in lines.
pub const FINDINGS_SHOWN_MAX: usize = 20;

/// Statement of a reading about a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// All in one.
    pub verdict: Verdict,
    /// Four things apart.
    pub axes: Axes,
    /// The row of the recovery table that matched; FORMAT.md has the table.
    pub row: u8,
    /// Valid records.
    pub records: u64,
    /// Number of them that are withheld.
    pub withheld: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of the valid records, headers and padding included.
    pub record_bytes: u64,
    /// Length of all segments' files in bytes, reserved space included.
    pub file_bytes: u64,
    /// The newest valid record that ends a batch; none in an empty log.
    pub head: Option<Head>,
    /// The newest record to which all from the first one on follow each other, and lead: behind it
    /// no state is told. It is another one than `head` where the log goes on behind damage.
    #[serde(skip)]
    pub followed_to: Option<Head>,
    /// The highest sequence with durable evidence: up to here nothing can be missing unseen.
    pub mark: u64,
    /// Number of records that HEAD, or LOCK, states behind the newest one here, where the verdict
    /// is [`Verdict::ShortOfHead`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_by: Option<u64>,
    /// Records above the mark.
    pub unproven: Option<Unproven>,
    /// Records that the log says were taken over from a damaged one without proof: those here, and
    /// those in archives on which the state rests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproven_records: Vec<Unproven>,
    /// The first record that only a newer program knows, where events were judged: none from it on
    /// is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged_from: Option<u64>,
    /// Bytes behind the newest record that belong to no complete batch.
    pub tail: Option<Tail>,
    /// Somebody was writing meanwhile: what follows the newest record is not yet recorded.
    pub being_written: bool,
    /// The log's identity, 32 hexadecimal digits.
    pub log_id: Option<String>,
    /// The format version of the log.
    pub format_version: u32,
    /// The directory holds files that are not a log's.
    pub foreign: bool,
    /// The directory is marked as an archive: nobody writes to it but whoever moves records there.
    pub is_archive: bool,
    /// Statement of the log about the records before its first one; `None` when it is whole, or
    /// nobody looked.
    pub archived: Option<Archived>,
    /// True if it begins as what a salvage made: no archive fits it.
    #[serde(skip)]
    pub is_salvaged: bool,
    /// Ids that were not compared, where something may begin a second time under one.
    #[serde(skip)]
    pub uncompared: Option<String>,
    /// Reach of the reading, and up to where it is tied.
    pub reach: Reach,
    /// Places of records that were read in archives of the log.
    #[serde(skip_serializing_if = "has_none", serialize_with = "as_list")]
    pub archives: ArchivePlaces,
    /// Everything found wrong, in the order of the log: files first, then events.
    pub findings: Vec<Finding>,
    /// Findings about events beyond the first [`MEANING_FINDINGS_MAX`].
    pub findings_left_out: u64,
    /// Events that the rules would forbid, behind a place where a salvaged log lost records: what
    /// was lost may have allowed them.
    pub notes: Vec<Finding>,
    /// Notes beyond the first [`MEANING_FINDINGS_MAX`].
    pub notes_left_out: u64,
    /// Heads that were kept outside of the log, and what came of comparing them with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Witnessed>,
    /// The verification was asked to stop at its first finding, and did.
    #[serde(skip_serializing_if = "is_false")]
    pub stopped_early: bool,
    /// Checks that were not made, in words.
    pub not_checked: Vec<String>,
    /// Facts that nothing inside of a log can prove, in words.
    pub beyond_proof: Vec<String>,
    /// Every damaged place, where the map was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<DamageMap>,
}

/// For what is said only where it is so.
fn is_false(value: &bool) -> bool {
    !value
}

fn has_none(archives: &ArchivePlaces) -> bool {
    archives.all().is_empty()
}

/// The records of an archive.
#[derive(Serialize)]
struct InArchive<'a> {
    first_sequence: u64,
    last_sequence: u64,
    archive: &'a str,
}

fn as_list<S: Serializer>(archives: &ArchivePlaces, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(archives.all().iter().map(|place| InArchive {
        first_sequence: place.first,
        last_sequence: place.last,
        archive: &place.path,
    }))
}

holdpoint_domain::worded_enum! {
    /// The verdict on a log.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Verdict {
        /// Nothing failed, and everything is proven durable.
        #[serde(rename = "intact")]
        Intact = "intact",
        /// Nothing failed; the newest records have no durable mark, or an interrupted write follows
        /// them.
        #[serde(rename = "intact, tail unproven")]
        TailUnproven = "intact, tail unproven",
        /// Nothing failed; some records were taken over from a damaged log without proof.
        #[serde(rename = "intact, with unproven records")]
        UnprovenRecords = "intact, with unproven records",
        /// Whole, but ending before the record that HEAD, or LOCK, names: a copy made while the log
        /// was written, or its end was cut off. Nothing ties the records here to HEAD.
        #[serde(rename = "short of HEAD")]
        ShortOfHead = "short of HEAD",
        /// Something recorded is changed or missing.
        #[serde(rename = "corrupt")]
        Corrupt = "corrupt",
        /// The bytes hold, and some event is one that the rules forbid or that cannot be read.
        #[serde(rename = "forbidden events")]
        ForbiddenEvents = "forbidden events",
        /// Nothing failed, and what was asked for rests on a record of a kind or version that only
        /// a newer program knows. Whoever verifies is told so under `meaning`, with another
        /// verdict.
        #[serde(rename = "not known to its end")]
        Unknown = "not known to its end",
        /// There is no log, or one without a first segment yet.
        #[serde(rename = "nothing here")]
        NothingHere = "nothing here",
    }
}

/// The four things that are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axes {
    /// Nothing recorded was changed.
    pub integrity: Axis,
    /// Nothing is missing up to the mark.
    pub completeness: Axis,
    /// Signatures and outside checkpoints.
    pub authenticity: Axis,
    /// No event is one that the rules forbid.
    pub meaning: Axis,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// The answer.
    pub state: AxisState,
    /// Why, in one sentence.
    pub reason: String,
}

holdpoint_domain::worded_enum! {
    /// The answer of an axis.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum AxisState {
        /// It holds.
        #[serde(rename = "proven")]
        Proven = "proven",
        /// It does not hold.
        #[serde(rename = "failed")]
        Failed = "failed",
        /// It was not checked, or not to the end.
        #[serde(rename = "not checked")]
        NotChecked = "not checked",
    }
}

/// A record that everything up to it can be named by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Its sequence.
    pub sequence: u64,
    /// Its link, 64 hexadecimal digits.
    pub link: String,
    /// Its time.
    pub time: Timestamp,
}

/// Records in a row: above every durable mark, or without proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unproven {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
}

impl From<(u64, u64)> for Unproven {
    fn from((first, last): (u64, u64)) -> Self {
        Self { first, last }
    }
}

/// Bytes behind the newest record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tail {
    /// The segment, relative to the log's directory.
    pub segment: String,
    /// Offset of the first byte behind the newest record.
    pub offset: u64,
    /// Bytes up to the last one that is not zero.
    pub bytes: u64,
}

impl Report {
    /// Returns whether some axis failed, or what was asked for is not known.
    #[must_use]
    pub fn failed(&self) -> bool {
        let is_of_events = matches!(self.verdict, Verdict::ForbiddenEvents | Verdict::Unknown);
        is_of_events || self.verdict.is_of_damage()
    }

    /// Everything that a reading says besides its findings, which are added by [`crate::axes`].
    pub(crate) fn of_reading(reading: Reading, axes: Axes, verdict: Verdict) -> Self {
        let unproven_records = reading.unproven_here();
        let short_by = short_by(&reading).filter(|_| verdict == Verdict::ShortOfHead);
        let first = reading.anchor.position.sequence.saturating_add(1);
        let followed_to = Head::at(&reading.handed_on);
        let survey = reading.survey;
        let newest = survey.last.as_ref().map_or(reading.handed_on, |last| last.run.chain);
        let is_unproven = newest.sequence > survey.mark;
        let mut reach = Reach::of_whole(&survey, first, newest.sequence, verdict);
        reach.unproven_records.clone_from(&unproven_records);
        let tail = survey.last.as_ref().and_then(tail_of);
        // In a corrupt log it is what the damage left unreadable.
        let is_damage = verdict.is_of_damage();
        reach.followed = tail.is_some() && !reading.is_being_written && !is_damage;
        Self {
            verdict,
            axes,
            row: survey.row.number(),
            records: survey.records,
            withheld: survey.withheld,
            segments: survey.segments.len() as u64,
            record_bytes: reading.record_bytes,
            file_bytes: survey.segments.iter().map(|segment| segment.length).sum(),
            head: Head::at(&newest),
            followed_to,
            mark: survey.mark,
            short_by,
            unproven: is_unproven
                .then(|| Unproven { first: survey.mark.saturating_add(1), last: newest.sequence }),
            unproven_records,
            not_judged_from: None,
            tail,
            being_written: reading.is_being_written,
            log_id: survey.log.map(|log| log.to_string()),
            format_version: FORMAT_VERSION,
            foreign: survey.row == Row::Foreign,
            is_archive: survey.is_archive,
            archived: None,
            is_salvaged: false,
            uncompared: None,
            reach,
            archives: reading.archives,
            findings: Vec::new(),
            findings_left_out: 0,
            notes: Vec::new(),
            notes_left_out: 0,
            heads: Vec::new(),
            stopped_early: false,
            not_checked: Vec::new(),
            beyond_proof: Vec::new(),
            damage: None,
        }
    }

    /// Takes up what the log says of the records before its first one.
    pub(crate) fn take_archived(&mut self, archived: Option<Archived>) {
        self.reach.carried_by = archived.as_ref().and_then(|archived| archived.stated_by);
        self.archived = archived;
    }

    /// Adds the records that a state of the log says are unproven, also those before the log's
    /// first one: the state rests on them. So it does on all up to there, where the record that
    /// carries it is unproven.
    pub(crate) fn take_state(&mut self, world: &World) {
        let mut all = world.unproven_records().clone();
        self.unproven_records.iter().for_each(|known| all.add(known.first, known.last));
        if let Some(archived) = &self.archived
            && archived.stated_by.is_some_and(|stated_by| all.contains(stated_by))
        {
            all.add(1, archived.anchor_sequence);
        }
        self.unproven_records = all.iter().map(Unproven::from).collect();
        self.reach.unproven_records.clone_from(&self.unproven_records);
    }

    /// The verdict in words: with how many records are missing, where it is that.
    #[must_use]
    pub fn verdict_line(&self) -> String {
        let Some(missing) = self.short_by else { return self.verdict.to_string() };
        let records = if missing == 1 { "record" } else { "records" };
        format!(
            "{} by {missing} {records} (a copy made while it was written, or cut)",
            self.verdict
        )
    }

    /// The newest record that a head kept outside proves; 0 without one.
    #[must_use]
    pub fn proven_outside(&self) -> u64 {
        let matching = self.heads.iter().filter(|head| head.state == OutsideState::Matches);
        matching.map(|head| head.sequence).max().unwrap_or(0)
    }
}

impl Head {
    /// The head at a place in the chain; none before the first record.
    pub(crate) fn at(chain: &ChainPosition) -> Option<Self> {
        (chain.sequence > 0).then(|| Self {
            sequence: chain.sequence,
            link: chain.link.to_string(),
            time: Timestamp::from_nanoseconds(chain.time),
        })
    }
}

impl Verdict {
    /// Returns whether something that was recorded is changed, or is not here.
    #[must_use]
    pub const fn is_of_damage(self) -> bool {
        matches!(self, Self::ShortOfHead | Self::Corrupt)
    }

    /// Returns the verdict of the recovery table, before meaning is looked at.
    pub(crate) fn of_log(verdict: LogVerdict) -> Self {
        match verdict {
            LogVerdict::NothingHere => Self::NothingHere,
            LogVerdict::Intact => Self::Intact,
            LogVerdict::TailUnproven => Self::TailUnproven,
            LogVerdict::ShortOfHead => Self::ShortOfHead,
            LogVerdict::Corrupt => Self::Corrupt,
        }
    }
}

impl Axes {
    /// All four, with their names.
    #[must_use]
    pub const fn all(&self) -> [(&'static str, &Axis); 4] {
        [
            ("integrity", &self.integrity),
            ("completeness", &self.completeness),
            ("authenticity", &self.authenticity),
            ("meaning", &self.meaning),
        ]
    }
}

/// The verdict, the four axes, and what was found: `holdpoint verify` begins with the same lines.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "verdict         {}", self.verdict_line())?;
        for (name, axis) in self.axes.all() {
            let (state, reason) = (axis.state.to_string(), visible(&axis.reason));
            write!(out, "\n  {name:<14}{state:<11}  {reason}")?;
        }
        for (finding, number) in self.findings.iter().zip(1..).take(FINDINGS_SHOWN_MAX) {
            write!(out, "\n  {number}. {}", visible(&finding.to_string()))?;
        }
        let shown = self.findings.len().min(FINDINGS_SHOWN_MAX) as u64;
        match (self.findings.len() as u64 + self.findings_left_out).saturating_sub(shown) {
            0 => Ok(()),
            more => write!(out, "\n  ... and {more} more"),
        }
    }
}

fn tail_of(last: &holdpoint_log_files::survey::LastSegment) -> Option<Tail> {
    let end = last.tail_end?;
    Some(Tail {
        segment: holdpoint_log_files::survey::segment_path(last.header.first_sequence()),
        offset: last.run.end_offset,
        bytes: end.saturating_sub(last.run.end_offset),
    })
}
