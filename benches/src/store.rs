//! Stores that are compared: anything that keeps records, behind one small face.

use crate::error::MeasureError;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// State of a record when its append returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It has its place, in memory if need be.
    Staged,
    /// It is written to the file: it survives the process, not the power.
    Os,
    /// It is synced.
    Durable,
}

impl Mode {
    /// The name that a child is given.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Os => "os",
            Self::Durable => "durable",
        }
    }

    /// The mode of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Staged, Self::Os, Self::Durable].into_iter().find(|mode| mode.name() == name)
    }
}

/// A store that is open for appending. It makes its record of the figure's payload before it is
/// measured, as its callers would, and appends that one again and again.
pub trait Store: Sync {
    /// Appends one record, as durable as the store was opened for.
    ///
    /// # Errors
    /// What the store says.
    fn append(&self) -> Result<(), MeasureError>;

    /// Appends one record, and asks for its link where it has one: whoever does so waits until it
    /// is hashed.
    ///
    /// # Errors
    /// What the store says.
    fn append_linked(&self) -> Result<(), MeasureError> {
        self.append()
    }

    /// Appends so many records in one commit.
    ///
    /// # Errors
    /// What the store says, or that it has no commits of several records.
    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let _ = records;
        Err(MeasureError::NotOffered("has no commit of several records"))
    }

    /// Writes to the file what is staged in memory alone, and waits until every record has its
    /// place, and in a chain its hash, where a thread of the store's own gives it.
    ///
    /// # Errors
    /// What the store says.
    fn settle(&self) -> Result<(), MeasureError> {
        Ok(())
    }

    /// Closes it as its users would.
    ///
    /// # Errors
    /// What the store says.
    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        Ok(())
    }
}

/// Opens a store for appending a payload, at a place of its own.
pub type Open = fn(&Path, Mode, &str) -> Result<Box<dyn Store>, MeasureError>;

/// Reads what a store at a place keeps, so many records, on so many threads.
pub type Read = fn(&Path, u64, usize) -> Result<(), MeasureError>;

/// Grows a store by so many bytes.
pub type Grow = fn(&Path, u64) -> Result<(), MeasureError>;

/// Something that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its name, with its version where it is a peer.
    pub name: &'static str,
    /// Each record is tied to the one before it by a cryptographic hash.
    pub is_chained: bool,
    /// An append may return before its record is hashed.
    pub hashes_late: bool,
    /// Configuration of it, and what it does otherwise than one may think.
    pub remark: &'static str,
    /// Opens it for appending.
    pub open: Open,
    /// Grows it before it is measured, where its first bytes cost more than the later ones.
    pub grow: Option<Grow>,
    /// Shows every record, checking its checksum where it has one.
    pub scan: Read,
    /// Scanning checks each record's checksum.
    pub scan_checks: bool,
    /// Verifies the whole chain.
    pub verify: Read,
    /// Bytes of the disk that it takes, without what it reserved for later.
    pub disk_bytes: fn(&Path) -> Result<u64, MeasureError>,
}

impl Candidate {
    /// One that can do nothing yet but be opened.
    #[must_use]
    pub const fn new(name: &'static str, open: Open) -> Self {
        Self {
            name,
            is_chained: false,
            hashes_late: false,
            remark: "",
            open,
            grow: None,
            scan: |_, _, _| Err(MeasureError::NotOffered("has no way to read all records back")),
            scan_checks: false,
            verify: |_, _, _| Err(MeasureError::NotOffered("has no chain to verify")),
            disk_bytes: allocated_bytes,
        }
    }

    /// Fills a store with records, in the cheapest way that it offers, and closes it.
    ///
    /// # Errors
    /// What the store says.
    pub fn fill(&self, at: &Path, payload: &str, records: u64) -> Result<(), MeasureError> {
        let opened = (self.open)(at, Mode::Staged, payload);
        let store = opened.or_else(|_| (self.open)(at, Mode::Os, payload));
        let store = store.or_else(|_| (self.open)(at, Mode::Durable, payload))?;
        let mut left = records;
        while left > 0 {
            let batch = left.min(64);
            match store.append_batch(batch) {
                Err(MeasureError::NotOffered(_)) => {
                    (0..batch).try_for_each(|_| store.append())?;
                }
                appended => appended?,
            }
            left -= batch;
        }
        store.settle()?;
        store.close()
    }
}

/// Bytes that the files below a path take on the disk.
pub(crate) fn allocated_bytes(path: &Path) -> Result<u64, MeasureError> {
    let failed = |error: std::io::Error| MeasureError::Failed {
        operation: "count the bytes on the disk",
        reason: error.to_string(),
    };
    let about = std::fs::symlink_metadata(path).map_err(failed)?;
    if !about.is_dir() {
        return Ok(about.blocks() * 512);
    }
    std::fs::read_dir(path)
        .map_err(failed)?
        .try_fold(0, |sum, entry| Ok(sum + allocated_bytes(&entry.map_err(failed)?.path())?))
}

/// Text of a length that no compressor makes much of: every record of a figure carries it.
#[must_use]
pub fn payload(length: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 95) as u8)
    };
    (0..length).map(|_| letter()).collect()
}
