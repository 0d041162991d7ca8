//! The output of a command on its way to the log while the command runs.
//!
//! Pieces go through a bounded queue to a thread that records them, so that neither a timeout nor a
//! signal waits for the disk. Where the queue is full, the pipes are not read, and the command
//! waits as it would at a full pipe. The thread begins with the first pieces that are due before
//! the command ends: what a short command prints is recorded with its end.
//!
//! Snapshots of the command's processes ride in the batch of the pieces that come next, so that
//! they cost no sync. Of a command that prints nothing more they are recorded with its end.

use super::engine::Engine;
use super::error::SubmitError;
use super::governed::Runner;
use super::instruction::nanoseconds;
use super::outcome::exit_status;
use super::run::RunError;
use super::run_seat::{RunSeat, StepOutcome as Kept, Sync};
use super::submit::{Origin, Submitted};
use crate::executor::{
    CapturedOutput, ExecuteError, ExecutionReport, OpenedProgram, OutputSink,
    OutputStream as Stream, Piece, PieceRecorder, PieceRecording, ProcessSnapshot, SNAPSHOTS_MAX,
    SignalSource, execute_recorded,
};
use crate::log::{Room, Storage};
use crate::sync::{Condvar, Mutex};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureCommand, MAX_PIECES_PER_COMMAND, MAX_SNAPSHOTS_PER_ATTEMPT, OutputGap,
    OutputPiece, OutputStream, RecordOutput, ResourceSnapshot,
};
use holdpoint_domain::execution_loop::OnFull;
use holdpoint_domain::{Command, Time};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::Scope;
use std::time::Duration;

/// So many bytes wait at most for whoever records them.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// So many bytes are recorded at once, or one piece more.
const BATCH_BYTES: usize = 1024 * 1024;
/// Time that a byte of output is held back at most, where nobody says otherwise.
pub(super) const FLUSH: Duration = Duration::from_millis(500);

const _: () = assert!(SNAPSHOTS_MAX <= MAX_SNAPSHOTS_PER_ATTEMPT);

/// Options for recording the output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Time that a byte is held back at most before it is recorded.
    pub flush: Duration,
    /// Fate of the command where the disk is full.
    pub on_full: OnFull,
}

impl Default for Recording {
    fn default() -> Self {
        Self { flush: FLUSH, on_full: OnFull::Stop }
    }
}

/// Recorder of output: which output it is, and who records it.
pub(super) struct Recorder<'r, 'a, S: Storage> {
    engine: &'r Engine<S>,
    seat: &'r RunSeat<'a, S>,
    origin: Origin,
    loop_id: String,
    attempt: u8,
    on_full: OnFull,
    /// Recorded part of each stream.
    streams: [Extent; 2],
    /// Snapshots that are recorded with the next pieces.
    snapshots: Vec<ResourceSnapshot>,
    given_up: GivenUp,
    is_full: bool,
    /// Time at which its pieces are durable: at once while the command runs, and then with its end.
    sync: Sync,
}

