//! Everything that the events say, as one value: all state by id.
//!
//! Memory follows live entities, not history (property E8): a loop that is HALTED and whose chain
//! is sealed is *settled* and leaves the live state. A replay may keep what settles, beside the
//! live state; the fingerprint covers the live state only, so both kinds of world have the same.

pub(crate) mod carried;
pub(crate) mod command;
mod continued;
pub(crate) mod decide;
pub(crate) mod doubt;
pub(crate) mod due;
pub mod envelope;
pub(crate) mod event;
pub(crate) mod evolve;
pub(crate) mod index_terms;
pub(crate) mod keys;
mod people;
pub(crate) mod person;
pub(crate) mod policy;
pub(crate) mod questions;
pub(crate) mod recalled;
pub(crate) mod refusal;
pub mod waiting;

pub use command::*;
pub use decide::*;
pub use due::*;
pub use envelope::Envelope;
pub use event::*;
pub use index_terms::*;
pub use keys::*;
pub use policy::*;
pub use questions::*;
pub use recalled::*;
pub use refusal::*;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use crate::application::state::{StreamView, Streams};
use crate::core::clocks::Clocks;
use crate::core::hash::Digest;
use crate::core::limits::MAX_CLOSED_REQUESTS;
use crate::core::payload::Text;
use crate::decision_point::state::{DecisionPoint, DecisionPoints};
use crate::decision_point::types::{ActionBinding, MAX_CLOSED_DECISION_POINTS};
use crate::decision_point::view::DecisionPointView;
use crate::evidence_capture::pieces::RecordedOutputs;
use crate::governed::aggregate::{ExecutionLoop, RequestPlace};
use crate::governed::view::{LoopView, RequestView};
use crate::interruption_thread::decision::Remainder;
use crate::interruption_thread::state::{MAX_CLOSED_THREADS, Thread, ThreadView, Threads};
use crate::log::event::RulesAdopted;
use crate::log::state::{Beginning, RulesNumbers, SegmentIndexes, UnprovenRecords};
use crate::registration::state::{Registered, Registry, pair};
use crate::world::person::Gates;

/// All state. [`World::default`] keeps live entities only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    pub(crate) hot: LiveState,
    /// Entities that left the live state; `None`: not kept.
    settled: Option<Settled>,
    /// Facts that the caller has found again in the log for the command in hand.
    recalled: Recalled,
    /// Result of [`fingerprint_of`] for the live state, where it was just computed.
    fingerprint: KnownFingerprint,
    /// Beginning of the log.
    beginning: Beginning,
    /// Origin of the live state.
    origin: Origin,
}

/// Entities that left the live state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Settled {
    /// Loops by the sequence of the record that began them.
    loops: BTreeMap<u64, Box<ExecutionLoop>>,
    /// Decision points by the sequence of the record that ended them.
    decision_points: BTreeMap<u64, DecisionPoint>,
    /// Threads by the sequence of the record that closed them.
    threads: BTreeMap<u64, Thread>,
}

/// State that the fingerprint covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LiveState {
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
    /// The newest record that says that records before it are lost, or may be; 0: none.
    pub(crate) lost_before: u64,
    pub(crate) rules: RulesNumbers,
    /// The newest record that says that the wall clock was set back; 0: none.
    pub(crate) set_back: u64,
    /// By which clocks limits end, where clocks differed.
    pub(crate) clocks: Clocks,
    pub(crate) streams: Streams,
    /// Recorded output of attempts that run.
    pub(crate) outputs: RecordedOutputs,
}

/// Knowledge of streams, outside
#[derive(Debug)]
pub struct TakenStreams(Streams);

impl World {
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

    /// The numbers of the rules in force.
    #[must_use]
    pub const fn rules(&self) -> &RulesNumbers {
        &self.hot.rules
    }

    /// Returns what a writer states before anything else; `None` where nothing of it is new.
    #[must_use]
    pub fn rules_to_adopt(&self) -> Option<RulesAdopted> {
        self.hot.rules.adopted_by(SYSTEMS)
    }

    /// The number of the rules in force of an event's system.
    pub(crate) fn rules_of(&self, kind: Kind) -> u32 {
        self.hot.rules.of_own(kind.system, SYSTEMS)
    }

    /// The same world, whose live state a record carried that states that the log begins behind an
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

    /// SHA-256 of the configuration file under which the newest writer works; `None`: no file.
    #[must_use]
    pub const fn configuration(&self) -> Option<Digest> {
        self.hot.configuration
    }

