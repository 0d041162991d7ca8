//! State after an event. Nothing is refused here (property E2): what is on the log has happened.
//! An event that the rules forbid is applied as far as that cannot do harm, and reported.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::core::actor::PersonTerms;
use crate::core::forbidden::{ForbiddenEvent, Judgement, Record, Rule};
use crate::core::ids::{digits, id};
use crate::core::time::Timestamp;
use crate::execution_loop::event::LoopInitialized;
use crate::governed::aggregate::ExecutionLoop;
use crate::interruption_thread::apply::Context;
use crate::log::event::{FingerprintRecorded, RecordsUnproven, SegmentIndexed, are_records_before};
use crate::world::carried::STATE_SCHEMA_VERSION;
use crate::world::due::Requests;
use crate::world::envelope::Envelope;
use crate::world::event::Event;
use crate::world::{Hot, World, policy};
use crate::{decision_point, governed, interruption_thread, registration};

impl World {
    /// Applies one record: its sequence, its time, its payload. Never refuses and never panics.
    /// Returns what the rules forbid about it; empty for every event that `decide` made of this
    /// very world.
    pub fn evolve(
        &mut self,
        sequence: u64,
        at: Timestamp,
        envelope: &Envelope,
    ) -> Vec<ForbiddenEvent> {
        let Envelope { actor, proof, correlation, event, .. } = envelope;
        let mut judgement = Judgement::new(sequence, event.kind().kind, event.loop_id());
        let record = Record { sequence, at, actor, proof: *proof, correlation };
        check_order(self, record, &mut judgement);
        let touched = apply(self, record, event, &mut judgement);
        self.forget_fingerprint();
        self.hot.totals.count(sequence, at, event);
        self.hot.decision_point_totals.count(event);
        self.follow_key(sequence, envelope, &mut judgement);
        if touched == Touched::Settled {
            self.settle(event.loop_id().unwrap_or_default());
        }
        let findings = judgement.findings();
        self.hot.totals.forbidden(findings.len());
        findings
    }

    /// One key, one content.
    fn follow_key(&mut self, sequence: u64, envelope: &Envelope, judgement: &mut Judgement<'_>) {
        if self.hot.follow_key(sequence, envelope) {
            let key = envelope.idempotency.as_ref().map_or("", |i| i.key.as_str());
            judgement.forbid(Rule::Idempotency, "one content under a key", key);
        }
    }
}

/// What became of the loop that an event is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// It lives on, or there is none.
    Lives,
    /// Nothing can happen to it any more.
    Settled,
}

fn apply(
    world: &mut World,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) -> Touched {
    match event {
        event if event.decision_point().is_some() => {
            decision_point::apply::applied(world, record, event, judgement);
        }
        event if event.is_of_threads() => {
            apply_thread_event(world, record, event, judgement);
        }
        Event::RecoveryPerformed(_) | Event::HeadMissingAccepted(_) | Event::ClockStepped(_) => {}
        Event::CommandRefused(_) => {}
        Event::Salvaged(_) | Event::RecordsLost(_) => {}
        Event::RecordsUnproven(body) => records_unproven(world, record, body, judgement),
        Event::PolicyUnknown(_) => world.hot.gates.is_policy_lost = true,
        Event::HistoryArchived(body) => world.hot.indexes.archived(body.anchor_sequence),
        Event::ConfigurationChanged(body) => world.hot.configuration = body.digest,
        Event::FingerprintRecorded(body) => fingerprint_recorded(world, body, judgement),
        Event::PolicyChanged(body) => policy::policy_changed(world, record, body, judgement),
        Event::SegmentIndexed(body) => segment_indexed(world, record, body, judgement),
        event => return apply_to_loops(&mut world.hot, record, event, judgement),
    }
    Touched::Lives
}

