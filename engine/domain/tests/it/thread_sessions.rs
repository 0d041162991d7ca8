//! Nothing is said or done in a session that is not active, however the request is written; what
//! was asked in a session ends with it, by an event.

use holdpoint_domain::interruption_thread::{
    ClarifyCommitRow, ConfirmAnswer, ConfirmCommitRow, Directive, DispatchCommitRow, IntentClass,
    InterruptionThreadCommand, InterruptionThreadEvent, PendingDisarmed, PendingState, ReasonCode,
    RespondCommitRow, ResumePolicy, SubjectRelation, TakeTurn, ToolStatus, TurnInput, TurnRequest,
    WaitCommitRow,
};
use holdpoint_domain::registration::{RegistrationEvent, SessionStatus};
use holdpoint_domain::{Command, Event};
use holdpoint_testing::threads::planned::{committed, heard, plan_key};
use holdpoint_testing::threads::requests::{
    answering, chat, failure, intent, interrupting, nlp_clarify, relating, request, tool,
};
use holdpoint_testing::threads::{Outcome, Stage, rows, turn, turns};

const AT: u64 = 1_000_000_000_000;
const THREAD: &str = "t";
const SAYING: &str = "It is sunny. Tomorrow it rains.";
/// Ada's session in the kitchen, in which the thread begins.
const OWN: &str = "s";
/// Another one of hers, on her phone.
const OTHER: &str = "s-phone";
const NOT_ACTIVE: [SessionStatus; 2] = [SessionStatus::Suspended, SessionStatus::Closed];

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    Clarify,
    Confirm,
    Memory,
    Tool,
    ReturnCheck,
    /// A caller's own question.
    CallersConfirm,
}

impl Waits {
    fn is_answered_by_its_speaker(self) -> bool {
        matches!(self, Self::Confirm | Self::Memory | Self::Tool | Self::CallersConfirm)
    }
}

const WAITS: [Waits; 7] = [
    Waits::Nothing,
    Waits::Clarify,
    Waits::Confirm,
    Waits::Memory,
    Waits::Tool,
    Waits::ReturnCheck,
    Waits::CallersConfirm,
];

/// Ada with two devices and a session on each, Bob with one, and all of it in another tenant too.
fn setting() -> Stage {
    let mut stage = Stage::with_tenant("acme");
    stage.tenant("umbrella");
    for tenant in ["acme", "umbrella"] {
        stage.work_order(tenant, THREAD);
        stage.user(tenant, "ada", "kitchen");
        stage.device(tenant, "ada", "phone");
        stage.user(tenant, "bob", "kitchen");
        for (session, user, device) in
            [(OWN, "ada", "kitchen"), (OTHER, "ada", "phone"), ("s-bob", "bob", "kitchen")]
        {
            let scope = [tenant, session, user, device];
            stage.session(scope, SessionStatus::Active, AT).events();
        }
    }
    stage
}

/// Where Ada's session in the kitchen is from now on.
fn own_session(stage: &mut Stage, status: SessionStatus) -> Vec<Event> {
    stage.session(["acme", OWN, "ada", "kitchen"], status, AT).events()
}

/// The thread's next turn, of `ada` in the kitchen.
fn next(stage: &Stage, session: Option<&str>, request: TurnRequest) -> TakeTurn {
    let newest = stage.world.thread("acme", THREAD).map_or(0, |thread| thread.last_turn_id);
    let scope = ["acme", THREAD, "ada", "kitchen"];
    TakeTurn { session_id: session.map(Into::into), ..turn(stage, scope, newest + 1, request) }
}

fn by_ada(input: TurnInput) -> TurnRequest {
    request("ada", "weather", input)
}

fn sure(request: TurnRequest) -> TurnRequest {
    relating(request, SubjectRelation::Switch, 9_000)
}

