use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use crate::block::{Block, number};
use crate::checksum;
use crate::layout::index::{
    ENTRY_DIGEST, ENTRY_KIND, ENTRY_LENGTH, ENTRY_LENGTH_FIELD, ENTRY_OFFSET, SECTION_TABLE,
};
use crate::layout::{INDEX_HEADER_LENGTH, INDEX_MAGIC, common, header, index};
use crate::segment::Segment;

pub const OFFSETS: usize = 1;
pub const TIMES: usize = 2;
pub const TERMS: usize = 3;
pub const TERM_FILTER: usize = 4;
pub const KEYS: usize = 5;
pub const KEY_FILTER: usize = 6;
pub const LINKS: usize = 7;
pub const ROWS: usize = 8;

/// The version that INDEX.md describes.
pub const VERSION: u64 = 5;

const SECTIONS: usize = 8;

/// From one record whose time and link before are stated to the next.
const STRIDE: usize = 64;

const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// A `.idx` file: its header block and the sections behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub header: Block,
    pub sections: Vec<u8>,
}

/// Which records hold a term, by the term's hash.
pub type Table = BTreeMap<u64, Vec<u64>>;

/// The index that belongs to a segment's file.
pub fn path(first_sequence: u64) -> String {
    format!("segments/{first_sequence:020}.idx")
}

impl Index {
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (block, sections) = bytes.split_at_checked(INDEX_HEADER_LENGTH)?;
        Some(Self { header: Block(block.to_vec()), sections: sections.to_vec() })
    }

    pub fn encode(&self) -> Vec<u8> {
        [&*self.header.0, &*self.sections].concat()
    }

    /// The index of a segment, whose records hold these terms and keys, and none a row.
    pub fn of(segment: &Segment, terms_version: u64, terms: &Table, keys: &Table) -> Option<Self> {
        let last = segment.last_record()?;
        let mut block = Block::zeros(INDEX_HEADER_LENGTH);
        block.set(common::MAGIC, INDEX_MAGIC);
        block.set_number(common::VERSION, VERSION);
        block.set(index::LOG, segment.header.bytes(header::LOG));
        block.set_number(index::FIRST_SEQUENCE, segment.first_sequence());
        block.set_number(index::LAST_SEQUENCE, last.sequence());
        block.set_number(index::LAST_TIME, last.time());
        block.set(index::LAST_LINK, &last.link());
        block.set_number(index::RECORDS, segment.records().count() as u64);
        block.set_number(index::TERMS_VERSION, terms_version);
        let with_terms: BTreeSet<&u64> = terms.values().flatten().collect();
        let without_terms = segment.records().count() - with_terms.len();
        block.set_number(index::WITHOUT_TERMS, without_terms as u64);
        let mut new = Self { header: block, sections: Vec::new() };
        new.lay_out([
            offsets_of(segment),
            times_of(segment),
            encode_table(terms),
            filter_of(terms),
            encode_table(keys),
            filter_of(keys),
            links_of(segment),
            0_u64.to_le_bytes().to_vec(),
        ]);
        Some(new)
    }

    /// What vouches for every byte of the file.
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(&self.header.0).as_bytes()
    }

    fn entry(&self, section: usize) -> Block {
        let at = SECTION_TABLE.at + (section - 1) * ENTRY_LENGTH;
        Block(self.header.0[at..at + ENTRY_LENGTH].to_vec())
    }

    /// The bytes of a section, where the table of sections says that it is.
    pub fn section(&self, section: usize) -> Option<Vec<u8>> {
        let entry = self.entry(section);
        let place = usize::try_from(entry.number(ENTRY_OFFSET)).ok()?;
        let length = usize::try_from(entry.number(ENTRY_LENGTH_FIELD)).ok()?;
        let begin = place.checked_sub(INDEX_HEADER_LENGTH)?;
        Some(self.sections.get(begin..begin.checked_add(length)?)?.to_vec())
    }

    /// Puts another section in the place of one, with every digest made anew.
    pub fn replace(&mut self, section: usize, with: Vec<u8>) -> Option<()> {
        let mut all = [const { Vec::new() }; SECTIONS];
        for (place, bytes) in all.iter_mut().enumerate() {
            *bytes = self.section(place + 1)?;
        }
        all[section - 1] = with;
        self.lay_out(all);
        Some(())
    }

    fn lay_out(&mut self, all: [Vec<u8>; SECTIONS]) {
        self.sections.clear();
        for (place, bytes) in all.into_iter().enumerate() {
            let mut entry = Block::zeros(ENTRY_LENGTH);
            entry.set_number(ENTRY_KIND, place as u64 + 1);
            entry.set_number(ENTRY_OFFSET, (INDEX_HEADER_LENGTH + self.sections.len()) as u64);
            entry.set_number(ENTRY_LENGTH_FIELD, bytes.len() as u64);
            entry.set(ENTRY_DIGEST, blake3::hash(&bytes).as_bytes());
            let at = SECTION_TABLE.at + place * ENTRY_LENGTH;
            self.header.0[at..at + ENTRY_LENGTH].copy_from_slice(&entry.0);
            self.sections.extend(bytes);
        }
        checksum::remake_of_block(&mut self.header);
    }

    pub fn terms(&self) -> Option<Table> {
        decode_table(&self.section(TERMS)?)
    }

    /// Other terms, with the filter that fits them.
    pub fn set_terms(&mut self, terms: &Table) -> Option<()> {
        self.replace(TERMS, encode_table(terms))?;
        self.replace(TERM_FILTER, filter_of(terms))
    }

    /// The links of a segment that was made anew.
    pub fn set_links(&mut self, segment: &Segment) -> Option<()> {
        self.header.set(index::LAST_LINK, &segment.last_record()?.link());
        self.replace(LINKS, links_of(segment))
    }

    pub fn keys(&self) -> Option<Table> {
        decode_table(&self.section(KEYS)?)
    }

    /// Other idempotency keys, with the filter that fits them.
    pub fn set_keys(&mut self, keys: &Table) -> Option<()> {
        self.replace(KEYS, encode_table(keys))?;
        self.replace(KEY_FILTER, filter_of(keys))
    }
}