impl<'r, 'a, S: Storage> Recorder<'r, 'a, S> {
    /// For an attempt that begins.
    pub(super) fn new(
        (engine, seat): (&'r Engine<S>, &'r RunSeat<'a, S>),
        (loop_id, attempt): (&str, u8),
        origin: &Origin,
        on_full: OnFull,
    ) -> Self {
        let (loop_id, origin) = (loop_id.to_string(), origin.clone());
        Self {
            engine,
            seat,
            origin,
            loop_id,
            attempt,
            on_full,
            streams: [Extent::default(); 2],
            snapshots: Vec::new(),
            given_up: GivenUp::default(),
            is_full: false,
            sync: Sync::Now,
        }
    }

    /// The last record that it made, or the one before all of them; and the bytes that were given
    /// up.
    fn told(&mut self) -> (Option<u64>, GivenUp) {
        (self.origin.causation, std::mem::take(&mut self.given_up))
    }

    /// Records pieces, durable on return while the command runs. Where nothing takes them they are
    /// given up, and the next ones say what is missing.
    fn record(&mut self, pieces: Vec<Piece>) -> Result<(), RunError> {
        let mut pieces = VecDeque::from(pieces);
        while !pieces.is_empty() {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while bytes < BATCH_BYTES
                && batch.len() < MAX_PIECES_PER_COMMAND
                && let Some(piece) = pieces.pop_front()
            {
                bytes = piece.bytes.len().saturating_add(bytes);
                batch.push(piece);
            }
            self.record_batch(batch)?;
        }
        Ok(())
    }

    /// Takes snapshots that are recorded with the next pieces.
    fn take_snapshots(&mut self, taken: Vec<ProcessSnapshot>) {
        let attempt = self.attempt;
        self.snapshots.extend(taken.into_iter().map(|snapshot| ResourceSnapshot {
            attempt,
            taken_at: Time::from_nanoseconds(snapshot.wall_ns),
            ran_ns: nanoseconds(snapshot.ran),
            processes: snapshot.processes,
            resident_bytes: snapshot.resident_bytes,
            user_cpu_ns: nanoseconds(snapshot.user_cpu),
            system_cpu_ns: nanoseconds(snapshot.system_cpu),
        }));
    }

    /// Records what is left of a command that is over: its last pieces, and the snapshots that no
    /// piece has followed.
    fn record_rest(&mut self, rest: Vec<Piece>) -> Result<(), RunError> {
        self.sync = Sync::Later;
        self.record(rest)?;
        match self.snapshots.is_empty() {
            true => Ok(()),
            false => self.record_batch(Vec::new()),
        }
    }

    fn record_batch(&mut self, batch: Vec<Piece>) -> Result<(), RunError> {
        let mut streams = self.streams;
        let pieces: Vec<_> = batch.into_iter().map(|piece| placed(piece, &mut streams)).collect();
        let ranges: Vec<_> = pieces.iter().map(GivenUpRange::of).collect();
        let snapshots = self.snapshots.clone();
        let command =
            Command::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(RecordOutput {
                loop_id: self.loop_id.clone(),
                entropy: self.engine.entropy()?,
                attempt: self.attempt,
                pieces,
                snapshots,
            }));
        match self.submit(&command) {
            Ok(newest) => {
                self.origin.causation = newest;
                self.streams = streams;
                self.snapshots.clear();
                self.is_full = false;
                Ok(())
            }
            Err(RunError::Submit(error)) if error.is_of_log() => {
                self.is_full = error.is_full();
                let is_full = self.is_full;
                ranges.into_iter().for_each(|range| self.given_up.take(range, is_full));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// On the log, or in the run's own file while somebody else keeps the log's lock. The newest
    /// record on the log.
    fn submit(&self, command: &Command) -> Result<Option<u64>, RunError> {
        let proof = self.engine.core().identity.proof_of(&self.origin.actor);
        let recorded =
            self.seat.record(Room::BesideReserved, (&self.origin, proof), command, self.sync)?;
        let submitted = match recorded {
            Kept::InFile => return Ok(self.origin.causation),
            Kept::OnLog { submitted, .. } => submitted,
        };
        match submitted {
            Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => {
                Ok(Some(receipt.last_sequence))
            }
            Submitted::Refused(refusal) => Err(RunError::Refused(refusal)),
        }
    }
}

/// So many ranges that were given up are told one by one.
const GIVEN_UP_RANGES_MAX: usize = 256;

/// Output that was given up because neither the log nor the run's own file took it.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenUp {
    /// Number of bytes.
    pub(super) bytes: u64,
    /// The first of them for which the disk had no room, in the order in which they were given up.
    pub(super) ranges: Vec<GivenUpRange>,
}

/// Bytes of a stream that were given up.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct GivenUpRange {
    stream: OutputStream,
    offset: u64,
    length: u64,
}

impl GivenUpRange {
    fn of(piece: &OutputPiece) -> Self {
        let length = piece.raw_data.len() as u64;
        Self { stream: piece.stream, offset: piece.offset, length }
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl GivenUp {
    fn take(&mut self, range: GivenUpRange, is_full: bool) {
        self.bytes = self.bytes.saturating_add(range.length);
        // Of what is not listed nobody says why it is missing.
        if !is_full {
            return;
        }
        let is_full = self.ranges.len() >= GIVEN_UP_RANGES_MAX;
        let newest = self.ranges.iter_mut().rev().find(|it| it.stream == range.stream);
        match newest.filter(|it| it.end() == range.offset) {
            Some(before) => before.length = before.length.saturating_add(range.length),
            None if is_full => {}
            None => self.ranges.push(range),
        }
    }
}

/// Recorded part of a stream.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Place where the next piece begins, unless something is missing before it.
    end: u64,
    /// Number of bytes there are.
    kept: u64,
    /// Number of them that are the beginning of the stream.
    head: u64,
}

impl Extent {
    /// Says of a stream what is on record of it.
    const fn tell(self, captured: &mut CapturedOutput) {
        (captured.kept_length, captured.head_length) = (self.kept, self.head);
        captured.truncated = self.kept < captured.true_length;
    }
}

/// The piece as the rules take it, behind what was recorded of its stream.
fn placed(piece: Piece, streams: &mut [Extent; 2]) -> OutputPiece {
    let [stdout, stderr] = streams;
    let (stream, known) = match piece.stream {
        Stream::Stdout => (OutputStream::Stdout, stdout),
        Stream::Stderr => (OutputStream::Stderr, stderr),
    };
    let (length, bytes) = (piece.offset.saturating_sub(known.end), piece.bytes.len() as u64);
    known.end = piece.offset.saturating_add(bytes);
    known.kept = known.kept.saturating_add(bytes);
    if known.head == piece.offset {
        known.head = known.end;
    }
    let running_sha256 = Digest::from_bytes(piece.running_sha256);
    let gap = OutputGap { length, running_sha256 };
    OutputPiece {
        stream,
        offset: piece.offset,
        first_byte_at: Time::from_nanoseconds(piece.first_byte_ns),
        raw_data: piece.bytes,
        gap: (piece.is_beyond || length > 0).then_some(gap),
    }
}

/// State that the executor and the thread share.
struct PieceQueue {
    pieces: VecDeque<Piece>,
    /// Snapshots that wait for the next pieces.
    snapshots: Vec<ProcessSnapshot>,
    bytes: usize,
    is_closed: bool,
    is_full_disk: bool,
    failure: Option<RunError>,
}

struct RecorderState {
    queue: Mutex<PieceQueue>,
    filled: Condvar,
    /// Written to when there is room again; read from by the executor.
    wake: (OwnedFd, OwnedFd),
}

impl RecorderState {
    fn new() -> io::Result<Self> {
        let wake = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let queue = PieceQueue {
            pieces: VecDeque::new(),
            snapshots: Vec::new(),
            bytes: 0,
            is_closed: false,
            is_full_disk: false,
            failure: None,
        };
        Ok(Self { queue: Mutex::new(queue), filled: Condvar::new(), wake })
    }

