//! Reading an index: every lookup checks what it rests on.

use crate::bytes::Part;
use crate::fault::IndexFault;
use crate::filter;
use crate::header::{IndexDigest, IndexHeader, Scope};
use crate::layout::{INDEX_HEADER_LENGTH, LINK_LENGTH, OFFSET_UNIT, SECTIONS, STRIDE, Section};
use crate::postings::Records;
use crate::rows::Rows;
use crate::table::Table;
use crate::term::TermHash;
use holdpoint_log_files::storage::held_in;
use holdpoint_log_files::{ReadFile, Stamp};
use holdpoint_log_format::Link;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::{fmt, io};

/// Records between two links that an index states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first of them.
    pub first: u64,
    /// The link of the record before it.
    pub before: Link,
    /// The last of them.
    pub last: u64,
    /// Its link.
    pub behind: Link,
}

/// A section is compared with its digest in blocks of so many bytes.
const BLOCK_LENGTH: usize = 64 * 1_024;

/// State of a section: nothing is known yet, its digest holds, it does not.
const UNCHECKED: u8 = 0;
const RIGHT: u8 = 1;
const WRONG: u8 = 2;

/// An index in a file, or in memory.
///
/// Nothing of it is kept in memory. A section is compared with its digest before its first use,
/// once, and read piece by piece from then on, so that whoever keeps an index asks whether its file
/// [is unchanged](Self::is_unchanged) before each use. Lookups from several threads are fine. Any
/// fault means the same: this index is not to be used, build it again.
pub struct Index<F> {
    file: F,
    stamp: Option<Stamp>,
    header: IndexHeader,
    digest: IndexDigest,
    /// A statement about bytes that never change, so that threads need no order between them: two
    /// that check at once find the same.
    states: [AtomicU8; SECTIONS],
}

impl<F: ReadFile> Index<F> {
    /// Takes a file for an index if its header block holds and it is as long as that says. What
    /// the sections say is looked at when it is needed.
    ///
    /// # Errors
    /// The first fault of the header block, another length, or the disk says no.
    pub fn new(file: F) -> Result<Self, IndexFault> {
        let failed = |error: io::Error| IndexFault::unreadable(&error);
        // The stamp comes before the bytes: what changes behind it is noticed.
        let stamp = file.stamp().map_err(failed)?;
        let found = file.length().map_err(failed)?;
        // What is believed and what the digest is of are one private copy.
        let mut block = vec![0; INDEX_HEADER_LENGTH];
        let read = file.read_at(0, &mut block).map_err(failed)?;
        block.truncate(read);
        let header = IndexHeader::decode(&block)?;
        let expected = header.length();
        if found < expected {
            return Err(IndexFault::Short { needed: expected, available: found });
        }
        if found > expected {
            return Err(IndexFault::Long { expected, found });
        }
        let short = IndexFault::Short { needed: expected, available: found };
        let digest = IndexDigest::of(&block).ok_or(short)?;
        Ok(Self { file, stamp, header, digest, states: Default::default() })
    }

    /// Returns whether the file is as it was when this was made: nobody has written to it since, or
    /// cut it.
    pub fn is_unchanged(&self) -> bool {
        self.file.stamp().is_ok_and(|now| now == self.stamp)
    }

