//! Events of `human_decision`, with every member of every closed enum that its events hold.

use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};
use holdpoint_domain::execution_loop::{ExecutionLoopState, ExecutorResponseType, Exit};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerMeans, AuditEntry, EvidenceSummary, HumanDecision, HumanDecisionAnswered,
    HumanDecisionOutcome, HumanDecisionRecord, HumanDecisionRequest, HumanDecisionRequested,
    HumanDecisionTimedOut, HumanDecisionWarned, LateAnswerRecorded, ObservedAttempt, OutputShown,
    OverrideField, RequestContext, RequestWithdrawn, VisibilityOverridden,
};
use holdpoint_domain::log::{ClockStepAccepted, LogContinued};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{Envelope, Event, Proof, Time};

use super::{LOOP, at, decision_points, digest, enveloped, nth, steady};

pub(super) fn decision_events(turn: usize) -> Vec<Event> {
    let decision = nth(&HumanDecision::ALL[..4], turn);
    vec![
        requested(turn, None),
        VisibilityOverridden {
            loop_id: LOOP.into(),
            request_id: "REQ-1".into(),
            field: nth(&OverrideField::ALL[..4], turn),
            human_id: "carol".into(),
            reason: "the exit is needed".into(),
            means: means(turn),
            disclosed: digest(9),
        }
        .into(),
        warned(None).into(),
        HumanDecisionAnswered {
            loop_id: LOOP.into(),
            record: record(turn, decision),
            means: means(turn),
            outcome: nth(&HumanDecisionOutcome::ALL[..4], turn),
            audit: audit(turn),
        }
        .into(),
        timed_out(turn, None).into(),
        LateAnswerRecorded {
            loop_id: LOOP.into(),
            request_id: "REQ-1".into(),
            human_id: "alice".into(),
            decision,
            reason: turn.is_multiple_of(2).then(|| "because".into()),
            escalation_target: turn.is_multiple_of(3).then(|| "boss".into()),
            means: means(turn),
            timeout_at: at(300),
        }
        .into(),
        RequestWithdrawn { loop_id: LOOP.into(), request_id: "REQ-1".into() }.into(),
    ]
}

pub(super) fn output_shown() -> Event {
    OutputShown { loop_id: LOOP.into(), request_id: "REQ-1".into() }.into()
}

fn warned(steady: Option<Time>) -> HumanDecisionWarned {
    let (loop_id, request_id) = (LOOP.into(), "REQ-1".into());
    HumanDecisionWarned { loop_id, request_id, due_at: at(240), steady }
}

fn timed_out(turn: usize, ended_by: Option<EndedBy>) -> HumanDecisionTimedOut {
    let record = record(turn, HumanDecision::Abort);
    let (loop_id, due_at, audit, steady) = (LOOP.into(), at(300), audit(turn), steady(ended_by));
    HumanDecisionTimedOut { loop_id, due_at, record, audit, ended_by, steady }
}

/// What ended by each clock, and a warning by the monotonic one.
fn ended_by_clocks() -> impl Iterator<Item = Event> {
    let ended = EndedBy::ALL.iter().enumerate();
    let ended = ended.map(|(turn, by)| timed_out(turn, Some(*by)).into());
    ended.chain([warned(Some(at(241))).into()])
}

/// Questions that tell what was observed of the attempt.
pub(super) fn telling_questions() -> impl Iterator<Item = Event> {
    let exits = [Exit::Unknown, Exit::Status(1), Exit::Signal(11)];
    exits.into_iter().enumerate().map(|(turn, exit)| {
        let fault_type = (turn > 0).then(|| nth(ExecutionFaultType::ALL, turn));
        let duration_ns = (turn > 0).then_some(3_200_000_000);
        let observed = ObservedAttempt { attempts_max: 3, exit, duration_ns, fault_type };
        requested(2 * turn, Some(observed))
    })
}

