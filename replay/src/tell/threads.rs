//! Rows of an interruption thread. A row of a story begins with the same words, and says below
//! them what the record holds.

mod details;

use super::{Form, named, shown};
use crate::words::moment;
pub(crate) use details::details;
use holdpoint_domain::interruption_thread::{
    BufferExpired, DecidedBy, InterruptionThreadEvent, PendingDisarmed, PlanDrafted, PlanEnded,
    ReasonCode, Remainder, RemainderDisplaced, RemaindersDiscarded, ReturnCheckExpired,
    RowCommitted, RowRefused, TurnCommitted, TurnTaken,
};
use holdpoint_domain::registration::SessionStatus;

/// Tells an event of a thread, behind the thread's name.
pub(super) fn tell(event: &InterruptionThreadEvent, form: Form) -> String {
    let (tenant_id, correlation_id) = event.thread();
    let thread = named(tenant_id, correlation_id);
    match form {
        Form::Codes => format!("thread {thread}{}", row(event, form)),
        Form::Words => format!("thread {thread}: {}", row(event, form)),
    }
}

/// Describes an event to a reader who knows of which thread it is.
pub(crate) fn words(event: &InterruptionThreadEvent) -> String {
    row(event, Form::Words)
}

/// The codes go on behind the name of the thread.
fn row(event: &InterruptionThreadEvent, form: Form) -> String {
    use InterruptionThreadEvent as E;
    match event {
        E::TurnTaken(body) => form.of(|| turn_taken(body), || turn_head(body)),
        E::RowCommitted(body) => form.of(|| row_committed(body), || row_head(body)),
        E::RowRefused(body) => form.of(|| row_refused(body), || refused_head(body)),
        E::BufferExpired(body) => form.of(
            || buffer_expired(body),
            || format!("remainder expired {}", moment(body.expires_at)),
        ),
        E::ReturnCheckExpired(body) => form.of(
            || return_check_expired(body),
            || format!("return check expired {}", moment(body.expires_at)),
        ),
        E::RemaindersDiscarded(body) => {
            form.of(|| remainders_discarded(body), || discarded_head(body))
        }
        E::RemainderDisplaced(body) => form.of(
            || remainder_displaced(body),
            || format!("remainder gives way to that of turn {}", body.displaced_by_turn),
        ),
        E::PendingDisarmed(body) => form.of(|| pending_disarmed(body), || disarmed_head(body)),
        E::ThreadMoved(body) => {
            let moved = format!("goes on in session {}", shown(&body.session_id));
            form.of(|| format!(" {moved}"), || moved.clone())
        }
        E::PlanDrafted(body) => form.of(|| plan_drafted(body), || plan_head(body)),
        E::PlanEnded(body) => form.of(
            || plan_ended(body),
            || {
                let key = shown(&body.plan_key);
                format!("plan {key} of turn {} ended without its words", body.turn_id)
            },
        ),
        E::TurnCommitted(body) => form.of(
            || turn_committed(body),
            || format!("commit of turn {}, plan {}", body.turn_id, shown(&body.plan_key)),
        ),
        E::RowsRead(body) => {
            let last = body.last_sequence;
            form.of(
                || format!(": its rows up to record {last} were read"),
                || format!("the rows up to record {last} were read"),
            )
        }
        E::ThreadClosed(_) => form.of(|| " ended".to_string(), || "thread ended".to_string()),
    }
}

fn turn_taken(body: &TurnTaken) -> String {
    let policy = body.decision.interrupt_resume_policy.map(|policy| format!(", {policy}"));
    format!(
        ", turn {} of {}: {} {}{}",
        body.turn_id,
        shown(&body.request.active_speaker_user_id),
        body.decision.directive,
        body.decision.reason_code,
        policy.unwrap_or_default()
    )
}

fn row_committed(body: &RowCommitted) -> String {
    let dropped = body.dropped_pending.map(|pending| format!(", {pending} given up"));
    format!(
        ", turn {}: row {} {} by {}, key {}{}",
        body.turn_id,
        body.payload.directive,
        body.reason_code,
        body.decided_by,
        shown(&body.idempotency_key),
        dropped.unwrap_or_default()
    )
}

fn row_refused(body: &RowRefused) -> String {
    let silenced = body.tts_control.map(|control| format!(", speech {control}"));
    format!(
        ", turn {} of {} on {}: {} refused, {}{}{}",
        body.turn_id,
        shown(&body.user_id),
        shown(&body.device_id),
        shown(&body.command),
        shown(&body.message).replace("\\\\", "\\"),
        silenced.unwrap_or_default(),
        fates(&body.remainders)
    )
}

fn buffer_expired(body: &BufferExpired) -> String {
    format!(
        ": what turn {} left unsaid to {} expired at {}, {}",
        body.captured_turn,
        shown(&body.speaker_user_id),
        body.expires_at,
        body.interrupt_resume_policy
    )
}

