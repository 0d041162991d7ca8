//! Random turns and rows: mostly what the thread asks for.

use holdpoint_domain::Command;
use holdpoint_domain::interruption_thread::{
    ClarifyCommitRow, ConfirmAnswer, ConfirmCommitRow, Directive, DispatchCommitRow, IntentClass,
    InterruptionThreadCommand, Pending, PendingState, ReasonCode, RespondCommitRow,
    SubjectRelation, TakeTurn, ThreadState, ToolStatus, TurnInput, TurnRequest, WaitCommitRow,
};
use quickcheck::{Arbitrary as _, Gen};

use super::requests::{
    chat, failure, intent, interrupting, interruption, nlp_clarify, points, request, tool,
};

/// Who speaks at a moment of nanoseconds in which turn, what the thread is in, and the words of an
/// answer that is left unsaid where it is interrupted.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub at: u64,
    pub user: &'a str,
    pub turn_id: u64,
    pub state: &'a ThreadState,
    pub words: &'a str,
}

/// What is known about a turn. Every text says in brackets to whom it is said, and in which turn.
pub fn drawn_request(random: &mut Gen, moment: Moment<'_>) -> TurnRequest {
    let Moment { at, user, state, words, .. } = moment;
    let subject = any(random, &["weather", "weather", "weather", "trains"]);
    let mut request = request(user, subject, TurnInput::None);
    let is_barge_in = one_in(random, 3);
    let pending = state.pending_state();
    let is_asked = state.marks.return_check.is_some()
        || matches!(pending, PendingState::Confirm | PendingState::MemoryPermission);
    if is_barge_in {
        request = interrupting(request, at, &format!("Said. {words}"), 5);
        if one_in(random, 5) {
            request.tts_resume_snapshot = None;
            request.interruption = Some(interruption(at));
        }
    } else if is_asked && !one_in(random, 3) {
        request.confirm_answer = Some(any(random, ConfirmAnswer::ALL));
    }
    if request.confirm_answer.is_none() && (!is_barge_in || one_in(random, 2)) {
        request.input = drawn_input(random, moment);
    }
    request.sensitive_memory_present = one_in(random, 5);
    let may_relate = is_barge_in || !state.resume_buffers.is_empty();
    if may_relate && !one_in(random, 5) || one_in(random, 50) {
        request.interrupt_subject_relation = Some(any(random, SubjectRelation::ALL));
        let confidence = any(random, &[0, 6_999, 7_000, 9_500, 9_999]);
        request.interrupt_subject_relation_confidence_bp = Some(points(confidence));
    }
    request
}

fn drawn_input(random: &mut Gen, moment: Moment<'_>) -> TurnInput {
    let Moment { user, turn_id, state, .. } = moment;
    if let Some(Pending::Tool { request_id, .. }) = &state.marks.pending
        && !one_in(random, 3)
    {
        return tool(request_id, any(random, ToolStatus::ALL));
    }
    match below(random, 8) {
        0 => nlp_clarify(),
        1 => failure(),
        2 => tool("TOOL-0", ToolStatus::Ok),
        3 | 4 => intent(any(random, IntentClass::ALL)),
        _ => chat(&format!("Answer [{user} {turn_id}].")),
    }
}

fn below(random: &mut Gen, bound: u64) -> u64 {
    u64::arbitrary(random) % bound
}

fn one_in(random: &mut Gen, bound: u64) -> bool {
    below(random, bound) == 0
}

fn any<T: Copy>(random: &mut Gen, of: &[T]) -> T {
    *random.choose(of).unwrap()
}

/// One of the five rows, with the scope of a turn.
macro_rules! row_of {
    ($of:ident, $Body:ident { $($field:ident: $value:expr),+ }) => {
        Command::InterruptionThread(InterruptionThreadCommand::$Body($Body {
            tenant_id: $of.tenant_id,
            correlation_id: $of.correlation_id,
            turn_id: $of.turn_id,
            session_id: $of.session_id,
            user_id: $of.user_id,
            device_id: $of.device_id,
            work_order_id: $of.work_order_id,
            work_order_status_snapshot: $of.work_order_status_snapshot,
            pending_state: $of.pending_state,
            idempotency_key: format!("row-{}", $of.idempotency_key),
            $($field: $value),+
        }))
    };
}

/// Any of the five rows that a caller commits, with the scope of a turn.
pub fn drawn_row(random: &mut Gen, of: TakeTurn) -> Command {
    row(of, any(random, Directive::ALL))
}

/// The row of a directive that a caller commits, with the scope of a turn.
pub fn row(of: TakeTurn, directive: Directive) -> Command {
    let (kind, reason_code) = (String::from("KIND"), ReasonCode::NlpChat);
    match directive {
        Directive::Confirm => {
            row_of!(of, ConfirmCommitRow { confirm_kind: kind, reason_code: reason_code })
        }
        Directive::Clarify => row_of!(
            of,
            ClarifyCommitRow {
                what_is_missing: kind,
                clarification_unit_id: "unit-1".into(),
                reason_code: reason_code
            }
        ),
        Directive::Respond => {
            row_of!(of, RespondCommitRow { response_kind: kind, reason_code: reason_code })
        }
        Directive::Dispatch => row_of!(
            of,
            DispatchCommitRow {
                dispatch_target: kind,
                lease_token_hash: of.lease_token_hash,
                reason_code: reason_code
            }
        ),
        Directive::Wait => row_of!(of, WaitCommitRow { wait_kind: kind, reason_code: reason_code }),
    }
}
