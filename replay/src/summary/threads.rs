//! One line for each event of an interruption thread, or of a registration that it presumes.

use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::{
    BufferExpired, InterruptionThreadEvent, PendingDisarmed, PlanDrafted, PlanEnded, ReasonCode,
    Remainder, RemainderDisplaced, RemaindersDiscarded, ReturnCheckExpired, RowCommitted,
    RowRefused, RowsRead, TurnCommitted, TurnTaken,
};
use holdpoint_domain::registration::{
    CapabilityChanged, DeviceRegistered, LeaseRegistered, RegistrationEvent, SessionRegistered,
    WorkOrderRegistered,
};

use super::{short, shown};

/// Returns what happened, in one line; `None` for events of other systems.
pub(super) fn of_thread(event: &Event) -> Option<String> {
    Some(match event {
        Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => turn_taken(body),
        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body)) => {
            row_committed(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::RowRefused(body)) => row_refused(body),
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) => {
            buffer_expired(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::ReturnCheckExpired(body)) => {
            return_check_expired(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
            remainders_discarded(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(body)) => {
            remainder_displaced(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => {
            pending_disarmed(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::ThreadMoved(body)) => {
            let thread = named(&body.tenant_id, &body.correlation_id);
            format!("thread {thread} goes on in session {}", shown(&body.session_id))
        }
        Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(body)) => plan_drafted(body),
        Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(body)) => plan_ended(body),
        Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(body)) => {
            turn_committed(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::RowsRead(body)) => rows_read(body),
        Event::InterruptionThread(InterruptionThreadEvent::ThreadClosed(body)) => {
            format!("thread {} ended", named(&body.tenant_id, &body.correlation_id))
        }
        other => return registration(other),
    })
}

fn registration(event: &Event) -> Option<String> {
    Some(match event {
        Event::Registration(RegistrationEvent::CapabilityChanged(body)) => capability_changed(body),
        Event::Registration(RegistrationEvent::TenantRegistered(body)) => {
            format!("tenant {}: {}", shown(&body.tenant_id), body.status)
        }
        Event::Registration(RegistrationEvent::UserRegistered(body)) => {
            format!("user {}: {}", named(&body.tenant_id, &body.user_id), body.status)
        }
        Event::Registration(RegistrationEvent::DeviceRegistered(body)) => device_registered(body),
        Event::Registration(RegistrationEvent::SessionRegistered(body)) => session_registered(body),
        Event::Registration(RegistrationEvent::WorkOrderRegistered(body)) => {
            work_order_registered(body)
        }
        Event::Registration(RegistrationEvent::LeaseRegistered(body)) => lease_registered(body),
        _ => return None,
    })
}

fn capability_changed(body: &CapabilityChanged) -> String {
    let verb = if body.is_granted { "given to" } else { "taken from" };
    format!("{} {verb} {} {}", body.capability, body.actor_kind, shown(&body.actor_id))
}

fn device_registered(body: &DeviceRegistered) -> String {
    let device = named(&body.tenant_id, &body.device_id);
    format!("device {device} of {}: {}", shown(&body.user_id), body.status)
}

fn session_registered(body: &SessionRegistered) -> String {
    let session = named(&body.tenant_id, &body.session_id);
    let (user, device) = (shown(&body.user_id), shown(&body.device_id));
    format!("session {session} of {user} on {device}: {}", body.status)
}

fn work_order_registered(body: &WorkOrderRegistered) -> String {
    let order = named(&body.tenant_id, &body.work_order_id);
    format!("work order {order} of thread {}: {}", shown(&body.correlation_id), body.status)
}

fn lease_registered(body: &LeaseRegistered) -> String {
    let order = named(&body.tenant_id, &body.work_order_id);
    let hash = short(&body.lease_token_hash);
    format!("lease {hash} on work order {order} until {}: {}", body.expires_at, body.status)
}

fn turn_taken(body: &TurnTaken) -> String {
    let policy = body.decision.interrupt_resume_policy.map(|policy| format!(", {policy}"));
    format!(
        "thread {}, turn {} of {}: {} {}{}",
        named(&body.tenant_id, &body.correlation_id),
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
        "thread {}, turn {}: row {} {} by {}, key {}{}",
        named(&body.tenant_id, &body.correlation_id),
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
        "thread {}, turn {} of {} on {}: {} refused, {}{}{}",
        named(&body.tenant_id, &body.correlation_id),
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
        "thread {}: what turn {} left unsaid to {} expired at {}, {}",
        named(&body.tenant_id, &body.correlation_id),
        body.captured_turn,
        shown(&body.speaker_user_id),
        body.expires_at,
        body.interrupt_resume_policy
    )
}

fn return_check_expired(body: &ReturnCheckExpired) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    let policy = body.interrupt_resume_policy;
    format!("thread {thread}: the return check expired at {}, {policy}", body.expires_at)
}

fn remainders_discarded(body: &RemaindersDiscarded) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    format!("thread {thread}: {}{}", body.reason_code, fates(&body.remainders))
}

fn remainder_displaced(body: &RemainderDisplaced) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    let (reason, by) = (body.reason_code, body.displaced_by_turn);
    format!("thread {thread}: {reason} by turn {by}; {}", fate(&body.remainder))
}

fn pending_disarmed(body: &PendingDisarmed) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    let check = body.return_check.map(|turn| format!(", and the return check on turn {turn}"));
    let ends_thread = body.reason_code == ReasonCode::ThreadClosed;
    let session = (!ends_thread).then(|| format!(" with session {}", shown(&body.session_id)));
    format!(
        "thread {thread}: {}{}; it waits no more for {}{}",
        body.reason_code,
        session.unwrap_or_default(),
        body.pending_state,
        check.unwrap_or_default()
    )
}

fn plan_drafted(body: &PlanDrafted) -> String {
    format!(
        "thread {}, turn {} of {}: plan {}, {} {}",
        named(&body.tenant_id, &body.correlation_id),
        body.turn_id,
        shown(&body.request.active_speaker_user_id),
        shown(&body.plan_key),
        body.plan.branch,
        body.plan.reason_code
    )
}

fn plan_ended(body: &PlanEnded) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    let (key, reason, policy) =
        (shown(&body.plan_key), body.reason_code, body.interrupt_resume_policy);
    format!(
        "thread {thread}, turn {}: plan {key} ended, {reason}, {policy}; {}",
        body.turn_id,
        fate(&body.remainder)
    )
}

fn turn_committed(body: &TurnCommitted) -> String {
    format!(
        "thread {}, turn {}: commit of plan {}, {} {}",
        named(&body.tenant_id, &body.correlation_id),
        body.turn_id,
        shown(&body.plan_key),
        body.decision.branch,
        body.decision.reason_code
    )
}

fn rows_read(body: &RowsRead) -> String {
    let thread = named(&body.tenant_id, &body.correlation_id);
    format!("thread {thread}: its rows up to record {} were read", body.last_sequence)
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

/// Something of a tenant.
fn named(tenant_id: &str, name: &str) -> String {
    format!("{}/{}", shown(tenant_id), shown(name))
}
