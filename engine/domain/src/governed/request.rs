//! Questions to a person: asked about an evaluated loop, passed on, warned of at 80 % of the time
//! and then timed out, never silently; and fields that a higher authority allows to be shown
//! (Phase-32).

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::core::actor::Actor;
use crate::core::clocks::{EndedBy, Times};
use crate::core::ids::Entropy;
use crate::core::limits::MAX_REASON_BYTES;
use crate::core::refusal::CommonRefusal;
use crate::core::text::{check_identifier, shown, shown_name};
use crate::core::time::Timestamp;
use crate::execution_loop::types::{ExecutionLoopState, HaltReason};
use crate::governed::GovernedEvent;
use crate::governed::aggregate::{Barrier, ExecutionLoop, RequestPlace};
use crate::governed::attempt::wrong_state;
use crate::governed::batch::{Batch, LoopEnding, OnLoop, on_loop};
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::human_decision::audit::{
    AuditHead, HumanDecisionBinding, disclosure_hash, record_decision,
};
use crate::human_decision::command::{
    ExpireDue, OverrideVisibility, RequestHumanDecision, ShowOutput,
};
use crate::human_decision::event::{
    HumanDecisionTimedOut, HumanDecisionWarned, OutputShown, VisibilityOverridden,
};
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::human_decision::rules::{AnswerRefusal, create_timeout_decision, visible_or_none};
use crate::human_decision::state::{HeldRequest, Override, RequestOutcome};
use crate::human_decision::types::{AnswerMeans, AuditEntry, HumanDecisionRecord};

use ExecutionLoopState::{Evaluated, Halted};

/// Returns what every command on a request begins with: the request.
pub(crate) fn find<'a>(
    place: Option<RequestPlace<'a>>,
    request_id: &str,
) -> Result<RequestPlace<'a>, LoopRefusal> {
    let unknown = || HumanDecisionRefusal::UnknownRequest { request_id: shown_name(request_id) };
    place.ok_or_else(|| unknown().into())
}

/// Only a person answers or overrides.
pub(crate) fn check_human_actor(held: &HeldRequest, found: Actor) -> Ruling {
    if found == Actor::Human {
        return Ok(());
    }
    let request_id = String::from(held.request_id());
    Err(HumanDecisionRefusal::NotHuman { request_id, found }.into())
}

/// A reason that is too long is refused, not cut: it would no longer be the person's own.
pub(crate) fn check_reason_length(reason: Option<&str>) -> Ruling {
    let found = reason.map_or(0, str::len);
    if found > MAX_REASON_BYTES {
        Err(HumanDecisionRefusal::ReasonTooLong { found }.into())
    } else {
        Ok(())
    }
}

pub(crate) fn shown_means(means: &AnswerMeans) -> AnswerMeans {
    AnswerMeans { channel: means.channel, detail: shown_name(&means.detail).into() }
}

/// The refusal of a command on a request that ended: somebody decided, or nobody has to.
pub(crate) fn ended(held: &HeldRequest, outcome: &RequestOutcome) -> LoopRefusal {
    let request_id = String::from(held.request_id());
    match outcome {
        RequestOutcome::Withdrawn { sequence, .. } => {
            HumanDecisionRefusal::Withdrawn { request_id, sequence: *sequence }.into()
        }
        RequestOutcome::Decided(decided) => HumanDecisionRefusal::AlreadyAnswered {
            request_id,
            decision: decided.record.decision,
            human_id: String::from(decided.record.human_id.as_str()),
            sequence: decided.sequence,
        }
        .into(),
    }
}

/// Returns where a decision goes in the loop's audit trail.
pub(crate) fn audit_entry(
    entity: &ExecutionLoop,
    held: &HeldRequest,
    record: &HumanDecisionRecord,
    means: Option<&AnswerMeans>,
) -> AuditEntry {
    entry_after(&audit_head(entity, held), held, record, means)
}

fn audit_head(entity: &ExecutionLoop, held: &HeldRequest) -> AuditHead {
    let none = || AuditHead::genesis("", &held.request.session_id);
    entity.decisions.audit.clone().unwrap_or_else(none)
}

/// The entry that a decision gives after this head. Replay computes it again.
pub(crate) fn entry_after(
    head: &AuditHead,
    held: &HeldRequest,
    record: &HumanDecisionRecord,
    means: Option<&AnswerMeans>,
) -> AuditEntry {
    let binding = HumanDecisionBinding { shown: held.shown_hash(), means: means.cloned() };
    let next = record_decision(head, record, &binding);
    AuditEntry {
        audit_id: head.audit_id.as_str().into(),
        index: head.length,
        shown_hash: binding.shown,
        prior_hash: head.head_hash.as_str().into(),
        self_hash: next.head_hash.into(),
        injective_hash: next.injective_head,
    }
}

