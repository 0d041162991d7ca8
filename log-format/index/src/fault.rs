//! Faults of the bytes of an index.

use crate::layout::{INDEX_MAGIC, Section};
use std::io;
use thiserror::Error;

/// One thing wrong with an index. There is one answer to each: do without it, and build it again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// The disk says no.
    #[error("it cannot be read: {kind}")]
    Unreadable {
        /// Kind of the answer.
        kind: io::ErrorKind,
        /// The system's number for it.
        code: Option<i32>,
    },
    /// Fewer bytes than a header block, or than the sections need.
    #[error("the index needs {needed} bytes and has {available}")]
    Short {
        /// Bytes it needs.
        needed: u64,
        /// Bytes there are.
        available: u64,
    },
    /// More bytes than the sections need.
    #[error("the index ends at byte {expected} and the file has {found}")]
    Long {
        /// Place where the last section ends.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The checksum does not cover the header block.
    #[error("the checksum of its header says {found:08x} and the bytes give {expected:08x}")]
    Checksum {
        /// CRC-32 of the block as it is.
        expected: u32,
        /// CRC-32 as stored.
        found: u32,
    },
    /// Another kind of file.
    #[error("it begins with {found:02x?} instead of {INDEX_MAGIC:02x?}")]
    Magic {
        /// The letters found.
        found: [u8; 8],
    },
    /// Written by a program that knows another format.
    #[error("it is of index format {found}, and this program reads {supported}")]
    Version {
        /// The version found.
        found: u32,
        /// The version that this program reads.
        supported: u32,
    },
    /// A number at odds with the others.
    #[error("its {field} is {found}, and {expected} was due")]
    Field {
        /// The field.
        field: &'static str,
        /// Value that was due.
        expected: u64,
        /// Value that is there.
        found: u64,
    },
    /// A byte of the header block that should be zero.
    #[error("byte {at} of its header should be zero and is {found:02x}")]
    Padding {
        /// Offset of the byte.
        at: u64,
        /// The byte.
        found: u8,
    },
    /// A section that is not the one whose digest the header states.
    #[error("its {} differ from the digest in the header", section.name())]
    Digest {
        /// The section.
        section: Section,
    },
    /// A section with the right digest that no builder made.
    #[error("its {} are malformed: {what}", section.name())]
    Malformed {
        /// The section.
        section: Section,
        /// Fault of it.
        what: &'static str,
    },
}

impl IndexFault {
    pub(crate) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable { kind: error.kind(), code: error.raw_os_error() }
    }

    /// A stable name for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::Short { .. } => "short",
            Self::Long { .. } => "long",
            Self::Checksum { .. } => "checksum",
            Self::Magic { .. } => "magic",
            Self::Version { .. } => "version",
            Self::Field { .. } => "field",
            Self::Padding { .. } => "padding",
            Self::Digest { .. } => "digest",
            Self::Malformed { .. } => "malformed",
        }
    }
}
