//! Output as it comes, cut into pieces that somebody records while the command runs.

use std::collections::VecDeque;
use std::mem;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::capture::CapturedOutput;
use super::output::OutputStream;
use super::snapshots::ProcessSnapshot;

/// Most bytes of one piece, and of the pieces that are handed over together.
const PIECE_BYTES: usize = 64 * 1024;
/// So many pieces of one group are in the exact order in which both streams came; a command that
/// changes between them more often is grouped by stream until the next handing over.
const ORDERED_PIECES: usize = 128;
/// Number of bytes kept of each span of time once a stream is longer than its limit.
const SPAN_BYTES: usize = 4 * 1024;
/// A span.
const SPAN: Duration = Duration::from_secs(1);
/// So many spans are equally long; each one behind them is twice as long as the one before.
const EQUAL_SPANS: u32 = 1024;

/// A piece of what a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The stream.
    pub(crate) stream: OutputStream,
    /// Place in the stream where it begins.
    pub(crate) offset: u64,
    /// Time at which its first byte was read: UTC, in nanoseconds.
    pub(crate) first_byte_ns: u64,
    /// 1 byte to 64 KiB.
    pub(crate) bytes: Vec<u8>,
    /// SHA-256 of the stream up to the end of the piece.
    pub(crate) running_sha256: [u8; 32],
    /// True if the stream is longer than its limit by now.
    pub(crate) is_beyond: bool,
}

/// Takes pieces of output as they come, and never blocks.
pub(crate) trait PieceRecorder {
    /// The time by the recorder's clock: UTC, in nanoseconds.
    fn wall_ns(&self) -> u64;

    /// Takes pieces, in the order in which they came.
    fn take(&mut self, pieces: Vec<Piece>);

    /// Takes a snapshot of the command's processes, to be recorded with the next pieces.
    fn take_snapshot(&mut self, snapshot: ProcessSnapshot);

    /// Takes the last ones: the command is over.
    fn end(&mut self, pieces: Vec<Piece>);

    /// Returns whether it takes more by now. While it does not, the pipes are not read.
    fn has_room(&mut self) -> bool;

    /// Becomes readable when there is room again, or nothing can be recorded any more.
    fn wake(&self) -> Option<BorrowedFd<'_>>;

    /// Returns whether the command is to be ended because its output cannot be recorded.
    fn demands_the_end(&self) -> bool;
}

/// Cuts the output of one command. Of each stream everything up to the limit is in the pieces, and
/// beyond it the last bytes of each span of time.
#[derive(Debug)]
pub(super) struct PieceCutter {
    limit: u64,
    flush: Duration,
    streams: [CutStream; 2],
    /// Pieces to be handed over next, in their order. A piece that still grows is named by its
    /// stream.
    group: Vec<Piece>,
    group_bytes: usize,
    /// Time at which the oldest byte of the group came.
    since: Option<Instant>,
}

#[derive(Debug)]
struct CutStream {
    digest: Sha256,
    length: u64,
    /// Place where the piece that still grows lies in the group.
    open: Option<usize>,
    beyond: Option<Spans>,
}

/// The end of a stream that is longer than its limit.
#[derive(Debug)]
struct Spans {
    last: VecDeque<u8>,
    /// Beginning and time of each read.
    reads: VecDeque<(u64, u64)>,
    until: Instant,
    done: u32,
}

impl PieceCutter {
    /// Returns the cutter of streams of which so many bytes are kept whole, handed over after so
    /// long at most.
    pub(super) fn new(limit: u64, flush: Duration) -> Self {
        let stream = || CutStream { digest: Sha256::new(), length: 0, open: None, beyond: None };
        Self {
            limit,
            flush,
            streams: [stream(), stream()],
            group: Vec::new(),
            group_bytes: 0,
            since: None,
        }
    }

