use sha2::{Digest as _, Sha256};

use crate::layout::{WITHHELD, record};
use crate::record::Record;

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The link before sequence 1.
pub fn genesis(log: &[u8]) -> [u8; 32] {
    sha256(&[b"holdpoint/g1".as_slice(), log].concat())
}

/// The link that the record's fields, payload and predecessor ask for.
pub fn of_record(log: &[u8], previous: &[u8], of: &Record) -> [u8; 32] {
    let header = &of.header;
    let flags = of.flags() & !WITHHELD;
    let parts: [&[u8]; 10] = [
        b"holdpoint/r1",
        log,
        header.bytes(record::KIND),
        header.bytes(record::VERSION),
        &[flags],
        &of.payload_digest(),
        previous,
        header.bytes(record::UNSYNCED),
        header.bytes(record::SEQUENCE),
        header.bytes(record::TIME),
    ];
    sha256(&parts.concat())
}
