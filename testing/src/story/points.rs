//! Decision points of a story: who asks, who answers, and what.

use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CancelDecisionPoint, ClaimedStatus, ConsumeApproval,
    CreateDecisionPoint, DecisionOption, DecisionPoint, DecisionPointCommand, DecisionPointEvent,
    EscalateDecisionPoint, ExpireDecisionPoint, OutcomeClaim, RefineDecisionPoint,
    RemindDecisionPoint, ReportOutcome, RespondToDecisionPoint, Response,
};
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::{Command, Event, decide};

use super::Story;

/// A person whom the operating system knows.
pub fn person(name: &str) -> Principal {
    Principal {
        kind: Actor::Human,
        id: name.into(),
        authenticated_by: Authentication::OsUser,
        means: "uid 1000".into(),
    }
}

/// A person at a terminal.
pub fn at_terminal(name: &str) -> Principal {
    Principal { authenticated_by: Authentication::Terminal, ..person(name) }
}

/// The program that asks.
pub fn agent() -> Principal {
    program("agent")
}

/// Any program.
pub fn program(name: &str) -> Principal {
    Principal {
        kind: Actor::Agent,
        id: name.into(),
        authenticated_by: Authentication::None,
        means: Text::default(),
    }
}

/// Two people have to choose the same.
pub fn two_people() -> ApprovalPolicy {
    ApprovalPolicy {
        approvers: ["alice", "bob", "carol"].map(Text::from).into_iter().collect(),
        quorum: 2,
        allow_requester: false,
        allow_agents: false,
        authentication: Authentication::OsUser,
        default_approves: false,
    }
}

/// The action of a story.
pub fn binding() -> ActionBinding {
    ActionBinding { tool: "Bash".into(), input_sha256: sha256(b"{}") }
}

/// The option with this id.
pub fn option(id: &str) -> Response {
    Response::option(id)
}

fn offered(id: &str, reject: bool) -> DecisionOption {
    let (short, label) = (id.into(), format!("{id}, please").into());
    DecisionOption { id: id.into(), short, label, description: None, reject }
}

impl Story {
    /// A question of [`agent`]: go, wait or stop, where `stop` rejects; one minute to answer.
    pub fn question(&self) -> CreateDecisionPoint {
        let options = vec![offered("go", false), offered("wait", false), offered("stop", true)];
        CreateDecisionPoint {
            issue_id: Some("gt-1".into()),
            default_option: Some("wait".into()),
            timeout_ms: Some(60_000),
            ..CreateDecisionPoint::asking(self.entropy(), agent(), "May it go?", options)
        }
    }

    /// Asks [`Story::question`] after this change; gives the id.
    pub fn asks_with(&mut self, change: impl FnOnce(&mut CreateDecisionPoint)) -> String {
        let mut command = self.question();
        change(&mut command);
        let decision_id = command.decision_id();
        self.given(Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(
            command.into(),
        )));
        decision_id
    }

    /// As [`Story::asks_with`], as it was asked before silence could approve nothing any more: here
    /// it does.
    pub fn asked_where_silence_approves(
        &mut self,
        change: impl FnOnce(&mut CreateDecisionPoint),
    ) -> String {
        let mut command = self.question();
        change(&mut command);
        let decision_id = command.decision_id();
        let command =
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into()));
        let mut events = decide(&self.world, &command, self.now).unwrap();
        for event in &mut events {
            if let Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) = event {
                body.terms.policy.as_mut().unwrap().default_approves = true;
            }
        }
        events.into_iter().for_each(|event| assert_eq!(self.record(event), []));
        decision_id
    }

    /// A decision point that is remembered.
    pub fn point(&self, decision_id: &str) -> &DecisionPoint {
        self.world.decision_point(decision_id).expect("the decision point is remembered")
    }

    pub fn responds(&self, decision_id: &str, by: Principal, response: Response) -> Command {
        let (decision_id, entropy) = (decision_id.to_owned(), self.entropy());
        let comment = Some("as agreed".into());
        let command = RespondToDecisionPoint { decision_id, entropy, by, response, comment };
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(command))
    }

    /// Alice guides: gives the id of the next round.
    pub fn guides(&mut self, decision_id: &str) -> String {
        let guidance = Response::Guidance("not today".into());
        self.given(self.responds(decision_id, person("alice"), guidance));
        self.point(decision_id).next_id.clone().expect("guidance opens a round").into_string()
    }

    pub fn refines(&self, decision_id: &str) -> Command {
        Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
            decision_id: decision_id.to_owned(),
            by: agent(),
            prompt: Some("May it go tomorrow?".into()),
            context: None,
            options: None,
            default_option: None,
            drop_default: false,
        }))
    }

    pub fn cancels(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        let reason = Some("not needed".into());
        Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(CancelDecisionPoint {
            decision_id,
            by,
            reason,
        }))
    }

    pub fn escalates(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        let (to, reason) = ("boss".into(), None);
        Command::DecisionPoint(DecisionPointCommand::EscalateDecisionPoint(EscalateDecisionPoint {
            decision_id,
            by,
            to,
            reason,
        }))
    }

    pub fn reminds(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        Command::DecisionPoint(DecisionPointCommand::RemindDecisionPoint(RemindDecisionPoint {
            decision_id,
            by,
        }))
    }

    pub fn consumes(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
            decision_id,
            by,
            binding: binding(),
        }))
    }

    pub fn reports(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        Command::DecisionPoint(DecisionPointCommand::ReportOutcome(ReportOutcome {
            decision_id,
            by,
            claim: Box::new(claim(ClaimedStatus::Succeeded)),
        }))
    }

    /// Who asked takes the question back, or the approval of it.
    pub fn revokes(&self, decision_id: &str) -> Command {
        let (decision_id, by) = (decision_id.to_owned(), agent());
        let reason = Some("the wrong branch".to_string());
        Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(CancelDecisionPoint {
            decision_id,
            by,
            reason,
        }))
    }

    pub fn lets_expire(&self, decision_id: &str) -> Command {
        let decision_id = decision_id.to_owned();
        Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(ExpireDecisionPoint {
            decision_id,
        }))
    }
}

