//! The log without the rules: bytes in, bytes out.

use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store, allocated_bytes};
use holdpoint_engine::log::{Level, Log, NewRecord, Options, Ownership};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    DirectoryStorage, Extent, ReadFile, ReadStorage, SurveyOptions, survey_in_threads,
};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{BootId, Item, names};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The log, owned for as long as it is open.
pub const LOG: Candidate = Candidate {
    is_chained: true,
    remark: "exclusive owner, SHA-256 chain and CRC-32 on every record",
    grow: Some(grow),
    scan,
    scan_checks: true,
    verify,
    disk_bytes,
    ..Candidate::new("Holdpoint", open)
};

/// The same, and every append takes the lock and gives it back: other processes write in between.
pub const SHARED_LOG: Candidate = Candidate {
    is_chained: true,
    remark: "the lock is taken for each turn and given back",
    grow: Some(grow),
    ..Candidate::new("Holdpoint, a lock for each turn", open_shared)
};

/// The time that records carry: a clock is nothing that a log asks.
const CLOCK_NS: u64 = 1_769_356_800_000_000_000;

struct OpenLog {
    log: Log,
    level: Level,
    records: Vec<NewRecord>,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    open_as(Ownership::Exclusive, at, mode, payload)
}

fn open_shared(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    open_as(Ownership::PerTransaction, at, mode, payload)
}

fn open_as(
    ownership: Ownership,
    at: &Path,
    mode: Mode,
    payload: &str,
) -> Result<Box<dyn Store>, MeasureError> {
    let record = NewRecord { kind: 32_775, version: 1, payload: payload.as_bytes().to_vec() };
    let (log, level) = (opened(at, ownership)?, level_of(mode));
    Ok(Box::new(OpenLog { log, level, records: vec![record; 64] }))
}

pub(super) fn level_of(mode: Mode) -> Level {
    match mode {
        Mode::Staged => Level::Staged,
        Mode::Os => Level::Os,
        Mode::Durable => Level::Always,
    }
}

fn opened(at: &Path, ownership: Ownership) -> Result<Log, MeasureError> {
    let options = Options::default().ownership(ownership);
    let (log, _) = Log::open(DirectoryStorage::new(at), options).doing("open the log")?;
    Ok(log)
}

impl Store for OpenLog {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_linked(&self) -> Result<(), MeasureError> {
        self.append()?;
        std::hint::black_box(self.log.position().link);
        Ok(())
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let batch = usize::try_from(records).ok().and_then(|count| self.records.get(..count));
        let batch = batch.ok_or(MeasureError::NotOffered("not so many records at once"))?;
        self.log.append(batch, CLOCK_NS, self.level).map(drop).doing("append")
    }

    fn settle(&self) -> Result<(), MeasureError> {
        if self.level != Level::Staged {
            return Ok(());
        }
        self.log.commit(self.log.position().sequence, Level::Os).doing("write what is staged")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        self.log.close().doing("close the log")
    }
}

/// Segments double from one to the next: a log that has grown has them at their usual size.
fn grow(at: &Path, bytes: u64) -> Result<(), MeasureError> {
    let records = vec![NewRecord { kind: 32_775, version: 1, payload: vec![0xa5; 64 << 10] }];
    let log = opened(at, Ownership::Exclusive)?;
    for _ in 0..bytes / (64 << 10) {
        log.append(&records, CLOCK_NS, Level::Os).doing("append")?;
    }
    log.close().doing("close the log")
}

/// Every frame in order, its checksum checked: what the others that scan do. The chain is for
/// [`verify`].
fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let storage = DirectoryStorage::new(at);
    let mut seen = 0;
    while let Some(segment) = storage.open(&segment_path(seen + 1)).doing("open a segment")? {
        let more = scan_segment(segment).doing("read the log")?;
        seen += more;
        if more == 0 {
            break;
        }
    }
    all_seen(seen, records)
}

/// Counts the records a segment has.
fn scan_segment(segment: impl ReadFile) -> io::Result<u64> {
    let mut window = Window::new(segment)?;
    let header = window.header()?.map_err(io::Error::other)?;
    let (mut seen, mut offset) = (0, SEGMENT_HEADER_LENGTH as u64);
    while let Ok((Item::Record(record), length)) = window.item(offset, &header)? {
        std::hint::black_box(record.payload);
        (seen, offset) = (seen + 1, offset + length);
    }
    Ok(seen)
}

/// Every byte: headers, checksums, chain, seals, marks, and the tail.
fn verify(at: &Path, records: u64, threads: usize) -> Result<(), MeasureError> {
    let options = SurveyOptions::new(Extent::FromAnchor, BootId::UNKNOWN);
    let storage = DirectoryStorage::new(at);
    let surveyed = survey_in_threads(&storage, options, threads, &|_, _| (), &mut |_, _, ()| {});
    let surveyed = surveyed.doing("verify the log")?;
    if let Some(finding) = surveyed.findings.first() {
        return Err(format!("{finding:?}")).doing("verify the log");
    }
    all_seen(surveyed.records, records)
}

fn all_seen(seen: u64, records: u64) -> Result<(), MeasureError> {
    if seen < records {
        Err(format!("{seen} of {records} records")).doing("read all")
    } else {
        Ok(())
    }
}

/// Returns what is allocated, without the zeros behind the newest record.
fn disk_bytes(at: &Path) -> Result<u64, MeasureError> {
    let segments = std::fs::read_dir(at.join(names::SEGMENTS)).doing("list the segments")?;
    let mut paths = Vec::new();
    for entry in segments {
        paths.push(entry.doing("list the segments")?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    paths.sort();
    let newest = paths.last().ok_or("there is none").doing("find the newest segment")?;
    let reserved = File::open(newest).doing("open the newest segment")?;
    let allocated = reserved.metadata().doing("ask for the newest segment")?.blocks() * 512;
    let unwritten = allocated.saturating_sub(written_end(&reserved, allocated)?);
    Ok(allocated_bytes(&at.join(names::SEGMENTS))? - unwritten)
}

/// The offset behind the last byte that is not zero.
fn written_end(file: &File, length: u64) -> Result<u64, MeasureError> {
    const STEP: u64 = 64 << 10;
    let mut block = vec![0; 64 << 10];
    for start in (0..length).step_by(64 << 10).collect::<Vec<_>>().into_iter().rev() {
        let read = FileExt::read_at(file, &mut block, start).doing("read the newest segment")?;
        let written = block.get(..read).unwrap_or_default();
        if let Some(last) = written.iter().rposition(|byte| *byte != 0) {
            return Ok(start.min(length.next_multiple_of(STEP)) + last as u64 + 1);
        }
    }
    Ok(0)
}
