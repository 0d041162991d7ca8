//! HEAD: replaced as a whole, only under the lock, and never backwards.

use super::active::{DiskResult, IoContext, Point};
use super::name_fault::{NameFault, NameState};
use super::storage::Storage;
use holdpoint_log_files::ReadFile;
use holdpoint_log_format::limits::HEAD_LENGTH;
use holdpoint_log_format::{BootId, Head, LogId, names};

/// HEAD naming `point`, with the log and anchor of `head`.
pub(super) fn naming(head: &Head, point: &Point, boot: BootId) -> Head {
    Head {
        newest_sequence: point.chain.sequence,
        newest_link: point.chain.link,
        segment: point.segment,
        record_offset: point.record_offset,
        end_offset: point.end_offset,
        boot,
        ..*head
    }
}

/// Replaces HEAD unless the one on disk is as new. Everything that `head` names must be durable.
/// HEAD is when this returns, also where a call that failed had renamed it.
///
/// Another process may have moved the anchor since `head`'s was read: the anchor on disk stays.
pub(super) fn replace<S: Storage>(storage: &S, head: &Head) -> DiskResult<()> {
    let Some(current) = read(storage)? else { return write(storage, head) };
    check_log(&current, head.log)?;
    if current.newest_sequence >= head.newest_sequence {
        return storage.sync_directory("").named("sync", ".");
    }
    let is_moved = current.anchor_sequence > head.anchor_sequence;
    let anchored = if is_moved { &current } else { head };
    let (anchor_sequence, anchor_link) = (anchored.anchor_sequence, anchored.anchor_link);
    write(storage, &Head { anchor_sequence, anchor_link, ..*head })
}

/// Writes HEAD: temporary file, sync, rename, directory sync.
pub(super) fn write<S: Storage>(storage: &S, head: &Head) -> DiskResult<()> {
    let temporary = names::HEAD_TEMPORARY;
    // Its space is reserved: a full disk is told here, before anything is changed.
    let length = HEAD_LENGTH as u64;
    let file = storage.create(temporary, length).named("create", temporary)?;
    storage.write_at(&file, 0, &head.encode()).named("write", temporary)?;
    storage.sync(&file).named("sync", temporary)?;
    storage.rename(temporary, names::HEAD).named("rename", temporary)?;
    storage.sync_directory("").named("sync", ".")
}

/// Checks that HEAD is of this log, if there is one, unless it is the one that was seen last.
pub(super) fn check<S: Storage>(
    storage: &S,
    log: LogId,
    seen: &mut Option<NameState>,
) -> DiskResult<()> {
    let now = storage.name_state(names::HEAD).named("look at", names::HEAD)?;
    if now != *seen {
        read(storage)?.map_or(Ok(()), |found| check_log(&found, log))?;
        *seen = now;
    }
    Ok(())
}

fn check_log(found: &Head, expected: LogId) -> DiskResult<()> {
    let fault = NameFault::OtherLog { expected, found: found.log };
    let checked = if found.log == expected { Ok(()) } else { Err(fault.into()) };
    checked.named("rely on", names::HEAD)
}

/// HEAD as it is on disk; `None` when it is missing or garbage.
pub(super) fn read<S: Storage>(storage: &S) -> DiskResult<Option<Head>> {
    let opened = storage.open(names::HEAD).named("open", names::HEAD)?;
    let Some(file) = opened else { return Ok(None) };
    // One byte more than HEAD has: a longer file is no HEAD.
    let mut bytes = [0; HEAD_LENGTH + 1];
    let length = file.read_at(0, &mut bytes).named("read", names::HEAD)?;
    Ok(bytes.get(..length).and_then(|bytes| Head::decode(bytes).ok()))
}