/// What a host claims.
pub fn claim(status: ClaimedStatus) -> OutcomeClaim {
    let answer = "{\"stdout\":\"done\"}";
    OutcomeClaim {
        tool_use_id: "toolu_01".into(),
        status,
        response_bytes: answer.len() as u64,
        response_sha256: sha256(answer.as_bytes()),
        head: answer.into(),
        tail: "".into(),
    }
}

/// Who caused an event of a decision point or a change of the policy, by its own words.
pub(super) fn speaker(event: &Event) -> Option<Principal> {
    let says = matches!(
        event,
        Event::DecisionPoint(_)
            | Event::Log(
                LogEvent::PolicyChanged(_)
                    | LogEvent::PolicyUnlocked(_)
                    | LogEvent::ClockStepAccepted(_)
                    | LogEvent::LogContinued(_)
            )
    );
    let said = says.then(|| serde_json::to_value(event).expect("an event is written"))?;
    serde_json::from_value(said.get("by")?.clone()).ok()
}

/// Something in every corner of the room: open and being refined, voted on, approved and not yet
/// spent, and ended in every way.
pub fn every_corner(story: &mut Story) {
    story.asks_with(|_| {});
    let guided = story.asks_with(|c| c.issue_id = None);
    let second = story.guides(&guided);
    story.given(story.reminds(&second));
    let voted = story.asks_with(|c| c.policy = Some(two_people()));
    story.given(story.responds(&voted, person("bob"), option("go")));
    story.given(story.escalates(&voted));
    let spendable = story.asks_with(|c| c.binding = Some(binding()));
    story.given(story.responds(&spendable, person("bob"), option("go")));
    every_ending(story);
}

fn every_ending(story: &mut Story) {
    let spent = story.asks_with(|c| {
        c.binding = Some(binding());
        c.blocks = vec!["job".into()];
    });
    story.given(story.responds(&spent, person("alice"), option("go")));
    story.given(story.consumes(&spent));
    story.given(story.responds(&spent, person("bob"), option("stop")));
    let cancelled = story.asks_with(|_| {});
    story.given(story.cancels(&cancelled));
    let first = story.asks_with(|_| {});
    let refined = story.guides(&first);
    story.given(story.refines(&refined));
    let accepted = story.guides(&refined);
    story.given(story.responds(&accepted, person("alice"), Response::Accept));
    let old = story.asks_with(|_| {});
    story.asks_with(|c| c.supersedes = Some(old));
    let aborted = story.asks_with(|c| {
        c.timeout_ms = Some(1);
        c.on_timeout = Some(holdpoint_domain::decision_point::OnTimeout::Abort);
    });
    let defaulted = story.asks_with(|c| {
        c.timeout_ms = Some(1);
        c.on_timeout = Some(holdpoint_domain::decision_point::OnTimeout::Default);
    });
    story.wait(2);
    story.given(story.lets_expire(&aborted));
    story.given(story.lets_expire(&defaulted));
    story.given(story.responds(&aborted, person("alice"), option("go")));
    story.given(story.reports(&spent));
}
