use crate::block::Block;
use crate::checksum;
use crate::layout::{ALIGNMENT, RECORD_HEADER_LENGTH, WITHHELD, record};
use crate::link;

/// A record as its bytes: what its fields say need not fit them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub header: Block,
    pub payload: Vec<u8>,
    pub padding: Vec<u8>,
}

impl Record {
    /// A record of which nothing is stated yet but what it says.
    pub fn new(kind: u16, version: u8, payload: Vec<u8>) -> Self {
        let mut new = Self {
            header: Block::zeros(RECORD_HEADER_LENGTH),
            payload: Vec::new(),
            padding: Vec::new(),
        };
        new.header.set_number(record::KIND, u64::from(kind));
        new.header.set_number(record::VERSION, u64::from(version));
        new.set_payload(payload);
        new
    }

    /// The record at the beginning of the bytes, where its size is legal and its bytes exist.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let size = usize::try_from(crate::block::number(bytes.get(..4)?)).ok()?;
        let is_legal = (RECORD_HEADER_LENGTH..=RECORD_HEADER_LENGTH + (64 << 20)).contains(&size);
        let whole = bytes.get(..size.next_multiple_of(ALIGNMENT)).filter(|_| is_legal)?;
        Some(Self {
            header: Block(whole[..RECORD_HEADER_LENGTH].to_vec()),
            payload: whole[RECORD_HEADER_LENGTH..size].to_vec(),
            padding: whole[size..].to_vec(),
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        [&*self.header.0, &*self.payload, &*self.padding].concat()
    }

    pub fn length(&self) -> usize {
        self.header.0.len() + self.payload.len() + self.padding.len()
    }

    /// Other bytes in the same place, of the same lengths.
    pub(crate) fn set_image(&mut self, image: &[u8]) {
        let (header, rest) = image.split_at(RECORD_HEADER_LENGTH);
        let (payload, padding) = rest.split_at(self.payload.len());
        self.header.0.copy_from_slice(header);
        self.payload.copy_from_slice(payload);
        self.padding.copy_from_slice(padding);
    }

    /// Another payload, with size and padding that fit it.
    pub fn set_payload(&mut self, payload: Vec<u8>) {
        let size = RECORD_HEADER_LENGTH + payload.len();
        self.header.set_number(record::SIZE, size as u64);
        self.padding = vec![0; size.next_multiple_of(ALIGNMENT) - size];
        self.payload = payload;
    }

    pub fn kind(&self) -> u16 {
        u16::try_from(self.header.number(record::KIND)).expect("two bytes")
    }

    pub fn flags(&self) -> u8 {
        self.header.bytes(record::FLAGS)[0]
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags() & flag != 0
    }

    pub fn set_flags(&mut self, flags: u8) {
        self.header.set(record::FLAGS, &[flags]);
    }

    pub fn sequence(&self) -> u64 {
        self.header.number(record::SEQUENCE)
    }

    pub fn time(&self) -> u64 {
        self.header.number(record::TIME)
    }

    pub fn link(&self) -> [u8; 32] {
        self.header.array(record::LINK)
    }

    /// The payload's SHA-256, which a withheld payload is.
    pub fn payload_digest(&self) -> [u8; 32] {
        let withheld =
            if self.has(WITHHELD) { self.payload.as_slice().try_into().ok() } else { None };
        withheld.unwrap_or_else(|| link::sha256(&self.payload))
    }

    /// Whether the size is that of the bytes that stand here.
    pub fn is_whole(&self) -> bool {
        self.header.number(record::SIZE) == (RECORD_HEADER_LENGTH + self.payload.len()) as u64
    }

    pub fn remake_checksum(&mut self, seed: u32) {
        let checksum = checksum::of_item(seed, &self.header, &self.payload);
        self.header.set_number(record::CHECKSUM, u64::from(checksum));
    }

    /// The link, and the checksum that covers it.
    pub fn remake_link(&mut self, log: &[u8], previous: &[u8], seed: u32) {
        let link = link::of_record(log, previous, self);
        self.header.set(record::LINK, &link);
        self.remake_checksum(seed);
    }
}
