//! A tenant with a user who speaks, and the turns of one conversation.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::interruption_thread::{
    Advice, ConfidenceBand, ConfidenceBundle, ConfirmAnswer, DegradationContext, GateConfidences,
    Interruption, InterruptionThreadCommand, PendingState, ReasonCode, RespondCommitRow,
    RiskContextClass, SpeechWindowMetrics, SubjectRelation, TakeTurn, Thread, ThreadCommand,
    TimingMarkers, TtsResumeSnapshot, TurnInput, TurnRequest,
};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseStatus, RegisterDevice, RegisterLease, RegisterSession,
    RegisterTenant, RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationStatus,
    SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::{ActorId, Command, Time};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{Clock as _, Origin, Receipt, Submitted};
use holdpoint_testing::shell::SetClock;

/// The thread of every test.
pub(crate) const THREAD: &str = "conversation 1";
/// The tenant whose thread it is.
pub(crate) const TENANT: &str = "tenant_a";
/// What is left unsaid when the speaker is interrupted.
pub(crate) const UNSAID: &str = "It arrives on Tuesday.";

/// Who may call.
pub(crate) fn caller() -> ActorId {
    ActorId { kind: Actor::Automation, id: "selene-os".to_string() }
}

/// Who may not.
pub(crate) fn stranger() -> ActorId {
    ActorId { kind: Actor::Agent, id: "stranger".to_string() }
}

pub(crate) fn origin_of(actor: ActorId) -> Origin {
    Origin { actor, correlation: THREAD.to_string(), causation: None }
}

/// Gives a command as the caller, within the thread's story.
pub(crate) fn give<S: Storage>(engine: &Engine<S>, command: &Command) -> Submitted {
    engine.submit(&origin_of(caller()), (), command).expect("the log works")
}

pub(crate) fn accepted<S: Storage>(engine: &Engine<S>, command: &Command) -> Receipt {
    match give(engine, command) {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}

pub(crate) fn refused(submitted: Submitted) -> &'static str {
    match submitted {
        Submitted::Refused(refusal) => refusal.code(),
        other => unreachable!("{other:?}"),
    }
}

pub(crate) fn thread<S: Storage>(engine: &Engine<S>) -> Option<Thread> {
    engine.thread(&caller(), TENANT, THREAD).expect("the caller may look")
}

/// A person allows the caller, who registers a tenant with everything that a turn needs.
pub(crate) fn set_up<S: Storage>(engine: &Engine<S>) {
    let ada = ActorId { kind: Actor::Human, id: "ada".to_string() };
    let allowed = Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind: caller().kind,
        actor_id: caller().id,
        capability: Capability::SeleneOsOnly,
        is_granted: true,
    }));
    let allowed = engine.submit(&origin_of(ada), (), &allowed).expect("the log works");
    assert!(matches!(allowed, Submitted::Accepted(_)), "{allowed:?}");
    set_up_tenant(engine, TENANT);
}

/// A tenant with a user, a device, a session, a work order and a lease.
pub(crate) fn set_up_tenant<S: Storage>(engine: &Engine<S>, tenant: &str) {
    let (tenant_id, status) = (tenant.to_string(), RegistrationStatus::Active);
    let [user_id, device_id, session_id, work_order_id] =
        ["user_1", "device_1", "session_1", "order_1"].map(String::from);
    let commands = [
        Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant {
            tenant_id: tenant_id.clone(),
            status,
        })),
        register_user(tenant, status),
        Command::Registration(RegistrationCommand::RegisterDevice(RegisterDevice {
            tenant_id: tenant_id.clone(),
            device_id: device_id.clone(),
            user_id: user_id.clone(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
            tenant_id: tenant_id.clone(),
            session_id,
            user_id,
            device_id,
            status: SessionStatus::Active,
        })),
        Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
            tenant_id: tenant_id.clone(),
            work_order_id: work_order_id.clone(),
            correlation_id: THREAD.to_string(),
            status: WorkOrderStatus::Executing,
        })),
        Command::Registration(RegistrationCommand::RegisterLease(RegisterLease {
            tenant_id,
            work_order_id,
            lease_token_hash: sha256(b"token"),
            expires_at: Time::from_nanoseconds(u64::MAX),
            status: LeaseStatus::Active,
        })),
    ];
    for command in commands {
        accepted(engine, &command);
    }
}

/// The user exists, or its status changes.
pub(crate) fn register_user(tenant: &str, status: RegistrationStatus) -> Command {
    let (tenant_id, user_id) = (tenant.to_string(), "user_1".to_string());
    Command::Registration(RegistrationCommand::RegisterUser(RegisterUser {
        tenant_id,
        user_id,
        status,
    }))
}

/// A turn of the tenant's user, under the key `turn N`.
pub(crate) fn turn_of(tenant: &str, turn_id: u64, request: TurnRequest) -> Command {
    Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(TakeTurn {
        tenant_id: tenant.to_string(),
        correlation_id: THREAD.to_string(),
        turn_id,
        session_id: Some("session_1".to_string()),
        user_id: "user_1".to_string(),
        device_id: "device_1".to_string(),
        work_order_id: "order_1".to_string(),
        work_order_status_snapshot: WorkOrderStatus::Executing,
        pending_state: PendingState::None,
        idempotency_key: format!("turn {turn_id}"),
        lease_token_hash: Some(sha256(b"token")),
        request: request.into(),
    }))
}

