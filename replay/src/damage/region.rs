//! A damaged place: where it lies, which records it costs, and its cause as far as the bytes
//! prove it.

use serde::Serialize;
use std::fmt;

/// A damaged stretch of a file, or a seam between two things that hold and do not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The file, relative to the log's directory; of records that no file holds, the directory of
    /// the segments.
    pub file: String,
    /// The first byte.
    pub offset: u64,
    /// Number of bytes; 0 for a seam, and where bytes are missing.
    pub length: u64,
    /// The records that are damaged or missing; none where only a witness, a seam or space that
    /// was never written is wrong.
    pub records: Option<Records>,
    /// Cause of the damage.
    #[serde(flatten)]
    pub cause: Cause,
    /// Certainty of that.
    pub certainty: Certainty,
}

/// Consecutive records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Records {
    /// Sequence of the first one.
    pub first: u64,
    /// Sequence of the last one.
    pub last: u64,
}

holdpoint_domain::worded_enum! {
    /// Certainty of a cause.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Certainty {
        /// Undoing it gives what checksum and chain ask for, or what is there says so itself.
        Proven = "proven",
        /// The bytes look like it, and nothing in the log can prove it.
        Fits = "the bytes fit it, and do not prove it",
        /// Nothing that is known explains the bytes.
        Open = "not known",
    }
}

/// Cause of the damage to a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// One bit differs.
    FlippedBit {
        /// Offset of its byte in the file.
        at: u64,
        /// Number of the bit, 0 for the lowest.
        bit: u8,
    },
    /// The field that says how long a record is says something else.
    LengthField {
        /// Value that it has.
        found: u32,
        /// Value that it had.
        was: u32,
    },
    /// A range reads as zero.
    Zeroed {
        /// First byte of it.
        from: u64,
        /// Byte behind it.
        to: u64,
        /// Whole sectors of 512 bytes in it.
        sectors: u64,
    },
    /// A write that stopped: behind a sector's boundary, or behind an unfinished batch, is nothing.
    TornWrite {
        /// From here on nothing was written.
        boundary: u64,
    },
    /// Records or a file are not there, and what was behind them is.
    Missing,
    /// A record stands here a second time.
    Duplicated {
        /// Its sequence.
        sequence: u64,
    },
    /// Records stand in another order than they were written in.
    Reordered,
    /// Bytes of another log, or of another segment of this one.
    Foreign {
        /// The log that they name, where they do.
        log: Option<String>,
        /// The segment that they were made for, where that is known: its first sequence.
        segment: Option<u64>,
    },
    /// Its checksum holds and its link does not: somebody changed it and made the checksum anew.
    Forged {
        /// Field that was changed.
        field: String,
    },
    /// The chain breaks here: either the record here was forged and kept its link, or everything
    /// before it was chained anew. Nothing in the log tells which.
    ForgedOrRechained,
    /// Every link up to here holds, and a witness names another one: records were changed and
    /// everything behind them chained anew, or the witness was replaced.
    Rechained {
        /// The first record that may have been changed: everything before it is witnessed.
        from: u64,
        /// The record whose link the witness names.
        to: u64,
        /// The witness.
        witness: Witness,
    },
    /// The end was cut off.
    Truncated,
    /// Bytes in space that was never written, or that must be zero.
    StrayBytes,
    /// The file has the name of another segment than the one that it holds.
    Renamed {
        /// First sequence of the segment that it holds.
        holds: u64,
    },
    /// It is no regular file.
    NotAFile,
    /// Something else.
    Unknown {
        /// Content that was found there.
        found: String,
    },
}

holdpoint_domain::worded_enum! {
    /// Witness that names a record's link from outside of the records before it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Witness {
        /// The seal of its segment.
        Seal = "its seal",
        /// The header of the next segment.
        NextSegment = "the next segment's header",
        /// HEAD.
        Head = "HEAD",
        /// A head that was kept outside of the log.
        OutsideHead = "the head kept outside",
    }
}

impl Region {
    /// The byte behind it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// The first record that the renamed segment holds, where it is one.
    pub(super) fn holds(&self) -> Option<u64> {
        match self.cause {
            Cause::Renamed { holds } => Some(holds),
            _ => None,
        }
    }
}

impl Records {
    /// Records `first` to `last`; `None` when there are none.
    pub(super) fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Counts them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl Cause {
    /// A stable name for programs, as `--json` has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::FlippedBit { .. } => "flipped_bit",
            Self::LengthField { .. } => "length_field",
            Self::Zeroed { .. } => "zeroed",
            Self::TornWrite { .. } => "torn_write",
            Self::Missing => "missing",
            Self::Duplicated { .. } => "duplicated",
            Self::Reordered => "reordered",
            Self::Foreign { .. } => "foreign",
            Self::Forged { .. } => "forged",
            Self::ForgedOrRechained => "forged_or_rechained",
            Self::Rechained { .. } => "rechained",
            Self::Truncated => "truncated",
            Self::StrayBytes => "stray_bytes",
            Self::Renamed { .. } => "renamed",
            Self::NotAFile => "not_a_file",
            Self::Unknown { .. } => "unknown",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FlippedBit { at, bit } => write!(out, "bit {bit} of byte {at} flipped"),
            Self::LengthField { found, was } => {
                write!(out, "the length field says {found} and said {was}")
            }
            Self::Zeroed { from, to, sectors: 0 } => write!(out, "bytes {from} to {to} are zero"),
            Self::Zeroed { from, to, sectors } => {
                write!(out, "bytes {from} to {to} are zero, {sectors} whole sectors among them")
            }
            Self::TornWrite { boundary } => {
                write!(out, "a write stopped: from byte {boundary} on nothing was written")
            }
            Self::Missing => out.write_str("missing"),
            Self::Duplicated { sequence } => write!(out, "record {sequence} is here once more"),
            Self::Reordered => out.write_str("the records stand in another order"),
            Self::Foreign { log, segment } => foreign(log.as_deref(), *segment, out),
            Self::Forged { field } => {
                write!(out, "forged: {field} was changed and the checksum made anew")
            }
            Self::ForgedOrRechained => out.write_str(
                "the chain breaks: this record was forged and kept its link, or everything before \
                 it was chained anew",
            ),
            Self::Rechained { from, to, witness } => write!(
                out,
                "chained anew from record {from} or later up to {to}, or {witness} was replaced"
            ),
            Self::Truncated => out.write_str("the end was cut off"),
            Self::StrayBytes => out.write_str("bytes where there should be zeros"),
            Self::Renamed { holds } => write!(out, "it is the segment that begins at {holds}"),
            Self::NotAFile => out.write_str("it is not a regular file"),
            Self::Unknown { found } => write!(out, "unknown: {found}"),
        }
    }
}

fn foreign(log: Option<&str>, segment: Option<u64>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (log, segment) {
        (Some(log), _) => write!(out, "of another log, {log}"),
        (None, Some(segment)) => write!(out, "of the segment that begins at {segment}"),
        (None, None) => out.write_str("a whole record of another log or segment"),
    }
}
