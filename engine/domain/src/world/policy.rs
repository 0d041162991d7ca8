//! Check that a command keeps a policy: that of its log, or one of the machine that whoever carries
//! it out is governed by. The one rule for all of them. The policy of a log is set tighter by a
//! person, or looser with the approval of those whom the one before names.
//!
//! What breaks it counts for nothing: a loop that was not approved does not exist, and a policy
//! that nobody approved is not in force.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use crate::core::actor::{Actor, Authentication, PersonTerms, Principal, Proof};
use crate::core::clocks::Moment;
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::decision_point::check::check_none_reserved;
use crate::decision_point::command::DecisionPointCommand;
use crate::decision_point::event::DecisionPointEvent;
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::rules::{check_principal, check_question, spend};
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::ActionBinding;
use crate::execution_loop::command::{ExecutionLoopCommand, InitializeLoop};
use crate::execution_loop::event::LoopInitialized;
use crate::governed::aggregate::ExecutionLoop;
use crate::human_decision::command::HumanDecisionCommand;
use crate::human_decision::terms::HoldPolicy;
use crate::log::command::ChangePolicy;
use crate::log::event::{PolicyChanged, PolicyUnlocked};
use crate::log::policy::{
    GatePolicy, Loosened, PolicyRefusal, RELAX_TOOL, RUN_TOOL, relax_binding, run_binding,
};
use crate::log::policy_text::relax_proposal;
use crate::world::command::Command;
use crate::world::event::Event;
use crate::world::refusal::Refusal;
use crate::world::{LiveState, World};

/// Checks whether a command keeps a policy: a new loop, a question that needs a person, one that is
/// asked by hand, and an approval that is spent. Any other does.
///
/// # Errors
/// [`Loosened`] names the first field in which it does not.
pub fn check_floor(
    world: &World,
    floor: &GatePolicy,
    command: &Command,
    at: Timestamp,
) -> Result<(), Loosened> {
    match command {
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => {
            check_start(world, floor, c)
        }
        Command::ExecutionLoop(ExecutionLoopCommand::InstructLoop(_)) => floor.check_instruction(),
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(c))
            if c.needs_person() =>
        {
            check_question(floor, c, at)
        }
        Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(c)) => {
            let point = world.known_point(&c.decision_id);
            point.map_or(Ok(()), |point| check_spent(world, floor, point))
        }
        Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(c)) => {
            world.live_loop(&c.loop_id).map_or(Ok(()), |entity| check_asked(floor, entity))
        }
        Command::Log(_)
        | Command::ExecutionLoop(_)
        | Command::EvidenceCapture(_)
        | Command::SandboxFault(_)
        | Command::HumanDecision(_)
        | Command::Registration(_)
        | Command::InterruptionThread(_)
        | Command::DecisionPoint(_)
        | Command::Application(_) => Ok(()),
    }
}

/// A run under these terms, and the approval of its start.
fn check_start(
    world: &World,
    floor: &GatePolicy,
    command: &InitializeLoop,
) -> Result<(), Loosened> {
    floor.check_run(&command.hold, &command.gate)?;
    let approval = command.approval.as_ref();
    let point = approval.and_then(|approval| world.known_point(&approval.decision_id));
    point.map_or(Ok(()), |point| check_spent(world, floor, point))
}

/// The terms of a loop that is held were looked at when it began. One that is not may have any, and
/// is asked about by hand.
pub(crate) fn check_asked(floor: &GatePolicy, entity: &ExecutionLoop) -> Result<(), Loosened> {
    if entity.hold.policy == HoldPolicy::Never { floor.check_answers(&entity.hold) } else { Ok(()) }
}

/// Everything has to be as it is demanded now, how long there was to answer included.
fn check_spent(world: &World, floor: &GatePolicy, point: &DecisionPoint) -> Result<(), Loosened> {
    let terms = world.person_for_point(&point.decision_id);
    point.check_spending(floor, terms.is_some_and(|terms| terms.separation))
}

/// The policy of the log lets a loop have another instruction: it asks nobody before a start.
pub(crate) fn permit_instruction(world: &World) -> Result<(), Refusal> {
    if world.is_policy_lost() {
        return Err(PolicyRefusal::Lost.into());
    }
    Ok(world.policy().check_instruction()?)
}

