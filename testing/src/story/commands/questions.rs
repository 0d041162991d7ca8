//! Commands on decision points.

use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ApprovalPolicy, ConsumeApproval, CreateDecisionPoint, DecisionPoint, DecisionPointCommand,
    DecisionPointState, OnTimeout, RespondToDecisionPoint, Response,
};
use holdpoint_domain::log::{RELAX_TOOL, RUN_TOOL};

use super::policies::{is_let_pass, keep_in_question};
use super::{Generator, MAX_LIVE, any, at_terminal, below, one_in};
use crate::story::Story;
use crate::story::points::{agent, binding, option, person, program, two_people};

pub(super) const PEOPLE: [&str; 4] = ["alice", "bob", "carol", "dave"];

impl Generator {
    /// What a decision point asks for, or anything; a new one where few live.
    pub(super) fn of_decision_point(&mut self, story: &Story) -> Command {
        let random = &mut self.random;
        let live: Vec<&DecisionPoint> = story.world.live_decision_points().collect();
        if live.len() < 4 || (live.len() < 2 * MAX_LIVE && one_in(random, 6)) {
            return self.ask(story);
        }
        let waiting = live.iter().copied();
        let waiting = waiting.filter(|point| point.is_open() || is_spent_alone(point));
        let waiting: Vec<&DecisionPoint> = waiting.collect();
        let closed = one_in(random, 12).then(|| story.world.closed_decision_points().last());
        let chosen = random.choose(&waiting).or(random.choose(&live)).copied();
        let point = closed.flatten().or(chosen).expect("some live");
        let fits = !one_in(random, 8);
        let fitting = if fits { self.fitting(story, point) } else { None };
        fitting.unwrap_or_else(|| self.anything(story, point))
    }

    fn fitting(&mut self, story: &Story, point: &DecisionPoint) -> Option<Command> {
        let id = &*point.decision_id;
        let by = self.approver(point);
        let random = &mut self.random;
        if point.state == DecisionPointState::Refining {
            return Some(match below(random, 8) {
                0 => story.responds(id, by, Response::Accept),
                1 => story.cancels(id),
                _ => self.refine(story, point),
            });
        }
        if point.is_open() {
            return Some(match below(random, 16) {
                0 => story.cancels(id),
                1 | 2 => story.reminds(id),
                3 | 4 => story.escalates(id),
                _ => {
                    let response = self.response(point);
                    self.respond(story, id, by, response)
                }
            });
        }
        if point.consumed.is_some() && point.outcome.is_none() && is_spent_alone(point) {
            return Some(story.reports(id));
        }
        let command = consume(point).filter(|_| is_spent_alone(point))?;
        (is_let_pass(story, &command) || one_in(random, 10)).then_some(command)
    }

    /// Any command, by anybody.
    fn anything(&mut self, story: &Story, point: &DecisionPoint) -> Command {
        let id = &*point.decision_id;
        let by = self.somebody();
        let response = self.response(point);
        match below(&mut self.random, 9) {
            0 => story.refines(id),
            1 => story.cancels(id),
            2 => story.escalates(id),
            3 => story.reminds(id),
            4 => story.consumes(id),
            5 => story.lets_expire(id),
            6 => story.responds("DP-none", by, response),
            7 if !point.is_open() => story.reports(id),
            _ => self.respond(story, id, by, response),
        }
    }

