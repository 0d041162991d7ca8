//! Keeping the beginning and the end of a stream, and a digest of all of it.

use std::collections::VecDeque;

use sha2::{Digest, Sha256};

/// Part of one output stream that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The whole stream where the limit allows it; else its first bytes, half of the limit, right
    /// before its last ones. Of an odd limit the beginning has the byte more. Empty where the
    /// stream was recorded in pieces while it came, as [`Engine::run`](crate::Engine::run) does.
    pub bytes: Vec<u8>,
    /// Number of the kept bytes that are the beginning of the stream: all of them unless it is
    /// truncated.
    pub head_length: u64,
    /// Number of bytes that are kept: here, or on record where the stream was recorded in pieces.
    pub kept_length: u64,
    /// Number of bytes the stream really had.
    pub true_length: u64,
    /// SHA-256 of the whole stream, not only of what was kept.
    pub sha256: [u8; 32],
    /// True if the stream was longer than what was kept: some of it is missing.
    pub truncated: bool,
    /// True if the end of the stream was seen. It was not when a process that had left the
    /// command's group still held the stream open and it was no longer waited for.
    pub end_seen: bool,
}

/// A stream being captured.
#[derive(Debug)]
pub(super) struct Capture {
    /// The first bytes, at most `head_limit`.
    head: Vec<u8>,
    head_limit: usize,
    /// The last bytes of those behind the head, at most `tail_limit`.
    tail: VecDeque<u8>,
    tail_limit: usize,
    length: u64,
    digest: Sha256,
}

impl Capture {
    /// Begins with nothing, to keep at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let tail_limit = limit / 2;
        Self {
            head: Vec::new(),
            head_limit: limit.saturating_sub(tail_limit),
            tail: VecDeque::new(),
            tail_limit,
            length: 0,
            digest: Sha256::new(),
        }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn take(&mut self, chunk: &[u8]) {
        let room = self.head_limit.saturating_sub(self.head.len());
        let (head, rest) = chunk.split_at_checked(room).unwrap_or((chunk, &[]));
        self.head.extend_from_slice(head);
        self.keep_last(rest);
        self.length = self.length.saturating_add(chunk.len() as u64);
        self.digest.update(chunk);
    }

    /// The oldest bytes of the tail make room.
    fn keep_last(&mut self, rest: &[u8]) {
        let newest = rest.len().min(self.tail_limit);
        let excess = self.tail.len().saturating_add(newest).saturating_sub(self.tail_limit);
        self.tail.drain(..excess.min(self.tail.len()));
        let skipped = rest.len().saturating_sub(newest);
        self.tail.extend(rest.get(skipped..).unwrap_or_default());
    }

    /// The capture as it stands; `end_seen` says whether there was no more to come.
    pub(super) fn finish(self, end_seen: bool) -> CapturedOutput {
        let head_length = self.head.len() as u64;
        let mut bytes = self.head;
        bytes.reserve_exact(self.tail.len());
        let (older, newer) = self.tail.as_slices();
        bytes.extend_from_slice(older);
        bytes.extend_from_slice(newer);
        let kept = bytes.len() as u64;
        let truncated = self.length > kept;
        CapturedOutput {
            bytes,
            head_length: if truncated { head_length } else { kept },
            kept_length: kept,
            true_length: self.length,
            sha256: self.digest.finalize().into(),
            truncated,
            end_seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, limit and size of chunk up to some bytes.
    #[test]
    fn what_is_kept_is_the_whole_or_its_two_ends() {
        let stream: Vec<u8> = (0..40).collect();
        for length in 0..=stream.len() {
            let whole = stream.get(..length).expect("a part of it");
            for limit in 0..=45 {
                for chunk in [1, 2, 3, 7, 40] {
                    let mut capture = Capture::new(limit as u64);
                    whole.chunks(chunk).for_each(|chunk| capture.take(chunk));
                    assert!(capture.tail.len() <= limit / 2, "memory is bounded");
                    check(&capture.finish(true), whole, limit);
                }
            }
        }
    }

    fn check(captured: &CapturedOutput, whole: &[u8], limit: usize) {
        let kept = whole.len().min(limit);
        let head = if kept < whole.len() { limit.div_ceil(2) } else { kept };
        let tail = whole.len() - (kept - head);
        let expected = [whole.get(..head).expect("it"), whole.get(tail..).expect("it")].concat();
        assert_eq!(captured.bytes, expected, "{} of {limit}", whole.len());
        assert_eq!(captured.head_length, head as u64);
        assert_eq!(captured.true_length, whole.len() as u64);
        assert_eq!(captured.truncated, whole.len() > limit);
        assert_eq!(captured.sha256, <[u8; 32]>::from(Sha256::digest(whole)));
    }
}
