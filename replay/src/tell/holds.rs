//! Rows of a question to a person about an attempt.

use super::{Form, named_by_application, short, shown};
use crate::words::{moment, quoted};
use holdpoint_domain::human_decision::{
    AnswerChannel, HumanDecisionAnswered, HumanDecisionEvent, HumanDecisionOutcome,
    HumanDecisionRequested, LateAnswerRecorded, VisibilityOverridden,
};

/// Tells an event of a request, behind its id.
pub(super) fn tell(event: &HumanDecisionEvent, form: Form) -> String {
    let told = match event {
        HumanDecisionEvent::HumanDecisionRequested(body) => {
            form.of(|| requested_codes(body), || requested(body))
        }
        HumanDecisionEvent::VisibilityOverridden(body) => visibility_overridden(body),
        HumanDecisionEvent::HumanDecisionWarned(body) => form.of(
            || format!(": warning at 80 %, due {}", body.due_at),
            || {
                let end = moment(body.due_at);
                format!(": four fifths of the time to answer are over, which ends at {end}")
            },
        ),
        HumanDecisionEvent::HumanDecisionAnswered(body) => {
            form.of(|| answered_codes(body), || answered(body))
        }
        HumanDecisionEvent::HumanDecisionTimedOut(body) => {
            let decision = body.record.decision;
            form.of(
                || format!(": nobody answered until {}: {decision}, TIMEOUT", body.due_at),
                || format!(": nobody answered until {}: {decision}", moment(body.due_at)),
            )
        }
        HumanDecisionEvent::LateAnswerRecorded(body) => {
            form.of(|| late_answer_codes(body), || late_answer(body))
        }
        HumanDecisionEvent::RequestWithdrawn(_) => form.of(
            || " withdrawn: the loop halts".to_string(),
            || ": taken back, for the run ends without an answer".to_string(),
        ),
        HumanDecisionEvent::OutputShown(_) => form.of(
            || ": what the command printed is shown at the prompt".to_string(),
            || ": what the command printed is shown at the prompt of the question".to_string(),
        ),
    };
    format!("{}{told}", shown(event.request_id()))
}

fn requested_codes(body: &HumanDecisionRequested) -> String {
    let asked = body.context.asked_of.as_ref().map(|target| format!(" of {}", shown(target)));
    format!(
        ": a decision on attempt {} is requested{}, until {}",
        body.context.attempt,
        asked.unwrap_or_default(),
        body.request.timeout_at
    )
}

fn visibility_overridden(body: &VisibilityOverridden) -> String {
    format!(
        ": {} may be shown, allowed by {}, SHA-256 {}",
        body.field,
        shown(&body.human_id),
        short(&body.disclosed)
    )
}

fn answered_codes(body: &HumanDecisionAnswered) -> String {
    let record = &body.record;
    let reason = record.reason.as_ref().map(|reason| format!(": {}", shown(reason)));
    format!(
        ": {} by {} ({}), {}{}",
        record.decision,
        shown(&record.human_id),
        body.means.channel,
        body.outcome,
        reason.unwrap_or_default()
    )
}

fn late_answer_codes(body: &LateAnswerRecorded) -> String {
    format!(
        ": {} by {} came too late and does not count; the deadline was {}",
        body.decision,
        shown(&body.human_id),
        body.timeout_at
    )
}

fn requested(body: &HumanDecisionRequested) -> String {
    let asked = body
        .context
        .asked_of
        .as_ref()
        .map_or("a person".to_string(), |of| named_by_application(of));
    let (attempt, end) = (body.context.attempt, moment(body.request.timeout_at));
    format!(": {asked} is asked what follows attempt {attempt}, until {end}")
}

fn answered(body: &HumanDecisionAnswered) -> String {
    let record = &body.record;
    let means = match body.means.channel {
        AnswerChannel::Terminal => "at a terminal",
        AnswerChannel::YesFlag => "without a terminal",
        AnswerChannel::Api => "through a program",
        AnswerChannel::OsUser => "by a process of that user",
        AnswerChannel::Claim => "a claim that nothing proves",
    };
    let outcome = match body.outcome {
        HumanDecisionOutcome::Applied | HumanDecisionOutcome::Timeout => "",
        HumanDecisionOutcome::Rejected => "; it could not be done",
        HumanDecisionOutcome::Pending => "; somebody else is asked",
    };
    let reason = record.reason.as_ref().map(|reason| format!(", because {}", quoted(reason)));
    format!(
        ": {} by {} ({means}){outcome}{}",
        record.decision,
        named_by_application(&record.human_id),
        reason.unwrap_or_default()
    )
}

fn late_answer(body: &LateAnswerRecorded) -> String {
    format!(
        ": {} by {} came too late, after {}, and does not count",
        body.decision,
        named_by_application(&body.human_id),
        moment(body.timeout_at)
    )
}
