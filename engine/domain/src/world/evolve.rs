//! State after an event, and what the rules forbid about it. Nothing is refused here (property E2):
//! what is on the log has happened. An event that the rules forbid is applied as far as that cannot
//! do harm.
//!
//! A guard stands once. [`World::evolve`] asks it whether an event counts, and [`World::judge`]
//! what it finds.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::core::actor::{Actor, PersonTerms};
use crate::core::clocks::Moment;
use crate::core::forbidden::{ForbiddenEvent, Record, Rule, RuleChecks, Rules};
use crate::core::hash::Digest;
use crate::core::ids::{digits, id};
use crate::core::refusal::Malformed;
use crate::core::time::Timestamp;
use crate::decision_point::event::DecisionPointEvent;
use crate::evidence_capture::chain::EvidenceHashes;
use crate::evidence_capture::event::EvidenceCaptureEvent;
use crate::evidence_capture::pieces::RecordedOutputs;
use crate::execution_loop::event::{ExecutionLoopEvent, LoopInitialized};
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{ExecutionLoop, LoopSubject};
use crate::governed::{apply_question, attempt, capture, pieces};
use crate::human_decision::event::HumanDecisionEvent;
use crate::interruption_thread::apply::Context;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::log::event::{
    FingerprintRecorded, LogEvent, RULES_ADOPTED, RecordsLabelled, RulesAdopted, are_records_before,
};
use crate::log::state::RulesNumbers;
use crate::sandbox_fault::event::SandboxFaultEvent;
use crate::world::due::may_step;
use crate::world::envelope::Envelope;
use crate::world::event::Event;
use crate::world::recalled::STATE_SCHEMA_VERSION;
use crate::world::{LiveState, World, continued, policy, questions};
use crate::{application, decision_point, governed, interruption_thread, registration};

impl World {
    /// Applies one record: its sequence, its time, its payload. Never refuses and never panics.
    /// What would open, permit or grant something, and is forbidden, counts for nothing.
    pub fn evolve(&mut self, sequence: u64, at: Timestamp, envelope: &Envelope) {
        self.evolve_hashed(sequence, at, envelope, None);
    }

    /// [`evolve`](Self::evolve), where the event's evidence was hashed before.
    pub fn evolve_hashed(
        &mut self,
        sequence: u64,
        at: Timestamp,
        envelope: &Envelope,
        evidence: Option<EvidenceHashes>,
    ) {
        let hashes = OnceCell::new();
        self.apply(record(sequence, at, envelope, &hashes, evidence), envelope);
    }

    /// [`evolve`](Self::evolve), by an event that `decide` has just made of this very world: its
    /// evidence is hashed already, and says how.
    pub fn evolve_decided(&mut self, sequence: u64, at: Timestamp, envelope: &Envelope) {
        let stated = envelope.event.captured().and_then(capture::stated_hashes);
        let hashes = stated.map_or_else(OnceCell::new, OnceCell::from);
        self.apply(record(sequence, at, envelope, &hashes, None), envelope);
    }

    /// Lists what the rules forbid about a record that is to be applied to this very world: empty
    /// for every event that `decide` made of it.
    #[must_use]
    pub fn judge(&self, sequence: u64, at: Timestamp, envelope: &Envelope) -> Vec<ForbiddenEvent> {
        let hashes = OnceCell::new();
        self.findings(record(sequence, at, envelope, &hashes, None), envelope)
    }

    /// [`judge`](Self::judge), then [`evolve`](Self::evolve); evidence is hashed once for both.
    pub fn judge_and_evolve(
        &mut self,
        sequence: u64,
        at: Timestamp,
        envelope: &Envelope,
    ) -> Vec<ForbiddenEvent> {
        self.judge_and_evolve_hashed(sequence, at, envelope, None)
    }

