//! The engine: a log open for writing and the state that follows it.

use super::clock::{Clock, Reading, SystemClock};
use super::entropy::{EntropySource, SystemEntropy};
use super::error::{EngineError, SubmitError};
use super::rebuild::Hot;
use super::submit::{Origin, Receipt, Submitted};
use crate::log::{CloseError, Level, Log, OpenReport, Options, Storage};
use holdpoint_domain::command::{Command, Entropy, SystemEvent};
use holdpoint_domain::event::{HeadMissingAccepted, RecoveryPerformed, Text};
use holdpoint_domain::{ActorId, World, execution_loop::Actor};
use holdpoint_log_files::DirectoryStorage;
use parking_lot::Mutex;
use std::path::Path;

/// How an engine is opened.
pub struct EngineOptions {
    /// How its log is opened.
    pub log: Options,
    /// How durable a record is when its receipt is returned.
    pub level: Level,
    /// The clock.
    pub clock: Box<dyn Clock>,
    /// The source of ids.
    pub entropy: Box<dyn EntropySource>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            log: Options::default(),
            level: Level::Always,
            clock: Box::new(SystemClock),
            entropy: Box::new(SystemEntropy),
        }
    }
}

/// A log open for writing and the state that follows it. `Send` and `Sync`: submissions from
/// several threads take turns.
pub struct Engine<S: Storage = DirectoryStorage> {
    pub(super) log: Log<S>,
    pub(super) level: Level,
    pub(super) clock: Box<dyn Clock>,
    entropy: Box<dyn EntropySource>,
    /// `None` after a failure: what the disk holds is no longer known, so nothing is answered.
    pub(super) hot: Mutex<Option<Hot>>,
    report: OpenReport,
}

impl Engine {
    /// Opens the log in a directory, with the defaults: made where there is none, a turn for each
    /// command, every receipt durable.
    ///
    /// # Errors
    /// The log cannot be opened, or holds a record that this program cannot read.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, EngineError> {
        let storage = DirectoryStorage::new(directory.as_ref());
        Self::open_with(storage, EngineOptions::default())
    }
}

impl<S: Storage> Engine<S> {
    /// Opens a log with options, rebuilds the state, and records what recovery did.
    ///
    /// # Errors
    /// The log cannot be opened, or holds a record that this program cannot read.
    pub fn open_with(storage: S, options: EngineOptions) -> Result<Self, EngineError> {
        let (log, report) = Log::open(storage, options.log)?;
        let place = log.first_place().map_err(SubmitError::from)?;
        let engine = Self {
            log,
            level: options.level,
            clock: options.clock,
            entropy: options.entropy,
            hot: Mutex::new(Some(Hot { world: World::default(), place })),
            report,
        };
        engine.record_opening()?;
        Ok(engine)
    }

    /// What opening found and did.
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Submits a command: decided by the rules, recorded, durable at the engine's level when this
    /// returns. A refusal by a rule is an answer, not an error, and nothing is written for it.
    ///
    /// # Errors
    /// The log failed or cannot be read; nothing was acknowledged.
    pub fn submit(&self, origin: &Origin, command: &Command) -> Result<Submitted, SubmitError> {
        super::submit::submit(self, origin, command)
    }

    /// Asks the state, after catching up with what other processes appended and syncing what the
    /// answer depends on.
    ///
    /// # Errors
    /// The log failed or cannot be read.
    pub fn query<T>(&self, answer: impl FnOnce(&World) -> T) -> Result<T, SubmitError> {
        super::submit::query(self, answer)
    }

    /// 128 fresh random bits, for a command that brings ids into the world.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn entropy(&self) -> Result<Entropy, SubmitError> {
        self.entropy.draw().map_err(SubmitError::Entropy)
    }

    /// Makes everything durable, lets HEAD name it, and leaves the lock cleanly.
    ///
    /// # Errors
    /// See [`CloseError`].
    pub fn close(self) -> Result<(), CloseError> {
        self.log.close()
    }

    pub(super) fn now(&self) -> Reading {
        self.clock.now()
    }

    /// What recovery did is a fact like any other.
    fn record_opening(&self) -> Result<(), SubmitError> {
        let recovered = &self.report.recovered;
        if recovered.without_head {
            let before = self.log.first_place().map_err(SubmitError::from)?.run.chain.sequence;
            let accepted = HeadMissingAccepted {
                first_sequence: before.saturating_add(1),
                last_sequence: recovered.newest_sequence,
            };
            self.record(SystemEvent::HeadMissingAccepted(accepted))?;
        }
        if recovered.cut_bytes > 0 {
            let performed = RecoveryPerformed {
                last_proven_sequence: recovered.proven_sequence,
                last_kept_sequence: recovered.newest_sequence,
                cut_bytes: recovered.cut_bytes,
                copied_to: recovered.copied_to.as_deref().map(Text::from),
            };
            self.record(SystemEvent::RecoveryPerformed(performed))?;
        }
        Ok(())
    }

    fn record(&self, event: SystemEvent) -> Result<Option<Receipt>, SubmitError> {
        let correlation = self.entropy()?.to_string();
        let origin = Origin { actor: system_actor(), correlation, causation: None };
        let submitted = self.submit(&origin, &Command::RecordSystemEvent(event))?;
        Ok(submitted.receipt().cloned())
    }
}

/// Holdpoint itself.
pub(super) fn system_actor() -> ActorId {
    ActorId { kind: Actor::System, id: "holdpoint".to_string() }
}
