//! The floor of an append that is written: the same hashes, checksum and write, into a file in the
//! same state as a log's active segment.

use super::footprint;
use crate::error::{Doing, MeasureError};
use crate::pace::{Pace, repeat};
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, SEGMENT_CAPACITY_USUAL_MAX};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::{Flags, Link, LinkPrefix, LogId};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where a link lies in a record's header.
const LINK_AT: usize = 32;
/// What a checksum covers begins here: behind itself.
const CHECKED_FROM: usize = 8;

/// One record after the other, into files that are begun anew when they are full.
pub(super) fn writing(plan: &Plan, payload: usize) -> Work {
    let (directory, pace) = (plan.directory.clone(), plan.pace());
    let mut record = vec![0; footprint(payload)];
    let payload = vec![0xa5; payload];
    let mut link = Link::genesis(LogId([1; 16]));
    let mut file: Option<Reserved> = None;
    Box::new(move || {
        let file = match &mut file {
            Some(file) => file,
            none => none.insert(Reserved::new(&directory)?),
        };
        file.round(pace, &mut record, &mut |record| {
            link = hashed(black_box(&payload), &link);
            fill(record, &payload, &link);
        })
    })
}

fn hashed(payload: &[u8], previous: &Link) -> Link {
    let (log, digest) = (LogId([1; 16]), payload_digest(payload));
    LinkPrefix::new(log, 7, 1, Flags::NONE, &digest).link(previous, 0, 1, 1)
}

/// The record's bytes: the link, the payload, and a checksum over both.
fn fill(record: &mut [u8], payload: &[u8], link: &Link) {
    if let Some(place) = record.get_mut(RECORD_HEADER_LENGTH..RECORD_HEADER_LENGTH + payload.len())
    {
        place.copy_from_slice(payload);
    }
    if let Some(place) = record.get_mut(LINK_AT..RECORD_HEADER_LENGTH) {
        place.copy_from_slice(&link.0);
    }
    let checksum = crc32fast::hash(record.get(CHECKED_FROM..).unwrap_or_default());
    if let Some(place) = record.get_mut(4..CHECKED_FROM) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
}

/// A file whose space is reserved and was never written, as large as a segment.
struct Reserved {
    directory: PathBuf,
    file: File,
    offset: u64,
}

impl Reserved {
    fn new(directory: &Path) -> Result<Self, MeasureError> {
        let file = tempfile::tempfile_in(directory).doing("make a file")?;
        match fallocate(&file, FallocateFlags::empty(), 0, SEGMENT_CAPACITY_USUAL_MAX) {
            // Where space cannot be reserved, a segment is a file of that length.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                file.set_len(SEGMENT_CAPACITY_USUAL_MAX).doing("make a file")?;
            }
            reserved => reserved.doing("reserve space")?,
        }
        Ok(Self { directory: directory.to_path_buf(), file, offset: 0 })
    }

    /// What is written is synced behind the round, as closing a log does.
    fn round(
        &mut self,
        pace: Pace,
        record: &mut [u8],
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Sample, MeasureError> {
        let sample = repeat(pace, || {
            fill(record);
            self.write(record)
        })?;
        self.file.sync_data().doing("sync a file")?;
        Ok(sample)
    }

    fn write(&mut self, record: &[u8]) -> Result<(), MeasureError> {
        let length = record.len() as u64;
        if self.offset + length > SEGMENT_CAPACITY_USUAL_MAX {
            *self = Self::new(&self.directory)?;
        }
        self.file.write_all_at(record, self.offset).doing("write a file")?;
        self.offset += length;
        Ok(())
    }
}
