//! Events of `decision_point`, with every member of every closed enum that its events hold.

use holdpoint_domain::Event;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalConsumed, ApprovalLapsed, ApprovalPolicy, ApprovalRevoked,
    ClaimedStatus, DecisionOption, DecisionPointAborted, DecisionPointCancelled,
    DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined, DecisionPointReminded,
    DecisionPointResolved, DecisionPointSuperseded, DecisionPointWarned, DefaultTaken,
    DependentsReleased, EvidenceAttachment, GuidanceGiven, LateResponseRecorded, OnTimeout,
    OutcomeClaim, OutcomeReported, Proposal, Response, RoundOpened, Terms, Urgency, VoteCast,
};

use super::{at, digest, nth, steady};

const ROUND: &str = "DP-000102030405060708090a0b0c0d0e0f";
const NEXT: &str = "DP-101112131415161718191a1b1c1d1e1f";

pub(super) fn decision_point_events() -> Vec<Event> {
    let mut events = Vec::new();
    for turn in 0..12 {
        events.extend(questions(turn));
        events.extend(answers(turn));
        events.extend(endings(turn));
        events.extend(approvals(turn));
    }
    events
}

fn questions(turn: usize) -> Vec<Event> {
    vec![
        DecisionPointCreated {
            separation: false,
            people: None,
            decision_id: ROUND.into(),
            by: principal(turn),
            terms: terms(turn).into(),
        }
        .into(),
        DecisionPointRefined {
            decision_id: NEXT.into(),
            by: principal(turn),
            proposal: proposal(turn).into(),
        }
        .into(),
        DecisionPointReminded { decision_id: ROUND.into(), by: principal(turn) }.into(),
        DecisionPointEscalated {
            decision_id: ROUND.into(),
            by: principal(turn),
            to: "on-call".into(),
            reason: some(turn, "nobody answers"),
        }
        .into(),
    ]
}

fn answers(turn: usize) -> Vec<Event> {
    vec![
        GuidanceGiven {
            decision_id: ROUND.into(),
            by: principal(turn),
            guidance: "not on a Friday".into(),
            comment: some(turn, "sorry \u{e9}"),
            next_id: NEXT.into(),
        }
        .into(),
        RoundOpened {
            decision_id: NEXT.into(),
            prior_id: ROUND.into(),
            iteration: nth(&[2, 20, u8::MAX], turn),
            expires_at: turn.is_multiple_of(2).then(|| at(600)),
        }
        .into(),
        VoteCast {
            decision_id: ROUND.into(),
            by: principal(turn),
            response: response(turn),
            comment: some(turn + 1, "fine"),
        }
        .into(),
        DecisionPointResolved {
            decision_id: ROUND.into(),
            by: principal(turn),
            response: response(turn),
            comment: some(turn, "fine"),
        }
        .into(),
        LateResponseRecorded {
            decision_id: ROUND.into(),
            by: principal(turn),
            response: response(turn),
            comment: some(turn + 1, "was I late?"),
        }
        .into(),
    ]
}

fn endings(turn: usize) -> Vec<Event> {
    vec![
        DefaultTaken {
            decision_id: ROUND.into(),
            option_id: nth(&["wait".into(), "go".into()], turn),
            expires_at: at(300),
        }
        .into(),
        aborted(turn as u64, None).into(),
        DecisionPointCancelled {
            decision_id: ROUND.into(),
            by: principal(turn),
            reason: some(turn, "no longer needed"),
        }
        .into(),
        DecisionPointSuperseded {
            decision_id: ROUND.into(),
            by: principal(turn),
            superseded_by: NEXT.into(),
        }
        .into(),
    ]
}

fn approvals(turn: usize) -> Vec<Event> {
    vec![
        ApprovalConsumed { decision_id: ROUND.into(), by: principal(turn), binding: binding() }
            .into(),
        lapsed(None).into(),
        DependentsReleased { decision_id: ROUND.into(), blocks: names("job", turn % 4) }.into(),
    ]
}

/// What hosts claim of approved actions.
pub(super) fn outcomes() -> impl Iterator<Item = Event> {
    ClaimedStatus::ALL.iter().enumerate().map(|(turn, status)| {
        let claim = OutcomeClaim {
            tool_use_id: "toolu_01".into(),
            status: *status,
            response_bytes: 300 * turn as u64,
            response_sha256: digest(15),
            head: nth(&["".into(), "{\"stdout\":\"deployed".into()], turn),
            tail: nth(&["".into(), "done\"}".into()], turn),
        };
        let claim = Box::new(claim);
        OutcomeReported { decision_id: ROUND.into(), by: principal(turn), claim }.into()
    })
}

