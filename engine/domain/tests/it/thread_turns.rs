//! What is no turn: every bound by its last legal and its first illegal value. A refusal names the
//! field and changes nothing.

use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::core::text::BLANK_CODE_POINTS;
use holdpoint_domain::interruption_thread::{
    ConfidenceBand, ConfirmAnswer, IntentClass, Interruption, InterruptionThreadCommand,
    InterruptionThreadEvent, ReasonCode, RiskContextClass, SubjectRelation, TakeTurn,
    ThreadRefusal, ToolStatus, TtsResumeSnapshot, TurnInput, TurnRequest, ValidationStatus,
};
use holdpoint_domain::{Command, Event, Refusal, Time, decide};
use holdpoint_testing::threads as threads_support;
use holdpoint_testing::threads::requests::{
    chat, intent, interrupting, interruption, nlp_clarify, points, request, tool,
};
use holdpoint_testing::threads::{Outcome, Stage, turn};

const AT: u64 = 1_000_000_000_000;
const WHO: [&str; 4] = ["tenant_a", "thread-1", "ann", "device"];
const SAYING: &str = "Said. And more.";

/// A bound: the field that a refusal names, and a turn on either side.
struct Bound {
    field: &'static str,
    legal: fn(&mut TakeTurn),
    illegal: fn(&mut TakeTurn),
}

fn stage() -> Stage {
    let mut stage = Stage::with_tenant("tenant_a");
    stage.user("tenant_a", "ann", "device");
    stage.work_order("tenant_a", "thread-1");
    stage
}

/// A turn that begins while something is being said.
fn barge_in(stage: &Stage) -> TakeTurn {
    let request = request("ann", "weather", TurnInput::None);
    let mut request = interrupting(request, AT, SAYING, 5);
    request.interrupt_subject_relation = Some(SubjectRelation::Same);
    request.interrupt_subject_relation_confidence_bp = Some(points(9_500));
    turn(stage, WHO, 5, request)
}

fn interruption_of(turn: &mut TakeTurn) -> &mut Interruption {
    turn.request.interruption.as_mut().unwrap()
}

fn snapshot_of(turn: &mut TakeTurn) -> &mut TtsResumeSnapshot {
    turn.request.tts_resume_snapshot.as_mut().unwrap()
}

/// The refusal of a turn, which must be one of a field, leave no trace, and change nothing.
fn refused_field(stage: &Stage, command: &TakeTurn) -> &'static str {
    let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command.clone()));
    let mut given = stage.clone();
    let outcome = given.give(&command, AT);
    let Outcome::Refused(refusal) = outcome else { panic!("served: {command:?}") };
    assert_eq!((given.world, given.sequence), (stage.world.clone(), stage.sequence));
    assert_eq!(refusal.audit(&stage.world, &command), None);
    match refusal {
        Refusal::InterruptionThread(ThreadRefusal::Malformed(Malformed {
            field, found, ..
        })) => {
            assert!(found.len() <= 96 && !found.chars().any(char::is_control), "{found:?}");
            field
        }
        other => panic!("not a refusal of a field: {other:?}"),
    }
}

fn check(bounds: &[Bound]) {
    let stage = stage();
    for (place, bound) in bounds.iter().enumerate() {
        let mut legal = barge_in(&stage);
        (bound.legal)(&mut legal);
        let served = decide(
            &stage.world,
            &Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(legal)),
            Time::from_nanoseconds(AT),
        );
        assert!(served.is_ok(), "{place} {}: {served:?}", bound.field);
        let mut illegal = barge_in(&stage);
        (bound.illegal)(&mut illegal);
        assert_eq!(refused_field(&stage, &illegal), bound.field, "{place}");
    }
}

macro_rules! bounds {
    ($($field:literal: $legal:expr, $illegal:expr;)+) => {
        [$(Bound { field: $field, legal: $legal, illegal: $illegal },)+]
    };
}

