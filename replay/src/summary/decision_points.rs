//! One line for each event of a decision point.

use holdpoint_domain::Event;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::decision_point::{
    ApprovalConsumed, ApprovalRevoked, DecisionPointCancelled, DecisionPointCreated,
    DecisionPointEscalated, DecisionPointEvent, DecisionPointRefined, DefaultTaken,
    DependentsReleased, GuidanceGiven, OutcomeReported, Response, RoundOpened,
};

use super::{short, shown};

/// Returns what happened, in one line; `None` for events of other systems.
pub(super) fn of_decision_point(event: &Event) -> Option<String> {
    let happened = match event {
        Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) => created(body),
        Event::DecisionPoint(DecisionPointEvent::DecisionPointRefined(body)) => refined(body),
        Event::DecisionPoint(DecisionPointEvent::GuidanceGiven(body)) => guidance_given(body),
        Event::DecisionPoint(DecisionPointEvent::RoundOpened(body)) => round_opened(body),
        Event::DecisionPoint(DecisionPointEvent::VoteCast(body)) => {
            format!("vote of {}", answer(&body.by, &body.response, body.comment.as_deref()))
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointResolved(body)) => {
            format!("answered by {}", answer(&body.by, &body.response, body.comment.as_deref()))
        }
        Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(body)) => {
            let late = answer(&body.by, &body.response, body.comment.as_deref());
            format!("too late, does not count: {late}")
        }
        other => ended(other)?,
    };
    Some(format!("{}: {happened}", shown(event.decision_point().unwrap_or_default())))
}

/// Returns what is no answer.
fn ended(event: &Event) -> Option<String> {
    Some(match event {
        Event::DecisionPoint(DecisionPointEvent::DefaultTaken(body)) => default_taken(body),
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(body)) => {
            format!("nobody answered until {}: aborted, nothing is decided", body.expires_at)
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointCancelled(body)) => cancelled(body),
        Event::DecisionPoint(DecisionPointEvent::DecisionPointSuperseded(body)) => {
            format!("superseded by {}, {}", shown(&body.superseded_by), name(&body.by))
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointReminded(body)) => {
            format!("reminded by {}", name(&body.by))
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointWarned(body)) => {
            format!("warning at 80 %, due {}", body.due_at)
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointEscalated(body)) => escalated(body),
        Event::DecisionPoint(DecisionPointEvent::ApprovalConsumed(body)) => consumed(body),
        Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(body)) => {
            format!("the approval was not spent until {}: it lapsed", body.valid_until)
        }
        Event::DecisionPoint(DecisionPointEvent::ApprovalRevoked(body)) => revoked(body),
        Event::DecisionPoint(DecisionPointEvent::DependentsReleased(body)) => released(body),
        Event::DecisionPoint(DecisionPointEvent::OutcomeReported(body)) => outcome_reported(body),
        _ => return None,
    })
}

fn created(body: &DecisionPointCreated) -> String {
    let terms = &body.terms;
    let issue = terms.issue_id.as_ref().map(|issue| format!(" on {}", shown(issue)));
    let end = terms.expires_at.map(|end| format!(", until {end}, then {}", terms.on_timeout));
    let quorum = terms.policy.as_ref().map(|policy| format!(", {} to approve", policy.quorum));
    let bound = terms.binding.as_ref().map(|to| format!(", for {}", shown(&to.tool)));
    format!(
        "{} asks{}: {} ({} options, urgency {}{}{}{})",
        name(&body.by),
        issue.unwrap_or_default(),
        shown(&terms.proposal.prompt),
        terms.proposal.options.len(),
        terms.urgency,
        end.unwrap_or_default(),
        quorum.unwrap_or_default(),
        bound.unwrap_or_default()
    )
}

fn refined(body: &DecisionPointRefined) -> String {
    let (prompt, options) = (shown(&body.proposal.prompt), body.proposal.options.len());
    format!("{} proposes anew: {prompt} ({options} options)", name(&body.by))
}

