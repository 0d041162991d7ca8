//! Commands as other programs write them: one JSON object each, read strictly.

use holdpoint_domain::application::{ApplicationCommand, Data, RecordEvent};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointCommand, EvidenceAttachment, OnTimeout, Response, Urgency,
};
use holdpoint_domain::evidence_capture::{
    OutputGap, OutputPiece, OutputStream, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopState, ExecutorResponseType,
};
use holdpoint_domain::human_decision::{
    HumanDecision, HumanDecisionCommand, OverrideField, ShowOutput,
};
use holdpoint_domain::interruption_thread::{InterruptionThreadCommand, ThreadCommand};
use holdpoint_domain::log::RecordFingerprint;
use holdpoint_domain::log::{ChangePolicy, ConfigurationChanged, GatePolicy, LogCommand};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseStatus, RegisterDevice, RegisterLease, RegisterSession,
    RegisterTenant, RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationStatus,
    SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{Command, Time};
use holdpoint_testing::story::commands::Generator;
use holdpoint_testing::story::points::{binding, person, two_people};
use holdpoint_testing::story::{SECRET, Story, cut_item, output_item, piece, seed};
use serde_json::{Value, json};

/// One command of each name that can be read.
pub(crate) fn samples() -> Vec<Command> {
    let mut samples = samples_of_loops();
    samples.extend(registrations());
    samples.extend(turns_and_rows());
    samples.extend(decision_points());
    samples.push(application_event());
    samples
}

fn samples_of_loops() -> Vec<Command> {
    let story = Story::asked();
    vec![
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize())),
        story.dispatch(),
        story.await_response(),
        story.capture(vec![output_item(SECRET), cut_item(SECRET, 2, 1_000)]),
        story.report(ExecutorResponseType::Success),
        story.fault(ExecutionFaultType::Crash),
        story.retry(),
        story.instruct(SECRET),
        story.complete(),
        story.stop(StopCondition::HumanAbort, StopFacts::default()),
        story.ask(),
        Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged {
            digest: Some(sha256(b"hold")),
        })),
        story.decides(HumanDecision::Escalate),
        story.expire("REQ-1"),
        Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(
            story.overrides(OverrideField::AttemptExit),
        )),
        Command::HumanDecision(HumanDecisionCommand::ShowOutput(ShowOutput {
            request_id: "REQ-1".into(),
        })),
        Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})),
        story.interrupt(15, Some((4_711, 1_000))),
        story.record_output(vec![
            piece(OutputStream::Stdout, 0, SECRET),
            OutputPiece {
                gap: Some(OutputGap { length: 7, running_sha256: sha256(SECRET) }),
                ..piece(OutputStream::Stderr, 7, SECRET)
            },
        ]),
    ]
}

fn application_event() -> Command {
    Command::Application(ApplicationCommand::RecordEvent(RecordEvent {
        stream: "order-1".into(),
        event_type: "order.created".into(),
        type_version: 1,
        content_type: "application/octet-stream".into(),
        data: Data::from(vec![0, 0xff]),
    }))
}

fn policy(approval: Option<String>) -> ChangePolicy {
    let policy = GatePolicy { before: true, quorum: 2, ..GatePolicy::default() };
    ChangePolicy { by: person("alice"), policy, approval, people: None }
}

fn registrations() -> Vec<Command> {
    let status = RegistrationStatus::Active;
    let (tenant_id, user_id) = (|| String::from("tenant"), || String::from("alice"));
    vec![
        Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
            actor_kind: Actor::Automation,
            actor_id: "selene-os".into(),
            capability: Capability::SeleneOsOnly,
            is_granted: true,
        })),
        Command::Log(LogCommand::SetPolicy(Box::new(policy(None)))),
        Command::Log(LogCommand::RelaxPolicy(Box::new(policy(Some("DP-1".into()))))),
        Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant {
            tenant_id: tenant_id(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterUser(RegisterUser {
            tenant_id: tenant_id(),
            user_id: user_id(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterDevice(RegisterDevice {
            tenant_id: tenant_id(),
            device_id: "phone".into(),
            user_id: user_id(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
            tenant_id: tenant_id(),
            session_id: "session".into(),
            user_id: user_id(),
            device_id: "phone".into(),
            status: SessionStatus::Closed,
        })),
        Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
            tenant_id: tenant_id(),
            work_order_id: "WO-1".into(),
            correlation_id: "thread".into(),
            status: WorkOrderStatus::Executing,
        })),
        Command::Registration(RegistrationCommand::RegisterLease(RegisterLease {
            tenant_id: tenant_id(),
            work_order_id: "WO-1".into(),
            lease_token_hash: sha256(b"token"),
            expires_at: Time::from_nanoseconds(7),
            status: LeaseStatus::Revoked,
        })),
    ]
}

