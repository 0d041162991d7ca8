//! Samples of `interruption_thread`, with every member of every closed enum that its events hold.

use holdpoint_domain::Event;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::interruption_thread::{
    Advice, BufferExpired, Clarify, ConfidenceBand, ConfidenceBundle, ConfirmAnswer,
    ContinuityOutcome, DecidedBy, DegradationContext, DeliveryHint, Directive, Dispatch,
    DispatchKind, DuplexBranch, ExplainTrigger, Explanation, Fate, FateReason, GateConfidences,
    Heard, IntentClass, IntentHypothesis, InterruptCandidate, Interruption,
    InterruptionThreadEvent, Marks, PartialTranscript, Pending, PendingDisarmed, PendingState,
    Ph1kToPh1xInterruptHandoff, PlanDrafted, ReasonCode, Remainder, RemainderDisplaced,
    RemaindersDiscarded, ResumePolicy, ReturnCheck, ReturnCheckExpired, RiskContextClass,
    RowCommitted, RowEventType, RowPayload, RowRefused, RowsRead, Severity, SpeculativePlan,
    SpeechWindowMetrics, StyleAdvice, SubjectRelation, ThreadClosed, ThreadMoved, TimingMarkers,
    ToolStatus, TtsControl, TtsResumeSnapshot, TurnCommitDecision, TurnCommitted, TurnDecision,
    TurnInput, TurnRequest, TurnTaken, ValidationStatus,
};
use holdpoint_domain::registration::{
    Capability, CapabilityChanged, DeviceRegistered, LeaseRegistered, LeaseStatus,
    RegistrationStatus, SessionRegistered, SessionStatus, TenantRegistered, UserRegistered,
    WorkOrderRegistered, WorkOrderStatus,
};

use super::{at, digest, nth};

pub(super) const TENANT: &str = "tenant";
pub(super) const THREAD: &str = "thread \u{e9}";

pub(super) fn thread_events() -> Vec<Event> {
    let mut events: Vec<Event> = (0..7).flat_map(registrations).collect();
    events.extend((0..30).map(turn_taken));
    events.extend((0..41).map(row_committed));
    events.extend((0..9).map(row_refused));
    events.extend(endings());
    events
}

fn registrations(turn: usize) -> Vec<Event> {
    let status = nth(&RegistrationStatus::ALL[..3], turn);
    let (tenant_id, user_id, device_id) =
        (|| Text::from(TENANT), || Text::from("alice"), || Text::from("phone"));
    vec![
        CapabilityChanged {
            actor_kind: nth(&Actor::ALL[..4], turn),
            actor_id: "selene-os".into(),
            capability: nth(&Capability::ALL[..1], turn),
            is_granted: turn.is_multiple_of(2),
        }
        .into(),
        TenantRegistered { tenant_id: tenant_id(), status }.into(),
        UserRegistered { tenant_id: tenant_id(), user_id: user_id(), status }.into(),
        DeviceRegistered {
            tenant_id: tenant_id(),
            device_id: device_id(),
            user_id: user_id(),
            status,
        }
        .into(),
        SessionRegistered {
            tenant_id: tenant_id(),
            session_id: "session".into(),
            user_id: user_id(),
            device_id: device_id(),
            status: nth(&SessionStatus::ALL[..3], turn),
        }
        .into(),
        WorkOrderRegistered {
            tenant_id: tenant_id(),
            work_order_id: "WO-1".into(),
            correlation_id: THREAD.into(),
            status: nth(&WorkOrderStatus::ALL[..7], turn),
        }
        .into(),
        LeaseRegistered {
            tenant_id: tenant_id(),
            work_order_id: "WO-1".into(),
            lease_token_hash: digest(17),
            expires_at: at(60),
            status: nth(&LeaseStatus::ALL[..3], turn),
        }
        .into(),
    ]
}

fn turn_taken(turn: usize) -> Event {
    TurnTaken {
        tenant_id: TENANT.into(),
        correlation_id: THREAD.into(),
        turn_id: turn as u64 + 1,
        session_id: turn.is_multiple_of(2).then(|| "session".into()),
        session_status: nth(&SessionStatus::ALL[..3], turn),
        request: request(turn).into(),
        decision: decision(turn).into(),
        state_before: digest(18),
        state_after: digest(19),
    }
    .into()
}

