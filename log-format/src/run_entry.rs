//! Entries of a run's own file: what a recorder, or its guard, could not put on the log at once.
//!
//! An entry is tied to the record of the start and signed with the key whose public half stands in
//! that record. Its header alone is signed and holds the digest of its payload, so that nothing is
//! allocated for bytes that nobody signed.

use crate::fields::{Fields, FieldsMut};
use crate::identity::LogId;
use crate::limits::{RUN_ENTRY_HEADER_LENGTH, RUN_ENTRY_PAYLOAD_MAX};
use crate::link::Link;
use crate::names;
use core::fmt;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

/// First bytes of an entry.
pub const ENTRY_MAGIC: [u8; 8] = *b"HPRUNENT";

/// Version of the entries that this crate writes, and the only one that it reads.
pub const ENTRY_VERSION: u8 = 1;

/// Length of what is signed: the header without the signature.
const SIGNED_LENGTH: usize = RUN_ENTRY_HEADER_LENGTH - SIGNATURE_LENGTH;

const SIGNATURE_LENGTH: usize = 64;

/// Length of the payload of a guard's entry.
pub const GUARD_FACTS_LENGTH: usize = 48;

/// The private key of one attempt's recorder. It is in the memory of the recorder and its guard.
#[derive(Clone)]
pub struct RunKey(SigningKey);

impl RunKey {
    /// The key of 32 random bytes.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The random bytes again, to hand the key to a guard.
    #[must_use]
    pub fn seed(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The public half, as the record of the start states it.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("RunKey(..)")
    }
}

impl PartialEq for RunKey {
    fn eq(&self, other: &Self) -> bool {
        self.public() == other.public()
    }
}

impl Eq for RunKey {}

/// The start that entries belong to: the record by which an attempt's response is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunStart {
    /// The log.
    pub log: LogId,
    /// The digits of the loop's id.
    pub loop_digits: [u8; 16],
    /// The attempt, from 1.
    pub attempt: u8,
    /// Sequence of the record.
    pub sequence: u64,
    /// Its link.
    pub link: Link,
}

impl RunStart {
    /// The digits of a loop's id; `None` where it is not `LOOP-` and 32 hexadecimal digits.
    #[must_use]
    pub fn digits_of(loop_id: &str) -> Option<[u8; 16]> {
        let (_, digits) = names::parse_run(loop_id)?.split_once('-')?;
        u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
    }
}

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A command of the recorder's, to be decided when it is taken up.
    Command,
    /// The facts that a guard saw after its recorder was gone.
    GuardFacts,
}

impl EntryKind {
    const fn number(self) -> u8 {
        match self {
            Self::Command => 1,
            Self::GuardFacts => 2,
        }
    }

    const fn numbered(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Command),
            2 => Some(Self::GuardFacts),
            _ => None,
        }
    }
}

/// Bytes that precede the payload of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHeader {
    /// Kind of the payload.
    pub kind: EntryKind,
    /// Its place among the entries of the attempt, from 1.
    pub number: u64,
    /// Length of the payload.
    pub length: u32,
    /// SHA-256 of the payload.
    pub payload_sha256: [u8; 32],
    /// The start that it belongs to.
    pub start: RunStart,
}

/// Why bytes are no entry of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// They do not begin like one.
    #[error("no entry begins here")]
    Magic,
    /// A version or kind that this program does not know.
    #[error("an entry of version {version} and kind {kind}, which this program does not know")]
    Unknown {
        /// Its version.
        version: u8,
        /// Its kind.
        kind: u8,
    },
    /// The payload is longer than one may be.
    #[error("a payload of {found} bytes, of which there are at most {RUN_ENTRY_PAYLOAD_MAX}")]
    TooLong {
        /// The length that the header states.
        found: u32,
    },
    /// It belongs to another log, loop, attempt or start.
    #[error("an entry of another run or attempt")]
    OtherStart,
    /// It does not follow the entry before.
    #[error("entry {found} where entry {expected} follows")]
    Number {
        /// The number that follows.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// The recorder did not sign it.
    #[error("the key in the record of the start did not sign it")]
    Signature,
    /// The payload is none that this program can read.
    #[error("a payload that this program cannot read: a newer holdpoint may have written it")]
    Unreadable,
    /// The payload is not the one that was signed.
    #[error("its payload is not the one that was signed")]
    Payload,
}

impl EntryHeader {
    /// The header of a payload; `None` where the payload is too long for an entry.
    #[must_use]
    pub fn of(kind: EntryKind, number: u64, start: RunStart, payload: &[u8]) -> Option<Self> {
        let length = u32::try_from(payload.len()).ok();
        let length = length.filter(|_| payload.len() <= RUN_ENTRY_PAYLOAD_MAX)?;
        let payload_sha256 = Sha256::digest(payload).into();
        Some(Self { kind, number, length, payload_sha256, start })
    }

