//! Reading committed records back in their order: for whoever knows that they are there.

use crate::follow::Follower;
use crate::run::{Onward, RecordPlace};
use crate::storage::ReadStorage;
use crate::survey::{SurveyError, io_error, segment_path};
use crate::window::Window;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{Fault, Item, Record, names};
use thiserror::Error;

/// Committed records could not be read back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] SurveyError),
    /// A record that was valid when it was written is not any more.
    #[error("{file}, byte {offset}: {fault}; look at the log with `holdpoint verify`")]
    Damaged {
        /// The segment.
        file: String,
        /// Offset of the record.
        offset: u64,
        /// What is wrong.
        fault: Fault,
    },
    /// No segment holds the record.
    #[error("record {sequence} is not in this log")]
    Missing {
        /// Its sequence.
        sequence: u64,
    },
}

/// Shows the records from sequence `from` to `newest` in order; each is checked for its frame and
/// its sequence. The caller knows that everything up to `newest` is written.
///
/// # Errors
/// A segment is missing or cannot be read, or a record is damaged.
pub fn read_from<S: ReadStorage>(
    storage: &S,
    from: u64,
    newest: &Follower,
    visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> Onward,
) -> Result<(), ReadError> {
    let mut due = from.max(1);
    let mut segments = segments_from(storage, due)?.into_iter();
    while due <= newest.run.chain.sequence {
        let next = segments.next().filter(|first| *first <= due);
        let first = next.ok_or(ReadError::Missing { sequence: due })?;
        let before = due;
        let onward = read_segment(storage, first, &mut due, newest, visit)?;
        if onward == Onward::Stop {
            return Ok(());
        }
        if due == before {
            return Err(ReadError::Missing { sequence: due });
        }
    }
    Ok(())
}

/// First sequences of the segment that holds `sequence` and of those behind it.
fn segments_from<S: ReadStorage>(storage: &S, sequence: u64) -> Result<Vec<u64>, ReadError> {
    let listed = storage.list(names::SEGMENTS).map_err(io_error(names::SEGMENTS))?;
    let mut firsts: Vec<u64> =
        listed.iter().filter_map(|entry| names::parse_segment(&entry.name)).collect();
    firsts.sort_unstable();
    let holding = firsts.partition_point(|first| *first <= sequence).saturating_sub(1);
    Ok(firsts.split_off(holding.min(firsts.len())))
}

/// Shows the records of one segment from `due` up to `last` and counts `due` up.
fn read_segment<S: ReadStorage>(
    storage: &S,
    first: u64,
    due: &mut u64,
    newest: &Follower,
    visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> Onward,
) -> Result<Onward, ReadError> {
    let file = segment_path(first);
    let opened = storage.open(&file).map_err(io_error(&file))?;
    let opened = opened.ok_or(ReadError::Missing { sequence: *due })?;
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let damaged = |offset: u64, fault| ReadError::Damaged { file: file.clone(), offset, fault };
    let header = window.header().map_err(io_error(&file))?;
    let header = header.map_err(|fault| damaged(0, fault))?;
    let (mut offset, mut sequence) = (SEGMENT_HEADER_LENGTH as u64, first);
    while sequence <= newest.run.chain.sequence {
        let item = window.item(offset, &header).map_err(io_error(&file))?;
        let (item, _) = item.map_err(|fault| damaged(offset, fault))?;
        let Item::Record(record) = item else { break };
        if record.header.sequence != sequence {
            let fault = Fault::Sequence { expected: sequence, found: record.header.sequence };
            return Err(damaged(offset, fault));
        }
        let place = RecordPlace { segment: first, offset, length: record.header.footprint() };
        offset += place.length;
        sequence += 1;
        if record.header.sequence >= *due {
            *due = sequence;
            if visit(&place, &record) == Onward::Stop {
                return Ok(Onward::Stop);
            }
        }
    }
    Ok(Onward::Go)
}
