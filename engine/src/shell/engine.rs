//! The engine: a log open for writing and the state that follows it.

use super::callback::{Callback, EngineId, pass_on_panic};
use super::clock::{Clock, Reading};
use super::closing::{CloseSignal, Closing};
use super::conditions::Conditions;
use super::engine_options::EngineOptions;
use super::entropy::{EntropySource, UnusedEntropy};
use super::error::{EngineError, SubmitError};
use super::fingerprint::FingerprintDistance;
use super::identity::Identity;
use super::lost::{SeenRuns, Settled};
use super::metrics::{Meter, NoMetrics};
use super::metrics_storage::Measured;
use super::person_terminal::TypedLine;
use super::read_only::{ReadOnlyEngine, ReadOnlyError};
use super::rebuild::{LiveState, expect_all_salvaged};
use super::recall::FoundRecord;
use super::recorders::Recorders;
use super::snapshot::{self, Snapshot};
use super::start::ApprovalKeys;
use super::submit::{Begun, Origin, Receipt, Submitted, with_turn};
use super::submit_queue::{QueueError, SubmitQueue};
use super::subscription::{Subscription, SubscriptionError};
use super::subscription_notifier::{CloseNotice, Notifier};
use super::ticket::Ticket;
use super::transaction::{Transaction, TransactionDraft};
use super::unsynced_turn::UnsyncedTurn;
use super::waits::Waits;
use crate::adoption::{Adoption, LogRegistry, RegistryError};
use crate::floors::{FloorFiles, Floors, FloorsError, asks, is_governed};
use crate::log::{AppendError, Level, Log, OpenReport, Storage};
use crate::sync::{Mutex, MutexGuard};
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::DecisionPointCommand;
use holdpoint_domain::human_decision::HumanDecisionCommand;
use holdpoint_domain::world::{OpenBounds, Term};
use holdpoint_domain::{ActorId, Command, Proof, World};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::LogId;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A log open for writing and the state that follows it. `Send` and `Sync`: submissions from
/// several threads take turns.
///
/// It ends with [`Engine::close`], for all who share it. Dropping it does what that does, as far as
/// that works, and tells nobody.
///
/// A call from inside the embedder's own code that an engine calls, a [`Callback`], is an error at
/// once where it would wait for itself. A panic there passes to the caller of the engine, which
/// works afterwards.
///
/// ```
/// # use holdpoint_domain::application::RecordEvent;
/// # use holdpoint_engine::{Engine, Origin};
/// # let home = tempfile::tempdir()?;
/// # let directory = home.path().join("log");
/// let engine = Engine::open(&directory)?;
/// let placed = RecordEvent::new("order-1", "order.placed", "42");
/// let receipt = engine.record(&Origin::automation("shop"), (), placed)?.accepted()?;
///
/// // From here on it is on the disk, and in the state.
/// let version = engine.query(|world| world.stream_version("order-1"))?;
/// assert_eq!(version, receipt.last_sequence);
/// engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine<S: Storage = DirectoryStorage> {
    // Dropped in this order: what waits is carried out, the log is closed, subscriptions end.
    pub(super) queue: SubmitQueue<Measured<S>>,
    pub(super) core: Arc<Core<Measured<S>>>,
    pub(super) close_notice: CloseNotice,
    pub(super) closing: Closing,
    pub(super) disk: Arc<S>,
    report: OpenReport,
    pub(super) not_listed: Option<RegistryError>,
}