/// The policy of the log is kept, and where a person is asked before the start, the approval of
/// exactly this start is spent in the same batch.
pub(crate) fn approve_start(
    world: &World,
    command: &InitializeLoop,
    now: Moment,
) -> Result<Option<DecisionPointEvent>, Refusal> {
    if world.is_policy_lost() {
        return Err(PolicyRefusal::Lost.into());
    }
    check_start(world, &world.policy(), command)?;
    let Some(approval) = &command.approval else {
        return if command.gate.before { Err(Refusal::ApprovalNeeded) } else { Ok(None) };
    };
    let input_sha256 = run_binding(&command.instruction_envelope_hash, &approval.details);
    let binding = ActionBinding { tool: RUN_TOOL.into(), input_sha256 };
    let view = world.points_view(Some(&approval.decision_id));
    let (point, spent) = spend(view, &approval.decision_id, &approval.by, &binding, now)?;
    let agents = point.terms.policy.as_ref().is_some_and(|policy| policy.allow_agents);
    if agents {
        let (expected, found) = ("people".to_string(), "agents too".to_string());
        return Err(Loosened { field: "agents", expected, found }.into());
    }
    Ok(Some(spent))
}

/// A policy that demands at least what the one before did; any, where the one before was lost.
pub(crate) fn set(world: &World, command: &ChangePolicy) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    check_chosen(&command.policy)?;
    let before = world.policy();
    if !world.is_policy_lost() {
        before.check_kept_by(&command.policy)?;
        if before == command.policy && world.hot.gates.policy.is_some() {
            return Err(PolicyRefusal::Unchanged.into());
        }
    }
    Ok(vec![changed(command, None)])
}

/// A looser policy, with an approval that is spent in the same batch.
pub(crate) fn relax(
    world: &World,
    command: &ChangePolicy,
    now: Moment,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    check_chosen(&command.policy)?;
    let before = world.policy();
    let Some(decision_id) = &command.approval else { return Err(Refusal::ApprovalNeeded) };
    let input_sha256 = relax_binding(&before, &command.policy);
    let binding = ActionBinding { tool: RELAX_TOOL.into(), input_sha256 };
    let view = world.points_view(Some(decision_id));
    let (point, spent) = spend(view, decision_id, &command.by, &binding, now)?;
    if !point.terms.shows(&relax_proposal(&before, &command.policy)) {
        let decision_id = point.decision_id.to_string();
        return Err(No::ShowsOtherwise { decision_id, tool: RELAX_TOOL }.into());
    }
    check_approved_by(world, &before, point)?;
    Ok(vec![spent.into(), changed(command, Some(point.decision_id.clone()))])
}

/// Checks whether a new policy can be kept, by people.
fn check_chosen(policy: &GatePolicy) -> Result<(), Refusal> {
    policy.check()?;
    Ok(check_none_reserved("name in a policy", policy.names())?)
}

/// Those whom the policy before names approve; where it names nobody, whoever sits at a terminal.
fn check_approved_by(
    world: &World,
    before: &GatePolicy,
    point: &DecisionPoint,
) -> Result<(), Refusal> {
    let Some(policy) = &point.terms.policy else { return Err(Refusal::ApprovalNeeded) };
    let least = match before.approvers.is_empty() {
        true => before.authentication.max(Some(Authentication::Terminal)),
        false => before.authentication,
    };
    let floor = GatePolicy { authentication: least, approval_timeout_ms: None, ..before.clone() };
    // As it was asked, which may have been before the policy was what it is.
    let asked = world.person_for_point(&point.decision_id);
    let separation = asked.is_some_and(|terms| terms.separation);
    Ok(floor.check_approval(policy, separation, None)?)
}

fn changed(command: &ChangePolicy, approval: Option<Text>) -> Event {
    let (by, policy) = (command.by.clone(), command.policy.clone());
    PolicyChanged { by, policy, approval, people: command.people.clone() }.into()
}

/// A policy that a person at a terminal set.
pub(crate) fn policy_changed(world: &mut World, record: Record<'_>, body: &PolicyChanged) {
    if may_change(world, record, body, &mut RuleChecks::unheard()) {
        world.hot.gates.policy = Some(body.policy.clone());
        world.hot.gates.policy_record = record.sequence;
        world.hot.gates.is_policy_lost = false;
        world.hot.gates.people.policy_changed(body.people.as_ref());
    }
}

/// Checks whether a policy may take the place of one that names somebody who is gone.
pub(crate) fn check_unlocking(world: &World, body: &PolicyUnlocked) -> Result<(), Refusal> {
    check_principal(&body.by)?;
    check_chosen(&body.policy)?;
    let before = world.policy();
    if before == body.policy {
        return Err(PolicyRefusal::Unchanged.into());
    }
    match names_all(&before, &body.gone) {
        true => Ok(()),
        false => Err(Refusal::ApprovalNeeded),
    }
}

/// Returns whether a policy names all of these, and there is one.
fn names_all(policy: &GatePolicy, gone: &[Text]) -> bool {
    !gone.is_empty() && gone.iter().all(|name| policy.approvers.contains(name))
}

