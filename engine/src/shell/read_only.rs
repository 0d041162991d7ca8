//! A log that is looked at and not written to: the state, without the writers' turn.

use super::error::SubmitError;
use super::rebuild::LiveState;
use super::snapshot::newest_state;
use crate::log::{RootState, Storage};
use holdpoint_domain::World;
use holdpoint_log_files::survey::{READINGS_MAX, Reached, Visit, io_error};
use holdpoint_log_files::{
    DirectoryStorage, Extent, Finding, FollowError, Follower, SurveyError, SurveyOptions, survey,
};
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{ChainPosition, LogId, names};
use parking_lot::ReentrantMutex;
use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use thiserror::Error;

/// A log could not be looked at.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadOnlyError {
    /// There is no log.
    #[error("there is no log at {path}: name the directory of one")]
    NothingHere {
        /// The path.
        path: PathBuf,
    },
    /// The path is no directory, or is a symbolic link.
    #[error("{path} is not a directory: name the directory of a log, and no link to it")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The end of the log is damaged.
    #[error(
        "{path} is damaged: {}; look at it with `holdpoint verify`",
        .findings.first().map_or_else(|| "records are missing".to_string(), ToString::to_string)
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The row of the recovery table.
        row: Row,
        /// Findings of the check.
        findings: Vec<Finding>,
    },
    /// A file cannot be read, or is of a newer version.
    #[error("{path}: {source}")]
    Read {
        /// The log.
        path: PathBuf,
        /// Cause of it.
        source: SurveyError,
    },
    /// The path cannot be looked at.
    #[error("cannot look at {path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The state cannot be made from the records.
    #[error(transparent)]
    State(#[from] SubmitError),
    /// Records were moved to an archive again and again, or another log took the place.
    #[error("{path} was changed again and again while it was read: try again")]
    Changed {
        /// The log.
        path: PathBuf,
    },
}

/// The state of a log, for looking at it. It takes no lock and writes nothing, so that it works
/// beside every writer, an exclusive owner too, and on a file system that takes no writes.
///
/// It begins at the newest snapshot that the chain vouches for, so that opening does not take
/// longer the longer the log is; where there is none the log is read whole. What it tells is then
/// [as stated by](Self::stated_by) a record, and nothing was found out about what is before that
/// one. Records behind the [witnessed](Self::witnessed_sequence) one have no witness yet, and those
/// behind the [durable](Self::durable_sequence) one may be gone after a power loss. What permits an
/// effect is for [`Engine::query`](super::Engine::query) and
/// [`Engine::submit`](super::Engine::submit) to tell, which take a turn.
///
/// ```
/// # use holdpoint_engine::Engine;
/// # let home = tempfile::tempdir()?;
/// # let directory = home.path().join("log");
/// let writer = Engine::open(&directory)?;
/// let mut looking = Engine::open_read_only(&directory)?;
/// assert_eq!(looking.world().open_requests().count(), 0);
///
/// // Others write on: the state stands where it stood until it is refreshed.
/// # let waits = writer.query(|world| world.open_requests().count())?;
/// looking.refresh()?;
/// assert_eq!(looking.world().open_requests().count(), waits);
/// # writer.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ReadOnlyEngine<S: Storage = DirectoryStorage> {
    disk: S,
    state: CurrentState,
}

/// A state, and what is known of the log that it is of.
struct CurrentState {
    /// Of one thread at a time, which may ask for it again: it is decoded as it is asked.
    world: ReentrantMutex<World>,
    place: Follower,
    stated_by: Option<u64>,
    reached: Reached,
}

/// The end of a log.
struct End {
    log: Option<LogId>,
    newest: ChainPosition,
    anchor: u64,
    reached: Reached,
}

impl<S: Storage> ReadOnlyEngine<S> {
    /// Opens the log on a disk.
    ///
    /// # Errors
    /// As [`Engine::open_read_only`](super::Engine::open_read_only).
    pub fn open_with(disk: S) -> Result<Self, ReadOnlyError> {
        check_root(&disk)?;
        let state = steadily(&disk, || CurrentState::of(&disk))?;
        Ok(Self { disk, state })
    }

