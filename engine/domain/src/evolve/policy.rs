//! The policy of the log, and what begins under it.
//!
//! What breaks it counts for nothing: a loop that was not approved does not exist, and a policy
//! that nobody approved is not in force.

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::decide::policy::check_approved_by;
use crate::event::{LoopInitialized, PolicyChanged};
use crate::execution_loop::Actor;
use crate::policy::{RELAX_TOOL, RUN_TOOL, relax_binding};
use crate::principal::PersonTerms;
use crate::refusal::Refusal;
use crate::world::{DecisionPoint, Hot, World};

/// A policy that a person at a terminal set.
pub(super) fn changed(
    world: &mut World,
    record: Record<'_>,
    body: &PolicyChanged,
    judgement: &mut Judgement<'_>,
) {
    match check(world, record, body) {
        Ok(()) => {
            world.hot.gates.policy = Some(body.policy.clone());
            world.hot.gates.policy_record = record.sequence;
            world.hot.gates.is_policy_lost = false;
        }
        Err((expected, found)) => judgement.forbid(Rule::PolicyInForce, expected, found),
    }
}

type Fault = (&'static str, alloc::string::String);

fn check(world: &World, record: Record<'_>, body: &PolicyChanged) -> Result<(), Fault> {
    let envelope = record.envelope;
    let fault = |expected, found: &dyn core::fmt::Display| (expected, alloc::format!("{found}"));
    if envelope.actor.kind != Actor::Human || !body.by.is(&envelope.actor) {
        return Err(fault("a person's own name", &envelope.actor.kind));
    }
    let admitted = PersonTerms::AT_A_TERMINAL.admit(envelope.proof);
    admitted.map_err(|reason| fault("a person at a terminal", &reason))?;
    body.policy.check().map_err(|reason| fault("a policy that can be kept", &reason))?;
    let before = world.policy();
    let Some(approval) = &body.approval else {
        if world.is_policy_lost() {
            return Ok(());
        }
        let kept = before.check_kept_by(&body.policy);
        return kept.map_err(|loosened| fault("a policy that demands as much", &loosened));
    };
    let point = world.hot.decision_points.find(approval);
    let point = point.filter(|point| is_spent_before(point, record));
    let Some(point) = point.filter(|point| {
        let binding = point.binding();
        let expected = relax_binding(&before, &body.policy);
        binding.is_some_and(|to| *to.tool == *RELAX_TOOL && to.input_sha256 == expected)
    }) else {
        return Err(fault("an approval of exactly this change", approval));
    };
    let approved = check_approved_by(world, &before, point);
    approved.map_err(|refusal: Refusal| fault("the approval of who may relax it", &refusal))
}

/// Whether a loop may begin: it keeps the policy of the log, and where a person is asked before the
/// start, the approval was spent for it with the record before. What was recorded without a gate is
/// older than policies, and there are none then.
pub(super) fn may_begin(
    hot: &Hot,
    record: Record<'_>,
    body: &LoopInitialized,
    judgement: &mut Judgement<'_>,
) -> bool {
    let rule = Rule::PolicyInForce;
    let Some(gate) = &body.gate else {
        return hot.gates.policy.is_none()
            || forbid(judgement, rule, "a gate under a policy", "none");
    };
    if let Some(policy) = &hot.gates.policy
        && let Err(loosened) = policy.check_run(&body.hold, gate)
    {
        return forbid(judgement, rule, "terms that keep the policy", loosened);
    }
    let Some(approval) = &body.approval else {
        return !gate.before || forbid(judgement, rule, "an approval before the start", "none");
    };
    let point = hot.decision_points.find(approval);
    let is_it = |point: &&DecisionPoint| {
        let is_run = point.binding().is_some_and(|binding| *binding.tool == *RUN_TOOL);
        is_run && is_spent_before(point, record)
    };
    point.filter(is_it).is_some()
        || forbid(judgement, rule, "an approval that is spent for this start", approval)
}

/// Whether the approval was spent with the record right before.
fn is_spent_before(point: &DecisionPoint, record: Record<'_>) -> bool {
    let spent = point.consumed.as_ref().map(|consumed| consumed.sequence.saturating_add(1));
    spent == Some(record.sequence)
}

fn forbid(
    judgement: &mut Judgement<'_>,
    rule: Rule,
    expected: &str,
    found: impl core::fmt::Display,
) -> bool {
    judgement.forbid(rule, expected, found);
    false
}