/// A policy that root set where nobody could approve it.
pub(crate) fn policy_unlocked(world: &mut World, record: Record<'_>, body: &PolicyUnlocked) {
    if may_unlock(world, record, body, &mut RuleChecks::unheard()) {
        world.hot.gates.people.policy_changed(Some(&body.people));
        world.hot.gates.policy = Some(body.policy.clone());
        world.hot.gates.policy_record = record.sequence;
    }
}

/// Returns whether a person at a terminal says by a record what that person says of itself.
fn is_of_person(record: Record<'_>, by: &Principal, checks: &mut RuleChecks) -> bool {
    let rule = Rule::PolicyInForce;
    if record.actor.kind != Actor::Human || !by.is(record.actor) {
        return forbid(checks, rule, "a person's own name", record.actor.kind);
    }
    match PersonTerms::AT_A_TERMINAL.admit(record.proof) {
        Ok(()) => true,
        Err(reason) => forbid(checks, rule, "a person at a terminal", reason),
    }
}

/// Returns whether root may set a policy without an approval: at a terminal, where the one before
/// names somebody who is gone.
pub(crate) fn may_unlock(
    world: &World,
    record: Record<'_>,
    body: &PolicyUnlocked,
    checks: &mut RuleChecks,
) -> bool {
    let rule = Rule::PolicyInForce;
    if !is_of_person(record, &body.by, checks) {
        return false;
    }
    if !matches!(record.proof, Some(Proof { user: 0, .. })) {
        return forbid(checks, rule, "root", &body.by.id);
    }
    if let Err(reason) = body.policy.check() {
        return forbid(checks, rule, "a policy that can be kept", reason);
    }
    names_all(&world.policy(), &body.gone)
        || forbid(checks, rule, "approvers of the policy before, who are gone", body.gone.len())
}

/// Returns whether a policy may take the place of the one before.
pub(crate) fn may_change(
    world: &World,
    record: Record<'_>,
    body: &PolicyChanged,
    checks: &mut RuleChecks,
) -> bool {
    let rule = Rule::PolicyInForce;
    if !is_of_person(record, &body.by, checks) {
        return false;
    }
    if let Err(reason) = body.policy.check() {
        return forbid(checks, rule, "a policy that can be kept", reason);
    }
    let before = world.policy();
    let Some(approval) = &body.approval else {
        let kept = match world.is_policy_lost() {
            true => Ok(()),
            false => before.check_kept_by(&body.policy),
        };
        return match kept {
            Ok(()) => true,
            Err(loosened) => forbid(checks, rule, "a policy that demands as much", loosened),
        };
    };
    let point = world.hot.decision_points.find(approval);
    let point = point.filter(|point| is_spent_before(point, record));
    let Some(point) = point.filter(|point| {
        let binding = point.binding();
        let expected = relax_binding(&before, &body.policy);
        binding.is_some_and(|to| *to.tool == *RELAX_TOOL && to.input_sha256 == expected)
    }) else {
        return forbid(checks, rule, "an approval of exactly this change", approval);
    };
    match check_approved_by(world, &before, point) {
        Ok(()) => true,
        Err(why) => forbid(checks, rule, "the approval of who may relax it", why),
    }
}

/// Returns whether a loop may begin: it keeps the policy of the log, and where a person is asked
/// before the start, the approval was spent for it with the record before. What was recorded
/// without a gate is older than policies, and there are none then.
pub(crate) fn may_begin(
    hot: &LiveState,
    record: Record<'_>,
    body: &LoopInitialized,
    checks: &mut RuleChecks,
) -> bool {
    let rule = Rule::PolicyInForce;
    let Some(gate) = &body.gate else {
        return hot.gates.policy.is_none() || forbid(checks, rule, "a gate under a policy", "none");
    };
    if let Some(policy) = &hot.gates.policy
        && let Err(loosened) = policy.check_run(&body.hold, gate)
    {
        return forbid(checks, rule, "terms that keep the policy", loosened);
    }
    let Some(approval) = &body.approval else {
        return !gate.before || forbid(checks, rule, "an approval before the start", "none");
    };
    let point = hot.decision_points.find(approval);
    let is_it = |point: &&DecisionPoint| {
        let is_run = point.binding().is_some_and(|binding| *binding.tool == *RUN_TOOL);
        is_run && is_spent_before(point, record)
    };
    point.filter(is_it).is_some()
        || forbid(checks, rule, "an approval that is spent for this start", approval)
}

/// Returns whether the approval was spent with the record right before.
fn is_spent_before(point: &DecisionPoint, record: Record<'_>) -> bool {
    let spent = point.consumed.as_ref().map(|consumed| consumed.sequence.saturating_add(1));
    spent == Some(record.sequence)
}

fn forbid(
    checks: &mut RuleChecks,
    rule: Rule,
    expected: &str,
    found: impl core::fmt::Display,
) -> bool {
    checks.forbid(rule, expected, found);
    false
}