    /// [`judge_and_evolve`](Self::judge_and_evolve), where the event's evidence was hashed before.
    pub fn judge_and_evolve_hashed(
        &mut self,
        sequence: u64,
        at: Timestamp,
        envelope: &Envelope,
        evidence: Option<EvidenceHashes>,
    ) -> Vec<ForbiddenEvent> {
        let hashes = OnceCell::new();
        let record = record(sequence, at, envelope, &hashes, evidence);
        let findings = self.findings(record, envelope);
        self.apply(record, envelope);
        findings
    }

    /// Goes on behind a record that is no event and of which no state follows: one of a kind from
    /// [`FIRST_OPAQUE_KIND`](crate::world::FIRST_OPAQUE_KIND) on.
    pub fn pass_over(&mut self, sequence: u64, at: Timestamp) {
        self.forget_fingerprint();
        self.hot.totals.reach(sequence, at);
    }

    fn apply(&mut self, record: Record<'_>, envelope: &Envelope) {
        let event = &envelope.event;
        self.hot.clocks.follow(record.moment());
        let record = self.on_its_scale(record, event);
        let touched = apply(self, record, event);
        self.hot.follow_limits(record, event);
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
        let record = self.on_its_scale(record, event);
        let kind = event.kind();
        let kept = Rules::numbered(self.rules_of(kind));
        let rules = kept.unwrap_or(Rules::NEWEST);
        let record = Record { rules, ..record };
        let mut checks = RuleChecks::new(record.sequence, kind.kind, event.loop_id(), rules);
        check_order(self, record, &mut checks);
        envelope.judge_heading(record.sequence, &mut checks);
        // Of rules that this program does not have, it says nothing but how their numbers rise.
        if kept.is_some() || kind.kind == RULES_ADOPTED {
            judge(self, record, event, &mut checks);
        }
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
    evidence: Option<EvidenceHashes>,
) -> Record<'a> {
    let Envelope { actor, proof, clock, correlation, .. } = envelope;
    let known_hashes = evidence.map(|EvidenceHashes(hashes)| hashes);
    let now = Moment::new(at, clock.unwrap_or(at));
    let (times, clock, proof) = (now.into(), now.clock, *proof);
    Record {
        sequence,
        at,
        times,
        clock,
        actor,
        proof,
        correlation,
        set_back: 0,
        rules: Rules::NEWEST,
        hashes,
        known_hashes,
    }
}

/// Fate of the loop that an event is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// It lives on, or there is none.
    Lives,
    /// Nothing can happen to it any more.
    Settled,
}

fn apply(world: &mut World, record: Record<'_>, event: &Event) -> Touched {
    match event {
        Event::Log(event) => apply_to_log(world, record, event),
        Event::Registration(event) => {
            let LiveState { registry, gates, .. } = &mut world.hot;
            registration::rules::registered(registry, gates.authentication(), record, event);
        }
        Event::InterruptionThread(event) => apply_to_thread(world, record, event),
        Event::DecisionPoint(event) => apply_to_point(world, record, event),
        Event::Application(event) => {
            if let Some(stream) = event.stream() {
                world.hot.streams.follow(stream, record.sequence);
            }
        }
        Event::ExecutionLoop(_)
        | Event::EvidenceCapture(_)
        | Event::SandboxFault(_)
        | Event::HumanDecision(_) => return apply_to_loops(&mut world.hot, record, event),
    }
    Touched::Lives
}

fn judge(world: &World, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    let LiveState { threads, registry, gates, .. } = &world.hot;
    match event {
        Event::Log(event) => judge_log(world, record, event, checks),
        Event::Registration(event) => {
            registration::rules::judge(registry, gates.authentication(), record, event, checks);
        }
        Event::InterruptionThread(event) => {
            let context = Context { threads, registry, record };
            interruption_thread::apply::judge(context, event, checks);
        }
        Event::DecisionPoint(event) => {
            decision_point::apply::judge(world.points_view(None), record, event, checks);
            let is_own = matches!(event, DecisionPointEvent::DecisionPointCreated(body)
                if body.by.is_holdpoint() && !questions::is_due(&world.hot, body));
            checks.demand(!is_own, Rule::Escalation, "a fault that was just escalated", "none");
        }
        Event::Application(event) => application::rules::judge(record, event, checks),
        Event::ExecutionLoop(_)
        | Event::EvidenceCapture(_)
        | Event::SandboxFault(_)
        | Event::HumanDecision(_) => judge_loops(&world.hot, record, event, checks),
    }
}

