//! One test for each row of `src/weaknesses.md` about decisions, by the name that the row gives.

use crate::sessions::AT;
use crate::sessions::decisions::{
    accepted, after, at, audit_of, bindings, context, request, request_in, summary,
};
use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceType, ObservationPoint, StopCondition,
};
use holdpoint_domain::execution_loop::{ExecutionLoopState, ExecutorResponseType, Exit};
use holdpoint_domain::human_decision::{
    AnswerRefusal, AuditHead, EvidenceSummary, HumanDecision, HumanDecisionAnswered,
    HumanDecisionBinding, HumanDecisionCommand, HumanDecisionEvent, HumanDecisionOutcome,
    HumanDecisionRecord, HumanDecisionRequest, HumanDecisionTimeout, MAX_TIMEOUT_MS,
    ObservedAttempt, RequestContext, RequestRefusal, accept_decision, accept_decision_in_time,
    apply_decision, create_request, create_timeout_decision, injective_request_hash,
    record_decision, record_hash, shown_hash,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{Command, Event, decide};
use holdpoint_testing::chains::DecisionTrail;
use holdpoint_testing::story::held::TIMEOUT_MS;
use holdpoint_testing::story::{Story, halt};
use serde_json::json;

use ExecutionLoopState::{AwaitingResponse, Evaluated, Halted};
use HumanDecision::{Abort, Continue, Escalate, Retry};

fn injective(record: &HumanDecisionRecord) -> Digest {
    let binding = HumanDecisionBinding { shown: sha256(b"shown"), means: None };
    record_decision(&AuditHead::genesis("AUDIT-1", "OBS-1"), record, &binding).injective_head
}

fn with(reason: Option<&str>, target: Option<&str>) -> HumanDecisionRecord {
    HumanDecisionRecord {
        reason: reason.map(Into::into),
        escalation_target: target.map(Into::into),
        ..accepted(Escalate)
    }
}

#[test]
fn w1_bytes_moved_between_a_decisions_fields_change_its_hash() {
    let pairs = [
        (with(Some("r"), Some("t\0boss")), with(Some("r\0t"), Some("boss"))),
        (with(None, None), with(Some(""), Some(""))),
        (
            HumanDecisionRecord { decision: Abort, ..with(Some("CONTINUE\0looks fine"), Some("")) },
            HumanDecisionRecord {
                human_id: "alice\0ABORT".into(),
                decision: Continue,
                ..with(Some("looks fine"), Some(""))
            },
        ),
    ];
    for (one, other) in pairs {
        assert_eq!(record_hash(&one, ""), record_hash(&other, ""));
        assert_ne!(injective(&one), injective(&other), "{one:?}");
    }
}

/// What was recorded of a trail: of its beginning, and of each decision.
fn recorded(trail: &DecisionTrail) -> Vec<Digest> {
    let heads = trail.heads(&bindings(trail.records.len()));
    heads.iter().map(|head| head.injective_head).collect()
}

#[test]
fn w2_an_audit_belongs_to_its_session_and_id() {
    let audit = audit_of(3);
    let renamed = DecisionTrail { audit_id: "OTHER".into(), ..audit.clone() };
    let moved = DecisionTrail { session_id: "OTHER".into(), ..audit.clone() };
    for other in [renamed, moved] {
        assert!(other.is_valid());
        let same = recorded(&other).into_iter().zip(recorded(&audit)).filter(|(a, b)| a == b);
        assert_eq!(same.count(), 0);
    }
}

#[test]
fn w3_truncated_rewritten_and_extended_audits_are_located() {
    let audit = audit_of(4);
    let mut rewritten = audit.records.clone();
    rewritten[2].reason = Some("another".into());
    let same = |other: &DecisionTrail| {
        assert!(other.is_valid());
        let pairs = recorded(other).into_iter().zip(recorded(&audit));
        pairs.take_while(|(found, expected)| found == expected).count()
    };
    assert_eq!(same(&audit.stating(audit.records[..3].to_vec())), 4);
    assert_eq!(recorded(&audit).len(), 5);
    assert_eq!(same(&audit.stating(rewritten)), 3);
    assert_eq!(same(&audit_of(5)), 5);
}

#[test]
fn w4_validation_remembers_nothing() {
    let honest = audit_of(3);
    let mut tampered = honest.clone();
    tampered.records[0].human_id = "mallory".into();
    tampered.records[0].decision = Continue;
    let mut grown = audit_of(4);
    grown.records[..3].clone_from_slice(&tampered.records);
    for _ in 0..3 {
        assert!(honest.is_valid());
        assert!(!tampered.is_valid());
        assert!(!grown.is_valid());
        assert!(audit_of(2).is_valid());
    }
}

/// Whatever an answer's record lacks, or says of the trail, it is found and decides nothing.
#[test]
fn w5_a_broken_trail_and_an_incomplete_record_are_refused() {
    type Change = fn(&mut HumanDecisionAnswered);
    let changes: [Change; 8] = [
        |b| b.audit.index = 7,
        |b| b.audit.prior_hash = "deadbeef".into(),
        |b| b.audit.self_hash = "deadbeef".into(),
        |b| b.audit.injective_hash = sha256(b"another"),
        |b| b.record.human_id = "".into(),
        |b| b.record.human_id = "\u{200b}".into(),
        |b| b.record.reason = None,
        |b| b.record.reason = Some("\u{200b}".into()),
    ];
    for change in changes {
        let mut story = Story::asked();
        let mut body = answered(&story, Retry);
        change(&mut body);
        assert_ne!(story.record(body.into()), []);
        assert!(story.held().is_open());
        assert_eq!(story.json()["decision_audit"]["length"], 0);
    }
    let mut story = Story::asked();
    let honest = answered(&story, Retry);
    assert_eq!(story.record(honest.into()), []);
    assert_eq!(story.json()["decision_audit"]["length"], 1);
}

#[test]
fn w5_a_request_stands_once_in_a_trail() {
    let mut story = Story::asked();
    let (first, second) = (answered(&story, Retry), answered(&story, Abort));
    assert_eq!(story.record(first.clone().into()), []);
    let head = story.entity().decisions.audit.clone();
    for again in [first, second] {
        assert_ne!(story.record(again.into()), []);
        assert_eq!(story.entity().decisions.audit, head);
    }
}

/// What is recorded where alice answers now.
fn answered(story: &Story, decision: HumanDecision) -> HumanDecisionAnswered {
    let events = decide(&story.world, &story.decides(decision), story.now).unwrap();
    let Some(Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body))) =
        events.into_iter().next()
    else {
        panic!("an answer comes first")
    };
    *body
}

