//! The file of an index, beside its segment: its name, why it is not used, and building what should
//! be in it.

use crate::builder::{BuildFault, IndexBuilder, IndexedRecord};
use crate::fault::IndexFault;
use crate::header::Scope;
use crate::index::Index;
use crate::term::RecordTerms;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{ReadFile, ReadStorage, RecordPlace, Run, Stop};
use holdpoint_log_format::{Fault, LogId, Record, RecordHeader, SegmentHeader, names};
use std::io;
use std::ops::ControlFlow;
use thiserror::Error;

/// Path of the index of the segment that begins at `first_sequence`, relative to the log's
/// directory.
#[must_use]
pub fn index_path(first_sequence: u64) -> String {
    format!("{}/{}", names::SEGMENTS, names::index(first_sequence))
}

/// Why an index is not used. It never matters to what the log says: build it again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unusable {
    /// There is none.
    #[error("there is no index")]
    Missing,
    /// It cannot be read, or is no regular file.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is of another log.
    #[error("it belongs to log {found}, and this is log {expected}")]
    Foreign {
        /// This log.
        expected: LogId,
        /// The log that it names.
        found: LogId,
    },
    /// It is of another segment of this log, of other records, or made by other rules.
    #[error(
        "it is of records {} to {} with link {} by rules {}, and the segment has {} to {} with \
         link {} by rules {}",
        found.first_sequence, found.last.sequence, found.last.link, found.terms_version,
        expected.first_sequence, expected.last.sequence, expected.last.link, expected.terms_version
    )]
    Stale {
        /// Scope that it should have.
        expected: Box<Scope>,
        /// Scope that it has.
        found: Box<Scope>,
    },
    /// Its bytes do not hold.
    #[error("{0}")]
    Damaged(IndexFault),
    /// Its bytes hold, and are not those that the records give.
    #[error("its digests hold, and it does not say what the records say")]
    Forged,
}

impl From<IndexFault> for Unusable {
    fn from(fault: IndexFault) -> Self {
        match fault {
            IndexFault::Unreadable { code: Some(code), .. } => {
                Self::Unreadable(io::Error::from_raw_os_error(code))
            }
            IndexFault::Unreadable { kind, code: None } => Self::Unreadable(kind.into()),
            fault => Self::Damaged(fault),
        }
    }
}

impl Unusable {
    /// Checks whether an index is the one of this scope.
    ///
    /// # Errors
    /// [`Unusable::Foreign`], [`Unusable::Stale`].
    pub fn check_scope(expected: &Scope, found: &Scope) -> Result<(), Self> {
        if found.log != expected.log {
            return Err(Self::Foreign { expected: expected.log, found: found.log });
        }
        if found != expected {
            return Err(Self::Stale { expected: Box::new(*expected), found: Box::new(*found) });
        }
        Ok(())
    }
}

/// Opens the index of the segment that begins at `first_sequence`, to be read piece by piece. Its
/// header block holds; whether what that says is true, its [digest](Index::digest) tells whoever
/// knows the right one.
///
/// # Errors
/// [`Unusable`], which says why; the caller goes on without an index.
pub fn open_index<S: ReadStorage>(
    storage: &S,
    first_sequence: u64,
) -> Result<Index<S::File>, Unusable> {
    let file = storage.open(&index_path(first_sequence))?.ok_or(Unusable::Missing)?;
    Ok(Index::new(file)?)
}

/// Why an index cannot be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The segment cannot be read, or is not there.
    #[error("{file}: {source}")]
    Io {
        /// The segment.
        file: String,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The segment does not hold.
    #[error("{file}, byte {offset}: {fault}; look at the log with `holdpoint verify`")]
    Damaged {
        /// The segment.
        file: String,
        /// Offset of what is damaged.
        offset: u64,
        /// Fault of it.
        fault: Fault,
    },
    /// The segment is still being written.
    #[error("{file} is not sealed: only a segment that never changes again has an index")]
    NotSealed {
        /// The segment.
        file: String,
    },
    /// The records do not fit into an index.
    #[error("{file}: {fault}")]
    Unfit {
        /// The segment.
        file: String,
        /// Why.
        fault: BuildFault,
    },
}

