//! One sync for the records of many processes: whoever holds SYNC syncs for all who have appended,
//! and says in LOCK how far that came.
//!
//! # Invariants
//!
//! - Whoever waits here has its records in the file, and had that file open before it wrote them:
//!   a failure to write any of them back is told to it too.
//! - Nobody returns before a sync that covers its records has returned success, the number of
//!   failed syncs is the one that its turn found, and its own file tells of no failure.
//! - What shared syncs came to is written by the holder of SYNC alone. It says that a sync goes on
//!   before that begins: who finds that said and SYNC free knows that the holder died with it, and
//!   that nobody was told how it ended. The tail is written again then, under LOCK.
//! - Who syncs alone beside a sync of whose failure its file may not tell has written again what
//!   that one may have lost.
//! - Who holds SYNC never waits for LOCK. So whoever holds LOCK may wait for SYNC.

use super::active::{DiskError, DiskResult, IoContext};
use super::lock::LockHolder;
use super::storage::{Board, LockFile, Storage};
use super::tail;
use super::turn_queue::SLICE;
use crate::sync;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::board::{
    Appended, SYNC_WORD_AT, SYNCED_AT, SYNCED_LENGTH, SyncState, Synced, word,
};
use holdpoint_log_format::{BootId, names};
use std::io;
use std::time::Duration;

/// Records that are to be durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncTarget {
    /// Everything up to here.
    pub(super) sequence: u64,
    /// First sequence of the segment that holds it.
    pub(super) segment: u64,
    /// Number of failed syncs that the turn found which appended it.
    pub(super) epoch: u64,
    /// Number of syncs that were begun when the file was opened: of what failed in a later one this
    /// file tells too.
    pub(super) opened: u64,
    /// Nothing up to here may be named: HEAD was missing.
    pub(super) unnamed: u64,
    /// True if LOCK is held: then nobody has appended more.
    pub(super) holds_lock: bool,
}

/// Time after which whoever waits without any news of the holder of SYNC, who may be stopped, syncs
/// for itself alone.
const PATIENCE: Duration = Duration::from_millis(200);

/// The same where its file may not tell of what that sync lost, so that it has to be written again.
const PATIENCE_UNTOLD: Duration = Duration::from_millis(500);

/// Why nothing was made durable.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A call on the disk failed, here or in another process.
    Disk(DiskError),
    /// Somebody else holds SYNC for too long.
    Held(LockHolder),
    /// The holder of SYNC died with a sync of which nobody knows how it ended.
    Unknown,
}

