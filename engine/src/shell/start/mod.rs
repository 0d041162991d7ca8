//! Asking before acting: the question whether a command may start, bound to everything that the
//! start is made of, and the start that spends its approval. No loop exists before the answer.

mod approved;
mod ask;
mod context;
mod facts;
mod input;
mod keys;
mod program;
mod shown_command;

pub use approved::ApprovedStart;
pub use ask::{AskBefore, Asked, StartAnswer, StartPrompter};
pub use context::without_variables;
pub use holdpoint_domain::decision_point::{APPROVE, DENY};
pub use keys::ApprovalKeys;
pub(super) use program::ApprovedProgram;

use super::engine::Engine;
use super::error::SubmitError;
use super::run::{ASKING, BINDING_MISMATCH, GovernedRun, KEY_MISSING, RunError};
use crate::executor::{SignalSource, StartRefusal};
use crate::log::Storage;
use facts::{Facts, Surroundings};
use holdpoint_domain::Refusal;
use holdpoint_domain::decision_point::DecisionPointRefusal;
use input::Input;
use keys::Key;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What a start is bound to besides its command.
#[derive(Clone, Debug)]
pub struct Bound {
    files: Vec<PathBuf>,
    input: Input,
    keys: ApprovalKeys,
}

/// Nothing was started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A rule said no.
    #[error("{0}")]
    Refused(Refusal),
    /// There is no program to be asked about.
    #[error(transparent)]
    Program(StartRefusal),
    /// What is bound cannot be read, or the key not be kept.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file to be bound that is none.
    #[error("{} is no regular file; bind one", .path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// A file that was written to while it was read.
    #[error("{} was changed while it was read; ask when nobody writes to it", .path.display())]
    Changing {
        /// Which.
        path: PathBuf,
    },
    /// Standard input is something whose content cannot be known before.
    #[error(
        "standard input is {found}, which cannot be bound; give a file or a pipe, or leave \
         --stdin away"
    )]
    Input {
        /// What it is.
        found: &'static str,
    },
    /// More than is kept of a pipe.
    #[error(
        "standard input has more than {limit} bytes, which is the most that is kept of a pipe; \
         give a file"
    )]
    InputTooLong {
        /// The most, in bytes.
        limit: usize,
    },
    /// Standard input cannot be read or kept.
    #[error("standard input cannot be read or kept: {0}")]
    InputFailed(io::Error),
    /// A signal asked for the end before anybody was asked.
    #[error("interrupted by signal {signal} before anybody was asked")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// The system has no random bits.
    #[error("no random bits for a key: {0}")]
    Random(getrandom::Error),
    /// The user database does not answer.
    #[error("the user database does not say where this user's home is, for the key: {0}")]
    HomeUnknown(io::Error),
    /// There is nowhere to keep a key.
    #[error(
        "there is no home to keep the key of the question in: give this user one in the user \
         database"
    )]
    NoHome,
    /// The key is not there with which the question was bound.
    #[error(
        "the key of {decision_id} is not in {}, and nothing else can tell whether this is what was \
         approved; spend it as the user and on the machine that asked, or ask anew", .file.display()
    )]
    KeyMissing {
        /// The question.
        decision_id: String,
        /// Where it should be.
        file: PathBuf,
    },
    /// What is asked for is not what was approved.
    #[error(
        "{decision_id} approves something else: {}; start that, as it was approved, or ask anew \
         for this with `{ASKING}`", .differences.join("; ")
    )]
    Differs {
        /// The question.
        decision_id: String,
        /// What differs, item by item.
        differences: Vec<String>,
    },
    /// The run itself could not be recorded as it should.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl StartError {
    /// The stable reason code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Submit(_) | Self::Run(_) => "NOT_RECORDED",
            Self::Refused(refusal) => refusal.code(),
            Self::Program(_) => "PROGRAM_REFUSED",
            Self::Io { .. } | Self::Random(_) | Self::NoHome | Self::HomeUnknown(_) => "NOT_BOUND",
            Self::NotAFile { .. } | Self::Changing { .. } => "FILE_NOT_BOUND",
            Self::Input { .. } | Self::InputTooLong { .. } | Self::InputFailed(_) => {
                "INPUT_NOT_BOUND"
            }
            Self::Interrupted { .. } => "INTERRUPTED",
            Self::KeyMissing { .. } => KEY_MISSING,
            Self::Differs { .. } => BINDING_MISMATCH,
        }
    }
}

impl From<DecisionPointRefusal> for StartError {
    fn from(refusal: DecisionPointRefusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl Bound {
    /// These files besides the command, and its standard input: a pipe is read to its end here, and
    /// kept for the command.
    ///
    /// # Errors
    /// Standard input cannot be bound, or a signal asked for the end meanwhile.
    pub fn take(
        run: &GovernedRun,
        files: Vec<PathBuf>,
        keys: ApprovalKeys,
        signals: &mut dyn SignalSource,
    ) -> Result<Self, StartError> {
        let input = Input::take(run.command.stdin, signals)?;
        Ok(Self { files, input, keys })
    }

    /// Everything that the start is made of, as it is now.
    fn facts<S: Storage>(
        &self,
        engine: &Engine<S>,
        run: &GovernedRun,
        key: &Key,
    ) -> Result<Facts, StartError> {
        let around = Surroundings {
            log_id: engine.report().log.to_string(),
            log: engine.root(),
            files: &self.files,
            input: &self.input,
            key,
        };
        Facts::of(run, &around)
    }
}
