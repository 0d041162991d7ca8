//! 20 000 random commands on about 200 decision points at a time: an accountant that follows the
//! events only finds nothing that should not be, and every kind of world holds the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::points::accountant::Accountant;
use crate::points::{
    Outcome, Stage, action, choice, guidance, option, policy, principal, question, refinement,
    rejecting, text,
};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::decision_point::{
    ApprovalPolicy, CreateDecisionPoint, MAX_CLOSED_DECISION_POINTS, OnTimeout,
    RefineDecisionPoint, Response,
};
use holdpoint_testing::story::seed;
use quickcheck::{Arbitrary as _, Gen};

const COMMANDS: u64 = 20_000;
/// Commands are about the newest of them.
const RECENT: usize = 200;
const MINUTE_MS: u64 = 60_000;
const NAMES: [&str; 5] = ["ann", "bob", "cleo", "dan", "eve"];
const INPUTS: [&str; 3] = ["rm", "rm -r", "ls"];
const OPTIONS: [&str; 4] = ["yes", "also", "no", "maybe"];

#[test]
fn no_random_command_ends_twice_releases_unapproved_or_spends_twice() {
    let mut play = Play::new(seed());
    for number in 1..=COMMANDS {
        play.step();
        if number.is_multiple_of(500) {
            play.check();
        }
    }
    play.finish();
}

struct Play {
    stage: Stage,
    accountant: Accountant,
    random: Gen,
    refusals: BTreeMap<&'static str, u64>,
}

impl Play {
    fn new(seed: u64) -> Self {
        Self {
            stage: Stage::new(),
            accountant: Accountant::default(),
            random: Gen::from_size_and_seed(16, seed),
            refusals: BTreeMap::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        u64::arbitrary(&mut self.random) % bound
    }

    /// Once in so many times.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let place = self.below(of.len() as u64);
        of[usize::try_from(place).unwrap()].clone()
    }

    /// Some time, what is due by then, and one command.
    fn step(&mut self) {
        let passed = self.below(4 * MINUTE_MS);
        self.stage.pass_ms(passed);
        // Now and then somebody is late without knowing it.
        if !self.one_in(8) {
            self.expire_due();
        }
        let outcome = self.command();
        self.note(outcome);
    }