    /// Takes a settled loop out of the live state.
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

    /// Keeps decision points that are remembered in the live state no longer.
    pub(crate) fn keep_settled_points(&mut self, older: Vec<(u64, DecisionPoint)>) {
        let Some(kept) = &mut self.settled else { return };
        kept.decision_points.extend(older);
    }

    /// Keeps a thread that is remembered in the live state no longer.
    pub(crate) fn keep_settled_thread(&mut self, thread: Thread) {
        let Some(kept) = &mut self.settled else { return };
        kept.threads.insert(thread.version, thread);
    }

    /// The newest thread of this name among those that left the live state.
    fn settled_thread(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        let mut kept = self.settled.as_ref()?.threads.values().rev();
        kept.find(|thread| {
            *thread.tenant_id == *tenant_id && *thread.correlation_id == *correlation_id
        })
    }

    /// The newest decision point with this id among those that left the live state.
    fn settled_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let mut kept = self.settled.as_ref()?.decision_points.values().rev();
        kept.find(|point| *point.decision_id == *decision_id)
    }
}

/// A readable world.
#[derive(Debug, Serialize)]
pub struct WorldView<'a> {
    /// The version of the fingerprint's encoding.
    pub state_schema: u32,
    /// Counts over all events.
    pub totals: &'a Totals,
    /// Counts over all events of decision points.
    pub decision_point_totals: DecisionPointTotals,
    /// The first and the last record of each range that was taken over without proof.
    #[serde(skip_serializing_if = "UnprovenRecords::is_empty")]
    pub unproven_records: &'a UnprovenRecords,
    /// Every loop, live and (where kept) settled, in the order in which they began; with its
    /// evidence, its faults, what was asked about it and decided.
    pub execution_loops: Vec<LoopView<'a>>,
    /// Every request to a person, in the order of asking: those of all these loops, and the newest
    /// of loops that settled.
    pub human_decisions: Vec<RequestView<'a>>,
    /// Every thread, in the order in which they began.
    pub interruption_threads: Vec<ThreadView<'a>>,
    /// Every decision point, in the order in which they were created; overdue is what was so at the
    /// time of the newest record.
    pub decision_points: Vec<DecisionPointView<'a>>,
    /// The application's streams, in the order of their last events: the newest 65,536.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamView<'a>>,
}

impl World {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> WorldView<'_> {
        let loops = self.settled_loops().chain(self.live_loops());
        let loops: Vec<_> = by_age(loops, |entity| entity.started_sequence).collect();
        let threads = self.closed_threads().chain(self.live_threads());
        let threads = by_age(threads, |thread| thread.started_sequence);
        let points = self.closed_decision_points().chain(self.live_decision_points());
        let points = by_age(points, |point| point.created_sequence);
        let now = self.totals().last_at;
        WorldView {
            state_schema: STATE_SCHEMA_VERSION,
            totals: self.totals(),
            decision_point_totals: self.decision_point_totals(),
            unproven_records: self.unproven_records(),
            human_decisions: self.request_views(&loops),
            execution_loops: loops.into_iter().map(ExecutionLoop::view).collect(),
            interruption_threads: threads.map(|thread| thread.view(now)).collect(),
            decision_points: points.map(|point| point.view(now, None)).collect(),
            streams: self.streams().collect(),
        }
    }

    /// Returns the requests: what came of one after its loop settled is known where requests are
    /// remembered.
    fn request_views<'a>(&'a self, loops: &[&'a ExecutionLoop]) -> Vec<RequestView<'a>> {
        let closed = self.closed_requests().map(|held| (held.requested_sequence, held.view()));
        let of_loops = loops.iter().flat_map(|entity| {
            let held = entity.decisions.requests.iter().map(|held| {
                let known = self.find_request(held.request_id()).map(RequestPlace::held);
                known.filter(|it| it.requested_sequence == held.requested_sequence).unwrap_or(held)
            });
            held.map(|held| (held.requested_sequence, entity.request_view(held)))
        });
        closed.chain(of_loops).collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

/// In the order in which they began.
fn by_age<'a, T: 'a>(
    all: impl Iterator<Item = &'a T>,
    began: fn(&T) -> u64,
) -> impl Iterator<Item = &'a T> {
    let mut all: Vec<&T> = all.collect();
    all.sort_by_key(|one| began(one));
    all.into_iter()
}

/// Serialized as [`World::view`].
impl Serialize for World {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl World {
    /// The decision point with this id: live, among the newest that ended, or
    /// [recalled](World::recall).
    #[must_use]
    pub fn decision_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        self.known_point(decision_id).or_else(|| self.settled_point(decision_id))
    }

    /// Every decision point that is open or has an approval to be spent, by id.
    pub fn live_decision_points(&self) -> impl Iterator<Item = &DecisionPoint> {
        self.hot.decision_points.live.values()
    }

    /// Those that ended and are remembered, in the order of their ending: all of them where the
    /// world keeps what settles, else the newest 1024.
    pub fn closed_decision_points(&self) -> impl Iterator<Item = &DecisionPoint> {
        let older = self.settled.iter().flat_map(|settled| settled.decision_points.values());
        let closed = self.hot.decision_points.closed.values();
        older.chain(closed.filter_map(|(_, point)| point.get()))
    }

    /// The open decision points of an issue, by id.
    pub fn open_decisions_of<'w, 'i>(
        &'w self,
        issue_id: &'i str,
    ) -> impl Iterator<Item = &'w DecisionPoint> + use<'w, 'i> {
        let points = &self.hot.decision_points;
        let from = (Text::from(issue_id), Text::default());
        let of_issue =
            points.index.issues.range(from..).take_while(move |(id, _)| **id == *issue_id);
        of_issue.filter_map(|(_, id)| points.live.get(id))
    }

    /// The live decision points that are bound to an action, by id.
    pub fn decisions_bound_to<'w>(
        &'w self,
        binding: &'w ActionBinding,
    ) -> impl Iterator<Item = &'w DecisionPoint> {
        let points = &self.hot.decision_points;
        let from = (binding.clone(), Text::default());
        let bound = points.index.bound.range(from..).take_while(move |(to, _)| to == binding);
        bound.filter_map(|(_, id)| points.live.get(id))
    }
}

