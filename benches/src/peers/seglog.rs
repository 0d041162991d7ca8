//! seglog: segments of a fixed size, rolled by whoever uses them.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use seglog::read::Reader;
use seglog::write::{WriteError, Writer};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "segments of 64 MiB, a commit marker for each commit; CRC-32C; one writer at a time",
    scan,
    scan_checks: true,
    ..Candidate::new("seglog 0.3.6", open)
};

const SEGMENT_BYTES: usize = 64 << 20;

struct OpenLog {
    segments: Mutex<Segments>,
    payload: Vec<u8>,
    mode: Mode,
}

struct Segments {
    at: PathBuf,
    number: u32,
    writer: Writer<0>,
    position: u64,
}

fn path(at: &Path, number: u32) -> PathBuf {
    at.join(format!("{number:08}.seg"))
}

/// Numbers of the segments that are there.
fn numbers(at: &Path) -> impl Iterator<Item = u32> {
    (0..).take_while(move |number| path(at, *number).exists())
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    std::fs::create_dir_all(at).doing("make a directory")?;
    let last = numbers(at).last();
    let number = last.unwrap_or(0);
    let writer = match last {
        Some(_) => Writer::open(path(at, number), SEGMENT_BYTES, 0).doing("open")?,
        None => Writer::create(path(at, number), SEGMENT_BYTES, 0).doing("create")?,
    };
    let position = writer.last_committed_position().unwrap_or(0);
    let segments = Mutex::new(Segments { at: at.to_path_buf(), number, writer, position });
    Ok(Box::new(OpenLog { segments, payload: payload.as_bytes().to_vec(), mode }))
}

impl Segments {
    /// Room for the records and the marker behind them.
    fn make_room(&mut self, bytes: u64) -> Result<(), MeasureError> {
        const MARKER_BYTES: u64 = 32;
        if self.writer.remaining_bytes() > bytes + MARKER_BYTES {
            return Ok(());
        }
        self.writer.commit(self.position).doing("commit")?;
        self.number += 1;
        let next = path(&self.at, self.number);
        self.writer = Writer::create(next, SEGMENT_BYTES, 0).doing("create")?;
        Ok(())
    }

    fn append(&mut self, payload: &[u8], records: u64) -> Result<(), MeasureError> {
        self.make_room(records * (payload.len() as u64 + 8))?;
        let append = |_| self.writer.append_data(payload).map(drop);
        (0..records).try_for_each(append).map_err(|error: WriteError| error).doing("append")?;
        self.position += records;
        Ok(())
    }
}

impl Store for OpenLog {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut segments = self.segments.lock().map_err(|_| "poisoned").doing("append")?;
        segments.append(&self.payload, records)?;
        let position = segments.position;
        match self.mode {
            Mode::Staged => Ok(()),
            Mode::Os => segments.writer.flush_writer().doing("flush"),
            Mode::Durable => segments.writer.commit(position).map(drop).doing("commit"),
        }
    }

    fn settle(&self) -> Result<(), MeasureError> {
        let mut segments = self.segments.lock().map_err(|_| "poisoned").doing("flush")?;
        segments.writer.flush_writer().doing("flush")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let mut segments = self.segments.lock().map_err(|_| "poisoned").doing("close")?;
        let position = segments.position;
        segments.writer.commit(position).map(drop).doing("commit")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let mut seen = 0;
    for number in numbers(at) {
        let mut reader = Reader::<0>::open_read_only(path(at, number), None).doing("open")?;
        let mut entries = reader.iter(0);
        while let Some(record) = entries.next_record().doing("read")? {
            black_box(record.data.as_ref());
            seen += 1;
        }
    }
    all_seen(seen, records)
}
