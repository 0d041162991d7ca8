//! Telling a log that does not verify from a disk or a program that failed.

use crate::log::archives::BEFORE_THE_LOG;
use crate::ui::Exit;
use holdpoint_engine::log::{AppendError, ArchiveError, CloseError, OpenError};
use holdpoint_engine::shell::{EngineError, MoveError, RunError, SubmitError, SubscriptionError};
use holdpoint_log_files::FollowError;
use std::fmt::Display;

/// The code of what a newer program wrote.
pub(crate) const NEWER_VERSION: &str = "newer_version";

/// An error of a verb that writes.
pub(crate) trait LogError: Display {
    /// Whether it says that the log does not verify.
    fn is_damage(&self) -> bool;

    /// The code for programs, where nothing failed and the log is one that nobody adds to.
    fn refusal(&self) -> Option<&'static str> {
        None
    }

    /// The code for programs, where something failed and the log verifies, or what has to be known
    /// is in an archive that cannot be read.
    fn code(&self) -> &'static str {
        "log"
    }

    /// The bytes that a full disk lacked room for, and those that it had, where that is known.
    fn room(&self) -> Option<(u64, Option<u64>)> {
        None
    }

    /// The exit of the verb, and the code for programs.
    fn exit(&self) -> (Exit, &'static str) {
        match self.refusal() {
            Some(code) => (Exit::REFUSED, code),
            None if self.is_damage() => (Exit::VERIFICATION_FAILED, "damaged"),
            None => match self.code() {
                BEFORE_THE_LOG => (Exit::NOT_FOUND, BEFORE_THE_LOG),
                code => (Exit::FAILED, code),
            },
        }
    }
}

impl<E: LogError> LogError for &E {
    fn is_damage(&self) -> bool {
        (*self).is_damage()
    }

    fn code(&self) -> &'static str {
        (*self).code()
    }

    fn refusal(&self) -> Option<&'static str> {
        (*self).refusal()
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        (*self).room()
    }
}

impl LogError for EngineError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Open(error) => error.is_damage(),
            Self::Submit(error) => error.is_damage(),
            _ => false,
        }
    }

    fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Open(error) => error.refusal(),
            Self::Submit(error) => error.refusal(),
            _ => None,
        }
    }

    fn code(&self) -> &'static str {
        if let Self::Submit(error) = self { error.code() } else { "log" }
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Self::Open(error) => error.room(),
            Self::Submit(error) => error.room(),
            _ => None,
        }
    }
}

impl LogError for OpenError {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    fn refusal(&self) -> Option<&'static str> {
        matches!(self, Self::Archive { .. }).then_some("is_archive")
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        let Self::NoSpace { needed, free, .. } = self else { return None };
        Some((*needed, *free))
    }
}

impl LogError for SubmitError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Append(error) => error.is_damage(),
            Self::Follow(error) => error.is_damage(),
            Self::Beginning(error) => error.is_damage(),
            Self::BeginningUnstated { .. } | Self::CarriedState { .. } => true,
            _ => false,
        }
    }

    fn refusal(&self) -> Option<&'static str> {
        matches!(self, Self::Withheld { .. }).then_some("withheld")
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NewerRules(_) => NEWER_VERSION,
            Self::ArchiveUnread { .. } => BEFORE_THE_LOG,
            _ => "log",
        }
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        if let Self::Append(error) = self { error.room() } else { None }
    }
}

impl LogError for AppendError {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Reopen(error) if error.is_damage())
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        let Self::NoSpace { needed, free } = self else { return None };
        Some((*needed, *free))
    }
}

impl LogError for CloseError {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Append(error) if error.is_damage())
    }
}

impl LogError for SubscriptionError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Follow(error) => error.is_damage(),
            Self::Record(error) => error.is_damage(),
            _ => false,
        }
    }
}

impl LogError for MoveError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Archive(error) => error.is_damage(),
            Self::Submit(error) => error.is_damage(),
            _ => false,
        }
    }

    fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Submit(error) => error.refusal(),
            _ => None,
        }
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Self::Archive(error) => error.room(),
            Self::Submit(error) => error.room(),
            _ => None,
        }
    }
}

impl LogError for ArchiveError {
    fn is_damage(&self) -> bool {
        match self {
            Self::NoHead => true,
            Self::Follow(error) => error.is_damage(),
            Self::Append(error) => error.is_damage(),
            _ => false,
        }
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Self::NoSpace { needed, free, .. } => Some((*needed, *free)),
            Self::Append(error) => error.room(),
            _ => None,
        }
    }
}

impl LogError for FollowError {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::Header { .. })
    }
}

impl LogError for RunError {
    fn is_damage(&self) -> bool {
        matches!(self, Self::Submit(error) if error.is_damage())
    }

    fn room(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Self::Submit(error) => error.room(),
            Self::NotRecorded { source, .. }
            | Self::NotSynced { source, .. }
            | Self::NotConcluded { source, .. }
            | Self::EndWaitsUnfinished { source, .. } => source.room(),
            _ => None,
        }
    }
}
