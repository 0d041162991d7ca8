//! The header block: whose index this is, and where its sections lie.

use crate::bytes::array_at;
use crate::fault::IndexFault;
use crate::layout::{
    FILTER_BLOCK_LENGTH, HEADER_FIELDS_LENGTH, INDEX_HEADER_LENGTH, INDEX_LENGTH_MAX, INDEX_MAGIC,
    INDEX_VERSION, LINK_LENGTH, SECTION_ALIGNMENT, SECTION_ENTRY_LENGTH, SECTION_TABLE_AT,
    SECTIONS, STRIDE, Section, WITHOUT_TERMS_AT,
};
use holdpoint_log_format::{ChainPosition, Link, LogId, Seal, SegmentHeader};
use std::fmt;

/// Scope of an index: what it is an index of. Two builders with the same scope and the same rules
/// for terms make the same bytes, for the last link stands for every record of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The log that the segment belongs to.
    pub log: LogId,
    /// Sequence of the segment's first record.
    pub first_sequence: u64,
    /// The segment's last record, as its seal names it.
    pub last: ChainPosition,
    /// Version of the rules by which records were given terms; an index by other rules is stale.
    pub terms_version: u32,
}

impl Scope {
    /// The scope of the index of a sealed segment.
    #[must_use]
    pub fn of(header: &SegmentHeader, seal: &Seal, terms_version: u32) -> Self {
        let first_sequence = header.first_sequence();
        Self { log: header.log, first_sequence, last: seal.last, terms_version }
    }

    /// Reads what the index that these bytes begin says that it is an index of, and how many bytes
    /// it says that it has. Its header block holds; nothing else was looked at.
    ///
    /// # Errors
    /// The first fault of the header block.
    pub fn stated_by(bytes: &[u8]) -> Result<(Self, u64), IndexFault> {
        IndexHeader::decode(bytes).map(|header| (header.scope, header.length()))
    }

    /// Counts the records the segment has; 0 where the scope names no such segment.
    #[must_use]
    pub fn records(&self) -> u32 {
        let before = self.first_sequence.checked_sub(1);
        let count = before.and_then(|before| self.last.sequence.checked_sub(before));
        count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
    }
}

/// BLAKE3 of an index's header block. Through the digests of the sections it vouches for every byte
/// of the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexDigest(pub [u8; 32]);

impl IndexDigest {
    /// The digest of the index that these bytes begin; `None` where they are too few.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let block = bytes.get(..INDEX_HEADER_LENGTH)?;
        Some(Self(*blake3::hash(block).as_bytes()))
    }
}

impl fmt::Display for IndexDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for IndexDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "IndexDigest({self})")
    }
}

/// Place of a section, and the digest that it must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SectionEntry {
    /// Offset in the file.
    pub(crate) offset: u64,
    /// Length in bytes, its own padding included.
    pub(crate) length: u64,
    /// BLAKE3 of the section.
    pub(crate) digest: [u8; 32],
}

impl SectionEntry {
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }
}

/// The header block, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexHeader {
    pub(crate) scope: Scope,
    pub(crate) sections: [SectionEntry; SECTIONS],
    /// Records that have no term.
    pub(crate) without_terms: u32,
}

impl IndexHeader {
    /// Length of the whole index in bytes.
    pub(crate) fn length(&self) -> u64 {
        let last = self.sections.last().and_then(SectionEntry::end);
        last.unwrap_or(INDEX_HEADER_LENGTH as u64)
    }

