//! HEALTH says what interruption continuity came to, from the audit rows alone.

use holdpoint_domain::Time;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, Fate, FateReason, HealthReport, InterruptionThreadEvent,
    MAX_FINGERPRINT_BYTES, PendingState, ReasonCode, Remainder, RowCommitted, RowEventType,
    RowPayload, RowRefused, Severity, ThreadClosed, issue_fingerprint,
};
use holdpoint_domain::registration::WorkOrderStatus;

fn at(sequence: u64) -> Time {
    Time::from_nanoseconds(sequence * 1_000)
}

fn payload() -> RowPayload {
    RowPayload {
        directive: Directive::Respond,
        confirm_kind: None,
        what_is_missing: None,
        clarification_unit_id: None,
        response_kind: Some("ANSWER".into()),
        dispatch_target: None,
        wait_kind: None,
        work_order_id: "WO-1".into(),
        work_order_status_snapshot: WorkOrderStatus::Executing,
        pending_state: PendingState::None,
        lease_token_hash: None,
        interrupt_resume_policy: None,
    }
}

fn row(tenant: &str, correlation: &str, topic: Option<&str>, reason: ReasonCode) -> RowCommitted {
    RowCommitted {
        tenant_id: tenant.into(),
        correlation_id: correlation.into(),
        turn_id: 7,
        session_id: None,
        user_id: "user".into(),
        device_id: "device".into(),
        event_type: RowEventType::Other,
        severity: Severity::Info,
        reason_code: reason,
        idempotency_key: "key".into(),
        issue_fingerprint: topic.and_then(issue_fingerprint),
        decided_by: DecidedBy::BranchTable,
        dropped_pending: None,
        payload: payload(),
        remainders: List::default(),
    }
}

fn refused(tenant: &str) -> InterruptionThreadEvent {
    InterruptionThreadEvent::RowRefused(RowRefused {
        command: "take_turn".into(),
        tenant_id: tenant.into(),
        correlation_id: "C-1".into(),
        turn_id: 1,
        user_id: "user".into(),
        device_id: "device".into(),
        directive: None,
        reason_code: ReasonCode::FailLeaseRequired,
        class: RefusalClass::Gating,
        message: "no lease".into(),
        idempotency_key: "key".into(),
        remainders: Default::default(),
        tts_control: None,
        issue_fingerprint: None,
    })
}

fn report(events: &[InterruptionThreadEvent]) -> HealthReport {
    let mut report = HealthReport::default();
    for (sequence, event) in (1..).zip(events) {
        report.apply(sequence, at(sequence), event);
    }
    report
}

#[test]
fn a_row_shows_owner_newest_outcome_and_topic() {
    let events = [
        row("T", "C-1", Some("project_status"), ReasonCode::InterruptReturnCheckAsked),
        row("T", "C-2", Some("project_status"), ReasonCode::InterruptDiscard),
    ]
    .map(InterruptionThreadEvent::from);
    let report = report(&events);
    let [row] = report.rows()[..] else { panic!("one issue, one row: {report:?}") };
    assert_eq!(row.owner_engine_id, "PH1.X");
    assert_eq!(row.latest_reason_code, ReasonCode::InterruptDiscard);
    assert_eq!(row.issue_fingerprint.as_deref(), Some("topic:project_status"));
    assert_eq!((row.correlation_id.as_str(), row.latest_turn), ("C-2", 7));
    assert_eq!((row.latest_sequence, row.latest_at, row.occurrences), (2, at(2), 2));
}

#[test]
fn table_only_outcomes_of_interruption_continuity_are_reported() {
    for reason in ReasonCode::ALL {
        let report = report(&[row("T", "C", None, *reason).into()]);
        assert_eq!(report.rows().len(), usize::from(reason.is_branch_outcome()), "{reason}");
    }
    let closed = ThreadClosed { tenant_id: "T".into(), correlation_id: "C".into() };
    assert_eq!(report(&[InterruptionThreadEvent::ThreadClosed(closed)]), HealthReport::default());
}

#[test]
fn rows_without_a_topic_are_one_issue_per_thread_and_never_a_topics() {
    let reason = ReasonCode::InterruptResumeNow;
    let events = [
        row("T", "topic:a", None, reason),
        row("T", "C-1", Some("a"), reason),
        row("T", "topic:a", None, reason),
        row("T", "C-2", None, reason),
    ]
    .map(InterruptionThreadEvent::from);
    let report = report(&events);
    let rows = report.rows();
    let seen: Vec<_> =
        rows.iter().map(|row| (row.correlation_id.as_str(), row.occurrences)).collect();
    assert_eq!(seen, [("C-2", 1), ("topic:a", 2), ("C-1", 1)], "the newest outcome comes first");
}

