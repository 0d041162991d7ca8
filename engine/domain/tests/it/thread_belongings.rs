//! Whose words are left unsaid, what a yes or no is about, and what ends with a session or thread.

use holdpoint_domain::interruption_thread::{
    ConfirmAnswer, Directive, FateReason, IntentClass, InterruptionThreadCommand,
    InterruptionThreadEvent, MAX_CLOSED_THREADS, PendingState, ReasonCode, RespondCommitRow,
    SubjectRelation, ToolStatus, TurnInput, TurnRequest, TurnTaken,
};
use holdpoint_domain::registration::{SessionStatus, WorkOrderStatus};
use holdpoint_domain::{Command, Event};
use holdpoint_testing::threads::requests::{
    answering, chat, failure, intent, interrupting, relating, request, tool,
};
use holdpoint_testing::threads::{
    Outcome, Stage, rows, thread_command, turn, turns, work_order_of,
};

const AT: u64 = 1_000_000_000_000;
const TENANT: &str = "acme";
const THREAD: &str = "t";
const BALANCE: &str = "Your balance is low. Pay soon.";
const SAID: u32 = 20;

/// Ada and Bob, each with a session.
fn stage() -> Stage {
    let mut stage = Stage::with_tenant(TENANT);
    stage.work_order(TENANT, THREAD);
    for user in ["ada", "bob"] {
        stage.user(TENANT, user, "phone");
        stage.session(session(user).each_ref().map(|s| &**s), SessionStatus::Active, 1).events();
    }
    stage
}

fn session(user: &str) -> [String; 4] {
    [TENANT.into(), format!("s-{user}"), user.into(), "phone".into()]
}

/// The next turn of the thread, in its speaker's session.
fn say(stage: &mut Stage, request: TurnRequest) -> TurnTaken {
    let user = request.active_speaker_user_id.as_str().to_owned();
    let turn_id = stage.world.thread(TENANT, THREAD).map_or(1, |thread| thread.last_turn_id + 1);
    let mut command = turn(stage, [TENANT, THREAD, &user, "phone"], turn_id, request);
    command.session_id = Some(format!("s-{user}"));
    let events = stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), AT)
        .events();
    stage.assert_rebuilt();
    turns(&events)[0].clone()
}

fn by(user: &str, input: TurnInput) -> TurnRequest {
    request(user, "money", input)
}

fn switching(user: &str, input: TurnInput) -> TurnRequest {
    relating(by(user, input), SubjectRelation::Switch, 9_000)
}

fn barge_in(user: &str, text: &str, cursor: u32) -> TurnRequest {
    let begun = interrupting(by(user, TurnInput::None), AT, text, cursor);
    relating(begun, SubjectRelation::Same, 9_000)
}

#[test]
fn words_belong_to_who_was_told_them_whoever_spoke_since() {
    let mut stage = stage();
    say(&mut stage, by("ada", chat(BALANCE)));
    let other = say(&mut stage, by("bob", chat("It is noon.")));
    assert_eq!(other.decision.reason_code, ReasonCode::ContinuitySpeakerMismatch);
    say(&mut stage, barge_in("ada", BALANCE, SAID));
    let kept = stage.state(TENANT, THREAD).resume_buffers;
    assert_eq!((kept.len(), kept[0].speaker_user_id.as_str()), (1, "ada"));
    let heard = say(&mut stage, by("bob", chat("It is one.")));
    assert!(!format!("{:?}", heard.decision.response_text).contains("Pay"));
    say(&mut stage, by("ada", chat("It is two.")));
    let same = relating(by("ada", chat("It is three.")), SubjectRelation::Same, 9_000);
    let said = say(&mut stage, same).decision.response_text.clone().unwrap();
    assert_eq!(said.as_str(), "Pay soon. It is three.");
}

/// It was asked whether to go back, and then whether to act: the answer is to the later question.
fn asked_to_act() -> Stage {
    let mut stage = stage();
    say(&mut stage, by("ada", chat(BALANCE)));
    say(&mut stage, barge_in("ada", BALANCE, SAID));
    let asked = say(&mut stage, switching("ada", chat("It is noon.")));
    assert_eq!(asked.decision.reason_code, ReasonCode::InterruptReturnCheckAsked);
    let confirm = say(&mut stage, switching("ada", intent(IntentClass::Impactful)));
    assert_eq!(confirm.decision.directive, Directive::Confirm);
    assert_eq!(confirm.decision.after.return_check, None);
    stage
}

