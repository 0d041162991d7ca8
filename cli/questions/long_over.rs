//! Decisions that ended so long ago that a writer remembers them no longer. They are looked up in
//! the log; the same as before is told again, everything else came too late.

use crate::args::Global;
use crate::log::question_look::Look;
use crate::log::{Directory, Question};
use crate::questions::decision_output::ChangeOutput;
use crate::questions::decision_session::{DecisionSession, no};
use crate::ui::Failure;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointCommand, DecisionPointState};
use holdpoint_replay::Until;
use serde_json::json;

/// What a command on such a decision comes to; closes the log. Nothing is written. Where there is
/// no such decision either, the failure stays as it was.
pub(crate) fn look_up(
    global: &Global,
    session: DecisionSession<'_>,
    unknown: Failure,
    wanted: &str,
    command: impl FnOnce(String) -> DecisionPointCommand,
) -> Result<ChangeOutput, Failure> {
    if unknown.code() != "not_found" {
        return Err(unknown);
    }
    let look = Look::at(&Directory::open(global)?, Until::End)?;
    let Ok(Question::Decision(point)) = look.state.find(wanted) else { return Err(unknown) };
    let command = command(point.decision_id.to_string());
    let told = match (done_before(point, &command), &command) {
        (Some(sequence), _) => again(&session, &look, point, sequence),
        (None, DecisionPointCommand::ConsumeApproval(_)) => {
            Err(told_of(&look, point, no(point.not_spendable())))
        }
        _ => {
            let over = no(point.ended()).adding("; that is long ago, and this is not kept");
            Err(told_of(&look, point, over))
        }
    };
    session.close()?;
    told
}

/// The record of the same answer by the same somebody, or of taking it back.
fn done_before(point: &DecisionPoint, command: &DecisionPointCommand) -> Option<u64> {
    match command {
        DecisionPointCommand::RespondToDecisionPoint(given) => {
            point.ended_by(&given.by, &given.response, given.comment.as_deref())
        }
        DecisionPointCommand::CancelDecisionPoint(_) => {
            let ending = point.ending.as_ref()?;
            (point.state == DecisionPointState::Cancelled).then_some(ending.sequence)
        }
        _ => None,
    }
}

fn again(
    session: &DecisionSession<'_>,
    look: &Look,
    point: &DecisionPoint,
    sequence: u64,
) -> Result<ChangeOutput, Failure> {
    let next = point.next_id.as_deref().and_then(|id| look.world().decision_point(id));
    Ok(ChangeOutput {
        decision: json!(look.view(Question::Decision(point))),
        next_decision: next.map(|next| json!(look.view(Question::Decision(next)))),
        event: session.record(sequence)?,
        replayed: true,
        doubt: look.world().doubt_of_point(point),
        points: (point.clone(), next.cloned()),
    })
}

fn told_of(look: &Look, point: &DecisionPoint, failure: Failure) -> Failure {
    let failure = failure.with("decision_id", json!(point.decision_id));
    failure.with("current", json!(look.view(Question::Decision(point))))
}
