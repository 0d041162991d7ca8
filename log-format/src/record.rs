//! The record: a 64-byte header, a payload, and zero padding to a multiple of eight.

use crate::checksum::ChecksumSeed;
use crate::fault::Fault;
use crate::fields::{Fields, FieldsMut};
use crate::identity::LogId;
use crate::limits::{PAYLOAD_LENGTH_MAX, RECORD_HEADER_LENGTH, padded};
use crate::link::{Link, LinkPrefix, payload_digest};
use alloc::vec::Vec;

/// Value of `unsynced` that claims nothing about durability.
pub const NO_CLAIM: u32 = u32::MAX;

/// The flags of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag: a batch of its own, or the last record of one.
    pub const NONE: Self = Self(0);
    /// The batch goes on with the next record.
    pub const MORE_FOLLOWS: Self = Self(1);
    /// Reserved: the payload's digest is salted. No writer sets it and no reader accepts it yet.
    pub const SALTED: Self = Self(2);
    /// The payload was replaced by its digest in an exported copy.
    pub const WITHHELD: Self = Self(4);

    /// The flags in `bits`, or `None` when a bit is set that this version does not know.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        (bits & !(Self::MORE_FOLLOWS.0 | Self::WITHHELD.0) == 0).then_some(Self(bits))
    }

    /// The byte in the header.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Returns whether the batch goes on.
    #[must_use]
    pub fn more_follows(self) -> bool {
        self.0 & Self::MORE_FOLLOWS.0 != 0
    }

    /// Returns whether the payload is only a digest.
    #[must_use]
    pub fn withheld(self) -> bool {
        self.0 & Self::WITHHELD.0 != 0
    }

    /// The flags that the link covers.
    #[must_use]
    pub fn without_withheld(self) -> Self {
        Self(self.0 & !Self::WITHHELD.0)
    }
}

/// A record's header, decoded. Decoding does not check anything but the flags; [`Record::decode`]
/// checks the frame, [`crate::ChainPosition::advance`] the place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Header and payload in bytes, unpadded: 64..=64 MiB + 64.
    pub size: u32,
    /// CRC-32 over the size, bytes 8..64 of the header, and the payload.
    pub checksum: u32,
    /// Event kind, from the registry of the domain.
    pub kind: u16,
    /// Version of the payload's schema.
    pub version: u8,
    /// Batch and export flags.
    pub flags: Flags,
    /// Every record up to `sequence - 1 - unsynced` was durable when this one's turn came;
    /// [`NO_CLAIM`] claims nothing.
    pub unsynced: u32,
    /// Place in the log, from 1, without gaps.
    pub sequence: u64,
    /// UTC nanoseconds since 1970, never less than the previous record's.
    pub time: u64,
    /// The chain link.
    pub link: Link,
}

impl RecordHeader {
    /// Decodes a header; a flag that this version does not know is a fault.
    ///
    /// # Errors
    /// [`Fault::UnknownFlags`].
    #[inline(always)]
    pub fn decode(bytes: &[u8; RECORD_HEADER_LENGTH]) -> Result<Self, Fault> {
        let mut fields = Fields::new(bytes);
        let (size, checksum) = (fields.u32(), fields.u32());
        let (kind, version, flag_bits) = (fields.u16(), fields.u8(), fields.u8());
        let flags = Flags::from_bits(flag_bits).ok_or(Fault::UnknownFlags { found: flag_bits })?;
        Ok(Self {
            size,
            checksum,
            kind,
            version,
            flags,
            unsynced: fields.u32(),
            sequence: fields.u64(),
            time: fields.u64(),
            link: Link(fields.array()),
        })
    }

    /// The header's 64 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; RECORD_HEADER_LENGTH] {
        FieldsMut::new()
            .put(&self.size.to_le_bytes())
            .put(&self.checksum.to_le_bytes())
            .put(&self.kind.to_le_bytes())
            .put(&[self.version, self.flags.bits()])
            .put(&self.unsynced.to_le_bytes())
            .put(&self.sequence.to_le_bytes())
            .put(&self.time.to_le_bytes())
            .put(&self.link.0)
            .finish()
    }

    /// The sequence up to which this record proves durability, or `None` for no claim.
    ///
    /// # Errors
    /// [`Fault::UnsyncedClaim`] when the claim reaches before the first record.
    pub fn mark(&self) -> Result<Option<u64>, Fault> {
        if self.unsynced == NO_CLAIM {
            return Ok(None);
        }
        let before = self.sequence.saturating_sub(1);
        before
            .checked_sub(u64::from(self.unsynced))
            .map(Some)
            .ok_or(Fault::UnsyncedClaim { sequence: self.sequence, found: self.unsynced })
    }

    /// Bytes from this record's start to the next one's.
    #[must_use]
    pub fn footprint(&self) -> u64 {
        padded(u64::from(self.size))
    }
}

