//! The memory map: the one place with unsafe code.
//!
//! A mapping serves ranges that were validated before, of files that never shrink. Nothing is ever
//! written through it: a store through a map dirties a whole large folio.
#![expect(unsafe_code, reason = "a memory map is unsafe by nature; the argument is at each block")]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;

/// A read-only mapping of the first bytes of a segment.
#[derive(Debug)]
pub struct SegmentMap {
    map: Mmap,
}

impl SegmentMap {
    /// Maps the first `length` bytes of `file`, or fewer when the file is shorter.
    ///
    /// # Safety
    /// The caller must know that nobody cuts the file or changes its first `length` bytes while
    /// the map lives: the range was validated and lies below the newest record of a log that
    /// the caller holds locked, or in a sealed segment of such a log.
    ///
    /// # Errors
    /// What the system says.
    pub unsafe fn new(file: &File, length: u64) -> io::Result<Self> {
        let length = length.min(file.metadata()?.len());
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: `length` is at most what `fstat` says, so no byte of the map lies behind the
        // file's end; that neither end nor bytes change while it lives is the caller's promise.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self { map })
    }

    /// The mapped bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