#[test]
fn names_and_numbers_of_a_turn_are_refused_one_beyond_their_bounds() {
    check(&bounds! {
        "turn_id": |t| t.turn_id = 1, |t| t.turn_id = 0;
        "idempotency_key": |t| t.idempotency_key = "k".repeat(128),
            |t| t.idempotency_key = "k".repeat(129);
        "request.subject_ref": |t| t.request.subject_ref = "s".repeat(256).into(),
            |t| t.request.subject_ref = "s".repeat(257).into();
        "request.subject_ref": |t| t.request.subject_ref = "\u{e9}".repeat(128).into(),
            |t| t.request.subject_ref = "\u{e9}".repeat(129).into();
        "request.active_speaker_user_id": |_| (),
            |t| t.request.active_speaker_user_id = "u".repeat(129).into();
        "request.input.CHAT.response_text": |t| t.request.input = chat(&"c".repeat(32_768)),
            |t| t.request.input = chat(&"c".repeat(32_769));
        "request.input.CHAT.response_text": |t| t.request.input = chat("a\tb\r\nc"),
            |t| t.request.input = chat("a\0b");
    });
    let stage = stage();
    for (field, change) in [
        ("tenant_id", (|t| t.tenant_id = "t".repeat(65)) as fn(&mut TakeTurn)),
        ("correlation_id", |t| t.correlation_id = "c".repeat(257)),
        ("session_id", |t| t.session_id = Some("s".repeat(129))),
        ("user_id", |t| t.user_id = "u".repeat(129)),
        ("device_id", |t| t.device_id = "d".repeat(129)),
        ("work_order_id", |t| t.work_order_id = "w".repeat(129)),
    ] {
        let mut illegal = barge_in(&stage);
        change(&mut illegal);
        assert_eq!(refused_field(&stage, &illegal), field);
    }
}

#[test]
fn an_interruption_is_refused_one_beyond_its_bounds() {
    check(&bounds! {
        "request.interruption.trigger_phrase_id": |_| (),
            |t| interruption_of(t).trigger_phrase_id = 10;
        "request.interruption.trigger_phrase_id": |t| {
            interruption_of(t).phrase_id = 1;
            interruption_of(t).trigger_phrase_id = 1;
        }, |t| {
            interruption_of(t).phrase_id = 0;
            interruption_of(t).trigger_phrase_id = 0;
        };
        "request.interruption.phrase_set_version": |_| (),
            |t| interruption_of(t).phrase_set_version = 0;
        "request.interruption.phrase_text":
            |t| interruption_of(t).phrase_text = "p".repeat(128).into(),
            |t| interruption_of(t).phrase_text = "p".repeat(129).into();
        "request.interruption.trigger_locale":
            |t| interruption_of(t).trigger_locale = "aZ9-_".repeat(6).into(),
            |t| interruption_of(t).trigger_locale = "a".repeat(33).into();
        "request.interruption.trigger_locale":
            |t| interruption_of(t).trigger_locale = "e".into(),
            |t| interruption_of(t).trigger_locale = "".into();
        "request.interruption.trigger_locale": |_| (),
            |t| interruption_of(t).trigger_locale = "en US".into();
        "request.interruption.timing_markers.window_start":
            |t| interruption_of(t).timing_markers.window_start = AT,
            |t| interruption_of(t).timing_markers.window_start = AT + 1;
        "request.interruption.timing_markers.window_end": |_| (),
            |t| interruption_of(t).timing_markers.window_end = AT - 1;
        "request.interruption.speech_window_metrics.voiced_window_ms":
            |t| interruption_of(t).speech_window_metrics.voiced_window_ms = 10_000,
            |t| interruption_of(t).speech_window_metrics.voiced_window_ms = 10_001;
        "request.interruption.speech_window_metrics.voiced_window_ms": |t| {
            interruption_of(t).timing_markers.window_start = AT - 1_000_000;
            interruption_of(t).speech_window_metrics.voiced_window_ms = 1;
        }, |t| {
            interruption_of(t).timing_markers.window_start = AT;
            interruption_of(t).speech_window_metrics.voiced_window_ms = 0;
        };
        "request.interruption.speech_window_metrics.voiced_window_ms":
            |t| interruption_of(t).timing_markers.window_start = AT - 200_000_000,
            |t| interruption_of(t).timing_markers.window_start = AT - 200_000_001;
        "request.interruption.risk_context_class": |t| {
            interruption_of(t).degradation_context.aec_unstable = true;
            interruption_of(t).risk_context_class = RiskContextClass::Guarded;
        }, |t| interruption_of(t).degradation_context.aec_unstable = true;
    });
}

