//! What a thread waits for stays with its speaker: somebody else is asked what they mean, whatever
//! they say, in whatever session or in none, and nothing is done.

use holdpoint_domain::interruption_thread::{
    ConfirmAnswer, Directive, Fate, IntentClass, InterruptionThreadCommand, Marks, Pending,
    PendingState, ReasonCode, SubjectRelation, TakeTurn, ThreadState, ToolStatus, Turn, TurnInput,
    TurnRequest, decide_turn,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Event, Time};
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::requests::{
    answering, chat, failure, intent, interrupting, nlp_clarify, relating, request, tool,
};
use holdpoint_testing::threads::{Outcome, Stage, rows, turn, turns};

const AT: u64 = 1_000_000_000_000;
const ANN: [&str; 4] = ["acme", "t", "ann", "phone"];
const BOB: [&str; 4] = ["acme", "t", "bob", "tablet"];
const SAYING: &str = "It will rain. Take a coat.";

fn stage() -> Stage {
    let mut stage = Stage::with_tenant("acme");
    for ([_, _, user, device], session) in [(ANN, "s-ann"), (BOB, "s-bob")] {
        stage.user("acme", user, device);
        stage.session(["acme", session, user, device], SessionStatus::Active, AT).events();
    }
    stage.work_order("acme", "t");
    stage
}

fn next(stage: &Stage, who: [&str; 4], session: Option<&str>, of: TurnRequest) -> TakeTurn {
    let newest = stage.world.thread("acme", "t").map_or(0, |thread| thread.last_turn_id);
    TakeTurn { session_id: session.map(Into::into), ..turn(stage, who, newest + 1, of) }
}

fn take(turn: TakeTurn) -> Command {
    Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn))
}

/// A thread in which Ann was asked something, in her session or in none.
fn asked(pending: PendingState, session: Option<&str>) -> Stage {
    let mut stage = stage();
    let secret = request("ann", "weather", chat("A secret."));
    let of = match pending {
        PendingState::Confirm => request("ann", "weather", intent(IntentClass::Impactful)),
        PendingState::Tool => request("ann", "weather", intent(IntentClass::ReadOnlyTool)),
        _ => TurnRequest { sensitive_memory_present: true, ..secret },
    };
    let said = next(&stage, ANN, session, request("ann", "weather", chat(SAYING)));
    stage.give(&take(said), AT).events();
    let asks = next(&stage, ANN, session, of);
    stage.give(&take(asks), AT).events();
    assert_eq!(stage.pending("acme", "t"), pending);
    stage
}

/// Whatever Bob may say.
fn sayings(pending: PendingState) -> Vec<TurnRequest> {
    let bob = |subject: &str, input| request("bob", subject, input);
    let mut said: Vec<TurnRequest> =
        IntentClass::ALL.iter().map(|class| bob("weather", intent(*class))).collect();
    said.extend([chat("Hello."), nlp_clarify(), failure()].map(|input| bob("weather", input)));
    said.push(bob("trains", chat("Hello.")));
    said.push(TurnRequest { sensitive_memory_present: true, ..bob("weather", chat("Hello.")) });
    match pending {
        PendingState::Tool => said.push(bob("weather", tool("TOOL-2", ToolStatus::Ok))),
        _ => {
            let answers = ConfirmAnswer::ALL.iter();
            said.extend(answers.map(|yes| answering(bob("weather", TurnInput::None), *yes)));
        }
    }
    let barge_in = interrupting(bob("weather", TurnInput::None), AT, SAYING, 13);
    said.push(barge_in.clone());
    said.push(relating(barge_in, SubjectRelation::Same, 9_000));
    said
}

/// Pending, speaker, subject and session of the thread.
fn asked_of(stage: &Stage) -> impl PartialEq + std::fmt::Debug + use<> {
    let thread = stage.world.thread("acme", "t").unwrap();
    let marks = thread.state.marks.clone();
    let whose = (marks.active_speaker_user_id, marks.active_session_id, marks.active_subject_ref);
    (marks.pending, whose, thread.own_session().cloned())
}

