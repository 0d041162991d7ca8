//! Building an index: records in order in, one file's bytes out.

use crate::filter;
use crate::header::{IndexHeader, Scope, SectionEntry};
use crate::layout::{
    INDEX_HEADER_LENGTH, INDEX_LENGTH_MAX, OFFSET_UNIT, SECTIONS, STRIDE, Section, aligned,
};
use crate::rows::RowWriter;
use crate::table::{self, Holding};
use crate::term::TermHash;
use holdpoint_log_format::limits::{SEGMENT_CAPACITY_MAX, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::{ChainPosition, Link, LogId};
use thiserror::Error;

/// A record that cannot be part of the index. What was added before stays.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildFault {
    /// Records come in order, without gaps.
    #[error("record {expected} was due and {found} was added: add every record of the segment")]
    Sequence {
        /// The sequence that was due.
        expected: u64,
        /// The sequence that was added.
        found: u64,
    },
    /// A place where no record of the segment can lie.
    #[error("record {sequence} cannot lie at byte {offset}, behind one at byte {before}")]
    Offset {
        /// Its sequence.
        sequence: u64,
        /// Its offset.
        offset: u64,
        /// The offset of the record before; 0 for none.
        before: u64,
    },
    /// Times never go back.
    #[error("record {sequence} is of {time} ns, before the one it follows")]
    Time {
        /// Its sequence.
        sequence: u64,
        /// Its time in nanoseconds.
        time: u64,
    },
    /// A segment has at least one record.
    #[error("no record was added: only a segment with records has an index")]
    Empty,
    /// More terms than the format has room for.
    #[error("the records hold more terms than an index has room for")]
    TooManyTerms,
}

/// A record, as an index is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedRecord {
    /// Its sequence.
    pub sequence: u64,
    /// Its offset in the segment's file.
    pub offset: u64,
    /// Its time in nanoseconds.
    pub time: u64,
    /// Its link.
    pub link: Link,
}

/// Builds the index of one segment. The same records give the same bytes, in whatever order and
/// however often each record's terms are given. It holds four bytes for each record and sixteen for
/// each of its terms.
#[derive(Clone, Debug)]
pub struct IndexBuilder {
    log: LogId,
    first_sequence: u64,
    terms_version: u32,
    offsets: Vec<u32>,
    times: Vec<u64>,
    links: Vec<Link>,
    last_time: u64,
    last_link: Link,
    without_terms: u32,
    terms: Vec<Holding>,
    keys: Vec<Holding>,
    rows: RowWriter,
}

impl IndexBuilder {
    /// A builder for the segment of `log` that begins at `first_sequence`, behind a record with
    /// the link `before`. `terms_version` names the rules by which the caller gives terms to
    /// records.
    #[must_use]
    pub fn new(log: LogId, first_sequence: u64, before: Link, terms_version: u32) -> Self {
        Self {
            log,
            first_sequence,
            terms_version,
            offsets: Vec::new(),
            times: Vec::new(),
            links: Vec::new(),
            last_time: 0,
            last_link: before,
            without_terms: 0,
            terms: Vec::new(),
            keys: Vec::new(),
            rows: RowWriter::default(),
        }
    }

    /// Adds the next record, with its terms, its idempotency keys and its row.
    ///
    /// # Errors
    /// [`BuildFault`]: the record does not follow from the one before.
    pub fn add(
        &mut self,
        record: &IndexedRecord,
        terms: &[TermHash],
        keys: &[TermHash],
        row: Option<&[u8]>,
    ) -> Result<(), BuildFault> {
        let IndexedRecord { sequence, offset, time, link } = *record;
        let number = u32::try_from(self.offsets.len()).map_err(|_| BuildFault::TooManyTerms)?;
        let expected = self.first_sequence.saturating_add(u64::from(number));
        if sequence != expected {
            return Err(BuildFault::Sequence { expected, found: sequence });
        }
        if time < self.last_time {
            return Err(BuildFault::Time { sequence, time });
        }
        let offset = self.offset_in_units(sequence, offset)?;
        if number.is_multiple_of(STRIDE) {
            self.times.push(time);
            self.links.push(self.last_link);
        }
        self.offsets.push(offset);
        self.last_time = time;
        self.last_link = link;
        self.without_terms += u32::from(terms.is_empty());
        self.terms.extend(terms.iter().map(|hash| (*hash, number)));
        self.keys.extend(keys.iter().map(|hash| (*hash, number)));
        if let Some(row) = row {
            self.rows.add(number, row);
        }
        Ok(())
    }

    /// The index.
    ///
    /// # Errors
    /// [`BuildFault::Empty`], [`BuildFault::TooManyTerms`].
    pub fn finish(mut self) -> Result<Vec<u8>, BuildFault> {
        let scope = self.scope()?;
        let mut out = vec![0; INDEX_HEADER_LENGTH];
        self.write_offsets(&mut out);
        let offsets = entry_behind(&out, INDEX_HEADER_LENGTH);
        self.times.iter().for_each(|time| out.extend_from_slice(&time.to_le_bytes()));
        let times = entry_behind(&out, end_of(&offsets));
        let [terms, term_filter] = write_table(&mut self.terms, &mut out)?;
        let [keys, key_filter] = write_table(&mut self.keys, &mut out)?;
        self.links.iter().for_each(|link| out.extend_from_slice(&link.0));
        let links = entry_behind(&out, end_of(&key_filter));
        self.rows.write(&mut out);
        let rows = entry_behind(&out, end_of(&links));
        let sections: [SectionEntry; SECTIONS] =
            [offsets, times, terms, term_filter, keys, key_filter, links, rows];
        let header = IndexHeader { scope, sections, without_terms: self.without_terms };
        if header.length() > INDEX_LENGTH_MAX {
            return Err(BuildFault::TooManyTerms);
        }
        let header = header.encode();
        out.iter_mut().zip(header).for_each(|(byte, header)| *byte = header);
        Ok(out)
    }