/// An index as it was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltIndex {
    /// Scope of the index.
    pub scope: Scope,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// Builds the index of the sealed segment that begins at `first_sequence`, out of records that were
/// each checked: frame, sequence, link, time, seal. `terms_of` gives each record's terms, keys and
/// row, by the rules that `terms_version` names.
///
/// # Errors
/// [`BuildError`]: the segment cannot be read, is damaged or is not sealed.
pub fn build_index<S: ReadStorage>(
    storage: &S,
    first_sequence: u64,
    terms_version: u32,
    terms_of: &mut dyn FnMut(&Record<'_>, &mut RecordTerms),
) -> Result<BuiltIndex, BuildError> {
    let file = segment_path(first_sequence);
    let opened = match storage.open(&file) {
        Ok(Some(opened)) => Window::new(opened),
        Ok(None) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error),
    };
    let built = opened.map_err(Stopped::Io).and_then(|mut window| {
        let header = header_of(&mut window, first_sequence)?;
        build(&mut window, &header, terms_version, terms_of)
    });
    built.map_err(|stopped| stopped.of(file))
}

/// Why building stopped, without the file's name.
enum Stopped {
    Io(io::Error),
    Damaged(u64, Fault),
    NotSealed,
    Unfit(BuildFault),
}

impl Stopped {
    fn of(self, file: String) -> BuildError {
        match self {
            Self::Io(source) => BuildError::Io { file, source },
            Self::Damaged(offset, fault) => BuildError::Damaged { file, offset, fault },
            Self::NotSealed => BuildError::NotSealed { file },
            Self::Unfit(fault) => BuildError::Unfit { file, fault },
        }
    }
}

fn header_of<F: ReadFile>(
    window: &mut Window<F>,
    first_sequence: u64,
) -> Result<SegmentHeader, Stopped> {
    let header = window.header().map_err(Stopped::Io)?;
    let header = header.map_err(|fault| Stopped::Damaged(0, fault))?;
    let (expected, found) = (first_sequence, header.first_sequence());
    match found == expected {
        true => Ok(header),
        false => Err(Stopped::Damaged(0, Fault::Sequence { expected, found })),
    }
}

fn build<F: ReadFile>(
    window: &mut Window<F>,
    header: &SegmentHeader,
    terms_version: u32,
    terms_of: &mut dyn FnMut(&Record<'_>, &mut RecordTerms),
) -> Result<BuiltIndex, Stopped> {
    let mut builder =
        IndexBuilder::new(header.log, header.first_sequence(), header.previous.link, terms_version);
    let mut of_record = RecordTerms::default();
    let mut added = Ok(());
    let mut add = |place: &RecordPlace, record: &Record<'_>| {
        of_record.clear();
        terms_of(record, &mut of_record);
        let RecordHeader { sequence, time, link, .. } = record.header;
        let indexed = IndexedRecord { sequence, offset: place.offset, time, link };
        added = builder.add(&indexed, of_record.terms(), of_record.keys(), of_record.row());
        if added.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let run = walk(window, header, Run::at_start(header), &mut add).map_err(Stopped::Io)?;
    added.map_err(Stopped::Unfit)?;
    let seal = match run.stop {
        Stop::Seal(seal) => seal,
        Stop::Fault(fault) => return Err(Stopped::Damaged(run.stop_offset, fault)),
        Stop::Nothing | Stop::Asked => return Err(Stopped::NotSealed),
    };
    let bytes = builder.finish().map_err(Stopped::Unfit)?;
    Ok(BuiltIndex { scope: Scope::of(header, &seal, terms_version), bytes })
}