fn guidance_given(body: &GuidanceGiven) -> String {
    format!(
        "guidance of {}: {}{}; it goes on with {}",
        name(&body.by),
        shown(&body.guidance),
        aside(body.comment.as_deref()),
        shown(&body.next_id)
    )
}

fn round_opened(body: &RoundOpened) -> String {
    let end = body.expires_at.map(|end| format!(", until {end}"));
    let prior = shown(&body.prior_id);
    format!("round {} after {prior}{}", body.iteration, end.unwrap_or_default())
}

fn default_taken(body: &DefaultTaken) -> String {
    let option = shown(&body.option_id);
    format!("nobody answered until {}: the default {option} is taken", body.expires_at)
}

fn cancelled(body: &DecisionPointCancelled) -> String {
    format!("cancelled by {}{}", name(&body.by), aside(body.reason.as_deref()))
}

fn revoked(body: &ApprovalRevoked) -> String {
    format!("the approval is revoked by {}{}", name(&body.by), aside(body.reason.as_deref()))
}

fn escalated(body: &DecisionPointEscalated) -> String {
    let (to, by) = (shown(&body.to), name(&body.by));
    format!("escalated to {to} by {by}{}", aside(body.reason.as_deref()))
}

fn consumed(body: &ApprovalConsumed) -> String {
    format!(
        "the approval is spent by {} for {}, input {}",
        name(&body.by),
        shown(&body.binding.tool),
        short(&body.binding.input_sha256)
    )
}

fn outcome_reported(body: &OutcomeReported) -> String {
    let claim = &body.claim;
    format!(
        "{} claims that call {} {}: {} bytes, {}",
        name(&body.by),
        shown(&claim.tool_use_id),
        claim.status,
        claim.response_bytes,
        short(&claim.response_sha256)
    )
}

fn released(body: &DependentsReleased) -> String {
    let names: Vec<String> = body.blocks.iter().map(|name| shown(name)).collect();
    format!("may go on: {}", names.join(", "))
}

/// Returns who answers what, and what is said beside it.
fn answer(by: &Principal, response: &Response, comment: Option<&str>) -> String {
    let said = match response {
        Response::Option(id) => format!("option {}", shown(id)),
        Response::Text(words) => format!("text: {}", shown(words)),
        Response::Accept => "the guidance as it is".to_string(),
        Response::Proposal(None) => "the proposal as it is".to_string(),
        Response::Proposal(Some(id)) => format!("the proposal, with option {}", shown(id)),
        Response::Guidance(words) => format!("guidance: {}", shown(words)),
    };
    let proof = match by.authenticated_by {
        Authentication::None => "name not proven",
        proven => proven.name(),
    };
    format!("{} ({proof}): {said}{}", name(by), aside(comment))
}

/// A comment or a reason.
fn aside(words: Option<&str>) -> String {
    words.map(|words| format!(" ({})", shown(words))).unwrap_or_default()
}