/// The refusal of a step that a hold bars.
pub(crate) fn held_back(entity: &ExecutionLoop, barrier: Barrier<'_>) -> LoopRefusal {
    let found = match barrier {
        Barrier::Open(request_id) => {
            alloc::format!("request {request_id} waits for a person; answer it")
        }
        Barrier::NobodyAsked => String::from("a person has to decide; request a decision"),
        Barrier::Decided(decision) => {
            alloc::format!("a person decided {decision}; act on that, or stop the loop")
        }
        Barrier::NotPermitted => String::from("nothing permits it"),
    };
    HumanDecisionRefusal::HoldApplies { loop_id: String::from(entity.loop_id()), found }.into()
}

/// Words about a decision for the evidence of what it leads to.
pub(crate) fn told(record: &HumanDecisionRecord) -> String {
    shown(&alloc::format!(
        "{} by {}, {} on {}",
        record.decision,
        record.human_id,
        record.decision_id,
        record.request_id
    ))
}

/// Opens the first request about an attempt. It needs no hold: whoever is in doubt may ask.
pub(crate) fn request(on: &mut OnLoop<'_>, command: &RequestHumanDecision) -> Ruling {
    if on.entity.state() != ExecutionLoopState::Evaluated {
        let advice = "a person is asked once a response or a fault was reported";
        return Err(wrong_state(on.entity, ExecutionLoopState::Evaluated, advice));
    }
    check_not_asked(on.entity)?;
    let entropy = command.entropy.to_string();
    let asked = on.entity.next_request(None, on.batch.at(), &entropy, true).map_err(|reason| {
        HumanDecisionRefusal::NoRequest { loop_id: String::from(on.entity.loop_id()), reason }
    })?;
    on.batch.push(asked);
    Ok(())
}

fn check_not_asked(entity: &ExecutionLoop) -> Ruling {
    let Some(held) = entity.attempt_request() else { return Ok(()) };
    let loop_id = String::from(entity.loop_id());
    Err(match held.decided() {
        None => {
            let request_id = String::from(held.request_id());
            HumanDecisionRefusal::RequestOpen { loop_id, request_id }.into()
        }
        Some(decided) => {
            let (attempt, decision) = (held.context.attempt, decided.record.decision);
            HumanDecisionRefusal::AttemptDecided { loop_id, attempt, decision }.into()
        }
    })
}

/// Records what is due for a request at this time.
pub(crate) fn expire(
    place: Option<RequestPlace<'_>>,
    command: &ExpireDue,
    at: Timestamp,
    times: Times,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    let place = find(place, &command.request_id)?;
    if let Some(outcome) = &place.held().outcome {
        return Err(ended(place.held(), outcome));
    }
    let (RequestPlace::Live(entity, held), Some(next)) = (place, place.held().next_due()) else {
        return Err(not_due(place.held()));
    };
    if times.over(next).is_none() {
        return Err(not_due(held));
    }
    on_loop((Some(entity), &[]), entity.loop_id(), command.entropy, at, |on| {
        if let Some(ended_by) = times.over(held.request.timeout_at) {
            return time_out(on, held, command.entropy, (times, ended_by));
        }
        warn(&mut on.batch, held, times);
        Ok(())
    })
}

fn not_due(held: &HeldRequest) -> LoopRefusal {
    let request_id = String::from(held.request_id());
    HumanDecisionRefusal::NotDue { request_id, next: held.next_due() }.into()
}

fn warn(batch: &mut Batch<'_>, held: &HeldRequest, times: Times) {
    batch.push(HumanDecisionWarned {
        loop_id: batch.loop_id(),
        request_id: held.request.request_id.clone(),
        due_at: held.warning_at(),
        steady: times.stated_steady(held.warning_at()),
    });
}

