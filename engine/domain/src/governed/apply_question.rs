//! Events of `human_decision` (Phase-32). Everything that a person's decision rests on is made
//! again from the loop's own evidence and compared.
//!
//! What the rules forbid counts for nothing where it would open a hold point: an answer that is
//! wrong in any way leaves its request open, until it times out.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Debug, Display};

use crate::core::actor::{Actor, PersonTerms};
use crate::core::clocks::EndedBy;
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::{digits, is_strong_entropy};
use crate::core::time::Timestamp;
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{ExecutionLoop, LoopSubject};
use crate::governed::request::entry_after;
use crate::human_decision::audit::{
    AuditHead, HumanDecisionBinding, disclosure_hash, injective_request_hash, record_decision,
};
use crate::human_decision::event::{
    HumanDecisionAnswered, HumanDecisionRequested, HumanDecisionTimedOut, HumanDecisionWarned,
    LateAnswerRecorded, OutputShown, RequestWithdrawn, VisibilityOverridden,
};
use crate::human_decision::rules::{accept_decision_in_time, create_timeout_decision};
use crate::human_decision::state::{Decided, HeldRequest, Override, RequestOutcome};
use crate::human_decision::terms::Warning;
use crate::human_decision::types::{
    AuditEntry, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord,
};

/// Asked about an evaluated loop, or passed on. What the loop's own evidence gives counts.
pub(crate) fn requested(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &HumanDecisionRequested,
) {
    let expected =
        expected_request(LoopSubject { entity, record }, body, &mut RuleChecks::unheard());
    let Some(expected) = expected else { return };
    let session_id = &expected.request.session_id;
    let genesis = || AuditHead::genesis(&expected.audit_id, session_id);
    entity.decisions.audit.get_or_insert_with(genesis);
    entity.decisions.requests.push(HeldRequest {
        request: expected.request,
        context: expected.context,
        request_hash: expected.request_hash,
        requested_sequence: record.sequence,
        warning: None,
        overrides: Vec::new(),
        outcome: None,
        late_answers: 0,
    });
}

pub(crate) fn judge_requested(
    of: LoopSubject<'_>,

    body: &HumanDecisionRequested,
    checks: &mut RuleChecks,
) {
    let Some(expected) = expected_request(of, body, checks) else { return };
    compare_requests(&expected, body, checks);
    let tells = body.request.evidence_summary.observed.is_some() || !checks.rules.tells_observed;
    let (rule, without) = (Rule::HumanDecisionRequest, "a question of before");
    checks.demand(tells, rule, "what was observed of the attempt", without);
    let hash = injective_request_hash(&body.context, &body.request);
    checks.expect(Rule::HumanDecisionRequest, hash, body.request_hash);
}

/// The request that the rules would make here. A request out of place is none.
fn expected_request(
    of: LoopSubject<'_>,

    body: &HumanDecisionRequested,
    checks: &mut RuleChecks,
) -> Option<HumanDecisionRequested> {
    let before = of.entity.attempt_request().map(|held| held.decided().map(|d| &d.record));
    let target = match before {
        None => None,
        Some(Some(decision)) if decision.decision == HumanDecision::Escalate => {
            let target = decision.escalation_target.as_deref().unwrap_or_default();
            of.entity.escalation_path().into_iter().find(|entry| entry.target.as_str() == target)
        }
        Some(_) => {
            let found = body.request.request_id.as_str();
            checks.forbid(Rule::HumanDecisionRequest, "one question about an attempt", found);
            return None;
        }
    };
    checks.expect(Rule::HumanDecisionRequest, ExecutionLoopState::Evaluated, of.entity.state());
    let entropy = digits(&body.request.request_id);
    let (rule, found) = (Rule::HumanDecisionRequest, body.request.request_id.as_str());
    if !checks.demand(is_strong_entropy(&entropy), rule, "an id of 32 digits", found) {
        return None;
    }
    let tells_observed = body.request.evidence_summary.observed.is_some();
    match of.entity.next_request(target, of.record.at, &entropy, tells_observed) {
        Ok(expected) => Some(expected),
        Err(why) => {
            checks.forbid(rule, why, found);
            None
        }
    }
}