    /// Returns what it says that it is an index of.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.header.scope
    }

    /// Counts the records that have no term: what they hold cannot be looked up here.
    #[must_use]
    pub const fn without_terms(&self) -> u32 {
        self.header.without_terms
    }

    /// The digest that vouches for every byte of it, by way of [`Index::check_section`].
    #[must_use]
    pub fn digest(&self) -> IndexDigest {
        self.digest
    }

    /// Returns whether it is the index of the segment that begins with this record, with the digest
    /// that somebody vouches for, by these rules: whoever knows that digest believes it.
    #[must_use]
    pub fn is_vouched(&self, first_sequence: u64, digest: &[u8; 32], terms_version: u32) -> bool {
        let Scope { first_sequence: first, terms_version: version, .. } = self.header.scope;
        (first, version) == (first_sequence, terms_version) && self.digest.0 == *digest
    }

    /// A private copy, for whoever bears that somebody writes to the file meanwhile: its own
    /// digest tells whether it is the right one. Takes as much memory as the header says that the
    /// file is long, so that the header is found to be [vouched for](Self::is_vouched) first.
    ///
    /// # Errors
    /// As [`Index::new`].
    pub fn copied(&self) -> Result<Index<Vec<u8>>, IndexFault> {
        let mut bytes = zeros(self.header.length())?;
        let read = self.file.read_at(0, &mut bytes);
        bytes.truncate(read.map_err(|error| IndexFault::unreadable(&error))?);
        Index::new(bytes)
    }

    /// Reads like [`Index::copied`], of some sections alone: another one is taken for one that is
    /// wrong.
    ///
    /// # Errors
    /// As [`Index::new`].
    pub fn copied_sections(&self, sections: &[Section]) -> Result<Index<Copies>, IndexFault> {
        let entries = sections.iter().filter_map(|one| self.header.sections.get(*one as usize));
        let entries = entries.map(|entry| (entry.offset, entry.length));
        let mut copies = Copies { length: self.header.length(), parts: Vec::new() };
        for (offset, length) in entries.chain([(0, INDEX_HEADER_LENGTH as u64)]) {
            let mut bytes = zeros(length)?;
            let read = self.file.read_at(offset, &mut bytes);
            bytes.truncate(read.map_err(|error| IndexFault::unreadable(&error))?);
            copies.parts.push((offset, bytes));
        }
        Index::new(copies)
    }

    /// Compares a section with the digest in the header. The second time costs nothing.
    ///
    /// # Errors
    /// [`IndexFault::Digest`].
    pub fn check_section(&self, section: Section) -> Result<(), IndexFault> {
        self.section(section).map(drop)
    }

    /// Compares every section with its digest.
    ///
    /// # Errors
    /// [`IndexFault::Digest`] of the first section that differs.
    pub fn check(&self) -> Result<(), IndexFault> {
        Section::ALL.into_iter().try_for_each(|section| self.check_section(section))
    }

    /// Returns where the record with this sequence lies in the segment's file; `None` when it is
    /// not in the segment.
    ///
    /// # Errors
    /// The section of offsets cannot be used.
    pub fn offset_of(&self, sequence: u64) -> Result<Option<u64>, IndexFault> {
        let number = sequence.checked_sub(self.header.scope.first_sequence);
        let is_here = |number: &u64| *number < u64::from(self.header.scope.records());
        let Some(number) = number.filter(is_here) else { return Ok(None) };
        let offsets = self.section(Section::Offsets)?;
        Ok(offsets.u32(number)?.map(|units| u64::from(units) * OFFSET_UNIT))
    }

    /// From where to walk to find the first record whose time is `time` or later: the sequence of a
    /// record such that none before it is, and it or one of the 64 behind it is. `None` when no
    /// record of the segment is.
    ///
    /// # Errors
    /// The section of times cannot be used.
    pub fn first_at_or_after(&self, time: u64) -> Result<Option<u64>, IndexFault> {
        let Scope { first_sequence, last, .. } = self.header.scope;
        if last.time < time {
            return Ok(None);
        }
        let times = self.section(Section::Times)?;
        let sampled = times.count_below(times.length() / 8, time)?;
        let number = sampled.saturating_sub(1) * u64::from(STRIDE);
        Ok(Some(first_sequence.saturating_add(number)))
    }

    /// The records between two stated links that one of them lies between: what is to be hashed to
    /// know that it is the one. `None` when it is not in the segment.
    ///
    /// # Errors
    /// The section of links cannot be used.
    pub fn stretch_of(&self, sequence: u64) -> Result<Option<Stretch>, IndexFault> {
        let Scope { first_sequence, last, .. } = self.header.scope;
        let number = sequence.checked_sub(first_sequence);
        let Some(number) = number.filter(|_| sequence <= last.sequence) else { return Ok(None) };
        let links = self.section(Section::Links)?;
        let link = |stretch: u64| {
            let found = links.array(stretch.saturating_mul(LINK_LENGTH as u64))?;
            Ok(found.map(Link))
        };
        let stretch = number / u64::from(STRIDE);
        let first = first_sequence.saturating_add(stretch.saturating_mul(u64::from(STRIDE)));
        let next = first.saturating_add(u64::from(STRIDE));
        let behind = link(stretch.saturating_add(1))?;
        let found = link(stretch)?.map(|before| match behind {
            Some(behind) => Stretch { first, before, last: next.saturating_sub(1), behind },
            None => Stretch { first, before, last: last.sequence, behind: last.link },
        });
        Ok(found)
    }

    /// Returns whether some record may hold the term. `false` is certain, and costs one read.
    ///
    /// # Errors
    /// The filter cannot be used.
    pub fn may_have_term(&self, term: TermHash) -> Result<bool, IndexFault> {
        filter::may_hold(&self.section(Section::TermFilter)?, term)
    }

    /// Returns whether some record may hold the idempotency key. `false` is certain, and costs one
    /// read.
    ///
    /// # Errors
    /// The filter cannot be used.
    pub fn may_have_key(&self, key: TermHash) -> Result<bool, IndexFault> {
        filter::may_hold(&self.section(Section::KeyFilter)?, key)
    }

    /// The sequences of the records that may hold the term, ascending: all that do are among them.
    ///
    /// # Errors
    /// The filter or the table cannot be used; an item can be a fault as well.
    pub fn records_with(&self, term: TermHash) -> Result<Records, IndexFault> {
        self.records(Section::Terms, term, self.may_have_term(term)?)
    }

    /// The sequences of the records that may hold the idempotency key, ascending: all that do are
    /// among them.
    ///
    /// # Errors
    /// The filter or the table cannot be used; an item can be a fault as well.
    pub fn records_with_key(&self, key: TermHash) -> Result<Records, IndexFault> {
        self.records(Section::Keys, key, self.may_have_key(key)?)
    }

    /// The rows of its records. Their section is compared with its digest, and held in memory as
    /// long as they are.
    ///
    /// # Errors
    /// The section of rows cannot be used.
    pub fn rows(&self) -> Result<Rows, IndexFault> {
        let Scope { first_sequence, .. } = self.header.scope;
        let bytes = self.section_of_rows()?.into_owned();
        Rows::read(bytes, first_sequence, self.header.scope.records())
    }

    /// Returns whether all rows together are such bytes: whoever looks for a text need not look at
    /// each.
    ///
    /// # Errors
    /// As [`Index::rows`].
    pub fn rows_are(&self, are_such: impl FnOnce(&[u8]) -> bool) -> Result<bool, IndexFault> {
        self.section_of_rows().map(|bytes| are_such(&bytes))
    }

    fn section_of_rows(&self) -> Result<Cow<'_, [u8]>, IndexFault> {
        let section = self.section(Section::Rows)?;
        if let Some(held) = section.held() {
            return Ok(held.into());
        }
        let mut bytes = zeros(section.length())?;
        if !section.read(0, &mut bytes)? {
            return Err(IndexFault::Digest { section: Section::Rows });
        }
        Ok(bytes.into())
    }

    fn records(
        &self,
        section: Section,
        hash: TermHash,
        may_be_there: bool,
    ) -> Result<Records, IndexFault> {
        let Scope { first_sequence, .. } = self.header.scope;
        let list = match may_be_there {
            true => Table::new(section, self.section(section)?)?.list_of(hash)?,
            false => Vec::new(),
        };
        Ok(Records::new(section, list, first_sequence, self.header.scope.records()))
    }

    /// A section, once it was found to have its digest. The header was compared with the length of
    /// the file, so that the section is there.
    fn section(&self, section: Section) -> Result<Part<'_, F>, IndexFault> {
        let wrong = IndexFault::Digest { section };
        let parts = self.header.sections.iter().zip(&self.states).nth(section as usize);
        let Some((entry, state)) = parts else { return Err(wrong) };
        let part = Part::new(&self.file, entry.offset, entry.length);
        if state.load(Ordering::Relaxed) == UNCHECKED {
            let is_right = digest_of(&part)? == entry.digest;
            state.store(if is_right { RIGHT } else { WRONG }, Ordering::Relaxed);
        }
        if state.load(Ordering::Relaxed) == RIGHT { Ok(part) } else { Err(wrong) }
    }
}

