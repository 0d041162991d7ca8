//! Options of the opening of an engine.

use super::clock::{Clock, SystemClock};
use super::entropy::{EntropySource, SystemEntropy};
use super::fingerprint::FingerprintDistance;
use super::identity::Identity;
use super::metrics::{Metrics, NoMetrics};
use super::start::ApprovalKeys;
use crate::adoption::LogRegistry;
use crate::floors::FloorFiles;
use crate::log::{Level, Options};
use holdpoint_domain::world::OpenBounds;
use std::sync::Arc;

/// Options of the opening of an engine.
///
/// ```
/// # use holdpoint_engine::log::{Level, Options};
/// # use holdpoint_engine::shell::EngineOptions;
/// use std::time::Duration;
///
/// let log = Options::default().lock_wait(Duration::from_secs(1));
/// let options = EngineOptions::default().log(log).level(Level::Os);
/// assert_eq!(options.level, Level::Os);
/// ```
#[non_exhaustive]
pub struct EngineOptions {
    /// Options of the opening of its log.
    pub log: Options,
    /// Durability of a record when its receipt is returned.
    pub level: Level,
    /// Durability of a person's decision when its receipt is returned, where `level` is
    /// [`Level::Always`]: what a person decided is worth a witness.
    pub decision_level: Level,
    /// The clock.
    pub clock: Box<dyn Clock>,
    /// The source of ids.
    pub entropy: Box<dyn EntropySource>,
    /// Receiver of counts of appends, turns, writes and syncs.
    pub metrics: Arc<dyn Metrics>,
    /// Distance at which fingerprints of the state are recorded, and snapshots written.
    pub fingerprints: FingerprintDistance,
    /// Identity of who runs this process, as far as that is proven.
    pub identity: Identity,
    /// The files that say what every hold point has to keep.
    pub floors: FloorFiles,
    /// Number of questions that may be open at once, where that is less than what `floors` say;
    /// `None`: as they say.
    pub open_bounds: Option<OpenBounds>,
    /// The list of the logs that this user has begun or adopted: a log that is made is added to it,
    /// and another one answers no spender.
    pub registry: LogRegistry,
    /// Place of the keys of runs are kept whose questions are left open; `None`: where
    /// [`ApprovalKeys::of_user`] says.
    pub keys: Option<ApprovalKeys>,
    /// Number of commands that may wait for their turn after
    /// [`Engine::submit_later`](super::Engine::submit_later); at least 1.
    pub queue: usize,
}

impl EngineOptions {
    /// Options of a test in which whoever is named counts as proven.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn simulated() -> Self {
        let (identity, registry) = (Identity::simulated(), LogRegistry::simulated());
        let floors = FloorFiles::of_machine().below_defaults();
        Self { identity, registry, floors, ..Self::default() }
    }

    setters! {
        /// The same opened so: see [`EngineOptions::log`].
        log: Options,
        /// The same with this level of a receipt: see [`EngineOptions::level`].
        level: Level,
        /// The same with this level of a person's decision: see [`EngineOptions::decision_level`].
        decision_level: Level,
        /// The same with this clock: see [`EngineOptions::clock`].
        clock: Box<dyn Clock>,
        /// The same with this source of ids: see [`EngineOptions::entropy`].
        entropy: Box<dyn EntropySource>,
        /// The same where this is told of what goes on: see [`EngineOptions::metrics`].
        metrics: Arc<dyn Metrics>,
        /// The same with this distance between fingerprints: see [`EngineOptions::fingerprints`].
        fingerprints: FingerprintDistance,
        /// The same run by somebody else: see [`EngineOptions::identity`].
        identity: Identity,
        /// The same with other files that bind every hold point: see [`EngineOptions::floors`].
        floors: FloorFiles,
        /// The same with smaller bounds on open questions: see [`EngineOptions::open_bounds`].
        open_bounds: Option<OpenBounds>,
        /// The same with another list of this user's logs: see [`EngineOptions::registry`].
        registry: LogRegistry,
        /// The same with another place for the keys of runs: see [`EngineOptions::keys`].
        keys: Option<ApprovalKeys>,
        /// The same with a queue of this length: see [`EngineOptions::queue`].
        queue: usize,
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            log: Options::default(),
            level: Level::Always,
            decision_level: Level::Witnessed,
            clock: Box::new(SystemClock),
            entropy: Box::new(SystemEntropy),
            metrics: Arc::new(NoMetrics),
            fingerprints: FingerprintDistance::default(),
            identity: Identity::of_process(),
            floors: FloorFiles::of_machine(),
            open_bounds: None,
            registry: LogRegistry::of_user(),
            keys: None,
            queue: 256,
        }
    }
}
