//! Telling a log that does not verify from a disk or a program that failed.

use crate::log::archives::BEFORE_THE_LOG;
use crate::ui::Exit;
use holdpoint_engine::log::{AppendError, ArchiveError, CloseError, OpenError};
use holdpoint_engine::shell::{EngineError, MoveError, RunError, SubmitError, SubscriptionError};
use holdpoint_log_files::FollowError;
use std::fmt::Display;

/// The code of what a newer program wrote.
pub(crate) const NEWER_VERSION: &str = "newer_version";

/// Meaning of an error for whoever called the verb.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    exit: Exit,
    /// Name for programs.
    code: &'static str,
    /// The bytes that a full disk lacked room for, and those that it had, where that is known.
    room: Option<(u64, Option<u64>)>,
}

impl Meaning {
    /// Something failed, and the log verifies.
    const FAILED: Self = Self { exit: Exit::FAILED, code: "log", room: None };
    /// The log does not verify.
    const DAMAGED: Self = Self { exit: Exit::VERIFICATION_FAILED, code: "damaged", room: None };

    /// Nothing failed, and the log is one that nobody adds to.
    const fn refused(code: &'static str) -> Self {
        Self { exit: Exit::REFUSED, code, room: None }
    }

    const fn lacking_room(needed: u64, free: Option<u64>) -> Self {
        Self { room: Some((needed, free)), ..Self::FAILED }
    }

    /// Keeps that the log does not verify, and the room; what else it is says less behind others.
    fn of_part(self) -> Self {
        let base =
            if self.exit == Exit::VERIFICATION_FAILED { Self::DAMAGED } else { Self::FAILED };
        Self { room: self.room, ..base }
    }

    fn without_room(self) -> Self {
        Self { room: None, ..self }
    }
}

/// An error of a verb that writes.
pub(crate) trait LogError: Display {
    /// Meaning of the error.
    fn meaning(&self) -> Meaning;

    /// The bytes that a full disk lacked room for, and those that it had, where that is known.
    fn room(&self) -> Option<(u64, Option<u64>)> {
        self.meaning().room
    }

    /// The exit of the verb, and the code for programs.
    fn exit(&self) -> (Exit, &'static str) {
        let Meaning { exit, code, .. } = self.meaning();
        (exit, code)
    }
}

impl<E: LogError> LogError for &E {
    fn meaning(&self) -> Meaning {
        (*self).meaning()
    }
}

impl LogError for EngineError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Open(error) => error.meaning(),
            Self::Submit(error) => error.meaning(),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for OpenError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Refused { .. } => Meaning::DAMAGED,
            Self::Archive { .. } => Meaning::refused("is_archive"),
            Self::NoSpace { needed, free, .. } => Meaning::lacking_room(*needed, *free),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for SubmitError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Append(error) => error.meaning(),
            Self::Follow(error) => error.meaning(),
            Self::Beginning(error) => error.meaning().of_part().without_room(),
            Self::BeginningUnstated { .. } | Self::CarriedState { .. } => Meaning::DAMAGED,
            Self::Withheld { .. } => Meaning::refused("withheld"),
            Self::Undecodable { source, .. } if source.is_of_unknown_kind() => {
                Meaning { code: NEWER_VERSION, ..Meaning::FAILED }
            }
            Self::ArchiveUnread { .. } => {
                Meaning { exit: Exit::NOT_FOUND, code: BEFORE_THE_LOG, room: None }
            }
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for AppendError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Reopen(error) => error.meaning().of_part().without_room(),
            Self::NoSpace { needed, free } => Meaning::lacking_room(*needed, *free),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for CloseError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Append(error) => error.meaning().without_room(),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for SubscriptionError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Follow(error) => error.meaning(),
            Self::Record(error) => error.meaning().of_part().without_room(),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for MoveError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Archive(error) => error.meaning(),
            Self::Submit(error) if error.meaning().exit == Exit::REFUSED => error.meaning(),
            Self::Submit(error) => error.meaning().of_part(),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for ArchiveError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::NoHead => Meaning::DAMAGED,
            Self::Follow(error) => error.meaning(),
            Self::Append(error) => error.meaning(),
            Self::NoSpace { needed, free, .. } => Meaning::lacking_room(*needed, *free),
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for FollowError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Damaged(_) | Self::Header { .. } => Meaning::DAMAGED,
            _ => Meaning::FAILED,
        }
    }
}

impl LogError for RunError {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Submit(error) => error.meaning().of_part(),
            Self::NotRecorded { source, .. }
            | Self::NotSynced { source, .. }
            | Self::NotConcluded { source, .. }
            | Self::EndWaitsUnfinished { source, .. } => {
                Meaning { room: source.room(), ..Meaning::FAILED }
            }
            _ => Meaning::FAILED,
        }
    }
}
