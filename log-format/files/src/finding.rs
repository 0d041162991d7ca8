//! Something that a reader found wrong: where, what was expected, what is there.

use holdpoint_log_format::{Fault, Head, Link, LogId, RecordHeader};
use std::fmt;
use thiserror::Error;

/// Place in a log's directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// File name relative to the log's directory.
    pub file: String,
    /// Offset in bytes of the structure, or of the byte itself where it is known.
    pub offset: u64,
    /// Sequence of the record that lies there or was due there.
    pub sequence: u64,
}

impl Place {
    /// Returns what places are ordered by (`FORMAT.md`, section 32): files outside `segments/`
    /// before those inside, then offset, then sequence.
    #[must_use]
    pub fn in_order(&self) -> (bool, &Self) {
        (self.file.contains('/'), self)
    }
}

/// Records in a row, by their sequences.
#[must_use]
pub fn records_named(first: u64, last: u64) -> String {
    if first == last { format!("record {first}") } else { format!("records {first} to {last}") }
}

fn were_durable(first: u64, last: u64) -> String {
    let (were, are) = if first == last { ("was", "is") } else { ("were", "are") };
    format!("{} {were} durable and {are} damaged or missing", records_named(first, last))
}

fn short_of_head(first: u64, last: u64) -> String {
    let is = if first == last { "is" } else { "are" };
    format!(
        "HEAD or LOCK states {}, which {is} not here: a copy made while it was written, or cut",
        records_named(first, last)
    )
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, byte {}, sequence {}", self.file, self.offset, self.sequence)
    }
}

/// Returns what is wrong with the record of HEAD's newest sequence, if anything is: it is another
/// one, or it ends no batch.
#[must_use]
pub(crate) fn wrong_witnessed(head: &Head, header: &RecordHeader) -> Option<Problem> {
    let (expected, found) = (head.newest_link, header.link);
    match header.sequence == head.newest_sequence {
        true if found != expected => Some(Problem::Rewritten { expected, found }),
        true if header.flags.more_follows() => Some(Problem::WitnessInBatch),
        _ => None,
    }
}

/// One thing wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
#[non_exhaustive]
pub struct Finding {
    /// Place of the problem.
    pub place: Place,
    /// Problem that was found.
    pub problem: Problem,
}

impl Finding {
    /// Makes a finding of what is wrong there.
    #[must_use]
    pub const fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// Problem of a log: a closed list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A record, seal, header or HEAD that does not hold.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// A link, directory or device where a regular file should be.
    #[error("it is not a regular file")]
    NotRegular,
    /// A segment whose name and header disagree.
    #[error("its name says that it begins at {expected}, its header says {found}")]
    Renamed {
        /// First sequence in the name.
        expected: u64,
        /// First sequence in the header.
        found: u64,
    },
    /// Records missing between two segments, or there twice.
    #[error(
        "the segment before it ends so that {expected} comes next, and this one begins at {found}"
    )]
    Gap {
        /// First sequence that should follow.
        expected: u64,
        /// First sequence that does.
        found: u64,
    },
    /// A file of another log.
    #[error("it belongs to log {found}, and this is log {expected}")]
    ForeignLog {
        /// This log.
        expected: LogId,
        /// The log that the file names.
        found: LogId,
    },
    /// No HEAD beside segments.
    #[error("HEAD is missing, so nothing witnesses how far this log reached")]
    HeadMissing,
    /// The first segments are missing.
    #[error(
        "the segment that begins at {expected} is due first, and the first segment begins at \
         {found}"
    )]
    NotTheAnchor {
        /// First sequence after HEAD's anchor; without a HEAD, 1.
        expected: u64,
        /// First sequence there is.
        found: u64,
    },
    /// HEAD, or LOCK of this boot, names records and there is no segment.
    #[error("records up to {newest} were durable, and there is no segment")]
    SegmentsGone {
        /// The newest sequence that one of them names.
        newest: u64,
    },
    /// A file ARCHIVE beside records that are no archive's.
    #[error(
        "a file ARCHIVE makes this an archive, which ends in a seal, and there is none after \
         sequence {expected}"
    )]
    UnsealedArchive {
        /// Sequence of the last record.
        expected: u64,
    },
    /// A segment that should be sealed and is not, or whose seal is not the one its successor
    /// names.
    #[error("a seal after sequence {expected} should be here")]
    SealMissing {
        /// Sequence of the last record before the seal.
        expected: u64,
    },
    /// Another history than the witnessed one.
    #[error("its link is {found}, and HEAD witnessed {expected}: the log was rewritten")]
    Rewritten {
        /// The link in HEAD.
        expected: Link,
        /// The link in the segment.
        found: Link,
    },
    /// HEAD names a record inside a batch, which is durable as a whole or not at all.
    #[error("HEAD names this record as the newest durable one, and its batch goes on behind it")]
    WitnessInBatch,
    /// Records that were durable are damaged or missing.
    #[error("{}", were_durable(*first, *last))]
    BelowMark {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// The log ends before the record that HEAD, or LOCK, names, and what is here of it is whole.
    #[error("{}", short_of_head(*first, *last))]
    ShortOfHead {
        /// The first record that is not here.
        first: u64,
        /// The newest one that HEAD, or LOCK, names.
        last: u64,
    },
    /// A file that was cut or grew.
    #[error("the file is {found} bytes long, and its header says {expected}")]
    Length {
        /// The capacity that the header states.
        expected: u64,
        /// The file's length.
        found: u64,
    },
    /// Bytes behind a seal or the newest record that no interrupted write can have left.
    #[error("nothing should be here, and no interrupted write left it: it begins with {found:02x}")]
    DamagedTail {
        /// The first byte.
        found: u8,
    },
    /// A search behind damage that was made to be slow.
    #[error("the search for records behind it was stopped: the bytes were made to be slow")]
    SearchStopped,
    /// A withheld record that no event authorises.
    #[error("its payload is withheld, and no event authorises that")]
    Withheld,
}