#[test]
fn confidences_that_contradict_each_other_are_refused() {
    fn phrase(turn: &mut TakeTurn, confidence: u16) {
        let of = interruption_of(turn);
        of.phrase_confidence_bp = points(confidence);
        of.gate_confidences.phrase_bp = points(confidence);
        of.subject_relation_confidence_bundle.lexical_bp = points(confidence);
    }
    check(&bounds! {
        "request.interruption.candidate_confidence_band": |t| phrase(t, 9_000),
            |t| phrase(t, 8_999);
        "request.interruption.candidate_confidence_band": |t| {
            phrase(t, 8_999);
            interruption_of(t).candidate_confidence_band = ConfidenceBand::Medium;
        }, |t| phrase(t, 0);
        "request.interruption.subject_relation_confidence_bundle":
            |t| interruption_of(t).subject_relation_confidence_bundle.combined_bp = points(0),
            |t| interruption_of(t).subject_relation_confidence_bundle.lexical_bp = points(1);
        "request.interruption.subject_relation_confidence_bundle": |_| (),
            |t| interruption_of(t).phrase_confidence_bp = points(9_501);
        "request.interruption.subject_relation_confidence_bundle": |_| (),
            |t| interruption_of(t).gate_confidences.vad_bp = points(1);
        "request.interruption.subject_relation_confidence_bundle": |_| (),
            |t| interruption_of(t).gate_confidences.speech_likeness_bp = points(1);
        "request.interruption.subject_relation_confidence_bundle": |_| (),
            |t| interruption_of(t).gate_confidences.echo_safe_bp = points(1);
        "request.interruption.subject_relation_confidence_bundle": |t| {
            interruption_of(t).gate_confidences.nearfield_bp = None;
            interruption_of(t).subject_relation_confidence_bundle.nearfield_bp = None;
        }, |t| interruption_of(t).gate_confidences.nearfield_bp = None;
    });
}

#[test]
fn a_snapshot_is_refused_one_beyond_its_bounds() {
    check(&bounds! {
        "request.tts_resume_snapshot": |_| (), |t| {
            t.request.interruption = None;
            t.request.interrupt_subject_relation = None;
            t.request.interrupt_subject_relation_confidence_bp = None;
            t.request.input = chat("An answer.");
        };
        "request.tts_resume_snapshot.answer_id": |t| snapshot_of(t).answer_id = 1,
            |t| snapshot_of(t).answer_id = 0;
        "request.tts_resume_snapshot.topic_hint":
            |t| snapshot_of(t).topic_hint = Some("h".repeat(64).into()),
            |t| snapshot_of(t).topic_hint = Some("h".repeat(65).into());
        "request.tts_resume_snapshot.response_text":
            |t| snapshot_of(t).response_text = "r".repeat(65_536).into(),
            |t| snapshot_of(t).response_text = "r".repeat(65_537).into();
        "request.tts_resume_snapshot.spoken_cursor_byte":
            |t| snapshot_of(t).spoken_cursor_byte = 14,
            |t| snapshot_of(t).spoken_cursor_byte = 15;
        "request.tts_resume_snapshot.spoken_cursor_byte":
            |t| snapshot_of(t).spoken_cursor_byte = 0,
            |t| snapshot_of(t).spoken_cursor_byte = u32::MAX;
        "request.tts_resume_snapshot.spoken_cursor_byte": |t| {
            snapshot_of(t).response_text = "caf\u{e9} too".into();
            snapshot_of(t).spoken_cursor_byte = 3;
        }, |t| {
            snapshot_of(t).response_text = "caf\u{e9} too".into();
            snapshot_of(t).spoken_cursor_byte = 4;
        };
    });
}

#[test]
fn a_snapshot_of_an_interruption_long_ago_or_to_come_is_refused_by_a_row() {
    let mut stage = stage();
    let aged = |stage: &Stage, t_event: u64| {
        let mut turn = barge_in(stage);
        turn.request.interruption = Some(interruption(t_event));
        turn
    };
    let stale = ReasonCode::FailSnapshotStale;
    let late = aged(&stage, AT - 5_000_000_001);
    assert_eq!(barred(&mut stage, late), (stale, "request.tts_resume_snapshot"));
    let to_come = aged(&stage, AT + 1);
    assert_eq!(barred(&mut stage, to_come), (stale, "request.interruption.t_event"));
    for happened in [AT - 5_000_000_000, AT] {
        let turn = InterruptionThreadCommand::TakeTurn(aged(&stage, happened));
        let at = Time::from_nanoseconds(AT);
        assert!(decide(&stage.world, &Command::InterruptionThread(turn), at).is_ok());
    }
}

