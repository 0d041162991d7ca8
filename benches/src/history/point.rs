//! Decision points: asked by agents, answered by people, some after guidance, some as approvals of
//! one action that is then spent, some never.

use super::life::{Move, Submission};
use super::random::Random;
use super::words::{agent, correlation, entropy, person};
use holdpoint_domain::core::actor::{Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint,
    DecisionOption, DecisionPointCommand, OnTimeout, RefineDecisionPoint, RemindDecisionPoint,
    RespondToDecisionPoint, Response,
};
use holdpoint_domain::{ActorId, Command, World};
use std::collections::VecDeque;

/// How long there is to answer, in milliseconds.
const TIMEOUT_MS: u64 = 60 * 60 * 1_000;

/// A question, and what is still to happen to it.
pub(super) struct PointLife {
    steps: VecDeque<Step>,
    decision_id: String,
    correlation: String,
    is_approval: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    Remind,
    Guide,
    Refine,
    Respond,
    Spend,
    Cancel,
    Wait,
}

impl PointLife {
    pub(super) fn new(random: &mut Random) -> Self {
        let is_approval = random.one_in(4);
        let steps = steps(random, is_approval);
        let (decision_id, correlation) = (String::new(), correlation(random));
        Self { steps, decision_id, correlation, is_approval }
    }

    pub(super) fn go_on(&mut self, random: &mut Random) -> Move {
        let Some(step) = self.steps.pop_front() else { return Move::Over };
        if matches!(step, Step::Wait) {
            self.steps.push_front(step);
            return Move::Wait;
        }
        let is_persons = matches!(step, Step::Guide | Step::Respond);
        let actor = if is_persons { person() } else { agent() };
        let command = self.command(step, &actor, random);
        let correlation = self.correlation.clone();
        let (key, may_be_late) = (None, false);
        Move::Give(Box::new(Submission { actor, correlation, key, may_be_late, command }))
    }

    pub(super) fn is_live(&self, world: &World) -> bool {
        world.decision_point(&self.decision_id).is_some_and(|point| point.is_live())
    }

    fn command(&mut self, step: Step, actor: &ActorId, random: &mut Random) -> Command {
        let (decision_id, by) = (self.decision_id.clone(), principal(actor));
        match step {
            Step::Ask => {
                let command = self.question(random, by);
                self.decision_id = command.decision_id();
                Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(command)))
            }
            Step::Guide => {
                let words = Response::Guidance("not without a canary first".into());
                self.respond(random, by, words)
            }
            Step::Respond => self.respond(random, by, Response::option("go")),
            Step::Refine => Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(
                RefineDecisionPoint {
                    decision_id,
                    by,
                    prompt: Some("Deploy to one machine, then to all?".to_string()),
                    context: None,
                    options: None,
                    default_option: None,
                    drop_default: false,
                },
            )),
            Step::Spend => {
                let binding = binding();
                Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
                    decision_id,
                    by,
                    binding,
                }))
            }
            Step::Cancel => {
                let reason = Some("it is not needed any more".to_string());
                Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(
                    CancelDecisionPoint { decision_id, by, reason },
                ))
            }
            Step::Remind | Step::Wait => Command::DecisionPoint(
                DecisionPointCommand::RemindDecisionPoint(RemindDecisionPoint { decision_id, by }),
            ),
        }
    }

    /// Guidance opens the next round, whose id is made of the same random bits.
    fn respond(&mut self, random: &mut Random, by: Principal, response: Response) -> Command {
        let entropy = entropy(random);
        let opens_next = matches!(response, Response::Guidance(_));
        let next = format!("DP-{entropy}");
        let decision_id = match opens_next {
            true => std::mem::replace(&mut self.decision_id, next),
            false => self.decision_id.clone(),
        };
        let comment = Some("as agreed this morning".to_string());
        let body = RespondToDecisionPoint { decision_id, entropy, by, response, comment };
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(body))
    }

    fn question(&self, random: &mut Random, by: Principal) -> CreateDecisionPoint {
        let prompt = "Deploy the build to all machines now?";
        let options = vec![option("go", false), option("wait", false), option("stop", true)];
        let asked = CreateDecisionPoint::asking(entropy(random), by, prompt, options);
        CreateDecisionPoint {
            issue_id: Some(format!("bd-{:08x}", random.below(1 << 32))),
            context: Some(String::from_utf8_lossy(&random.text(160)).into_owned()),
            default_option: Some("wait".to_string()),
            timeout_ms: Some(TIMEOUT_MS),
            on_timeout: Some(if self.is_approval { OnTimeout::Abort } else { OnTimeout::Default }),
            policy: self.is_approval.then(policy),
            binding: self.is_approval.then(binding),
            ..asked
        }
    }
}

/// What will happen to a question.
fn steps(random: &mut Random, is_approval: bool) -> VecDeque<Step> {
    let mut steps = VecDeque::from([Step::Ask]);
    if random.one_in(4) {
        steps.push_back(Step::Remind);
    }
    if !is_approval && random.one_in(5) {
        steps.extend([Step::Guide, Step::Refine]);
    }
    match random.below(20) {
        0 => steps.push_back(Step::Wait),
        1 => steps.push_back(Step::Cancel),
        _ => steps.push_back(Step::Respond),
    }
    if is_approval && matches!(steps.back(), Some(Step::Respond)) {
        steps.push_back(Step::Spend);
    }
    steps
}

fn option(id: &str, reject: bool) -> DecisionOption {
    let (short, label) = (id.into(), format!("{id}, please").into());
    DecisionOption { id: id.into(), short, label, description: None, reject }
}

fn policy() -> ApprovalPolicy {
    ApprovalPolicy {
        approvers: std::iter::once(person().id.into()).collect(),
        quorum: 1,
        allow_requester: false,
        allow_agents: false,
        authentication: Authentication::OsUser,
        default_approves: false,
    }
}

fn binding() -> ActionBinding {
    ActionBinding { tool: "Bash".into(), input_sha256: sha256(b"{}") }
}

fn principal(actor: &ActorId) -> Principal {
    Principal {
        kind: actor.kind,
        id: actor.id.as_str().into(),
        authenticated_by: Authentication::OsUser,
        means: "uid 1000".into(),
    }
}