/// A record whose frame has been checked: size, checksum, padding, flags. Its place in the chain
/// has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The header.
    pub header: RecordHeader,
    /// The payload, or its 32-byte digest when the record is withheld.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Checks the frame that begins `bytes`, which must hold at least the padded record.
    ///
    /// # Errors
    /// The first fault in the order: size, room, checksum, flags, withheld length, padding.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8], seed: ChecksumSeed) -> Result<Self, Fault> {
        let size = size_of_record(bytes)?;
        let frame = bytes.get(..size).ok_or(Fault::short(size as u64, bytes.len()))?;
        let (header_bytes, payload) = frame
            .split_first_chunk::<RECORD_HEADER_LENGTH>()
            .ok_or(Fault::short(RECORD_HEADER_LENGTH as u64, frame.len()))?;
        check_checksum(header_bytes, frame, seed)?;
        let header = RecordHeader::decode(header_bytes)?;
        if header.flags.withheld() && payload.len() != 32 {
            return Err(Fault::WithheldLength { found: payload.len() as u64 });
        }
        check_padding(bytes, size)?;
        Ok(Self { header, payload })
    }

    /// SHA-256 of the payload as it was when the record was written.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        match (self.header.flags.withheld(), <[u8; 32]>::try_from(self.payload)) {
            (true, Ok(digest)) => digest,
            _ => payload_digest(self.payload),
        }
    }

    /// The link that this record must carry after `previous`.
    #[must_use]
    pub fn expected_link(&self, log: LogId, previous: &Link) -> Link {
        let header = &self.header;
        LinkPrefix::new(log, header.kind, header.version, header.flags, &self.digest()).link(
            previous,
            header.unsynced,
            header.sequence,
            header.time,
        )
    }
}

/// Appends the record to `out`: header with its checksum, payload, padding. The header's size and
/// checksum are computed here; the caller has checked the payload's length.
pub fn encode_into(out: &mut Vec<u8>, header: &RecordHeader, payload: &[u8], seed: ChecksumSeed) {
    let start = out.len();
    encode_without_header(out, payload);
    encode_header(out.get_mut(start..).unwrap_or_default(), header, payload.len(), seed);
}

/// Encodes like [`encode_into`], with zeros where the header belongs, which [`encode_header`] gives
/// later.
pub fn encode_without_header(out: &mut Vec<u8>, payload: &[u8]) {
    let end = out.len() + padded(u64::from(size_for(payload.len()))) as usize;
    out.extend_from_slice(&[0; RECORD_HEADER_LENGTH]);
    out.extend_from_slice(payload);
    out.resize(end, 0);
}