/// State that the threads of one engine share.
pub(super) struct Core<S: Storage> {
    pub(super) id: EngineId,
    pub(super) log: Log<S>,
    pub(super) level: Level,
    decision_level: Level,
    clock: Box<dyn Clock>,
    entropy: Box<dyn EntropySource>,
    /// Entropy that was drawn for callers and not used yet.
    pub(super) drawn: Mutex<UnusedEntropy>,
    /// `None` after a failure: what the disk holds is no longer known, so nothing is answered.
    /// [`Core::hot`] takes it.
    pub(super) hot: Mutex<Option<Box<LiveState>>>,
    /// True while a turn has the state, and where a panic ended that turn.
    pub(super) is_in_turn: AtomicBool,
    /// Given once nothing more is recorded.
    pub(super) closed: CloseSignal,
    pub(super) meter: Meter,
    notifier: Notifier,
    pub(super) fingerprints: FingerprintDistance,
    /// The questions that somebody waits for here.
    pub(super) waits: Waits,
    /// Identity of the user who runs this process.
    pub(super) identity: Identity,
    /// True if this engine has looked for runs whose recorder is gone.
    pub(super) has_looked_for_lost: AtomicBool,
    pub(super) settled: Mutex<Settled>,
    pub(super) seen_runs: Mutex<SeenRuns>,
    pub(super) recorders: Mutex<Recorders>,
    /// Read anew for whatever they govern.
    pub(super) floors: FloorFiles,
    pub(super) open_bounds: Option<OpenBounds>,
    /// The logs that this user has begun or adopted.
    pub(super) registry: LogRegistry,
    pub(super) log_id: LogId,
    /// True if a person let less than the built-in defaults be asked for.
    pub(super) is_below_defaults: AtomicBool,
    /// Place of the keys of runs whose questions are left open.
    pub(super) keys: Option<ApprovalKeys>,
    /// The same disk, for what is derived from the log.
    pub(super) caches: Arc<S>,
}

impl Engine {
    /// Opens the log in a directory, with the defaults: made where there is none, a turn for each
    /// command, every receipt durable.
    ///
    /// # Errors
    /// [`EngineError::Open`] where the log cannot be opened: what is there is no directory, a link
    /// to one, a directory of other files or an archive; its file system cannot be relied on;
    /// another process keeps the lock for ten seconds; it is damaged, or HEAD is missing; it is of
    /// a newer format; there is no space, or the disk says no. [`EngineError::Submit`] where the
    /// state cannot be made: a record cannot be read by this program. What is refused is left as
    /// it was.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, EngineError> {
        let storage = DirectoryStorage::new(directory.as_ref());
        Self::open_with(storage, EngineOptions::default())
    }

    /// The state of the log in a directory, for looking at it: without the writers' turn, beside
    /// whoever writes, also an exclusive owner, and on a file system that takes no writes. See
    /// [`ReadOnlyEngine`].
    ///
    /// # Errors
    /// There is no log, it cannot be read, or it is damaged where it has to be read.
    pub fn open_read_only(directory: impl AsRef<Path>) -> Result<ReadOnlyEngine, ReadOnlyError> {
        ReadOnlyEngine::open_with(DirectoryStorage::new(directory.as_ref()))
    }
}

impl<S: Storage> Engine<S> {
    /// Opens a log with options, rebuilds the state, and records what recovery did.
    ///
    /// # Errors
    /// As [`Engine::open`]; and there is no log where the options say not to make one.
    pub fn open_with(storage: S, options: EngineOptions) -> Result<Self, EngineError> {
        let disk = Arc::new(storage.apart());
        let id = EngineId::next();
        let measured = Measured::new(Arc::clone(&disk), Arc::clone(&options.metrics), id);
        let (log, report) = Log::open(measured, options.log)?;
        // What is cached is no part of what is measured.
        let caches = Arc::new(Measured::new(Arc::clone(&disk), Arc::new(NoMetrics), id));
        // What cannot be read on the way is found again where the log is read whole.
        let newest = log.position();
        let mut hot = match snapshot::newest_state(&*caches, newest.sequence, &newest) {
            Ok(Some((hot, _))) => hot,
            Ok(None) | Err(_) => LiveState::open(&log)?,
        };
        // A record that this program cannot read is told of here, and not by the first command.
        let turn = log.begin().map_err(SubmitError::from)?;
        hot.catch_up(&turn)?;
        expect_all_salvaged(&turn, disk.as_ref())?;
        let owes_records = !turn.unrecorded().is_empty();
        drop(turn);
        let core = Core {
            id,
            log,
            level: options.level,
            decision_level: options.decision_level,
            clock: options.clock,
            entropy: options.entropy,
            drawn: Mutex::new(UnusedEntropy::default()),
            hot: Mutex::new(Some(Box::new(hot))),
            is_in_turn: AtomicBool::new(false),
            closed: CloseSignal::default(),
            meter: Meter::new(options.metrics, id),
            notifier: Notifier::of(id),
            fingerprints: options.fingerprints,
            waits: Waits::default(),
            identity: options.identity,
            has_looked_for_lost: AtomicBool::new(false),
            settled: Mutex::new(Settled::new()),
            seen_runs: Mutex::new(SeenRuns::default()),
            recorders: Mutex::new(Recorders::default()),
            floors: options.floors,
            open_bounds: options.open_bounds,
            registry: options.registry,
            log_id: report.log,
            is_below_defaults: AtomicBool::new(false),
            keys: options.keys,
            caches,
        };
        let close_notice = CloseNotice(core.notifier.clone());
        let core = Arc::new(core);
        let queue = SubmitQueue::new(Arc::clone(&core), options.queue);
        let closing = Closing::default();
        let mut engine =
            Self { queue, core, close_notice, closing, disk, report, not_listed: None };
        if engine.report.recovered.created {
            engine.not_listed = engine.core.list_as(Adoption::Begun).err();
        }
        if owes_records {
            // What recovery did is a fact like any other: each turn begins with it.
            with_turn(&engine.core, |_| Ok(()))?;
        }
        pass_on_panic();
        Ok(engine)
    }

