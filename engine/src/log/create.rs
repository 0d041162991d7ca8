//! Creating a log: the directory and LOCK (already there), HEAD at the anchor, then the first
//! segment by roll. A crash in between leaves a state that the recovery table names.

use super::active::{Active, DiskResult, IoContext};
use super::error::OpenError;
use super::head_file;
use super::recovery::disk;
use super::roll::{prepare, publish};
use super::storage::Storage;
use holdpoint_log_format::limits::SEGMENT_CAPACITY_MIN;
use holdpoint_log_format::{BootId, ChainPosition, Head, LogId, SegmentHeader, names};

/// Makes a log without records that begins behind `anchor`, a record of another log: whoever opens
/// it appends record `anchor.sequence + 1` first. There must be no log in `storage`.
///
/// # Errors
/// The system has no entropy, or the disk refused a call.
pub(crate) fn create_behind<S: Storage>(
    storage: &S,
    anchor: &ChainPosition,
) -> Result<(), OpenError> {
    let made = new_head(storage, storage.boot(), |_| *anchor);
    let made = made.and_then(|head| segment_behind(storage, &head, anchor));
    made.map(drop).map_err(disk(storage))
}

/// Makes HEAD of a new log.
pub(super) fn new_log<S: Storage>(storage: &S, boot: BootId) -> DiskResult<Head> {
    new_head(storage, boot, ChainPosition::genesis)
}

/// Makes HEAD of a new log at the anchor for its identity. The log's own directory may have been
/// made by somebody who did not make its name durable, so that is done again.
fn new_head<S: Storage>(
    storage: &S,
    boot: BootId,
    anchor_for: impl FnOnce(LogId) -> ChainPosition,
) -> DiskResult<Head> {
    let log = draw_identity(storage)?;
    let head = Head::at_anchor(log, &anchor_for(log), boot);
    storage.create_directory("").named("create", ".")?;
    // Its name becomes durable with that of HEAD.
    storage.write_gitignore().named("create", names::GITIGNORE)?;
    head_file::replace(storage, &head)?;
    Ok(head)
}

fn draw_identity<S: Storage>(storage: &S) -> DiskResult<LogId> {
    let mut id = [0; 16];
    storage.draw(&mut id).named("draw an identity for", names::HEAD)?;
    Ok(LogId(id))
}

/// Makes the first segment of a log whose HEAD is at its anchor.
pub(super) fn first_segment<S: Storage>(storage: &S, head: &Head) -> DiskResult<Active<S::Writer>> {
    let anchor = ChainPosition { sequence: head.anchor_sequence, link: head.anchor_link, time: 0 };
    segment_behind(storage, head, &anchor)
}

fn segment_behind<S: Storage>(
    storage: &S,
    head: &Head,
    anchor: &ChainPosition,
) -> DiskResult<Active<S::Writer>> {
    storage.create_directory(names::SEGMENTS).named("create", names::SEGMENTS)?;
    storage.sync_directory("").named("sync", ".")?;
    let previous = *anchor;
    let capacity = SEGMENT_CAPACITY_MIN;
    let header = SegmentHeader { log: head.log, previous, capacity, previous_seal_offset: 0 };
    let prepared = prepare(storage, header.first_sequence(), capacity)?;
    publish(storage, prepared, header)
}