/// Returns which kind of somebody, and their name.
fn name(by: &Principal) -> String {
    let kind = match by.kind {
        Actor::Human => "human",
        Actor::Agent => "agent",
        Actor::Automation => "automation",
        Actor::System => "system",
    };
    format!("{kind} {}", shown(&by.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::core::actor::Authentication;
    use holdpoint_domain::core::hash::Digest;
    use holdpoint_domain::core::payload::{List, Text};
    use holdpoint_domain::core::time::Timestamp;
    use holdpoint_domain::decision_point::{
        ActionBinding, ApprovalLapsed, ApprovalPolicy, DecisionOption, DecisionPointAborted,
        DecisionPointReminded, DecisionPointResolved, DecisionPointSuperseded, DecisionPointWarned,
        LateResponseRecorded, OnTimeout, Proposal, Terms, Urgency, VoteCast,
    };

    const EPOCH: &str = "1970-01-01T00:00:00.000000000Z";

    fn id() -> Text {
        "DP-1".into()
    }

    fn by(kind: Actor, id: &str) -> Principal {
        let authenticated_by = Authentication::OsUser;
        Principal { kind, id: id.into(), authenticated_by, means: "uid 1000".into() }
    }

    fn alice() -> Principal {
        by(Actor::Human, "alice")
    }

    fn proposal() -> Proposal {
        let option = |id: &str| DecisionOption {
            id: id.into(),
            short: id.into(),
            label: id.into(),
            description: None,
            reject: false,
        };
        Proposal {
            prompt: "Deploy\u{202e}?".into(),
            context: None,
            options: ["go", "stop"].map(option).into_iter().collect(),
            default_option: None,
        }
    }

    fn terms() -> Terms {
        Terms {
            issue_id: None,
            proposal: proposal(),
            allow_text: true,
            on_timeout: OnTimeout::Abort,
            expires_at: None,
            round_timeout_ms: None,
            max_iterations: 3,
            urgency: Urgency::High,
            policy: None,
            blocks: List::default(),
            evidence: List::default(),
            binding: None,
            valid_for_ms: 1,
            supersedes: None,
        }
    }

    fn binding() -> ActionBinding {
        let input_sha256 = Digest::from_bytes([0xab; 32]);
        ActionBinding { tool: "Bash".into(), input_sha256 }
    }

    #[track_caller]
    fn assert_line(event: impl Into<Event>, expected: &str) {
        assert_eq!(of_decision_point(&event.into()), Some(format!("DP-1: {expected}")));
    }

    #[test]
    fn a_question_says_who_asks_what_and_under_which_terms() {
        let asked = |terms: Terms| DecisionPointCreated {
            separation: false,
            people: None,
            decision_id: id(),
            by: by(Actor::Automation, "ci\n"),
            terms: terms.into(),
        };
        let plain = "automation ci\\u{a} asks: Deploy\\u{202e}? (2 options, urgency high)";
        assert_line(asked(terms()), plain);
        let policy = ApprovalPolicy {
            approvers: List::default(),
            quorum: 2,
            allow_requester: false,
            allow_agents: false,
            authentication: Authentication::None,
            default_approves: false,
        };
        let full = Terms {
            issue_id: Some("gt-1".into()),
            expires_at: Some(Timestamp::default()),
            policy: Some(policy),
            binding: Some(binding()),
            ..terms()
        };
        let text = format!(
            "automation ci\\u{{a}} asks on gt-1: Deploy\\u{{202e}}? (2 options, urgency high, \
             until {EPOCH}, then abort, 2 to approve, for Bash)"
        );
        assert_line(asked(full), &text);
    }

    #[test]
    fn rounds_name_each_other() {
        let given = GuidanceGiven {
            decision_id: id(),
            by: alice(),
            guidance: "smaller".into(),
            comment: Some("please".into()),
            next_id: "DP-2".into(),
        };
        let text = "guidance of human alice: smaller (please); it goes on with DP-2";
        assert_line(given, text);
        let opened = |expires_at| RoundOpened {
            decision_id: id(),
            prior_id: "DP-0".into(),
            iteration: 2,
            expires_at,
        };
        assert_line(opened(None), "round 2 after DP-0");
        assert_line(
            opened(Some(Timestamp::default())),
            &format!("round 2 after DP-0, until {EPOCH}"),
        );
        let by = by(Actor::Agent, "planner");
        let anew = DecisionPointRefined { decision_id: id(), by, proposal: proposal().into() };
        assert_line(anew, "agent planner proposes anew: Deploy\\u{202e}? (2 options)");
    }

    #[test]
    fn answers_say_what_was_answered_and_whether_it_counts() {
        let resolved = |response| DecisionPointResolved {
            decision_id: id(),
            by: alice(),
            response,
            comment: Some("ok\u{7}".into()),
        };
        for (response, said) in [
            (Response::Option("go".into()), "option go"),
            (Response::Text("half".into()), "text: half"),
            (Response::Accept, "the guidance as it is"),
            (Response::Proposal(None), "the proposal as it is"),
            (Response::Proposal(Some("go".into())), "the proposal, with option go"),
            (Response::Guidance("less".into()), "guidance: less"),
        ] {
            let text = format!("answered by human alice (os-user): {said} (ok\\u{{7}})");
            assert_line(resolved(response), &text);
        }
        let response = || Response::Option("go".into());
        let vote = VoteCast { decision_id: id(), by: alice(), response: response(), comment: None };
        assert_line(vote, "vote of human alice (os-user): option go");
        let by = Principal { authenticated_by: Authentication::None, ..alice() };
        let vote = VoteCast { decision_id: id(), by, response: response(), comment: None };
        assert_line(vote, "vote of human alice (name not proven): option go");
        let (decision_id, response) = (id(), response());
        let late = LateResponseRecorded { decision_id, by: alice(), response, comment: None };
        let text = "too late, does not count: human alice (os-user): option go";
        assert_line(late, text);
    }

    #[test]
    fn endings_say_what_ended_the_round() {
        let end = Timestamp::default();
        let taken = DefaultTaken { decision_id: id(), option_id: "go".into(), expires_at: end };
        let text = format!("nobody answered until {EPOCH}: the default go is taken");
        assert_line(taken, &text);
        let aborted = DecisionPointAborted {
            decision_id: id(),
            expires_at: end,
            ended_by: None,
            steady: None,
        };
        let text = format!("nobody answered until {EPOCH}: aborted, nothing is decided");
        assert_line(aborted, &text);
        let reason = Some("done".into());
        let cancelled = DecisionPointCancelled { decision_id: id(), by: alice(), reason };
        assert_line(cancelled, "cancelled by human alice (done)");
        let superseded_by = "DP-2".into();
        let other = DecisionPointSuperseded { decision_id: id(), by: alice(), superseded_by };
        assert_line(other, "superseded by DP-2, human alice");
        let reminded = DecisionPointReminded { decision_id: id(), by: alice() };
        assert_line(reminded, "reminded by human alice");
        let due_at = Timestamp::default();
        let warned = DecisionPointWarned { decision_id: id(), due_at, steady: None };
        assert_line(warned, &format!("warning at 80 %, due {EPOCH}"));
        let (to, reason) = ("boss".into(), None);
        let told = DecisionPointEscalated { decision_id: id(), by: alice(), to, reason };
        assert_line(told, "escalated to boss by human alice");
    }

    #[test]
    fn approvals_say_for_what_they_are_spent_and_what_goes_on() {
        let spent = ApprovalConsumed { decision_id: id(), by: alice(), binding: binding() };
        let text = "the approval is spent by human alice for Bash, input abababababababab..";
        assert_line(spent, text);
        let lapsed = ApprovalLapsed {
            decision_id: id(),
            valid_until: Timestamp::default(),
            ended_by: None,
            steady: None,
        };
        let text = format!("the approval was not spent until {EPOCH}: it lapsed");
        assert_line(lapsed, &text);
        let blocks = ["deploy", "notify\u{200b}"].map(Text::from).into_iter().collect();
        let released = DependentsReleased { decision_id: id(), blocks };
        assert_line(released, "may go on: deploy, notify\\u{200b}");
    }

    #[test]
    fn long_words_are_cut_and_marked() {
        let prompt = "x".repeat(4_096).into();
        let proposal = Proposal { prompt, ..proposal() }.into();
        let anew = DecisionPointRefined { decision_id: id(), by: alice(), proposal };
        let line = of_decision_point(&anew.into()).unwrap_or_default();
        assert!(line.contains("xxx.. (2 options)") && line.len() < 400, "{line}");
    }
}
