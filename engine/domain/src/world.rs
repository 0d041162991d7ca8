//! Everything that the events say, as one value: all state by id.
//!
//! Memory follows live entities, not history (property E8): a loop that is HALTED and whose chain
//! is sealed is *settled* and leaves the hot state. A replay may keep what settles, beside the
//! hot state; the fingerprint covers the hot state only, so both kinds of world have the same.

mod carried;
mod chain;
mod decision_point;
mod execution_loop;
mod fingerprint;
mod gates;
mod human_decision;
mod idempotency;
mod interruption_thread;
mod kept;
mod person;
mod proposal;
mod recalled;
mod registry;
mod requests;
mod segment_index;
mod totals;
mod unproven;
mod version;
mod view;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::hash::Digest;

pub use carried::CarriedError;
pub use chain::{Chain, ChainRecord};
pub(crate) use decision_point::DecisionPoints;
pub use decision_point::{Consumed, DecisionPoint, Ending, Escalation, GivenResponse};
pub use execution_loop::{
    Attempt, AttemptFault, AttemptResponse, ExecutionLoop, Halt, StopDetected,
};
use fingerprint::KnownFingerprint;
pub use fingerprint::{STATE_SCHEMA_VERSION, fingerprint_of};
pub(crate) use gates::Gates;
pub(crate) use human_decision::Barrier;
pub use human_decision::{
    Decided, Decisions, Disclosed, HeldRequest, Override, RequestOutcome, Warning,
};
pub use idempotency::KeyReceipt;
pub(crate) use idempotency::Keys;
pub(crate) use interruption_thread::Threads;
pub use interruption_thread::{MAX_CLOSED_THREADS, MAX_ENDED_THREADS, Thread};
pub(crate) use kept::{Kept, Loops};
pub(crate) use proposal::digits;
pub use recalled::Recalled;
pub use registry::{MAX_ENDED_REGISTRATIONS, RegistrationName, RegistrationView};
pub(crate) use registry::{Registered, Registry};
pub(crate) use requests::Requests;
pub use requests::{Due, RequestPlace};
pub use segment_index::{SegmentIndex, SegmentIndexes};
pub use totals::{DecisionPointTotals, Totals};
use unproven::Beginning;
pub use unproven::{MAX_UNPROVEN_RANGES, UnprovenRecords};
pub use view::{
    AnswerView, ChainView, DecisionPointView, DisclosureView, HeadView, LoopView, RequestView,
    SummaryView, VoteView, WorldView,
};

/// All state. [`World::default`] keeps live entities only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    pub(crate) hot: Hot,
    /// What left the hot state; `None`: not kept.
    settled: Option<Settled>,
    /// What the caller has found again in the log for the command in hand.
    recalled: Recalled,
    /// What [`fingerprint_of`] gives for the hot state, where it was just computed.
    fingerprint: KnownFingerprint,
    /// Where the log begins.
    beginning: Beginning,
}

/// What left the hot state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Settled {
    /// Loops by the sequence of the record that began them.
    loops: BTreeMap<u64, Box<ExecutionLoop>>,
    /// Decision points by the sequence of the record that ended them.
    decision_points: BTreeMap<u64, DecisionPoint>,
    /// Threads by the sequence of the record that closed them.
    threads: BTreeMap<u64, Thread>,
}

/// What the fingerprint covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hot {
    pub(crate) loops: Loops,
    pub(crate) requests: Requests,
    pub(crate) keys: Keys,
    pub(crate) totals: Totals,
    /// SHA-256 of the configuration file under which the newest writer works.
    pub(crate) configuration: Option<Digest>,
    pub(crate) registry: Registry,
    pub(crate) threads: Threads,
    pub(crate) decision_points: DecisionPoints,
    pub(crate) decision_point_totals: DecisionPointTotals,
    pub(crate) indexes: SegmentIndexes,
    pub(crate) gates: Gates,
    pub(crate) unproven: UnprovenRecords,
}

impl World {
    /// A world that also keeps what settles, for replay.
    #[must_use]
    pub fn retaining_settled() -> Self {
        Self::default().keeping_settled()
    }

    /// The same world, which from now on also keeps what settles.
    #[must_use]
    pub fn keeping_settled(mut self) -> Self {
        self.settled.get_or_insert_default();
        self
    }

    /// Forgets what settled and was kept so far. What settles from now on is kept as before.
    pub fn forget_settled(&mut self) {
        if let Some(kept) = &mut self.settled {
            *kept = Settled::default();
        }
    }