#[test]
fn no_is_to_the_action_that_was_asked_for_last_and_gives_up_no_words() {
    let mut stage = asked_to_act();
    let no = say(&mut stage, answering(by("ada", TurnInput::None), ConfirmAnswer::No));
    assert_eq!(no.decision.reason_code, ReasonCode::ConfirmNoAbort);
    let state = stage.state(TENANT, THREAD);
    assert_eq!((state.pending_state(), state.resume_buffers.len()), (PendingState::None, 1));
}

#[test]
fn yes_with_a_sure_relation_is_to_the_action_that_was_asked_for_last() {
    let mut stage = asked_to_act();
    let yes = answering(switching("ada", TurnInput::None), ConfirmAnswer::Yes);
    let yes = say(&mut stage, yes);
    assert_eq!(yes.decision.reason_code, ReasonCode::ConfirmYesDispatch);
    assert_eq!(stage.state(TENANT, THREAD).resume_buffers.len(), 1);
}

#[test]
fn a_closed_session_gives_up_its_own_words_only() {
    let mut stage = stage();
    say(&mut stage, by("ada", chat(BALANCE)));
    say(&mut stage, barge_in("ada", BALANCE, SAID));
    say(&mut stage, by("bob", chat("It is noon.")));
    let mut close = |user: &str| {
        let scope = session(user);
        let scope = scope.each_ref().map(|part| &**part);
        stage.session(scope, SessionStatus::Closed, AT).events()
    };
    let gone = |events: &[Event]| {
        let bodies = events.iter().filter_map(|event| match event {
            Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
                Some(body.clone())
            }
            _ => None,
        });
        bodies.collect::<Vec<_>>()
    };
    assert_eq!(gone(&close("bob")), []);
    let discarded = gone(&close("ada"));
    assert_eq!(discarded.len(), 1);
    assert_eq!(discarded[0].session_id.as_deref(), Some("s-ada"));
    assert_eq!(discarded[0].remainders[0].reason, FateReason::SessionClosed);
    assert!(stage.state(TENANT, THREAD).resume_buffers.is_empty());
    stage.assert_rebuilt();
}

#[test]
fn what_is_kept_in_memory_is_asked_for_first_whoever_says_it() {
    let remembering = |request| TurnRequest { sensitive_memory_present: true, ..request };
    for status in [ToolStatus::Ok, ToolStatus::Fail] {
        let mut stage = stage();
        say(&mut stage, by("ada", intent(IntentClass::ReadOnlyTool)));
        let asked = say(&mut stage, remembering(by("ada", tool("TOOL-1", status))));
        assert_eq!(asked.decision.reason_code, ReasonCode::MemoryPermissionRequired, "{status}");
    }
    let mut stage = stage();
    let asked = say(&mut stage, remembering(by("ada", failure())));
    assert_eq!(asked.decision.reason_code, ReasonCode::MemoryPermissionRequired);
    say(&mut stage, barge_in("ada", BALANCE, SAID));
    let on = relating(by("ada", intent(IntentClass::Continue)), SubjectRelation::Same, 9_000);
    let asked = say(&mut stage, remembering(on));
    assert_eq!(asked.decision.reason_code, ReasonCode::MemoryPermissionRequired);
    assert_eq!(stage.state(TENANT, THREAD).resume_buffers.len(), 1);
}

fn sensitive(text: &str) -> TurnRequest {
    TurnRequest { sensitive_memory_present: true, ..by("ada", chat(text)) }
}

#[test]
fn words_that_wait_for_permission_are_given_up_by_name_when_other_words_need_it() {
    let mut stage = stage();
    let needed = Some(PendingState::MemoryPermission);
    for (text, dropped) in [("One.", None), ("One.", None), ("Two.", needed)] {
        let asked = say(&mut stage, sensitive(text)).decision;
        assert_eq!(asked.reason_code, ReasonCode::MemoryPermissionRequired, "{text}");
        assert_eq!(asked.dropped_pending, dropped, "{text}");
    }
    let yes = say(&mut stage, answering(by("ada", TurnInput::None), ConfirmAnswer::Yes));
    assert_eq!(yes.decision.response_text.as_deref(), Some("Two."));
}