fn request(turn: usize) -> TurnRequest {
    let relation = turn.is_multiple_of(2).then(|| nth(&SubjectRelation::ALL[..3], turn / 2));
    let snapshot = TtsResumeSnapshot {
        answer_id: u64::MAX >> turn,
        topic_hint: turn.is_multiple_of(2).then(|| "weather".into()),
        response_text: "It will rain. Take a coat.".into(),
        spoken_cursor_byte: 13,
    };
    TurnRequest {
        subject_ref: "weather".into(),
        active_speaker_user_id: "alice".into(),
        input: input(turn),
        confirm_answer: (!turn.is_multiple_of(3)).then(|| nth(&ConfirmAnswer::ALL[..2], turn)),
        interruption: turn.is_multiple_of(3).then(|| interruption(turn / 3)),
        interrupt_subject_relation: relation,
        interrupt_subject_relation_confidence_bp: relation.map(|_| points(7_000)),
        tts_resume_snapshot: turn.is_multiple_of(3).then_some(snapshot),
        sensitive_memory_present: turn.is_multiple_of(5),
        advice: advice(turn),
    }
}

fn input(turn: usize) -> TurnInput {
    let response_text = || Text::from("It is noon.");
    let inputs = [
        TurnInput::None,
        TurnInput::Chat { response_text: response_text() },
        TurnInput::Intent {
            intent_type: "TIME_QUERY".into(),
            class: nth(&IntentClass::ALL[..5], turn / 6),
        },
        TurnInput::NlpClarify {
            question: "When?".into(),
            accepted_answer_formats: ["A day".into(), "A time".into()].into_iter().collect(),
            missing_fields: (0..=turn % 3).map(|i| Text::from(format!("FIELD_{i}"))).collect(),
        },
        TurnInput::ToolResponse {
            request_id: "TOOL-1".into(),
            status: nth(&ToolStatus::ALL[..3], turn / 6),
            response_text: response_text(),
        },
        TurnInput::LastFailure { response_text: response_text() },
    ];
    nth(&inputs, turn)
}

fn interruption(turn: usize) -> Interruption {
    Interruption {
        phrase_id: 251,
        trigger_phrase_id: 251,
        trigger_locale: "en-US".into(),
        phrase_text: "wait".into(),
        phrase_set_version: 1,
        phrase_confidence_bp: points(9_500),
        candidate_confidence_band: nth(&ConfidenceBand::ALL[..3], turn),
        risk_context_class: nth(&RiskContextClass::ALL[..3], turn),
        degradation_context: degradation(turn),
        timing_markers: TimingMarkers {
            window_start: at(1).nanoseconds(),
            window_end: at(2).nanoseconds(),
        },
        t_event: at(2).nanoseconds(),
        speech_window_metrics: SpeechWindowMetrics { voiced_window_ms: 1_000 },
        gate_confidences: gates(turn),
        subject_relation_confidence_bundle: ConfidenceBundle {
            lexical_bp: points(9_500),
            vad_bp: points(9_000),
            speech_likeness_bp: points(250),
            echo_safe_bp: points(10_000),
            nearfield_bp: gates(turn).nearfield_bp,
            combined_bp: points(0),
        },
    }
}

fn degradation(turn: usize) -> DegradationContext {
    DegradationContext {
        capture_degraded: turn % 5 == 1,
        aec_unstable: turn % 5 == 2,
        device_changed: turn % 5 == 3,
        stream_gap_detected: turn % 5 == 4,
    }
}

fn gates(turn: usize) -> GateConfidences {
    GateConfidences {
        vad_bp: points(9_000),
        speech_likeness_bp: points(250),
        echo_safe_bp: points(10_000),
        phrase_bp: points(9_500),
        nearfield_bp: turn.is_multiple_of(2).then(|| points(251)),
    }
}

fn advice(turn: usize) -> Advice {
    let style = |turn: usize| StyleAdvice {
        validation_status: nth(&ValidationStatus::ALL[..2], turn),
        profile: "calm".into(),
    };
    let handoff = Ph1kToPh1xInterruptHandoff {
        candidate_confidence_band: nth(&ConfidenceBand::ALL[..3], turn),
        gate_confidences: gates(turn),
        degradation_context: degradation(turn),
        risk_context_class: nth(&RiskContextClass::ALL[..3], turn),
    };
    let explanation = Explanation {
        trigger: nth(&ExplainTrigger::ALL[..3], turn),
        text: "Because you asked.".into(),
    };
    Advice {
        prune_selected_missing_field: (turn % 4 == 1).then(|| "FIELD_1".into()),
        interrupt_handoff: (turn % 4 == 2).then_some(handoff),
        emo_guide: (turn % 4 == 3).then(|| style(turn / 4)),
        persona: (turn % 4 == 3).then(|| style(turn / 4 + 1)),
        explain: (turn % 5 == 1).then_some(explanation),
    }
}