/// Field by field, so that a finding names what was changed.
fn compare_requests(
    expected: &HumanDecisionRequested,
    body: &HumanDecisionRequested,
    checks: &mut RuleChecks,
) {
    let (request, found) = (&expected.request, &body.request);
    let (shown, saw) = (&request.evidence_summary, &found.evidence_summary);
    let rule = Rule::HumanDecisionRequest;
    same(checks, rule, "audit_id", &expected.audit_id, &body.audit_id);
    same(checks, rule, "request_id", &request.request_id, &found.request_id);
    same(checks, rule, "session_id", &request.session_id, &found.session_id);
    same(checks, rule, "observation_point", &shown.observation_point, &saw.observation_point);
    same(checks, rule, "evidence_type", &shown.evidence_type, &saw.evidence_type);
    same(checks, rule, "timestamp", &shown.timestamp, &saw.timestamp);
    same(checks, rule, "chain_length", &shown.chain_length, &saw.chain_length);
    same(checks, rule, "execution_state", &shown.execution_state, &saw.execution_state);
    same(checks, rule, "confidence_score", &shown.confidence_score, &saw.confidence_score);
    same(checks, rule, "chain_hash", &shown.chain_hash, &saw.chain_hash);
    same(checks, rule, "observed", &shown.observed, &saw.observed);
    same(checks, rule, "allowed_decisions", &request.allowed_decisions, &found.allowed_decisions);
    same(checks, rule, "created_at", &request.created_at, &found.created_at);
    same(checks, rule, "timeout_at", &request.timeout_at, &found.timeout_at);
    same(checks, rule, "timeout_decision", &request.timeout_decision, &found.timeout_decision);
    same(checks, rule, "warning_at", &expected.warning_at, &body.warning_at);
    same(checks, rule, "context", &expected.context, &body.context);
}

fn same<T: PartialEq + Debug>(
    checks: &mut RuleChecks,
    rule: Rule,
    name: &str,
    expected: &T,
    found: &T,
) {
    if expected != found {
        let (expected, found) =
            (format_args!("{name} {expected:?}"), format_args!("{name} {found:?}"));
        checks.forbid(rule, expected, found);
    }
}

/// The open request that an event is about.
fn open<'a>(
    entity: &'a ExecutionLoop,
    request_id: &str,
    rule: Rule,
    checks: &mut RuleChecks,
) -> Option<&'a HeldRequest> {
    let found = entity.decisions.requests.last().filter(|held| is_open(held, request_id));
    checks.demand(found.is_some(), rule, "an open request of this loop", request_id);
    found
}

fn open_mut<'a>(entity: &'a mut ExecutionLoop, request_id: &str) -> Option<&'a mut HeldRequest> {
    entity.decisions.requests.last_mut().filter(|held| is_open(held, request_id))
}

fn is_open(held: &HeldRequest, request_id: &str) -> bool {
    held.is_open() && held.request_id() == request_id
}

/// The first warning counts.
pub(crate) fn warned(entity: &mut ExecutionLoop, record: Record<'_>, body: &HumanDecisionWarned) {
    let held = open_mut(entity, &body.request_id).filter(|held| held.warning.is_none());
    if let Some(held) = held {
        let (due_at, recorded_at, sequence) = (held.warning_at(), record.at, record.sequence);
        held.warning = Some(Warning { due_at, recorded_at, sequence });
    }
}

pub(crate) fn judge_warned(
    of: LoopSubject<'_>,

    body: &HumanDecisionWarned,
    checks: &mut RuleChecks,
) {
    let rule = Rule::HumanDecisionExpiry;
    let Some(held) = open(of.entity, &body.request_id, rule, checks) else { return };
    check_due(of.record, held.warning_at(), body.due_at, checks);
    check_steady(of.record, body.due_at, body.steady, checks);
    checks.demand(held.warning.is_none(), rule, "one warning", "another");
}

/// Checks that what is due is recorded when it is, or later.
fn check_due(record: Record<'_>, due_at: Timestamp, stated: Timestamp, checks: &mut RuleChecks) {
    let rule = Rule::HumanDecisionExpiry;
    checks.expect(rule, due_at, stated);
    let is_due = record.times.over(due_at).is_some();
    checks.demand(is_due, rule, format_args!("{due_at} or later"), record.at);
}