/// Writes the header of a record whose payload of `length` bytes is in its place: at the beginning
/// of `record`, which is left as it is where it is too short for that.
pub fn encode_header(record: &mut [u8], header: &RecordHeader, length: usize, seed: ChecksumSeed) {
    let size = size_for(length);
    let Some(frame) = record.get_mut(..size as usize) else { return };
    let Some(place) = frame.first_chunk_mut::<RECORD_HEADER_LENGTH>() else { return };
    // The size stands in the checksum's place as well: what the checksum covers is then one piece.
    *place = RecordHeader { size, checksum: size, ..header.clone() }.encode();
    let checksum = seed.of(&[frame.get(4..).unwrap_or_default()]);
    if let Some(place) = frame.get_mut(4..8) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The header of the record with `payload` that follows `previous` at the same time, claiming
/// nothing unsynced.
#[cfg(test)]
pub(crate) fn payload_link_header(
    log: LogId,
    previous: &crate::chain::ChainPosition,
    flags: Flags,
    payload: &[u8],
) -> RecordHeader {
    let sequence = previous.sequence + 1;
    let link = LinkPrefix::new(log, 1, 1, flags, &payload_digest(payload)).link(
        &previous.link,
        0,
        sequence,
        previous.time,
    );
    let time = previous.time;
    RecordHeader {
        size: 0,
        checksum: 0,
        kind: 1,
        version: 1,
        flags,
        unsynced: 0,
        sequence,
        time,
        link,
    }
}

/// The size field of a record with a payload of `length` bytes.
#[must_use]
pub fn size_for(length: usize) -> u32 {
    u32::try_from(RECORD_HEADER_LENGTH + length).unwrap_or(u32::MAX)
}

/// Returns whether `size` may stand in a record's size field.
#[must_use]
pub fn is_legal_size(size: u32) -> bool {
    (RECORD_HEADER_LENGTH..=RECORD_HEADER_LENGTH + PAYLOAD_LENGTH_MAX).contains(&(size as usize))
}

#[inline]
fn size_of_record(bytes: &[u8]) -> Result<usize, Fault> {
    let field = bytes.first_chunk::<4>().ok_or(Fault::short(4, bytes.len()))?;
    let size = u32::from_le_bytes(*field);
    if is_legal_size(size) { Ok(size as usize) } else { Err(Fault::IllegalSize { found: size }) }
}

#[inline]
fn check_checksum(
    header: &[u8; RECORD_HEADER_LENGTH],
    frame: &[u8],
    seed: ChecksumSeed,
) -> Result<(), Fault> {
    let mut fields = Fields::new(header);
    let (size, found) = (fields.u32(), fields.u32());
    let rest = frame.get(4..).unwrap_or_default();
    let expected = seed.in_place_of(found, size).of(&[rest]);
    if found == expected { Ok(()) } else { Err(Fault::Checksum { expected, found }) }
}

#[inline]
fn check_padding(bytes: &[u8], size: usize) -> Result<(), Fault> {
    let end = padded(size as u64) as usize;
    let padding = bytes.get(size..end).ok_or(Fault::short(end as u64, bytes.len()))?;
    match padding.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => Err(Fault::Padding {
            at: (size + at) as u64,
            found: padding.get(at).copied().unwrap_or_default(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn seed() -> ChecksumSeed {
        ChecksumSeed::new(LogId([7; 16]), 1)
    }

    fn sample(payload: &[u8]) -> Vec<u8> {
        let header = RecordHeader {
            size: 0,
            checksum: 0,
            kind: 3,
            version: 1,
            flags: Flags::NONE,
            unsynced: 0,
            sequence: 1,
            time: 5,
            link: Link([6; 32]),
        };
        let mut out = Vec::new();
        encode_into(&mut out, &header, payload, seed());
        out
    }

    #[test]
    fn what_is_encoded_decodes_and_encodes_to_the_same_bytes() {
        for length in 0..40 {
            let payload = vec![0xa5; length];
            let bytes = sample(&payload);
            let record = Record::decode(&bytes, seed()).unwrap();
            assert_eq!(record.payload, payload);
            let mut again = Vec::new();
            encode_into(&mut again, &record.header, record.payload, seed());
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_frame_is_a_fault() {
        let bytes = sample(b"eleven byte");
        for position in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            assert!(Record::decode(&damaged, seed()).is_err(), "bit {position}");
        }
    }

    #[test]
    fn every_prefix_of_a_frame_is_a_fault_and_reads_nothing_beyond_it() {
        let bytes = sample(b"payload");
        for length in 0..bytes.len() {
            assert!(Record::decode(&bytes[..length], seed()).is_err());
        }
    }

    #[test]
    fn salted_is_reserved_and_refused() {
        assert_eq!(Flags::from_bits(Flags::SALTED.bits()), None);
        assert_eq!(Flags::from_bits(5).map(Flags::withheld), Some(true));
    }

    #[test]
    fn a_claim_before_the_first_record_is_a_fault() {
        let mut header = Record::decode(&sample(b""), seed()).unwrap().header;
        header.unsynced = 1;
        assert!(matches!(header.mark(), Err(Fault::UnsyncedClaim { sequence: 1, found: 1 })));
        header.unsynced = NO_CLAIM;
        assert_eq!(header.mark(), Ok(None));
    }
}