/// A thread in Ada's session that waits for this.
fn waiting_for(waits: Waits) -> Stage {
    let mut stage = setting();
    let sensitive = TurnRequest { sensitive_memory_present: true, ..by_ada(chat("A secret.")) };
    let mut said = vec![by_ada(chat(SAYING))];
    match waits {
        Waits::Nothing | Waits::CallersConfirm => {}
        Waits::Clarify => said.push(by_ada(nlp_clarify())),
        Waits::Confirm => said.push(by_ada(intent(IntentClass::Impactful))),
        Waits::Memory => said.push(sensitive),
        Waits::Tool => said.push(by_ada(intent(IntentClass::ReadOnlyTool))),
        Waits::ReturnCheck => {
            said.push(sure(interrupting(by_ada(TurnInput::None), AT, SAYING, 12)));
            said.push(sure(by_ada(chat("Dinner is at eight."))));
        }
    }
    for request in said {
        let command = next(&stage, Some(OWN), request);
        stage
            .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), AT)
            .events();
    }
    if waits == Waits::CallersConfirm {
        let of = next(&stage, Some(OWN), by_ada(TurnInput::None));
        stage.give(&row_like(of, Directive::Confirm), AT).events();
    }
    let state = stage.state("acme", THREAD);
    let expected = match waits {
        Waits::Nothing | Waits::ReturnCheck => PendingState::None,
        Waits::Clarify => PendingState::Clarify,
        Waits::Confirm | Waits::CallersConfirm => PendingState::Confirm,
        Waits::Memory => PendingState::MemoryPermission,
        Waits::Tool => PendingState::Tool,
    };
    assert_eq!(state.pending_state(), expected);
    assert_eq!(state.marks.return_check.is_some(), waits == Waits::ReturnCheck);
    stage
}

/// One of the five rows, with the scope of a turn.
fn row_like(of: TakeTurn, directive: Directive) -> Command {
    macro_rules! row {
        ($Body:ident { $($field:ident: $value:expr),+ }) => {
            Command::InterruptionThread(InterruptionThreadCommand::$Body($Body {
                tenant_id: of.tenant_id,
                correlation_id: of.correlation_id,
                turn_id: of.turn_id,
                session_id: of.session_id,
                user_id: of.user_id,
                device_id: of.device_id,
                work_order_id: of.work_order_id,
                work_order_status_snapshot: of.work_order_status_snapshot,
                pending_state: of.pending_state,
                idempotency_key: of.idempotency_key,
                reason_code: ReasonCode::NlpChat,
                $($field: $value),+
            }))
        };
    }
    let kind = String::from("KIND");
    match directive {
        Directive::Confirm => row!(ConfirmCommitRow { confirm_kind: kind }),
        Directive::Clarify => {
            row!(ClarifyCommitRow { what_is_missing: kind, clarification_unit_id: "unit".into() })
        }
        Directive::Respond => row!(RespondCommitRow { response_kind: kind }),
        Directive::Dispatch => {
            row!(DispatchCommitRow { dispatch_target: kind, lease_token_hash: of.lease_token_hash })
        }
        Directive::Wait => row!(WaitCommitRow { wait_kind: kind }),
    }
}

/// Everything that can be asked of a thread in a session, whatever comes of it.
fn everything(stage: &Stage, session: Option<&str>) -> Vec<Command> {
    let mut requests: Vec<TurnRequest> =
        IntentClass::ALL.iter().map(|class| by_ada(intent(*class))).collect();
    requests.extend(ToolStatus::ALL.iter().map(|status| by_ada(tool("TOOL-2", *status))));
    requests.extend([by_ada(chat("Well.")), by_ada(nlp_clarify()), by_ada(failure())]);
    requests.extend(
        ConfirmAnswer::ALL.iter().map(|answer| answering(by_ada(TurnInput::None), *answer)),
    );
    let related: Vec<TurnRequest> = requests.iter().cloned().map(sure).collect();
    let same = |request| relating(request, SubjectRelation::Same, 9_000);
    let resumed: Vec<TurnRequest> = requests.iter().cloned().map(same).collect();
    requests.extend(related.into_iter().chain(resumed));
    requests.push(sure(interrupting(by_ada(TurnInput::None), AT, SAYING, 12)));
    requests.push(sure(interrupting(by_ada(chat("Well.")), AT, SAYING, 12)));
    let turns = requests.into_iter().map(|one| {
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(stage, session, one)))
    });
    let empty = || next(stage, session, by_ada(TurnInput::None));
    turns.chain(Directive::ALL.iter().map(|one| row_like(empty(), *one))).collect()
}