/// Every other event is about a loop: it begins one, or changes one that exists.
fn apply_to_loops(
    hot: &mut Hot,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) -> Touched {
    match event {
        Event::LoopInitialized(body) => {
            if policy::may_begin(hot, record, body, judgement) {
                begin(hot, record, body, judgement);
            }
        }
        Event::LateAnswerRecorded(body) => {
            let Hot { loops, requests, .. } = hot;
            let live = loops.get_mut(body.loop_id.as_str());
            let live = live.and_then(|entity| entity.request_mut(&body.request_id));
            let held = live.or_else(|| requests.closed_mut(&body.request_id));
            governed::apply_question::late_answer(held, record, body, judgement);
        }
        Event::DecisionRequested(body) if is_taken(hot, &body.request.request_id) => {
            let found = body.request.request_id.as_str();
            judgement.forbid(Rule::DecisionRequest, "a request id that is new", found);
        }
        _ => {
            let loop_id = event.loop_id().unwrap_or_default();
            let Hot { loops, requests, gates, .. } = hot;
            let person = gates.of_loop(loop_id);
            let Some(entity) = loops.get_mut(loop_id) else {
                judgement.forbid(Rule::LoopIsLive, "a live loop", "none with this id");
                return Touched::Lives;
            };
            apply_to_loop(entity, person, record, event, judgement);
            return touch(entity, requests, record.sequence);
        }
    }
    let Hot { loops, requests, .. } = hot;
    let entity = loops.get_mut(event.loop_id().unwrap_or_default());
    entity.map_or(Touched::Lives, |entity| touch(entity, requests, record.sequence))
}

/// A new loop, if its id is new.
fn begin(hot: &mut Hot, record: Record<'_>, body: &LoopInitialized, judgement: &mut Judgement<'_>) {
    let is_taken = hot.loops.contains_key(body.loop_id.as_str());
    let begun = governed::apply::initialized(is_taken, record, body, judgement);
    let Some(entity) = begun else { return };
    hot.loops.insert(String::from(body.loop_id.as_str()), Box::new(entity));
    hot.gates.loop_began(body, record.proof);
}

/// Marks a loop as changed by a record.
fn touch(entity: &mut ExecutionLoop, requests: &mut Requests, sequence: u64) -> Touched {
    entity.version = sequence;
    requests.follow(entity);
    if entity.is_settled() { Touched::Settled } else { Touched::Lives }
}

/// Whether the request that would be made has the id of another one, whatever id the event states.
fn is_taken(hot: &Hot, stated: &str) -> bool {
    hot.requests.contains(&id("REQ-", &digits(stated)))
}

fn apply_to_loop(
    entity: &mut ExecutionLoop,
    person: Option<PersonTerms>,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    match event {
        Event::LoopDispatched(body) => governed::apply::dispatched(entity, record, body, judgement),
        Event::ResponseAwaited(body) => governed::apply::awaited(entity, body, judgement),
        Event::ResponseEvaluated(body) => {
            governed::apply::evaluated(entity, record, body, judgement);
        }
        Event::LoopHalted(body) => governed::apply::halted(entity, record, body, judgement),
        Event::ObserverAttached(body) => {
            governed::capture::observer_attached(entity, record, body, judgement);
        }
        Event::EvidenceCaptured(body) => {
            governed::capture::captured(entity, record, body, judgement);
        }
        Event::StopConditionDetected(body) => {
            governed::capture::stop_detected(entity, body, judgement);
        }
        Event::ChainSealed(body) => governed::capture::sealed(entity, body, judgement),
        Event::FaultReported(body) => governed::apply::reported(entity, body, judgement),
        Event::SandboxDecided(body) => governed::apply::decided(entity, body, judgement),
        other => apply_decision_event(entity, person, record, other, judgement),
    }
}