    /// The header block.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let checksum = checksum_of(&self.fields(0));
        self.fields(checksum)
    }

    fn fields(&self, checksum: u32) -> Vec<u8> {
        let Self { scope, sections, without_terms } = self;
        let mut block = Vec::with_capacity(INDEX_HEADER_LENGTH);
        block.extend_from_slice(&INDEX_MAGIC);
        block.extend_from_slice(&INDEX_VERSION.to_le_bytes());
        block.extend_from_slice(&checksum.to_le_bytes());
        block.extend_from_slice(&scope.log.0);
        block.extend_from_slice(&scope.first_sequence.to_le_bytes());
        block.extend_from_slice(&scope.last.sequence.to_le_bytes());
        block.extend_from_slice(&scope.last.time.to_le_bytes());
        block.extend_from_slice(&scope.last.link.0);
        block.extend_from_slice(&scope.records().to_le_bytes());
        block.extend_from_slice(&scope.terms_version.to_le_bytes());
        for (section, entry) in Section::ALL.into_iter().zip(sections) {
            block.extend_from_slice(&u64::from(section.kind()).to_le_bytes());
            block.extend_from_slice(&entry.offset.to_le_bytes());
            block.extend_from_slice(&entry.length.to_le_bytes());
            block.extend_from_slice(&entry.digest);
        }
        block.extend_from_slice(&without_terms.to_le_bytes());
        block.resize(INDEX_HEADER_LENGTH, 0);
        block
    }

    /// Decodes the header block that begins `bytes`. Magic, version and what follows are believed
    /// only under a good checksum; whether it all is true is another question.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, IndexFault> {
        let available = bytes.len() as u64;
        let short = IndexFault::Short { needed: INDEX_HEADER_LENGTH as u64, available };
        let block = bytes.get(..INDEX_HEADER_LENGTH).ok_or(short)?;
        check_preamble(block)?;
        let without_terms = u32_at(block, WITHOUT_TERMS_AT);
        let header = Self { scope: scope_of(block), sections: sections_of(block), without_terms };
        header.check_counts(u32_at(block, 88))?;
        check_kinds(block)?;
        header.check_sections()?;
        check_rest(block)?;
        Ok(header)
    }

    fn check_counts(&self, stated: u32) -> Result<(), IndexFault> {
        let records = self.scope.records();
        check("number of records", u64::from(records.max(1)), u64::from(stated))?;
        let most = self.without_terms.min(records);
        check("records without terms", u64::from(most), u64::from(self.without_terms))
    }

    /// Sections lie one behind the other without gaps, and those whose length follows from the
    /// number of records have it.
    fn check_sections(&self) -> Result<(), IndexFault> {
        let mut due = INDEX_HEADER_LENGTH as u64;
        for (section, entry) in Section::ALL.into_iter().zip(&self.sections) {
            check("section offset", due, entry.offset)?;
            check("section length", self.length_due(section, entry.length), entry.length)?;
            due = entry.end().ok_or(IndexFault::Field {
                field: "section length",
                expected: u64::MAX - entry.offset,
                found: entry.length,
            })?;
        }
        check("length", due.min(INDEX_LENGTH_MAX), due)
    }

    /// The length that a section must have; of one that may have several, the legal one near to
    /// what it has.
    fn length_due(&self, section: Section, length: u64) -> u64 {
        let records = u64::from(self.scope.records());
        match section {
            Section::Offsets => (records * 4).next_multiple_of(SECTION_ALIGNMENT as u64),
            Section::Times => records.div_ceil(u64::from(STRIDE)) * 8,
            Section::Terms | Section::Keys | Section::Rows => {
                multiple(length, SECTION_ALIGNMENT).max(8)
            }
            Section::TermFilter | Section::KeyFilter => multiple(length, FILTER_BLOCK_LENGTH),
            Section::Links => records.div_ceil(u64::from(STRIDE)) * LINK_LENGTH as u64,
        }
    }
}

/// `length`, or the multiple of `unit` below it.
fn multiple(length: u64, unit: usize) -> u64 {
    length / unit as u64 * unit as u64
}

fn scope_of(block: &[u8]) -> Scope {
    Scope {
        log: LogId(array(block, 16)),
        first_sequence: u64_at(block, 32),
        last: ChainPosition {
            sequence: u64_at(block, 40),
            time: u64_at(block, 48),
            link: Link(array(block, 56)),
        },
        terms_version: u32_at(block, 92),
    }
}

fn sections_of(block: &[u8]) -> [SectionEntry; SECTIONS] {
    std::array::from_fn(|index| {
        let at = entry_at(index);
        SectionEntry {
            offset: u64_at(block, at + 8),
            length: u64_at(block, at + 16),
            digest: array(block, at + 24),
        }
    })
}

fn entry_at(index: usize) -> usize {
    SECTION_TABLE_AT + index * SECTION_ENTRY_LENGTH
}

/// A field of a whole block, which has it for certain.
fn array<const N: usize>(block: &[u8], at: usize) -> [u8; N] {
    array_at(block, at).unwrap_or([0; N])
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(block, at))
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(block, at))
}

