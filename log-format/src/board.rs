//! The rest of LOCK, behind the block of its owner: how far a shared sync came, what was appended,
//! and who waits. Everybody may read it without holding LOCK. Each block has its own checksum, so
//! that one which is read while it is written, or which somebody else wrote, counts for nothing.

use crate::checksum::plain;
use crate::fields::{Fields, FieldsMut};
use crate::identity::BootId;
use crate::limits::{LOCK_FILE_LENGTH, LOCK_LENGTH};
use crate::lock::Lock;

/// Offset of what the last turn appended: right behind the owner's block.
pub const APPENDED_AT: usize = LOCK_LENGTH;
/// Length of that block.
pub const APPENDED_LENGTH: usize = 32;
/// Length of what is written under LOCK: the owner's block and the one behind it.
pub const UNDER_LOCK_LENGTH: usize = APPENDED_AT + APPENDED_LENGTH;
/// Offset of how far shared syncs came.
pub const SYNCED_AT: usize = 128;
/// Length of that block.
pub const SYNCED_LENGTH: usize = 64;
/// Offset of the word that changes whenever that block does.
pub const SYNC_WORD_AT: usize = 192;
/// Offset of the first ticket.
pub const TICKETS_AT: usize = 256;
/// Length of a ticket.
pub const TICKET_LENGTH: usize = 32;
/// Offset in a ticket of the word that its owner waits on; the ticket's checksum leaves it out.
pub const TICKET_WORD_AT: usize = 24;
/// Tickets that there is room for.
pub const TICKETS_MAX: usize = (LOCK_FILE_LENGTH - TICKETS_AT) / TICKET_LENGTH;

/// Records that the last turn left appended: a sync that begins now covers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Newest sequence.
    pub sequence: u64,
    /// First sequence of the segment that holds it.
    pub segment: u64,
}

/// State of the holder of SYNC, or its state when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// The last sync returned success.
    Settled,
    /// A sync goes on; or who made it died, and nobody knows what came of it.
    Syncing,
    /// The last sync failed, and nobody has written the tail again since.
    Failed,
}

/// Extent of shared syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synced {
    /// State of the holder of SYNC.
    pub state: SyncState,
    /// Number of syncs that were begun.
    pub count: u64,
    /// Boot in which this was written.
    pub boot: BootId,
    /// Newest sequence that a shared sync made durable.
    pub durable: u64,
    /// Number of syncs that failed. Who waits for a sync fails where this is another number than it
    /// found in its turn.
    pub epoch: u64,
    /// Newest sequence that the sync under way covers.
    pub covers: u64,
    /// Process that began it.
    pub pid: u32,
}

/// The place of somebody who waits for LOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// Nanoseconds since boot when it was drawn: smaller ones come first.
    pub number: u64,
    /// Process that waits.
    pub pid: u32,
    /// Start of that process, as the system counts it: a number of a process is used again.
    pub start: u64,
}

impl Appended {
    /// The block's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; APPENDED_LENGTH] {
        sealed(b"APPENDED", |checksum| {
            FieldsMut::new()
                .put(&checksum)
                .put(&[0; 4])
                .put(&self.sequence.to_le_bytes())
                .put(&self.segment.to_le_bytes())
                .finish()
        })
    }

    /// Returns what the whole file says; `None` where that is nothing.
    #[must_use]
    pub fn find(file: &[u8]) -> Option<Self> {
        let mut fields = checked(b"APPENDED", block::<APPENDED_LENGTH>(file, APPENDED_AT)?)?;
        let _ = fields.u32();
        Some(Self { sequence: fields.u64(), segment: fields.u64() })
    }
}

impl SyncState {
    const ALL: [Self; 3] = [Self::Settled, Self::Syncing, Self::Failed];

    fn code(self) -> u8 {
        match self {
            Self::Settled => 1,
            Self::Syncing => 2,
            Self::Failed => 3,
        }
    }
}

impl Synced {
    /// Returns the value where no shared sync was made in this boot.
    #[must_use]
    pub fn none(boot: BootId) -> Self {
        let state = SyncState::Settled;
        Self { state, count: 0, boot, durable: 0, epoch: 0, covers: 0, pid: 0 }
    }

    /// The block's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; SYNCED_LENGTH] {
        sealed(b"HOLDSYNC", |checksum| {
            FieldsMut::new()
                .put(&checksum)
                .put(&[self.state.code(), 0, 0, 0])
                .put(&self.count.to_le_bytes())
                .put(&self.boot.0)
                .put(&self.durable.to_le_bytes())
                .put(&self.epoch.to_le_bytes())
                .put(&self.covers.to_le_bytes())
                .put(&self.pid.to_le_bytes())
                .finish()
        })
    }

    /// Returns what the whole file says; `None` where that is nothing.
    #[must_use]
    pub fn find(file: &[u8]) -> Option<Self> {
        let mut fields = checked(b"HOLDSYNC", block::<SYNCED_LENGTH>(file, SYNCED_AT)?)?;
        let [code, ..] = fields.array::<4>();
        Some(Self {
            state: SyncState::ALL.into_iter().find(|state| state.code() == code)?,
            count: fields.u64(),
            boot: BootId(fields.array()),
            durable: fields.u64(),
            epoch: fields.u64(),
            covers: fields.u64(),
            pid: fields.u32(),
        })
    }
}

