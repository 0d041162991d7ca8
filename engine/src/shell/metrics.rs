//! Hooks for whoever measures an engine: appends, turns, waits, writes, syncs, poison.

use super::callback::{Callback, EngineId};
use super::submit::Submitted;
use crate::log::PoisonCause;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Hooks by which an embedder may count. Every hook does nothing unless it is written.
///
/// [`appended`](Self::appended), [`refused`](Self::refused), [`turn_ended`](Self::turn_ended) and
/// [`poisoned`](Self::poisoned) are called by the thread that submitted, when every lock is
/// released. [`written`](Self::written) and [`synced`](Self::synced) are called inside a turn, by
/// whichever thread has it: they must return at once. A call of the engine that would wait for
/// itself is refused there. The panic of a hook goes on to whoever called the engine.
pub trait Metrics: Send + Sync + 'static {
    /// Returns whether anything is measured, as it is for as long as the engine is open. Where
    /// nothing is, no clock is read for it, and no hook is called.
    fn is_measuring(&self) -> bool {
        true
    }

    /// A command was recorded, and its receipt is about to be returned.
    fn appended(&self, append: &AppendMeasure) {
        let _ = append;
    }

    /// A rule said no to a command, after this long.
    fn refused(&self, latency: Duration) {
        let _ = latency;
    }

    /// A turn of a command or a query ended, or was not to be had.
    fn turn_ended(&self, turn: &TurnMeasure) {
        let _ = turn;
    }

    /// Bytes were written to a file of the log, whichever it is.
    fn written(&self, bytes: u64, took: Duration) {
        let _ = (bytes, took);
    }

    /// A file or a directory of the log was synced.
    fn synced(&self, took: Duration) {
        let _ = took;
    }

    /// The log failed; the engine does nothing more. Called once, by the first command or query
    /// that meets the failure: one of the background thread's is met by the next command.
    fn poisoned(&self, cause: &PoisonCause) {
        let _ = cause;
    }
}

/// Nothing is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {
    fn is_measuring(&self) -> bool {
        false
    }
}

/// One recorded command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendMeasure {
    /// Number of records it wrote, at least one.
    pub records: u64,
    /// From the submission to the acknowledgement at the engine's level, waits included.
    pub latency: Duration,
}

/// One turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnMeasure {
    /// Wait for other threads of this engine.
    pub waited_for_threads: Duration,
    /// Wait for other processes' lock, and for what had to be read or recovered on taking it.
    pub waited_for_lock: Duration,
    /// From the turn's beginning to its end, the sync included; `None` when it was not to be had.
    pub held: Option<Duration>,
}

/// The hooks of one engine.
pub(super) struct Meter {
    /// `None` where nothing is measured.
    hooks: Option<Arc<dyn Metrics>>,
    engine: EngineId,
    is_poison_told: AtomicBool,
}

impl Meter {
    pub(super) fn new(hooks: Arc<dyn Metrics>, engine: EngineId) -> Self {
        let hooks = Some(hooks).filter(|hooks| hooks.is_measuring());
        Self { hooks, engine, is_poison_told: AtomicBool::new(false) }
    }

    /// The time, where something is measured.
    pub(super) fn now(&self) -> Option<Instant> {
        self.hooks.as_ref().map(|_| Instant::now())
    }

    /// Tells what became of a command that was submitted at `began`.
    pub(super) fn submitted(&self, began: Option<Instant>, submitted: &Submitted) {
        let (Some(hooks), Some(began)) = (&self.hooks, began) else { return };
        let latency = began.elapsed();
        self.engine.tell(Callback::Metrics, || match submitted {
            Submitted::Refused(_) => hooks.refused(latency),
            // Nothing was recorded, and no rule said no.
            Submitted::Repeated(_) => {}
            Submitted::Accepted(receipt) => {
                let before = receipt.first_sequence.saturating_sub(1);
                let records = receipt.last_sequence.saturating_sub(before);
                hooks.appended(&AppendMeasure { records, latency });
            }
        });
    }

    /// Begins to measure a turn that a thread asks for now.
    pub(super) fn turn(&self) -> TurnWatch<'_> {
        let asked = self.now();
        TurnWatch { meter: self, asked, has_thread: None, began: None, poison: None }
    }
}

/// Measures a turn and tells of it when dropped: it is to outlive every lock of the turn.
pub(super) struct TurnWatch<'a> {
    meter: &'a Meter,
    asked: Option<Instant>,
    has_thread: Option<Instant>,
    began: Option<Instant>,
    poison: Option<PoisonCause>,
}

impl TurnWatch<'_> {
    /// No other thread of this engine has a turn now.
    pub(super) fn has_thread(&mut self) {
        self.has_thread = self.meter.now();
    }

    /// The turn begins.
    pub(super) fn began(&mut self) {
        self.began = self.meter.now();
    }

    /// The turn failed; the log's poison, if it has any.
    pub(super) fn failed(&mut self, poison: Option<PoisonCause>) {
        self.poison = poison;
    }

    fn measure(&self, asked: Instant) -> TurnMeasure {
        let now = Instant::now();
        let has_thread = self.has_thread.unwrap_or(now);
        TurnMeasure {
            waited_for_threads: has_thread.duration_since(asked),
            waited_for_lock: self.began.unwrap_or(now).duration_since(has_thread),
            held: self.began.map(|began| now.duration_since(began)),
        }
    }
}

impl Drop for TurnWatch<'_> {
    fn drop(&mut self) {
        let (Some(hooks), Some(asked)) = (&self.meter.hooks, self.asked) else { return };
        let told = || {
            hooks.turn_ended(&self.measure(asked));
            if let Some(cause) = &self.poison
                && !self.meter.is_poison_told.swap(true, Ordering::Relaxed)
            {
                hooks.poisoned(cause);
            }
        };
        let told = AssertUnwindSafe(|| self.meter.engine.tell(Callback::Metrics, told));
        match catch_unwind(told) {
            // A second panic on the way out would end the process.
            Err(panic) if !std::thread::panicking() => resume_unwind(panic),
            _ => {}
        }
    }
}