    /// Returns who runs this process, as far as that is proven: what every command that is
    /// submitted here is recorded with, whatever it says of itself.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.core.identity
    }

    /// Reads what the files of the machine and of its user demand of every hold point, as they are
    /// now.
    ///
    /// # Errors
    /// One cannot be believed, or two contradict each other: then nothing that they govern begins.
    pub fn floors(&self) -> Result<Floors, FloorsError> {
        self.core.floors.read()
    }

    /// Returns what opening found and did.
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Submits a command: decided by the rules, recorded, durable at the engine's level when this
    /// returns. Without conditions, `()`, it is carried out each time. A refusal by a rule is an
    /// answer, which [`Submitted::accepted`] makes an error. Deadlines that have passed by then are
    /// recorded first.
    ///
    /// # Errors
    /// The log failed or cannot be read; nothing was acknowledged. A person's decision can be
    /// recorded, durable and in force while its witness failed for want of space
    /// ([`AppendError::Unwitnessed`](crate::log::AppendError::Unwitnessed)): submit it again when
    /// there is some, and the first receipt is given.
    pub fn submit(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        command: &Command,
    ) -> Result<Submitted, SubmitError> {
        self.core.submit(origin, &conditions.into(), command)
    }

    /// Submits like [`Engine::submit`], for what a person typed at this process's terminal: it
    /// is proven by that terminal where the command is in the name of this process's own user, and
    /// by nothing more than the process where it is in another's. Nothing else proves a terminal.
    /// Show the person the whole question before the line is read.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub fn submit_typed(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        command: &Command,
        line: TypedLine,
    ) -> Result<Submitted, SubmitError> {
        let identity = self.core.identity.at_terminal_of(line);
        self.core.begin_as(origin, &identity, &conditions.into(), command)?.acknowledged()
    }

    /// Records that something happened to a stream of the application: see [`Engine::submit`].
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub fn record(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        event: RecordEvent,
    ) -> Result<Submitted, SubmitError> {
        self.submit(origin, conditions, &event.into())
    }

    /// Carries a transaction out: all of its members, in one batch and at one time, or none of
    /// them. A refusal is the first member's that is refused; then nothing is recorded but that,
    /// where it is a fact. Under a key the same transaction again is answered with its receipt.
    /// Versions are expected of members: see [`Transaction::expecting`].
    ///
    /// # Errors
    /// As [`Engine::submit`]. Over 256 MiB in all is
    /// [`AppendError::BatchTooLarge`](crate::log::AppendError::BatchTooLarge), and nothing was
    /// recorded.
    pub fn commit(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        transaction: &Transaction,
    ) -> Result<Submitted, SubmitError> {
        let conditions = &conditions.into();
        let submitted_at = self.core.meter.now();
        let proof = self.core.identity.proof_of(&origin.actor);
        let begun = super::transaction::begin(&self.core, origin, proof, conditions, transaction)?;
        Submission { meter: &self.core.meter, submitted_at, begun }.acknowledged()
    }

    /// Begins to write a [`Transaction`] down: nothing is locked and nothing is decided before it
    /// is [committed](TransactionDraft::commit).
    pub fn transaction<'a>(&'a self, origin: &'a Origin) -> TransactionDraft<'a, S> {
        TransactionDraft::new(self, origin)
    }

    /// Records the warnings and timeouts that are due by now, and what interruption threads kept
    /// for its time, in the order in which they fell due, and nothing else. Whoever looks first
    /// records them: every submission does so as well.
    ///
    /// The clock decides: a wall clock that jumps ahead is recorded as an event and can time out
    /// questions that nobody had the time to answer.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub fn expire(&self) -> Result<Vec<Receipt>, SubmitError> {
        super::submit::expire(&self.core)
    }

    /// Hands a command over and does not wait: it is submitted by the engine's own thread, behind
    /// every command handed over before. The ticket says what became of it.
    ///
    /// # Errors
    /// The command was not taken in, and nothing will be recorded for it: above all because
    /// [too many](EngineOptions::queue) wait already.
    pub fn submit_later(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        command: &Command,
    ) -> Result<Ticket, QueueError> {
        self.queue.take_in(origin.clone(), conditions.into(), command.clone())
    }

    /// Every committed record from sequence `from` on, and then each as it is committed; 0 stands
    /// for the log's first record. A sequence that is not there yet is waited for.
    ///
    /// # Errors
    /// The log begins behind `from`, or cannot be read.
    pub fn subscribe(&self, from: u64) -> Result<Subscription<S>, SubscriptionError> {
        Subscription::open(Arc::clone(&self.disk), self.core.notifier.clone(), from)
    }

    /// Asks the state, after catching up with what other processes appended and syncing what the
    /// answer depends on.
    ///
    /// # Errors
    /// The log failed or cannot be read.
    pub fn query<T>(&self, answer: impl FnOnce(&World) -> T) -> Result<T, SubmitError> {
        super::submit::query(&self.core, answer)
    }

    /// Every record that holds a term, in their order: what a loop, a request, a decision point or
    /// a thread went through, however long ago. Sealed segments are asked through their indexes;
    /// one that has none is read.
    ///
    /// # Errors
    /// The log failed or cannot be read, or a segment that is read is damaged.
    pub fn records_with(&self, term: &Term<'_>) -> Result<Vec<FoundRecord>, SubmitError> {
        super::submit::records_with(&self.core, term)
    }

    /// 128 fresh random bits, for a command that brings ids into the world. Ids of other bits are
    /// looked for in the log, however long ago somebody may have used them: these are new.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn entropy(&self) -> Result<Entropy, SubmitError> {
        let entropy = self.core.entropy()?;
        self.core.drawn.lock().add(entropy);
        Ok(entropy)
    }

    pub(super) fn core(&self) -> &Core<Measured<S>> {
        &self.core
    }

    /// The log's directory, for whoever watches it.
    pub(super) fn root(&self) -> &Path {
        self.disk.root()
    }
}