impl From<DiskError> for Trouble {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl From<Trouble> for DiskError {
    fn from(trouble: Trouble) -> Self {
        let (operation, reason) = match trouble {
            Trouble::Disk(error) => return error,
            Trouble::Held(LockHolder { pid, waited }) => {
                let stopped = "what was appended is in the log's file, and whether it survives a \
                               power cut is not known";
                let held = format!("process {pid} held it for the whole wait of {waited:?}");
                ("lock", format!("{held}: {stopped}"))
            }
            Trouble::Unknown => {
                ("rely on", "whoever held it died with a sync under way".to_string())
            }
        };
        let (file, source) = (names::SYNC.to_string(), io::Error::other(reason));
        Self { operation, file, source, needed: 0 }
    }
}

/// Number of times LOCK is read again where what it says of shared syncs is being written.
const READINGS_MAX: usize = 16;

/// LOCK whole. A block that is read while it is written is read again.
pub(super) fn page(board: &dyn Board) -> DiskResult<Vec<u8>> {
    let mut page = board.read().named("read", names::LOCK)?;
    for _ in 0..READINGS_MAX {
        let block = page.get(SYNCED_AT..SYNCED_AT + SYNCED_LENGTH).unwrap_or_default();
        if Synced::find(&page).is_some() || block.iter().all(|byte| *byte == 0) {
            break;
        }
        page = board.read().named("read", names::LOCK)?;
    }
    Ok(page)
}

/// Returns what LOCK says of shared syncs, in this boot.
pub(super) fn synced(page: &[u8], boot: BootId) -> Synced {
    let found = Synced::find(page).filter(|_| boot != BootId::UNKNOWN);
    found.filter(|synced| synced.boot == boot).unwrap_or(Synced::none(boot))
}

/// Waits within `wait` until a sync covers what is wanted, its own or another process's. Where its
/// own fails, `told` hears of it before anybody else does.
pub(super) fn reach<S: Storage>(
    storage: &S,
    board: &dyn Board,
    writer: &S::Writer,
    wanted: &SyncTarget,
    wait: Duration,
    told: &dyn Fn(&DiskError),
) -> Result<(), Trouble> {
    let began = sync::now();
    let (mut awaited, mut news) = (None, None);
    loop {
        let page = page(board)?;
        let now = synced(&page, storage.boot());
        wanted.check_epoch(&now)?;
        if now.durable >= wanted.sequence {
            if awaited.is_some_and(|trip| trip > now.count) {
                // Woken to sync, and has no need to: another one who waits for that does.
                board.wake(SYNC_WORD_AT, bits_of(now.count + 1), 1);
            }
            return covered(storage, board, writer, wanted);
        }
        if let Some(held) = storage.try_sync_lock().named("lock", names::SYNC)? {
            return lead(storage, board, writer, wanted, held, told);
        }
        let (seen, at) = (word(&page, SYNC_WORD_AT), sync::now());
        let waited = at.duration_since(began);
        let (_, since) = *news.get_or_insert((seen, began));
        if news != Some((seen, since)) {
            news = Some((seen, at));
        } else {
            let (silent, is_told) = (at.duration_since(since), wanted.can_do_without(&now));
            if is_told && silent >= PATIENCE.min(wait / 2) {
                return alone(storage, board, writer, wanted);
            }
            if silent >= PATIENCE_UNTOLD.min(wait / 2) {
                let behind = (now.durable, wanted.sequence);
                tail::write_again(storage, writer, wanted.segment, behind)?;
                return alone(storage, board, writer, wanted);
            }
        }
        if waited >= wait {
            let pid = storage.lock_holder(names::SYNC).unwrap_or(now.pid);
            return Err(Trouble::Held(LockHolder { pid, waited }));
        }
        let is_under_way = now.state == SyncState::Syncing && wanted.sequence <= now.covers;
        let trip = now.count + u64::from(!is_under_way);
        awaited = Some(trip);
        board.wait(SYNC_WORD_AT, seen, bits_of(trip), SLICE.min(wait - waited));
    }
}

/// Says that everything up to `durable` is on the disk and that no failure is left: for the holder
/// of LOCK that wrote the tail again. Where SYNC is not to be had, what was said before stays, and
/// the next owner writes it again.
pub(super) fn settle<S: Storage>(storage: &S, board: &dyn Board, durable: u64) -> DiskResult<()> {
    let boot = storage.boot();
    if synced(&page(board)?, boot).state == SyncState::Settled {
        return Ok(());
    }
    let Some(held) = storage.try_sync_lock().named("lock", names::SYNC)? else { return Ok(()) };
    let before = synced(&page(board)?, boot);
    let durable = durable.max(before.durable);
    publish(board, &Synced { state: SyncState::Settled, durable, ..before })?;
    drop(held);
    board.wake(SYNC_WORD_AT, u32::MAX, u32::MAX);
    Ok(())
}

/// Returns whether a sync was begun by somebody who is dead: nobody knows how it ended.
pub(super) fn is_abandoned<S: Storage>(storage: &S, board: &dyn Board) -> DiskResult<bool> {
    let is_syncing = || {
        let now = synced(&page(board)?, storage.boot());
        Ok::<_, DiskError>(now.state == SyncState::Syncing)
    };
    if !is_syncing()? {
        return Ok(false);
    }
    let held = storage.try_sync_lock().named("lock", names::SYNC)?;
    // Whoever held it may have ended its sync in between.
    Ok(held.is_some() && is_syncing()?)
}

impl SyncTarget {
    /// Returns whether this process's file tells of whatever the holder of SYNC is told of: of the
    /// sync that goes on, or of the one that is about to begin.
    fn can_do_without(&self, now: &Synced) -> bool {
        now.state != SyncState::Syncing || self.opened < now.count
    }

