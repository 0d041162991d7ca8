//! What a caller's row may do: the whole product of what is committed, by whom, where, and over
//! what.

use holdpoint_domain::interruption_thread::{
    ClarifyCommitRow, ConfirmCommitRow, Directive, DispatchCommitRow, Fate, FateReason,
    IntentClass, InterruptionThreadCommand, InterruptionThreadEvent, PendingState, ReasonCode,
    RespondCommitRow, RowRefused, SubjectRelation, TurnInput, TurnRequest, WaitCommitRow,
};
use holdpoint_domain::registration::{SessionStatus, WorkOrderStatus};
use holdpoint_domain::{Command, Event, Refusal};
use holdpoint_testing::threads::requests::{
    chat, intent, interrupting, nlp_clarify, relating, request,
};
use holdpoint_testing::threads::{
    Outcome, Stage, lease_of, rows, thread_command, turn, work_order_of,
};

const AT: u64 = 1_000_000_000_000;
const TENANT: &str = "acme";
const THREAD: &str = "t";
const TEXT: &str = "It is sunny. It will rain.";

/// What a thread can be made to wait for by turns alone.
const PENDING: [PendingState; 5] = [
    PendingState::None,
    PendingState::Clarify,
    PendingState::Confirm,
    PendingState::MemoryPermission,
    PendingState::Tool,
];

/// Ada spoke in the thread; something is pending, and words of hers may be left unsaid.
fn stage(pending: PendingState, has_words: bool) -> Stage {
    let mut stage = Stage::with_tenant(TENANT);
    stage.work_order(TENANT, THREAD);
    for user in ["ada", "bob"] {
        stage.user(TENANT, user, "phone");
        session(&mut stage, user, SessionStatus::Active);
    }
    take(&mut stage, request("ada", "weather", chat(TEXT)));
    if has_words {
        let begun = request("ada", "weather", TurnInput::None);
        take(&mut stage, sure(interrupting(begun, AT, TEXT, 12)));
    }
    let input = match pending {
        PendingState::Clarify => nlp_clarify(),
        PendingState::Confirm => intent(IntentClass::Impactful),
        PendingState::Tool => intent(IntentClass::ReadOnlyTool),
        PendingState::MemoryPermission => chat("A secret."),
        _ => return stage,
    };
    let mut asks = request("ada", "weather", input);
    asks.sensitive_memory_present = pending == PendingState::MemoryPermission;
    take(&mut stage, if has_words { sure(asks) } else { asks });
    assert_eq!(stage.pending(TENANT, THREAD), pending);
    stage
}

fn session(stage: &mut Stage, user: &str, status: SessionStatus) {
    stage.session([TENANT, &format!("s-{user}"), user, "phone"], status, AT).events();
}

fn sure(request: TurnRequest) -> TurnRequest {
    relating(request, SubjectRelation::Switch, 9_000)
}

fn take(stage: &mut Stage, request: TurnRequest) {
    let turn_id = next(stage);
    let user = String::from(request.active_speaker_user_id.as_str());
    let mut command = turn(stage, [TENANT, THREAD, &user, "phone"], turn_id, request);
    command.session_id = Some(format!("s-{user}"));
    stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), AT)
        .events();
}

fn next(stage: &Stage) -> u64 {
    stage.world.thread(TENANT, THREAD).map_or(1, |thread| thread.last_turn_id + 1)
}

/// A row with everything that its scope and gates ask for.
fn row(stage: &Stage, directive: Directive, user: &str, reason_code: ReasonCode) -> Command {
    macro_rules! row {
        ($Row:ident { $($field:ident: $value:expr),* }) => {
            $Row {
                tenant_id: TENANT.into(),
                correlation_id: THREAD.into(),
                turn_id: next(stage),
                session_id: Some(format!("s-{user}")),
                user_id: user.into(),
                device_id: "phone".into(),
                work_order_id: work_order_of(THREAD),
                work_order_status_snapshot: WorkOrderStatus::Executing,
                pending_state: stage.pending(TENANT, THREAD),
                idempotency_key: "row".into(),
                reason_code,
                $($field: $value),*
            }
        };
    }
    let kind = String::from("KIND");
    match directive {
        Directive::Confirm => {
            Command::InterruptionThread(InterruptionThreadCommand::ConfirmCommitRow(row!(
                ConfirmCommitRow { confirm_kind: kind }
            )))
        }
        Directive::Clarify => {
            Command::InterruptionThread(InterruptionThreadCommand::ClarifyCommitRow(row!(
                ClarifyCommitRow { what_is_missing: kind, clarification_unit_id: "unit".into() }
            )))
        }
        Directive::Respond => {
            Command::InterruptionThread(InterruptionThreadCommand::RespondCommitRow(row!(
                RespondCommitRow { response_kind: kind }
            )))
        }
        Directive::Dispatch => Command::InterruptionThread(
            InterruptionThreadCommand::DispatchCommitRow(row!(DispatchCommitRow {
                dispatch_target: kind,
                lease_token_hash: Some(lease_of(THREAD))
            })),
        ),
        Directive::Wait => Command::InterruptionThread(InterruptionThreadCommand::WaitCommitRow(
            row!(WaitCommitRow { wait_kind: kind }),
        )),
    }
}

/// One place in the product.
#[derive(Debug, Clone, Copy)]
struct Case {
    directive: Directive,
    pending: PendingState,
    is_other: bool,
    session: SessionStatus,
    has_words: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for directive in Directive::ALL {
        for pending in PENDING {
            for session in SessionStatus::ALL {
                for (is_other, has_words) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let (directive, session) = (*directive, *session);
                    cases.push(Case { directive, pending, is_other, session, has_words });
                }
            }
        }
    }
    cases
}