#[test]
fn w6_an_answer_counts_only_between_creation_and_deadline() {
    let answer = |at: &str| {
        let at: Timestamp = at.parse().unwrap();
        accept_decision_in_time(&request(), Abort, "alice", None, None, at, "1")
    };
    for at in ["2031-01-25T16:00:00Z", "1970-01-01T00:00:00Z", "2026-01-25T16:05:00Z"] {
        assert!(answer(at).is_err(), "{at}");
    }
    assert!(answer("2026-01-25T16:04:59.999999999Z").is_ok());
    for text in ["", "not a time", "2026-01-25"] {
        assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
    }
}

#[test]
fn w6_nobody_answers_as_the_timeout() {
    let refused = accept_decision(&request(), Continue, "SYSTEM_TIMEOUT", None, None, AT, "1");
    assert_eq!(refused, Err(AnswerRefusal::HumanReserved));
}

#[test]
fn w6_text_that_nobody_can_see_is_missing() {
    for hidden in ["\u{200b}", "\0", "\u{2060}", "\u{feff}", "\u{7f}", "\u{202e}", "\u{ad}"] {
        let by = accept_decision(&request(), Abort, hidden, None, None, AT, "1");
        assert_eq!(by, Err(AnswerRefusal::HumanMissing), "{hidden:?}");
        let reason = accept_decision(&request(), Retry, "alice", Some(hidden), None, AT, "1");
        assert_eq!(reason, Err(AnswerRefusal::ReasonMissing { decision: Retry }), "{hidden:?}");
        let (reason, target) = (Some("r"), Some(hidden));
        let target = accept_decision(&request(), Escalate, "alice", reason, target, AT, "1");
        assert_eq!(target, Err(AnswerRefusal::TargetMissing), "{hidden:?}");
    }
}

#[test]
fn w6_abort_is_always_allowed() {
    let nothing = request().without(Continue).without(Retry).without(Escalate);
    assert!(accept_decision(&nothing, Abort, "alice", None, None, AT, "1").is_ok());
    assert!(accept_decision(&nothing, Continue, "alice", None, None, AT, "1").is_err());
    assert!(nothing.clone().without(Abort).allows(Abort));
}

#[test]
fn w6_an_answer_is_used_once_with_its_means_on_record() {
    let mut story = Story::asked();
    let answer = story.answer(Escalate);
    story.given(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer.clone())));
    assert!(
        story
            .when(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)))
            .is_err()
    );
    let first = &story.entity().decisions.requests[0];
    let means = first.decided().unwrap().means.as_ref().unwrap();
    assert_eq!(means.detail.as_str(), "/dev/pts/3");
    let mut kept = Story::asked();
    let mut targeted = kept.answer(Continue);
    targeted.escalation_target = Some("boss".into());
    let refusal = kept
        .when(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(targeted)))
        .unwrap_err();
    assert_eq!(refusal.code(), "UNEXPECTED_TARGET");
}

