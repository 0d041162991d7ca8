//! Sizes, letters and sections of an index: the numbers that `INDEX.md` states.

use holdpoint_log_format::limits::SEGMENT_CAPACITY_MAX;

/// Version of the index format that this crate writes, and the only one that it reads: an index of
/// another version is built again.
pub const INDEX_VERSION: u32 = 5;

/// First eight bytes of every index.
pub const INDEX_MAGIC: [u8; 8] = *b"HOLDIDX\0";

/// Length of the header block in bytes.
pub const INDEX_HEADER_LENGTH: usize = 4_096;

/// The most bytes of an index. Its segment has no more, and an index is a fraction of that.
pub const INDEX_LENGTH_MAX: u64 = SEGMENT_CAPACITY_MAX;

/// Every section begins and ends at a multiple of this many bytes.
pub const SECTION_ALIGNMENT: usize = 8;

/// Unit of the offsets that the section of offsets holds, in bytes: records lie at multiples of it.
pub const OFFSET_UNIT: u64 = 8;

/// From one record of which time and link before are stated to the next, in records.
pub const STRIDE: u32 = 64;

/// Bytes of a link.
pub(crate) const LINK_LENGTH: usize = 32;

/// Bytes of a block of a filter: within one cache line.
pub const FILTER_BLOCK_LENGTH: usize = 32;

/// Bits of a filter for each hash in it: about 0.5 % of the hashes that are not in it seem to be.
pub const FILTER_BITS_PER_HASH: usize = 12;

/// Place where the section table begins in the header block, in bytes.
pub(crate) const SECTION_TABLE_AT: usize = 96;

/// Bytes of one entry of the section table.
pub(crate) const SECTION_ENTRY_LENGTH: usize = 56;

/// Number of sections there are.
pub(crate) const SECTIONS: usize = Section::ALL.len();

/// Place where the number of records without a term lies in the header block, in bytes.
pub(crate) const WITHOUT_TERMS_AT: usize = SECTION_TABLE_AT + SECTIONS * SECTION_ENTRY_LENGTH;

/// Bytes of the header block that carry fields; the rest is zero.
pub(crate) const HEADER_FIELDS_LENGTH: usize = WITHOUT_TERMS_AT + size_of::<u32>();

const _: () = assert!(HEADER_FIELDS_LENGTH <= INDEX_HEADER_LENGTH);
const _: () = assert!(INDEX_HEADER_LENGTH.is_multiple_of(SECTION_ALIGNMENT));
const _: () = assert!(FILTER_BLOCK_LENGTH.is_multiple_of(SECTION_ALIGNMENT));

/// The sections of an index, in the order in which they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The offset of every record.
    Offsets,
    /// The time of every 64th record.
    Times,
    /// Hashes of terms, and the records that hold each.
    Terms,
    /// Filter of hashes that are surely not in [`Section::Terms`].
    TermFilter,
    /// Hashes of idempotency keys, and the records that hold each.
    Keys,
    /// Filter of hashes that are surely not in [`Section::Keys`].
    KeyFilter,
    /// The link before every 64th record.
    Links,
    /// Rows that lists are made of: of some records, a row.
    Rows,
}

impl Section {
    /// Every section, in the order in which they lie.
    pub const ALL: [Self; 8] = [
        Self::Offsets,
        Self::Times,
        Self::Terms,
        Self::TermFilter,
        Self::Keys,
        Self::KeyFilter,
        Self::Links,
        Self::Rows,
    ];

    /// The number in the section table.
    #[must_use]
    pub const fn kind(self) -> u32 {
        self as u32 + 1
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offsets => "offsets",
            Self::Times => "times",
            Self::Terms => "terms",
            Self::TermFilter => "term filter",
            Self::Keys => "keys",
            Self::KeyFilter => "key filter",
            Self::Links => "links",
            Self::Rows => "rows",
        }
    }
}

/// `length` rounded up to where the next section may begin.
pub(crate) const fn aligned(length: usize) -> usize {
    length.next_multiple_of(SECTION_ALIGNMENT)
}