/// What events say or let be done.
fn spoken(events: &[Event]) -> Vec<Directive> {
    let turns = turns(events).into_iter().map(|taken| taken.decision.directive);
    let rows = rows(events).into_iter().map(|row| row.payload.directive);
    turns.chain(rows).filter(|directive| *directive != Directive::Wait).collect()
}

fn assert_silent(outcome: &Outcome, what: &impl std::fmt::Debug) {
    if let Outcome::Done(events) = outcome {
        assert_eq!(spoken(events), [], "{what:?}: {events:?}");
    }
}

#[test]
fn table_nothing_is_said_in_a_session_that_is_not_active_whether_or_not_it_is_named() {
    let (mut spoke, mut refused) = (0, 0);
    for waits in WAITS {
        for status in SessionStatus::ALL {
            let mut stage = waiting_for(waits);
            if *status != SessionStatus::Active {
                own_session(&mut stage, *status);
            }
            let named = everything(&stage, Some(OWN));
            for (named, left_away) in named.iter().zip(&everything(&stage, None)) {
                let (mut here, mut there) = (stage.clone(), stage.clone());
                let outcome = here.give(named, AT);
                assert_eq!(outcome, there.give(left_away, AT), "{left_away:?}");
                there.assert_rebuilt();
                if *status == SessionStatus::Active {
                    let events =
                        if let Outcome::Done(events) = &outcome { &events[..] } else { &[] };
                    spoke += spoken(events).len();
                } else {
                    assert_silent(&outcome, left_away);
                    assert_kept(&stage, &there, *status);
                    refused += usize::from(recorded(&outcome));
                }
            }
        }
    }
    assert!(spoke > 100 && refused > 50, "{spoke} said, {refused} refused on the record");
}

/// A row that would speak is refused by a reason-coded row of its own.
fn recorded(outcome: &Outcome) -> bool {
    let code = outcome.refusal().map(holdpoint_domain::Refusal::code);
    code == Some(ReasonCode::FailTenantScopeInvalid.name())
}

/// What a suspended session's thread waits for is kept as it was; of a closed one nothing is.
fn assert_kept(before: &Stage, after: &Stage, status: SessionStatus) {
    let (before, after) = (before.state("acme", THREAD), after.state("acme", THREAD));
    assert_eq!(after.marks.pending, before.marks.pending);
    assert_eq!(after.marks.return_check, before.marks.return_check);
    if status == SessionStatus::Closed {
        assert_eq!((after.marks.pending, after.marks.return_check), (None, None));
        assert_eq!(after.resume_buffers, []);
    }
}

#[test]
fn a_session_that_nobody_registered_or_that_is_spelled_otherwise_is_refused() {
    for waits in WAITS {
        for status in SessionStatus::ALL {
            let mut stage = waiting_for(waits);
            if *status != SessionStatus::Active {
                own_session(&mut stage, *status);
            }
            for spelled in ["", " ", " s", "s ", "S", "s\u{200b}", "s\u{a0}", "\u{ff53}", "null"] {
                for command in everything(&stage, Some(spelled)) {
                    let outcome = stage.clone().give(&command, AT);
                    assert!(outcome.refusal().is_some(), "{spelled:?}: {command:?}");
                }
            }
        }
    }
}

#[test]
fn who_or_what_else_comes_without_a_session_is_not_in_the_thread_s_own() {
    for waits in WAITS {
        for status in SessionStatus::ALL {
            let mut stage = waiting_for(waits);
            if *status != SessionStatus::Active {
                own_session(&mut stage, *status);
            }
            for (user, device) in [("bob", "kitchen"), ("ada", "phone")] {
                for command in everything(&stage, None) {
                    let command = from(command, user, device);
                    let mut given = stage.clone();
                    let outcome = given.give(&command, AT);
                    if let Outcome::Done(events) = &outcome {
                        assert_eq!((user, *status), ("bob", SessionStatus::Active));
                        assert_one_question(&stage, &given, events);
                        continue;
                    }
                    let refusal = outcome.refusal().unwrap_or_else(|| panic!("{command:?}"));
                    let advice = format!("a session of {user} on {device}");
                    let is_told = refusal.to_string().contains(&advice);
                    let is_malformed = refusal.code() == "MALFORMED_REQUEST";
                    let fits_nothing = waits.is_answered_by_its_speaker()
                        && [
                            "X_FAIL_RELATION_INVALID",
                            "X_FAIL_PENDING_STATE_INVALID",
                            "X_CONFIRM_ANSWER_INVALID",
                        ]
                        .contains(&refusal.code());
                    assert!(is_told || is_malformed || fits_nothing, "{refusal}");
                }
            }
        }
    }
}

