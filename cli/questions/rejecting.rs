//! That an answer means the question that was read, and a no that was meant: what an issue names
//! changes, and what an option does is not what it is called.

use crate::args::Global;
use crate::ui::program::program;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{
    DecisionOption, DecisionPoint, DecisionPointCommand, DecisionPointState, Response,
};
use holdpoint_domain::{Command, World};
use serde_json::json;

/// The code of a question about an action whose every option approves it.
const NO_OPTION_SAYS_NO: &str = "no_option_says_no";

/// Checks that an issue names the question that was read: one that takes a person is answered and
/// taken back by its issue only where it is the first of that issue. What ended long ago leaves the
/// state, and then nobody can tell. Exit 4.
pub(crate) fn expect_asked_once(
    global: &Global,
    world: &World,
    wanted: &str,
    point: &DecisionPoint,
) -> Result<(), Failure> {
    let is_of_issue =
        |point: &DecisionPoint| point.terms.issue_id.as_deref().is_some_and(|it| *it == *wanted);
    let is_by_issue = *point.decision_id != *wanted && is_of_issue(point);
    if !is_by_issue || !point.is_open() || !point.needs_person() {
        return Ok(());
    }
    let is_other =
        |other: &&DecisionPoint| other.decision_id != point.decision_id && is_of_issue(other);
    let other = holdpoint_replay::question::known_decisions(world)
        .filter(is_other)
        .max_by_key(|other| other.created_sequence);
    let issue = visible(wanted);
    let why = match other {
        Some(other) => format!("{issue} was asked before, as {}", visible(&other.decision_id)),
        None if world.forgets_decision_points() => {
            format!("whether {issue} was asked before is not known here any more")
        }
        None => return Ok(()),
    };
    let (id, program) = (visible(&point.decision_id), program(&global.log));
    let message = format!(
        "{why}: name the one that is open now by its id, {id}, which `{program} decision show \
         {id}` shows"
    );
    let failure = Failure::new(Exit::CONFLICT, "ambiguous_issue", message);
    Err(failure.with("decision_ids", json!([point.decision_id])))
}

/// Checks that a question about an action can be refused: whoever chooses an option could have said
/// no (exit 5), and so can whoever answers its new options (exit 2), of which `how` marks one.
pub(crate) fn expect_rejectable(
    point: &DecisionPoint,
    command: &Command,
    how: &str,
) -> Result<(), Failure> {
    let Command::DecisionPoint(command) = command else { return Ok(()) };
    if point.terms.binding.is_none() {
        return Ok(());
    }
    match command {
        DecisionPointCommand::RefineDecisionPoint(revision) => {
            expect_rejecting(revision.options.as_deref().unwrap_or_default(), how)
        }
        DecisionPointCommand::RespondToDecisionPoint(answer) => {
            expect_a_no(point, &answer.response)
        }
        _ => Ok(()),
    }
}

fn expect_a_no(point: &DecisionPoint, response: &Response) -> Result<(), Failure> {
    let proposal = &point.terms.proposal;
    let is_offered = matches!(response, Response::Option(id) if proposal.option(id).is_some());
    let is_pending = point.state == DecisionPointState::Pending;
    if !is_pending || !is_offered || says_no(&proposal.options) {
        return Ok(());
    }
    let id = visible(&point.decision_id);
    let words = match (point.terms.allow_text, point.iteration < point.terms.max_iterations) {
        (true, _) => ", or answer by `--text TEXT`, which approves nothing",
        (false, true) => ", or ask for another proposal by `--guidance TEXT`",
        (false, false) => "",
    };
    let message = format!(
        "every option of {id} approves its action, whatever it is called: take it back by \
         `holdpoint decision cancel {id}`{words}"
    );
    Err(Failure::new(Exit::REFUSED, NO_OPTION_SAYS_NO, message))
}

/// Checks that one of the options of a question about an action says no; `how` marks one. Exit 2.
pub(crate) fn expect_rejecting(options: &[DecisionOption], how: &str) -> Result<(), Failure> {
    if options.is_empty() || says_no(options) {
        return Ok(());
    }
    let message = format!(
        "an action is to be approved, and no option says no: whatever is chosen would approve it; \
         {how}"
    );
    Err(Failure::new(Exit::USAGE, NO_OPTION_SAYS_NO, message))
}

fn says_no(options: &[DecisionOption]) -> bool {
    options.iter().any(|option| option.reject)
}
