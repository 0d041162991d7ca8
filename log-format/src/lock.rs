//! LOCK: who writes, since which boot, and how the last owner left. Not part of the truth: a
//! missing or unreadable LOCK is a legal input of the recovery table.

use crate::board::{SyncState, Synced};
use crate::fault::Fault;
use crate::fields::{Fields, FieldsMut};
use crate::identity::BootId;
use crate::limits::{FORMAT_VERSION, LOCK_FILE_LENGTH, LOCK_LENGTH};
use crate::segment::{check_length, check_preamble, check_reserved, checksum_of};

/// First eight bytes of LOCK.
pub const LOCK_MAGIC: [u8; 8] = *b"HOLDLOCK";

/// State of the lock's owner, also when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerState {
    /// Left cleanly: everything it wrote at a durable level is durable.
    Idle,
    /// Appending.
    InTransaction,
    /// Reading and repairing the tail.
    Recovering,
    /// A write or sync failed: what the page cache holds may not be on the disk.
    Poisoned,
}

impl OwnerState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Idle, Self::InTransaction, Self::Recovering, Self::Poisoned];

    fn code(self) -> u8 {
        match self {
            Self::Idle => 1,
            Self::InTransaction => 2,
            Self::Recovering => 3,
            Self::Poisoned => 4,
        }
    }

    fn from_code(code: u8) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|state| state.code() == code).ok_or(Fault::Field {
            field: "owner state",
            expected: 1,
            found: u64::from(code),
        })
    }
}

/// The content of LOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Process id of the owner.
    pub pid: u32,
    /// State of the owner.
    pub state: OwnerState,
    /// The state of the owner before: while `state` is [`OwnerState::Recovering`] the verdict on
    /// the tail depends on this one, so that a second crash changes no verdict. The recovering
    /// owner sets it to [`OwnerState::Recovering`] just before its first write to the tail.
    pub previous_state: OwnerState,
    /// Boot of the owner; while recovering, boot of the owner before.
    pub boot: BootId,
    /// Newest sequence that the owner knew to be durable.
    pub durable_sequence: u64,
    /// Wall clock minus time since boot, nanoseconds: shows a step of the wall clock.
    pub wall_minus_boot: i64,
}

impl Lock {
    /// The state that the recovery table looks at.
    #[must_use]
    pub fn verdict_state(&self) -> OwnerState {
        match self.state {
            OwnerState::Recovering => self.previous_state,
            state => state,
        }
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; LOCK_LENGTH] {
        let checksum = checksum_of(&self.fields(0));
        self.fields(checksum)
    }

    /// Decodes the whole file, of this program or of an older one. What a shared sync of the same
    /// boot came to counts: it may have made more durable than the owner knew, or have failed.
    ///
    /// # Errors
    /// A wrong length, checksum, magic, version or state.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() != LOCK_FILE_LENGTH {
            return Self::decode_owner(bytes);
        }
        let owner = Self::decode_owner(bytes.get(..LOCK_LENGTH).unwrap_or_default())?;
        let synced = Synced::find(bytes).filter(|synced| synced.boot == owner.boot);
        Ok(synced.map_or(owner, |synced| owner.joined_with(&synced)))
    }

    fn joined_with(self, synced: &Synced) -> Self {
        let durable_sequence = self.durable_sequence.max(synced.durable);
        let has_failed = synced.state == SyncState::Failed;
        let (state, previous_state) = match (self.state, self.previous_state) {
            (OwnerState::Idle | OwnerState::InTransaction, _) if has_failed => {
                (OwnerState::Poisoned, OwnerState::Poisoned)
            }
            (OwnerState::Recovering, OwnerState::Idle | OwnerState::InTransaction)
                if has_failed =>
            {
                (OwnerState::Recovering, OwnerState::Poisoned)
            }
            states => states,
        };
        Self { state, previous_state, durable_sequence, ..self }
    }

    /// Decodes the owner's block alone.
    fn decode_owner(bytes: &[u8]) -> Result<Self, Fault> {
        let mut fields = check_preamble(bytes, LOCK_MAGIC)?;
        check_length(bytes, LOCK_LENGTH)?;
        let lock = Self {
            pid: fields.u32(),
            state: OwnerState::from_code(fields.u8())?,
            previous_state: OwnerState::from_code(fields.u8())?,
            boot: BootId(reserved_then_boot(&mut fields)?),
            durable_sequence: fields.u64(),
            wall_minus_boot: fields.i64(),
        };
        check_reserved(fields.rest(), LOCK_LENGTH - 8)?;
        Ok(lock)
    }

    fn fields(&self, checksum: u32) -> [u8; LOCK_LENGTH] {
        FieldsMut::new()
            .put(&LOCK_MAGIC)
            .put(&FORMAT_VERSION.to_le_bytes())
            .put(&checksum.to_le_bytes())
            .put(&self.pid.to_le_bytes())
            .put(&[self.state.code(), self.previous_state.code(), 0, 0])
            .put(&self.boot.0)
            .put(&self.durable_sequence.to_le_bytes())
            .put(&self.wall_minus_boot.to_le_bytes())
            .finish()
    }
}

/// The two reserved bytes at 22 are zero like every other one: decoding is canonical.
fn reserved_then_boot(fields: &mut Fields<'_>) -> Result<[u8; 16], Fault> {
    check_reserved(&fields.array::<2>(), 22)?;
    Ok(fields.array())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_read_back_in_every_state_and_every_flip_is_a_fault() {
        for state in OwnerState::ALL {
            let lock = Lock {
                pid: 77,
                state,
                previous_state: OwnerState::Poisoned,
                boot: BootId([4; 16]),
                durable_sequence: 10,
                wall_minus_boot: -5,
            };
            let bytes = lock.encode();
            assert_eq!(Lock::decode(&bytes), Ok(lock));
            for position in 0..bytes.len() {
                let mut damaged = bytes;
                damaged[position] ^= 1;
                assert!(Lock::decode(&damaged).is_err(), "byte {position}");
            }
        }
    }

    #[test]
    fn a_reserved_byte_that_is_not_zero_is_named_with_its_place_and_value() {
        let lock = Lock {
            pid: 1,
            state: OwnerState::Idle,
            previous_state: OwnerState::Idle,
            boot: BootId::UNKNOWN,
            durable_sequence: 0,
            wall_minus_boot: 0,
        };
        for position in [22, 23, 56, 63] {
            let mut bytes = lock.encode();
            bytes[position] = 9;
            let checksum = checksum_of(&bytes);
            bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
            let expected = Fault::Padding { at: position as u64, found: 9 };
            assert_eq!(Lock::decode(&bytes), Err(expected));
        }
    }

    #[test]
    fn while_recovering_the_previous_owner_decides_the_verdict() {
        let mut lock = Lock {
            pid: 1,
            state: OwnerState::Recovering,
            previous_state: OwnerState::InTransaction,
            boot: BootId::UNKNOWN,
            durable_sequence: 0,
            wall_minus_boot: 0,
        };
        assert_eq!(lock.verdict_state(), OwnerState::InTransaction);
        lock.state = OwnerState::Idle;
        assert_eq!(lock.verdict_state(), OwnerState::Idle);
    }
}