    /// Takes the next bytes of a stream.
    pub(super) fn take(&mut self, stream: OutputStream, chunk: &[u8], now: Instant, wall_ns: u64) {
        if self.group.len() < ORDERED_PIECES {
            self.close(other(stream));
        }
        let room = self.limit.saturating_sub(self.of(stream).length);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (mut within, beyond) = chunk.split_at_checked(room).unwrap_or((chunk, &[]));
        while !within.is_empty() {
            within = self.grow(stream, within, now, wall_ns);
        }
        if !beyond.is_empty() {
            self.close(stream);
            self.of(stream).keep_last(beyond, now, wall_ns);
        }
    }

    /// Adds to the piece of a stream that grows, as much as it takes. Gives what is left.
    fn grow<'c>(
        &mut self,
        stream: OutputStream,
        chunk: &'c [u8],
        now: Instant,
        wall_ns: u64,
    ) -> &'c [u8] {
        let place = match self.of(stream).open {
            Some(place) => place,
            None => self.begin(stream, wall_ns),
        };
        self.since.get_or_insert(now);
        let Some(piece) = self.group.get_mut(place) else { return &[] };
        let room = PIECE_BYTES.saturating_sub(piece.bytes.len());
        let (taken, left) = chunk.split_at_checked(room).unwrap_or((chunk, &[]));
        piece.bytes.extend_from_slice(taken);
        let is_full = piece.bytes.len() >= PIECE_BYTES;
        self.group_bytes = self.group_bytes.saturating_add(taken.len());
        self.of(stream).digested(taken);
        if is_full {
            self.close(stream);
        }
        left
    }

    fn begin(&mut self, stream: OutputStream, first_byte_ns: u64) -> usize {
        let place = self.group.len();
        let known = self.of(stream);
        known.open = Some(place);
        let offset = known.length;
        self.group.push(Piece {
            stream,
            offset,
            first_byte_ns,
            bytes: Vec::new(),
            running_sha256: [0; 32],
            is_beyond: false,
        });
        place
    }

    /// The piece of a stream that grows is as it is.
    fn close(&mut self, stream: OutputStream) {
        let known = self.of(stream);
        let Some(place) = known.open.take() else { return };
        let running_sha256 = known.running();
        if let Some(piece) = self.group.get_mut(place) {
            piece.running_sha256 = running_sha256;
        }
    }

    fn of(&mut self, stream: OutputStream) -> &mut CutStream {
        let [stdout, stderr] = &mut self.streams;
        match stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        }
    }

    /// Returns what is to be handed over by now.
    pub(super) fn due_pieces(&mut self, now: Instant) -> Vec<Piece> {
        for stream in BOTH {
            let spans = self.of(stream).beyond.as_mut().is_some_and(|spans| spans.is_over(now));
            if spans {
                self.put_span(stream);
            }
        }
        let is_late = self.since.is_some_and(|since| since + self.flush <= now);
        match is_late || self.group_bytes >= PIECE_BYTES {
            true => self.handed_over(),
            false => Vec::new(),
        }
    }

    /// The last bytes of a span become a piece.
    fn put_span(&mut self, stream: OutputStream) {
        let known = self.of(stream);
        let (length, running_sha256) = (known.length, known.running());
        let Some(spans) = &mut known.beyond else { return };
        let bytes: Vec<u8> = mem::take(&mut spans.last).into();
        let offset = length.saturating_sub(bytes.len() as u64);
        let reads = mem::take(&mut spans.reads);
        let first = reads.iter().rev().find(|(at, _)| *at <= offset).or(reads.front());
        let first_byte_ns = first.map_or(0, |(_, at_ns)| *at_ns);
        if bytes.is_empty() {
            return;
        }
        self.group_bytes = self.group_bytes.saturating_add(bytes.len());
        self.since.get_or_insert_with(Instant::now);
        self.group.push(Piece {
            stream,
            offset,
            first_byte_ns,
            bytes,
            running_sha256,
            is_beyond: true,
        });
    }

    fn handed_over(&mut self) -> Vec<Piece> {
        BOTH.into_iter().for_each(|stream| self.close(stream));
        (self.group_bytes, self.since) = (0, None);
        mem::take(&mut self.group)
    }

    /// Returns when something is to be handed over although nothing comes.
    pub(super) fn due(&self) -> Option<Instant> {
        let flush = self.since.map(|since| since + self.flush);
        let span = |stream: &CutStream| {
            stream.beyond.as_ref().filter(|spans| !spans.last.is_empty()).map(|spans| spans.until)
        };
        self.streams.iter().filter_map(span).chain(flush).min()
    }

    /// The last pieces.
    pub(super) fn last_pieces(&mut self) -> Vec<Piece> {
        BOTH.into_iter().for_each(|stream| self.close(stream));
        BOTH.into_iter().for_each(|stream| self.put_span(stream));
        self.handed_over()
    }

    /// Returns what is known of a stream whose bytes are in the pieces.
    pub(super) fn captured(&mut self, stream: OutputStream, end_seen: bool) -> CapturedOutput {
        let truncated = self.of(stream).length > self.limit;
        let known = self.of(stream);
        CapturedOutput {
            bytes: Vec::new(),
            head_length: 0,
            kept_length: 0,
            true_length: known.length,
            sha256: known.running(),
            truncated,
            end_seen,
        }
    }
}

