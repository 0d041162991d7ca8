use crate::block::Block;
use crate::layout::common;

/// CRC-32 as in zlib, going on from an earlier result.
pub fn crc32(earlier: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(earlier);
    hasher.update(bytes);
    hasher.finalize()
}

/// What the checksums of a segment's records and seal begin with.
pub fn seed(log: &[u8], first_sequence: u64) -> u32 {
    crc32(crc32(0, log), &first_sequence.to_le_bytes())
}

/// The checksum of a header block, HEAD, LOCK or an index's header.
pub fn of_block(block: &Block) -> u32 {
    crc32(crc32(0, &block.0[..12]), &block.0[16..])
}

pub fn remake_of_block(block: &mut Block) {
    block.set_number(common::CHECKSUM, u64::from(of_block(block)));
}

/// The checksum of a record or a seal: the first field, the header without the checksum, the rest.
pub fn of_item(seed: u32, header: &Block, payload: &[u8]) -> u32 {
    crc32(crc32(crc32(seed, &header.0[..4]), &header.0[8..]), payload)
}