/// Applies an event of a decision point, and what follows where its round is over.
fn apply_to_point(world: &mut World, record: Record<'_>, event: &DecisionPointEvent) {
    let view = world.points_view(None);
    if let DecisionPointEvent::DecisionPointCreated(body) = event {
        if body.by.is_holdpoint() && !questions::is_due(&world.hot, body) {
            return;
        }
        let Ok(point) = decision_point::apply::created(view, record, body) else { return };
        world.hot.gates.point_began(&point, body, record.proof);
        return world.hot.decision_points.begin(point);
    }
    if let DecisionPointEvent::RoundOpened(body) = event {
        let Ok(point) = decision_point::apply::opened(view, record, body) else { return };
        world.hot.gates.round_began(&body.prior_id, &body.decision_id);
        return world.hot.decision_points.begin(point);
    }
    if !decision_point::apply::counts(view, record, event) {
        return;
    }
    let LiveState { decision_points, keys, gates, .. } = &mut world.hot;
    if let DecisionPointEvent::VoteCast(vote) = event {
        gates.people.voted(&vote.decision_id, &vote.by.id, record.proof);
    }
    let older = decision_point::apply::change(decision_points, record, event);
    if !decision_points.is_live(event.decision_id()) {
        keys.close(event.decision_id());
    }
    older.iter().for_each(|(_, point)| gates.point_forgotten(&point.decision_id));
    world.keep_settled_points(older);
}

/// Applies what the log says of itself.
fn apply_to_log(world: &mut World, record: Record<'_>, event: &LogEvent) {
    match event {
        LogEvent::RecoveryPerformed(_)
        | LogEvent::CommandRefused(_)
        | LogEvent::FingerprintRecorded(_)
        | LogEvent::RecordsLabelled(_) => {}
        LogEvent::HeadMissingAccepted(body) if !body.is_end_known => {
            world.hot.lost_before = record.sequence;
        }
        LogEvent::HeadMissingAccepted(_) => {}
        LogEvent::RecordsLost(body) if body.is_of_records() => {
            world.hot.lost_before = record.sequence;
        }
        LogEvent::RecordsLost(_) => {}
        LogEvent::Salvaged(body) => {
            let ranges = body.unproven_behind(record.sequence);
            ranges.for_each(|(first, last)| world.take_unproven(first, last));
        }
        LogEvent::RecordsUnproven(body) => {
            if are_records_before(body.first_sequence, body.last_sequence, record.sequence) {
                world.take_unproven(body.first_sequence, body.last_sequence);
            }
        }
        LogEvent::ClockStepped(body) if body.step_ns < 0 => world.hot.set_back = record.sequence,
        LogEvent::ClockStepped(_) => {}
        LogEvent::ClockStepAccepted(body) => {
            if may_step(world, record, body, &mut RuleChecks::unheard()) {
                world.hot.clocks.step(record.moment());
            }
        }
        LogEvent::LogContinued(_) => world.hot.log_continued(record.sequence),
        LogEvent::PolicyUnknown(body) => {
            world.hot.gates.is_policy_lost = true;
            // Whatever was asked behind the loss was asked under a policy that is not known.
            if body.records_lost > 0 {
                world.hot.lost_before = record.sequence;
            }
        }
        LogEvent::RulesAdopted(body) => {
            let adopted = adopted(world, record, body, &mut RuleChecks::unheard());
            adopted.into_iter().for_each(|numbers| world.hot.rules = numbers);
        }
        LogEvent::HistoryArchived(body) => world.hot.indexes.archived(body.anchor_sequence),
        LogEvent::ConfigurationChanged(body) => world.hot.configuration = body.digest,
        LogEvent::PolicyChanged(body) => policy::policy_changed(world, record, body),
        LogEvent::PolicyUnlocked(body) => policy::policy_unlocked(world, record, body),
        LogEvent::SegmentIndexed(body) => {
            if are_records_before(body.first_sequence, body.last_sequence, record.sequence) {
                world.hot.indexes.follow(body);
            }
        }
    }
}

