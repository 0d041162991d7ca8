//! The survey: everything that the recovery table looks at, gathered in one pass, with a finding
//! for every fault on the way. Opening for writing surveys from HEAD on, verifying from the anchor.

mod listing;
mod segments;
mod tail;
mod witness;

use crate::blocks::{BlockLength, Complete, Make, VisitWithValue, Workers};
use crate::finding::{Finding, Place, Problem};
use crate::run::{RecordPlace, Run};
use crate::storage::ReadStorage;
use crate::window::Window;
use holdpoint_log_format::recovery::{self, Evidence, HeadEvidence, LastHeader, LastOwner, Row};
use holdpoint_log_format::tail::TailShape;
use holdpoint_log_format::{BootId, Fault, Head, Lock, LogId, Record, SegmentHeader, names};
use std::cmp::Ordering;
use std::io;
use thiserror::Error;
pub use witness::Reached;
pub(crate) use witness::durable_by;

/// Number of times a log is read at most, of which the beginning or the end moves while it is read:
/// a reading begins anew three times, and then gives up.
pub const READINGS_MAX: u32 = 4;

/// A log of fewer bytes is checked by one thread: beginning another takes longer.
const SMALL_LENGTH: u64 = 1_024 * 1_024;

/// Called with each valid record and its place, in order. Records of a batch that later proves
/// unfinished are seen too: hold back what they say until one ends the batch.
pub type Visit<'a> = dyn FnMut(&RecordPlace, &Record<'_>) + 'a;

/// Extent of the log that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The records behind HEAD, and the headers of the segments that this relies on: the first one,
    /// the one before HEAD's, HEAD's, and those behind it. What opening needs, whatever the length
    /// of the log. Where HEAD says nothing of use, every header is read.
    FromHead,
    /// Every record: what verifying needs.
    FromAnchor,
    /// Every record up to the first segment with something wrong in it: what lies behind that is
    /// not read.
    UntilFinding,
}

/// Options of the survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurveyOptions {
    /// Extent of what is read.
    pub extent: Extent,
    /// This boot of the machine.
    pub boot: BootId,
    /// Somebody is writing now: what follows the newest record is "not yet", not damage.
    pub is_being_written: bool,
}

impl SurveyOptions {
    /// So much of the log, on this boot of the machine, while nobody writes.
    #[must_use]
    pub const fn new(extent: Extent, boot: BootId) -> Self {
        Self { extent, boot, is_being_written: false }
    }

    /// States whether somebody is writing now.
    #[must_use]
    pub fn being_written(self, is_being_written: bool) -> Self {
        Self { is_being_written, ..self }
    }
}

/// Why no survey could be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// The disk refused a call.
    #[error("cannot read {file}: {source}")]
    Io {
        /// File or directory, relative to the log's.
        file: String,
        /// Answer of the disk.
        source: io::Error,
    },
    /// Records were moved to an archive while the survey was made.
    #[error("the log was changed while it was read, in {}; run it again", names::HEAD)]
    Moved,
    /// A file of a newer format.
    #[error(
        "{file} is of log format version {found}, and this program reads up to {supported}: use a \
         holdpoint whose `--version` names log format {found} or newer"
    )]
    NewerVersion {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
}

impl SurveyError {
    /// Returns whether a file that was listed was not there any more when it was read, or HEAD says
    /// so: as where records are moved to an archive meanwhile.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Moved => true,
            Self::NewerVersion { .. } => false,
        }
    }
}

/// The state of the file HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadFile {
    /// No such file.
    Missing,
    /// It does not decode.
    Garbage(Fault),
    /// Valid, with its content.
    Valid(Head),
}

impl HeadFile {
    /// Returns what it says, if it can be read.
    #[must_use]
    pub fn valid(&self) -> Option<&Head> {
        match self {
            Self::Valid(head) => Some(head),
            Self::Missing | Self::Garbage(_) => None,
        }
    }
}

/// A segment's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// First sequence in its name.
    pub first_sequence: u64,
    /// Length of the file in bytes; 0 while it was not read.
    pub length: u64,
    /// Its header block.
    pub header: HeaderBlock,
}

/// The header block of a segment, as far as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderBlock {
    /// The survey's extent did not ask for it: nothing is known of the file but its name.
    NotRead,
    /// It does not decode.
    Bad(Fault),
    /// Valid, with its content.
    Valid(SegmentHeader),
}

impl HeaderBlock {
    /// Returns what it says, if it was read and holds.
    #[must_use]
    pub fn valid(&self) -> Option<&SegmentHeader> {
        match self {
            Self::Valid(header) => Some(header),
            Self::NotRead | Self::Bad(_) => None,
        }
    }
}