/// The fields that every turn and row has, and those of one of them.
fn scoped(name: &str, own: Value) -> Command {
    let mut json = json!({
        "command": format!("interruption_thread.{name}"),
        "tenant_id": "tenant",
        "correlation_id": "thread",
        "turn_id": 1,
        "session_id": "session",
        "user_id": "alice",
        "device_id": "phone",
        "work_order_id": "WO-1",
        "work_order_status_snapshot": "EXECUTING",
        "pending_state": "NONE",
        "idempotency_key": "key",
    });
    json.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    read(&json).unwrap()
}

fn turns_and_rows() -> Vec<Command> {
    let request = json!({
        "subject_ref": "weather",
        "active_speaker_user_id": "alice",
        "input": {"INTENT": {"intent_type": "TIME_QUERY", "class": "READ_ONLY_TOOL"}},
    });
    let heard = json!({
        "candidate": {"phrase_id": 7, "t_event": 1_000, "confidence_bp": 7_000},
        "transcript": {"text": "what time is it", "is_final": true},
        "hypothesis": {
            "subject_ref": "weather",
            "intent_type": "TIME_QUERY",
            "confidence_bp": 9_000,
            "subject_relation": "SWITCH",
            "subject_relation_confidence_bp": 9_000,
        },
    });
    let lease = sha256(b"token").to_string();
    let reason = "X_NLP_CHAT";
    let thread = || ThreadCommand { tenant_id: "tenant".into(), correlation_id: "thread".into() };
    vec![
        scoped("take_turn", json!({"lease_token_hash": lease, "request": request})),
        scoped("confirm_commit_row", json!({"confirm_kind": "PAY", "reason_code": reason})),
        scoped(
            "clarify_commit_row",
            json!({
                "what_is_missing": "WHEN",
                "clarification_unit_id": "unit",
                "reason_code": reason,
            }),
        ),
        scoped("respond_commit_row", json!({"response_kind": "CHAT", "reason_code": reason})),
        scoped("dispatch_commit_row", json!({"dispatch_target": "TOOL", "reason_code": reason})),
        scoped("wait_commit_row", json!({"wait_kind": "CANCEL", "reason_code": reason})),
        Command::InterruptionThread(InterruptionThreadCommand::ReadAuditRows(thread())),
        Command::InterruptionThread(InterruptionThreadCommand::ExpireThread(thread())),
        Command::InterruptionThread(InterruptionThreadCommand::CloseThread(thread())),
        scoped("draft_plan", json!({"heard": heard, "request": request})),
        scoped(
            "commit_turn",
            json!({
                "plan_key": "plan",
                "heard": heard,
                "lease_token_hash": lease,
                "request": request,
            }),
        ),
    ]
}

fn decision_points() -> Vec<Command> {
    let story = Story::new();
    let decision_id = "DP-1";
    let question = CreateDecisionPoint {
        context: Some("Two tests were skipped.".into()),
        allow_text: Some(true),
        expires_at: Some(Time::from_nanoseconds(7)),
        timeout_per_round: true,
        on_timeout: Some(OnTimeout::Default),
        max_iterations: Some(20),
        urgency: Some(Urgency::High),
        policy: Some(two_people()),
        blocks: vec!["job".into()],
        evidence: vec![EvidenceAttachment {
            sha256: sha256(b"report"),
            bytes: 6,
            media_type: "text/plain".into(),
            label: "report".into(),
        }],
        binding: Some(binding()),
        valid_for_ms: Some(1),
        supersedes: Some("DP-0".into()),
        ..story.question()
    };
    vec![
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into())),
        story.responds(decision_id, person("alice"), Response::Text("the half of it".into())),
        story.refines(decision_id),
        story.cancels(decision_id),
        story.escalates(decision_id),
        story.reminds(decision_id),
        story.consumes(decision_id),
        story.reports(decision_id),
        story.lets_expire(decision_id),
    ]
}

