//! Directories of logs.

use crate::error::{Doing, MeasureError};
use holdpoint_log_format::{Head, names};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Copies a directory with everything in it. Holes stay holes.
pub(super) fn copy_directory(from: &Path, to: &Path) -> Result<(), MeasureError> {
    let mut command = std::process::Command::new("cp");
    command.args(["-a", "--sparse=auto", "--"]).arg(from).arg(to);
    let status = command.status().doing("copy a log")?;
    if status.success() { Ok(()) } else { Err(status).doing("copy a log") }
}

/// Bytes on the disk of a log's segments, what is reserved behind the newest record left out.
pub(super) fn segment_bytes(log: &Path) -> Result<u64, MeasureError> {
    let head = std::fs::read(log.join(names::HEAD)).doing("read HEAD")?;
    let head = Head::decode(&head).doing("read HEAD")?;
    let is_sealed =
        |name: &str| names::parse_segment(name).is_some_and(|first| first != head.segment);
    Ok(bytes_of(&log.join(names::SEGMENTS), is_sealed)? + head.end_offset)
}

/// First sequence and length in bytes of each segment's file, in order.
pub(super) fn segments(log: &Path) -> Result<Vec<(u64, u64)>, MeasureError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(log.join(names::SEGMENTS)).doing("list a directory")? {
        let entry = entry.doing("list a directory")?;
        if let Some(first) = names::parse_segment(&entry.file_name().to_string_lossy()) {
            found.push((first, entry.metadata().doing("ask for a file")?.len()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Bytes on the disk of the indexes of a log's segments.
pub(super) fn index_bytes(log: &Path) -> Result<u64, MeasureError> {
    bytes_of(&log.join(names::SEGMENTS), |name| names::parse_index(name).is_some())
}

fn bytes_of(directory: &Path, wants: impl Fn(&str) -> bool) -> Result<u64, MeasureError> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory).doing("list a directory")? {
        let entry = entry.doing("list a directory")?;
        if wants(&entry.file_name().to_string_lossy()) {
            sum += entry.metadata().doing("ask for a file")?.blocks() * 512;
        }
    }
    Ok(sum)
}
