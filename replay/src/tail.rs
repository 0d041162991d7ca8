//! Following a log from a record on, as it is written, across rolls and across what is moved to an
//! archive meanwhile.

use crate::anchor::Anchor;
use crate::finding::Finding;
use crate::read::ReadError;
use crate::records::part::last_run;
use crate::records::{Filter, Judged, Line, Prefilter};
use holdpoint_log_files::head::{read_head, wrong_witness};
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{FollowError, Follower, LogReader, ReadStorage, SurveyError};
use holdpoint_log_format::{ChainPosition, Item};
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
    /// The newest record that was seen is not there any more.
    #[error(
        "the log was set back while it was followed: record {seen} was the newest that was seen, \
         and is not there as it was; what is there now ends with record {now}: {COMPARE}"
    )]
    SetBack {
        /// The newest record that was seen.
        seen: u64,
        /// The newest one that can be read now; 0: none.
        now: u64,
    },
    /// HEAD names an older record than before.
    #[error(
        "HEAD was set back while the log was followed, from record {before} to record {now}; \
         record {seen} was the newest that was seen: {COMPARE}"
    )]
    HeadSetBack {
        /// The newest record that was seen.
        seen: u64,
        /// The record that HEAD named.
        before: u64,
        /// The one that it names now.
        now: u64,
    },
}

/// Advice on a log that was set back.
const COMPARE: &str = "compare it with a head that was kept elsewhere, `holdpoint verify --head \
                       FILE`";

/// A place in a log that others write to. Records are taken when their batch is complete.
#[derive(Debug)]
pub struct LogTail {
    follower: Option<Follower>,
    newest: u64,
    /// The newest record that HEAD named.
    witnessed: u64,
    unread: Option<Finding>,
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
        Self { follower: None, newest: sequence, witnessed: 0, unread: None }
    }

    /// The newest record that was seen.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The record that HEAD named at the last look; 0: none.
    #[must_use]
    pub fn witnessed(&self) -> u64 {
        self.witnessed
    }

    /// Takes the first record seen since this was asked last of which nobody can tell what it says,
    /// where its header does not rule out that it is wanted.
    pub fn take_unread(&mut self) -> Option<Finding> {
        self.unread.take()
    }

    /// Shows the wanted records of the batches that are complete now and were not seen yet. Does
    /// not wait. Says which records it could not see because they were moved to an archive.
    ///
    /// # Errors
    /// The log cannot be read, HEAD or a segment's header is damaged or does not follow, or what
    /// was seen is not there any more.
    pub fn catch_up<S: ReadStorage>(
        &mut self,
        storage: &S,
        filter: &Filter,
        visit: &mut dyn FnMut(Line),
    ) -> Result<Option<Missed>, TailError> {
        // What HEAD witnesses before the look is written: if it cannot be read, it is damaged.
        let witnessed = self.witness(storage)?;
        let (mut follower, missed) = match self.follower.take() {
            Some(follower) => (follower, None),
            None => match self.begin(storage)? {
                Some((follower, missed)) => (follower, missed),
                None => return Ok(None),
            },
        };
        if !is_there(storage, &follower)? {
            return Err(self.set_back(storage));
        }
        match self.follow(&mut follower, storage, witnessed, filter, visit) {
            Ok(()) if follower.run.chain.sequence < self.newest => {
                return Err(self.set_back(storage));
            }
            Ok(()) => self.follower = Some(follower),
            // The next call goes on from where the log begins by then.
            Err(FollowError::Gone { .. }) if self.has_moved(storage)? => {}
            Err(FollowError::Gone { .. }) => return Err(self.set_back(storage)),
            Err(error) => return Err(error.into()),
        }
        Ok(missed)
    }

    /// The record that HEAD names, which is no older one than before; 0 where there is no HEAD, as
    /// before the first segment.
    fn witness<S: ReadStorage>(&mut self, storage: &S) -> Result<u64, TailError> {
        let head = match read_head(storage)? {
            Ok(head) => head,
            wrong => {
                let has_none = LogReader::of(storage)?.firsts().is_empty();
                let found = wrong_witness(&wrong, has_none).map(FollowError::Damaged);
                return found.map_or(Ok(0), |found| Err(found.into()));
            }
        };
        let (seen, before, now) = (self.newest, self.witnessed, head.newest_sequence);
        if now < before {
            return Err(TailError::HeadSetBack { seen, before, now });
        }
        self.witnessed = now;
        Ok(now)
    }

    fn set_back<S: ReadStorage>(&self, storage: &S) -> TailError {
        let last = LogReader::of(storage).map_err(ReadError::from);
        let now = last.and_then(|reader| last_run(&reader));
        match now {
            Ok(run) => {
                let now = run.map_or(0, |run| run.chain.sequence);
                TailError::SetBack { seen: self.newest, now }
            }
            Err(error) => error.into(),
        }
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
            batch.extend(Judged::of(place, record, filter, &prefilter));
            if record.header.flags.more_follows() {
                return;
            }
            self.newest = sequence;
            for Judged { line, unread } in batch.drain(..) {
                self.unread = self.unread.take().or(unread);
                line.into_iter().for_each(|line| visit(line.lying_in(&storage.archives())));
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

    /// Returns whether what was followed was moved to an archive, rather than taken away.
    fn has_moved<S: ReadStorage>(&self, storage: &S) -> Result<bool, ReadError> {
        Ok(Anchor::of(storage)?.position.sequence >= self.newest.max(1))
    }
}

/// Returns whether the newest record that was seen stands where it stood.
fn is_there<S: ReadStorage>(storage: &S, follower: &Follower) -> Result<bool, TailError> {
    let (first, run) = (follower.header.first_sequence(), &follower.run);
    if run.record_offset == 0 {
        return Ok(true);
    }
    let file = segment_path(first);
    let mut segment = match OpenSegment::of(storage.open(&file), first) {
        Ok(segment) => segment,
        Err(FollowError::Read(error)) => return Err(error.into()),
        // What became of it is told by following it.
        Err(FollowError::Gone { .. }) => return Ok(true),
        Err(_) => return Ok(false),
    };
    let item = segment.window.item(run.record_offset, &segment.header);
    let item = item.map_err(io_error(&file))?;
    Ok(matches!(item, Ok((Item::Record(record), _))
        if ChainPosition::of(&record.header) == run.chain))
}