impl World {
    /// The thread with this tenant and correlation: live, or among the newest of closed ones; where
    /// the world keeps what settles, whenever it was closed.
    #[must_use]
    pub fn thread(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        let remembered = self.hot.threads.find(tenant_id, correlation_id);
        remembered.or_else(|| self.settled_thread(tenant_id, correlation_id))
    }

    /// The record that closed a thread: remembered, found again for the command in hand, or kept.
    pub(crate) fn closed_with(&self, tenant_id: &str, correlation_id: &str) -> Option<u64> {
        let recalled = self.recalled.closed_thread().filter(|((tenant, correlation), _)| {
            tenant.as_str() == tenant_id && correlation.as_str() == correlation_id
        });
        let remembered = self.hot.threads.ended(tenant_id, correlation_id);
        let kept = || self.settled_thread(tenant_id, correlation_id).map(|thread| thread.version);
        remembered.or(recalled.map(|(_, sequence)| *sequence)).or_else(kept)
    }

    /// A thread that lives.
    pub(crate) fn live_thread(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        self.hot.threads.live(tenant_id, correlation_id)
    }

    /// Returns what of the words that a refused turn interrupts its thread still keeps, itself or
    /// by its open plan.
    pub(crate) fn still_kept(&self, command: &Command) -> Option<Remainder> {
        let (scope, request) = command.interrupting()?;
        let thread = self.live_thread(scope.tenant_id, scope.correlation_id)?;
        thread.still_kept((scope.turn_id, scope.session_id), request)
    }

    /// The session in which a turn or a row is that names none: the thread's own.
    #[must_use]
    pub fn own_session(&self, command: &Command) -> Option<&str> {
        let scope = command.turn_scope().filter(|scope| scope.session_id.is_none())?;
        let thread = self.live_thread(scope.tenant_id, scope.correlation_id)?;
        thread.own_session().map(|session| &**session)
    }

    /// Every live thread, by tenant and correlation.
    pub fn live_threads(&self) -> impl Iterator<Item = &Thread> {
        self.hot.threads.live.values()
    }

    /// Closed threads in the order of their closing: all of them where the world keeps what
    /// settles, else the newest 1024.
    pub fn closed_threads(&self) -> impl Iterator<Item = &Thread> {
        let older = self.settled.iter().flat_map(|settled| settled.threads.values());
        older.chain(self.hot.threads.closed())
    }
}

