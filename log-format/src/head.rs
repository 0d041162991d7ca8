//! HEAD: the witness beside the segments. It names the newest durable record, and it never goes
//! back.

use crate::chain::ChainPosition;
use crate::fault::Fault;
use crate::fields::{Fields, FieldsMut};
use crate::identity::{BootId, LogId};
use crate::limits::{FORMAT_VERSION, HEAD_LENGTH};
use crate::link::Link;
use crate::segment::{check_length, check_preamble, checksum_of};

/// First eight bytes of HEAD.
pub const HEAD_MAGIC: [u8; 8] = *b"HOLDHEAD";

/// Content of HEAD. Everything it names was durable before it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The log that it belongs to.
    pub log: LogId,
    /// The record before the first one that this log holds: sequence 0 and the genesis link for a
    /// whole log.
    pub anchor_sequence: u64,
    /// The link at the anchor.
    pub anchor_link: Link,
    /// Sequence of the newest record; equal to the anchor's while there is none.
    pub newest_sequence: u64,
    /// Its link.
    pub newest_link: Link,
    /// First sequence of the segment that holds it; 0 while there is none.
    pub segment: u64,
    /// Offset of the newest record in that segment; 0 while there is none.
    pub record_offset: u64,
    /// Offset behind the newest record; 0 while there is none.
    pub end_offset: u64,
    /// The boot in which HEAD was written.
    pub boot: BootId,
}

impl Head {
    /// The HEAD of a log that has no record yet.
    #[must_use]
    pub fn at_anchor(log: LogId, anchor: &ChainPosition, boot: BootId) -> Self {
        Self {
            log,
            anchor_sequence: anchor.sequence,
            anchor_link: anchor.link,
            newest_sequence: anchor.sequence,
            newest_link: anchor.link,
            segment: 0,
            record_offset: 0,
            end_offset: 0,
            boot,
        }
    }

    /// Returns whether no record is witnessed yet.
    #[must_use]
    pub fn is_at_anchor(&self) -> bool {
        self.newest_sequence == self.anchor_sequence
    }

    /// Returns whether no record is witnessed here or in an archive: nothing was ever recorded, as
    /// far as HEAD knows.
    #[must_use]
    pub fn is_of_an_empty_log(&self) -> bool {
        self.newest_sequence == 0
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD_LENGTH] {
        let checksum = checksum_of(&self.fields(0));
        self.fields(checksum)
    }

    /// Decodes the whole file.
    ///
    /// # Errors
    /// A wrong checksum, magic, version or length; a newest record before the anchor, behind every
    /// sequence that a record can follow, or with another link than the anchor where it is that;
    /// an anchor 0 with another link than genesis.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let fields = check_preamble(bytes, HEAD_MAGIC)?;
        check_length(bytes, HEAD_LENGTH)?;
        Self::from_fields(fields).checked()
    }

    fn from_fields(mut fields: Fields<'_>) -> Self {
        Self {
            log: LogId(fields.array()),
            anchor_sequence: fields.u64(),
            anchor_link: Link(fields.array()),
            newest_sequence: fields.u64(),
            newest_link: Link(fields.array()),
            segment: fields.u64(),
            record_offset: fields.u64(),
            end_offset: fields.u64(),
            boot: BootId(fields.array()),
        }
    }

    fn checked(self) -> Result<Self, Fault> {
        // Behind the last number of all, no record could follow.
        let bounds = self.anchor_sequence..u64::MAX;
        if !bounds.contains(&self.newest_sequence) {
            let expected = self.anchor_sequence.min(u64::MAX - 1);
            let (field, found) = ("newest sequence", self.newest_sequence);
            return Err(Fault::Field { field, expected, found });
        }
        if self.anchor_sequence == 0 {
            check_link(Link::genesis(self.log), self.anchor_link)?;
        }
        if self.is_at_anchor() {
            check_link(self.anchor_link, self.newest_link)?;
        }
        Ok(self)
    }

    fn fields(&self, checksum: u32) -> [u8; HEAD_LENGTH] {
        FieldsMut::new()
            .put(&HEAD_MAGIC)
            .put(&FORMAT_VERSION.to_le_bytes())
            .put(&checksum.to_le_bytes())
            .put(&self.log.0)
            .put(&self.anchor_sequence.to_le_bytes())
            .put(&self.anchor_link.0)
            .put(&self.newest_sequence.to_le_bytes())
            .put(&self.newest_link.0)
            .put(&self.segment.to_le_bytes())
            .put(&self.record_offset.to_le_bytes())
            .put(&self.end_offset.to_le_bytes())
            .put(&self.boot.0)
            .finish()
    }
}

fn check_link(expected: Link, found: Link) -> Result<(), Fault> {
    if found == expected { Ok(()) } else { Err(Fault::Link { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_back_and_every_flip_and_every_cut_is_a_fault() {
        let log = LogId([5; 16]);
        let mut head = Head::at_anchor(log, &ChainPosition::genesis(log), BootId([1; 16]));
        assert!(head.is_at_anchor());
        head.newest_sequence = 12;
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes), Ok(head));
        for position in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[position] ^= 1;
            assert!(Head::decode(&damaged).is_err(), "byte {position}");
            assert!(Head::decode(&bytes[..position]).is_err(), "cut at {position}");
        }
    }

    #[test]
    fn a_head_whose_numbers_or_links_contradict_each_other_is_a_fault() {
        let log = LogId([5; 16]);
        let genesis = Head::at_anchor(log, &ChainPosition::genesis(log), BootId([1; 16]));
        assert!(genesis.is_of_an_empty_log());
        let other = Link([9; 32]);
        let archived = Head { anchor_sequence: 7, newest_sequence: 7, ..genesis };
        let last = Head { newest_sequence: u64::MAX - 1, newest_link: other, ..archived };
        assert!(!archived.is_of_an_empty_log());
        for holds in [genesis, archived, last] {
            assert_eq!(Head::decode(&holds.encode()), Ok(holds));
        }
        let max = u64::MAX;
        for contradicts in [
            Head { newest_link: other, ..genesis },
            Head { anchor_link: other, newest_link: other, ..genesis },
            Head { newest_link: other, ..archived },
            Head { newest_sequence: 6, ..archived },
            Head { newest_sequence: max, ..archived },
            Head { anchor_sequence: max, newest_sequence: max, ..archived },
        ] {
            assert!(Head::decode(&contradicts.encode()).is_err(), "{contradicts:?}");
        }
    }

    #[test]
    fn a_newer_version_is_told_as_such_whatever_its_length() {
        let log = LogId([5; 16]);
        let head = Head::at_anchor(log, &ChainPosition::genesis(log), BootId::UNKNOWN).encode();
        for length in [64, HEAD_LENGTH, 300] {
            let mut bytes = head.to_vec();
            bytes.resize(length, 0);
            bytes[8] = 2;
            let checksum = checksum_of(&bytes);
            bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
            let expected = Fault::NewerVersion { found: 2, supported: 1 };
            assert_eq!(Head::decode(&bytes), Err(expected), "{length}");
        }
    }

    #[test]
    fn a_newest_record_before_the_anchor_is_a_fault() {
        let log = LogId([5; 16]);
        let anchor = ChainPosition { sequence: 9, link: Link([0; 32]), time: 0 };
        let mut head = Head::at_anchor(log, &anchor, BootId::UNKNOWN);
        head.newest_sequence = 8;
        assert!(matches!(Head::decode(&head.encode()), Err(Fault::Field { .. })));
    }
}