#[test]
fn w7_a_deadline_is_a_time_within_bounds() {
    for milliseconds in [0, MAX_TIMEOUT_MS + 1, u64::MAX] {
        assert!(HumanDecisionTimeout::from_milliseconds(milliseconds).is_err(), "{milliseconds}");
    }
    assert_eq!(request().timeout_at, after(300));
    let late = Timestamp::from_nanoseconds(u64::MAX);
    let refused = create_request("OBS-1", summary(), HumanDecisionTimeout::DEFAULT, late, "1");
    assert!(matches!(refused, Err(RequestRefusal::NoDeadline { .. })), "{refused:?}");
}

#[test]
fn w7_confidence_and_names_are_of_closed_sets() {
    for basis_points in [10_000, 25_000, u16::MAX] {
        assert!(Confidence::from_basis_points(basis_points).is_err(), "{basis_points}");
    }
    let honest = serde_json::to_value(summary()).unwrap();
    for (field, value) in [
        ("observation_point", "<script>RAW</script>".into()),
        ("execution_state", "NO_SUCH_STATE".into()),
        ("evidence_type", "".into()),
        ("chain_length", (-9).into()),
        ("confidence_basis_points", 10_000.into()),
    ] {
        let mut forged = honest.clone();
        forged[field] = value;
        assert!(serde_json::from_value::<EvidenceSummary>(forged).is_err(), "{field}");
    }
}

#[test]
fn w7_evidence_is_verified_before_anybody_is_asked() {
    let mut story = Story::in_state(AwaitingResponse);
    for event in decide(&story.world, &story.output(b"forged"), story.now).unwrap() {
        let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(mut body)) = event else {
            panic!("evidence is captured")
        };
        body.self_hash = "00".into();
        assert_ne!(story.record(body.into()), []);
    }
    for command in [story.report(ExecutorResponseType::Failure), story.ask()] {
        let events = decide(&story.world, &command, story.now).unwrap();
        let asked = |event: &Event| matches!(event, Event::HumanDecision(_));
        assert!(!events.iter().any(asked), "{events:?}");
        let stopped = halt(&events).unwrap().stop_condition;
        assert_eq!(stopped, Some(StopCondition::EvidenceChainBroken));
    }
    let timeless = EvidenceSummary { timestamp: "soon".into(), ..summary() };
    let refused = create_request("OBS-1", timeless, HumanDecisionTimeout::DEFAULT, at(), "1");
    assert!(matches!(refused, Err(RequestRefusal::EvidenceTime(_))), "{refused:?}");
}

#[test]
fn w7_a_halted_loop_offers_nothing_but_abort() {
    assert_eq!(request_in(Halted).allowed_decisions.to_vec(), [Abort]);
    for state in ExecutionLoopState::ALL.iter().filter(|state| **state != Halted) {
        assert_eq!(request_in(*state).allowed_decisions.to_vec(), HumanDecision::ALL, "{state}");
    }
}

#[test]
fn w7_a_timeout_is_recorded_only_when_it_is_due() {
    let mut story = Story::asked();
    let expire = story.expire(story.held().request_id());
    assert_eq!(story.when(expire.clone()).unwrap_err().code(), "NOT_DUE");
    story.wait(TIMEOUT_MS);
    story.given(expire);
    assert!(!story.held().is_open());
}

type Change = fn(&mut HumanDecisionRequest, &mut RequestContext);

fn observed(request: &mut HumanDecisionRequest) -> &mut ObservedAttempt {
    request.evidence_summary.observed.as_mut().unwrap()
}

