//! The chain: the SHA-256 that ties a record to everything before it.

use crate::fields::FieldsMut;
use crate::identity::{LogId, write_hex};
use crate::record::{Flags, RecordHeader};
use core::fmt;
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

/// Domain of a record's link.
pub const RECORD_TAG: [u8; 12] = *b"holdpoint/r1";

/// Domain of the link before the first record.
pub const GENESIS_TAG: [u8; 12] = *b"holdpoint/g1";

/// The state of SHA-256 before its first block (FIPS 180-4, section 5.3.3).
const SHA256_INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A link: SHA-256, 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// The link before sequence 1 of `log`. Two logs begin at different links, so their records
    /// cannot be spliced.
    #[must_use]
    pub fn genesis(log: LogId) -> Self {
        Self(Sha256::new().chain_update(GENESIS_TAG).chain_update(log.0).finalize().into())
    }
}

impl fmt::Display for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, out)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Link({self})")
    }
}

/// The first of the link's two compressions, known before the writer's turn: tag, log, kind,
/// version, flags and the payload's digest, 64 bytes together.
#[derive(Clone)]
pub struct LinkPrefix([u32; 8]);

impl LinkPrefix {
    /// Absorbs what the record says of itself. The withheld flag is masked: it may be set later,
    /// in an exported copy, without breaking the chain.
    #[must_use]
    pub fn new(log: LogId, kind: u16, version: u8, flags: Flags, digest: &[u8; 32]) -> Self {
        let block = FieldsMut::new()
            .put(&RECORD_TAG)
            .put(&log.0)
            .put(&kind.to_le_bytes())
            .put(&[version, flags.without_withheld().bits()])
            .put(digest)
            .finish();
        let mut state = SHA256_INITIAL;
        compress256(&mut state, &[block]);
        Self(state)
    }

    /// The second compression, the only serial work: the previous link and the record's place,
    /// padded as SHA-256 pads a message of [`PREIMAGE_LENGTH`] bytes.
    #[must_use]
    pub fn link(&self, previous: &Link, unsynced: u32, sequence: u64, time: u64) -> Link {
        let block = FieldsMut::new()
            .put(&previous.0)
            .put(&unsynced.to_le_bytes())
            .put(&sequence.to_le_bytes())
            .put(&time.to_le_bytes())
            .put(&[0x80, 0, 0, 0])
            .put(&(PREIMAGE_LENGTH as u64 * 8).to_be_bytes())
            .finish();
        let mut state = self.0;
        compress256(&mut state, &[block]);
        let link = state.iter().fold(FieldsMut::new(), |link, word| link.put(&word.to_be_bytes()));
        Link(link.finish())
    }
}

impl fmt::Debug for LinkPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LinkPrefix")
    }
}

/// Bytes that a link is the hash of: the block known before, the link before, and the place.
pub const PREIMAGE_LENGTH: usize = 64 + 32 + 4 + 8 + 8;

/// Returns the bytes that the link of the record with this header is the SHA-256 of, after
/// `previous`, given its payload's `digest`: for whoever hashes many at once.
#[must_use]
pub fn preimage(
    log: LogId,
    header: &RecordHeader,
    digest: &[u8; 32],
    previous: &Link,
) -> [u8; PREIMAGE_LENGTH] {
    FieldsMut::new()
        .put(&RECORD_TAG)
        .put(&log.0)
        .put(&header.kind.to_le_bytes())
        .put(&[header.version, header.flags.without_withheld().bits()])
        .put(digest)
        .put(&previous.0)
        .put(&header.unsynced.to_le_bytes())
        .put(&header.sequence.to_le_bytes())
        .put(&header.time.to_le_bytes())
        .finish()
}

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// SHA-256 of a payload.
#[must_use]
pub fn payload_digest(payload: &[u8]) -> [u8; 32] {
    let (blocks, rest) = payload.as_chunks::<BLOCK>();
    let mut state = SHA256_INITIAL;
    compress256(&mut state, blocks);
    compress_last(&mut state, rest, payload.len() as u64);
    let digest = state.iter().fold(FieldsMut::new(), |out, word| out.put(&word.to_be_bytes()));
    digest.finish()
}