/// A timeout counts even where it is wrong: it is ABORT.
pub(crate) fn timed_out(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    body: &HumanDecisionTimedOut,
) {
    if let Some(held) = open_mut(entity, &body.record.request_id) {
        let expected = timeout(held, record, body);
        conclude(entity, record, &expected, None, HumanDecisionOutcome::Timeout);
    }
}

/// Returns what a timeout decides. How the reason is worded is no rule: it is ABORT whatever that
/// says.
fn timeout(
    held: &HeldRequest,
    record: Record<'_>,
    body: &HumanDecisionTimedOut,
) -> HumanDecisionRecord {
    let (timestamp, entropy) = (record.at.to_text(), digits(&body.record.decision_id));
    let expected = create_timeout_decision(&held.request, timestamp.as_str(), &entropy);
    HumanDecisionRecord { reason: body.record.reason.clone(), ..expected }
}

pub(crate) fn judge_timed_out(
    of: LoopSubject<'_>,

    body: &HumanDecisionTimedOut,
    checks: &mut RuleChecks,
) {
    let rule = Rule::HumanDecisionExpiry;
    let Some(held) = open(of.entity, &body.record.request_id, rule, checks) else { return };
    check_due(of.record, held.request.timeout_at, body.due_at, checks);
    checks.demand(held.warning.is_some(), rule, "a warning before the timeout", "none");
    judge_clock(of.record, body, checks);
    let expected = timeout(held, of.record, body);
    same(checks, rule, "record", &expected, &body.record);
    check_audit(of.entity, held, &expected, None, &body.audit, checks);
}

/// The clock that is stated is the one that ended it.
fn judge_clock(record: Record<'_>, body: &HumanDecisionTimedOut, checks: &mut RuleChecks) {
    let rule = Rule::HumanDecisionExpiry;
    let ended_by = record.times.over(body.due_at);
    let name = |it: Option<EndedBy>| it.map_or("none", EndedBy::name);
    if body.ended_by.is_some() || checks.rules.tells_clock {
        checks.expect(rule, name(ended_by), name(body.ended_by));
    }
    check_steady(record, body.due_at, body.steady, checks);
}

/// The monotonic clock is stated where it alone says that something is due.
fn check_steady(
    record: Record<'_>,
    due_at: Timestamp,
    stated: Option<Timestamp>,
    checks: &mut RuleChecks,
) {
    let is_so = record.times.stated_steady(due_at) == stated;
    let expected = "no reading of the monotonic clock";
    checks.demand(is_so, Rule::HumanDecisionExpiry, expected, "one");
}

/// Exactly one answer of a person who may give it, in time. Anything else counts for nothing.
pub(crate) fn answered(
    entity: &mut ExecutionLoop,
    person: Option<PersonTerms>,
    record: Record<'_>,
    body: &HumanDecisionAnswered,
) {
    let outcome = outcome(LoopSubject { entity, record }, person, body, &mut RuleChecks::unheard());
    if let Some(outcome) = outcome {
        conclude(entity, record, &body.record, Some(body), outcome);
    }
}

/// Returns what an answer comes to; `None`: it counts for nothing.
pub(crate) fn outcome(
    of: LoopSubject<'_>,
    person: Option<PersonTerms>,

    body: &HumanDecisionAnswered,
    checks: &mut RuleChecks,
) -> Option<HumanDecisionOutcome> {
    let rule = Rule::HumanDecisionAnswer;
    let held = open(of.entity, &body.record.request_id, rule, checks)?;
    let is_human = check_human(of.record, &body.record.human_id, checks)
        && check_person(person, of.record, checks);
    let stands = check_answer(of, held, body, checks);
    let outcome = of.entity.outcome_of(&body.record);
    let applies = checks.expect(rule, outcome, body.outcome)
        && matches!(outcome, HumanDecisionOutcome::Applied | HumanDecisionOutcome::Pending);
    let means = Some(&body.means);
    let linked = check_audit(of.entity, held, &body.record, means, &body.audit, checks);
    (is_human && stands && applies && linked).then_some(outcome)
}