const BOTH: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

const fn other(stream: OutputStream) -> OutputStream {
    match stream {
        OutputStream::Stdout => OutputStream::Stderr,
        OutputStream::Stderr => OutputStream::Stdout,
    }
}

impl CutStream {
    fn digested(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.length = self.length.saturating_add(bytes.len() as u64);
    }

    fn running(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }

    fn keep_last(&mut self, chunk: &[u8], now: Instant, wall_ns: u64) {
        let offset = self.length;
        self.digested(chunk);
        let length = self.length;
        let spans = self.beyond.get_or_insert_with(|| Spans {
            last: VecDeque::new(),
            reads: VecDeque::new(),
            until: now + SPAN,
            done: 0,
        });
        let skipped = chunk.len().saturating_sub(SPAN_BYTES);
        let newest = chunk.get(skipped..).unwrap_or_default();
        let excess = spans.last.len().saturating_add(newest.len()).saturating_sub(SPAN_BYTES);
        spans.last.drain(..excess.min(spans.last.len()));
        spans.last.extend(newest);
        spans.reads.push_back((offset, wall_ns));
        // Of the reads before the last bytes only the newest says when one of them came.
        let first = length.saturating_sub(spans.last.len() as u64);
        while spans.reads.get(1).is_some_and(|(at, _)| *at <= first) {
            spans.reads.pop_front();
        }
    }
}