    fn respond(&mut self, story: &Story, id: &str, by: Principal, response: Response) -> Command {
        let (decision_id, entropy) = (id.to_owned(), story.entropy());
        let comment = one_in(&mut self.random, 2).then(|| "as agreed".to_owned());
        let command = RespondToDecisionPoint { decision_id, entropy, by, response, comment };
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(command))
    }

    fn refine(&mut self, story: &Story, point: &DecisionPoint) -> Command {
        let Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(mut command)) =
            story.refines(&point.decision_id)
        else {
            unreachable!("a refinement");
        };
        command.by = point.requested_by.clone();
        if one_in(&mut self.random, 3) {
            command.options = Some(story.question().options);
        }
        Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(command))
    }

    /// Somebody whose answer counts, as far as the policy says who.
    pub(super) fn approver(&mut self, point: &DecisionPoint) -> Principal {
        let policy = point.terms.policy.as_ref();
        let named = policy.map(|policy| &policy.approvers).filter(|names| !names.is_empty());
        let name = match named {
            Some(names) => any(&mut self.random, names).to_string(),
            None => any(&mut self.random, &PEOPLE).to_owned(),
        };
        at_terminal(&name)
    }

    fn somebody(&mut self) -> Principal {
        let name = any(&mut self.random, &PEOPLE);
        match below(&mut self.random, 4) {
            0 => program(name),
            1 => person(name),
            _ => at_terminal(name),
        }
    }

    fn response(&mut self, point: &DecisionPoint) -> Response {
        let random = &mut self.random;
        let offered = &point.terms.proposal.options;
        match below(random, 16) {
            0 => Response::Text("the half of it".into()),
            1 | 2 => Response::Guidance("not today".into()),
            3 => Response::Accept,
            4 => option("nothing that is offered"),
            5..14 => Response::Option(offered.first().map(|o| o.id.clone()).unwrap_or_default()),
            _ => random.choose(offered).map_or(Response::Accept, |o| option(&o.id)),
        }
    }

    /// A question, mostly one that the policy of the log lets be asked.
    fn ask(&mut self, story: &Story) -> Command {
        let mut command = self.question(story);
        if !one_in(&mut self.random, 10) {
            keep_in_question(&story.world.policy(), &mut command);
        }
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into()))
    }

    fn question(&mut self, story: &Story) -> CreateDecisionPoint {
        let random = &mut self.random;
        let by = any(random, &[agent(), agent(), person("erin")]);
        let named = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect();
        let one =
            ApprovalPolicy { approvers: named(&["alice", "bob"]), ..ApprovalPolicy::people() };
        let agents = ApprovalPolicy { allow_agents: true, ..ApprovalPolicy::people() };
        let live = || story.world.live_decision_points().map(|point| point.decision_id.to_string());
        let short_ms = 1 + below(random, 9);
        let issue = format!("gt-{}", below(random, 4));
        CreateDecisionPoint {
            by,
            issue_id: any(random, &[None, Some(issue)]),
            default_option: any(random, &[None, Some("wait".into()), Some("stop".into())]),
            allow_text: any(random, &[None, Some(true), Some(false)]),
            timeout_ms: any(random, &[None, Some(short_ms), Some(40_000)]),
            timeout_per_round: one_in(random, 4),
            on_timeout: any(random, &[None, Some(OnTimeout::Default), Some(OnTimeout::Hold)]),
            max_iterations: any(random, &[None, Some(1), Some(6)]),
            policy: any(random, &[None, Some(one), Some(two_people()), Some(agents)]),
            blocks: any(random, &[vec![], vec!["job".into()]]),
            binding: any(random, &[None, Some(binding())]),
            valid_for_ms: any(random, &[None, Some(30), Some(60_000)]),
            supersedes: if one_in(random, 12) { live().last() } else { None },
            separation: one_in(random, 6),
            ..story.question()
        }
    }
}

/// Spends the approval of what a round is bound to.
fn consume(point: &DecisionPoint) -> Option<Command> {
    let (decision_id, by) = (point.decision_id.to_string(), agent());
    let binding = point.binding().cloned()?;
    Some(Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
        decision_id,
        by,
        binding,
    })))
}

/// Whether an approval is spent by itself, and not together with what it approves.
fn is_spent_alone(point: &DecisionPoint) -> bool {
    point.binding().is_some_and(|binding| ![RUN_TOOL, RELAX_TOOL].contains(&&*binding.tool))
}