fn judge_log(world: &World, record: Record<'_>, event: &LogEvent, checks: &mut RuleChecks) {
    match event {
        LogEvent::RecoveryPerformed(_)
        | LogEvent::HeadMissingAccepted(_)
        | LogEvent::ClockStepped(_)
        | LogEvent::CommandRefused(_)
        | LogEvent::ConfigurationChanged(_)
        | LogEvent::PolicyUnknown(_)
        | LogEvent::Salvaged(_)
        | LogEvent::RecordsLost(_)
        | LogEvent::HistoryArchived(_) => {}
        LogEvent::RecordsUnproven(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            check_before(Rule::UnprovenRecords, first, last, record, checks);
        }
        LogEvent::RulesAdopted(body) => drop(adopted(world, record, body, checks)),
        LogEvent::RecordsLabelled(body) => judge_labels(record, body, checks),
        LogEvent::FingerprintRecorded(body) => judge_fingerprint(world, body, checks),
        LogEvent::ClockStepAccepted(body) => {
            may_step(world, record, body, checks);
        }
        LogEvent::LogContinued(body) => continued::judge(world, record, body, checks),
        LogEvent::PolicyChanged(body) => {
            policy::may_change(world, record, body, checks);
        }
        LogEvent::PolicyUnlocked(body) => {
            policy::may_unlock(world, record, body, checks);
        }
        // What else an index says is checked by whoever reads it.
        LogEvent::SegmentIndexed(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            check_before(Rule::SegmentIndex, first, last, record, checks);
        }
    }
}

/// Every other event is about a loop: it begins one, or changes one that exists.
fn apply_to_loops(hot: &mut LiveState, record: Record<'_>, event: &Event) -> Touched {
    let loop_id = event.loop_id().unwrap_or_default();
    if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
        begin(hot, record, body);
    }
    let is_taken = asks_under_taken_id(hot, event).is_some();
    let LiveState { loops, requests, gates, outputs, .. } = hot;
    let mut live = loops.get_mut(loop_id);
    if let Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(body)) = event {
        let live = live.as_deref_mut().and_then(|entity| entity.request_mut(&body.request_id));
        let held = live.or_else(|| requests.closed_mut(&body.request_id));
        held.into_iter().for_each(apply_question::late_answer);
    }
    let Some(entity) = live else { return Touched::Lives };
    if !is_taken {
        let person = || gates.of_loop_for(loop_id, &record.actor.id);
        apply_to_loop(entity, outputs, person, record, event);
    }
    entity.version = record.sequence;
    if entity.state() != ExecutionLoopState::AwaitingResponse {
        outputs.forget(loop_id);
    }
    // Nothing else changes what is asked about a loop.
    if let Event::HumanDecision(_) = event {
        requests.follow(entity);
    }
    if entity.is_settled() { Touched::Settled } else { Touched::Lives }
}

fn judge_loops(hot: &LiveState, record: Record<'_>, event: &Event, checks: &mut RuleChecks) {
    let loop_id = event.loop_id().unwrap_or_default();
    let live = hot.loops.get(loop_id);
    if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
        if policy::may_begin(hot, record, body, checks) {
            governed::apply::judge_initialized(live.is_some(), body, checks);
        }
    } else if let Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(body)) = event {
        let live = live.and_then(|entity| entity.request(&body.request_id));
        let held = live.or_else(|| hot.requests.closed_with(&body.request_id));
        apply_question::judge_late_answer(held, record, body, checks);
    } else if let Some(found) = asks_under_taken_id(hot, event) {
        checks.forbid(Rule::HumanDecisionRequest, "a request id that is new", found);
    } else if let Some(entity) = live {
        if let Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(_)) = event {
            questions::judge(hot, entity, checks);
        }
        let person = || hot.gates.of_loop_for(loop_id, &record.actor.id);
        judge_loop(entity, &hot.outputs, person, record, event, checks);
    } else {
        checks.forbid(Rule::LoopIsLive, "a live loop", "none with this id");
    }
}

