//! Asking before acting: the question whether a command may start, bound to everything that the
//! start is made of, and the start that spends its approval. No loop exists before the answer.

mod approved;
mod ask;
mod context;
mod facts;
mod file_content;
mod input;
mod keys;
mod named_files;
mod program;
mod shown_command;
mod summary;
mod variables;

pub use approved::ApprovedStart;
pub use ask::{ApprovalOutcome, AskBefore, StartAnswer, StartPrompter};
pub use holdpoint_domain::decision_point::{APPROVE, DENY};
pub use keys::ApprovalKeys;
pub(super) use named_files::BoundFiles;
pub use named_files::{BOUND_BYTES_MAX, BOUND_FILES_MAX};
pub(super) use program::ApprovedProgram;
pub use summary::{NamedLine, StartSummary};
pub use variables::{CODE_VARIABLES, SESSION_VARIABLES, STEP_VARIABLES, carries_code};

use super::engine::Engine;
use super::error::SubmitError;
use super::run::{ASKING, BINDING_MISMATCH, GovernedRun, KEY_MISSING, RunError};
use crate::executor::{SignalSource, StartRefusal, visible};
use crate::log::Storage;
use context::{Edition, SEPARATOR, of_kind};
use facts::{Choices, Facts, StartContext};
use holdpoint_domain::Refusal;
use holdpoint_domain::decision_point::DecisionPointRefusal;
use input::Input;
use keys::ApprovalKey;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use thiserror::Error;
use variables::{UNBOUND, UNBOUND_VARIABLES_MAX, UnboundValue};

/// The longest name of a file that can be left unbound, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Options for what whoever asks binds besides the command, and does not bind of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BindingOptions {
    /// Files that are bound besides those that words of the command name.
    pub files: Vec<PathBuf>,
    /// Files that words of the command name, and that are not bound: those that it writes. Empty
    /// where an approval is spent: those that the question names.
    pub unbound_files: Vec<OsString>,
    /// Variables that are not bound: those that are set to another file for every step. Empty where
    /// an approval is spent: those that the question names.
    pub unbound_variables: Vec<OsString>,
}

