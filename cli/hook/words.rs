//! What hooks say. An agent reads it, and a person may: what agents wrote is shown with control
//! characters visible, and every "no" says what not to do next.

use crate::arguments::program;
use crate::text::cut;
use holdpoint_domain::Time;
use holdpoint_domain::text::visible;
use holdpoint_domain::world::DecisionPoint;
use std::path::Path;

/// How the list of a session's decisions begins.
pub(super) const TOLD_FIRST: &str = "Holdpoint: decisions that this session asked for, newest \
                                     first. A decision that waits is not an approval.";

/// How much of a prompt a list shows, in bytes.
const PROMPT_BYTES_MAX: usize = 120;

const DO_NOT: &str = "do not retry, rephrase or split this call, and do not try another way";

/// A person approved this call, and the approval is spent now.
pub(super) fn spent(point: &DecisionPoint) -> String {
    format!("approved by {}, decision {}, spent by this call", who(point), point.decision_id)
}

/// A person is asked.
pub(super) fn pending(log: &Path, point: &DecisionPoint, before: Option<&DecisionPoint>) -> String {
    let id = &point.decision_id;
    let before = before.map(|point| format!("{}; ", was_before(point))).unwrap_or_default();
    let program = program(log);
    format!(
        "{before}pending, decision {id}: {DO_NOT}. A person answers with `{program} decision \
         respond {id} --option approve`, not you. Wait with `{program} decision wait {id}` or stop \
         here; once it is approved, make exactly this call again"
    )
}

/// A person said no.
pub(super) fn rejected(point: &DecisionPoint) -> String {
    let comment = point.ending.as_ref().and_then(|ending| ending.comment.as_deref());
    let comment = comment.map(|comment| format!(", saying \"{}\"", visible(comment)));
    format!(
        "rejected by {}, decision {}{}: {DO_NOT}",
        who(point),
        point.decision_id,
        comment.unwrap_or_default()
    )
}

/// Nobody answered while the hook waited.
pub(super) fn unanswered(point: &DecisionPoint) -> String {
    format!("{}: {DO_NOT}", was_before(point))
}

/// An approval waits to be used.
pub(super) fn approved_unspent(point: &DecisionPoint) -> String {
    let prompt = shown(point);
    format!("decision {} was approved ({prompt}): retry the action", point.decision_id)
}

/// A decision waits, and the agent is not to stop before it is answered.
pub(super) fn still_waits(log: &Path, point: &DecisionPoint) -> String {
    let (id, program, prompt) = (&point.decision_id, program(log), shown(point));
    format!(
        "decision {id} still waits for a person ({prompt}): wait with `{program} decision wait \
         {id}`, and do not answer it yourself"
    )
}

/// One decision, for a session that starts.
pub(super) fn told(log: &Path, point: &DecisionPoint, now: Time) -> String {
    let (id, prompt) = (&point.decision_id, shown(point));
    let how = if super::stop::waits(point, now) {
        format!("waits; `{} decision wait {id}`", program(log))
    } else if point.is_open() {
        "nobody answered in time: silence is not consent".to_string()
    } else if super::stop::is_to_be_spent(point, now) {
        format!("approved by {}: retry the action", who(point))
    } else if point.consumed.is_some() {
        "approved, and spent already".to_string()
    } else {
        point.outcome_line()
    };
    format!("- {id}: {prompt}: {how}")
}

/// What became of the last time that this was asked.
fn was_before(point: &DecisionPoint) -> String {
    let id = &point.decision_id;
    let is_silence = point.ending.as_ref().is_some_and(|ending| ending.by.is_none());
    if point.consumed.is_some() {
        format!("the approval {id} is spent already")
    } else if point.lapsed_at.is_some() {
        format!("the approval {id} was not used in time")
    } else if is_silence {
        format!("nobody answered decision {id} in time, and silence is not consent")
    } else {
        format!("decision {id} came to: {}", point.outcome_line())
    }
}

fn who(point: &DecisionPoint) -> String {
    let by = point.ending.as_ref().and_then(|ending| ending.by.as_ref());
    by.map_or_else(|| "nobody".to_string(), |by| visible(&by.id).to_string())
}

fn shown(point: &DecisionPoint) -> String {
    cut(&point.terms.proposal.prompt, PROMPT_BYTES_MAX)
}
