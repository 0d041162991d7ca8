//! A person answers. Exactly one answer counts; what follows from it is in the same batch.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use crate::core::clocks::Times;
use crate::core::hash::HashBuilder;
use crate::core::payload::Text;
use crate::core::refusal::CommonRefusal;
use crate::core::text::{bounded, check_identifier, shown, shown_name};
use crate::core::time::Timestamp;
use crate::evidence_capture::types::StopCondition;
use crate::execution_loop::types::ExecutionLoopState;
use crate::governed::aggregate::{ExecutionLoop, RequestPlace};
use crate::governed::batch::{LoopEnding, OnLoop, on_loop};
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::governed::request::{
    audit_entry, check_human_actor, check_reason_length, ended, find, shown_means, told,
};
use crate::governed::{GovernedEvent, request};
use crate::human_decision::command::AnswerHumanDecision;
use crate::human_decision::event::{HumanDecisionAnswered, LateAnswerRecorded};
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::human_decision::rules::{
    AnswerRefusal, accept_decision_in_time, apply_decision, visible_or_none,
};
use crate::human_decision::state::{HeldRequest, RequestOutcome};
use crate::human_decision::terms::EscalationTarget;
use crate::human_decision::types::{HumanDecision, HumanDecisionOutcome, HumanDecisionRecord};

use ExecutionLoopState::{Evaluated, Halted};

/// Texts that are said, with everything hidden made visible, and nothing where there is nothing to
/// see.
struct VisibleTexts {
    reason: Option<String>,
    target: Option<String>,
}

/// An answer: to an open request, to one that was answered before, or too late.
pub(crate) fn answer(
    place: Option<RequestPlace<'_>>,
    command: &AnswerHumanDecision,
    at: Timestamp,
    times: Times,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    check_names(command)?;
    let place = find(place, &command.request_id)?;
    check_loop(command, place.held())?;
    check_human_actor(place.held(), command.actor)?;
    match (place, &place.held().outcome) {
        (_, Some(outcome)) => repeated(command, place.held(), outcome),
        (RequestPlace::Live(entity, held), None) => {
            on_loop((Some(entity), &[]), entity.loop_id(), command.entropy, at, |on| {
                answer_open(on, held, command, times)
            })
        }
        (RequestPlace::Closed(held), None) => {
            let request_id = String::from(held.request_id());
            Err(HumanDecisionRefusal::UnknownRequest { request_id }.into())
        }
    }
}

/// Malformed input writes nothing.
fn check_names(command: &AnswerHumanDecision) -> Ruling {
    check_identifier("human id", &command.human_id)?;
    check_reason_length(command.reason.as_deref())
}

fn check_loop(command: &AnswerHumanDecision, held: &HeldRequest) -> Ruling {
    let expected = String::from(held.context.loop_id.as_str());
    match &command.loop_id {
        Some(found) if *found != expected => {
            let request_id = String::from(held.request_id());
            let found = shown_name(found);
            Err(HumanDecisionRefusal::RequestElsewhere { request_id, expected, found }.into())
        }
        _ => Ok(()),
    }
}

fn said(command: &AnswerHumanDecision) -> VisibleTexts {
    VisibleTexts {
        reason: visible_or_none(command.reason.as_deref()).map(|reason| shown(&reason)),
        target: visible_or_none(command.escalation_target.as_deref()),
    }
}

/// The same answer again is done already; another one conflicts; one after the deadline is kept.
fn repeated(
    command: &AnswerHumanDecision,
    held: &HeldRequest,
    outcome: &RequestOutcome,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    match outcome {
        RequestOutcome::Decided(decided) if decided.outcome == HumanDecisionOutcome::Timeout => {
            Ok(vec![late(command, held).into()])
        }
        RequestOutcome::Decided(decided) if is_same(command, &decided.record) => {
            Err(CommonRefusal::AlreadyDone { sequence: decided.sequence }.into())
        }
        RequestOutcome::Decided(_) | RequestOutcome::Withdrawn { .. } => Err(ended(held, outcome)),
    }
}

fn is_same(command: &AnswerHumanDecision, record: &HumanDecisionRecord) -> bool {
    let said = said(command);
    record.human_id.as_str() == command.human_id
        && record.decision == command.decision
        && record.reason.as_deref() == said.reason.as_deref()
        && record.escalation_target.as_deref() == said.target.as_deref()
}

fn late(command: &AnswerHumanDecision, held: &HeldRequest) -> LateAnswerRecorded {
    let said = said(command);
    let target = said.target.map(|target| shown_name(&target));
    LateAnswerRecorded {
        loop_id: held.context.loop_id.clone(),
        request_id: held.request.request_id.clone(),
        human_id: command.human_id.as_str().into(),
        decision: command.decision,
        reason: said.reason.map(Text::from),
        escalation_target: target.map(Text::from),
        means: shown_means(&command.means),
        timeout_at: held.request.timeout_at,
    }
}