impl<S: Storage> Core<S> {
    pub(super) fn submit(
        &self,
        origin: &Origin,
        conditions: &Conditions,
        command: &Command,
    ) -> Result<Submitted, SubmitError> {
        self.begin(origin, conditions, command)?.acknowledged()
    }

    /// The state, once no other thread of this engine has a turn.
    ///
    /// # Errors
    /// This thread has one.
    pub(super) fn hot(&self) -> Result<MutexGuard<'_, Option<Box<LiveState>>>, SubmitError> {
        self.id.expect_outside()?;
        Ok(self.hot.lock())
    }

    /// Does the same as [`Core::hot`], where the others give it back within `wait`: one of them may
    /// be waiting for the log's lock.
    pub(super) fn hot_within(
        &self,
        wait: Duration,
    ) -> Result<MutexGuard<'_, Option<Box<LiveState>>>, SubmitError> {
        self.id.expect_outside()?;
        let held = crate::sync::lock_within(&self.hot, wait);
        let pid = std::process::id();
        held.ok_or_else(|| AppendError::Locked { pid, waited: wait }.into())
    }

    /// Carries out a command; its answer leaves with [`Submission::acknowledged`].
    pub(super) fn begin(
        &self,
        origin: &Origin,
        conditions: &Conditions,
        command: &Command,
    ) -> Result<Submission<'_, S>, SubmitError> {
        self.begin_as(origin, &self.identity, conditions, command)
    }

    /// Does the same as [`Core::begin`], where a person typed at the terminal of this process.
    pub(super) fn begin_as(
        &self,
        origin: &Origin,
        identity: &Identity,
        conditions: &Conditions,
        command: &Command,
    ) -> Result<Submission<'_, S>, SubmitError> {
        let proof = identity.proof_of(&origin.actor);
        self.begin_proven(origin, (identity, proof), conditions, command)
    }

    /// Does the same as [`Core::begin`], where something else than the process proves who acts.
    pub(super) fn begin_proven(
        &self,
        origin: &Origin,
        (identity, proof): (&Identity, Proof),
        conditions: &Conditions,
        command: &Command,
    ) -> Result<Submission<'_, S>, SubmitError> {
        let submitted_at = self.meter.now();
        // Who acts comes from the process, and not from what a command says of it.
        let command = &*identity.proven(command, proof);
        let begun = super::submit::begin(self, origin, proof, conditions, command)?;
        Ok(Submission { meter: &self.meter, submitted_at, begun })
    }

    /// A turn is acknowledged: whoever follows the log looks at it.
    pub(super) fn acknowledged(&self, newest: u64, level: Level) {
        let is_synced = matches!(level, Level::Always | Level::Witnessed);
        self.notifier.notify(is_synced.then_some(newest));
        let is_durable = |settled: &mut (u64, _)| is_synced && settled.0 <= newest;
        self.settled.lock().extract_if(.., is_durable).for_each(|(_, file)| file.remove());
    }

    /// The command with the numbers of those whom it names.
    pub(super) fn with_numbers<'c>(
        &self,
        command: Cow<'c, Command>,
    ) -> Result<Cow<'c, Command>, FloorsError> {
        let named = self.identity.with_numbers(command);
        named.map_err(|source| FloorsError::UnknownNumbers { source })
    }

    /// Returns what the files of the machine demand of a command now; of one that they do not
    /// govern, nothing.
    pub(super) fn floors_for(&self, command: &Command) -> Result<Floors, FloorsError> {
        match is_governed(command) {
            true if self.is_below_defaults.load(Ordering::Relaxed) => {
                Ok(self.floors.read()?.below_defaults())
            }
            true => self.floors.read(),
            // A question that no floor governs is bounded as usual where they cannot be read.
            false if asks(command) => Ok(self.floors.read().unwrap_or_default()),
            false => Ok(Floors::default()),
        }
    }

    /// Writes a snapshot whose fingerprint is on the log.
    pub(super) fn keep(&self, snapshot: Option<Snapshot>) {
        if let Some(snapshot) = snapshot {
            snapshot.write(&*self.caches);
        }
    }

    /// Returns how durable a command's records are when its receipt is returned: a person's
    /// decision has a witness by then, unless the engine promises less of everything.
    pub(super) fn level_of(&self, command: &Command) -> Level {
        match self.level {
            Level::Always if is_human_decision(command) => self.decision_level,
            level => level,
        }
    }

    pub(super) fn now(&self) -> Reading {
        self.id.call(Callback::Clock, || self.clock.now())
    }

    pub(super) fn entropy(&self) -> Result<Entropy, SubmitError> {
        self.id.expect_outside_of(Callback::Entropy)?;
        self.id.call(Callback::Entropy, || self.entropy.draw()).map_err(SubmitError::Entropy)
    }
}

/// A command that was carried out and is not acknowledged yet.
pub(super) struct Submission<'a, S: Storage> {
    meter: &'a Meter,
    submitted_at: Option<Instant>,
    begun: Begun<'a, S>,
}

impl<'a, S: Storage> Submission<'a, S> {
    /// Does the same as [`Begun::ahead`].
    pub(super) fn ahead(self) -> Result<(Submitted, Option<UnsyncedTurn<'a, S>>), SubmitError> {
        let (submitted, pending) = self.begun.ahead()?;
        self.meter.submitted(self.submitted_at, &submitted);
        Ok((submitted, pending))
    }

    /// Waits until everything that the answer depends on is durable, and gives it.
    pub(super) fn acknowledged(self) -> Result<Submitted, SubmitError> {
        let submitted = self.begun.acknowledged()?;
        self.meter.submitted(self.submitted_at, &submitted);
        Ok(submitted)
    }
}

/// Returns whether a command is what a person decided.
fn is_human_decision(command: &Command) -> bool {
    matches!(
        command,
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(_))
            | Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(_))
            | Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(_))
            | Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(_))
    )
}

/// Holdpoint itself.
pub(super) fn system_actor() -> ActorId {
    ActorId { kind: Actor::System, id: "holdpoint".to_string() }
}
