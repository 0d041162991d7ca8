//! State after an event. Nothing is refused here (property E2): what is on the log has happened.
//! An event that the rules forbid is applied as far as that cannot do harm, and reported.

mod decision_point;
mod evidence_capture;
mod execution_loop;
mod forbidden;
mod human_decision;
mod interruption_thread;
mod log;
mod policy;
mod registration;
mod sandbox_fault;
mod thread_session;

use alloc::vec::Vec;

pub use forbidden::{ForbiddenEvent, Rule};

use crate::envelope::Envelope;
use crate::event::Event;
use crate::principal::PersonTerms;
use crate::text::id;
use crate::time::Timestamp;
use crate::world::{ExecutionLoop, Hot, Requests, World, digits};
use forbidden::Judgement;

/// The record that is applied.
#[derive(Clone, Copy)]
struct Record<'a> {
    sequence: u64,
    at: Timestamp,
    envelope: &'a Envelope,
}

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
        let event = &envelope.event;
        let mut judgement = Judgement::new(sequence, event);
        let record = Record { sequence, at, envelope };
        log::check_order(self, record, &mut judgement);
        let touched = apply(self, record, &mut judgement);
        self.forget_fingerprint();
        self.hot.totals.count(sequence, at, event);
        self.hot.decision_point_totals.count(event);
        self.follow_key(record, &mut judgement);
        if touched == Touched::Settled {
            self.settle(event.loop_id().unwrap_or_default());
        }
        let findings = judgement.findings();
        self.hot.totals.forbidden(findings.len());
        findings
    }

    /// One key, one content.
    fn follow_key(&mut self, record: Record<'_>, judgement: &mut Judgement<'_>) {
        if self.hot.follow_key(record.sequence, record.envelope) {
            let key = record.envelope.idempotency.as_ref().map_or("", |i| i.key.as_str());
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

fn apply(world: &mut World, record: Record<'_>, judgement: &mut Judgement<'_>) -> Touched {
    match &record.envelope.event {
        event if event.decision_point().is_some() => {
            decision_point::applied(world, record, event, judgement);
        }
        event if event.is_of_threads() => {
            apply_thread_event(world, record, event, judgement);
        }
        Event::RecoveryPerformed(_) | Event::HeadMissingAccepted(_) | Event::ClockStepped(_) => {}
        Event::CommandRefused(_) => {}
        Event::Salvaged(_) | Event::RecordsLost(_) => {}
        Event::RecordsUnproven(body) => log::records_unproven(world, record, body, judgement),
        Event::PolicyUnknown(_) => world.hot.gates.is_policy_lost = true,
        Event::HistoryArchived(body) => world.hot.indexes.archived(body.anchor_sequence),
        Event::ConfigurationChanged(body) => world.hot.configuration = body.digest,
        Event::FingerprintRecorded(body) => log::fingerprint_recorded(world, body, judgement),
        Event::PolicyChanged(body) => policy::changed(world, record, body, judgement),
        Event::SegmentIndexed(body) => log::segment_indexed(world, record, body, judgement),
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
                execution_loop::initialized(hot, record, body, judgement);
            }
        }
        Event::LateAnswerRecorded(body) => {
            human_decision::late_answer(hot, record, body, judgement);
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
        Event::LoopDispatched(body) => execution_loop::dispatched(entity, record, body, judgement),
        Event::ResponseAwaited(body) => execution_loop::awaited(entity, body, judgement),
        Event::ResponseEvaluated(body) => {
            execution_loop::evaluated(entity, record, body, judgement);
        }
        Event::LoopHalted(body) => execution_loop::halted(entity, record, body, judgement),
        Event::ObserverAttached(body) => {
            evidence_capture::observer_attached(entity, record, body, judgement);
        }
        Event::EvidenceCaptured(body) => {
            evidence_capture::captured(entity, record, body, judgement);
        }
        Event::StopConditionDetected(body) => {
            evidence_capture::stop_detected(entity, body, judgement);
        }
        Event::ChainSealed(body) => evidence_capture::sealed(entity, body, judgement),
        Event::FaultReported(body) => sandbox_fault::reported(entity, body, judgement),
        Event::SandboxDecided(body) => sandbox_fault::decided(entity, body, judgement),
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
            registration::registered(&mut world.hot, record, event, judgement);
        }
        Event::ThreadClosed(body) => {
            let older = interruption_thread::closed(&mut world.hot, record, body, judgement);
            older.into_iter().for_each(|thread| world.keep_settled_thread(thread));
        }
        other => interruption_thread::applied(&mut world.hot, record, other, judgement),
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
            human_decision::requested(entity, record, body, judgement);
        }
        Event::VisibilityOverridden(body) => {
            human_decision::overridden(entity, person, record, body, judgement);
        }
        Event::DecisionWarned(body) => human_decision::warned(entity, record, body, judgement),
        Event::DecisionAnswered(body) => {
            human_decision::answered(entity, person, record, body, judgement);
        }
        Event::DecisionTimedOut(body) => {
            human_decision::timed_out(entity, record, body, judgement);
        }
        Event::RequestWithdrawn(body) => {
            human_decision::withdrawn(entity, record, body, judgement);
        }
        _ => {}
    }
}
