//! State after an event, and what the rules forbid about it. Nothing is refused here (property E2):
//! what is on the log has happened. An event that the rules forbid is applied as far as that cannot
//! do harm.
//!
//! A guard stands once. [`World::evolve`] asks it whether an event counts, and [`World::judge`]
//! what it finds.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::core::actor::PersonTerms;
use crate::core::forbidden::{ForbiddenEvent, Record, Rule, RuleChecks};
use crate::core::hash::Digest;
use crate::core::ids::{digits, id};
use crate::core::time::Timestamp;
use crate::execution_loop::event::LoopInitialized;
use crate::governed::aggregate::ExecutionLoop;
use crate::governed::{apply_question, capture};
use crate::interruption_thread::apply::Context;
use crate::log::event::{FingerprintRecorded, are_records_before};
use crate::world::carried::STATE_SCHEMA_VERSION;
use crate::world::due::Requests;
use crate::world::envelope::Envelope;
use crate::world::event::Event;
use crate::world::{Hot, World, policy};
use crate::{decision_point, governed, interruption_thread, registration};

impl World {
    /// Applies one record: its sequence, its time, its payload. Never refuses and never panics.
    /// What would open, permit or grant something, and is forbidden, counts for nothing.
    pub fn evolve(&mut self, sequence: u64, at: Timestamp, envelope: &Envelope) {
        let hashes = OnceCell::new();
        self.apply(record(sequence, at, envelope, &hashes), envelope);
    }

    /// What the rules forbid about a record that is to be applied to this very world: empty for
    /// every event that `decide` made of it.
    #[must_use]
    pub fn judge(&self, sequence: u64, at: Timestamp, envelope: &Envelope) -> Vec<ForbiddenEvent> {
        let hashes = OnceCell::new();
        self.findings(record(sequence, at, envelope, &hashes), envelope)
    }

    /// [`judge`](Self::judge), then [`evolve`](Self::evolve); evidence is hashed once for both.
    pub fn judge_and_evolve(
        &mut self,
        sequence: u64,
        at: Timestamp,
        envelope: &Envelope,
    ) -> Vec<ForbiddenEvent> {
        let hashes = OnceCell::new();
        let record = record(sequence, at, envelope, &hashes);
        let findings = self.findings(record, envelope);
        self.apply(record, envelope);
        findings
    }

    fn apply(&mut self, record: Record<'_>, envelope: &Envelope) {
        let event = &envelope.event;
        let touched = apply(self, record, event);
        self.forget_fingerprint();
        self.hot.totals.count(record.sequence, record.at, event);
        self.hot.decision_point_totals.count(event);
        self.hot.follow_key(record.sequence, envelope);
        if touched == Touched::Settled {
            self.settle(event.loop_id().unwrap_or_default());
        }
    }

    fn findings(&self, record: Record<'_>, envelope: &Envelope) -> Vec<ForbiddenEvent> {
        let event = &envelope.event;
        let mut checks = RuleChecks::new(record.sequence, event.kind().kind, event.loop_id());
        check_order(self, record, &mut checks);
        judge(self, record, event, &mut checks);
        if self.hot.keys.conflicts(envelope) {
            let key = envelope.idempotency.as_ref().map_or("", |i| i.key.as_str());
            checks.forbid(Rule::Idempotency, "one content under a key", key);
        }
        checks.findings()
    }
}

fn record<'a>(
    sequence: u64,
    at: Timestamp,
    envelope: &'a Envelope,
    hashes: &'a OnceCell<[Digest; 3]>,
) -> Record<'a> {
    let Envelope { actor, proof, correlation, .. } = envelope;
    Record { sequence, at, actor, proof: *proof, correlation, hashes }
}

/// What became of the loop that an event is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// It lives on, or there is none.
    Lives,
    /// Nothing can happen to it any more.
    Settled,
}

fn apply(world: &mut World, record: Record<'_>, event: &Event) -> Touched {
    match event {
        event if event.decision_point().is_some() => {
            decision_point::apply::applied(world, record, event);
        }
        event if event.is_of_threads() => apply_thread_event(world, record, event),
        Event::RecoveryPerformed(_) | Event::HeadMissingAccepted(_) | Event::ClockStepped(_) => {}
        Event::CommandRefused(_) | Event::FingerprintRecorded(_) => {}
        Event::Salvaged(_) | Event::RecordsLost(_) => {}
        Event::RecordsUnproven(body) => {
            if are_records_before(body.first_sequence, body.last_sequence, record.sequence) {
                world.take_unproven(body.first_sequence, body.last_sequence);
            }
        }
        Event::PolicyUnknown(_) => world.hot.gates.is_policy_lost = true,
        Event::HistoryArchived(body) => world.hot.indexes.archived(body.anchor_sequence),
        Event::ConfigurationChanged(body) => world.hot.configuration = body.digest,
        Event::PolicyChanged(body) => policy::policy_changed(world, record, body),
        Event::SegmentIndexed(body) => {
            if are_records_before(body.first_sequence, body.last_sequence, record.sequence) {
                world.hot.indexes.follow(body);
            }
        }
        event => return apply_to_loops(&mut world.hot, record, event),
    }
    Touched::Lives
}