#[track_caller]
fn assert_one_question(events: &[Event], session: Option<&str>) {
    let (taken, row) = (turns(events)[0], rows(events)[0]);
    let decision = &taken.decision;
    let found = (decision.directive, decision.reason_code);
    assert_eq!(found, (Directive::Clarify, ReasonCode::ContinuitySpeakerMismatch));
    assert_eq!((&decision.dispatch, decision.dropped_pending), (&None, None));
    assert_eq!((taken.session_id.as_deref(), row.session_id.as_deref()), (session, session));
    assert_eq!((row.reason_code, row.user_id.as_str()), (found.1, "bob"));
}

#[test]
fn table_somebody_else_is_asked_once_whatever_they_say_and_what_is_pending_stays() {
    let pending = [PendingState::Confirm, PendingState::MemoryPermission, PendingState::Tool];
    let places = [
        (Some("s-ann"), Some("s-bob")),
        (Some("s-ann"), None),
        (None, Some("s-bob")),
        (None, None),
    ];
    for (pending, (anns, bobs)) in
        pending.iter().flat_map(|pending| places.map(|place| (*pending, place)))
    {
        let asked = asked(pending, anns);
        for said in sayings(pending) {
            let mut stage = asked.clone();
            // Twice: the first question gives nobody a right.
            for _ in 0..2 {
                let of = next(&stage, BOB, bobs, said.clone());
                let events = stage.give(&take(of), AT).events();
                assert_one_question(&events, bobs);
                assert_eq!(asked_of(&stage), asked_of(&asked), "{said:?}");
                if said.tts_resume_snapshot.is_some() {
                    let words = &turns(&events)[0].decision.remainders[0];
                    let kept = (words.fate, words.speaker_user_id.as_str());
                    assert_eq!(kept, (Fate::Captured, "ann"));
                }
            }
            stage.assert_rebuilt();
        }
    }
}

#[test]
fn the_speaker_s_own_yes_counts_after_somebody_else_spoke() {
    for (anns, bobs) in [(Some("s-ann"), Some("s-bob")), (Some("s-ann"), None), (None, None)] {
        let mut stage = asked(PendingState::Confirm, anns);
        for said in [
            request("bob", "weather", chat("Hello.")),
            answering(request("bob", "weather", TurnInput::None), ConfirmAnswer::Yes),
        ] {
            let of = next(&stage, BOB, bobs, said);
            assert_one_question(&stage.give(&take(of), AT).events(), bobs);
        }
        // A caller's question to somebody else ends nothing either.
        let of = next(&stage, BOB, Some("s-bob"), request("bob", "weather", TurnInput::None));
        stage.give(&row(of, Directive::Clarify), AT).events();
        assert_eq!(stage.pending("acme", "t"), PendingState::Confirm);
        for named in [anns, None] {
            let mut stage = stage.clone();
            let yes = answering(request("ann", "weather", TurnInput::None), ConfirmAnswer::Yes);
            let yes = next(&stage, ANN, named, yes);
            let events = stage.give(&take(yes), AT).events();
            let decision = &turns(&events)[0].decision;
            assert_eq!(decision.reason_code, ReasonCode::ConfirmYesDispatch);
            stage.assert_rebuilt();
        }
    }
}

/// Whoever names no session is not asked past one that is not active.
#[test]
fn somebody_else_without_a_session_is_refused_where_the_thread_s_own_is_suspended() {
    let mut stage = asked(PendingState::Confirm, Some("s-ann"));
    let scope = ["acme", "s-ann", "ann", "phone"];
    stage.session(scope, SessionStatus::Suspended, AT).events();
    let before = asked_of(&stage);
    let of = next(&stage, BOB, None, request("bob", "weather", chat("Hello.")));
    let Outcome::Refused(refusal) = stage.give(&take(of), AT) else { panic!("served") };
    assert_eq!(refusal.code(), "X_FAIL_TENANT_SCOPE_INVALID");
    assert_eq!(asked_of(&stage), before);
}

