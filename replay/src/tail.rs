//! Following a log from a record on, as it is written, across rolls and across what is moved to an
//! archive meanwhile.

use crate::anchor::Anchor;
use crate::read::ReadError;
use crate::records::{Filter, Judged, Line, Prefilter};
use holdpoint_log_files::head::read_head;
use holdpoint_log_files::{FollowError, Follower, LogReader, ReadStorage, SurveyError};
use thiserror::Error;

/// Why following ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TailError {
    /// The log cannot be read, or what follows is damaged.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The log cannot be looked at.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// HEAD cannot be read.
    #[error(transparent)]
    Survey(#[from] SurveyError),
}

/// A place in a log that others write to. Records are taken when their batch is complete.
#[derive(Debug)]
pub struct LogTail {
    follower: Option<Follower>,
    newest: u64,
}

/// Records that were moved to an archive before they were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
}

impl LogTail {
    /// Behind a record; 0: before the first one. The log need not have a segment yet.
    #[must_use]
    pub fn behind(sequence: u64) -> Self {
        Self { follower: None, newest: sequence }
    }

    /// The newest record that was seen.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Shows the wanted records of the batches that are complete now and were not seen yet. Does
    /// not wait. Says which records it could not see because they were moved to an archive.
    ///
    /// # Errors
    /// The log cannot be read, or a segment's header is damaged or does not follow.
    pub fn catch_up<S: ReadStorage>(
        &mut self,
        storage: &S,
        filter: &Filter,
        visit: &mut dyn FnMut(Line),
    ) -> Result<Option<Missed>, TailError> {
        // What HEAD witnesses before the look is written: if it cannot be read, it is damaged.
        let witnessed = read_head(storage)?.map_or(0, |head| head.newest_sequence);
        let (mut follower, missed) = match self.follower.take() {
            Some(follower) => (follower, None),
            None => match self.begin(storage)? {
                Some((follower, missed)) => (follower, missed),
                None => return Ok(None),
            },
        };
        match self.follow(&mut follower, storage, witnessed, filter, visit) {
            Ok(()) => self.follower = Some(follower),
            // The next call goes on from where the log begins by then.
            Err(FollowError::Gone { .. }) if self.has_moved(storage)? => {}
            Err(error) => return Err(error.into()),
        }
        Ok(missed)
    }

    fn follow<S: ReadStorage>(
        &mut self,
        follower: &mut Follower,
        storage: &S,
        witnessed: u64,
        filter: &Filter,
        visit: &mut dyn FnMut(Line),
    ) -> Result<(), FollowError> {
        let (mut batch, prefilter) = (Vec::new(), Prefilter::of(filter));
        follower.catch_up_to(storage, witnessed, &mut |place, record| {
            let sequence = record.header.sequence;
            if sequence <= self.newest {
                return;
            }
            let judged = Judged::of(place, record, filter, &prefilter);
            let line = judged.and_then(|judged| judged.line);
            batch.extend(line.map(|line| line.lying_in(&storage.archives())));
            if !record.header.flags.more_follows() {
                self.newest = sequence;
                batch.drain(..).for_each(&mut *visit);
            }
        })
    }

    /// The segment that holds the next record; where that one is in an archive, the log's first.
    fn begin<S: ReadStorage>(
        &self,
        storage: &S,
    ) -> Result<Option<(Follower, Option<Missed>)>, TailError> {
        let reader = LogReader::of(storage)?;
        let next = self.newest.saturating_add(1);
        let holding = reader.holding(next).and_then(|at| reader.firsts().get(at));
        let Some(first) = holding.or(reader.firsts().first()).copied() else { return Ok(None) };
        let missed = (self.newest > 0 && first > next)
            .then(|| Missed { first: next, last: first.saturating_sub(1) });
        Ok(Some((Follower::at_segment(storage, first)?, missed)))
    }

    /// Whether what was followed was moved to an archive, rather than taken away.
    fn has_moved<S: ReadStorage>(&self, storage: &S) -> Result<bool, ReadError> {
        Ok(Anchor::of(storage)?.position.sequence >= self.newest.max(1))
    }
}