fn decision(turn: usize) -> TurnDecision {
    let clarify = Clarify {
        question: "When?".into(),
        accepted_answer_formats: ["A day".into(), "A time".into()].into_iter().collect(),
        what_is_missing: "WHEN".into(),
    };
    let dispatch = Dispatch {
        kind: nth(&DispatchKind::ALL[..2], turn / 5),
        intent_type: "TIME_QUERY".into(),
        request_id: (turn % 10 == 3).then(|| "TOOL-1".into()),
    };
    let directive = nth(&Directive::ALL[..5], turn);
    let continuity = nth(&ContinuityOutcome::ALL[..2], turn);
    TurnDecision {
        directive,
        reason_code: nth(&ReasonCode::ALL[..28], turn),
        interrupt_continuity_outcome: (!turn.is_multiple_of(3)).then_some(continuity),
        interrupt_resume_policy: (!turn.is_multiple_of(4))
            .then(|| nth(&ResumePolicy::ALL[..3], turn)),
        tts_control: turn.is_multiple_of(3).then(|| nth(&TtsControl::ALL[..1], turn)),
        delivery_hint: nth(&DeliveryHint::ALL[..2], turn),
        kind: "TIME_QUERY".into(),
        response_text: (directive == Directive::Respond).then(|| "It is noon.".into()),
        clarify: (directive == Directive::Clarify).then_some(clarify),
        dispatch: (directive == Directive::Dispatch).then_some(dispatch),
        remainders: (0..turn % 3).map(|i| remainder(turn + i)).collect(),
        dropped_pending: (turn % 4 == 1).then(|| nth(&PendingState::ALL[..6], turn / 4)),
        after: marks(turn),
    }
}

pub(super) fn remainder(turn: usize) -> Remainder {
    Remainder {
        captured_turn: turn as u64,
        answer_id: 300,
        speaker_user_id: "alice".into(),
        fate: nth(&Fate::ALL[..4], turn),
        reason: nth(&FateReason::ALL[..13], turn),
    }
}

fn marks(turn: usize) -> Marks {
    let some = |name: &str| turn.is_multiple_of(2).then(|| Text::from(name));
    Marks {
        active_subject_ref: some("time"),
        interrupted_subject_ref: some("weather"),
        return_check: (turn % 3 == 1)
            .then(|| ReturnCheck { captured_turn: turn as u64, expires_at: at(60) }),
        return_check_lapsed: turn % 3 == 2,
        buffer_lapsed: turn % 5 == 2,
        active_speaker_user_id: some("alice"),
        active_session_id: some("session"),
        pending: (!turn.is_multiple_of(6)).then(|| pending(turn % 6 - 1)),
    }
}

fn pending(member: usize) -> Pending {
    let members = [
        Pending::Clarify { missing_field: "WHEN".into(), attempts: 1 },
        Pending::Confirm { intent_type: "PAY".into(), attempts: 2 },
        Pending::MemoryPermission {
            deferred_response_text: "You said so.".into(),
            resumes_turn: Some(3),
            attempts: 3,
        },
        Pending::Tool { request_id: "TOOL-1".into(), attempts: 4 },
        Pending::StepUp { attempts: 10 },
    ];
    nth(&members, member)
}

pub(super) fn row_committed(turn: usize) -> Event {
    let directive = nth(&Directive::ALL[..5], turn);
    RowCommitted {
        tenant_id: TENANT.into(),
        correlation_id: THREAD.into(),
        turn_id: turn as u64 + 1,
        session_id: turn.is_multiple_of(2).then(|| "session".into()),
        user_id: "alice".into(),
        device_id: "phone".into(),
        event_type: nth(&RowEventType::ALL[..3], turn),
        severity: nth(&Severity::ALL[..2], turn),
        reason_code: nth(&ReasonCode::ALL[..41], turn),
        idempotency_key: "key".into(),
        issue_fingerprint: turn.is_multiple_of(3).then(|| "PH1.X:weather".into()),
        decided_by: nth(&DecidedBy::ALL[..2], turn / 5),
        dropped_pending: (turn % 4 == 1).then(|| nth(&PendingState::ALL[..6], turn / 4)),
        payload: payload(directive, turn),
        remainders: List::default(),
    }
    .into()
}