#[test]
fn w7_a_decision_binds_all_that_the_person_saw() {
    let changes: [Change; 25] = [
        |r, _| r.request_id = "x".into(),
        |r, _| r.session_id = "x".into(),
        |r, _| r.evidence_summary.observation_point = ObservationPoint::HaltEntry,
        |r, _| r.evidence_summary.evidence_type = EvidenceType::StopCondition,
        |r, _| r.evidence_summary.timestamp = "2026-01-25T16:00:01Z".into(),
        |r, _| r.evidence_summary.chain_length += 1,
        |r, _| r.evidence_summary.execution_state = Halted,
        |r, _| r.evidence_summary.confidence_score = Confidence::MAX,
        |r, _| r.evidence_summary.chain_hash = "x".into(),
        |r, _| r.evidence_summary.observed = None,
        |r, _| observed(r).attempts_max = 2,
        |r, _| observed(r).exit = Exit::Signal(1),
        |r, _| observed(r).duration_ns = None,
        |r, _| observed(r).fault_type = Some(ExecutionFaultType::Crash),
        |r, _| *r = r.clone().without(Retry),
        |r, _| r.created_at = after(1),
        |r, _| r.timeout_at = after(1),
        |r, _| r.timeout_decision = Continue,
        |_, c| c.loop_id = "x".into(),
        |_, c| c.attempt = 2,
        |_, c| c.command_line = "x".into(),
        |_, c| c.executor_claim = ExecutorResponseType::Success,
        |_, c| c.escalation_depth = 1,
        |_, c| c.asked_of = Some("".into()),
        |_, c| c.escalated_from = Some("x".into()),
    ];
    let mut seen = vec![injective_request_hash(&context(), &request())];
    for change in changes {
        let (mut request, mut context) = (request(), context());
        change(&mut request, &mut context);
        seen.push(injective_request_hash(&context, &request));
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    let disclosed = [sha256(b"exit")];
    assert_ne!(shown_hash(&seen[0], &[]), shown_hash(&seen[0], &disclosed));
}

#[test]
fn w8_a_halted_loop_takes_neither_continue_nor_retry() {
    for decision in [Continue, Retry] {
        let outcome = apply_decision(&accepted(decision), Halted, 0, 3);
        assert_eq!(outcome, HumanDecisionOutcome::Rejected, "{decision}");
    }
    for name in ["", "NOPE", "halted", " HALTED"] {
        assert_eq!(ExecutionLoopState::from_name(name), None, "{name:?}");
    }
    let mut story = Story::in_state(Halted);
    assert_eq!(story.when(story.ask()).unwrap_err().code(), "LOOP_NOT_LIVE");
}

#[test]
fn w8_retries_are_counted_from_zero() {
    for count in [-1, -5, i64::MIN, 3, i64::MAX] {
        let outcome = apply_decision(&accepted(Retry), Evaluated, count, 3);
        assert_eq!(outcome, HumanDecisionOutcome::Rejected, "{count}");
    }
}

#[test]
fn w8_an_incomplete_decision_is_not_applied() {
    let unreasoned = HumanDecisionRecord { reason: None, ..accepted(Retry) };
    let untargeted = with(Some("r"), Some("  "));
    let unnamed = HumanDecisionRecord { human_id: " ".into(), ..accepted(Continue) };
    let unseen = HumanDecisionRecord { human_id: "\u{200b}".into(), ..accepted(Continue) };
    for record in [unreasoned, untargeted, unnamed, unseen] {
        let outcome = apply_decision(&record, Evaluated, 0, 3);
        assert_eq!(outcome, HumanDecisionOutcome::Rejected, "{record:?}");
    }
}

#[test]
fn w8_a_timeout_has_its_own_outcome() {
    let record = create_timeout_decision(&request(), AT, "1");
    for state in ExecutionLoopState::ALL {
        assert_eq!(apply_decision(&record, *state, 0, 3), HumanDecisionOutcome::Timeout, "{state}");
    }
}

#[test]
fn the_audit_trail_is_shown_with_its_head_its_length_and_its_decisions() {
    let mut story = Story::asked();
    assert_eq!(story.json()["decision_audit"]["length"], 0);
    story.given(story.decides(Escalate));
    let first = story.json()["decision_audit"]["head_hash"].clone();
    let mut abort = story.answer(Abort);
    abort.human_id = "boss".into();
    story.given(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(abort)));
    let trail = &story.json()["decision_audit"];
    assert_eq!((&trail["length"], trail["records"].as_array().unwrap().len()), (&json!(2), 2));
    assert_ne!(trail["head_hash"], first);
    assert_eq!(trail["session_id"], story.json()["observer"]["session_id"]);
    let decided = trail["records"].as_array().unwrap().iter().map(|record| &record["decision"]);
    assert_eq!(decided.collect::<Vec<_>>(), ["ESCALATE", "ABORT"]);
    assert!(trail["audit_id"].as_str().unwrap().starts_with("AUDIT-"));
    let head = trail["records"].as_array().unwrap().iter().fold(String::new(), hashed_by_hand);
    assert_eq!(trail["head_hash"], head);
}

/// The seed's hash of a decision after this one (Phase-32), as anybody could compute it.
fn hashed_by_hand(prior: String, record: &serde_json::Value) -> String {
    let names = ["decision_id", "request_id", "human_id", "decision", "reason"];
    let rest = ["escalation_target", "timestamp", "evidence_chain_hash"];
    let fields = names.iter().chain(&rest).map(|name| record[name].as_str().unwrap_or_default());
    let joined: Vec<&str> = fields.chain([prior.as_str()]).collect();
    sha256(joined.join("\0").as_bytes()).to_string()
}