impl SegmentFile {
    /// Its header, when it was read, holds, and the file has the name that it says.
    #[must_use]
    pub fn good_header(&self) -> Option<&SegmentHeader> {
        let named = |header: &&SegmentHeader| header.first_sequence() == self.first_sequence;
        self.header.valid().filter(named)
    }
}

/// The newest segment with a good header, and how far its records are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSegment {
    /// Its header.
    pub header: SegmentHeader,
    /// Run at which checking its records began: behind HEAD's record, or at the segment's start.
    pub began: Run,
    /// Its valid run; `run.chain` is V.
    pub run: Run,
    /// True if it ends in a valid seal.
    pub is_sealed: bool,
    /// Offset behind the last byte that is not zero, when there is one behind the run.
    pub tail_end: Option<u64>,
}

/// Result of a survey.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The log's identity, as far as HEAD or a segment says it.
    pub log: Option<LogId>,
    /// It is marked as an archive, which nobody opens for writing.
    pub is_archive: bool,
    /// HEAD.
    pub head: HeadFile,
    /// LOCK, when it can be read.
    pub lock: Option<Lock>,
    /// The segments by first sequence.
    pub segments: Vec<SegmentFile>,
    /// First sequences of segments at or below the anchor. Their records were moved to an archive,
    /// and whoever did it ended before they were removed: they are no part of the log.
    pub leftovers: Vec<u64>,
    /// The newest usable segment.
    pub last: Option<LastSegment>,
    /// The highest sequence with durable evidence: M.
    pub mark: u64,
    /// Valid records read.
    pub records: u64,
    /// Number of them that are withheld.
    pub withheld: u64,
    /// Evidence that the recovery table looked at.
    pub evidence: Evidence,
    /// Its verdict.
    pub row: Row,
    /// Everything found wrong, in the order of the log.
    pub findings: Vec<Finding>,
}

/// Surveys a log, in the calling thread alone.
///
/// # Errors
/// The disk refused a call, a file is of a newer format version, or records were moved to an
/// archive meanwhile. Damage is no error: it is in [`Survey::findings`].
pub fn survey<S: ReadStorage>(
    storage: &S,
    options: SurveyOptions,
    visit: &mut Visit<'_>,
) -> Result<Survey, SurveyError> {
    survey_in_threads(storage, options, 1, &|_, _| (), &mut |place, record, ()| {
        visit(place, record);
    })
}

/// Surveys a log with so many threads, the calling one among them; a small log with it alone. The
/// segments are opened by the calling thread; each thread reads and checks some of their blocks.
/// `make` makes something of each record, in any thread, of records too that prove to be behind a
/// fault; `visit` gets it, in the calling thread and in order, with the valid ones. The memory that
/// this takes does not grow with the log.
///
/// # Errors
/// As [`survey`].
pub fn survey_in_threads<S: ReadStorage, T: Send>(
    storage: &S,
    options: SurveyOptions,
    threads: usize,
    make: &Make<'_, T>,
    visit: &mut VisitWithValue<'_, T>,
) -> Result<Survey, SurveyError> {
    survey_completing(storage, options, threads, (make, &|_: &mut [T]| ()), visit)
}

/// Surveys like [`survey_in_threads`], where what was made of a block's records is completed as
/// one.
///
/// # Errors
/// As [`survey`].
pub fn survey_completing<S: ReadStorage, T: Send>(
    storage: &S,
    options: SurveyOptions,
    threads: usize,
    (make, complete): (&Make<'_, T>, &Complete<'_, T>),
    visit: &mut VisitWithValue<'_, T>,
) -> Result<Survey, SurveyError> {
    let mut surveyor = Surveyor::begun(storage, options)?;
    surveyor.check_layout();
    surveyor.check_successors()?;
    let threads = if surveyor.is_small() { 1 } else { threads };
    let workers = Workers::new(threads, BlockLength::default(), make).completing(complete);
    let mut records = Records { workers: &workers, visit };
    surveyor.walk_earlier(&mut records)?;
    surveyor.walk_last(&mut records)?;
    Ok(surveyor.finish())
}

/// Means by which records are checked, and the visitor that is shown them.
struct Records<'r, 'm, 'v, T> {
    workers: &'r Workers<'m, T>,
    visit: &'r mut VisitWithValue<'v, T>,
}

/// The survey while it is made.
struct Surveyor<'s, S: ReadStorage> {
    storage: &'s S,
    options: SurveyOptions,
    survey: Survey,
}

impl<'s, S: ReadStorage> Surveyor<'s, S> {
    /// Reads LOCK, HEAD, the list and the headers. Where the first segments were moved to an
    /// archive meanwhile, HEAD's anchor tells.
    fn begun(storage: &'s S, options: SurveyOptions) -> Result<Self, SurveyError> {
        let mut surveyor = Self::new(storage, options)?;
        let read = surveyor.read_segments();
        if read.is_ok() && surveyor.begins_at_anchor() || !surveyor.anchor_has_moved()? {
            return read.map(|()| surveyor);
        }
        Err(SurveyError::Moved)
    }