#[test]
fn blank_is_blank_by_every_blank_code_point() {
    let stage = stage();
    for blank in BLANK_CODE_POINTS {
        let text = String::from_iter([blank, ' ', blank]);
        for (field, change) in texts() {
            let mut illegal = barge_in(&stage);
            change(&mut illegal, &text);
            assert_eq!(refused_field(&stage, &illegal), field, "{blank:?}");
        }
        let mut left = barge_in(&stage);
        snapshot_of(&mut left).response_text = format!("Said.{text}").into();
        let is_plain = !blank.is_control() || ['\t', '\n', '\r'].contains(&blank);
        let part = if is_plain { "spoken_cursor_byte" } else { "response_text" };
        let field = refused_field(&stage, &left);
        assert_eq!(field, format!("request.tts_resume_snapshot.{part}"), "{blank:?}");
    }
}

#[test]
fn nul_and_controls_are_refused_in_every_text() {
    let stage = stage();
    for control in ['\0', '\u{1}', '\u{1b}', '\u{7f}', '\u{9b}'] {
        let text = format!("a{control}b");
        for (field, change) in texts() {
            let mut illegal = barge_in(&stage);
            change(&mut illegal, &text);
            assert_eq!(refused_field(&stage, &illegal), field, "{control:?}");
        }
    }
}

type Change = fn(&mut TakeTurn, &str);