    /// The next pieces, once there are any, and the snapshots taken by then; `None`: no more come.
    fn next(&self) -> Option<(Vec<Piece>, Vec<ProcessSnapshot>)> {
        let mut queue = self.queue.lock();
        while queue.pieces.is_empty() && !queue.is_closed {
            self.filled.wait(&mut queue);
        }
        let (mut batch, mut bytes) = (Vec::new(), 0_usize);
        while bytes < BATCH_BYTES
            && batch.len() < MAX_PIECES_PER_COMMAND
            && let Some(piece) = queue.pieces.pop_front()
        {
            bytes = bytes.saturating_add(piece.bytes.len());
            batch.push(piece);
        }
        (!batch.is_empty()).then(|| (batch, std::mem::take(&mut queue.snapshots)))
    }

    /// Pieces are recorded, or given up: there is room for others.
    fn done(&self, bytes: usize, is_full_disk: bool, failure: Option<RunError>) {
        let mut queue = self.queue.lock();
        queue.bytes = queue.bytes.saturating_sub(bytes);
        queue.is_full_disk |= is_full_disk;
        if failure.is_some() {
            queue.pieces.clear();
            (queue.bytes, queue.failure) = (0, failure);
        }
        drop(queue);
        // A pipe that is full wakes as well as one that takes another byte.
        let _ = rustix::io::write(&self.wake.1, &[0]);
    }
}

impl<S: Storage> Recorder<'_, '_, S> {
    /// Records the output of what `execute` executes while it runs, and what is left of it behind
    /// that: before anything is said of it. Beside what `execute` gave, whether all is on record.
    pub(super) fn recording<T>(
        &mut self,
        execute: impl FnOnce(&mut dyn PieceRecorder) -> T,
    ) -> Result<(T, Result<(), RunError>), RunError> {
        let shared = RecorderState::new().map_err(|source| SubmitError::OutputQueue { source })?;
        let mut rest = Vec::new();
        let executed = std::thread::scope(|scope| {
            let mut end = QueueEnd {
                shared: &shared,
                scope,
                engine: self.engine,
                recorder: Some(&mut *self),
                rest: &mut rest,
            };
            execute(&mut end)
        });
        let mut queue = shared.queue.lock();
        let (failure, snapshots) = (queue.failure.take(), std::mem::take(&mut queue.snapshots));
        drop(queue);
        self.take_snapshots(snapshots);
        let recorded = failure.map_or_else(|| self.record_rest(rest), Err);
        Ok((executed, recorded))
    }
}

/// The executor's end of the queue. Dropped, it lets the thread end.
struct QueueEnd<'scope, 'env, 'r, 'a, S: Storage> {
    shared: &'env RecorderState,
    scope: &'scope Scope<'scope, 'env>,
    /// Until the thread has it.
    recorder: Option<&'env mut Recorder<'r, 'a, S>>,
    engine: &'r Engine<S>,
    rest: &'env mut Vec<Piece>,
}

fn record_all<S: Storage>(shared: &RecorderState, recorder: &mut Recorder<'_, '_, S>) {
    while let Some((batch, snapshots)) = shared.next() {
        recorder.take_snapshots(snapshots);
        let bytes = batch.iter().map(|piece| piece.bytes.len()).sum();
        let recorded = recorder.record(batch);
        let demands_the_end = recorder.is_full && recorder.on_full == OnFull::Stop;
        let is_failed = recorded.is_err();
        shared.done(bytes, demands_the_end, recorded.err());
        if is_failed {
            return;
        }
    }
}

impl<S: Storage> PieceRecorder for QueueEnd<'_, '_, '_, '_, S> {
    fn wall_ns(&self) -> u64 {
        self.engine.core().now().wall_ns
    }

