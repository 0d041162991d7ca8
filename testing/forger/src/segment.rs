use crate::block::Block;
use crate::checksum;
use crate::layout::{SEAL_LENGTH, SEAL_TAG, SEGMENT_HEADER_LENGTH, SEGMENT_MAGIC};
use crate::layout::{common, header, seal};
use crate::record::Record;

/// A segment's file: header block, items without gaps, and whatever is behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub header: Block,
    pub items: Vec<Item>,
    /// Zeros up to the capacity, in a segment that nobody changed.
    pub rest: Vec<u8>,
}

/// What stands in a segment between the header block and the zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Record(Record),
    Seal(Block),
    /// What is neither, made by a forger.
    Bytes(Vec<u8>),
}

impl Item {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Record(record) => record.encode(),
            Self::Seal(block) => block.0.clone(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }

    pub fn length(&self) -> usize {
        match self {
            Self::Record(record) => record.length(),
            Self::Seal(block) => block.0.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    pub fn record(&self) -> Option<&Record> {
        if let Self::Record(record) = self { Some(record) } else { None }
    }

    fn set_image(&mut self, image: Vec<u8>) {
        match self {
            Self::Record(record) => record.set_image(&image),
            Self::Seal(block) => block.0 = image,
            Self::Bytes(bytes) => *bytes = image,
        }
    }
}

impl Segment {
    /// An empty segment of a capacity. Its header states nothing of what is before it.
    pub fn new(log: &[u8], capacity: usize) -> Self {
        let mut block = Block::zeros(SEGMENT_HEADER_LENGTH);
        block.set(common::MAGIC, SEGMENT_MAGIC);
        block.set_number(common::VERSION, 1);
        block.set(header::LOG, log);
        block.set_number(header::CAPACITY, capacity as u64);
        let rest = vec![0; capacity - SEGMENT_HEADER_LENGTH];
        Self { header: block, items: Vec::new(), rest }
    }

    /// A file as a segment, where it is long enough for a header block.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (block, mut left) = bytes.split_at_checked(SEGMENT_HEADER_LENGTH)?;
        let mut items = Vec::new();
        while let Some(item) = item_at(left) {
            left = &left[item.length()..];
            let is_seal = matches!(item, Item::Seal(_));
            items.push(item);
            if is_seal {
                break;
            }
        }
        Some(Self { header: Block(block.to_vec()), items, rest: left.to_vec() })
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.header.0.clone();
        for item in &self.items {
            bytes.extend(item.encode());
        }
        bytes.extend(&self.rest);
        bytes
    }

    pub fn log(&self) -> [u8; 16] {
        self.header.array(header::LOG)
    }

    pub fn first_sequence(&self) -> u64 {
        self.header.number(header::FIRST_SEQUENCE)
    }

    pub fn seed(&self) -> u32 {
        checksum::seed(&self.log(), self.first_sequence())
    }

    /// Where an item begins; of the number of all items, where the last one ends.
    pub fn offset_of(&self, item: usize) -> usize {
        let before = self.items[..item].iter().map(Item::length);
        SEGMENT_HEADER_LENGTH + before.sum::<usize>()
    }

    pub fn end(&self) -> usize {
        self.offset_of(self.items.len())
    }

    /// The records with their places among the items.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = (usize, &Record)> {
        let items = self.items.iter().enumerate();
        items.filter_map(|(place, item)| item.record().map(|record| (place, record)))
    }

    pub fn last_record(&self) -> Option<&Record> {
        self.records().next_back().map(|(_, record)| record)
    }

    pub fn record_mut(&mut self, item: usize) -> &mut Record {
        match &mut self.items[item] {
            Item::Record(record) => record,
            other => panic!("item {item} is no record: {other:?}"),
        }
    }

    pub fn seal_place(&self) -> Option<usize> {
        self.items.iter().position(|item| matches!(item, Item::Seal(_)))
    }

    pub fn seal_mut(&mut self) -> Option<&mut Block> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Seal(block) => Some(block),
            _ => None,
        })
    }

    pub fn remake_header_checksum(&mut self) {
        checksum::remake_of_block(&mut self.header);
    }

    pub fn remake_seal_checksum(&mut self) {
        let seed = self.seed();
        if let Some(block) = self.seal_mut() {
            let checksum = checksum::of_item(seed, block, &[]);
            block.set_number(seal::CHECKSUM, u64::from(checksum));
        }
    }

    /// A seal that names the newest record and its own place, put behind it where there was none.
    pub fn remake_seal(&mut self) {
        if self.seal_place().is_none() {
            let mut block = Block::zeros(SEAL_LENGTH);
            block.set(seal::TAG, SEAL_TAG);
            self.items.push(Item::Seal(block));
        }
        let offset = self.offset_of(self.seal_place().expect("it was put there"));
        let last = self.last_record().expect("only a segment with records is sealed");
        let (sequence, time, link) = (last.sequence(), last.time(), last.link());
        let block = self.seal_mut().expect("it was put there");
        block.set_number(seal::LAST_SEQUENCE, sequence);
        block.set_number(seal::OFFSET, offset as u64);
        block.set_number(seal::LAST_TIME, time);
        block.set(seal::LAST_LINK, &link);
        self.remake_seal_checksum();
    }

    /// Puts other bytes in the place of some, wherever they lie; the file keeps its length.
    pub fn overwrite(&mut self, at: usize, new: &[u8]) {
        let mut begin = SEGMENT_HEADER_LENGTH;
        patch(&mut self.header.0, 0, at, new);
        for item in &mut self.items {
            let mut image = item.encode();
            let end = begin + image.len();
            if patch(&mut image, begin, at, new) {
                item.set_image(image);
            }
            begin = end;
        }
        patch(&mut self.rest, begin, at, new);
    }

    /// Cuts the file to a length of at least a header block.
    pub fn truncate(&mut self, length: usize) {
        let mut begin = SEGMENT_HEADER_LENGTH;
        let mut kept = Vec::new();
        for item in self.items.drain(..) {
            let end = begin + item.length();
            if end <= length {
                kept.push(item);
            } else if begin < length {
                kept.push(Item::Bytes(item.encode()[..length - begin].to_vec()));
            }
            begin = end;
        }
        self.items = kept;
        self.rest.truncate(length.saturating_sub(begin));
    }

    /// Zeros behind the items up to the capacity. Whether the items and a seal have room in it.
    #[must_use]
    pub fn fit(&mut self) -> bool {
        let capacity = usize::try_from(self.header.number(header::CAPACITY)).expect("a length");
        let for_seal = if self.seal_place().is_some() { 0 } else { SEAL_LENGTH };
        let has_room = self.end() + for_seal <= capacity;
        if has_room {
            self.rest.resize(capacity - self.end(), 0);
        }
        has_room
    }
}

fn item_at(bytes: &[u8]) -> Option<Item> {
    if bytes.starts_with(SEAL_TAG) {
        return Some(Item::Seal(Block(bytes.get(..SEAL_LENGTH)?.to_vec())));
    }
    Record::decode(bytes).map(Item::Record)
}

/// Whether some of the new bytes, which begin at `at`, fell into the image that begins at `begin`.
fn patch(image: &mut [u8], begin: usize, at: usize, new: &[u8]) -> bool {
    let from = at.max(begin);
    let to = (at + new.len()).min(begin + image.len());
    if from >= to {
        return false;
    }
    image[from - begin..to - begin].copy_from_slice(&new[from - at..to - at]);
    true
}