/// The deadline has passed: the warning, if nobody gave it, the decision ABORT, the halt.
pub(crate) fn time_out(
    on: &mut OnLoop<'_>,
    held: &HeldRequest,
    entropy: Entropy,
    (times, ended_by): (Times, EndedBy),
) -> Ruling {
    if held.warning.is_none() {
        warn(&mut on.batch, held, times);
    }
    let record = create_timeout_decision(&held.request, on.batch.timestamp(), &entropy.to_string());
    let audit = audit_entry(on.entity, held, &record, None);
    let details = alloc::format!("{}: {}", HaltReason::HumanDecisionTimedOut, told(&record));
    let (loop_id, due_at) = (on.batch.loop_id(), held.request.timeout_at);
    on.batch.close_request();
    let (steady, ended_by) = (times.stated_steady(due_at), Some(ended_by));
    on.batch.push(HumanDecisionTimedOut { loop_id, due_at, record, audit, ended_by, steady });
    on.batch.halt(LoopEnding {
        from: Evaluated,
        requested: Halted,
        reason: HaltReason::HumanDecisionTimedOut,
        stop_condition: None,
        fault_type: None,
        details,
    })
}

/// Allows one field of one open request. The value's hash is recorded, so that what was shown can
/// be proved.
pub(crate) fn override_visibility(
    place: Option<RequestPlace<'_>>,
    command: &OverrideVisibility,
    at: Timestamp,
    times: Times,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    check_identifier("human id", &command.human_id)?;
    check_reason_length(Some(&command.reason))?;
    let place = find(place, &command.request_id)?;
    check_human_actor(place.held(), command.actor)?;
    let (entity, held) = open(place)?;
    let event = overridden(entity, held, command, times.latest())?;
    on_loop((Some(entity), &[]), entity.loop_id(), Entropy::default(), at, |on| {
        on.batch.push(event);
        Ok(())
    })
}

/// A request that waits for an answer, with its loop.
fn open(place: RequestPlace<'_>) -> Result<(&ExecutionLoop, &HeldRequest), LoopRefusal> {
    match (place, &place.held().outcome) {
        (RequestPlace::Live(entity, held), None) => Ok((entity, held)),
        (_, Some(outcome)) => Err(ended(place.held(), outcome)),
        (RequestPlace::Closed(held), None) => {
            let request_id = String::from(held.request_id());
            Err(HumanDecisionRefusal::UnknownRequest { request_id }.into())
        }
    }
}

/// Records that what the command printed is shown beside an open request.
pub(crate) fn show_output(
    place: Option<RequestPlace<'_>>,
    command: &ShowOutput,
    at: Timestamp,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    let (entity, held) = open(find(place, &command.request_id)?)?;
    let request_id = held.request.request_id.clone();
    on_loop((Some(entity), &[]), entity.loop_id(), Entropy::default(), at, |on| {
        on.batch.push(OutputShown { loop_id: on.batch.loop_id(), request_id });
        Ok(())
    })
}

/// The same override again is a repetition. One by somebody else, or for another reason, is not.
fn overridden_before(
    request_id: String,
    before: &Override,
    command: &OverrideVisibility,
    reason: &str,
) -> LoopRefusal {
    let (field, sequence) = (before.field, before.sequence);
    if before.human_id == command.human_id && before.reason == reason {
        return CommonRefusal::AlreadyDone { sequence }.into();
    }
    let human_id = before.human_id.clone();
    HumanDecisionRefusal::AlreadyOverridden { request_id, field, human_id, sequence }.into()
}

fn overridden(
    entity: &ExecutionLoop,
    held: &HeldRequest,
    command: &OverrideVisibility,
    at: Timestamp,
) -> Result<VisibilityOverridden, LoopRefusal> {
    let (request_id, field) = (String::from(held.request_id()), command.field);
    if held.request.is_expired(at) {
        let (expected, found) = (held.request.timeout_at, at);
        let reason = AnswerRefusal::TooLate { expected, found };
        return Err(HumanDecisionRefusal::Answer { request_id, reason }.into());
    }
    if !entity.hold.may_override(&command.human_id) {
        let human_id = command.human_id.clone();
        return Err(HumanDecisionRefusal::NotAnOverrideApprover { request_id, human_id }.into());
    }
    let Some(reason) = visible_or_none(Some(&command.reason)) else {
        return Err(HumanDecisionRefusal::OverrideReason { field }.into());
    };
    if let Some(before) = held.overrides.iter().find(|entry| entry.field == field) {
        return Err(overridden_before(request_id, before, command, &shown(&reason)));
    }
    let Some(value) = entity.disclosure(held.context.attempt, field) else {
        return Err(HumanDecisionRefusal::NothingToDisclose { request_id, field }.into());
    };
    Ok(VisibilityOverridden {
        loop_id: held.context.loop_id.clone(),
        request_id: held.request.request_id.clone(),
        field,
        human_id: command.human_id.as_str().into(),
        reason: shown(&reason).into(),
        means: shown_means(&command.means),
        disclosed: disclosure_hash(field, &value),
    })
}