fn answer_open(
    on: &mut OnLoop<'_>,
    held: &HeldRequest,
    command: &AnswerHumanDecision,
    times: Times,
) -> Ruling {
    if let Some(ended_by) = times.over(held.request.timeout_at) {
        request::time_out(on, held, command.entropy, (times, ended_by))?;
        on.batch.push(late(command, held));
        return Ok(());
    }
    let record = accepted(on.entity, on.batch.at(), held, command)?;
    let target = escalation(on.entity, &record)?;
    let outcome = outcome(on.entity, &record)?;
    let means = shown_means(&command.means);
    let audit = audit_entry(on.entity, held, &record, Some(&means));
    let loop_id = on.batch.loop_id();
    on.batch.close_request();
    on.batch.push(HumanDecisionAnswered { loop_id, record: record.clone(), means, outcome, audit });
    follow(on, &record, target, command)
}

/// The seed's checks, and that the person is one of those who are asked.
fn accepted(
    entity: &ExecutionLoop,
    at: Timestamp,
    held: &HeldRequest,
    command: &AnswerHumanDecision,
) -> Result<HumanDecisionRecord, LoopRefusal> {
    let request_id = String::from(held.request_id());
    let human_id = command.human_id.as_str();
    // ABORT by any person always stops a hold (seed Phase-32).
    let is_abort = command.decision == HumanDecision::Abort;
    if !is_abort && !entity.hold.may_answer(human_id, held.context.asked_of.as_deref()) {
        let human_id = String::from(human_id);
        return Err(HumanDecisionRefusal::NotAnApprover { request_id, human_id }.into());
    }
    let VisibleTexts { reason, target } = said(command);
    let decision = command.decision;
    if target.is_some() && decision != HumanDecision::Escalate {
        return Err(HumanDecisionRefusal::UnexpectedTarget { decision }.into());
    }
    accept_decision_in_time(
        &held.request,
        decision,
        human_id,
        reason.as_deref(),
        target.as_deref(),
        at,
        &command.entropy.to_string(),
    )
    .map_err(|reason| HumanDecisionRefusal::Answer { request_id, reason }.into())
}

/// The configured target of an ESCALATE.
fn escalation<'a>(
    entity: &'a ExecutionLoop,
    record: &HumanDecisionRecord,
) -> Result<Option<&'a EscalationTarget>, LoopRefusal> {
    if record.decision != HumanDecision::Escalate {
        return Ok(None);
    }
    let wanted = record.escalation_target.as_deref().unwrap_or_default();
    let path = entity.escalation_path();
    if let Some(target) = path.iter().find(|entry| entry.target.as_str() == wanted) {
        return Ok(Some(target));
    }
    let known: Vec<&str> = path.iter().map(|entry| entry.target.as_str()).collect();
    let target = shown_name(wanted);
    Err(HumanDecisionRefusal::UnknownTarget { target, known: known.join(", ") }.into())
}

/// APPLIED or PENDING. What cannot be applied is refused and counts for nothing.
fn outcome(
    entity: &ExecutionLoop,
    record: &HumanDecisionRecord,
) -> Result<HumanDecisionOutcome, LoopRefusal> {
    let outcome = entity.outcome_of(record);
    if outcome != HumanDecisionOutcome::Rejected {
        return Ok(outcome);
    }
    let reason = AnswerRefusal::NotAllowed { decision: record.decision };
    let request_id = String::from(record.request_id.as_str());
    Err(HumanDecisionRefusal::Answer { request_id, reason }.into())
}

/// Adds to the batch what the decision leads to.
fn follow(
    on: &mut OnLoop<'_>,
    record: &HumanDecisionRecord,
    target: Option<&EscalationTarget>,
    command: &AnswerHumanDecision,
) -> Ruling {
    match record.decision {
        HumanDecision::Retry => Ok(()),
        HumanDecision::Continue if !on.entity.ends_with_continue() => Ok(()),
        HumanDecision::Abort => on.batch.stop(Evaluated, StopCondition::HumanAbort, &told(record)),
        HumanDecision::Continue => {
            let Some((reason, fault_type)) = on.entity.ending() else { return Ok(()) };
            let details = alloc::format!("{Evaluated} -> {Halted}, {reason}: {}", told(record));
            let (from, requested, stop_condition) = (Evaluated, Halted, None);
            on.batch.halt(LoopEnding {
                from,
                requested,
                reason,
                stop_condition,
                fault_type,
                details,
            })
        }
        HumanDecision::Escalate => {
            let entropy = passed_on(command);
            let asked = on.entity.next_request(target, on.batch.at(), &entropy, true).map_err(
                |reason| HumanDecisionRefusal::NoRequest {
                    loop_id: String::from(on.entity.loop_id()),
                    reason,
                },
            )?;
            on.batch.push(asked);
            Ok(())
        }
    }
}

/// 128 bits for the next request's id, made of the answer's.
fn passed_on(command: &AnswerHumanDecision) -> String {
    let bits = HashBuilder::new("holdpoint.escalated-request", 1)
        .bytes(command.entropy.as_bytes())
        .finish()
        .to_string();
    String::from(bounded(&bits, 32))
}

impl ExecutionLoop {
    /// Returns what becomes of a decision about this loop now.
    pub(crate) fn outcome_of(&self, record: &HumanDecisionRecord) -> HumanDecisionOutcome {
        let retries = i64::from(self.attempt_count().saturating_sub(1));
        let most = i64::from(self.max_attempts.saturating_sub(1));
        apply_decision(record, self.state(), retries, most)
    }
}
