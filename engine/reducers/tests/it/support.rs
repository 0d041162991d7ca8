//! An application with orders, and reducers of its events.

use holdpoint_domain::ActorId;
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::actor::Actor;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Storage};
use holdpoint_engine::shell::{EngineOptions, Origin, Submitted, Transaction};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_reducers::{ApplicationEvent, EventError, EventType, Reducer, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Paid {
    pub(crate) cents: u64,
}

impl EventType for Paid {
    const TYPE: &'static str = "order.paid";
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Balance {
    pub(crate) cents: u64,
    pub(crate) payments: u64,
}

/// What was paid for each order.
pub(crate) struct Balances;

impl Reducer for Balances {
    const NAME: &'static str = "balances";
    type State = Balance;

    fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        if let Some(paid) = event.read::<Paid>()? {
            state.cents += paid.cents;
            state.payments += 1;
        }
        Ok(())
    }
}

/// What was paid in all, and for how many orders.
pub(crate) struct Turnover;

impl Reducer for Turnover {
    const NAME: &'static str = "turnover";
    const SCOPE: Scope = Scope::All;
    type State = BTreeMap<String, u64>;

    fn apply(state: &mut Self::State, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        if let Some(paid) = event.read::<Paid>()? {
            *state.entry(event.stream().to_string()).or_default() += paid.cents;
        }
        Ok(())
    }
}

pub(crate) fn origin() -> Origin {
    let actor = ActorId { kind: Actor::Automation, id: "shop".into() };
    Origin { actor, correlation: "orders".into(), causation: None }
}

pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Nothing is synced: what is tested here does not depend on it.
    pub(crate) fn engine(&self) -> Engine {
        let options = EngineOptions::default().level(Level::Os);
        Engine::open_with(DirectoryStorage::new(self.log()), options).unwrap()
    }

    pub(crate) fn states(&self) -> Vec<PathBuf> {
        files(&self.log().join("reducers"))
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

pub(crate) fn paid(cents: u64, stream: &str) -> RecordEvent {
    Paid { cents }.of(stream).unwrap()
}

/// Records events as one batch; the last one's record.
pub(crate) fn record<S: Storage>(
    engine: &Engine<S>,
    events: impl IntoIterator<Item = RecordEvent>,
) -> u64 {
    let all = events.into_iter().fold(Transaction::new(), Transaction::record);
    match engine.commit(&origin(), (), &all).unwrap() {
        Submitted::Accepted(receipt) => receipt.last_sequence,
        other => unreachable!("{other:?}"),
    }
}