/// Somebody else is asked what they mean, in no session, and the thread stays as it was.
fn assert_one_question(before: &Stage, after: &Stage, events: &[Event]) {
    let taken = turns(events)[0];
    assert_eq!(taken.decision.reason_code, ReasonCode::ContinuitySpeakerMismatch);
    assert_eq!((taken.decision.directive, &taken.session_id), (Directive::Clarify, &None));
    let own = |stage: &Stage| {
        let thread = stage.world.thread("acme", THREAD).unwrap();
        let marks = &thread.state.marks;
        let speaks = (marks.active_speaker_user_id.clone(), marks.active_session_id.clone());
        (marks.pending.clone(), speaks, thread.own_session().cloned())
    };
    assert_eq!(own(before), own(after));
}

/// The same command of another user or from another device.
fn from(mut command: Command, user: &str, device: &str) -> Command {
    macro_rules! each {
        ($($Variant:ident)+) => {
            match &mut command {
                $(Command::InterruptionThread(InterruptionThreadCommand::$Variant(body)) => {
                    body.user_id = user.into();
                    body.device_id = device.into();
                })+
                other => panic!("{other:?}"),
            }
        };
    }
    each! {
        TakeTurn ConfirmCommitRow ClarifyCommitRow RespondCommitRow DispatchCommitRow WaitCommitRow
    }
    if let Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(body)) = &mut command {
        body.request.active_speaker_user_id = user.into();
    }
    command
}

/// Closed or suspended, what was asked there or left unsaid there is not acted upon from elsewhere.
#[test]
fn what_was_asked_in_a_session_is_not_answered_in_another() {
    let acted = [
        ReasonCode::ConfirmYesDispatch,
        ReasonCode::MemoryPermissionYes,
        ReasonCode::ToolOk,
        ReasonCode::ToolFail,
        ReasonCode::ToolAmbiguous,
        ReasonCode::InterruptResumeNow,
        ReasonCode::InterruptSameSubjectAppend,
    ];
    for waits in WAITS {
        for status in NOT_ACTIVE {
            let mut stage = waiting_for(waits);
            own_session(&mut stage, status);
            let mut answered = 0;
            for command in everything(&stage, Some(OTHER)) {
                let command = from(command, "ada", "phone");
                let Outcome::Done(events) = stage.clone().give(&command, AT) else { continue };
                for taken in turns(&events) {
                    let found = taken.decision.reason_code;
                    assert!(!acted.contains(&found), "{waits:?} {status}: {command:?}: {found}");
                }
                answered += spoken(&events).len();
            }
            assert!(answered > 0, "the other session goes on: {waits:?} {status}");
        }
    }
}

#[test]
fn an_answer_in_another_session_is_refused_on_the_record_and_the_question_stays() {
    for waits in [Waits::Confirm, Waits::Memory, Waits::Tool, Waits::CallersConfirm] {
        let mut stage = waiting_for(waits);
        let answer = match waits {
            Waits::Tool => by_ada(tool("TOOL-2", ToolStatus::Ok)),
            _ => answering(by_ada(TurnInput::None), ConfirmAnswer::Yes),
        };
        let elsewhere = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(
            &stage,
            Some(OTHER),
            answer.clone(),
        )));
        let outcome = stage.give(&from(elsewhere, "ada", "phone"), AT);
        let refusal = outcome.refusal().unwrap();
        assert_eq!(refusal.code(), ReasonCode::FailPendingStateInvalid.name(), "{refusal}");
        assert!(refusal.to_string().contains("session_id: expected s, in which"), "{refusal}");
        assert!(stage.kinds.contains(&169), "it is on the record");
        let here = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(
            &stage, None, answer,
        )));
        assert_eq!(spoken(&stage.give(&here, AT).events()).len(), 2, "{waits:?}");
        stage.assert_rebuilt();
    }
}