/// The envelope says that the person did it.
fn check_human(record: Record<'_>, human_id: &str, checks: &mut RuleChecks) -> bool {
    let actor = record.actor;
    let is_human = checks.expect(Rule::HumanAuthority, Actor::Human, actor.kind);
    is_human & checks.expect(Rule::HumanAuthority, human_id, actor.id.as_str())
}

/// The person is one who counts as that.
fn check_person(person: Option<PersonTerms>, record: Record<'_>, checks: &mut RuleChecks) -> bool {
    let admitted = person.map_or(Ok(()), |terms| terms.admit(record.proof));
    if let Err(reason) = &admitted {
        checks.forbid(Rule::HumanAuthority, "a person who counts", reason);
    }
    admitted.is_ok()
}

fn check_answer(
    of: LoopSubject<'_>,

    held: &HeldRequest,
    body: &HumanDecisionAnswered,
    checks: &mut RuleChecks,
) -> bool {
    let (rule, found) = (Rule::HumanDecisionAnswer, &body.record);
    let is_free = checks.rules.anyone_aborts && found.decision == HumanDecision::Abort;
    if !is_free && !of.entity.hold.may_answer(&found.human_id, held.context.asked_of.as_deref()) {
        checks.forbid(rule, "somebody who is asked", found.human_id.as_str());
        return false;
    }
    let target = found.escalation_target.as_deref();
    let known = |target: &str| {
        of.entity.escalation_path().iter().any(|entry| entry.target.as_str() == target)
    };
    let is_escalation = found.decision == HumanDecision::Escalate;
    if target.is_some() != is_escalation || !target.is_none_or(known) {
        checks.forbid(rule, "a target that can be asked", target.unwrap_or("none"));
        return false;
    }
    if held.request.is_expired(of.record.times.latest()) && !held.request.is_expired(of.record.at) {
        checks.forbid(rule, "an answer in time by the own clock", found.decision);
        return false;
    }
    let entropy = digits(&found.decision_id);
    let accepted = accept_decision_in_time(
        &held.request,
        found.decision,
        &found.human_id,
        found.reason.as_deref(),
        target,
        of.record.at,
        &entropy,
    );
    match accepted {
        Ok(expected) => {
            same(checks, rule, "record", &expected, found);
            expected == *found
        }
        Err(why) => {
            checks.forbid(rule, why, found.decision);
            false
        }
    }
}

/// The decision is chained to the ones before it, and binds what the person saw.
fn check_audit(
    entity: &ExecutionLoop,
    held: &HeldRequest,
    record: &HumanDecisionRecord,
    means: Option<&crate::human_decision::types::AnswerMeans>,
    found: &AuditEntry,
    checks: &mut RuleChecks,
) -> bool {
    let Some(head) = &entity.decisions.audit else { return false };
    let expected = entry_after(head, held, record, means);
    stated(checks, "audit_id", &expected.audit_id, &found.audit_id);
    stated(checks, "index", &expected.index, &found.index);
    stated(checks, "shown_hash", &expected.shown_hash, &found.shown_hash);
    stated(checks, "prior_hash", &expected.prior_hash, &found.prior_hash);
    stated(checks, "self_hash", &expected.self_hash, &found.self_hash);
    stated(checks, "injective_hash", &expected.injective_hash, &found.injective_hash);
    expected == *found
}

/// One field of an audit entry.
fn stated<T: PartialEq + Display>(checks: &mut RuleChecks, name: &str, expected: &T, found: &T) {
    if expected != found {
        let (expected, found) = (format_args!("{name} {expected}"), format_args!("{name} {found}"));
        checks.forbid(Rule::HumanDecisionAudit, expected, found);
    }
}