fn aborted(end: u64, ended_by: Option<EndedBy>) -> DecisionPointAborted {
    let (decision_id, expires_at) = (ROUND.into(), at(end));
    DecisionPointAborted { decision_id, expires_at, ended_by, steady: steady(ended_by) }
}

/// Warnings that 80 % of the time are over.
pub(super) fn warnings() -> impl Iterator<Item = Event> {
    [None, Some(at(48))].into_iter().map(|steady| {
        DecisionPointWarned { decision_id: ROUND.into(), due_at: at(48), steady }.into()
    })
}

fn lapsed(ended_by: Option<EndedBy>) -> ApprovalLapsed {
    let (decision_id, valid_until) = (ROUND.into(), at(86_400));
    ApprovalLapsed { decision_id, valid_until, ended_by, steady: steady(ended_by) }
}

/// What ended by each clock.
pub(super) fn ended_by_clocks() -> impl Iterator<Item = Event> {
    EndedBy::ALL.iter().flat_map(|by| [aborted(7, Some(*by)).into(), lapsed(Some(*by)).into()])
}

/// Approvals that somebody took back.
pub(super) fn revocations() -> impl Iterator<Item = Event> {
    (0..2).map(|turn| {
        let reason = some(turn, "the wrong branch");
        ApprovalRevoked { decision_id: ROUND.into(), by: principal(turn), reason }.into()
    })
}

fn terms(turn: usize) -> Terms {
    Terms {
        issue_id: some(turn, "gt-1234"),
        proposal: proposal(turn),
        allow_text: turn % 4 == 1,
        on_timeout: nth(&OnTimeout::ALL[..3], turn),
        expires_at: (turn % 3 != 1).then(|| at(300)),
        round_timeout_ms: turn.is_multiple_of(2).then_some(300_000),
        max_iterations: nth(&[1, 3, 20], turn),
        urgency: nth(&Urgency::ALL[..3], turn),
        policy: (turn % 4 != 3).then(|| policy(turn)),
        blocks: names("job", turn % 3),
        evidence: (0..turn % 3).map(evidence).collect(),
        binding: turn.is_multiple_of(2).then(binding),
        valid_for_ms: 86_400_000,
        supersedes: some(turn + 1, NEXT),
    }
}

fn proposal(turn: usize) -> Proposal {
    Proposal {
        prompt: "May it be deployed?".into(),
        context: some(turn + 1, "Two tests were skipped."),
        options: (0..turn % 4).map(|i| option(turn + i)).collect(),
        default_option: some(turn, "option-1"),
    }
}

fn option(turn: usize) -> DecisionOption {
    DecisionOption {
        id: format!("option-{turn}").into(),
        short: nth(&["go".into(), Text::default()], turn),
        label: "Deploy it now".into(),
        description: some(turn, "All of it, *at once*."),
        reject: turn % 3 == 2,
    }
}

fn policy(turn: usize) -> ApprovalPolicy {
    ApprovalPolicy {
        approvers: names("approver", turn % 3),
        quorum: nth(&[1, 2, 16], turn),
        allow_requester: turn.is_multiple_of(2),
        allow_agents: turn.is_multiple_of(3),
        authentication: nth(&Authentication::ALL[..3], turn),
        default_approves: turn % 4 == 1,
    }
}

fn principal(turn: usize) -> Principal {
    Principal {
        kind: nth(&Actor::ALL[..4], turn),
        id: "alice".into(),
        authenticated_by: nth(&Authentication::ALL[..3], turn),
        means: nth(&["uid 1000 at /dev/pts/3".into(), Text::default()], turn),
    }
}

/// A proposal was accepted, with its default.
pub(super) fn accepted() -> Event {
    let decision_id = ROUND.into();
    let response = Response::Proposal(Some("go".into()));
    DecisionPointResolved { decision_id, by: principal(0), response, comment: None }.into()
}

fn response(turn: usize) -> Response {
    let responses = [
        Response::Option("go".into()),
        Response::Text("only the half of it".into()),
        Response::Accept,
        Response::Guidance("smaller steps".into()),
    ];
    nth(&responses, turn)
}

fn evidence(turn: usize) -> EvidenceAttachment {
    EvidenceAttachment {
        sha256: digest(20),
        bytes: nth(&[0, 251, u64::MAX], turn),
        media_type: "text/plain".into(),
        label: "report of the tests".into(),
    }
}

fn binding() -> ActionBinding {
    ActionBinding { tool: "Bash".into(), input_sha256: digest(21) }
}

fn names<const MAX: usize>(
    name: &str,
    count: usize,
) -> holdpoint_domain::core::payload::List<Text, MAX> {
    (0..count).map(|i| Text::from(format!("{name} {i}"))).collect()
}

fn some(turn: usize, text: &str) -> Option<Text> {
    turn.is_multiple_of(2).then(|| Text::from(text))
}
