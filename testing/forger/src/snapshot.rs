use crate::block::Block;
use crate::layout::{SNAPSHOT_HEADER_LENGTH, SNAPSHOT_MAGIC, header, snapshot};
use crate::log::{Log, RecordAt};

/// The state behind a record, as a file says that it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub header: Block,
    pub state: Vec<u8>,
}

/// The file of the state behind a record.
pub fn path(sequence: u64) -> String {
    format!("snapshots/{sequence:020}.snapshot")
}

impl Snapshot {
    /// A state as that behind a record of the log.
    pub fn behind(log: &Log, at: RecordAt, schema: u64, state: Vec<u8>) -> Self {
        let (segment, record) = (log.segment(at.segment), log.record(at));
        let offset = segment.offset_of(at.item);
        let mut block = Block::zeros(SNAPSHOT_HEADER_LENGTH);
        block.set(snapshot::MAGIC, SNAPSHOT_MAGIC);
        block.set_number(snapshot::VERSION, 1);
        block.set_number(snapshot::STATE_SCHEMA, schema);
        block.set(snapshot::LOG, segment.header.bytes(header::LOG));
        block.set_number(snapshot::SEQUENCE, record.sequence());
        block.set(snapshot::LINK, &record.link());
        block.set_number(snapshot::TIME, record.time());
        block.set_number(snapshot::SEGMENT, segment.first_sequence());
        block.set_number(snapshot::RECORD_OFFSET, offset as u64);
        block.set_number(snapshot::END_OFFSET, (offset + record.length()) as u64);
        block.set_number(snapshot::STATE_LENGTH, state.len() as u64);
        Self { header: block, state }
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (block, state) = bytes.split_at_checked(SNAPSHOT_HEADER_LENGTH)?;
        Some(Self { header: Block(block.to_vec()), state: state.to_vec() })
    }

    pub fn encode(&self) -> Vec<u8> {
        [&*self.header.0, &*self.state].concat()
    }

    /// What the record behind a genuine snapshot states.
    pub fn fingerprint(&self) -> [u8; 32] {
        fingerprint(self.header.number(snapshot::STATE_SCHEMA), &self.state)
    }
}

/// The fingerprint of a state.
pub fn fingerprint(schema: u64, state: &[u8]) -> [u8; 32] {
    let schema = u32::try_from(schema).expect("four bytes").to_le_bytes();
    blake3::derive_key("holdpoint world fingerprint", &[&schema, state].concat())
}