    /// Records lie at multiples of 8, behind the segment's header and behind each other.
    fn offset_in_units(&self, sequence: u64, offset: u64) -> Result<u32, BuildFault> {
        let before = self.offsets.last().map_or(0, |before| u64::from(*before) * OFFSET_UNIT);
        let is_legal = offset.is_multiple_of(OFFSET_UNIT)
            && offset > before
            && (SEGMENT_HEADER_LENGTH as u64..SEGMENT_CAPACITY_MAX).contains(&offset);
        let units = u32::try_from(offset / OFFSET_UNIT).ok().filter(|_| is_legal);
        units.ok_or(BuildFault::Offset { sequence, offset, before })
    }

    fn scope(&self) -> Result<Scope, BuildFault> {
        let more = (self.offsets.len() as u64).checked_sub(1).ok_or(BuildFault::Empty)?;
        let sequence = self.first_sequence.saturating_add(more);
        let last = ChainPosition { sequence, link: self.last_link, time: self.last_time };
        let Self { log, first_sequence, terms_version, .. } = *self;
        Ok(Scope { log, first_sequence, last, terms_version })
    }

    fn write_offsets(&self, out: &mut Vec<u8>) {
        self.offsets.iter().for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
        out.resize(aligned(out.len()), 0);
    }
}

/// Writes a table and its filter.
fn write_table(
    holdings: &mut Vec<Holding>,
    out: &mut Vec<u8>,
) -> Result<[SectionEntry; 2], BuildFault> {
    // They came in the order of their records: a stable sort by the hash alone keeps that.
    holdings.sort_by_key(|(hash, _)| *hash);
    holdings.dedup();
    let start = out.len();
    let hashes = table::write(holdings, out).ok_or(BuildFault::TooManyTerms)?;
    let table = entry_behind(out, start);
    filter::write(&hashes, out);
    Ok([table, entry_behind(out, end_of(&table))])
}

/// The entry of the section that begins at `start` and ends with what was written last.
fn entry_behind(out: &[u8], start: usize) -> SectionEntry {
    let section = out.get(start..).unwrap_or_default();
    SectionEntry {
        offset: start as u64,
        length: section.len() as u64,
        digest: *blake3::hash(section).as_bytes(),
    }
}

fn end_of(entry: &SectionEntry) -> usize {
    usize::try_from(entry.offset + entry.length).unwrap_or(usize::MAX)
}

const _: () = assert!(Section::ALL.len() == SECTIONS);
const _: () = assert!(SEGMENT_CAPACITY_MAX / OFFSET_UNIT <= u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> IndexBuilder {
        let mut builder = IndexBuilder::new(LogId([1; 16]), 5, Link([4; 32]), 1);
        builder.add(&record(5, 4_096, 10), &[TermHash(1)], &[], None).unwrap();
        builder
    }

    fn record(sequence: u64, offset: u64, time: u64) -> IndexedRecord {
        IndexedRecord { sequence, offset, time, link: Link([sequence as u8; 32]) }
    }

    #[test]
    fn a_record_that_does_not_follow_is_refused_and_changes_nothing() {
        let mut builder = builder();
        let refused = [(5, 4_200, 10), (7, 4_200, 10), (6, 4_096, 10), (6, 4_100, 10)]
            .into_iter()
            .chain([(6, SEGMENT_CAPACITY_MAX, 10), (6, 4_200, 9)]);
        for (sequence, offset, time) in refused {
            assert!(
                builder.add(&record(sequence, offset, time), &[TermHash(2)], &[], None).is_err()
            );
        }
        builder.add(&record(6, 4_200, 10), &[], &[], None).unwrap();
        let mut same = self::builder();
        same.add(&record(6, 4_200, 10), &[], &[], None).unwrap();
        assert_eq!(builder.finish(), same.finish());
        let mut first = IndexBuilder::new(LogId([1; 16]), 1, Link([4; 32]), 1);
        assert!(
            first.add(&record(1, 64, 0), &[], &[], None).is_err(),
            "inside the segment's header"
        );
    }

    #[test]
    fn order_and_repetition_of_terms_do_not_change_the_bytes() {
        let [one, other] = [&[1, 2, 2][..], &[2, 1]].map(|terms| {
            let terms: Vec<TermHash> = terms.iter().map(|hash| TermHash(*hash)).collect();
            let mut builder = IndexBuilder::new(LogId([1; 16]), 1, Link([4; 32]), 1);
            builder.add(&record(1, 4_096, 1), &terms, &terms, None).unwrap();
            builder.finish().unwrap()
        });
        assert_eq!(one, other);
    }

    #[test]
    fn an_index_without_records_is_not_built() {
        let builder = IndexBuilder::new(LogId([1; 16]), 1, Link([4; 32]), 1);
        assert_eq!(builder.finish(), Err(BuildFault::Empty));
    }
}