fn judge(world: &World, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    match event {
        event if event.decision_point().is_some() => {
            decision_point::apply::judge(world, record, event, checks);
        }
        event if event.is_of_threads() => judge_thread_event(&world.hot, record, event, checks),
        Event::RecoveryPerformed(_) | Event::HeadMissingAccepted(_) | Event::ClockStepped(_) => {}
        Event::CommandRefused(_) | Event::ConfigurationChanged(_) | Event::PolicyUnknown(_) => {}
        Event::Salvaged(_) | Event::RecordsLost(_) | Event::HistoryArchived(_) => {}
        Event::RecordsUnproven(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            check_before(Rule::UnprovenRecords, first, last, record, checks);
        }
        Event::FingerprintRecorded(body) => judge_fingerprint(world, body, checks),
        Event::PolicyChanged(body) => {
            policy::may_change(world, record, body, checks);
        }
        // What else an index says is checked by whoever reads it.
        Event::SegmentIndexed(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            check_before(Rule::SegmentIndex, first, last, record, checks);
        }
        event => judge_loops(&world.hot, record, event, checks),
    }
}

/// Every other event is about a loop: it begins one, or changes one that exists.
fn apply_to_loops(hot: &mut Hot, record: Record<'_>, event: &Event) -> Touched {
    let loop_id = event.loop_id().unwrap_or_default();
    match event {
        Event::LoopInitialized(body) => begin(hot, record, body),
        Event::LateAnswerRecorded(body) => {
            let Hot { loops, requests, .. } = hot;
            let live = loops.get_mut(loop_id);
            let live = live.and_then(|entity| entity.request_mut(&body.request_id));
            let held = live.or_else(|| requests.closed_mut(&body.request_id));
            held.into_iter().for_each(|held| apply_question::late_answer(held, record));
        }
        Event::DecisionRequested(body) if is_taken(hot, &body.request.request_id) => {}
        _ => {
            let person = hot.gates.of_loop(loop_id);
            let Hot { loops, requests, .. } = hot;
            let Some(entity) = loops.get_mut(loop_id) else { return Touched::Lives };
            apply_to_loop(entity, person, record, event);
            return touch(entity, requests, record.sequence);
        }
    }
    let Hot { loops, requests, .. } = hot;
    let entity = loops.get_mut(loop_id);
    entity.map_or(Touched::Lives, |entity| touch(entity, requests, record.sequence))
}

fn judge_loops(hot: &Hot, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    let loop_id = event.loop_id().unwrap_or_default();
    match event {
        Event::LoopInitialized(body) => {
            if policy::may_begin(hot, record, body, checks) {
                governed::apply::judge_initialized(hot.loops.contains_key(loop_id), body, checks);
            }
        }
        Event::LateAnswerRecorded(body) => {
            let live = hot.loops.get(loop_id);
            let live = live.and_then(|entity| entity.request(&body.request_id));
            let held = live.or_else(|| hot.requests.closed_with(&body.request_id));
            apply_question::judge_late_answer(held, record, body, checks);
        }
        Event::DecisionRequested(body) if is_taken(hot, &body.request.request_id) => {
            let found = body.request.request_id.as_str();
            checks.forbid(Rule::DecisionRequest, "a request id that is new", found);
        }
        _ => match hot.loops.get(loop_id) {
            Some(entity) => {
                judge_loop(entity, hot.gates.of_loop(loop_id), record, event, checks);
            }
            None => checks.forbid(Rule::LoopIsLive, "a live loop", "none with this id"),
        },
    }
}

/// A new loop, if its id is new and it keeps the policy.
fn begin(hot: &mut Hot, record: Record<'_>, body: &LoopInitialized) {
    let unheard = &mut RuleChecks::unheard();
    let is_taken = hot.loops.contains_key(body.loop_id.as_str());
    if policy::may_begin(hot, record, body, unheard)
        && governed::apply::may_begin(is_taken, body, unheard)
    {
        let entity = governed::apply::initialized(record, body);
        hot.loops.insert(String::from(body.loop_id.as_str()), Box::new(entity));
        hot.gates.loop_began(body, record.proof);
    }
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
) {
    match event {
        Event::LoopDispatched(body) => governed::apply::dispatched(entity, record, body),
        Event::ResponseAwaited(_) => governed::apply::awaited(entity),
        Event::ResponseEvaluated(body) => governed::apply::evaluated(entity, record, body),
        Event::LoopHalted(body) => governed::apply::halted(entity, record, body),
        Event::ObserverAttached(body) => capture::observer_attached(entity, body),
        Event::EvidenceCaptured(body) => capture::captured(entity, record, body),
        Event::StopConditionDetected(body) => capture::stop_detected(entity, body),
        Event::ChainSealed(_) => capture::sealed(entity),
        Event::FaultReported(body) => governed::apply::reported(entity, body),
        Event::SandboxDecided(_) => governed::apply::decided(entity),
        Event::DecisionRequested(body) => apply_question::requested(entity, record, body),
        Event::VisibilityOverridden(body) => {
            apply_question::overridden(entity, person, record, body);
        }
        Event::DecisionWarned(body) => apply_question::warned(entity, record, body),
        Event::DecisionAnswered(body) => apply_question::answered(entity, person, record, body),
        Event::DecisionTimedOut(body) => apply_question::timed_out(entity, record, body),
        Event::RequestWithdrawn(body) => apply_question::withdrawn(entity, record, body),
        _ => {}
    }
}

