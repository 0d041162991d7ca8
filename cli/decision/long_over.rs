//! Decisions that ended so long ago that a writer remembers them no longer. They are looked up in
//! the log; the same as before is told again, everything else came too late.

use super::desk::{Desk, ended, no};
use super::look::Look;
use super::told::{Told, show};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use holdpoint_domain::command::Command;
use holdpoint_domain::decision_point::{DecisionPointState, Principal};
use holdpoint_domain::refusal::DecisionPointRefusal;
use holdpoint_domain::text::visible;
use holdpoint_domain::world::DecisionPoint;
use holdpoint_replay::Until;
use serde_json::json;

/// Tells what a command on such a decision comes to, and closes the log. Nothing is written. Where
/// there is no such decision either, the failure stays as it was.
pub(super) fn tell(
    global: &Global,
    desk: Desk<'_>,
    unknown: Failure,
    wanted: &str,
    command: impl FnOnce(String) -> Command,
    what: impl FnOnce(&DecisionPoint) -> String,
) -> Result<Exit, Failure> {
    if unknown.code() != "not_found" {
        return Err(unknown);
    }
    let look = Look::at(&Directory::open(global)?, Until::End)?;
    let Ok(point) = look.find(wanted) else { return Err(unknown) };
    let command = command(point.decision_id.to_string());
    let told = match (done_before(point, &command), &command) {
        (Some(sequence), _) => Ok(again(&desk, &look, point, sequence)?),
        (None, Command::ConsumeApproval(_)) => Err(told_of(&look, point, no(not_to_spend(point)))),
        _ => {
            let over = no(ended(point)).adding("; that is long ago, and this is not kept");
            Err(told_of(&look, point, over))
        }
    };
    desk.close()?;
    show(global, &told?, what)
}

/// The record of the same answer by the same somebody, or of taking it back.
fn done_before(point: &DecisionPoint, command: &Command) -> Option<u64> {
    let ending = point.ending.as_ref()?;
    match command {
        Command::RespondToDecisionPoint(given) => {
            let policy = point.terms.policy.as_ref();
            let is_proven =
                policy.is_none_or(|policy| given.by.authenticated_by >= policy.authentication);
            let is_by = |by: &Principal| by.id == given.by.id && by.kind == given.by.kind;
            let words = given.comment.as_deref();
            let is_said = words.is_none_or(|words| ending.comment.as_deref() == Some(words));
            let is_same = ending.response.as_ref() == Some(&given.response) && is_said;
            let is_again = is_proven && is_same && ending.by.as_ref().is_some_and(is_by);
            is_again.then_some(ending.sequence)
        }
        Command::CancelDecisionPoint(_) => {
            (point.state == DecisionPointState::Cancelled).then_some(ending.sequence)
        }
        _ => None,
    }
}

/// Why nothing is to be spent of a decision that nothing happens to any more.
fn not_to_spend(point: &DecisionPoint) -> DecisionPointRefusal {
    let (decision_id, state) = (point.decision_id.to_string(), point.state);
    match (&point.consumed, point.lapsed_at) {
        (Some(consumed), _) => {
            let (at, by) = (consumed.at, visible(&consumed.by.id).to_string());
            DecisionPointRefusal::AlreadyConsumed { decision_id, at, by }
        }
        (None, Some(until)) => DecisionPointRefusal::ApprovalLapsed { decision_id, until },
        (None, None) => {
            let outcome = point.outcome_line();
            DecisionPointRefusal::NotApproved { decision_id, state, outcome }
        }
    }
}

fn again(
    desk: &Desk<'_>,
    look: &Look,
    point: &DecisionPoint,
    sequence: u64,
) -> Result<Told, Failure> {
    let next = point.next_id.as_deref().and_then(|id| look.rebuilt.world.decision_point(id));
    Ok(Told {
        decision: json!(look.view(point)),
        next_decision: next.map(|next| json!(look.view(next))),
        event: desk.record(sequence)?,
        replayed: true,
        points: (point.clone(), next.cloned()),
    })
}

fn told_of(look: &Look, point: &DecisionPoint, failure: Failure) -> Failure {
    let failure = failure.with("decision_id", json!(point.decision_id));
    failure.with("current", json!(look.view(point)))
}
