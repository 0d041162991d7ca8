//! Questions to a person: asked, answered, passed on, timed out (Phase-32).

mod answer;
mod expire;
mod request;
mod visibility;

use alloc::string::String;

pub(super) use answer::answer;
pub(super) use expire::expire;
pub(super) use request::request;
pub(super) use visibility::override_visibility;

use super::words::{shown, shown_name};
use crate::event::AuditEntry;
use crate::execution_loop::Actor;
use crate::human_decision::{AnswerMeans, AuditHead, DecisionBinding, DecisionRecord};
use crate::limits::MAX_REASON_BYTES;
use crate::refusal::{DecisionRefusal, Refusal};
use crate::world::{Barrier, ExecutionLoop, HeldRequest, RequestOutcome, RequestPlace, World};

/// What every command on a request begins with: the request.
fn find<'a>(world: &'a World, request_id: &str) -> Result<RequestPlace<'a>, Refusal> {
    let unknown = || DecisionRefusal::UnknownRequest { request_id: shown_name(request_id) };
    world.find_request(request_id).ok_or_else(|| unknown().into())
}

/// Only a person answers or overrides.
fn check_human_actor(held: &HeldRequest, found: Actor) -> Result<(), Refusal> {
    if found == Actor::Human {
        return Ok(());
    }
    let request_id = String::from(held.request_id());
    Err(DecisionRefusal::NotHuman { request_id, found }.into())
}

/// A reason that is too long is refused, not cut: it would no longer be the person's own.
fn check_reason_length(reason: Option<&str>) -> Result<(), Refusal> {
    let found = reason.map_or(0, str::len);
    if found > MAX_REASON_BYTES {
        Err(DecisionRefusal::ReasonTooLong { found }.into())
    } else {
        Ok(())
    }
}

fn shown_means(means: &AnswerMeans) -> AnswerMeans {
    AnswerMeans { channel: means.channel, detail: shown_name(&means.detail).into() }
}

/// The refusal of a command on a request that ended: somebody decided, or nobody has to.
fn ended(held: &HeldRequest, outcome: &RequestOutcome) -> Refusal {
    let request_id = String::from(held.request_id());
    match outcome {
        RequestOutcome::Withdrawn { sequence, .. } => {
            DecisionRefusal::Withdrawn { request_id, sequence: *sequence }.into()
        }
        RequestOutcome::Decided(decided) => DecisionRefusal::AlreadyAnswered {
            request_id,
            decision: decided.record.decision,
            human_id: String::from(decided.record.human_id.as_str()),
            sequence: decided.sequence,
        }
        .into(),
    }
}

/// Where a decision goes in the loop's audit trail.
fn audit_entry(
    entity: &ExecutionLoop,
    held: &HeldRequest,
    record: &DecisionRecord,
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
    record: &DecisionRecord,
    means: Option<&AnswerMeans>,
) -> AuditEntry {
    let binding = DecisionBinding { shown: held.shown_hash(), means: means.cloned() };
    let next = head.after(record, &binding);
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
pub(super) fn held_back(entity: &ExecutionLoop, barrier: Barrier<'_>) -> Refusal {
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
    DecisionRefusal::HoldApplies { loop_id: String::from(entity.loop_id()), found }.into()
}

/// Words about a decision for the evidence of what it leads to.
fn told(record: &DecisionRecord) -> String {
    shown(&alloc::format!(
        "{} by {}, {} on {}",
        record.decision,
        record.human_id,
        record.decision_id,
        record.request_id
    ))
}