#[test]
fn closing_a_session_disarms_what_was_pending_in_it_by_an_event() {
    for waits in WAITS.into_iter().filter(|waits| *waits != Waits::Nothing) {
        for suspended in [false, true] {
            let mut stage = waiting_for(waits);
            if suspended {
                assert_eq!(own_session(&mut stage, SessionStatus::Suspended).len(), 1);
            }
            let before = stage.state("acme", THREAD);
            let events = own_session(&mut stage, SessionStatus::Closed);
            let [
                Event::Registration(RegistrationEvent::SessionRegistered(_)),
                Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)),
                ..,
            ] = &events[..]
            else {
                panic!("{waits:?}: {events:?}")
            };
            let expected = PendingDisarmed {
                tenant_id: "acme".into(),
                correlation_id: THREAD.into(),
                session_id: OWN.into(),
                pending_state: before.pending_state(),
                return_check: before.marks.return_check.map(|check| check.captured_turn),
                reason_code: ReasonCode::SessionClosed,
                user_id: before.marks.active_speaker_user_id.clone(),
                interrupt_resume_policy: ResumePolicy::Discard,
            };
            assert_eq!(*body, expected);
            assert_eq!(events.len(), 2 + usize::from(waits == Waits::ReturnCheck), "{events:?}");
            let marks = stage.state("acme", THREAD).marks;
            assert_eq!((marks.pending, marks.return_check), (None, None));
            let version = stage.world.thread("acme", THREAD).unwrap().version;
            assert_eq!(version, stage.sequence, "whoever looked before has to look again");
            stage.assert_rebuilt();
        }
    }
}

/// Where a yes or no was open, a late one is told so; nothing is done.
#[test]
fn a_yes_that_comes_after_the_session_was_closed_is_told_that_it_is_too_late() {
    for waits in [Waits::Confirm, Waits::Memory, Waits::ReturnCheck, Waits::CallersConfirm] {
        let mut stage = waiting_for(waits);
        own_session(&mut stage, SessionStatus::Closed);
        let yes = answering(by_ada(TurnInput::None), ConfirmAnswer::Yes);
        let late = from(
            Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(
                &stage,
                Some(OTHER),
                yes,
            ))),
            "ada",
            "phone",
        );
        let events = stage.give(&late, AT).events();
        let decision = &turns(&events)[0].decision;
        assert_eq!(decision.directive, Directive::Clarify, "{waits:?}");
        assert_eq!(decision.reason_code, ReasonCode::ResumeExpired, "{waits:?}");
        stage.assert_rebuilt();
    }
}

#[test]
fn a_suspended_session_that_is_active_again_goes_on_where_it_was() {
    let mut stage = waiting_for(Waits::Confirm);
    own_session(&mut stage, SessionStatus::Suspended);
    let yes = || answering(by_ada(TurnInput::None), ConfirmAnswer::Yes);
    for session in [None, Some(OWN)] {
        let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(
            &stage,
            session,
            yes(),
        )));
        let events = stage.give(&command, AT).events();
        assert_eq!(turns(&events)[0].decision.reason_code, ReasonCode::SessionNotActive);
    }
    own_session(&mut stage, SessionStatus::Active);
    let command =
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(&stage, None, yes())));
    let events = stage.give(&command, AT).events();
    assert_eq!(turns(&events)[0].decision.reason_code, ReasonCode::ConfirmYesDispatch);
    assert_eq!(turns(&events)[0].session_id.as_deref(), Some(OWN), "it says where it was");
    stage.assert_rebuilt();
}

#[test]
fn closing_a_session_leaves_other_threads_tenants_and_sessions_as_they_were() {
    let mut stage = waiting_for(Waits::Confirm);
    let before = stage.state("acme", THREAD);
    for scope in [
        ["umbrella", OWN, "ada", "kitchen"],
        ["acme", OTHER, "ada", "phone"],
        ["acme", "s-bob", "bob", "kitchen"],
    ] {
        let events = stage.session(scope, SessionStatus::Closed, AT).events();
        assert_eq!(events.len(), 1, "{events:?}");
    }
    assert_eq!(stage.state("acme", THREAD), before);
    stage.assert_rebuilt();
}