/// Private copies of an index's header block and of some of its sections.
#[derive(Debug)]
pub struct Copies {
    length: u64,
    /// By their offsets.
    parts: Vec<(u64, Vec<u8>)>,
}

impl ReadFile for Copies {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn held(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.parts
            .iter()
            .find_map(|(start, bytes)| held_in(bytes, offset.checked_sub(*start)?, length))
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.parts.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        });
        rest.unwrap_or_default().read_some_at(0, buffer)
    }
}

/// BLAKE3 of a part, or of as much of it as is there.
fn digest_of<F: ReadFile>(part: &Part<'_, F>) -> Result<[u8; 32], IndexFault> {
    if let Some(held) = part.held() {
        return Ok(*blake3::hash(held).as_bytes());
    }
    let (mut hasher, mut block, mut at) = (blake3::Hasher::new(), vec![0; BLOCK_LENGTH], 0);
    while at < part.length() {
        let left = usize::try_from(part.length() - at).unwrap_or(usize::MAX);
        block.truncate(left);
        if !part.read(at, &mut block)? {
            break;
        }
        hasher.update(&block);
        at += block.len() as u64;
    }
    Ok(*hasher.finalize().as_bytes())
}

impl<F> fmt::Debug for Index<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Index")
            .field("scope", &self.header.scope)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
/// Returns as many zeros as a header says that something is long: an error where there is no memory
/// for it.
fn zeros(length: u64) -> Result<Vec<u8>, IndexFault> {
    let length = usize::try_from(length).unwrap_or_default();
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(length).map_err(std::io::Error::from);
    room.map_err(|error| IndexFault::unreadable(&error))?;
    bytes.resize(length, 0);
    Ok(bytes)
}