impl World {
    /// Returns what is registered, for the command in hand.
    pub(crate) fn registered(&self) -> Registered<'_> {
        let found = self.recalled.registrations();
        Registered { registry: &self.hot.registry, found, doubts: Some(&self.hot) }
    }
}

impl World {
    /// The newest record that ended a session or a work order which is known no longer; 0: all are.
    #[must_use]
    pub fn registrations_forgotten(&self) -> u64 {
        self.hot.registry.ended().forgotten
    }

    /// Returns whether the state knows the session or the work order of this term. Of whatever else
    /// is registered it knows everything.
    #[must_use]
    pub fn knows_registration(&self, term: &Term<'_>) -> bool {
        let registry = &self.hot.registry;
        if let Term::Session { tenant, session } = *term {
            return registry.sessions.contains_key(&pair(tenant, session));
        }
        let Term::WorkOrder { tenant, work_order } = *term else { return true };
        registry.work_orders.contains_key(&pair(tenant, work_order))
    }
}

impl World {
    /// The indexes that the chain vouches for.
    #[must_use]
    pub const fn segment_indexes(&self) -> &SegmentIndexes {
        &self.hot.indexes
    }

    /// The newest record whose idempotency key is remembered no longer; 0: every key is. A key that
    /// [`World::receipt_of`] does not find was first used with a later record, never, or with one
    /// up to this.
    #[must_use]
    pub const fn keys_forgotten(&self) -> u64 {
        self.hot.keys.forgotten()
    }

    /// The newest record of a stream of the application that is known no longer; 0: all are.
    #[must_use]
    pub fn streams_forgotten(&self) -> u64 {
        self.hot.streams.forgotten()
    }

    /// Returns whether the state knows how far a stream has come.
    #[must_use]
    pub fn knows_stream(&self, stream: &str) -> bool {
        self.hot.streams.version(stream).is_some()
    }

    /// Takes out what is known of streams: so a copy of the state costs what lives, and not 65,536
    /// names. Until it is [given back](World::give_streams_back), no fingerprint of the state is
    /// one, and no stream is known.
    #[must_use]
    pub fn take_streams(&mut self) -> TakenStreams {
        TakenStreams(core::mem::take(&mut self.hot.streams))
    }

    /// Gives back what was taken out, with the events that came meanwhile, in their order.
    pub fn give_streams_back<'a>(
        &mut self,
        taken: TakenStreams,
        meanwhile: impl IntoIterator<Item = (u64, &'a Event)>,
    ) {
        self.hot.streams = taken.0;
        for (sequence, event) in meanwhile {
            if let Some(stream) = event.stream() {
                self.hot.streams.follow(stream, sequence);
            }
        }
    }

    /// The application's streams that are known, in the order of their last events.
    pub fn streams(&self) -> impl DoubleEndedIterator<Item = StreamView<'_>> {
        self.hot.streams.iter()
    }

    /// The newest record that closed a thread which is remembered no longer; 0: all are.
    #[must_use]
    pub const fn threads_forgotten(&self) -> u64 {
        self.hot.threads.forgotten()
    }
}

impl World {
    /// Tells the rules what the log says of what the state has forgotten: until the next time that
    /// this is called.
    pub fn recall(&mut self, recalled: Recalled) {
        self.recalled = recalled;
    }

    /// Adds to what was recalled for the command in hand that a loop, request or decision point
    /// had this id.
    pub fn recall_used_id(&mut self, id: String) {
        self.recalled.take_used_id(id);
    }

    /// Returns whether loops have left the state.
    #[must_use]
    pub fn forgets_loops(&self) -> bool {
        !self.hot.totals.loops_settled.is_empty()
    }

    /// Returns whether requests of loops that settled may have left the state.
    #[must_use]
    pub fn forgets_requests(&self) -> bool {
        self.hot.requests.closed_count() >= MAX_CLOSED_REQUESTS
    }

    /// Returns whether decision points that ended may have left the state.
    #[must_use]
    pub fn forgets_decision_points(&self) -> bool {
        self.hot.decision_points.closed_count() >= MAX_CLOSED_DECISION_POINTS
    }

    /// Returns whether threads that ended may have left the state.
    #[must_use]
    pub fn forgets_threads(&self) -> bool {
        self.hot.threads.closed_count() >= MAX_CLOSED_THREADS
    }

    /// Returns whether something that is not in the state any more had this id, as far as was
    /// looked.
    pub(crate) fn was_used(&self, id: &str) -> bool {
        self.recalled.used_id() == Some(id)
    }
}