    /// The header's bytes, signed.
    #[must_use]
    pub fn encode(&self, key: &RunKey) -> [u8; RUN_ENTRY_HEADER_LENGTH] {
        let signed = self.signed_bytes();
        let signature = key.0.sign(&signed).to_bytes();
        FieldsMut::new().put(&signed).put(&signature).finish()
    }

    fn signed_bytes(&self) -> [u8; SIGNED_LENGTH] {
        let start = &self.start;
        FieldsMut::new()
            .put(&ENTRY_MAGIC)
            .put(&[ENTRY_VERSION, self.kind.number(), start.attempt, 0])
            .put(&self.length.to_le_bytes())
            .put(&self.number.to_le_bytes())
            .put(&start.sequence.to_le_bytes())
            .put(&start.log.0)
            .put(&start.loop_digits)
            .put(&start.link.0)
            .put(&self.payload_sha256)
            .finish()
    }

    /// Reads a header without a look at its signature or at what it belongs to.
    ///
    /// # Errors
    /// The bytes are no header of a known version and kind, or state too long a payload.
    pub fn read(bytes: &[u8; RUN_ENTRY_HEADER_LENGTH]) -> Result<Self, EntryFault> {
        let mut fields = Fields::new(bytes);
        if fields.array() != ENTRY_MAGIC {
            return Err(EntryFault::Magic);
        }
        let (version, kind, attempt, reserved) =
            (fields.u8(), fields.u8(), fields.u8(), fields.u8());
        let known = EntryKind::numbered(kind).filter(|_| version == ENTRY_VERSION && reserved == 0);
        let kind = known.ok_or(EntryFault::Unknown { version, kind })?;
        let (length, number, sequence) = (fields.u32(), fields.u64(), fields.u64());
        if length as usize > RUN_ENTRY_PAYLOAD_MAX {
            return Err(EntryFault::TooLong { found: length });
        }
        let (log, loop_digits) = (LogId(fields.array()), fields.array());
        let start = RunStart { log, loop_digits, attempt, sequence, link: Link(fields.array()) };
        Ok(Self { kind, number, length, payload_sha256: fields.array(), start })
    }

    /// Reads a header that the recorder of this start signed, with this number; `None`: with any.
    ///
    /// # Errors
    /// An [`EntryFault`], before anything is allocated for the payload.
    pub fn decode(
        bytes: &[u8; RUN_ENTRY_HEADER_LENGTH],
        start: &RunStart,
        public: &[u8; 32],
        number: Option<u64>,
    ) -> Result<Self, EntryFault> {
        let header = Self::read(bytes)?;
        if header.start != *start {
            return Err(EntryFault::OtherStart);
        }
        header.check_signature(bytes, public)?;
        match number {
            Some(expected) if expected != header.number => {
                Err(EntryFault::Number { expected, found: header.number })
            }
            _ => Ok(header),
        }
    }

    fn check_signature(
        &self,
        bytes: &[u8; RUN_ENTRY_HEADER_LENGTH],
        public: &[u8; 32],
    ) -> Result<(), EntryFault> {
        let signature: &[u8; SIGNATURE_LENGTH] = bytes.last_chunk().ok_or(EntryFault::Signature)?;
        let key = VerifyingKey::from_bytes(public).map_err(|_| EntryFault::Signature)?;
        let signature = Signature::from_bytes(signature);
        let verified = key.verify_strict(&self.signed_bytes(), &signature);
        verified.map_err(|_| EntryFault::Signature)
    }

    /// Compares a payload with the one that was signed.
    ///
    /// # Errors
    /// [`EntryFault::Payload`].
    pub fn check_payload(&self, payload: &[u8]) -> Result<(), EntryFault> {
        let is_it = payload.len() == self.length as usize
            && <[u8; 32]>::from(Sha256::digest(payload)) == self.payload_sha256;
        if is_it { Ok(()) } else { Err(EntryFault::Payload) }
    }
}

/// The facts that a guard saw of a command whose recorder was gone: no rule judges them before they
/// are taken up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardFacts {
    /// The status as `wait` gives it.
    pub wait_status: i32,
    /// Why the guard killed the command.
    pub killed_for: GuardKilledFor,
    /// Time that it ran, by the monotonic clock, in nanoseconds.
    pub duration_ns: u64,
    /// True if it may have been over earlier: the guard was stopped for a part of that time.
    pub is_at_most: bool,
    /// Processor time in user mode of the command and what it waited for, in nanoseconds.
    pub user_ns: u64,
    /// The same in kernel mode.
    pub system_ns: u64,
    /// Most memory that one of its processes held, in bytes; 0: not known.
    pub peak_resident_bytes: u64,
}

/// Why a guard killed a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardKilledFor {
    /// It did not: the command ended by itself.
    #[default]
    Nothing,
    /// The recorder was gone while it still ran.
    Recorder,
    /// It ran longer than it may.
    Time,
    /// It held more memory than it may.
    Memory,
    /// Its recorder asked for that.
    Asked,
}