fn payload(directive: Directive, turn: usize) -> RowPayload {
    let kind_of = |of: Directive| (directive == of).then(|| Text::from("TIME_QUERY"));
    RowPayload {
        directive,
        confirm_kind: kind_of(Directive::Confirm),
        what_is_missing: kind_of(Directive::Clarify),
        clarification_unit_id: kind_of(Directive::Clarify),
        response_kind: kind_of(Directive::Respond),
        dispatch_target: kind_of(Directive::Dispatch),
        wait_kind: kind_of(Directive::Wait),
        work_order_id: "WO-1".into(),
        work_order_status_snapshot: nth(&WorkOrderStatus::ALL[..7], turn),
        pending_state: nth(&PendingState::ALL[..6], turn),
        lease_token_hash: (directive == Directive::Dispatch).then(|| digest(17)),
        interrupt_resume_policy: (!turn.is_multiple_of(4))
            .then(|| nth(&ResumePolicy::ALL[..3], turn)),
    }
}

pub(super) fn row_refused(turn: usize) -> Event {
    RowRefused {
        command: "interruption_thread.take_turn".into(),
        tenant_id: TENANT.into(),
        correlation_id: THREAD.into(),
        turn_id: u64::MAX,
        user_id: "alice".into(),
        device_id: "phone".into(),
        directive: (!turn.is_multiple_of(6)).then(|| nth(&Directive::ALL[..5], turn)),
        reason_code: nth(&ReasonCode::ALL[32..41], turn),
        class: nth(&RefusalClass::ALL[..4], turn),
        message: "turn_id: expected above 9, found 9".into(),
        idempotency_key: "key".into(),
        remainders: (0..turn % 2).map(remainder).collect(),
        tts_control: None,
        issue_fingerprint: None,
    }
    .into()
}

fn endings() -> Vec<Event> {
    let (tenant_id, correlation_id) = (|| Text::from(TENANT), || Text::from(THREAD));
    let discarded = |count: usize, session: Option<&str>, reason_code| RemaindersDiscarded {
        tenant_id: tenant_id(),
        correlation_id: correlation_id(),
        session_id: session.map(Text::from),
        remainders: (0..count).map(remainder).collect(),
        reason_code,
        interrupt_resume_policy: ResumePolicy::Discard,
        issue_fingerprint: None,
    };
    let read = |last_sequence| RowsRead {
        tenant_id: tenant_id(),
        correlation_id: correlation_id(),
        last_sequence,
    };
    vec![
        BufferExpired {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            captured_turn: 1,
            answer_id: 300,
            speaker_user_id: "alice".into(),
            expires_at: at(60),
            interrupt_resume_policy: ResumePolicy::Discard,
            reason_code: ReasonCode::BufferExpired,
            issue_fingerprint: None,
        }
        .into(),
        ReturnCheckExpired {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            expires_at: at(60),
            interrupt_resume_policy: ResumePolicy::ResumeLater,
            reason_code: ReasonCode::ReturnCheckExpired,
            captured_turn: None,
            issue_fingerprint: None,
        }
        .into(),
        discarded(1, Some("session"), ReasonCode::SessionClosed).into(),
        discarded(8, None, ReasonCode::ThreadClosed).into(),
        read(0).into(),
        read(65_536).into(),
        ThreadClosed { tenant_id: tenant_id(), correlation_id: correlation_id() }.into(),
    ]
}

/// What becomes of a thread with its session.
pub(super) fn session_events() -> Vec<Event> {
    let (tenant_id, correlation_id) = (|| Text::from(TENANT), || Text::from(THREAD));
    let disarmed = |pending_state, return_check| {
        PendingDisarmed {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            session_id: "session".into(),
            pending_state,
            return_check,
            reason_code: ReasonCode::SessionClosed,
            user_id: None,
            interrupt_resume_policy: ResumePolicy::Discard,
        }
        .into()
    };
    let mut events: Vec<Event> =
        PendingState::ALL[..6].iter().map(|pending| disarmed(*pending, None)).collect();
    events.push(disarmed(PendingState::None, Some(300)));
    let (tenant_id, correlation_id) = (tenant_id(), correlation_id());
    events.push(ThreadMoved { tenant_id, correlation_id, session_id: "session".into() }.into());
    events
}

/// A thread was closed while it waited for a yes or no.
pub(super) fn closed_over_a_request() -> Event {
    PendingDisarmed {
        tenant_id: TENANT.into(),
        correlation_id: THREAD.into(),
        session_id: "session".into(),
        pending_state: PendingState::Confirm,
        return_check: None,
        reason_code: ReasonCode::ThreadClosed,
        user_id: Some("alice".into()),
        interrupt_resume_policy: ResumePolicy::Discard,
    }
    .into()
}