    fn check_epoch(&self, now: &Synced) -> DiskResult<()> {
        let failed = || io::Error::other("a sync of the same records failed in another process");
        let is_same = now.epoch == self.epoch;
        is_same.then_some(()).ok_or_else(failed).named_as("sync", || segment_path(self.segment))
    }
}

/// Syncs for nobody else, beside a holder of SYNC that does not go on.
fn alone<S: Storage>(
    storage: &S,
    board: &dyn Board,
    writer: &S::Writer,
    wanted: &SyncTarget,
) -> Result<(), Trouble> {
    storage.sync(writer).named_as("sync", || segment_path(wanted.segment))?;
    Ok(wanted.check_epoch(&synced(&page(board)?, storage.boot()))?)
}

/// Another process's sync covers it.
fn covered<S: Storage>(
    storage: &S,
    board: &dyn Board,
    writer: &S::Writer,
    wanted: &SyncTarget,
) -> Result<(), Trouble> {
    let told = storage.check_written_back(writer);
    let told = told.named_as("sync", || segment_path(wanted.segment));
    if let Err(error) = told {
        // Who was told of it may have died before it could say so.
        let _ = fail(storage, board);
        return Err(error.into());
    }
    // Behind that look: who was told first says so before it lets others sync.
    let page = page(board)?;
    Ok(wanted.check_epoch(&synced(&page, storage.boot()))?)
}

/// Says that a sync failed, if SYNC is free; else its holder finds out by itself.
fn fail<S: Storage>(storage: &S, board: &dyn Board) -> DiskResult<()> {
    let Some(held) = storage.try_sync_lock().named("lock", names::SYNC)? else { return Ok(()) };
    let now = synced(&page(board)?, storage.boot());
    publish(board, &failed(now))?;
    drop(held);
    board.wake(SYNC_WORD_AT, u32::MAX, u32::MAX);
    Ok(())
}

fn failed(now: Synced) -> Synced {
    Synced { state: SyncState::Failed, epoch: now.epoch.wrapping_add(1), ..now }
}

/// Syncs for all who have appended by now, holding SYNC.
fn lead<S: Storage>(
    storage: &S,
    board: &dyn Board,
    writer: &S::Writer,
    wanted: &SyncTarget,
    held: S::Lock,
    told: &dyn Fn(&DiskError),
) -> Result<(), Trouble> {
    let page = page(board)?;
    let before = synced(&page, storage.boot());
    wanted.check_epoch(&before)?;
    if before.state == SyncState::Syncing {
        return Err(Trouble::Unknown);
    }
    if before.durable >= wanted.sequence {
        drop(held);
        board.wake(SYNC_WORD_AT, bits_of(before.count + 1), 1);
        return covered(storage, board, writer, wanted);
    }
    // Written before this was said; so a sync that begins now covers it.
    let others = Some(&page).filter(|_| !wanted.holds_lock);
    let appended = others.and_then(|page| Appended::find(page));
    let appended = appended.filter(|all| all.segment == wanted.segment);
    let covers = appended.map_or(0, |all| all.sequence).max(wanted.sequence);
    let (count, pid) = (before.count.wrapping_add(1), std::process::id());
    let begun = Synced { state: SyncState::Syncing, count, covers, pid, ..before };
    publish(board, &begun)?;
    let synced = storage.sync(writer).named_as("sync", || segment_path(wanted.segment));
    let synced = synced.inspect_err(told);
    let durable = if covers > wanted.unnamed { covers.max(before.durable) } else { before.durable };
    let ended = match &synced {
        Ok(()) => Synced { state: SyncState::Settled, durable, ..begun },
        Err(_) => failed(begun),
    };
    let published = publish(board, &ended);
    let named = held.has_its_name();
    drop(held);
    if synced.is_err() {
        board.wake(SYNC_WORD_AT, u32::MAX, u32::MAX);
    } else {
        board.wake(SYNC_WORD_AT, bits_of(count), u32::MAX);
        board.wake(SYNC_WORD_AT, bits_of(count.wrapping_add(1)), 1);
    }
    synced?;
    published?;
    // Another SYNC has its name: two may have synced at once, which harms nothing.
    named.named("look at", names::SYNC)?;
    Ok(())
}

/// Says what shared syncs came to, and that it is news.
fn publish(board: &dyn Board, now: &Synced) -> DiskResult<()> {
    let page = page(board)?;
    let news = word(&page, SYNC_WORD_AT).wrapping_add(1).to_le_bytes();
    let written = board.write_at(SYNCED_AT, &now.encode());
    written.and_then(|()| board.write_at(SYNC_WORD_AT, &news)).named("write", names::LOCK)
}

/// The bit of a sync's number: who waits for one is not woken by the one before.
fn bits_of(trip: u64) -> u32 {
    1 << (trip % 32)
}
