//! The policy of the log, and what begins under it.

use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CreateDecisionPoint, DecisionPoint, DecisionPointCommand,
    OnTimeout,
};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InitializeLoop, SpentApproval};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionTimeout};
use holdpoint_domain::log::{
    ChangePolicy, GatePolicy, LogCommand, RELAX_TOOL, RUN_TOOL, relax_binding, relax_proposal,
    run_binding,
};
use holdpoint_domain::world::check_floor;

use super::{Generator, any, at_terminal, one_in};
use crate::story::Story;
use crate::story::held::timeout;
use crate::story::points::{agent, option};

/// How long somebody has to approve.
const APPROVAL_MS: u64 = 60_000;

impl Generator {
    /// A policy gets tighter, or is asked, approved and made looser.
    pub(super) fn of_policy(&mut self, story: &Story) -> Command {
        let before = story.world.policy();
        if before.is_none() || one_in(&mut self.random, 4) {
            let policy = self.tighter(&before);
            return changed(policy, None);
        }
        self.relax(story, &before)
    }

    fn tighter(&mut self, before: &GatePolicy) -> GatePolicy {
        let demand = any(&mut self.random, &demands());
        before.and(&demand).unwrap_or(demand)
    }

    fn relax(&mut self, story: &Story, before: &GatePolicy) -> Command {
        let looser = looser(before);
        for after in &looser {
            let binding = relaxation(before, after);
            let Some(point) = asked(story, &binding) else { continue };
            if point.is_open() {
                let by = self.approver(point);
                return story.responds(&point.decision_id, by, option("approve"));
            }
            return changed(after.clone(), Some(point.decision_id.to_string()));
        }
        let after = any(&mut self.random, &looser);
        let shown = relax_proposal(before, &after);
        let command = CreateDecisionPoint {
            prompt: shown.prompt.to_string(),
            context: shown.context.as_ref().map(ToString::to_string),
            options: shown.options.to_vec(),
            max_iterations: Some(1),
            ..approval(story, before, relaxation(before, &after))
        };
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into()))
    }

    /// A new loop, mostly one that the policy of the log lets begin. Where a person is asked before
    /// it, what leads to that approval comes first.
    pub(super) fn start(&mut self, story: &Story, mut command: InitializeLoop) -> Command {
        if one_in(&mut self.random, 12) {
            return Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
        }
        let policy = story.world.policy();
        keep_in_loop(&policy, &mut command);
        command.gate.before |= one_in(&mut self.random, 12);
        if !command.gate.before {
            return Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
        }
        let details = sha256(b"where and with what");
        let input_sha256 = run_binding(&command.instruction_envelope_hash, &details);
        let binding = ActionBinding { tool: RUN_TOOL.into(), input_sha256 };
        let ask = |binding| {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(
                approval(story, &policy, binding).into(),
            ))
        };
        let Some(point) = asked(story, &binding) else { return ask(binding) };
        let decision_id = point.decision_id.to_string();
        if point.is_open() {
            let by = self.approver(point);
            return story.responds(&decision_id, by, option("go"));
        }
        command.approval = Some(SpentApproval { decision_id, by: agent(), details });
        let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
        // What was approved under another policy may be too little by now.
        match is_let_pass(story, &command) || one_in(&mut self.random, 10) {
            true => command,
            false => ask(binding),
        }
    }
}

fn changed(policy: GatePolicy, approval: Option<String>) -> Command {
    let change =
        Box::new(ChangePolicy { by: at_terminal("alice"), policy, approval, people: None });
    match change.approval {
        None => Command::Log(LogCommand::SetPolicy(change)),
        Some(_) => Command::Log(LogCommand::RelaxPolicy(change)),
    }
}

/// What is asked, or approved and not yet spent, about an action.
fn asked<'a>(story: &'a Story, binding: &ActionBinding) -> Option<&'a DecisionPoint> {
    let of_action = story.world.live_decision_points();
    of_action.filter(|point| point.binding() == Some(binding)).last()
}

fn relaxation(before: &GatePolicy, after: &GatePolicy) -> ActionBinding {
    ActionBinding { tool: RELAX_TOOL.into(), input_sha256: relax_binding(before, after) }
}