/// To go on is asked for instead: what was interrupted is another thing to be permitted.
#[test]
fn words_that_wait_are_given_up_by_name_for_those_that_were_interrupted() {
    let mut stage = stage();
    say(&mut stage, by("ada", chat(BALANCE)));
    say(&mut stage, barge_in("ada", BALANCE, SAID));
    say(&mut stage, relating(sensitive("A secret."), SubjectRelation::Same, 9_000));
    let on = by("ada", intent(IntentClass::Continue));
    let on = TurnRequest { sensitive_memory_present: true, ..on };
    let asked = say(&mut stage, relating(on, SubjectRelation::Same, 9_000));
    assert_eq!(asked.decision.dropped_pending, Some(PendingState::MemoryPermission));
    let yes = say(&mut stage, answering(by("ada", TurnInput::None), ConfirmAnswer::Yes));
    assert_eq!(yes.decision.response_text.as_deref(), Some("Pay soon."));
}

#[test]
fn a_request_that_gives_way_to_another_of_its_kind_is_named() {
    let wanted = |intent_type: &str, class| {
        by("ada", TurnInput::Intent { intent_type: intent_type.into(), class })
    };
    for (class, pending) in [
        (IntentClass::Impactful, PendingState::Confirm),
        (IntentClass::ReadOnlyTool, PendingState::Tool),
    ] {
        let mut stage = stage();
        assert_eq!(say(&mut stage, wanted("PAY", class)).decision.dropped_pending, None);
        let other = say(&mut stage, wanted("BOOK", class)).decision;
        assert_eq!(other.dropped_pending, Some(pending), "{class}");
    }
    let mut stage = stage();
    for _ in 0..2 {
        let same = say(&mut stage, wanted("PAY", IntentClass::Impactful)).decision;
        assert_eq!(same.dropped_pending, None, "the same is asked again");
    }
}

#[test]
fn an_append_that_could_not_be_interrupted_any_more_asks_whether_to_go_back() {
    for (words, reason) in [
        (32_766, ReasonCode::InterruptSameSubjectAppend),
        (32_768, ReasonCode::InterruptReturnCheckAsked),
    ] {
        let mut stage = stage();
        let text = format!("Said.{}", "w".repeat(words));
        say(&mut stage, barge_in("ada", &text, 5));
        let next = by("ada", chat(&"n".repeat(32_768)));
        let said = say(&mut stage, relating(next, SubjectRelation::Same, 9_000));
        assert_eq!(said.decision.reason_code, reason, "{words}");
        let kept = stage.state(TENANT, THREAD).resume_buffers.len();
        assert_eq!(kept, usize::from(reason == ReasonCode::InterruptReturnCheckAsked));
    }
}

#[test]
fn a_callers_answer_names_the_question_that_it_gives_up() {
    let mut stage = stage();
    say(&mut stage, by("ada", intent(IntentClass::Impactful)));
    let row = Command::InterruptionThread(InterruptionThreadCommand::RespondCommitRow(
        RespondCommitRow {
            tenant_id: TENANT.into(),
            correlation_id: THREAD.into(),
            turn_id: 2,
            session_id: None,
            user_id: "ada".into(),
            device_id: "phone".into(),
            work_order_id: work_order_of(THREAD),
            work_order_status_snapshot: WorkOrderStatus::Executing,
            pending_state: PendingState::Confirm,
            idempotency_key: "row".into(),
            response_kind: "ANSWER".into(),
            reason_code: ReasonCode::NlpChat,
        },
    ));
    let events = stage.give(&row, AT).events();
    assert_eq!(rows(&events)[0].dropped_pending, Some(PendingState::Confirm));
    stage.assert_rebuilt();
}

#[test]
fn a_closed_thread_never_begins_again_however_many_close_after_it() {
    let mut stage = stage();
    for place in 0..=MAX_CLOSED_THREADS {
        let name = if place == 0 { THREAD.into() } else { format!("t-{place}") };
        if place > 0 {
            stage.work_order(TENANT, &name);
        }
        let of = [TENANT, &name, "ada", "phone"];
        let first = turn(&stage, of, 1, by("ada", chat("Hello.")));
        stage
            .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(first)), AT)
            .events();
        stage
            .give(
                &Command::InterruptionThread(InterruptionThreadCommand::CloseThread(
                    thread_command(TENANT, &name),
                )),
                AT,
            )
            .events();
    }
    assert_eq!(stage.world.thread(TENANT, THREAD), None, "it is not remembered whole");
    let again = turn(&stage, [TENANT, THREAD, "ada", "phone"], 2, by("ada", chat("Hello.")));
    let Outcome::Refused(refusal) =
        stage.give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(again)), AT)
    else {
        panic!("it began again")
    };
    assert_eq!(refusal.code(), ReasonCode::FailThreadClosed.name());
    stage.assert_rebuilt();
}
