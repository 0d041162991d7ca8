//! Rolling: from one segment to the next without a moment at which a crash loses or hides anything.
//!
//! The order is the promise: space for the next segment first (a full disk is an error while the
//! active one is still whole), records synced, seal written and synced, the next header written
//! into the prepared file and synced, rename, directory synced, publish.

use super::active::{Active, DiskResult, IoContext};
use super::segment_lock::LockedFile;
use super::storage::Storage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Follower, Run};
use holdpoint_log_format::limits::{PAGE, SEAL_LENGTH, next_capacity};
use holdpoint_log_format::{Seal, SegmentHeader, names};
use std::io;
use std::sync::Arc;

/// Segments up to this capacity are written through with zeros when they are made: that takes less
/// time than the journal's part in the syncs of their records.
pub(super) const FILLED_AT_ONCE_MAX: u64 = 1_024 * 1_024;

const RESERVE: &str = "reserve space for";

/// The file of a segment to come, under a name that is no segment's: zeros, and its space reserved.
#[derive(Debug)]
pub(super) struct Prepared<W> {
    pub(super) writer: W,
    pub(super) path: String,
    pub(super) capacity: u64,
}

/// Makes the file of a segment under its prepared name.
pub(super) fn prepare<S: Storage>(
    storage: &S,
    first_sequence: u64,
    capacity: u64,
) -> DiskResult<Prepared<S::Writer>> {
    prepare_at(storage, prepared_path(first_sequence), capacity)
}

/// Does the same as [`prepare`], under another name that is no segment's.
pub(super) fn prepare_at<S: Storage>(
    storage: &S,
    path: String,
    capacity: u64,
) -> DiskResult<Prepared<S::Writer>> {
    let prepared = reserve_at(storage, path, capacity)?;
    if capacity <= FILLED_AT_ONCE_MAX {
        let Prepared { writer, path, .. } = &prepared;
        let filled = storage.write_zeros(writer, 0, capacity);
        // A file that cannot be used keeps no space.
        let filled = filled.inspect_err(|_| drop(storage.remove(path)));
        filled.named_needing(RESERVE, path, capacity)?;
    }
    Ok(prepared)
}

/// Reserves the space of a segment.
pub(super) fn reserve<S: Storage>(
    storage: &S,
    first_sequence: u64,
    capacity: u64,
) -> DiskResult<Prepared<S::Writer>> {
    reserve_at(storage, prepared_path(first_sequence), capacity)
}

fn reserve_at<S: Storage>(
    storage: &S,
    path: String,
    capacity: u64,
) -> DiskResult<Prepared<S::Writer>> {
    let writer = storage.create(&path, capacity).named_needing(RESERVE, &path, capacity)?;
    Ok(Prepared { writer, path, capacity })
}

/// Removes prepared files that a crash left: they are no segments, and hold space. They are made
/// again when they are needed, so a failure loses nothing and is not reported.
pub(super) fn remove_prepared<S: Storage>(storage: &S) {
    for entry in storage.list(names::SEGMENTS).unwrap_or_default() {
        if names::parse_prepared(&entry.name).is_some() {
            let _ = storage.remove(&format!("{}/{}", names::SEGMENTS, entry.name));
        }
    }
}

/// Gives a prepared file its header and its name, and locks it before it has that.
pub(super) fn publish<S: Storage>(
    storage: &S,
    prepared: Prepared<S::Writer>,
    header: SegmentHeader,
) -> DiskResult<Active<S::Writer>> {
    let Prepared { writer, path: from, .. } = prepared;
    let to = segment_path(header.first_sequence());
    let writer = Arc::new(writer);
    let lock = LockedFile::try_new(&writer).and_then(|lock| lock.ok_or_else(held_by_another));
    let lock = lock.named("lock", &from)?;
    storage.write_at(&writer, 0, &header.encode()).named("write", &from)?;
    storage.sync(&writer).named("sync", &from)?;
    storage.rename(&from, &to).named("rename", &from)?;
    storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)?;
    Ok(Active::new(Follower { header, run: Run::at_start(&header) }, lock))
}

fn held_by_another() -> io::Error {
    io::Error::other("another process has locked it")
}

/// A larger file in place of an active segment that holds no record, because the first batch does
/// not fit. Nothing is lost with the file that is replaced.
pub(super) fn replace_empty<S: Storage>(
    storage: &S,
    empty: &SegmentHeader,
    footprint: u64,
) -> DiskResult<Active<S::Writer>> {
    let capacity = next_capacity(empty.capacity / 2, footprint);
    let prepared = prepare(storage, empty.first_sequence(), capacity)?;
    publish(storage, prepared, SegmentHeader { capacity, ..*empty })
}

/// Writes the seal behind the newest record and syncs it. The records were synced before: a seal
/// proves them.
pub(super) fn seal<S: Storage>(storage: &S, active: &Active<S::Writer>) -> DiskResult<Seal> {
    let offset = active.end_offset();
    let seal = Seal { last: active.chain(), offset };
    let path = active.path();
    let bytes = seal.encode(active.header().seed());
    storage.write_at(active.locked()?, offset, &bytes).named("write", &path)?;
    storage.sync(&active.writer).named("sync", &path)?;
    Ok(seal)
}

/// The header of the segment of this capacity that follows `seal`.
pub(super) fn successor(before: &SegmentHeader, seal: &Seal, capacity: u64) -> SegmentHeader {
    SegmentHeader {
        log: before.log,
        previous: seal.last,
        capacity,
        // A seal behind no record is nobody's, and says nothing of what is before record 1.
        previous_seal_offset: if seal.last.sequence == 0 { 0 } else { seal.offset },
    }
}

/// Gives back the space behind a seal. It is unused and reads as zero before and after, so a
/// failure loses nothing and is not reported.
pub(super) fn punch_unused<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    seal: &Seal,
    capacity: u64,
) {
    let from = (seal.offset + SEAL_LENGTH as u64).next_multiple_of(PAGE);
    if from < capacity {
        let _ = storage.punch(writer, from, capacity - from);
    }
}

pub(super) fn prepared_path(first_sequence: u64) -> String {
    format!("{}/{}", names::SEGMENTS, names::prepared(first_sequence))
}