pub(crate) fn turn(turn_id: u64, request: TurnRequest) -> Command {
    turn_of(TENANT, turn_id, request)
}

/// A row that the caller commits itself.
pub(crate) fn respond_row(turn_id: u64) -> Command {
    Command::InterruptionThread(InterruptionThreadCommand::RespondCommitRow(RespondCommitRow {
        tenant_id: TENANT.to_string(),
        correlation_id: THREAD.to_string(),
        turn_id,
        session_id: None,
        user_id: "user_1".to_string(),
        device_id: "device_1".to_string(),
        work_order_id: "order_1".to_string(),
        work_order_status_snapshot: WorkOrderStatus::Executing,
        pending_state: PendingState::None,
        idempotency_key: format!("row {turn_id}"),
        response_kind: "CHAT".to_string(),
        reason_code: ReasonCode::NlpChat,
    }))
}

/// The session of every turn is closed.
pub(crate) fn close_session() -> Command {
    Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
        tenant_id: TENANT.to_string(),
        session_id: "session_1".to_string(),
        user_id: "user_1".to_string(),
        device_id: "device_1".to_string(),
        status: SessionStatus::Closed,
    }))
}

pub(crate) fn close_thread() -> Command {
    let (tenant_id, correlation_id) = (TENANT.to_string(), THREAD.to_string());
    Command::InterruptionThread(InterruptionThreadCommand::CloseThread(ThreadCommand {
        tenant_id,
        correlation_id,
    }))
}

/// Four turns: an answer; an interruption by another subject; its answer, with the question
/// whether to go back; yes.
pub(crate) fn conversation(clock: &SetClock) -> [Command; 4] {
    [
        turn(1, chat("order", "It ships on Monday.")),
        turn(2, barge_in("weather", clock)),
        turn(3, switching(chat("weather", "It will rain."))),
        turn(4, yes("weather")),
    ]
}

/// An answer in words.
pub(crate) fn chat(subject: &str, words: &str) -> TurnRequest {
    let input = TurnInput::Chat { response_text: words.into() };
    TurnRequest { input, ..silent(subject) }
}

/// The user says yes to what was asked.
pub(crate) fn yes(subject: &str) -> TurnRequest {
    TurnRequest { confirm_answer: Some(ConfirmAnswer::Yes), ..silent(subject) }
}

/// Surely about another subject than what was interrupted.
pub(crate) fn switching(request: TurnRequest) -> TurnRequest {
    TurnRequest {
        interrupt_subject_relation: Some(SubjectRelation::Switch),
        interrupt_subject_relation_confidence_bp: Some(points(9_000)),
        ..request
    }
}

/// The user begins to speak of something else now, with a sentence left unsaid.
pub(crate) fn barge_in(subject: &str, clock: &SetClock) -> TurnRequest {
    let response_text = format!("It ships on Monday. {UNSAID}");
    TurnRequest {
        interruption: Some(interruption(clock.now().wall_ns)),
        tts_resume_snapshot: Some(TtsResumeSnapshot {
            answer_id: 1,
            topic_hint: None,
            response_text: response_text.as_str().into(),
            spoken_cursor_byte: 19,
        }),
        ..switching(silent(subject))
    }
}

fn silent(subject: &str) -> TurnRequest {
    TurnRequest {
        subject_ref: subject.into(),
        active_speaker_user_id: "user_1".into(),
        input: TurnInput::None,
        confirm_answer: None,
        interruption: None,
        interrupt_subject_relation: None,
        interrupt_subject_relation_confidence_bp: None,
        tts_resume_snapshot: None,
        sensitive_memory_present: false,
        advice: Advice::default(),
    }
}

fn interruption(t_event: u64) -> Interruption {
    let sure = points(9_500);
    let degradation_context = DegradationContext::default();
    Interruption {
        phrase_id: 9,
        trigger_phrase_id: 9,
        trigger_locale: "en-US".into(),
        phrase_text: "wait".into(),
        phrase_set_version: 1,
        phrase_confidence_bp: sure,
        candidate_confidence_band: ConfidenceBand::High,
        risk_context_class: RiskContextClass::Low,
        degradation_context,
        timing_markers: TimingMarkers { window_start: t_event, window_end: t_event },
        t_event,
        speech_window_metrics: SpeechWindowMetrics { voiced_window_ms: 200 },
        gate_confidences: GateConfidences {
            vad_bp: sure,
            speech_likeness_bp: sure,
            echo_safe_bp: sure,
            phrase_bp: sure,
            nearfield_bp: None,
        },
        subject_relation_confidence_bundle: ConfidenceBundle {
            lexical_bp: sure,
            vad_bp: sure,
            speech_likeness_bp: sure,
            echo_safe_bp: sure,
            nearfield_bp: None,
            combined_bp: sure,
        },
    }
}

fn points(basis_points: u16) -> BasisPoints {
    BasisPoints::new(basis_points).expect("at most 10000")
}