    /// The state behind the newest record that was there when this was opened or refreshed: what
    /// lives, and what ended lately. Other threads wait for it as long as this one holds it.
    #[must_use]
    pub fn world(&self) -> impl Deref<Target = World> + use<'_, S> {
        self.state.world.lock()
    }

    /// The newest record that the state holds.
    #[must_use]
    pub const fn newest_sequence(&self) -> u64 {
        self.state.place.run.chain.sequence
    }

    /// The record that states what the state was behind the one before it; `None` where every
    /// record of the log was read.
    #[must_use]
    pub const fn stated_by(&self) -> Option<u64> {
        self.state.stated_by
    }

    /// The newest record that HEAD witnesses.
    #[must_use]
    pub const fn witnessed_sequence(&self) -> u64 {
        self.state.reached.witnessed
    }

    /// The newest record that is known to be durable.
    #[must_use]
    pub const fn durable_sequence(&self) -> u64 {
        self.state.reached.durable
    }

    /// Takes in what was written since. Where those records were moved to an archive meanwhile, the
    /// log is opened anew. After an error the state is as it was.
    ///
    /// # Errors
    /// As [`Engine::open_read_only`](super::Engine::open_read_only).
    pub fn refresh(&mut self) -> Result<(), ReadOnlyError> {
        let (disk, before) = (&self.disk, &self.state);
        let after = steadily(disk, || {
            let end = End::of(disk)?;
            if end.log.is_some_and(|log| log != before.place.header.log) {
                return Err(ReadOnlyError::Changed { path: disk.root().to_path_buf() });
            }
            let mut hot = LiveState::from(before.world.lock().clone(), before.place.clone());
            match hot.follow(&|place, visit| place.follow_to(disk, &end.newest, visit)) {
                Err(SubmitError::Follow(FollowError::Gone { .. })) => CurrentState::of(disk),
                followed => {
                    followed?;
                    Ok(CurrentState::new(hot.world, hot.place, before.stated_by, end.reached))
                }
            }
        })?;
        self.state = after;
        Ok(())
    }
}

impl CurrentState {
    fn new(world: World, place: Follower, stated_by: Option<u64>, reached: Reached) -> Self {
        Self { world: ReentrantMutex::new(world), place, stated_by, reached }
    }

    fn of<S: Storage>(disk: &S) -> Result<Self, ReadOnlyError> {
        let End { newest, anchor, reached, .. } = End::of(disk)?;
        let stated = newest_state(disk, reached.witnessed, &newest).map_err(SubmitError::from)?;
        // Whoever looks at the state is asked nothing behind that: all of it is read here.
        let stated = stated.and_then(|(hot, by)| Some((hot.world.read_whole()?, hot.place, by)));
        if let Some((world, place, by)) = stated {
            return Ok(Self::new(world, place, Some(by), reached));
        }
        let beginning = Follower::at_segment(disk, anchor.saturating_add(1));
        let beginning = beginning.map_err(SubmitError::from)?;
        let on_disk =
            |place: &mut Follower, visit: &mut Visit<'_>| place.follow_to(disk, &newest, visit);
        let mut hot = LiveState::at_beginning(beginning, &on_disk)?;
        hot.follow(&on_disk)?;
        Ok(Self::new(hot.world, hot.place, None, reached))
    }
}

impl End {
    fn of<S: Storage>(disk: &S) -> Result<Self, ReadOnlyError> {
        let path = || disk.root().to_path_buf();
        let unread = |source| ReadOnlyError::Read { path: path(), source };
        let is_being_written = disk.is_locked().map_err(io_error(names::LOCK)).map_err(unread)?;
        let (extent, boot) = (Extent::FromHead, disk.boot());
        let options = SurveyOptions::new(extent, boot).being_written(is_being_written);
        let found = survey(disk, options, &mut |_, _| {}).map_err(unread)?;
        if found.row.verdict() == Verdict::NothingHere {
            return Err(ReadOnlyError::NothingHere { path: path() });
        }
        let anchor = found.head.valid().map_or(0, |head| head.anchor_sequence);
        let (log, reached) = (found.log, found.reached());
        found.sound_end().map(|newest| Self { log, newest, anchor, reached }).ok_or_else(|| {
            ReadOnlyError::Damaged { path: path(), row: found.row, findings: found.findings }
        })
    }
}

fn check_root<S: Storage>(disk: &S) -> Result<(), ReadOnlyError> {
    let path = disk.root().to_path_buf();
    match disk.root_state() {
        Ok(RootState::Directory) => Ok(()),
        Ok(RootState::Missing) => Err(ReadOnlyError::NothingHere { path }),
        Ok(RootState::SymbolicLink | RootState::Other) => {
            Err(ReadOnlyError::NotADirectory { path })
        }
        Err(source) => Err(ReadOnlyError::Io { path, source }),
    }
}

/// Looks again as long as what is read goes away meanwhile. While somebody writes, what is behind
/// the newest record is "not yet". Somebody may have begun meanwhile, so that damage counts where
/// it is found twice.
fn steadily<S: Storage, T>(
    disk: &S,
    mut look: impl FnMut() -> Result<T, ReadOnlyError>,
) -> Result<T, ReadOnlyError> {
    let mut damage = None;
    for begun in 1..=READINGS_MAX {
        // Where nothing is there, looking says so.
        let _ = disk.hold();
        match look() {
            Err(error) if error.is_gone() => {}
            Err(ReadOnlyError::Damaged { findings, .. })
                if begun < READINGS_MAX && damage.as_ref() != Some(&findings) =>
            {
                damage = Some(findings);
            }
            looked => return looked,
        }
    }
    Err(ReadOnlyError::Changed { path: disk.root().to_path_buf() })
}

impl ReadOnlyError {
    fn is_gone(&self) -> bool {
        match self {
            Self::Read { source, .. }
            | Self::State(SubmitError::Follow(FollowError::Read(source))) => source.is_gone(),
            Self::State(SubmitError::Follow(FollowError::Gone { .. })) => true,
            _ => false,
        }
    }
}
