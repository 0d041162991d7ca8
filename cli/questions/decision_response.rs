//! Answers to decisions. The first answer counts.

use crate::args::Global;
use crate::log::verdict::and_permits;
use crate::questions::decision_change::Change;
use crate::questions::decision_output::standing;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{DecisionPointCommand, RespondToDecisionPoint, Response};

/// Hands an answer in, and prints nothing: what it came to, in words.
pub(crate) fn give(
    global: &Global,
    change: &Change,
    response: Response,
    comment: Option<String>,
) -> Result<String, Failure> {
    let told = change.hand_in(global, act(&response), command(response, comment))?;
    let doubt = told.doubt.filter(|_| told.points.0.needs_person());
    Ok(and_permits(&standing(&told.points.0), doubt))
}

/// Hands the answer in. Exit 0 where it counts, also when it is on record already; 4 where another
/// one counts: this one is then kept, and does not; 5 where a rule says no.
pub(crate) fn respond(
    global: &Global,
    change: &Change,
    response: Response,
    comment: Option<String>,
) -> Result<Exit, Failure> {
    change.carry_out(global, act(&response), command(response, comment), standing)
}

fn act(response: &Response) -> Act {
    match response {
        Response::Option(_) => Act::Choose,
        Response::Text(_) => Act::Text,
        Response::Guidance(_) => Act::Guidance,
        Response::Accept | Response::Proposal(_) => Act::Accept,
    }
}

fn command(
    response: Response,
    comment: Option<String>,
) -> impl FnOnce(String, Principal) -> Command {
    move |decision_id, by| {
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id,
                entropy: Entropy::default(),
                by,
                response,
                comment,
            },
        ))
    }
}