fn read(json: &Value) -> Result<Command, serde_json::Error> {
    serde_json::from_str(&json.to_string())
}

#[test]
fn every_command_reads_back_as_it_was_written() {
    let mut names: Vec<&str> = Vec::new();
    for command in samples() {
        let json = serde_json::to_value(&command).unwrap();
        assert_eq!(json["command"], command.name());
        assert_eq!(read(&json).unwrap(), command);
        names.push(command.name());
    }
    let (mut names, mut all) = (names, Command::NAMES.to_vec());
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[test]
fn random_commands_read_back_as_they_were_written() {
    let seed = seed();
    let (mut generator, mut story) = (Generator::seeded(seed), Story::adopted());
    for _ in 0..1_000 {
        let Some(command) = generator.step(&mut story).command else { continue };
        let text = serde_json::to_string(&command).unwrap();
        assert_eq!(serde_json::from_str::<Command>(&text).unwrap(), command, "{text}");
    }
}

#[test]
fn unknown_fields_are_refused_everywhere() {
    for command in samples() {
        let mut json = serde_json::to_value(&command).unwrap();
        json["time"] = "2026-01-25T16:00:00Z".into();
        let refused = read(&json).unwrap_err().to_string();
        assert!(refused.contains("time"), "{command:?}: {refused}");
    }
    let mut nested = serde_json::to_value(&samples()[0]).unwrap();
    nested["hold"]["approver"] = json!([]);
    assert!(read(&nested).is_err());
    nested = serde_json::to_value(&samples()[10]).unwrap();
    nested["means"]["else"] = json!(1);
    assert!(read(&nested).is_err());
    nested = serde_json::to_value(&decision_points()[0]).unwrap();
    for place in ["/by", "/options/0", "/policy", "/evidence/0", "/binding"] {
        let mut wrong = nested.clone();
        wrong.pointer_mut(place).unwrap()["else"] = json!(1);
        assert!(read(&wrong).is_err(), "{place}");
    }
}

/// Every way to answer, by the names that programs write.
#[test]
fn answers_are_read_by_their_names() {
    let mut command = serde_json::to_value(&decision_points()[1]).unwrap();
    for (response, expected) in [
        (json!({ "option": "go" }), Some(Response::option("go"))),
        (json!({ "text": "half" }), Some(Response::Text("half".into()))),
        (json!("accept"), Some(Response::Accept)),
        (json!({ "guidance": "less" }), Some(Response::Guidance("less".into()))),
        (json!("ACCEPT"), None),
        (json!({ "option": "go", "text": "half" }), None),
        (json!({ "vote": "go" }), None),
        (json!(null), None),
    ] {
        command["response"] = response;
        match (read(&command), expected) {
            (
                Ok(Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(read))),
                Some(expected),
            ) => {
                assert_eq!(read.response, expected);
            }
            (read, expected) => assert!(read.is_err() && expected.is_none(), "{read:?}"),
        }
    }
    assert_eq!(Response::option("_accept"), Response::Accept);
}

#[test]
fn fields_given_twice_or_not_at_all_are_refused() {
    for text in [
        r#"{"command":"human_decision.expire","request_id":"A","request_id":"B"}"#,
        r#"{"command":"human_decision.expire","command":"human_decision.request"}"#,
        r#"{"command":"human_decision.expire"}"#,
        r#"{"request_id":"A"}"#,
        r#"{"command":"human_decision.expired","request_id":"A"}"#,
        r#"{"command":"human_decision.expire","request_id":"\ud800"}"#,
        r#"{"command":"human_decision.expire","request_id":7}"#,
        "[]",
        "null",
        "",
    ] {
        assert!(serde_json::from_str::<Command>(text).is_err(), "{text}");
    }
}