impl GuardKilledFor {
    const fn number(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Recorder => 1,
            Self::Time => 2,
            Self::Memory => 3,
            Self::Asked => 4,
        }
    }

    const fn numbered(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Nothing,
            1 => Self::Recorder,
            2 => Self::Time,
            3 => Self::Memory,
            4 => Self::Asked,
            _ => return None,
        })
    }
}

/// The bit of why a guard killed a command that says that the command may have been over earlier.
const AT_MOST: u32 = 1 << 31;

impl GuardFacts {
    /// The payload's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; GUARD_FACTS_LENGTH] {
        let why = self.killed_for.number() | if self.is_at_most { AT_MOST } else { 0 };
        FieldsMut::new()
            .put(&self.wait_status.to_le_bytes())
            .put(&why.to_le_bytes())
            .put(&self.duration_ns.to_le_bytes())
            .put(&self.user_ns.to_le_bytes())
            .put(&self.system_ns.to_le_bytes())
            .put(&self.peak_resident_bytes.to_le_bytes())
            .finish()
    }

    /// The facts in a payload; `None` where it has another length or holds another flag.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; GUARD_FACTS_LENGTH] = payload.try_into().ok()?;
        let mut fields = Fields::new(bytes);
        let (wait_status, why) = (i32::from_le_bytes(fields.array()), fields.u32());
        Some(Self {
            wait_status,
            killed_for: GuardKilledFor::numbered(why & !AT_MOST)?,
            duration_ns: fields.u64(),
            is_at_most: why & AT_MOST != 0,
            user_ns: fields.u64(),
            system_ns: fields.u64(),
            peak_resident_bytes: fields.u64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> RunStart {
        let loop_digits = RunStart::digits_of("LOOP-000102030405060708090a0b0c0d0e0f").unwrap();
        RunStart { log: LogId([1; 16]), loop_digits, attempt: 1, sequence: 9, link: Link([3; 32]) }
    }

    #[test]
    fn an_entry_is_read_back_only_as_it_was_signed_with_its_number_and_for_its_start() {
        let key = RunKey::from_seed(&[7; 32]);
        let header = EntryHeader::of(EntryKind::Command, 1, start(), b"a command").unwrap();
        let bytes = header.encode(&key);
        assert_eq!(EntryHeader::decode(&bytes, &start(), &key.public(), Some(1)), Ok(header));
        assert_eq!(header.check_payload(b"a command"), Ok(()));
        assert_eq!(header.check_payload(b"a Command"), Err(EntryFault::Payload));
        let other = RunKey::from_seed(&[8; 32]).public();
        let public = key.public();
        let read = |start: RunStart, public: &[u8; 32], number| {
            EntryHeader::decode(&bytes, &start, public, Some(number)).map(drop)
        };
        assert_eq!(read(start(), &other, 1), Err(EntryFault::Signature));
        let number = EntryFault::Number { expected: 2, found: 1 };
        assert_eq!(read(start(), &public, 2), Err(number));
        let elsewhere = RunStart { link: Link([4; 32]), ..start() };
        assert_eq!(read(elsewhere, &public, 1), Err(EntryFault::OtherStart));
        for position in 0..bytes.len() * 8 {
            let mut changed = bytes;
            changed[position / 8] ^= 1 << (position % 8);
            let read = EntryHeader::decode(&changed, &start(), &key.public(), Some(1));
            assert!(read.is_err(), "bit {position}");
        }
    }

    #[test]
    fn a_key_of_no_order_signs_nothing() {
        let key = RunKey::from_seed(&[7; 32]);
        let header = EntryHeader::of(EntryKind::Command, 1, start(), b"").unwrap();
        let mut bytes = header.encode(&key);
        // A signature that verifies under the identity for any message, where that is let pass.
        bytes[128..].fill(0);
        bytes[128] = 1;
        let mut identity = [0; 32];
        identity[0] = 1;
        let read = EntryHeader::decode(&bytes, &start(), &identity, Some(1));
        assert_eq!(read, Err(EntryFault::Signature));
    }

    #[test]
    fn the_facts_of_a_guard_are_read_back() {
        for is_at_most in [false, true] {
            let facts = GuardFacts {
                wait_status: 9,
                killed_for: GuardKilledFor::Time,
                duration_ns: 1,
                is_at_most,
                user_ns: 2,
                system_ns: 3,
                peak_resident_bytes: 4,
            };
            assert_eq!(facts.encode()[4..8], [2, 0, 0, 0x80 * u8::from(is_at_most)]);
            assert_eq!(GuardFacts::decode(&facts.encode()), Some(facts));
            assert_eq!(GuardFacts::decode(&facts.encode()[1..]), None);
        }
    }
}