impl Problem {
    /// Returns whether a file is not what its name says: other findings may be but the
    /// consequences.
    #[must_use]
    pub const fn is_of_file(&self) -> bool {
        matches!(self, Self::NotRegular | Self::Renamed { .. } | Self::ForeignLog { .. })
    }

    /// A stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.name(),
            Self::NotRegular => "not_regular",
            Self::Renamed { .. } => "renamed",
            Self::Gap { .. } => "gap",
            Self::ForeignLog { .. } => "foreign_log",
            Self::HeadMissing => "head_missing",
            Self::NotTheAnchor { .. } => "not_the_anchor",
            Self::SegmentsGone { .. } => "segments_gone",
            Self::UnsealedArchive { .. } => "unsealed_archive",
            Self::SealMissing { .. } => "seal_missing",
            Self::Rewritten { .. } => "rewritten",
            Self::WitnessInBatch => "witness_in_batch",
            Self::BelowMark { .. } => "below_mark",
            Self::ShortOfHead { .. } => "short_of_head",
            Self::Length { .. } => "length",
            Self::DamagedTail { .. } => "damaged_tail",
            Self::SearchStopped => "search_stopped",
            Self::Withheld => "withheld",
        }
    }

    /// Returns what was due, as text.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Fault(fault) => fault.expected(),
            Self::NotRegular => "a regular file".into(),
            Self::Renamed { expected, .. }
            | Self::Gap { expected, .. }
            | Self::NotTheAnchor { expected, .. } => format!("first sequence {expected}"),
            Self::ForeignLog { expected, .. } => expected.to_string(),
            Self::HeadMissing => "HEAD".into(),
            Self::SegmentsGone { newest } => format!("segments up to sequence {newest}"),
            Self::SealMissing { expected } | Self::UnsealedArchive { expected } => {
                format!("a seal after sequence {expected}")
            }
            Self::Rewritten { expected, .. } => expected.to_string(),
            Self::WitnessInBatch => "the end of a batch".into(),
            Self::BelowMark { first, last } => format!("valid {}", records_named(*first, *last)),
            Self::ShortOfHead { last, .. } => format!("records up to {last}"),
            Self::Length { expected, .. } => format!("{expected} bytes"),
            Self::DamagedTail { .. } => "00".into(),
            Self::SearchStopped => "a search within four segment lengths".into(),
            Self::Withheld => "the payload, or an event that withholds it".into(),
        }
    }

    /// Returns what is there, as text.
    #[must_use]
    pub fn found(&self) -> String {
        match self {
            Self::Fault(fault) => fault.found(),
            Self::NotRegular => "something else".into(),
            Self::Renamed { found, .. }
            | Self::Gap { found, .. }
            | Self::NotTheAnchor { found, .. } => format!("first sequence {found}"),
            Self::ForeignLog { found, .. } => found.to_string(),
            Self::HeadMissing
            | Self::SegmentsGone { .. }
            | Self::SealMissing { .. }
            | Self::UnsealedArchive { .. } => "nothing".into(),
            Self::Rewritten { found, .. } => found.to_string(),
            Self::WitnessInBatch => "a record inside one".into(),
            Self::BelowMark { first, .. } => {
                format!("valid records up to {}", first.saturating_sub(1))
            }
            Self::ShortOfHead { first, .. } => format!("records up to {}", first.saturating_sub(1)),
            Self::Length { found, .. } => format!("{found} bytes"),
            Self::DamagedTail { found } => format!("{found:02x}"),
            Self::SearchStopped => "more candidates than that".into(),
            Self::Withheld => "a digest alone".into(),
        }
    }
}
