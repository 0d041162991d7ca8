//! The memory map: the one place with unsafe code.
//!
//! A mapping serves records that were validated before, of files that never shrink. Nothing is ever
//! written through it: a store through a map dirties a whole large folio.
#![expect(unsafe_code, reason = "a memory map is unsafe by nature; the argument is at the block")]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The first bytes of a segment: mapped from a real file, or copied where there is none.
#[derive(Debug)]
pub enum SegmentBytes {
    /// Mapped, read-only.
    Mapped(Mmap),
    /// A private copy.
    Copied(Vec<u8>),
}

impl SegmentBytes {
    /// Maps the first `length` bytes of a segment's file, or fewer when the file is shorter.
    ///
    /// Only for a segment of a log, and only up to the end of records that were written and
    /// acknowledged at some level: those bytes never change again. A process outside Holdpoint that
    /// cuts the file while it is mapped ends this process with SIGBUS; nothing else can.
    ///
    /// # Errors
    /// What the system says.
    pub fn map(file: &File, length: u64) -> io::Result<Self> {
        let length = length.min(file.metadata()?.len());
        let length = usize::try_from(length).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Self::Copied(Vec::new()));
        }
        // SAFETY: the map is read-only and private to this value. No byte of it lies behind the
        // file's end, because `length` is at most what `fstat` says and no part of Holdpoint ever
        // cuts a segment. No byte of it changes while the map lives, because writers append behind
        // the newest record and recovery writes what is there again, byte for byte.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(Self::Mapped(map))
    }
}

impl Deref for SegmentBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Copied(bytes) => bytes,
        }
    }
}
