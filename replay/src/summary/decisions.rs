//! One line for each event of a question to a person.

use holdpoint_domain::Event;
use holdpoint_domain::human_decision::{
    HumanDecisionAnswered, HumanDecisionEvent, HumanDecisionRequested, HumanDecisionTimedOut,
    LateAnswerRecorded, VisibilityOverridden,
};
use holdpoint_domain::log::{CommandRefused, LogEvent};

use super::{short, shown};

/// Returns what happened, in one line; `None` for events of other systems.
pub(super) fn decision(event: &Event) -> Option<String> {
    Some(match event {
        Event::Log(LogEvent::CommandRefused(body)) => command_refused(body),
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => requested(body),
        Event::HumanDecision(HumanDecisionEvent::VisibilityOverridden(body)) => {
            visibility_overridden(body)
        }
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionWarned(body)) => {
            format!("{}: warning at 80 %, due {}", shown(&body.request_id), body.due_at)
        }
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => answered(body),
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => timed_out(body),
        Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(body)) => late_answer(body),
        Event::HumanDecision(HumanDecisionEvent::RequestWithdrawn(body)) => {
            format!("{} withdrawn: the loop halts", shown(&body.request_id))
        }
        Event::HumanDecision(HumanDecisionEvent::OutputShown(body)) => {
            format!("{}: what the command printed is shown at the prompt", shown(&body.request_id))
        }
        _ => return None,
    })
}

fn command_refused(body: &CommandRefused) -> String {
    let subject = body.subject.as_ref().map(|subject| format!(" on {}", shown(subject)));
    format!(
        "{}{} refused: {} ({})",
        body.command,
        subject.unwrap_or_default(),
        body.code,
        body.class
    )
}

fn requested(body: &HumanDecisionRequested) -> String {
    let asked = body.context.asked_of.as_ref().map(|target| format!(" of {}", shown(target)));
    format!(
        "{}: a decision on attempt {} is requested{}, until {}",
        shown(&body.request.request_id),
        body.context.attempt,
        asked.unwrap_or_default(),
        body.request.timeout_at
    )
}

fn visibility_overridden(body: &VisibilityOverridden) -> String {
    format!(
        "{}: {} may be shown, allowed by {}, SHA-256 {}",
        shown(&body.request_id),
        body.field,
        shown(&body.human_id),
        short(&body.disclosed)
    )
}

fn answered(body: &HumanDecisionAnswered) -> String {
    let record = &body.record;
    let reason = record.reason.as_ref().map(|reason| format!(": {}", shown(reason)));
    format!(
        "{}: {} by {} ({}), {}{}",
        shown(&record.request_id),
        record.decision,
        shown(&record.human_id),
        body.means.channel,
        body.outcome,
        reason.unwrap_or_default()
    )
}

fn timed_out(body: &HumanDecisionTimedOut) -> String {
    let record = &body.record;
    let request = shown(&record.request_id);
    format!("{request}: nobody answered until {}: {}, TIMEOUT", body.due_at, record.decision)
}

fn late_answer(body: &LateAnswerRecorded) -> String {
    format!(
        "{}: {} by {} came too late and does not count; the deadline was {}",
        shown(&body.request_id),
        body.decision,
        shown(&body.human_id),
        body.timeout_at
    )
}