fn judge_loop(
    entity: &ExecutionLoop,
    person: Option<PersonTerms>,
    record: Record<'_>,
    event: &Event,
    checks: &mut RuleChecks,
) {
    match event {
        Event::LoopDispatched(body) => governed::apply::judge_dispatched(entity, body, checks),
        Event::ResponseAwaited(body) => governed::apply::judge_awaited(entity, body, checks),
        Event::ResponseEvaluated(body) => governed::apply::judge_evaluated(entity, body, checks),
        Event::LoopHalted(body) => governed::apply::judge_halted(entity, body, checks),
        Event::ObserverAttached(body) => {
            capture::judge_observer_attached(entity, record, body, checks);
        }
        Event::EvidenceCaptured(body) => capture::judge_captured(entity, record, body, checks),
        Event::StopConditionDetected(body) => capture::judge_stop_detected(entity, body, checks),
        Event::ChainSealed(body) => capture::judge_sealed(entity, body, checks),
        Event::FaultReported(body) => governed::apply::judge_reported(entity, body, checks),
        Event::SandboxDecided(body) => governed::apply::judge_decided(entity, body, checks),
        Event::DecisionRequested(body) => {
            apply_question::judge_requested(entity, record, body, checks);
        }
        Event::VisibilityOverridden(body) => {
            apply_question::may_override(entity, person, record, body, checks);
        }
        Event::DecisionWarned(body) => apply_question::judge_warned(entity, record, body, checks),
        Event::DecisionAnswered(body) => {
            apply_question::outcome(entity, person, record, body, checks);
        }
        Event::DecisionTimedOut(body) => {
            apply_question::judge_timed_out(entity, record, body, checks);
        }
        Event::RequestWithdrawn(body) => apply_question::judge_withdrawn(entity, body, checks),
        _ => {}
    }
}

const fn is_registration(event: &Event) -> bool {
    matches!(event.kind().kind, 160..=166)
}

/// Interruption threads, and what is registered for them.
fn apply_thread_event(world: &mut World, record: Record<'_>, event: &Event) {
    let Hot { threads, registry, gates, .. } = &mut world.hot;
    match event {
        Event::ThreadClosed(body) => {
            let older = interruption_thread::apply::closed(threads, record, body);
            older.into_iter().for_each(|thread| world.keep_settled_thread(thread));
        }
        event if is_registration(event) => {
            registration::rules::registered(registry, gates.authentication(), record, event);
        }
        other => interruption_thread::apply::applied(threads, registry, record, other),
    }
}

fn judge_thread_event(hot: &Hot, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    let Hot { threads, registry, gates, .. } = hot;
    if is_registration(event) {
        let stated = gates.authentication();
        return registration::rules::judge(registry, stated, record, event, checks);
    }
    let context = Context { threads, registry };
    interruption_thread::apply::judge(context, record, event, checks);
}

/// Sequences count up by one and times never go back. A world may begin at any sequence.
fn check_order(world: &World, record: Record<'_>, checks: &mut RuleChecks) {
    let totals = world.totals();
    if totals.events > 0 {
        let expected = totals.last_sequence.saturating_add(1);
        checks.expect(Rule::RecordOrder, expected, record.sequence);
    }
    if record.at < totals.last_at {
        let expected = format_args!("{} or later", totals.last_at);
        checks.forbid(Rule::RecordOrder, expected, record.at);
    }
}

/// A fingerprint of another schema version is not checked.
fn judge_fingerprint(world: &World, body: &FingerprintRecorded, checks: &mut RuleChecks) {
    if body.schema == STATE_SCHEMA_VERSION {
        checks.expect(Rule::Fingerprint, world.known_fingerprint(), body.fingerprint);
    }
}

/// What is said of records is said of some before the one that says it.
fn check_before(rule: Rule, first: u64, last: u64, record: Record<'_>, checks: &mut RuleChecks) {
    let (expected, found) =
        ("records before this one, in their order", format_args!("{first} to {last}"));
    checks.demand(are_records_before(first, last, record.sequence), rule, expected, found);
}