/// Compresses what does not fill a block, a one, zeros, and the length of the whole in bits: one
/// block, or two where the first has no room for the length (FIPS 180-4, section 5.1.1).
fn compress_last(state: &mut [u32; 8], rest: &[u8], length: u64) {
    let mut last = [[0; BLOCK]; 2];
    let bytes = last.as_flattened_mut();
    let one = [0x80];
    bytes.iter_mut().zip(rest.iter().chain(&one)).for_each(|(to, from)| *to = *from);
    let count = if rest.len() < BLOCK - 8 { 1 } else { 2 };
    let end = bytes.iter_mut().take(count * BLOCK).skip(count * BLOCK - 8);
    end.zip((length * 8).to_be_bytes()).for_each(|(to, from)| *to = from);
    compress256(state, last.get(..count).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link_of(log: u8, kind: u16, payload: &[u8], previous: u8, sequence: u64) -> Link {
        LinkPrefix::new(LogId([log; 16]), kind, 1, Flags::NONE, &payload_digest(payload)).link(
            &Link([previous; 32]),
            0,
            sequence,
            7,
        )
    }

    #[test]
    fn the_digest_is_sha256_at_every_length_around_a_block() {
        let bytes: [u8; 600] = core::array::from_fn(|at| at as u8 ^ (at >> 3) as u8);
        for length in 0..=bytes.len() {
            let expected: [u8; 32] = Sha256::digest(&bytes[..length]).into();
            assert_eq!(payload_digest(&bytes[..length]), expected, "{length}");
        }
    }

    #[test]
    fn link_is_the_hash_of_its_fixed_width_fields() {
        let mut preimage = alloc::vec::Vec::new();
        preimage.extend_from_slice(b"holdpoint/r1");
        preimage.extend_from_slice(&[9; 16]);
        preimage.extend_from_slice(&[2, 0, 1, 0]);
        preimage.extend_from_slice(&Sha256::digest(b"payload"));
        assert_eq!(preimage.len(), 64);
        preimage.extend_from_slice(&[4; 32]);
        preimage.extend_from_slice(&0_u32.to_le_bytes());
        preimage.extend_from_slice(&3_u64.to_le_bytes());
        preimage.extend_from_slice(&7_u64.to_le_bytes());
        assert!(preimage.len() + 9 <= 128, "two compressions exactly");
        assert_eq!(link_of(9, 2, b"payload", 4, 3).0, <[u8; 32]>::from(Sha256::digest(preimage)));
    }

    #[test]
    fn the_link_is_the_hash_of_the_preimage_of_every_header() {
        let previous = crate::chain::ChainPosition {
            sequence: 0x0102_0304_0506_0708,
            link: Link([4; 32]),
            time: 0x1112_1314_1516_1718,
        };
        for flags in (0..=7).filter_map(Flags::from_bits) {
            let log = LogId([9; 16]);
            let made = crate::record::payload_link_header(log, &previous, flags, b"payload");
            let header = RecordHeader { unsynced: 0x2122_2324, kind: 0x3132, version: 7, ..made };
            let digest = payload_digest(b"payload");
            let link = LinkPrefix::new(log, 0x3132, 7, flags, &digest).link(
                &previous.link,
                0x2122_2324,
                header.sequence,
                header.time,
            );
            let preimage = preimage(log, &header, &digest, &previous.link);
            assert_eq!(link.0, <[u8; 32]>::from(Sha256::digest(preimage)));
        }
    }

    #[test]
    fn every_field_changes_the_link() {
        let base = link_of(1, 1, b"a", 1, 1);
        let others = [
            link_of(2, 1, b"a", 1, 1),
            link_of(1, 2, b"a", 1, 1),
            link_of(1, 1, b"b", 1, 1),
            link_of(1, 1, b"a", 2, 1),
            link_of(1, 1, b"a", 1, 2),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn withheld_is_masked_and_more_follows_is_not() {
        let digest = payload_digest(b"secret");
        let of = |flags| {
            LinkPrefix::new(LogId([1; 16]), 1, 1, flags, &digest).link(&Link([0; 32]), 0, 1, 1)
        };
        assert_eq!(of(Flags::NONE), of(Flags::WITHHELD));
        assert_ne!(of(Flags::NONE), of(Flags::MORE_FOLLOWS));
    }
}
