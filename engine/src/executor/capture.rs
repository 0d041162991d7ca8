//! Keeping the beginning of a stream, and a digest of all of it.

use sha2::{Digest, Sha256};

/// What is kept of one output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The first bytes, as many as the limit allows.
    pub bytes: Vec<u8>,
    /// How many bytes the stream really had.
    pub true_length: u64,
    /// SHA-256 of the whole stream, not only of what was kept.
    pub sha256: [u8; 32],
    /// Whether the stream was longer than what was kept.
    pub truncated: bool,
    /// Whether the end of the stream was seen. It was not when a process that had left the
    /// command's group still held the stream open and it was no longer waited for.
    pub end_seen: bool,
}

/// A stream being captured.
#[derive(Debug)]
pub(super) struct Capture {
    kept: Vec<u8>,
    limit: u64,
    length: u64,
    digest: Sha256,
}

impl Capture {
    /// Begins with nothing, to keep at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self { kept: Vec::new(), limit, length: 0, digest: Sha256::new() }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn take(&mut self, chunk: &[u8]) {
        // 0 <= room: what was kept never exceeds the limit, and the length never runs ahead of
        // what was kept until the limit is reached.
        let room = self.limit.saturating_sub(self.length);
        let kept = usize::try_from(room).unwrap_or(usize::MAX).min(chunk.len());
        self.kept.extend_from_slice(chunk.get(..kept).unwrap_or_default());
        self.length = self.length.saturating_add(chunk.len() as u64);
        self.digest.update(chunk);
    }

    /// The capture as it stands; `end_seen` says whether there was no more to come.
    pub(super) fn finish(self, end_seen: bool) -> CapturedOutput {
        CapturedOutput {
            truncated: self.length > self.limit,
            bytes: self.kept,
            true_length: self.length,
            sha256: self.digest.finalize().into(),
            end_seen,
        }
    }
}