/// Every text of a turn.
fn texts() -> [(&'static str, Change); 14] {
    [
        ("tenant_id", |t, text| t.tenant_id = text.into()),
        ("correlation_id", |t, text| t.correlation_id = text.into()),
        ("session_id", |t, text| t.session_id = Some(text.into())),
        ("user_id", |t, text| t.user_id = text.into()),
        ("device_id", |t, text| t.device_id = text.into()),
        ("work_order_id", |t, text| t.work_order_id = text.into()),
        ("idempotency_key", |t, text| t.idempotency_key = text.into()),
        ("request.subject_ref", |t, text| t.request.subject_ref = text.into()),
        ("request.active_speaker_user_id", |t, text| {
            t.request.active_speaker_user_id = text.into();
        }),
        ("request.input.CHAT.response_text", |t, text| t.request.input = chat(text)),
        ("request.input.INTENT.intent_type", |t, text| {
            let class = IntentClass::Impactful;
            t.request.input = TurnInput::Intent { intent_type: text.into(), class };
        }),
        ("request.interruption.phrase_text", |t, text| {
            interruption_of(t).phrase_text = text.into();
        }),
        ("request.tts_resume_snapshot.topic_hint", |t, text| {
            snapshot_of(t).topic_hint = Some(text.into());
        }),
        ("request.tts_resume_snapshot.response_text", |t, text| {
            snapshot_of(t).response_text = text.into();
        }),
    ]
}

#[test]
fn relation_and_answer_are_refused_where_nothing_asks_for_them() {
    let mut stage = stage();
    let asked = |stage: &Stage, change: fn(&mut TurnRequest)| {
        let mut request = request("ann", "weather", chat("An answer."));
        change(&mut request);
        turn(stage, WHO, 5, request)
    };
    let related = asked(&stage, |r| {
        r.interrupt_subject_relation = Some(SubjectRelation::Same);
        r.interrupt_subject_relation_confidence_bp = Some(points(9_000));
    });
    let relation = (ReasonCode::FailRelationInvalid, "request.interrupt_subject_relation");
    assert_eq!(barred(&mut stage, related), relation);
    let answer = asked(&stage, |r| {
        r.input = TurnInput::None;
        r.confirm_answer = Some(ConfirmAnswer::Yes);
    });
    let to_nothing = (ReasonCode::ConfirmAnswerInvalid, "request.confirm_answer");
    assert_eq!(barred(&mut stage, answer), to_nothing);
    let unasked = asked(&stage, |r| r.input = tool("TOOL-1", ToolStatus::Ok));
    let field = "request.input.TOOL_RESPONSE.request_id";
    assert_eq!(barred(&mut stage, unasked), (ReasonCode::FailPendingStateInvalid, field));
    let plain = |change| refused_field(&stage, &asked(&stage, change));
    let alone = plain(|r| r.interrupt_subject_relation = Some(SubjectRelation::Same));
    assert_eq!(alone, "request.interrupt_subject_relation_confidence_bp");
    let alone = plain(|r| r.interrupt_subject_relation_confidence_bp = Some(points(9_000)));
    assert_eq!(alone, "request.interrupt_subject_relation_confidence_bp");
    assert_eq!(plain(|r| r.input = TurnInput::None), "request");
}

#[test]
fn an_upstream_question_is_one_line_with_two_or_three_answers() {
    fn clarify(turn: &mut TakeTurn, asked: String, formats: usize, missing: usize) {
        let text = |n: usize| "f".repeat(n + 1).into();
        let mut input = nlp_clarify();
        if let TurnInput::NlpClarify { question, accepted_answer_formats, missing_fields } =
            &mut input
        {
            *question = asked.into();
            *accepted_answer_formats = (0..formats).map(text).collect();
            *missing_fields = (0..missing).map(text).collect();
        }
        turn.request.input = input;
    }
    check(&bounds! {
        "request.input.NLP_CLARIFY.question":
            |t| clarify(t, "\u{20ac}".repeat(240), 2, 1),
            |t| clarify(t, "\u{20ac}".repeat(241), 2, 1);
        "request.input.NLP_CLARIFY.question": |t| clarify(t, "When?".into(), 2, 1),
            |t| clarify(t, "When?\nNow?".into(), 2, 1);
        "request.input.NLP_CLARIFY.accepted_answer_formats":
            |t| clarify(t, "When?".into(), 2, 1), |t| clarify(t, "When?".into(), 1, 1);
        "request.input.NLP_CLARIFY.accepted_answer_formats":
            |t| clarify(t, "When?".into(), 3, 16), |t| clarify(t, "When?".into(), 4, 1);
        "request.input.NLP_CLARIFY.missing_fields":
            |t| clarify(t, "When?".into(), 2, 1), |t| clarify(t, "When?".into(), 2, 0);
    });
}

#[test]
fn a_turn_id_is_used_once_and_turns_go_forward() {
    let mut stage = stage();
    let first = barge_in(&stage);
    stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(first.clone())), AT)
        .events();
    for turn_id in [5, 4, 1] {
        let mut again = turn(&stage, WHO, turn_id, request("ann", "weather", chat("Later.")));
        again.idempotency_key = format!("other-{turn_id}");
        assert_eq!(barred(&mut stage, again), (ReasonCode::FailTurnOrder, "turn_id"));
    }
    let repeated = stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(first)), AT + 1);
    assert!(matches!(repeated, Outcome::Repeated(_)), "{repeated:?}");
    let next = turn(&stage, WHO, 6, request("ann", "weather", intent(IntentClass::Continue)));
    stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next)), AT + 1)
        .events();
}

/// The reason and the field of a refusal by a rule; nothing but its row is recorded.
fn barred(stage: &mut Stage, command: TakeTurn) -> (ReasonCode, &'static str) {
    let thread = stage.world.thread("tenant_a", "thread-1").cloned();
    let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command));
    let sequence = stage.sequence;
    let Outcome::Refused(refusal) = stage.give(&command, AT) else { panic!("{command:?}") };
    assert_eq!(stage.world.thread("tenant_a", "thread-1").cloned(), thread);
    assert_eq!(stage.sequence, sequence + 1);
    let Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) =
        refusal.audit(&stage.world, &command)
    else {
        panic!("{refusal:?}")
    };
    match refusal {
        Refusal::InterruptionThread(ThreadRefusal::Barred { reason_code, field, .. }) => {
            assert_eq!(row.reason_code, reason_code);
            (reason_code, field)
        }
        other => panic!("not a refusal by a rule: {other:?}"),
    }
}