/// The question whether this may be done, for those whom the policy names.
fn approval(story: &Story, policy: &GatePolicy, binding: ActionBinding) -> CreateDecisionPoint {
    let least = policy.least_proof().max(Authentication::Terminal);
    let mut command = CreateDecisionPoint {
        issue_id: None,
        default_option: None,
        allow_text: Some(false),
        timeout_ms: Some(APPROVAL_MS),
        policy: Some(ApprovalPolicy { authentication: least, ..ApprovalPolicy::people() }),
        binding: Some(binding),
        valid_for_ms: Some(APPROVAL_MS),
        ..story.question()
    };
    keep_in_question(policy, &mut command);
    command
}

/// One demand each.
fn demands() -> Vec<GatePolicy> {
    let none = GatePolicy::default;
    let named = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect::<List<_>>();
    vec![
        GatePolicy { before: true, ..none() },
        GatePolicy { after: HoldPolicy::OnFailure, ..none() },
        GatePolicy { after: HoldPolicy::After, retry_needs_person: true, ..none() },
        GatePolicy {
            approvers: named(&["alice", "bob", "carol"]),
            escalation_approvers: Some(named(&["boss", "dave"])),
            ..none()
        },
        GatePolicy { before: true, approvers: named(&["alice", "bob"]), quorum: 2, ..none() },
        GatePolicy { authentication: Some(Authentication::Terminal), ..none() },
        GatePolicy { separation: true, ..none() },
        GatePolicy { decision_timeout_ms: Some(timeout(20)), ..none() },
        GatePolicy { approval_timeout_ms: Some(timeout(APPROVAL_MS)), ..none() },
        GatePolicy { override_approvers: Some(named(&["carol"])), ..none() },
    ]
}

/// Policies that demand less, to one of which the log is brought.
fn looser(before: &GatePolicy) -> Vec<GatePolicy> {
    let candidates = [
        GatePolicy::default(),
        GatePolicy { before: false, quorum: 1, ..before.clone() },
        GatePolicy { after: HoldPolicy::Never, ..before.clone() },
    ];
    candidates.into_iter().filter(|after| after != before).collect()
}

/// Whether the policy of the log lets a command pass.
pub(super) fn is_let_pass(story: &Story, command: &Command) -> bool {
    check_floor(&story.world, &story.world.policy(), command, story.now).is_ok()
}

/// The terms of a loop, narrowed to what a policy demands.
fn keep_in_loop(policy: &GatePolicy, command: &mut InitializeLoop) {
    let (gate, hold) = (&mut command.gate, &mut command.hold);
    gate.before |= policy.before;
    gate.authentication = gate.authentication.max(policy.least_proof());
    gate.separation |= policy.separation;
    hold.policy = hold.policy.max(policy.after);
    if policy.quorum > 1 {
        hold.policy = HoldPolicy::Never;
    }
    hold.retry_needs_person |= policy.retry_needs_person;
    let most = policy.decision_timeout_ms;
    let at_most = |time: HumanDecisionTimeout| most.map_or(time, |most| time.min(most));
    hold.decision_timeout_ms = at_most(hold.decision_timeout_ms);
    if !policy.approvers.is_empty() {
        hold.approvers = policy.approvers.clone();
    }
    let targets = hold.escalation_targets.iter().cloned().map(|mut target| {
        target.timeout_ms = at_most(target.timeout_ms);
        target
    });
    hold.escalation_targets = targets.filter(|t| policy.check_target(t).is_ok()).collect();
    if let Some(allowed) = &policy.override_approvers {
        let named = hold.override_approvers.iter();
        hold.override_approvers = named.filter(|name| allowed.contains(name)).cloned().collect();
    }
}

/// The terms of a question, narrowed to what a policy demands where it needs a person.
pub(super) fn keep_in_question(policy: &GatePolicy, command: &mut CreateDecisionPoint) {
    if policy.is_none() || !command.needs_person() {
        return;
    }
    let asked = command.policy.get_or_insert_with(ApprovalPolicy::people);
    if !policy.approvers.is_empty() {
        asked.approvers = policy.approvers.clone();
    }
    asked.quorum = asked.quorum.max(policy.quorum);
    asked.authentication = asked.authentication.max(policy.least_proof());
    asked.allow_agents = false;
    command.separation |= policy.separation;
    if let Some(most) = policy.approval_timeout_ms {
        let most = most.milliseconds();
        command.timeout_ms = Some(command.timeout_ms.map_or(most, |time| time.min(most)));
        command.on_timeout = command.on_timeout.filter(|then| *then != OnTimeout::Hold);
    }
}
