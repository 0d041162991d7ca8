//! Rows of a decision point.

use super::{Form, named_by_application, short, shown};
use crate::words::{claimed, kind_in_words, moment, quoted, responded};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::decision_point::{
    ApprovalConsumed, ApprovalRevoked, DecisionPointCreated, DecisionPointEscalated,
    DecisionPointEvent, DecisionPointRefined, DefaultTaken, DependentsReleased, GuidanceGiven,
    OnTimeout, OutcomeReported, Response, RoundOpened,
};

/// An answer: its principal, the response and the comment.
type AnswerParts<'e> = (&'e Principal, &'e Response, Option<&'e str>);

/// Tells an event of a decision point, behind its id.
pub(super) fn tell(event: &DecisionPointEvent, form: Form) -> String {
    format!("{}: {}", shown(event.decision_id()), happened(event, form))
}

fn happened(event: &DecisionPointEvent, form: Form) -> String {
    use DecisionPointEvent as E;
    match event {
        E::DecisionPointCreated(body) => form.of(|| created(body), || created_in_words(body)),
        E::DecisionPointRefined(body) => refined(body),
        E::GuidanceGiven(body) => form.of(|| guidance_given(body), || guidance_in_words(body)),
        E::RoundOpened(body) => form.of(|| round_opened(body), || round_in_words(body)),
        E::VoteCast(body) => {
            let vote = (&body.by, &body.response, body.comment.as_deref());
            form.of(|| format!("vote of {}", answer(vote)), || says(vote))
        }
        E::DecisionPointResolved(body) => {
            let given = (&body.by, &body.response, body.comment.as_deref());
            let (by, said) = (|| who(given.0), || said(given.1, given.2));
            form.of(
                || format!("answered by {}", answer(given)),
                || format!("it is answered by {}: {}", by(), said()),
            )
        }
        E::LateResponseRecorded(body) => {
            let late = (&body.by, &body.response, body.comment.as_deref());
            format!("too late, does not count: {}", form.of(|| answer(late), || says(late)))
        }
        E::DefaultTaken(body) => default_taken(body),
        E::DecisionPointAborted(body) => {
            format!("nobody answered until {}: aborted, nothing is decided", body.expires_at)
        }
        E::DecisionPointCancelled(body) => {
            format!("cancelled by {}{}", name(&body.by), aside(body.reason.as_deref()))
        }
        E::DecisionPointSuperseded(body) => {
            format!("superseded by {}, {}", shown(&body.superseded_by), name(&body.by))
        }
        E::DecisionPointReminded(body) => format!("reminded by {}", name(&body.by)),
        E::DecisionPointWarned(body) => format!("warning at 80 %, due {}", body.due_at),
        E::DecisionPointEscalated(body) => escalated(body),
        E::ApprovalConsumed(body) => form.of(|| consumed(body), || consumed_in_words(body)),
        E::ApprovalLapsed(body) => {
            format!("the approval was not spent until {}: it lapsed", body.valid_until)
        }
        E::ApprovalRevoked(body) => revoked(body, form),
        E::DependentsReleased(body) => released(body),
        E::OutcomeReported(body) => form.of(|| outcome_reported(body), || outcome_in_words(body)),
    }
}

fn revoked(body: &ApprovalRevoked, form: Form) -> String {
    let reason = body.reason.as_deref();
    let by = form.of(
        || format!("{}{}", name(&body.by), aside(reason)),
        || format!("{}{}", who(&body.by), beside(reason)),
    );
    format!("the approval is revoked by {by}")
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
fn answer((by, response, comment): AnswerParts<'_>) -> String {
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

fn created_in_words(body: &DecisionPointCreated) -> String {
    let terms = &body.terms;
    let issue = terms.issue_id.as_ref().map(|issue| format!(" on {}", named_by_application(issue)));
    let end = terms.expires_at.map(|end| {
        let then = match terms.on_timeout {
            OnTimeout::Default => "the default is taken",
            OnTimeout::Abort => "nothing is decided",
            OnTimeout::Hold => "it goes on waiting",
        };
        format!(", until {}, after which {then}", moment(end))
    });
    let quorum = terms.policy.as_ref().map(|policy| match policy.quorum {
        1 => ", one has to approve".to_string(),
        quorum => format!(", {quorum} have to approve"),
    });
    let prompt = quoted(&terms.proposal.prompt);
    format!(
        "{} asks{}: {prompt}{}{}",
        who(&body.by),
        issue.unwrap_or_default(),
        quorum.unwrap_or_default(),
        end.unwrap_or_default()
    )
}

fn guidance_in_words(body: &GuidanceGiven) -> String {
    format!(
        "{} asks for another proposal: {}{}; it goes on as {}",
        who(&body.by),
        quoted(&body.guidance),
        beside(body.comment.as_deref()),
        named_by_application(&body.next_id)
    )
}

fn round_in_words(body: &RoundOpened) -> String {
    let prior = named_by_application(&body.prior_id);
    format!("round {} of the question, after {prior}", body.iteration)
}

fn consumed_in_words(body: &ApprovalConsumed) -> String {
    format!("the approval is used by {} for {}", who(&body.by), quoted(&body.binding.tool))
}

fn outcome_in_words(body: &OutcomeReported) -> String {
    let became = claimed(body.claim.status);
    format!("{} claims, and nothing proves, that the call {became}", who(&body.by))
}

fn says((by, response, comment): AnswerParts<'_>) -> String {
    format!("{} says {}", who(by), said(response, comment))
}

/// Returns what is answered in words, and what is said beside it.
fn said(response: &Response, comment: Option<&str>) -> String {
    format!("{}{}", responded(response), beside(comment))
}

/// A comment.
fn beside(words: Option<&str>) -> String {
    words.map(|words| format!(", and beside it {}", quoted(words))).unwrap_or_default()
}

/// Somebody, and what of that nothing proves.
fn who(by: &Principal) -> String {
    format!("{} ({})", named_by_application(&by.id), kind_in_words(by.kind, by.authenticated_by))
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
        DecisionPointCancelled, DecisionPointReminded, DecisionPointResolved,
        DecisionPointSuperseded, DecisionPointWarned, LateResponseRecorded, OnTimeout, Proposal,
        Terms, Urgency, VoteCast,
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
    fn assert_line(event: impl Into<DecisionPointEvent>, expected: &str) {
        assert_eq!(tell(&event.into(), Form::Codes), format!("DP-1: {expected}"));
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
        let line = tell(&anew.into(), Form::Codes);
        assert!(line.contains("xxx.. (2 options)") && line.len() < 400, "{line}");
    }
}