impl Ticket {
    /// The ticket's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; TICKET_LENGTH] {
        let stated: [u8; TICKET_WORD_AT] = sealed(b"HOLDTURN", |checksum| {
            FieldsMut::new()
                .put(&checksum)
                .put(&self.pid.to_le_bytes())
                .put(&self.start.to_le_bytes())
                .put(&self.number.to_le_bytes())
                .finish()
        });
        FieldsMut::new().put(&stated).finish()
    }

    /// The ticket in a place of the whole file; `None` where there is none.
    #[must_use]
    pub fn find(file: &[u8], place: usize) -> Option<Self> {
        let block = block::<TICKET_WORD_AT>(file, Self::offset(place))?;
        // Nearly all places are empty, and need no checksum.
        let is_empty = block.get(4..8).is_none_or(|pid| pid == [0; 4]);
        let mut fields = if is_empty { None } else { checked(b"HOLDTURN", block) }?;
        let (pid, start) = (fields.u32(), fields.u64());
        Some(Self { number: fields.u64(), pid, start })
    }

    /// Offset of a place in the file.
    #[must_use]
    pub fn offset(place: usize) -> usize {
        TICKETS_AT + place % TICKETS_MAX * TICKET_LENGTH
    }

    /// Offset in the file of the word that whoever has this place waits for.
    #[must_use]
    pub fn word_offset(place: usize) -> usize {
        Self::offset(place) + TICKET_WORD_AT
    }

    /// The tickets of the whole file with their places; garbage is none.
    pub fn all(file: &[u8]) -> impl Iterator<Item = (usize, Self)> {
        (0..TICKETS_MAX).filter_map(|place| Some((place, Self::find(file, place)?)))
    }
}

/// Returns what is written under LOCK, in one piece.
#[must_use]
pub fn under_lock(owner: &Lock, appended: Appended) -> [u8; UNDER_LOCK_LENGTH] {
    FieldsMut::new().put(&owner.encode()).put(&appended.encode()).finish()
}

/// The word at `offset` of the whole file; 0 where it ends before.
#[must_use]
pub fn word(file: &[u8], offset: usize) -> u32 {
    file.get(offset..).map_or(0, |rest| Fields::new(rest).u32())
}

fn block<const N: usize>(file: &[u8], offset: usize) -> Option<&[u8; N]> {
    file.get(offset..)?.first_chunk()
}

/// The block with its checksum, which covers its tag and all that is behind it.
fn sealed<const N: usize>(tag: &[u8; 8], block: impl Fn([u8; 4]) -> [u8; N]) -> [u8; N] {
    let unsealed = block([0; 4]);
    block(plain(&[tag, unsealed.get(4..).unwrap_or_default()]).to_le_bytes())
}

/// The fields behind a checksum that holds.
fn checked<'a>(tag: &[u8; 8], block: &'a [u8]) -> Option<Fields<'a>> {
    let (checksum, rest) = block.split_first_chunk::<4>()?;
    (plain(&[tag, rest]).to_le_bytes() == *checksum).then(|| Fields::new(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn file_with(offset: usize, block: &[u8]) -> Vec<u8> {
        let mut file = vec![0; LOCK_FILE_LENGTH];
        file[offset..offset + block.len()].copy_from_slice(block);
        file
    }

    fn assert_every_flip_is_nothing<T: PartialEq + core::fmt::Debug>(
        file: &[u8],
        block: core::ops::Range<usize>,
        find: impl Fn(&[u8]) -> Option<T>,
    ) {
        let start = block.start;
        for position in block {
            let mut damaged = file.to_vec();
            damaged[position] ^= 1;
            assert_eq!(find(&damaged), None, "byte {position}");
        }
        for length in [0, 64, start, start + 31] {
            assert_eq!(find(&file[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn what_a_shared_sync_reached_is_read_back_and_every_flip_is_nothing() {
        for state in SyncState::ALL {
            let boot = BootId([9; 16]);
            let synced =
                Synced { state, count: 3, boot, durable: 70, epoch: 1, covers: 75, pid: 8 };
            let file = file_with(SYNCED_AT, &synced.encode());
            assert_eq!(Synced::find(&file), Some(synced));
            let block = SYNCED_AT..SYNCED_AT + SYNCED_LENGTH;
            assert_every_flip_is_nothing(&file, block, Synced::find);
        }
        assert_eq!(Synced::find(&vec![0; LOCK_FILE_LENGTH]), None);
    }

    #[test]
    fn what_was_appended_is_read_back_and_every_flip_is_nothing() {
        let appended = Appended { sequence: 812, segment: 7 };
        let file = file_with(APPENDED_AT, &appended.encode());
        assert_eq!(Appended::find(&file), Some(appended));
        let block = APPENDED_AT..APPENDED_AT + APPENDED_LENGTH;
        assert_every_flip_is_nothing(&file, block, Appended::find);
    }

    #[test]
    fn tickets_are_read_back_from_every_place_and_garbage_is_none() {
        let ticket = Ticket { number: 5, pid: 77, start: 1_234 };
        for place in [0, 1, TICKETS_MAX - 1] {
            let file = file_with(Ticket::offset(place), &ticket.encode());
            assert_eq!(Ticket::all(&file).collect::<Vec<_>>(), [(place, ticket)]);
        }
        assert_eq!(Ticket::all(&vec![0xa5; LOCK_FILE_LENGTH]).count(), 0);
        assert_eq!(Ticket::all(&[0; 64]).count(), 0);
        assert_eq!(Ticket::offset(TICKETS_MAX - 1) + TICKET_LENGTH, LOCK_FILE_LENGTH);
    }
}
