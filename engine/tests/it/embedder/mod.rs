//! A gate in the engine's clock: a test decides when the thread that has the turn goes on.

use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Storage};
use holdpoint_engine::shell::{Clock, EngineOptions, Outcome, Reading, Receipt, Submitted, Ticket};
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, START_NS, origin};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Far longer than anything takes: a test that waits so long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A clock that stands still, and stops whoever reads it while the gate is shut.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    shared: Arc<(Mutex<Passing>, Condvar)>,
}

#[derive(Default)]
struct Passing {
    is_shut: bool,
    waiting: usize,
}

impl Gate {
    pub(crate) fn shut(&self) {
        self.shared.0.lock().is_shut = true;
    }

    pub(crate) fn open(&self) {
        self.shared.0.lock().is_shut = false;
        self.shared.1.notify_all();
    }

    /// Waits until a thread stands before the gate: it has the turn.
    pub(crate) fn await_somebody(&self) {
        let mut passing = self.shared.0.lock();
        while passing.waiting == 0 {
            self.shared.1.wait(&mut passing);
        }
    }
}

impl Clock for Gate {
    fn now(&self) -> Reading {
        let mut passing = self.shared.0.lock();
        passing.waiting += 1;
        self.shared.1.notify_all();
        while passing.is_shut {
            self.shared.1.wait(&mut passing);
        }
        passing.waiting -= 1;
        Reading { wall_ns: START_NS, since_boot_ns: 1_000_000_000 }
    }
}

/// An engine whose clock is the gate, with a queue of this length.
pub(crate) fn gated<S: Storage>(storage: S, gate: &Gate, queue: usize) -> Engine<S> {
    let options = EngineOptions::simulated().clock(Box::new(gate.clone())).queue(queue);
    Engine::open_with(storage, options).expect("the log opens")
}

/// An engine whose receipts promise nothing of the power.
pub(crate) fn unsynced(place: &Place) -> Engine {
    let options = EngineOptions::simulated().level(Level::Os);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

/// Hands over a small command.
pub(crate) fn hand_over<S: Storage>(engine: &Engine<S>, number: i64) -> Ticket {
    engine.submit_later(&origin(), (), &small(number)).expect("it is taken in")
}

/// Submits a small command.
pub(crate) fn accept<S: Storage>(engine: &Engine<S>, number: i64) -> Receipt {
    accepted(engine.submit(&origin(), (), &small(number)))
}

/// The receipt of a command that was accepted.
pub(crate) fn accepted(outcome: Outcome) -> Receipt {
    match outcome.expect("the log works") {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}