/// Interruption threads, and what is registered for them.
fn apply_thread_event(
    world: &mut World,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    match event {
        Event::CapabilityChanged(_)
        | Event::TenantRegistered(_)
        | Event::UserRegistered(_)
        | Event::DeviceRegistered(_)
        | Event::SessionRegistered(_)
        | Event::WorkOrderRegistered(_)
        | Event::LeaseRegistered(_) => {
            let Hot { registry, gates, .. } = &mut world.hot;
            let stated = gates.policy.as_ref().and_then(|policy| policy.authentication);
            registration::rules::registered(registry, stated, record, event, judgement);
        }
        Event::ThreadClosed(body) => {
            let threads = &mut world.hot.threads;
            let older = interruption_thread::apply::closed(threads, record, body, judgement);
            older.into_iter().for_each(|thread| world.keep_settled_thread(thread));
        }
        other => {
            let Hot { threads, registry, .. } = &mut world.hot;
            let mut context = Context { threads, registry };
            interruption_thread::apply::applied(&mut context, record, other, judgement);
        }
    }
}

/// Questions to a person.
fn apply_decision_event(
    entity: &mut ExecutionLoop,
    person: Option<PersonTerms>,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    match event {
        Event::DecisionRequested(body) => {
            governed::apply_question::requested(entity, record, body, judgement);
        }
        Event::VisibilityOverridden(body) => {
            governed::apply_question::overridden(entity, person, record, body, judgement);
        }
        Event::DecisionWarned(body) => {
            governed::apply_question::warned(entity, record, body, judgement)
        }
        Event::DecisionAnswered(body) => {
            governed::apply_question::answered(entity, person, record, body, judgement);
        }
        Event::DecisionTimedOut(body) => {
            governed::apply_question::timed_out(entity, record, body, judgement);
        }
        Event::RequestWithdrawn(body) => {
            governed::apply_question::withdrawn(entity, record, body, judgement);
        }
        _ => {}
    }
}

/// Sequences count up by one and times never go back. A world may begin at any sequence.
fn check_order(world: &World, record: Record<'_>, judgement: &mut Judgement) {
    let totals = world.totals();
    if totals.events > 0 {
        let expected = totals.last_sequence.saturating_add(1);
        judgement.expect(Rule::RecordOrder, expected, record.sequence);
    }
    if record.at < totals.last_at {
        let expected = alloc::format!("{} or later", totals.last_at);
        judgement.forbid(Rule::RecordOrder, expected, record.at);
    }
}

/// A fingerprint of another schema version is not checked.
fn fingerprint_recorded(world: &World, body: &FingerprintRecorded, judgement: &mut Judgement) {
    if body.schema == STATE_SCHEMA_VERSION {
        judgement.expect(Rule::Fingerprint, world.known_fingerprint(), body.fingerprint);
    }
}

/// An index is of records before the one that says so. What else it says is checked by whoever
/// reads the index.
fn segment_indexed(
    world: &mut World,
    record: Record<'_>,
    body: &SegmentIndexed,
    judgement: &mut Judgement,
) {
    let (first, last) = (body.first_sequence, body.last_sequence);
    if expect_before(Rule::SegmentIndex, first, last, record, judgement) {
        world.hot.indexes.follow(body);
    }
}

/// What is said to be unproven stays so. A log that is salvaged again says it of more records.
fn records_unproven(
    world: &mut World,
    record: Record<'_>,
    body: &RecordsUnproven,
    judgement: &mut Judgement,
) {
    let (first, last) = (body.first_sequence, body.last_sequence);
    if expect_before(Rule::UnprovenRecords, first, last, record, judgement) {
        world.take_unproven(first, last);
    }
}

/// Says whether these are records before the one that names them.
fn expect_before(
    rule: Rule,
    first: u64,
    last: u64,
    record: Record<'_>,
    judgement: &mut Judgement,
) -> bool {
    let are_before = are_records_before(first, last, record.sequence);
    if !are_before {
        let found = alloc::format!("{first} to {last}");
        judgement.forbid(rule, "records before this one, in their order", found);
    }
    are_before
}
