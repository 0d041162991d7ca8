//! Loops that are held for a person.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::evidence_capture::{EvidenceItem, ResourceUsage};
use holdpoint_domain::execution_loop::{ExecutionLoopState, ExecutorResponseType};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, EscalationTarget, ExpireDue, HeldRequest,
    HoldPolicy, HoldTerms, HumanDecision, HumanDecisionCommand, HumanDecisionEvent,
    HumanDecisionTimeout, OverrideField, OverrideVisibility, RequestHumanDecision,
    injective_request_hash,
};
use holdpoint_domain::{Command, Event};

use super::Story;

/// How long a person has in these stories.
pub const TIMEOUT_MS: u64 = 1_000;

/// Alice or bob answers; boss and board can be asked; carol may override.
pub fn terms(policy: HoldPolicy) -> HoldTerms {
    let texts = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect();
    let target = |name: &str, approvers: &[&str]| EscalationTarget {
        target: name.into(),
        approvers: texts(approvers),
        timeout_ms: timeout(2 * TIMEOUT_MS),
    };
    HoldTerms {
        decision_timeout_ms: timeout(TIMEOUT_MS),
        approvers: texts(&["alice", "bob"]),
        escalation_targets: [target("boss", &[]), target("board", &["dave"])].into_iter().collect(),
        override_approvers: texts(&["carol"]),
        ..HoldTerms::of(policy)
    }
}

pub fn timeout(milliseconds: u64) -> HumanDecisionTimeout {
    HumanDecisionTimeout::from_milliseconds(milliseconds).unwrap()
}

impl Story {
    /// An evaluated loop under these terms.
    pub fn evaluated_under(terms: HoldTerms, status: ExecutorResponseType) -> Self {
        let mut story = Self::initialized_with(|command| command.hold = terms);
        story.advance_to(ExecutionLoopState::AwaitingResponse);
        story.given(story.report(status));
        story
    }

    /// The same of a loop whose attempt was observed, as that of a run is.
    pub fn observed_under(terms: HoldTerms, status: ExecutorResponseType) -> Self {
        let mut story = Self::initialized_with(|command| command.hold = terms);
        story.advance_to(ExecutionLoopState::AwaitingResponse);
        let usage =
            ResourceUsage { wall_ns: 9, user_cpu_ns: 1, system_cpu_ns: 2, peak_memory_bytes: 3 };
        story.given(story.capture(vec![EvidenceItem::ResourceSnapshot(usage)]));
        story.given(story.report(status));
        story
    }

    /// A failed loop that is held, and about which a person is asked.
    pub fn asked() -> Self {
        let terms = terms(HoldPolicy::After);
        let mut story = Self::evaluated_under(terms, ExecutorResponseType::Failure);
        story.given(story.ask());
        story
    }

    pub fn ask(&self) -> Command {
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(RequestHumanDecision {
            loop_id,
            entropy,
        }))
    }

    /// The last request of this story's loop.
    pub fn held(&self) -> &HeldRequest {
        self.entity().decisions.requests.last().expect("somebody was asked")
    }

    /// An answer of alice, with a reason and, for ESCALATE, to boss.
    pub fn answer(&self, decision: HumanDecision) -> AnswerHumanDecision {
        let target = (decision == HumanDecision::Escalate).then(|| "boss".to_owned());
        AnswerHumanDecision {
            request_id: self.held().request_id().to_owned(),
            loop_id: None,
            entropy: self.entropy(),
            actor: Actor::Human,
            human_id: "alice".into(),
            decision,
            reason: Some("it is flaky".into()),
            escalation_target: target,
            means: terminal(),
        }
    }

    /// Alice decides.
    pub fn decides(&self, decision: HumanDecision) -> Command {
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(self.answer(decision)))
    }

    pub fn expire(&self, request_id: &str) -> Command {
        let (request_id, entropy) = (request_id.to_owned(), self.entropy());
        Command::HumanDecision(HumanDecisionCommand::ExpireDue(ExpireDue { request_id, entropy }))
    }

    /// Carol allows a field to be shown.
    pub fn overrides(&self, field: OverrideField) -> OverrideVisibility {
        OverrideVisibility {
            request_id: self.held().request_id().to_owned(),
            actor: Actor::Human,
            human_id: "carol".into(),
            field,
            reason: "it is needed".into(),
            means: terminal(),
        }
    }
}

pub fn terminal() -> AnswerMeans {
    AnswerMeans { channel: AnswerChannel::Terminal, detail: "/dev/pts/3".into() }
}

/// A question as it was recorded before it told what was observed of the attempt.
pub fn without_observed(event: Event) -> Event {
    let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(mut body)) = event else {
        return event;
    };
    body.request.evidence_summary.observed = None;
    body.request_hash = injective_request_hash(&body.context, &body.request);
    Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body))
}