/// A caller's question names no subject, and nobody else gives it one.
#[test]
fn the_speaker_s_own_yes_counts_in_a_thread_without_a_subject() {
    for (anns, bobs) in [(Some("s-ann"), Some("s-bob")), (Some("s-ann"), None), (None, None)] {
        let mut asked = stage();
        let of = next(&asked, ANN, anns, request("ann", "payment", TurnInput::None));
        asked.give(&row(of, Directive::Confirm), AT).events();
        for said in sayings(PendingState::Confirm) {
            let mut stage = asked.clone();
            let of = next(&stage, BOB, bobs, said.clone());
            assert_one_question(&stage.give(&take(of), AT).events(), bobs);
            assert_eq!(asked_of(&stage), asked_of(&asked), "{said:?}");
            let yes = answering(request("ann", "payment", TurnInput::None), ConfirmAnswer::Yes);
            let yes = match stage.state("acme", "t").resume_buffers.is_empty() {
                true => yes,
                false => relating(yes, SubjectRelation::Switch, 9_000),
            };
            let yes = next(&stage, ANN, anns, yes);
            let events = stage.give(&take(yes), AT).events();
            let decision = &turns(&events)[0].decision;
            assert_eq!(decision.reason_code, ReasonCode::ConfirmYesDispatch, "{said:?}");
            stage.assert_rebuilt();
        }
    }
}

/// Whatever a thread waits for, with and without a subject and something interrupted, in whatever
/// session: its marks are Ann's, but for what was interrupted.
#[test]
fn table_nothing_that_somebody_else_says_marks_the_thread() {
    let pending = [
        Pending::Confirm { intent_type: "PAY".into(), attempts: 1 },
        Pending::MemoryPermission {
            deferred_response_text: "A secret.".into(),
            resumes_turn: None,
            attempts: 1,
        },
        Pending::Tool { request_id: "TOOL-2".into(), attempts: 1 },
        Pending::StepUp { attempts: 1 },
    ];
    let subjects = [None, Some("weather")];
    let marks = subjects.iter().flat_map(|active| subjects.map(|it| (*active, it)));
    let marks: Vec<(Option<&str>, Option<&str>)> = marks.collect();
    let said: Vec<TurnRequest> =
        [PendingState::Confirm, PendingState::Tool].into_iter().flat_map(sayings).collect();
    let mut served = 0_u32;
    for (waits, (active, interrupted)) in
        pending.iter().flat_map(|it| marks.iter().map(move |subjects| (it, *subjects)))
    {
        let marks = Marks {
            active_subject_ref: active.map(Into::into),
            interrupted_subject_ref: interrupted.map(Into::into),
            active_speaker_user_id: Some("ann".into()),
            active_session_id: Some("s-ann".into()),
            pending: Some(waits.clone()),
            return_check_lapsed: true,
            buffer_lapsed: true,
            return_check: None,
        };
        let state = ThreadState { marks: marks.clone(), ..ThreadState::default() };
        for (request, status) in
            said.iter().flat_map(|it| SessionStatus::ALL.iter().map(move |status| (it, *status)))
        {
            let turn = Turn {
                turn_id: 9,
                session_id: Some("s-bob"),
                session_status: status,
                request,
                at: Time::from_nanoseconds(AT),
            };
            let Ok(decision) = decide_turn(&state, &turn) else { continue };
            served += 1;
            // Of no subject is it known any more that it was interrupted, but of what was just now.
            let interrupted_subject_ref = decision.after.interrupted_subject_ref.clone();
            let expected = Marks { interrupted_subject_ref, ..marks.clone() };
            assert_eq!(decision.after, expected, "{status} {request:?}");
        }
    }
    assert!(served > 400, "{served}");
}
