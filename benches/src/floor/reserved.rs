//! The floor of an append that is written: the same hashes, checksum and write, into a file in the
//! same state as a log's active segment.

use super::{RECORDS_AT_ONCE, footprint};
use crate::error::{Doing, MeasureError};
use crate::pace::{Pace, Stopwatch, repeat_until};
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use holdpoint_log_format::limits::{
    PIECE_LENGTH, RECORD_HEADER_LENGTH, SEGMENT_CAPACITY_USUAL_MAX,
};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::{Flags, Link, LinkPrefix, LogId};
use holdpoint_sha256_lanes::digest_each;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Place where a link lies in a record's header.
const LINK_AT: usize = 32;
/// What a checksum covers begins here: behind itself.
const CHECKED_FROM: usize = 8;

/// One record after the other, into files that are begun anew when they are full.
pub(super) fn writing(plan: &Plan, payload: usize) -> Work {
    appending(plan, payload, Batch { records: 1, staged_max: 0 })
}

/// The same, so many records at once, whose payloads are then digested in lanes; written in pieces
/// as large as a log's, the last one when the time ends.
pub(super) fn staging(plan: &Plan, payload: usize, records: usize) -> Work {
    appending(plan, payload, Batch { records, staged_max: PIECE_LENGTH })
}

/// What is hashed at once, and how much is staged until it is written.
#[derive(Clone, Copy)]
struct Batch {
    records: usize,
    staged_max: usize,
}

fn appending(plan: &Plan, payload: usize, batch: Batch) -> Work {
    let (directory, pace) = (plan.directory.clone(), plan.pace());
    let records = batch.records as u64;
    let pace = Pace { records_max: pace.records_max / records, ..pace };
    let (each, payload) = (footprint(payload), vec![0xa5; payload]);
    let mut digests = vec![[0; 32]; batch.records];
    let mut link = Link::genesis(LogId([1; 16]));
    let mut file: Option<Reserved> = None;
    Box::new(move || {
        let file = match &mut file {
            Some(file) => file,
            none => none.insert(Reserved::new(&directory)?),
        };
        let sample = file.round(pace, batch.staged_max, &mut |staged| {
            digest_all(black_box(&payload), &mut digests);
            for digest in &digests {
                link = linked(digest, &link);
                let begins = staged.len();
                staged.resize(begins + each, 0);
                fill(staged.get_mut(begins..).unwrap_or_default(), &payload, &link);
            }
        })?;
        let each = |value: f64| value / records as f64;
        Ok(Sample { value: each(sample.value), cpu: sample.cpu.map(each) })
    })
}

/// The digest of the same payload for each record of a batch: of one alone, or of all in lanes.
fn digest_all(payload: &[u8], digests: &mut [[u8; 32]]) {
    match digests {
        [only] => *only = payload_digest(payload),
        many => digest_each(&[payload; RECORDS_AT_ONCE], many),
    }
}

fn linked(digest: &[u8; 32], previous: &Link) -> Link {
    LinkPrefix::new(LogId([1; 16]), 7, 1, Flags::NONE, digest).link(previous, 0, 1, 1)
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
    /// Room for what is not written yet.
    staged: Vec<u8>,
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
        let (directory, staged) = (directory.to_path_buf(), Vec::new());
        Ok(Self { directory, file, offset: 0, staged })
    }

    /// All that was filled in is in the file when the time ends. It is synced behind the round, as
    /// closing a log does.
    fn round(
        &mut self,
        pace: Pace,
        staged_max: usize,
        fill: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<Sample, MeasureError> {
        let (watch, mut staged) = (Stopwatch::start(), std::mem::take(&mut self.staged));
        let done = repeat_until(pace, &watch, &mut || {
            fill(&mut staged);
            if staged.len() >= staged_max { self.write(&mut staged) } else { Ok(()) }
        })?;
        self.write(&mut staged)?;
        let sample = watch.per(done);
        self.staged = staged;
        self.file.sync_data().doing("sync a file")?;
        Ok(sample)
    }

    /// Writes what is staged.
    fn write(&mut self, staged: &mut Vec<u8>) -> Result<(), MeasureError> {
        let length = staged.len() as u64;
        if self.offset + length > SEGMENT_CAPACITY_USUAL_MAX {
            let begun = Self::new(&self.directory)?;
            (self.file, self.offset) = (begun.file, 0);
        }
        self.file.write_all_at(staged, self.offset).doing("write a file")?;
        self.offset += length;
        staged.clear();
        Ok(())
    }
}