/// The first rule that says no, by the words of the documentation.
fn expected(case: Case) -> Option<ReasonCode> {
    let is_dispatch = case.directive == Directive::Dispatch;
    let is_open = !matches!(case.pending, PendingState::None | PendingState::Tool);
    let needs_speaker = !matches!(case.directive, Directive::Wait | Directive::Clarify);
    match case {
        Case { directive: Directive::Wait, .. } => None,
        Case { session, .. } if session != SessionStatus::Active => {
            Some(ReasonCode::FailTenantScopeInvalid)
        }
        Case { is_other: true, .. } if needs_speaker => Some(ReasonCode::ContinuitySpeakerMismatch),
        _ if is_dispatch && is_open => Some(ReasonCode::FailPendingStateInvalid),
        Case { has_words: true, .. } if is_dispatch => Some(ReasonCode::FailPendingStateInvalid),
        _ => None,
    }
}

fn given(case: Case) -> (Stage, Outcome) {
    let mut stage = stage(case.pending, case.has_words);
    let user = if case.is_other { "bob" } else { "ada" };
    // Closing Ada's session would take her words with it: they are not what is asked here.
    if case.session != SessionStatus::Active {
        session(&mut stage, user, case.session);
    }
    let command = row(&stage, case.directive, user, ReasonCode::NlpChat);
    let outcome = stage.give(&command, AT);
    stage.assert_rebuilt();
    (stage, outcome)
}

#[test]
fn table_a_row_passes_no_open_question_no_other_speaker_and_no_session_that_is_not_active() {
    for case in cases() {
        let (stage, outcome) = given(case);
        let found = outcome.refusal().map(Refusal::code);
        assert_eq!(found, expected(case).map(ReasonCode::name), "{case:?}");
        let Outcome::Done(events) = outcome else { continue };
        let row = rows(&events)[0].clone();
        assert_eq!(row.dropped_pending, dropped(case), "{case:?}");
        let state = stage.state(TENANT, THREAD);
        assert_eq!(state.pending_state(), pending_after(case), "{case:?}");
        let speaker = state.marks.active_speaker_user_id.unwrap();
        // What is waited for stays with its speaker.
        let asks_another = case.is_other && case.directive == Directive::Clarify;
        let moves = asks_another && !waits(case);
        assert_eq!(speaker.as_str(), if moves { "bob" } else { "ada" }, "{case:?}");
        assert_eq!(state.marks.active_subject_ref.is_none(), moves, "{case:?}");
    }
}

/// Whether the thread waits for an answer that only its own speaker may give.
fn waits(case: Case) -> bool {
    !matches!(case.pending, PendingState::None | PendingState::Clarify)
}

fn dropped(case: Case) -> Option<PendingState> {
    let is_kept = match case.directive {
        Directive::Wait => true,
        Directive::Clarify => case.is_other,
        // Another action is asked about.
        _ => false,
    };
    let is_nothing = matches!(case.pending, PendingState::None | PendingState::Clarify);
    (!is_kept && !is_nothing).then_some(case.pending)
}

fn pending_after(case: Case) -> PendingState {
    match case.directive {
        Directive::Confirm => PendingState::Confirm,
        Directive::Clarify if case.is_other && waits(case) => case.pending,
        Directive::Clarify => PendingState::Clarify,
        Directive::Respond | Directive::Dispatch => PendingState::None,
        // What waited in Ada's session ended with it.
        Directive::Wait if case.session == SessionStatus::Closed && !case.is_other => {
            PendingState::None
        }
        Directive::Wait => case.pending,
    }
}

#[test]
fn a_row_carries_no_reason_of_a_refusal_or_of_what_became_of_words() {
    for reason in ReasonCode::ALL {
        let mut stage = stage(PendingState::None, false);
        let command = row(&stage, Directive::Respond, "ada", *reason);
        let before = stage.sequence;
        let outcome = stage.give(&command, AT);
        if reason.is_refusal() || reason.is_of_remainders() {
            assert_eq!(outcome.refusal().unwrap().code(), "MALFORMED_REQUEST", "{reason}");
            assert_eq!(stage.sequence, before, "{reason}");
        } else {
            assert!(matches!(outcome, Outcome::Done(_)), "{reason}");
        }
    }
}

#[test]
fn a_refused_turn_says_which_words_it_did_not_keep() {
    let mut stage = stage(PendingState::None, false);
    let begun = interrupting(request("ada", "weather", TurnInput::None), AT, TEXT, 12);
    let mut command = turn(&stage, [TENANT, THREAD, "ada", "phone"], 1, begun);
    command.idempotency_key = "another".into();
    let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command));
    let outcome = stage.give(&command, AT);
    let event = outcome.refusal().unwrap().audit(&stage.world, &command).unwrap();
    let Event::InterruptionThread(InterruptionThreadEvent::RowRefused(RowRefused {
        reason_code,
        remainders,
        ..
    })) = event
    else {
        panic!("{event:?}")
    };
    assert_eq!(reason_code, ReasonCode::FailTurnOrder);
    let told: Vec<_> = remainders.iter().map(|r| (r.captured_turn, r.fate, r.reason)).collect();
    assert_eq!(told, [(1, Fate::Discarded, FateReason::TurnRefused)]);
}

#[test]
fn a_thread_that_ended_waits_for_nothing() {
    for pending in PENDING {
        let mut stage = stage(pending, true);
        let close = Command::InterruptionThread(InterruptionThreadCommand::CloseThread(
            thread_command(TENANT, THREAD),
        ));
        stage.give(&close, AT).events();
        stage.assert_rebuilt();
        let state = stage.state(TENANT, THREAD);
        assert_eq!(state.pending_state(), PendingState::None);
        assert_eq!((state.resume_buffers.len(), state.marks.return_check), (0, None));
    }
}