fn check_preamble(block: &[u8]) -> Result<(), IndexFault> {
    let (expected, found) = (checksum_of(block), u32_at(block, 12));
    if found != expected {
        return Err(IndexFault::Checksum { expected, found });
    }
    let (letters, version) = (array(block, 0), u32_at(block, 8));
    if letters != INDEX_MAGIC {
        return Err(IndexFault::Magic { found: letters });
    }
    if version != INDEX_VERSION {
        return Err(IndexFault::Version { found: version, supported: INDEX_VERSION });
    }
    Ok(())
}

fn check_kinds(block: &[u8]) -> Result<(), IndexFault> {
    let sections = Section::ALL.into_iter().enumerate();
    sections
        .map(|(index, section)| (u64::from(section.kind()), u64_at(block, entry_at(index))))
        .try_for_each(|(expected, found)| check("section kind", expected, found))
}

fn check_rest(block: &[u8]) -> Result<(), IndexFault> {
    let mut rest = block.iter().zip(0_u64..).skip(HEADER_FIELDS_LENGTH);
    let nonzero = rest.find(|(byte, _)| **byte != 0);
    nonzero.map_or(Ok(()), |(found, at)| Err(IndexFault::Padding { at, found: *found }))
}

fn check(field: &'static str, expected: u64, found: u64) -> Result<(), IndexFault> {
    if expected == found { Ok(()) } else { Err(IndexFault::Field { field, expected, found }) }
}

/// CRC-32 of the block without the checksum itself, which lies where a segment header has it.
fn checksum_of(block: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(block.get(..12).unwrap_or_default());
    hasher.update(block.get(16..).unwrap_or_default());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> IndexHeader {
        let last = ChainPosition { sequence: 106, link: Link([3; 32]), time: 9 };
        let scope = Scope { log: LogId([1; 16]), first_sequence: 42, last, terms_version: 7 };
        let lengths = [264_u64, 16, 8, 0, 48, 32, 64, 8];
        let mut offset = INDEX_HEADER_LENGTH as u64;
        let sections = lengths.map(|length| {
            offset += length;
            SectionEntry { offset: offset - length, length, digest: [length as u8; 32] }
        });
        IndexHeader { scope, sections, without_terms: 5 }
    }

    fn changed(change: impl Fn(&mut IndexHeader)) -> Result<IndexHeader, IndexFault> {
        let mut header = sample();
        change(&mut header);
        IndexHeader::decode(&header.encode())
    }

    #[test]
    fn a_header_is_read_back_and_every_flipped_bit_of_its_block_is_a_fault() {
        let block = sample().encode();
        assert_eq!(IndexHeader::decode(&block), Ok(sample()));
        assert_eq!(sample().length(), 4_096 + 440);
        for position in 0..block.len() * 8 {
            let mut damaged = block.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            assert!(IndexHeader::decode(&damaged).is_err(), "bit {position}");
        }
    }

    #[test]
    fn sections_that_overlap_or_leave_gaps_or_are_endless_are_refused() {
        assert!(changed(|header| header.sections[2].offset += 8).is_err());
        assert!(changed(|header| header.sections[0].length += 8).is_err());
        assert!(changed(|header| header.sections[5].length = u64::MAX / 32 * 32).is_err());
        assert!(changed(|header| header.sections[5].length += 8).is_err());
        assert!(changed(|header| header.sections[2].length = 0).is_err());
        assert!(changed(|header| header.scope.last.sequence = 41).is_err());
        assert!(changed(|header| header.scope.last.sequence = u64::MAX).is_err());
        assert!(changed(|header| header.scope.first_sequence = 0).is_err());
        assert!(changed(|header| header.without_terms = 66).is_err());
    }

    #[test]
    fn another_version_is_told_only_under_a_good_checksum() {
        let mut block = sample().encode();
        block[8] = 6;
        assert!(matches!(IndexHeader::decode(&block), Err(IndexFault::Checksum { .. })));
        let checksum = checksum_of(&block);
        block[12..16].copy_from_slice(&checksum.to_le_bytes());
        let found = IndexHeader::decode(&block);
        assert_eq!(found, Err(IndexFault::Version { found: 6, supported: 5 }));
    }

    #[test]
    fn an_index_of_no_record_is_refused() {
        let empty = changed(|header| {
            header.scope.last.sequence = 41;
            header.without_terms = 0;
            header.sections = [SectionEntry::default(); SECTIONS];
        });
        assert!(matches!(empty, Err(IndexFault::Field { field: "number of records", .. })));
    }
}