fn return_check_expired(body: &ReturnCheckExpired) -> String {
    let policy = body.interrupt_resume_policy;
    format!(": the return check expired at {}, {policy}", body.expires_at)
}

fn remainders_discarded(body: &RemaindersDiscarded) -> String {
    format!(": {}{}", body.reason_code, fates(&body.remainders))
}

fn remainder_displaced(body: &RemainderDisplaced) -> String {
    let (reason, by) = (body.reason_code, body.displaced_by_turn);
    format!(": {reason} by turn {by}; {}", fate(&body.remainder))
}

fn pending_disarmed(body: &PendingDisarmed) -> String {
    let check = body.return_check.map(|turn| format!(", and the return check on turn {turn}"));
    let ends_thread = body.reason_code == ReasonCode::ThreadClosed;
    let session = (!ends_thread).then(|| format!(" with session {}", shown(&body.session_id)));
    format!(
        ": {}{}; it waits no more for {}{}",
        body.reason_code,
        session.unwrap_or_default(),
        body.pending_state,
        check.unwrap_or_default()
    )
}

fn plan_drafted(body: &PlanDrafted) -> String {
    format!(
        ", turn {} of {}: plan {}, {} {}",
        body.turn_id,
        shown(&body.request.active_speaker_user_id),
        shown(&body.plan_key),
        body.plan.branch,
        body.plan.reason_code
    )
}

fn plan_ended(body: &PlanEnded) -> String {
    let (key, reason, policy) =
        (shown(&body.plan_key), body.reason_code, body.interrupt_resume_policy);
    format!(
        ", turn {}: plan {key} ended, {reason}, {policy}; {}",
        body.turn_id,
        fate(&body.remainder)
    )
}

fn turn_committed(body: &TurnCommitted) -> String {
    format!(
        ", turn {}: commit of plan {}, {} {}",
        body.turn_id,
        shown(&body.plan_key),
        body.decision.branch,
        body.decision.reason_code
    )
}

/// Returns what became of words that were left unsaid, behind what else is said of the record.
fn fates(remainders: &[Remainder]) -> String {
    remainders.iter().map(|one| format!("; {}", fate(one))).collect()
}

fn fate(remainder: &Remainder) -> String {
    format!(
        "what turn {} left unsaid to {}: {}, {}",
        remainder.captured_turn,
        shown(&remainder.speaker_user_id),
        remainder.fate,
        remainder.reason
    )
}

fn turn_head(body: &TurnTaken) -> String {
    let request = &body.request;
    let session = match body.session_status {
        SessionStatus::Active => String::new(),
        status => format!(", session {status}"),
    };
    format!(
        "turn {}: {} about {}{session}",
        body.turn_id,
        shown(&request.active_speaker_user_id),
        shown(&request.subject_ref)
    )
}

fn row_head(body: &RowCommitted) -> String {
    let key = shown(&body.idempotency_key);
    match body.decided_by {
        DecidedBy::BranchTable => format!("row of turn {}, key {key}", body.turn_id),
        DecidedBy::Caller => format!(
            "row of turn {} by its caller, {}: {} {}, key {key}",
            body.turn_id,
            shown(&body.user_id),
            body.payload.directive,
            body.reason_code
        ),
    }
}

/// Names who spoke: what about is not kept of a refused turn.
fn refused_head(body: &RowRefused) -> String {
    let what = body.directive.map(|directive| format!("row {directive} of turn"));
    format!(
        "{} {} of {} on {} refused, key {}",
        what.unwrap_or_else(|| turn_or_plan(&body.command).into()),
        body.turn_id,
        shown(&body.user_id),
        shown(&body.device_id),
        shown(&body.idempotency_key)
    )
}

/// Names a refused command that commits no row: a turn, or the plan of one.
pub(super) fn turn_or_plan(command: &str) -> &'static str {
    if command == "interruption_thread.draft_plan" { "plan of turn" } else { "turn" }
}

fn discarded_head(body: &RemaindersDiscarded) -> String {
    match &body.session_id {
        Some(session) => format!("{}, session {}", body.reason_code, shown(session)),
        None => body.reason_code.to_string(),
    }
}

fn disarmed_head(body: &PendingDisarmed) -> String {
    let ends_thread = body.reason_code == ReasonCode::ThreadClosed;
    let session = (!ends_thread).then(|| format!(", session {}", shown(&body.session_id)));
    format!("{}{}", body.reason_code, session.unwrap_or_default())
}

fn plan_head(body: &PlanDrafted) -> String {
    let (whose, key) = (shown(&body.request.active_speaker_user_id), shown(&body.plan_key));
    format!(
        "plan {key} of turn {}: {whose} about {}",
        body.turn_id,
        shown(&body.request.subject_ref)
    )
}