/// A question of a caller belongs to the session in which it was asked, whoever waits elsewhere.
#[test]
fn a_callers_question_in_another_session_ends_with_that_session() {
    let mut stage = waiting_for(Waits::Nothing);
    let in_other = |stage: &Stage, directive| {
        let of = next(stage, Some(OTHER), by_ada(TurnInput::None));
        from(row_like(of, directive), "ada", "phone")
    };
    let events = stage.give(&in_other(&stage, Directive::Confirm), AT).events();
    assert!(
        matches!(
            &events[..],
            [
                Event::InterruptionThread(InterruptionThreadEvent::ThreadMoved(_)),
                Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(_))
            ]
        ),
        "{events:?}"
    );
    let waits = row_like(next(&stage, Some(OWN), by_ada(TurnInput::None)), Directive::Wait);
    assert_eq!(stage.give(&waits, AT).events().len(), 1);
    let own = stage.world.thread("acme", THREAD).unwrap().own_session().unwrap();
    assert_eq!(own.as_str(), OTHER);
    let scope = ["acme", OTHER, "ada", "phone"];
    let closed = stage.clone().session(scope, SessionStatus::Closed, AT).events();
    assert!(
        matches!(
            &closed[1],
            Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(_))
        ),
        "{closed:?}"
    );
    assert_eq!(own_session(&mut stage, SessionStatus::Closed).len(), 1);
    assert_eq!(stage.pending("acme", THREAD), PendingState::Confirm);
    stage.assert_rebuilt();
}

/// A stranger who waits in a session of his own takes the thread nowhere.
#[test]
fn a_session_in_which_nobody_was_answered_is_not_the_thread_s_own() {
    let mut stage = waiting_for(Waits::Confirm);
    stage.session(["acme", "s-bob", "bob", "kitchen"], SessionStatus::Suspended, AT).events();
    let bobs = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(
        &stage,
        Some("s-bob"),
        by_ada(chat("Well.")),
    )));
    let events = stage.give(&from(bobs, "bob", "kitchen"), AT).events();
    assert_eq!(turns(&events)[0].decision.reason_code, ReasonCode::SessionNotActive);
    let closed = stage.session(["acme", "s-bob", "bob", "kitchen"], SessionStatus::Closed, AT);
    assert_eq!(closed.events().len(), 1);
    let yes = answering(by_ada(TurnInput::None), ConfirmAnswer::Yes);
    let command =
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(next(&stage, None, yes)));
    let events = stage.give(&command, AT).events();
    assert_eq!(turns(&events)[0].decision.reason_code, ReasonCode::ConfirmYesDispatch);
    stage.assert_rebuilt();
}

/// A plan is no part of the session in which it was drafted, and what is committed is decided anew.
#[test]
fn a_plan_outlives_its_session_and_another_request_may_be_committed() {
    let mut stage = crate::duplex::stage();
    let at = crate::duplex::NOW;
    let session = |name| ["acme", name, "anna", "phone"];
    stage.session(session("s-1"), SessionStatus::Active, at).events();
    let planned = crate::duplex::second(&stage, crate::duplex::answer());
    let planned = TakeTurn { session_id: Some("s-1".into()), ..planned };
    crate::duplex::draft(&mut stage, &planned);
    stage.session(session("s-1"), SessionStatus::Closed, at).events();
    let said = heard(&planned.request);
    let there = stage.give(&committed(&planned, &plan_key(&planned), said), at);
    assert_eq!(there.refusal().unwrap().code(), "X_FAIL_TENANT_SCOPE_INVALID");
    stage.session(session("s-2"), SessionStatus::Active, at).events();
    let other = request("anna", "trains", chat("It leaves at nine."));
    let elsewhere =
        TakeTurn { session_id: Some("s-2".into()), request: other.into(), ..planned.clone() };
    let said = heard(&elsewhere.request);
    let events = stage.give(&committed(&elsewhere, &plan_key(&planned), said), at).events();
    let (commit, taken) = crate::duplex::passed(&events);
    assert_eq!(commit.decision.response.as_deref(), Some("It leaves at nine."));
    assert_eq!(taken.session_id.as_deref(), Some("s-2"));
    stage.assert_rebuilt();
}
