//! Items at an offset of a segment: nothing yet, a record, or the seal.

use crate::checksum::ChecksumSeed;
use crate::fault::Fault;
use crate::limits::{SEAL_LENGTH, padded};
use crate::record::{Record, is_legal_size};
use crate::seal::{SEAL_TAG, Seal};

/// Announcement of the first four bytes of an item: how many bytes a reader needs to check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemLength {
    /// Zero: nothing here yet.
    Nothing,
    /// A record of so many bytes, padding included.
    Record(u64),
    /// A seal.
    Seal,
    /// No item begins like this.
    Illegal(u32),
}

impl ItemLength {
    /// Reads the size field.
    #[must_use]
    #[inline]
    pub fn of(size_field: [u8; 4]) -> Self {
        match u32::from_le_bytes(size_field) {
            0 => Self::Nothing,
            SEAL_TAG => Self::Seal,
            size if is_legal_size(size) => Self::Record(padded(u64::from(size))),
            size => Self::Illegal(size),
        }
    }

    /// The item's bytes, padding included; 0 for nothing, `None` when no item begins like this.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Nothing => Some(0),
            Self::Record(length) => Some(length),
            Self::Seal => Some(SEAL_LENGTH as u64),
            Self::Illegal(_) => None,
        }
    }
}

/// An item whose frame has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Nothing here yet. Whether zeros follow to the end is the caller's question.
    Nothing,
    /// A record.
    Record(Record<'a>),
    /// The seal.
    Seal(Seal),
}

impl<'a> Item<'a> {
    /// Checks the frame of the item that begins `bytes`, found at `offset` of its segment. `bytes`
    /// must hold the whole item if the segment does.
    ///
    /// # Errors
    /// The first fault of the frame.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8], offset: u64, seed: ChecksumSeed) -> Result<Self, Fault> {
        let field = bytes.first_chunk::<4>().ok_or(Fault::short(4, bytes.len()))?;
        match ItemLength::of(*field) {
            ItemLength::Nothing => Ok(Self::Nothing),
            ItemLength::Seal => Seal::decode(bytes, offset, seed).map(Self::Seal),
            ItemLength::Record(_) => Record::decode(bytes, seed).map(Self::Record),
            ItemLength::Illegal(found) => Err(Fault::IllegalSize { found }),
        }
    }
}
