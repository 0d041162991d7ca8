//! The active segment: where the next record goes, and what is staged for it.

use super::batch::{NewRecord, PreparedBatch, claim};
use super::error::{PoisonCause, there_are};
use super::name_fault::NameState;
use super::segment_lock::LockedFile;
use super::storage::{Storage, WriteFile};
use super::unhashed::Unhashed;
use super::zeros::Zeros;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{FileId, Follower, ReadFile, Run};
use holdpoint_log_format::limits::{PAGE, PIECE_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::{ChainPosition, RecordHeader, SegmentHeader};
use std::io;
use std::sync::Arc;

/// Staging buffers larger than this are given back once they are written.
const STAGING_KEPT: usize = PIECE_LENGTH;

/// The system is let begin to write a segment to the disk in stretches that end at multiples of
/// this many bytes. With 1 MiB and with 4 MiB the sync of 64 MiB that were written at the pace of
/// appends took less than a tenth of what it took without (0.3 and 2 ms, and 32 ms); 256 KiB made
/// the calls wait for the disk.
const WRITE_OUT_LENGTH: u64 = 1 << 20;

/// A failed call on the disk.
#[derive(Debug)]
pub(super) struct DiskError {
    pub(super) operation: &'static str,
    pub(super) file: String,
    pub(super) source: io::Error,
    /// Bytes that the call asked for, when it failed for want of space.
    pub(super) needed: u64,
}

pub(super) type DiskResult<T> = Result<T, DiskError>;

/// Returns whether space is what a call lacked.
pub(crate) fn is_full(error: &io::Error) -> bool {
    let kinds =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    kinds.contains(&error.kind())
}

/// Names the call that failed.
pub(super) trait IoContext<T>: Sized {
    /// A call that makes or changes `needed` bytes.
    fn named_needing(self, operation: &'static str, file: &str, needed: u64) -> DiskResult<T>;

    fn named(self, operation: &'static str, file: &str) -> DiskResult<T> {
        self.named_needing(operation, file, PAGE)
    }

    /// Does the same as [`IoContext::named`], where the file's name is not at hand and a failure is
    /// rare.
    fn named_as(self, operation: &'static str, file: impl FnOnce() -> String) -> DiskResult<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn named_needing(self, operation: &'static str, file: &str, needed: u64) -> DiskResult<T> {
        self.map_err(|source| DiskError { operation, file: file.to_string(), source, needed })
    }

    fn named_as(self, operation: &'static str, file: impl FnOnce() -> String) -> DiskResult<T> {
        self.map_err(|source| DiskError { operation, file: file(), source, needed: PAGE })
    }
}

impl DiskError {
    /// Returns whether space was missing before anything was changed. A sync or a rename that fails
    /// for want of space has failed like any other: what is durable is then unknown.
    pub(super) fn is_full(&self) -> bool {
        if ["sync", "rename"].contains(&self.operation) {
            return false;
        }
        is_full(&self.source)
    }

    /// Returns the disk's answer; of a full disk also the bytes that the call asked for, and those
    /// that are free.
    pub(super) fn with_room(self, free: Option<u64>) -> io::Error {
        let Self { source, needed, .. } = self;
        if !is_full(&source) {
            return source;
        }
        let kind = source.kind();
        io::Error::new(kind, format!("{source}: it needs {needed} bytes{}", there_are(free)))
    }

    pub(super) fn cause(&self) -> PoisonCause {
        let message = self.source.to_string();
        PoisonCause { operation: self.operation, file: self.file.clone(), message }
    }
}

/// A record's place, for HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) chain: ChainPosition,
    pub(super) segment: u64,
    pub(super) record_offset: u64,
    pub(super) end_offset: u64,
}

impl Point {
    /// The place of the newest record of `run`, which is in the segment of `header`.
    pub(super) fn of(header: &SegmentHeader, run: &Run) -> Self {
        Self {
            chain: run.chain,
            segment: header.first_sequence(),
            record_offset: run.record_offset,
            end_offset: run.end_offset,
        }
    }
}

/// The segment that is appended to.
#[derive(Debug)]
pub(super) struct Active<W: WriteFile> {
    /// The header and the newest record that is hashed, staged ones included.
    pub(super) follower: Follower,
    /// Records that were appended behind that one.
    unhashed: Unhashed,
    /// Shared with whoever syncs while others append.
    pub(super) writer: Arc<W>,
    /// Which file that is, once it was asked for.
    id: Option<FileId>,
    /// Encoded records that are not written yet; the unhashed ones lack their headers.
    staged: Vec<u8>,
    /// The newest record that is written.
    written: Follower,
    /// Space behind the records.
    pub(super) zeros: Zeros,
    /// Offset before which the system was let begin to write to the disk.
    written_out: u64,
    /// Lock of the writer's file, while the log's lock is held.
    pub(super) lock: Option<LockedFile<W>>,
}

impl<W: WriteFile> Active<W> {
    /// The segment of a locked file.
    pub(super) fn new(follower: Follower, lock: LockedFile<W>) -> Self {
        let written = follower.clone();
        let zeros = Zeros::behind(follower.run.end_offset);
        let writer = Arc::clone(lock.file());
        let (unhashed, staged) = (Unhashed::default(), Vec::new());
        let (lock, written_out) = (Some(lock), follower.run.end_offset);
        Self { follower, unhashed, writer, id: None, staged, written, zeros, written_out, lock }
    }

    /// Returns whether a file holds the place from which this handle goes on: the segment's header,
    /// and the newest record that was read.
    pub(super) fn is_at_place_in(&self, file: &W) -> bool {
        let Follower { header: own, run } = &self.follower;
        let header = bytes_at(file, 0).and_then(|it| SegmentHeader::decode(&it).ok());
        if header.is_none_or(|it| (it.log, it.previous) != (own.log, own.previous)) {
            return false;
        }
        let newest = || bytes_at(file, run.record_offset).map(|it| RecordHeader::decode(&it));
        run.record_offset == 0
            || matches!(newest(), Some(Ok(it)) if ChainPosition::of(&it) == run.chain)
    }

    /// Checks that the segment's name stands for its file, which is whole.
    pub(super) fn check_file<S: Storage<Writer = W>>(&mut self, storage: &S) -> DiskResult<()> {
        let path = self.path();
        if self.id.is_none() {
            self.id = storage.id_of(&self.writer).named("look at", &path)?;
        }
        let Some(expected) = self.id else { return Ok(()) };
        let now = storage.name_state(&path).named("look at", &path)?;
        let checked = NameState::check(now, expected, self.header().capacity);
        checked.map_err(io::Error::from).named("rely on", &path)
    }

    /// Returns whether the open file is this segment's and holds a record: nobody who writes to a
    /// log puts another file in its place.
    pub(super) fn holds_a_record(&self) -> bool {
        let header = bytes_at(&*self.writer, 0).and_then(|it| SegmentHeader::decode(&it).ok());
        let first = bytes_at(&*self.writer, SEGMENT_HEADER_LENGTH as u64);
        header.is_some_and(|it| it.first_sequence() == self.header().first_sequence())
            && first.is_some_and(|size: [u8; 4]| size != [0; 4])
    }

    /// Catching up has led into another file.
    pub(super) fn goes_on_in(&mut self, writer: W) {
        self.writer = Arc::new(writer);
        self.id = None;
        self.zeros = Zeros::behind(self.follower.run.end_offset);
        self.written_out = self.follower.run.end_offset;
    }

    /// The newest record that is hashed: the newest appended one behind [`Active::hash_staged`].
    pub(super) fn chain(&self) -> ChainPosition {
        self.follower.run.chain
    }

    /// Sequence of the newest appended record.
    pub(super) fn sequence(&self) -> u64 {
        self.chain().sequence + self.unhashed.count()
    }

    /// Its time.
    pub(super) fn time(&self) -> u64 {
        self.unhashed.time().unwrap_or(self.chain().time)
    }

    /// Offset behind it.
    pub(super) fn end_offset(&self) -> u64 {
        self.follower.run.end_offset + self.unhashed.bytes()
    }

    /// The newest record that is written: behind the appended ones while some are staged.
    pub(super) fn written(&self) -> Follower {
        if self.staged.is_empty() { self.follower.clone() } else { self.written.clone() }
    }

    pub(super) fn path(&self) -> String {
        segment_path(self.header().first_sequence())
    }

    pub(super) fn header(&self) -> &SegmentHeader {
        &self.follower.header
    }

    /// Returns whether the segment holds no record.
    pub(super) fn is_empty(&self) -> bool {
        self.sequence() == self.header().previous.sequence
    }

    /// Returns whether a batch of `footprint` bytes and the seal still fit.
    pub(super) fn has_room(&self, footprint: u64) -> bool {
        self.end_offset().saturating_add(footprint) <= self.header().records_end()
    }

    /// Returns whether what is staged and a batch of `footprint` bytes are more than one piece:
    /// what is staged is then written before, so that it takes one call.
    pub(super) fn is_piece_full(&self, footprint: u64) -> bool {
        let staged = self.staged.len() as u64;
        let start = self.end_offset() - staged;
        staged > 0 && staged + footprint > PIECE_LENGTH as u64 - start % PAGE
    }

    pub(super) fn point(&self) -> Point {
        Point::of(self.header(), &self.follower.run)
    }

    /// The newest record's place; `None` while the segment holds none.
    pub(super) fn newest_point(&self) -> Option<Point> {
        (!self.is_empty()).then(|| self.point())
    }

    /// Stages a batch, and steps behind it.
    pub(super) fn stage(&mut self, batch: &PreparedBatch<'_>, time: u64, durable: u64) {
        self.hash_staged();
        let (seed, before) = (self.header().seed(), self.chain());
        let (chain, last_offset) = batch.encode(&mut self.staged, seed, &before, time, durable);
        let start = self.follower.run.end_offset;
        self.follower.run = Run::from(chain, start + last_offset, start + batch.footprint);
    }

    /// Stages a record that is hashed when its link is asked for, or when it is written.
    pub(super) fn stage_unhashed(&mut self, record: &NewRecord, time: u64, durable: u64) {
        let unsynced = claim(self.sequence(), durable);
        self.unhashed.stage(&mut self.staged, record, unsynced, time);
    }

    /// Makes the hashes that are still to be made.
    pub(super) fn hash_staged(&mut self) {
        if !self.unhashed.is_empty() {
            let (log, seed) = (self.header().log, self.header().seed());
            let run = self.unhashed.hash(&mut self.staged, &self.follower.run, log, seed);
            self.follower.run = run;
        }
    }

    /// Returns whether what is staged is to be written now.
    pub(super) fn is_piece_staged(&self) -> bool {
        self.staged.len() >= PIECE_LENGTH
    }

    /// Forgets what is staged: the handle has failed.
    pub(super) fn discard_staged(&mut self) {
        self.staged.clear();
        self.unhashed.clear();
    }

    /// Writes what is staged, in order, in pieces that end at a page of the file or at the end.
    pub(super) fn write_staged<S: Storage<Writer = W>>(&mut self, storage: &S) -> DiskResult<()> {
        if self.staged.is_empty() {
            return Ok(());
        }
        self.hash_staged();
        let start = self.end_offset() - self.staged.len() as u64;
        write_pieces(storage, self.locked()?, &|| self.path(), start, &self.staged)?;
        self.staged.clear();
        self.staged.shrink_to(STAGING_KEPT);
        self.written.clone_from(&self.follower);
        self.begin_write_out(storage)
    }

    /// Lets the system begin with every whole stretch that was written. A segment is synced before
    /// the next one begins, and whoever appends then would wait for all of it at once. No page is
    /// part of two stretches, so that nothing is written to one on its way.
    fn begin_write_out<S: Storage<Writer = W>>(&mut self, storage: &S) -> DiskResult<()> {
        let end = self.end_offset() - self.end_offset() % WRITE_OUT_LENGTH;
        if let Some(length) = end.checked_sub(self.written_out).filter(|length| *length > 0) {
            storage.begin_write_out(self.locked()?, self.written_out, length);
            self.written_out = end;
        }
        Ok(())
    }

    /// The file, for a write: nothing is written without its lock.
    pub(super) fn locked(&self) -> DiskResult<&W> {
        let missing = || io::Error::other("this process does not hold the segment's lock");
        let lock = self.lock.as_ref().ok_or_else(missing).named_as("write", || self.path())?;
        Ok(lock.file())
    }

    /// A sync is next: counts it, and writes the zeros that the commits after it will want.
    pub(super) fn write_zeros<S: Storage<Writer = W>>(&mut self, storage: &S) -> DiskResult<()> {
        let (end, capacity) = (self.end_offset(), self.header().capacity);
        let Some(due) = self.zeros.due(end, capacity) else { return Ok(()) };
        let written = storage.write_zeros(self.locked()?, due.start, due.end - due.start);
        written.named_as("write", || self.path())
    }
}

/// Writes `bytes` at `start` in pieces of up to 256 KiB, each ending at a multiple of 4 096 in the
/// file or at the end of the bytes: what a killed process leaves is then always a prefix that ends
/// at such a multiple.
pub(super) fn write_pieces<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    path: &dyn Fn() -> String,
    start: u64,
    bytes: &[u8],
) -> DiskResult<()> {
    let mut offset = start;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_length(offset, rest.len()));
        storage.write_at(writer, offset, piece).named_as("write", path)?;
        offset += piece.len() as u64;
        rest = after;
    }
    Ok(())
}

fn piece_length(offset: u64, left: usize) -> usize {
    let to_page_end = PIECE_LENGTH - usize::try_from(offset % PAGE).unwrap_or(0);
    left.min(to_page_end)
}

fn bytes_at<const LENGTH: usize>(file: &impl ReadFile, offset: u64) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let read = file.read_at(offset, &mut bytes).ok()?;
    (read == LENGTH).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_ends_at_a_page_or_at_the_end() {
        for offset in [4_096_u64, 4_104, 8_184, 70_000] {
            let mut at = offset;
            let mut left = 300_000;
            while left > 0 {
                let piece = piece_length(at, left);
                assert!(piece > 0 && piece <= PIECE_LENGTH);
                at += piece as u64;
                left -= piece;
                assert!(left == 0 || at.is_multiple_of(PAGE));
            }
        }
    }
}