    /// A live loop.
    #[must_use]
    pub fn live_loop(&self, loop_id: &str) -> Option<&ExecutionLoop> {
        self.hot.loops.get(loop_id)
    }

    /// Every live loop, by id.
    pub fn live_loops(&self) -> impl Iterator<Item = &ExecutionLoop> {
        self.hot.loops.values()
    }

    /// Every settled loop that was kept, in the order in which they began.
    pub fn settled_loops(&self) -> impl Iterator<Item = &ExecutionLoop> {
        self.settled.iter().flat_map(|settled| settled.loops.values().map(Box::as_ref))
    }

    /// The loop with this id, live or, if kept, settled. Where an id was used again after its
    /// loop settled, the newest.
    #[must_use]
    pub fn find_loop(&self, loop_id: &str) -> Option<&ExecutionLoop> {
        let settled =
            || self.settled.as_ref()?.loops.values().rev().find(|l| l.loop_id() == loop_id);
        self.live_loop(loop_id).or_else(|| settled().map(Box::as_ref))
    }

    /// Counts over all events, settled entities included.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.hot.totals
    }

    /// Counts over all events of decision points, those that ended included.
    #[must_use]
    pub const fn decision_point_totals(&self) -> DecisionPointTotals {
        self.hot.decision_point_totals
    }

    /// The records that were taken over from a damaged log without proof.
    #[must_use]
    pub const fn unproven_records(&self) -> &UnprovenRecords {
        &self.hot.unproven
    }

    /// The same world, whose hot state a record carried that states that the log begins behind an
    /// anchor. Where that record is said to be unproven, so are those that the state is of.
    #[must_use]
    pub fn stated_at(mut self, anchor: u64, stated_by: u64) -> Self {
        self.beginning = Beginning::stated(anchor, stated_by);
        self
    }

    /// Takes records for unproven.
    pub(crate) fn take_unproven(&mut self, first: u64, last: u64) {
        if let Some(anchor) = self.beginning.resting_on(first, last) {
            self.hot.unproven.add(1, anchor);
        }
        self.hot.unproven.add(first, last);
    }

    /// The unproven records, first and last, on which what was decided may rest: of those that were
    /// recorded from the question on, in its first round, to the newest that is about this one.
    /// `None` where all are proven.
    #[must_use]
    pub fn unproven_part(&self, point: &DecisionPoint) -> Option<(u64, u64)> {
        if self.hot.unproven.is_empty() {
            return None;
        }
        self.hot.unproven.among(self.asked_from(point), point.version)
    }

    /// The record that asked the question in its first round. Where that is not known any more, 0:
    /// any may have.
    #[must_use]
    pub fn asked_from(&self, point: &DecisionPoint) -> u64 {
        let mut round = point;
        while let Some(prior_id) = &round.prior_id {
            match self.decision_point(prior_id) {
                Some(prior) if prior.created_sequence < round.created_sequence => round = prior,
                _ => return 0,
            }
        }
        round.created_sequence
    }

    /// SHA-256 of the configuration file under which the newest writer works; `None`: no file.
    #[must_use]
    pub const fn configuration(&self) -> Option<Digest> {
        self.hot.configuration
    }

    /// Takes a settled loop out of the hot state.
    pub(crate) fn settle(&mut self, loop_id: &str) {
        let Some(done) = self.hot.loops.remove(loop_id) else { return };
        self.hot.requests.close(&done);
        self.hot.keys.close(loop_id);
        self.hot.gates.loop_settled(loop_id);
        self.hot.totals.settled(&done);
        if let Some(kept) = &mut self.settled {
            kept.loops.insert(done.started_sequence, done);
        }
    }

    /// Keeps decision points that are remembered in the hot state no longer.
    pub(crate) fn keep_settled_points(&mut self, older: Vec<(u64, DecisionPoint)>) {
        let Some(kept) = &mut self.settled else { return };
        kept.decision_points.extend(older);
    }

    /// Keeps a thread that is remembered in the hot state no longer.
    pub(crate) fn keep_settled_thread(&mut self, thread: Thread) {
        let Some(kept) = &mut self.settled else { return };
        kept.threads.insert(thread.version, thread);
    }

    /// The newest thread of this name among those that left the hot state.
    fn settled_thread(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        let mut kept = self.settled.as_ref()?.threads.values().rev();
        kept.find(|thread| {
            *thread.tenant_id == *tenant_id && *thread.correlation_id == *correlation_id
        })
    }

    /// The newest decision point with this id among those that left the hot state.
    fn settled_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let mut kept = self.settled.as_ref()?.decision_points.values().rev();
        kept.find(|point| *point.decision_id == *decision_id)
    }
}