    fn expire_due(&mut self) {
        for due in self.stage.world.due(self.stage.now()) {
            let events = self.stage.give(&due.command).expect("what is due can be recorded");
            self.accountant.follow(&events, self.stage.now());
        }
    }

    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Ok(events) => {
                self.accountant.follow(&events, self.stage.now());
            }
            Err(refusal) => *self.refusals.entry(refusal.code()).or_default() += 1,
        }
    }

    fn command(&mut self) -> Outcome {
        let kind = self.below(100);
        if kind < 12 || self.accountant.begun.is_empty() {
            return self.create();
        }
        let recent =
            self.accountant.begun[self.accountant.begun.len().saturating_sub(RECENT)..].to_vec();
        // Most commands are about the newest ones, so that some stories come to their end.
        let newest = &recent[recent.len().saturating_sub(12)..];
        let id = if self.one_in(3) { self.pick(&recent) } else { self.pick(newest) };
        let by = self.somebody();
        match kind {
            12..60 => self.respond(&id, &by),
            60..74 => self.refine(&id, by),
            74..77 => self.stage.cancel(&id, &by),
            77..80 => self.stage.escalate(&id, &by, "frank"),
            80..83 => self.stage.remind(&id, &by),
            83..86 => self.stage.expire(&id),
            _ => self.consume(&id, &by),
        }
    }

    fn somebody(&mut self) -> Principal {
        let name = self.pick(&NAMES);
        let kind = match self.below(10) {
            0 => Actor::Agent,
            1 => Actor::Automation,
            2 => Actor::System,
            _ => Actor::Human,
        };
        let proof = self.pick(Authentication::ALL);
        principal(kind, name, proof)
    }

    fn policy(&mut self) -> Option<ApprovalPolicy> {
        if self.one_in(3) {
            return None;
        }
        let approvers: &[&str] = if self.one_in(2) { &["bob", "cleo", "dan"] } else { &[] };
        let quorum = if self.one_in(3) { 2 } else { 1 };
        Some(ApprovalPolicy {
            allow_requester: self.one_in(4),
            allow_agents: self.one_in(4),
            authentication: self.pick(Authentication::ALL),
            default_approves: self.one_in(12),
            ..policy(approvers, quorum)
        })
    }

    fn create(&mut self) -> Outcome {
        let allow_text = self.pick(&[None, Some(true), Some(false)]);
        let question = CreateDecisionPoint {
            by: self.somebody(),
            default_option: self.pick(&[None, Some("yes".into()), Some("no".into())]),
            allow_text,
            timeout_ms: self.pick(&[None, Some(20 * MINUTE_MS), Some(90 * MINUTE_MS)]),
            timeout_per_round: self.one_in(4),
            on_timeout: self.pick(&[None, Some(OnTimeout::Default), Some(OnTimeout::Hold)]),
            max_iterations: self.pick(&[None, Some(1), Some(2), Some(6)]),
            policy: self.policy(),
            blocks: self.pick(&[Vec::new(), vec!["work-1".into(), "work-2".into()]]),
            binding: self.pick(&[None, Some(action("rm")), Some(action("ls"))]),
            valid_for_ms: self.pick(&[None, Some(30 * MINUTE_MS)]),
            supersedes: self.superseded(),
            ..question()
        };
        self.stage.try_ask(question).map(|(_, events)| events)
    }

    fn superseded(&mut self) -> Option<String> {
        let is_any = self.one_in(6) && !self.accountant.begun.is_empty();
        is_any.then(|| self.accountant.begun[self.accountant.begun.len() - 1].clone())
    }

    fn respond(&mut self, id: &str, by: &Principal) -> Outcome {
        let number = self.below(3);
        let response = match self.below(10) {
            0 => text(&format!("Words {number}.")),
            1 => Response::Accept,
            2..5 => guidance(&format!("Guidance {number}.")),
            _ => choice(self.pick(&OPTIONS)),
        };
        self.stage.respond(id, by, response)
    }

    /// Most often by the requester, so that most rounds go on.
    fn refine(&mut self, id: &str, by: Principal) -> Outcome {
        let requester = self.stage.kept.decision_point(id).unwrap().requested_by.clone();
        let by = if self.one_in(3) { by } else { requester };
        let changed = Some(vec![option("also"), rejecting("yes"), option("no")]);
        let options = self.pick(&[None, changed, Some(vec![option("other")])]);
        let prompt = Some("Better now?".into());
        self.stage.refine(RefineDecisionPoint { prompt, options, ..refinement(id, &by) })
    }

    fn consume(&mut self, id: &str, by: &Principal) -> Outcome {
        let bound = self.stage.kept.decision_point(id).unwrap().binding().cloned();
        let other = action(self.pick(&INPUTS));
        let binding = if self.one_in(3) { other } else { bound.unwrap_or(other) };
        self.stage.consume(id, by, &binding)
    }

    /// What holds of the worlds at any time.
    fn check(&mut self) {
        self.stage.assert_rebuilt();
        let (world, rounds) = (&self.stage.world, &self.accountant.rounds);
        let live = world.live_decision_points().count();
        let closed = world.closed_decision_points().count();
        assert!(live + closed <= rounds.len());
        assert!(closed <= MAX_CLOSED_DECISION_POINTS, "{closed} are remembered");
        assert_eq!(live, rounds.len() - self.accountant.over.len());
        for point in world.live_decision_points() {
            let round = &rounds[&*point.decision_id];
            assert_eq!(point.is_open(), round.end.is_none(), "{}", point.decision_id);
        }
    }

    fn finish(mut self) {
        self.check();
        assert!(
            self.accountant.begun.len() > 2 * MAX_CLOSED_DECISION_POINTS,
            "{} rounds",
            self.accountant.begun.len()
        );
        let kept = &self.stage.kept;
        for id in &self.accountant.begun {
            let point = kept.decision_point(id).expect("a world that keeps, keeps every one");
            assert_eq!(point.is_open(), self.accountant.rounds[id].end.is_none(), "{id}");
        }
        let order = kept.closed_decision_points().map(|point| point.decision_id.to_string());
        let order: Vec<String> = order.collect();
        assert!(order == self.accountant.over, "those that ended are in the order of their ending");
        let expected: BTreeSet<u16> = (192..=207).chain([209, 210]).collect();
        assert_eq!(self.accountant.kinds, expected, "every kind of event came about");
        for rule in RULES {
            assert!(
                self.refusals.contains_key(rule),
                "{rule} was never asked: {:?}",
                self.refusals
            );
        }
    }
}

/// Rules that random commands meet.
const RULES: [&str; 19] = [
    "AGENT_EXCLUDED",
    "ALREADY_CONSUMED",
    "ALREADY_DONE",
    "ALREADY_ENDED",
    "APPROVAL_LAPSED",
    "BAD_DEFAULT",
    "BAD_OPTION",
    "BINDING_MISMATCH",
    "EXPIRED",
    "ITERATION_LIMIT",
    "NOTHING_TO_ACCEPT",
    "NOT_AN_APPROVER",
    "NOT_APPROVED",
    "NOT_AUTHENTICATED",
    "NOT_REFINED",
    "NOT_REFINING",
    "NOT_REQUESTER",
    "SELF_APPROVAL",
    "VOTE_CONFLICT",
];