/// The request is decided, and the trail one longer.
fn conclude(
    entity: &mut ExecutionLoop,
    record: Record<'_>,
    decision: &HumanDecisionRecord,
    answer: Option<&HumanDecisionAnswered>,
    outcome: HumanDecisionOutcome,
) {
    let decisions = &mut entity.decisions;
    let (Some(held), Some(head)) = (decisions.requests.last_mut(), &mut decisions.audit) else {
        return;
    };
    let means = answer.map(|answer| answer.means.clone());
    let binding = HumanDecisionBinding { shown: held.shown_hash(), means: means.clone() };
    *head = record_decision(head, decision, &binding);
    held.outcome = Some(RequestOutcome::Decided(Box::new(Decided {
        record: decision.clone(),
        means,
        outcome,
        at: record.at,
        sequence: record.sequence,
        injective_hash: head.injective_head,
    })));
}

/// A field that nobody may allow stays hidden.
pub(crate) fn overridden(
    entity: &mut ExecutionLoop,
    person: Option<PersonTerms>,
    record: Record<'_>,
    body: &VisibilityOverridden,
) {
    if !may_override(LoopSubject { entity, record }, person, body, &mut RuleChecks::unheard()) {
        return;
    }
    if let Some(held) = open_mut(entity, &body.request_id) {
        held.overrides.push(Override {
            field: body.field,
            human_id: String::from(body.human_id.as_str()),
            reason: String::from(body.reason.as_str()),
            means: body.means.clone(),
            disclosed: body.disclosed,
            sequence: record.sequence,
        });
    }
}

/// Returns whether a field may be shown: as it is, once, by somebody who may allow it.
pub(crate) fn may_override(
    of: LoopSubject<'_>,
    person: Option<PersonTerms>,

    body: &VisibilityOverridden,
    checks: &mut RuleChecks,
) -> bool {
    let rule = Rule::VisibilityOverride;
    let Some(held) = open(of.entity, &body.request_id, rule, checks) else { return false };
    let is_human =
        check_human(of.record, &body.human_id, checks) && check_person(person, of.record, checks);
    let allowed = of.entity.hold.may_override(&body.human_id);
    checks.demand(allowed, rule, "somebody who may override", &body.human_id);
    let value = of.entity.disclosure(of.entity.attempt_count(), body.field);
    let is_value = match value.map(|value| disclosure_hash(body.field, &value)) {
        Some(expected) => checks.expect(rule, expected, body.disclosed),
        None => checks.demand(false, rule, "no value", body.disclosed),
    };
    let is_first = held.overrides.iter().all(|entry| entry.field != body.field)
        && !held.request.is_expired(of.record.times.latest());
    checks.demand(is_first, rule, "one override of a field, in time", body.field);
    is_human && allowed && is_value && is_first
}

pub(crate) fn withdrawn(entity: &mut ExecutionLoop, record: Record<'_>, body: &RequestWithdrawn) {
    if let Some(held) = open_mut(entity, &body.request_id) {
        let (at, sequence) = (record.at, record.sequence);
        held.outcome = Some(RequestOutcome::Withdrawn { at, sequence });
    }
}

pub(crate) fn judge_output_shown(
    entity: &ExecutionLoop,
    body: &OutputShown,
    checks: &mut RuleChecks,
) {
    open(entity, &body.request_id, Rule::HumanDecisionRequest, checks);
}

pub(crate) fn judge_withdrawn(
    entity: &ExecutionLoop,
    body: &RequestWithdrawn,
    checks: &mut RuleChecks,
) {
    open(entity, &body.request_id, Rule::HumanDecisionRequest, checks);
}

/// The request, where it is known, may be of a loop that settled.
pub(crate) fn late_answer(held: &mut HeldRequest) {
    if is_late(held) {
        held.late_answers = held.late_answers.saturating_add(1);
    }
}

fn is_late(held: &HeldRequest) -> bool {
    held.decided().is_some_and(|decided| decided.outcome == HumanDecisionOutcome::Timeout)
}

pub(crate) fn judge_late_answer(
    held: Option<&HeldRequest>,
    record: Record<'_>,
    body: &LateAnswerRecorded,
    checks: &mut RuleChecks,
) {
    let rule = Rule::HumanDecisionAnswer;
    check_human(record, &body.human_id, checks);
    let Some(held) = held else {
        checks.forbid(rule, "a known request", &body.request_id);
        return;
    };
    if checks.demand(is_late(held), rule, "a request that timed out", &body.request_id) {
        checks.expect(rule, held.request.timeout_at, body.timeout_at);
    }
}