#[test]
fn names_outside_the_closed_enums_are_refused() {
    let answer = serde_json::to_value(&samples()[10]).unwrap();
    for (field, value) in [
        ("decision", json!("continue")),
        ("decision", json!("MAYBE")),
        ("actor", json!("HUMAN ")),
        ("entropy", json!("00")),
        ("entropy", json!("000000000000000000000000000000FF")),
    ] {
        let mut forged = answer.clone();
        forged[field] = value.clone();
        assert!(read(&forged).is_err(), "{field} {value}");
    }
}

#[test]
fn bytes_are_lower_case_hexadecimal() {
    let output = serde_json::to_value(&samples()[3]).unwrap();
    let raw = output["items"][0]["executor_output"]["raw_data"].as_str().unwrap();
    assert_eq!(raw, base16ct::lower::encode_string(SECRET));
    for bad in ["0", "AB", "zz", "0x00"] {
        let mut forged = output.clone();
        forged["items"][0]["executor_output"]["raw_data"] = bad.into();
        assert!(read(&forged).is_err(), "{bad}");
    }
}

#[test]
fn random_bits_may_be_left_away() {
    for command in samples() {
        let Some(entropy) = command.entropy() else { continue };
        let mut json = serde_json::to_value(&command).unwrap();
        json.as_object_mut().unwrap().remove("entropy");
        let bare = read(&json).unwrap();
        assert_eq!(bare.entropy(), Some(Entropy::default()));
        assert_eq!(bare.with_entropy(entropy), command);
    }
}

#[test]
fn what_only_the_log_knows_cannot_be_claimed() {
    for name in ["log.record_system_event", "execution_loop.declare_lost"] {
        assert!(read(&json!({ "command": name, "loop_id": "LOOP-1" })).is_err());
        assert!(!Command::NAMES.contains(&name));
    }
}

#[test]
fn a_command_says_what_it_is_about() {
    let story = Story::in_state(ExecutionLoopState::Evaluated);
    assert_eq!(story.complete().subject(), Some(story.loop_id.as_str()));
    assert_eq!(story.expire("REQ-7").subject(), Some("REQ-7"));
    assert_eq!(
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize())).subject(),
        None
    );
    for command in decision_points() {
        let decision_id = command.decision_point();
        assert_eq!(command.subject(), decision_id, "{command:?}");
        let is_new =
            matches!(command, Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(_)));
        assert_eq!(decision_id, (!is_new).then_some("DP-1"), "{command:?}");
        let is_of_time =
            matches!(command, Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(_)));
        assert_eq!(command.principal().is_none(), is_of_time, "{command:?}");
    }
}

#[test]
fn data_is_a_text_or_digits_and_nothing_else() {
    let least = json!({"command": "application.record", "stream": "s", "type": "t"});
    let with = |data: Value| {
        let mut json = least.clone();
        json["data"] = data;
        read(&json).map(|command| {
            let Command::Application(ApplicationCommand::RecordEvent(c)) = command else {
                panic!()
            };
            (c.data, c.type_version, c.content_type)
        })
    };
    let bytes = "application/octet-stream".to_owned();
    assert_eq!(with(json!("\u{fc}")).unwrap(), (Data::from("\u{fc}"), 1, bytes.clone()));
    assert_eq!(with(json!({"hex": "00ff"})).unwrap().0, Data::from(vec![0, 0xff]));
    assert!(read(&least).is_ok());
    for wrong in [json!(1), json!(null), json!([]), json!({}), json!({"hex": "0F"})] {
        assert!(with(wrong.clone()).is_err(), "{wrong}");
    }
    for wrong in [json!({"hex": "0"}), json!({"hex": "00", "text": "a"}), json!({"text": "a"})] {
        assert!(with(wrong.clone()).is_err(), "{wrong}");
    }
}