fn requested(turn: usize, observed: Option<ObservedAttempt>) -> Event {
    let summary = EvidenceSummary {
        observation_point: nth(&ObservationPoint::ALL[..5], turn),
        evidence_type: nth(&EvidenceType::ALL[..5], turn),
        timestamp: "2026-01-25T16:00:00.000000000Z".into(),
        chain_length: 300,
        execution_state: nth(&ExecutionLoopState::ALL[..5], turn),
        confidence_score: Confidence::from_basis_points(nth(&[0, 8_500], turn)).unwrap(),
        chain_hash: digest(4).to_string().into(),
        observed,
    };
    let request = HumanDecisionRequest {
        request_id: "REQ-1".into(),
        session_id: "OBS-1".into(),
        evidence_summary: summary,
        allowed_decisions: HumanDecision::ALL.iter().copied().take(turn % 5).collect(),
        created_at: at(0),
        timeout_at: at(300),
        timeout_decision: HumanDecision::Abort,
    };
    HumanDecisionRequested {
        audit_id: "AUDIT-1".into(),
        request,
        context: context(turn),
        warning_at: at(240),
        request_hash: digest(10),
    }
    .into()
}

fn context(turn: usize) -> RequestContext {
    RequestContext {
        loop_id: LOOP.into(),
        attempt: 2,
        command_line: "sh -c 'true'".into(),
        executor_claim: nth(&ExecutorResponseType::ALL[..5], turn),
        self_hash: digest(4).to_string().into(),
        prior_hash: digest(3).to_string().into(),
        escalation_depth: (turn % 3) as u8,
        asked_of: turn.is_multiple_of(2).then(|| "boss".into()),
        escalated_from: turn.is_multiple_of(2).then(|| "REQ-0".into()),
    }
}

fn record(turn: usize, decision: HumanDecision) -> HumanDecisionRecord {
    HumanDecisionRecord {
        decision_id: "DEC-1".into(),
        request_id: "REQ-1".into(),
        human_id: "alice".into(),
        decision,
        reason: turn.is_multiple_of(2).then(|| "because".into()),
        escalation_target: turn.is_multiple_of(3).then(|| "boss".into()),
        timestamp: "2026-01-25T16:00:01.000000000Z".into(),
        evidence_chain_hash: digest(4).to_string().into(),
    }
}

fn audit(turn: usize) -> AuditEntry {
    AuditEntry {
        audit_id: "AUDIT-1".into(),
        index: turn as u64,
        shown_hash: digest(11),
        prior_hash: nth(&["".into(), digest(3).to_string()], turn).into(),
        self_hash: digest(12).to_string().into(),
        injective_hash: digest(13),
    }
}

fn means(turn: usize) -> AnswerMeans {
    AnswerMeans { channel: nth(&AnswerChannel::ALL[..3], turn), detail: "/dev/pts/3".into() }
}

/// A person accepted that the newest record is ahead.
fn clock_step_accepted() -> Event {
    let by = Principal {
        kind: Actor::Human,
        id: "ada".into(),
        authenticated_by: Authentication::Terminal,
        means: "terminal /dev/pts/1, uid 1000".into(),
    };
    ClockStepAccepted { by, log_time: at(7200), clock: at(3) }.into()
}

/// A person continued a log that was short of its HEAD, which one end is stated with.
pub(super) fn continued() -> impl Iterator<Item = Envelope> {
    let said = |(i, stated_link)| {
        let by = Principal {
            kind: Actor::Human,
            id: "ada".into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/1, uid 1000".into(),
        };
        let continued = LogContinued {
            by,
            source_log: "000102030405060708090a0b0c0d0e0f".into(),
            stated_sequence: 300,
            stated_link,
            kept_sequence: 299,
            kept_link: digest(21),
        };
        let proof = Some(Proof { user: 1000, by: Authentication::Terminal });
        Envelope { proof, ..enveloped(i, continued.into()) }
    };
    [Some(digest(20)), None].into_iter().enumerate().map(said)
}

/// What the own clock is stated with: what ended by each clock, and an accepted step.
pub(super) fn clocked() -> impl Iterator<Item = Envelope> {
    let clocked = |(i, event)| Envelope { clock: Some(at(3)), ..enveloped(i, event) };
    let ended = decision_points::ended_by_clocks().chain(ended_by_clocks());
    let events = ended.chain([clock_step_accepted()]).enumerate();
    let proof = Some(Proof { user: 1000, by: Authentication::Terminal });
    let proven = Envelope { proof, ..clocked((0, clock_step_accepted())) };
    events.map(clocked).chain([proven])
}