    fn take(&mut self, pieces: Vec<Piece>) {
        let mut queue = self.shared.queue.lock();
        // What the disk takes no more, and what comes of a command that is being ended, is lost.
        if queue.failure.is_some() {
            return;
        }
        let bytes = pieces.iter().map(|piece| piece.bytes.len()).sum();
        queue.bytes = queue.bytes.saturating_add(bytes);
        queue.pieces.extend(pieces);
        drop(queue);
        if let Some(recorder) = self.recorder.take() {
            let shared = self.shared;
            self.scope.spawn(move || record_all(shared, recorder));
        }
        self.shared.filled.notify_one();
    }

    fn take_snapshot(&mut self, snapshot: ProcessSnapshot) {
        self.shared.queue.lock().snapshots.push(snapshot);
    }

    fn end(&mut self, pieces: Vec<Piece>) {
        *self.rest = pieces;
    }

    fn has_room(&mut self) -> bool {
        // One byte or many: they say that it is worth a look, which this is.
        while matches!(
            rustix::io::read(&self.shared.wake.0, &mut [0; 64]),
            Ok(1..) | Err(Errno::INTR)
        ) {}
        self.shared.queue.lock().bytes < QUEUE_BYTES
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.shared.wake.0.as_fd())
    }

    fn demands_the_end(&self) -> bool {
        self.shared.queue.lock().is_full_disk
    }
}

impl<S: Storage> Drop for QueueEnd<'_, '_, '_, '_, S> {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.filled.notify_one();
    }
}

impl<S: Storage> Runner<'_, S> {
    /// Executes the command, with its output recorded while it comes.
    pub(super) fn execute(
        &mut self,
        opened: Option<OpenedProgram>,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<Result<ExecutionReport, ExecuteError>, RunError> {
        let command = self.seat.guarded(&self.run.command);
        let recording = self.run.recording;
        let attempt = (self.loop_id.as_str(), self.attempts);
        let mut recorder =
            Recorder::new((self.engine, &self.seat), attempt, &self.origin, recording.on_full);
        let mut executed = recorder.recording(|recorder| {
            let recorded = PieceRecording { recorder, flush: recording.flush };
            execute_recorded(&command, opened, sink, signals, recorded)
        })?;
        (self.origin.causation, self.given_up) = recorder.told();
        let [stdout, stderr] = recorder.streams;
        if let (Ok(report), _) = &mut executed {
            stdout.tell(&mut report.stdout);
            stderr.tell(&mut report.stderr);
        }
        match executed {
            (Ok(report), Err(error)) => {
                // What it came to is told although it is not on record.
                self.exit_status = exit_status(&report);
                self.execution = Some(report);
                Err(error)
            }
            (executed, _) => Ok(executed),
        }
    }
}
