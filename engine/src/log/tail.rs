//! The bytes behind and above the marks: written again, copied aside, overwritten with zeros.
//! Nothing here decides; every byte that is overwritten with another was copied before.

use super::active::{DiskResult, IoContext, write_pieces};
use super::storage::Storage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{FollowError, Follower, ReadFile, ReadStorage};
use holdpoint_log_format::limits::PIECE_LENGTH;
use holdpoint_log_format::{SegmentHeader, names};
use std::ops::ControlFlow;

/// Writes the same bytes again: after a failed sync the cache holds them, marked clean, and the
/// disk may not.
pub(super) fn rewrite<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    path: &str,
    from: u64,
    until: u64,
) -> DiskResult<()> {
    copy_range(storage, path, from, until, &mut |offset, bytes| {
        write_pieces(storage, writer, &|| path.to_string(), offset, bytes)
    })
}

/// Writes again what a segment holds behind a durable record, up to another one, once it was read
/// and each link proved it. Whoever appends meanwhile does so behind that.
pub(super) fn write_again<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    segment: u64,
    (durable, newest): (u64, u64),
) -> DiskResult<()> {
    let path = segment_path(segment);
    let unread = |error: FollowError| std::io::Error::other(error.to_string());
    let follower = Follower::at_segment(storage, segment).map_err(unread);
    let mut follower = follower.named("read", &path)?;
    let mut from = follower.run.end_offset;
    let walked = follower.catch_up_while(storage, &mut |_, place, record| {
        if record.header.sequence <= durable {
            from = place.offset.saturating_add(place.length);
        }
        match record.header.sequence >= newest {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let walked = walked.and_then(|()| follower.expect(newest)).map_err(unread);
    walked.named("read", &path)?;
    rewrite(storage, writer, &path, from, follower.run.end_offset)
}

/// Copies `from..until` of a segment into `cut/`, durable when this returns, and names the copy.
pub(super) fn copy_aside<S: Storage>(
    storage: &S,
    header: &SegmentHeader,
    from: u64,
    until: u64,
) -> DiskResult<String> {
    let to = free_cut_path(storage, header.first_sequence(), from)?;
    let length = until - from;
    let copy = storage.create(&to, length).named_needing("create", &to, length)?;
    let path = segment_path(header.first_sequence());
    copy_range(storage, &path, from, until, &mut |offset, bytes| {
        storage.write_at(&copy, offset - from, bytes).named("write", &to)
    })?;
    storage.sync(&copy).named("sync", &to)?;
    storage.sync_directory(names::CUT).named("sync", names::CUT)?;
    Ok(to)
}

/// Zeros from `from` to the segment's end.
pub(super) fn overwrite<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    path: &str,
    from: u64,
    capacity: u64,
) -> DiskResult<()> {
    let zeros = vec![0; PIECE_LENGTH];
    let mut at = from;
    while at < capacity {
        let length = usize::try_from(capacity - at).unwrap_or(PIECE_LENGTH).min(PIECE_LENGTH);
        let piece = zeros.get(..length).unwrap_or_default();
        write_pieces(storage, writer, &|| path.to_string(), at, piece)?;
        at += length as u64;
    }
    Ok(())
}

fn copy_range<S: Storage>(
    storage: &S,
    path: &str,
    from: u64,
    until: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> DiskResult<()>,
) -> DiskResult<()> {
    let mut window = open_window(storage, path)?;
    let mut at = from;
    while at < until {
        let length = (until - at).min(PIECE_LENGTH as u64);
        let bytes = window.bytes(at, length).named("read", path)?;
        if bytes.is_empty() {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
                .named("read", path);
        }
        each(at, bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

/// A path in `cut/` that no file has.
pub(super) fn free_cut_path<S: Storage>(
    storage: &S,
    first: u64,
    offset: u64,
) -> DiskResult<String> {
    storage.create_directory(names::CUT).named("create", names::CUT)?;
    storage.sync_directory("").named("sync", ".")?;
    let taken = storage.list(names::CUT).named("list", names::CUT)?;
    let free = (1..=u32::MAX)
        .map(|number| names::cut(first, offset, number))
        .find(|name| taken.iter().all(|entry| entry.name != *name));
    let name = free.ok_or_else(|| std::io::Error::other("every name is taken"));
    Ok(format!("{}/{}", names::CUT, name.named("name a copy in", names::CUT)?))
}

/// A file for reading, from its start.
pub(super) fn open_window<S: Storage>(
    storage: &S,
    path: &str,
) -> DiskResult<Window<<S as ReadStorage>::File>> {
    let opened = storage.open(path).named("open", path)?;
    let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let file = opened.ok_or_else(gone).named("open", path)?;
    file.length().named("read", path)?;
    Window::new(file).named("read", path)
}