/// A new loop, if its id is new and it keeps the policy.
fn begin(hot: &mut LiveState, record: Record<'_>, body: &LoopInitialized) {
    let unheard = &mut RuleChecks::unheard();
    let is_taken = hot.loops.contains_key(body.loop_id.as_str());
    if policy::may_begin(hot, record, body, unheard)
        && governed::apply::may_begin(is_taken, body, unheard)
    {
        let entity = governed::apply::initialized(record, body);
        hot.loops.insert(body.loop_id.clone(), Box::new(entity));
        hot.gates.loop_began(body, record.proof);
    }
}

/// The id of a request that would be made, where another one has it, whatever id the event states.
fn asks_under_taken_id<'e>(hot: &LiveState, event: &'e Event) -> Option<&'e str> {
    let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event else {
        return None;
    };
    let stated = body.request.request_id.as_str();
    hot.requests.contains(&id("REQ-", &digits(stated))).then_some(stated)
}

/// Every event about a live loop: how it is applied, then how it is judged.
macro_rules! on_live_loops {
    (
        ($entity:ident, $outputs:ident, $person:ident, $record:ident, $checks:ident)
        $($System:ident($Event:ident) { $($Body:ident($body:ident) $apply:expr, $judge:expr;)+ })+
    ) => {
        fn apply_to_loop(
            $entity: &mut ExecutionLoop,
            $outputs: &mut RecordedOutputs,
            $person: impl FnOnce() -> Option<PersonTerms>,
            $record: Record<'_>,
            event: &Event,
        ) {
            match event {
                $(Event::$System(event) => match event { $($Event::$Body($body) => $apply,)+ },)+
                Event::Log(_)
                | Event::Registration(_)
                | Event::InterruptionThread(_)
                | Event::DecisionPoint(_)
                | Event::Application(_) => {}
            }
        }

        fn judge_loop(
            $entity: &ExecutionLoop,
            $outputs: &RecordedOutputs,
            $person: impl FnOnce() -> Option<PersonTerms>,
            $record: Record<'_>,
            event: &Event,
            $checks: &mut RuleChecks,
        ) {
            match event {
                $(Event::$System(event) => match event {
                    $($Event::$Body($body) => { $judge; })+
                },)+
                Event::Log(_)
                | Event::Registration(_)
                | Event::InterruptionThread(_)
                | Event::DecisionPoint(_)
                | Event::Application(_) => {}
            }
        }
    };
}

