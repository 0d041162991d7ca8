//! Creating a log: the directory and LOCK (already there), HEAD at the anchor, then the first
//! segment by roll. A crash in between leaves a state that the recovery table names.

use super::active::{Active, DiskResult, Named};
use super::roll::{prepare, publish};
use super::storage::Storage;
use super::witness;
use holdpoint_log_format::limits::SEGMENT_CAPACITY_MIN;
use holdpoint_log_format::{BootId, ChainPosition, Head, LogId, SegmentHeader, names};

/// Makes HEAD of a new log. The log's own directory may have been made by somebody who did not make
/// its name durable, so that is done again.
pub(super) fn new_log<S: Storage>(storage: &S, boot: BootId) -> DiskResult<Head> {
    let mut id = [0; 16];
    storage.draw(&mut id).named("draw an identity for", names::HEAD)?;
    storage.create_directory("").named("create", ".")?;
    let log = LogId(id);
    let head = Head::at_anchor(log, &ChainPosition::genesis(log), boot);
    witness::replace(storage, &head)?;
    Ok(head)
}

/// Makes the first segment of a log whose HEAD is at its anchor.
pub(super) fn first_segment<S: Storage>(storage: &S, head: &Head) -> DiskResult<Active<S::Writer>> {
    storage.create_directory(names::SEGMENTS).named("create", names::SEGMENTS)?;
    storage.sync_directory("").named("sync", ".")?;
    let previous =
        ChainPosition { sequence: head.anchor_sequence, link: head.anchor_link, time: 0 };
    let capacity = SEGMENT_CAPACITY_MIN;
    let header = SegmentHeader { log: head.log, previous, capacity, previous_seal_offset: 0 };
    let writer = prepare(storage, header.first_sequence(), capacity)?;
    publish(storage, writer, header)
}