#[test]
fn scope_and_gates_are_refused_by_reason_in_their_order() {
    let mut stage = stage();
    stage.user("tenant_a", "bob", "other-device");
    let base = |stage: &Stage| {
        turn(stage, WHO, 5, request("ann", "weather", intent(IntentClass::ReadOnlyTool)))
    };
    let mut foreign = base(&stage);
    foreign.device_id = "other-device".into();
    foreign.work_order_id = "unknown".into();
    assert_eq!(barred(&mut stage, foreign).0, ReasonCode::FailTenantScopeInvalid);
    let mut other = base(&stage);
    other.request.active_speaker_user_id = "bob".into();
    assert_eq!(barred(&mut stage, other).0, ReasonCode::FailTenantScopeInvalid);
    let mut unordered = base(&stage);
    unordered.work_order_id = "unknown".into();
    unordered.pending_state = holdpoint_domain::interruption_thread::PendingState::Tool;
    assert_eq!(barred(&mut stage, unordered).0, ReasonCode::FailWorkOrderScopeInvalid);
    let mut pending = base(&stage);
    pending.pending_state = holdpoint_domain::interruption_thread::PendingState::Tool;
    pending.lease_token_hash = None;
    assert_eq!(barred(&mut stage, pending).0, ReasonCode::FailPendingStateInvalid);
    let mut leaseless = base(&stage);
    leaseless.lease_token_hash = None;
    assert_eq!(barred(&mut stage, leaseless).0, ReasonCode::FailLeaseRequired);
    let with_lease = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(base(&stage)));
    stage.give(&with_lease, AT).events();
}

#[test]
fn a_clarify_can_be_built_for_every_legal_pair_of_subjects() {
    let letters = ["a", "\"", "\\", "\u{20ac}", "\u{10ffff}", "e\u{301}"];
    let mut labels = Vec::new();
    for letter in letters {
        for bytes in [1, 72, 118, 255, 256] {
            let label = letter.repeat(bytes / letter.len());
            labels.extend((!label.is_empty()).then_some(label));
        }
    }
    let mut built = 0;
    for (first, second) in labels.iter().flat_map(|a| labels.iter().map(move |b| (a, b))) {
        let mut stage = stage();
        let ask = turn(&stage, WHO, 1, request("ann", first, nlp_clarify()));
        if !matches!(
            stage.give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(ask)), AT),
            Outcome::Done(_)
        ) {
            continue;
        }
        let next = turn(&stage, WHO, 2, request("ann", second, chat("An answer.")));
        let Outcome::Done(events) =
            stage.give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next)), AT)
        else {
            continue;
        };
        let taken = threads_support::turns(&events);
        if first != second {
            let clarify = taken[0].decision.clarify.as_ref().expect("a drift is asked about");
            assert!(clarify.question.chars().count() <= 240, "{clarify:?}");
            built += 1;
        }
    }
    assert!(built >= 300, "{built}");
    for label in ["a\nb", "a\u{202e}b", "a\u{2028}b"] {
        let stage = stage();
        let illegal = turn(&stage, WHO, 1, request("ann", label, nlp_clarify()));
        assert_eq!(refused_field(&stage, &illegal), "request.subject_ref");
    }
}

#[test]
fn readable_turns_with_unknown_names_or_impossible_numbers_do_not_decode() {
    let legal = serde_json::to_value(barge_in(&stage())).unwrap();
    assert!(serde_json::from_value::<TakeTurn>(legal.clone()).is_ok());
    let places = [
        ("/request/interrupt_subject_relation", serde_json::json!("SIMILAR")),
        ("/request/interrupt_subject_relation_confidence_bp", serde_json::json!(10_001)),
        ("/request/interrupt_subject_relation_confidence_bp", serde_json::json!(-1)),
        ("/request/interrupt_subject_relation_confidence_bp", serde_json::json!(0.7)),
        ("/request/interruption/phrase_confidence_bp", serde_json::json!("NaN")),
        ("/request/interruption/candidate_confidence_band", serde_json::json!("high")),
        ("/request/interruption/risk_context_class", serde_json::json!("MEDIUM")),
        ("/request/tts_resume_snapshot/spoken_cursor_byte", serde_json::json!(4_294_967_296_u64)),
        ("/pending_state", serde_json::json!("WAITING")),
        ("/work_order_status_snapshot", serde_json::json!("RUNNING")),
    ];
    for (place, value) in places {
        let mut illegal = legal.clone();
        *illegal.pointer_mut(place).unwrap() = value;
        assert!(serde_json::from_value::<TakeTurn>(illegal).is_err(), "{place}");
    }
    let mut unknown = legal;
    unknown["request"]["now"] = serde_json::json!(1);
    assert!(serde_json::from_value::<TakeTurn>(unknown).is_err());
    assert!(serde_json::from_str::<ValidationStatus>("\"UNKNOWN\"").is_err());
}
