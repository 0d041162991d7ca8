//! Reading the records that an index names.

use crate::index::Index;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::{ReadFile, RecordPlace, Run};
use holdpoint_log_format::{ChainPosition, Record, RecordHeader};
use std::io;
use std::ops::ControlFlow;

/// Shows records of an index's segment, ascending, each with its place. All records between the
/// links that the index states around each are hashed: where the index is the one that is vouched
/// for, what was shown is proven when this is over, and nothing of it before. `None`: the records
/// are not what the index says, or the index cannot be used.
///
/// # Errors
/// What the disk says of the segment.
pub fn read_indexed<I: ReadFile, F: ReadFile>(
    index: &Index<I>,
    segment: &mut OpenSegment<F>,
    wanted: &[u64],
    visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
) -> io::Result<Option<()>> {
    let mut due = wanted.iter().copied().peekable();
    while let Some(wanted) = due.peek().copied() {
        // An index is a cache: where it cannot be read, the segment is.
        let Ok(Some(stretch)) = index.stretch_of(wanted) else { return Ok(None) };
        let Ok(Some(offset)) = index.offset_of(stretch.first) else { return Ok(None) };
        let before = stretch.first.saturating_sub(1);
        let end = index.offset_of(stretch.last.saturating_add(1)).ok().flatten();
        segment.window.bytes(offset, end.unwrap_or(0).saturating_sub(offset))?;
        // Nothing is known of the time there; it is no part of what the stated links tie.
        let chain = ChainPosition { sequence: before, link: stretch.before, time: 0 };
        let mut link = None;
        let from = Run::from(chain, 0, offset);
        walk(&mut segment.window, &segment.header, from, &mut |place, record| {
            let RecordHeader { sequence, link: here, .. } = record.header;
            if due.next_if_eq(&sequence).is_some() {
                visit(place, record);
            }
            link = (sequence == stretch.last).then_some(here);
            if sequence >= stretch.last {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if link != Some(stretch.behind) || due.peek() == Some(&wanted) {
            return Ok(None);
        }
    }
    Ok(Some(()))
}