/// What became of words that no turn and no caller decided on, as it is said since every outcome is
/// a row.
pub(super) fn outcome_rows() -> Vec<Event> {
    let (tenant_id, correlation_id) = (|| Text::from(TENANT), || Text::from(THREAD));
    let issue = || Some(Text::from("topic:weather"));
    let refused = |reason_code: &ReasonCode| {
        RowRefused {
            command: "interruption_thread.take_turn".into(),
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            turn_id: 3,
            user_id: "alice".into(),
            device_id: "phone".into(),
            directive: None,
            reason_code: *reason_code,
            class: RefusalClass::Continuity,
            message: "request.tts_resume_snapshot: too late".into(),
            idempotency_key: "key".into(),
            remainders: [remainder(1)].into_iter().collect(),
            tts_control: Some(TtsControl::Cancel),
            issue_fingerprint: issue(),
        }
        .into()
    };
    let mut events: Vec<Event> = ReasonCode::ALL[41..44].iter().map(refused).collect();
    events.extend([
        BufferExpired {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            captured_turn: 1,
            answer_id: 300,
            speaker_user_id: "alice".into(),
            expires_at: at(60),
            interrupt_resume_policy: ResumePolicy::Discard,
            reason_code: ReasonCode::BufferExpired,
            issue_fingerprint: issue(),
        }
        .into(),
        ReturnCheckExpired {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            expires_at: at(60),
            interrupt_resume_policy: ResumePolicy::ResumeLater,
            reason_code: ReasonCode::ReturnCheckExpired,
            captured_turn: Some(300),
            issue_fingerprint: issue(),
        }
        .into(),
        RemaindersDiscarded {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            session_id: Some("session".into()),
            remainders: [remainder(1)].into_iter().collect(),
            reason_code: ReasonCode::SessionClosed,
            interrupt_resume_policy: ResumePolicy::Discard,
            issue_fingerprint: issue(),
        }
        .into(),
        RemainderDisplaced {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            displaced_by_turn: 300,
            remainder: remainder(1),
            interrupt_resume_policy: ResumePolicy::Discard,
            reason_code: ReasonCode::NestingLimit,
            issue_fingerprint: issue(),
        }
        .into(),
    ]);
    events
}

/// Plans and commits of every branch, and the reasons for which a commit is refused.
pub(super) fn plans() -> Vec<Event> {
    let (tenant_id, correlation_id) = (|| Text::from(TENANT), || Text::from(THREAD));
    let heard = |turn: usize| Heard {
        candidate: turn.is_multiple_of(2).then(|| InterruptCandidate {
            phrase_id: 7,
            t_event: u64::MAX >> turn,
            confidence_bp: points(7_000),
        }),
        transcript: PartialTranscript {
            text: "what time is it".into(),
            is_final: turn.is_multiple_of(3),
        },
        hypothesis: IntentHypothesis {
            subject_ref: "weather".into(),
            intent_type: turn.is_multiple_of(3).then(|| "TIME_QUERY".into()),
            confidence_bp: points(9_000),
            subject_relation: turn.is_multiple_of(2).then_some(SubjectRelation::Same),
            subject_relation_confidence_bp: turn.is_multiple_of(2).then(|| points(9_000)),
        },
    };
    let mut events = Vec::new();
    for (turn, branch) in DuplexBranch::ALL[..4].iter().enumerate() {
        let words = (turn > 0).then(|| Text::from("It is noon."));
        let plan = SpeculativePlan {
            branch: *branch,
            would_say: words.clone(),
            reason_code: ReasonCode::NlpChat,
            execute_allowed: false,
        };
        let action = turn.is_multiple_of(2).then(|| Dispatch {
            kind: DispatchKind::ToolRequest,
            intent_type: "TIME_QUERY".into(),
            request_id: Some("TOOL-1".into()),
        });
        let decision = TurnCommitDecision {
            branch: *branch,
            response: words,
            action,
            reason_code: ReasonCode::DispatchTool,
        };
        let drafted = PlanDrafted {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            turn_id: 300,
            session_id: turn.is_multiple_of(2).then(|| "session".into()),
            plan_key: "plan".into(),
            heard: heard(turn).into(),
            request: request(turn).into(),
            plan,
            unsaid: None,
        };
        let committed = TurnCommitted {
            tenant_id: tenant_id(),
            correlation_id: correlation_id(),
            turn_id: 300,
            plan_key: "plan".into(),
            heard: heard(3 * turn).into(),
            decision,
        };
        events.extend([drafted.into(), committed.into()]);
    }
    let refused = |reason_code: &ReasonCode| match row_refused(1) {
        Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row)) => {
            RowRefused { reason_code: *reason_code, ..row }.into()
        }
        other => other,
    };
    events.extend(ReasonCode::ALL[44..48].iter().map(refused));
    events
}

fn points(basis_points: u16) -> BasisPoints {
    BasisPoints::new(basis_points).unwrap()
}