/// What a table keeps of a term.
pub fn hash_of(term: &[u8]) -> u64 {
    let mut key = [0; 32];
    key[..20].copy_from_slice(b"holdpoint index term");
    number(&blake3::keyed_hash(&key, term).as_bytes()[..8])
}

fn offsets_of(segment: &Segment) -> Vec<u8> {
    let places = segment.records().map(|(item, _)| segment.offset_of(item) / 8);
    let offsets = places.flat_map(|place| u32::try_from(place).expect("an offset").to_le_bytes());
    padded(offsets.collect())
}

fn times_of(segment: &Segment) -> Vec<u8> {
    let sampled = segment.records().step_by(STRIDE);
    sampled.flat_map(|(_, record)| record.time().to_le_bytes()).collect()
}

/// The link before each sampled record: the one of the record before it, or of the header.
fn links_of(segment: &Segment) -> Vec<u8> {
    let first = segment.header.array(header::PREVIOUS_LINK);
    let before = iter::once(first).chain(segment.records().map(|(_, record)| record.link()));
    before.take(segment.records().count()).step_by(STRIDE).flatten().collect()
}

fn encode_table(table: &Table) -> Vec<u8> {
    let mut bytes = (table.len() as u64).to_le_bytes().to_vec();
    bytes.extend(table.keys().flat_map(|hash| hash.to_le_bytes()));
    let mut lists = Vec::new();
    for numbers in table.values() {
        lists.extend(encode_list(numbers));
        bytes.extend(u32::try_from(lists.len()).expect("a short list").to_le_bytes());
    }
    let mut bytes = padded(bytes);
    bytes.extend(lists);
    padded(bytes)
}

/// Each number as its distance from the smallest that could stand there.
fn encode_list(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut smallest = 0;
    for number in numbers {
        let mut left = number - smallest;
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
        smallest = number + 1;
    }
    bytes
}

fn decode_table(bytes: &[u8]) -> Option<Table> {
    let count = usize::try_from(number(bytes.get(..8)?)).ok()?;
    let hashes = bytes.get(8..)?.get(..count.checked_mul(8)?)?;
    let ends_at = 8 + hashes.len();
    let ends = bytes.get(ends_at..)?.get(..count * 4)?;
    let lists = bytes.get((ends_at + ends.len()).next_multiple_of(8)..)?;
    let mut table = Table::new();
    let mut begin = 0;
    for (hash, end) in hashes.chunks_exact(8).zip(ends.chunks_exact(4)) {
        let end = usize::try_from(number(end)).ok()?;
        table.insert(number(hash), decode_list(lists.get(begin..end)?));
        begin = end;
    }
    Some(table)
}

fn decode_list(bytes: &[u8]) -> Vec<u64> {
    let (mut numbers, mut smallest, mut distance, mut shift) = (Vec::new(), 0, 0, 0);
    for byte in bytes {
        distance |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(smallest + distance);
            smallest += distance + 1;
            (distance, shift) = (0, 0);
        }
    }
    numbers
}

/// The filter of a table's hashes (INDEX.md, 7).
fn filter_of(table: &Table) -> Vec<u8> {
    let blocks = (table.len() * 12).div_ceil(256);
    let mut words = vec![0_u32; blocks * 8];
    for hash in table.keys() {
        let block = (((hash >> 32) * blocks as u64) >> 32) as usize;
        for (word, salt) in words[block * 8..].iter_mut().zip(SALTS) {
            *word |= 1 << ((*hash as u32).wrapping_mul(salt) >> 27);
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}