#[test]
fn a_tenant_sees_its_own_rows_and_refusals_alone() {
    let reason = ReasonCode::InterruptSameSubjectAppend;
    let events = [
        row("A", "C", Some("x"), reason).into(),
        row("B", "C", Some("x"), reason).into(),
        refused("A"),
        refused("A"),
    ];
    let report = report(&events);
    let rows = report.rows().into_iter().map(|row| (row.tenant_id.as_str(), row.latest_sequence));
    assert_eq!(rows.collect::<Vec<_>>(), [("B", 2), ("A", 1)]);
    let refusals = ["A", "B", "C"].map(|tenant| report.refusals_of(tenant));
    assert_eq!(refusals, [2, 0, 0]);
}

#[test]
fn the_report_reads_as_rows_and_refusals() {
    let events = [row("A", "C", None, ReasonCode::InterruptCancel).into(), refused("B")];
    let shown = serde_json::to_value(report(&events)).unwrap();
    let row = serde_json::json!({
        "owner_engine_id": "PH1.X", "tenant_id": "A", "correlation_id": "C",
        "latest_reason_code": "X_INTERRUPT_CANCEL", "issue_fingerprint": null, "latest_turn": 7,
        "latest_sequence": 1, "latest_at": "1970-01-01T00:00:00.000001000Z", "occurrences": 1,
    });
    assert_eq!(shown, serde_json::json!({ "rows": [row], "refusals": { "B": 1 } }));
}

#[test]
fn a_topic_that_is_a_token_is_its_own_marker() {
    for topic in ["project_status", "A.b-9", &"t".repeat(122)] {
        assert_eq!(issue_fingerprint(topic), Some(Text::from(format!("topic:{topic}"))));
    }
}

#[test]
fn every_marker_is_a_bounded_ascii_token_and_no_two_topics_share_one() {
    let long = "t".repeat(123);
    let wide = "\u{e9}".repeat(300);
    let changed = issue_fingerprint("x y").unwrap();
    let own = changed.strip_prefix("topic:").unwrap();
    let again = issue_fingerprint(own).unwrap();
    let own_again = again.strip_prefix("topic:").unwrap();
    let topics = [
        "a b",
        "a_b",
        "a\u{a0}b",
        " a b",
        "a:b",
        "\u{1f600}",
        "a\nb",
        &long,
        &wide,
        "x y",
        own,
        own_again,
    ];
    let markers: std::collections::BTreeSet<_> =
        topics.iter().map(|topic| issue_fingerprint(topic).unwrap().into_string()).collect();
    assert_eq!(markers.len(), topics.len(), "{markers:?}");
    for marker in markers {
        assert!(marker.len() <= MAX_FINGERPRINT_BYTES, "{marker}");
        let token = marker.strip_prefix("topic:").unwrap();
        assert!(token.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)), "{marker}");
    }
}

#[test]
fn a_changed_topic_carries_the_first_32_digits_of_its_hash() {
    let digits = &sha256(b"a b").to_string()[..32];
    assert_eq!(issue_fingerprint("a b"), Some(Text::from(format!("topic:a_b-{digits}"))));
}

#[test]
fn a_blank_topic_has_no_marker() {
    for topic in ["", " ", "\n\t", "\u{3000}"] {
        assert_eq!(issue_fingerprint(topic), None, "{topic:?}");
    }
}

#[test]
fn words_that_were_lost_with_a_refused_turn_are_an_outcome_unless_a_stranger_says_so() {
    let lost = |class, reason_code, words: usize| {
        let InterruptionThreadEvent::RowRefused(row) = refused("T") else { unreachable!() };
        let remainder = Remainder {
            captured_turn: 1,
            answer_id: 1,
            speaker_user_id: "user".into(),
            fate: Fate::Discarded,
            reason: FateReason::TurnRefused,
        };
        let remainders = (0..words).map(|_| remainder.clone()).collect();
        let issue_fingerprint = issue_fingerprint("a");
        let row = RowRefused { class, reason_code, remainders, issue_fingerprint, ..row };
        report(&[row.into()]).rows().len()
    };
    let (stale, order) = (ReasonCode::FailSnapshotStale, ReasonCode::FailTurnOrder);
    assert_eq!(lost(RefusalClass::Continuity, stale, 1), 1);
    assert_eq!(lost(RefusalClass::Continuity, ReasonCode::ConfirmAnswerInvalid, 0), 1);
    assert_eq!(
        (lost(RefusalClass::Continuity, order, 1), lost(RefusalClass::Gating, order, 0)),
        (1, 0)
    );
    assert_eq!(lost(RefusalClass::Scope, ReasonCode::FailTenantScopeInvalid, 1), 0);
}