    /// Reads LOCK and HEAD, then the list, in this order: whatever is written meanwhile, HEAD names
    /// nothing that the list does not have.
    fn new(storage: &'s S, options: SurveyOptions) -> Result<Self, SurveyError> {
        let survey = Survey {
            log: None,
            is_archive: false,
            head: HeadFile::Missing,
            lock: None,
            segments: Vec::new(),
            leftovers: Vec::new(),
            last: None,
            mark: 0,
            records: 0,
            withheld: 0,
            evidence: blank_evidence(),
            row: Row::Nothing,
            findings: Vec::new(),
        };
        let mut surveyor = Self { storage, options, survey };
        surveyor.read_witnesses()?;
        surveyor.read_listing()?;
        Ok(surveyor)
    }

    /// Returns whether the log is read before a thread has begun.
    fn is_small(&self) -> bool {
        let lengths = self.survey.segments.iter().map(|segment| segment.length);
        lengths.fold(0, u64::saturating_add) < SMALL_LENGTH
    }

    /// The segment's file, for reading its items.
    fn window(&self, first_sequence: u64) -> Result<Window<S::File>, SurveyError> {
        let file = segment_path(first_sequence);
        let opened = self.storage.open(&file).map_err(io_error(&file))?;
        let opened = opened.ok_or_else(|| gone(&file))?;
        Window::new(opened).map_err(io_error(&file))
    }

    /// The length of what is walked: the file may be another one than when its header was read.
    fn take_length(&mut self, first_sequence: u64, length: u64) {
        let segments = &mut self.survey.segments;
        let is_it = |segment: &&mut SegmentFile| segment.first_sequence == first_sequence;
        segments.iter_mut().filter(is_it).for_each(|segment| segment.length = length);
    }

    /// Returns whether the caller wants to know no more than what is found already: the first
    /// finding, and no record of this segment can be before it.
    fn has_enough_before(&self, segment: u64) -> bool {
        let first_record = Place { file: segment_path(segment), offset: 1, sequence: 0 };
        let is_before = |finding: &Finding| order_of(finding) < (true, &first_record);
        self.options.extent == Extent::UntilFinding && self.survey.findings.iter().any(is_before)
    }

    fn find(&mut self, file: &str, offset: u64, sequence: u64, problem: impl Into<Problem>) {
        let place = Place { file: file.to_string(), offset, sequence };
        self.survey.findings.push(Finding { place, problem: problem.into() });
    }

    fn find_in_segment(&mut self, segment: u64, offset: u64, sequence: u64, problem: Problem) {
        self.find(&segment_path(segment), offset, sequence, problem);
    }

    fn finish(mut self) -> Survey {
        let survey = &mut self.survey;
        survey.row = recovery::row(&survey.evidence);
        survey.findings.sort_by(|a, b| order_of(a).cmp(&order_of(b)));
        self.survey
    }
}

fn order_of(finding: &Finding) -> (bool, &Place) {
    finding.place.in_order()
}

/// Evidence of an empty directory.
fn blank_evidence() -> Evidence {
    Evidence {
        head: HeadEvidence::Missing,
        has_segments: false,
        has_foreign_names: false,
        has_layout_fault: false,
        last_header: LastHeader::Good,
        has_earlier_fault: false,
        is_rewritten: false,
        run_to_mark: Ordering::Equal,
        is_marked_outside: false,
        has_shape_fault: false,
        is_sealed: false,
        tail: TailShape::Zero,
        last_owner: LastOwner::Unknown,
    }
}

/// Path of a segment relative to the log's directory.
#[must_use]
pub fn segment_path(first_sequence: u64) -> String {
    format!("{}/{}", names::SEGMENTS, names::segment(first_sequence))
}

/// Makes an error of what the disk said of a file, for `map_err`.
pub fn io_error(file: &str) -> impl FnOnce(io::Error) -> SurveyError {
    let file = file.to_string();
    move |source| SurveyError::Io { file, source }
}

/// A file that was listed and is not there.
pub(crate) fn gone(file: &str) -> SurveyError {
    io_error(file)(io::Error::new(io::ErrorKind::NotFound, "it was there a moment ago"))
}

pub(crate) fn newer(file: &str, fault: &Fault) -> Option<SurveyError> {
    match fault {
        Fault::NewerVersion { found, supported } => Some(SurveyError::NewerVersion {
            file: file.to_string(),
            found: *found,
            supported: *supported,
        }),
        _ => None,
    }
}
