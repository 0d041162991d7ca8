//! Faults of bytes: one closed list, each entry with what was expected and found.

use crate::link::Link;
use alloc::format;
use alloc::string::{String, ToString};
use thiserror::Error;

/// One thing wrong with a record, a seal, a segment header or HEAD. It carries no place: whoever
/// read the bytes knows the file and the offset.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// Fewer bytes than the structure needs.
    #[error("it needs {needed} bytes and {available} are left")]
    Short {
        /// Bytes the structure needs.
        needed: u64,
        /// Bytes there are.
        available: u64,
    },
    /// A size field that no record can have.
    #[error("the size field says {found}, which no record has")]
    IllegalSize {
        /// The size field.
        found: u32,
    },
    /// The checksum does not cover the bytes.
    #[error("the checksum says {found:08x} and the bytes give {expected:08x}")]
    Checksum {
        /// CRC-32 of the bytes as they are.
        expected: u32,
        /// CRC-32 as stored.
        found: u32,
    },
    /// Padding or a reserved field that is not zero.
    #[error("byte {at} of it should be zero and is {found:02x}")]
    Padding {
        /// Offset of the byte from the structure's start.
        at: u64,
        /// The byte.
        found: u8,
    },
    /// A flag that this version does not know.
    #[error("its flags {found:02x} hold one that this version does not know")]
    UnknownFlags {
        /// The flag byte.
        found: u8,
    },
    /// A withheld record whose payload is no digest.
    #[error("it is withheld, so its payload should be a 32-byte digest and is {found} bytes")]
    WithheldLength {
        /// The payload's length in bytes.
        found: u64,
    },
    /// A sequence out of turn.
    #[error("sequence {expected} was due and {found} is here")]
    Sequence {
        /// The sequence that was due.
        expected: u64,
        /// The sequence in the header.
        found: u64,
    },
    /// A link that does not follow from the record before.
    #[error("its link is {found}, and what is before it and in it gives {expected}")]
    Link {
        /// The link that follows.
        expected: Link,
        /// The link as stored.
        found: Link,
    },
    /// A time before the previous record's.
    #[error("its time {found} is before the previous record's {previous}")]
    TimeBackwards {
        /// Time of the record before, nanoseconds.
        previous: u64,
        /// Time of this record, nanoseconds.
        found: u64,
    },
    /// A claim of durability that reaches before the first record.
    #[error("record {sequence} says that {found} records before it were not synced")]
    UnsyncedClaim {
        /// Sequence of the record.
        sequence: u64,
        /// Its field `unsynced`.
        found: u32,
    },
    /// A claim of durability that ends inside a batch.
    #[error("record {sequence} says that all up to {found} was durable, where no batch ends")]
    ClaimInBatch {
        /// Sequence of the record.
        sequence: u64,
        /// Sequence that its claim names.
        found: u64,
    },
    /// A structure that begins with other letters than its own.
    #[error("it begins with {found:02x?} instead of {expected:02x?}")]
    Magic {
        /// The letters due.
        expected: [u8; 8],
        /// The letters found.
        found: [u8; 8],
    },
    /// Written by a newer format version.
    #[error("it is of log format version {found}, and this program reads up to {supported}")]
    NewerVersion {
        /// The version found.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
    /// A number outside its bounds or at odds with another one.
    #[error("its {field} is {found}, and {expected} was due")]
    Field {
        /// The field.
        field: &'static str,
        /// Value that was due.
        expected: u64,
        /// Value that is there.
        found: u64,
    },
    /// A batch that stops before its last record.
    #[error("its batch stops here, at sequence {found}, and says that more follows")]
    UnfinishedBatch {
        /// Sequence of the batch's last record that is there.
        found: u64,
    },
    /// Bytes where nothing may be.
    #[error("nothing should be here, and it begins with {found:02x}")]
    Trailing {
        /// The first byte that is not zero.
        found: u8,
    },
}

impl Fault {
    pub(crate) fn short(needed: u64, available: usize) -> Self {
        Self::Short { needed, available: available as u64 }
    }

    /// A stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Short { .. } => "short",
            Self::IllegalSize { .. } => "illegal_size",
            Self::Checksum { .. } => "checksum",
            Self::Padding { .. } => "padding",
            Self::UnknownFlags { .. } => "unknown_flags",
            Self::WithheldLength { .. } => "withheld_length",
            Self::Sequence { .. } => "sequence",
            Self::Link { .. } => "link",
            Self::TimeBackwards { .. } => "time_backwards",
            Self::UnsyncedClaim { .. } => "unsynced_claim",
            Self::ClaimInBatch { .. } => "claim_in_batch",
            Self::Magic { .. } => "magic",
            Self::NewerVersion { .. } => "newer_version",
            Self::Field { .. } => "field",
            Self::UnfinishedBatch { .. } => "unfinished_batch",
            Self::Trailing { .. } => "trailing_bytes",
        }
    }

    /// Returns what was due, as text.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Short { needed, .. } => format!("{needed} bytes"),
            Self::IllegalSize { .. } => "64 to 67108928".to_string(),
            Self::Checksum { expected, .. } => format!("{expected:08x}"),
            Self::Padding { .. } | Self::Trailing { .. } => "00".to_string(),
            Self::UnknownFlags { .. } => "00, 01, 04 or 05".to_string(),
            Self::WithheldLength { .. } => "32 bytes".to_string(),
            Self::Sequence { expected, .. } => expected.to_string(),
            Self::Link { expected, .. } => expected.to_string(),
            Self::TimeBackwards { previous, .. } => format!("{previous} or later"),
            Self::UnsyncedClaim { sequence, .. } => {
                format!("at most {}", sequence.saturating_sub(1))
            }
            Self::ClaimInBatch { .. } => "the end of a batch".to_string(),
            Self::Magic { expected, .. } => format!("{expected:02x?}"),
            Self::NewerVersion { supported, .. } => format!("version {supported} or older"),
            Self::Field { expected, .. } => expected.to_string(),
            Self::UnfinishedBatch { .. } => "the rest of the batch".to_string(),
        }
    }

    /// Returns what is there, as text.
    #[must_use]
    pub fn found(&self) -> String {
        match self {
            Self::Short { available, .. } => format!("{available} bytes"),
            Self::IllegalSize { found } => found.to_string(),
            Self::Checksum { found, .. } => format!("{found:08x}"),
            Self::Padding { found, .. } | Self::Trailing { found } => format!("{found:02x}"),
            Self::UnknownFlags { found } => format!("{found:02x}"),
            Self::WithheldLength { found } => format!("{found} bytes"),
            Self::Sequence { found, .. }
            | Self::TimeBackwards { found, .. }
            | Self::ClaimInBatch { found, .. } => found.to_string(),
            Self::Link { found, .. } => found.to_string(),
            Self::UnsyncedClaim { found, .. } => found.to_string(),
            Self::Magic { found, .. } => format!("{found:02x?}"),
            Self::NewerVersion { found, .. } => format!("version {found}"),
            Self::Field { found, .. } => found.to_string(),
            Self::UnfinishedBatch { found } => format!("its end after sequence {found}"),
        }
    }
}
