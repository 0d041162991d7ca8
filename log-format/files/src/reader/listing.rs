//! HEAD and the list of segments, which fit each other.

use crate::finding::{Finding, Place, Problem};
use crate::head::{read_head, read_witness};
use crate::storage::{Entry, ReadStorage};
use crate::survey::{READINGS_MAX, SurveyError, io_error, segment_path};
use crate::window::Window;
use holdpoint_log_format::{Head, Lock, names};
use std::io;

/// Looks until what is found holds together, as often as a reading begins. After that, whoever
/// reads does not begin anew either.
pub(crate) fn steadily<T, E>(
    of: impl FnOnce(io::Error) -> E,
    mut look: impl FnMut() -> Result<Option<T>, E>,
) -> Result<T, E> {
    for _ in 0..READINGS_MAX {
        if let Some(found) = look()? {
            return Ok(found);
        }
    }
    let moving = "it was changed again and again by moves to an archive; try again later";
    Err(of(io::Error::new(io::ErrorKind::Interrupted, moving)))
}

/// Content of a log's directory.
#[derive(Clone, Debug)]
pub struct Listing {
    /// LOCK as it was before all else was read, where it holds.
    pub lock: Option<Lock>,
    /// Content of HEAD, or what is wrong with it.
    pub head: Result<Head, Problem>,
    /// The first sequence of each segment behind the anchor, in order. There are none where
    /// something else is in their directory's place.
    pub firsts: Vec<u64>,
    /// The first record that a blank segment behind them would have had.
    pub blank: Option<u64>,
    /// Problem of the directory of segments.
    pub wrong_directory: Option<Finding>,
}

impl Listing {
    /// Reads LOCK, HEAD, then the list, then HEAD again: where the anchor has moved on meanwhile,
    /// what is on the list may be gone.
    ///
    /// # Errors
    /// They cannot be read, or the anchor moves on again and again.
    pub fn of<S: ReadStorage>(storage: &S) -> Result<Self, SurveyError> {
        steadily(io_error(names::HEAD), || {
            let lock = read_witness(storage, names::LOCK).map_err(io_error(names::LOCK))?;
            let head = read_head(storage)?;
            let listed = list(storage)?;
            let anchor = anchor_of(&head);
            if anchor_of(&read_head(storage)?) != anchor {
                return Ok(None);
            }
            let lock = lock.and_then(|bytes| Lock::decode(&bytes.ok()?).ok());
            Self::from(storage, lock, head, listed).map(Some)
        })
    }

    fn from<S: ReadStorage>(
        storage: &S,
        lock: Option<Lock>,
        head: Result<Head, Problem>,
        listed: Result<Vec<Entry>, Finding>,
    ) -> Result<Self, SurveyError> {
        let wrong_directory = listed.as_ref().err().cloned();
        let mut firsts = firsts(&listed.unwrap_or_default());
        let anchor = anchor_of(&head);
        firsts.retain(|first| *first > anchor);
        let witnessed = head.as_ref().map_or(0, |head| head.newest_sequence);
        let blank = take_blank(storage, witnessed, &mut firsts)?;
        Ok(Self { lock, head, firsts, blank, wrong_directory })
    }

    /// The last record before the log's first one; 0 in a whole log. A log whose HEAD does not hold
    /// is read as a whole one.
    #[must_use]
    pub fn anchor(&self) -> u64 {
        anchor_of(&self.head)
    }
}

fn anchor_of(head: &Result<Head, Problem>) -> u64 {
    head.as_ref().map_or(0, |head| head.anchor_sequence)
}

/// The first record of each segment that a listing names, in order.
#[must_use]
pub fn firsts(listed: &[Entry]) -> Vec<u64> {
    let named = listed.iter().filter_map(|entry| names::parse_segment(&entry.name));
    let mut firsts: Vec<u64> = named.collect();
    firsts.sort_unstable();
    firsts
}

/// Lists what is in the directory of segments; the inner error is a finding: something else stands
/// in its place.
///
/// # Errors
/// It cannot be read.
pub fn list<S: ReadStorage>(storage: &S) -> Result<Result<Vec<Entry>, Finding>, SurveyError> {
    match storage.list(names::SEGMENTS) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let place = Place { file: names::SEGMENTS.to_string(), offset: 0, sequence: 0 };
            Ok(Err(Finding { place, problem: Problem::NotRegular }))
        }
        listed => listed.map(Ok).map_err(io_error(names::SEGMENTS)),
    }
}

/// Takes a last segment that is all zero off the list, where HEAD witnesses none of its records: a
/// roll lost power before anything was written to it, and nothing is wrong with that.
fn take_blank<S: ReadStorage>(
    storage: &S,
    witnessed: u64,
    firsts: &mut Vec<u64>,
) -> Result<Option<u64>, SurveyError> {
    match firsts.last().copied() {
        Some(last) if witnessed < last && is_blank(storage, last)? => Ok(firsts.pop()),
        _ => Ok(None),
    }
}

/// Returns whether a segment is blank; what else is wrong with a header is told when the segment is
/// opened.
fn is_blank<S: ReadStorage>(storage: &S, first: u64) -> Result<bool, SurveyError> {
    let file = segment_path(first);
    let opened = match storage.open(&file) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
        opened => opened.map_err(io_error(&file))?,
    };
    let Some(opened) = opened else { return Ok(false) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let is_good = window.header().map_err(io_error(&file))?.is_ok();
    Ok(!is_good && window.nonzero_end(0).map_err(io_error(&file))?.is_none())
}