/// Facts that a start is bound to besides its command.
#[derive(Clone, Debug)]
pub struct Bound {
    files: Vec<PathBuf>,
    unbound_files: Vec<String>,
    unbound_variables: Vec<String>,
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
    /// A bound file cannot be read, or the key not be kept.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// Operation that was tried.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// A file to be bound that is none.
    #[error("{} is no regular file; bind one", .path.display())]
    NotAFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file that was written to while it was read.
    #[error(
        "{} was changed while it was read; ask when nobody writes to it, or leave a file that the \
         command writes unbound by --unbind file=NAME", .path.display()
    )]
    Changing {
        /// Path of the file.
        path: PathBuf,
    },
    /// A name that is to be left unbound, and that cannot be shown as it is.
    #[error("{option} {name} cannot be asked about: {expected}")]
    Unshowable {
        /// The option that names it.
        option: &'static str,
        /// The name, made visible.
        name: String,
        /// The names that can be.
        expected: &'static str,
    },
    /// An entry of the environment that has no one value.
    #[error(
        "the environment has {name} twice, or without a value: a hold binds one value of each \
         variable; start with `env -u {name}`, or without that entry"
    )]
    Ambiguous {
        /// Its name, made visible.
        name: String,
    },
    /// Variables that carry code are more than a question shows.
    #[error(
        "{left_out} variables that carry code have no room in the question; unset what the command \
         does not need, or name fewer files"
    )]
    CodeNotShown {
        /// Number of them that there is no room for.
        left_out: usize,
    },
    /// More variables are to be left unbound than are put on record.
    #[error("{found} variables are to be left unbound; the limit is {expected}: name fewer")]
    TooManyUnbound {
        /// Number of them.
        found: usize,
        /// The limit.
        expected: usize,
    },
    /// Standard input is something whose content cannot be known before.
    #[error(
        "standard input is {found}, which cannot be bound; give a file or a pipe, or leave \
         --stdin away"
    )]
    Input {
        /// Kind of what it is.
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
        /// Path where it should be.
        file: PathBuf,
    },
    /// The request is not what was approved.
    #[error(
        "{decision_id} approves something else: {}; start that, as it was approved, or ask anew \
         for this with `{ASKING}`", .differences.join("; ")
    )]
    Differs {
        /// The question.
        decision_id: String,
        /// Differences, item by item.
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
            Self::Unshowable { .. } | Self::TooManyUnbound { .. } => "NAME_NOT_SHOWN",
            Self::Ambiguous { .. } => "VARIABLE_AMBIGUOUS",
            Self::CodeNotShown { .. } => "CODE_NOT_SHOWN",
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
    /// Takes what the options say besides the command, and its standard input: a pipe is read to
    /// its end here, and kept for the command.
    ///
    /// # Errors
    /// A name cannot be asked about, standard input cannot be bound, or a signal asked for the end
    /// meanwhile.
    pub fn take(
        run: &GovernedRun,
        options: BindingOptions,
        keys: ApprovalKeys,
        signals: &mut dyn SignalSource,
    ) -> Result<Self, StartError> {
        let unbound_files = names("--unbind file=", options.unbound_files, |name| {
            let is_plain = visible(OsStr::new(name)) == *name && !name.contains(SEPARATOR);
            !name.is_empty() && name.len() <= NAME_BYTES_MAX && is_plain
        })?;
        let unbound_variables =
            names("--unbind env=", options.unbound_variables, variables::is_plain_name)?;
        let found = unbound_variables.len();
        if found > UNBOUND_VARIABLES_MAX {
            return Err(StartError::TooManyUnbound { found, expected: UNBOUND_VARIABLES_MAX });
        }
        let input = Input::take(run.command.stdin, signals)?;
        Ok(Self { files: options.files, unbound_files, unbound_variables, input, keys })
    }

    /// The start with what goes on record of its environment, and everything that it is made of as
    /// it is now. `asked` is the context of the question whose approval is spent: what it shows
    /// tells what it binds.
    fn facts<S: Storage>(
        &self,
        engine: &Engine<S>,
        run: &GovernedRun,
        key: &ApprovalKey,
        asked: Option<&str>,
    ) -> Result<(GovernedRun, Facts), StartError> {
        let choices = self.choices(asked);
        let mut run = run.clone();
        if choices.edition == Edition::Second {
            run.environment = variables::recorded(&run.environment, &choices.unbound);
        }
        let around = StartContext {
            log_id: engine.report().log.to_string(),
            log: engine.root(),
            choices: &choices,
            input: &self.input,
            key,
        };
        let facts = Facts::of(&run, &around)?;
        Ok((run, facts))
    }

    fn choices(&self, asked: Option<&str>) -> Choices {
        let context = asked.unwrap_or_default();
        let unbound: Vec<UnboundValue> = unbound_in(context);
        let names_of = |given: &[String], recorded: Vec<String>| match given {
            [] => recorded,
            given => given.to_vec(),
        };
        Choices {
            edition: asked.map_or(Edition::Second, Edition::of_context),
            files: self.files.clone(),
            unread: names_of(&self.unbound_files, named_files::excluded_in(context)),
            unbound: names_of(
                &self.unbound_variables,
                unbound.iter().map(|value| value.name.clone()).collect(),
            ),
            asked: unbound,
        }
    }
}

/// Returns what goes on record of the environment of a loop whose start was approved in a question
/// with this context.
pub(super) fn recorded_of(run: &GovernedRun, context: &str) -> Option<GovernedRun> {
    if Edition::of_context(context) == Edition::First {
        return None;
    }
    let names: Vec<String> = unbound_in(context).into_iter().map(|value| value.name).collect();
    let environment = variables::recorded(&run.environment, &names);
    Some(GovernedRun { environment, ..run.clone() })
}

/// The variables that a question says are not bound, with what it shows of their values.
fn unbound_in(context: &str) -> Vec<UnboundValue> {
    let of = |(name, value): (&str, &str)| UnboundValue {
        name: name.to_string(),
        value: Some(value.to_string()),
    };
    of_kind(context, UNBOUND).map(of).collect()
}

/// Names that a question can show as they are, each once.
fn names(
    option: &'static str,
    given: Vec<OsString>,
    is_shown: impl Fn(&str) -> bool,
) -> Result<Vec<String>, StartError> {
    let name = |name: OsString| match name.to_str().filter(|name| is_shown(name)) {
        Some(name) => Ok(name.to_string()),
        None => Err(StartError::Unshowable {
            option,
            name: visible(&name),
            expected: "its characters have to be plainly visible, and at most 256 bytes",
        }),
    };
    let mut names = given.into_iter().map(name).collect::<Result<Vec<String>, StartError>>()?;
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