impl Spans {
    /// Returns whether the span is over. Where it is, the next one has begun.
    fn is_over(&mut self, now: Instant) -> bool {
        if now < self.until {
            return false;
        }
        while self.until <= now {
            self.done = self.done.saturating_add(1);
            let doublings = self.done.saturating_sub(EQUAL_SPANS - 1).min(20);
            self.until += SPAN.saturating_mul(1 << doublings);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLUSH: Duration = Duration::from_millis(500);

    fn sha256(bytes: &[u8]) -> [u8; 32] {
        Sha256::digest(bytes).into()
    }

    /// All pieces of a stream, laid out where they say that they belong.
    fn laid_out(pieces: &[Piece], stream: OutputStream, length: usize) -> Vec<Option<u8>> {
        let mut whole = vec![None; length];
        for piece in pieces.iter().filter(|piece| piece.stream == stream) {
            assert!((1..=PIECE_BYTES).contains(&piece.bytes.len()));
            for (at, byte) in (piece.offset..).zip(&piece.bytes) {
                let place = whole.get_mut(usize::try_from(at).unwrap()).unwrap();
                assert_eq!(place.replace(*byte), None, "no byte is there twice");
            }
        }
        whole
    }

    #[test]
    fn pieces_are_the_stream_up_to_the_limit_whatever_is_read_at_once() {
        let stream: Vec<u8> = (0..200_000_u32).map(|byte| byte.to_le_bytes()[0] ^ 7).collect();
        for read in [1_000, 65_536, 70_001] {
            for limit in [0, 1, 65_536, 150_000, 200_000, 1 << 20] {
                let (mut cutter, now) = (PieceCutter::new(limit, FLUSH), Instant::now());
                let mut pieces = Vec::new();
                for chunk in stream.chunks(read) {
                    cutter.take(OutputStream::Stdout, chunk, now, 7);
                    assert!(cutter.group_bytes <= PIECE_BYTES + read, "memory is bounded");
                    pieces.extend(cutter.due_pieces(now));
                }
                pieces.extend(cutter.last_pieces());
                let whole = laid_out(&pieces, OutputStream::Stdout, stream.len());
                let kept = stream.len().min(usize::try_from(limit).unwrap());
                let tail = stream.len().saturating_sub(SPAN_BYTES).max(kept);
                for (at, byte) in whole.iter().enumerate() {
                    let is_kept = at < kept || at >= tail;
                    assert_eq!(*byte, is_kept.then(|| stream[at]), "{at} of {limit}");
                }
                for piece in &pieces {
                    let end = usize::try_from(piece.offset).unwrap() + piece.bytes.len();
                    assert_eq!(piece.running_sha256, sha256(&stream[..end]));
                    assert_eq!(piece.is_beyond, end > kept);
                }
                let captured = cutter.captured(OutputStream::Stdout, true);
                assert_eq!(captured.sha256, sha256(&stream));
                assert_eq!(captured.true_length, stream.len() as u64);
                assert_eq!(captured.truncated, kept < stream.len());
            }
        }
    }

    #[test]
    fn both_streams_are_in_the_order_in_which_they_came() {
        let (mut cutter, now) = (PieceCutter::new(1 << 20, FLUSH), Instant::now());
        for (stream, chunk) in [
            (OutputStream::Stdout, "one "),
            (OutputStream::Stdout, "two "),
            (OutputStream::Stderr, "oops "),
            (OutputStream::Stdout, "three"),
        ] {
            cutter.take(stream, chunk.as_bytes(), now, 7);
        }
        assert_eq!(cutter.due_pieces(now), [], "nothing is due yet");
        assert_eq!(cutter.due(), Some(now + FLUSH));
        let pieces = cutter.due_pieces(now + FLUSH);
        let texts = pieces.iter().map(|piece| String::from_utf8_lossy(&piece.bytes));
        assert_eq!(texts.collect::<Vec<_>>(), ["one two ", "oops ", "three"]);
        assert_eq!(cutter.due(), None);
    }

    /// A command that changes between its streams with every byte makes no piece of each.
    #[test]
    fn pieces_of_one_group_are_bounded() {
        let (mut cutter, now) = (PieceCutter::new(1 << 20, FLUSH), Instant::now());
        for _ in 0..10_000 {
            cutter.take(OutputStream::Stdout, b"o", now, 7);
            cutter.take(OutputStream::Stderr, b"e", now, 7);
        }
        let pieces = cutter.due_pieces(now + FLUSH);
        assert!(pieces.len() <= ORDERED_PIECES + 2, "{}", pieces.len());
        for stream in BOTH {
            assert!(laid_out(&pieces, stream, 10_000).iter().all(Option::is_some));
        }
    }

    #[test]
    fn beyond_the_limit_the_last_bytes_of_each_second_are_kept_then_of_doubling_spans() {
        let (mut cutter, start) = (PieceCutter::new(0, FLUSH), Instant::now());
        let mut counts = Vec::new();
        for second in 0..EQUAL_SPANS + 31 {
            let now = start + SPAN * second;
            cutter.take(OutputStream::Stdout, &[b'x'; 10_000], now, u64::from(second));
            let spans = cutter.due_pieces(now + SPAN);
            let pieces = spans.into_iter().chain(cutter.handed_over()).collect::<Vec<_>>();
            counts.push(pieces.len());
            for piece in pieces {
                assert_eq!(piece.bytes.len(), SPAN_BYTES);
                assert_eq!(piece.first_byte_ns, u64::from(second));
                assert_eq!(piece.offset + 4_096, (u64::from(second) + 1) * 10_000);
            }
        }
        let (equal, doubling) = counts.split_at(EQUAL_SPANS as usize);
        assert!(equal.iter().all(|count| *count == 1));
        assert_eq!(doubling.iter().sum::<usize>(), 4, "2, 4, 8 and 16 seconds: {doubling:?}");
    }
}
