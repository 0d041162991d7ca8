//! The chain: the SHA-256 that ties a record to everything before it.

use crate::identity::{LogId, write_hex};
use crate::record::Flags;
use core::fmt;
use sha2::{Digest, Sha256};

/// Domain of a record's link.
pub const RECORD_TAG: [u8; 12] = *b"holdpoint/r1";

/// Domain of the link before the first record.
pub const GENESIS_TAG: [u8; 12] = *b"holdpoint/g1";

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
pub struct LinkPrefix(Sha256);

impl LinkPrefix {
    /// Absorbs what the record says of itself. The withheld flag is masked: it may be set later,
    /// in an exported copy, without breaking the chain.
    #[must_use]
    pub fn new(log: LogId, kind: u16, version: u8, flags: Flags, digest: &[u8; 32]) -> Self {
        let chained_flags = flags.without_withheld().bits();
        Self(
            Sha256::new()
                .chain_update(RECORD_TAG)
                .chain_update(log.0)
                .chain_update(kind.to_le_bytes())
                .chain_update([version, chained_flags])
                .chain_update(digest),
        )
    }

    /// The second compression, the only serial work: the previous link and the record's place.
    #[must_use]
    pub fn link(&self, previous: &Link, unsynced: u32, sequence: u64, time: u64) -> Link {
        Link(
            self.0
                .clone()
                .chain_update(previous.0)
                .chain_update(unsynced.to_le_bytes())
                .chain_update(sequence.to_le_bytes())
                .chain_update(time.to_le_bytes())
                .finalize()
                .into(),
        )
    }
}

impl fmt::Debug for LinkPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LinkPrefix")
    }
}

/// SHA-256 of a payload.
#[must_use]
pub fn payload_digest(payload: &[u8]) -> [u8; 32] {
    Sha256::digest(payload).into()
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