on_live_loops! {
    (entity, outputs, person, record, checks)
    ExecutionLoop(ExecutionLoopEvent) {
        // It began the loop.
        LoopInitialized(_body) {}, {};
        LoopDispatched(body) governed::apply::dispatched(entity, record, body),
            governed::apply::judge_dispatched(entity, body, checks);
        ResponseAwaited(_body) governed::apply::awaited(entity),
            governed::apply::judge_awaited(entity, _body, checks);
        ResponseEvaluated(body) governed::apply::evaluated(entity, record, body),
            governed::apply::judge_evaluated(entity, body, checks);
        LoopHalted(body) governed::apply::halted(entity, record, body),
            governed::apply::judge_halted(entity, body, checks);
    }
    EvidenceCapture(EvidenceCaptureEvent) {
        ObserverAttached(body) capture::observer_attached(entity, body),
            capture::judge_observer_attached(entity, record, body, checks);
        EvidenceCaptured(body) {
            pieces::captured(entity, outputs, body);
            capture::captured(entity, record, body);
        }, {
            pieces::judge_captured(entity, outputs, body, checks);
            capture::judge_captured(entity, record, body, checks);
        };
        StopConditionDetected(body) capture::stop_detected(entity, body),
            attempt::judge_stop_detected(LoopSubject { entity, record }, body, checks);
        ChainSealed(_body) capture::sealed(entity),
            capture::judge_sealed(entity, _body, checks);
        OutputRecorded(body) pieces::recorded(entity, outputs, body),
            pieces::judge_recorded(entity, outputs, body, checks);
    }
    SandboxFault(SandboxFaultEvent) {
        FaultReported(body) governed::apply::reported(entity, body),
            governed::apply::judge_reported(entity, body, checks);
        SandboxDecided(_body) governed::apply::decided(entity),
            governed::apply::judge_decided(entity, _body, checks);
    }
    HumanDecision(HumanDecisionEvent) {
        HumanDecisionRequested(body) apply_question::requested(entity, record, body),
            apply_question::judge_requested(LoopSubject { entity, record }, body, checks);
        VisibilityOverridden(body) apply_question::overridden(entity, person(), record, body),
            apply_question::may_override(LoopSubject { entity, record }, person(), body, checks);
        HumanDecisionWarned(body) apply_question::warned(entity, record, body),
            apply_question::judge_warned(LoopSubject { entity, record }, body, checks);
        HumanDecisionAnswered(body) apply_question::answered(entity, person(), record, body),
            apply_question::outcome(LoopSubject { entity, record }, person(), body, checks);
        HumanDecisionTimedOut(body) apply_question::timed_out(entity, record, body),
            apply_question::judge_timed_out(LoopSubject { entity, record }, body, checks);
        RequestWithdrawn(body) apply_question::withdrawn(entity, record, body),
            apply_question::judge_withdrawn(entity, body, checks);
        OutputShown(_body) {}, apply_question::judge_output_shown(entity, _body, checks);
        // It changes no loop, and may come when there is none any more.
        LateAnswerRecorded(_body) {}, {};
    }
}

fn apply_to_thread(world: &mut World, record: Record<'_>, event: &InterruptionThreadEvent) {
    let LiveState { threads, registry, .. } = &mut world.hot;
    if let InterruptionThreadEvent::ThreadClosed(body) = event {
        let older = interruption_thread::apply::closed(threads, record, body);
        older.into_iter().for_each(|thread| world.keep_settled_thread(thread));
    } else {
        interruption_thread::apply::applied(threads, registry, record, event);
    }
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

/// The numbers from here on, where Holdpoint itself says so and they rise.
fn adopted(
    world: &World,
    record: Record<'_>,
    body: &RulesAdopted,
    checks: &mut RuleChecks,
) -> Option<RulesNumbers> {
    let (rule, expected) = (Rule::RulesNumbers, "every system's number, one of them higher");
    let is_own = checks.expect(rule, Actor::System, record.actor.kind);
    let after = world.hot.rules.after(body);
    checks.demand(after.is_some(), rule, expected, "lower, missing or no higher ones");
    after.filter(|_| is_own)
}

/// A fingerprint of another schema version is not checked.
fn judge_fingerprint(world: &World, body: &FingerprintRecorded, checks: &mut RuleChecks) {
    if body.schema == STATE_SCHEMA_VERSION {
        checks.expect(Rule::Fingerprint, world.known_fingerprint(), body.fingerprint);
    }
}

/// Judges labels. Where their batch begins is known to whoever reads it: that the labels are of the
/// same one is judged there.
fn judge_labels(record: Record<'_>, body: &RecordsLabelled, checks: &mut RuleChecks) {
    if let Err(Malformed { field, expected, found }) = body.check() {
        checks.forbid(Rule::Labels, format_args!("{field}: {expected}"), found);
    }
    let last = record.sequence.saturating_sub(1);
    check_before(Rule::Labels, body.first_sequence, last, record, checks);
}

/// Checks that what is said of records is said of some before the one that says it.
fn check_before(rule: Rule, first: u64, last: u64, record: Record<'_>, checks: &mut RuleChecks) {
    let (expected, found) =
        ("records before this one, in their order", format_args!("{first} to {last}"));
    checks.demand(are_records_before(first, last, record.sequence), rule, expected, found);
}
